# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control loop in its thread, and Python's tasks beside it: reports, and layouts of messages."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from builtin_interfaces.msg import Time

from robodyn_ros.control.core_library import CODES, Core
from robodyn_ros.control.faults.active_fault import FaultCause
from robodyn_ros.control.faults.table import KINDS, PHASES
from robodyn_ros.control.laws.base import Efforts, Reference
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.step import Command
from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.controller.realtime.thread import RealtimeThread

if TYPE_CHECKING:
    from robodyn_ros.nodes.controller.states import StateMerger


READ_PERIOD = 0.2
"""Time between two reads of the ring while no entry is urgent [s]; shorter than the ring lasts."""

JUDGE_PERIOD = 0.1
"""Shortest time between two judgements of the rate of the states [s]."""


class RealtimeLoop:
    """A loop that runs in a thread, from its start to its end."""

    def __init__(
        self,
        loop: ControlLoop,
        make_thread: Callable[[Core], RealtimeThread],
        states: StateMerger,
        on_entries: Callable[[Any], None],
        on_end: Callable[[str], None],
    ) -> None:
        """
        Args:
            loop: the loop that the thread runs.
            make_thread: makes the thread for the core.
            states: reads messages whose layout is new.
            on_entries: called with the structs ``Entry`` that the thread has written, oldest first.
            on_end: called with the reason if the thread ends because it cannot read the messages.

        Raises:
            NotReadyError: the thread cannot be made; the message has the reason.
        """
        self._loop, self._states, self._on_entries, self._on_end = loop, states, on_entries, on_end
        self._unpublished = 0
        self._judged = self._read_at = 0.0
        self._told = 0
        self._is_reading = False
        self.thread = make_thread(loop.core)

    def start(self, priority: int) -> None:
        """Start the thread; ``priority`` as :meth:`.RealtimeThread.start`."""
        layout = self._states.whole.layout
        if layout is not None:
            self.thread.set_layout(layout)
        self._loop.enter_thread(self.thread)
        try:
            self.thread.start(priority)
        except RobodynError:
            self._loop.leave_thread()
            raise

    def stop(self) -> None:
        """End the thread."""
        self.thread.stop()
        self._loop.leave_thread()
        self.read()

    def poll(self, *, wants_messages: bool, rests: bool) -> tuple[int, bytes] | None:
        """Do the pending work of Python; to be called periodically.

        Args:
            wants_messages: True to get a message from time to time.
            rests: True if entries of plain commands are not urgent.

        Returns:
            A letter (:meth:`.RealtimeThread.letter`), if there is one.
        """
        if not rests or self.thread.notable != self._told or perf_counter() >= self._read_at + READ_PERIOD:
            self.read()
        self._loop.follow_model()
        if perf_counter() >= self._judged + JUDGE_PERIOD:
            self._judged = perf_counter()
            if self._loop.core.state.to_judge:
                self._loop.judge_rate()
        if wants_messages:
            self.thread.ask_for_letter()
        return self.thread.letter()

    def learn(self, data: bytes, now: int) -> None:
        """Have the thread accept messages with the layout of this one from now on.

        Raises:
            RobodynError: the message cannot be used.
        """
        self._states.read(data, now, self._loop.settings.safety.state_timeout)
        layout = self._states.whole.layout
        if self._states.partial:
            self.stop()
            self._on_end("joint states come in parts")
        elif layout is None:
            self.stop()
            self._on_end("the encoding of joint states is not little-endian XCDR version 1")
        else:
            self.thread.set_layout(layout)
            self.thread.answer_letter()

    def new_refusals(self) -> int:
        """Count of messages that the middleware has refused since the last call."""
        new = self.thread.unpublished - self._unpublished
        self._unpublished += new
        return new

    def read(self) -> None:
        """Report all new entries of the thread."""
        if self._is_reading:  # called again by a receiver of the entries
            return
        self._read_at, self._told = perf_counter(), self.thread.notable
        entries = self.thread.entries()
        self._is_reading = True
        try:
            if len(entries):
                self._on_entries(entries)
        finally:
            self._is_reading = False


def command_of(entry: Any) -> Command:
    """The command of a period, without the message of a fault."""
    n = len(entry["q"])
    effort, saturated, rate_limited, _, error, *terms = entry["rows"].reshape(-1, n)
    kind, age = int(entry["kind"]), float(entry["age"])
    state = None if entry["blind"] else (entry["q"], entry["qd"])
    cut, external = (saturated != 0.0, rate_limited != 0.0), entry["external"]
    if kind >= 0:
        return Command(effort, *cut, age, fault=KINDS[kind], state=state, external=external)
    reference = Reference(*entry["reference"].reshape(4, n))
    return Command(effort, *cut, age, Efforts(*terms), reference, error, state=state, external=external)


def stamp_of(entry: Any) -> Time:
    """The stamp of a period."""
    return Time(sec=int(entry["sec"]), nanosec=int(entry["nanosec"]))


def refusal(entry: Any, loop: ControlLoop) -> RobodynError | None:
    """Why a state got no command; None if it got one, or none was due."""
    code = int(entry["code"])
    if code in (CODES["CORE_SEND"], CODES["CORE_SILENT"]):
        return None
    return loop.refusal(code, FaultCause.of(entry), entry["q"], entry["qd"])


def problem_of(entry: Any, loop: ControlLoop) -> str:
    """The cause of a fault in a period, and the reaction to it, as a message."""
    text = loop.problem_of(KINDS[int(entry["kind"])], entry)
    return f"{text or 'already over'}; the reaction is {PHASES[int(entry['phase'])]}"
