# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The teacher node: records the states of an arm that is guided by hand.

:meth:`TeacherNode._script` has all steps in order. It switches the controller to a law for that, records until a line
on stdin or Ctrl-C ends it, and always switches the controller back to its former law. The recording is a table that
:mod:`robodyn_ros.identification.recording.recording` reads.

Progress goes to stdout, one JSON object a line: ``{"stage": "recording"}`` and ``{"states": 1234}``.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from robodyn_ros.errors import ConfigurationError, NotReadyError
from robodyn_ros.nodes.common.arm_parameters import observe_description
from robodyn_ros.nodes.common.client_library import EVERY_STATE, RELIABLE
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard
from robodyn_ros.nodes.common.executor import Exit, handle_signals, tell
from robodyn_ros.nodes.common.messages import JointOrder, seconds
from robodyn_ros.nodes.common.parameters import NodeParameters, declare
from robodyn_ros.nodes.common.script import RepeatedRequest, Script, ScriptRunner, ScriptStep
from robodyn_ros.nodes.common.watch import CONTROLLER
from robodyn_ros.robot.pose import Array

PERIOD = 0.05
"""Time between two checks that the script can continue [s]."""

PATIENCE = 15.0
"""Longest wait for the arm, its controller, and the controller's answers [s]."""

LONGEST = 3600.0
"""Longest demonstration; a longer one ends then [s]."""

SWITCH = 60.0
"""Longest wait for a law, which may have to be compiled, beyond the patience [s]."""

LAW = "controller"
"""Name of the controller's parameter that chooses the law."""


class TeacherNode(ExceptionGuard, Node):  # type: ignore[misc]
    """Runs the script, and ends with it."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: ends the process.

        Raises:
            ConfigurationError: no file is given.
        """
        super().__init__("teacher")
        self._description = observe_description(self)
        declare(self, "record", "", "path of the .csv file to write", read_only=True)
        text = "law of the controller while the arm is guided by hand; the present law if empty"
        declare(self, "law", "hand_guiding", text, read_only=True)
        parameters = NodeParameters(self)
        self._path, self._law = Path(parameters["record"]), parameters["law"]
        if not parameters["record"]:
            raise ConfigurationError("record: must be the path of a file to write")
        self._rows: list[tuple[float, Array]] = []
        self._order: JointOrder | None = None
        self._told = self._signalled = False
        self._running = ""  # law of the controller, by its diagnostics
        self._controller = self.resolve_topic_name(CONTROLLER)
        self._get = self.create_client(GetParameters, f"{CONTROLLER}/get_parameters")
        self._set = self.create_client(SetParametersAtomically, f"{CONTROLLER}/set_parameters_atomically")
        self.create_subscription(JointState, "joint_states", self._on_state, EVERY_STATE)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, RELIABLE)
        ScriptRunner(self, end, self._script(), PATIENCE, PERIOD)
        handle_signals(lambda *_: self._stop())  # instead of an immediate end
        threading.Thread(target=self._read_lines, daemon=True).start()

    def _stop(self) -> None:
        self._told = self._signalled = True

    def _read_lines(self) -> None:
        if sys.stdin.readline():  # the end of stdin, as of /dev/null, is no line: Ctrl-C ends it then
            self._told = True

    def _script(self) -> Script:
        """All steps, in order."""
        yield from self._until("a robot_description", lambda: self._description.known)
        robot = self._description.robot()
        self._order, self._latest = JointOrder(robot.joint_names), np.full(robot.n, np.nan)
        before = ""
        if self._law:
            yield from self._until(
                "a controller", lambda: self._get.service_is_ready() and self._set.service_is_ready()
            )
            asked = RepeatedRequest(self._get, GetParameters.Request(names=[LAW]))
            yield from self._until("the controller's law", asked.done)
            values = asked.result().values
            if not values:  # as ROS answers for a parameter that does not exist
                problem = f"{self._controller} has no parameter {LAW}: leave the law empty to record under its own"
                raise ConfigurationError(f"law: {problem}")
            before = values[0].string_value
        try:
            if self._law:
                yield from self._choose(self._law)
                # The controller has agreed, and makes the law while the former one goes on.
                yield from self._until(f"the law {self._law}", lambda: self._running == self._law, SWITCH)
            yield from self._until("joint states", lambda: self._rows)
            self._rows.clear()
            tell({"stage": "recording", "law": self._law})
            end = monotonic() + LONGEST
            yield ScriptStep("the end of the demonstration", lambda: self._told or monotonic() > end, LONGEST)
            tell({"stage": "the end"})
        finally:
            if before and before != self._law:
                # Sent even if the script no longer waits for the answer, or the controller has not answered before.
                self._set.call_async(_request(before))
        try:
            if before:
                yield from self._choose(before)
        finally:  # the demonstration is kept also if the controller refuses its former law, or does not answer
            self._save(robot.joint_names, [joint.position_unit for joint in robot.joints])

    def _until(self, what: str, come: Callable[[], object], extra_time: float = 0.0) -> Script:
        """Wait for a condition before the recording.

        Raises:
            NotReadyError: a signal ends it.
        """
        yield ScriptStep(what, lambda: self._signalled or come(), extra_time)
        if self._signalled:
            raise NotReadyError("interrupted")

    def _choose(self, law: str) -> Script:
        """Switch the controller to a law.

        Raises:
            ConfigurationError: it refuses.
        """
        asked = RepeatedRequest(self._set, _request(law))
        yield ScriptStep(f"the controller to change to {law}", asked.done)
        result = asked.result().result
        if not result.successful:
            raise ConfigurationError(f"law: the controller refuses {law}: {result.reason}")

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._controller:
                self._running = next((item.value for item in status.values if item.key == LAW), "")

    def _on_state(self, message: JointState) -> None:
        """Record a state, which may come in several messages, each of some joints."""
        if self._order is None or len(message.position) != len(message.name):
            return
        here, there = self._order.part(message.name)
        when, before = seconds(message.header.stamp), self._rows[-1][0] if self._rows else 0.0
        if not len(here) or when <= 0.0 or when < before:
            return
        self._latest[here] = np.array(message.position)[there]
        if np.isfinite(self._latest).all():
            if when == before:  # another part of the same state
                self._rows.pop()
            self._rows.append((when, self._latest.copy()))

    def _save(self, names: tuple[str, ...], units: list[str]) -> None:
        if len(self._rows) < 2:
            raise NotReadyError("no motion was recorded: fewer than two states came before the end")
        heading = ["time [s]", *(f"{name}/position [{unit}]" for name, unit in zip(names, units, strict=True))]
        rows = np.array([[when, *q] for when, q in self._rows])
        form = {"fmt": "%.17g", "delimiter": ",", "comments": "", "encoding": "utf-8"}
        np.savetxt(self._path, rows, header=",".join(heading), **form)
        tell({"states": len(rows)})


def _request(law: str) -> SetParametersAtomically.Request:
    return SetParametersAtomically.Request(parameters=[Parameter(LAW, value=law).to_parameter_msg()])
