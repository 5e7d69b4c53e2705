"""What its numbers are: from recorded motion to inertial and friction parameters.

    from robodyn_ros.identification import Samples, identify

    result = identify(robot, Samples(t, q, qd, qdd, effort))
    result.robot  # with the identified numbers; result.urdf is its URDF, comments and unknown tags kept

What is not used is not imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robodyn_ros.identification.estimation.identify import identify
    from robodyn_ros.identification.estimation.result import Identification
    from robodyn_ros.identification.settings import IdentificationSettings
    from robodyn_ros.identification.signals.samples import Samples

__all__ = ["Identification", "IdentificationSettings", "Samples", "identify"]

_HOMES = {
    "identify": "estimation.identify",
    "Identification": "estimation.result",
    "IdentificationSettings": "settings",
    "Samples": "signals.samples",
}
"""Name → module of this room."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
