# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A controller in this process that goes through its life cycle, and what its cycles leave behind."""

import gc
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from joined_graph import joined

PRR = Path(__file__).parents[1] / "urdf" / "prr.urdf"

UNFROZEN = SimpleNamespace(collect=gc.collect, freeze=lambda: None, unfreeze=lambda: None)
"""What the controller has as ``gc``: a census does not see what is frozen, and thawing is for all that pytest has."""

PATIENCE = 60.0
"""How long anything may take [s]."""

STATES = 3
"""How many states are answered in a life cycle."""

BLOCKS = 3
"""Into how many blocks the life cycles are divided: what grows in each of them leaks."""

WARM_UP = 18
"""Life cycles before the count begins: caches fill, the greatest of them with 16 arms."""


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
    with joined(), patch("robodyn_ros.nodes.controller.node.gc", UNFROZEN):
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


def _memory() -> float:
    """Resident memory of this process [kB]."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024.0


def leaks(cycle: Callable[[], None], count: int) -> dict[str, Any]:
    """Repeat something: kinds of objects whose number grew in every block, by how many a cycle, and memory [kB]."""
    each = max(count // BLOCKS, 1)
    for _ in range(WARM_UP):
        cycle()
    begin = last = _memory()
    before, least = census(), {}
    for block in range(BLOCKS):
        last = _memory()
        for _ in range(each):
            cycle()
        after = census()
        growth = {kind: number - before.get(kind, 0) for kind, number in after.items()}
        least = growth if block == 0 else {kind: min(number, growth.get(kind, 0)) for kind, number in least.items()}
        before = after
    grew = {kind: number / each for kind, number in least.items() if number > 0}
    now = _memory()
    return {"cycles": BLOCKS * each, "grew": grew, "kB a cycle": (now - last) / each, "kB in all": now - begin}


def of_controller(count: int) -> dict[str, Any]:
    """What life cycles of the controller leave behind."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as there:

        def cycle() -> None:
            there.commands.clear()
            there.change("configure", "activate")
            there.be_answered()
            there.change("deactivate", "cleanup")

        return leaks(cycle, count)
