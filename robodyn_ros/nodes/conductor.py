# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The conductor node: lets a controller follow a trajectory, and records the motion of the arm.

:meth:`ConductorNode._script` has all steps in order. It waits until states and commands flow, sends the trajectory with
a start a little later, and saves a ``RunRecord`` after the motion. Before and after, the simulator is paused for a
moment: while no message is on its way, the number of commands that the controller has sent can be compared with the
number that the simulator has received, and the trajectory arrives in time even on a busy machine. Faults that the nodes
report during the motion are part of the record.

Progress goes to stdout, one JSON object a line: ``{"time": 1.25, "error": [0.001, 0.02, 0.01]}``, the trajectory's time
[s] and reference minus position [rad] or [m].
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from time import monotonic
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control.motion.point_to_point import rest_to_rest
from robodyn_ros.control.motion.trajectory import RunRecord, Trajectory
from robodyn_ros.errors import ConfigurationError, InputError, NotReadyError, RobodynError
from robodyn_ros.nodes.common.client_library import RELIABLE
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard
from robodyn_ros.nodes.common.executor import Exit, tell
from robodyn_ros.nodes.common.messages import NANO, JointOrder, from_trajectory, seconds, stamp
from robodyn_ros.nodes.common.parameters import NodeParameters, declare
from robodyn_ros.nodes.common.script import RepeatedRequest, Script, ScriptRunner, ScriptStep
from robodyn_ros.nodes.simulator.pace import FAULT
from robodyn_ros.robot.pose import Array

EVERY_MESSAGE = QoSProfile(depth=20000, reliability=RELIABLE.reliability)
"""For subscriptions that are recorded without a gap."""

PERIOD = 0.1
"""Time between two checks that the script can continue [s]."""

COUNT = "commands since start"
"""Name of the number of commands in the diagnostics of the controller and of the simulator."""

TIME, GAP, LOCKSTEP = "simulated time [s]", "longest time without a command [ms]", "lockstep"
"""Names of the time, of the longest time between two commands, and of whether it waits for them, in the diagnostics of
the simulator."""

NO_STATES = "no joint states"
"""Report of a controller that waits for a state, by its own clock, before that is a fault."""

REFERENCE_AGE = "reference age [s]"
"""Key of the controller's diagnostics that exists once it has a reference."""

ROUNDING = 1e-4
"""Greatest rounding error of a time in the diagnostics [s]."""

LEAD = 0.3
"""Time from sending the trajectory to its start [s]."""

PROGRESS_PERIOD = 0.1
"""Time between two reports of the progress on stdout, by the stamps of the states [s]."""

TOLERANCE = 0.1
"""Greatest distance of the arm from the first waypoint at the start [rad] or [m]; without a gravity term it sags."""

PATIENCE = 120.0
"""Longest wait for each step on a machine that is busy otherwise [s]."""

LOCKSTEP_TIME = 600.0
"""Longest duration of the motion in lockstep, which has no limit of its own [s]."""

NUMBER = re.compile(r"[\d.]+")
"""Part of a message."""

Row = tuple[float, float, tuple[Array, ...]]
"""Stamp [s], time of receipt [s], and arrays (n,)."""


class ConductorNode(ExceptionGuard, Node):  # type: ignore[misc]
    """Runs the script, and ends with it."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: ends the process.

        Raises:
            RobodynError: a parameter is wrong.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("conductor")
        declare_parameters(self)
        parameters = NodeParameters(self)
        self._path: str = parameters["record"]
        self._joints = list(parameters["joints"])
        self._trajectory = make_trajectory(parameters)
        self._recorder = Recorder(self._joints)
        self._start, self._progress = np.inf, -np.inf  # start of the trajectory, and its time at the last progress [s]
        self._latest: Row = (-np.inf, -np.inf, ())
        self._diagnostics: dict[str, DiagnosticStatus] = {}
        self._reports: Counter[str] = Counter()
        self._problems: dict[str, str] = {}
        self._gap = 0.0  # longest time between two commands [s]
        self._is_moving = False
        self._publisher = self.create_publisher(JointTrajectory, "controller/joint_trajectory", RELIABLE)
        self._pause = self.create_client(SetBool, "simulator/pause")
        self.create_subscription(JointState, "joint_states", self._on_state, EVERY_MESSAGE)
        self.create_subscription(JointState, "controller/joint_commands", self._on_command, EVERY_MESSAGE)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, EVERY_MESSAGE)
        self._runner = ScriptRunner(self, end, self._script(), PATIENCE, PERIOD)

    def _script(self) -> Script:
        """All steps, in order."""
        recorder, duration = self._recorder, self._trajectory.duration
        yield ScriptStep("joint states", lambda: recorder.states)
        yield ScriptStep("commands of the controller", lambda: recorder.commands)
        yield ScriptStep("a controller that takes trajectories", self._publisher.get_subscription_count)
        yield ScriptStep("a simulator that can be paused", self._pause.service_is_ready)
        for _ in attempts("no sign of a controller and a simulator that stay without a fault"):
            yield ScriptStep("a controller and a simulator without a fault", self._all_is_well)
            yield from self._set_paused(True)
            before = yield from self._count()
            if self._all_is_well(paused=True):  # else a fault began before the pause, and lasts until its end
                break
            yield from self._set_paused(False)
        now = float(self._value("simulator", TIME))
        yield ScriptStep("the last state before the pause", lambda: recorder.states[-1][0] > now - ROUNDING)
        for _ in attempts("the controller does not receive the trajectory"):
            self._send()  # a subscriber that was just discovered may miss the first message
            yield from self._next_report("controller")
            if self._value("controller", REFERENCE_AGE):
                break
        yield from self._set_paused(False)
        yield ScriptStep("the start of the trajectory", lambda: self._time() > 0.0)
        self._is_moving, self._gap = True, 0.0
        extra_time = LOCKSTEP_TIME if self._waits_for_commands else duration
        yield ScriptStep("the end of the trajectory", lambda: self._time() > duration, extra_time)
        yield from self._next_report("simulator")
        self._is_moving = False
        yield from self._set_paused(True)
        after = yield from self._count()
        yield from self._set_paused(False)
        sent, accepted = (late - early for early, late in zip(before, after, strict=True))
        found: dict[str, Any] = {**recorder.arrays(), "commands_sent": sent, "commands_taken": accepted}
        found |= {"faults": tuple(self._problems.values()), "lockstep": self._waits_for_commands}
        RunRecord(tuple(self._joints), self._start, command_gap=self._gap, **found).save(self._path)

    @property
    def _waits_for_commands(self) -> bool:
        """True if the simulator runs in lockstep."""
        return self._value("simulator", LOCKSTEP) == str(True)

    def _all_is_well(self, *, paused: bool = False) -> bool:
        found = [self._diagnostics.get(name) for name in ("controller", "simulator")]
        return all(
            status is not None and (status.level == DiagnosticStatus.OK or (paused and status.message == NO_STATES))
            for status in found
        )

    def _set_paused(self, paused: bool) -> Script:
        """Pause or continue the simulated time."""
        answer = RepeatedRequest(self._pause, SetBool.Request(data=paused))
        yield ScriptStep("an answer of the simulator", answer.done)

    def _count(self) -> Generator[ScriptStep, None, list[int]]:
        """Numbers of commands that were sent, and that were accepted; the simulator is paused."""
        counts = []
        for name in ("controller", "simulator"):
            yield from self._next_report(name)
            counts.append(int(self._value(name, COUNT)))
        return counts

    def _value(self, name: str, key: str) -> str:
        """A value of a node's diagnostics; "" without it."""
        return next((item.value for item in self._diagnostics[name].values if item.key == key), "")

    def _next_report(self, name: str) -> Script:
        """Wait for diagnostics of a node that were made after now: the second message from now."""
        enough = self._reports[name] + 2
        yield ScriptStep(f"diagnostics of the {name}", lambda: self._reports[name] >= enough)

    def _send(self) -> None:
        """Send the trajectory, to start a little later."""
        self._latest = self._recorder.states[-1] if self._recorder.states else self._latest  # none comes in a pause
        now, _, (q, _) = self._latest
        for name, at, first in zip(self._joints, q, self._trajectory.positions[0], strict=True):
            if not abs(at - first) <= TOLERANCE:
                raise ConfigurationError(f"waypoints: {name} is at {at:.6g}, not at the first waypoint {first:.6g}")
        start = stamp(round((now + LEAD) * NANO))
        self._start = start.sec + start.nanosec / NANO
        self._recorder.clear()
        message = from_trajectory(self._joints, self._trajectory)
        message.header.stamp = start
        self._publisher.publish(message)

    def _time(self) -> float:
        """The trajectory's time [s] at the latest state."""
        states = self._recorder.states
        return states[-1][0] - self._start if states else -np.inf

    def _on_command(self, message: JointState) -> None:
        self._keep(self._recorder.add_command, message)

    def _on_state(self, message: JointState) -> None:
        self._keep(self._recorder.add_state, message)
        time = self._time()
        if time >= 0.0 and time - self._progress >= PROGRESS_PERIOD:
            self._progress = time
            error = self._trajectory.sample(time).q - self._recorder.states[-1][2][0]
            tell({"time": round(time, 6), "error": error.round(9).tolist()})
        self._runner.advance()

    def _keep(self, add: Callable[[JointState], None], message: JointState) -> None:
        try:
            add(message)
        except RobodynError as problem:
            self._runner.fail(problem)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            name = status.name.rpartition("/")[2]
            self._diagnostics[name] = status
            self._reports[name] += 1
            if not self._is_moving:
                continue
            # In lockstep a busy machine only makes them wait: the controller for a state, the simulator for its answer.
            waits = self._waits_for_commands and (status.message == NO_STATES or status.message.startswith(FAULT))
            if status.level != DiagnosticStatus.OK and not waits:
                problem = f"{name}: {status.message}"
                self._problems.setdefault(NUMBER.sub("", problem), problem)  # once, even if its numbers change
            if name == "simulator":
                self._gap = max(self._gap, float(self._value(name, GAP)) / 1e3)
        self._runner.advance()


def attempts(problem: str) -> Iterator[None]:
    """Yields for each attempt of a loop, which ends at the first that succeeds.

    Raises:
        NotReadyError: none has succeeded in time; the message is the problem.
    """
    end = monotonic() + PATIENCE
    while monotonic() <= end:
        yield
    raise NotReadyError(problem)


class Recorder:
    """Records the states and commands of an arm.

    Attributes:
        states: those since :meth:`clear`, with position and velocity.
        commands: those since :meth:`clear`, with the effort.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        """
        Args:
            joints: names, in the order of the record.
        """
        self.states: list[Row] = []
        self.commands: list[Row] = []
        self._joints = tuple(joints)
        self._orders = JointOrder(joints), JointOrder(joints)

    def clear(self) -> None:
        """Delete all states and commands so far."""
        self.states.clear()
        self.commands.clear()

    def add_state(self, message: JointState) -> None:
        """Record a state, unless it has other joints or was published again.

        Raises:
            InputError: a joint is missing, or given twice.
        """
        self._add(self.states, message, self._orders[0].state)

    def add_command(self, message: JointState) -> None:
        """Record a command, unless it is another answer to the same state.

        Raises:
            InputError: its joints are not those of the record.
        """
        self._add(self.commands, message, lambda message: (self._orders[1].effort(message),))

    @staticmethod
    def _add(rows: list[Row], message: JointState, read: Callable[[JointState], tuple[Array, ...] | None]) -> None:
        received, values, when = monotonic(), read(message), seconds(message.header.stamp)
        if values is not None and not (rows and rows[-1][0] == when):
            rows.append((when, received, values))

    def arrays(self) -> dict[str, Array]:
        """The arrays of a :class:`RunRecord`, of all states and commands."""
        found = {
            f"{kind}_{when}": np.array([row[place] for row in rows])
            for kind, rows in (("state", self.states), ("command", self.commands))
            for place, when in enumerate(("stamp", "received"))
        }
        for name, rows, place in (("q", self.states, 0), ("qd", self.states, 1), ("effort", self.commands, 0)):
            found[name] = np.array([row[2][place] for row in rows]).reshape(len(rows), len(self._joints))
        return found


def declare_parameters(node: Node) -> None:
    """Declare all of them; they are fixed when the node starts.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    kinds = Parameter.Type
    declare(node, "joints", kinds.STRING_ARRAY, "names of joints, in the order of the waypoints", read_only=True)
    declare(node, "times", kinds.DOUBLE_ARRAY, "time of each waypoint [s]", read_only=True)
    text = "positions at which the arm is at rest, one waypoint after the other [rad] or [m]"
    declare(node, "waypoints", kinds.DOUBLE_ARRAY, text, read_only=True)
    declare(node, "record", kinds.STRING, "path of the .npz file to write", read_only=True)


def make_trajectory(parameters: NodeParameters) -> Trajectory:
    """The trajectory that the parameters describe.

    Raises:
        RobodynError: a parameter is missing or wrong; the message names it.
    """
    times, waypoints, n = parameters["times"], np.array(parameters["waypoints"]), len(parameters["joints"])
    if not n or waypoints.size != len(times) * n:
        problem = f"has {waypoints.size} numbers, not {len(times)} times by {n} joints"
        raise InputError("waypoints", problem, waypoints)
    return rest_to_rest(waypoints.reshape(len(times), n), times)
