# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A meter of round trips in C (``meter.c``), as Python starts it, and a thread that only sleeps.

It is the controller's thread turned round: it publishes states and takes commands by the functions of rcl, so the meter
adds neither Python's time nor Python's jitter.
"""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message

from robodyn_ros.engine.c_interface import CStructs, loaded, text_key
from robodyn_ros.nodes.common.client_library import NEWEST, RELIABLE
from robodyn_ros.nodes.controller.realtime.runner import find_functions, handle_address, make_subscription
from robodyn_ros.robot.pose import Array

CODE = Path(__file__).with_suffix(".c").read_text(encoding="utf-8")
LARGEST = 1 << 16
"""Largest message that is taken [bytes]."""


def library() -> Any:
    """``meter.c``, compiled."""
    found = loaded("meter", text_key(CODE), lambda: CODE)
    if found is None:
        raise SystemExit("there is no C compiler: the meter is written in C")
    return found


class Meter:
    """Sends states to one node at a time, and times the answers; or only listens.

    Attributes:
        refused: whether the system refuses the real-time priority.
    """

    def __init__(self, node: Any, state: Any, subjects: dict[str, str], priority: int, most: int = 1 << 20) -> None:
        """
        Args:
            node: whose topics; nothing need run it.
            state: the JointState that is sent, with ever new stamps.
            subjects: name → topic that its states go to, "" to listen only; it answers on ``<name>/joint_commands``.
            priority: among real-time threads; 0: ordinary.
            most: most messages in a turn.
        """
        rcl, self.refused = find_functions(), False
        self._library, self._records, self._kept = library(), {}, []
        structs = CStructs(CODE, {})
        for name, states in subjects.items():
            record = structs.make("Meter")
            fields = record.fields
            for member in ("take", "publish", "set_callback"):
                getattr(fields, member)[...] = rcl.addresses[member]
            topic = node.resolve_topic_name(f"{name}/joint_commands")
            subscription = make_subscription(node, topic, RELIABLE if states == "" else NEWEST)
            fields.subscription[...] = handle_address(subscription, "subscription", rcl.library, topic)
            if states:
                publisher = node.create_publisher(type(state), states, RELIABLE)
                topic = node.resolve_topic_name(states)
                fields.publisher[...] = handle_address(publisher.handle, "publisher", rcl.library, topic)
            message = np.frombuffer(serialize_message(state), np.uint8).copy()
            answer, times = np.zeros(LARGEST, np.uint8), np.zeros((2, most))
            stamps = np.zeros(most, np.int64)
            for part, buffer in ((fields.state, message), (fields.answer, answer)):
                part.buffer[...], part.length[...], part.capacity[...] = buffer.ctypes.data, len(buffer), len(buffer)
            fields.begun[...], fields.trips[...] = (row.ctypes.data for row in times)
            fields.stamps[...], fields.capacity[...], fields.priority[...] = stamps.ctypes.data, most, priority
            self._records[name] = record, times[1]
            self._kept += [subscription, message, answer, times, stamps]

    def measure(self, subject: str, rate: float, duration: float) -> tuple[Array, int]:
        """Round trips [s] and how many states were sent; of one that only listens, when messages came [s]."""
        record, trips = self._records[subject]
        record.fields.period[...], record.fields.duration[...] = 1.0 / rate, duration
        self.refused = bool(self._library.meter_run(ctypes.c_void_p(record.address)))
        return trips[: int(record.fields.answered)].copy(), int(record.fields.sent)


def sleep_lateness(rate: float, duration: float, priority: int) -> Array:
    """How much later than due a thread wakes that only sleeps [s], in turn."""
    record = CStructs(CODE, {}).make("Sleeper")
    late = np.zeros(int(rate * duration) + 1)
    fields = record.fields
    fields.period[...], fields.duration[...], fields.priority[...] = 1.0 / rate, duration, priority
    fields.late[...], fields.capacity[...] = late.ctypes.data, len(late)
    library().sleeper_run(ctypes.c_void_p(record.address))
    return late[: int(fields.count)]
