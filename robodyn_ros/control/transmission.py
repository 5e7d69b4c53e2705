# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Transmissions between the joints, which the equations use, and the motors, which the drives use.

    x_joint = x_motor / r + offset,   ẋ_joint = ẋ_motor / r,   τ_motor = τ_joint / r,   command = τ_motor / k

r is the gear ratio, negative if the motor turns the other way, so that power is the same on both sides. k is the unit
of the drive's command: 1 if the drive takes N·m (or N), the motor's torque constant if it takes amperes.

Source: the convention is that of ros2_control's transmission_interface::SimpleTransmission, "reduction" and "offset".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robodyn_ros.errors import ConfigurationError
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.settings import check_settings, setting

LEAST_RATIO = 1e-6
"""Least magnitude of a gear ratio [-] or [rad/m]."""


@dataclass(frozen=True)
class TransmissionSettings:
    """The transmission between a joint and its motor; the defaults are a drive in joint units."""

    gear_ratio: float = setting(
        1.0, "gear ratio (motor over joint; negative if it runs backwards)", "1 or rad/m", -1e9, 1e9
    )
    offset: float = setting(0.0, "position at the motor's zero", "rad or m", -1e6, 1e6)
    torque_constant: float = setting(1.0, "torque constant (motor effort a unit of command)", "N·m or N", 1e-9, 1e9)

    def __post_init__(self) -> None:
        check_settings(self)
        if abs(self.gear_ratio) < LEAST_RATIO:
            problem = f"must be {LEAST_RATIO:g} or more, or {-LEAST_RATIO:g} or less, not {self.gear_ratio:g}"
            raise ConfigurationError(f"gear_ratio: {problem}")


class Transmission:
    """The transmissions of an arm, one a joint; arrays are (n,), in the order of the arm's joints.

    Attributes:
        ratio: r, negative if the motor runs against the direction of the joint.
        offset: position of the joint at the motor's zero [rad] or [m].
        effort: r k, the joint effort for one unit of command.
    """

    def __init__(self, joints: Sequence[TransmissionSettings]) -> None:
        """
        Args:
            joints: the settings of each joint.
        """
        self.ratio = read_only([joint.gear_ratio for joint in joints])
        self.offset = read_only([joint.offset for joint in joints])
        self.effort = read_only(self.ratio * [joint.torque_constant for joint in joints])
        # Most drives use joint units; then there is nothing to compute.
        self._plain = bool((self.ratio == 1.0).all() and not self.offset.any() and (self.effort == 1.0).all())

    def joint_position(self, position: Array) -> Array:
        """Joint positions in [rad] or [m] from the motor positions."""
        return position if self._plain else position / self.ratio + self.offset

    def joint_velocity(self, velocity: Array) -> Array:
        """Joint velocities in [rad/s] or [m/s] from the motor velocities."""
        return velocity if self._plain else velocity / self.ratio

    def joint_effort(self, effort: Array) -> Array:
        """Joint efforts in [N·m] or [N] from the commands of the drives."""
        joint: Array = effort * self.effort
        return joint

    def motor_position(self, position: Array) -> Array:
        """Motor positions from joint positions."""
        motor: Array = (position - self.offset) * self.ratio
        return motor

    def motor_velocity(self, velocity: Array) -> Array:
        """Motor velocities from joint velocities."""
        motor: Array = velocity * self.ratio
        return motor

    def motor_effort(self, effort: Array) -> Array:
        """Commands for the drives from joint efforts."""
        return effort if self._plain else effort / self.effort
