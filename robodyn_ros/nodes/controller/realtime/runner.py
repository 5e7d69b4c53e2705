# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Python's interface to ``runner.c``, which runs the control loop: start, end, states, requests and entries.

A thread of the runner's own calls functions of rcl by address: rclpy has loaded the library, and its objects have rcl's
handles. rclpy does not guarantee this, so it is checked when the thread is made. Without a thread, the runner publishes
through rclpy.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from robodyn_ros.control.core_library import Core, caller_library, core_structs
from robodyn_ros.control.drives import MitSettings, Transmission
from robodyn_ros.engine.c_interface import Record, address_of
from robodyn_ros.errors import NotReadyError
from robodyn_ros.nodes.common.client_library import RCLError, check_for_type_support, rclpy_implementation
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.threads import Allocator
from robodyn_ros.nodes.controller.cdr import Measured, MessageLayout, Topic
from robodyn_ros.nodes.controller.output import Output
from robodyn_ros.robot.pose import Array

CODE = Path(__file__).with_name("runner.c")

CAPACITY = 4096  #: Capacity of the ring, in periods: two seconds at 2 kHz.
TOPICS = ("joint_commands", "commands", "mit_commands")  #: Members of the struct ``Runner`` for topics of commands.
LARGEST = 1 << 16  #: Largest message that the thread takes without an allocation [bytes].
KNOWN, UNKNOWN = 2, 1  #: Kinds of forwarded messages: one with a layout that the thread has, or that it does not have.

FUNCTIONS = {
    "take": "rcl_take_serialized_message",
    "publish": "rcl_publish_serialized_message",
    "subscribers": "rcl_publisher_get_subscription_count",
    "set_callback": "rcl_subscription_set_on_new_message_callback",
    "clock_now": "rcl_clock_get_now",
}
"""Member of the struct ``Runner`` of ``runner.c`` → function of rcl."""

CALLS = ("update", "repeat", "watch", "watch_due", "simulated_time", "mit")  #: Members for functions ``core_…``.

PUBLISH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
COUNT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t))
NOW = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64))  #: Called without a thread, too.


def prepare_runner(n: int) -> None:
    """Compile the library of a runner for n joints in advance, so that it starts at once later."""
    caller_library(n, CODE)
    core_structs(n, CODE)


class LoopRunner:
    """Runs the loop for joint states; its thread runs while ``open``, with the priority ``scheduling``, as text."""

    def __init__(
        self, node: LifecycleNode, core: Core, transmission: Transmission, output: Output, watch_period: float
    ) -> None:
        """While states are missing, a reaction is due every ``watch_period`` [s]."""
        n, mit = core.n, NodeParameters(node).settings(MitSettings)
        self._library = caller_library(n, CODE)
        self._core, self._node = core, node
        self._structs = core_structs(n, CODE)
        self._record = self._structs.make("Runner")
        self._fields = fields = self._record.fields
        self._clock = node.get_clock().handle
        self._record.set({name: address_of(getattr(core.library, f"core_{name}")) for name in CALLS})
        fields.carry_out[...] = address_of(core.library.core_request)
        fields.ros_time_active[...] = node.get_clock().ros_time_is_active
        fields.core[...], fields.watch_period[...], fields.order[:] = core.address, watch_period, output.order
        fields.ratio[:], fields.offset[:] = transmission.ratio, transmission.offset
        fields.effort_unit[:], fields.mit_limits[:] = transmission.effort, mit.mit_limits
        fields.position[:] = np.nan
        self._ring = self._structs.make_array("Entry", CAPACITY)
        fields.ring[...], fields.capacity[...] = self._ring.ctypes.data, CAPACITY
        self._read = self._learned = 0
        self._topics = output.commands if mit.is_used else output.commands[:-1]
        self._buffers: list[NDArray[np.uint8]] = []
        for number, (part, topic) in enumerate(self._command_parts(), 1):
            template = topic.template
            (place,) = template.places.values()
            buffer = np.frombuffer(bytes(template.buffer), np.uint8).copy()
            self._buffers.append(buffer)
            part.publisher[...], part.stamp[...], part.place[...] = number, template.stamp, place.start
            part.message.buffer[...] = buffer.ctypes.data
            part.message.length[...] = part.message.capacity[...] = len(buffer)
        self._calls = PUBLISH(self._publish), COUNT(self._count), NOW(self._now)
        names = "publish", "subscribers", "clock_now"
        self._record.set(dict(zip(names, map(address_of, self._calls), strict=True)))
        self._subscription: Any = None
        self._asking = RLock()  # again for a law in Python that asks for the reference
        self._layouts: list[tuple[Record, Any]] = []
        self.scheduling = "ordinary"
        self.open = False
        self._free: Callable[[], object] = lambda: None  # frees the buffer of messages

    def _command_parts(self) -> list[tuple[Any, Topic]]:
        """The members of the struct for topics of commands, and the topics."""
        return [(getattr(self._fields, name), topic) for name, topic in zip(TOPICS, self._topics, strict=False)]

    def _publish(self, publisher: int, _message: int, _allocation: int) -> int:
        """As ``rcl_publish_serialized_message``; the publisher is the number of its topic."""
        try:
            self._topics[publisher - 1].publisher.handle.publish_raw(self._buffers[publisher - 1].tobytes())
        except RCLError:
            return 1
        return 0

    def _count(self, publisher: int, count: Any) -> int:
        """As ``rcl_publisher_get_subscription_count``."""
        count[0] = self._topics[publisher - 1].publisher.get_subscription_count()
        return 0

    def _now(self, _clock: int, now: Any) -> int:
        """As ``rcl_clock_get_now``."""
        now[0] = self._clock.get_now().nanoseconds
        return 0

    def listen(self, subscription: Any) -> None:
        """Have a thread take a subscription's messages, and destroy it at its end; NotReadyError: no thread can."""
        self._subscription = subscription
        fields, rcl = self._fields, find_functions()
        publishers = [
            handle_address(topic.publisher.handle, "publisher", rcl.library, self._name(topic.name))
            for topic in self._topics
        ]
        fields.subscription[...] = handle_address(subscription, "subscription", rcl.library, self._name("joint_states"))
        fields.clock[...] = handle_address(self._clock, "clock", rcl.library)
        forwarded = np.zeros(LARGEST, np.uint8)
        self._buffers.append(forwarded)
        fields.forwarded.buffer[...], fields.forwarded.capacity[...] = forwarded.ctypes.data, LARGEST
        self._set_allocator(fields.message)
        self._record.set(rcl.addresses)
        for (part, _), address in zip(self._command_parts(), publishers, strict=True):
            part.publisher[...] = address

    def _name(self, topic: str) -> str:
        return str(self._node.resolve_topic_name(topic))

    def _set_allocator(self, message: Any) -> None:
        """The allocator of rcutils: a message beyond ``LARGEST`` makes the buffer grow."""
        utils = ctypes.CDLL("librcutils.so")
        utils.rcutils_get_default_allocator.restype = Allocator
        allocator = utils.rcutils_get_default_allocator()
        message.allocator[:] = [getattr(allocator, name) or 0 for name, *_ in Allocator._fields_]
        # This allocator must make the buffer, because it may have to free it.
        utils.rcutils_uint8_array_init.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
        utils.rcutils_uint8_array_fini.argtypes = (ctypes.c_void_p,)
        message.buffer[...] = message.capacity[...] = 0
        if utils.rcutils_uint8_array_init(message.buffer.ctypes.data, LARGEST, ctypes.addressof(allocator)) != 0:
            raise NotReadyError("there is no memory for a message")
        self._free = partial(utils.rcutils_uint8_array_fini, message.buffer.ctypes.data)

    def start(self, priority: int) -> None:
        """Start the thread, with a real-time priority if permitted; 0: ordinary. NotReadyError: it cannot start."""
        self._fields.priority[...] = priority
        with self._asking:
            if self._library.runner_start(self._address):
                raise NotReadyError("the thread cannot be started")
            self.open = True
        refused = int(self._fields.priority_error)
        self.scheduling = f"SCHED_FIFO {priority}" if priority and not refused else "ordinary"

    def stop(self) -> None:
        """Send no commands any more: close the gate, clear the callback, join, and then destroy the subscription."""
        with self._asking:
            if self.open:
                self._library.runner_stop(self._address)
            self.open = False
            self._free()
            self._free = lambda: None
        if self._subscription is not None:
            self._subscription.destroy_when_not_in_use()
            self._subscription = None

    def request(self, request: Record) -> None:
        """Carry out a request between two periods, and wait for it; NotReadyError: the thread does not respond."""
        with self._asking:
            if not self.open:
                self._core.request(request)
            elif self._library.runner_request(self._address, ctypes.c_void_p(request.address)):
                why = "it may get no processor (thread_priority)"
                raise NotReadyError(f"the thread of the control loop does not respond; {why}")

    def respond(self, state: Measured, now: int) -> None:
        """Send the command for a state that came at a time of the node [ns], without a thread."""
        arrays = [None if part is None else ctypes.c_void_p(part.ctypes.data) for part in state[1:]]
        stamp = ctypes.c_int32(state.stamp[0]), ctypes.c_uint32(state.stamp[1])
        with self._asking:
            self._library.runner_respond(self._address, ctypes.c_int64(now), *stamp, *arrays)

    def watch(self) -> None:
        """Send the reaction to missing states, if one is due, without a thread."""
        with self._asking:
            self._library.runner_watch(self._address)

    def send(self, now: int, t: float, effort: Array) -> None:
        """Publish efforts (n,) with a stamp [ns], for a time of the states [s], without a thread."""
        numbers = ctypes.c_int64(now), ctypes.c_double(t), ctypes.c_void_p(effort.ctypes.data)
        self._library.runner_send(self._address, *numbers)

    def set_layout(self, layout: MessageLayout) -> None:
        """Have the thread accept messages of this layout from now on; NotReadyError: it names too many joints."""
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

    def forwarded(self) -> tuple[int, bytes] | None:
        """A message that Python has to read, and its kind, for :meth:`drop_forwarded` or :meth:`process_forwarded`."""
        kind = int(self._fields.has_forwarded)
        if not kind or self._fields.forwarded_again:
            return None
        return kind, self._buffers[-1][: int(self._fields.forwarded.length)].tobytes()

    def drop_forwarded(self) -> None:
        """Drop the forwarded message; the thread does not process it."""
        self._fields.has_forwarded[...] = 0

    def process_forwarded(self) -> None:
        """Have the thread process the forwarded message, whose layout has been set."""
        self._library.runner_process_forwarded(self._address)

    def request_message(self) -> None:
        """Request the next message."""
        self._fields.wants_message[...] = 1

    def entries(self) -> Any:
        """New entries since the last call, oldest first, as structs ``Entry``; overwritten ones are lost."""
        written = int(self._fields.written)
        first = max(self._read, written - CAPACITY // 2)
        self._read = written
        begin, end = first % CAPACITY, written % CAPACITY
        parts = [self._ring[begin:end]] if begin <= end else [self._ring[begin:], self._ring[:end]]
        return np.concatenate(parts)

    @property
    def notable(self) -> int:
        """Count of entries that are no plain commands: faults, refusals and restarts."""
        return int(self._fields.notable)

    @property
    def unpublished(self) -> int:
        """Count of messages that the middleware has refused."""
        return int(self._fields.unpublished)

    @property
    def last_state(self) -> LastState:
        """When the latest usable state came."""
        fields = self._fields
        return LastState(float(fields.received), float(fields.state_time), float(fields.node_time))

    @last_state.setter
    def last_state(self, last: LastState) -> None:
        self._fields.received[...], self._fields.state_time[...], self._fields.node_time[...] = last

    @property
    def _address(self) -> Any:
        return ctypes.c_void_p(self._record.address)


class LastState(NamedTuple):
    """When the latest usable state came [s]; zeros before the first."""

    received: float  # by the steady clock
    stamp: float
    node_time: float


class RclFunctions(NamedTuple):
    """Functions that the thread calls: name → address."""

    library: Any
    addresses: dict[str, int]


def find_functions() -> RclFunctions:
    """The functions of the rcl that rclpy has loaded; NotReadyError names one that is missing."""
    try:
        library = ctypes.CDLL("librcl.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError as cause:
        raise NotReadyError(f"rcl's library is not loaded under its name: {cause}") from cause
    for name in FUNCTIONS.values():
        if not hasattr(library, name):
            raise NotReadyError(f"rcl has no {name}")
    return RclFunctions(library, {member: address_of(library[name]) for member, name in FUNCTIONS.items()})


def handle_address(entity: Any, kind: str, library: Any, topic: str = "") -> int:
    """The address of the rcl object behind one of rclpy's: a ``publisher``, a ``subscription`` or a ``clock``; rcl has
    to confirm its topic. NotReadyError: rclpy does not have it as expected.
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
    """A subscription to joint states outside all executors; NotReadyError: rclpy cannot make it in this way."""
    try:
        check_for_type_support(JointState)
        with node.handle:
            return rclpy_implementation.Subscription(node.handle, JointState, topic, qos.get_c_qos_profile())
    except (AttributeError, TypeError) as cause:
        raise NotReadyError(f"rclpy makes no subscription of that kind: {cause}") from cause
