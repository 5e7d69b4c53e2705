"""Real time: how many periods of a simulation are due."""

from __future__ import annotations


class Pacer:
    """Counts periods against a clock, from one fixed start, so that rounding and late calls do not add up to a drift.

    What was missed is made up for, a few periods at a time, so that there is still time to answer in between. Only what
    would take too long to make up for is given up, and counted.

    Attributes:
        lost: time that was given up [s].
    """

    def __init__(self, period: float, most: int, patience: float) -> None:
        """
        Args:
            period: [s].
            most: periods that may be due at once.
            patience: how far behind it may be without giving up [s].
        """
        self.lost = 0.0
        self._period = period
        self._most = most
        self._patience = round(patience / period)
        self._start: float | None = None
        self._count = 0

    def restart(self) -> None:
        """Count from the next call of :meth:`due`."""
        self._start = None

    def due(self, now: float) -> int:
        """How many periods to go on by, at a time of the clock [s]; they count as done.

        A period is due when half of it is over: a timer that fires once a period, a little early or late, finds one
        each time, not none and then two.
        """
        if self._start is None:
            self._start, self._count = now, 0
        behind = max(0, round((now - self._start) / self._period) - self._count)
        given_up = max(0, behind - self._patience)
        self._start += given_up * self._period
        self.lost += given_up * self._period
        due = min(behind - given_up, self._most)
        self._count += due
        return due
