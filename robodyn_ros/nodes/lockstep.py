"""Time that waits for the controller: the next state comes when the one before has been answered.

An answer is a message on ``joint_commands`` with the stamp of the state
(:class:`~robodyn_ros.nodes.closed_loop.ClosedLoop` stamps like this). A state that is stamped 0, as the first one is,
cannot be answered, for 0 means "no time" in ROS; the simulation goes on without. While an answer is due nothing is
blocked: every service is at hand, and the state is published again and again, for it may have been sent before the
controller was there. That goes for a paused simulation too, so that what a controller is to do from the first state on
can be asked of it before time goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from robodyn_ros.nodes.faults import Faults
from robodyn_ros.nodes.messages import NANO

AGAIN = 0.05
"""Time after which an unanswered state is published again [s]."""

FAULT = "no answer in lockstep"
"""What is counted when one has been due for too long."""


class Lockstep:
    """See the module.

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
        node.create_timer(AGAIN, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

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
