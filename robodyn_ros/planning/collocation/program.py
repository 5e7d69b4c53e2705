# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A problem on a mesh as a nonlinear program: direct transcription, with the inverse dynamics at every point.

Unknowns are q, q̇, q̈ and τ at each point, in units of their own, and the duration of the leg for each interval; a leg
goes from the start, or a via point, to the next via point or the goal. Limits at the points are bounds on the unknowns.
The constraints are ID(q, q̇, q̈) = τ at the points, the integrals of the collocation scheme between them, the limits
between them, one duration in all intervals of a leg, the poses of the tool, and the distances from obstacles. So each
constraint has unknowns of one interval and the next, and the solver's matrices are banded (Betts, Practical Methods for
Optimal Control (2010), section 4.6).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.motion.point_to_point import require_limits
from robodyn_ros.engine.casadi import ca
from robodyn_ros.planning.collocation.scheme import Columns, Scheme
from robodyn_ros.planning.cost import time_alone
from robodyn_ros.planning.problem import JointGoal, Problem, rests, speed
from robodyn_ros.robot.pose import Array, Indices

APPROACH = 0.2
"""Ratio of a leg within which a motion leaves the position limits of its start, or returns to those of its end."""

TIE_BREAK = Columns(0.0, 0.0, 1e-4, 1e-3)
"""Weights of ∫ Σ (q̈ / a)² dt and ∫ Σ (τ / limit)² dt where time alone counts.

Without them the motion of a joint that is not the slowest is undetermined, and its efforts chatter. The acceleration a
takes a joint to its greatest speed in a quarter of the shortest duration: a joint with a strong motor and little
inertia chatters with a small fraction of its effort. The first costs at most 0.7 % of the time, the second about 0.1 %.
"""

LEAST_INERTIA = 1e-9
"""Least inertia by which an acceleration is judged, over the greatest of the arm."""

SHORTEST = 1e-3
"""Least duration of a leg [s]."""


class Mesh(NamedTuple):
    """The N intervals of a motion that is made of legs, each of a duration of its own."""

    leg: Indices  # leg of each interval (N,)
    ratio: Array  # ratio of the leg's duration that each interval takes (N,)

    @classmethod
    def uniform(cls, legs: int, intervals: int) -> Mesh:
        """A mesh with the same number of equal intervals in each leg."""
        return cls(np.repeat(np.arange(legs), intervals), np.full(legs * intervals, 1.0 / intervals))

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return len(self.leg)

    @property
    def ends(self) -> Indices:
        """Number of intervals up to the end of each leg."""
        return np.flatnonzero(np.append(np.diff(self.leg) > 0, True)) + 1

    def steps(self, durations: Array) -> Array:
        """Length of each interval (N,) in [s], from the legs' durations."""
        return np.asarray(durations)[self.leg] * self.ratio

    def divided(self, parts: Indices) -> Mesh:
        """A mesh in which each interval is divided into a number of parts (N,)."""
        return Mesh(np.repeat(self.leg, parts), np.repeat(self.ratio / parts, parts))


class Guess(NamedTuple):
    """A motion on a mesh, from which a solver starts."""

    q: Array  # (K, n)
    qd: Array
    qdd: Array
    effort: Array
    durations: Array  # of the legs [s]


class NonlinearProgram:
    """The nonlinear program of a problem on a mesh.

    Attributes:
        x: the unknowns.
        cost: cost of the motion.
        objective: the cost, with a tie-break where time alone counts, and larger where the efforts of an arm are small.
        constraints: expressions that stay between ``lower`` and ``upper``.
        lower: lower bounds of the constraints.
        upper: upper bounds of the constraints.
        low: lower bounds of the unknowns.
        high: upper bounds of the unknowns.
    """

    def __init__(self, problem: Problem, mesh: Mesh, scheme: Scheme) -> None:
        """
        Args:
            problem: the problem.
            mesh: the intervals.
            scheme: the collocation scheme.
        """
        self.problem, self.mesh, self.scheme = problem, mesh, scheme
        n, count = problem.model.n, scheme.points(mesh.intervals)
        self._shape = (n, count)
        self._units, limits = _units(problem), problem.bounds
        symmetric = limits.velocity, limits.acceleration, limits.effort
        self._limits = (limits.lower, limits.upper), *((-limit, limit) for limit in symmetric)  # of q, qd, qdd, effort
        parts = [ca.MX.sym(name, n, count) for name in ("q", "qd", "qdd", "u")]
        self._durations = ca.MX.sym("T", 1, mesh.intervals)  # of the leg of each interval
        self.x = ca.veccat(*parts, self._durations)
        self._columns = Columns(*(part * unit for part, unit in zip(parts, self._units, strict=True)))
        h = self._durations * ca.DM(mesh.ratio).T
        self._h = ca.repmat(h, n, 1)
        self._rows: list[ca.MX] = []
        self._least: list[Array] = []
        self._most: list[Array] = []
        self._equations()
        self.low, self.high = self._bounds()
        self._hull()
        self._goals()
        if problem.clearance is not None:
            self._constrain(problem.clearance.distances(self._columns.q[:, 1:]), problem.margin, np.inf)
        self.cost = self._cost(h)
        self.objective = (self.cost + (self._tie_break(h) if time_alone(problem.cost) else 0.0)) / self._usual_cost()
        self.constraints = ca.vertcat(*self._rows)
        self.lower, self.upper = np.concatenate(self._least), np.concatenate(self._most)

    def pack(self, guess: Guess) -> Array:
        """The vector of unknowns for a motion, clipped to their bounds."""
        parts = [(part / unit).ravel() for part, unit in zip(guess[:4], self._units, strict=True)]
        return np.clip(np.concatenate((*parts, guess.durations[self.mesh.leg])), self.low, self.high)

    def unpack(self, x: Array) -> Guess:
        """The motion for a vector of unknowns."""
        n, count = self._shape
        parts = zip(x[: 4 * n * count].reshape(4, count, n), self._units, strict=True)
        q, qd, qdd, effort = (part * unit for part, unit in parts)
        return Guess(q, qd, qdd, effort, x[4 * n * count :][self.mesh.ends - 1])

    def _constrain(self, expression: ca.MX, least: float | Array = 0.0, most: float | Array = 0.0) -> None:
        size = expression.numel()
        self._rows.append(ca.vec(ca.densify(expression)))
        self._least.append(np.broadcast_to(np.asarray(least, dtype=np.float64), (size,)))
        self._most.append(np.broadcast_to(np.asarray(most, dtype=np.float64), (size,)))

    def _equations(self) -> None:
        x, unit = self._columns, self._units
        self._constrain((self.problem.model.inverse(x.q, x.qd, x.qdd) - x.effort) / unit.effort)
        for defect, own in zip(self.scheme.defects(x, self._h), itertools.cycle((unit.qd, unit.q))):
            self._constrain(defect / own)
        same = np.flatnonzero(np.diff(self.mesh.leg) == 0)
        self._constrain(self._durations[same + 1] - self._durations[same])

    def _bounds(self) -> tuple[Array, Array]:
        """Bounds of the unknowns: limits at every point, and the known values at start, via points and goal."""
        limits, (n, count) = self.problem.bounds, self._shape
        q0, qd0 = self.problem.first
        low, high = np.repeat(np.swapaxes(self._limits, 0, 1)[:, :, np.newaxis], count, axis=2)
        soft = np.isfinite(limits.jerk)
        for point, is_still in ((0, not qd0.any()), (-1, rests(self.problem.goal, n))):
            if is_still:  # into rest and out of it the acceleration does not jump
                low[2, point, soft] = high[2, point, soft] = 0.0
        away = np.minimum(self._away()[:, np.newaxis], (limits.upper - limits.lower) / 4.0)
        low[0] += away
        high[0] -= away
        for row, values in ((0, q0), (1, qd0)):
            low[row, 0] = high[row, 0] = values
        goals = (*self.problem.via, self.problem.goal)
        for point, goal, stop in zip(self._stops(), goals, self.problem.stops[1:], strict=True):
            for row, values in ((0, np.where(goal.fixes(self.problem.model), stop, np.nan)), (1, speed(goal, n))):
                known = ~np.isnan(values)
                low[row, point, known] = high[row, point, known] = values[known]
        units = np.array(self._units)[:, np.newaxis]
        times = np.ones(self.mesh.intervals)
        longest = max(self.problem.longest, self.problem.duration or 0.0, SHORTEST)
        return (np.append((low / units).ravel(), SHORTEST * times), np.append((high / units).ravel(), longest * times))

    def _away(self) -> Array:
        """Distance of each point (K,) from the position limits; smaller near the ends, which may be at them."""
        times = self.scheme.times(self.mesh.steps(np.ones(len(self.mesh.ends))))
        ends = np.concatenate(([0.0], times[self._stops()]))
        nearest = np.abs(times[:, np.newaxis] - ends).min(axis=1)
        return self.problem.limit_margin * np.minimum(1.0, nearest / APPROACH) ** 2

    def _stops(self) -> list[int]:
        """The points at the via points and the goal."""
        return [(self.scheme.inner + 1) * int(end) for end in self.mesh.ends]

    def _hull(self) -> None:
        """Keep the limits between the points too."""
        limits, unit = self.problem.bounds, self._units
        for parts, bounds, own in zip(self.scheme.hull(self._columns, self._h), self._limits, unit, strict=True):
            for part in parts:
                self._hold_rows(part, *bounds, own)
        soft = [int(row) for row in np.flatnonzero(np.isfinite(limits.jerk))]
        for part in self.scheme.steps_of_acceleration(self._columns) if soft else ():
            most = self._h * np.where(np.isfinite(limits.jerk), limits.jerk, 0.0)
            for side in (part, -part):
                self._constrain(((side - most) / unit.qdd)[soft, :], -np.inf, 0.0)

    def _hold_rows(self, part: ca.MX, least: Array, most: Array, unit: Array) -> None:
        """Constrain those rows of an expression (n, N) that have finite bounds (n,)."""
        rows = [int(row) for row in np.flatnonzero(np.isfinite(least) | np.isfinite(most))]
        if rows:
            sides = (np.tile((side / unit)[rows], self.mesh.intervals) for side in (least, most))
            self._constrain((part / unit)[rows, :], *sides)

    def _goals(self) -> None:
        problem, x, limits = self.problem, self._columns, self.problem.bounds
        if problem.duration:
            total = ca.sum2(self._durations[(self.mesh.ends - 1).tolist()])
            self._constrain(total, problem.duration, problem.duration)
        for point, goal in zip(self._stops(), (*problem.via, problem.goal), strict=True):
            if not isinstance(goal, JointGoal):
                self._constrain(goal.residual(problem.model)(x.q[:, point]))
        if not problem.goal.fixes(problem.model).all() and rests(problem.goal, self._shape[0]):
            still = ca.DM.zeros(self._shape[0])
            limit = limits.effort / self._units.effort
            held = problem.model.inverse(x.q[:, -1], still, still) / ca.DM(self._units.effort)
            self._constrain(held, -limit, limit)

    def _cost(self, h: ca.MX) -> ca.MX:
        n, count = self._shape
        running, final = self.problem.cost.functions(n)
        # They count for a moving reference only, and then there is one leg of known duration.
        times = self.scheme.times((self.problem.duration or 0.0) * self.mesh.ratio)
        reference = ca.DM(self.problem.cost.reference(times, n)).T
        values = running(*self._columns, reference)
        return self._integral(values, h) + final(*self._columns.at([count - 1]), reference[:, -1])

    def _usual_cost(self) -> float:
        """The running cost where all unknowns are 1, in which the solver's tolerances count; 1 if it is greater."""
        n = self._shape[0]
        found = float(self.problem.cost.functions(n)[0](*self._units, np.zeros(2 * n)))
        return found if 0.0 < found < 1.0 else 1.0

    def _tie_break(self, h: ca.MX) -> ca.MX:
        """A small cost of acceleration and effort (:data:`TIE_BREAK`)."""
        x, unit = self._columns, self._units
        limits, shortest = self.problem.bounds, max(shortest_duration(self.problem), SHORTEST)
        quick = 4.0 * limits.velocity / shortest  # to full speed in a quarter of the shortest duration
        twice = 8.0 * np.ptp(self.problem.stops, axis=0) / shortest**2  # likewise to twice the mean speed
        swift = np.clip(np.where(np.isfinite(quick), quick, twice), unit.qdd, limits.acceleration)
        qdd = np.where(np.isfinite(limits.effort), np.minimum(quick, unit.qdd), swift)
        squares = TIE_BREAK.qdd * ca.sum1((x.qdd / qdd) ** 2)
        squares += TIE_BREAK.effort * ca.sum1((x.effort / unit.effort * np.minimum(unit.qdd / qdd, 1.0)) ** 2)
        return self._integral(squares, h)

    def _integral(self, values: ca.MX, h: ca.MX) -> ca.MX:
        """The integral over time of the values at the points (1, K)."""
        pairs = zip(self.scheme.weights, self.scheme.places(self._shape[1]), strict=True)
        return ca.dot(sum(weight * values[points] for weight, points in pairs), h)


def position_units(problem: Problem) -> Array:
    """The unit of each joint's position (n,): 1 rad or 1 m, or half of its range if that is less."""
    half = (problem.bounds.upper - problem.bounds.lower) / 2.0
    return np.where(half > 0.0, np.minimum(half, 1.0), 1.0)


def _units(problem: Problem) -> Columns:
    """The units of the unknowns, each (n,): limits, if there are any, so that all unknowns are about 1.

    That of effort is its limit, else the effort that holds the arm, or that of 1 rad/s² or m/s²; that of acceleration
    is the acceleration of the joint under this effort.
    """
    limits = problem.bounds
    held = np.max([np.abs(problem.model.holding(stop)) for stop in problem.stops], axis=0)
    inertia = np.max([np.diag(problem.dynamics.mass_matrix(stop)) for stop in problem.stops], axis=0)
    inertia = np.maximum(inertia, LEAST_INERTIA * (inertia.max() or 1.0))
    effort = np.where(np.isfinite(limits.effort), limits.effort, np.maximum(held, inertia))
    velocity = np.where(np.isfinite(limits.velocity), limits.velocity, 1.0)
    return Columns(position_units(problem), velocity, np.minimum(effort / inertia, limits.acceleration), effort)


def require_time(problem: Problem, kinds: Sequence[str] = ("velocity", "acceleration", "jerk")) -> None:
    """Refuse a problem whose shortest time no limit keeps above 0; ``kinds`` are those that the planner takes.

    Raises:
        InputError: as for :func:`~robodyn_ros.control.motion.point_to_point.require_limits`.
    """
    limits, moves = problem.bounds, np.ptp(problem.stops, axis=0) > 0.0
    require_limits("limits", problem.joints, moves, {kind: getattr(limits, kind) for kind in kinds}, limits.effort)


def shortest_duration(problem: Problem) -> float:
    """About the shortest duration that the limits of velocity, acceleration and effort allow [s]."""
    path, limits = np.abs(np.diff(problem.stops, axis=0)).sum(axis=0), problem.bounds
    acceleration = np.where(np.isfinite(limits.effort), _units(problem).qdd, limits.acceleration)
    return float(np.maximum(path / limits.velocity, 2.0 * np.sqrt(path / acceleration)).max())
