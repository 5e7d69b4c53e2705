"""A planar RR or PRR arm, as complex numbers in its plane.

The plane is that of complex numbers: 1 along the prismatic joint (RR: along the first link at position 0), i a quarter
turn further about the revolute axes. Angles are counted about the first revolute axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.kinematics import so3
from robodyn_ros.kinematics.screws import screws
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

FLAT = 1e-9
"""An arm is planar if sines and lengths that should vanish are below this [-] or [m]."""


@dataclass(frozen=True, eq=False)
class PlanarArm:
    """See the module.

    Attributes:
        robot: the arm.
        kind: ``RR`` or ``PRR``.
        links: the two links at position 0 [m].
        lengths: theirs [m].
        sense: 1 where the second revolute joint turns the same way as the first, else -1.
        shoulder: where the first revolute axis is at position 0 [m].
        plane: the directions 1 and i in the root link's frame, (2, 3).
        normal: the first revolute axis there, (3,).
        level: of the tool, along the normal [m].
        home: rotation of the tool at position 0, (3, 3).
    """

    robot: Robot
    kind: Literal["RR", "PRR"]
    links: tuple[complex, complex]
    lengths: tuple[float, float]
    sense: float
    shoulder: complex
    plane: Array
    normal: Array
    level: float
    home: Array

    def in_plane(self, points: Array) -> NDArray[np.complex128]:
        """Points (N, 3) of the root link's frame as complex numbers from the shoulder at position 0, (N,) in [m]."""
        seen = points @ self.plane.T
        return np.asarray(seen[..., 0] + 1j * seen[..., 1] - self.shoulder)

    def beside(self, point: Array) -> Array:
        """How far beside the plane of the tool a point lies, as a vector (3,) in [m]."""
        off: Array = (float(point @ self.normal) - self.level) * self.normal
        return off

    def turn_of(self, rotation: Array) -> float:
        """The turn of the tool about the first revolute axis, from position 0, that comes nearest to a rotation [rad].

        Of all turns exp(φ n), the trace of exp(φ n)ᵀ R is greatest for this one.
        """
        turned = rotation @ self.home.T
        across, along = 2.0 * float(so3.vee(turned) @ self.normal), float(self.normal @ turned @ self.normal)
        return atan2(across, float(np.trace(turned)) - along)


def planar_arm(robot: Robot, link: str) -> PlanarArm:
    """Read a planar arm from its screws.

    Args:
        robot: the arm; all its joints have to move the link.
        link: the tool.

    Raises:
        InputError: no such link.
        RobotDescriptionError: it is neither a planar RR nor a planar PRR arm; the message says what is in the way.
    """
    found, names = screws(robot, link), robot.joint_names
    kind = "".join("R" if axis[3:].any() else "P" for axis in found.axes)
    if kind not in ("RR", "PRR") or found.coordinates != tuple(range(robot.n)):
        raise RobotDescriptionError(f"link {link!r}", f"is moved by {kind or 'no joint'}, not by RR or PRR alone")
    first, second = found.axes[-2], found.axes[-1]
    normal: Array = first[3:]
    if np.linalg.norm(np.cross(normal, second[3:])) > FLAT:
        raise RobotDescriptionError(f"joint {names[-1]!r}", "does not turn in the plane of the one before")
    points = [np.cross(axis[3:], axis[:3]) for axis in (first, second)]  # of an axis, the one nearest to the origin
    one: Array = found.axes[0, :3] if kind == "PRR" else points[1] - points[0]
    if kind == "PRR" and abs(one @ normal) > FLAT:
        raise RobotDescriptionError(f"joint {names[0]!r}", "does not slide in the plane of the others")
    one = one - (one @ normal) * normal
    tool = found.home[:3, 3]
    if np.linalg.norm(one) < FLAT or np.linalg.norm(points[1] - points[0]) < FLAT:
        raise RobotDescriptionError(f"joint {names[-1]!r}", "lies on the axis of the one before")
    one = one / np.linalg.norm(one)
    plane = np.stack([one, np.cross(normal, one)])
    shoulder, elbow, tip = (complex(*(plane @ point)) for point in (*points, tool))
    links = elbow - shoulder, tip - elbow
    if abs(links[1]) < FLAT:
        raise RobotDescriptionError(f"link {link!r}", f"lies on the axis of joint {names[-1]!r}")
    sense = 1.0 if normal @ second[3:] > 0.0 else -1.0
    lengths = abs(links[0]), abs(links[1])
    return PlanarArm(
        robot,
        "RR" if kind == "RR" else "PRR",
        links,
        lengths,
        sense,
        shoulder,
        plane,
        normal,
        float(tool @ normal),
        found.home[:3, :3],
    )
