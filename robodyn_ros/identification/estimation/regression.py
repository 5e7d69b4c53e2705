# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Weighted robust least squares for the base parameters.

The error of each joint's efforts has its own estimated standard deviation, so a joint with smaller errors has a greater
weight. Errors beyond a few standard deviations count less: Huber's ψ by iteratively reweighted least squares (Huber,
Robust Statistics, 1981, chs. 7.3 and 7.8).

Standard errors come from the long-run variance of each joint's errors
(:mod:`robodyn_ros.identification.samples`).

Least squares are solved by TSQR, the QR decomposition of a tall matrix in blocks: the factor R of the whole is that of
the stacked factors of the blocks (Demmel, Grigori, Hoemmen and Langou, Communication-optimal parallel and sequential QR
and LU factorizations, SIAM J. Scientific Computing 34(1), 2012). Each block is so small that the BLAS library works on
it in one thread: several threads gain nothing at this size, and on a busy machine, where they wait for each other, they
can be a hundred times slower.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.errors import InputError
from robodyn_ros.identification.samples import long_run_ratio
from robodyn_ros.identification.settings import IdentificationSettings
from robodyn_ros.robot.pose import Array, Flags, Indices

BLOCK_ELEMENTS = 8192
"""Approximate number of elements of a block of TSQR."""

MAX_ITERATIONS = 20
"""Greatest number of iterations of the weights; ten are usual."""

SETTLED = 1e-3
"""Change of the base parameters, in standard errors, at which the weights have converged."""

RANK_TOLERANCE = 1e-8
"""Least singular value of the regressor with columns of length 1, relative to the greatest, that counts as excited."""

ROUNDING = 16.0 * np.finfo(float).eps
"""Least standard deviation of an error, relative to the greatest term of a joint's equations."""


@dataclass(frozen=True, eq=False)
class Regression:
    """The equations Y β = τ.

    Attributes:
        regressor: Y of the base parameters, (N, n, r).
        effort: τ without its known terms, (N, n) in [N·m] or [N].
        weight: weight of each equation, (N, n); 0 excludes it.
    """

    regressor: Array
    effort: Array
    weight: Array

    def chosen(self, rows: Flags) -> Regression:
        """The equations of some samples, a mask (N,)."""
        return Regression(self.regressor[rows], self.effort[rows], self.weight[rows])


@dataclass(frozen=True, eq=False)
class Estimate:
    """The solution of a regression.

    The negative log-likelihood of β is ½ ‖A β - c‖² plus a constant.

    Attributes:
        values: β (r,); directions that the motion does not excite keep their nominal values.
        errors: standard errors (r,); infinite in directions that the motion does not excite.
        factor: A (r, r), the upper triangular square root of the information matrix.
        rhs: c (r,).
        noise: standard deviation of the efforts' errors without outliers (n,) in [N·m] or [N]; NaN for a joint whose
            efforts are not used.
        outliers: fraction of each joint's efforts with a weight below a third (n,).
        final_weight: weight of each effort in the last iteration, (N, n) in [1/(N·m)²] or [1/N²].
        rank: number of combinations of β that the motion excites.
        condition: condition number of the weighted regressor with columns of length 1, for those combinations.
    """

    values: Array
    errors: Array
    factor: Array
    rhs: Array
    noise: Array
    outliers: Array
    final_weight: Array
    rank: int
    condition: float


def estimate(problem: Regression, nominal: Array, settings: IdentificationSettings) -> Estimate:
    """Find the base parameters that fit best.

    Args:
        problem: the equations.
        nominal: nominal β (r,).
        settings: ``robust`` and ``huber`` are used.

    Raises:
        InputError: there are not more equations than parameters.
    """
    used = problem.weight > 0.0
    count, r = int(used.sum()), len(nominal)
    if count <= r:
        text = f"the joints move in too few of them to find {r} parameters: record a longer motion in which every"
        raise InputError("samples", f"{text} joint moves, such as that of `robodyn excite`", problem.effort.shape)
    joint = np.nonzero(used)[1]
    Y, tau, weight = problem.regressor[used], problem.effort[used], problem.weight[used]
    noise = np.zeros(problem.effort.shape[1])  # at first the greatest term of the equations: efforts may all be 0
    np.maximum.at(noise, joint, np.abs(tau) + matvec(np.abs(Y), np.abs(nominal)))
    noise = np.where(noise > 0.0, noise, 1.0)
    floor = ROUNDING * noise
    huber_weight = np.ones(count)
    equations, values, errors = _Equations(Y, tau, joint, nominal), nominal, np.full(r, np.inf)
    Y, tau = equations.around(values)
    for _ in range(MAX_ITERATIONS):
        root = np.sqrt(weight * huber_weight) / noise[joint]
        before, solution = values, _LeastSquares(Y * root[:, None], (tau - matvec(Y, nominal)) * root)
        values, errors = nominal + solution.change, solution.errors
        Y, tau = equations.around(values)
        residual = tau - matvec(Y, values)
        noise = np.maximum(_noise(residual, joint, len(floor), settings.robust, count / (count - r)), floor)
        size = np.abs(residual) / noise[joint]
        huber_weight = settings.huber / np.maximum(size, settings.huber) if settings.robust else huber_weight
        if (np.abs(values - before) <= SETTLED * np.where(np.isfinite(errors), errors, np.inf)).all():
            break
    bounded = np.zeros(used.shape)
    bounded[used] = np.sqrt(weight) * huber_weight * residual
    deviation = _covariance_scale(residual, huber_weight, weight, noise, joint)
    deviation *= np.sqrt(long_run_ratio(bounded) * count / (count - r))
    deviation = np.maximum(deviation, floor)
    root = np.sqrt(weight * huber_weight) / deviation[joint]
    solution = _LeastSquares(Y * root[:, None], (tau - matvec(Y, nominal)) * root)
    values, rhs = nominal + solution.change, solution.rhs + solution.factor @ nominal
    per_joint = np.bincount(joint, minlength=len(floor))
    with np.errstate(invalid="ignore"):
        outliers = np.bincount(joint, weights=size > 3.0 * settings.huber, minlength=len(floor)) / per_joint
    noise = np.where(per_joint > 0, noise, np.nan)
    final_weight = np.zeros(used.shape)
    final_weight[used] = root**2
    return Estimate(
        values, solution.errors, solution.factor, rhs, noise, outliers, final_weight, solution.rank, solution.condition
    )


class _Equations:
    """The equations Y β = τ, linear around some β.

    Those of a joint without effort, Y β = 0, have the trivial solution 0, and the smaller β, the smaller their error.
    So they are (s₀ / s) Y β = 0, with the root mean square s(β) of their terms and that of the nominal β, s₀.
    """

    def __init__(self, Y: Array, tau: Array, joint: Indices, nominal: Array) -> None:
        self._Y, self._tau = Y, tau
        self._free: list[tuple[Flags, Array, float]] = []
        for rows in (joint == k for k in np.unique(joint)):
            if not tau[rows].any():
                squares = np.mean(Y[rows] ** 2, axis=0)
                self._free.append((rows, squares, float(squares @ nominal**2)))

    def around(self, values: Array) -> tuple[Array, Array]:
        """Y (m, r) and τ (m,), whose residual τ - Y β is that of the equations."""
        if not self._free:
            return self._Y, self._tau
        Y, tau = self._Y.copy(), self._tau.copy()
        for rows, squares, usual in self._free:
            now = float(squares @ values**2)
            if min(usual, now) > 0.0:
                ratio, error = np.sqrt(usual / now), matvec(Y[rows], values)
                Y[rows] = ratio * (Y[rows] - np.outer(error, squares * values / now))
                tau[rows] = -ratio * error
        return Y, tau


class _LeastSquares:
    """The solution of one least-squares problem (m, r); the change is 0 in undetermined directions."""

    def __init__(self, matrix: Array, right: Array) -> None:
        r = matrix.shape[1]
        reduced = tsqr(np.column_stack([matrix, right]))
        self.factor, self.rhs = reduced[:r, :r], reduced[:r, r]
        length = np.linalg.norm(self.factor, axis=0)
        scale = np.where(length > 0.0, length, 1.0)
        left, singular, rows = np.linalg.svd(self.factor / scale)
        seen = singular > RANK_TOLERANCE * singular.max(initial=0.0)
        self.rank = int(seen.sum())
        self.condition = float(singular[0] / singular[self.rank - 1]) if self.rank else np.inf
        inverse = rows[seen].T / singular[seen]
        self.change = inverse @ (left[:, seen].T @ self.rhs) / scale
        variance = np.einsum("ij,ij->i", inverse, inverse)
        hidden = (np.abs(rows[~seen]) > np.sqrt(RANK_TOLERANCE)).any(axis=0)
        self.errors = np.where(hidden, np.inf, np.sqrt(variance) / scale)


def tsqr(matrix: Array) -> Array:
    """R (k, k) of a matrix (m, k) with RᵀR = matrixᵀ matrix; the last rows are 0 if m is less than k."""
    width = matrix.shape[1]
    rows = max(2 * width, BLOCK_ELEMENTS // width)
    blocks = _blocks(matrix, rows)
    while len(blocks) > 1:
        reduced = np.asarray(np.linalg.qr(blocks, mode="r")).reshape(-1, width)
        blocks = _blocks(reduced, rows // width * width)
    return np.asarray(np.linalg.qr(blocks[0], mode="r"))


def _blocks(matrix: Array, rows: int) -> Array:
    """The matrix in blocks (·, rows, k), the last one filled up with zeros."""
    count = -(-len(matrix) // rows)
    filled = np.zeros((count * rows, matrix.shape[1]))
    filled[: len(matrix)] = matrix
    return filled.reshape(count, rows, -1)


def matvec(matrix: Array, vector: Array) -> Array:
    """The product of (m, k) and (k,), in one thread for the same reason as :func:`tsqr`."""
    return np.einsum("ij,j->i", matrix, vector)


def _noise(residual: Array, joint: Indices, n: int, robust: bool, lost: float) -> Array:
    """Standard deviation of each joint's errors (n,); from the median if outliers must be ignored."""
    if robust:
        medians = [np.median(np.abs(residual[joint == k])) if (joint == k).any() else 0.0 for k in range(n)]
        return np.asarray(1.4826 * np.sqrt(lost) * np.array(medians), dtype=np.float64)
    counts = np.maximum(np.bincount(joint, minlength=n), 1)
    return np.sqrt(lost * np.bincount(joint, weights=residual**2, minlength=n) / counts)


def _covariance_scale(residual: Array, huber: Array, weight: Array, noise: Array, joint: Indices) -> Array:
    """The deviation (n,) that makes ``(Yᵀ W Y)⁻¹`` the covariance: Huber, 1981, eq. 7.6.5, for each joint by itself."""
    n = len(noise)
    counts = np.maximum(np.bincount(joint, minlength=n), 1)
    influence = np.bincount(joint, weights=weight * (huber * residual) ** 2, minlength=n) / counts
    slope = np.bincount(joint, weights=huber >= 1.0, minlength=n) / counts
    mean = np.bincount(joint, weights=huber, minlength=n) / counts
    return np.sqrt(influence * np.where(slope > 0.0, mean, 1.0)) / np.where(slope > 0.0, slope, 1.0)
