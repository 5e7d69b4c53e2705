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
from typing import NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from robodyn_ros.errors import InputError
from robodyn_ros.nodes.messages import JointOrder, Stamp
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
    """See the module."""

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
