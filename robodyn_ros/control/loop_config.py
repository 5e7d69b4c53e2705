"""Settings of the control loop."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control.settings import check_settings, choice, setting

MISSING_VELOCITY = ("refuse", "estimate")
"""What to do with states without velocities: not to use them, or to differentiate their positions."""


@dataclass(frozen=True)
class LoopConfig:
    """Settings of the loop; each field's metadata say what it is."""

    state_timeout: float = setting(0.1, "greatest age of a joint state that still gets a command", "s", 1e-3, 10.0)
    reference_timeout: float = setting(0.5, "longest wait for the next streamed reference", "s", 1e-3, 10.0)
    cmd_timeout: float = setting(0.0, "how long a trajectory's last point is held (0: for good)", "s", 0.0, 3600.0)
    ramp_time: float = setting(0.0, "how long gravity takes to ramp in when switched on", "s", 0.0, 60.0)
    ramp_down_time: float = setting(0.3, "how long an answer to a fault takes to ramp to zero", "s", 1e-3, 60.0)
    blend_time: float = setting(0.2, "how long a change of law, model or gains is blended over", "s", 0.0, 60.0)
    soft_limit_margin: float = setting(0.02, "where soft limits begin, before the hard ones", "rad or m", 0.0, 10.0)
    overspeed: float = setting(1.1, "greatest speed, as a multiple of the velocity limit", "-", 1.0, 100.0)
    position_jump: float = setting(0.1, "greatest change of position that no velocity explains", "rad or m", 0.0, 1e3)
    missing_velocity: str = choice(
        "refuse", "what is done with states without velocities", choices=lambda: MISSING_VELOCITY
    )
    velocity_filter: float = setting(0.005, "time constant of estimated velocities", "s", 0.0, 1.0)
    integral_limit: float = setting(0.1, "bound of the integral of the position error", "rad s or m s", 0.0, 1e3)
    reference_lead: float = setting(
        0.2, "how far a trajectory runs ahead of a joint whose effort is saturated", "rad or m", 0.0, 1e3
    )
    overrun: float = setting(0.02, "longest period between two states that is no overrun", "s", 1e-3, 10.0)

    def __post_init__(self) -> None:
        check_settings(self)
