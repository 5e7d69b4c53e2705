"""The time of a trajectory under speed scaling: how far along it the arm is, and how fast it goes on.

A trajectory q(s) is followed at s(t). Its derivatives by time are::

    q̇ = q'(s) ṡ        q̈ = q''(s) ṡ² + q'(s) s̈

At full speed ṡ = 1. Another speed is reached with |s̈| = ``ACCELERATION``, so that no velocity of the reference jumps.
In C :meth:`PathTime.at` is ``path_time`` in ``../loop.c``, and :meth:`PathTime.reaches` is ``reaches`` in
``../export/ros2_control/src/references.c``.

Source: Hollerbach, Dynamic Scaling of Manipulator Trajectories, J. Dyn. Sys., Meas., Control 106 (1984), eq. 5 and 6.
"""

from __future__ import annotations

from math import copysign, inf, sqrt
from typing import NamedTuple

ACCELERATION = 2.0
"""How fast the speed along a trajectory changes [1/s²]: half a second from full speed to a stop."""


class PathTime(NamedTuple):
    """The time of a trajectory since its speed was set last."""

    t: float  # when that was [s]
    s: float = 0.0  # time of the trajectory then [s]
    speed: float = 1.0  # ṡ then
    target: float = 1.0  # ṡ to come

    def at(self, t: float) -> tuple[float, float, float]:
        """S [s], ṡ and s̈ [1/s] at a time t [s]."""
        u, ramp = t - self.t, self._ramp
        if u < 0.0 or ramp == 0.0:  # before, it went on at the speed of then
            return self.s + self.speed * u, self.speed, 0.0
        slope = copysign(ACCELERATION, self.target - self.speed)
        if u < ramp:
            return self.s + self.speed * u + 0.5 * slope * u * u, self.speed + slope * u, slope
        return self._ramped + self.target * (u - ramp), self.target, 0.0

    def reaches(self, s: float) -> float:
        """When the trajectory's time is s [s]; inf if it does not get there."""
        away, left = s - self.s, s - self._ramped
        if self._ramp > 0.0 and away >= 0.0 and left < 0.0:
            slope = copysign(ACCELERATION, self.target - self.speed)
            # The lesser root of slope/2 u² + speed u = away, in the form that loses no digits.
            return self.t + 2.0 * away / (self.speed + sqrt(max(self.speed**2 + 2.0 * slope * away, 0.0)))
        if self._ramp == 0.0 or away < 0.0:
            return self.t + away / self.speed if self.speed > 0.0 else inf if away > 0.0 else self.t
        return self.t + self._ramp + left / self.target if self.target > 0.0 else inf if left > 0.0 else self.t

    def changed(self, t: float, target: float) -> PathTime:
        """With another speed to come from t [s] on."""
        s, speed, _ = self.at(t)
        return PathTime(t, s, speed, target)

    def delayed(self, dt: float) -> PathTime:
        """Later by a time [s]."""
        return self._replace(t=self.t + dt)

    @property
    def _ramp(self) -> float:
        """How long the speed changes [s]."""
        return abs(self.target - self.speed) / ACCELERATION

    @property
    def _ramped(self) -> float:
        """Time of the trajectory when the speed is reached [s]."""
        return self.s + 0.5 * (self.speed + self.target) * self._ramp
