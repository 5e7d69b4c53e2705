# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A force-torque sensor in place of the momentum observer: the weight of what hangs on it is taken away.

    f_ext = f - m Rᵀ g - f₀,   τ_ext = τ - r_com × m Rᵀ g - τ₀

R is the rotation of the sensor's frame, g the gravity vector, m and r_com the mass and the centre of mass of what hangs
on the sensor, f₀ and τ₀ the bias. A sensor that carries a tool at rest reads its weight: f = m Rᵀ g. Forces of inertia
of the tool are not taken away.

Source: Siciliano, Khatib (ed.), Springer Handbook of Robotics (2016), section 28.4 (wrist force-torque sensors).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.robot.pose import Array


class ForceTorqueSensor:
    """The compensation of one sensor.

    Attributes:
        bias: force [N] and torque [N·m] that count as none, in the sensor's axes, (6,).
    """

    def __init__(self, mass: float = 0.0, com: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """
        Args:
            mass: of what hangs on the sensor [kg].
            com: its centre of mass in the sensor's frame, (3,) in [m].
        """
        self._mass, self._com = mass, finite_array("com", com, (3,))
        self.bias = np.zeros(6)
        self._raw = np.zeros(6)

    def external(self, measured: ArrayLike, rotation: Array, gravity: Array) -> Array:
        """The wrench from outside about the sensor's origin, in its axes, force [N] and torque [N·m], (6,).

        Args:
            measured: as the sensor gives it, (6,).
            rotation: of the sensor's frame in the root link's, (3, 3).
            gravity: in the root link's axes, (3,) in [m/s²].

        Raises:
            InputError: it is not 6 finite numbers.
        """
        weight = self._mass * (rotation.T @ gravity)
        taken = np.concatenate((weight, np.cross(self._com, weight)))
        self._raw = finite_array("wrench", measured, (6,)) - taken
        external: Array = self._raw - self.bias
        return external

    def tare(self) -> None:
        """Take the latest wrench for none."""
        self.bias = self._raw.copy()


def wrench_at(pose: Array, wrench: Array) -> Array:
    """A wrench (6,), force and torque about a frame's origin in its axes, about another frame's origin in that one's.

    Args:
        pose: of the first frame in the second, (4, 4).
        wrench: in the first.
    """
    turned = pose[:3, :3] @ wrench[:3]
    found: Array = np.concatenate((turned, pose[:3, :3] @ wrench[3:] + np.cross(pose[:3, 3], turned)))
    return found
