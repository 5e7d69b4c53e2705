# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Collocation schemes for second-order systems q̈ = f(q, q̇, τ).

On each interval of length h the acceleration is a polynomial of s = t/h; velocity and position are its exact
integrals, so that q̇ is the derivative of q everywhere and the equations of motion hold at the points themselves:

    trapezoidal       q̈ linear     q̇₁ = q̇₀ + h/2 (a₀ + a₁)         q₁ = q₀ + h q̇₀ + h²/6 (2 a₀ + a₁)
    hermite-simpson   q̈ quadratic  q̇₁ = q̇₀ + h/6 (a₀ + 4aₘ + a₁)   q₁ = q₀ + h q̇₀ + h²/6 (a₀ + 2 aₘ)
                                    q̇ₘ = q̇₀ + h/24 (5a₀ + 8aₘ - a₁)  qₘ = q₀ + h/2 q̇₀ + h²/96 (7a₀ + 6aₘ - a₁)

The first rows are the trapezoidal rule and Simpson's, as in Kelly, An introduction to trajectory optimization, SIAM
Review 59 (2017), and Betts, Practical Methods for Optimal Control (2010), section 4.5. Applied to the positions too,
those leave q̇ and the derivative of q different between the points; integrating twice does not (Moreno-Martín, Ros and
Celaya, Collocation methods for second order systems, RSS 2022). The curve through the points is a piecewise cubic or
quartic, and so a special case of the quintics of :class:`~robodyn_ros.control.motion.trajectory.Trajectory`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.robot.pose import Array


class Columns(NamedTuple):
    """Points of a motion, as expressions (n, K)."""

    q: Any
    qd: Any
    qdd: Any
    effort: Any

    def at(self, points: list[int]) -> Columns:
        """The columns of some points."""
        return Columns(*(part[:, points] for part in self))


class Scheme(ABC):
    """A collocation scheme.

    Attributes:
        inner: number of points inside each interval.
        weights: quadrature weights of the points of an interval, over its length.
        order: order of the error of the equations of motion between the points, in the length of the interval.
    """

    inner: int
    weights: Array
    order: int

    def points(self, intervals: int) -> int:
        """Number of points for a number of intervals."""
        return (self.inner + 1) * intervals + 1

    def times(self, steps: Array) -> Array:
        """Times (K,) [s] of the points, from the lengths of the intervals (N,)."""
        parts = self.inner + 1
        return np.concatenate(([0.0], np.cumsum(np.repeat(steps / parts, parts))))

    def places(self, points: int) -> list[list[int]]:
        """Of so many points, those at the beginnings of the intervals, inside them in turn, and at their ends."""
        size = self.inner + 1
        return [list(range(first, points - size + first, size)) for first in range(size + 1)]

    def parts(self, x: Columns) -> list[Columns]:
        """The columns of these points."""
        return [x.at(points) for points in self.places(x.q.shape[1])]

    def effort(self, at: Array, ratio: float) -> Array:
        """The effort (n,) at a ratio of an interval, from those of its points (inner + 2, n), by their polynomial."""
        nodes = np.linspace(0.0, 1.0, self.inner + 2)
        others = [np.delete(nodes, k) for k in range(len(nodes))]
        basis = [np.prod((ratio - rest) / (own - rest)) for own, rest in zip(nodes, others, strict=True)]
        return np.array(basis) @ at

    @abstractmethod
    def defects(self, x: Columns, h: Any) -> list[Any]:
        """The defects in q̇ and q by turns, which must be 0, each (n, N).

        Every row of h (n, N) holds the lengths of the intervals.
        """

    @abstractmethod
    def hull(self, x: Columns, h: Any) -> Columns:
        """Inner Bernstein coefficients of each part of the points: lists of expressions (n, N).

        If they and the points keep to a bound, the whole curve does (Farin, Curves and Surfaces for CAGD (2002),
        section 5.2).
        """

    @abstractmethod
    def steps_of_acceleration(self, x: Columns) -> list[Any]:
        """The jerk at the ends of the intervals, between which it is linear, times their lengths, each (n, N)."""


class Trapezoidal(Scheme):
    """Linear acceleration and effort."""

    inner, weights, order = 0, np.array([0.5, 0.5]), 2

    def defects(self, x: Columns, h: Any) -> list[Any]:
        """The defects in q̇ and q."""
        a, b = self.parts(x)
        return [b.qd - a.qd - h / 2 * (a.qdd + b.qdd), b.q - a.q - h * a.qd - h**2 / 6 * (2 * a.qdd + b.qdd)]

    def hull(self, x: Columns, h: Any) -> Columns:
        """Inner Bernstein coefficients (:meth:`Scheme.hull`)."""
        a, b = self.parts(x)
        return Columns([a.q + h / 3 * a.qd, b.q - h / 3 * b.qd], [a.qd + h / 2 * a.qdd], [], [])

    def steps_of_acceleration(self, x: Columns) -> list[Any]:
        """The jerk times the lengths of the intervals, in which it is constant."""
        a, b = self.parts(x)
        return [b.qdd - a.qdd]


class HermiteSimpson(Scheme):
    """Quadratic acceleration and effort."""

    inner, weights, order = 1, np.array([1.0, 4.0, 1.0]) / 6.0, 3

    def defects(self, x: Columns, h: Any) -> list[Any]:
        """The defects in q̇ and q."""
        a, m, b = self.parts(x)
        return [
            m.qd - a.qd - h / 24 * (5 * a.qdd + 8 * m.qdd - b.qdd),
            m.q - a.q - h / 2 * a.qd - h**2 / 96 * (7 * a.qdd + 6 * m.qdd - b.qdd),
            b.qd - a.qd - h / 6 * (a.qdd + 4 * m.qdd + b.qdd),
            b.q - a.q - h * a.qd - h**2 / 6 * (a.qdd + 2 * m.qdd),
        ]

    def hull(self, x: Columns, h: Any) -> Columns:
        """Inner Bernstein coefficients (:meth:`Scheme.hull`)."""
        a, m, b = self.parts(x)
        # The middle coefficient of a quartic follows from its value in the middle: (c0 + 4 c1 + 6 c2 + 4 c3 + c4) / 16.
        q1, q3 = a.q + h / 4 * a.qd, b.q - h / 4 * b.qd
        q2 = (16 * m.q - a.q - 4 * q1 - 4 * q3 - b.q) / 6
        velocity = [a.qd + h / 3 * a.qdd, b.qd - h / 3 * b.qdd]
        acceleration, effort = ([2 * m[part] - (a[part] + b[part]) / 2] for part in (2, 3))
        return Columns([q1, q2, q3], velocity, acceleration, effort)

    def steps_of_acceleration(self, x: Columns) -> list[Any]:
        """The jerk at the ends of the intervals, times their lengths."""
        a, m, b = self.parts(x)
        return [4 * m.qdd - 3 * a.qdd - b.qdd, a.qdd + 3 * b.qdd - 4 * m.qdd]


SCHEMES: dict[str, type[Scheme]] = {"trapezoidal": Trapezoidal, "hermite-simpson": HermiteSimpson}
