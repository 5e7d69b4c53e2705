# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rigid transforms.

Convention: a ``Pose`` of frame B in frame A maps coordinates in B to coordinates in A, ``p_A = R p_B + t``
(Lynch and Park, Modern Robotics, eq. 3.62). Lengths in [m], angles in [rad].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Flags = NDArray[np.bool_]

Indices = NDArray[np.intp]

MOMENTS = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
"""Attribute of ``<inertia>`` → its place in the matrix."""


def read_only(values: object) -> Array:
    """A float64 copy that cannot be written to."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def quaternion_rotation(quaternion: Array) -> Array:
    """The rotation (3, 3) of a quaternion (w, x, y, z) of any length (Siciliano et al., eq. 2.33)."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return read_only(np.eye(3) + 2.0 * (w * cross + cross @ cross))


@dataclass(frozen=True, eq=False)
class Pose:
    """The pose of one frame in another: ``rotation`` (3, 3) and ``translation`` (3,) in [m]."""

    rotation: Array = field(default_factory=lambda: read_only(np.eye(3)))
    translation: Array = field(default_factory=lambda: read_only(np.zeros(3)))

    @classmethod
    def from_xyz_rpy(cls, xyz: Sequence[float], rpy: Sequence[float]) -> Pose:
        """The pose of an ``<origin>``: fixed-axis roll, pitch, yaw in [rad], ``R = Rz(yaw) Ry(pitch) Rx(roll)``."""
        (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
        rotation = [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
        return cls(read_only(rotation), read_only(xyz))

    def __matmul__(self, other: Pose) -> Pose:
        """The pose of C in A, from B in A (self) and C in B (other)."""
        translation = self.rotation @ other.translation + self.translation
        return Pose(read_only(self.rotation @ other.rotation), read_only(translation))

    def inverse(self) -> Pose:
        """The pose of A in B."""
        return Pose(read_only(self.rotation.T), read_only(-self.rotation.T @ self.translation))

    @property
    def rpy(self) -> tuple[float, float, float]:
        """Angles of :meth:`from_xyz_rpy` [rad], exact where roll and yaw have the same axis too."""
        rotation = self.rotation
        yaw = float(np.arctan2(rotation[1, 0], rotation[0, 0]))
        back = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]]) @ rotation[:2]
        pitch, roll = np.arctan2(-rotation[2, 0], back[0, 0]), np.arctan2(-back[1, 2], back[1, 1])
        return float(roll), float(pitch), yaw
