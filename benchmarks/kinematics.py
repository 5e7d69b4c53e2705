# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Forward kinematics beside Pinocchio, on the same arms in the same run, and inverse kinematics, judged by it.

    make bench-kinematics            a table
    make bench-kinematics BENCH=--json

Poses come from positions drawn at random within the limits. A solution counts if, by Pinocchio's own forward
kinematics, it is within 1e-6 m and 1e-6 rad of the pose and within the limits.
"""

import statistics
import time
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio
from common import arms, options, report

import robodyn_ros as rd
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.inverse import InverseKinematics
from robodyn_ros.robot.configuration import random_positions

TOLERANCE = 1e-6
BATCH = 100_000
TOOLS = {"ur5": "tool0", "panda": "panda_hand_tcp"}


class Judge:
    """Pinocchio's kinematics of a tool."""

    def __init__(self, xml: str, tool: str) -> None:
        self.model = pinocchio.buildModelFromXML(xml)
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(tool)

    def missing(self, q: np.ndarray, target: np.ndarray) -> float:
        """Distance [m] or angle [rad] from a pose (4, 4), the greater of the two."""
        pinocchio.framesForwardKinematics(self.model, self.data, q)
        pose = self.data.oMf[self.frame]
        turn = pinocchio.log3(target[:3, :3] @ pose.rotation.T)
        return float(max(np.linalg.norm(target[:3, 3] - pose.translation), np.linalg.norm(turn)))


def inverse(xml: str, tool: str, count: int) -> dict[str, float]:
    """Success and times over random poses."""
    robot = rd.load_robot(xml)
    kinematics, judge = Kinematics(robot), Judge(xml, tool)
    solver, times, errors = InverseKinematics(kinematics, tool), [], []
    for pose in kinematics.pose(tool, random_positions(robot, count, seed=20)):
        begun = time.perf_counter()
        q = solver.solve(pose).q
        times.append(1e6 * (time.perf_counter() - begun))
        off = judge.missing(q, pose)
        if off <= TOLERANCE and ((q >= robot.lower) & (q <= robot.upper)).all():
            errors.append(off)
    return {
        "poses": count, "success": len(errors) / count, "median [µs]": statistics.median(times),
        "99 % [µs]": float(np.percentile(times, 99)), "worst error": max(errors),
    }  # fmt: skip


def forward(xml: str, tool: str) -> dict[str, float]:
    """Pose and Jacobian: a call [µs], in place and plain, and many at once [million/s]; the two agree."""
    robot = rd.load_robot(xml)
    kinematics, judge, q = Kinematics(robot), Judge(xml, tool), random_positions(robot, BATCH)
    one, kernel = q[0].copy(), kinematics.kernel(tool)
    kernel.inputs[0][:] = one

    model, data, frame, aligned = judge.model, judge.data, judge.frame, pinocchio.LOCAL_WORLD_ALIGNED

    def pinocchios() -> None:
        pinocchio.computeFrameJacobian(model, data, one, frame, aligned)
        pinocchio.updateFramePlacement(model, data, frame)

    for row in q[:100]:
        theirs = pinocchio.computeFrameJacobian(model, data, row, frame, aligned)
        assert np.abs(kinematics.jacobian(tool, row) - theirs).max() < 1e-12

    def best(function: Callable[[], Any], number: int) -> float:
        return min(timeit.repeat(function, number=number, repeat=7)) / number

    return {
        "in place [µs]": best(kernel.evaluate, 20_000) * 1e6,
        "plain [µs]": best(lambda: kinematics.jacobian(tool, one), 5_000) * 1e6,
        "Pinocchio [µs]": best(pinocchios, 20_000) * 1e6,
        "many at once [million/s]": BATCH / best(lambda: kinematics.pose(tool, q), 1) / 1e6,
    }


def main() -> None:
    """Run."""
    parser = options(__doc__)
    parser.add_argument("--poses", type=int, default=2000, help="poses for each arm")
    args = parser.parse_args()
    if "panda" not in (known := arms()):
        raise SystemExit("the arms of this benchmark come with example-robot-data: pip install example-robot-data")
    title = f"Inverse kinematics: within the limits and {TOLERANCE:g} of the pose"
    rows = [{"arm": name, **forward(known[name], tool)} for name, tool in TOOLS.items()]
    solved = [{"arm": name, **inverse(known[name], tool, args.poses)} for name, tool in TOOLS.items()]
    report({"Pose and Jacobian of the tool": rows, title: solved}, args.json)


if __name__ == "__main__":
    main()
