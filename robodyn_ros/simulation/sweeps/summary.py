"""What the results of a study say."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.sweeps.results import column
from robodyn_ros.simulation.sweeps.study import Study

# Which input matters: first-order variance-based sensitivity, from the cases as they are.
#
#     S_i = Var(E[Y | X_i]) / Var(Y)
#
# the part of the output's variance that would go if the i-th input were known (Saltelli et al., Global Sensitivity
# Analysis: The Primer (2008), section 4.5). E[Y | X_i] is the mean over cases with about the same X_i: bins of equally
# many cases, or its own values if it has few (given-data estimation: Plischke, Borgonovo, Smith, Global sensitivity
# measures from given data, European Journal of Operational Research 226 (2013)). Means of finitely many cases differ by
# chance as well; what that adds is taken away, by the estimate of the correlation ratio that is free of this bias to
# first order (Kelley, An unbiased correlation measure, 1935). So no cases are run beside those of the study, and any
# sample will do. The rest to 1 is what inputs do together, and chance.

CERTAINTY = 0.99
"""Chance alone stays below the noise level that often."""

FEW = 12
"""An input with so many values at most is taken by its values."""


class Sensitivity(NamedTuple):
    """Of an output to one input."""

    first_order: float  # S_i [-]; NaN if the output does not vary
    noise: float  # what chance alone may give [-]


def sensitivity(x: ArrayLike, y: Array) -> Sensitivity:
    """The first-order index of an input.

    Args:
        x: the input's values (N,), numbers or names.
        y: the output's (N,), finite.
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
    index = 1.0 - (within / free) / (total / (count - 1))
    return Sensitivity(index, _chance(groups, free, count))


def _chance(groups: int, free: int, count: int) -> float:
    """The index that chance alone stays below: Fisher's F distribution of the ratio of the variances."""
    from scipy.stats import f

    ratio = float(f.ppf(CERTAINTY, groups - 1, free))
    within = free / (free + (groups - 1) * ratio)  # as a part of the total
    return 1.0 - (within / free) * (count - 1)


def _bins(x: NDArray) -> NDArray[np.int64]:  # type: ignore[type-arg]
    """Bin of each case, (N,)."""
    values, place = np.unique(x, return_inverse=True)
    if len(values) <= FEW:
        return place.astype(np.int64)
    count = len(x)
    groups = max(2, min(100, round(count**0.5 / 2)))
    ranks = np.empty(count, dtype=np.int64)
    ranks[np.argsort(x, kind="stable")] = np.arange(count)
    binned: NDArray[np.int64] = ranks * groups // count
    return binned


CONFIDENCE = 0.95

WORST = 10
"""How many of the worst cases are named."""

QUANTILES = (0.0, 0.01, 0.05, 0.5)
"""Of the margins."""


class Bound(NamedTuple):
    """How one bound of the specification is kept."""

    quantity: str
    joint: str
    bound: float
    kept: int  # cases, of those that did not fail
    quantiles: tuple[float, ...]  # of the margin, at QUANTILES [-]


class Summary(NamedTuple):
    """Of one controller."""

    controller: str
    cases: int
    met: int
    low: float  # probability of meeting the specification, at least
    high: float  # and at most
    failed: dict[str, int]  # why → how often, the numbers left out
    margins: Array  # of the cases that did not fail [-]
    bounds: tuple[Bound, ...]
    worst: tuple[tuple[int, float, str], ...]  # number, margin, why it failed
    sensitivities: dict[str, dict[str, Sensitivity]]  # output → input → index
    compiled: int  # how many the compiled loop did

    @property
    def probability(self) -> float:
        """Of meeting the specification, as found."""
        return self.met / self.cases


def summarise(study: Study, file: Path) -> list[Summary]:
    """What a file of results says of each controller."""
    controllers = column(file, "controller")
    return [_of_one(study, file, name, controllers == name) for name in study.controllers]


def confidence(met: int, cases: int) -> tuple[float, float]:
    """Where a probability lies, with 95 % confidence, if so many of so many cases met (Clopper and Pearson, 1934)."""
    from scipy.stats import binomtest

    interval = binomtest(met, cases).proportion_ci(CONFIDENCE, method="exact")
    return float(interval.low), float(interval.high)


def _of_one(study: Study, file: Path, controller: str, own: Array) -> Summary:
    def values(name: str) -> Array:
        found: Array = column(file, name)[own]
        return found

    met, failed, margin, cases = values("met"), values("failed"), values("margin"), values("case")
    good = failed == ""
    count = len(cases)
    reasons = Counter(_reason(text) for text in failed[~good].tolist())
    bounds, outputs = [], {}
    for (quantity, joint), bound in study.specification.all_bounds().items():
        figure = values(f"{quantity}/{joint}")[good]
        margins = 1.0 - figure / bound if bound > 0.0 else -figure
        quantiles = (
            tuple(np.quantile(margins, QUANTILES).tolist()) if len(margins) else (float("nan"),) * len(QUANTILES)
        )
        bounds.append(Bound(quantity, joint, bound, int(np.count_nonzero(margins >= 0.0)), quantiles))
    for name in ("margin", *(key for key in _columns(study) if key.startswith("rms_error/"))):
        found = values(name)[good]
        usable = np.isfinite(found)
        if usable.any():
            outputs[name] = {key: sensitivity(values(key)[good][usable], found[usable]) for key in study.vary}
    order = np.lexsort((np.where(good, margin, 0.0), good))[:WORST]
    worst = tuple((int(cases[i]), float(margin[i]), str(failed[i])) for i in order)
    interval = confidence(int(met.sum()), count)
    ranked = dict(reasons.most_common())
    compiled = int(values("compiled").sum())
    return Summary(
        controller, count, int(met.sum()), *interval, ranked, margin[good], tuple(bounds), worst, outputs, compiled
    )


def _columns(study: Study) -> list[str]:
    from robodyn_ros.robot import load_robot

    return [f"rms_error/{name}" for name in load_robot(study.urdf).joint_names]


def _reason(text: str) -> str:
    """Why a case failed, without its numbers, so that the like can be counted."""
    return re.sub(r"-?\d+(\.\d+)?(e[-+]?\d+)?", "…", text)
