"""Settings of the numerical solver: every default, once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from typing import Literal, get_args

from robodyn_ros.errors import ConfigurationError

Limits = Literal["clamp", "avoid", "ignore"]


@dataclass(frozen=True)
class Settings:
    """How to look for a solution, and when to be content.

    Attributes:
        position_tolerance: greatest distance from the target [m].
        rotation_tolerance: greatest angle from it [rad].
        starts: where to start from at most: what is given, then at random within the limits.
        iterations: steps at most from one start; with a wish in the null space ten times as many.
        patience: a start is given up if so many steps have not halved the error E.
        damping: c of λ = c E + floor.
        floor: damping that remains at the target; it keeps redundant arms and free directions regular.
        limits: ``clamp`` joints at their limits; ``avoid`` them by null-space motion as well; ``ignore`` them.
        choose: the ``first`` solution found, or the ``nearest`` to the start of all that the starts lead to.
        settled: with a wish in the null space: the step that counts as none [rad] or [m].
        seed: of the random starts; the same seed gives the same solution.
    """

    position_tolerance: float = 1e-7
    rotation_tolerance: float = 1e-7
    starts: int = 100
    iterations: int = 40
    patience: int = 6
    damping: float = 0.1
    floor: float = 1e-10
    limits: Limits = "clamp"
    choose: Literal["first", "nearest"] = "first"
    settled: float = 1e-6
    seed: int = 1

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, str):
                choices = get_args(Limits) if item.name == "limits" else ("first", "nearest")
                if value not in choices:
                    raise ConfigurationError(f"{item.name}: must be one of {', '.join(choices)}, not {value!r}")
            elif not (isfinite(value) and value >= (0 if item.name in ("seed", "damping") else 1e-300)):
                raise ConfigurationError(f"{item.name}: must be finite and above 0, not {value!r}")
            elif item.type == "int" and int(value) != value:
                raise ConfigurationError(f"{item.name}: must be a whole number, not {value!r}")
