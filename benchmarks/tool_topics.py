# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Random targets for the tool over topics, in real time: a controller and a simulator as processes, states at 500 Hz.

    make bench-tool-topics
    make bench-tool-topics BENCH="--targets 20 --arms panda ur5_robot --law cartesian_impedance"

The targets are those of :mod:`tool_streams`: each is streamed for 1.5 s at 50 Hz, then the first pose until the tool is
within 2 mm of it. The arm is the simulator's, with the masses that the URDF tells; its positions are judged by
Pinocchio. All settings are the nodes' defaults. *late* is the time that the way back took beyond what the limits need.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from common import PRR, options, report
from rich.progress import track
from tool_streams import ARMS, INSTALLED, KINDS, POSES, Bench, needed_straight, target

AWAY, LONGEST, EVERY = 1.5, 20.0, 0.02
"""How long a target is streamed, how long the way back may take, and the time between two messages [s]."""

ARRIVED = 2e-3
"""How near to the first pose the tool is back [m]."""


class Topics:
    """An arm and its controller, over DDS."""

    def __init__(self, graph: Any, arm: str, law: str) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from geometry_msgs.msg import PoseStamped
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        urdf = (PRR if arm == "prr" else INSTALLED[arm]).read_text(encoding="utf-8")
        self.graph, self.bench = graph, Bench(arm, 2e-3)
        self.names = list(self.bench.robot.joint_names)
        start = dict(zip(self.names, POSES[arm], strict=True))
        graph.start(
            "simulator", "-r", "commands:=controller/commands", robot_description=urdf, initial_position=start,
            state_rate=500.0,
        )  # fmt: skip
        given = {"controller": law}
        graph.start("controller", robot_description=urdf, use_sim_time=True, **given)
        self.states = graph.listen(JointState, "joint_states", 1000)
        self.told = graph.listen(DiagnosticArray, "/diagnostics")
        efforts = graph.listen(Float64MultiArray, "controller/commands")
        self.poses = graph.talk(PoseStamped, "controller/target_pose")
        graph.wait(lambda: self.states and self.told and efforts, "states, diagnostics and commands")

    def positions(self, begin: int = -1) -> Any:
        """Of the joints, in the arm's order, of all states from one on (T, n)."""
        order = [self.states[-1].name.index(name) for name in self.names]
        return np.array([state.position for state in self.states[begin:]])[:, order]

    def faults(self, begin: int) -> set[str]:
        """What the controller reported from a message on as an error."""
        reports = [status for message in self.told[begin:] for status in message.status]
        return {report.message for report in reports if "controller" in report.name and report.level == b"\2"}

    def stream(self, pose: Any, duration: float, until: Any = lambda: False) -> None:
        """Send a pose again and again, for a time, or until something is so."""
        from geometry_msgs.msg import PoseStamped

        from robodyn_ros.nodes.common.messages import to_pose

        message, begin, due = PoseStamped(pose=to_pose(pose)), time.monotonic(), time.monotonic()
        while time.monotonic() < begin + duration and not until():
            message.header.stamp = self.states[-1].header.stamp
            self.poses.publish(message)
            due += EVERY
            while (left := due - time.monotonic()) > 0.0:
                self.graph.spin_once(left)

    def go(self, there: Any, home: Any) -> dict[str, Any]:
        """To a target and back."""
        states, told, bench = len(self.states), len(self.told), self.bench
        self.stream(there, AWAY)
        begin, back = time.monotonic(), bench.pose(self.positions()[0])
        left = np.linalg.norm(back[:3, 3] - home[:3, 3]) > ARRIVED or np.linalg.norm(back[:3, :3] - home[:3, :3]) > 0.1

        def arrived() -> bool:
            away = bench.pose(self.positions()[0])[:3, 3] - home[:3, 3]
            return bool(np.linalg.norm(away) < ARRIVED)

        self.stream(home, LONGEST, arrived)
        taken = time.monotonic() - begin
        self.stream(home, 0.5)
        q = self.positions(states)
        stamps = np.array([s.header.stamp.sec + 1e-9 * s.header.stamp.nanosec for s in self.states[states:]])
        speeds = np.abs(np.diff(q, axis=0)) / np.diff(stamps)[:, np.newaxis] / bench.limit
        away = np.linalg.norm(bench.pose(q[-1])[:3, 3] - home[:3, 3])
        return {
            "left": left, "away": 1e3 * away, "late": taken - needed_straight(bench.settings, back, home),
            "speed": float(speeds.max()), "faults": self.faults(told),
        }  # fmt: skip


def run(arm: str, law: str, count: int, seed: int) -> dict[str, Any]:
    """A row of the table for an arm."""
    from ros_graph import own_graph

    with tempfile.TemporaryDirectory() as folder, own_graph(Path(folder)) as graph:
        graph.fresh, graph.frequency = True, 0.0
        topics = Topics(graph, arm, law)
        home, rng = topics.bench.pose(np.array(POSES[arm])), np.random.default_rng(seed)
        topics.stream(home, 1.0)
        found = []
        for k in track(range(count), arm, transient=True):
            there = target(topics.bench, home, KINDS[k % len(KINDS)], rng)
            found.append(topics.go(there, home))
            print(f"{arm}: {KINDS[k % len(KINDS)]}: {found[-1]}", file=sys.stderr, flush=True)
    faults = Counter(fault for one in found for fault in one["faults"])
    return {
        "arm": arm, "targets": count, "not left": sum(not one["left"] for one in found),
        "not back": sum(one["away"] > 1e3 * ARRIVED for one in found),
        "farthest after [mm]": max(one["away"] for one in found), "late [s]": max(one["late"] for one in found),
        "joints' speed": max(one["speed"] for one in found), "errors told": dict(faults) or "none",
    }  # fmt: skip


def main() -> None:
    """Send the targets, and print what became of them."""
    parser = options(__doc__)
    parser.add_argument(
        "--arms", nargs="+", default=["prr", "panda", "ur5_robot"], choices=sorted(set(ARMS) - {"chain"})
    )
    parser.add_argument("--law", default="computed_torque")
    parser.add_argument("--targets", type=int, default=10, help="of each arm")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rows = [run(arm, given.law, given.targets, given.seed) for arm in given.arms]
    report({"Targets of the tool over topics; speeds in velocity limits": rows}, given.json)


if __name__ == "__main__":
    main()
