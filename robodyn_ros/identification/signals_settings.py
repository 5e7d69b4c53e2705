"""How recordings are made into samples, unless told otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from robodyn_ros.control.settings import check_settings, choice, setting, switch

EFFORTS = ("auto", "measured", "commanded")
"""Which effort counts: what the arm measured where it did and what it was told else, or one of the two."""


@dataclass(frozen=True)
class Preparation:
    """Settings of :func:`prepare`; each field's metadata say what it is."""

    effort: str = choice("auto", "which effort counts: measured where there is one, or one of the two", lambda: EFFORTS)
    cutoff: float = setting(0.0, "frequency above which nothing counts (0: where positions are noise)", "Hz", 0.0, 1e3)
    gap: float = setting(0.05, "longest time between two messages that belong together", "s", 1e-4, 10.0)
    shortest: float = setting(1.0, "shortest stretch without a gap that is used", "s", 0.1, 1000.0)
    align: bool = switch(True, "find out how much later than recorded the efforts act, and take it out")
    delay: float = setting(0.0, "that time, where it begins to be looked for or is known", "s", -0.5, 0.5)
    average: bool = switch(True, "average over the periods of a motion that repeats")
    period: float = setting(0.0, "period of the motion (0: look whether there is one)", "s", 0.0, 1000.0)
    least_motion: float = setting(0.01, "range of positions below which a joint stands still", "rad or m", 1e-6, 1.0)

    def __post_init__(self) -> None:
        check_settings(self)
