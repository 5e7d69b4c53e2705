"""Periodic motions that begin and end at rest.

    q(t) = c + Σ a_l / (ω l) sin(ω l t) - b_l / (ω l) cos(ω l t),    l = 1 … L

(Swevers, Ganseman, Tükel, de Schutter and Van Brussel, Optimal robot excitation and identification, IEEE Transactions
on Robotics and Automation 13(5), 1997). With Σ a_l = 0 and Σ l b_l = 0 velocity and acceleration are 0 at t = 0 and
after each period. a_1 and b_1 follow from that, so that 2 L - 1 numbers remain for each joint: c, a_2 …, b_2 ….
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.robot.pose import Array


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """See the module.

    Attributes:
        period: [s].
        coefficients: c, a_2 … a_L, b_2 … b_L of each joint, (2 L - 1, n).
    """

    period: float
    coefficients: Array

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times (N,), each (N, n)."""
        q, qd, qdd = (basis @ self.coefficients for basis in bases(self.period, (len(self.coefficients) + 1) // 2, t))
        return q, qd, qdd


def bases(period: float, harmonics: int, t: Array) -> tuple[Array, Array, Array]:
    """What position, velocity and acceleration are multiples of, each (N, 2 L - 1)."""
    order = np.arange(1, harmonics + 1)
    rate = np.asarray(2.0 * np.pi / period * order, dtype=np.float64)
    angle: Array = np.outer(t, rate)
    sine, cosine = np.sin(angle), np.cos(angle)
    zero, one = np.zeros((len(t), 1)), np.ones((len(t), 1))

    def at_rest(first: Array, of_a: Array, of_b: Array) -> Array:
        return np.hstack([first, of_a[:, 1:] - of_a[:, :1], of_b[:, 1:] - order[1:] * of_b[:, :1]])

    return (
        at_rest(one, sine / rate, -cosine / rate),
        at_rest(zero, cosine, sine),
        at_rest(zero, -rate * sine, rate * cosine),
    )
