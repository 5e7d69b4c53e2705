# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Serialized messages: states are read and commands are written as bytes, without rclpy's Python objects.

rclpy makes a Python object of every field of a message, names of joints included, and copies it again to publish it.
A driver sends the same names in the same places every time, and so does the controller: :class:`StateReader` and
:class:`CdrTemplate` access only the numbers.

For a trajectory, rclpy takes 14 µs for each point of seven joints, with the interpreter's lock held. All points of a
valid trajectory have the same layout, so NumPy reads them as an array of structs (:func:`read_trajectory_message`), in
milliseconds and mostly without that lock.

The encoding is CDR as DDS has it, XCDR version 1, little-endian (OMG DDS-XTypes 1.3, section 7.4): doubles are aligned
to 8 bytes and all else here to 4, counted from behind the encapsulation header of 4 bytes, which names the encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.client_library import RECORDED, RCLError, RMWError
from robodyn_ros.nodes.common.messages import HEADER, NANO, JointOrder, Stamp, decode, padding, to_trajectory
from robodyn_ros.robot.pose import Array

LITTLE_ENDIAN = b"\x00\x01"  #: The first bytes of the encapsulation header for XCDR version 1, little-endian.
ENCODED_STAMP = struct.Struct("<iI")  #: Seconds and nanoseconds of a stamp that is read.
NATIVE_STAMP = struct.Struct("=iI")  #: The same of one that is written, in this machine's byte order.
MARK = 0x5AC3_0F71  #: Seconds of a stamp, as a mark by which :class:`CdrTemplate` finds the place of the stamp.


class Measured(NamedTuple):
    """A measured state, at the motors."""

    stamp: Stamp  # seconds and nanoseconds
    position: Array  # (n,) in the arm's order
    velocity: Array | None  # (n,); None if the message has none


class StateReader:
    """Reads serialized sensor_msgs/JointState: of a message with the layout of the one before only the numbers
    (:meth:`quick`); rclpy deserializes any other one (:meth:`keep`).
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._order = JointOrder(joints)
        self.layout: MessageLayout | None = None

    def quick(self, data: bytes) -> Measured | None:
        """The state in a message with the layout of the one before; None if it has another one."""
        return None if self.layout is None else self.layout.read(data)

    def keep(self, message: JointState, data: bytes) -> Measured | None:
        """The state in a message, which is given deserialized, too; None if it is about other joints. Its layout is
        kept. InputError: a joint is missing or repeated, or positions or velocities are not one for each name.
        """
        if (motors := self._order.measured(message)) is None:
            return None
        columns = self._order.columns(message.name)
        if columns is not None and data[: len(LITTLE_ENDIAN)] == LITTLE_ENDIAN:
            self.layout = MessageLayout(message, columns.tolist())
        stamp = message.header.stamp
        return Measured((stamp.sec, stamp.nanosec), *motors)


class MessageLayout:
    """Places of the numbers in messages with the same frame, names and lengths as an earlier one.

    Attributes:
        constant: the constant parts: their places, and their bytes.
        numbers: of positions and, if there are any, velocities: their place and format.
        end: length of the message [bytes].
        columns: index of each of the arm's joints in the message.
    """

    def __init__(self, message: JointState, columns: list[int]) -> None:
        place = HEADER + ENCODED_STAMP.size
        self.constant: list[tuple[slice, bytes]] = []

        def keep(value: bytes) -> None:
            nonlocal place
            self.constant.append((slice(place, place + len(value)), value))
            place = _aligned(place + len(value), 4)

        def word(text: str) -> bytes:
            encoded = text.encode() + b"\0"
            return struct.pack("<I", len(encoded)) + encoded

        keep(word(message.header.frame_id))
        keep(struct.pack("<I", len(message.name)))
        for name in message.name:
            keep(word(name))
        numbers: list[tuple[int, struct.Struct]] = []
        for values in (message.position, message.velocity, message.effort):
            keep(struct.pack("<I", len(values)))
            if len(values):
                place = _aligned(place, 8)
                numbers.append((place, struct.Struct(f"<{len(values)}d")))
                place += 8 * len(values)
        self.end = place
        self.numbers = numbers[: 1 + bool(len(message.velocity))]  # efforts are part of the layout, but are not read
        self.columns = columns
        self._columns = None if columns == list(range(len(message.name))) else columns

    def read(self, data: bytes) -> Measured | None:
        """The state; None if the message has another layout."""
        if len(data) < HEADER or len(data) - padding(data) < self.end or data[: len(LITTLE_ENDIAN)] != LITTLE_ENDIAN:
            return None
        for part, value in self.constant:
            if data[part] != value:
                return None
        arrays = [np.array(numbers.unpack_from(data, place)) for place, numbers in self.numbers]
        if self._columns is not None:
            arrays = [array[self._columns] for array in arrays]
        return Measured(ENCODED_STAMP.unpack_from(data, HEADER), arrays[0], arrays[1] if len(arrays) > 1 else None)


def _aligned(place: int, size: int) -> int:
    return HEADER + -(-(place - HEADER) // size) * size


class CdrTemplate:
    """A serialized message, ``buffer``, in which only a stamp and some numbers change; marks show where they are.
    ``stamp`` is the place of its stamp, -1 if it has none, and ``places`` maps the name of each field to that of its
    numbers.
    """

    def __init__(self, message: Any, n: int, *fields: str) -> None:
        """Each of ``fields`` is a sequence of n doubles that changes; the rest of the message is constant."""
        if stamped := hasattr(message, "header"):
            message.header.stamp.sec, message.header.stamp.nanosec = MARK, MARK >> 8
        marks = {field: np.arange(1.0, n + 1.0) * -np.pi * 10.0 ** (30 + k) for k, field in enumerate(fields)}
        for field, values in marks.items():
            setattr(message, field, values.tolist())
        encoded = _whole(serialize_message(message), type(message))
        self.buffer = bytearray(encoded)
        self.stamp = encoded.index(struct.pack("=iI", MARK, MARK >> 8)) if stamped else -1
        self.places: dict[str, slice] = {}
        for field, values in marks.items():
            start = encoded.index(values.tobytes())
            self.places[field] = slice(start, start + values.nbytes)

    def fill(self, stamp: Stamp, **values: Array) -> bytes:
        """The serialized message with a stamp, and with arrays (n,) under the names of the fields."""
        buffer = self.buffer
        if self.stamp >= 0:
            NATIVE_STAMP.pack_into(buffer, self.stamp, *stamp)
        for field, array in values.items():
            buffer[self.places[field]] = array.tobytes()
        return bytes(buffer)


def _whole(encoded: bytes, kind: Any) -> bytes:
    """The message without the up to 8 arbitrary bytes that the serializer leaves after its end."""
    message, end = deserialize_message(encoded, kind), len(encoded)
    while end and _is(encoded[: end - 1], message):
        end -= 1
    return encoded[:end]


def _is(encoded: bytes, message: Any) -> bool:
    try:
        return bool(deserialize_message(encoded, type(message)) == message)
    except RMWError:
        return False


class Topic:
    """A topic whose messages differ in a stamp and numbers; ``subscribed`` by the latest check of subscribers."""

    def __init__(self, node: LifecycleNode, topic: str, message: Any, n: int, *fields: str) -> None:
        self.subscribed = False
        self._faults, self.name = node.faults, topic
        self.publisher: Any = node.create_lifecycle_publisher(type(message), topic, RECORDED)
        self.template = CdrTemplate(message, n, *fields)
        # Without the publisher's check that the node is active: the loop sends only while it is.
        self._write = self.publisher.handle.publish_raw

    def refresh(self) -> None:
        """Check whether there is a subscriber."""
        self.subscribed = self.publisher.get_subscription_count() > 0

    def publish(self, stamp: Stamp, **values: Array) -> None:
        """Publish arrays (n,) under the names of the message's fields; a refusal of the middleware is counted."""
        try:
            self._write(self.template.fill(stamp, **values))
        except RCLError as problem:
            self._faults.count("message not published", f"{self.name}: {problem}")


BYTE_ORDERS = {b"\x00\x00": ">", b"\x00\x01": "<"}  #: First bytes of XCDR version 1 → NumPy's byte order.
FIELDS = ("positions", "velocities", "accelerations", "effort")  #: The numbers of a point, in the order of the message.
MOST_JOINTS = 1000  #: Greatest number of joints in a message; no arm has more.


class NoPointsError(InputError):
    """A trajectory has no points: it only ends the one before."""


def read_trajectory_message(data: bytes | memoryview, most_points: int) -> tuple[list[str], Trajectory, float | None]:
    """The joints of a serialized trajectory_msgs/JointTrajectory, their trajectory, and its start [s], None for now.
    InputError: it is no such message, has no points, too many or different ones, or :class:`Trajectory` refuses it.
    """
    if (order := BYTE_ORDERS.get(bytes(data[:2]))) is None:  # an encoding of another middleware
        message = decode(bytes(data), JointTrajectory, len(data))
        check_size(len(message.points), most_points)
        return list(message.joint_names), *to_trajectory(message)
    reader = CdrReader(data, order)
    sec, nanosec = reader.unpack("iI")
    reader.text()  # the frame
    (count,) = reader.unpack("I")
    if count > MOST_JOINTS:
        raise InputError("joint_names", f"has {count} entries, more than {MOST_JOINTS}", count)
    joints = [reader.text() for _ in range(count)]
    (count,) = reader.unpack("I")
    check_size(count, most_points)
    first = reader.points(1)  # it may be aligned otherwise than the others
    later = reader.points(count - 1) if count > 1 else first[:0]
    rows: list[Array | None] = []
    for field in FIELDS:
        lengths = np.concatenate([first[f"{field} length"], later[f"{field} length"]])
        if lengths[0] not in (0, len(joints)):
            raise InputError(field, f"of every point must have {len(joints)} values, one for each joint", lengths[0])
        if (differs := np.flatnonzero(lengths != lengths[0])).size:
            raise InputError("points", f"must all have the same fields, but point {differs[0] + 1} differs", data)
        rows.append(np.concatenate([first[field], later[field]]) if lengths[0] else None)
    times = np.concatenate([points["sec"] + points["nanosec"] / NANO for points in (first, later)])
    positions, velocities, accelerations, efforts = rows
    if positions is None:
        raise InputError("positions", "of the points are missing")
    trajectory = Trajectory(times, positions, velocities, accelerations, efforts)
    return joints, trajectory, sec + nanosec / NANO or None


def check_size(points: int, most: int) -> None:
    """Refuse a message without points (NoPointsError), or with too many."""
    if points == 0:
        raise NoPointsError("points", "is empty", points)
    if points > most:
        raise InputError("points", f"are {points}, more than the {most} that are taken in", points)


class CdrReader:
    """Reads the parts of a message one after the other, and never beyond its end."""

    def __init__(self, data: bytes | memoryview, order: str) -> None:
        """InputError: it has no encapsulation header, or more padding than bytes."""
        if len(data) < HEADER or padding(data) > len(data) - HEADER:
            raise InputError("message", f"{len(data)} bytes are no message", data)
        self.end = len(data) - padding(data)
        self._data, self._order, self._place = data, order, HEADER

    def unpack(self, kinds: str) -> tuple[int, ...]:
        """Whole numbers of 4 bytes each, as :mod:`struct` names them."""
        place = _aligned(self._place, 4)
        self._move(place + 4 * len(kinds))
        return struct.unpack_from(self._order + kinds, self._data, place)

    def text(self) -> str:
        """A string, up to its first NUL as rclpy reads it; bytes that are no UTF-8 are replaced."""
        (length,) = self.unpack("I")
        begin = self._place
        self._move(begin + length)
        return bytes(self._data[begin : begin + length]).partition(b"\0")[0].decode("utf-8", "replace")

    def points(self, count: int) -> NDArray[np.void]:
        """The next points (count,), if all have the lengths of the first: of each field its values and its length."""
        begin, order, parts = self._place, self._order, list[tuple[str, Any, int]]()
        for field in FIELDS:
            parts.append((f"{field} length", order + "u4", _aligned(self._place, 4)))
            (length,) = self.unpack("I")
            place = _aligned(self._place, 8) if length else self._place
            parts.append((field, (order + "f8", (length,)), place))
            self._move(place + 8 * length)
        time = _aligned(self._place, 4)
        parts += [("sec", order + "i4", time), ("nanosec", order + "u4", time + 4)]
        self._move(time + 8)
        stride = self._place - begin
        if begin + count * stride > self.end:
            raise InputError("message", f"ends before the last of {count} points", self._data)
        names, formats, places = zip(*parts, strict=True)
        offsets = [place - begin for place in places]
        layout = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": stride})
        return np.ndarray((count,), layout, self._data, begin)

    def _move(self, place: int) -> None:
        if place > self.end:
            raise InputError("message", f"ends after {self.end} bytes, in the middle", self._data)
        self._place = place
