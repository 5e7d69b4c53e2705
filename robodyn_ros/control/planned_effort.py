"""The efforts that a plan says its motion needs: all of them, gravity included, not what a law has to add."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.checks import finite_array
from robodyn_ros.robot.pose import Array, read_only


class PlannedEffort:
    """Efforts of some of n joints at K times, linear between them.

    Attributes:
        times: (K,) in [s], rising.
        efforts: (K, n) in [N·m] or [N]; NaN for joints that the plan does not speak of.
    """

    def __init__(self, times: Array, efforts: ArrayLike, n: int) -> None:
        """
        Args:
            times: see the class.
            efforts: likewise, finite.
            n: number of joints.

        Raises:
            InputError: wrong shapes, or something not finite.
        """
        self.times = times
        self.efforts = read_only(finite_array("efforts", efforts, (len(times), n)))
        self._knots: list[float] = times.tolist()

    def spread(self, columns: list[int], n: int) -> PlannedEffort:
        """The same as efforts of n joints, of which these are the columns given."""
        whole = np.full((len(self.times), n), np.nan)
        whole[:, columns] = self.efforts
        wider = PlannedEffort(self.times, np.zeros_like(whole), n)
        wider.efforts = read_only(whole)
        return wider

    def at(self, t: float) -> Array | None:
        """Efforts (n,) at time t [s]; None outside of the points: at the last, the arm may still brake."""
        after = bisect_right(self._knots, t)
        if after in (0, len(self._knots)):
            return None
        begin, end = self._knots[after - 1], self._knots[after]
        share = (t - begin) / (end - begin)
        between: Array = self.efforts[after - 1] + share * (self.efforts[after] - self.efforts[after - 1])
        return between
