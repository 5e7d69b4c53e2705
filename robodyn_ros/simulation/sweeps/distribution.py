"""How an input of a study varies: from probabilities to values, or through levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array

KINDS = {
    "uniform": "[least, greatest]",
    "log_uniform": "[least, greatest], both above 0",
    "normal": "[mean, standard deviation]",
    "choice": "a list of values",
}
"""Kind → what it takes."""

LEVELS = 3
"""Values of a continuous input in a full factorial, unless told otherwise."""


@dataclass(frozen=True)
class Distribution:
    """One input's.

    Attributes:
        kind: one of ``KINDS``.
        values: what that takes.
        levels: how many values it has in a full factorial; those of a choice are all of them.
    """

    kind: str
    values: tuple[Any, ...]
    levels: int = LEVELS

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError("distribution", f"must be one of {', '.join(KINDS)}, not {self.kind!r}", self.kind)
        if self.kind == "choice":
            kinds = {str if isinstance(value, str) else type(value) in (int, float, bool) for value in self.values}
            if len(kinds) != 1 or kinds == {False}:
                raise InputError("choice", f"must be values of one kind, not {list(self.values)!r}", self.values)
        else:
            self._check_numbers()
        if not isinstance(self.levels, int) or isinstance(self.levels, bool) or not 1 <= self.levels <= 1000:
            raise InputError("levels", f"must be a whole number from 1 to 1000, not {self.levels!r}", self.levels)

    def _check_numbers(self) -> None:
        wanted = f"{self.kind}: must be {KINDS[self.kind]}, not {list(self.values)!r}"
        numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.values]
        if len(numbers) != 2 or not all(numbers) or not np.isfinite(self.values).all():
            raise InputError("distribution", wanted, self.values)
        first, second = self.values
        right = second >= 0 if self.kind == "normal" else first <= second
        if not right or (self.kind == "log_uniform" and first <= 0):
            raise InputError("distribution", wanted, self.values)

    @property
    def count(self) -> int:
        """How many values it has in a full factorial."""
        return len(self.values) if self.kind == "choice" else self.levels

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return not isinstance(self.values[0], (str, bool))

    def at(self, probability: float) -> Any:
        """The value that is not exceeded with a probability, above 0 and below 1 for a normal one."""
        if self.kind == "choice":
            return self.values[min(int(probability * len(self.values)), len(self.values) - 1)]
        first, second = map(float, self.values)
        if self.kind == "normal":
            from scipy.special import ndtri

            return first + second * float(ndtri(probability))
        if self.kind == "log_uniform":
            return float(np.exp(np.log(first) + probability * (np.log(second) - np.log(first))))
        return first + probability * (second - first)

    def probabilities(self) -> Array:
        """Of its values in a full factorial: from end to end, or the middles of parts of equal probability."""
        count = self.count
        if count == 1 or self.kind in ("choice", "normal"):
            return (np.arange(count) + 0.5) / count
        return np.linspace(0.0, 1.0, count)

    def ends(self) -> tuple[Any, ...]:
        """The values to try before anything runs: those that no other exceeds, or about so."""
        if self.kind == "choice":
            return self.values
        return (self.at(1e-3), self.at(1.0 - 1e-3)) if self.kind == "normal" else (self.at(0.0), self.at(1.0))
