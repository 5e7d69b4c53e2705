# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The teleoperator node: one end of a coupling of two arms, beside the controller of the leader or of the follower.

:meth:`TeleoperatorNode._on_state` handles a state of the arm. At the leader it becomes a message to the other end, and
the received message becomes a reflected effort. At the follower the received message becomes a reference. Both arms'
controllers take it as a streamed reference, so all of their limits and faults apply. After ``timeout`` without a
message of the other end, nothing is streamed, and both controllers hold their arm; the coupling restarts after it. An
end whose controller has stopped, or reacts to a fault, sends nothing.

Between the ends go JointStates, on the topics ``~/sent`` and ``~/received``, with the joints' names; or, tool by tool,
with the names x, y, z, rx, ry, rz, where rx to rz are a rotation vector, and the velocities and forces are those of the
tool in the root link's axes:

    of the leader:    position and velocity of the arm; as effort the energy that has entered there [J]
    of the follower:  as effort that of its law; as position the energy that has entered there [J]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import monotonic

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robodyn_ros import create_dynamics
from robodyn_ros.control.motion import teleoperation
from robodyn_ros.dynamics.task_space import DIRECTIONS
from robodyn_ros.errors import ConfigurationError, InputError, RobodynError
from robodyn_ros.nodes.common.arm_parameters import declare_tool, observe_description
from robodyn_ros.nodes.common.client_library import NEWEST, RELIABLE, on_topic, say_awaited
from robodyn_ros.nodes.common.diagnostics import ExceptionGuard
from robodyn_ros.nodes.common.executor import Exit
from robodyn_ros.nodes.common.messages import JointOrder, joint_state, seconds
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings, mention_unknown
from robodyn_ros.nodes.common.watch import CONTROLLER, Watch
from robodyn_ros.robot import Array, ConfigurationSpace, LockedJoints, Robot
from robodyn_ros.settings import CheckedSettings, choice, setting

ROLES = ("leader", "follower")
"""Ends of the coupling."""

COUPLED = ("joints", "tool")
"""Coupled quantities of both arms."""

SAME = "Both ends need the same coupling; arms whose joints differ need the coupling tool, or other_joints at both ends"
"""Ends the warning about a message with other joints."""

LONGEST_PERIOD = 0.1
"""Time between two states above which the coupling restarts [s]."""

SILENCE = 0.5
"""Least time without a command of the controller after which it counts as stopped [s]; they come every 0.02 s."""


@dataclass(frozen=True)
class EndSettings(CheckedSettings):
    """Settings of one end."""

    role: str = choice("leader", "which end of the coupling this is", choices=lambda: ROLES)
    coupling: str = choice(
        "joints", "coupling, the same at both ends: joint by joint, or tool by tool", lambda: COUPLED
    )
    timeout: float = setting(
        0.2, "time without a message of the other end after which nothing is streamed", "s", 0.01, 10.0
    )


def declare_parameters(node: Node) -> None:
    """Declare all of them; they are fixed when the node starts.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_tool(node)
    described = "names of the other end's joints, in the order of this arm's; the same if empty"
    declare(node, "other_joints", [""], described, read_only=True)
    declare_settings(node, EndSettings, read_only=True)
    declare_settings(node, teleoperation.TeleoperationSettings, read_only=True)


class TeleoperatorNode(ExceptionGuard, Node):  # type: ignore[misc]
    """One end of the coupling."""

    def __init__(self, end: Exit) -> None:
        """
        Args:
            end: ends the process.

        Raises:
            RobodynError: a parameter is wrong.
            ParameterException: a parameter was given a value of the wrong type or out of range.
        """
        super().__init__("teleoperator")
        self._description = observe_description(self, self._on_description)
        declare_parameters(self)
        parameters = NodeParameters(self)
        mention_unknown(self)
        own = parameters.settings(EndSettings)
        self._own, self._leads, self._timeout = own, own.role == "leader", own.timeout
        self._settings = parameters.settings(teleoperation.TeleoperationSettings)
        self._others = [name for name in parameters["other_joints"] if name]
        # Time of arrival [s], and message.
        self._received: tuple[float, teleoperation.PortMessage | None] = -math.inf, None
        self._newest = 0.0  # stamp of the newest message of the other end [s]
        self._time = 0.0  # stamp of the latest state [s]
        self._feedback_effort: Array | None = None  # effort of the follower's law
        self._end: teleoperation.LeaderPort | teleoperation.FollowerPort | None = None
        self._exit = end
        self._robot: Robot | None = None
        self._heard = -math.inf  # when the controller last named its joints [s]
        self._sent = self.create_publisher(JointState, "~/sent", NEWEST)
        self._references = self.create_publisher(JointState, f"{CONTROLLER}/reference", RELIABLE)
        say_awaited(self, self._awaited)
        self._begin()

    def _awaited(self) -> str:
        """The missing input, in words; "" if there is none."""
        if self._robot is None:
            return self._description.awaited
        commands = f"commands of the controller {on_topic(self, f'{CONTROLLER}/tracking_error')}"
        other = f"the other end {on_topic(self, '~/received')}"
        return self._watch.awaited or (commands if self._waits else "") or ("" if self._message else other)

    @property
    def _waits(self) -> bool:
        """True before the controller's first command, and while none come."""
        silent = monotonic() - self._heard > max(self._timeout, SILENCE)
        return silent or self._watch.error is None or (not self._leads and self._feedback_effort is None)

    @property
    def _message(self) -> teleoperation.PortMessage | None:
        """The latest message of the other end; None if it is too old."""
        return self._received[1] if monotonic() - self._received[0] < self._timeout else None

    def _on_description(self) -> None:
        try:
            self._begin()
        except RobodynError as problem:
            self.get_logger().error(str(problem))
            self._exit(1)

    def _begin(self) -> None:
        """Begin as soon as there is a description."""
        if self._robot is not None or not self._description.known:
            return
        whole = self._whole = self._description.robot()
        if self._others and self._own.coupling == "tool":
            raise ConfigurationError("other_joints: must be empty if the tools are coupled")
        if self._others and len(self._others) != whole.n:
            raise ConfigurationError(f"other_joints: must be {whole.n} names, not {len(self._others)}")
        self._watch = Watch(self, whole)
        self._couple(whole)
        self.create_subscription(JointState, f"{CONTROLLER}/tracking_error", self._on_error, NEWEST)
        self.create_subscription(JointState, "~/received", self._on_received, NEWEST)
        self.create_subscription(JointState, f"{CONTROLLER}/efforts/feedback", self._on_feedback, NEWEST)
        self.create_subscription(JointState, "joint_states", self._on_state, NEWEST)

    def _couple(self, robot: Robot) -> None:
        """Make the coupling of an arm, which is the whole one or has locked joints."""
        dynamics = create_dynamics("rnea", robot)
        if self._own.coupling == "tool":
            self._coupling: teleoperation.Coupling = teleoperation.ToolCoupling(dynamics, NodeParameters(self)["tool"])
            self._names, self._order = list(DIRECTIONS), JointOrder(DIRECTIONS)
        else:
            other = dict(zip(self._whole.joint_names, self._others or self._whole.joint_names, strict=True))
            self._coupling = teleoperation.JointCoupling(np.diagonal(dynamics.mass_matrix(robot.home)))
            self._names, self._order = list(robot.joint_names), JointOrder([other[name] for name in robot.joint_names])
        self._robot, self._feedback_order = robot, JointOrder(robot.joint_names)
        self._space = ConfigurationSpace(robot)
        self._led: Array | None = None  # latest position of the leader, without jumps at ±π
        self._end = self._feedback_effort = None

    def _on_error(self, message: JointState) -> None:
        """Couple the joints that the controller controls, which this message of it names."""
        whole, given = self._whole, set(message.name)
        names = [name for name in whole.joint_names if name in given]
        if names:
            self._heard = monotonic()
        if not names or names == list(self._watch.robot.joint_names):
            return
        try:
            locked = LockedJoints(whole, names)
            robot = locked.robot(locked.middle)
            self._couple(robot)
        except RobodynError as problem:
            self.get_logger().error(str(problem))
            self._exit(1)
            return
        self._watch.destroy()
        self._watch = Watch(self, robot)

    def _on_received(self, message: JointState) -> None:
        """Store a message of the other end, unless a newer one has come before."""
        stamp = seconds(message.header.stamp)
        if stamp <= self._newest and self._newest - stamp < self._timeout:
            return
        try:
            state, effort = self._order.state(message), self._order.effort(message)
        except InputError as problem:
            if not self._waits:  # the controller has named the joints that are coupled
                self.get_logger().warning(f"received: {problem}. {SAME}", throttle_duration_sec=5.0)
            return
        if state is None or not all(np.isfinite(part).all() for part in (*state, effort)):
            return
        self._newest, (position, velocity) = stamp, state
        parts = (position, effort, np.zeros_like(effort)) if self._leads else (effort, position, velocity)
        self._received = monotonic(), teleoperation.PortMessage(*parts)

    def _on_feedback(self, message: JointState) -> None:
        try:
            self._feedback_effort = self._feedback_order.effort(message)
        except InputError:
            return

    def _on_state(self, message: JointState) -> None:
        """Stream a reference for a state, and send a message to the other end.

        A state that was sent twice, the rest of one that comes in parts, and one of other joints begin no period.
        """
        watch, when = self._watch, seconds(message.header.stamp)
        if when == self._time or not set(message.name) & set(watch.robot.joint_names):
            return
        dt, self._time = when - self._time, when
        q, qd = watch.q, watch.qd
        received = self._message
        if q is None or self._waits or not 0.0 < dt < LONGEST_PERIOD:
            self._end = None
            return
        if received is None:
            self._end = None  # both arms start from their present positions
        if self._leads:
            self._lead(dt, q, qd, received, message.header.stamp)
        else:
            self._follow(dt, q, received, message.header.stamp)

    def _lead(self, dt: float, q: Array, qd: Array, received: teleoperation.PortMessage | None, stamp: Time) -> None:
        robot = self._robot
        assert robot is not None
        if not isinstance(self._end, teleoperation.LeaderPort):
            self._end = teleoperation.LeaderPort(self._coupling, robot.effort_limit, self._settings)
        q = self._led = self._space.near(q if self._led is None else self._led, q)
        effort = self._end.update(dt, q, qd, received)
        told = self._end.message(q, qd)
        values = {"position": told.first, "velocity": told.second, "effort": told.entered}
        self._sent.publish(joint_state(self._names, stamp, **values))
        if received is not None:  # the present position, so that the law adds nothing to the reflected effort
            self._references.publish(joint_state(robot.joint_names, stamp, position=q, velocity=qd, effort=effort))

    def _follow(self, dt: float, q: Array, received: teleoperation.PortMessage | None, stamp: Time) -> None:
        robot = self._robot
        assert robot is not None and self._feedback_effort is not None
        if not isinstance(self._end, teleoperation.FollowerPort):
            reference = self._watch.reference
            begin, limits = q if reference is None else reference, (robot.lower, robot.upper)
            self._end = teleoperation.FollowerPort(self._coupling, begin, robot.velocity_limit, limits)
        position, velocity = self._end.update(dt, self._feedback_effort, received)
        told = self._end.message(self._feedback_effort)
        values = {"position": told.entered, "velocity": told.second, "effort": told.first}
        self._sent.publish(joint_state(self._names, stamp, **values))
        if received is not None:
            self._references.publish(joint_state(robot.joint_names, stamp, position=position, velocity=velocity))
