# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A force-torque sensor in place of the momentum observer: compensation of the weight that it carries.

    f_ext = f - m Rᵀ g - f₀,   τ_ext = τ - r_com × m Rᵀ g - τ₀

R is the rotation of the sensor's frame, g the gravity vector, m and r_com the mass and the centre of mass of the parts
that the sensor carries, f₀ and τ₀ the bias. A sensor that carries a tool at rest measures its weight: f = m Rᵀ g.
Inertial forces of the tool are not compensated.

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
        bias: force [N] and torque [N·m] that are subtracted, in the sensor's axes, (6,).
    """

    def __init__(self, mass: float = 0.0, com: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """
        Args:
            mass: of the parts that the sensor carries [kg].
            com: their centre of mass in the sensor's frame, (3,) in [m].
        """
        self._mass, self._com = mass, finite_array("com", com, (3,))
        self.bias = np.zeros(6)
        self._raw = np.zeros(6)

    def external(self, measured: ArrayLike, rotation: Array, gravity: Array) -> Array:
        """The external wrench about the sensor's origin, in its axes, force [N] and torque [N·m], (6,).

        Args:
            measured: wrench of the sensor, (6,).
            rotation: of the sensor's frame in the root link's, (3, 3).
            gravity: in the root link's axes, (3,) in [m/s²].

        Raises:
            InputError: the measured wrench is not 6 finite numbers.
        """
        weight = self._mass * (rotation.T @ gravity)
        taken = np.concatenate((weight, np.cross(self._com, weight)))
        self._raw = finite_array("wrench", measured, (6,)) - taken
        external: Array = self._raw - self.bias
        return external

    def tare(self) -> None:
        """Zero the estimate: the latest wrench becomes the bias."""
        self.bias = self._raw.copy()


def wrench_at(pose: Array, wrench: Array) -> Array:
    """A wrench (6,), force and torque about a frame's origin and in its axes, transformed to another frame.

    Args:
        pose: of the first frame in the other one, (4, 4).
        wrench: in the first frame.
    """
    turned = pose[:3, :3] @ wrench[:3]
    found: Array = np.concatenate((turned, pose[:3, :3] @ wrench[3:] + np.cross(pose[:3, 3], turned)))
    return found
