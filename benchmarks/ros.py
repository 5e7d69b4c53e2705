# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""From joint_states to command over real DDS: the controller beside a bare node that only echoes the message.

The controller runs twice, its loop in the thread of C: by real time, and by simulated time.

    make bench-ros                        500 Hz, 1 kHz and 2 kHz, all nodes in turns within one run
    make bench-ros BENCH=--python         and a third one, with its loop in Python (the parameter realtime is off)
    make bench-ros BENCH=--json           the same for machines
    make bench-ros BENCH="--arm panda --law cartesian_impedance operational_space --rate 500 1000"
                                          the same for some laws on the Panda of the package example-robot-data
    make bench-ros BENCH=--disturbed      1 kHz, while Python computes, and while the interpreter stands still
    make soak-controller                  the PRR arm in simulation for ten minutes: periods, latency, memory, and how
                                          punctual a thread of C is beside it that only sleeps

A message goes out of this process, through the node in a process of its own, and back: what is measured is the round
trip, by a meter in C (meter.c). Every node runs on the executor of choice (robodyn_ros/nodes/common/executor.py). All
have the real-time priority that the controller has by default (robodyn_ros/nodes/common/scheduling.py), the meter too,
where the system permits it.
"""

import gc
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from common import POSES, PRR, memory_of, options, percentiles, processor_time, report, robot_of, urdfs
from diagnostic_msgs.msg import DiagnosticArray
from drives import in_the_graph
from joined_graph import joined
from meter import Meter, sleep_lateness
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robodyn_ros.nodes.common.executor import announce_often
from robodyn_ros.nodes.common.scheduling import Scheduling, SchedulingSettings, declare_scheduling

RATE = 500.0
"""Of the simulation's states in the soak [Hz]."""

SEGMENT = 2.0
"""The nodes take turns of this length [s], so that what else the machine does meets both."""

ECHO = """
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from robodyn_ros.nodes.common.diagnostics import Faults
from robodyn_ros.nodes.common.executor import run
from robodyn_ros.nodes.common.client_library import NEWEST, RELIABLE, once_running
from robodyn_ros.nodes.common.scheduling import Scheduling, SchedulingSettings, declare_scheduling

class Echo(Node):
    def __init__(self, end):
        super().__init__("echo")
        self.faults = Faults(self.get_logger().warning)
        declare_scheduling(self, SchedulingSettings())
        once_running(self, Scheduling(self).begin)
        self.publisher = self.create_publisher(JointState, "echo/joint_commands", RELIABLE)
        self.create_subscription(JointState, "echo_states", self.publisher.publish, NEWEST)

raise SystemExit(run(Echo))
"""


DISTURBED = """
import ctypes, runpy, sys, threading, time
import rclpy

def busy():
    while True:
        pass

def stopped():
    hold = ctypes.PyDLL(None).usleep  # a call in C that keeps the interpreter's lock
    while True:
        time.sleep(0.5)
        hold(500_000)

kind, *sys.argv = sys.argv[1:]
threading.Thread(target={"busy": busy, "stopped": stopped}[kind], daemon=True).start()
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""

KINDS = {
    "quiet": "undisturbed",
    "busy": "a thread of Python computes",
    "stopped": "the interpreter stands still for 0.5 s each second",
}
"""How the controller's process is disturbed."""


@contextmanager
def running(commands: dict[str, list[str]]) -> Iterator[dict[str, int]]:
    """Programs of Python in a graph of their own, which this process joins; the numbers of their processes."""
    with tempfile.TemporaryDirectory() as folder, joined(ROS_LOG_DIR=folder):
        announce_often()
        processes = []
        for name, words in commands.items():
            with open(Path(folder) / name, "w") as out:
                processes.append(subprocess.Popen([sys.executable, *words], stdout=out, stderr=out))
        try:
            yield {name: process.pid for name, process in zip(commands, processes, strict=True)}
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


@contextmanager
def publishing_clock(node: Any) -> Iterator[None]:
    """Simulated time that is the time of the stamps."""
    publisher, over = node.create_publisher(Clock, "/clock", 1), threading.Event()

    def publish() -> None:
        while not over.wait(0.01):
            publisher.publish(Clock(clock=node.get_clock().now().to_msg()))

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def metering(names: Iterable[str], arm: str = "prr") -> Iterator[Any]:
    """A meter (meter.py) for the nodes that run; its own priority, and that of the middleware below it, is theirs."""
    with in_the_graph("meter") as (node, _), publishing_clock(node):
        q, subjects = POSES[arm][0], {name: f"{name}_states" for name in names}
        state = JointState(name=list(robot_of(arm).joint_names), position=q, velocity=[0.0] * len(q))
        settings = SchedulingSettings()
        meter = Meter(node, state, subjects, settings.thread_priority)
        declare_scheduling(node, settings)
        Scheduling(node).begin(python=False)
        end = time.monotonic() + 120.0
        for subject in subjects:
            while len(meter.measure(subject, 100.0, 0.5)[0]) < 20:
                if time.monotonic() > end:
                    raise SystemExit(f"no answer of the {subject}")
        if meter.refused:
            print("the system refuses the real-time priority: everything is ordinary", file=sys.stderr)
        yield meter


CONTROLLERS = {"realtime": ["realtime:=on"], "simulated": ["realtime:=on", "use_sim_time:=true"]}
PYTHON = {"python": ["realtime:=off"]}


def controllers(
    options: list[str], arm: str = "prr", chosen: dict[str, list[str]] = CONTROLLERS
) -> dict[str, list[str]]:
    """The programs of the controllers; ``<name>_states`` are the states of each.

    They are not fed while it is another's turn, which is no fault here.
    """
    urdf = PRR if arm == "prr" else urdfs()[arm]
    given = ("-p", f"robot_description:={urdf}", "-p", "state_timeout:=10.0")
    program = ["-m", "robodyn_ros.nodes.start", "controller", "--ros-args", *given, *options]
    nodes = {}
    for name, parameters in chosen.items():
        own = [word for parameter in parameters for word in ("-p", parameter)]
        nodes[name] = [*program, "-r", f"__node:={name}", "-r", f"joint_states:={name}_states", *own]
    return nodes


def measure(meter: Any, pids: dict[str, int], rate: float, duration: float) -> dict[str, Any]:
    """All nodes in turns at a rate."""
    trips: dict[str, list[float]] = {name: [] for name in pids}
    counts, used = dict.fromkeys(pids, 0), dict.fromkeys(pids, 0.0)
    for _ in range(max(1, round(duration / SEGMENT))):
        for subject, pid in pids.items():
            before = processor_time(pid)
            new, sent = meter.measure(subject, rate, SEGMENT)
            used[subject] += processor_time(pid) - before
            trips[subject] += new.tolist()
            counts[subject] += sent
    return {
        subject: percentiles(values)
        | {"answered": len(values), "sent": counts[subject]}
        | {"processor [µs]": 1e6 * used[subject] / counts[subject]}
        for subject, values in trips.items()
    }


def compare(
    rates: list[float], duration: float, options: list[str], arm: str, chosen: dict[str, list[str]]
) -> dict[str, Any]:
    """The controllers and the echo in turns, at each rate; the options are the controllers'."""
    nodes = controllers(options, arm, chosen) | {"echo": ["-c", ECHO]}
    with running(nodes) as pids, metering(nodes, arm) as meter:
        return {f"{rate:g} Hz": measure(meter, pids, rate, duration) for rate in rates}


def disturbed(rate: float, duration: float) -> dict[str, Any]:
    """Each controller alone, undisturbed and while Python computes or stands still in its process."""
    found: dict[str, Any] = {}
    nodes = controllers([], chosen={**PYTHON, "realtime": CONTROLLERS["realtime"]})
    for kind, text in KINDS.items():
        for name, (_, *program) in nodes.items():
            command = ["-m", *program] if kind == "quiet" else ["-c", DISTURBED, kind, *program]
            with running({name: command}) as pids, metering([name]) as meter:
                found.setdefault(text, {}).update(measure(meter, pids, rate, duration))
    return found


def soak(duration: float, options: list[str]) -> dict[str, Any]:
    """Simulator and controller for a while: periods of the commands, latency, memory."""
    given = ("--ros-args", "-p", f"robot_description:={PRR}")
    wiring = ("-p", "thread_priority:=50", "-r", "commands:=controller/commands")
    simulator = ["-m", "robodyn_ros.nodes.start", "simulator", *given, *wiring]
    controller = ["-m", "robodyn_ros.nodes.start", "controller", *given, "-p", "use_sim_time:=true", *options]
    with running({"simulator": simulator, "controller": controller}) as pids, in_the_graph("meter") as (node, executor):
        said: list[Any] = []
        settings = SchedulingSettings()
        meter = Meter(node, JointState(), {"controller": ""}, settings.thread_priority, round(1000 * duration) + 1000)

        def report(message: DiagnosticArray) -> None:
            said.extend(status for status in message.status if status.name == "/controller")

        # Nothing is made or taken down while it runs: that alone would hold up a command now and then.
        node.create_subscription(DiagnosticArray, "/diagnostics", report, 10)
        declare_scheduling(node, settings)
        own = Scheduling(node)
        end = time.monotonic() + 60.0
        while len(meter.measure("controller", RATE, 1.0)[0]) < 0.8 * RATE:
            if time.monotonic() > end:
                raise SystemExit("no flow of commands")
        own.begin(python=False)
        with ThreadPoolExecutor(2) as threads:
            gc.collect()
            gc.freeze()
            first, begin = {name: memory_of(pid) for name, pid in pids.items()}, time.monotonic()
            commands = threads.submit(meter.measure, "controller", RATE, duration)
            sleeper = threads.submit(sleep_lateness, RATE, duration, settings.thread_priority)
            while (left := begin + duration - time.monotonic()) > 0.0:
                executor.spin_once(timeout_sec=min(left, 0.1))
            times, floor = commands.result()[0], sleeper.result()
        grown = {name: memory_of(pid) - first[name] for name, pid in pids.items()}
    late = np.diff(times) - 1.0 / RATE
    values = [{item.key: item.value for item in status.values} for status in said]
    latencies = [float(value["latency p99 [ms]"]) for value in values if "latency p99 [ms]" in value]
    return {
        "duration [s]": duration,
        "commands": len(times),
        "period longer than due [ms]": percentiles(np.maximum(late, 0.0).tolist()),
        "the same of a thread of C that only sleeps [ms]": percentiles(np.maximum(np.diff(floor), 0.0).tolist()),
        "latency p99 within a second, median of all [ms]": float(np.median(latencies)),
        "memory at first [kB]": first,
        "growth of memory [kB]": grown,
        "overruns": int(values[-1]["period overruns since start"]),
        "state": said[-1].message,
        "realtime": values[-1]["realtime"],
        "scheduling": f"controller {values[-1]['scheduling']}, measuring {own.state}",
    }


def rows_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of times [ms]; below the nodes the ratios of each to the echo, if there is one."""
    rows = []
    for rate, nodes in found.items():
        rows += [{"at": rate, "node": node, **values} for node, values in nodes.items()]
        for node in [name for name in nodes if name != "echo"] if "echo" in nodes else ():
            ratios = {key: nodes[node][key] / nodes["echo"][key] for key in ("median", "p99", "processor [µs]")}
            rows.append({"at": rate, "node": f"{node} / echo", **ratios})
    return rows


def main() -> None:
    """Measure and print."""
    parser = options(__doc__)
    parser.add_argument("--rate", type=float, nargs="+", default=[500.0, 1000.0, 2000.0], help="of the states [Hz]")
    parser.add_argument("--duration", type=float, default=20.0, help="of each node at each rate [s]")
    parser.add_argument("--soak", type=float, metavar="SECONDS", help="the PRR arm in simulation for so long instead")
    text = "at 1 kHz, while a thread of Python computes, and while the interpreter stands still, instead"
    parser.add_argument("--disturbed", action="store_true", help=text)
    parser.add_argument("--realtime", default="on", help="the controller's parameter in the soak")
    parser.add_argument("--python", action="store_true", help="a controller with its loop in Python, too")
    parser.add_argument("--arm", choices=POSES, default="prr", help="the arm of the controllers")
    parser.add_argument("--law", nargs="+", metavar="LAW", help="the laws of the controllers, one after the other")
    args = parser.parse_args()
    if args.soak:
        report({"Soak": [soak(args.soak, ["-p", f"realtime:={args.realtime}"])]}, args.json)
    elif args.disturbed:
        report({"Disturbed [ms]": rows_of(disturbed(1000.0, args.duration))}, args.json)
    else:
        laws = {law: ["-p", f"controller:={law}"] for law in args.law or ()} or {"the default law": []}
        chosen = {**CONTROLLERS, **(PYTHON if args.python else {})}
        each = {law: compare(args.rate, args.duration, given, args.arm, chosen) for law, given in laws.items()}
        report({f"{law} on {args.arm} [ms]": rows_of(found) for law, found in each.items()}, args.json)


if __name__ == "__main__":
    main()
