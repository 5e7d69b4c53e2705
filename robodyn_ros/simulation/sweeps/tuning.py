# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tuning: the gains that keep to the specification in the worst cases of a study, with the least effort.

A candidate is a natural frequency and a damping ratio for every joint. It runs on a sample of the study's cases, the
same for all candidates. Its violation is the mean over the worst 1 % of the cases of the greatest violation of a bound
(the conditional value at risk: Rockafellar and Uryasev, Optimization of conditional value-at-risk, 2000). Among the
candidates with a violation of at most 0, the one with the least effort is the best. The search is SciPy's differential
evolution (Storn and Price, 1997), because violations are neither smooth nor convex.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil, exp, log
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control.laws.gains import JointGains
from robodyn_ros.robot import Array, Robot, reload_robot
from robodyn_ros.settings import CheckedSettings, setting, whole
from robodyn_ros.simulation.sweeps.backends import Backend
from robodyn_ros.simulation.sweeps.runner import Chunk, Rows
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.summary import first_stop

GAINS = ("natural_frequency", "damping_ratio", "integral_rate")
"""Gains that can be tuned; each has a lower and an upper bound."""

FAILED = 10.0
"""Violation of a case that fails at once; a later failure has a smaller one."""

BROKEN = 1e3
"""Cost factor of a candidate that violates the specification."""

INSET = 1e-9
"""Distance of the first candidate from its bounds, as a fraction of the distance between them [-]."""

FIRST = 16
"""Number of cases that a candidate runs on before it runs on all."""


class Score(NamedTuple):
    """The score of a controller with its gains on some cases."""

    violation: float  # mean over the worst cases of the greatest violation of a bound, as a fraction of it [-]
    effort: float  # mean over the cases, of the joints' RMS efforts relative to their limits [-]
    met: int  # cases that meet the specification
    cases: int
    stopped: str = ""  # when and why the first case that failed stopped; "" if none did

    @property
    def cost(self) -> float:
        """The cost that the search minimises."""
        return self.effort if self.violation <= 0.0 else BROKEN * (1.0 + self.violation)


@dataclass(frozen=True)
class TuningSettings(CheckedSettings):
    """Settings of the search; each field's metadata describe it."""

    cases: int = whole(100, "cases that each candidate is tried on", 1, 100_000)
    unseen: int = whole(1000, "further cases, on which the result is compared with the study's gains", 1, 1_000_000)
    population: int = whole(6, "candidates for each number that is searched for", 2, 1000)
    generations: int = whole(20, "greatest number of generations of candidates", 1, 10_000)
    worst: float = setting(0.01, "fraction of the cases that counts, the worst ones", "-", 1e-6, 1.0)
    seed: int = whole(0, "seed of the search", 0, 2**31 - 1)


@dataclass(frozen=True, eq=False)
class TuningTask:
    """A task of tuning.

    Attributes:
        bounds: (gain, joint) → least and greatest value.
        controllers: the controllers to tune.
        settings: settings of the search.
    """

    bounds: Mapping[tuple[str, str], tuple[float, float]]
    controllers: tuple[str, ...]
    settings: TuningSettings = field(default_factory=TuningSettings)

    def tuned(self, gains: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Those of some gains, joint → gain → value, that are tuned."""
        wanted = self.bounds
        return {joint: {gain: own[gain] for gain in own if (gain, joint) in wanted} for joint, own in gains.items()}


class Tuned(NamedTuple):
    """The result for one controller."""

    controller: str
    gains: dict[str, dict[str, float]]  # joint → gain → value
    score: Score  # on the cases of the search
    candidates: int  # number of candidates that ran


def tune(
    study: Study, task: TuningTask, backend: Backend, progress: Callable[[str, int, Score], object] = lambda *_: None
) -> list[Tuned]:
    """Search for the gains of each controller; the best comes first.

    Args:
        study: the study with the specification; its gains are the first candidate.
        task: the gains to tune.
        backend: runs the cases.
        progress: called with the controller, the number of candidates so far, and the best score so far.
    """
    found = [_tune_one(study, task, controller, backend, progress) for controller in task.controllers]
    return sorted(found, key=lambda each: each.score.cost)


def with_gains(study: Study, controller: str, gains: Mapping[str, Mapping[str, float]]) -> Study:
    """Return the study under one controller with these gains; they do not vary any more."""
    named = {f"gains.{joint}.{gain}": value for joint, own in gains.items() for gain, value in own.items()}
    given = {node: dict(values) for node, values in study.given.items()}
    given["controller"] = given.get("controller", {}) | named
    vary = {name: each for name, each in study.vary.items() if name.removeprefix("controller.") not in named}
    return replace(study, controllers=(controller,), given=given, vary=vary)


def own_gains(study: Study, robot: Robot) -> dict[str, dict[str, float]]:
    """Return the gains that the study gives, or the defaults; of those that cannot be tuned, those that it gives."""
    given = study.given.get("controller", {})
    defaults = {
        gain: default
        for gain, default in vars(JointGains()).items()
        if gain in GAINS or any(f"gains.{joint}.{gain}" in given for joint in robot.joint_names)
    }
    return {
        joint: {gain: float(given.get(f"gains.{joint}.{gain}", default)) for gain, default in defaults.items()}
        for joint in robot.joint_names
    }


def _tune_one(
    study: Study, task: TuningTask, controller: str, backend: Backend, progress: Callable[[str, int, Score], object]
) -> Tuned:
    from scipy.optimize import differential_evolution

    robot, settings = reload_robot(study.urdf), task.settings
    keys, start = list(task.bounds), own_gains(study, robot)
    scales = [(log, exp) if low > 0.0 else (float, float) for low, _ in task.bounds.values()]
    bounds = [(to(low), to(high)) for (to, _), (low, high) in zip(scales, task.bounds.values(), strict=True)]
    tried: list[tuple[Score, Array]] = []
    sampled = replace(study, sampling=_sample(study, settings.cases))

    def gains(point: Array) -> dict[str, dict[str, float]]:
        found = {joint: dict(own) for joint, own in start.items()}
        for (gain, joint), (_, back), value in zip(keys, scales, point.tolist(), strict=True):
            low, high = task.bounds[gain, joint]
            found[joint][gain] = min(max(float(f"{back(value):.4g}"), low), high)
        return found

    def cost(point: Array) -> float:
        candidate = with_gains(sampled, controller, task.tuned(gains(point)))
        found = score(candidate, settings.cases, backend, settings.worst, robot, thorough=False)
        tried.append((found, point))
        progress(controller, len(tried), min(tried, key=lambda each: each[0].cost)[0])
        return found.cost

    inside = [float(np.clip(start[joint][gain], *task.bounds[gain, joint])) for gain, joint in keys]
    low, high = np.array(bounds).T
    inset = INSET * (high - low)  # SciPy refuses a start that rounding puts beyond a bound
    first = np.clip([to(value) for (to, _), value in zip(scales, inside, strict=True)], low + inset, high - inset)
    size = {"maxiter": settings.generations, "popsize": settings.population, "tol": 1e-3}
    differential_evolution(cost, bounds, seed=settings.seed, x0=first, init="sobol", polish=False, **size)
    best, point = min(tried, key=lambda each: each[0].cost)
    return Tuned(controller, gains(point), best, len(tried))


def _sample(study: Study, cases: int) -> Any:
    """The study's sampling, with the number of cases that the search needs."""
    method = "sobol" if study.sampling.method == "factorial" else study.sampling.method
    return replace(study.sampling, method=method, cases=cases)


def unseen(study: Study, cases: int) -> Study:
    """Return the study on other cases, by another seed of the sample and of the random numbers in the cases."""
    sample = _sample(study, cases)
    return replace(study, sampling=replace(sample, seed=(sample.seed + 1) % 2**31))


def score(study: Study, count: int, backend: Backend, worst: float, robot: Robot, *, thorough: bool = True) -> Score:
    """Run the first cases of a study under one controller, and return the score.

    Args:
        study: the study.
        count: number of cases.
        backend: runs the cases.
        worst: fraction of the cases that counts for the violation [-].
        robot: the arm.
        thorough: True to run all cases even if the first few violate the specification.
    """
    few = min(FIRST, count)
    rows = _rows(study, 0, few, backend)
    found = _scored(study, rows, worst, robot)
    if few == count or (found.violation > 0.0 and not thorough):
        return found
    return _scored(study, rows + _rows(study, few, count, backend), worst, robot)


def _rows(study: Study, first: int, end: int, backend: Backend) -> Rows:
    size = min(FIRST, -(-(end - first) // 4))
    chunks = [Chunk(at, min(size, end - at)) for at in range(first, end, size)]
    return sorted((row for done in backend(study, chunks) for row in done.rows), key=lambda row: int(row["case"]))


def _scored(study: Study, rows: Rows, worst: float, robot: Robot) -> Score:
    violations = np.array([_violation(study, row) for row in rows])
    counted = np.sort(violations)[-max(1, ceil(worst * len(rows))) :]
    efforts = [effort for row in rows if (effort := _effort(row, robot)) == effort]  # without NaN
    met = sum(1 for row in rows if row["met"])
    stopped = first_stop(*([row[name] for row in rows] for name in ("case", "failed", "failed_at")))
    return Score(float(counted.mean()), float(np.mean(efforts)) if efforts else float("inf"), met, len(rows), stopped)


def _violation(study: Study, row: dict[str, Any]) -> float:
    if row["failed"]:
        late = row["failed_at"] / study.duration if row["failed_at"] == row["failed_at"] else 0.0
        return FAILED - late
    return -float(min(study.specification.margins(row).values(), default=0.0))


def _effort(row: dict[str, Any], robot: Robot) -> float:
    """Mean RMS effort of the joints, relative to the limit; where there is none, in [N·m] or [N]."""
    limits = np.where(np.isfinite(robot.effort_limit) & (robot.effort_limit > 0.0), robot.effort_limit, 1.0)
    efforts: Array = np.array([row[f"rms_effort/{name}"] for name in robot.joint_names]) / limits
    return float(efforts.mean())
