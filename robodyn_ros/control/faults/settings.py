# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Settings of safety: the thresholds of faults, and the reactions to them.

A reaction to a fault is never worse than sending nothing. The reactions, and their ends::

    retreat τ = g(q̂) + K (q_p - q) - λ M q̇  q_p goes back along the recorded path of the arm, and stays at its beginning
    wait    as hold, without an end: until the contact has been gone for ``settled_time``
    hold    τ = g(q̂) + K (q_f - q) - λ M q̇  q_f is the position at which the fault began; K (q_f - q) is limited to the
                                            possible error of the model, beyond that q_f follows the arm
    float   τ = g(q̂) - λ M q̇                a push moves the arm
    damp    τ = -D q̇                        no model: the arm sinks slowly under its weight
    silent  one last command, τ = g(q̂); then nothing is sent

q̂ is the position in the middle of the command, extrapolated with q̇. All joints slow down at the same rate λ, with the
power of -D q̇. After a fault that a drive may have caused, the damping is -D q̇. Every g(q̂) includes the residual r:
the observed error of the model, as far as masses and a payload explain it. Without valid states, q̂ and q̇ are those that
the model predicts from the latest valid state. An arm that stood is held for ``max_duration``; one that moved is braked
for 0.15 s. Then nothing is sent. If the positions and velocities of states contradict each other, q̇ is the one of the
two that agrees with the prediction, as long as it agrees; once neither agrees, it is the prediction.

If joints accelerate under a reaction, for longer than efforts take to change, and their drives do not respond, these
drives disobey, and nothing more is sent. Without commands the drives decide, and brakes are needed there. Each reaction
with states except ``wait`` lasts for ``max_duration`` and ends as ``silent``. K and D are the gains of the joints as
effort gains, whichever law runs. They are reduced if the rate of the states is too low for them
(:mod:`robodyn_ros.control.faults.sampling`). g(q) comes from the model; if the model gives none, it is the last valid
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, choice, setting, switch, whole

MISSING_VELOCITY = ("refuse", "estimate")  #: Ways to treat states without velocities.


@dataclass(frozen=True)
class SafetySettings(CheckedSettings):
    """Timeouts and thresholds of the control loop."""

    state_publishers: int = whole(
        1, "number of publishers of joint_states; more than one if states come in parts", 1, 100
    )
    state_timeout: float = setting(0.1, "greatest age of a joint state to which a command is sent", "s", 1e-3, 10.0)
    stream_timeout: float = setting(
        0.2,
        "time without a message after which a stream of references, twists or wrenches ends",
        "s",
        1e-3,
        10.0,
        shared="stream.timeout",
    )
    reference_jump: float = setting(
        0.05, "greatest jump of a streamed reference that is not rate-limited", "rad or m", 0.0, 1e3
    )
    cmd_timeout: float = setting(
        0.0, "time for which the last point of a trajectory is held (0: no limit)", "s", 0.0, 3600.0
    )
    allow_nonzero_velocity_at_trajectory_end: bool = switch(
        False, "accept trajectories of more than 0.25 s that end in motion; the arm then holds the last position"
    )
    speed_scaling: float = setting(1.0, "speed of trajectories, as ratio of the planned speed", "-", 0.0, 1.0)
    settled_time: float = setting(3.0, "time for which the cause of a latched fault must be absent", "s", 0.0, 3600.0)
    blend_time: float = setting(0.2, "time over which a change of law, model or gains is blended in", "s", 0.0, 60.0)
    soft_limit_margin: float = setting(
        0.02, "distance from a position limit at which the soft limit begins", "rad or m", 0.0, 10.0
    )
    overspeed: float = setting(
        1.1, "greatest speed before a fault, as a multiple of the velocity limit", "-", 1.0, 100.0
    )
    plausibility: bool = switch(True, "compare positions, velocities and efforts with each other and with the model")
    position_noise: float = setting(
        1e-3,
        "standard deviation of positions, with resolution / √12; for a prismatic joint a tenth of it in m",
        "rad",
        0.0,
        1.0,
    )
    velocity_noise: float = setting(
        0.02,
        "least standard deviation of velocities, for a prismatic joint a tenth of it in m/s; the measured one is used"
        " if it is greater",
        "rad/s",
        1e-6,
        100.0,
    )
    velocity_delay: float = setting(
        0.008, "greatest lag of velocities behind positions, and of efforts behind commands", "s", 0.0, 0.1
    )
    command_delay: float = setting(
        0.001, "time until the drives apply an effort that was sent; the gains must be stable with it", "s", 0.0, 1.0
    )
    unknown_friction: float = setting(0.1, "unknown friction, as ratio of a joint's effort limit", "-", 0.0, 1.0)
    model_error: float = setting(0.1, "relative error of the masses of the model", "-", 0.0, 1.0)
    unknown_payload: float = setting(1.0, "unknown mass at the tool", "kg", 0.0, 1e3)
    push_force: float = setting(40.0, "greatest force of a push at the tool", "N", 0.0, 1e4)
    drop_time: float = setting(
        0.01, "time for which inconsistent states are dropped before they are a fault", "s", 0.0, 1.0
    )
    following_tolerance: float = setting(
        0.5,
        "greatest distance from the reference, or the deflection of a soft law at its effort limit if that is greater"
        " (0: no limit)",
        "rad or m",
        0.0,
        1e3,
    )
    missing_velocity: str = choice(
        "refuse", "states without velocities: refuse them, or estimate the velocities", choices=lambda: MISSING_VELOCITY
    )
    velocity_filter: float = setting(
        0.005, "time constant of estimated velocities, those of states and of ~/reference", "s", 0.0, 1.0
    )
    integral_limit: float = setting(0.1, "bound of the integral of the position error", "rad s or m s", 0.0, 1e3)
    externally_supported: bool = switch(
        False, "whether effort limits may be too low to hold the arm, because something else holds it"
    )

    @property
    def estimates_velocity(self) -> bool:
        """True if velocities that states do not have are estimated."""
        return self.missing_velocity == "estimate"

    @property
    def overrun(self) -> float:
        """Longest period between two states that is no overrun: a fifth of ``state_timeout`` [s]."""
        return self.state_timeout / 5.0


class Feedback(NamedTuple):
    """Gains of the reactions and of the soft position limits, each (n,)."""

    stiffness: Array  # K [N·m/rad] or [N/m]
    damping: Array  # D [N·m·s/rad] or [N·s/m]
