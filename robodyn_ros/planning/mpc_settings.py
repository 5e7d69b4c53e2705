"""How far the law ``mpc`` looks ahead, how often it thinks, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control.settings import check_settings, setting, whole


@dataclass(frozen=True)
class MPCConfig:
    """Settings of the law; each field's metadata say what it is."""

    period: float = setting(
        0.01, "time from one solution to the next; states between them get its feedback", "s", 0.0, 1.0
    )
    step: float = setting(0.01, "length of a step of the plan", "s", 1e-4, 1.0)
    steps: int = whole(30, "steps that are looked ahead", 2, 1000)
    iterations: int = whole(5, "greatest number of iterations of a solution", 1, 1000)
    budget: float = setting(0.005, "longest time for a solution; a later one is not used", "s", 0.0, 60.0)

    def __post_init__(self) -> None:
        check_settings(self)
