"""Going over from one effort to another without a step."""

from __future__ import annotations

from robodyn_ros.robot.pose import Array


class Blend:
    """What the first new effort differs by from the last old one is added to the new ones, and fades linearly."""

    def __init__(self, last: Array, duration: float) -> None:
        """
        Args:
            last: the last effort before the change, (n,).
            duration: within which the difference fades [s].
        """
        self._last = last
        self._duration = duration
        self._begin: float | None = None

    def offset(self, t: float, wanted: Array) -> Array:
        """What to add to an effort wanted at a time [s], (n,); the first call is the beginning."""
        if self._begin is None:
            self._begin, self._difference = t, self._last - wanted
        return max(0.0, 1.0 - (t - self._begin) / self._duration) * self._difference

    def over(self, t: float) -> bool:
        """Whether nothing is left of it at a time [s], or time ran backwards."""
        return self._begin is not None and not 0.0 <= t - self._begin < self._duration
