# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The drives of the PRR arm as a node: they move the arm by the commands, and count what is wrong with these.

For the benchmarks that start the controller as a process (``make fuzz-nodes``, ``make faults-node``). A state is sent,
its command is waited for, and then the arm moves; simulated time stands still meanwhile.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import rclpy
from common import PRR, ROOT
from diagnostic_msgs.msg import DiagnosticArray
from joined_graph import joined
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

import robodyn_ros as rd
from robodyn_ros.cli.processes import ProcessGroup
from robodyn_ros.nodes.common.client_library import EventsExecutor

STEP = 0.002
"""Period of the states, and step of the arm's integration [s]."""

STATE_TIMEOUT = 0.1
"""Parameter of the controller; commands may be missing for so long without a fault [s]."""

COMMAND_TIMEOUT = 0.15
"""The drives brake when no command has come for so long: later than missing states are answered [s]."""

RATE = 100.0
"""The controller's default effort rate limit, in effort limits a second [1/s]."""

PATIENCE = 0.5
"""How long the answer to a state is waited for; a tenth of it while none comes [s]."""

EXPLAINED = 2.0
"""Time around a fault in /diagnostics within which it explains a gap or a stop [s]."""

HANG = 20.0
"""Longest silence of /diagnostics, and longest wait for a service [s]."""

COUNTS = (
    *("crashes", "hangs", "commands that are not finite", "commands beyond the limit", "commands beyond the rate"),
    *("drives into a stop without a fault", "gaps without a fault"),
)


class Drives:
    """The arm, moved by the commands; sends its states, and counts what is wrong with what comes back.

    Attributes:
        gain: part of its command that each drive gives (3,).
        expected: whether the controller is active, and commands have to come.
    """

    step_time = STEP

    def __init__(self, node: Any, executor: Any, alive: Callable[[], bool]) -> None:
        self.counts: Counter[str] = Counter()
        self.commands = self.states = 0
        self.expected = False
        self.node, self._executor, self._alive = node, executor, alive
        self.robot = robot = rd.load_robot(PRR)
        self.names, self._arm = list(robot.joint_names), rd.create_dynamics("rnea", robot)
        self.q, self.qd, self.gain = np.array([0.7, 0.3, -0.4]), np.zeros(3), np.ones(3)
        self._effort, self.now = np.zeros(3), 1000.0
        self._answered = self.now
        self._last: tuple[float, np.ndarray[Any, Any]] | None = None  # time, effort
        self._gap = False
        self._fault, self._reported = -np.inf, time.monotonic()
        self._pending: list[tuple[str, float]] = []  # what a fault has to explain, and when it was
        self.states_topic = node.create_publisher(JointState, "joint_states", 10)
        self._clock = node.create_publisher(Clock, "/clock", 10)
        node.create_subscription(JointState, "controller/joint_commands", self._on_command, 100)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)
        self._clients: dict[str, Any] = {}

    def state(self, **changes: Any) -> Any:
        """The present state as a message."""
        fields = {"name": self.names, "position": self.q.tolist(), "velocity": self.qd.tolist(), **changes}
        message = JointState(**fields)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(self.now * 1e9), 10**9)
        return message

    def step(self) -> None:
        """Send the time and a state, wait for the answer, and move the arm."""
        self.now += self.step_time
        clock = Clock()
        clock.clock.sec, clock.clock.nanosec = divmod(round(self.now * 1e9), 10**9)
        self._clock.publish(clock)
        self.send()
        self.states += 1
        self.wait_for_answer()
        missing = self.now - self._answered
        if not self.expected or missing < STATE_TIMEOUT / 2:
            self._gap = False
        elif missing > STATE_TIMEOUT and not self._gap:
            self._gap = True
            self._expect("gaps without a fault")
        for _ in range(round(self.step_time / STEP)):
            self._move(braked=missing > COMMAND_TIMEOUT)
        self._judge()

    def send(self) -> None:
        """Send the state."""
        self.states_topic.publish(self.state())

    def wait_for_answer(self) -> None:
        """Wait for the command that answers the state."""
        answers = self.expected and self.now - self._answered < 2 * self.step_time
        self.spin_until_answered(PATIENCE if answers else PATIENCE / 10)

    def spin_until_answered(self, patience: float) -> None:
        """Handle events until the state is answered, or for a time [s]."""
        end = time.monotonic() + patience
        while self._answered < self.now - self.step_time / 2 and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.01)

    def _expect(self, what: str) -> None:
        """Something has happened that a fault has to explain."""
        self._pending.append((what, time.monotonic()))

    def _move(self, braked: bool) -> None:
        if braked:
            self.qd[:] = 0.0
            return
        robot = self.robot
        self.qd += STEP * self._arm.forward(self.q, self.qd, self.gain * self._effort)
        self.q += STEP * self.qd
        beyond = (self.q <= robot.lower) | (self.q >= robot.upper)
        if beyond.any():
            if (np.abs(self.qd[beyond]) > 0.5 * robot.velocity_limit[beyond]).any():
                self._expect("drives into a stop without a fault")
            self.q = np.clip(self.q, robot.lower, robot.upper)
            self.qd[beyond] = 0.0

    def _judge(self) -> None:
        now = time.monotonic()
        while self._pending and now - self._pending[0][1] > EXPLAINED:
            what, when = self._pending.pop(0)
            self.counts[what] += self._fault < when - EXPLAINED
        if not self._alive():
            self.counts["crashes"] += 1
            raise SystemExit("the controller has ended")
        if now - self._reported > HANG:
            self.counts["hangs"] += 1
            self._reported = now

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        """Call a service of the controller while the arm goes on."""
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self.node.create_client(kind, f"controller/{name}")
        end = time.monotonic() + HANG
        while not client.service_is_ready() and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)
        future = client.call_async(kind.Request(**fields))
        if not self.until(future.done, HANG):
            self.counts["hangs"] += 1
            raise SystemExit(f"no answer of controller/{name}")
        return future.result()

    def be_answered(self) -> None:
        """Go on until the next command: to be called once the controller is active."""
        before = self.commands
        self.counts["hangs"] += not self.until(lambda: self.commands > before, HANG)

    def settle(self) -> None:
        """Go on until a fault can explain nothing of what has been."""
        self.until(lambda: False, 2.0 * EXPLAINED)

    def until(self, condition: Callable[[], bool], limit: float) -> bool:
        """Go on until something is so, for a time at most [s]; whether it came."""
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end:
                return False
            self.step()
        return True

    def _on_command(self, message: Any) -> None:
        self.commands += 1
        effort, when = np.array(message.effort), message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
        if list(message.name) != self.names or effort.shape != (3,) or not np.isfinite(effort).all():
            self.counts["commands that are not finite"] += 1
            return
        limit = self.robot.effort_limit
        self.counts["commands beyond the limit"] += bool((np.abs(effort) > limit * (1 + 1e-9)).any())
        if self._last is not None and when - self._last[0] < STATE_TIMEOUT:
            most = RATE * limit * max(when - self._last[0], STEP) * (1 + 1e-6)
            self.counts["commands beyond the rate"] += bool((np.abs(effort - self._last[1]) > most).any())
        self._last = when, effort
        self._effort, self._answered = effort, max(self._answered, when)

    def _on_diagnostics(self, message: Any) -> None:
        for status in message.status:
            if status.name == "/controller":
                self._reported = time.monotonic()
                if status.level != b"\x00":
                    self._fault = time.monotonic()


Kind = TypeVar("Kind", bound=Drives)


@contextmanager
def in_the_graph(name: str, kind: Any = EventsExecutor) -> Iterator[tuple[Any, Any]]:
    """A node of this process, and the executor of some kind that runs it."""
    context = rclpy.Context()
    rclpy.init(context=context, args=[])
    node, executor = Node(name, context=context), kind(context=context)
    executor.add_node(node)
    try:
        yield node, executor
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)


@contextmanager
def running(kind: type[Kind], folder: Path, **parameters: Any) -> Iterator[Kind]:
    """A controller with parameters as a process, in a graph of its own, and the drives in this process."""
    given = {"robot_description": PRR.read_text(), "use_sim_time": True, "state_timeout": STATE_TIMEOUT, **parameters}
    with joined() as environment, ProcessGroup(environment, folder) as group:
        process = group.start("controller", given, [ROOT / "config" / "prr.yaml"]).process
        with in_the_graph("drives", SingleThreadedExecutor) as (node, executor):
            yield kind(node, executor, lambda: process.poll() is None)
