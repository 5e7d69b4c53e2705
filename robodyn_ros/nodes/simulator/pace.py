# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The pace of simulated time: real time, a multiple of it, or in lockstep with the controller.

A beat is the unit by which the simulation advances: a whole number of steps of the plant.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from rclpy.node import Node

from robodyn_ros.nodes.common.client_library import steady_timer
from robodyn_ros.nodes.common.messages import NANO

WAKE_PERIOD = 1e-3
"""Shortest time between two checks for beats that are due [s]; a check takes time."""

CATCH_UP = 2
"""Greatest number of such periods whose beats are made at once, so that the controller can keep up."""

BURST = 0.005
"""Longest duration of beats made at once [s]; every other callback waits for them."""

PATIENCE = 0.5
"""Delay behind real time above which that time is given up, and reported [s]."""

ANSWER_TIMEOUT = 1.0
"""Longest wait for an answer before it is reported [s]."""

REPEAT_PERIOD = 0.05
"""Time after which an unanswered state is published again [s]."""

FAULT = "no answer in lockstep"
"""Kind of fault for an answer that has been due for too long."""


class Pacer:
    """Counts beats against a clock, from one fixed start, so that rounding and late calls do not add up to a drift.

    Missed beats stay due. Only beats that would take too long to catch up are given up, and counted.

    Attributes:
        lost: time that was given up [s].
        period: time between two beats [s].
    """

    def __init__(self, period: float, patience: float) -> None:
        """
        Args:
            period: time between two beats [s].
            patience: delay of the beats above which time is given up [s].
        """
        self.lost = 0.0
        self.period = period
        self._patience = patience
        self._start: float | None = None
        self._count = 0

    def set_period(self, period: float) -> None:
        """Change the period [s], and count from the next call of :meth:`due`."""
        self.period = period
        self.restart()

    def restart(self) -> None:
        """Count from the next call of :meth:`due`."""
        self._start = None

    def due(self, now: float) -> bool:
        """Return whether a beat is due at a time of the clock [s]; it then counts as made.

        A beat is due when half of its period is over: a timer that fires once a period, a little early or late, finds
        one each time, not none and then two.
        """
        if self._start is None:
            self._start, self._count = now, 0
        behind = round((now - self._start) / self.period) - self._count
        if behind <= 0:
            return False
        given_up = behind - max(1, round(self._patience / self.period))
        if given_up > 0:
            self._start += given_up * self.period
            self.lost += given_up * self.period
        self._count += 1
        return True


class Pace:
    """Beats that a timer of the node makes while time runs."""

    def __init__(self, node: Node, beat: float, make_beat: Callable[[], None]) -> None:
        """By the simulated time of a beat [s], and the function that advances the simulation by one."""
        self._node, self._beat, self._make_beat = node, beat, make_beat
        self._running = False
        self._timer: Any = None

    def stop(self) -> None:
        """Pause time; answers are still accepted in lockstep."""
        self._running = False

    def _set_timer(self, period: float | None, call: Callable[[], None]) -> None:
        """Replace the timer by one with a period [s], or by none."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
        self._timer = None if period is None else steady_timer(self._node, max(period, WAKE_PERIOD), call)


class RealTime(Pace):
    """Makes each beat of the simulation when it is due by real time.

    Attributes:
        problem: always empty; a problem shows in the time that is lost.
    """

    problem = ""

    def __init__(self, node: Node, beat: float, factor: float, make_beat: Callable[[], None]) -> None:
        """
        Args:
            node: its timer is used, and it counts lost time as a fault.
            beat: simulated time of a beat [s].
            factor: simulated time per real time; 0 for 1.
            make_beat: advances the simulation by a beat.
        """
        super().__init__(node, beat, make_beat)
        self._pacer = Pacer(beat, PATIENCE)
        self._last = monotonic()
        self.set_factor(factor)

    @property
    def lost(self) -> float:
        """Real time that was given up because the simulation could not keep up [s]."""
        return self._pacer.lost

    def set_factor(self, factor: float) -> None:
        """Change the ratio of simulated to real time; 0 for 1."""
        self._pacer.set_period(self._beat / (factor or 1.0))
        self._set_timer(self._pacer.period, self._tick)

    def start(self) -> None:
        """Start time from here on."""
        self._pacer.restart()
        self._running = True

    def restart(self) -> None:
        """Count beats from here on."""
        self._pacer.restart()

    def _tick(self) -> None:
        now = monotonic()
        since, self._last = min(now - self._last, BURST), now
        if not self._running:
            return
        lost = self.lost
        for _ in range(CATCH_UP * max(1, round(since / self._pacer.period))):
            if not self._pacer.due(now):
                break
            self._make_beat()
            if monotonic() - now > BURST:
                break
        if self.lost > lost:
            self._node.faults.count("cannot keep up", f"{self.lost:.3g} s lost against real time so far")


class Lockstep(Pace):
    """Makes a beat when the controller has answered the state before.

    An answer is a message on ``joint_commands`` with the stamp of the state, as
    :class:`~robodyn_ros.nodes.controller.closed_loop.ClosedLoop` sends it. A state with stamp 0, as the first one has,
    cannot be answered, because 0 means "no time" in ROS; the simulation continues without an answer. While an answer is
    due, every service is available, and the state is published again and again, since it may have been sent before the
    controller had started. The same holds while the simulation is paused, so that a controller can get its reference
    for the first state before time passes.

    The simulation does not wait for recorders or observers. A greatest factor gives them time: a beat is then made when
    the answer has come and real time has passed as well.

    Attributes:
        lost: always 0, since real time does not matter.
    """

    lost = 0.0

    def __init__(
        self, node: Node, beat: float, factor: float, make_beat: Callable[[], None], repeat: Callable[[], None]
    ) -> None:
        """
        Args:
            node: its timers are used, and it counts missing answers as faults.
            beat: simulated time of a beat [s].
            factor: greatest simulated time per real time; 0 for no limit.
            make_beat: advances the simulation by a beat, and calls :meth:`expect` for the state that it publishes.
            repeat: publishes the latest state again.
        """
        super().__init__(node, beat, make_beat)
        self._repeat = repeat
        self._reported = False
        self._other = ""
        self._awaited: int | None = None
        self._since = monotonic()
        steady_timer(node, REPEAT_PERIOD, self._check)
        self._pacer: Pacer | None = None
        self.set_factor(factor)

    @property
    def problem(self) -> str:
        """The problem if an answer has been due for too long; else empty."""
        return f"{FAULT} {self._delay()}" if self._is_late() else ""

    def set_factor(self, factor: float) -> None:
        """Change the greatest ratio of simulated to real time; 0 for no limit."""
        self._pacer = Pacer(self._beat / factor, PATIENCE) if factor else None
        self._set_timer(self._pacer.period if self._pacer else None, self._proceed)
        self._proceed()

    def start(self) -> None:
        """Start time; it passes whenever no answer is due."""
        self._running, self._since = True, monotonic()
        if self._pacer is not None:
            self._pacer.restart()  # a pause is not made up for
        self._proceed()

    def restart(self) -> None:
        """Wait for no answer; the states before no longer count."""
        self._awaited = None

    def expect(self, stamp: int) -> None:
        """Wait for the answer to a state that was published with this stamp [ns]."""
        self._awaited = stamp or None
        self._since, self._reported, self._other = monotonic(), False, ""

    def is_answer(self, stamp: int) -> bool:
        """Return whether a command with this stamp [ns] is the answer that is due."""
        if stamp != self._awaited:
            self._other = f"; the last command is for {stamp / NANO:.9g} s"
        return stamp == self._awaited

    def answered(self) -> None:
        """Continue: the answer was accepted."""
        self._awaited = None
        self._proceed()

    def _proceed(self) -> None:
        while self._running and self._awaited is None and (self._pacer is None or self._pacer.due(monotonic())):
            self._make_beat()

    def _check(self) -> None:
        if self._awaited is None or monotonic() - self._since < REPEAT_PERIOD:
            return
        if self._is_late() and not self._reported:
            self._reported = True
            self._node.faults.count(FAULT, self._delay())
        self._repeat()

    def _is_late(self) -> bool:
        return self._running and self._awaited is not None and monotonic() - self._since >= ANSWER_TIMEOUT

    def _delay(self) -> str:
        assert self._awaited is not None
        return f"for {monotonic() - self._since:.1f} s, to the state at {self._awaited / NANO:.9g} s{self._other}"
