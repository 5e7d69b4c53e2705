# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The simulator node under load: real-time factor, processor time, memory and /clock, against the clock on the wall.

    benchmarks/simulator.py                                       1 kHz states in real time, for 10 s
    benchmarks/simulator.py --factor 10 --rate 500 --minutes 30   half an hour of simulated time in three minutes

The arm is commanded all the time, at random but within its limits. Linux only, for what it reads of the process.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from common import PRR, memory_of, options, processor_time, report

from robodyn_ros.cli.processes import ProcessGroup, joined
from robodyn_ros.robot import load_robot

WARM_UP = 0.1
"""Part of the run after which memory should not grow any more."""

GROWTH = 1024
"""Growth of memory that counts as flat [KiB]."""

DRIFT = 0.01
"""Greatest drift of /clock against the wall, in real time [s]: what two processes' scheduling makes of a message."""


def main() -> int:
    """Run; exit code 1 if it is not what the README promises."""
    parser = options(__doc__)
    parser.add_argument("--factor", type=float, default=1.0, help="simulated time per real time")
    parser.add_argument("--rate", type=float, default=1000.0, help="of joint_states [Hz]")
    parser.add_argument("--minutes", type=float, default=1 / 6, help="of simulated time")
    args = parser.parse_args()
    with joined() as environment, TemporaryDirectory() as folder, ProcessGroup(environment, Path(folder)) as crew:
        found = measure(crew, args.factor, args.rate, 60.0 * args.minutes)
    report({"The simulator node": [found]}, args.json)
    good = found["real-time factor / asked"] >= 0.999 and found["memory growth [KiB]"] < GROWTH
    return 0 if good and abs(found["drift of /clock [s]"]) < DRIFT and found["lost time [s]"] == "0" else 1


def measure(crew: ProcessGroup, factor: float, rate: float, duration: float) -> dict[str, Any]:
    """Figure → value."""
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from rclpy.node import Node
    from rosgraph_msgs.msg import Clock
    from std_msgs.msg import Float64MultiArray

    from robodyn_ros.nodes.common.messages import seconds

    robot = load_robot(PRR)
    parameters = {"robot_description": robot.urdf, "state_rate": rate, "real_time_factor": factor, "brake": False}
    member = crew.start("simulator", parameters)
    rclpy.init(args=[])
    node = Node("watcher")
    clocks: list[tuple[float, float]] = []
    reports: list[dict[str, str]] = []
    node.create_subscription(Clock, "/clock", lambda m: clocks.append((time.monotonic(), seconds(m.clock))), 1000)

    def keep(message: DiagnosticArray) -> None:
        reports.append({item.key: item.value for item in message.status[0].values})

    node.create_subscription(DiagnosticArray, "/diagnostics", keep, 10)
    publisher = node.create_publisher(Float64MultiArray, "commands", 10)
    random, limit = np.random.default_rng(0), np.array(robot.effort_limit)
    node.create_timer(
        0.05, lambda: publisher.publish(Float64MultiArray(data=(limit * random.uniform(-0.3, 0.6, robot.n)).tolist()))
    )
    while not reports or not clocks:
        rclpy.spin_once(node)
    pid, begun = member.process.pid, time.monotonic()
    processor, memory, first = processor_time(pid), [], len(clocks)
    while time.monotonic() - begun < duration / factor:
        rclpy.spin_once(node, timeout_sec=0.1)
        if len(memory) < time.monotonic() - begun:
            memory.append(memory_of(pid))
            crew.check()
    elapsed = time.monotonic() - begun
    used = processor_time(pid) - processor
    wall, clock = np.array(clocks[first:]).T
    # The earliest that a message came is what its scheduling did least to: so the drift is that of the least delays.
    late = wall - clock / factor
    part = max(1, len(late) // 10)
    slope = float(np.polyfit(wall, clock, 1)[0])
    node.destroy_node()
    rclpy.shutdown()
    warm = memory[int(WARM_UP * len(memory))]
    return {
        "simulated time [s]": float(clock[-1] - clock[0]),
        "real-time factor": slope,
        "real-time factor / asked": slope / factor,
        "processor [% of one core]": 100.0 * used / elapsed,
        "memory [KiB]": memory[-1],
        "memory growth [KiB]": memory[-1] - warm,
        "drift of /clock [s]": float(late[-part:].min() - late[:part].min()),
        "gaps of /clock": int((np.diff(clock) > 1.5 * np.median(np.diff(clock))).sum()),
        "lost time [s]": reports[-1]["lost time [s]"],
        "commands taken": int(reports[-1]["commands since start"]),
    }


if __name__ == "__main__":
    sys.exit(main())
