# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Forward and inverse kinematics beside Pinocchio, on the same arms and the same poses in the same run.

    make bench-kinematics            a table
    make bench-kinematics BENCH=--json

Poses come from positions drawn at random within the limits. A solution counts if, by Pinocchio's own forward
kinematics, it is within 1e-6 m and 1e-6 rad of the pose and within the limits. The entrants:

ours            ``InverseKinematics`` as it is
pinocchio LM    the same method (damping in proportion to the error, joints clamped and held at limits, the same starts)
                written as a Python loop over Pinocchio's frame placement, Jacobian and logarithm
"""

from __future__ import annotations

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


class Rival:
    """Pinocchio, driven from Python."""

    def __init__(self, xml: str, tool: str, robot: rd.Robot) -> None:
        self.model = pinocchio.buildModelFromXML(xml)
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(tool)
        self.lower, self.upper, self.n = robot.lower, robot.upper, robot.n
        self.middle = (robot.lower + robot.upper) / 2

    def missing(self, q: np.ndarray, target: pinocchio.SE3) -> tuple[float, float]:
        """Distance [m] and angle [rad] from a pose."""
        pinocchio.framesForwardKinematics(self.model, self.data, q)
        pose = self.data.oMf[self.frame]
        turn = pinocchio.log3(target.rotation @ pose.rotation.T)
        return float(np.linalg.norm(target.translation - pose.translation)), float(np.linalg.norm(turn))

    def levenberg_marquardt(self, target: pinocchio.SE3) -> np.ndarray:
        """The method of ``InverseKinematics``, with its defaults."""
        rng, q, one = np.random.default_rng(1), self.middle.copy(), np.eye(self.n)
        reference = pinocchio.LOCAL_WORLD_ALIGNED
        for _ in range(100):
            before = np.inf
            for count in range(41):
                J = pinocchio.computeFrameJacobian(self.model, self.data, q, self.frame, reference)
                pose = pinocchio.updateFramePlacement(self.model, self.data, self.frame)
                e = np.concatenate(
                    [target.translation - pose.translation, pinocchio.log3(target.rotation @ pose.rotation.T)]
                )
                if e[:3] @ e[:3] <= 1e-14 and e[3:] @ e[3:] <= 1e-14:
                    return q
                E = e @ e / 2
                if count % 6 == 0:
                    if not before > E:
                        break
                    before = E / 2
                g = J.T @ e
                free = ~(((q <= self.lower) & (g < 0)) | ((q >= self.upper) & (g > 0)))
                H = (J.T @ J) * np.outer(free, free) + (0.1 * E + 1e-10) * one
                q = np.clip(q + np.linalg.solve(H, g * free), self.lower, self.upper)
            q = rng.uniform(self.lower, self.upper)
        return q


def compare_inverse(xml: str, tool: str, count: int) -> dict[str, dict[str, float]]:
    """Success and times of every entrant, pose by pose in turn."""
    robot = rd.load_robot(xml)
    kinematics, rival = Kinematics(robot), Rival(xml, tool, robot)
    inverse = InverseKinematics(kinematics, tool)
    poses = kinematics.pose(tool, random_positions(robot, count, seed=20))
    targets = [pinocchio.SE3(pose) for pose in poses]
    entrants: dict[str, Callable[[int], np.ndarray]] = {
        "ours": lambda i: inverse.solve(poses[i]).q,
        "pinocchio LM": lambda i: rival.levenberg_marquardt(targets[i]),
    }
    times: dict[str, list[float]] = {name: [] for name in entrants}
    errors: dict[str, list[float]] = {name: [] for name in entrants}
    for index in range(count):
        for name, solve in entrants.items():
            begun = time.perf_counter()
            q = solve(index)
            times[name].append(time.perf_counter() - begun)
            off = max(rival.missing(q, targets[index]))
            if off <= TOLERANCE and ((q >= robot.lower) & (q <= robot.upper)).all():
                errors[name].append(off)
    return {
        name: {
            "poses": count, "success": len(errors[name]) / count, "median [µs]": statistics.median(times[name]) * 1e6,
            "99 % [µs]": float(np.percentile(times[name], 99)) * 1e6, "worst error": max(errors[name]),
        }
        for name in entrants
    }  # fmt: skip


def compare_forward(xml: str, tool: str) -> dict[str, float]:
    """Pose and Jacobian: a call [µs], in place and plain, and many at once [million/s]; the two agree."""
    robot = rd.load_robot(xml)
    kinematics, rival = Kinematics(robot), Rival(xml, tool, robot)
    q = random_positions(robot, BATCH)
    for row in q[:100]:
        theirs = pinocchio.computeFrameJacobian(
            rival.model, rival.data, row, rival.frame, pinocchio.LOCAL_WORLD_ALIGNED
        )
        assert np.abs(kinematics.jacobian(tool, row) - theirs).max() < 1e-12
    one = q[0].copy()
    kernel = kinematics.kernel(tool)
    kernel.inputs[0][:] = one
    model, data, frame = rival.model, rival.data, rival.frame

    def pinocchios() -> None:
        pinocchio.computeFrameJacobian(model, data, one, frame, pinocchio.LOCAL_WORLD_ALIGNED)
        pinocchio.updateFramePlacement(model, data, frame)

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
    forward, inverse = [], []
    for name, tool in TOOLS.items():
        forward.append({"arm": name, **compare_forward(known[name], tool)})
        entrants = compare_inverse(known[name], tool, args.poses)
        inverse += [{"arm": name, "entrant": entrant, **row} for entrant, row in entrants.items()]
    title = f"Inverse kinematics: within the limits and {TOLERANCE:g} of the pose"
    report({"Pose and Jacobian of the tool": forward, title: inverse}, args.json)


if __name__ == "__main__":
    main()
