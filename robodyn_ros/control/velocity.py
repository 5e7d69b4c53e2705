"""Velocity from positions, where the drives measure none: filtered differentiation.

    v ← v + (Δq / Δt - v) Δt / (T + Δt)

A first-order low pass of the difference quotient with the time constant T (backward Euler). It lags by T.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.robot.pose import Array


class VelocityEstimate:
    """See the module."""

    def __init__(self, n: int) -> None:
        """
        Args:
            n: number of joints.
        """
        self._rest = np.zeros(n)
        self._velocity = self._rest
        self._last: tuple[float, Array] | None = None

    def forget(self) -> None:
        """Begin with the next position, at rest."""
        self._last, self._velocity = None, self._rest

    def update(self, t: float, q: Array, time_constant: float, timeout: float) -> Array:
        """The velocity (n,) at time t [s], with the arm at q (n,).

        Args:
            t: time of the state [s].
            q: position (n,) in [rad] or [m].
            time_constant: T [s].
            timeout: after a longer pause the arm is taken to be at rest [s].
        """
        if self._last is None or not 0.0 <= t - self._last[0] <= timeout:
            self._velocity = self._rest
        elif t > self._last[0]:
            dt = t - self._last[0]
            self._velocity = self._velocity + ((q - self._last[1]) / dt - self._velocity) * (dt / (time_constant + dt))
        self._last = (t, q)
        return self._velocity
