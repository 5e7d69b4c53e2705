# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A study: an arm, controllers, a motion, inputs that vary, how they are sampled, and the specification of the cases.

An input varies by a :class:`Distribution`, a function from probabilities to values. :class:`Sampling` gives the
probabilities of each case: a full factorial, a Latin hypercube or a Sobol sequence, by SciPy. They depend only on the
study and the number of the case, so that each case can be repeated alone. :class:`Specification` has the bounds of the
performance figures. A study does not depend on files; :mod:`.study_reader` reads one.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.checks import check, check_choice
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, choice, setting, whole

METHODS = ("sobol", "latin_hypercube", "factorial")
"""Methods of sampling."""

NODES = ("simulator", "controller")
"""Nodes whose parameters a study gives or varies."""

ARM = "arm"
"""First part of the names of inputs in the URDF."""

KINDS = {
    "uniform": "[least, greatest]",
    "log_uniform": "[least, greatest], both above 0",
    "normal": "[mean, standard deviation]",
    "choice": "a list of values",
}
"""Kind of a distribution → its values."""

LEVELS = 3
"""Default number of values of a continuous input in a full factorial."""


def are_numbers(values: Iterable[Any]) -> bool:
    """Return whether all values are numbers."""
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


@dataclass(frozen=True)
class Distribution:
    """The distribution of one input.

    Attributes:
        kind: one of ``KINDS``.
        values: the values of that kind.
        levels: number of values in a full factorial; a choice takes all of its values.
    """

    kind: str
    values: tuple[Any, ...]
    levels: int = LEVELS

    def __post_init__(self) -> None:
        check_choice("distribution", self.kind, KINDS)
        if self.kind == "choice":
            kinds = {str if isinstance(value, str) else type(value) in (int, float, bool) for value in self.values}
            check(len(kinds) == 1 and kinds != {False}, "choice", "values of one kind", list(self.values))
        else:
            are_two = len(self.values) == 2 and are_numbers(self.values) and np.isfinite(self.values).all()
            first, second = self.values if are_two else (np.nan, np.nan)
            are_right = second >= 0 if self.kind == "normal" else first <= second
            are_right = are_right and (first > 0 or self.kind != "log_uniform")
            check(are_right, f"distribution: {self.kind}", KINDS[self.kind], list(self.values))
        is_count = isinstance(self.levels, int) and not isinstance(self.levels, bool) and 1 <= self.levels <= 1000
        check(is_count, "levels", "a whole number from 1 to 1000", self.levels)

    @property
    def count(self) -> int:
        """Number of values in a full factorial."""
        return len(self.values) if self.kind == "choice" else self.levels

    def at(self, probability: float) -> Any:
        """Return the quantile of a probability in [0, 1]; for a normal distribution in (0, 1)."""
        if self.kind == "choice":
            return self.values[min(int(probability * len(self.values)), len(self.values) - 1)]
        first, second = map(float, self.values)
        if self.kind == "normal":
            from scipy.special import ndtri

            return first + second * float(ndtri(probability))
        found = first + probability * (second - first)
        if self.kind == "log_uniform":
            found = float(np.exp(np.log(first) + probability * (np.log(second) - np.log(first))))
        return min(max(found, first), second)  # rounding may lead beyond the ends

    def probabilities(self) -> Array:
        """Return the probabilities in a full factorial: from end to end, or the middles of equal parts."""
        count = self.count
        if count == 1 or self.kind in ("choice", "normal"):
            return (np.arange(count) + 0.5) / count
        return np.linspace(0.0, 1.0, count)

    def ends(self) -> tuple[Any, ...]:
        """Return extreme values: the ends, the 0.1 % and 99.9 % quantiles of a normal distribution, or all choices."""
        least = 1e-3 if self.kind == "normal" else 0.0
        return self.values if self.kind == "choice" else (self.at(least), self.at(1.0 - least))


@dataclass(frozen=True)
class Sampling(CheckedSettings):
    """Settings of the sample; each field's metadata describe it."""

    method: str = choice("sobol", "how the inputs are sampled", lambda: METHODS)
    cases: int = whole(1024, "number of cases for each controller; a factorial has its own", 1, 10_000_000)
    seed: int = whole(0, "seed of the sample and of all that happens in the cases", 0, 2**31 - 1)

    @property
    def is_random(self) -> bool:
        """True if the cases are a sample of the distributions; a factorial has all combinations of chosen values."""
        return self.method != "factorial"

    def count(self, inputs: tuple[Distribution, ...]) -> int:
        """Return the number of cases for each controller."""
        return self.cases if self.is_random else prod(each.count for each in inputs)

    def probabilities(self, inputs: tuple[Distribution, ...], first: int, count: int) -> Array:
        """Return the probabilities of consecutive cases, (count, inputs).

        Args:
            inputs: the inputs that vary.
            first: number of the first case.
            count: number of cases.
        """
        if not inputs:
            return np.empty((count, 0))
        if not self.is_random:
            levels = [each.probabilities() for each in inputs]
            places = np.unravel_index(np.arange(first, first + count), [len(level) for level in levels])
            return np.column_stack([level[place] for level, place in zip(levels, places, strict=True)])
        if self.method == "latin_hypercube":
            return _hypercube(len(inputs), self.cases, self.seed)[first : first + count]
        from scipy.stats import qmc

        sequence = qmc.Sobol(len(inputs), scramble=True, seed=np.random.default_rng(self.seed))
        with warnings.catch_warnings():
            # SciPy warns that only powers of two are balanced; a part of a sample never is.
            warnings.simplefilter("ignore", UserWarning)
            if first:
                sequence.fast_forward(first)
            sample: Array = np.clip(sequence.random(count), 2.0**-54, 1.0 - 2.0**-53)
        return sample


@lru_cache(maxsize=1)
def _hypercube(inputs: int, cases: int, seed: int) -> Array:
    from scipy.stats import qmc

    return qmc.LatinHypercube(inputs, seed=np.random.default_rng(seed)).random(cases)


@dataclass(frozen=True)
class Specification:
    """Upper bounds of the performance figures; a failed case never meets them.

    Attributes:
        bounds: (quantity, joint) → bound.
        settle_band: joint → distance to the goal within which it has settled at the end [rad] or [m].
        settled: True if every joint must settle.
    """

    bounds: Mapping[tuple[str, str], float] = field(default_factory=dict)
    settle_band: Mapping[str, float] = field(default_factory=dict)
    settled: bool = False

    def all_bounds(self) -> dict[tuple[str, str], float]:
        """Return all bounds, with that on settling."""
        bands = {("final_error", joint): band for joint, band in self.settle_band.items()} if self.settled else {}
        return dict(self.bounds) | {key: min(band, self.bounds.get(key, band)) for key, band in bands.items()}

    def margins(self, figures: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
        """Return the margin to each bound, as a fraction of the bound; negative where the figure exceeds it.

        Args:
            figures: ``quantity/joint`` → value, or array of values.
        """
        values = {key: (figures["/".join(key)], bound) for key, bound in self.all_bounds().items()}
        return {key: 1.0 - value / bound if bound > 0.0 else -value for key, (value, bound) in values.items()}


@dataclass(frozen=True)
class MotionSettings(CheckedSettings):
    """Times of the motion; each field's metadata describe it."""

    duration: float = setting(4.5, "duration of all segments together", "s", 0.01, 3600.0)
    rest: float = setting(0.5, "time of observation at the end", "s", 0.0, 3600.0)
    window: float = setting(0.2, "time before the end within which an arm must have settled", "s", 0.0, 3600.0)


@dataclass(frozen=True)
class CaseLimits(CheckedSettings):
    """How long a case may take; each field's metadata describe it."""

    case_timeout: float = setting(60.0, "a case that takes longer has failed", "s", 0.1, 86400.0)


class Case(NamedTuple):
    """One trial of a study."""

    number: int
    controller: str
    seed: int  # of all random numbers in it
    inputs: dict[str, Any]  # name → value of each input that varies


@dataclass(frozen=True, eq=False)
class Study:
    """A study.

    Attributes:
        name: name for titles.
        urdf: XML of the arm.
        controllers: control laws; each gets the same cases.
        poses: poses at which the arm comes to rest, one after the other from its initial pose; none to stay there.
        motion: durations of the motion.
        given: node → parameter → value, for the parameters that do not vary.
        vary: name → distribution; a name begins with ``simulator.``, ``controller.`` or ``arm.``.
        sampling: number and choice of the cases.
        specification: bounds of the performance figures.
        limits: time limit of a case.
    """

    name: str
    urdf: str
    controllers: tuple[str, ...] = ("computed_torque",)
    poses: tuple[tuple[float, ...], ...] = ()
    motion: MotionSettings = field(default_factory=MotionSettings)
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    vary: Mapping[str, Distribution] = field(default_factory=dict)
    sampling: Sampling = field(default_factory=Sampling)
    specification: Specification = field(default_factory=Specification)
    limits: CaseLimits = field(default_factory=CaseLimits)

    @property
    def duration(self) -> float:
        """Duration of a case [s]."""
        return self.motion.duration + self.motion.rest

    @property
    def samples(self) -> int:
        """Number of cases for each controller."""
        return self.sampling.count(tuple(self.vary.values()))

    @property
    def size(self) -> int:
        """Number of cases. Those of one sample under all controllers follow each other."""
        return self.samples * len(self.controllers)

    @property
    def digest(self) -> str:
        """Digest of everything that the results depend on."""
        relevant = [self.__dict__[name] for name in self.__dataclass_fields__ if name not in ("name", "limits")]
        return hashlib.sha256(repr(relevant).encode()).hexdigest()[:32]

    def cases(self, first: int, count: int) -> list[Case]:
        """Return consecutive cases, from a number on."""
        controllers, inputs = self.controllers, tuple(self.vary.values())
        samples = range(first // len(controllers), -(-(first + count) // len(controllers)))
        rows = self.sampling.probabilities(inputs, samples.start, len(samples)).tolist()
        found = []
        for number in range(first, first + count):
            sample, controller = divmod(number, len(controllers))
            pairs = zip(self.vary.items(), rows[sample - samples.start], strict=True)
            chosen = {name: each.at(p) for (name, each), p in pairs}
            seed = int(np.random.SeedSequence([self.sampling.seed, sample]).generate_state(1)[0] >> 1)
            found.append(Case(number, controllers[controller], seed, chosen))
        return found
