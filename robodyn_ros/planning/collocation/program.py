"""A problem on a mesh as a nonlinear program: direct transcription, with the inverse dynamics at every point.

Unknowns are q, q̇, q̈ and τ at each point and the duration of each leg; a leg goes from the start, or a via point, to
the next via point or the goal. Limits at the points are bounds on the unknowns. The constraints are ID(q, q̇, q̈) = τ at
the points, the integrals of the collocation scheme between them, the limits between them, the poses of the tool, and
the distances from obstacles.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from robodyn_ros.planning.collocation.scheme import Columns, Scheme
from robodyn_ros.planning.cost import Point, time_alone
from robodyn_ros.planning.problem import JointGoal, Problem, rests, speed
from robodyn_ros.robot.pose import Array

APPROACH = 0.2
"""Ratio of a leg in which a motion leaves the position limits at which it begins, or comes back to them."""

TIE_BREAK = 1e-3
"""Weight of ∫ Σ (τ / limit)² dt where time alone counts; it costs about a thousandth of the time."""

SHORTEST = 1e-3
"""Least duration of a leg [s]."""


class Mesh(NamedTuple):
    """The N intervals of a motion that is made of legs, each of a duration of its own."""

    leg: NDArray[np.intp]  # leg of each interval (N,)
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
    def ends(self) -> NDArray[np.intp]:
        """Number of intervals up to the end of each leg."""
        return np.flatnonzero(np.append(np.diff(self.leg) > 0, True)) + 1

    def steps(self, durations: Array) -> Array:
        """Length of each interval (N,) in [s], from the legs' durations."""
        lengths: Array = np.asarray(durations)[self.leg] * self.ratio
        return lengths

    def divided(self, parts: NDArray[np.int_]) -> Mesh:
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
        objective: the cost, with a tie-break where time alone counts.
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
        self._scale = _effort_scale(problem)
        parts = [ca.MX.sym(name, n, count) for name in ("q", "qd", "qdd", "u")]
        self._durations = ca.MX.sym("T", len(mesh.ends))
        self.x = ca.veccat(*parts, self._durations)
        self._columns = Columns(parts[0], parts[1], parts[2], parts[3] * ca.repmat(ca.DM(self._scale), 1, count))
        legs = np.arange(len(mesh.ends))[:, np.newaxis] == mesh.leg
        h = self._durations.T @ ca.DM(legs * mesh.ratio)
        self._h = ca.repmat(h, n, 1)
        self._rows: list[ca.MX] = []
        self._least: list[Array] = []
        self._most: list[Array] = []
        self._equations()
        self.low, self.high = self._bounds()
        self._hull()
        self._goals()
        self._obstacles()
        self.cost = self._cost(h)
        self.objective = self.cost + (self._tie_break(h) if time_alone(problem.cost) else 0.0)
        self.constraints = ca.vertcat(*self._rows)
        self.lower, self.upper = np.concatenate(self._least), np.concatenate(self._most)

    def pack(self, guess: Guess) -> Array:
        """The vector of unknowns for a motion, clipped to their bounds."""
        scaled = guess.effort / self._scale
        x = np.concatenate([part.ravel() for part in (guess.q, guess.qd, guess.qdd, scaled)] + [guess.durations])
        return np.clip(x, self.low, self.high)

    def unpack(self, x: Array) -> Guess:
        """The motion for a vector of unknowns."""
        n, count = self._shape
        q, qd, qdd, u = (part.reshape(count, n) for part in x[: 4 * n * count].reshape(4, -1))
        return Guess(q, qd, qdd, u * self._scale, x[4 * n * count :])

    def _constrain(self, expression: ca.MX, least: float | Array, most: float | Array) -> None:
        size = expression.numel()
        self._rows.append(ca.vec(expression))
        self._least.append(np.broadcast_to(np.asarray(least, dtype=np.float64), (size,)))
        self._most.append(np.broadcast_to(np.asarray(most, dtype=np.float64), (size,)))

    def _equations(self) -> None:
        x = self._columns
        needed = self.problem.model.inverse(x.q, x.qd, x.qdd)
        self._constrain((needed - x.effort) / ca.repmat(ca.DM(self._scale), 1, self._shape[1]), 0.0, 0.0)
        for defect in self.scheme.defects(x, self._h):
            self._constrain(defect, 0.0, 0.0)

    def _bounds(self) -> tuple[Array, Array]:
        """Bounds of the unknowns: limits at every point, and the known values at start, via points and goal."""
        limits, (n, count) = self.problem.bounds, self._shape
        q0, qd0 = self.problem.first
        greatest = [limits.upper, limits.velocity, limits.acceleration, limits.effort / self._scale]
        least = [limits.lower, *(-part for part in greatest[1:])]
        low, high = (np.repeat(np.array(part)[:, np.newaxis], count, axis=1) for part in (least, greatest))
        away = np.minimum(self._away()[:, np.newaxis], (limits.upper - limits.lower) / 4.0)
        low[0] += away
        high[0] -= away
        for row, values in ((0, q0), (1, qd0)):
            low[row, 0] = high[row, 0] = values
        for point, goal in zip(self._stops(), (*self.problem.via, self.problem.goal), strict=True):
            wanted = speed(goal, n)
            rows = [(1, wanted)] + ([(0, self._positions(goal))] if isinstance(goal, JointGoal) else [])
            for row, values in rows:
                known = ~np.isnan(values)
                low[row, point, known] = high[row, point, known] = values[known]
        fixed = self.problem.duration if self.problem.duration and len(self.mesh.ends) == 1 else None
        times = np.full(len(self.mesh.ends), SHORTEST if fixed is None else fixed)
        longest = np.full(len(times), self.problem.longest if fixed is None else fixed)
        return np.append(low.ravel(), times), np.append(high.ravel(), longest)

    def _away(self) -> Array:
        """Distance of each point (K,) from the position limits; smaller near the ends, which may be at them."""
        times = self.scheme.times(self.mesh.steps(np.ones(len(self.mesh.ends))))
        ends = np.concatenate(([0.0], times[self._stops()]))
        nearest = np.abs(times[:, np.newaxis] - ends).min(axis=1)
        distances: Array = self.problem.limit_margin * np.minimum(1.0, nearest / APPROACH) ** 2
        return distances

    def _positions(self, goal: JointGoal) -> Array:
        index = (*self.problem.via, self.problem.goal).index(goal)
        return np.where(np.isnan(np.asarray(goal.q, dtype=np.float64)), np.nan, self.problem.stops[index + 1])

    def _stops(self) -> list[int]:
        """The points at the via points and the goal."""
        return [(self.scheme.inner + 1) * int(end) for end in self.mesh.ends]

    def _hull(self) -> None:
        """Keep the limits between the points too."""
        limits, scale = self.problem.bounds, self._scale
        position, velocity, effort = self.scheme.hull(self._columns, self._h)
        for part in position:
            self._hold_rows(part, limits.lower, limits.upper)
        for part in velocity:
            self._hold_rows(part, -limits.velocity, limits.velocity)
        for part in effort:
            limit = limits.effort / scale
            self._hold_rows(part / ca.repmat(ca.DM(scale), 1, self.mesh.intervals), -limit, limit)

    def _hold_rows(self, part: ca.MX, least: Array, most: Array) -> None:
        """Constrain those rows of an expression (n, N) that have finite bounds (n,)."""
        rows = [int(row) for row in np.flatnonzero(np.isfinite(least) | np.isfinite(most))]
        if rows:
            self._constrain(part[rows, :], *(np.tile(side[rows], self.mesh.intervals) for side in (least, most)))

    def _goals(self) -> None:
        problem, x, limits = self.problem, self._columns, self.problem.bounds
        if problem.duration and len(self.mesh.ends) > 1:
            self._constrain(ca.sum1(self._durations), problem.duration, problem.duration)
        for point, goal in zip(self._stops(), (*problem.via, problem.goal), strict=True):
            if not isinstance(goal, JointGoal):
                self._constrain(goal.residual(problem.model)(x.q[:, point]), 0.0, 0.0)
        if not isinstance(problem.goal, JointGoal) and rests(problem.goal, self._shape[0]):
            still = ca.DM.zeros(self._shape[0])
            held = problem.model.inverse(x.q[:, -1], still, still) / ca.DM(self._scale)
            self._constrain(held, -limits.effort / self._scale, limits.effort / self._scale)

    def _obstacles(self) -> None:
        clearance = self.problem.clearance
        if clearance is not None:
            self._constrain(clearance.distances(self._columns.q[:, 1:]), self.problem.margin, np.inf)

    def _cost(self, h: ca.MX) -> ca.MX:
        n, count = self._shape
        q, qd, qdd, u = (ca.SX.sym(name, n) for name in ("q", "qd", "qdd", "u"))
        point = Point(q, qd, qdd, u, ca.SX.sym("r", 2 * n))
        running = ca.Function("running", list(point), [ca.SX(self.problem.cost.running(point))])
        final = ca.Function("final", list(point), [ca.SX(self.problem.cost.final(point))])
        duration = self.problem.duration or 0.0
        times = (
            self.scheme.times(self.mesh.steps(np.array([duration]))) if self.problem.cost.moving else np.zeros(count)
        )
        reference = ca.DM(self.problem.cost.reference(times, n)).T
        values = running(*self._columns, reference)
        starts = self.scheme.ends(self.mesh.intervals)[0]
        terms = [weight * values[[start + k for start in starts]] for k, weight in enumerate(self.scheme.weights)]
        last = self._columns.at([count - 1])
        return ca.dot(sum(terms), h) + final(*last, reference[:, -1])

    def _tie_break(self, h: ca.MX) -> ca.MX:
        """A small cost of effort; without it, efforts that time does not determine would chatter."""
        scaled = self._columns.effort / ca.repmat(ca.DM(self._scale), 1, self._shape[1])
        squares = ca.sum1(scaled**2)
        starts = self.scheme.ends(self.mesh.intervals)[0]
        terms = [weight * squares[[start + k for start in starts]] for k, weight in enumerate(self.scheme.weights)]
        return TIE_BREAK * ca.dot(sum(terms), h)


def _effort_scale(problem: Problem) -> Array:
    """Scale of each effort (n,): its limit, or the effort that holds the arm, or 1."""
    held = np.max([np.abs(problem.model.holding(stop)) for stop in problem.stops], axis=0)
    return np.where(np.isfinite(problem.bounds.effort), problem.bounds.effort, np.maximum(held, 1.0))
