# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Timers by a clock that continues while a simulation is paused, and a log of the inputs that a node waits for."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer

CHECK_PERIOD, REPEAT = 0.3, 5.0
"""Time between two checks of the missing inputs, and time after which the same message is repeated [s]."""


def steady_timer(node: Node, period: float, call: Callable[[], object]) -> Timer:
    """Call a function periodically by the steady clock, even if the node uses another one.

    Args:
        node: its executor calls the function.
        period: time between two calls [s].
        call: called without arguments.
    """
    return node.create_timer(period, call, clock=Clock(clock_type=ClockType.STEADY_TIME))


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
    """Log the input that a node waits for: after two checks without it, and then every few seconds until it comes.

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
            node.get_logger().warning(f"waiting for {text}")
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
