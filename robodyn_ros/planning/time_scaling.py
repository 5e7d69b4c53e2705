"""Time scaling: the fastest motion along a given path, a spline through the stops.

Along a path q(s) every limit of velocity, acceleration and effort is a limit on ṡ² and s̈. TOPP-RA (the library toppra)
finds the fastest profile (Pham and Pham, A new approach to time-optimal path parameterization based on reachability
analysis, IEEE Transactions on Robotics 34 (2018)), with this package's dynamics as the constraint on efforts. Its s̈
jumps from piece to piece, and with it the efforts. So the motion is averaged over a window of a millisecond or less,
which makes ramps of the jumps and keeps the limits (an FIR filter: Biagiotti and Melchiorri, FIR filters for online
trajectory planning with time- and frequency-domain specifications, Control Engineering Practice 20 (2012)).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import ConfigurationError, InputError, pip_install
from robodyn_ros.planning.feasible import refined
from robodyn_ros.planning.plan import Plan, Violation, points_of
from robodyn_ros.planning.problem import Problem, speed
from robodyn_ros.planning.verification import LIMIT_TOLERANCE, infeasibility, verify
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, setting, whole

METHOD = "time-scaling"

WINDOW = 1e-3
"""Greatest window of the average [s]."""

ATTEMPTS = 10
"""Number of attempts; each lowers the limits a little, or adds points, if the last one missed a constraint."""


@dataclass(frozen=True)
class TimeScalingSettings:
    """Settings of :func:`plan`; each field's metadata describe it."""

    grid: int = whole(100, "pieces of the path from stop to stop", 10, 10000)
    tolerance: float = setting(0.005, "error of the efforts, over their limit", "-", 1e-8, 1.0)

    def __post_init__(self) -> None:
        check_settings(self)


def plan(problem: Problem, settings: TimeScalingSettings | None = None) -> Plan:
    """Find the fastest motion along the spline through start, via points and goal, at rest at both ends.

    Obstacles do not change the path; a collision makes the result a refusal.

    Args:
        problem: the problem; its cost is ignored, for the shortest time is sought.
        settings: settings, the defaults unless given.

    Raises:
        InputError: the problem is wrong in itself, or not of time alone: it has a fixed duration, or a start or a goal
            in motion.
        ConfigurationError: toppra is not installed.
    """
    settings, begun = settings or TimeScalingSettings(), perf_counter()
    if problem.duration is not None:
        raise InputError("duration", "is what time scaling seeks; it cannot be given", problem.duration)
    if problem.first[1].any() or np.nan_to_num(speed(problem.goal, problem.model.n), nan=0.0).any():
        raise InputError("start_velocity", "and that of the goal must be 0 for time scaling", problem.first[1])
    why = infeasibility(problem)
    if why is not None:
        return Plan.refused(problem.joints, *why, METHOD, perf_counter() - begun)
    path, ratio = spline(problem.stops), 1.0
    profile = times = None
    for _ in range(ATTEMPTS):
        if profile is None:
            profile, times = fastest_profile(problem, path, settings.grid, ratio), None
        if profile is None:
            return Plan.refused(problem.joints, *_no_profile(problem, path), METHOD, perf_counter() - begun)
        trajectory, stops = _averaged(problem, profile, path, times)
        found = verify(problem, trajectory, stops, settings.tolerance)
        if found.ratio <= 1.0:
            break
        if found.worst.constraint.partition(" of ")[0] in ("velocity limit", "acceleration limit", "effort limit"):
            profile, ratio = None, ratio * (1.0 - 2.0 * LIMIT_TOLERANCE * found.ratio)
        else:  # more points where the efforts are not linear between two points
            times = refined(trajectory.times, found.errors > settings.tolerance)
    worst = found.worst
    solved = found.ratio <= 1.0
    reason = f"solved on {len(trajectory.times) - 1} pieces"
    return Plan(
        problem.joints,
        *points_of(trajectory),
        solved,
        reason if solved else f"along this path the {worst.constraint} is missed by {worst.amount:.3g} {worst.unit}",
        worst,
        trajectory.duration,
        perf_counter() - begun,
        METHOD,
        found.dynamics_error,
    )


def spline(stops: tuple[Array, ...]) -> Any:
    """The path: a spline through the stops.

    Its parameter grows with the root of the distance, which avoids overshoot (Lee, Choosing nodes in parametric curve
    interpolation, Computer-Aided Design 21 (1989)).
    """
    toppra = _toppra()
    apart = [stops[0], *(b for a, b in itertools.pairwise(stops) if np.abs(b - a).max() > 1e-9)]
    if len(apart) < 2:
        raise InputError("goal", "is where the arm is already", stops[-1])
    knots = np.concatenate(([0.0], np.cumsum(np.sqrt(np.linalg.norm(np.diff(apart, axis=0), axis=1)))))
    return toppra.SplineInterpolator(knots / knots[-1], np.array(apart))


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


def fastest_profile(problem: Problem, path: Any, grid: int, ratio: float) -> SpeedProfile | None:
    """The fastest profile that stays within a ratio of the limits; None if there is none."""
    toppra = _toppra()
    limits, dynamics = problem.bounds, problem.dynamics
    viscous, coulomb = dynamics.parameters.viscous, dynamics.parameters.coulomb
    constraints: list[Any] = []
    if np.isfinite(limits.velocity).all():
        constraints.append(toppra.constraint.JointVelocityConstraint(_range(ratio * limits.velocity)))
    if np.isfinite(limits.acceleration).all():
        constraints.append(toppra.constraint.JointAccelerationConstraint(_range(ratio * limits.acceleration)))
    if np.isfinite(limits.effort).all():
        # Friction at its greatest, for the programs that TOPP-RA solves have no term in ṡ.
        friction = coulomb + np.multiply(viscous, limits.velocity, out=np.zeros_like(viscous), where=viscous > 0.0)
        if not np.isfinite(friction).all():
            raise InputError("velocity limit", "of joints with viscous friction must be finite", limits.velocity)

        def rigid(q: Array, qd: Array, qdd: Array) -> Array:
            return np.asarray(dynamics.inverse(q, qd, qdd) - viscous * qd - coulomb * np.sign(qd))

        torque = toppra.constraint.JointTorqueConstraint(
            rigid, _range(ratio * limits.effort), friction, toppra.constraint.DiscretizationType.Interpolation
        )
        constraints.append(torque)
    if not constraints:
        raise InputError("limits", "of speed, acceleration or effort must be finite for time scaling", limits)
    knots = np.asarray(path.waypoints[0])
    points = np.unique([np.linspace(a, b, grid + 1) for a, b in itertools.pairwise(knots)])
    speeds = toppra.algorithm.TOPPRA(constraints, path, gridpoints=points).compute_parameterization(0.0, 0.0)[1]
    if speeds is None or not np.isfinite(speeds).all():
        return None
    return SpeedProfile(points, np.asarray(speeds).ravel(), knots)


def _range(limit: Array) -> Array:
    return np.column_stack((-limit, limit))


def _toppra() -> Any:
    try:
        import logging

        import toppra
        import toppra.algorithm
        import toppra.constraint
    except ImportError as cause:
        raise ConfigurationError(
            f"time scaling needs toppra: {pip_install('robodyn_ros[planning]')} ({cause})"
        ) from cause
    logging.getLogger("toppra").setLevel(logging.ERROR)
    return toppra


def _averaged(
    problem: Problem, profile: SpeedProfile, path: Any, times: Array | None = None
) -> tuple[Trajectory, list[int]]:
    """The motion averaged over a window, and the indices of its points at the stops after the first."""
    grid = profile.times
    half = min(WINDOW, 0.5 * float(np.diff(grid).min())) / 2.0
    times = np.column_stack((grid - half, grid, grid + half)).ravel() if times is None else times - half
    nodes, weights = np.polynomial.legendre.leggauss(4)
    # Each half of the window by itself: at a grid point the halves lie on different pieces.
    halves = [profile.at(path, times + half * (node + side) / 2.0)[0] for node in nodes for side in (-1.0, 1.0)]
    q: Array = np.tensordot(np.repeat(weights, 2) / 4.0, np.array(halves), 1)
    (before, slow), (after, fast) = profile.at(path, times - half), profile.at(path, times + half)
    qd, qdd = (after - before) / (2.0 * half), (fast - slow) / (2.0 * half)
    q[0], q[-1] = problem.stops[0], problem.stops[-1]
    qd[[0, -1]] = qdd[[0, -1]] = 0.0
    trajectory = Trajectory(times - times[0], q, qd, qdd, problem.model.efforts(q, qd, qdd))
    stops = [int(np.argmin(np.abs(q - stop).max(axis=1))) for stop in problem.stops[1:-1]]
    return trajectory, [*stops, len(times) - 1]


def _no_profile(problem: Problem, path: Any) -> tuple[str, Violation]:
    """The reason why there is no profile, with the place on the path where holding the arm takes most."""
    positions = np.linspace(0.0, 1.0, 401)
    held = np.abs(np.array([problem.model.holding(path(s)) for s in positions]))
    load = held / problem.bounds.effort
    place, joint = np.unravel_index(int(np.argmax(load)), load.shape)
    name, allowed = problem.joints[int(joint)], float(problem.bounds.effort[joint])
    needed = float(held[place, joint])
    violation = Violation(f"effort limit of {name!r}", needed - allowed, "[N·m] or [N]")
    if needed > allowed:
        return (
            f"at {positions[place]:.0%} of the path the arm cannot even stand: joint {name!r} needs {needed:.4g}",
            violation,
        )
    return "along this path no speed keeps to the limits", violation
