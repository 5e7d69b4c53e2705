# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The equations of motion of an arm as a regression, with Coulomb, viscous and Stribeck friction.

    τ = Y(q, q̇, q̈) θ + Stribeck friction,    F = sign(q̇) (Fc + (Fs - Fc) exp(-(q̇/vs)²)) + d q̇

The model is linear in all parameters but the Stribeck velocities vs, of which each joint has one; Fs - Fc is the
Stribeck amplitude. The velocities are found by variable projection: everything linear is eliminated exactly, and the
residual that is left is a function of the vs alone, which Gauss and Newton's method minimises (Golub and Pereyra, The
differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate, SIAM J. Numerical
Analysis 10(2), 1973, with Kaufman's simplification of the derivative, BIT 15, 1975).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from robodyn_ros.checks import non_negative
from robodyn_ros.dynamics.parameters import made_possible, standard_parameters
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.identification.estimation.base_parameters import BaseParameters, base_parameters
from robodyn_ros.identification.estimation.physical import fit_physical
from robodyn_ros.identification.estimation.regression import Estimate, Regression, estimate
from robodyn_ros.identification.samples import Samples
from robodyn_ros.identification.settings import IdentificationSettings
from robodyn_ros.robot import Array, Flags, Indices, Robot

FLOOR = 1e-4
"""Least eigenvalue of a nominal pseudo-inertia (``made_possible``): a body without extent gets a hundredth of the arm's
length. Below that, the distance from it has no scale."""

SMALL = 0.01
"""Assumed ratio of friction or rotor effort to a joint's effort where the nominal arm has none."""

IDENTIFIED_GAIN = 0.9
"""Fraction of the prior variance (of the URDF's numbers) that the data must remove from an identified parameter."""

SIGNIFICANT = 3.0
"""Least ratio of a friction to its standard deviation."""

RESOLUTION = 1e-3
"""Fraction of a joint's effort that sampling, filtering and the delay may leave unexplained."""

START_RATIOS = (0.005, 0.015, 0.05, 0.15, 0.5)
"""Ratios of a joint's greatest speed from which the search for its Stribeck velocity starts."""

BOUND_RATIOS = (1e-3, 1.0)
"""Least and greatest ratio of a Stribeck velocity to the joint's greatest speed."""


class Stribeck(NamedTuple):
    """Stribeck velocities of the joints (n,) in [rad/s] or [m/s]; 0 where there is none."""

    velocity: Array
    errors: Array  # standard errors

    def faded(self, q: Array, qd: Array, qdd: Array) -> Array:
        """:func:`stribeck_shape` as a function of the motion."""
        return stribeck_shape(qd, self.velocity)


class RegressionSolution(NamedTuple):
    """The parameters that solve a regression.

    Attributes:
        theta: all parameters, as ``CompiledDynamics.theta`` (p,).
        stribeck_amplitude: static minus Coulomb friction (n,).
        estimate: estimate of the base parameters, followed by the Stribeck amplitudes if they are identified.
        errors: standard errors of the free parameters, followed by those of the Stribeck amplitudes.
        gain: for each of these the fraction of the prior's variance that the data remove.
    """

    theta: Array
    stribeck_amplitude: Array
    estimate: Estimate
    errors: Array
    gain: Array

    @property
    def identified(self) -> Flags:
        """True for each of these that the data determine."""
        return self.gain >= IDENTIFIED_GAIN


class RegressionModel:
    """The regression of one arm.

    Attributes:
        robot: the arm.
        settings: settings.
        nominal: nominal θ, (p,).
        base: the base parameters.
    """

    def __init__(self, robot: Robot, settings: IdentificationSettings, gravity: ArrayLike, armature: ArrayLike) -> None:
        """
        Args:
            robot: the arm.
            settings: which parameters are identified, and how.
            gravity: (3,) in [m/s²].
            armature: nominal armature, (n,) or one for all.

        Raises:
            InputError: gravity or armature is wrong, or nothing is to be identified.
        """
        rotors = non_negative("armature", armature, robot.n)
        self.robot, self.settings = robot, settings
        self.nominal = np.concatenate([standard_parameters(robot), rotors, robot.damping, robot.friction])
        self.base: BaseParameters = base_parameters(robot, **settings.kinds, gravity=gravity)
        self._dynamics = RNEA(robot, gravity=gravity)

    def regressor(self, samples: Samples) -> Array:
        """Y of all parameters (N, n, p)."""
        return samples.regressor(self._dynamics)

    def used(self, samples: Samples, fastest: Array) -> Flags:
        """Which efforts are used, (N, n): not those of joints at rest, whose friction is not determined.

        Args:
            samples: motion.
            fastest: greatest speed of each joint in the samples of the identification (n,).
        """
        friction = self.settings.coulomb | self.settings.stribeck | (self.robot.friction > 0.0)
        return (samples.weights > 0.0)[:, None] & (samples.moving(self.settings.standstill * fastest) | ~friction)

    def regression(self, samples: Samples, regressor: Array, used: Flags) -> Regression:
        """The regression of the efforts, without the effect of the known parameters, on the base parameters."""
        held = self.nominal.copy()
        held[self.base.columns] = 0.0
        effort = samples.effort - regressor @ held
        return Regression(self.base.regressor(regressor), effort, samples.weights[:, None] * used)

    def with_stribeck(self, problem: Regression, samples: Samples) -> tuple[Regression, Stribeck]:
        """The regression with a Stribeck amplitude for each joint, if they are identified, and Stribeck velocities."""
        if not self.settings.stribeck:
            return problem, Stribeck(*np.zeros((2, self.robot.n)))
        nominal = np.concatenate([self.base.values(self.nominal), np.zeros(self.robot.n)])
        weight = estimate(problem, nominal[: self.base.rank], self.settings).final_weight
        start: Array | None = None
        for _ in range(2):  # with the weights of the model without this friction, then with those of the model with it
            found = stribeck_velocities(problem, samples, weight, start)
            start = found.velocity
            fading = samples.filtered(found.faded)[:, :, None] * np.eye(self.robot.n)
            extended = Regression(np.concatenate([problem.regressor, fading], axis=2), problem.effort, problem.weight)
            weight = estimate(extended, nominal, self.settings).final_weight
        return extended, found

    def solve(self, problem: Regression, scales: Array) -> RegressionSolution:
        """The physically possible parameters that explain the efforts best.

        Args:
            problem: from ``regression`` or ``with_stribeck``.
            scales: nominal values by which the parameters are scaled, from :meth:`scales`.
        """
        extra = problem.regressor.shape[2] - self.base.rank
        nominal = np.concatenate([self.base.values(self.nominal), np.zeros(extra)])
        return self._fitted(estimate(problem, nominal, self.settings), scales, np.zeros(0, dtype=np.intp))

    def without(self, solution: RegressionSolution, scales: Array, absent: Indices) -> RegressionSolution:
        """A solution from the same data in which some parameters of joints are 0.

        Args:
            solution: the solution with them.
            scales: as for :meth:`solve`.
            absent: places of these parameters among the free ones; no base parameter combines them with others.
        """
        found = self._fitted(solution.estimate, scales, absent)
        errors, gain = found.errors.copy(), found.gain.copy()
        errors[absent], gain[absent] = solution.errors[absent], 0.0
        return found._replace(errors=errors, gain=gain)

    def _fitted(self, found: Estimate, scales: Array, absent: Indices) -> RegressionSolution:
        free, extra = len(self.base.columns), len(found.values) - self.base.rank
        K = np.zeros((len(found.values), free + extra))
        K[: self.base.rank, :free] = self.base.combination
        K[self.base.rank :, free:] = np.eye(extra)
        kept = np.setdiff1d(np.arange(free + extra), absent)
        bodies = len(self.robot.bodies) if self.settings.inertial else 0
        fit = fit_physical(found.factor, K[:, kept], found.rhs, scales[kept], bodies, self.settings.prior)
        x, errors, gain = np.zeros((3, free + extra))
        x[kept], errors[kept], gain[kept] = fit.x, np.sqrt(np.diag(fit.covariance)), fit.gain
        theta = self.nominal.copy()
        theta[self.base.columns] = x[:free]
        return RegressionSolution(theta, x[free:] if extra else np.zeros(self.robot.n), found, errors, gain)

    def absent_friction(
        self, solution: RegressionSolution, spread: Array, samples: Samples, regressor: Array, used: Flags
    ) -> Indices:
        """Places, among the free parameters, of friction that neither the motion nor the URDF supports.

        The motion shows friction if three conditions hold: the data determine it better than the URDF does; it differs
        from 0 without any one of the folds; and its fraction of the joint's effort is greater than the
        error that the preparation of signals may cause.

        Args:
            solution: the solution with this friction.
            spread: standard deviation of θ over the samples that are used, by the jackknife (p,).
            samples: the motion.
            regressor: its regressor (N, n, p).
            used: which efforts are used, (N, n).
        """
        n, absent = self.robot.n, []
        for place, column in enumerate(self.base.columns.tolist()):
            joint = column - (len(self.nominal) - 2 * n)
            value, urdf = solution.theta[column], self.nominal[column]
            if joint < 0 or (urdf > 0.0 and value > 0.5 * urdf):  # not kept above 0 by the prior alone
                continue
            rows = used[:, joint % n]
            caused = value * regressor[rows, joint % n, column]
            least = RESOLUTION * np.linalg.norm(samples.effort[rows, joint % n])
            is_significant = value > SIGNIFICANT * spread[column] and solution.identified[place]
            if not (is_significant and np.linalg.norm(caused) > least):
                absent.append(place)
        return np.array(absent, dtype=np.intp)

    def scales(self, samples: Samples) -> Array:
        """The nominal free parameters, then Stribeck amplitudes; where the fit needs positive values, none is 0."""
        n, bodies = self.robot.n, len(self.robot.bodies)
        theta = self.nominal.copy()
        inertial = theta[: 10 * bodies].reshape(-1, 10)
        theta[: 10 * bodies] = made_possible(inertial, arm_length(self.robot), FLOOR).ravel()
        effort = SMALL * _root_mean_square(samples.effort)
        effort = np.where(effort > 0.0, effort, effort.max() or 1.0)  # that of another joint for one without a drive
        small = [effort / np.maximum(_root_mean_square(rate), 1e-6) for rate in (samples.qdd, samples.qd)]
        theta[10 * bodies :] = np.maximum(theta[10 * bodies :], np.concatenate([*small, effort]))
        return np.concatenate([theta[self.base.columns], np.maximum(theta[-n:], effort)])


def stribeck_velocities(problem: Regression, samples: Samples, weight: Array, begin: Array | None = None) -> Stribeck:
    """The Stribeck velocities that fit best; 0 for joints whose efforts are not used.

    Args:
        problem: the regression without Stribeck friction.
        samples: the motion.
        weight: weights of the efforts (N, n).
        begin: velocities (n,) to start from; found by trial of ``START_RATIOS`` unless given.
    """
    used = weight > 0.0
    root, joint = np.sqrt(weight[used]), np.nonzero(used)[1]
    speed = np.abs(samples.qd).max(axis=0)
    joints = np.flatnonzero(used.any(axis=0) & (speed > 0.0))
    if not len(joints):
        return Stribeck(np.zeros(samples.n), np.zeros(samples.n))
    basis = np.linalg.qr(problem.regressor[used] * root[:, None])[0]
    own = [joint == k for k in joints]

    def unexplained(columns: Array) -> Array:
        """The component of columns that the other parameters cannot explain."""
        return columns - basis @ (basis.T @ columns)

    tau = unexplained(problem.effort[used] * root)

    def columns(function: Callable[[Array, Array], Array], velocity: Array) -> Array:
        """A function of velocity and vs as weighted columns, one for each joint."""
        values = samples.filtered(lambda q, qd, qdd: function(qd[:, joints], velocity))
        found = np.zeros((len(root), len(joints)))
        for k, (rows, number) in enumerate(zip(own, joints, strict=True)):
            found[rows, k] = values[used[:, number], k] * root[rows]
        return unexplained(found)

    def residual(logarithm: Array) -> Array:
        shape = columns(stribeck_shape, np.exp(logarithm))
        return tau - shape @ np.linalg.lstsq(shape, tau, rcond=None)[0]

    def jacobian(logarithm: Array) -> Array:
        shape, slope = columns(stribeck_shape, np.exp(logarithm)), columns(_shape_slope, np.exp(logarithm))
        turned = -slope * np.linalg.lstsq(shape, tau, rcond=None)[0]
        return turned - shape @ np.linalg.lstsq(shape, turned, rcond=None)[0]

    start = np.log(speed[joints] if begin is None else begin[joints])
    for k in (*range(len(joints)), *range(len(joints))) if begin is None else ():  # one joint after the other, twice
        tried = [np.where(np.arange(len(joints)) == k, np.log(speed[joints] * ratio), start) for ratio in START_RATIOS]
        start = min(tried, key=lambda at: float(np.sum(residual(at) ** 2)))
    bounds = [np.log(speed[joints] * ratio) for ratio in BOUND_RATIOS]
    start = np.clip(start, *bounds)
    found = least_squares(residual, start, jac=jacobian, bounds=bounds, xtol=1e-12, ftol=1e-14, gtol=1e-14, max_nfev=50)
    velocity, errors = np.zeros((2, samples.n))
    velocity[joints] = np.exp(found.x)
    with np.errstate(divide="ignore"):  # infinite where there is no Stribeck friction
        errors[joints] = velocity[joints] * np.sqrt(np.diag(np.linalg.pinv(found.jac.T @ found.jac)))
    return Stribeck(velocity, errors)


def stribeck_shape(qd: Array, velocity: Array) -> Array:
    """sign(q̇) exp(-(q̇/vs)²), (N, n): Stribeck friction over its amplitude; 0 where vs is 0."""
    with np.errstate(divide="ignore"):
        rate = np.where(velocity > 0.0, 1.0 / velocity, np.inf)
    with np.errstate(invalid="ignore"):
        return np.where(qd == 0.0, 0.0, np.sign(qd) * np.exp(-((rate * qd) ** 2)))


def _shape_slope(qd: Array, velocity: Array) -> Array:
    """The derivative of :func:`stribeck_shape` by the logarithm of vs."""
    return 2.0 * (qd / velocity) ** 2 * stribeck_shape(qd, velocity)


def arm_length(robot: Robot) -> float:
    """A typical length of an arm [m]: the greatest between two joints, or from a joint to a centre of mass."""
    vectors = [body.placement.translation for body in robot.bodies if body.parent >= 0]
    vectors += [body.inertial.com for body in robot.bodies]
    return float(np.linalg.norm(vectors, axis=1).max()) or 1.0


def _root_mean_square(values: Array) -> Array:
    return np.sqrt(np.mean(values**2, axis=0))
