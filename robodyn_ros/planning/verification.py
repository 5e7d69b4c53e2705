# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Verification of motions: every constraint of the problem, checked on the curve that the arm will follow.

The check does not depend on the planner. Positions, speeds, accelerations and distances are those of the
curve through the points. Efforts are the planned ones, linear between the points; the equations of motion hold if the
curve needs no other efforts.

**Feasible motions.** The curve through the points of an unfinished search is a smooth path, whether the search has
converged or not. :func:`feasible` slows it down until it keeps to every limit. Its efforts follow from the equations of
motion, at points so close that they are linear between them. Where the limits of speed, acceleration, jerk or effort
are exceeded, the whole motion is slowed down by the least factor that helps, which keeps the path (Hollerbach, Dynamic
scaling of manipulator trajectories, J. Dynamic Systems, Measurement, and Control 106 (1984), eq. 5).
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.kinematics.target import UnreachableError
from robodyn_ros.planning.plan import Plan, Violation
from robodyn_ros.planning.problem import Goal, JointGoal, Problem, rests, speed
from robodyn_ros.robot.pose import Array, Flags, Indices

ROUNDING = 1e-9
"""Rounding error by which a stop may exceed a limit [rad] or [m]."""

BETWEEN = 8
"""Number of instants at which the curve between two points is checked."""

LIMIT_TOLERANCE = 1e-4
"""Ratio of a limit by which it may be exceeded."""

SLOWED = ("velocity limit", "acceleration limit", "jerk limit", "effort limit")
"""Constraints that a slower motion satisfies."""

GOAL_TOLERANCE = 1e-5
"""Amount by which a goal may be missed [m] and [rad], and its velocity [per s]."""

ATTEMPTS = 8
"""Number of attempts; each adds points, or slows the motion down a little, if the last one missed a constraint."""

SLOWEST = 16.0
"""Greatest factor by which a motion is slowed down."""

HALVINGS = 16
"""Number of times by which the interval that holds the factor is halved."""


def infeasibility(problem: Problem) -> tuple[str, Violation] | None:
    """A reason, found before any search, why the problem has no solution, and the violated constraint; else None.

    The start, the via points and the goal are checked.

    Raises:
        InputError: the problem is contradictory.
    """
    try:
        stops = problem.stops
    except UnreachableError as cause:
        return f"unreachable: {cause}", Violation("reach of the tool", np.inf, "m")
    return next(_violations_of_stops(problem, stops), None)


def _violations_of_stops(problem: Problem, stops: tuple[Array, ...]) -> Iterator[tuple[str, Violation]]:
    goals, n, limits = (*problem.via, problem.goal), len(stops[0]), problem.bounds
    units, rates = _units(problem), _units(problem, "/s")
    speeds = [problem.first[1], *(speed(goal, n) for goal in goals)]
    fixed = [True, *(bool(goal.fixes(problem.model).all()) for goal in goals)]
    for title, q, qd, known in zip(("start", *_titles(problem)), stops, speeds, fixed, strict=True):
        beyond = np.maximum(limits.lower - q, q - limits.upper)
        for k in _worst_joint(beyond):
            allowed = f"[{limits.lower[k]:.6g}, {limits.upper[k]:.6g}]"
            yield _reason(title, f"position limit of {problem.joints[k]!r}", beyond[k], units[k],
                          f"it is at {q[k]:.6g} {units[k]}, allowed is {allowed} {units[k]}")  # fmt: skip
        fast = np.nan_to_num(np.abs(qd) - limits.velocity, nan=-1.0)
        for k in _worst_joint(fast):
            yield _reason(title, f"velocity limit of {problem.joints[k]!r}", fast[k], rates[k],
                          f"it is {qd[k]:.6g} {rates[k]}, allowed is {limits.velocity[k]:.6g} {rates[k]}")  # fmt: skip
        if known and problem.clearance is not None:
            distance, pair, _ = problem.clearance.nearest(q)
            if distance < (0.0 if title == "start" else problem.margin):
                missing = problem.margin - distance
                yield _reason(title, str(pair), missing, "m", f"in collision, or too close: {distance:.4g} m apart")
    if all(fixed):
        yield from _violation_of_duration(problem, stops)
    at_rest = [("start", stops[0])] if not problem.first[1].any() else []
    if fixed[-1] and rests(problem.goal, n):
        at_rest.append(("goal", stops[-1]))
    yield from _violations_at_rest(problem, stops, at_rest)


def _violation_of_duration(problem: Problem, stops: tuple[Array, ...]) -> Iterator[tuple[str, Violation]]:
    if problem.duration is None:
        return
    limits, rates = problem.bounds.velocity, _units(problem, "/s")
    speeds = np.abs(np.diff(stops, axis=0)).sum(axis=0) / problem.duration
    for k in _worst_joint(speeds - limits):
        detail = (
            f"it moves at {speeds[k]:.4g} {rates[k]} on average, allowed is {limits[k]:.4g} {rates[k]}: that takes "
            f"{speeds[k] * problem.duration / limits[k]:.4g} s or more"
        )
        yield _reason("duration", f"velocity limit of {problem.joints[k]!r}", speeds[k] - limits[k], rates[k], detail)


def _violations_at_rest(
    problem: Problem, stops: tuple[Array, ...], at_rest: list[tuple[str, Array]]
) -> Iterator[tuple[str, Violation]]:
    limits = problem.bounds
    units, friction = _effort_units(problem), problem.dynamics.parameters.coulomb
    for title, q in at_rest:
        held, moves = np.abs(problem.model.holding(q)), np.ptp(stops, axis=0) > GOAL_TOLERANCE
        # The smooth friction of plans would let a joint creep that Coulomb friction holds.
        stuck = np.where(moves & (title == "start"), friction - held - limits.effort, -1.0)
        allowed = [f"allowed is {limit:.4g} {unit}" for limit, unit in zip(limits.effort, units, strict=True)]
        for k in _worst_joint(stuck):
            yield _reason(title, f"effort limit of {problem.joints[k]!r}", stuck[k], units[k],
                          f"Coulomb friction is {friction[k]:.4g} {units[k]}, {allowed[k]}: "
                          "the joint cannot move")  # fmt: skip
        for k in _worst_joint(held / limits.effort - 1.0):
            yield _reason(title, f"effort limit of {problem.joints[k]!r}", held[k] - limits.effort[k], units[k],
                          f"to hold the arm there takes {held[k]:.4g} {units[k]}, {allowed[k]}: "
                          "the arm or its payload is too heavy")  # fmt: skip


def _worst_joint(beyond: Array) -> list[int]:
    """The joint that is the most beyond its limit (n,), if one is."""
    return [int(np.argmax(beyond))] if (beyond > ROUNDING).any() else []


def _reason(title: str, constraint: str, amount: float, unit: str, detail: str) -> tuple[str, Violation]:
    return f"{title} violates the {constraint}: {detail}", Violation(f"{title}: {constraint}", float(amount), unit)


def _titles(problem: Problem) -> list[str]:
    """The via points and the goal in words."""
    return [*(f"via point {index + 1}" for index in range(len(problem.via))), "goal"]


def _units(problem: Problem, rate: str = "") -> list[str]:
    """The unit of each joint's position, or of a rate of it."""
    return [f"{joint.position_unit}{rate}" for joint in problem.dynamics.robot.joints]


def _effort_units(problem: Problem) -> list[str]:
    return [joint.effort_unit for joint in problem.dynamics.robot.joints]


class Verification(NamedTuple):
    """The result of a verification."""

    worst: Violation  # the greatest, over its tolerance
    ratio: float  # of that violation to its tolerance; at most 1 if the motion keeps to every constraint
    dynamics_error: float  # greatest difference of planned and needed efforts, over the effort limits
    errors: Array  # the same in each interval between points (K - 1,)
    close: Array  # True if an obstacle is too near in that interval (K - 1,)

    def plan(
        self, problem: Problem, motion: Trajectory, solved: bool, reason: str, cost: float, method: str, begun: float
    ) -> Plan:
        """The plan of the motion that was verified.

        Args:
            problem: the problem.
            motion: with its velocities, accelerations and efforts.
            solved: True if the plan is a solution.
            reason: why it is one or not, in a sentence.
            cost: of the motion.
            method: name of the planner.
            begun: when the planner began, by ``time.perf_counter`` [s].
        """
        rows, time, error = _rows(motion), perf_counter() - begun, self.dynamics_error
        return Plan(problem.joints, motion.times, *rows, solved, reason, self.worst, cost, time, method, error)


def _rows(motion: Trajectory) -> tuple[Array, Array, Array, Array]:
    """Positions, velocities, accelerations and efforts of a motion that has all of them, (K, n) each."""
    assert motion.velocities is not None and motion.accelerations is not None and motion.efforts is not None
    return motion.positions, motion.velocities, motion.accelerations, motion.efforts


def verify(problem: Problem, trajectory: Trajectory, stops: list[int], tolerance: float) -> Verification:
    """Verify a motion.

    Args:
        problem: the problem with its constraints.
        trajectory: the motion, with its efforts.
        stops: indices of the points at the via points and the goal.
        tolerance: tolerance of the efforts between the points, over their limit.
    """
    times, interval = _instants(trajectory.times)
    q, qd, qdd = trajectory.samples(times)
    _, velocities, _, planned = _rows(trajectory)
    effort, limits = problem.model.efforts(q, qd, qdd), problem.bounds
    outside = np.maximum(limits.lower - q, q - limits.upper)
    found = _beyond(problem, "position limit of {!r}", outside, GOAL_TOLERANCE, _units(problem))
    for title, values, limit, units in _limited(problem, qd, qdd, jerks(problem, times, qdd), planned):
        found += _beyond(problem, f"{title} of {{!r}}", np.abs(values) - limit, LIMIT_TOLERANCE * limit, units)
    scale = np.where(np.isfinite(limits.effort), limits.effort, np.maximum(np.abs(effort).max(axis=0), 1e-9))
    planned_effort = np.column_stack([np.interp(times, trajectory.times, column) for column in planned.T])
    error = np.abs(effort - planned_effort)
    found += _beyond(problem, "equation of motion of {!r}", error, tolerance * scale, _effort_units(problem))
    errors = np.zeros(len(trajectory.times) - 1)
    np.maximum.at(errors, interval, (error / scale).max(axis=1))
    for goal, title, point in zip((*problem.via, problem.goal), _titles(problem), stops, strict=True):
        found += _missed(problem, goal, title, trajectory.positions[point], velocities[point])
    close = np.zeros(len(trajectory.times) - 1, dtype=bool)
    clearance = problem.clearance
    if clearance is not None:
        distances = np.array(clearance.distances(q.T)).min(axis=0)
        _, pair, at = clearance.nearest(q)
        missing = float(problem.margin - distances[at])
        found.append((Violation(str(pair), missing, "m"), missing / clearance.smoothing))
        np.logical_or.at(close, interval, distances < problem.margin - clearance.smoothing)
    worst, ratio = max(found, key=lambda entry: entry[1])
    return Verification(worst, float(ratio), float(errors.max(initial=0.0)), errors, close)


def _limited(
    problem: Problem, qd: Array, qdd: Array, jerk: Array, effort: Array
) -> Iterator[tuple[str, Array, Array, list[str]]]:
    """The quantities (K, n) that a slower motion lessens: the names of their limits, values, limits and units."""
    limits = problem.bounds
    yield "velocity limit", qd, limits.velocity, _units(problem, "/s")
    yield "acceleration limit", qdd, limits.acceleration, _units(problem, "/s²")
    yield "jerk limit", jerk, limits.jerk, _units(problem, "/s³")
    yield "effort limit", effort, limits.effort, _effort_units(problem)


def jerks(problem: Problem, times: Array, qdd: Array) -> Array:
    """Mean jerks (K + 1, n) between instants (K,), and into and out of the motion where the arm is at rest.

    There the acceleration has to be 0: one that is not is assumed to build up in the interval beside it.
    """
    steps, still = np.diff(times), np.zeros((1, qdd.shape[1]))
    begins = still if not problem.first[1].any() else qdd[:1]
    ends = still if rests(problem.goal, qdd.shape[1]) else qdd[-1:]
    steps = np.concatenate((steps[:1], steps, steps[-1:]))
    return np.diff(np.concatenate((begins, qdd, ends)), axis=0) / steps[:, np.newaxis]


def _instants(times: Array) -> tuple[Array, Indices]:
    """Instants at the points and between them, and the interval in which each lies."""
    ratios = np.arange(BETWEEN) / BETWEEN
    inside = times[:-1, np.newaxis] + np.diff(times)[:, np.newaxis] * ratios
    interval = np.append(np.repeat(np.arange(len(times) - 1), BETWEEN), len(times) - 2)
    return np.append(inside.ravel(), times[-1]), interval


def _beyond(
    problem: Problem, title: str, beyond: Array, scale: float | Array, units: list[str]
) -> list[tuple[Violation, float]]:
    """The violation of each joint, whose name the title takes, and its ratio to ``scale``; ``beyond`` is (K, n)."""
    greatest, scales = beyond.max(axis=0), np.broadcast_to(scale, beyond.shape[1:])
    return [
        (Violation(title.format(name), float(amount), unit), float(amount / own))
        for name, amount, own, unit in zip(problem.joints, greatest, scales, units, strict=True)
        if np.isfinite(amount)
    ]


def _missed(problem: Problem, goal: Goal, title: str, q: Array, qd: Array) -> list[tuple[Violation, float]]:
    """The violations of a goal at its point, and their ratios to the tolerance."""
    if isinstance(goal, JointGoal):
        missing = np.abs(goal.positions(problem.model, q) - q)[None]
        found = _beyond(problem, f"{title}: position of {{!r}}", missing, GOAL_TOLERANCE, _units(problem))
    else:
        amount = goal.error(problem.model, q)
        found = [(Violation(f"{title}: pose of {goal.link!r}", amount, "m or rad"), amount / GOAL_TOLERANCE)]
    slow = np.nan_to_num(np.abs(qd - speed(goal, len(q))), nan=0.0)[None]
    return found + _beyond(problem, f"{title}: velocity of {{!r}}", slow, GOAL_TOLERANCE, _units(problem, "/s"))


class FeasibleMotion(NamedTuple):
    """A motion that keeps to every constraint of a problem."""

    trajectory: Trajectory  # with its efforts
    cost: float
    verification: Verification


def feasible(problem: Problem, curve: Trajectory, stops: list[int], tolerance: float) -> FeasibleMotion | None:
    """The motion along a curve that keeps to every constraint; None if slowing down does not help.

    A motion of fixed duration, or one that starts, passes or ends at a given speed, is not slowed down.

    Args:
        problem: the problem.
        curve: positions, velocities and accelerations at points.
        stops: indices of the points at the via points and the goal.
        tolerance: tolerance of the efforts between the points, over their limit.
    """
    if not np.isfinite(curve.positions).all() or not _starts_right(problem, curve):
        return None
    times, least = refined(curve.times, np.ones(len(curve.times) - 1, dtype=bool)), 1.0
    for _ in range(ATTEMPTS):
        q, qd, qdd = curve.samples(times)
        slowdown = _slowdown(problem, (q, qd, qdd, jerks(problem, times, qdd)), least)
        if slowdown is None:
            return None
        qd, qdd = qd / slowdown, qdd / slowdown**2
        motion = Trajectory(times * slowdown, q, qd, qdd, problem.model.efforts(q, qd, qdd))
        found = verify(problem, motion, np.searchsorted(times, curve.times[stops]).tolist(), tolerance)
        if found.ratio <= 1.0:
            return FeasibleMotion(motion, cost_of(problem, motion), found)
        worst = found.worst.constraint
        if worst.startswith(SLOWED) and _may_slow(problem):
            least = slowdown * (1.0 + 2.0 * LIMIT_TOLERANCE * found.ratio)
        elif worst.startswith("equation of motion"):
            times = refined(times, found.errors > tolerance)
        else:
            return None
    return None


def refined(times: Array, rough: Flags) -> Array:
    """The times (K,) with three more within each interval that is rough (K - 1,)."""
    more = [times[:-1][rough] + ratio * np.diff(times)[rough] for ratio in (0.25, 0.5, 0.75)]
    return np.sort(np.concatenate((times, *more)))


def cost_of(problem: Problem, motion: Trajectory) -> float:
    """The problem's cost of a motion with efforts, by the trapezoidal rule between its points."""
    from scipy.integrate import trapezoid

    n = problem.model.n
    running, final = problem.cost.functions(n)
    columns = [part.T for part in (*_rows(motion), problem.cost.reference(motion.times, n))]
    values = np.array(running(*columns)).ravel()
    return float(trapezoid(values, motion.times)) + float(final(*(column[:, -1] for column in columns)))


def _starts_right(problem: Problem, curve: Trajectory) -> bool:
    assert curve.velocities is not None
    starts = zip((curve.positions[0], curve.velocities[0]), problem.first, strict=True)
    return all(np.abs(found - wanted).max() <= 1e-9 for found, wanted in starts)


def _may_slow(problem: Problem) -> bool:
    """True if neither the duration nor a speed at start, via points or goal is given."""
    speeds = [problem.first[1], *(speed(goal, problem.model.n) for goal in (*problem.via, problem.goal))]
    return problem.duration is None and not np.nan_to_num(speeds).any()


def _slowdown(problem: Problem, motion: tuple[Array, Array, Array, Array], least: float) -> float | None:
    """The least factor, from one on, by which a motion is slowed down to its limits; None if there is none.

    Args:
        problem: the problem.
        motion: positions, velocities and accelerations (K, n), and jerks (K + 1, n).
        least: the least factor.
    """
    q, qd, qdd, jerk = motion

    def kept(factor: float) -> bool:
        slow, soft = qd / factor, qdd / factor**2
        limited = _limited(problem, slow, soft, jerk / factor**3, problem.model.efforts(q, slow, soft))
        return all(bool((np.abs(values) <= limit).all()) for _, values, limit, _ in limited)

    if kept(least) or not _may_slow(problem):
        return least  # the verification names the violated limit
    if not kept(SLOWEST):
        return None
    low, high = least, SLOWEST
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high
