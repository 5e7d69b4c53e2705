# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Demonstrations: a motion that was shown by hand becomes a trajectory that the arm can follow.

    recorded positions → rests at both ends cut → low-pass without phase shift → few points → slowed down if need be

Between its points the trajectory is a quintic with the position, velocity and acceleration of the shown motion. Points
are added where the distance from it is greatest until it is nowhere above the tolerance (the algorithm of Ramer,
Douglas and Peucker, with quintics in place of chords). At both ends the arm is at rest. A motion that is faster than
the arm may be, or that needs more effort, is slowed down as a whole, which keeps its path.

Source: Billard, Calinon, Dillmann, Schaal, Robot programming by demonstration, Springer Handbook of Robotics (2008),
chapter 59 (kinesthetic teaching); Douglas and Peucker, Algorithms for the reduction of the number of points required to
represent a digitized line or its caricature, Cartographica 10(2) (1973); scaling in time: Hollerbach, Dynamic scaling
of manipulator trajectories, J. Dynamic Systems, Measurement, and Control 106 (1984), eq. 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BPoly

from robodyn_ros.checks import check, finite_array
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.identification.segments import lowpass
from robodyn_ros.robot import Array, ConfigurationSpace
from robodyn_ros.settings import CheckedSettings, setting

SHORTEST = 30
"""Least number of states that are smoothed."""

MARGIN = 0.2
"""Time of rest that is kept before and after the motion [s]."""

OF_RANGE, OF_SPEED = 0.01, 0.02
"""Greatest tolerance of a joint over its range, and greatest speed at which it is at rest over its velocity limit: a
finger of millimetres is not at rest all the time."""

ROUNDING = 1e-9
"""Least tolerance of a joint [rad] or [m]."""

SLOWEST = 50.0
"""Greatest factor by which a motion is slowed down."""


@dataclass(frozen=True)
class DemonstrationSettings(CheckedSettings):
    """Settings of the conversion of a demonstration to a trajectory."""

    tolerance: float = setting(0.002, "greatest distance from the shown motion, smoothed", "rad or m", 1e-6, 1.0)
    cutoff: float = setting(5.0, "cutoff frequency of the smoothing", "Hz", 0.1, 100.0)
    rest_speed: float = setting(0.02, "speed below which a joint is at rest", "rad/s or m/s", 1e-6, 10.0)
    speed_ratio: float = setting(0.8, "ratio of the velocity limits that may be used", "-", 0.01, 1.0)
    effort_ratio: float = setting(0.8, "ratio of the effort limits that may be used", "-", 0.01, 1.0)


class Demonstration(NamedTuple):
    """A trajectory, and the figures of its conversion from a recording."""

    trajectory: Trajectory
    shown: int  # number of states that were recorded
    duration: float  # of the motion as it was shown [s]
    slowed: float  # factor by which it was slowed down; 1 if it was not
    distance: float  # greatest distance from the shown motion, smoothed [rad] or [m]
    clipped: tuple[str, ...]  # names of joints that were moved beyond their limits, where the trajectory stops


def demonstration(
    dynamics: Dynamics, times: ArrayLike, positions: ArrayLike, settings: DemonstrationSettings | None = None
) -> Demonstration:
    """A trajectory of the shown motion.

    Args:
        dynamics: of the arm, with payload and friction as they will be when it is played back.
        times: of the states, (N,) in [s], increasing.
        positions: (N, n) in [rad] or [m].
        settings: the defaults unless given.

    Raises:
        InputError: times that do not increase, wrong shapes, something not finite; nothing moves in the recording; or
            the arm cannot hold itself somewhere on the path, at any speed; the message names the joint.
    """
    settings, robot = settings or DemonstrationSettings(), dynamics.robot
    t = finite_array("times", times, np.shape(times))
    q = finite_array("positions", positions, (len(t), robot.n))
    check(t.ndim == 1 and len(t) >= 2 and (np.diff(t) > 0.0).all(), "times", "at least two that increase", times)
    unwrapped = ConfigurationSpace(robot).unwrap(q)
    tolerance = np.maximum(np.minimum(settings.tolerance, OF_RANGE * (robot.upper - robot.lower)), ROUNDING)
    margin = np.minimum(tolerance, (robot.upper - robot.lower) / 2.0)
    least, most = robot.lower + margin, robot.upper - margin
    inside = np.clip(unwrapped, least, most)
    outside = np.abs(inside - unwrapped).max(axis=0) > 2.0 * settings.tolerance
    grid, smooth = _smoothed(t, inside, settings.cutoff)
    rest = np.minimum(settings.rest_speed, OF_SPEED * robot.velocity_limit)
    first, last = _moving(grid, smooth, rest, robot.position_unit)
    grid, inside = grid[first:last] - grid[first], np.clip(smooth[first:last], least, most)
    (times, q, qd, qdd), distance = _thinned(grid, inside, tolerance)
    motion = Trajectory(times, q, qd, qdd)
    slowed = _slowed(dynamics, motion, settings)
    trajectory = Trajectory(slowed * times, q, qd / slowed, qdd / slowed**2)
    names = tuple(name for name, beyond in zip(robot.joint_names, outside, strict=True) if beyond)
    return Demonstration(trajectory, len(t), motion.duration, slowed, distance, names)


def _smoothed(t: Array, q: Array, cutoff: float) -> tuple[Array, Array]:
    """Times with one step, and the positions then, low-pass filtered without phase shift."""
    step = float(np.median(np.diff(t)))
    grid = np.linspace(t[0], t[-1], max(2, round((t[-1] - t[0]) / step) + 1))
    even = np.column_stack([np.interp(grid, t, column) for column in q.T])
    return grid, lowpass(even, cutoff, grid[1] - grid[0]) if len(grid) >= SHORTEST else even


def _moving(t: Array, q: Array, speed: Array, unit: str) -> tuple[int, int]:
    """First index of the motion, and the one after its last; the speeds (n,) in that unit a second."""
    moves = np.flatnonzero((np.abs(np.gradient(q, t, axis=0)) > speed).any(axis=1))
    if not len(moves):
        raise InputError("positions", f"no joint moves faster than {speed.max():g} ({unit})/s: nothing was shown", q)
    margin = max(1, round(MARGIN / (t[1] - t[0])))
    return max(0, int(moves[0]) - margin), min(len(t), int(moves[-1]) + margin + 1)


def _thinned(t: Array, q: Array, tolerance: Array) -> tuple[tuple[Array, Array, Array, Array], float]:
    """Few points (times, q, q̇, q̈) whose quintics stay within the tolerances (n,), and their greatest distance."""
    qd = np.gradient(q, t, axis=0)
    qdd = np.gradient(qd, t, axis=0)
    qd[[0, -1]] = qdd[[0, -1]] = 0.0
    kept, open_ends, greatest = {0, len(t) - 1}, [(0, len(t) - 1)], 0.0
    while open_ends:
        first, last = open_ends.pop()
        ends = [first, last]
        curve = BPoly.from_derivatives(t[ends], np.stack((q[ends], qd[ends], qdd[ends]), axis=1))
        away = np.abs(curve(t[first : last + 1]) - q[first : last + 1])
        ratio = (away / tolerance).max(axis=1)
        worst = int(ratio.argmax())
        if ratio[worst] <= 1.0 or last - first < 2:
            greatest = max(greatest, float(away.max()))
            continue
        middle = min(max(first + worst, first + 1), last - 1)
        kept.add(middle)
        open_ends += [(first, middle), (middle, last)]
    rows = sorted(kept)
    return (t[rows], q[rows], qd[rows], qdd[rows]), greatest


def _slowed(dynamics: Dynamics, curve: Trajectory, settings: DemonstrationSettings) -> float:
    """The factor by which a motion must be slowed down to keep to the limits."""
    robot = dynamics.robot
    allowed = settings.speed_ratio * robot.velocity_limit
    factor = max(1.0, float((curve.speed(allowed) / allowed).max()))
    q, qd, qdd = curve.samples(np.linspace(0.0, curve.duration, 20 * len(curve.times)))
    softness = np.abs(qdd) / robot.symmetric_acceleration_limit
    jerk = 60.0 * np.diff(curve.bernstein, 3, axis=0) / np.diff(curve.times)[:, np.newaxis] ** 3 / robot.jerk_limit
    factor = max(factor, float(np.sqrt(softness.max())), float(np.cbrt(np.abs(jerk).max())))
    effort = settings.effort_ratio * robot.effort_limit
    while True:
        needed = np.abs(dynamics.inverse(q, qd / factor, qdd / factor**2))
        ratio = (needed / effort).max(axis=0)
        if ratio.max() <= 1.0:
            return factor
        if factor > SLOWEST:
            joint = int(ratio.argmax())
            problem = f"joint {robot.joint_names[joint]!r} would need {needed[:, joint].max():.4g}, and may use "
            problem += f"{effort[joint]:.4g}, {settings.effort_ratio:.0%} of its limit, however slowly it moves"
            raise InputError("positions", problem, needed)
        factor *= 1.1
