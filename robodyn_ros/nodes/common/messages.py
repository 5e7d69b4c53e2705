# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Bytes → messages ↔ arrays. Joints are matched by name, never by index; SI units both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any
from weakref import proxy

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Pose
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.checks import finite_array
from robodyn_ros.control import Reference, Trajectory
from robodyn_ros.control.motion.trajectory import FIELDS, rows_of
from robodyn_ros.errors import InputError, RobodynError, is_it
from robodyn_ros.kinematics import se3, so3
from robodyn_ros.robot.pose import Array, Indices, quaternion_rotation

NANO = 1_000_000_000
"""Nanoseconds in a second."""

UNIT_TOLERANCE = 0.01
"""Greatest difference of a quaternion's length from 1, to allow for rounding by the sender."""

Stamp = tuple[int, int]
"""A time as seconds and nanoseconds."""

HEADER = 4
"""Length of the encapsulation header, which is before every serialized message."""


def padding(data: bytes | memoryview) -> int:
    """Number of padding bytes at the end of a serialized message.

    It is in the two least significant bits of the header's options (OMG DDS-XTypes 1.3, section 7.6.3.1.2).

    Args:
        data: the header and the rest of the message, at least ``HEADER`` bytes.
    """
    return data[HEADER - 1] & 3


LONGEST = 1 << 20
"""Greatest length of a message of one state, reference or pose [bytes]: more than any arm needs, and fast to read."""


def decode(data: bytes, kind: type[Any], longest: int = LONGEST) -> Any:
    """A message from its bytes.

    Fast CDR does not check the header's options: if their padding exceeds the bytes, it reads beyond the end of the
    message, which ends the process or returns bytes of an earlier message. So the length is checked and the padding cut
    off here, before the middleware reads the message.

    Args:
        data: as it came over the wire.
        kind: the class of the message.
        longest: greatest number of bytes.

    Raises:
        InputError: they are no such message, or too many.
    """
    if len(data) > longest:
        raise InputError("message", f"has {len(data)} bytes, more than the {longest} that are allowed", len(data))
    if len(data) < HEADER:
        raise InputError("message", f"has {len(data)} bytes; the encapsulation header alone has {HEADER}", data)
    more = padding(data)
    if more > len(data) - HEADER:
        raise InputError("message", f"has {more} bytes of padding in {len(data) - HEADER} bytes", data)
    try:
        return deserialize_message(data[:2] + bytes(2) + data[HEADER : len(data) - more] if more else data, kind)
    except Exception as cause:  # each middleware has its own exceptions
        raise InputError("message", f"{len(data)} bytes that are no {kind.__name__}: {cause}", data) from cause


def seconds(time: Time | Duration) -> float:
    """A message's time or duration in [s]."""
    return float(time.sec + time.nanosec / NANO)


def seconds_now(node: Node) -> float:
    """The time by a node's clock in [s]."""
    return float(node.get_clock().now().nanoseconds) / NANO


def stamp(nanoseconds: int) -> Time:
    """A message's time, of a time in [ns]."""
    sec, nanosec = divmod(nanoseconds, NANO)
    return Time(sec=sec, nanosec=nanosec)


def to_duration(time: float) -> Duration:
    """A message's duration, of a time in [s]."""
    sec, nanosec = divmod(round(time * NANO), NANO)
    return Duration(sec=sec, nanosec=nanosec)


class JointOrder:
    """Sorts values with joint names into the order of the arm.

    The order is computed again only when the names change; those of a driver stay the same.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """
        Args:
            names: the arm's joints, in its order.
        """
        self.names = tuple(names)
        self._given: list[str] | None = None
        self._part_given: list[str] | None = None
        self._part: tuple[Indices, Indices]
        self._columns: Indices | None = None

    def columns(self, given: list[str]) -> Indices | None:
        """The index of each of the arm's joints among the names given; None if none of them is among these.

        Raises:
            InputError: a joint is missing, or given twice.
        """
        if given != self._given:
            self._columns = self._match(given)
            self._given = list(given)
        return self._columns

    def part(self, given: list[str]) -> tuple[Indices, Indices]:
        """The arm's joints among the names given, and the index of each there; the first counts."""
        if given != self._part_given:
            here = [index for index, name in enumerate(self.names) if name in given]
            there = [given.index(self.names[index]) for index in here]
            self._part = np.array(here, dtype=np.intp), np.array(there, dtype=np.intp)
            self._part_given = list(given)
        return self._part

    def _match(self, given: list[str]) -> Indices | None:
        counts = [given.count(name) for name in self.names]
        if not any(counts):
            return None
        for name, count in zip(self.names, counts, strict=True):
            if count != 1:
                problem = "is missing" if count == 0 else f"is given {count} times"
                remedy = "; a joint that the parameter joints omits is locked, and not needed" if count == 0 else ""
                raise InputError("name", f"joint {name!r} {problem} among {', '.join(given)}{remedy}", name)
        return np.array([given.index(name) for name in self.names], dtype=np.intp)

    def state(self, message: JointState) -> tuple[Array, Array] | None:
        """Position and velocity (n,) in [rad] or [m], and per [s]; None if the message names other joints only.

        Raises:
            InputError: a joint is missing or given twice, or positions or velocities are not one for each name.
        """
        columns = self.columns(message.name)
        if columns is None:
            return None
        return values_of(message, "position")[columns], values_of(message, "velocity")[columns]

    def measured(self, message: JointState) -> tuple[Array, Array | None] | None:
        """As :meth:`state`; None in place of the velocity if the message has none."""
        if len(message.velocity):
            return self.state(message)
        columns = self.columns(message.name)
        return None if columns is None else (values_of(message, "position")[columns], None)

    def effort(self, message: JointState) -> Array:
        """Efforts (n,) in [N·m] or [N].

        Raises:
            InputError: as :meth:`state`, or there are joints that the arm does not have.
        """
        check_joints(message.name, self.names)
        columns = self.columns(message.name)
        if columns is None:
            raise InputError("name", "names no joint", message.name)
        return values_of(message, "effort")[columns]


def joint_state(names: Sequence[str], stamp: Time, **values: Array) -> JointState:
    """A message with values of the named joints at a time, by the names of its fields."""
    rows = {field: value.tolist() for field, value in values.items()}
    return JointState(header=Header(stamp=stamp), name=list(names), **rows)


def values_of(message: JointState, field: str) -> Array:
    """One of the fields of a message, a value for each joint that it names.

    Raises:
        InputError: it has more or fewer values than names.
    """
    values = getattr(message, field)
    if len(values) != len(message.name):
        raise InputError(field, f"has {len(values)} values for {len(message.name)} joints", values)
    return np.array(values)


def check_joints(given: Sequence[str], known: Sequence[str]) -> None:
    """Check that names are those of an arm's joints.

    Raises:
        InputError: one is not.
    """
    for name in given:
        if name not in known:
            problem = f"there is no joint {name!r}; the arm has {', '.join(known)}{is_it(name, known)}"
            raise InputError("name", problem, name)


def to_trajectory(message: JointTrajectory) -> tuple[Trajectory, float | None]:
    """The trajectory of the joints that the message names, and when it starts [s]; None for now.

    Raises:
        InputError: it has no points, points of different kinds, or values that :class:`Trajectory` refuses.
    """
    if not message.points:
        raise InputError("points", "is empty", message.points)
    times = [seconds(point.time_from_start) for point in message.points]
    positions, *more = (
        rows_of(field, [getattr(point, field) for point in message.points], len(message.joint_names))
        for field in (*FIELDS, "effort")
    )
    if positions is None:
        raise InputError("positions", "of the points are missing")
    return Trajectory(times, positions, *more), seconds(message.header.stamp) or None


def from_trajectory(joints: Sequence[str], trajectory: Trajectory) -> JointTrajectory:
    """The message of a trajectory of the joints named; it starts when it is received."""
    points = [JointTrajectoryPoint(time_from_start=to_duration(time)) for time in trajectory.times.tolist()]
    rows = {name: getattr(trajectory, name) for name in FIELDS} | {"effort": trajectory.efforts}
    for field, values in rows.items():
        if values is not None:
            for point, row in zip(points, values.tolist(), strict=True):
                setattr(point, field, row)
    return JointTrajectory(joint_names=list(joints), points=points)


def to_reference(message: JointState) -> Reference:
    """The reference for the joints that the message names; velocity and effort are zero if omitted.

    Raises:
        InputError: positions, velocities or efforts are not one for each name.
    """
    count = len(message.name)

    def values(field: str, optional: bool) -> Array:
        if optional and not len(getattr(message, field)):
            return np.zeros(count)
        return values_of(message, field)

    return Reference(values("position", False), values("velocity", True), np.zeros(count), values("effort", True))


def to_matrix(pose: Pose) -> Array:
    """The homogeneous matrix (4, 4) of a pose message, in [m].

    Raises:
        InputError: something is not finite, or the orientation is no unit quaternion.
    """
    p, o = pose.position, pose.orientation
    position = finite_array("position", [p.x, p.y, p.z], (3,))
    quaternion = finite_array("orientation", [o.w, o.x, o.y, o.z], (4,))
    length = float(np.linalg.norm(quaternion))
    if abs(length - 1.0) > UNIT_TOLERANCE:
        raise InputError("orientation", f"must be a quaternion of length 1; (w, x, y, z) is {quaternion}", quaternion)
    return se3.motion(quaternion_rotation(quaternion), position)


def to_pose(matrix: Array) -> Pose:
    """The pose message for a homogeneous matrix (4, 4), in [m]."""
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = matrix[:3, 3].tolist()
    o = pose.orientation
    o.w, o.x, o.y, o.z = so3.quaternion(matrix[:3, :3]).tolist()
    return pose


def serve(node: Node, kind: type[Any], name: str, action: Callable[[Any], str]) -> None:
    """Serve a SetBool or a Trigger.

    Args:
        node: serves.
        kind: the class of the service.
        name: of the service.
        action: performs a request and returns a sentence about it, or raises RobodynError.
    """

    def respond(request: Any, response: Any) -> Any:
        response.success, response.message = True, action(request)
        return response

    node.create_service(kind, name, _refusing(respond))


def _refusing(respond: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A callback of a service whose response has the message of a RobodynError."""

    def respond_or_refuse(request: Any, response: Any) -> Any:
        try:
            return respond(request, response)
        except RobodynError as problem:
            response.success, response.message = False, str(problem)
            return response

    return respond_or_refuse


def serve_later(node: Any, name: str, begin: Callable[[], Future]) -> None:
    """Serve a Trigger whose action takes a while and does not block.

    The events executor of ROS 2 Jazzy awaits no coroutine of a service, so the response is sent by the future.

    Args:
        node: serves; it derives from :class:`~robodyn_ros.nodes.common.diagnostics.ExceptionGuard`.
        name: of the service.
        begin: begins the request, or raises RobodynError; the future is of the success, and a sentence about it.
    """
    service = node.create_service(Trigger, name, _refusing(lambda request, response: begin()))
    own = proxy(service)  # a service that refers to itself would live until Python's collector comes
    send = type(service).send_response

    def send_when_done(response: Any, header: Any) -> None:
        if not isinstance(response, Future):
            send(own, response, header)
            return

        def done(future: Future) -> None:
            success, message = future.result()
            send(own, Trigger.Response(success=success, message=message), header)
            node.answered = monotonic()

        response.add_done_callback(node.guarded(done))

    service.send_response = send_when_done
