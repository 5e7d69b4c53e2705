# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Time scaling: the fastest motion along a given path, a spline through the stops.

Along a path q(s) every limit of velocity, acceleration and effort is a limit on ṡ² and s̈. TOPP-RA (the library toppra)
finds the fastest profile (Pham and Pham, A new approach to time-optimal path parameterization based on reachability
analysis, IEEE Transactions on Robotics 34 (2018)), with this package's dynamics as the constraint on efforts. Its s̈
jumps from piece to piece, and with it the efforts. So the motion is averaged over a window of a millisecond or less,
which makes ramps of the jumps and keeps the limits (an FIR filter: Biagiotti and Melchiorri, FIR filters for online
trajectory planning with time- and frequency-domain specifications, Control Engineering Practice 20 (2012)).

A limit of jerk, of q⃛ = q_s s⃛ + 3 q_ss ṡ s̈ + q_sss ṡ³ (subscripts are derivatives by s), is none on ṡ² and s̈ alone.
With one, s(t) is sought in pieces of constant s⃛: the least sum of their durations under all limits, of efforts too, at
both ends of each piece, by IPOPT, from the profile of TOPP-RA, slowed down. Its efforts need no average.
"""

from __future__ import annotations

import itertools
import logging
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.engine.casadi import ca
from robodyn_ros.errors import InputError, need
from robodyn_ros.planning.collocation.program import require_time, shortest_duration
from robodyn_ros.planning.plan import Plan, Violation
from robodyn_ros.planning.problem import Problem, speed
from robodyn_ros.planning.verification import LIMIT_TOLERANCE, SLOWED, infeasibility, refined, verify
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, setting, whole

METHOD = "time-scaling"

WINDOW = 1e-3
"""Greatest window of the average [s]."""

ROUNDS = 4
"""Number of rounds in which viscous friction is linearized; each halves the orders of magnitude between its speed and
that of the profile."""

SLOW_FRICTION = 0.1
"""Viscous friction at the speeds of the first round, over the limits of effort."""

TINY = 1e-9
"""Keeps a division by friction defined."""

NO_LIMIT = 1e6
"""Value for "no limit" beside limits of other joints, in the programs that TOPP-RA solves."""

FIRST_GUESS = 1.5
"""Factor by which the fastest profile is slowed down as first guess of the search for one with limits of jerk."""

FEWEST = 4
"""Least number of pieces of constant s⃛ from stop to stop."""

SHORTEST_LEG = 1e-6
"""Least duration from stop to stop, over that of the slowed profile."""

ITERATIONS = 300
"""Greatest number of iterations of the search for a profile with limits of jerk."""

ATTEMPTS = 10
"""Number of attempts; each lowers the limits a little, or adds points, if the last one missed a constraint."""


@dataclass(frozen=True)
class TimeScalingSettings(CheckedSettings):
    """Settings of :func:`plan`; each field's metadata describe it."""

    grid: int = whole(100, "pieces of the path from stop to stop; where jerk is limited, of the whole path", 10, 10000)
    tolerance: float = setting(0.005, "error of the efforts, over their limit", "-", 1e-8, 1.0)


def plan(problem: Problem, settings: TimeScalingSettings | None = None) -> Plan:
    """Find the fastest motion along the spline through start, via points and goal, at rest at both ends.

    Obstacles do not change the path; a collision makes the result a refusal.

    Args:
        problem: the problem; its cost is ignored, because the shortest time is sought.
        settings: settings, the defaults unless given.

    Raises:
        InputError: the problem is contradictory, or not of time alone: it has a fixed duration, or a start or a goal
            in motion. Or no limit keeps its shortest time above 0.
        ConfigurationError: toppra is not installed.
    """
    settings, begun = settings or TimeScalingSettings(), perf_counter()
    if problem.duration is not None:
        raise InputError("duration", "is the result of time scaling; it cannot be given", problem.duration)
    if problem.first[1].any() or np.nan_to_num(speed(problem.goal, problem.model.n), nan=0.0).any():
        raise InputError("start_velocity", "and that of the goal must be 0 for time scaling", problem.first[1])
    why = infeasibility(problem)
    if why is not None:
        return Plan.refused(problem.joints, *why, METHOD, perf_counter() - begun)
    require_time(problem, ("velocity", "acceleration"))
    path, ratio = spline(problem.stops), 1.0
    profile = times = None
    for _ in range(ATTEMPTS):
        if profile is None:
            profile, times = profile_of(problem, path, settings.grid, ratio), None
        if profile is None:
            return Plan.refused(problem.joints, *_no_profile(problem, path), METHOD, perf_counter() - begun)
        trajectory, stops = profile.motion(problem, path, times)
        found = verify(problem, trajectory, stops, settings.tolerance)
        if found.ratio <= 1.0:
            break
        if found.worst.constraint.partition(" of ")[0] in SLOWED:
            profile, ratio = None, ratio / (1.0 + 2.0 * LIMIT_TOLERANCE * found.ratio)
        else:  # more points where the efforts are not linear between two points
            times = refined(trajectory.times, found.errors > settings.tolerance)
    worst, solved, reason = found.worst, found.ratio <= 1.0, f"solved on {len(trajectory.times) - 1} pieces"
    if not solved:
        reason = f"along this path the {worst.constraint} is missed by {worst.amount:.3g} {worst.unit}"
    return found.plan(problem, trajectory, solved, reason, trajectory.duration, METHOD, begun)


def spline(stops: tuple[Array, ...]) -> Any:
    """The path: a spline through the stops.

    Its parameter grows with the root of the distance, which avoids overshoot (Lee, Choosing nodes in parametric curve
    interpolation, Computer-Aided Design 21 (1989)).
    """
    toppra = _toppra()
    apart = [stops[0], *(b for a, b in itertools.pairwise(stops) if _apart(a, b))]
    if len(apart) < 2:
        raise InputError("goal", "is the present position of the arm", stops[-1])
    knots = np.concatenate(([0.0], np.cumsum(np.sqrt(np.linalg.norm(np.diff(apart, axis=0), axis=1)))))
    return toppra.SplineInterpolator(knots / knots[-1], np.array(apart))


def _apart(a: Array, b: Array) -> bool:
    """True if two stops are not at the same positions."""
    return bool(np.abs(b - a).max() > 1e-9)


class SpeedProfile(NamedTuple):
    """A profile of the speed along the path, in pieces of constant s̈."""

    s: Array  # s at the grid points (M,)
    sd: Array  # ṡ there [1/s]
    knots: Array  # s of the stops

    @property
    def times(self) -> Array:
        """Times at the grid points (M,) [s]."""
        return np.concatenate(([0.0], np.cumsum(2.0 * np.diff(self.s) / (self.sd[:-1] + self.sd[1:]))))

    def at(self, path: Any, t: Array) -> tuple[Array, Array]:
        """Position and velocity (K, n) at times (K,); at rest outside."""
        times = self.times
        piece = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
        since = np.clip(t, 0.0, times[-1]) - times[piece]
        rate = (np.diff(self.sd) / np.diff(times))[piece]
        s = self.s[piece] + since * (self.sd[piece] + rate * since / 2.0)
        sd = np.where((t < 0.0) | (t > times[-1]), 0.0, self.sd[piece] + rate * since)
        return path(s), path(s, 1) * sd[:, np.newaxis]

    def motion(self, problem: Problem, path: Any, times: Array | None = None) -> tuple[Trajectory, list[int]]:
        """The motion averaged over a window, and the indices of its points at the stops after the first."""
        grid = self.times
        half = min(WINDOW, 0.5 * float(np.diff(grid).min())) / 2.0
        times = np.column_stack((grid - half, grid, grid + half)).ravel() if times is None else times - half
        nodes, weights = np.polynomial.legendre.leggauss(4)
        # The window in two parts, because s̈ may jump at the nearest grid point.
        jump = np.clip(grid[np.searchsorted((grid[:-1] + grid[1:]) / 2.0, times)], times - half, times + half)
        q: Array = np.zeros((len(times), problem.model.n))
        for begin, length in ((times - half, jump - times + half), (jump, times + half - jump)):
            for node, weight in zip(nodes, weights, strict=True):
                at = self.at(path, begin + length * (node + 1.0) / 2.0)[0]
                q += (weight * length / (4.0 * half))[:, np.newaxis] * at
        (before, slow), (after, fast) = self.at(path, times - half), self.at(path, times + half)
        qd, qdd = (after - before) / (2.0 * half), (fast - slow) / (2.0 * half)
        return _motion(problem, np.interp(self.knots, self.s, grid) + half, times - times[0], q, qd, qdd)


class SmoothProfile(NamedTuple):
    """A profile of the speed along the path, in pieces of constant s⃛."""

    times: Array  # at the ends of the pieces (M,) [s]
    s: Array  # s there (M,)
    sd: Array  # ṡ [1/s]
    sdd: Array  # s̈ [1/s²]

    def motion(self, problem: Problem, path: Any, times: Array | None = None) -> tuple[Trajectory, list[int]]:
        """The motion, and the indices of its points at the stops after the first."""
        times = refined(self.times, np.ones(len(self.times) - 1, dtype=bool)) if times is None else times
        piece = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(self.times) - 2)
        u = times - self.times[piece]
        sddd = (np.diff(self.sdd) / np.diff(self.times))[piece]
        v, a = self.sd[piece], self.sdd[piece]
        s = self.s[piece] + u * (v + u * (a / 2.0 + u * sddd / 6.0))
        sd, sdd = (v + u * (a + u * sddd / 2.0))[:, np.newaxis], (a + u * sddd)[:, np.newaxis]
        s = np.clip(s, self.s[0], self.s[-1])  # rounding
        arrivals = np.interp(np.asarray(path.waypoints[0]), self.s, self.times)
        return _motion(problem, arrivals, times, path(s), path(s, 1) * sd, path(s, 1) * sdd + path(s, 2) * sd**2)


def profile_of(problem: Problem, path: Any, grid: int, ratio: float) -> SpeedProfile | SmoothProfile | None:
    """The fastest profile that stays within a ratio of the limits, those of jerk too; None if there is none."""
    profile = fastest_profile(problem, path, grid, ratio)
    if profile is None or not np.isfinite(problem.bounds.jerk).any():
        return profile
    return smooth_profile(problem, path, profile, grid, ratio)


def smooth_profile(problem: Problem, path: Any, profile: SpeedProfile, grid: int, ratio: float) -> SmoothProfile | None:
    """The fastest profile in pieces of constant s⃛ that stays within a ratio of all limits; None if none is found.

    Args:
        problem: the problem.
        path: a spline.
        profile: the fastest one without a limit of jerk.
        grid: number of pieces, about.
        ratio: ratio of the limits.
    """
    knots, fast = profile.knots, profile.times
    arrivals = np.interp(knots, profile.s, fast)
    scale = FIRST_GUESS * float(fast[-1])  # the unit of time: all unknowns are about 1
    counts = np.maximum(np.round(grid * np.diff(arrivals) / fast[-1]).astype(int), FEWEST)
    leg = np.repeat(np.arange(len(counts)), counts)
    total = len(leg)
    pairs = itertools.pairwise(arrivals)
    inside = np.concatenate([np.linspace(a, b, n, endpoint=False) for (a, b), n in zip(pairs, counts, strict=True)])
    guess_s = np.interp(np.append(inside, fast[-1]), fast, profile.s)
    guess_v = scale / FIRST_GUESS * np.interp(guess_s, profile.s, profile.sd)
    s, v, a = (ca.MX.sym(name, 1, total + 1) for name in "sva")
    durations = ca.MX.sym("T", 1, len(counts))
    h = durations[leg.tolist()] / ca.DM(np.asarray(counts[leg], dtype=np.float64)).T
    j = (a[1:] - a[:-1]) / h
    defects = [s[1:] - s[:-1] - h * (v[:-1] + h * (a[:-1] / 2 + h * j / 6)), v[1:] - v[:-1] - h * (a[:-1] + h * j / 2)]
    curves = ca.DM(np.vstack([path.cspl.c.transpose(1, 0, 2).reshape(len(counts), -1)[leg].T, knots[leg]]))
    motion = _derivatives(problem, scale, ratio)
    used = [motion.map(total)(s[ends], v[ends], a[ends], j, curves) for ends in (slice(0, total), slice(1, total + 1))]
    rows = ca.vertcat(*map(ca.vec, defects), *map(ca.vec, used))
    count = sum(part.numel() for part in defects)
    most = np.concatenate((np.zeros(count), np.ones(int(rows.numel()) - count)))
    low, high = (np.full(3 * (total + 1) + len(counts), side) for side in (-np.inf, np.inf))
    places = np.concatenate(([0], np.cumsum(counts)))
    starts = knots[np.append(leg, leg[-1])], knots[np.append(leg, leg[-1]) + 1]
    low[: total + 1], high[: total + 1] = starts
    low[places] = high[places] = knots
    low[total + 1 : 2 * total + 2] = 0.0
    for end in (total + 1, 2 * total + 1, 2 * total + 2, 3 * total + 2):
        low[end] = high[end] = 0.0
    low[3 * total + 3 :] = SHORTEST_LEG
    x0 = np.concatenate((guess_s, guess_v / FIRST_GUESS, np.zeros(total + 1), np.diff(arrivals) / fast[-1]))
    nlp = {"x": ca.veccat(s, v, a, durations), "f": ca.sum2(durations), "g": rows}
    options = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-7, "max_iter": ITERATIONS}}
    solver = ca.nlpsol("timing", "ipopt", nlp, options)
    found = solver(x0=np.clip(x0, low, high), lbx=low, ubx=high, lbg=-most, ubg=most)
    if not solver.stats()["success"]:
        return None
    x: Array = np.array(found["x"]).ravel()
    steps = scale * (x[3 * total + 3 :] / counts)[leg]
    s_found, v_found, a_found = x[: 3 * total + 3].reshape(3, -1)
    times = np.concatenate(([0.0], np.cumsum(steps)))
    return SmoothProfile(times, s_found, v_found / scale, a_found / scale**2)


def _derivatives(problem: Problem, scale: float, ratio: float) -> ca.Function:
    """(s, ṡ, s̈, s⃛, curve) → limited quantities, over a ratio of their limits; times in units of ``scale`` [s].

    A curve is a cubic of scipy.interpolate.CubicSpline: its coefficients, the highest power first, each (n,), and the
    parameter at which it begins.
    """
    limits, n = problem.bounds, problem.model.n
    s, v, a, j = (ca.SX.sym(name) for name in "svaj")
    curve = ca.SX.sym("curve", 4 * n + 1)
    p, (c3, c2, c1, c0) = s - curve[-1], ca.vertsplit(curve[:-1], n)
    q = ((c3 * p + c2) * p + c1) * p + c0
    first = (3 * c3 * p + 2 * c2) * p + c1
    second = 6 * c3 * p + 2 * c2
    qd = first * v / scale
    qdd = (first * a + second * v**2) / scale**2
    jerk = (first * j + 3 * second * v * a + 6 * c3 * v**3) / scale**3
    efforts = problem.model.inverse(q, qd, qdd)
    pairs = (qd, limits.velocity), (qdd, limits.acceleration), (jerk, limits.jerk), (efforts, limits.effort)
    limited = [part[k] / (ratio * limit[k]) for part, limit in pairs for k in range(n) if np.isfinite(limit[k])]
    return ca.Function("limited", [s, v, a, j, curve], [ca.vertcat(*limited)])


def fastest_profile(problem: Problem, path: Any, grid: int, ratio: float) -> SpeedProfile | None:
    """The fastest profile that stays within a ratio of the limits; None if there is none.

    The programs that TOPP-RA solves have no term in ṡ, but viscous friction is one. It is at most its tangent by ṡ² at
    any speed. So each round takes the tangents at the speeds of the round before.
    """
    toppra, limits = _toppra(), problem.bounds
    constraints: list[Any] = []
    if np.isfinite(limits.velocity).any():
        constraints.append(toppra.constraint.JointVelocityConstraint(_range(ratio * limits.velocity)))
    if np.isfinite(limits.acceleration).any():
        constraints.append(toppra.constraint.JointAccelerationConstraint(_range(ratio * limits.acceleration)))
    knots, stops = map(np.asarray, path.waypoints)
    points = np.unique([np.linspace(a, b, grid + 1) for a, b in itertools.pairwise(knots)])
    unit = min(1.0, shortest_duration(problem) or 1.0)  # of s, because TOPP-RA has greatest numbers for ṡ² and s̈
    scaled = toppra.SplineInterpolator(unit * knots, stops)
    efforts = EffortCoefficients.along(problem, scaled, unit * points)
    # ṡ (M,) at which viscous friction takes a small part of each limit
    speeds = slow = SLOW_FRICTION / np.maximum(np.abs(efforts.viscous).max(axis=1), TINY)
    for _ in range(ROUNDS if efforts.viscous.any() else 1):
        search = toppra.algorithm.TOPPRA(
            [*constraints, efforts.constraint(speeds, ratio)], scaled, gridpoints=unit * points
        )
        found = search.compute_parameterization(0.0, 0.0)[1]
        if found is None or not np.isfinite(found).all():
            return None
        speeds = np.maximum(np.ravel(found), slow)
    return SpeedProfile(points, np.ravel(found) / unit, knots)


class EffortCoefficients(NamedTuple):
    """The efforts along a path, over their limits: s̈, ṡ² and 1 times coefficients, and friction, each (M, n)."""

    acceleration: Array
    speed: Array  # of ṡ²
    rest: Array
    coulomb: Array  # with the sign of the motion
    viscous: Array  # of ṡ, likewise

    @classmethod
    def along(cls, problem: Problem, path: Any, points: Array) -> EffortCoefficients:
        """The efforts of the problem's arm at points of a path."""
        dynamics, limit = problem.dynamics, problem.bounds.effort
        viscous, coulomb = dynamics.parameters.viscous, dynamics.parameters.coulomb
        q, first, second = (path(points, order) for order in range(3))
        still = np.zeros_like(q)
        rest = dynamics.inverse(q, still, still)
        dry, wet = coulomb * np.sign(first), viscous * first
        moving = dynamics.inverse(q, first, second) - dry - wet - rest
        return cls(*(part / limit for part in (dynamics.inverse(q, still, first) - rest, moving, rest, dry, wet)))

    def constraint(self, speeds: Array, ratio: float) -> Any:
        """That the efforts keep to a ratio of their limits; with the tangents of viscous friction at speeds ṡ (M,).

        Friction helps to brake, but not at rest. So the effort that brakes keeps to its limit without friction.
        """
        slope = np.abs(self.viscous) / 2.0 / speeds[:, np.newaxis]
        constant = np.abs(self.coulomb) + slope * speeds[:, np.newaxis] ** 2
        forward, backward = (side * (self.viscous + self.coulomb) > 0.0 for side in (1.0, -1.0))
        n = slope.shape[1]
        linear = _toppra().constraint.linear_constraint
        found = linear.LinearConstraint()
        found.dof, found.identical = n, True
        found.compute_constraint_params = lambda _, points: linear.canlinear_colloc_to_interpolate(
            np.hstack((self.acceleration, -self.acceleration)),
            np.hstack((self.speed + forward * slope, backward * slope - self.speed)),
            np.hstack((self.rest + forward * constant, backward * constant - self.rest)),
            np.eye(2 * n), np.full(2 * n, ratio), None, None, points, identical=True,
        )  # fmt: skip
        return found


def _range(limit: Array) -> Array:
    limit = np.minimum(limit, NO_LIMIT)
    return np.column_stack((-limit, limit))


def _toppra() -> Any:
    logging.getLogger("toppra").setLevel(logging.ERROR)
    names = ("toppra.algorithm", "toppra.constraint", "toppra")
    return [need(name, "time scaling needs toppra", "robodyn_ros[planning]") for name in names][-1]


def _motion(
    problem: Problem, arrivals: Array, times: Array, q: Array, qd: Array, qdd: Array
) -> tuple[Trajectory, list[int]]:
    """The trajectory through points, at rest at both ends, and the indices of its points at the stops after the first.

    ``arrivals`` are the times at the knots of the path [s]; a stop where the one before is has no knot of its own.
    """
    q[0], q[-1] = problem.stops[0], problem.stops[-1]
    qd[[0, -1]] = qdd[[0, -1]] = 0.0
    trajectory = Trajectory(times, q, qd, qdd, problem.model.efforts(q, qd, qdd))
    knots = np.cumsum([_apart(a, b) for a, b in itertools.pairwise(problem.stops)])
    arrivals[[0, -1]] = times[[0, -1]]
    return trajectory, [int(np.argmin(np.abs(times - arrival))) for arrival in arrivals[knots]]


def _no_profile(problem: Problem, path: Any) -> tuple[str, Violation]:
    """The reason why there is no profile, with the position on the path where the holding effort is greatest."""
    positions = np.linspace(0.0, 1.0, 401)
    held = np.abs(np.array([problem.model.holding(path(s)) for s in positions]))
    load = held / problem.bounds.effort
    place, joint = np.unravel_index(int(np.argmax(load)), load.shape)
    name, allowed = problem.joints[int(joint)], float(problem.bounds.effort[joint])
    needed = float(held[place, joint])
    violation = Violation(f"effort limit of {name!r}", needed - allowed, "[N·m] or [N]")
    if needed <= allowed:
        return "along this path no speed keeps to the limits", violation
    where = f"at {positions[place]:.0%} of the path"
    return f"{where} the arm cannot be held at rest: joint {name!r} needs {needed:.4g}", violation
