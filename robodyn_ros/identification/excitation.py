# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Exciting motions: motions from which an arm's parameters can be identified well.

An exciting motion is a Fourier series whose regressor has the greatest determinant (D-optimality) within limits of
position, velocity, acceleration, jerk, effort and workspace. :func:`excite` searches over the coefficients x
(2 L - 1, n) of the series:

1. draw random coefficients and shrink the motion until it is within the limits;
2. minimise the criterion, with a penalty on violations of the limits that grows from round to round (the penalty
   method; Nocedal and Wright, Numerical Optimization, 2006, ch. 17), by L-BFGS with exact derivatives;
3. check the best result at many more points than the search uses, and shrink it to remove a small violation there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from robodyn_ros.checks import finite_array
from robodyn_ros.control import Trajectory, durations
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError
from robodyn_ros.identification.estimation.base_parameters import BaseParameters, base_parameters
from robodyn_ros.identification.excitation_criteria import DOptimality, ExcitationLimits, MotionArrays
from robodyn_ros.identification.settings import ExcitationSettings, IdentificationSettings, Workspace
from robodyn_ros.robot import Array, ConfigurationSpace, Robot

SAMPLES = 16
"""Points per period of the fastest harmonic at which the search evaluates the motion."""

CHECKED = 16
"""Factor on the number of points for the final check."""

PENALTIES = (1e1, 1e3, 1e5)
"""Weights of the penalty, round by round."""

MAX_ITERATIONS = 200
"""Greatest number of iterations of a round."""

SHRINK, SHRINK_FAST = 0.99, 0.7
"""Factors by which each step shrinks a motion beyond its limits; the second from half its size on."""

MIN_SIZE = 1e-3
"""Ratio of its initial size below which a motion counts as rest."""

ROUNDING = 1e-9
"""Tolerance for rounding of a start at a limit."""

SLOWDOWNS = 5
"""Number of times that the duration of the approach is doubled."""


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """Periodic motions that begin and end at rest.

        q(t) = c + Σ a_l / (ω l) sin(ω l t) - b_l / (ω l) cos(ω l t),    l = 1 … L

    With Σ a_l = 0 and Σ l b_l = 0 velocity and acceleration are 0 at t = 0 and after each period. a_1 and b_1 follow
    from these conditions, so that 2 L - 1 coefficients remain for each joint: c, a_2 …, b_2 …. Source: Swevers,
    Ganseman, Tükel, de Schutter and Van Brussel, Optimal robot excitation and identification, IEEE Transactions on
    Robotics and Automation 13(5), 1997.

    Attributes:
        period: [s].
        coefficients: c, a_2 … a_L, b_2 … b_L of each joint, (2 L - 1, n).
    """

    period: float
    coefficients: Array

    def sample(self, t: Array) -> MotionArrays:
        """Positions, velocities and accelerations at times (N,), each (N, n)."""
        return evaluate(self.coefficients, fourier_bases(self.period, (len(self.coefficients) + 1) // 2, t))


@dataclass(frozen=True, eq=False)
class Excitation:
    """An exciting motion.

    Attributes:
        series: the motion of one period.
        periods: number of periods.
        start: position before the motion, (n,) in [rad] or [m].
        approach: duration of the motion from there to the beginning of the period [s].
        base: the base parameters that it excites.
        drawn: the random motion from which the search started, within the same limits.
        condition: condition number of the regressor of the base parameters, columns scaled to length 1.
        condition_before: the same for the random motion.
        gain: factor by which the axes of the parameters' confidence ellipsoid are shorter than for the random motion,
            as a geometric mean.
    """

    series: FourierSeries
    periods: int
    start: Array
    approach: float
    base: BaseParameters
    drawn: FourierSeries
    condition: float
    condition_before: float
    gain: float

    @cached_property
    def trajectory(self) -> Trajectory:
        """The approach from rest, all periods, and rest, with quintics between the points."""
        count = SAMPLES * ((len(self.series.coefficients) + 1) // 2) * self.periods
        t = np.linspace(0.0, self.periods * self.series.period, count + 1)
        q, qd, qdd = self.series.sample(t)
        qd[[0, -1]] = qdd[[0, -1]] = 0.0  # they are 0 but for rounding
        if self.approach == 0.0:
            return Trajectory(t, q, qd, qdd)
        rest = np.zeros((1, q.shape[1]))
        times = np.concatenate([[0.0], self.approach + t])
        return Trajectory(times, np.vstack([self.start, q]), np.vstack([rest, qd]), np.vstack([rest, qdd]))


def excite(
    robot: Robot,
    settings: ExcitationSettings | None = None,
    *,
    identified: IdentificationSettings | None = None,
    workspace: Workspace | None = None,
    start: ArrayLike | None = None,
    gravity: ArrayLike = STANDARD_GRAVITY,
    progress: Callable[[], object] = lambda: None,
) -> Excitation:
    """Find a motion that excites the base parameters as well as the limits allow.

    Args:
        robot: the arm; its URDF's numbers predict the efforts.
        settings: the motion's period, harmonics and margins, and the search.
        identified: which parameters are to be identified from it.
        workspace: the box in which links stay; none unless given.
        start: position before the motion (n,), of a continuous joint in any turn; as near to 0 as the limits allow
            unless given.
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].
        progress: called after each try of the search.

    Raises:
        InputError: a joint cannot move, the workspace is wrong, nothing is to be identified, or no motion is within the
            limits, neither around the middle of the joints' ranges nor around the start.
    """
    settings, wanted = settings or ExcitationSettings(), identified or IdentificationSettings()
    dynamics = RNEA(robot, gravity=gravity, viscous=robot.damping, coulomb=robot.friction)
    limits = ExcitationLimits(dynamics, settings, workspace)
    rest = robot.home if start is None else finite_array("start", start, (robot.n,))
    rest = ConfigurationSpace(robot).near(limits.middle, rest)
    without_margins = replace(settings, position_margin=0.0, velocity_ratio=1.0, effort_ratio=1.0)
    whole = ExcitationLimits(dynamics, without_margins, workspace)
    careful = ExcitationLimits(dynamics, replace(settings, position_margin=0.0), workspace)
    worst, kind = whole.worst(at_rest(rest))
    if worst > 1.0 + ROUNDING:
        raise InputError("start", f"is beyond the limits: {kind} is at {100.0 * worst:.0f} % of its limit", rest)
    friction = {"coulomb": wanted.coulomb or wanted.stribeck}
    base = base_parameters(robot, **(wanted.kinds | friction), gravity=gravity)
    t = np.arange(SAMPLES * settings.harmonics) * settings.period / (SAMPLES * settings.harmonics)
    basis = fourier_bases(settings.period, settings.harmonics, t)
    rng = np.random.default_rng(settings.seed)
    near = np.clip(rest, limits.middle - limits.half, limits.middle + limits.half)
    drawn = [random_coefficients(rng, limits, settings) for _ in range(settings.tries)]
    initial = [shrink_to_limits(x, basis, limits, near) for x in drawn]
    effort = dynamics.inverse(*evaluate(initial[0], basis))
    scale = np.maximum(np.sqrt(np.mean(effort**2, axis=0)), 1e-9 * np.abs(effort).max())
    criterion = DOptimality(dynamics, base, scale)

    tried = []
    for first in initial:
        found = optimise(first, basis, limits, criterion)
        tried.append((criterion.loss(*evaluate(found, basis))[0], found, first))
        progress()
    _, best, first = min(tried, key=lambda each: each[0])
    fine = np.arange(CHECKED * len(t)) * settings.period / (CHECKED * len(t))
    best = shrink_to_limits(best, fourier_bases(settings.period, settings.harmonics, fine), limits, near)
    series, motions = FourierSeries(settings.period, best), [evaluate(x, basis) for x in (best, first)]
    (after, _), (before, _) = (criterion.loss(*motion) for motion in motions)
    condition, condition_before = (criterion.condition(*motion) for motion in motions)
    return Excitation(
        series=series,
        periods=settings.periods,
        start=rest,
        approach=_approach(rest, series, careful, whole),
        base=base,
        drawn=FourierSeries(settings.period, first),
        condition=condition,
        condition_before=condition_before,
        gain=float(np.exp((before - after) / (2.0 * base.rank))),
    )


def fourier_bases(period: float, harmonics: int, t: Array) -> MotionArrays:
    """The matrices that take coefficients to position, velocity and acceleration, each (N, 2 L - 1)."""
    order = np.arange(1, harmonics + 1)
    rate = np.asarray(2.0 * np.pi / period * order, dtype=np.float64)
    angle: Array = np.outer(t, rate)
    sine, cosine = np.sin(angle), np.cos(angle)
    zero, one = np.zeros((len(t), 1)), np.ones((len(t), 1))

    parts = (one, sine / rate, -cosine / rate), (zero, cosine, sine), (zero, -rate * sine, rate * cosine)
    return tuple(np.hstack([c, a[:, 1:] - a[:, :1], b[:, 1:] - order[1:] * b[:, :1]]) for c, a, b in parts)


def evaluate(x: Array, basis: MotionArrays) -> MotionArrays:
    """Positions, velocities and accelerations (N, n) for coefficients x, with the matrices of :func:`fourier_bases`."""
    return tuple(part @ x for part in basis)


def at_rest(q: Array) -> MotionArrays:
    """A pose (n,) as a motion."""
    return q[None], np.zeros((1, len(q))), np.zeros((1, len(q)))


def random_coefficients(rng: np.random.Generator, limits: ExcitationLimits, settings: ExcitationSettings) -> Array:
    """Random coefficients; each joint moves by at most a quarter of its range to either side of the middle."""
    n = len(limits.middle)
    x = rng.normal(size=(2 * settings.harmonics - 1, n))
    position = fourier_bases(settings.period, settings.harmonics, np.linspace(0.0, settings.period, 200))[0]
    x[1:] *= 0.5 * limits.half / np.abs(position[:, 1:] @ x[1:]).max(axis=0)
    x[0] = limits.middle + 0.3 * limits.half * rng.uniform(-1.0, 1.0, n)
    return x


def shrink_to_limits(x: Array, basis: MotionArrays, limits: ExcitationLimits, start: Array) -> Array:
    """Shrink a motion until it is within limits: around its own middle, that of the ranges, or a start (n,).

    Raises:
        InputError: there is no motion within limits around any of them.
    """
    for middle in (x[0], limits.middle, start):
        y, size = np.vstack([middle, x[1:]]), 1.0
        while size > MIN_SIZE:
            y[1:] = size * x[1:]
            if limits.worst(evaluate(y, basis))[0] <= 1.0:
                return y
            size *= SHRINK if size > 0.5 else SHRINK_FAST
    told = []
    for name, q in (("middle of the joints' ranges", limits.middle), ("start", start)):
        worst, kind = limits.worst(at_rest(q))
        told.append(f"around the {name} {q}, where {kind} is at {100.0 * worst:.0f} % of its limit")
    raise InputError("limits", f"leave no room to move, neither {' nor '.join(told)}", start)


def optimise(first: Array, basis: MotionArrays, limits: ExcitationLimits, criterion: DOptimality) -> Array:
    """The motion of the least criterion that keeps to the limits, up to a small violation."""
    unit = np.vstack([limits.half, np.tile(np.abs(first[1:]).mean(axis=0), (len(first) - 1, 1))])

    def cost(flat: Array, weight: float) -> tuple[float, Array]:
        motion = evaluate(flat.reshape(unit.shape) * unit, basis)
        loss, slopes = criterion.loss(*motion)
        if not np.isfinite(loss):
            return 1e30, np.zeros_like(flat)
        beyond, more = limits.penalty(*motion)
        total = [a / criterion.rank + weight * b for a, b in zip(slopes, more, strict=True)]
        gradient = np.sum([part.T @ slope for part, slope in zip(basis, total, strict=True)], axis=0) * unit
        return loss / criterion.rank + weight * beyond, gradient.ravel()

    x = (first / unit).ravel()
    for weight in PENALTIES:
        x = minimize(cost, x, (weight,), jac=True, method="L-BFGS-B", options={"maxiter": MAX_ITERATIONS}).x
    return x.reshape(unit.shape) * unit


def _approach(start: Array, series: FourierSeries, *limits: ExcitationLimits) -> float:
    """Duration of the straight motion to the period's beginning [s], no faster than the motion itself.

    It is 0 if the arm is at that position.

    Args:
        start: position before the motion (n,).
        series: the motion.
        *limits: of the arm, each for a path that the ones before it do not allow at any speed.

    Raises:
        InputError: the straight path to the motion leaves the limits, at any speed.
    """
    q, qd, qdd = series.sample(np.linspace(0.0, series.period, 400))
    ends, rest = np.vstack([start, q[0]]), np.zeros((2, len(start)))
    if np.abs(ends[1] - ends[0]).max() < 1e-9:
        return 0.0
    quickest = float(durations(ends, np.abs(qd).max(axis=0), np.abs(qdd).max(axis=0), limits[0].jerk)[0])
    for allowed, slower in product(limits, range(SLOWDOWNS)):
        time = 2.0**slower * quickest
        path = Trajectory([0.0, time], ends, rest, rest)
        worst, kind = allowed.worst(path.samples(np.linspace(0.0, time, 100, endpoint=False)))
        if worst <= 1.0 + ROUNDING:
            return time
    problem = f"the path from {start} to {q[0]}, where the motion begins, exceeds the limits: {kind} reaches "
    raise InputError("start", f"{problem}{100.0 * worst:.0f} % of its limit; give another start", start)
