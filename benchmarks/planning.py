# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Solve times of the planner beside Drake's direct collocation and Crocoddyl's BoxDDP: the same problems, in one run.

    python benchmarks/planning.py [--repeats 5] [--json]

Drake and Crocoddyl are no dependencies; where they are not installed their rows are missing. Where they live in another
environment, ``--also PATH`` puts its site-packages behind those of this one. Each time is a median; ours are from the
problem to the verified answer, refinements of the mesh included, and the row with "20 intervals" stops after one mesh,
as Drake does.
"""

from __future__ import annotations

import re
import site
from dataclasses import replace
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np
from common import PRR, options, report

STEPS = 20
SOFT = "effort, soft end"  # as Crocoddyl states it: a weighted end, no limits of position and speed
LIFTED, WEIGHTS, BRIEF = np.array([0.3, -1.83, -0.12]), [1e6] * 3 + [1e4] * 3, 0.6
HOME, PICK = np.zeros(3), np.array([0.0, -1.83, -0.12])


def row_of(problem: str, solver: str, seconds: list[float], found: Any) -> dict[str, Any]:
    """One solver on one problem; the error is that of the efforts between the points, over their limit."""
    return {
        "problem": problem, "solver": solver, "time [ms]": 1e3 * median(seconds), "solved": bool(found.solved),
        "T [s]": found.duration, "cost": found.cost, "error": getattr(found, "dynamics_error", None),
    }  # fmt: skip


def ours(repeats: int) -> list[dict[str, Any]]:
    """Every method of this package."""
    import robodyn_ros as rd
    from robodyn_ros.control import point_to_point
    from robodyn_ros.planning import time_scaling
    from robodyn_ros.planning.collocation.collocation import CollocationSettings, plan
    from robodyn_ros.planning.cost import Effort, MinimumTime, Tracking
    from robodyn_ros.planning.problem import JointGoal, MotionLimits, Problem

    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR))
    quintic = point_to_point(dynamics, HOME, PICK, share=0.9)
    rows = [{"problem": "minimum time", "solver": "quintic (point_to_point)", "T [s]": quintic.duration}]
    unlimited = np.full(3, np.inf)
    free = replace(MotionLimits.of(dynamics.robot), lower=-unlimited, upper=unlimited, velocity=unlimited)
    soft = Effort() + Tracking([*LIFTED, 0.0, 0.0, 0.0], np.zeros(6), QT=WEIGHTS)
    least = {
        "minimum time": Problem(dynamics, HOME, JointGoal(PICK), MinimumTime()),
        "effort in 1 s": Problem(dynamics, HOME, JointGoal(PICK), Effort(), duration=1.0),
        SOFT: Problem(dynamics, HOME, JointGoal(HOME * np.nan, None), soft, duration=BRIEF, limits=free),
    }
    for name, problem in least.items():
        for scheme in ("hermite-simpson", "trapezoidal"):
            for refinements, note in ((0, f", {STEPS} intervals"), (8, "")):
                config = CollocationSettings(scheme=scheme, intervals=STEPS, refinements=refinements, time_limit=300.0)
                found = [plan(problem, config) for _ in range(repeats)]
                row = row_of(name, scheme + note, [one.solve_time for one in found], found[0])
                row["solved"] |= refinements == 0 and "between the points" in found[0].reason
                rows.append(row)
    try:
        found = [time_scaling.plan(least["minimum time"]) for _ in range(repeats)]
    except rd.ConfigurationError:
        return rows
    rows.append(row_of("minimum time", "time scaling, straight way", [one.solve_time for one in found], found[0]))
    return rows


def drakes(repeats: int) -> list[dict[str, Any]]:
    """Drake, if it is there."""
    from drake_problem import Drake

    import robodyn_ros as rd

    robot = rd.load_robot(PRR)
    limits = robot.lower, robot.upper, 0.9 * robot.velocity_limit, 0.9 * robot.effort_limit
    try:
        drake = Drake(PRR.read_text(encoding="utf-8"))
    except ImportError:
        return []
    rows = []
    for name, duration in (("minimum time", None), ("effort in 1 s", 1.0)):
        for kind in ("Snopt", "Ipopt"):
            found = [drake.solve(kind, HOME, PICK, limits, STEPS, duration) for _ in range(repeats)]
            title = f"Drake, {kind}, {STEPS} intervals"
            rows.append(row_of(name, title, [answer.seconds for answer in found], found[0]))
    return rows


def crocoddyls(repeats: int) -> list[dict[str, Any]]:
    """Crocoddyl, if it is there."""
    from crocoddyl_problem import Crocoddyl

    import robodyn_ros as rd

    robot, steps = rd.load_robot(PRR), 60
    urdf = re.sub(r"<visual.*?</visual>", "", PRR.read_text(encoding="utf-8"), flags=re.DOTALL)
    goal, guess = [*LIFTED, 0.0, 0.0, 0.0], np.tile([196.2, 0.0, 0.0], (steps, 1))
    try:
        solver = Crocoddyl(urdf, np.zeros(6), goal, WEIGHTS, BRIEF, steps, 0.9 * robot.effort_limit)
    except ImportError:
        return []
    rows = []
    for kind in ("BoxDDP", "BoxFDDP"):
        found = [solver.solve(kind, guess, 300) for _ in range(repeats)]
        costs = found[0][0]
        one = SimpleNamespace(solved=len(costs) < 300, duration=BRIEF, cost=2.0 * costs[-1])
        rows.append(row_of(SOFT, f"Crocoddyl, {kind}, {steps} steps", [seconds for _, seconds in found], one))
    return rows


def main() -> None:
    """Measure and print."""
    parser = options(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    text = "site-packages to search last; again for more"
    parser.add_argument("--also", type=Path, action="append", default=[], help=text)
    args = parser.parse_args()
    for folder in args.also:
        site.addsitedir(str(folder))
    rows = [*ours(args.repeats), *drakes(args.repeats), *crocoddyls(args.repeats)]
    title = "PRR arm, HOME to PICK at rest, 90 % of the limits of speed and effort"
    report({title: sorted(rows, key=lambda row: row["problem"])}, args.json)


if __name__ == "__main__":
    main()
