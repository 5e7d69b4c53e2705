"""Real time: which beats of a simulation are due."""

from __future__ import annotations


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
