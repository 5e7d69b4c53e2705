# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""MIT mode: drives that close a loop of their own between two commands.

Such a drive (Damiao, mjbots, and others after the actuators of MIT's Mini Cheetah) takes five numbers, and gives

    τ = τ_ff + K (p - q) + D (v - q̇)

at its own rate, of several kHz. ``core_mit`` in ``../core/core.c`` splits the effort of the control loop into these
five, and :meth:`.ControlLoop.in_mit_mode` calls it:

- While the law runs: K and D are its gains, p and v its reference, and τ_ff is what is left, so that τ at the state of
  this period is the loop's effort. So limits of effort and rate hold at this state, and feedback is as quick as the
  drive until the next. A joint whose effort is cut by a limit gets no gains: its drive keeps to the limit.
- While ``hold`` answers a fault: the gains of the reactions, about the position where the arm was found, also while no
  states come; by ``retreat``, about where it goes back to; by ``damp`` or ``float``, the damping alone; by ``ramp``,
  what is left of the gains goes down with the efforts. A fault of the sensors gives no gains: the drive would
  trust the same encoder.
- The parting command: the gains of the reactions about the last position, at rest.

Source: Katz, Di Carlo and Kim, Mini Cheetah: A Platform for Pushing the Limits of Dynamic Quadruped Control, ICRA 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from robodyn_ros.control.transmission import Transmission
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, choice, setting

OUTPUTS = ("effort", "mit")
"""What is published: efforts, or efforts and beside them the five numbers of MIT mode."""


@dataclass(frozen=True)
class MitSettings:
    """Settings of MIT mode; each field's metadata say what it is."""

    output: str = choice("effort", "what is sent: efforts, or also commands in MIT mode", lambda: OUTPUTS)
    mit_stiffness_limit: float = setting(500.0, "greatest stiffness of a drive", "N·m/rad or N/m", 0.0, 1e9)
    mit_damping_limit: float = setting(5.0, "greatest damping of a drive", "N·m·s/rad or N·s/m", 0.0, 1e9)

    def __post_init__(self) -> None:
        check_settings(self)


class MitCommand(NamedTuple):
    """What drives in MIT mode get, each (n,)."""

    position: Array  # p [rad] or [m]
    velocity: Array  # v [rad/s] or [m/s]
    stiffness: Array  # K [N·m/rad] or [N/m]
    damping: Array  # D [N·m·s/rad] or [N·s/m]
    effort: Array  # τ_ff [N·m] or [N]

    def total(self, q: Array, qd: Array) -> Array:
        """What the drives give at a state, (n,) each."""
        total: Array = self.effort + self.stiffness * (self.position - q) + self.damping * (self.velocity - qd)
        return total

    def at_motors(self, transmission: Transmission) -> MitCommand:
        """The same in the units of the motors: stiffness and damping as command of effort over motor position."""
        ratio = transmission.effort * transmission.ratio
        return MitCommand(
            transmission.motor_position(self.position),
            transmission.motor_velocity(self.velocity),
            self.stiffness / ratio,
            self.damping / ratio,
            transmission.motor_effort(self.effort),
        )
