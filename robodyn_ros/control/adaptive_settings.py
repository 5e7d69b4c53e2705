"""What the law ``adaptive`` learns, how quickly, and how far."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control.settings import check_settings, choice, setting, switch

UNKNOWN = ("payload", "friction", "payload_and_friction", "everything")
"""What may be learnt: the last body's inertial parameters, friction of the joints, both, or all bodies and friction."""


@dataclass(frozen=True)
class AdaptiveConfig:
    """Settings of the law; each field's metadata say what it is."""

    learn: bool = switch(True, "learn; if not, what was learnt stays as it is")
    unknown: str = choice("payload_and_friction", "what is learnt", choices=lambda: UNKNOWN)
    rate: float = setting(2.0, "rate at which what is unknown is learnt, at most", "1/s", 0.0, 100.0)
    dead_zone: float = setting(2e-4, "position error from which nothing is learnt", "rad or m", 0.0, 1.0)
    mass_limit: float = setting(0.5, "greatest mass added to a body, as part of all that moves", "-", 1e-3, 100.0)
    spread: float = setting(0.3, "radius of gyration, about a body's centre of mass, of mass added", "m", 1e-3, 100.0)
    friction_limit: float = setting(0.3, "greatest friction of a joint, as part of its effort limit", "-", 0.0, 1.0)

    def __post_init__(self) -> None:
        check_settings(self)
