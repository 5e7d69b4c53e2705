"""The cases of a study in probabilities: a full factorial, a Latin hypercube, or a Sobol sequence, by SciPy.

A case's probabilities depend on the study and its number alone, so that any one can be made again by itself.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from robodyn_ros.control.settings import check_settings, choice, whole
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.sweeps.distribution import Distribution

METHODS = ("sobol", "latin_hypercube", "factorial")


@dataclass(frozen=True)
class Sampling:
    """Settings of the sample; each field's metadata say what it is."""

    method: str = choice("sobol", "how the inputs are sampled", lambda: METHODS)
    cases: int = whole(1024, "number of cases for each controller; a factorial has its own", 1, 10_000_000)
    seed: int = whole(0, "seed of the sample and of all that happens in the cases", 0, 2**31 - 1)

    def __post_init__(self) -> None:
        check_settings(self)

    def count(self, inputs: tuple[Distribution, ...]) -> int:
        """How many cases there are for each controller."""
        return prod(each.count for each in inputs) if self.method == "factorial" else self.cases

    def probabilities(self, inputs: tuple[Distribution, ...], first: int, count: int) -> Array:
        """Of some cases, (count, inputs).

        Args:
            inputs: what varies.
            first: number of the first of them.
            count: how many.
        """
        if not inputs:
            return np.empty((count, 0))
        if self.method == "factorial":
            levels = [each.probabilities() for each in inputs]
            places = np.unravel_index(np.arange(first, first + count), [len(level) for level in levels])
            return np.column_stack([level[place] for level, place in zip(levels, places, strict=True)])
        if self.method == "latin_hypercube":
            return _hypercube(len(inputs), self.cases, self.seed)[first : first + count]
        from scipy.stats import qmc

        sequence = qmc.Sobol(len(inputs), scramble=True, seed=np.random.default_rng(self.seed))
        with warnings.catch_warnings():
            # It says that the sample is balanced in powers of two only; a part of it never is.
            warnings.simplefilter("ignore", UserWarning)
            if first:
                sequence.fast_forward(first)
            drawn: Array = np.clip(sequence.random(count), 2.0**-54, 1.0 - 2.0**-53)
        return drawn

    def case_seed(self, case: int) -> int:
        """Seed of all that happens at random in a case."""
        return int(np.random.SeedSequence([self.seed, case]).generate_state(1)[0] >> 1)


@lru_cache(maxsize=1)
def _hypercube(inputs: int, cases: int, seed: int) -> Array:
    from scipy.stats import qmc

    sample: Array = qmc.LatinHypercube(inputs, seed=np.random.default_rng(seed)).random(cases)
    return sample
