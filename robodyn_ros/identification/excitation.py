"""Motions from which an arm's parameters can be told well.

Fourier series whose regressor has the greatest determinant (D-optimality) within limits of position, velocity, effort
and workspace, checked at many more points than they were made from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from robodyn_ros.checks import finite_array
from robodyn_ros.control.motion.point_to_point import durations
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.dynamics.parameters import STANDARD_GRAVITY
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError
from robodyn_ros.identification.estimation.base_parameters import BaseParameters, base_parameters
from robodyn_ros.identification.excitation_criteria import DOptimality, ExcitationLimits, MotionArrays
from robodyn_ros.identification.settings import ExcitationSettings, IdentificationSettings, Workspace
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """Periodic motions that begin and end at rest.

        q(t) = c + Σ a_l / (ω l) sin(ω l t) - b_l / (ω l) cos(ω l t),    l = 1 … L

    (Swevers, Ganseman, Tükel, de Schutter and Van Brussel, Optimal robot excitation and identification, IEEE
    Transactions
    on Robotics and Automation 13(5), 1997). With Σ a_l = 0 and Σ l b_l = 0 velocity and acceleration are 0 at t = 0 and
    after each period. a_1 and b_1 follow from that, so that 2 L - 1 numbers remain for each joint: c, a_2 …, b_2 ….

    Attributes:
        period: [s].
        coefficients: c, a_2 … a_L, b_2 … b_L of each joint, (2 L - 1, n).
    """

    period: float
    coefficients: Array

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times (N,), each (N, n)."""
        q, qd, qdd = (basis @ self.coefficients for basis in bases(self.period, (len(self.coefficients) + 1) // 2, t))
        return q, qd, qdd


def bases(period: float, harmonics: int, t: Array) -> tuple[Array, Array, Array]:
    """What position, velocity and acceleration are multiples of, each (N, 2 L - 1)."""
    order = np.arange(1, harmonics + 1)
    rate = np.asarray(2.0 * np.pi / period * order, dtype=np.float64)
    angle: Array = np.outer(t, rate)
    sine, cosine = np.sin(angle), np.cos(angle)
    zero, one = np.zeros((len(t), 1)), np.ones((len(t), 1))

    def at_rest(first: Array, of_a: Array, of_b: Array) -> Array:
        return np.hstack([first, of_a[:, 1:] - of_a[:, :1], of_b[:, 1:] - order[1:] * of_b[:, :1]])

    return (
        at_rest(one, sine / rate, -cosine / rate),
        at_rest(zero, cosine, sine),
        at_rest(zero, -rate * sine, rate * cosine),
    )


# The search for an exciting motion, over the coefficients x (2 L - 1, n) of its Fourier series.
#
# What is beyond the limits costs, more from round to round (the penalty method; Nocedal and Wright, Numerical
# Optimization, 2006, ch. 17), by L-BFGS with exact derivatives; what little then remains is taken away by making the
# motion smaller.

PENALTIES = (1e1, 1e3, 1e5)
"""Weights of what is beyond the limits, round by round."""

ITERATIONS = 200
"""Of a round at most."""

SMALLER, QUICKLY = 0.99, 0.7
"""By which factor a motion beyond its limits is made smaller until it is within; once it is half of what it was."""

LEAST = 1e-3
"""Share of a motion below which there is none."""


def motion_of(x: Array, basis: MotionArrays) -> MotionArrays:
    """Positions, velocities and accelerations, each (N, n)."""
    q, qd, qdd = (part @ x for part in basis)
    return q, qd, qdd


def at_rest(q: Array) -> MotionArrays:
    """A pose (n,) as a motion."""
    return q[None], np.zeros((1, len(q))), np.zeros((1, len(q)))


def draw(rng: np.random.Generator, limits: ExcitationLimits, settings: ExcitationSettings) -> Array:
    """Coefficients drawn at random, the way of each joint a quarter of its range to either side at most."""
    n = len(limits.middle)
    x = rng.normal(size=(2 * settings.harmonics - 1, n))
    way = np.abs(bases(settings.period, settings.harmonics, np.linspace(0.0, settings.period, 200))[0][:, 1:] @ x[1:])
    x[1:] *= 0.5 * limits.half / way.max(axis=0)
    x[0] = limits.middle + 0.3 * limits.half * rng.uniform(-1.0, 1.0, n)
    return x


def within(x: Array, basis: MotionArrays, limits: ExcitationLimits, start: Array) -> Array:
    """The motion made smaller until it is within limits: around its own middle, that of the ranges, or a start (n,).

    Raises:
        InputError: there is no motion around any of them.
    """
    for middle in (x[0], limits.middle, start):
        y, size = np.vstack([middle, x[1:]]), 1.0
        while size > LEAST:
            y[1:] = size * x[1:]
            if limits.worst(motion_of(y, basis))[0] <= 1.0:
                return y
            size *= SMALLER if size > 0.5 else QUICKLY
    worst, kind = limits.worst(at_rest(start))
    raise InputError(
        "limits",
        "leave no room to move, neither around the middle of the joints' ranges nor around the start; there, at "
        f"{start}, {kind} is at {100.0 * worst:.0f} % of what is allowed",
        start,
    )


def optimised(first: Array, basis: MotionArrays, limits: ExcitationLimits, information: DOptimality) -> Array:
    """The motion of least loss that keeps, almost, within limits."""
    unit = np.vstack([limits.half, np.tile(np.abs(first[1:]).mean(axis=0), (len(first) - 1, 1))])

    def cost(flat: Array, weight: float) -> tuple[float, Array]:
        motion = motion_of(flat.reshape(unit.shape) * unit, basis)
        loss, slopes = information.loss(*motion)
        if not np.isfinite(loss):
            return 1e30, np.zeros_like(flat)
        beyond, more = limits.penalty(*motion)
        total = [a / information.rank + weight * b for a, b in zip(slopes, more, strict=True)]
        gradient = np.sum([part.T @ slope for part, slope in zip(basis, total, strict=True)], axis=0) * unit
        return loss / information.rank + weight * beyond, gradient.ravel()

    x = (first / unit).ravel()
    for weight in PENALTIES:
        x = minimize(cost, x, (weight,), jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS}).x
    found: Array = x.reshape(unit.shape) * unit
    return found


SAMPLES = 16
"""Points for each period of the fastest harmonic at which the motion is made, and weighed."""

CHECKED = 16
"""How many times as many it is checked at."""

ROUNDING = 1e-9
"""How far a start at a limit may seem beyond it."""

SLOWER = 5
"""How often the way to the beginning is made twice as slow."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """An exciting motion.

    Attributes:
        series: the motion in one period.
        periods: how often it is made.
        start: where the arm is before, (n,) in [rad] or [m].
        approach: how long it takes from there to where the period begins [s].
        base: the base parameters that it shows.
        drawn: the motion drawn at random that it was made from, within the same limits.
        condition: condition number of their regressor, columns scaled to length 1.
        condition_before: the same of the motion drawn at random.
        gain: how many times shorter the axes of their confidence ellipsoid are than by that one, the geometric mean.
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
        """From rest at the start to the period's beginning, all periods, and rest; quintics between points."""
        count = SAMPLES * ((len(self.series.coefficients) + 1) // 2) * self.periods
        t = np.linspace(0.0, self.periods * self.series.period, count + 1)
        q, qd, qdd = self.series.sample(t)
        qd[[0, -1]] = qdd[[0, -1]] = 0.0  # but for rounding, they are
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
) -> Excitation:
    """A motion that shows the base parameters as well as the limits allow.

    Args:
        robot: the arm; its URDF's numbers say what its efforts will be.
        settings: settings.
        identified: what is to be identified from it.
        workspace: where links stay; anywhere unless given.
        start: where the arm is before (n,); as near to 0 as its limits allow unless given.
        gravity: acceleration of free fall in the root link's frame, (3,) in [m/s²].

    Raises:
        InputError: a joint cannot move, the workspace is wrong, or there is no motion within the limits around the
            middle of the joints' ranges or the start.
    """
    settings, wanted = settings or ExcitationSettings(), identified or IdentificationSettings()
    dynamics = RNEA(robot, gravity=gravity, viscous=robot.damping, coulomb=robot.friction)
    limits = ExcitationLimits(dynamics, settings, workspace)
    begin = robot.home if start is None else finite_array("start", start, (robot.n,))
    whole = ExcitationLimits(
        dynamics, replace(settings, position_margin=0.0, velocity_share=1.0, effort_share=1.0), workspace
    )
    worst, kind = whole.worst(at_rest(begin))
    if worst > 1.0 + ROUNDING:
        raise InputError("start", f"is beyond the limits: {kind} at {100.0 * worst:.0f} % of what is allowed", begin)
    base = base_parameters(
        robot,
        inertial=wanted.inertial,
        armature=wanted.armature,
        viscous=wanted.viscous,
        coulomb=wanted.coulomb or wanted.stribeck,
        gravity=gravity,
    )
    t = np.arange(SAMPLES * settings.harmonics) * settings.period / (SAMPLES * settings.harmonics)
    basis = bases(settings.period, settings.harmonics, t)
    rng = np.random.default_rng(settings.seed)
    near = np.clip(begin, limits.middle - limits.half, limits.middle + limits.half)
    firsts = [within(draw(rng, limits, settings), basis, limits, near) for _ in range(settings.tries)]
    effort = dynamics.inverse(*motion_of(firsts[0], basis))
    scale = np.maximum(np.sqrt(np.mean(effort**2, axis=0)), 1e-9 * np.abs(effort).max())
    information = DOptimality(dynamics, base, scale)

    def loss(x: Array) -> float:
        return information.loss(*motion_of(x, basis))[0]

    tried = [(first, optimised(first, basis, limits, information)) for first in firsts]
    first, best = min(tried, key=lambda pair: loss(pair[1]))
    fine = np.arange(CHECKED * len(t)) * settings.period / (CHECKED * len(t))
    best = within(best, bases(settings.period, settings.harmonics, fine), limits, near)
    series = FourierSeries(settings.period, best)
    return Excitation(
        series=series,
        periods=settings.periods,
        start=begin,
        approach=_approach(begin, series, whole),
        base=base,
        drawn=FourierSeries(settings.period, first),
        condition=information.condition(*motion_of(best, basis)),
        condition_before=information.condition(*motion_of(first, basis)),
        gain=float(np.exp((loss(first) - loss(best)) / (2.0 * base.rank))),
    )


def _approach(start: Array, series: FourierSeries, limits: ExcitationLimits) -> float:
    """How long the way to the period's beginning takes [s], no faster than the motion itself; 0 if it is there.

    Args:
        start: where the arm is (n,).
        series: the motion.
        limits: those of the arm itself.

    Raises:
        InputError: the straight way there is not within the limits, however slowly it is gone.
    """
    q, qd, qdd = series.sample(np.linspace(0.0, series.period, 400))
    way, rest = np.vstack([start, q[0]]), np.zeros((2, len(start)))
    if np.abs(way[1] - way[0]).max() < 1e-9:
        return 0.0
    time = float(durations(way, np.abs(qd).max(axis=0), np.abs(qdd).max(axis=0))[0])
    for _ in range(SLOWER):
        path = Trajectory([0.0, time], way, rest, rest)
        samples = [path.sample(t) for t in np.linspace(0.0, time, 100, endpoint=False)]
        worst, kind = limits.worst((*(np.array(part) for part in zip(*samples, strict=True)),))
        if worst <= 1.0 + ROUNDING:
            return time
        time *= 2.0
    raise InputError(
        "start",
        f"the way from {start} to {q[0]}, where the motion begins, goes beyond the limits: {kind} comes to "
        f"{100.0 * worst:.0f} % of what is allowed; give another start",
        start,
    )
