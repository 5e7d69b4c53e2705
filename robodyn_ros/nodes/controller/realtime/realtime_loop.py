# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The control loop in its thread, and Python's tasks beside it: reports, and layouts of messages."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from builtin_interfaces.msg import Time

from robodyn_ros.control.core_library import CODES, Core
from robodyn_ros.control.faults.active_fault import FaultCause
from robodyn_ros.control.faults.table import FAULTS, KINDS, PHASES
from robodyn_ros.control.laws.base import Efforts, Reference
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.step import Command
from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes.controller.output import FaultReport
from robodyn_ros.nodes.controller.realtime.thread import UNKNOWN, RealtimeThread
from robodyn_ros.nodes.controller.states import BROKE_OFF, REFUSALS, StateCallback

READ_PERIOD = 0.2  #: Time between two reads of the ring while no entry is urgent [s]; shorter than the ring lasts.
JUDGE_PERIOD = 0.1  #: Shortest time between two judgements of the rate of the states [s].


class RealtimeLoop:
    """A loop that runs in a thread, from its start to its end.

    Attributes:
        thread: the thread.
        is_looked_at: True while a listener, topic or fault needs each period; read then as soon as possible.
    """

    def __init__(
        self,
        make_thread: Callable[[Core], RealtimeThread],
        callback: StateCallback,
        report: FaultReport,
        on_end: Callable[[str], None],
    ) -> None:
        """The loop and the listeners of ``callback`` get the periods. If the thread ends because it cannot read the
        messages, ``on_end`` is called with the reason.

        Raises:
            NotReadyError: the thread cannot be made; the message has the reason.
        """
        self._callback, self._report, self._on_end = callback, report, on_end
        self._loop, self._faults, self._statistics = callback.loop, callback.faults, callback.statistics
        self._unpublished = self._told = 0
        self._told_fault = self._told_restarts = 0
        self._judged = self._read_at = 0.0
        self._is_reading = False
        self.is_looked_at = True
        self.thread = make_thread(self._loop.core)

    def start(self, priority: int) -> None:
        """Start the thread; ``priority`` as :meth:`.RealtimeThread.start`."""
        layout = self._callback.states.whole.layout
        if layout is not None:
            self.thread.set_layout(layout)
        self._loop.enter_thread(self.thread)
        try:
            self.thread.start(priority)
        except RobodynError:
            self._loop.leave_thread()
            raise
        self._told_fault, self._told_restarts = self._loop.fault_count, self._loop.restarts

    def stop(self) -> None:
        """End the thread."""
        self.thread.stop()
        self._loop.leave_thread()
        self.read()
        self._keep_state_time()

    def poll(self) -> None:
        """Do the pending work of Python: report periods, and read a message that the thread could not read.

        To be called periodically.
        """
        thread = self.thread
        if self.is_looked_at or thread.notable != self._told or perf_counter() >= self._read_at + READ_PERIOD:
            self.read()
        self._loop.follow_model()
        if perf_counter() >= self._judged + JUDGE_PERIOD:
            self._judged = perf_counter()
            if self._loop.core.state.to_judge:
                self._loop.judge_rate()
        if self._callback.locked.names:
            thread.ask_for_letter()
        letter = thread.letter()
        for _ in range(thread.unpublished - self._unpublished):
            self._faults.count("message not published", "refused by the middleware")
            self._unpublished += 1
        self._keep_state_time()
        if letter is not None:
            self._read_letter(*letter)

    def _read_letter(self, kind: int, data: bytes) -> None:
        """Remember the locked joints of a message; have the thread accept its layout from now on if that is new."""
        try:
            self._callback.states.note_locked(data)
            if kind == UNKNOWN:
                self._callback.locked.check()
                self._learn(data)
            else:
                self.thread.drop_letter()
        except RobodynError as problem:
            self.thread.drop_letter()
            self._refuse(problem)

    def _learn(self, data: bytes) -> None:
        """Have the thread accept messages with the layout of this one from now on.

        Raises:
            RobodynError: the message cannot be used.
        """
        states = self._callback.states
        states.read(data, self._callback.now(), self._loop.settings.safety.state_timeout)
        layout = states.whole.layout
        if states.partial:
            self.stop()
            self._on_end("joint states come in parts")
        elif layout is None:
            self.stop()
            self._on_end("the encoding of joint states is not little-endian XCDR version 1")
        else:
            self.thread.set_layout(layout)
            self.thread.answer_letter()

    def _refuse(self, problem: RobodynError) -> None:
        self._faults.count(REFUSALS.get(type(problem), "state refused"), problem)

    def _keep_state_time(self) -> None:
        last = self._callback
        received, state_time, node_time = self.thread.last_state
        if received:
            last.received, last.state_time, last.node_time = received, state_time, node_time

    def read(self) -> None:
        """Report all new periods of the thread."""
        if self._is_reading:  # called again by a receiver of the entries
            return
        self._read_at, self._told = perf_counter(), self.thread.notable
        entries = self.thread.entries()
        self._is_reading = True
        try:
            if len(entries):
                self._report_periods(entries)
        finally:
            self._is_reading = False

    def _report_periods(self, entries: Any) -> None:
        """Report structs ``Entry``, oldest first: at once if no listener, topic or fault needs each of them."""
        last = self._callback
        plain = (entries["code"] == CODES["CORE_SEND"]) & (entries["kind"] < 0)
        plain &= entries["restarts"] == self._told_restarts
        told = last.listeners or last.output.tells_terms or self._report.lasts or entries["blind"].any()
        self.is_looked_at = bool(told)
        if told or not plain.all():
            for entry in entries:
                self._report_period(entry)
            return
        last.latest = when, latest = stamp_of(entries[-1]), command_of(entries[-1])
        for look in last.onlookers:
            self.is_looked_at |= look(when, latest)
        self._statistics.add_many(entries, latest, self._loop.settings.safety.overrun)

    def _report_period(self, entry: Any) -> None:
        problem = refusal(entry, self._loop)
        if problem is not None:
            self._refuse(problem)
            if entry["repeats"]:
                self._statistics.add_blind(command_of(entry))
            return
        if int(entry["restarts"]) > self._told_restarts:
            self._faults.count("states broke off", BROKE_OFF)
        self._told_restarts = int(entry["restarts"])
        if int(entry["kind"]) >= 0:
            if int(entry["faults"]) != self._told_fault:
                self._told_fault = int(entry["faults"])
                self._faults.count(FAULTS[KINDS[int(entry["kind"])]].words, problem_of(entry, self._loop))
            self._report.lasts = True
        elif self._report.lasts:
            self._report.say_over()
        if int(entry["code"]) != CODES["CORE_SEND"]:
            return
        command = command_of(entry)
        if entry["blind"]:
            self._statistics.add_blind(command)
            return
        when, overrun = stamp_of(entry), self._loop.settings.safety.overrun
        self._callback.latest = when, command
        for listen in (*self._callback.listeners, *self._callback.onlookers):
            listen(when, command)
        self._statistics.add(float(entry["begun"]), float(entry["done"]), command, overrun)
        self._callback.output.publish_terms((when.sec, when.nanosec), command)


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
