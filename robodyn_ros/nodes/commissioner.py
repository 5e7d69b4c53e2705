# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The commissioner node: switches an arm on for the first time (:mod:`robodyn_ros.control.commissioning`).

It takes the controller's place: states in, efforts out, to topics of the same names under its own. The steps and the
result go to stdout, one JSON object a line: ``{"stage": …}``, ``{"question": …}``, and at the end ``{"verdict": …}``.
A question is answered by a line on stdin, ``yes`` or ``no``. On Ctrl-C, SIGTERM, the end of stdin during a question, or
missing states, the efforts return to zero within a second, and the node ends after that.
"""

from __future__ import annotations

import queue
import sys
import threading
from array import array
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros import create_dynamics
from robodyn_ros.control.commissioning.findings import CommissionerSettings, CommissioningSettings, report, verdict
from robodyn_ros.control.commissioning.procedure import Commissioning
from robodyn_ros.control.drives import CompensationSettings, DriveCompensation
from robodyn_ros.document.html import html
from robodyn_ros.document.latex import markdown
from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.common import arm_parameters
from robodyn_ros.nodes.common.client_library import NEWEST, RELIABLE, steady_timer, wait_until_delivered
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard
from robodyn_ros.nodes.common.executor import Exit, handle_signals, tell
from robodyn_ros.nodes.common.messages import JointOrder, seconds
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings, mention_unknown
from robodyn_ros.robot import Array, LockedJoints
from robodyn_ros.robot.reduction import chosen_joints

WATCH_PERIOD = 0.01
"""Time between two checks that states come, and between two commands while none come [s]."""

START_TIMEOUT = 10.0
"""Longest wait for the first joint state [s]."""


def declare_node_parameters(node: Node) -> None:
    """Declare the parameters that do not depend on the arm.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    arm_parameters.declare_description(node, "must be given", read_only=True)
    arm_parameters.declare_gravity(node, read_only=True)
    declare(node, "report", "", "path of the report to write, .md or .html; none if empty", read_only=True)
    declare_settings(node, CommissionerSettings, read_only=True)
    declare_settings(node, CommissioningSettings, read_only=True)
    declare_settings(node, CompensationSettings, read_only=True)


class CommissionerNode(ExceptionGuard, Node):  # type: ignore[misc]
    """The procedure's topics, questions and answers."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: ends the process.

        Raises:
            RobodynError: a parameter is wrong, or a joint has no effort limit.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("commissioner")
        declare_node_parameters(self)
        parameters = NodeParameters(self)
        whole = arm_parameters.read_description(self, parameters[arm_parameters.DESCRIPTION])
        arm_parameters.declare_joints(self, whole, "~/commands", read_only=True)
        arm_parameters.declare_locked(self, whole, "the middle of its range", read_only=True)
        locked = arm_parameters.locked_positions(parameters, LockedJoints(whole, parameters["joints"]))
        robot = chosen_joints(whole, parameters["joints"], locked).robot
        arm_parameters.declare_transmissions(self, robot)
        mention_unknown(self)
        self._settings = parameters.settings(CommissionerSettings)
        self._report: str = parameters["report"]
        joints = arm_parameters.joint_order(parameters, robot)
        self._order, self._columns = JointOrder(robot.joint_names), [robot.joint_names.index(name) for name in joints]
        self._transmission = arm_parameters.make_transmission(parameters, robot)
        dynamics = create_dynamics("rnea", robot, gravity=tuple(parameters["gravity"]))
        drives = DriveCompensation.of(robot, parameters.settings(CompensationSettings).drive_compensates)
        settings = parameters.settings(CommissioningSettings)
        self._procedure = Commissioning(dynamics, settings, self._settings.guided, drives)
        self._end = end
        self._told: dict[str, str] = {}
        self._last: tuple[float, Array] | None = None  # time of the last state, and its positions
        self._blind = False  # True once states no longer count
        self._received = self._begun = monotonic()
        self._commands = self.create_publisher(Float64MultiArray, "~/commands", RELIABLE)
        self._joint_commands = self.create_publisher(JointState, "~/joint_commands", RELIABLE)
        self._named, self._plain = JointState(name=list(joints)), Float64MultiArray()
        self.create_subscription(JointState, "joint_states", self._on_state, NEWEST)
        steady_timer(self, WATCH_PERIOD, self._watch)
        self._signalled = False
        handle_signals(self._on_signal)  # instead of an immediate end
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        if self._settings.guided:
            threading.Thread(target=self._read_answers, daemon=True).start()

    def _on_signal(self, number: int, frame: Any) -> None:
        self._signalled = True

    def _read_answers(self) -> None:
        """Read answers from stdin, in a thread."""
        for line in sys.stdin:
            self._answers.put(line.strip().lower())
        self._answers.put("end")

    def _on_state(self, message: JointState) -> None:
        """Answer a state with the procedure's efforts."""
        try:
            state = self._order.state(message)
            when = seconds(message.header.stamp)
            if state is None or self._blind or when == 0.0:  # a state without a stamp, or a simulation's very first
                return
            q, qd = self._transmission.joint_position(state[0]), self._transmission.joint_velocity(state[1])
            if self._last is not None and not 0.0 <= when - self._last[0] <= self._settings.state_timeout:
                self._procedure.stop("the time of the joint states has jumped")
                self._blind = True
                return
            self._send(self._procedure.update(when, q, qd), message.header.stamp)
            self._last, self._received = (when, q), monotonic()
        except RobodynError as problem:
            self._procedure.stop(f"a joint state is not usable: {problem}")
            self._blind = self._last is not None

    def _watch(self) -> None:
        """Pass on signals and answers, ramp the efforts down while no states come, and end after the procedure."""
        if self._signalled:
            self._procedure.stop("interrupted")
        while not self._answers.empty():
            answer = self._answers.get()
            if answer == "end":
                self._procedure.stop("the questions have no answer")
            elif self._procedure.question is not None:
                self._procedure.answer(answer in ("y", "yes"))
        self._print_stage()
        missing = monotonic() - self._received
        if self._last is None:
            if self._signalled or monotonic() - self._begun > START_TIMEOUT:
                self._procedure.stop("no joint states with a stamp came")
                self._finish()
            return
        if self._blind or missing > self._settings.state_timeout:
            # Without states the efforts return to zero by this clock, as if the arm stood still.
            self._blind = True
            self._procedure.stop(f"no joint states for {self._settings.state_timeout:g} s")
            t, q = self._last
            self._last = t + WATCH_PERIOD, q
            self._send(self._procedure.update(t + WATCH_PERIOD, q, np.zeros_like(q)), self.get_clock().now().to_msg())
        if self._procedure.finished:
            self._finish()

    def _send(self, effort: Array, stamp: Any) -> None:
        """Publish efforts (n,) in the arm's order."""
        efforts = array("d", self._transmission.motor_effort(effort)[self._columns].tobytes())
        self._plain.data = efforts
        self._commands.publish(self._plain)
        self._named.header.stamp, self._named.effort = stamp, efforts
        self._joint_commands.publish(self._named)

    def _print_stage(self) -> None:
        question = self._procedure.question
        message = {"stage": self._procedure.stage} if question is None else {"question": question}
        if message != self._told:
            self._told = message
            tell(message)

    def _finish(self) -> None:
        """Write the report, print the verdict, and end."""
        if self._end.code is not None:
            return
        outcome = self._procedure.outcome
        code = 0
        for publisher in (self._joint_commands, self._commands):
            wait_until_delivered(publisher)
        if self._report:
            try:
                text = (html if self._report.endswith(".html") else markdown)(report(outcome))
                Path(self._report).write_text(text, encoding="utf-8")
            except OSError as problem:
                self.get_logger().error(f"report: {problem}")
                code = 1
        tell({"verdict": verdict(outcome), "good": outcome.good, "report": self._report})
        self._end(code)
