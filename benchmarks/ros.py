"""From joint_states to command over real DDS: the controller beside a bare node that only echoes the message.

    make bench-ros                        500 Hz and 1 kHz, both nodes in turns within one run
    make bench-ros BENCH=--json           the same for machines
    make soak-controller                  the PRR arm in simulation for ten minutes: periods, latency, memory

A message goes out of this process, through the node in a process of its own, and back: what is measured is the round
trip. Every node runs on the executor of choice (robodyn_ros/nodes/executor.py), scheduled as the controller is by
default (robodyn_ros/nodes/scheduling.py).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.cli.isolation import isolated
from robodyn_ros.nodes.discovery import announce_often

ROOT = Path(__file__).parents[1]
SEGMENT = 2.0
"""The nodes take turns of this length [s], so that what else the machine does meets both."""

ECHO = """
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from robodyn_ros.nodes.executor import run
from robodyn_ros.nodes.qos import NEWEST, RELIABLE
from robodyn_ros.nodes.scheduling import Scheduling, SchedulingConfig, declare_scheduling

class Echo(Node):
    def __init__(self, end):
        super().__init__("echo")
        declare_scheduling(self, SchedulingConfig())
        Scheduling(self).raise_priority()
        self.publisher = self.create_publisher(JointState, "echo/joint_commands", RELIABLE)
        self.create_subscription(JointState, "echo_states", self.publisher.publish, NEWEST)

raise SystemExit(run(Echo))
"""


def percentiles(trips: list[float]) -> dict[str, float]:
    """Of times in [s], in [ms]."""
    values = 1e3 * np.array(trips)
    named = {"median": 50.0, "p99": 99.0, "p99.9": 99.9}
    found = {name: float(np.percentile(values, percent)) for name, percent in named.items()}
    return found | {"greatest": float(values.max())}


class Meter:
    """Sends states, and times the answers."""

    def __init__(self, subjects: dict[str, str]) -> None:
        """
        Args:
            subjects: name → topic that its states go to; it answers on ``<name>/joint_commands``.
        """
        import rclpy
        from rclpy.node import Node
        from sensor_msgs.msg import JointState

        from robodyn_ros.nodes.executor import make_executor

        rclpy.init()
        self._node = Node("meter")
        self._executor = make_executor()
        self._executor.add_node(self._node)
        self._sent: dict[tuple[int, int], float] = {}
        self._trips: list[float] = []
        self._message = JointState(
            name=["elevator", "shoulder", "wrist"], position=[0.5, -1.0, 0.25], velocity=[0.0, 0.0, 0.0]
        )
        self._publishers = {}
        for name, topic in subjects.items():
            self._node.create_subscription(JointState, f"{name}/joint_commands", self._receive, 10)
            self._publishers[name] = self._node.create_publisher(JointState, topic, 10)

    def close(self) -> None:
        """Leave the graph."""
        import rclpy

        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown()

    def _receive(self, message: Any) -> None:
        now = time.perf_counter()
        key = (message.header.stamp.sec, message.header.stamp.nanosec)
        sent = self._sent.pop(key, None)
        if sent is not None:
            self._trips.append(now - sent)

    def measure(self, subject: str, rate: float, duration: float) -> tuple[list[float], int]:
        """Round trips [s], and how many states were sent."""
        publisher, period = self._publishers[subject], 1.0 / rate
        self._sent.clear()
        self._trips = []
        begin = due = time.perf_counter()
        count = 0
        while due < begin + duration:
            while (left := due - time.perf_counter()) > 0.0:
                self._executor.spin_once(timeout_sec=left)
            stamp = self._node.get_clock().now().to_msg()
            self._message.header.stamp = stamp
            self._sent[(stamp.sec, stamp.nanosec)] = time.perf_counter()
            publisher.publish(self._message)
            count += 1
            due += period
        end = time.perf_counter() + 0.1
        while time.perf_counter() < end:
            self._executor.spin_once(timeout_sec=0.02)
        return self._trips, count


@contextmanager
def running(commands: dict[str, list[str]]) -> Iterator[None]:
    """Programs of Python in a graph of their own, which this process joins."""
    with isolated() as environment, tempfile.TemporaryDirectory() as folder:
        os.environ.update(environment, ROS_LOG_DIR=folder)
        announce_often()
        processes = []
        for name, words in commands.items():
            with open(Path(folder) / name, "w") as out:
                processes.append(subprocess.Popen([sys.executable, *words], stdout=out, stderr=out))
        try:
            yield
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


def compare(rates: list[float], duration: float) -> dict[str, Any]:
    """Both nodes in turns, at each rate."""
    found: dict[str, Any] = {}
    # It is not fed while it is the other's turn, which is no fault here.
    given = ("-p", f"robot_description:={ROOT / 'urdf/prr.urdf'}", "-p", "state_timeout:=10.0")
    nodes = {"controller": ["-m", "robodyn_ros.nodes.controller", "--ros-args", *given], "echo": ["-c", ECHO]}
    with running(nodes):
        meter = Meter({"controller": "joint_states", "echo": "echo_states"})
        end = time.monotonic() + 30.0
        for subject in nodes:
            while len(meter.measure(subject, 100.0, 0.5)[0]) < 20:
                if time.monotonic() > end:
                    raise SystemExit(f"no answer of the {subject}")
        for rate in rates:
            trips: dict[str, list[float]] = {name: [] for name in nodes}
            counts = dict.fromkeys(nodes, 0)
            for _ in range(max(1, round(duration / SEGMENT))):
                for subject in nodes:
                    new, sent = meter.measure(subject, rate, SEGMENT)
                    trips[subject] += new
                    counts[subject] += sent
            found[f"{rate:g} Hz"] = {
                subject: percentiles(values) | {"answered": len(values), "sent": counts[subject]}
                for subject, values in trips.items()
            }
        meter.close()
    return found


def soak(duration: float) -> dict[str, Any]:
    """Simulator and controller for a while: periods of the commands, latency, memory."""
    sys.path.insert(0, str(ROOT / "test"))
    from ros_graph import own_graph
    from sensor_msgs.msg import JointState

    from robodyn_ros.nodes.scheduling import Scheduling, SchedulingConfig, declare_scheduling

    def memory(pid: int) -> float:
        text = Path(f"/proc/{pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024.0

    with tempfile.TemporaryDirectory() as folder, own_graph(Path(folder)) as graph:
        urdf = (ROOT / "urdf/prr.urdf").read_text(encoding="utf-8")
        graph.start("simulator", "-r", "commands:=controller/commands", robot_description=urdf, thread_priority=50)
        controller = graph.start("controller", robot_description=urdf, use_sim_time=True)
        declare_scheduling(graph.node, SchedulingConfig())
        own = Scheduling(graph.node)
        own.raise_priority()
        times: list[float] = []
        graph.node.create_subscription(
            JointState, "controller/joint_commands", lambda message: times.append(time.perf_counter()), 100
        )
        graph.wait(lambda: len(times) > 2000, "a flow of commands", 60.0)
        first = memory(controller.pid)
        times.clear()
        latencies, begin = [], time.monotonic()
        while time.monotonic() < begin + duration:
            said = graph.diagnostics("controller")
            latencies.append(float(said["latency p99 [ms]"]))
            print(f"\r{time.monotonic() - begin:.0f} s", end="", file=sys.stderr)
        print(file=sys.stderr)
        last = memory(controller.pid)
        late = np.diff(times) - 0.002
        return {
            "duration [s]": duration,
            "commands": len(times),
            "later than due": percentiles(np.maximum(late, 0.0).tolist()),
            "latency p99 within a second, median of all [ms]": float(np.median(latencies)),
            "memory at first [MB]": first,
            "memory at last [MB]": last,
            "overruns": int(said["period overruns since start"]),
            "state": said["message"],
            "scheduling": f"controller {said['scheduling']}, measuring {own.state}",
        }


def table(found: dict[str, Any]) -> str:
    """For people."""
    lines = [f"{'':10} {'node':12} {'median':>8} {'p99':>8} {'p99.9':>8} {'greatest':>9}   answered   [ms]"]
    for rate, nodes in found.items():
        for node, values in nodes.items():
            figures = f"{values['median']:8.3f} {values['p99']:8.3f} {values['p99.9']:8.3f} {values['greatest']:9.3f}"
            lines.append(f"{rate:10} {node:12} {figures}   {values['answered']} of {values['sent']}")
        ratios = {key: nodes["controller"][key] / nodes["echo"][key] for key in ("median", "p99")}
        lines.append(f"{rate:10} {'ratio':12} {ratios['median']:8.2f} {ratios['p99']:8.2f}")
    return "\n".join(lines)


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rate", type=float, nargs="+", default=[500.0, 1000.0], help="of the states [Hz]")
    parser.add_argument("--duration", type=float, default=20.0, help="of each node at each rate [s]")
    parser.add_argument("--soak", type=float, metavar="SECONDS", help="the PRR arm in simulation for so long instead")
    arguments = parser.parse_args()
    if arguments.soak:
        print(json.dumps(soak(arguments.soak), indent=2))
        return 0
    found = compare(arguments.rate, arguments.duration)
    print(json.dumps(found, indent=2) if arguments.json else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
