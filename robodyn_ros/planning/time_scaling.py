"""The fastest motion along a path that is given: a spline through the stops, as fast as the limits allow.

Along a path q(s) every limit of speed, acceleration and effort is one on ṡ² and s̈; TOPP-RA finds the fastest profile
(Pham and Pham, A new approach to time-optimal path parameterization based on reachability analysis, IEEE Transactions
on Robotics 34 (2018)), with this package's dynamics as the constraint on efforts. Its s̈ jumps from piece to piece, and
with it the efforts; so the motion is averaged over a window of a millisecond or less, which ramps the jumps and keeps
limits on averages (a FIR filter: Biagiotti and Melchiorri, FIR filters for online trajectory planning with time- and
frequency-domain specifications, Control Engineering Practice 20 (2012)).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.planning.plan import Plan, Violation, points_of
from robodyn_ros.planning.problem import Problem, speed
from robodyn_ros.planning.verification import KEPT, infeasibility, verify
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, setting, whole

# How fast along a path: toppra's answer, with this package's dynamics as its constraint on efforts.


def spline(stops: tuple[Array, ...]) -> Any:
    """Through the stops; the parameter grows with the root of the distance, which keeps it from overshooting (Lee,
    Choosing nodes in parametric curve interpolation, Computer-Aided Design 21 (1989)).
    """
    toppra = _toppra()
    apart = [stops[0], *(b for a, b in itertools.pairwise(stops) if np.abs(b - a).max() > 1e-9)]
    if len(apart) < 2:
        raise InputError("goal", "is where the arm is already", stops[-1])
    knots = np.concatenate(([0.0], np.cumsum(np.sqrt(np.linalg.norm(np.diff(apart, axis=0), axis=1)))))
    return toppra.SplineInterpolator(knots / knots[-1], np.array(apart))


class SpeedProfile(NamedTuple):
    """How fast along the path: pieces of constant s̈."""

    s: Array  # at the grid points (M,)
    sd: Array  # ṡ there [1/s]
    knots: Array  # of the stops on the path

    @property
    def times(self) -> Array:
        """At the grid points (M,) [s]."""
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


def fastest(problem: Problem, path: Any, grid: int, share: float) -> SpeedProfile | None:
    """The fastest motion that stays within a share of the limits; None if there is none."""
    toppra = _toppra()
    limits, dynamics = problem.bounds, problem.dynamics
    viscous, coulomb = dynamics.parameters.viscous, dynamics.parameters.coulomb
    constraints: list[Any] = []
    if np.isfinite(limits.velocity).all():
        constraints.append(toppra.constraint.JointVelocityConstraint(_range(share * limits.velocity)))
    if np.isfinite(limits.acceleration).all():
        constraints.append(toppra.constraint.JointAccelerationConstraint(_range(share * limits.acceleration)))
    if np.isfinite(limits.effort).all():
        # Friction at its greatest: what grows with ṡ has no place in the programs that TOPP-RA solves.
        friction = coulomb + np.multiply(viscous, limits.velocity, out=np.zeros_like(viscous), where=viscous > 0.0)
        if not np.isfinite(friction).all():
            raise InputError("velocity limit", "of joints with viscous friction must be finite", limits.velocity)

        def rigid(q: Array, qd: Array, qdd: Array) -> Array:
            return np.asarray(dynamics.inverse(q, qd, qdd) - viscous * qd - coulomb * np.sign(qd))

        torque = toppra.constraint.JointTorqueConstraint(
            rigid, _range(share * limits.effort), friction, toppra.constraint.DiscretizationType.Interpolation
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
        raise ConfigurationError(f'time scaling needs toppra: pip install "robodyn_ros[planning]" ({cause})') from cause
    logging.getLogger("toppra").setLevel(logging.ERROR)
    return toppra


METHOD = "time-scaling"

WINDOW = 1e-3
"""Longest window of the average [s]."""

ATTEMPTS = 10
"""So often the motion is corrected: its limits held a little lower, or its points put closer."""


@dataclass(frozen=True)
class TimeScalingSettings:
    """Settings; each field's metadata say what it is."""

    grid: int = whole(100, "pieces of the path from stop to stop", 10, 10000)
    tolerance: float = setting(0.005, "error of the efforts, over their limit", "-", 1e-8, 1.0)

    def __post_init__(self) -> None:
        check_settings(self)


def plan(problem: Problem, settings: TimeScalingSettings | None = None) -> Plan:
    """The fastest motion along the spline through start, via points and goal, at rest at both ends.

    Obstacles do not change the path; a collision makes the answer a refusal.

    Args:
        problem: what is asked; its cost is not looked at: the shortest time is sought.
        settings: settings, the defaults unless given.

    Raises:
        InputError: the problem is wrong in itself, or is no question of time alone: a fixed duration, a start or an end
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
    path, share = spline(problem.stops), 1.0
    profile = times = None
    for _ in range(ATTEMPTS):
        if profile is None:
            profile, times = fastest(problem, path, settings.grid, share), None
        if profile is None:
            return Plan.refused(problem.joints, *_stuck(problem, path), METHOD, perf_counter() - begun)
        trajectory, stops = _averaged(problem, profile, path, times)
        findings = verify(problem, trajectory, stops, settings.tolerance)
        if findings.share <= 1.0:
            break
        if findings.worst.constraint.partition(" of ")[0] in ("velocity limit", "acceleration limit", "effort limit"):
            profile, share = None, share * (1.0 - 2.0 * KEPT * findings.share)
        else:  # where the efforts are not straight between two points, more points
            times = _between(trajectory.times, findings.errors > settings.tolerance)
    worst = findings.worst
    solved = findings.share <= 1.0
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
        findings.dynamics_error,
    )


def _averaged(
    problem: Problem, profile: SpeedProfile, path: Any, times: Array | None = None
) -> tuple[Trajectory, list[int]]:
    """The mean of the motion over a window, and which of its points lie at the stops after the first."""
    grid = profile.times
    half = min(WINDOW, 0.5 * float(np.diff(grid).min())) / 2.0
    times = np.column_stack((grid - half, grid, grid + half)).ravel() if times is None else times - half
    nodes, weights = np.polynomial.legendre.leggauss(4)
    # Of each half of the window by itself: at the grid points the halves are different pieces.
    halves = [profile.at(path, times + half * (node + side) / 2.0)[0] for node in nodes for side in (-1.0, 1.0)]
    q: Array = np.tensordot(np.repeat(weights, 2) / 4.0, np.array(halves), 1)
    (before, slow), (after, fast) = profile.at(path, times - half), profile.at(path, times + half)
    qd, qdd = (after - before) / (2.0 * half), (fast - slow) / (2.0 * half)
    q[0], q[-1] = problem.stops[0], problem.stops[-1]
    qd[[0, -1]] = qdd[[0, -1]] = 0.0
    trajectory = Trajectory(times - times[0], q, qd, qdd, problem.model.efforts(q, qd, qdd))
    stops = [int(np.argmin(np.abs(q - stop).max(axis=1))) for stop in problem.stops[1:-1]]
    return trajectory, [*stops, len(times) - 1]


def _between(times: Array, rough: NDArray[np.bool_]) -> Array:
    """Three more times within each interval that is rough."""
    more = [times[:-1][rough] + share * np.diff(times)[rough] for share in (0.25, 0.5, 0.75)]
    return np.sort(np.concatenate((times, *more)))


def _stuck(problem: Problem, path: Any) -> tuple[str, Violation]:
    """Where on the path even standing is too much."""
    shares = np.linspace(0.0, 1.0, 401)
    held = np.abs(np.array([problem.model.holding(path(share)) for share in shares]))
    excess = held / problem.bounds.effort
    place, joint = np.unravel_index(int(np.argmax(excess)), excess.shape)
    name, allowed = problem.joints[int(joint)], float(problem.bounds.effort[joint])
    needed = float(held[place, joint])
    violation = Violation(f"effort limit of {name!r}", needed - allowed, "[N·m] or [N]")
    if needed > allowed:
        return (
            f"at {shares[place]:.0%} of the path the arm cannot even stand: joint {name!r} needs {needed:.4g}",
            violation,
        )
    return "along this path no speed keeps to the limits", violation
