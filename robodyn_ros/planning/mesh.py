"""Where on the way the equations are held: intervals between the start, the via points and the goal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.robot.pose import Array


class Mesh(NamedTuple):
    """Intervals of a motion that is made of legs, each of a duration of its own."""

    leg: NDArray[np.intp]  # of each interval (N,)
    share: Array  # its share of the leg's duration (N,)

    @classmethod
    def uniform(cls, legs: int, intervals: int) -> Mesh:
        """As many equal intervals in each leg."""
        return cls(np.repeat(np.arange(legs), intervals), np.full(legs * intervals, 1.0 / intervals))

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return len(self.leg)

    @property
    def ends(self) -> NDArray[np.intp]:
        """Number of intervals up to the end of each leg."""
        return np.flatnonzero(np.append(np.diff(self.leg) > 0, True)) + 1

    def steps(self, durations: Array) -> Array:
        """Length of each interval (N,) in [s], from the legs' durations."""
        lengths: Array = np.asarray(durations)[self.leg] * self.share
        return lengths

    def divided(self, parts: NDArray[np.int_]) -> Mesh:
        """Each interval divided into so many (N,)."""
        return Mesh(np.repeat(self.leg, parts), np.repeat(self.share / parts, parts))
