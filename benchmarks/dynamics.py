# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The dynamics engine beside Pinocchio, on the same arms in the same run; MuJoCo and the Robotics Toolbox (``pip
install roboticstoolbox-python``) join where they are installed.

    make bench            a table
    make bench BENCH=--json

Measured as `robodyn bench` measures one arm. A ratio below 1 means that ours takes less time.
"""

from typing import Any

from common import arms, options, report

import robodyn_ros as rd
from robodyn_ros.cli.bench.dynamics import BATCH
from robodyn_ros.cli.bench.dynamics import measure as measure_arm


def measure(rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Three tables, arm by arm."""
    calls, whole, first = [], [], []
    for name, xml in arms().items():
        robot = rd.load_robot(xml)
        found = measure_arm(robot, "rnea", rounds)
        for quantity, times in found["calls"].items():
            ratios = {f"{way} / Pinocchio": times[way] / times["Pinocchio"] for way in ("in place", "plain")}
            calls.append({"arm": name, "joints": robot.n, "quantity": quantity, **times, **ratios})
        batch, rollout = found["batch"], found["rollout"]
        row = {"arm": name, "million states/s": {way: BATCH / time for way, time in batch.items()}}
        row["times faster"] = batch["Pinocchio"] / batch["ours"]
        row["RK4 [ms]"] = {k: v / 1e3 for k, v in rollout.items()}
        if "Python on Pinocchio" in rollout:
            row["RK4 times faster"] = rollout["Python on Pinocchio"] / rollout["ours"]
        whole.append(row)
        first.append({"arm": name, **found["first"]})
    return {
        "One call [µs, median]": calls,
        f"{BATCH:,} states of inverse dynamics, and 1 s of RK4 at 1 kHz": whole,
        "From the URDF to the first torque [s]": first,
    }


def main() -> None:
    """Run."""
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="runs that a median is taken of")
    given = parser.parse_args()
    report(measure(given.rounds), given.json)


if __name__ == "__main__":
    main()
