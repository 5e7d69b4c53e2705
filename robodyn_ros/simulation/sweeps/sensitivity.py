"""Which input matters: first-order variance-based sensitivity, from the cases as they are.

    S_i = Var(E[Y | X_i]) / Var(Y)

the part of the output's variance that would go if the i-th input were known (Saltelli et al., Global Sensitivity
Analysis: The Primer (2008), section 4.5). E[Y | X_i] is the mean over cases with about the same X_i: bins of equally
many cases, or its own values if it has few (given-data estimation: Plischke, Borgonovo, Smith, Global sensitivity
measures from given data, European Journal of Operational Research 226 (2013)). Means of finitely many cases differ by
chance as well; what that adds is taken away, by the estimate of the correlation ratio that is free of this bias to
first order (Kelley, An unbiased correlation measure, 1935). So no cases are run beside those of the study, and any
sample will do. The rest to 1 is what inputs do together, and chance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.robot.pose import Array

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
