"""What a controller with its gains is worth on some cases of a study."""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.sweeps.backends import Backend
from robodyn_ros.simulation.sweeps.chunk import Chunk, Rows
from robodyn_ros.simulation.sweeps.study import Study

FAILED = 10.0
"""The violation of a case that failed at once; one that failed later has less."""

BROKEN = 1e3
"""What a candidate that breaks the specification is worse by than any that keeps it."""

FIRST = 16
"""A candidate is tried on so many cases before it is tried on all."""


class Score(NamedTuple):
    """What a controller with its gains is worth on some cases."""

    violation: float  # mean over the worst cases of the greatest violation of a bound, as a part of it [-]
    effort: float  # mean over the cases, of the joints' RMS efforts as parts of their limits [-]
    met: int  # cases that meet the specification
    cases: int

    @property
    def cost(self) -> float:
        """What is minimised."""
        return self.effort if self.violation <= 0.0 else BROKEN * (1.0 + self.violation)


def score(study: Study, count: int, backend: Backend, worst: float, robot: Robot, *, thorough: bool = True) -> Score:
    """Try the first cases of a study under one controller.

    Args:
        study: whose.
        count: how many.
        backend: who tries them.
        worst: part of the cases that counts for the violation [-].
        robot: the arm.
        thorough: go on when the first few have shown that the specification is broken.
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
    efforts = [effort for row in rows if (effort := _effort(row, robot)) == effort]  # not those that came to nothing
    met = sum(1 for row in rows if row["met"])
    return Score(float(counted.mean()), float(np.mean(efforts)) if efforts else float("inf"), met, len(rows))


def _violation(study: Study, row: dict[str, Any]) -> float:
    if row["failed"]:
        late = row["failed_at"] / study.duration if row["failed_at"] == row["failed_at"] else 0.0
        return FAILED - late
    return -float(min(study.specification.margins(row).values(), default=0.0))


def _effort(row: dict[str, Any], robot: Robot) -> float:
    """Parts of the limits; where there is none, in [N·m] or [N]."""
    limits = np.where(np.isfinite(robot.effort_limit) & (robot.effort_limit > 0.0), robot.effort_limit, 1.0)
    efforts: Array = np.array([row[f"rms_effort/{name}"] for name in robot.joint_names]) / limits
    return float(efforts.mean())
