# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How many random reachable goals the planner reaches in time, and what it says of the others.

    benchmarks/planning_goals.py                       200 goals on each of PRR, UR5 and Panda
    benchmarks/planning_goals.py --goals 20 --arms prr fewer
    make bench-goals                                   the whole table

Half of the goals are joint positions drawn from the whole range, half are places of the tool that such positions
give; the motion starts at the arm's home pose, takes the least time, and keeps to 90 % of the limits. A goal at which
the arm cannot hold itself counts as told. "optimal" are the goals with a motion of least cost; the other solved ones
have a feasible motion, "straight" of them along the straight path. The time of a plan is the CPU time of the thread
that plans, and a plan that takes longer counts as late. By the clock the search may take longer, so that what else
the machine does does not count.

Exit code 1 unless 95 % of the goals of each arm are solved within the time. The reasons for the others are printed.
Needs the extras of the tests.
"""

from __future__ import annotations

import sys
from collections import Counter
from time import thread_time
from typing import Any

import numpy as np
from common import PRR, options, report, urdfs

import robodyn_ros as rd
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.planning.collocation.collocation import CollocationSettings, plan
from robodyn_ros.planning.cost import MinimumTime
from robodyn_ros.planning.plan import Plan
from robodyn_ros.planning.problem import Goal, JointGoal, Problem, ToolGoal
from robodyn_ros.planning.time_scaling import METHOD
from robodyn_ros.robot import Robot
from robodyn_ros.robot.configuration import random_positions
from robodyn_ros.robot.robot import tip

ARMS = {"prr": "", "ur5": "ur5_robot", "panda": "panda"}
BUSY = 12.0
"""Ratio of the time by the clock that a search may take to the CPU time that it should take."""

SHARE = 0.95
"""Ratio of the goals that must be solved in time."""


def goals(robot: Robot, count: int, seed: int) -> list[Goal]:
    """Goals that the arm reaches, half of them of the joints and half of the tool."""
    link, kinematics, found = tip(robot), Kinematics(robot), []
    for k, q in enumerate(random_positions(robot, count, seed)):
        pose = kinematics.pose(link, q)
        found.append(JointGoal(q) if k % 2 == 0 else ToolGoal.at(pose[:3, 3], link))
    return found


def measure(name: str, count: int, seed: int, limit: float) -> dict[str, Any]:
    """Figure → value."""
    robot = rd.load_robot(PRR if not ARMS[name] else urdfs()[ARMS[name]])
    dynamics = rd.create_dynamics("rnea", robot)
    settings = CollocationSettings(time_limit=BUSY * limit)
    seconds, reasons, late, straight, optimal = [], Counter[str](), 0, 0, 0
    for goal in goals(robot, count, seed):
        begun = thread_time()
        found: Plan = plan(Problem(dynamics, robot.home, goal, MinimumTime(), limit_margin=0.02), settings)
        seconds.append(thread_time() - begun)
        if found.solved:
            straight += found.method == METHOD
            optimal += found.reason.startswith("optimal")
            late += seconds[-1] > limit
        else:
            reasons[found.reason.partition(":")[0].partition(";")[0][:70]] += 1
    told = sum(number for reason, number in reasons.items() if "violates" in reason or "unreachable" in reason)
    solved = count - sum(reasons.values()) - late
    return {
        "arm": name,
        "goals": count,
        "possible": count - told,
        "solved": solved,
        "optimal": optimal,
        "straight": straight,
        "late": late,
        "reasons": dict(reasons.most_common()),
        "median [s]": float(np.median(seconds)),
        "95 % [s]": float(np.percentile(seconds, 95)),
        "greatest [s]": float(np.max(seconds)),
        "as promised": solved >= SHARE * (count - told),
    }


def main() -> int:
    """Run and report."""
    parser = options(__doc__)
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--goals", type=int, default=200, help="of each arm")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time", type=float, default=5.0, help="that a plan may take [s]")
    args = parser.parse_args()
    rows = [measure(name, args.goals, args.seed, args.time) for name in args.arms]
    reasons = [
        {"arm": row["arm"], "goals": number, "reason": reason}
        for row in rows
        for reason, number in row.pop("reasons").items()
    ]
    report({"Goals": rows, "Reasons of those that are not solved": reasons}, args.json)
    return 0 if all(row["as promised"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
