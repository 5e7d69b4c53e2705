"""Faults, counted and logged, and ``/diagnostics``: how a node is doing, at a low rate."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.qos import RELIABLE
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.settings import check_settings, setting

PAUSE = 2.0
"""Shortest time between two warnings of the same kind [s]."""


class Faults:
    """Counts faults by kind, and logs each kind at most once every ``PAUSE``.

    Attributes:
        counts: kind → how often.
    """

    def __init__(self, warn: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            warn: logs a warning.
            clock: time that never goes back [s].
        """
        self.counts: Counter[str] = Counter()
        self._warn = warn
        self._clock = clock
        self._warned: dict[str, float] = {}

    def count(self, kind: str, problem: object) -> None:
        """Count a fault, and log a warning unless its kind was logged a moment ago."""
        self.counts[kind] += 1
        now = self._clock()
        if now - self._warned.get(kind, -PAUSE) >= PAUSE:
            self._warned[kind] = now
            self._warn(f"{kind}: {problem} (seen {self.counts[kind]} times)")


@dataclass(frozen=True)
class DiagnosticsSettings:
    """Settings of the diagnostics; each field's metadata say what it is."""

    diagnostics_rate: float = setting(1.0, "rate of /diagnostics", "Hz", 0.01, 100.0)

    def __post_init__(self) -> None:
        check_settings(self)


class Report(NamedTuple):
    """The state of a node."""

    hardware: str  # name of the arm, as far as it is known
    problem: str  # empty if all is well
    message: str  # what it is doing
    values: Mapping[str, object]
    failed: bool = False  # True if the problem is an error, after which nothing goes on


class Diagnostics:
    """Publishes a node's reports."""

    def __init__(self, node: Node, report: Callable[[], Report]) -> None:
        """
        Args:
            node: the node, which has declared the parameters of :class:`DiagnosticsSettings`.
            report: makes a report; called for each message.
        """
        self._node = node
        self._report = report
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", RELIABLE)
        rate = NodeParameters(node).settings(DiagnosticsSettings).diagnostics_rate
        steady_timer(node, 1.0 / rate, self.publish)

    def publish(self) -> None:
        """Publish a report now."""
        report = self._report()
        level = DiagnosticStatus.ERROR if report.failed else DiagnosticStatus.WARN
        status = DiagnosticStatus(
            level=level if report.problem else DiagnosticStatus.OK,
            name=self._node.get_fully_qualified_name(),
            message=report.problem or report.message,
            hardware_id=report.hardware,
            values=[KeyValue(key=key, value=_text(value)) for key, value in report.values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
