"""What was found of a payload: as a message, as parameters, and in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import InertiaStamped
from numpy.typing import ArrayLike
from rclpy.parameter import Parameter

if TYPE_CHECKING:
    from robodyn_ros.identification.payload import PayloadEstimate

MOMENTS = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}
"""Where the moments and products of inertia stand, in the order of the parameter ``payload.inertia``."""


def _com(found: PayloadEstimate) -> list[float]:
    """Centre of mass in the link's frame [m]; 0 along an axis that the motion did not show."""
    known = found.identified[1:4]
    return [value if sure else 0.0 for value, sure in zip(np.asarray(found.payload.com).tolist(), known, strict=True)]


def to_inertia(found: PayloadEstimate) -> InertiaStamped:
    """In the frame of the link that holds it; without a stamp."""
    message, payload = InertiaStamped(), found.payload
    message.header.frame_id = payload.link
    message.inertia.m = float(payload.mass)
    message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = _com(found)
    for name, place in MOMENTS.items():
        setattr(message.inertia, f"i{name}", float(np.asarray(payload.inertia)[place]))
    return message


def to_parameters(found: PayloadEstimate) -> list[Parameter]:
    """The parameters ``payload.*`` of the controller."""
    payload, inertia = found.payload, np.asarray(found.payload.inertia)
    values = {
        "link": payload.link,
        "mass": float(payload.mass),
        "com": _com(found),
        "inertia": [float(inertia[place]) for place in MOMENTS.values()],
    }
    return [Parameter(f"payload.{name}", value=value) for name, value in values.items()]


def to_text(found: PayloadEstimate, adopted: bool) -> str:
    """JSON: link, mass [kg], centre of mass in the link's frame [m], and their standard errors.

    ``null`` stands for an axis along which the motion did not show the centre of mass.
    """

    def shown(values: ArrayLike) -> list[float | None]:
        pairs = zip(np.asarray(values).tolist(), found.identified[1:4], strict=True)
        return [round(value, 5) if known else None for value, known in pairs]

    said = {
        "link": found.payload.link,
        "mass": round(float(found.payload.mass), 5),
        "mass_error": round(found.mass_error, 5),
        "com": shown(found.payload.com),
        "com_error": shown(found.com_error),
        "adopted": adopted,
    }
    return json.dumps(said)
