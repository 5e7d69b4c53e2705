# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller's topics of references: ``~/joint_trajectory`` and ``~/reference``, or ``~/target_joints``.

A reference is followed, or refused and counted. A trajectory without points ends the one before: the arm is held, as by
``~/hold``. A thread beside the loop takes, reads and checks trajectories in the order in which they come, so that
100,000 points delay no command. Any other request while a long one is prepared replaces it. A message of more than
``MOST_POINTS``, or with more bytes than a reference can need, is refused before it is read.

Velocities that a message on ``~/reference`` does not have are estimated, by its stamp, or by its time of arrival if it
has none. With zero velocities instead, the arm would lag behind by k_d / k_p times its speed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control import ControlLoop, Reference, Trajectory
from robodyn_ros.control.motion.goals import HELD_THERE, PreparedTrajectory, Tolerances, TrajectoryGoal
from robodyn_ros.control.motion.streams import StreamVelocity
from robodyn_ros.errors import InputError, NotReadyError, RobodynError
from robodyn_ros.nodes.common.client_library import NEWEST, RELIABLE
from robodyn_ros.nodes.common.diagnostics import PAUSE
from robodyn_ros.nodes.common.messages import decode, seconds, seconds_now, to_reference, to_trajectory
from robodyn_ros.nodes.common.threads import LargeMessages
from robodyn_ros.nodes.controller.cdr import NoPointsError, check_size, read_trajectory_message
from robodyn_ros.robot.pose import Array

SHORT = 1 << 15  #: Size of a message up to which a trajectory is read outside the thread, within 2 ms [bytes].
MOST_POINTS = 100_000  #: Greatest number of points of a message.
GOAL_POINTS = 2000  #: The same of a goal, of which rclpy makes Python objects: each delays commands by some 20 µs.


class ReferenceInput:
    """Subscribes to references, and passes them to the loop; ``locked`` joints may be named by messages, and ``latest``
    is when the latest reference was accepted, by the steady clock [s]; None before the first.
    """

    def __init__(
        self, node: LifecycleNode, loop: ControlLoop, closed: Callable[[], str], locked: Sequence[str] = ()
    ) -> None:
        """``closed`` returns why no reference is accepted now, or ""; naming ``locked`` joints does not move them."""
        self.locked = frozenset(locked)
        self.latest: float | None = None
        self._node, self._loop, self._closed, self._faults = node, loop, closed, node.faults
        self._velocity = StreamVelocity(loop.core)
        self._positions_came: float | None = None  # time of the last reference of a stream without velocities [s]
        self._dropped, self._violations = loop.dropped, loop.violations  # that have been counted
        self._requests = -1  # the loop's count of requests after the last trajectory
        for topic in ("~/reference", "~/target_joints"):
            node.create_subscription(JointState, topic, self._on_reference, NEWEST, raw=True)
        node.create_subscription(Float64, "~/speed_scaling_input", self._on_speed, NEWEST)
        self._trajectories = LargeMessages(
            node, JointTrajectory, "~/joint_trajectory", RELIABLE, self._receive_trajectory
        )

    def follow_message(self, message: JointTrajectory, tolerances: Tolerances | None = None) -> TrajectoryGoal:
        """Follow a trajectory message, of ``GOAL_POINTS`` at most; see :meth:`follow`."""
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
    ) -> TrajectoryGoal:
        """Follow a trajectory; arguments, result and errors as of :meth:`ControlLoop.follow`."""
        self.check_open()
        return self._accept(self._loop.follow(trajectory, start, joints, tolerances))

    def check_open(self) -> None:
        """Refuse (NotReadyError) a reference while none is accepted; the message has the reason."""
        if why := self._closed():
            raise NotReadyError(f"the controller is {why}")

    def _moved(self, names: Sequence[str], trajectory: Trajectory) -> tuple[Trajectory, list[str]]:
        """A trajectory without its locked joints, and the names of the others; locked joints are logged."""
        if not (columns := self._columns(names)):
            raise InputError("joint_names", f"names no joint that is controlled: {', '.join(names)}", names)
        if len(columns) < len(names):
            trajectory = trajectory.of_joints(columns)
        return trajectory, [names[index] for index in columns]

    def _columns(self, names: Sequence[str]) -> list[int]:
        """Indices of the joints that are not locked; locked joints are logged."""
        if locked := [name for name in names if name in self.locked]:
            text = f"the reference names locked joints, which it does not move: {', '.join(locked)}"
            self._node.get_logger().warning(text, throttle_duration_sec=PAUSE)
        return [index for index, name in enumerate(names) if name not in self.locked]

    def _receive_trajectory(self, data: memoryview) -> None:
        """Prepare a long trajectory; called in the thread."""
        if len(data) <= SHORT:
            short = bytes(data)
            self._trajectories.hand_over(lambda: self._answer(lambda: self._follow(self._prepare(short))))
            return
        requests, prepared = self._loop.requests, None
        try:
            self.check_open()
            prepared = self._prepare(data)
        except RobodynError as found:
            problem = found

        def follow() -> None:
            if prepared is None:
                raise problem
            if self._loop.requests not in (requests, self._requests):  # an earlier trajectory may have been followed
                raise InputError("trajectory", "was replaced by another request while it was prepared")
            self._follow(prepared)

        self._trajectories.hand_over(lambda: self._answer(follow))

    def _answer(self, follow: Callable[[], None]) -> None:
        """Follow a trajectory, or refuse it."""
        with self._faults.counting("trajectory refused"):
            self.check_open()
            try:
                follow()
            except NoPointsError:
                self._loop.hold(seconds_now(self._node))
            self._requests = self._loop.requests

    def _prepare(self, data: bytes | memoryview) -> PreparedTrajectory:
        """Read a trajectory, and check it as far as possible before its start; may run in the thread."""
        joints, trajectory, start = read_trajectory_message(data, MOST_POINTS)
        trajectory, joints = self._moved(joints, trajectory)
        return self._loop.prepare(trajectory, start, joints)

    def _follow(self, prepared: PreparedTrajectory) -> None:
        self._accept(self._loop.follow_prepared(prepared))

    def _accept(self, goal: TrajectoryGoal) -> TrajectoryGoal:
        """Note the time of an accepted trajectory, and warn if it will overload a joint."""
        self.latest = perf_counter()
        if goal.overload:
            self._node.get_logger().warning(f"trajectory: {goal.overload}", throttle_duration_sec=PAUSE)
        return goal

    def _on_speed(self, message: Float64) -> None:
        with self._faults.counting("speed scaling refused"):
            self._loop.scale_speed(message.data)

    def _on_reference(self, data: bytes) -> None:
        with self._faults.counting("reference refused"):
            self.check_open()
            message = decode(data, JointState)
            columns, reference = self._columns(message.name), to_reference(message)
            part = Reference(*(values[columns] for values in reference))
            names = [message.name[index] for index in columns]
            now = seconds_now(self._node)
            if is_estimated := not len(message.velocity):
                part = part._replace(qd=self._estimated(seconds(message.header.stamp) or now, names, part.q))
            self._loop.track(part, now, names)
            self._positions_came = now if is_estimated else None
            self.latest = perf_counter()

    def _estimated(self, t: float, names: list[str], q: Array) -> Array:
        """The velocities (m,) of the joints that a message names, at the time t [s] of its stamp."""
        robot = self._loop.robot
        if len(set(names)) < len(names) or not set(names) <= set(robot.joint_names) or not np.isfinite(q).all():
            return np.zeros(len(q))  # the loop refuses such a message
        columns = [robot.joint_names.index(name) for name in names]
        return self._velocity.update(self._loop.core_settings.record.address, t, q, columns)

    def watch(self) -> None:
        """Count trajectories that failed, and end the velocity of a silent stream. To be called periodically."""
        if self._loop.violations != self._violations:
            self._violations = self._loop.violations
            self._faults.count("trajectory aborted", f"{self._loop.violation()}{HELD_THERE}")
        if self._loop.dropped != self._dropped:
            self._dropped = self._loop.dropped
            self._faults.count("trajectory refused", f"at its start time: {self._loop.drop_reason()}")
        since = self._positions_came
        if since is not None and self._velocity.is_silent(seconds_now(self._node) - since):
            self._positions_came = None
            self._velocity.stop()
            self._loop.stand_still()
