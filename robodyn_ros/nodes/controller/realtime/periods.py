# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The periods of the control loop, and Python's tasks beside them: layouts of messages, and reports."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.lifecycle import LifecycleNode

from robodyn_ros import errors
from robodyn_ros.control import Command, ControlLoop
from robodyn_ros.control.core_library import CODES
from robodyn_ros.control.faults.active_fault import FaultCause
from robodyn_ros.control.faults.table import FAULTS, KINDS, PHASES
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.nodes.common.diagnostics import PAUSE
from robodyn_ros.nodes.controller.locked_model import LockedModel
from robodyn_ros.nodes.controller.output import LoopStatistics, Output
from robodyn_ros.nodes.controller.realtime.runner import UNKNOWN, LastState, LoopRunner
from robodyn_ros.nodes.controller.states import StateMerger

READ_PERIOD = 0.2  #: Time between two reads of the ring while no entry is urgent [s]; shorter than the ring lasts.
JUDGE_PERIOD = 0.1  #: Shortest time between two judgements of the rate of the states [s].
BROKE_OFF = "states broke off"  #: Name under which interruptions of the states are counted.

REFUSALS: dict[type[RobodynError], str] = {
    errors.StaleStateError: "state too old",
    errors.FutureStateError: "state from the future",
    errors.OrderError: "state out of order",
    errors.JumpError: "position jumped",
    errors.EffortError: "control law failed",
    errors.HoldingError: "limits too low",
}
"""Error of a state without a command → the name under which it is counted; "state refused" for all others."""


class Periods:
    """The periods of a loop: one for each state, which a runner in C computes, and what Python reports of them.

    Attributes:
        states: reads messages.
        runner: of the loop, present or latest; None before the first.
        runs: True from :meth:`begin` to :meth:`end`.
        latest: stamp of the latest state with a command, and the command; None before the first.
        last: when the latest usable state came.
        listeners: called with stamp and command of each state with a command.
        onlookers: called with the latest only; each returns True to be called more often.
        is_looked_at: True while a listener, topic or fault needs each period; read then as soon as possible.
    """

    latest: tuple[Time, Command] | None

    def __init__(
        self, node: LifecycleNode, loop: ControlLoop, output: Output, locked: LockedModel, on_end: Callable[[str], None]
    ) -> None:
        """If a thread ends because it cannot read the messages, ``on_end`` is called with the reason."""
        self.loop, self.output, self.locked = loop, output, locked
        self._faults, self._log, self._on_end = node.faults, node.get_logger(), on_end
        self.statistics = LoopStatistics(loop.robot.joint_names)
        self._clock = node.get_clock().handle  # without the objects that rclpy makes around each time
        self.states = StateMerger(loop.robot.joint_names, locked.names, locked.known)
        self.listeners: list[Callable[[Time, Command], None]] = []
        self.onlookers: list[Callable[[Time, Command], bool]] = []
        self.runner: LoopRunner | None = None
        self.runs, self.is_looked_at = False, True
        self.reset()

    def reset(self) -> None:
        """Drop all states that have come."""
        self.last, self.latest = LastState(0.0, 0.0, 0.0), None
        self._ignore_until, self._is_to_note = 0.0, True
        self.states.reset()

    def now(self) -> int:
        """The time by the node's clock [ns]."""
        return int(self._clock.get_now().nanoseconds)

    @property
    def in_thread(self) -> bool:
        """True while a thread runs the periods."""
        return self.runner is not None and self.runner.open

    @property
    def fault(self) -> str:
        """The active fault, and the reaction to it; "" if there is none."""
        fault = self.loop.fault
        latched = ", latched" if fault is not None and fault.latched else ""
        return "" if fault is None else f"{FAULTS[fault.kind].words}: {fault.phase}{latched}"

    # What runs them

    def begin(self, runner: LoopRunner, priority: int | None = None) -> None:
        """Have a runner respond to states: in a thread with a priority (0: ordinary), or to those of :meth:`on_state`;
        NotReadyError if no thread can be started.
        """
        self._unpublished = self._told = 0
        self._judged = self._read_at = 0.0
        self._is_reading, self.is_looked_at = False, True
        self._told_fault, self._told_restarts = self.loop.fault_count, self.loop.restarts
        self._fault_lasts = self.loop.fault is not None
        runner.last_state = self.last
        if priority is not None and self.states.whole.layout is not None:
            runner.set_layout(self.states.whole.layout)
        self.loop.release(runner.request, judged=priority is None)
        try:
            if priority is not None:
                runner.start(priority)
        except RobodynError:
            self.loop.acquire()
            raise
        self.runner, self.runs = runner, True

    def end(self) -> None:
        """Respond to no more states."""
        if not self.runs or self.runner is None:
            return
        self.runs = False
        self.runner.stop()
        self.loop.acquire()
        self.read()
        self.last = self.runner.last_state

    def on_state(self, data: bytes) -> None:
        """Send the command for a serialized sensor_msgs/JointState, without a thread."""
        begun, safety, runner = perf_counter(), self.loop.settings.safety, self.runner
        if not self.runs or runner is None or begun < self._ignore_until:
            return
        try:
            now = self.now()
            state = self.states.read(data, now, safety.state_timeout)
            if state is None:  # only other joints, or the state is not complete yet
                return
            if self._is_to_note:
                self.states.note_locked(data)
                if self.latest is None:
                    self.locked.check()
                self._is_to_note = False
        except RobodynError as problem:
            self._refuse(problem)
            return
        runner.respond(state, now)
        if (duration := perf_counter() - begun) > safety.overrun:
            # The executor passes on all states that have come in the meantime, and all of them look new. If each took
            # as long as this one, the other callbacks would never run. Therefore ignore states for as long as it took.
            self._ignore_until = begun + 2.0 * duration
        if self.is_looked_at or runner.notable != self._told:
            self.read()

    def poll(self) -> None:
        """Report periods, and read a message that a thread could not read. To be called periodically."""
        runner = self.runner
        if not self.runs or runner is None:
            return
        if not runner.open:
            runner.watch()
        if self.is_looked_at or runner.notable != self._told or perf_counter() >= self._read_at + READ_PERIOD:
            self.read()
        self.loop.follow_model()
        if perf_counter() >= self._judged + JUDGE_PERIOD:
            self._judged = perf_counter()
            if self.loop.core.state.to_judge:
                self.loop.judge_rate()
        if self.locked.names:
            self._is_to_note = True
            runner.request_message()
        for _ in range(runner.unpublished - self._unpublished):
            self._faults.count("message not published", "refused by the middleware")
            self._unpublished += 1
        self.last = runner.last_state
        if (forwarded := runner.forwarded()) is not None:
            self._read_forwarded(runner, *forwarded)

    def _read_forwarded(self, runner: LoopRunner, kind: int, data: bytes) -> None:
        """Remember the locked joints of a message; have the thread accept its layout from now on if that is new."""
        try:
            self.states.note_locked(data)
            if kind == UNKNOWN:
                self.locked.check()
                self._learn(runner, data)
            else:
                runner.drop_forwarded()
        except RobodynError as problem:
            runner.drop_forwarded()
            self._refuse(problem)

    def _learn(self, runner: LoopRunner, data: bytes) -> None:
        """Have the thread accept messages with the layout of this one from now on; RobodynError: it cannot be used."""
        state = self.states.read(data, self.now(), self.loop.settings.safety.state_timeout)
        layout = self.states.whole.layout
        try:
            if self.states.partial:
                raise NotReadyError("joint states come in parts")
            if state is None:  # of other joints, such as a gripper's
                runner.drop_forwarded()
                return
            if layout is None:
                raise NotReadyError("the encoding of joint states is not little-endian XCDR version 1")
            runner.set_layout(layout)
            runner.process_forwarded()
        except NotReadyError as reason:
            self.end()
            self._on_end(str(reason))

    # Reports

    def read(self) -> None:
        """Report all new periods."""
        if self.runner is None or self._is_reading:  # called again by a receiver of the entries
            return
        self._read_at, self._told = perf_counter(), self.runner.notable
        entries = self.runner.entries()
        self._is_reading = True
        try:
            if len(entries):
                self._report_periods(entries)
        finally:
            self._is_reading = False

    def _report_periods(self, entries: Any) -> None:
        """Report structs ``Entry``, oldest first: at once if no listener, topic or fault needs each of them."""
        sends = entries["code"] == CODES["CORE_SEND"]
        if len(sent := entries[sends | (entries["repeats"] != 0)]):
            latest = command_of(sent[-1])
            self.statistics.add(sent, latest, self.loop.settings.safety.overrun)
        plain = sends & (entries["kind"] < 0) & (entries["restarts"] == self._told_restarts)
        told = self.listeners or self.output.tells_terms or self._fault_lasts or entries["blind"].any()
        self.is_looked_at = bool(told)
        if told or not plain.all():
            for entry in entries:
                self._report_period(entry)
            return
        when = stamp_of(entries[-1])
        self.latest = when, latest
        for look in self.onlookers:
            self.is_looked_at |= look(when, latest)

    def _report_period(self, entry: Any) -> None:
        code = int(entry["code"])
        if code not in (CODES["CORE_SEND"], CODES["CORE_SILENT"]):
            self._refuse(self.loop.refusal(code, FaultCause.of(entry), entry["q"], entry["qd"]))
            return
        if int(entry["restarts"]) > self._told_restarts:
            self._faults.count(BROKE_OFF, "missing, or their time jumped; the arm is held where it is")
        self._told_restarts = int(entry["restarts"])
        if int(entry["kind"]) >= 0:
            if int(entry["faults"]) != self._told_fault:
                self._told_fault = int(entry["faults"])
                kind, phase = KINDS[int(entry["kind"])], PHASES[int(entry["phase"])]
                problem = self.loop.problem_of(kind, entry) or "already over"
                self._faults.count(FAULTS[kind].words, f"{problem}; the reaction is {phase}")
            self._fault_lasts = True
        elif self._fault_lasts:
            self._fault_lasts = False
            self._log.info("the fault is over: the arm is held where it is", throttle_duration_sec=PAUSE)
        if code != CODES["CORE_SEND"] or entry["blind"]:
            return
        self.latest = when, command = stamp_of(entry), command_of(entry)
        for listen in (*self.listeners, *self.onlookers):
            listen(when, command)
        self.output.publish_terms((when.sec, when.nanosec), command)

    def _refuse(self, problem: RobodynError) -> None:
        self._faults.count(REFUSALS.get(type(problem), "state refused"), problem)


def command_of(entry: Any) -> Command:
    """The command of a period, without the message of a fault."""
    numbers = np.concatenate([entry[name] for name in ("q", "qd", "reference", "rows")]).reshape(-1, len(entry["q"]))
    fault = KINDS[int(entry["kind"])] if entry["kind"] >= 0 else None
    return Command(numbers, float(entry["age"]), entry["external"], fault, has_state=not entry["blind"])


def stamp_of(entry: Any) -> Time:
    """The stamp of a period."""
    return Time(sec=int(entry["sec"]), nanosec=int(entry["nanosec"]))
