# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Costs of a motion: each gives its CasADi expressions, and they add up with weights.

    J = Σ weight (∫ running(q, q̇, q̈, τ) dt + final(q, q̇)),      MinimumTime() + 1e-4 * Effort()

The planners (collocation, iLQR) take the two expressions and integrate the first over time.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import check, finite_array
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.engine.casadi import ca
from robodyn_ros.errors import InputError, is_it
from robodyn_ros.robot.pose import Array


class Point(NamedTuple):
    """A motion at one time, as expressions or numbers; each (n,), and the state of the reference (2n,)."""

    q: ca.SX  # [rad] or [m]
    qd: ca.SX  # [rad/s] or [m/s]
    qdd: ca.SX  # [rad/s²] or [m/s²]
    effort: ca.SX  # [N·m] or [N]
    reference: ca.SX  # the cost's reference, for Tracking q and q̇


def symbolic_point(n: int, width: int) -> Point:
    """A point of n joints, as symbols, with a reference of a width."""
    return Point(*(ca.SX.sym(name, size) for name, size in zip(Point._fields, (n, n, n, n, width), strict=True)))


class Cost(ABC):
    """A term of the cost, or a sum of them."""

    @abstractmethod
    def running(self, at: Point) -> ca.SX:
        """The running cost, which is integrated over time."""

    def final(self, at: Point) -> ca.SX:
        """The final cost; it may not depend on the acceleration and the effort."""
        return 0.0

    def reference(self, times: ArrayLike, n: int) -> Array:
        """The reference (K, 2n) for n joints at times (K,) [s]; zeros if the cost has none."""
        return np.zeros((len(np.atleast_1d(times)), 2 * n))

    def functions(self, n: int) -> tuple[ca.Function, ...]:
        """The running and the final cost of n joints, as functions of the parts of a point."""
        at = symbolic_point(n, 2 * n)
        return tuple(ca.Function("cost", list(at), [ca.SX(cost)]) for cost in (self.running(at), self.final(at)))

    @property
    def moving(self) -> bool:
        """True if the reference depends on time, so that the motion must have a fixed duration."""
        return False

    def __add__(self, other: Cost) -> Cost:
        return CostSum((*terms_of(self), *terms_of(other)))

    def __rmul__(self, weight: float) -> Cost:
        if not np.isfinite(weight) or weight < 0.0:
            raise InputError("weight", f"of a cost must be a number not below 0, not {weight!r}", weight)
        return CostSum(tuple((weight * own, term) for own, term in terms_of(self)))


@dataclass(frozen=True)
class MinimumTime(Cost):
    """∫ 1 dt = T [s]."""

    def running(self, at: Point) -> ca.SX:
        """1."""
        return 1.0


@dataclass(frozen=True)
class WeightedSquare(Cost):
    """∫ xᵀ W x dt of a quantity x.

    Attributes:
        weights: the diagonal of W, one a joint; all 1 unless given.
        quantity: the quantity's name in :class:`Point`.
    """

    weights: Sequence[float] | None = None
    quantity: ClassVar[str]

    def running(self, at: Point) -> ca.SX:
        """xᵀ W x."""
        vector = getattr(at, self.quantity)
        return _form("weights", np.ones(vector.shape[0]) if self.weights is None else self.weights, vector)


class Effort(WeightedSquare):
    """∫ τᵀ W τ dt."""

    quantity = "effort"


class Smoothness(WeightedSquare):
    """∫ q̈ᵀ W q̈ dt."""

    quantity = "qdd"


@dataclass(frozen=True, eq=False)
class Tracking(Cost):
    """∫ (x - x_r)ᵀ Q (x - x_r) + τᵀ R τ dt + (x - x_r)ᵀ Q_T (x - x_r) at the end, with x = (q, q̇): LQR's cost, no ½.

    Attributes:
        target: the state x_r (2n,), or a trajectory to follow; both times begin at 0.
        Q: diagonal (2n,) or matrix (2n, 2n).
        R: diagonal (n,) or matrix (n, n); 0 unless given.
        QT: Q_T, as Q; 0 unless given.
    """

    target: ArrayLike | Trajectory
    Q: ArrayLike
    R: ArrayLike | None = None
    QT: ArrayLike | None = None

    def running(self, at: Point) -> ca.SX:
        """(x - x_r)ᵀ Q (x - x_r) + τᵀ R τ."""
        cost = _form("Q", self.Q, _state(at) - at.reference)
        return cost if self.R is None else cost + _form("R", self.R, at.effort)

    def final(self, at: Point) -> ca.SX:
        """(x - x_r)ᵀ Q_T (x - x_r)."""
        return 0.0 if self.QT is None else _form("QT", self.QT, _state(at) - at.reference)

    def reference(self, times: ArrayLike, n: int) -> Array:
        """The state (K, 2n) of the target at times (K,) [s]."""
        moments = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if isinstance(self.target, Trajectory):
            finite_array("target", self.target.positions, (len(self.target.times), n))
            end = self.target.duration  # its velocity counts there, also for a time that is later by its rounding
            q, qd, _ = self.target.samples(np.where(np.isclose(moments, end, rtol=1e-12, atol=0.0), end, moments))
            return np.hstack((q, qd))
        return np.tile(finite_array("target", self.target, (2 * n,)), (len(moments), 1))

    @property
    def moving(self) -> bool:
        """True if the target is a trajectory."""
        return isinstance(self.target, Trajectory)


@dataclass(frozen=True, eq=False)
class CostSum(Cost):
    """A weighted sum of costs; ``+`` and ``*`` make it.

    Attributes:
        terms: weight and cost of each term; at most one has a reference.
    """

    terms: tuple[tuple[float, Cost], ...]

    def __post_init__(self) -> None:
        if len(self._tracking()) > 1:
            raise InputError("cost", "can track one reference, not several", self.terms)

    def running(self, at: Point) -> ca.SX:
        """The weighted sum of the running costs."""
        return sum(weight * term.running(at) for weight, term in self.terms)

    def final(self, at: Point) -> ca.SX:
        """The weighted sum of the final costs."""
        return sum(weight * term.final(at) for weight, term in self.terms)

    def reference(self, times: ArrayLike, n: int) -> Array:
        """The reference of the term that has one."""
        tracking = self._tracking()
        return tracking[0].reference(times, n) if tracking else super().reference(times, n)

    @property
    def moving(self) -> bool:
        """True if the reference of a term depends on time."""
        return any(term.moving for _, term in self.terms)

    def _tracking(self) -> list[Cost]:
        """The terms with a reference, those of :class:`Tracking` and of a user's costs."""
        return [term for _, term in self.terms if type(term).reference is not Cost.reference]


def time_alone(cost: Cost) -> bool:
    """True if only time counts."""
    return all(isinstance(term, MinimumTime) for _, term in terms_of(cost))


def terms_of(cost: Cost) -> tuple[tuple[float, Cost], ...]:
    """Weight and cost of each term."""
    return cost.terms if isinstance(cost, CostSum) else ((1.0, cost),)


def _state(at: Point) -> ca.SX:
    return ca.vertcat(at.q, at.qd)


def _form(name: str, weights: ArrayLike, vector: ca.SX) -> ca.SX:
    """vectorᵀ W vector, with the diagonal or the whole of W."""
    matrix, size = np.asarray(weights, dtype=np.float64), vector.shape[0]
    if matrix.shape == (size,):
        matrix = np.diag(matrix)
    is_form = matrix.shape == (size, size) and np.isfinite(matrix).all()
    check(is_form, name, f"{size} finite numbers or a {size} by {size} matrix", weights)
    return ca.bilin(ca.DM(matrix), vector, vector)


NAMED: dict[str, Callable[..., Cost]] = {"time": MinimumTime, "effort": Effort, "smoothness": Smoothness}
"""Name → cost, for costs as users type them."""

SMOOTH = "time+0.1*smoothness"
"""Default cost, as text. Between two poses of the PRR arm and of a UR5e it takes 1.5 to 2.1 times the minimum time, and
efforts change by at most 4 limits a second; with time alone they jump from one limit to the other."""


def read_cost(text: str, effort: Array | None = None, velocity: Array | None = None) -> Cost:
    """Read a cost from a text: ``time``, ``effort``, ``smoothness``, or a sum like ``time+0.1*effort``.

    Args:
        text: the cost.
        effort: effort limits (n,); efforts then count as ratios of them, so that no joint and no unit outweighs
            another. A joint without a limit counts by its own unit, as all do unless limits are given.
        velocity: velocity limits (n,), with which accelerations are compared likewise.

    Raises:
        InputError: the text is no cost.
    """
    limits = {"effort": effort, "smoothness": velocity}
    terms: list[tuple[float, Cost]] = []
    for part in re.split(r"(?<!\d[eE])\+", text):
        weight, _, name = part.rpartition("*")
        name = name.strip()
        try:
            kind, factor = NAMED[name], float(weight or 1.0)
        except (KeyError, ValueError) as cause:
            problem = f"{part!r} is not one of {', '.join(NAMED)}, nor 0.1*one of them{is_it(name, NAMED)}"
            raise InputError("cost", problem, text) from cause
        limit = limits.get(name)
        weights = () if limit is None else ((np.where(np.isfinite(limit), limit, 1.0) ** -2.0).tolist(),)
        terms += terms_of(factor * kind(*weights))
    return CostSum(tuple(terms))
