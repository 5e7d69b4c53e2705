"""An arm as a regression problem, and its solution."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import least_squares

from robodyn_ros.checks import non_negative
from robodyn_ros.dynamics.inertial_parameters import made_possible, standard_parameters
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError
from robodyn_ros.identification.estimation.base_parameters import BaseParameters, base_parameters
from robodyn_ros.identification.estimation.physical import Fit, fit_physical
from robodyn_ros.identification.estimation.regression import Estimate, Regression, estimate
from robodyn_ros.identification.estimation.result import Prediction
from robodyn_ros.identification.settings import IdentificationSettings
from robodyn_ros.identification.signals.samples import Samples
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

# Stribeck velocities by variable projection.
#
#     F = sign(q̇) (Fc + (Fs - Fc) exp(-(q̇/vs)²)) + d q̇
#
# is linear in everything but vs, which has a value for each joint. Everything linear is eliminated, exactly, and what
# is
# left of the residual is a function of the vs alone, to be minimised by Gauss and Newton's method (Golub and Pereyra,
# The
# differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate, SIAM J. Numerical
# Analysis 10(2), 1973, with Kaufman's simplification of the derivative, BIT 15, 1975).

SHARES = (0.005, 0.015, 0.05, 0.15, 0.5)
"""Shares of a joint's greatest speed from which the search begins."""

BOUNDS = (1e-3, 1.0)
"""Least and greatest share of it that a Stribeck velocity can be found at."""


class Stribeck(NamedTuple):
    """Of each joint (n,), in [rad/s] or [m/s]; 0 where there is none."""

    velocity: Array
    errors: Array  # standard errors


def fading(qd: Array, velocity: Array) -> Array:
    """sign(q̇) exp(-(q̇/vs)²), (N, n): what the excess of static friction is multiplied by; 0 where vs is."""
    with np.errstate(divide="ignore"):
        rate = np.where(velocity > 0.0, 1.0 / velocity, np.inf)
    with np.errstate(invalid="ignore"):
        return np.where(qd == 0.0, 0.0, np.sign(qd) * np.exp(-((rate * qd) ** 2)))


def _slope(qd: Array, velocity: Array) -> Array:
    """Its derivative by the logarithm of vs."""
    found: Array = 2.0 * (qd / velocity) ** 2 * fading(qd, velocity)
    return found


def stribeck_velocities(
    problem: Regression, samples: Samples, certainty: Array, begin: Array | None = None
) -> Stribeck:
    """The velocities that fit best; 0 of joints whose efforts are not used.

    Args:
        problem: the regression without this friction.
        samples: the motion.
        certainty: weights of the efforts (N, n).
        begin: velocities (n,) to begin from; looked for unless given.
    """
    used = certainty > 0.0
    root, joint = np.sqrt(certainty[used]), np.nonzero(used)[1]
    speed = np.abs(samples.qd).max(axis=0)
    joints = np.flatnonzero(used.any(axis=0) & (speed > 0.0))
    if not len(joints):
        return Stribeck(np.zeros(samples.n), np.zeros(samples.n))
    basis = np.linalg.qr(problem.regressor[used] * root[:, None])[0]
    own = [joint == k for k in joints]

    def without(columns: Array) -> Array:
        """What the other parameters cannot explain of columns."""
        rest: Array = columns - basis @ (basis.T @ columns)
        return rest

    tau = without(problem.effort[used] * root)

    def columns(function: Callable[[Array, Array], Array], velocity: Array) -> Array:
        """A function of velocity and vs as weighted columns, one for each joint."""
        values = samples.filtered(lambda q, qd, qdd: function(qd[:, joints], velocity))
        found = np.zeros((len(root), len(joints)))
        for k, (rows, number) in enumerate(zip(own, joints, strict=True)):
            found[rows, k] = values[used[:, number], k] * root[rows]
        return without(found)

    def residual(logarithm: Array) -> Array:
        shape = columns(fading, np.exp(logarithm))
        rest: Array = tau - shape @ np.linalg.lstsq(shape, tau, rcond=None)[0]
        return rest

    def jacobian(logarithm: Array) -> Array:
        shape, slope = columns(fading, np.exp(logarithm)), columns(_slope, np.exp(logarithm))
        turned = -slope * np.linalg.lstsq(shape, tau, rcond=None)[0]
        rest: Array = turned - shape @ np.linalg.lstsq(shape, turned, rcond=None)[0]
        return rest

    start = np.log(speed[joints] * 0.1 if begin is None else begin[joints])
    for k in (*range(len(joints)), *range(len(joints))) if begin is None else ():  # one after the other
        tried = [np.where(np.arange(len(joints)) == k, np.log(speed[joints] * share), start) for share in SHARES]
        start = min(tried, key=lambda at: float(np.sum(residual(at) ** 2)))
    bounds = [np.log(speed[joints] * share) for share in BOUNDS]
    start = np.clip(start, *bounds)
    found = least_squares(residual, start, jac=jacobian, bounds=bounds, xtol=1e-12, ftol=1e-14, gtol=1e-14, max_nfev=50)
    velocity, errors = np.zeros((2, samples.n))
    velocity[joints] = np.exp(found.x)
    with np.errstate(divide="ignore"):  # infinite where nothing fades
        errors[joints] = velocity[joints] * np.sqrt(np.diag(np.linalg.pinv(found.jac.T @ found.jac)))
    return Stribeck(velocity, errors)


FLOOR = 1e-4
"""Least eigenvalue of a nominal pseudo-inertia, see ``made_possible``: a body without extent gets a hundredth of the
arm's. What lies below has no scale by which one could say what is near to it."""

SMALL = 0.01
"""Share of a joint's effort that friction or a rotor is taken to cause where the nominal arm has none."""


class RegressionSolution(NamedTuple):
    """Numbers of an arm.

    Attributes:
        theta: all parameters, as ``CompiledDynamics.theta`` (p,).
        excess: of static over Coulomb friction (n,).
        estimate: of the base parameters, and behind them of the excess where it is identified.
        fit: of the free parameters, and behind them of the excess where it is identified.
    """

    theta: Array
    excess: Array
    estimate: Estimate
    fit: Fit


class RegressionModel:
    """An arm as a regression problem, and its solution.

    Attributes:
        robot: the arm.
        settings: settings.
        nominal: θ before, (p,).
        base: the base parameters.
    """

    def __init__(self, robot: Robot, settings: IdentificationSettings, gravity: ArrayLike, armature: ArrayLike) -> None:
        """
        Args:
            robot: the arm.
            settings: settings.
            gravity: (3,) in [m/s²].
            armature: before, (n,) or one for all.

        Raises:
            InputError: gravity or armature is wrong, or nothing is to be identified.
        """
        rotors = non_negative("armature", armature, robot.n)
        self.robot, self.settings = robot, settings
        self.nominal = np.concatenate([standard_parameters(robot), rotors, robot.damping, robot.friction])
        if not (settings.inertial or settings.armature or settings.viscous or settings.coulomb):
            raise InputError("settings", "leaves nothing to identify", settings)
        self.base: BaseParameters = base_parameters(
            robot,
            inertial=settings.inertial,
            armature=settings.armature,
            viscous=settings.viscous,
            coulomb=settings.coulomb,
            gravity=gravity,
        )
        self._dynamics = RNEA(robot, gravity=gravity)

    @cached_property
    def bodies(self) -> int:
        """How many bodies' parameters are identified."""
        return len(self.robot.bodies) if self.settings.inertial else 0

    def regressor(self, samples: Samples) -> Array:
        """Y of all parameters (N, n, p)."""
        return samples.regressor(self._dynamics)

    def used(self, samples: Samples, fastest: Array) -> NDArray[np.bool_]:
        """Which efforts say something, (N, n): friction hides those of joints at rest.

        Args:
            samples: motion.
            fastest: greatest speed of each joint in the samples that are identified from (n,).
        """
        friction = self.settings.coulomb | self.settings.stribeck | (self.robot.friction > 0.0)
        moving = samples.moving(self.settings.standstill * fastest)
        found: NDArray[np.bool_] = (samples.weights > 0.0)[:, None] & (moving | ~friction)
        return found

    def regression(self, samples: Samples, regressor: Array, used: NDArray[np.bool_]) -> Regression:
        """Efforts without what is held, explained by base parameters."""
        held = self.nominal.copy()
        held[self.base.columns] = 0.0
        return Regression(
            self.base.regressor(regressor), samples.effort - regressor @ held, samples.weights[:, None] * used
        )

    def with_stribeck(self, problem: Regression, samples: Samples) -> tuple[Regression, Stribeck]:
        """The regression with the excess of static friction as well, if that is identified, and Stribeck velocities."""
        if not self.settings.stribeck:
            return problem, Stribeck(*np.zeros((2, self.robot.n)))
        nominal = np.concatenate([self.base.values(self.nominal), np.zeros(self.robot.n)])
        certainty = estimate(problem, nominal[: self.base.rank], self.settings).certainty
        start: Array | None = None
        for _ in range(2):  # with the weights of the model without this friction, and with those of the model with it
            found = stribeck_velocities(problem, samples, certainty, start)
            start = found.velocity
            faded = samples.filtered(partial(_faded, start))[:, :, None] * np.eye(self.robot.n)
            extended = Regression(np.concatenate([problem.regressor, faded], axis=2), problem.effort, problem.weight)
            certainty = estimate(extended, nominal, self.settings).certainty
        return extended, found

    def solve(self, problem: Regression, start: Array) -> RegressionSolution:
        """The numbers that explain it best.

        Args:
            problem: from ``regression`` or ``with_stribeck``.
            start: what the joints' parameters are measured against, from :meth:`scales`.
        """
        extra = problem.regressor.shape[2] - self.base.rank
        nominal = np.concatenate([self.base.values(self.nominal), np.zeros(extra)])
        found = estimate(problem, nominal, self.settings)
        K = np.zeros((len(nominal), len(self.base.columns) + extra))
        K[: self.base.rank, : len(self.base.columns)] = self.base.combination
        K[self.base.rank :, len(self.base.columns) :] = np.eye(extra)
        fit = fit_physical(found.triangle, K, found.right, start[: K.shape[1]], self.bodies, self.settings.prior)
        theta = self.nominal.copy()
        theta[self.base.columns] = fit.x[: len(self.base.columns)]
        excess = fit.x[len(self.base.columns) :] if extra else np.zeros(self.robot.n)
        return RegressionSolution(theta, excess, found, fit)

    def scales(self, samples: Samples) -> Array:
        """The nominal free parameters, those that cannot be 0 raised above it, and behind them the excess."""
        n, bodies = self.robot.n, len(self.robot.bodies)
        theta = self.nominal.copy()
        inertial = theta[: 10 * bodies].reshape(-1, 10)
        theta[: 10 * bodies] = made_possible(inertial, arm_length(self.robot), FLOOR).ravel()
        effort = SMALL * np.maximum(_root_mean_square(samples.effort), np.finfo(float).tiny)
        small = [effort / np.maximum(_root_mean_square(rate), 1e-6) for rate in (samples.qdd, samples.qd)]
        theta[10 * bodies :] = np.maximum(theta[10 * bodies :], np.concatenate([*small, effort]))
        return np.concatenate([theta[self.base.columns], np.maximum(theta[-n:], effort)])

    def predict(
        self, samples: Samples, regressor: Array, used: NDArray[np.bool_], theta: Array, excess: Array, velocity: Array
    ) -> Prediction:
        """Efforts of an arm with these numbers."""
        faded = samples.filtered(partial(_faded, velocity)) if excess.any() else 0.0
        return Prediction(samples, regressor @ theta + excess * faded, used)


def _faded(velocity: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """What the excess of static friction is multiplied by, as a function of the motion."""
    return fading(qd, velocity)


def arm_length(robot: Robot) -> float:
    """A typical length of an arm: the greatest between two joints, or from a joint to a centre of mass [m]."""
    vectors = [body.placement.translation for body in robot.bodies if body.parent >= 0]
    vectors += [body.inertial.com for body in robot.bodies]
    return float(np.linalg.norm(vectors, axis=1).max()) or 1.0


def _root_mean_square(values: Array) -> Array:
    root: Array = np.sqrt(np.mean(values**2, axis=0))
    return root
