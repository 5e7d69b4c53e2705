# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What life cycles of the controller leave behind: objects, threads, files, entities of the graph, and memory.

    make soak-life-cycles                     1,000 life cycles, and as many of a bare node
    make soak-life-cycles BENCH="--count 50 --json"

A life cycle is configure, activate, some states with their commands, deactivate and cleanup, in one process. The bare
node has no code of this package: it creates and destroys publishers, subscriptions and timers of the same kinds, as
often. What it leaves behind is the middleware's, and the floor for the controller.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import PRR, memory_of, options, report

from robodyn_ros.cli.processes import joined

PATIENCE = 60.0
"""How long anything may take [s]."""

STATES = 3
"""How many states are answered in a life cycle."""

BLOCKS = 3
"""Into how many blocks the life cycles are divided: what grows in each of them leaks."""

WARM_UP = 6
"""Life cycles before the count begins: caches fill."""


class Running:
    """A controller in this process, and drivers that stand still.

    Attributes:
        node: the controller.
        commands: that came, since the list was cleared.
    """

    def __init__(self, node: Any, executor: Any) -> None:
        from rclpy.node import Node
        from sensor_msgs.msg import JointState

        self.node, self._executor = node, executor
        self.commands: list[Any] = []
        self.drives = Node("drives")
        self._states = self.drives.create_publisher(JointState, "joint_states", 1)
        self.drives.create_subscription(JointState, "controller/joint_commands", self.commands.append, 100)
        executor.add_node(node)
        executor.add_node(self.drives)

    def change(self, *transitions: str) -> None:
        """Go through transitions; between two of them the executor handles what has come.

        Raises:
            RuntimeError: one fails.
        """
        for transition in transitions:
            result = getattr(self.node, f"trigger_{transition}")()
            if result.name != "SUCCESS":
                raise RuntimeError(f"{transition}: {result.name}")
            self.drain()

    def send(self) -> None:
        """Send a state of an arm that stands still."""
        from sensor_msgs.msg import JointState

        message = JointState(name=["elevator", "shoulder", "wrist"], position=[0.5, -1.0, 0.25], velocity=[0.0] * 3)
        message.header.stamp = self.drives.get_clock().now().to_msg()
        self._states.publish(message)

    def be_answered(self, count: int = STATES) -> None:
        """Send states until there are so many new commands."""
        before = len(self.commands)

        def answered() -> bool:
            self.send()
            self.drain()
            return len(self.commands) >= before + count

        self.until(answered)

    def drain(self) -> None:
        """Handle what has come."""
        from robodyn_ros.nodes.common.executor import handle_event

        handle_event(self._executor, self.node.faults, 0.002)

    def until(self, condition: Callable[[], Any]) -> None:
        """Handle events until a condition holds.

        Raises:
            RuntimeError: it does not.
        """
        end = time.monotonic() + PATIENCE
        while not condition():
            self.drain()
            if time.monotonic() > end:
                raise RuntimeError("it did not come")


@contextmanager
def running(folder: Path, **parameters: Any) -> Iterator[Running]:
    """A controller with parameters, in a graph of its own, not configured yet."""
    import rclpy
    import yaml
    from rclpy.signals import SignalHandlerOptions

    from robodyn_ros.nodes.common.client_library import EventsExecutor
    from robodyn_ros.nodes.common.executor import Exit, announce_often
    from robodyn_ros.nodes.controller.node import ControllerNode

    path = folder / "parameters.yaml"
    given = {"robot_description": PRR.read_text(), "autostart": False, "state_timeout": 10.0}
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": given | parameters}}))
    with joined():
        announce_often()
        arguments = ["--ros-args", "--params-file", str(path), "--log-level", "warn"]
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        executor = EventsExecutor()
        there = Running(ControllerNode(Exit()), executor)
        try:
            yield there
        finally:
            executor.shutdown()
            there.node.destroy_node()
            there.drives.destroy_node()  # the graph is left with its last node, and its domain is another's then
            rclpy.try_shutdown()


def census() -> dict[str, int]:
    """What there is in this process: kind → number."""
    gc.collect()
    found = Counter(f"{type(item).__module__}.{type(item).__qualname__}" for item in gc.get_objects())
    found["threads"] = len(os.listdir("/proc/self/task"))
    found["open files"] = len(os.listdir("/proc/self/fd"))
    return dict(found)


def leaks(cycle: Callable[[], None], count: int) -> dict[str, Any]:
    """Repeat something: kinds of objects whose number grew in every block, by how many a cycle, and memory [kB]."""
    each = max(count // BLOCKS, 1)
    for _ in range(WARM_UP):
        cycle()
    begin = last = memory_of()
    before, least = census(), {}
    for block in range(BLOCKS):
        last = memory_of()
        for _ in range(each):
            cycle()
        after = census()
        growth = {kind: number - before.get(kind, 0) for kind, number in after.items()}
        least = growth if block == 0 else {kind: min(number, growth.get(kind, 0)) for kind, number in least.items()}
        before = after
    grew = {kind: number / each for kind, number in least.items() if number > 0}
    now = memory_of()
    return {"cycles": BLOCKS * each, "grew": grew, "kB a cycle": (now - last) / each, "kB in all": now - begin}


def of_controller(count: int) -> dict[str, Any]:
    """What life cycles of the controller leave behind, and what a bare node has to create for the same."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as there:

        def cycle() -> None:
            there.commands.clear()
            there.change("configure", "activate")
            there.be_answered()
            there.change("deactivate", "cleanup")

        found = leaks(cycle, count)
        before = {kind: len(list(getattr(there.node, kind))) for kind in ("publishers", "subscriptions", "timers")}
        there.change("configure")
        found["entities"] = {kind: len(list(getattr(there.node, kind))) - number for kind, number in before.items()}
        return found


def of_bare_node(count: int, entities: dict[str, int]) -> dict[str, Any]:
    """What a node without code of this package leaves behind that creates and destroys as many entities."""
    import rclpy
    from rclpy.clock import Clock, ClockType
    from rclpy.node import Node
    from sensor_msgs.msg import JointState

    from robodyn_ros.nodes.common.client_library import EventsExecutor
    from robodyn_ros.nodes.common.executor import announce_often

    with joined():
        announce_often()
        rclpy.init()
        node, executor = Node("bare"), EventsExecutor()
        executor.add_node(node)

        def drop(message: Any = None) -> None:
            """Nothing is done."""

        def cycle() -> None:
            publishers = [node.create_publisher(JointState, f"~/p{k}", 10) for k in range(entities["publishers"])]
            subscriptions = [
                node.create_subscription(JointState, f"~/s{k}", drop, 10) for k in range(entities["subscriptions"])
            ]
            timers = [
                node.create_timer(0.05, drop, clock=Clock(clock_type=ClockType.STEADY_TIME))
                for _ in range(entities["timers"])
            ]
            executor.spin_once(timeout_sec=0.002)
            for publisher in publishers:
                node.destroy_publisher(publisher)
            for subscription in subscriptions:
                node.destroy_subscription(subscription)
            for timer in timers:
                node.destroy_timer(timer)
            executor.spin_once(timeout_sec=0.002)

        found = leaks(cycle, count)
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
        return found


def main() -> int:
    """Run it as the arguments say; 1 if anything of the controller grew."""
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=1000, help="of life cycles (default: 1000)")
    parser.add_argument("--no-floor", action="store_true", help="leave the bare node out")
    parser.add_argument("--bare", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.bare:
        print(json.dumps(of_bare_node(args.count, json.loads(args.bare))), flush=True)
        return 0
    found = {"controller": of_controller(args.count)}
    if not args.no_floor:
        entities = json.dumps(found["controller"]["entities"])
        command = [sys.executable, __file__, "--count", str(args.count), "--bare", entities]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found["bare node"] = json.loads(done.stdout.splitlines()[-1])
    if args.json:
        print(json.dumps(found))
    else:
        report({"Left behind": [{"by": name, **part} for name, part in found.items()]}, False)
    return 1 if found["controller"]["grew"] else 0


if __name__ == "__main__":
    sys.exit(main())
