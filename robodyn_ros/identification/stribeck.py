"""Stribeck velocities by variable projection.

    F = sign(q̇) (Fc + (Fs - Fc) exp(-(q̇/vs)²)) + d q̇

is linear in everything but vs, which has a value for each joint. Everything linear is eliminated, exactly, and what is
left of the residual is a function of the vs alone, to be minimised by Gauss and Newton's method (Golub and Pereyra, The
differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate, SIAM J. Numerical
Analysis 10(2), 1973, with Kaufman's simplification of the derivative, BIT 15, 1975).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from robodyn_ros.identification.regression import Regression
from robodyn_ros.identification.samples import Samples
from robodyn_ros.robot.pose import Array

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
