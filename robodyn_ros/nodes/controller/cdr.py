"""States of the arm out of sensor_msgs/JointState as it comes over the wire.

rclpy makes Python objects of every field of a message, names of joints among them, before anybody asks for it. A driver
sends the same names in the same places every time, so from the second message on only its numbers are read. The
encoding is that of DDS, XCDR version 1 with the least byte first (OMG DDS-XTypes 1.3, section 7.4): doubles stand at
multiples of 8, all else here at multiples of 4, counted from behind the first 4 bytes, which say how it is encoded.
What is encoded otherwise, or is not like the message before, goes the long way.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rclpy._rclpy_pybind11 import RMWError  # which rclpy exports nowhere else
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.messages import JointOrder, Stamp
from robodyn_ros.robot.pose import Array

HEAD = 4
"""Bytes before what is aligned."""

PLAIN = b"\x00\x01"
"""They begin so for this encoding."""


class Measured(NamedTuple):
    """A state as it was measured."""

    stamp: Stamp  # seconds and nanoseconds
    position: Array  # (n,) in the arm's order
    velocity: Array | None  # (n,); None where the message has none


class StateReader:
    """States of the arm out of sensor_msgs/JointState as it comes over the wire.

    rclpy makes Python objects of every field of a message, names of joints among them, before anybody asks for it. A
    driver
    sends the same names in the same places every time, so from the second message on only its numbers are read. The
    encoding is that of DDS, XCDR version 1 with the least byte first (OMG DDS-XTypes 1.3, section 7.4): doubles stand
    at
    multiples of 8, all else here at multiples of 4, counted from behind the first 4 bytes, which say how it is encoded.
    What is encoded otherwise, or is not like the message before, goes the long way.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        """
        Args:
            joints: names of the arm's joints, in its order.
        """
        self._order = JointOrder(joints)
        self._form: _Form | None = None

    def read(self, data: bytes) -> Measured | None:
        """The state; None if the message is about other joints.

        Raises:
            InputError: a joint is missing or there twice, positions or velocities are not one for each name, or it is
                no message at all.
        """
        form = self._form
        if form is not None:
            found = form.read(data)
            if found is not None:
                return found
        try:
            message = deserialize_message(data, JointState)
        except Exception as cause:  # of the middleware, each has its own
            raise InputError("state", f"{len(data)} bytes that are no message: {cause}", data) from cause
        motors = self._order.measured(message)
        if motors is None:
            return None
        columns = self._order.columns(message.name)
        if columns is not None and data[: len(PLAIN)] == PLAIN:
            self._form = _Form(message, columns.tolist())
        stamp = message.header.stamp
        return Measured((stamp.sec, stamp.nanosec), *motors)


class _Form:
    """Where the numbers are in messages that are like one that came before."""

    def __init__(self, message: JointState, columns: list[int]) -> None:
        place = HEAD + 8  # behind the stamp
        self._same: list[tuple[slice, bytes]] = []

        def keep(value: bytes) -> None:
            nonlocal place
            self._same.append((slice(place, place + len(value)), value))
            place = _aligned(place + len(value), 4)

        def word(text: str) -> bytes:
            encoded = text.encode() + b"\0"
            return struct.pack("<I", len(encoded)) + encoded

        keep(word(message.header.frame_id))
        keep(struct.pack("<I", len(message.name)))
        for name in message.name:
            keep(word(name))
        self._numbers: list[tuple[int, struct.Struct]] = []
        for values in (message.position, message.velocity):
            keep(struct.pack("<I", len(values)))
            if len(values):
                place = _aligned(place, 8)
                self._numbers.append((place, struct.Struct(f"<{len(values)}d")))
                place += 8 * len(values)
        self._end = place
        self._columns = None if columns == list(range(len(message.name))) else columns

    def read(self, data: bytes) -> Measured | None:
        """The state; None if the message is another kind of one."""
        if len(data) < self._end or data[: len(PLAIN)] != PLAIN:
            return None
        for part, value in self._same:
            if data[part] != value:
                return None
        arrays = [np.array(numbers.unpack_from(data, place)) for place, numbers in self._numbers]
        if self._columns is not None:
            arrays = [array[self._columns] for array in arrays]
        return Measured(ENCODED_STAMP.unpack_from(data, HEAD), arrays[0], arrays[1] if len(arrays) > 1 else None)


ENCODED_STAMP = struct.Struct("<iI")
"""A time as it is encoded."""


def _aligned(place: int, size: int) -> int:
    return HEAD + -(-(place - HEAD) // size) * size


MARK = 0x5AC3_0F71
"""Stands for a second of a stamp, where its place is looked for."""


class CdrTemplate:
    """A message of which only a stamp and some numbers change, kept as the bytes that go over the wire.

    rclpy copies every field of a message, names of joints among them, each time that it is published. Here the message
    is encoded once; where its numbers are in it is found by looking for them. A tenth of the time is left.

    Attributes:
        buffer: the encoded message.
    """

    def __init__(self, message: Any, n: int, *fields: str) -> None:
        """
        Args:
            message: with all that stays; it has a header or not.
            n: how many numbers each field has.
            fields: names of the sequences of doubles that change.
        """
        stamped = hasattr(message, "header")
        if stamped:
            message.header.stamp.sec, message.header.stamp.nanosec = MARK, MARK >> 8
        marks = {field: np.arange(1.0, n + 1.0) * -np.pi * 10.0 ** (30 + k) for k, field in enumerate(fields)}
        for field, values in marks.items():
            setattr(message, field, values.tolist())
        encoded = _whole(serialize_message(message), type(message))
        self.buffer = bytearray(encoded)
        self._stamp = encoded.index(struct.pack("=iI", MARK, MARK >> 8)) if stamped else -1
        self._places = {field: self._place(encoded, values) for field, values in marks.items()}

    def fill(self, stamp: Stamp, **values: Array) -> bytes:
        """The encoded message.

        Args:
            stamp: seconds and nanoseconds.
            values: arrays (n,) by the names of the fields.
        """
        buffer = self.buffer
        if self._stamp >= 0:
            NATIVE_STAMP.pack_into(buffer, self._stamp, *stamp)
        for field, array in values.items():
            buffer[self._places[field]] = array.tobytes()
        return bytes(buffer)

    @staticmethod
    def _place(encoded: bytes, values: Array) -> slice:
        start = encoded.index(values.tobytes())
        return slice(start, start + values.nbytes)


def _whole(encoded: bytes, kind: Any) -> bytes:
    """The message without what the serializer leaves behind its end, up to 8 bytes of anything."""
    message, end = deserialize_message(encoded, kind), len(encoded)
    while end and _is(encoded[: end - 1], message):
        end -= 1
    return encoded[:end]


def _is(encoded: bytes, message: Any) -> bool:
    try:
        return bool(deserialize_message(encoded, type(message)) == message)
    except RMWError:
        return False


NATIVE_STAMP = struct.Struct("=iI")
"""A time as it is encoded."""
