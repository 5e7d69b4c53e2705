"""Timers by a clock that goes on while a simulation stands still."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.timer import Timer


def steady_timer(node: Node, period: float, call: Callable[[], object]) -> Timer:
    """Call something periodically by the steady clock, whatever clock the node uses.

    Args:
        node: whose executor calls it.
        period: time between two calls [s].
        call: called without arguments.
    """
    return node.create_timer(period, call, clock=Clock(clock_type=ClockType.STEADY_TIME))


def set_period(timer: Timer, period: float) -> None:
    """Have a timer call every so often [s] from its next call on."""
    nanoseconds = round(1e9 * period)
    if timer.timer_period_ns != nanoseconds:
        timer.timer_period_ns = nanoseconds


def once_running(node: Node, call: Callable[[], object]) -> None:
    """Call something once, as soon as the node's executor runs, whatever clock the node uses."""

    def first() -> None:
        node.destroy_timer(timer)
        call()

    timer = steady_timer(node, 0.0, first)
