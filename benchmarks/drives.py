# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The drives of the PRR arm as a node: they move the arm by the commands, and record what is wrong with these.

For the benchmarks and tests that start the controller as a process (``make fuzz-nodes``, ``make faults``).
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import robodyn_ros as rd

ROOT = Path(__file__).parents[1]
STEP = 0.002
"""Time between two states [s]."""

REAL_STEP = 0.004
"""The same in real time, which leaves this process time for the storm [s]."""

LEAST = 4
"""How many events are handled between two states in real time, however late this process is."""

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

TRACE = 2000
"""How many states and messages before an event are kept for its file."""


def seconds(stamp: Any) -> float:
    """A stamp as a number [s]."""
    return float(stamp.sec + stamp.nanosec * 1e-9)


@dataclass
class Event:
    """A gap or a stop that a fault may explain."""

    what: str
    when: float
    history: list[str]
    explained: bool


class Drives:
    """The arm, moved by the commands; sends its states, and records what is wrong with what comes back."""

    def __init__(
        self,
        node: Any,
        executor: Any,
        alive: Callable[[], bool],
        folder: Path | None = None,
        *,
        real_time: bool = False,
    ) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from rosgraph_msgs.msg import Clock
        from sensor_msgs.msg import JointState

        self.counts: Counter[str] = Counter()
        self.commands = self.states = 0
        self.expected = False  # whether the controller is active, and commands have to come
        self._node, self._executor, self._alive = node, executor, alive
        robot = rd.load_robot(ROOT / "urdf" / "prr.urdf")
        self.names, self._arm = list(robot.joint_names), rd.create_dynamics("rnea", robot)
        joints = robot.joints
        self._limits, self._speeds = (np.array([getattr(j, name) for j in joints]) for name in ("effort", "velocity"))
        self._lower, self._upper = (np.array([getattr(j, name) for j in joints]) for name in ("lower", "upper"))
        self.q, self.qd = np.array([0.7, 0.3, -0.4]), np.zeros(3)
        self._real_time, self._step = real_time, REAL_STEP if real_time else STEP
        self._time = time.time() if real_time else 1000.0
        self.outside = np.zeros(3)  # efforts from outside
        self._effort, self._answered, self._due = np.zeros(3), self._time, time.monotonic()
        self._last: tuple[float, np.ndarray[Any, Any]] | None = None  # time, effort
        self._stamps: deque[float] = deque(maxlen=TRACE)
        self._late = 0.0  # how long after its state a command has been sent
        self._gap = False
        self._fault, self._reported = -np.inf, time.monotonic()
        self.states_topic = node.create_publisher(JointState, "joint_states", 10)
        self._clock = node.create_publisher(Clock, "/clock", 10)
        node.create_subscription(JointState, "controller/joint_commands", self._on_command, 100)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)
        self._pending: list[Event] = []  # that a fault has still time to explain
        self.history: deque[str] = deque(maxlen=TRACE)
        self._folder, self._told = folder, 0
        self._clients: dict[str, Any] = {}

    @property
    def effort(self) -> np.ndarray[Any, Any]:
        """The latest command (3,) [N·m] or [N]."""
        return self._effort

    def state(self, **changes: Any) -> Any:
        """The present state as a message."""
        from sensor_msgs.msg import JointState

        fields = {"name": self.names, "position": self.q.tolist(), "velocity": self.qd.tolist(), **changes}
        message = JointState(**fields)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(round(self._time * 1e9), 10**9)
        return message

    def step(self) -> None:
        """Send a state, wait for the answer or for the next state's time, and move the arm."""
        from rosgraph_msgs.msg import Clock

        before = self._time
        if self._real_time:
            self._time = time.time()
        else:
            self._time += self._step
            clock = Clock()
            clock.clock.sec, clock.clock.nanosec = divmod(round(self._time * 1e9), 10**9)
            self._clock.publish(clock)
        self.send()
        self.states += 1
        if self._real_time:
            self.pace()
        else:
            self.wait_for_answer()
        missing = self._time - self._answered
        if not self.expected:
            self._gap = False
        elif missing > STATE_TIMEOUT and not self._gap:
            self._gap = True
            self._expect("gaps without a fault")
        elif missing < STATE_TIMEOUT / 2:
            self._gap = False
        for _ in range(max(1, round((self._time - before) / STEP)) if self._time - before < STATE_TIMEOUT else 1):
            self._move(braked=missing > COMMAND_TIMEOUT)
        self._judge()

    def send(self) -> None:
        """Send the state."""
        message = self.state()
        self._stamps.append(seconds(message.header.stamp))
        self.states_topic.publish(message)

    def wait_for_answer(self) -> None:
        """Wait for the command that answers the state."""
        patience = PATIENCE if self.expected and self._time - self._answered < 2 * self._step else PATIENCE / 10
        self.spin_until_answered(time.monotonic() + patience)

    def spin_until_answered(self, end: float) -> None:
        """Handle events until the state is answered, or until a time of the steady clock [s]."""
        while self._answered < self._time - self._step / 2 and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.01)

    def pace(self) -> None:
        """Handle events until the next state is due."""
        self._due = max(self._due + self._step, time.monotonic() - self._step)
        for _ in range(LEAST):
            self._executor.spin_once(timeout_sec=0.0)
        while (left := self._due - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def _expect(self, what: str) -> None:
        """Something has happened that a fault has to explain."""
        now = time.monotonic()
        self._pending.append(Event(what, now, list(self.history), explained=now - self._fault <= EXPLAINED))

    def _move(self, braked: bool) -> None:
        if braked:
            self.qd[:] = 0.0
            return
        self.history.append(f"{self._time:.3f} q {self.q} qd {self.qd} effort {self._effort}")
        self.qd += STEP * self._arm.forward(self.q, self.qd, self._effort + self.outside)
        self.q += STEP * self.qd
        beyond = (self.q <= self._lower) | (self.q >= self._upper)
        if beyond.any():
            if (np.abs(self.qd[beyond]) > 0.5 * self._speeds[beyond]).any():
                self._expect("drives into a stop without a fault")
            self.q = np.clip(self.q, self._lower, self._upper)
            self.qd[beyond] = 0.0

    def _judge(self) -> None:
        now = time.monotonic()
        while self._pending and now - self._pending[0].when > EXPLAINED:
            event = self._pending.pop(0)
            if not event.explained:
                self.counts[event.what] += 1
                self._tell(event)
        if not self._alive():
            self.counts["crashes"] += 1
            raise SystemExit("the controller has ended")
        if now - self._reported > HANG:
            self.counts["hangs"] += 1
            self._reported = now

    def _tell(self, event: Event) -> None:
        """Write what led to an event into a file."""
        if self._folder is not None:
            self._told += 1
            (self._folder / f"event-{self._told}.txt").write_text("\n".join([event.what, *event.history]))

    def call(self, kind: Any, name: str, **fields: Any) -> Any:
        """Call a service of the controller while the arm goes on."""
        path = f"controller/{name}"
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self._node.create_client(kind, path)
        end = time.monotonic() + HANG
        while not client.service_is_ready() and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)
        self.history.append(f"{path} {fields}")
        future = client.call_async(kind.Request(**fields))
        while not future.done() and time.monotonic() < end:
            self.step()
        if not future.done():
            self.counts["hangs"] += 1
            raise SystemExit(f"no answer of {path}")
        return future.result()

    def be_answered(self) -> None:
        """Go on until the next command: to be called once the controller is active."""
        end, before = time.monotonic() + HANG, self.commands
        while self.commands == before and time.monotonic() < end:
            self.step()
        self.counts["hangs"] += self.commands == before

    def settle(self) -> None:
        """Go on until a fault can explain nothing of what has been."""
        end = time.monotonic() + 2.0 * EXPLAINED
        while time.monotonic() < end:
            self.step()

    def _on_command(self, message: Any, info: dict[str, int]) -> None:
        self.commands += 1
        effort = np.array(message.effort)
        when = seconds(message.header.stamp)
        if list(message.name) != self.names or effort.shape != (3,) or not np.isfinite(effort).all():
            self.counts["commands that are not finite"] += 1
            return
        if (np.abs(effort) > self._limits * (1 + 1e-9)).any():
            self._count("commands beyond the limit", when, effort)
        sent = info["source_timestamp"] * 1e-9  # by the middleware, however late this process reads
        if self._last is not None and when - self._last[0] < STATE_TIMEOUT:
            # A command is computed between its time and its sending; in lockstep, time stands meanwhile.
            elapsed = max(when, sent if self._real_time else 0.0, self._last[0] + STEP) - self._last[0]
            most = RATE * self._limits * elapsed * (1 + 1e-6)
            if (np.abs(effort - self._last[1]) > most).any():
                self._count("commands beyond the rate", sent, effort)
        answers = not self._real_time or when in self._stamps
        if answers:
            self._late = sent - when
        # A command without a state has the stamp of its moment, but the time that has passed since the last state.
        self._last = when if answers else when - self._late, effort
        self._effort, self._answered = effort, max(self._answered, when)

    def _count(self, what: str, when: float, effort: Any) -> None:
        """Count a command that breaks a limit; the first ones with what led there."""
        self.counts[what] += 1
        if self.counts[what] <= 10:
            history = [*self.history, f"{effort} at {when} after {self._last}"]
            self._tell(Event(what, time.monotonic(), history, explained=False))

    def _on_diagnostics(self, message: Any) -> None:
        for status in message.status:
            if status.name == "/controller":
                self._reported = time.monotonic()
                if status.level != b"\x00":
                    self._fault = time.monotonic()
                    for event in self._pending:
                        event.explained = True
