"""MIT mode: drives that close a loop of their own between two commands.

Such a drive (Damiao, mjbots, and others after the actuators of MIT's Mini Cheetah) takes five numbers, and gives

    τ = τ_ff + K (p - q) + D (v - q̇)

at its own rate, of several kHz. :func:`mit_command` splits the effort of the control loop into these five: K and D are
the gains of the law, p and v its reference, and τ_ff is what is left, so that τ at the state of this period is the
loop's effort. So limits of effort and rate hold at this state, and feedback is as quick as the drive until the next.

Source: Katz, Di Carlo and Kim, Mini Cheetah: A Platform for Pushing the Limits of Dynamic Quadruped Control, ICRA 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.faults.settings import Feedback
from robodyn_ros.control.faults.supervisor import ActiveFault
from robodyn_ros.control.step import Command
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


def mit_command(
    command: Command,
    q: Array,
    *,
    law: Feedback,
    reactions: Feedback,
    settings: MitSettings,
    turns: Array,
    fault: ActiveFault | None = None,
    t: float = 0.0,
) -> MitCommand:
    """Split the effort of a command.

    - While the law runs: its gains, about its reference. A joint whose effort is cut by a limit gets no gains, so that
      its drive keeps to the limit until the next state.
    - While a fault is answered by ``hold``: the gains of the reactions, about the position where the arm was found,
      also while no states come; by ``retreat``, about where it goes back to. By ``damp`` or ``float``: the damping
      alone. By ``ramp``: what is left of the gains goes down with the efforts. A fault of the sensors gives no gains:
      the drive would trust the same encoder.
    - The parting command: the gains of the reactions, about q, at rest.

    Args:
        command: of the loop.
        q: where the arm was last, (n,) in [rad] or [m]; it counts where the command has no state.
        law: gains of the law as efforts, (n,) each.
        reactions: gains of the reactions to faults, (n,) each.
        settings: greatest gains.
        turns: how much further than the loop the drives count, (n,): whole turns of continuous joints.
        fault: that the command is the reaction to.
        t: time of the command [s].
    """
    rest = np.zeros(len(q))
    at, velocity = (q, rest) if command.state is None else command.state
    gains, target, speed, left = reactions, at, rest, 1.0
    if fault is not None:
        left = 0.0 if fault.kind == "sensor" else fault.left
        target = fault.target(t)
        if fault.phase in ("damp", "float"):
            gains, target = Feedback(rest, reactions.damping), at
    elif command.reference is not None:
        gains, target, speed = law, command.reference.q, command.reference.qd
    part = np.where(command.saturated | command.rate_limited, 0.0, left)
    stiffness = part * np.minimum(gains.stiffness, settings.mit_stiffness_limit)
    damping = part * np.minimum(gains.damping, settings.mit_damping_limit)
    feedback = stiffness * (target - at) + damping * (speed - velocity)
    return MitCommand(target + turns, speed, stiffness, damping, command.effort - feedback)
