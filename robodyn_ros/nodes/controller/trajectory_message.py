"""Trajectories as the bytes that go over the wire: trajectory_msgs/JointTrajectory read by NumPy.

rclpy takes 14 µs for each point of a trajectory of seven joints, with the interpreter's lock held: 1.4 s for 100,000
points, in which no command would go out. All points of a usable trajectory have the same layout, so NumPy reads them as
arrays with strides, in milliseconds and mostly without that lock. A point of another layout is refused in any case.

The encoding is that of :mod:`robodyn_ros.nodes.controller.cdr`, in either byte order.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.messages import HEADER, NANO, decode, padding, to_trajectory
from robodyn_ros.robot.pose import Array

BYTE_ORDERS = {b"\x00\x00": ">", b"\x00\x01": "<"}
"""First bytes of the encapsulation header for XCDR version 1 → byte order as NumPy has it."""

FIELDS = ("positions", "velocities", "accelerations", "effort")
"""The numbers of a point, in the order of the message."""

MOST_JOINTS = 1000
"""More joints than any arm has."""


class TrajectoryMessage(NamedTuple):
    """What a message says."""

    joints: list[str]
    trajectory: Trajectory
    start: float | None  # [s]; None for now


class Point(NamedTuple):
    """Where the parts of a point are, in bytes from the beginning of the message."""

    lengths: tuple[int, ...]  # of its fields
    length_places: tuple[int, ...]
    places: tuple[int, ...]  # of their first numbers
    time: int  # of its seconds and nanoseconds
    end: int


def read_trajectory_message(data: bytes, most_points: int) -> TrajectoryMessage:
    """Read a serialized trajectory_msgs/JointTrajectory.

    Args:
        data: as it came over the wire.
        most_points: how many points it may have.

    Raises:
        InputError: it is no such message, has no points or too many, points of different kinds, or what
            :class:`Trajectory` refuses.
    """
    order = BYTE_ORDERS.get(data[:2])
    if order is None:  # an encoding of another middleware
        message = decode(data, JointTrajectory, len(data))
        check_size(len(message.points), most_points)
        return TrajectoryMessage(list(message.joint_names), *to_trajectory(message))
    reader = Reader(data, order)
    sec, nanosec = reader.unpack("iI")
    reader.text()  # the frame
    joints = [reader.text() for _ in range(reader.count(MOST_JOINTS, "joint_names"))]
    (count,) = reader.unpack("I")
    check_size(count, most_points)
    first = reader.point()
    then = reader.point() if count > 1 else first
    stride = then.end - first.end
    if first.end + (count - 1) * stride > reader.end:
        raise InputError("message", f"ends before the last of its {count} points", data)
    for field, length in zip(FIELDS, first.lengths, strict=True):
        if length not in (0, len(joints)):
            raise InputError(field, f"of every point must have {len(joints)} values, one for each joint", length)
    if then.lengths != first.lengths:
        raise InputError("points", "must all have the same fields, but the second differs from the first", data)

    def later(place: int, kind: str, *width: int) -> Array:
        """Values of all points but the first."""
        size = int(kind[1:])
        strides = (stride, size)[: 1 + len(width)]
        values: Array = np.ndarray((count - 1, *width), np.dtype(order + kind), data, place, strides)
        return values

    for place, length in zip(then.length_places, then.lengths, strict=True):
        same = later(place, "u4") == length
        if not same.all():
            number = int(np.flatnonzero(~same)[0]) + 2
            raise InputError("points", f"must all have the same fields, but point {number} differs", data)

    def rows(field: int) -> Array | None:
        width = first.lengths[field]
        if not width:
            return None
        found = np.empty((count, width))
        found[0] = np.frombuffer(data, np.dtype(order + "f8"), width, first.places[field])
        found[1:] = later(then.places[field], "f8", width)
        return found

    times = np.empty(count)
    seconds, nanoseconds = struct.unpack_from(order + "iI", data, first.time)
    times[0] = seconds + nanoseconds / NANO
    times[1:] = later(then.time, "i4") + later(then.time + 4, "u4") / NANO
    positions, velocities, accelerations, efforts = map(rows, range(len(FIELDS)))
    if positions is None:
        raise InputError("positions", "of the points are missing")
    trajectory = Trajectory(times, positions, velocities, accelerations, efforts)
    return TrajectoryMessage(joints, trajectory, sec + nanosec / NANO or None)


def check_size(points: int, most: int) -> None:
    """Check the number of points of a message.

    Raises:
        InputError: there are none, or too many.
    """
    if points == 0:
        raise InputError("points", "is empty", points)
    if points > most:
        raise InputError("points", f"are {points}, more than the {most} that are taken in", points)


class Reader:
    """Reads the parts of a message one after the other, and never beyond its end."""

    def __init__(self, data: bytes, order: str) -> None:
        """
        Args:
            data: the message.
            order: ``<`` or ``>``.

        Raises:
            InputError: it has no encapsulation header, or more padding than bytes.
        """
        if len(data) < HEADER or padding(data) > len(data) - HEADER:
            raise InputError("message", f"{len(data)} bytes are no message", data)
        self.end = len(data) - padding(data)
        self._data, self._order, self._place = data, order, HEADER

    def unpack(self, kinds: str) -> tuple[int, ...]:
        """Whole numbers of 4 bytes each, as :mod:`struct` names them."""
        place = self._aligned(4)
        self._move(place + 4 * len(kinds))
        return struct.unpack_from(self._order + kinds, self._data, place)

    def count(self, most: int, what: str) -> int:
        """The length of a sequence."""
        (count,) = self.unpack("I")
        if count > most:
            raise InputError(what, f"has {count} entries, more than {most}", count)
        return count

    def text(self) -> str:
        """A string; what is no UTF-8 in it is replaced."""
        (length,) = self.unpack("I")
        begin = self._place
        self._move(begin + length)
        return self._data[begin : begin + length].rstrip(b"\0").decode("utf-8", "replace")

    def point(self) -> Point:
        """Where the parts of the next point are."""
        lengths, length_places, places = [], [], []
        for _ in FIELDS:
            length_places.append(self._aligned(4))
            (length,) = self.unpack("I")
            place = self._aligned(8) if length else self._place
            lengths.append(length)
            places.append(place)
            self._move(place + 8 * length)
        time = self._aligned(4)
        self._move(time + 8)
        return Point(tuple(lengths), tuple(length_places), tuple(places), time, self._place)

    def _aligned(self, size: int) -> int:
        return HEADER + -(-(self._place - HEADER) // size) * size

    def _move(self, place: int) -> None:
        if place > self.end:
            raise InputError("message", f"ends after {self.end} bytes, in the middle", self._data)
        self._place = place
