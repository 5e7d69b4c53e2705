# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""rclpy as the nodes use it: quality of service, timers, and the parts that differ between distributions.

The tables of the documentation use the names of the QoS profiles. Timers run by a clock that continues while a
simulation is paused.

Names that rclpy does not export, or that differ between distributions, are imported here only. Names that Lyrical's
rclpy removed (the older names of QoS policies, ``qos_event``, parameters declared by name alone) are used nowhere in
this package; ``test_house.py`` holds that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from time import monotonic
from typing import Any

from rclpy._rclpy_pybind11 import RCLError, RMWError
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.timer import Timer
from rclpy.type_support import check_for_type_support

try:
    from rclpy.experimental import EventsExecutor
except ImportError:
    from rclpy.executors import SingleThreadedExecutor as EventsExecutor

__all__ = ["EventsExecutor", "RCLError", "RMWError", "check_for_type_support", "rclpy_implementation"]


DELIVERY = 0.5
"""Longest wait for the delivery of a last message, and time for that of a last answer [s]."""

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For messages that the next one replaces: subscriptions to states and commands."""

PARTS = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For states that come in several messages, each about some of the joints."""

EVERY_STATE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For recordings of states: a recorder that gets no processor time for a while misses none."""

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""For messages that late subscribers need too, such as ``robot_description``."""

RECORDED = QoSProfile(depth=10_000, reliability=ReliabilityPolicy.RELIABLE)
"""For publishers of states and commands: a reliable subscriber that gets no processor time for a while misses none,
even of a simulation that runs faster than it can record."""

RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""For all others; a reliable publisher serves best-effort subscribers as well."""


CHECK_PERIOD, REPEAT = 0.3, 5.0
"""Time between two checks of the missing inputs, and time after which the same message is repeated [s]."""


def wait_until_delivered(publisher: Any) -> None:
    """Wait until reliable subscribers have the last message, for ``DELIVERY`` at most.

    Messages that the middleware has not delivered are lost when the process ends.
    """
    with contextlib.suppress(RCLError):
        publisher.wait_for_all_acked(Duration(seconds=DELIVERY))


def steady_timer(node: Node, period: float, call: Callable[[], object], *, autostart: bool = True) -> Timer:
    """Call a function periodically by the steady clock, even if the node uses another one.

    Args:
        node: its executor calls the function.
        period: time between two calls [s].
        call: called without arguments.
        autostart: False for a timer that rests until it is reset.
    """
    return node.create_timer(period, call, clock=Clock(clock_type=ClockType.STEADY_TIME), autostart=autostart)


def set_period(timer: Timer, period: float) -> None:
    """Change a timer's period [s] from its next call on."""
    nanoseconds = round(1e9 * period)
    if timer.timer_period_ns != nanoseconds:
        timer.timer_period_ns = nanoseconds


def once_running(node: Node, call: Callable[[], object]) -> None:
    """Call a function once, as soon as the node's executor runs, with any clock of the node."""

    def first() -> None:
        node.destroy_timer(timer)
        call()

    timer = steady_timer(node, 0.0, first)


def say_awaited(node: Node, awaited: Callable[[], str], tell: Callable[[], None] = lambda: None) -> None:
    """Log the input that a node waits for: after two checks without it, and as a warning every few seconds after that.

    Args:
        node: its log is used.
        awaited: returns the missing input in words, "" if there is none.
        tell: called when that has changed.
    """
    seen, said, when = "", "", 0.0

    def check() -> None:
        nonlocal seen, said, when
        text, before = awaited(), seen
        if text and text == before and (text != said or monotonic() - when >= REPEAT):
            if text == said:  # rclpy allows one severity a line of code
                node.get_logger().warning(f"waiting for {text}")
            else:
                node.get_logger().info(f"waiting for {text}")
            said, when = text, monotonic()
        seen = text
        if text != before:
            tell()

    steady_timer(node, CHECK_PERIOD, check)


def on_topic(node: Node, topic: str) -> str:
    """The full name of a topic, and how many nodes publish it."""
    name = node.resolve_topic_name(topic)
    count = node.count_publishers(name)
    return f"on the topic {name}, which {count or 'no'} node{'s publish' if count > 1 else ' publishes'}"
