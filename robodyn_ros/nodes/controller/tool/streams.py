# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Streams for the tool: ``~/target_pose``, ``~/target_twist``, ``~/target_wrench`` and ``~/target_stiffness``.

The newest message goes to the loop, which makes a joint reference from it in every period (``core/tool.c``). A stream
replaces the reference before it, and any later reference replaces the stream. A pose or a twist is in the frame of the
root link, or in another frame, at its pose when the message comes (:mod:`.frames`). A twist is the velocity of the
tool's origin, and a wrench acts there. The time of a pose is its stamp; it is the time of arrival if there is no stamp,
or if the stamp differs from the node's time by more than ``STRANGE``. The state of the stream is published on
``~/stream_state``, and in the diagnostics.

A stiffness is six numbers, for x, y, z, rx, ry and rz. It sets the stiffness parameter of the law
``cartesian_impedance``, at most ten times a second, and the law changes to it within ``blend_time``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray, String

from robodyn_ros.control.loop import ControlLoop, ToolTarget
from robodyn_ros.errors import InputError, RobodynError
from robodyn_ros.nodes.common.messages import NANO, decode, seconds, to_matrix
from robodyn_ros.nodes.common.qos import LATCHED, NEWEST
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.nodes.controller.closed_loop import ClosedLoop
from robodyn_ros.nodes.controller.tool.frames import Frames
from robodyn_ros.robot.pose import Array

STIFFNESS = "cartesian_impedance.stiffness"
"""The parameter that a message on ``~/target_stiffness`` sets."""

STIFFNESS_PERIOD = 0.1
"""Shortest time between two changes of the stiffness [s]."""


STRANGE = 1.0
"""Difference between a stamp and the node's time beyond which the stamp is of another clock [s]."""

WATCH_PERIOD = 0.1
"""Time between two checks of a stream's state [s]."""


class StreamInput:
    """Subscribes to the streams for the tool, has the loop follow them, and publishes their state.

    Attributes:
        state: of the latest stream, in words; "" if there was none.
    """

    def __init__(self, node: Node, closed: ClosedLoop, loop: ControlLoop, frames: Frames) -> None:
        """
        Args:
            node: whose topics.
            closed: the topics of states and commands.
            loop: follows the streams.
            frames: of messages.
        """
        self._node, self._closed, self._loop, self._frames = node, closed, loop, frames
        self._clock = node.get_clock()
        self.state = self._told = ""
        self._stiffness: list[float] | None = None
        subscribe = node.create_subscription
        self._subscriptions = [
            subscribe(PoseStamped, "~/target_pose", self._on_pose, NEWEST, raw=True),
            subscribe(TwistStamped, "~/target_twist", self._on_twist, NEWEST, raw=True),
            subscribe(WrenchStamped, "~/target_wrench", self._on_wrench, NEWEST, raw=True),
            subscribe(Float64MultiArray, "~/target_stiffness", self._on_stiffness, NEWEST, raw=True),
        ]
        self._publisher = node.create_publisher(String, "~/stream_state", LATCHED)
        self._timer = steady_timer(node, WATCH_PERIOD, self._watch)
        self._timer.cancel()  # it runs while there is a stream
        self._stiffness_timer = steady_timer(node, STIFFNESS_PERIOD, self._set_stiffness)
        self._stiffness_timer.cancel()

    def destroy(self) -> None:
        """Withdraw the topics."""
        for timer in (self._timer, self._stiffness_timer):
            self._node.destroy_timer(timer)
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._node.destroy_publisher(self._publisher)

    def _on_pose(self, data: bytes) -> None:
        def pose() -> tuple[Array, float | None]:
            message = decode(data, PoseStamped)
            stamp = seconds(message.header.stamp)
            is_known = stamp > 0.0 and abs(self._now() - stamp) <= STRANGE
            placed = self._frames.pose(message.header.frame_id) @ to_matrix(message.pose)
            return placed, stamp if is_known else None

        self._take("pose", pose)

    def _on_twist(self, data: bytes) -> None:
        def twist() -> tuple[Array, None]:
            message = decode(data, TwistStamped)
            vectors = _vectors(message.twist.linear, message.twist.angular)
            return _turned(self._frames.pose(message.header.frame_id), vectors), None

        self._take("twist", twist)

    def _on_wrench(self, data: bytes) -> None:
        def wrench() -> tuple[Array, None]:
            message = decode(data, WrenchStamped)
            vectors = _vectors(message.wrench.force, message.wrench.torque)
            return _turned(self._frames.pose(message.header.frame_id), vectors), None

        self._take("wrench", wrench)

    def _take(self, what: ToolTarget, read: Callable[[], tuple[Array, float | None]]) -> None:
        """Pass the numbers of a message and its stamp, if it counts, to the loop, or count its refusal."""
        try:
            self._closed.references.check_open()
            numbers, stamp = read()
            self._loop.move_tool(what, numbers, self._now(), stamp)
            if self._timer.is_canceled():
                self._timer.reset()
        except RobodynError as problem:
            self._closed.faults.count("stream refused", problem)

    def _watch(self) -> None:
        """Publish the state of the stream, if it has changed."""
        stream = self._loop.tool_stream
        away = f"{stream.distance:.3f} m and {stream.angle:.3f} rad away"
        self.state = f"{stream.state}, {away}, {stream.delay:.3f} s late"
        word = stream.state if stream.is_running else "ended"
        if word != self._told:
            if word == "unreachable":
                self._closed.faults.count("stream unreachable", f"the tool waits {away}")
            self._publisher.publish(String(data=word))
        self._told = word
        if not stream.is_running:
            self.state = "ended"
            self._timer.cancel()

    def _now(self) -> float:
        return float(self._clock.now().nanoseconds) / NANO

    def _on_stiffness(self, data: bytes) -> None:
        try:
            message = decode(data, Float64MultiArray)
            if len(message.data) != 6 or not all(np.isfinite(message.data)):
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
        answer = self._node.set_parameters_atomically([Parameter(STIFFNESS, value=list(given))])
        if not answer.successful:
            self._closed.faults.count("stream refused", answer.reason)


def _vectors(first: Any, second: Any) -> Array:
    return np.array([first.x, first.y, first.z, second.x, second.y, second.z])


def _turned(frame: Array, vectors: Array) -> Array:
    return np.concatenate((frame[:3, :3] @ vectors[:3], frame[:3, :3] @ vectors[3:]))
