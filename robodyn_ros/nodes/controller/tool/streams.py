# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Streams for the tool: ``~/target_pose``, ``~/target_twist``, ``~/target_wrench`` and ``~/target_stiffness``.

The newest message counts. The reference of the joints that comes of it is renewed at ``stream.rate`` and goes to the
loop as any streamed reference: :mod:`robodyn_ros.control.motion.tool_stream` filters and limits it. A stream takes
the place of what the arm followed, and whatever else is asked of the arm takes the place of the stream. A pose or a
twist is in the root link's frame, or in another as it is when the message comes (:mod:`.frames`); a twist is the
velocity of the tool's origin, and a wrench acts there.

A stiffness is six numbers, of x, y, z, rx, ry and rz. It becomes the parameters of the law ``cartesian_impedance``,
at most ten times a second, and the law goes over to it within ``blend_time``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray

from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.motion.tool_stream import LONGEST_PERIOD, StreamSettings, ToolStream
from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.nodes.common.messages import NANO, decode, to_matrix
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.qos import NEWEST
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop
from robodyn_ros.nodes.controller.tool.frames import Frames
from robodyn_ros.robot.pose import Array

STIFFNESS = tuple(f"cartesian_impedance.stiffness_{name}" for name in ("x", "y", "z", "rx", "ry", "rz"))
"""Parameters that a message on ``~/target_stiffness`` sets."""

STIFFNESS_PERIOD = 0.1
"""Shortest time between two changes of the stiffness [s]."""


class StreamInput:
    """Subscribes to what is streamed to the tool, and has the loop keep to it."""

    def __init__(self, node: Node, closed: ClosedLoop, loop: ControlLoop, tool: str, frames: Frames) -> None:
        """
        Args:
            node: who subscribes.
            closed: the topics of states and commands.
            loop: what follows.
            tool: name of the link.
            frames: that messages name.
        """
        self._node, self._closed, self._loop, self._tool = node, closed, loop, tool
        self._frames = frames
        self._clock = node.get_clock()
        self._stream: ToolStream | None = None
        self._settings: StreamSettings | None = None
        self._time = 0.0
        self._runs = self._began_to_track = False
        self._stiffness: list[float] | None = None
        subscribe = node.create_subscription
        self._subscriptions = [
            subscribe(TwistStamped, "~/target_twist", self._on_twist, NEWEST, raw=True),
            subscribe(WrenchStamped, "~/target_wrench", self._on_wrench, NEWEST, raw=True),
            subscribe(Float64MultiArray, "~/target_stiffness", self._on_stiffness, NEWEST, raw=True),
        ]
        rate = NodeParameters(node).settings(StreamSettings, "stream.").rate
        self._timer = steady_timer(node, 1.0 / rate, self._renew)
        self._timer.cancel()  # it runs while there is a stream
        self._stiffness_timer = steady_timer(node, STIFFNESS_PERIOD, self._set_stiffness)
        self._stiffness_timer.cancel()

    @property
    def is_pose_streamed(self) -> bool:
        """True if ``~/target_pose`` is a stream, not a goal."""
        return NodeParameters(self._node).settings(StreamSettings, "stream.").target_pose == "stream"

    def destroy(self) -> None:
        """Withdraw the topics."""
        for timer in (self._timer, self._stiffness_timer):
            self._node.destroy_timer(timer)
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def take_pose(self, message: PoseStamped) -> None:
        """There is a pose on ``~/target_pose``."""

        def take(stream: ToolStream, t: float) -> None:
            stream.take_pose(t, self._frames.pose(message.header.frame_id) @ to_matrix(message.pose))

        self._take(take)

    def _on_twist(self, data: bytes) -> None:
        def take(stream: ToolStream, t: float) -> None:
            message = decode(data, TwistStamped)
            twist = _vectors(message.twist.linear, message.twist.angular)
            stream.take_twist(t, _turned(self._frames.pose(message.header.frame_id), twist))

        self._take(take)

    def _on_wrench(self, data: bytes) -> None:
        def take(stream: ToolStream, t: float) -> None:
            message = decode(data, WrenchStamped)
            wrench = _vectors(message.wrench.force, message.wrench.torque)
            stream.take_wrench(t, _turned(self._frames.pose(message.header.frame_id), wrench))

        self._take(take)

    def _take(self, take: Callable[[ToolStream, float], None]) -> None:
        """Take a message, and begin where the arm's reference is if there was no stream."""
        try:
            self._closed.references.check_open()
            stream = self._stream if self._runs and self._stream is not None else self._begun()
            take(stream, self._now())
            if not self._runs:
                self._runs, self._time = True, self._now()
                self._timer.reset()
        except RobodynError as problem:
            self._closed.faults.count("stream refused", problem)

    def _begun(self) -> ToolStream:
        """A stream that begins where the reference of the joints is now."""
        parameters, loop = NodeParameters(self._node), self._loop
        settings, limits = parameters.settings(StreamSettings, "stream."), loop.settings.limits
        _, reference = loop.expected(0.0)
        if self._stream is None or settings != self._settings:
            self._stream = ToolStream(loop.dynamics, self._tool, settings, limits.velocity)
            self._settings = settings
        self._stream.begin(reference.q, reference.qd)
        return self._stream

    def _renew(self) -> None:
        """Have the loop keep to the reference of now."""
        stream, now = self._stream, self._now()
        dt = now - self._time
        if stream is None or dt == 0.0:  # a simulation that stands still
            return
        if self._time > 0.0 and self._began_to_track and self._loop.mode != "track":
            self._end()  # something else was asked of the arm
            return
        self._time = now
        if not dt > 0.0:
            self._end()  # a simulation was reset
            return
        try:
            reference = stream.advance(now, min(dt, LONGEST_PERIOD))
            limit = self._loop.settings.limits.effort
            reference = reference._replace(effort=np.clip(reference.effort, -limit, limit))
            self._loop.track(reference, now)
            self._began_to_track = True
            if stream.is_over(now):
                self._loop.hold(now)
                self._end()
        except RobodynError as problem:
            self._closed.faults.count("stream refused", problem)
            self._end()

    def _end(self) -> None:
        self._runs = self._began_to_track = False
        self._timer.cancel()

    def _now(self) -> float:
        return float(self._clock.now().nanoseconds) / NANO

    def _on_stiffness(self, data: bytes) -> None:
        try:
            message = decode(data, Float64MultiArray)
            if len(message.data) != len(STIFFNESS) or not all(np.isfinite(message.data)):
                raise InputError("stiffness", "must be 6 finite numbers: x, y, z, rx, ry, rz", list(message.data))
        except RobodynError as problem:
            self._closed.faults.count("stream refused", problem)
            return
        self._stiffness = list(message.data)
        if self._stiffness_timer.is_canceled():
            self._set_stiffness()
            self._stiffness_timer.reset()

    def _set_stiffness(self) -> None:
        """Set the newest stiffness, if there is one."""
        given, self._stiffness = self._stiffness, None
        if given is None:
            self._stiffness_timer.cancel()
            return
        parameters = [Parameter(name, value=value) for name, value in zip(STIFFNESS, given, strict=True)]
        answer = self._node.set_parameters_atomically(parameters)
        if not answer.successful:
            self._closed.faults.count("stream refused", answer.reason)


def _vectors(first: Any, second: Any) -> Array:
    return np.array([first.x, first.y, first.z, second.x, second.y, second.z])


def _turned(frame: Array, vectors: Array) -> Array:
    return np.concatenate((frame[:3, :3] @ vectors[:3], frame[:3, :3] @ vectors[3:]))
