"""What the results of a study say."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.sweeps.results import column
from robodyn_ros.simulation.sweeps.sensitivity import Sensitivity, sensitivity
from robodyn_ros.simulation.sweeps.study import Study

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
