# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller's topics of references: ``~/joint_trajectory`` and ``~/reference``, or ``~/target_joints``.

What comes there is followed, or refused and counted. A trajectory without points ends the one before: the arm is held,
as by ``~/hold``. Trajectories are taken from the middleware, read and checked by a thread beside the loop, in the order
in which they come: 100,000 points cost no command. Short ones are read when they are followed. Whatever else is asked
of the arm while a long one is prepared takes its place. A message of more than ``MOST_POINTS``, or
with more bytes than a reference can need, is refused before it is read.

A message on ``~/reference`` without velocities gets estimated ones, by its stamp, or by the time when it comes where it
has none. Counted as zero, they would hold the arm back by k_d / k_p times its speed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter

import numpy as np
from rclpy.clock import Clock
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control.laws.base import Reference
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.control.reference.following import Following, PreparedTrajectory
from robodyn_ros.control.reference.stream_velocity import StreamVelocity
from robodyn_ros.control.reference.tolerances import Tolerances
from robodyn_ros.errors import InputError, NotReadyError, RobodynError
from robodyn_ros.nodes.common.diagnostics import PAUSE, Faults
from robodyn_ros.nodes.common.messages import NANO, decode, to_reference, to_trajectory
from robodyn_ros.nodes.common.qos import NEWEST, RELIABLE
from robodyn_ros.nodes.common.threads import LargeMessages
from robodyn_ros.nodes.controller.cdr import NoPointsError, check_size, read_trajectory_message
from robodyn_ros.robot.pose import Array

SHORT = 1 << 15
"""Up to so many bytes a trajectory is read when it is followed, within a millisecond or two, and not in the thread."""

MOST_POINTS = 100_000
"""Most points of a message."""

GOAL_POINTS = 2000
"""Most points of a goal of the action: rclpy makes Python objects of them, and commands wait some 20 µs for each."""


class ReferenceInput:
    """Subscribes to references, and hands them to the loop.

    Attributes:
        latest: when the latest reference was accepted, by the steady clock [s]; None before the first.
    """

    def __init__(
        self,
        node: LifecycleNode,
        loop: ControlLoop,
        closed: Callable[[], str],
        faults: Faults,
        locked: Sequence[str] = (),
    ) -> None:
        """
        Args:
            node: who subscribes.
            loop: what follows.
            closed: why no reference is accepted now; "" if one can be.
            faults: where refused references are counted.
            locked: names of joints that are locked, which references may name and do not move.
        """
        self._locked = frozenset(locked)
        self.latest: float | None = None
        self._node, self._loop, self._closed, self._faults = node, loop, closed, faults
        self._clock: Clock = node.get_clock()
        self._velocity = StreamVelocity(loop.core)
        self._positions: tuple[float, list[str], Reference] | None = None  # the last of a stream without velocities
        self._requests = -1  # what had been asked of the arm when the last trajectory was followed
        self._subscriptions = [
            node.create_subscription(JointState, "~/reference", self._on_reference, NEWEST, raw=True),
            node.create_subscription(JointState, "~/target_joints", self._on_reference, NEWEST, raw=True),
            node.create_subscription(Float64, "~/speed_scaling_input", self._on_speed, NEWEST),
        ]
        self._trajectories = LargeMessages(
            node, JointTrajectory, "~/joint_trajectory", RELIABLE, self._receive_trajectory
        )

    def follow_message(self, message: JointTrajectory, tolerances: Tolerances | None = None) -> Following:
        """Follow a trajectory message; the answer says how it goes.

        Raises:
            NotReadyError: no reference is accepted now.
            RobodynError: the message holds no trajectory, or one that is too long, or see :meth:`ControlLoop.follow`.
        """
        check_size(len(message.points), GOAL_POINTS)
        whole, start = to_trajectory(message)
        trajectory, joints = self._moved(message.joint_names, whole)
        return self.follow(trajectory, start, joints, tolerances)

    def follow(
        self,
        trajectory: Trajectory,
        start: float | None,
        joints: Sequence[str] | None = None,
        tolerances: Tolerances | None = None,
    ) -> Following:
        """Follow a trajectory; the answer says how it goes.

        Args:
            trajectory: of the joints named.
            start: when it begins, by the time of the states [s]; now if None.
            joints: names of its joints, in its order; all unless given.
            tolerances: what it is judged by; those of the loop's settings unless given.

        Raises:
            NotReadyError: no reference is accepted now.
            RobodynError: see :meth:`ControlLoop.follow`.
        """
        self.check_open()
        return self._accept(self._loop.follow(trajectory, start, joints, tolerances))

    def check_open(self) -> None:
        """Check that references are accepted now.

        Raises:
            NotReadyError: they are not; the message says why.
        """
        why = self._closed()
        if why:
            raise NotReadyError(f"the controller is {why}")

    def destroy(self) -> None:
        """Withdraw the topics."""
        self._trajectories.destroy()
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _moved(self, names: Sequence[str], trajectory: Trajectory) -> tuple[Trajectory, list[str]]:
        """A trajectory of the joints named, without those that are locked, and the names left; they are mentioned."""
        columns = self._columns(names)
        if not columns:
            raise InputError("joint_names", f"names no joint that is controlled: {', '.join(names)}", names)
        if len(columns) < len(names):
            trajectory = trajectory.of_joints(columns)
        return trajectory, [names[index] for index in columns]

    def _columns(self, names: Sequence[str]) -> list[int]:
        """Indices of the joints that are not locked; those that are locked are mentioned."""
        locked = [name for name in names if name in self._locked]
        if locked:
            text = f"locked, and not moved by what was asked for: {', '.join(locked)}"
            self._node.get_logger().warning(text, throttle_duration_sec=PAUSE)
        return [index for index, name in enumerate(names) if name not in self._locked]

    def _receive_trajectory(self, data: memoryview) -> None:
        """Prepare a long trajectory; called in the thread."""
        if len(data) <= SHORT:
            short = bytes(data)
            self._trajectories.hand_over(lambda: self._answer(lambda: self._follow(self._prepare(short))))
            return
        requests, prepared = self._loop.requests, self._prepared_or_problem(data)

        def follow() -> None:
            if isinstance(prepared, RobodynError):
                raise prepared
            if self._loop.requests not in (requests, self._requests):  # an earlier trajectory may have been followed
                raise InputError("trajectory", "something else was asked of the arm while it was prepared")
            self._follow(prepared)

        self._trajectories.hand_over(lambda: self._answer(follow))

    def _prepared_or_problem(self, data: memoryview) -> PreparedTrajectory | RobodynError:
        try:
            self.check_open()
            return self._prepare(data)
        except RobodynError as problem:
            return problem

    def _answer(self, follow: Callable[[], None]) -> None:
        """Follow a trajectory, or refuse it."""
        try:
            self.check_open()
            try:
                follow()
            except NoPointsError:
                self._loop.hold(self._clock.now().nanoseconds / NANO)
            self._requests = self._loop.requests
        except RobodynError as problem:
            self._faults.count("trajectory refused", problem)

    def _prepare(self, data: bytes | memoryview) -> PreparedTrajectory:
        """Read a trajectory, and check all of it that can be checked now; the thread may do that.

        Raises:
            RobodynError: it is refused.
        """
        joints, trajectory, start = read_trajectory_message(data, MOST_POINTS)
        trajectory, joints = self._moved(joints, trajectory)
        return self._loop.prepare(trajectory, start, joints)

    def _follow(self, prepared: PreparedTrajectory) -> None:
        self._accept(self._loop.follow_prepared(prepared))

    def _accept(self, following: Following) -> Following:
        """Take note of a trajectory that is followed, and say beforehand what will go wrong."""
        self.latest = perf_counter()
        if following.overload:
            self._node.get_logger().warning(f"trajectory: {following.overload}", throttle_duration_sec=PAUSE)
        return following

    def _on_speed(self, message: Float64) -> None:
        try:
            self._loop.scale_speed(message.data)
        except RobodynError as problem:
            self._faults.count("speed scaling refused", problem)

    def _on_reference(self, data: bytes) -> None:
        try:
            self.check_open()
            message = decode(data, JointState)
            columns, reference = self._columns(message.name), to_reference(message)
            part = Reference(*(values[columns] for values in reference))
            names = [message.name[index] for index in columns]
            now = self._clock.now().nanoseconds / NANO
            is_estimated = not len(message.velocity)
            if is_estimated:
                stamp = message.header.stamp
                sent = stamp.sec + stamp.nanosec / NANO or now
                part = part._replace(qd=self._estimated(sent, names, part.q))
            self._loop.track(part, now, names)
            self._positions = (now, names, part) if is_estimated else None
            self.latest = perf_counter()
        except RobodynError as problem:
            self._faults.count("reference refused", problem)

    def _estimated(self, t: float, names: list[str], q: Array) -> Array:
        """The velocities (m,) of the joints that a message names, at the time t [s] of its stamp."""
        robot = self._loop.robot
        if len(set(names)) < len(names) or not set(names) <= set(robot.joint_names) or not np.isfinite(q).all():
            return np.zeros(len(q))  # such a message is refused
        columns = [robot.joint_names.index(name) for name in names]
        return self._velocity.update(self._loop.core_settings.record.address, t, q, columns)

    def watch(self) -> None:
        """Have a stream of positions that has fallen silent stand still where it was; to be called all the time."""
        if self._positions is None:
            return
        begun, names, last = self._positions
        if not self._velocity.is_silent(self._clock.now().nanoseconds / NANO - begun):
            return
        self._positions = None
        self._velocity.stop()
        if self._loop.mode == "track":
            with suppress(RobodynError):  # a fault has ended the stream
                self._loop.track(last._replace(qd=np.zeros(len(last.qd))), begun, names)
