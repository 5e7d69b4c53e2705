# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Threads beside the control loop: calculations, and messages that are too large for the loop.

**Large messages.** rclpy takes a message with the interpreter's lock held. For the 11 MB of a trajectory of 100,000
points that is some 15 ms without a command: the middleware copies them, and rclpy copies them again. The C library of
ROS does not use that lock. So a thread waits for messages as rclpy's executors do, and takes them by ``rcl`` itself
(:mod:`ctypes` releases the lock meanwhile). It may prepare them, and hand the result over to the node's executor by
:meth:`LargeMessages.hand_over`.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import lru_cache
from threading import Thread
from typing import Any, TypeVar

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile

from robodyn_ros.nodes.common.client_library import RCLError, rclpy_implementation

Result = TypeVar("Result")

SWITCH_INTERVAL = 5e-4
"""Longest time for which the thread may keep the interpreter from the loop [s]; Python's default is ten times that."""


class BackgroundTask(Future[Result]):
    """A calculation in a thread; it starts at once, and ends with the process.

    Attributes:
        name: of the result, for messages.
    """

    def __init__(self, name: str, compute: Callable[[], Result]) -> None:
        """
        Args:
            name: of the result.
            compute: the calculation; called in the thread.
        """
        super().__init__()
        self.name = name
        sys.setswitchinterval(SWITCH_INTERVAL)
        Thread(target=self._run, args=(compute,), daemon=True).start()

    def wait(self, limit: float) -> bool:
        """Wait for the end, for a time at most [s]; True if it has ended."""
        return bool(wait([self], limit).done)

    def _run(self, compute: Callable[[], Result]) -> None:
        try:
            self.set_result(compute())
        except Exception as problem:  # raised by result, where it can be reported
            self.set_exception(problem)


PATIENCE = 5.0
"""Longest wait for the end of the thread [s]; it ends when it has prepared the message at hand."""

FOR_EVER = -1
"""A timeout of rclpy that means forever."""

OK, NOTHING = 0, 401
"""Return values of ``rcl_take_serialized_message``: RCL_RET_OK, RCL_RET_SUBSCRIPTION_TAKE_FAILED."""


class Allocator(ctypes.Structure):
    """``rcutils_allocator_t``."""

    _fields_ = tuple(
        (name, ctypes.c_void_p) for name in ("allocate", "deallocate", "reallocate", "zero_allocate", "state")
    )


class _Bytes(ctypes.Structure):
    """``rcl_serialized_message_t``, which is ``rcutils_uint8_array_t``."""

    _fields_ = (
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", Allocator),
    )


@lru_cache(maxsize=1)
def _libraries() -> tuple[Any, Any] | None:
    """The libraries ``rcl`` and ``rcutils``, which rclpy has loaded already; None if they have other names."""
    try:
        rcl, rcutils = ctypes.CDLL("librcl.so"), ctypes.CDLL("librcutils.so")
    except OSError:
        return None
    rcl.rcl_take_serialized_message.argtypes = (ctypes.c_void_p,) * 4
    rcutils.rcutils_get_default_allocator.restype = Allocator
    rcutils.rcutils_uint8_array_fini.argtypes = (ctypes.c_void_p,)
    return rcl, rcutils


class LargeMessages:
    """A subscription with a thread of its own; the node's executor does not serve it.

    Attributes:
        subscription: the subscription.
    """

    def __init__(
        self, node: Any, kind: type[Any], topic: str, qos: QoSProfile, receive: Callable[[memoryview], None]
    ) -> None:
        """
        Args:
            node: the subscriber, which derives from :class:`~robodyn_ros.nodes.common.diagnostics.ExceptionGuard`.
            kind: the class of the messages.
            topic: name of the topic.
            qos: of the subscription.
            receive: called in the thread for each message, with its bytes.
        """
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._node: Node = node
        self._receive = node.guarded(receive)
        self._has_ended = False
        self.subscription = node.create_subscription(kind, topic, receive, qos, raw=True)
        node.large_messages.append(self)
        context = node.context.handle
        with context:
            self._end = rclpy_implementation.GuardCondition(context)
            self._wait_set = rclpy_implementation.WaitSet(1, 1, 0, 0, 0, 0, context)
        node.context.on_shutdown(self._wake)  # ROS 2 Jazzy does not end the wait
        self._thread = Thread(target=node.guarded(self._run), name=f"messages of {topic}", daemon=True)
        self._thread.start()

    def hand_over(self, call: Callable[[], object]) -> None:
        """Let the node's executor call a function; to be called in the thread. After :meth:`destroy` it is not called.

        Args:
            call: called without arguments; its exception is counted as a fault.
        """

        def unless_ended() -> None:
            if not self._has_ended:
                call()

        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._node.guarded(unless_ended))

    def destroy(self) -> None:
        """Withdraw the topic, and end the thread."""
        if self._has_ended:
            return
        self._has_ended = True
        self._wake()
        self._thread.join(PATIENCE)
        self._node.large_messages.remove(self)
        self._node.destroy_subscription(self.subscription)
        self._wait_set.destroy_when_not_in_use()
        self._end.destroy_when_not_in_use()

    def _wake(self) -> None:
        with suppress(rclpy_implementation.InvalidHandle), self._end:  # it may have been destroyed before the context
            self._end.trigger_guard_condition()

    def _run(self) -> None:
        handle, context = self.subscription.handle, self._node.context
        with handle, self._end, self._wait_set:
            while not self._has_ended and context.ok():
                try:
                    self._wait_set.clear_entities()
                    self._wait_set.add_subscription(handle)
                    self._wait_set.add_guard_condition(self._end)
                    self._wait_set.wait(FOR_EVER)
                except RCLError:  # the context is shut down
                    return
                while not self._has_ended and (data := take(handle, self.subscription.msg_type)) is not None:
                    self._receive(data)


def take(handle: Any, kind: type[Any]) -> memoryview | None:
    """The bytes of a subscription's next message; None if there is none. The interpreter is free meanwhile.

    Args:
        handle: of the subscription, in use (``with handle``).
        kind: the class of the messages.

    Raises:
        RuntimeError: the middleware cannot deliver it.
    """
    libraries = _libraries()
    if libraries is None:  # the interpreter's lock stays held
        found = handle.take_message(kind, True)
        return None if found is None else memoryview(found[0])
    rcl, rcutils = libraries
    taken = _Bytes(allocator=rcutils.rcutils_get_default_allocator())
    code = rcl.rcl_take_serialized_message(handle.pointer, ctypes.byref(taken), None, None)
    try:
        if code == NOTHING:
            return None
        if code != OK:
            raise RuntimeError(f"rcl_take_serialized_message returns {code}")
        data = np.empty(taken.length, dtype=np.uint8)
        ctypes.memmove(data.ctypes.data, taken.buffer, taken.length)
        return data.data
    finally:
        if taken.buffer:
            rcutils.rcutils_uint8_array_fini(ctypes.byref(taken))
