"""Time as the clock on the wall has it, or so many times as fast."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from robodyn_ros.nodes.faults import Faults
from robodyn_ros.nodes.pacer import Pacer

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
        self._timer = self._node.create_timer(wake, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME))

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
