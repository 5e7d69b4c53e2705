"""Mass, centre of mass and rotational inertia of a rigid body."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from robodyn_ros.robot.pose import Array, Pose, read_only


@dataclass(frozen=True, eq=False)
class Inertial:
    """A rigid body's mass distribution, seen from one frame.

    Attributes:
        mass: [kg].
        com: centre of mass in the frame, (3,) in [m].
        inertia: about the centre of mass, axes parallel to the frame's, (3, 3) in [kg m²].
    """

    mass: float = 0.0
    com: Array = field(default_factory=lambda: read_only(np.zeros(3)))
    inertia: Array = field(default_factory=lambda: read_only(np.zeros((3, 3))))

    def seen_from(self, pose: Pose) -> Inertial:
        """The same body, seen from the frame in which this one's frame has the given pose."""
        rotation = pose.rotation
        return Inertial(
            self.mass,
            read_only(rotation @ self.com + pose.translation),
            read_only(rotation @ self.inertia @ rotation.T),
        )

    @classmethod
    def combined(cls, parts: Iterable[Inertial]) -> Inertial:
        """Several bodies welded together, all seen from the same frame (parallel-axis theorem)."""
        parts = tuple(parts)
        if len(parts) == 1:
            return parts[0]
        mass = sum(part.mass for part in parts)
        moment = sum((part.mass * part.com for part in parts), np.zeros(3))
        com = moment / mass if mass > 0.0 else moment
        inertia = np.zeros((3, 3))
        for part in parts:
            d = part.com - com
            inertia += part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return cls(float(mass), read_only(com), read_only(inertia))
