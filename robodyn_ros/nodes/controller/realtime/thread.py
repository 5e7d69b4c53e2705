# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Python's interface to the thread that runs the control loop (``thread.c``): start, end, requests and entries.

The thread calls functions of rcl by address: rclpy has loaded the library, and its objects have rcl's handles. rclpy
does not guarantee this, so it is checked when the thread is made.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from robodyn_ros.control.core_library import Core, caller_library, core_structs
from robodyn_ros.control.drives import Transmission
from robodyn_ros.engine.c_interface import Record, address_of
from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.common.client_library import check_for_type_support, rclpy_implementation
from robodyn_ros.nodes.common.threads import Allocator
from robodyn_ros.nodes.controller.cdr import MessageLayout, Topic

CODE = Path(__file__).with_name("thread.c")

CAPACITY = 4096  #: Capacity of the ring, in periods: two seconds at 2 kHz.
LARGEST = 1 << 16  #: Largest message that the thread takes without an allocation [bytes].
KNOWN, UNKNOWN = 2, 1  #: Kinds of letters: a message with a layout that the thread has, or that it does not have.


FUNCTIONS = {
    "take": "rcl_take_serialized_message",
    "publish": "rcl_publish_serialized_message",
    "subscribers": "rcl_publisher_get_subscription_count",
    "set_callback": "rcl_subscription_set_on_new_message_callback",
    "clock_now": "rcl_clock_get_now",
}
"""Member of the struct ``Realtime`` of ``thread.c`` → function of rcl."""

CALLS = {
    "update": "core_update",
    "repeat": "core_repeat",
    "watch": "core_watch",
    "watch_due": "core_watch_due",
    "carry_out": "core_request",
    "simulated_time": "core_simulated_time",
}
"""Likewise → function of the core."""


def thread_library(n: int) -> Any:
    """The thread in C for n joints, compiled if need be. ``robodyn compile`` also compiles it."""
    return caller_library(n, CODE)


def prepare_thread(n: int) -> None:
    """Compile the library of a thread for n joints in advance, so that the thread starts at once later."""
    thread_library(n)
    core_structs(n, CODE)


class RealtimeThread:
    """One thread, from its start to its end.

    Attributes:
        scheduling: scheduling policy and priority, as text.
    """

    def __init__(
        self,
        node: LifecycleNode,
        core: Core,
        transmission: Transmission,
        order: NDArray[np.intp],
        topics: tuple[Topic, Topic],
        watch_period: float,
        subscription: Any,
    ) -> None:
        """The commands of ``topics``, ``~/joint_commands`` and ``~/commands``, have the joints in an order, (n,)
        indices among the arm's. The thread checks every ``watch_period`` [s] that states still come, and destroys the
        subscription (:func:`make_subscription`) at its end.

        Raises:
            NotReadyError: it cannot be made; the message has the reason.
        """
        n = len(order)
        self._library = thread_library(n)
        self._core, self._node = core, node
        structs = core_structs(n, CODE)
        rcl = find_functions()
        record = self._record = structs.make("Realtime")
        fields = self._fields = record.fields
        clock = node.get_clock()
        self._clock = clock.handle
        topic = node.resolve_topic_name("joint_states")
        self._subscription = subscription
        for name, address in rcl.addresses.items():
            getattr(fields, name)[...] = address
        for name, function in CALLS.items():
            getattr(fields, name)[...] = address_of(getattr(core.library, function))
        fields.subscription[...] = handle_address(self._subscription, "subscription", rcl.library, topic)
        fields.clock[...] = handle_address(self._clock, "clock", rcl.library)
        fields.ros_time_active[...] = clock.ros_time_is_active
        fields.core[...], fields.watch_period[...], fields.order[:] = core.address, watch_period, order
        fields.ratio[:], fields.offset[:] = transmission.ratio, transmission.offset
        fields.effort_unit[:] = transmission.effort
        self._ring = structs.make_array("Entry", CAPACITY)
        fields.ring[...], fields.capacity[...] = self._ring.ctypes.data, CAPACITY
        self._read = 0
        self._buffers = [np.zeros(LARGEST, np.uint8) for _ in range(2)]
        for part, buffer in zip((fields.message, fields.letter), self._buffers, strict=True):
            part.buffer[...], part.capacity[...] = buffer.ctypes.data, LARGEST
        self._set_allocator(fields.message)
        for part, topic in zip((fields.joint_commands, fields.commands), topics, strict=True):
            self._set_template(part, topic, rcl.library)
        self._learned = 0
        self._asking = Lock()
        self._layouts: list[tuple[Record, Any]] = []
        self._structs = structs
        self.scheduling = "ordinary"
        self.open = False

    def _set_allocator(self, message: Any) -> None:
        """The allocator of rcutils: a message beyond ``LARGEST`` makes the buffer grow."""
        utils = ctypes.CDLL("librcutils.so")
        utils.rcutils_get_default_allocator.restype = Allocator
        allocator = utils.rcutils_get_default_allocator()
        message.allocator[:] = [getattr(allocator, name) or 0 for name, *_ in Allocator._fields_]
        # This allocator must make the buffer, because it may have to free it.
        utils.rcutils_uint8_array_init.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
        message.buffer[...] = message.capacity[...] = 0
        if utils.rcutils_uint8_array_init(message.buffer.ctypes.data, LARGEST, ctypes.addressof(allocator)) != 0:
            raise NotReadyError("there is no memory for a message")

    def _set_template(self, part: Any, topic: Topic, library: Any) -> None:
        name, template = self._node.resolve_topic_name(topic.name), topic.template
        part.publisher[...] = handle_address(topic.publisher.handle, "publisher", library, name)
        (place,) = template.places.values()
        buffer = np.frombuffer(bytes(template.buffer), np.uint8).copy()
        self._buffers.append(buffer)
        part.stamp[...], part.place[...] = template.stamp, place.start
        part.message.buffer[...] = buffer.ctypes.data
        part.message.length[...] = part.message.capacity[...] = len(buffer)

    def start(self, priority: int) -> None:
        """Send a command for each state from now on, with a real-time priority if that is permitted; 0: ordinary.

        Raises:
            NotReadyError: the system cannot start a thread.
        """
        self._fields.priority[...] = priority
        if self._library.realtime_start(self._address):
            raise NotReadyError("the thread cannot be started")
        refused = int(self._fields.priority_error)
        self.scheduling = f"SCHED_FIFO {priority}" if priority and not refused else "ordinary"
        self.open = True

    def stop(self) -> None:
        """Send no commands any more: close the gate, clear the callback, join, and then destroy the subscription."""
        if self.open:
            self.open = False
            self._library.realtime_stop(self._address)
        if self._subscription is not None:
            self._subscription.destroy_when_not_in_use()
            self._subscription = None

    def request(self, request: Record) -> None:
        """:meth:`robodyn_ros.control.loop.Runner.request`."""
        with self._asking:
            if self._library.realtime_request(self._address, ctypes.c_void_p(request.address)):
                raise NotReadyError("the thread of the control loop does not respond")

    def set_layout(self, layout: MessageLayout) -> None:
        """Accept messages of this layout from now on."""
        record = self._structs.make("Layout")
        fields, parts = record.fields, layout.constant
        if len(parts) > self._structs.constants["RIVETS"]:
            raise NotReadyError("joint states name too many joints")
        pattern = np.zeros(layout.end, np.uint8)
        for index, (place, value) in enumerate(parts):
            pattern[place] = np.frombuffer(value, np.uint8)
            fields.begin[index], fields.size[index] = place.start, len(value)
        fields.bytes[...], fields.parts[...], fields.end[...] = pattern.ctypes.data, len(parts), layout.end
        places = [place for place, _ in layout.numbers]
        fields.position[...], fields.velocity[...] = places[0], places[1] if len(places) > 1 else -1
        fields.column[:] = layout.columns
        count = self._structs.constants["LAYOUTS"]
        index = self._learned % count
        self._learned += 1
        self._layouts = [*self._layouts[-count:], (record, pattern)]  # the thread may still read the replaced one
        self._fields.layouts[index] = record.address

    def letter(self) -> tuple[int, bytes] | None:
        """A message that Python has to read, and its kind; None if there is none.

        Call :meth:`drop_letter` or :meth:`answer_letter` afterwards.
        """
        kind = int(self._fields.letter_full)
        if not kind or self._fields.letter_again:
            return None
        return kind, self._buffers[1][: int(self._fields.letter.length)].tobytes()

    def drop_letter(self) -> None:
        """Drop the letter; the thread does not process it."""
        self._fields.letter_full[...] = 0

    def answer_letter(self) -> None:
        """Have the thread process the letter, whose layout has been set."""
        self._library.realtime_answer_letter(self._address)

    def ask_for_letter(self) -> None:
        """Request the next message as a letter."""
        self._fields.wants_message[...] = 1

    def entries(self) -> Any:
        """New entries since the last call, oldest first, as structs ``Entry``; overwritten ones are lost."""
        written = int(self._fields.written)
        first = max(self._read, written - CAPACITY // 2)
        self._read = written
        begin, end = first % CAPACITY, written % CAPACITY
        if begin <= end:
            return self._ring[begin:end].copy()
        return np.concatenate((self._ring[begin:], self._ring[:end]))

    @property
    def notable(self) -> int:
        """Count of entries that are no plain commands: faults, refusals and restarts."""
        return int(self._fields.notable)

    @property
    def unpublished(self) -> int:
        """Count of messages that the middleware has refused."""
        return int(self._fields.unpublished)

    @property
    def last_state(self) -> tuple[float, float, float]:
        """When the latest usable state came by the steady clock, its stamp, and the node's time then [s]."""
        fields = self._fields
        return float(fields.received), float(fields.state_time), float(fields.node_time)

    @property
    def _address(self) -> Any:
        return ctypes.c_void_p(self._record.address)


class RclFunctions(NamedTuple):
    """Functions that the thread calls: name → address."""

    library: Any
    addresses: dict[str, int]


def find_functions() -> RclFunctions:
    """The functions of the rcl that rclpy has loaded.

    Raises:
        NotReadyError: a function is missing; the message names it.
    """
    try:
        library = ctypes.CDLL("librcl.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError as cause:
        raise NotReadyError(f"rcl's library is not loaded under its name: {cause}") from cause
    addresses = {}
    for member, name in FUNCTIONS.items():
        if not hasattr(library, name):
            raise NotReadyError(f"rcl has no {name}")
        addresses[member] = address_of(library[name])
    return RclFunctions(library, addresses)


def handle_address(entity: Any, kind: str, library: Any, topic: str = "") -> int:
    """The address of the rcl object behind one of rclpy's: a ``publisher``, a ``subscription`` or a ``clock``; rcl has
    to confirm its topic.

    Raises:
        NotReadyError: rclpy does not have it as expected.
    """
    address = getattr(entity, "pointer", None)
    if not isinstance(address, int) or not address:
        raise NotReadyError(f"rclpy's {kind} has no address")
    if kind == "clock":
        library.rcl_clock_valid.restype = ctypes.c_bool
        if not library.rcl_clock_valid(ctypes.c_void_p(address)):
            raise NotReadyError("rclpy's clock has no valid clock of rcl")
        return address
    name = getattr(library, f"rcl_{kind}_get_topic_name")
    name.restype = ctypes.c_char_p
    found = name(ctypes.c_void_p(address))
    if found is None or found.decode() != topic:
        raise NotReadyError(f"rclpy's {kind} of {topic} has the topic {found!r} in rcl")
    return address


def make_subscription(node: Any, topic: str, qos: QoSProfile) -> Any:
    """A subscription to joint states outside all executors.

    Raises:
        NotReadyError: rclpy cannot make it in this way.
    """
    try:
        check_for_type_support(JointState)
        with node.handle:
            return rclpy_implementation.Subscription(node.handle, JointState, topic, qos.get_c_qos_profile())
    except (AttributeError, TypeError) as cause:
        raise NotReadyError(f"rclpy makes no subscription of that kind: {cause}") from cause
