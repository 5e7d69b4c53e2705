# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The drives of an arm: their units, the terms that they add by themselves, and drives in MIT mode.

**Transmissions** between the joints, which the equations use, and the motors, which the drives use:

    x_joint = x_motor / r + offset,   ẋ_joint = ẋ_motor / r,   τ_motor = τ_joint / r,   command = τ_motor / k

r is the gear ratio, negative if the motor turns the other way, so that power is the same on both sides. k is the unit
of the drive's command: 1 if the drive takes N·m (or N), the motor's torque constant if it takes amperes. "Reduction"
and "offset" are those of ros2_control's transmission_interface::SimpleTransmission.

**Compensation.** Many drives add g(q) of their own model to every command. If the controller adds it too, the arm
rises. The terms that ``drive_compensates`` names, for all joints or for one, are subtracted from those of the law. The
law, its memory and its limits use the total effort at the joint. The drive's model of gravity is assumed to equal that
of the controller, so set the payload in the drive too.

**MIT mode.** Some drives close a feedback loop of their own between two commands (Damiao, mjbots, and others like the
actuators of MIT's Mini Cheetah). They take five numbers, and exert τ = τ_ff + K (p - q) + D (v - q̇) at several kHz.
``core_mit`` in ``core/core.c`` splits the effort of the control loop into these five:

- With the law: K and D are its gains, p and v its reference, and τ_ff is the remaining effort, so that τ at the state
  of this period is the loop's effort, within its limits. A joint whose effort is cut by a limit gets no gains.
- With the reaction ``hold``: the gains of the reactions about the position at the fault, also while no states come;
  with ``retreat``, about the retreat position; with ``damp`` or ``float``, the damping alone. A fault of the sensors
  gives no gains, because the drive uses the same encoder.
- The last command of a reaction with states, and the final command: the gains of the reactions about the last position.

Source: Katz, Di Carlo and Kim, Mini Cheetah: A Platform for Pushing the Limits of Dynamic Quadruped Control, ICRA 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.errors import ConfigurationError, InputError, is_it
from robodyn_ros.robot import Array, Robot, read_only
from robodyn_ros.settings import NONE, CheckedSettings, names, setting

LEAST_RATIO = 1e-6  #: Least magnitude of a gear ratio [-] or [rad/m].


@dataclass(frozen=True)
class TransmissionSettings(CheckedSettings):
    """The transmission between a joint and its motor; the defaults are a drive in joint units."""

    gear_ratio: float = setting(
        1.0, "gear ratio (motor over joint; negative if it runs backwards)", "1 or rad/m", -1e9, 1e9
    )
    offset: float = setting(0.0, "position at the motor's zero", "rad or m", -1e6, 1e6)
    torque_constant: float = setting(1.0, "torque constant (motor effort per unit of command)", "N·m or N", 1e-9, 1e9)

    def __post_init__(self) -> None:
        super().__post_init__()
        if abs(self.gear_ratio) < LEAST_RATIO:
            problem = f"must be {LEAST_RATIO:g} or more, or {-LEAST_RATIO:g} or less, not {self.gear_ratio:g}"
            raise ConfigurationError(f"gear_ratio: {problem}")


class Transmission:
    """The transmissions of an arm: r, the offset [rad] or [m], and the joint effort r k for one unit of command;
    arrays (n,), in the order of the arm's joints.
    """

    def __init__(self, joints: Sequence[TransmissionSettings]) -> None:
        self.ratio = read_only([joint.gear_ratio for joint in joints])
        self.offset = read_only([joint.offset for joint in joints])
        self.effort = read_only(self.ratio * [joint.torque_constant for joint in joints])

    def joint_position(self, position: Array) -> Array:
        """Joint positions in [rad] or [m] from the motor positions."""
        return position / self.ratio + self.offset

    def joint_velocity(self, velocity: Array) -> Array:
        """Joint velocities in [rad/s] or [m/s] from the motor velocities."""
        return velocity / self.ratio

    def joint_effort(self, effort: Array) -> Array:
        """Joint efforts in [N·m] or [N] from the commands of the drives."""
        return effort * self.effort

    def motor_effort(self, effort: Array) -> Array:
        """Commands for the drives from joint efforts."""
        return effort / self.effort


@dataclass(frozen=True)
class CompensationSettings(CheckedSettings):
    """The compensation that the drives add by themselves."""

    drive_compensates: tuple[str, ...] = names(
        (NONE,), "terms that the drives add by themselves: gravity, coriolis, friction; for one joint gravity.<joint>"
    )


class DriveCompensation(NamedTuple):
    """Terms that the drives add by themselves, each (n,): 1 for a joint whose drive adds it, else 0."""

    gravity: Array
    coriolis: Array
    friction: Array

    @classmethod
    def of(cls, robot: Robot, terms: Sequence[str], name: str = "drive_compensates") -> DriveCompensation:
        """The terms of a setting: such as ``gravity`` for all joints, ``gravity.shoulder`` for one, or ``none``;
        ``name`` is that of the setting, for messages. InputError: a term or a joint is unknown.
        """
        found = {term: np.zeros(robot.n) for term in cls._fields}
        for text in terms:
            term, _, joint = text.partition(".")
            if text == NONE:
                continue
            if term not in found:
                known = (*found, NONE)
                raise InputError(name, f"{text!r} is none of {', '.join(known)}{is_it(term, known)}", text)
            if joint and joint not in robot.joint_names:
                known = robot.joint_names
                raise InputError(name, f"{text!r}: the arm's joints are {', '.join(known)}{is_it(joint, known)}", text)
            found[term][robot.joint_names.index(joint) if joint else slice(None)] = 1.0
        return cls(*map(read_only, found.values()))

    @classmethod
    def none(cls, n: int) -> DriveCompensation:
        """Drives of n joints that add nothing."""
        return cls(*(read_only(np.zeros(n)) for _ in cls._fields))


@dataclass(frozen=True)
class MitSettings(CheckedSettings):
    """Settings of MIT mode; the metadata of each field describe it."""

    mit_limits: tuple[float, ...] = setting(
        (0.0, 0.0),
        "greatest stiffness and damping of a drive in MIT mode; 0, 0 for drives that take efforts alone",
        "N·m/rad, N·m·s/rad; N/m, N·s/m",
        0.0,
        1e9,
    )

    @property
    def is_used(self) -> bool:
        """True if the drives are in MIT mode."""
        return max(self.mit_limits) > 0.0


class MitCommand(NamedTuple):
    """The command for drives in MIT mode, each (n,)."""

    position: Array  # p [rad] or [m]
    velocity: Array  # v [rad/s] or [m/s]
    stiffness: Array  # K [N·m/rad] or [N/m]
    damping: Array  # D [N·m·s/rad] or [N·s/m]
    effort: Array  # τ_ff [N·m] or [N]
