# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Feasible motions: the last path of an unfinished search, slowed down until it keeps to every limit.

The curve through the points of a mesh is a smooth path, whether the search has converged or not. Its efforts follow
from the equations of motion, at points so close that they are linear between them. Where the limits of speed,
acceleration, jerk or effort are exceeded, the whole motion is slowed down by the least factor that helps, which keeps
the path (Hollerbach, Dynamic scaling of manipulator trajectories, J. Dynamic Systems, Measurement, and Control 106
(1984), eq. 5). The verification decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.engine.casadi import ca
from robodyn_ros.planning.cost import Point
from robodyn_ros.planning.problem import Problem, speed
from robodyn_ros.planning.verification import LIMIT_TOLERANCE, SLOWED, Verification, jerks, verify
from robodyn_ros.robot.pose import Array

ATTEMPTS = 8
"""Number of attempts; each adds points, or slows the motion down a little, if the last one missed a constraint."""

SLOWEST = 16.0
"""Greatest factor by which a motion is slowed down."""

HALVINGS = 16
"""Number of times by which the interval that holds the factor is halved."""


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
        rows = [curve.sample(min(float(t), curve.duration * (1.0 - 1e-12))) for t in times]
        q, qd, qdd = (np.array([row[k] for row in rows]) for k in range(3))
        q[-1], qd[-1], qdd[-1] = (
            part[-1] for part in (curve.positions, curve.velocities, curve.accelerations) if part is not None
        )
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


def refined(times: Array, rough: NDArray[np.bool_]) -> Array:
    """The times (K,) with three more within each interval that is rough (K - 1,)."""
    more = [times[:-1][rough] + ratio * np.diff(times)[rough] for ratio in (0.25, 0.5, 0.75)]
    return np.sort(np.concatenate((times, *more)))


def cost_of(problem: Problem, motion: Trajectory) -> float:
    """The problem's cost of a motion with efforts, by the trapezoidal rule between its points."""
    n = problem.model.n
    at = Point(*[ca.SX.sym(name, size) for name, size in zip(Point._fields, (n, n, n, n, 2 * n), strict=True)])
    costs = (problem.cost.running(at), problem.cost.final(at))
    running, final = (ca.Function("cost", list(at), [ca.SX(cost)]) for cost in costs)
    assert motion.velocities is not None and motion.accelerations is not None and motion.efforts is not None
    parts = [motion.positions, motion.velocities, motion.accelerations, motion.efforts]
    columns = [part.T for part in (*parts, problem.cost.reference(motion.times, n))]
    values = np.array(running(*columns)).ravel()
    return float(np.trapezoid(values, motion.times)) + float(final(*(column[:, -1] for column in columns)))


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
    limits, (q, qd, qdd, jerk) = problem.bounds, motion

    def kept(factor: float) -> bool:
        slow, soft = qd / factor, qdd / factor**2
        efforts = problem.model.efforts(q, slow, soft)
        pairs = (
            (slow, limits.velocity),
            (soft, limits.acceleration),
            (jerk / factor**3, limits.jerk),
            (efforts, limits.effort),
        )
        return all(bool((np.abs(part) <= limit).all()) for part, limit in pairs)

    if kept(least) or not _may_slow(problem):
        return least  # the verification names the violated limit
    if not kept(SLOWEST):
        return None
    low, high = least, SLOWEST
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high
