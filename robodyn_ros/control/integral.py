"""The integral of the position error, and what keeps it from winding up.

Conditional integration: where an effort was cut, the integral does not grow in the direction that would have it cut
more. It is bounded besides, since a wrong model explains only so much.

Source: Åström and Hägglund, Advanced PID Control (2006), §3.5, conditional integration.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.robot.pose import Array


class Integral:
    """See the module.

    Attributes:
        value: (n,) in [rad s] or [m s].
    """

    def __init__(self, n: int) -> None:
        """
        Args:
            n: number of joints.
        """
        self.value = np.zeros(n)

    def reset(self) -> None:
        """Back to zero."""
        self.value = np.zeros_like(self.value)

    def advance(self, dt: float, error: Array, cut: Array, limit: float) -> Array:
        """Go on by a period.

        Args:
            dt: the period [s].
            error: reference minus position, (n,) in [rad] or [m].
            cut: effort that was asked for minus effort that was sent, (n,); not zero where it was limited.
            limit: greatest magnitude of the integral [rad s] or [m s].
        """
        step = np.where(error * cut > 0.0, 0.0, dt * error)
        self.value = np.minimum(np.maximum(self.value + step, -limit), limit)
        return self.value
