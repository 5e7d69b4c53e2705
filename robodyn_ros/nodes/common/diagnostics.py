# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Faults, counted and logged, and ``/diagnostics``: how a node is doing, at a low rate.

Every node derives from :class:`ExceptionGuard`. So an exception that nobody foresaw ends neither a callback's node nor
the waiting of a client: it is a fault like others, and the log has its traceback.
"""

from __future__ import annotations

import logging
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import iscoroutinefunction, signature
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from robodyn_ros.errors import InputError
from robodyn_ros.nodes.common.messages import decode
from robodyn_ros.nodes.common.parameters import NodeParameters
from robodyn_ros.nodes.common.qos import RELIABLE
from robodyn_ros.nodes.common.timers import steady_timer
from robodyn_ros.plugins import raised
from robodyn_ros.settings import check_settings, setting

PAUSE = 2.0
"""Shortest time between two warnings of the same kind [s]."""

MOST_DIFFERENT = 10
"""Most warnings of one kind within that time, if they differ."""

NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")

RECENT = 2.0
"""How long a fault that was counted is a warning in /diagnostics: one that recurs is a lasting one [s]."""

MALFORMED = "malformed message"
"""What bytes that are no message are counted as."""

UNFORESEEN = "unforeseen exception"
"""What an exception that nobody handles is counted as."""


LIBRARY = logging.getLogger("robodyn_ros")
"""The library's log."""


class Faults:
    """Counts faults by kind, and logs each at most once every ``PAUSE``.

    Faults of one kind whose texts differ by more than numbers are different ones: each is logged, ``MOST_DIFFERENT`` of
    a kind at most within that time.

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
        self._warned: dict[str, dict[str, float]] = {}  # kind → text without numbers → when it was logged
        self._counted: dict[str, float] = {}
        self._told: set[str] = set()  # warnings that are logged once only

    @property
    def recent(self) -> list[str]:
        """Kinds that were counted within the last ``RECENT``, the latest first."""
        since = self._clock() - RECENT
        return sorted(
            (kind for kind, when in self._counted.items() if when >= since), key=self._counted.__getitem__, reverse=True
        )

    def count(self, kind: str, problem: object, *, once: bool = False) -> None:
        """Count a fault, and log a warning unless the same was logged a moment ago, or, with ``once``, ever."""
        text = str(problem)
        if self._is_due(kind, NUMBER.sub("#", text)) and not (once and text in self._told):
            self._told |= {text} if once else set()
            self._warn(f"{kind}: {text} (seen {self.counts[kind]} times)")

    def unforeseen(self, problem: BaseException) -> None:
        """Count an exception that nobody handles, and log its traceback unless one was logged a moment ago."""
        if self._is_due(UNFORESEEN, ""):
            text = "".join(traceback.format_exception(problem)).rstrip()
            self._warn(f"{UNFORESEEN} (seen {self.counts[UNFORESEEN]} times):\n{text}")

    def _is_due(self, kind: str, text: str) -> bool:
        """Count a fault with a text without numbers; True if it is to be logged."""
        self.counts[kind] += 1
        self._counted[kind] = now = self._clock()
        logged = {said: when for said, when in self._warned.get(kind, {}).items() if now - when < PAUSE}
        due = text not in logged and len(logged) < MOST_DIFFERENT
        if due:
            logged[text] = now
        self._warned[kind] = logged
        return due


class ExceptionGuard:
    """A base class for nodes, before rclpy's: what their callbacks raise is counted as a fault, and the node goes on.

    Subscriptions, timers and services are guarded one by one, so that a client gets its answer. Whatever else the
    executor raises is counted by :func:`robodyn_ros.nodes.common.executor.run`.

    An entity that is destroyed may have an event in the executor's queue already, and executors hand that on: to a
    callback whose publishers and services may be gone by then. So the guard of an entity that is destroyed drops them.
    """

    @cached_property
    def faults(self) -> Faults:
        """The node's faults."""
        return Faults(self.get_logger().warning)  # type: ignore[attr-defined]

    @cached_property
    def large_messages(self) -> list[Any]:
        """Subscriptions that have a thread of their own (:mod:`robodyn_ros.nodes.common.threads`)."""
        return []

    @property
    def subscriptions(self) -> Iterator[Any]:
        """Those that the executor serves."""
        every = super().subscriptions  # type: ignore[misc]
        apart = [one.subscription for one in self.large_messages]
        return (one for one in every if one not in apart)

    def destroy_node(self) -> None:
        """As rclpy has it, when the threads have ended that use the node."""
        for one in list(self.large_messages):
            one.destroy()
        super().destroy_node()  # type: ignore[misc]

    def create_subscription(
        self, kind: Any, topic: str, callback: Callable[[Any], Any], *args: Any, raw: bool = False, **named: Any
    ) -> Any:
        """As rclpy has it, but the bytes of a message are checked before the middleware makes a message of them.

        What is no message is counted as a fault. A ``raw`` callback gets the bytes as they came.
        """
        receive = self.guarded(callback if raw else self._decoding(kind, topic, callback))
        return super().create_subscription(kind, topic, receive, *args, raw=True, **named)  # type: ignore[misc]

    def _decoding(self, kind: Any, topic: str, callback: Callable[[Any], Any]) -> Callable[[bytes], None]:
        """A callback for the bytes of a message."""

        def receive(data: bytes) -> None:
            try:
                message = decode(data, kind)
            except InputError as problem:
                self.faults.count(MALFORMED, f"{topic}: {problem}")
                return
            callback(message)

        return receive

    def create_timer(self, period: float, callback: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """As rclpy has it."""
        return super().create_timer(period, self.guarded(callback), *args, **named)  # type: ignore[misc]

    def create_service(self, kind: Any, name: str, callback: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """As rclpy has it; a client is told what went wrong, as far as the response has fields for that."""
        return super().create_service(kind, name, self.guarded(callback, _failure), *args, **named)  # type: ignore[misc]

    def destroy_subscription(self, subscription: Any) -> bool:
        """As rclpy has it, and its callback is called no more."""
        return _end(subscription) and bool(super().destroy_subscription(subscription))  # type: ignore[misc]

    def destroy_timer(self, timer: Any) -> bool:
        """As rclpy has it, and its callback is called no more."""
        return _end(timer) and bool(super().destroy_timer(timer))  # type: ignore[misc]

    def destroy_service(self, service: Any) -> bool:
        """As rclpy has it, and its callback is called no more."""
        return _end(service) and bool(super().destroy_service(service))  # type: ignore[misc]

    def forget_destroyed(self) -> None:
        """Drop what rclpy keeps of entities that are destroyed: their callback group refers to them for good."""
        group = self.default_callback_group  # type: ignore[attr-defined]
        group.entities = {entity for entity in group.entities if entity() is not None}

    def guarded(
        self, callback: Callable[..., Any], otherwise: Callable[..., Any] = lambda problem, *_: None
    ) -> Callable[..., Any]:
        """A callback that raises nothing.

        Args:
            callback: a function, or a coroutine function.
            otherwise: gives the result instead of a callback that raised, from the exception and the arguments.
        """
        guarded: Any
        if iscoroutinefunction(callback):

            @wraps(callback)
            async def guarded(*args: Any) -> Any:
                if guarded.has_ended:
                    return args[-1]
                try:
                    return await callback(*args)
                except Exception as problem:  # whatever it is, the node goes on
                    self.faults.unforeseen(problem)
                    return otherwise(problem, *args)

        else:

            @wraps(callback)
            def guarded(*args: Any) -> Any:
                if guarded.has_ended:
                    return args[-1] if args else None
                try:
                    return callback(*args)
                except Exception as problem:  # whatever it is, the node goes on
                    self.faults.unforeseen(problem)
                    return otherwise(problem, *args)

        guarded.has_ended = False
        with suppress(ValueError):  # of a callable that has none
            guarded.__signature__ = signature(callback)  # rclpy's executor asks for it before every call of a timer
        made: Callable[..., Any] = guarded
        return made


def _end(entity: Any) -> bool:
    """Have the guard of an entity's callback call it no more; True."""
    if hasattr(entity.callback, "has_ended"):  # rclpy's own services have none
        entity.callback.has_ended = True  # the callback is not exchanged: an executor may be in it at this moment
    return True


def _failure(problem: Exception, request: Any, response: Any) -> Any:
    """The response of a service that raised."""
    if hasattr(response, "success") and hasattr(response, "message"):
        response.success, response.message = False, f"{UNFORESEEN}: {raised(problem)}"
    return response


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
    failed: bool = False  # True if the problem is an error, and not only worth a warning


class Diagnostics:
    """Publishes a node's reports: an error or a warning as long as there is a problem, and each fault with its count.

    A fault that was counted within the last ``RECENT`` is a warning by itself.
    """

    def __init__(self, node: Node, report: Callable[[], Report], settings: DiagnosticsSettings | None = None) -> None:
        """
        Args:
            node: the node, which derives from :class:`ExceptionGuard`.
            report: makes a report; called for each message.
            settings: of the diagnostics; those that the node has declared unless given.
        """
        self._node = node
        self._faults: Faults = node.faults
        self._report = report
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", RELIABLE)
        rate = (settings or NodeParameters(node).settings(DiagnosticsSettings)).diagnostics_rate
        steady_timer(node, 1.0 / rate, self.publish)

    def publish(self) -> None:
        """Publish a report now."""
        report = self._report()
        recent, values = self._faults.recent, {**report.values, **dict(sorted(self._faults.counts.items()))}
        level = DiagnosticStatus.WARN if report.problem or recent else DiagnosticStatus.OK
        status = DiagnosticStatus(
            level=DiagnosticStatus.ERROR if report.problem and report.failed else level,
            name=self._node.get_fully_qualified_name(),
            message="; ".join(filter(None, (report.problem or report.message, *recent))),
            hardware_id=report.hardware,
            values=[KeyValue(key=key, value=_text(value)) for key, value in values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@contextmanager
def library_log(node: Node) -> Iterator[None]:
    """Within it the library's records go to the node's log: what is being compiled, or that nothing can be.

    Args:
        node: whose log.
    """
    before, handler = LIBRARY.level, _Forwarding(node)
    LIBRARY.addHandler(handler)
    LIBRARY.setLevel(min(logging.INFO, before) if before else logging.INFO)
    try:
        yield
    finally:
        LIBRARY.setLevel(before)
        LIBRARY.removeHandler(handler)


class _Forwarding(logging.Handler):
    """Gives records to a node's log."""

    def __init__(self, node: Node) -> None:
        super().__init__(logging.INFO)
        self._log = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        """Give a record to the node's log, with its own level."""
        tell = self._log.warning if record.levelno >= logging.WARNING else self._log.info
        tell(record.getMessage())
