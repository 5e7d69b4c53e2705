# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""An arm under the running controller, for faults around the control loop (``make faults``; node_faults.py has them).

The controller is a process, with its graph, parameters and plugins. This process is the drives (:mod:`drives`): a state
is sent, its command is waited for, and then the PRR arm moves. Simulated time goes as fast as the wall clock, because
the node looks for publishers, and reports, by a steady clock. What only /diagnostics shows is exact to 10 ms.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from drives import COMMAND_TIMEOUT, ROOT, STATE_TIMEOUT, Drives

from robodyn_ros.cli.processes import GroupProcess, ProcessGroup, joined

BEGIN, LASTS, AFTER = 0.5, 1.0, 10.0
"""How long into a swing a fault begins, how long it lasts, and how long the way back may take [s]."""

PERIOD = 0.004
"""Time between two states [s]."""

ANSWER = 0.2
"""How long a command is waited for before the arm moves on without: a busy machine is not what is looked for [s]."""

SWING = 1.5
"""Time from one end of the swing to the other [s]."""

START = 30.0
"""Longest wait for a controller that starts, or for a plugin that is tried [s]."""

ENDS = np.array([[0.4, -0.5, -0.4], [1.1, 0.5, 0.5]])
"""Ends of the swing, (2, 3)."""

PRR = (ROOT / "urdf" / "prr.urdf").read_text(encoding="utf-8")

BREAKS = "ROBODYN_BREAKS"
"""Environment variable: the folder where a file of its name breaks a function (breaking_plugin.py)."""

OVERRUNS = "period overruns since start"
"""Entry of the diagnostics that counts, though it is no fault."""

Steps = Generator[None, None, str]
"""Lets a period pass with each ``yield``; returns the way back, "" if the arm finds it by itself."""


class Cell(Drives):
    """The drives of an arm that swings, and its controller, which can be killed and started again.

    Attributes:
        change: what is sent instead of a state: messages or their bytes.
        swings: whether the arm is to swing.
        hears: whether commands get here.
        status: entries of the latest diagnostics of the controller.
        said: what it is doing, by the same.
        seen: time [s] and what of all that the controller noticed since :meth:`watch`.
        top: greatest speed of a joint since then, in velocity limits.
        jump: greatest change of an effort from one command to the next, in effort limits, likewise.
        swung: how many swings have begun.
        begin: when watching began [s].
        counts_overruns: whether overruns of the period count; they are those of this machine, too.
        reports: how many diagnostics have come from the controller.
        struck: how often a stop was struck at more than half the velocity limit.
    """

    def __init__(self, node: Any, executor: Any, group: ProcessGroup, folder: Path) -> None:
        from std_msgs.msg import String

        from robodyn_ros.nodes.common.client_library import LATCHED

        self.swings, self.hears, self.watches = False, True, False
        self.status: dict[str, str] = {}
        self.said = ""
        self.seen: list[tuple[float, str]] = []
        self.top, self.jump, self.struck = 0.0, 0.0, 0
        self._group, self._running = group, False
        self._process: GroupProcess | None = None
        self._before: dict[str, int] = {}
        self.begin, self.reports, self.counts_overruns = 0.0, 0, False
        self.swung = 0
        self._end, self._direction, self._sent = 0.0, 0, False
        super().__init__(node, executor, self._is_alive, folder)
        self._step = PERIOD
        self.change: Callable[[Any], list[Any]] = lambda state: [state]
        self.node = node
        self._publishers: dict[str, Any] = {}
        self._given: Mapping[str, Any] = {}
        self.descriptions = node.create_publisher(String, "robot_description", LATCHED)
        self.descriptions.publish(String(data=PRR))
        self._talk_first()

    def _talk_first(self) -> None:
        """Make the publishers that swings need, so that their discovery takes nothing from a row."""
        from trajectory_msgs.msg import JointTrajectory

        self.talk(JointTrajectory, "controller/joint_trajectory")

    def talk(self, kind: Any, topic: str) -> Any:
        """A publisher of that topic, always the same."""
        if topic not in self._publishers:
            self._publishers[topic] = self.node.create_publisher(kind, topic, 10)
        return self._publishers[topic]

    def start(self, given: Mapping[str, Any] | None = None) -> None:
        """Start a controller.

        Args:
            given: parameters beside the usual ones; those of the one before unless given.
        """
        self._given = self._given if given is None else given
        usual = {
            "use_sim_time": True,
            "state_timeout": STATE_TIMEOUT,
            "diagnostics_rate": 100.0,
        }
        self._process = self._group.start("controller", {**usual, **self._given}, [ROOT / "config" / "prr.yaml"])
        self._running, self.expected = True, False
        self.said, self.status = "", {}

    def start_again(self, given: Mapping[str, Any] | None = None) -> None:
        """Start a controller, and go on until it says something, however busy the machine is."""
        self.start(given)
        self.until(lambda: bool(self.said), 4.0 * START, "word of the controller that is started")

    def started(self, given: Mapping[str, Any]) -> None:
        """Have a controller with these parameters under way, as it was started or newly."""
        if self._running and given == self._given:
            return
        if self._running:
            self.stop()
        self.start(given)
        self.until(lambda: self.said == "hold", START, "a controller that holds the arm")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the controller."""
        self._running = False
        assert self._process is not None
        self._process.signal(how)
        end = time.monotonic() + START
        while self._process.process.poll() is None and time.monotonic() < end:
            self.step()

    def ended(self) -> bool:
        """Whether the controller's process has ended."""
        return self._process is None or self._process.process.poll() is not None

    def gone(self) -> None:
        """The controller may end by itself from now on."""
        self._running = False

    def _is_alive(self) -> bool:
        return not self._running or not self.ended()

    def watch(self) -> None:
        """Watch the greatest values, and what the controller notices, from now on."""
        self.seen, self.top, self.jump, self.struck, self.watches = [], 0.0, 0.0, 0, True
        self._before, self.begin = self._counts(), self._time

    def play(self, steps: Steps) -> str:
        """Let a period pass for each ``yield``; the way back that the generator returns."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return str(end.value)
            self.step()

    def as_usual(self) -> None:
        """End what spoils states and pushes the arm."""
        self.change, self.hears, self.counts_overruns = lambda state: [state], True, False
        self.outside[:] = 0.0

    def note(self, what: str, when: float | None = None) -> None:
        """The fault was noticed, now unless a time is given [s]."""
        if self.watches:
            self.seen.append((self.now if when is None else when, what))

    @property
    def now(self) -> float:
        """Simulated time [s]."""
        return self._time

    @property
    def latest(self) -> float:
        """Stamp of the latest command [s]."""
        return self._answered

    @property
    def is_braked(self) -> bool:
        """Whether no command has come for so long that the drives have braked."""
        return self._time - self._answered > COMMAND_TIMEOUT

    @property
    def in_order(self) -> bool:
        """Whether the arm is under control, and no fault lasts."""
        return self.said in ("hold", "follow", "track") and not self.is_braked

    def until(self, condition: Callable[[], bool], limit: float, what: str = "") -> bool:
        """Go on until something is so, for a time at most [s]; raises unless it is so, if it has a name."""
        end, patience = self.now + limit, time.monotonic() + 3.0 * limit
        while not condition():
            if self.now > end or time.monotonic() > patience:
                if what and self._process is not None:
                    raise self._process.failure(f"gave no {what}: {self.said!r}, {self._counts()}")
                return False
            self.step()
        return True

    def set(self, **values: Any) -> str:
        """Set parameters, ``__`` for a point in a name; the reason of the first refusal, "" if there is none."""
        return self.set_messages(messages_of(values))

    def get(self, names: Iterable[str]) -> list[Any]:
        """Parameters as they are, as messages."""
        from rcl_interfaces.msg import Parameter
        from rcl_interfaces.srv import GetParameters

        asked = [name.replace("__", ".") for name in names]
        found = self.call(GetParameters, "get_parameters", names=asked).values if asked else []
        return [Parameter(name=name, value=value) for name, value in zip(asked, found, strict=True)]

    def set_messages(self, parameters: list[Any]) -> str:
        """As :meth:`set`, from messages."""
        from rcl_interfaces.srv import SetParameters

        answer = self.call(SetParameters, "set_parameters", parameters=parameters)
        refused = [result.reason for result in answer.results if not result.successful]
        if refused:
            self.note("refused")
        return refused[0] if refused else ""

    def hold(self) -> None:
        """Have the controller forget all faults."""
        from std_srvs.srv import Trigger

        self.call(Trigger, "hold")

    def jump_to(self, when: float) -> None:
        """The simulation is reset: its time is another [s]."""
        self._time = self._answered = self._end = when

    def send(self) -> None:
        """Send the state, or what a fault makes of it, and the next swing once the last one is over."""
        if self.swings and self.said == "hold" and self._time >= self._end:
            self.swung += 1
            self._direction, self._end = 1 - self._direction, self._time + SWING + 0.1
            self._publishers["controller/joint_trajectory"].publish(motion_to(self, ENDS[self._direction], SWING))
        sent = self.change(self.state(effort=self._effort.tolist()))
        for message in sent:
            self.states_topic.publish(message)
        self._sent = bool(sent)

    def wait_for_answer(self) -> None:
        """Wait for the command where one is to be expected, and then for the next state's time."""
        missing = self._time - self._answered
        if self._sent and missing < STATE_TIMEOUT:
            self.spin_until_answered(time.monotonic() + ANSWER)
        self.pace()

    def _move(self, braked: bool) -> None:
        super()._move(braked)
        self.top = max(self.top, float((np.abs(self.qd) / self._speeds).max()))

    def _expect(self, what: str) -> None:
        self.struck += what.startswith("drives")

    def _on_command(self, message: Any, info: dict[str, int]) -> None:
        if not self.hears:
            return
        before = np.zeros(3) if self.is_braked else self._effort
        super()._on_command(message, info)
        self.jump = max(self.jump, float((np.abs(self._effort - before) / self._limits).max()))

    def _counts(self) -> dict[str, int]:
        """Kind → how often the controller has counted it."""
        names = list(self.status)
        kinds = names[names.index("restarts") + 1 :] if "restarts" in names else []
        kinds += ["restarts", *([OVERRUNS] if self.counts_overruns else [])]
        return {kind: int(self.status[kind]) for kind in kinds if self.status.get(kind, "").isdigit()}

    def _on_diagnostics(self, message: Any) -> None:
        super()._on_diagnostics(message)
        for status in message.status:
            if status.name == "/controller":
                self.status = {item.key: item.value for item in status.values}
                self.reports += 1
                self.said = status.message.split("; ")[0]
                for kind, count in self._counts().items():
                    if count > self._before.get(kind, 0):
                        self.note(answer_of(kind))
                        self._before[kind] = count


def answer_of(kind: str) -> str:
    """What a kind of faults is called in the table."""
    from robodyn_ros.control.faults.table import FAULTS

    for name, fault in FAULTS.items():
        if kind == fault.words:
            return name
    if kind == "restarts":
        return "held where it is"
    return "refused" if kind.endswith("refused") else "counted"


def messages_of(values: Mapping[str, Any]) -> list[Any]:
    """Parameters as messages, ``__`` for a point in a name."""
    from rclpy.parameter import Parameter

    return [Parameter(name.replace("__", "."), value=value).to_parameter_msg() for name, value in values.items()]


def motion_to(cell: Drives, goal: Any, after: float, **fields: Any) -> Any:
    """A trajectory from where the arm is to a goal (3,), where it rests after a time [s]."""
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    rest = {"velocities": [0.0] * 3, "accelerations": [0.0] * 3}
    point = JointTrajectoryPoint(positions=np.asarray(goal, dtype=float).tolist(), **(rest | fields))
    point.time_from_start.sec, point.time_from_start.nanosec = int(after), round(after % 1.0 * 1e9)
    return JointTrajectory(joint_names=cell.names, points=[point])


class Scenario(NamedTuple):
    """A fault: the row of docs/safety.md, and what makes it."""

    row: str
    inject: Callable[[Cell], Steps]
    variant: str = ""
    given: Mapping[str, Any] = MappingProxyType({})
    """Parameters with which the controller is started."""
    parameters: Mapping[str, Any] = MappingProxyType({})
    """Parameters that are set for the time of the fault, and their values afterwards."""


class Outcome(NamedTuple):
    """What became of a fault; the fields of a row of faults.py from the answer on."""

    answer: str
    detected: float
    speed: float
    step: float
    struck: int
    back: str
    after: float


def inject(cell: Cell, scenario: Scenario) -> Outcome:
    """Inject a fault into an arm that swings."""
    cell.started(scenario.given)
    cell.hold()
    cell.swings = True
    cell.until(lambda: cell.in_order, AFTER, "arm in order")
    swings = cell.swung
    cell.until(lambda: cell.swung > swings and cell.said == "follow", AFTER, "swing")
    cell.until(lambda: False, BEGIN)  # so that every fault finds the arm in the same motion
    cell.expected = True
    before = cell.get(scenario.parameters)
    cell.watch()
    if scenario.parameters:
        cell.set(**scenario.parameters)
    way = cell.play(scenario.inject(cell))
    end, seen, begin = cell.now, cell.seen[:], cell.begin
    cell.as_usual()
    if before:
        cell.set_messages(before)
    reports = cell.reports + 2  # the next one may have been on its way
    in_order = lambda: cell.reports >= reports and cell.in_order  # noqa: E731
    if not cell.until(in_order, AFTER):
        way = "acknowledged"
        cell.hold()
        cell.until(in_order, AFTER)
    after = cell.now - end if cell.in_order else float("nan")
    cell.swings = True
    cell.until(lambda: False, 0.5 * SWING)
    answer, detected = "none needed", float("nan")
    if seen:
        reacted = [what for _, what in seen if what not in ("refused", "counted")]
        answer, detected = (reacted or [seen[0][1]])[0], seen[0][0] - begin
    return Outcome(answer, detected, cell.top, cell.jump, cell.struck, way or "by itself", after)


@contextmanager
def running_arm() -> Iterator[Cell]:
    """The drives in a graph of their own, with the plugins that fail; the controller is started by the first fault."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        paths = [
            install(folder / "plugins"),
            ROOT / "test",
            ROOT / "benchmarks",
            *filter(None, [os.environ.get("PYTHONPATH")]),
        ]
        more = {"PYTHONPATH": os.pathsep.join(map(str, paths)), BREAKS: str(folder)}
        with joined(**more) as environment, ProcessGroup(environment, folder) as group:
            context = rclpy.Context()
            rclpy.init(context=context, args=[])
            node, executor = Node("drives", context=context), SingleThreadedExecutor(context=context)
            executor.add_node(node)
            try:
                yield Cell(node, executor, group, folder)
            finally:
                executor.shutdown()
                node.destroy_node()
                rclpy.shutdown(context=context)


def install(folder: Path) -> Path:
    """Make a folder that is, for Python, an installed package with the plugins that fail."""
    sys.path.insert(0, str(ROOT / "test"))
    import faulty_plugins

    faulty_plugins.install(folder)
    info = folder / "breaking-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: breaking\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[robodyn_ros.dynamics]\nbreaking = breaking_plugin:Breaking\n")
    return folder
