"""The way of the states from the sensors to who listens: late, at irregular times, some lost and some twice.

Each reading takes the delay and a part, at random, of the jitter. None overtakes another: what would come before the
one that was read earlier comes together with it, as on a bus with a queue. A reading comes at the first step of the
plant at which it is due. Its time stays that of the measurement.
"""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import NamedTuple

import numpy as np

from robodyn_ros.robot.pose import Array

ROUNDING = 1e-6
"""What of a delay counts as a rounding error, as a part of the step."""


class Reading(NamedTuple):
    """A measurement; arrays (n,) in the order of ``robot.joints``."""

    step: int  # when it was made, counted in steps of the plant
    q: Array  # [rad] or [m]
    qd: Array  # [rad/s] or [m/s]
    effort: Array  # that acted over the step before [N·m] or [N]


class Transport:
    """See the module. What happens at random is the same after every reset."""

    def __init__(
        self, delay: float, jitter: float, drop: float, repeat: float, step: float, seed: np.random.SeedSequence
    ) -> None:
        """
        Args:
            delay: of every reading [s].
            jitter: greatest additional delay, at random [s].
            drop: probability that a reading is lost.
            repeat: probability that a reading that is not lost comes twice.
            step: of the plant [s].
            seed: of what happens at random.
        """
        self._delay, self._jitter = delay / step, jitter / step
        self._drop, self._repeat = drop, repeat
        self._chance = bool(jitter or drop or repeat)
        self._seed = seed
        self.reset()

    @property
    def punctual(self) -> bool:
        """Whether every reading comes at once."""
        return self._delay == self._jitter == 0.0

    def reset(self) -> None:
        """Lose what is under way, and begin anew."""
        self._random = np.random.default_rng(self._seed)
        self._under_way: deque[tuple[int, Reading]] = deque()
        self._last = 0

    def send(self, reading: Reading) -> None:
        """Let a reading start its way when it is made."""
        # All three at a time, so that one setting leaves the others alone.
        late, lost, twice = self._random.random(3).tolist() if self._chance else (0.0, 1.0, 1.0)
        due = max(reading.step + ceil(self._delay + late * self._jitter - ROUNDING), self._last)
        if lost < self._drop:
            return
        self._last = due
        self._under_way.extend([(due, reading)] * (2 if twice < self._repeat else 1))

    def arrived(self, now: int) -> list[Reading]:
        """What has come by now [steps], the earliest first; each is given out once."""
        came = []
        while self._under_way and self._under_way[0][0] <= now:
            came.append(self._under_way.popleft()[1])
        return came
