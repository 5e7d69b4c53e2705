# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The summary of a study's results: probabilities, margins, worst cases, and the inputs that matter.

The importance of an input is the first-order variance-based sensitivity index, from the cases as they are:

    S_i = Var(E[Y | X_i]) / Var(Y)

It is the fraction of the output's variance that would vanish if the i-th input were known (Saltelli et al., Global
Sensitivity Analysis: The Primer (2008), section 4.5). E[Y | X_i] is estimated by the mean over cases with about the
same X_i: bins of equally many cases, or the values of an input that has few (given-data estimation: Plischke,
Borgonovo, Smith, Global sensitivity measures from given data, European Journal of Operational Research 226 (2013)).
Means of finitely many cases also differ by chance. The estimate of the correlation ratio that is unbiased to first
order removes that part (Kelley, An unbiased correlation measure, 1935). So the cases of the study are enough, from any
sample. The rest to 1 comes from interactions of inputs and from chance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.robot import Array, reload_robot
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.sweep import column
from robodyn_ros.simulation.trial import simulated, stop_line

CERTAINTY = 0.99
"""Probability that chance alone stays below the noise level."""

FEW = 12
"""Greatest number of values for which each value is a bin, unless each is of one case only."""

CONFIDENCE = 0.95

WORST = 10
"""Number of the worst cases in a summary."""

QUANTILES = (0.0, 0.01, 0.05, 0.5)
"""Quantiles of the margins in a summary."""


class Sensitivity(NamedTuple):
    """Sensitivity of an output to one input."""

    first_order: float  # S_i [-]; NaN if the output does not vary
    noise: float  # noise level, which chance alone may reach [-]


class Bound(NamedTuple):
    """How the cases keep one bound of the specification."""

    quantity: str
    joint: str
    bound: float
    kept: int  # number of cases that keep it, of those that did not fail
    quantiles: tuple[float, ...]  # quantiles of the margin, at QUANTILES [-]


class Summary(NamedTuple):
    """The summary of one controller."""

    controller: str
    cases: int
    met: int
    low: float  # confidence interval of the probability of meeting the specification; NaN if the cases are no sample
    high: float
    failed: dict[str, int]  # reason without its numbers → number of cases
    margins: Array  # margins of the cases that did not fail [-]
    bounds: tuple[Bound, ...]
    worst: tuple[tuple[int, float, str], ...]  # number, margin, reason of failure
    sensitivities: dict[str, dict[str, Sensitivity]]  # output → input → index, of the outputs that have one
    compiled: int  # number of cases that called no Python code
    stopped: str = ""  # when and why the first case that failed stopped; "" if none did

    @property
    def probability(self) -> float:
        """The fraction of the cases that meet the specification."""
        return self.met / self.cases


def summarise(study: Study, file: Path) -> list[Summary]:
    """Return the summary of each controller from a file of results."""
    controllers = column(file, "controller")
    return [_of_one(study, file, name, controllers == name) for name in study.controllers]


def confidence(met: int, cases: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a probability after ``met`` of ``cases`` (Clopper and Pearson, 1934)."""
    from scipy.stats import binomtest

    interval = binomtest(met, cases).proportion_ci(CONFIDENCE, method="exact")
    return float(interval.low), float(interval.high)


def _of_one(study: Study, file: Path, controller: str, own: Array) -> Summary:
    def values(name: str) -> Array:
        return column(file, name)[own]

    met, failed, margin, cases = values("met"), values("failed"), values("margin"), values("case")
    good = failed == ""
    count, kept = len(cases), int(met.sum())
    reasons = Counter(_reason(text) for text in failed[~good].tolist())
    bounds, outputs = [], {}
    bound_of = study.specification.all_bounds()
    figures = {f"{quantity}/{joint}": values(f"{quantity}/{joint}")[good] for quantity, joint in bound_of}
    for key, margins in study.specification.margins(figures).items():
        quantiles = np.quantile(margins, QUANTILES).tolist() if good.any() else [np.nan] * len(QUANTILES)
        bounds.append(Bound(*key, bound_of[key], int(np.count_nonzero(margins >= 0.0)), tuple(quantiles)))
    for name in ("margin", *(f"rms_error/{joint}" for joint in reload_robot(study.urdf).joint_names)):
        found = values(name)[good]
        usable = np.isfinite(found)
        indices = {key: sensitivity(values(key)[good][usable], found[usable]) for key in study.vary}
        if any(np.isfinite(index.first_order) for index in indices.values()):
            outputs[name] = indices
    order = np.lexsort((np.where(good, margin, 0.0), good))[:WORST]
    worst = tuple((int(cases[i]), float(margin[i]), simulated(str(failed[i]))) for i in order)
    low, high = confidence(kept, count) if study.sampling.is_random else (np.nan, np.nan)
    ranked, margins = dict(reasons.most_common()), margin[good]
    failed_at = values("failed_at")
    ran = good | np.isfinite(failed_at)  # an impossible case runs nothing
    compiled = count - int(np.count_nonzero(ran & (values("compiled") == 0)))
    stop = first_stop(cases.tolist(), failed.tolist(), failed_at.tolist())
    return Summary(controller, count, kept, low, high, ranked, margins, tuple(bounds), worst, outputs, compiled, stop)


def first_stop(cases: Sequence[int], failed: Sequence[str], failed_at: Sequence[float]) -> str:
    """How many cases did not run to their end, and when and why the first of them stopped; "" if all did."""
    rows = [row for row in zip(cases, failed, failed_at, strict=True) if row[1]]
    if not rows:
        return ""
    number, said, at = rows[0]
    return f"{len(rows)} of {len(cases)} cases did not run to their end. Case {number} {stop_line(said, at)}"


def _reason(text: str) -> str:
    """The reason of failure without its numbers, so that equal reasons can be counted."""
    return re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "…", simulated(text))


def sensitivity(x: ArrayLike, y: Array) -> Sensitivity:
    """Return the first-order index of an input.

    Args:
        x: values of the input (N,), numbers or names.
        y: values of the output (N,), finite.
    """
    count = len(y)
    total = float(np.sum((y - y.mean()) ** 2)) if count else 0.0
    place = _bins(np.asarray(x))
    groups = int(place.max(initial=-1)) + 1
    if not total > 0.0 or count <= groups or groups < 2:
        return Sensitivity(float("nan"), float("nan"))
    sizes = np.bincount(place, minlength=groups)
    means = np.bincount(place, weights=y, minlength=groups) / sizes
    within = float(np.sum((y - means[place]) ** 2))
    free = count - groups
    return Sensitivity(1.0 - (within / free) / (total / (count - 1)), _chance(groups, free, count))


def _chance(groups: int, free: int, count: int) -> float:
    """The noise level, by Fisher's F distribution of the ratio of the variances."""
    from scipy.stats import f

    ratio = float(f.ppf(CERTAINTY, groups - 1, free))
    within = free / (free + (groups - 1) * ratio)  # as a fraction of the total
    return 1.0 - (within / free) * (count - 1)


def _bins(x: NDArray) -> NDArray[np.int64]:  # type: ignore[type-arg]
    """Bin of each case, (N,)."""
    values, place = np.unique(x, return_inverse=True)
    if len(values) <= min(FEW, len(x) - 1):
        return place.astype(np.int64)
    groups, ranks = max(2, min(100, round(len(x) ** 0.5 / 2))), np.argsort(np.argsort(x, kind="stable"))
    return ranks * groups // len(x)
