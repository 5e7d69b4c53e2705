"""A message of which only a stamp and some numbers change, kept as the bytes that go over the wire.

rclpy copies every field of a message, names of joints among them, each time that it is published. Here the message is
encoded once; where its numbers are in it is found by looking for them. A tenth of the time is left.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from rclpy._rclpy_pybind11 import RMWError  # which rclpy exports nowhere else
from rclpy.serialization import deserialize_message, serialize_message

from robodyn_ros.nodes.messages import Stamp
from robodyn_ros.robot.pose import Array

MARK = 0x5AC3_0F71
"""Stands for a second of a stamp, where its place is looked for."""


class Stencil:
    """See the module.

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
