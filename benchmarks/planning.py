# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Solve times of the planner's methods on the same problems, and how many random goals it reaches.

    make bench-planning                                  the same problems by every method, in one run
    make bench-planning BENCH="--goals 200"              random goals on PRR, UR5 and Panda instead
    make bench-planning BENCH="--goals 20 --arms prr"

Each time is a median, from the problem to the verified answer, refinements of the mesh included; the row with "20
intervals" stops after one mesh. iLQR has no limits of position and speed, so it solves the problem with a weighted end.

Half of the goals are joint positions drawn from the whole range, half are places of the tool that such positions give;
the motion starts at the arm's home pose, takes the least time, and keeps to 90 % of the limits. A goal at which the arm
cannot hold itself is not possible. A plan is late if it takes more than ``LIMIT`` of the processor's time. Exit code 1
unless 95 % of the possible goals of each arm are solved in time.
"""

import sys
from collections import Counter
from dataclasses import replace
from statistics import median
from time import thread_time
from types import SimpleNamespace
from typing import Any

import numpy as np
from common import PRR, options, report, robot_of

import robodyn_ros as rd
from robodyn_ros.control import point_to_point
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.planning import time_scaling
from robodyn_ros.planning.collocation.collocation import CollocationSettings, plan
from robodyn_ros.planning.cost import Effort, MinimumTime, Tracking
from robodyn_ros.planning.ddp.ilqr import ILQR
from robodyn_ros.planning.problem import JointGoal, MotionLimits, Problem, ToolGoal
from robodyn_ros.robot.configuration import random_positions
from robodyn_ros.robot.robot import tip

STEPS, DDP_STEPS = 20, 60
SOFT = "effort, soft end"  # a weighted end, no limits of position and speed
LIFTED, WEIGHTS, BRIEF = np.array([0.3, -1.83, -0.12]), [1e6] * 3 + [1e4] * 3, 0.6
HOME, PICK = np.zeros(3), np.array([0.0, -1.83, -0.12])
GUESS = np.tile([196.2, 0.0, 0.0], (DDP_STEPS, 1))
"""Efforts that hold the arm at home (steps, 3)."""

ARMS = {"prr": "prr", "ur5": "ur5_robot", "panda": "panda"}
LIMIT, BUSY, SHARE = 5.0, 12.0, 0.95
"""Time of the processor for a plan [s], time by the clock over that, and the part of the goals to be solved."""


def row_of(problem: str, solver: str, seconds: list[float], found: Any) -> dict[str, Any]:
    """One solver on one problem; the error is that of the efforts between the points, over their limit."""
    return {
        "problem": problem, "solver": solver, "time [ms]": 1e3 * median(seconds), "solved": bool(found.solved),
        "T [s]": found.duration, "cost": found.cost, "error": getattr(found, "dynamics_error", None),
    }  # fmt: skip


def methods(repeats: int) -> list[dict[str, Any]]:
    """Every method of this package."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(PRR))
    quintic = point_to_point(dynamics, HOME, PICK, limit_ratio=0.9)
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
    solver, limit = ILQR(dynamics, soft, DDP_STEPS), 0.9 * dynamics.robot.effort_limit
    runs = [solver.solve(np.zeros(6), BRIEF, guess=GUESS, effort_limit=limit) for _ in range(repeats)]
    one = SimpleNamespace(solved=runs[0].solved, duration=BRIEF, cost=runs[0].history[-1])
    rows.append(row_of(SOFT, f"iLQR, {DDP_STEPS} steps", [run.solve_time for run in runs], one))
    try:
        found = [time_scaling.plan(least["minimum time"]) for _ in range(repeats)]
    except rd.ConfigurationError:
        return rows
    rows.append(row_of("minimum time", "time scaling, straight way", [one.solve_time for one in found], found[0]))
    return rows


def goals(name: str, count: int, seed: int) -> dict[str, Any]:
    """Figure → value, of random goals of an arm."""
    robot = robot_of(ARMS[name])
    dynamics, link, kinematics = rd.create_dynamics("rnea", robot), tip(robot), Kinematics(robot)
    settings = CollocationSettings(time_limit=BUSY * LIMIT)
    seconds, solved, late, reasons = [], Counter[str](), 0, Counter[str]()
    for k, q in enumerate(random_positions(robot, count, seed)):
        goal = JointGoal(q) if k % 2 == 0 else ToolGoal.at(kinematics.pose(link, q)[:3, 3], link)
        begun = thread_time()
        found = plan(Problem(dynamics, robot.home, goal, MinimumTime(), limit_margin=0.02), settings)
        seconds.append(thread_time() - begun)
        if not found.solved:
            reasons[found.reason.partition(":")[0].partition(";")[0][:70]] += 1
        elif seconds[-1] > LIMIT:
            late += 1
        else:
            solved["optimal" if found.reason.startswith("optimal") else "feasible"] += 1
    possible = count - sum(n for reason, n in reasons.items() if "violates" in reason or "unreachable" in reason)
    return {
        "arm": name, "goals": count, "possible": possible, **solved, "late": late, "median [s]": median(seconds),
        "95 % [s]": float(np.percentile(seconds, 95)), "greatest [s]": max(seconds),
        "as promised": solved.total() >= SHARE * possible,
        "others": ", ".join(f"{reason} {number}" for reason, number in reasons.most_common()),
    }  # fmt: skip


def main() -> int:
    """Measure and print."""
    parser = options(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--goals", type=int, help="random goals of each arm instead: how many")
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS), help="of the goals")
    parser.add_argument("--seed", type=int, default=0, help="of the goals")
    args = parser.parse_args()
    if args.goals:
        found = [goals(name, args.goals, args.seed) for name in args.arms]
        report({"Random goals": found}, args.json)
        return 0 if all(row["as promised"] for row in found) else 1
    title = "PRR arm, HOME to PICK at rest, 90 % of the limits of speed and effort"
    report({title: sorted(methods(args.repeats), key=lambda row: row["problem"])}, args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
