# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Faults, counted and logged, and ``/diagnostics``: the state of a node, at a low rate.

Every node derives from :class:`ExceptionGuard`. So an unforeseen exception in a callback ends no node, and
its client gets an answer: it is a fault like others, and the log has its traceback.
"""

from __future__ import annotations

import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import signature
from math import inf
from typing import Any, NamedTuple, cast

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from robodyn_ros.control.parameter_file import refuse_replaced
from robodyn_ros.engine.library import library_records
from robodyn_ros.errors import InputError, NotReadyError, RobodynError
from robodyn_ros.nodes.common.client_library import RELIABLE, steady_timer
from robodyn_ros.nodes.common.messages import decode
from robodyn_ros.nodes.common.parameters import NodeParameters, with_name
from robodyn_ros.plugins import raised
from robodyn_ros.settings import CheckedSettings, setting

PAUSE = 2.0
"""Shortest time between two warnings of the same kind [s]."""

MOST_DIFFERENT = 10
"""Most warnings of one kind within that time, if they differ."""

NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")

RECENT = 2.0
"""Time for which a counted fault is a warning in /diagnostics, so that a recurring one is a permanent warning [s]."""

MALFORMED = "malformed message"
"""Kind of fault for bytes that are no message."""

UNFORESEEN = "unforeseen exception"
"""Kind of fault for an unhandled exception."""


class Faults:
    """Counts faults by kind, and logs each at most once every ``PAUSE``.

    Faults of one kind are different if their texts differ by more than numbers: each is logged, at most
    ``MOST_DIFFERENT`` of a kind within that time.

    Attributes:
        counts: kind → number of faults.
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
        self._warned: dict[str, dict[str, float]] = {}  # kind → text without numbers → time of the log [s]
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

    @contextmanager
    def counting(self, kind: str) -> Iterator[None]:
        """Context that ends with an error of the library, which is counted as a fault."""
        try:
            yield
        except RobodynError as problem:
            self.count(kind, problem)

    def unforeseen(self, problem: BaseException) -> None:
        """Count an unhandled exception, and log its traceback unless one was logged a moment ago; the message of a
        :class:`NotReadyError` needs none.
        """
        if isinstance(problem, NotReadyError):
            self.count("not ready", problem)
        elif self._is_due(UNFORESEEN, ""):
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
    """A base class for nodes, before rclpy's: an exception in a callback is counted as a fault, and the node continues.

    Subscriptions, timers and services are guarded one by one, so that a client gets its answer. Any other exception of
    the executor is counted by :func:`robodyn_ros.nodes.common.executor.run`.

    An executor may still have an event of a destroyed entity in its queue, and would call its callback, whose
    publishers and services may no longer exist. So the guard of a destroyed entity drops these events.

    Attributes:
        answered: when a client got its latest answer, by ``time.monotonic`` [s].
    """

    answered = -inf

    def __init__(self, name: str, **options: Any) -> None:
        """As in rclpy, but values for parameters of earlier versions are refused.

        Raises:
            InputError: there is one; the message names its replacement.
        """
        super().__init__(name, **options)  # type: ignore[call-arg]
        for given in self._parameter_overrides:  # type: ignore[attr-defined]
            refuse_replaced(given, node=name)

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """As in rclpy, but the refusal of a wrong type names its parameter."""
        result = super().set_parameters_atomically(parameter_list)  # type: ignore[misc]
        return result if result.successful else with_name(cast(Node, self), parameter_list, result)

    @property
    def may_be_cut_off(self) -> bool:
        """True while nothing is lost if the process ends in the middle of a callback."""
        return False

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

    def finish(self) -> None:
        """Answer the clients that wait; from then on messages and timers have no effect, but requests are answered."""
        for entity in (*self.subscriptions, *self.timers):  # type: ignore[attr-defined]
            _end(entity)

    def destroy_node(self) -> None:
        """As in rclpy, after the end of the threads that use the node."""
        for one in list(self.large_messages):
            one.destroy()
        super().destroy_node()  # type: ignore[misc]

    def create_subscription(
        self, kind: Any, topic: str, callback: Callable[[Any], Any], *args: Any, raw: bool = False, **named: Any
    ) -> Any:
        """As in rclpy, but the bytes of a message are checked before the middleware makes a message of them.

        Bytes that are no message are counted as a fault. A ``raw`` callback gets the bytes as they came.
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
        """As in rclpy."""
        return super().create_timer(period, self.guarded(callback), *args, **named)  # type: ignore[misc]

    def create_service(self, kind: Any, name: str, callback: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """As in rclpy; a client gets the error message, if the response has a field for it."""
        return super().create_service(kind, name, self.guarded(callback, _failure), *args, **named)  # type: ignore[misc]

    def destroy_subscription(self, subscription: Any) -> bool:
        """As in rclpy, and its callback is called no more."""
        return _end(subscription) and bool(super().destroy_subscription(subscription))  # type: ignore[misc]

    def destroy_timer(self, timer: Any) -> bool:
        """As in rclpy, and its callback is called no more."""
        return _end(timer) and bool(super().destroy_timer(timer))  # type: ignore[misc]

    def destroy_service(self, service: Any) -> bool:
        """As in rclpy, and its callback is called no more."""
        return _end(service) and bool(super().destroy_service(service))  # type: ignore[misc]

    def forget_destroyed(self) -> None:
        """Drop the destroyed entities that rclpy keeps: their callback group would refer to them for ever."""
        group = self.default_callback_group  # type: ignore[attr-defined]
        group.entities = {entity for entity in group.entities if entity() is not None}

    def guarded(self, callback: Callable[..., Any], otherwise: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """A callback that raises nothing.

        Args:
            callback: a function.
            otherwise: of a callback that answers a client; returns the answer if the callback raises, from the
                exception and the arguments.
        """

        def now(*args: Any) -> Any:
            try:
                return next(reversed(args), None) if guarded.has_ended else callback(*args)
            except Exception as problem:  # the node continues after any exception
                self.faults.unforeseen(problem)
                return otherwise and otherwise(problem, *args)
            finally:
                if otherwise is not None:
                    self.answered = time.monotonic()

        guarded: Any = wraps(callback)(now)
        guarded.has_ended = False
        with suppress(ValueError):  # of a callable without a signature
            guarded.__signature__ = signature(callback)  # rclpy's executor asks for it before every call of a timer
        return guarded


def _end(entity: Any) -> bool:
    """Make the guard of an entity's callback stop calling it; True."""
    if hasattr(entity.callback, "has_ended"):  # rclpy's own services have none
        entity.callback.has_ended = True  # the callback is not replaced: an executor may be running it
    return True


def _failure(problem: Exception, request: Any, response: Any) -> Any:
    """The response of a service that raised."""
    if hasattr(response, "success") and hasattr(response, "message"):
        response.success, response.message = False, f"{UNFORESEEN}: {raised(problem)}"
    return response


@dataclass(frozen=True)
class DiagnosticsSettings(CheckedSettings):
    """Settings of the diagnostics; each field's metadata describe it."""

    diagnostics_rate: float = setting(1.0, "rate of /diagnostics", "Hz", 0.01, 100.0)


class Report(NamedTuple):
    """The state of a node."""

    hardware: str  # name of the arm, if it is known
    problem: str  # empty if all is well
    message: str  # its present activity
    values: Mapping[str, object]
    failed: bool = False  # True if the problem is an error, False for a warning


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
        try:
            report = self._report()
        except NotReadyError as problem:
            report = Report("", str(problem), "", {}, failed=True)
        recent, values = self._faults.recent, {**report.values, **dict(sorted(self._faults.counts.items()))}
        level = DiagnosticStatus.WARN if report.problem or recent else DiagnosticStatus.OK
        level = DiagnosticStatus.ERROR if report.problem and report.failed else level
        text = "; ".join(filter(None, (report.problem or report.message, *recent)))
        self._publisher.publish(status_message(self._node, text, report.hardware, values, level))


def status_message(
    node: Node, text: str, hardware: str, values: Mapping[str, object], level: bytes = DiagnosticStatus.OK
) -> DiagnosticArray:
    """The status of a node now, with values by their names; ``hardware`` is the name of the arm."""
    name = node.get_fully_qualified_name()
    pairs = [KeyValue(key=key, value=_text(each)) for key, each in values.items()]
    status = DiagnosticStatus(level=level, name=name, message=text, hardware_id=hardware, values=pairs)
    message = DiagnosticArray(status=[status])
    message.header.stamp = node.get_clock().now().to_msg()
    return message


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def library_log(node: Node) -> AbstractContextManager[None]:
    """In this context the library's records go to the node's log (:func:`.library_records`)."""
    log = node.get_logger()
    return library_records(log.info, log.warning)
