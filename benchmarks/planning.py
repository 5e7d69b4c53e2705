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

import argparse
import json
import re
import site
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

STEPS = 20
SOFT = "effort, soft end"  # as Crocoddyl states it: a weighted end, no limits of position and speed
LIFTED, WEIGHTS, BRIEF = np.array([0.3, -1.83, -0.12]), [1e6] * 3 + [1e4] * 3, 0.6
HOME, PICK = np.zeros(3), np.array([0.0, -1.83, -0.12])


@dataclass(frozen=True)
class Row:
    """One solver on one problem."""

    problem: str
    solver: str
    milliseconds: float
    solved: bool
    duration: float  # of the motion [s]
    cost: float  # as its own quadrature has it
    error: float | None  # of the efforts between the points, over their limit; None where nobody looked


def ours(repeats: int) -> list[Row]:
    """Every method of this package."""
    import robodyn_ros as rd
    from robodyn_ros.control import point_to_point
    from robodyn_ros.files import find
    from robodyn_ros.planning import time_scaling
    from robodyn_ros.planning.collocation.collocation import CollocationSettings, plan
    from robodyn_ros.planning.cost import Effort, MinimumTime, Tracking
    from robodyn_ros.planning.problem import JointGoal, MotionLimits, Problem

    dynamics = rd.create_dynamics("rnea", rd.load_robot(find("urdf/prr.urdf")))
    quintic = point_to_point(dynamics, HOME, PICK, share=0.9)
    rows = [Row("minimum time", "quintic (point_to_point)", np.nan, True, quintic.duration, quintic.duration, None)]
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
                solved = found[0].solved or (refinements == 0 and "between the points" in found[0].reason)
                time = 1e3 * median(one.solve_time for one in found)
                rows.append(
                    Row(name, scheme + note, time, solved, found[0].duration, found[0].cost, found[0].dynamics_error)
                )
    try:
        found = [time_scaling.plan(least["minimum time"]) for _ in range(repeats)]
    except rd.ConfigurationError:
        return rows
    time = 1e3 * median(one.solve_time for one in found)
    rows.append(
        Row(
            "minimum time",
            "time scaling, straight way",
            time,
            found[0].solved,
            found[0].duration,
            found[0].cost,
            found[0].dynamics_error,
        )
    )
    return rows


def drakes(repeats: int) -> list[Row]:
    """Drake, if it is there."""
    from drake_problem import Drake

    import robodyn_ros as rd
    from robodyn_ros.files import find

    path = find("urdf/prr.urdf")
    robot = rd.load_robot(path)
    limits = robot.lower, robot.upper, 0.9 * robot.velocity_limit, 0.9 * robot.effort_limit
    try:
        drake = Drake(Path(path).read_text(encoding="utf-8"))
    except ImportError:
        return []
    rows = []
    for name, duration in (("minimum time", None), ("effort in 1 s", 1.0)):
        for kind in ("Snopt", "Ipopt"):
            found = [drake.solve(kind, HOME, PICK, limits, STEPS, duration) for _ in range(repeats)]
            one, time = found[0], 1e3 * median(answer.seconds for answer in found)
            title = f"Drake, {kind}, {STEPS} intervals"
            rows.append(Row(name, title, time, one.solved, one.duration, one.cost, None))
    return rows


def crocoddyls(repeats: int) -> list[Row]:
    """Crocoddyl, if it is there."""
    from crocoddyl_problem import Crocoddyl

    import robodyn_ros as rd
    from robodyn_ros.files import find

    path = find("urdf/prr.urdf")
    robot, steps = rd.load_robot(path), 60
    urdf = re.sub(r"<visual.*?</visual>", "", Path(path).read_text(encoding="utf-8"), flags=re.DOTALL)
    goal, guess = [*LIFTED, 0.0, 0.0, 0.0], np.tile([196.2, 0.0, 0.0], (steps, 1))
    try:
        solver = Crocoddyl(urdf, np.zeros(6), goal, WEIGHTS, BRIEF, steps, 0.9 * robot.effort_limit)
    except ImportError:
        return []
    rows = []
    for kind in ("BoxDDP", "BoxFDDP"):
        found = [solver.solve(kind, guess, 300) for _ in range(repeats)]
        time = 1e3 * median(seconds for _, seconds in found)
        solved, cost = len(found[0][0]) < 300, 2.0 * found[0][0][-1]
        rows.append(Row(SOFT, f"Crocoddyl, {kind}, {steps} steps", time, solved, BRIEF, cost, None))
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--also", type=Path, action="append", default=[], help="site-packages to search last; again for more"
    )
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    for folder in args.also:
        site.addsitedir(str(folder))
    rows = sorted([*ours(args.repeats), *drakes(args.repeats), *crocoddyls(args.repeats)], key=lambda row: row.problem)
    if args.json:
        print(json.dumps([asdict(row) for row in rows], indent=2).replace("NaN", "null"))
        return
    print("PRR arm, HOME to PICK at rest, 90 % of the limits of speed and effort\n")
    print(f"{'problem':<16} {'solver':<52} {'time [ms]':>10} {'T [s]':>8} {'cost':>9} {'error':>7}")
    for row in rows:
        error = "" if row.error is None else f"{row.error:.1%}"
        time = "" if np.isnan(row.milliseconds) else f"{row.milliseconds:.0f}"
        state = "" if row.solved else "  not solved"
        print(f"{row.problem:<16} {row.solver:<52} {time:>10} {row.duration:>8.4f} {row.cost:>9.5g} {error:>7}{state}")


if __name__ == "__main__":
    main()
