# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""MIT mode: drives that close a feedback loop of their own between two commands.

Such a drive (Damiao, mjbots, and others like the actuators of MIT's Mini Cheetah) takes five numbers, and exerts

    τ = τ_ff + K (p - q) + D (v - q̇)

at its own rate of several kHz. ``core_mit`` in ``../core/core.c`` splits the effort of the control loop into these
five, and :meth:`.ControlLoop.in_mit_mode` calls it:

- With the law: K and D are its gains, p and v its reference, and τ_ff is the remaining effort, so that τ at the state
  of this period is the loop's effort. So limits of effort and rate hold at this state, and until the next state
  feedback has the rate of the drive. A joint whose effort is cut by a limit gets no gains, so that its drive stays
  within the limit.
- With the reaction ``hold``: the gains of the reactions about the position at the fault, also while no states come;
  with ``retreat``, about the retreat position; with ``damp`` or ``float``, the damping alone; with ``ramp``, the
  remaining gains decrease with the efforts. A fault of the sensors gives no gains, because the drive uses the same
  encoder.
- The final command: the gains of the reactions about the last position, at rest.

Source: Katz, Di Carlo and Kim, Mini Cheetah: A Platform for Pushing the Limits of Dynamic Quadruped Control, ICRA 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from robodyn_ros.control.transmission import Transmission
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, setting


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
        """Whether the drives are in MIT mode."""
        return max(self.mit_limits) > 0.0


class MitCommand(NamedTuple):
    """The command for drives in MIT mode, each (n,)."""

    position: Array  # p [rad] or [m]
    velocity: Array  # v [rad/s] or [m/s]
    stiffness: Array  # K [N·m/rad] or [N/m]
    damping: Array  # D [N·m·s/rad] or [N·s/m]
    effort: Array  # τ_ff [N·m] or [N]

    def total(self, q: Array, qd: Array) -> Array:
        """The efforts of the drives at a state (n,), (n,)."""
        total: Array = self.effort + self.stiffness * (self.position - q) + self.damping * (self.velocity - qd)
        return total

    def at_motors(self, transmission: Transmission) -> MitCommand:
        """The command in the units of the motors: stiffness and damping are command of effort per motor position."""
        ratio = transmission.effort * transmission.ratio
        return MitCommand(
            transmission.motor_position(self.position),
            transmission.motor_velocity(self.velocity),
            self.stiffness / ratio,
            self.damping / ratio,
            transmission.motor_effort(self.effort),
        )
