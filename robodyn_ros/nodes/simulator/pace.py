"""Time as the clock on the wall has it, or so many times as fast."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from rclpy.node import Node

from robodyn_ros.nodes.common.diagnostics import Faults
from robodyn_ros.nodes.common.messages import NANO
from robodyn_ros.nodes.common.timers import steady_timer

# Real time: which beats of a simulation are due.


class Pacer:
    """Counts beats against a clock, from one fixed start, so that rounding and late calls do not add up to a drift.

    What was missed stays due. Only what would take too long to make up for is given up, and counted.

    Attributes:
        lost: time that was given up [s].
        period: between two beats [s].
    """

    def __init__(self, period: float, patience: float) -> None:
        """
        Args:
            period: between two beats [s].
            patience: how far behind it may be without giving up [s].
        """
        self.lost = 0.0
        self.period = period
        self._patience = patience
        self._start: float | None = None
        self._count = 0

    def pace(self, period: float) -> None:
        """Have another period [s], and count from the next call of :meth:`due`."""
        self.period = period
        self.restart()

    def restart(self) -> None:
        """Count from the next call of :meth:`due`."""
        self._start = None

    def due(self, now: float) -> bool:
        """Whether a beat is due at a time of the clock [s]; it counts as made then.

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


WAKE = 1e-3
"""Shortest time between two looks at what is due [s]; what costs is the look."""

CATCH_UP = 2
"""How many times what is due in that time may be made at once, so that who answers the states can keep up."""

SLICE = 0.005
"""How long beats may be made at once [s]: what else there is to do has to wait for them."""

PATIENCE = 0.5
"""How far behind real time the simulation may fall before it gives up making up for it, and says so [s]."""


class RealTime:
    """Has the simulation go on by one beat after the other, each when it is due.

    Attributes:
        problem: empty: what is wrong shows in the time that is lost.
    """

    problem = ""

    def __init__(self, node: Node, beat: float, factor: float, go_on: Callable[[], None], faults: Faults) -> None:
        """
        Args:
            node: who has the timer.
            beat: simulated time of a beat [s].
            factor: simulated time per real time.
            go_on: makes a beat.
            faults: where lost time is counted.
        """
        self._node = node
        self._beat = beat
        self._go_on = go_on
        self._faults = faults
        self._running = False
        self._pacer = Pacer(beat / factor, PATIENCE)
        self._last = monotonic()
        self._timer: Any = None
        self.set_factor(factor)

    @property
    def lost(self) -> float:
        """Real time that was given up, because the simulation could not keep up [s]."""
        return self._pacer.lost

    def set_factor(self, factor: float) -> None:
        """Have time pass so many times as fast as on the wall from now on."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
        self._pacer.pace(self._beat / factor)
        wake = max(self._pacer.period, WAKE)
        self._timer = steady_timer(self._node, wake, self._tick)

    def start(self) -> None:
        """Let time pass from here on."""
        self._pacer.restart()
        self._running = True

    def stop(self) -> None:
        """Let time stand still."""
        self._running = False

    def restart(self) -> None:
        """Forget the time before."""
        self._pacer.restart()

    def _tick(self) -> None:
        now = monotonic()
        since, self._last = min(now - self._last, SLICE), now
        if not self._running:
            return
        lost = self.lost
        for _ in range(CATCH_UP * max(1, round(since / self._pacer.period))):
            if not self._pacer.due(now):
                break
            self._go_on()
            if monotonic() - now > SLICE:
                break
        if self.lost > lost:
            self._faults.count("cannot keep up", f"{self.lost:.3g} s lost against real time so far")


AGAIN = 0.05
"""Time after which an unanswered state is published again [s]."""

FAULT = "no answer in lockstep"
"""What is counted when one has been due for too long."""


class Lockstep:
    """Time that waits for the controller: the next state comes when the one before has been answered.

    An answer is a message on ``joint_commands`` with the stamp of the state
    (:class:`~robodyn_ros.nodes.controller.closed_loop.ClosedLoop` stamps like this). A state that is stamped 0, as the
    first one is,
    cannot be answered, for 0 means "no time" in ROS; the simulation goes on without. While an answer is due nothing is
    blocked: every service is at hand, and the state is published again and again, for it may have been sent before the
    controller was there. That goes for a paused simulation too, so that what a controller is to do from the first state
    on can be asked of it before time goes on.

    Attributes:
        lost: none, for real time does not matter.
    """

    lost = 0.0

    def __init__(
        self, node: Node, timeout: float, go_on: Callable[[], None], again: Callable[[], None], faults: Faults
    ) -> None:
        """
        Args:
            node: who has the timer.
            timeout: how long to wait for an answer before saying so [s].
            go_on: has the simulation go on by one beat, and calls :meth:`expect` for what it publishes.
            again: publishes the latest state again.
            faults: where missing answers are counted.
        """
        self._timeout = timeout
        self._go_on = go_on
        self._again = again
        self._faults = faults
        self._running = False
        self._said = False
        self._other = ""
        self._awaited: int | None = None
        self._since = monotonic()
        steady_timer(node, AGAIN, self._look)

    @property
    def problem(self) -> str:
        """What is wrong, if an answer has been due for too long."""
        return f"{FAULT} {self._delay()}" if self._is_late() else ""

    def start(self) -> None:
        """Go on whenever there is nothing to wait for."""
        self._running, self._since = True, monotonic()
        self._proceed()

    def stop(self) -> None:
        """Let time stand still; answers are still taken."""
        self._running = False

    def restart(self) -> None:
        """Wait for nothing; the states before do not count any more."""
        self._awaited = None

    def expect(self, stamp: int) -> None:
        """A state with this stamp [ns] was published: it is the one to be answered."""
        self._awaited = stamp or None
        self._since, self._said, self._other = monotonic(), False, ""

    def is_answer(self, stamp: int) -> bool:
        """Whether a command with this stamp [ns] is what is waited for."""
        if stamp != self._awaited:
            self._other = f"; the last command is for {stamp / NANO:.9g} s"
        return stamp == self._awaited

    def answered(self) -> None:
        """The answer was taken."""
        self._awaited = None
        self._proceed()

    def _proceed(self) -> None:
        while self._running and self._awaited is None:
            self._go_on()

    def _look(self) -> None:
        if self._awaited is None or monotonic() - self._since < AGAIN:
            return
        if self._is_late() and not self._said:
            self._said = True
            self._faults.count(FAULT, self._delay())
        self._again()

    def _is_late(self) -> bool:
        return self._running and self._awaited is not None and monotonic() - self._since >= self._timeout

    def _delay(self) -> str:
        assert self._awaited is not None
        return f"for {monotonic() - self._since:.1f} s, to the state at {self._awaited / NANO:.9g} s{self._other}"
