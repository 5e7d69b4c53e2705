"""Weighted and robust least squares for the base parameters.

The errors of a joint's efforts have a standard deviation of their own, which is estimated, so that joints count by how
well they are explained; and errors beyond a few of these count less (Huber's ψ by iteratively reweighted least squares;
Huber, Robust Statistics, 1981, chs. 7.3 and 7.8). Least squares are solved by QR decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.errors import InputError
from robodyn_ros.identification.settings import IdentificationSettings
from robodyn_ros.robot.pose import Array

# QR decomposition of tall matrices, in pieces.
#
# The triangle of a whole is that of the triangles of its parts, stacked (Demmel, Grigori, Hoemmen and Langou,
# Communication-optimal parallel and sequential QR and LU factorizations, SIAM J. Scientific Computing 34(1), 2012).
# Each
# piece is so small that the BLAS library does it in one thread: several threads gain nothing at this size, and where
# they wait for each other's turn on a busy machine they lose a hundredfold.

ELEMENTS = 8192
"""Of a piece, about."""


def triangle(matrix: Array) -> Array:
    """R (k, k) of a matrix (m, k) with RᵀR = matrixᵀ matrix; rows of zeros where m is less than k."""
    width = matrix.shape[1]
    rows = max(2 * width, ELEMENTS // width)
    pieces = _pieces(matrix, rows)
    while len(pieces) > 1:
        reduced = np.asarray(np.linalg.qr(pieces, mode="r")).reshape(-1, width)
        pieces = _pieces(reduced, max(2 * width, rows // width * width))
    found: Array = np.asarray(np.linalg.qr(pieces[0], mode="r"))
    return found


def product(matrix: Array, vector: Array) -> Array:
    """The product of (m, k) and (k,), in one thread for the same reason."""
    found: Array = np.einsum("ij,j->i", matrix, vector)
    return found


def _pieces(matrix: Array, rows: int) -> Array:
    """The matrix in pieces (·, rows, k), the last one filled up with zeros."""
    count = -(-len(matrix) // rows)
    filled = np.zeros((count * rows, matrix.shape[1]))
    filled[: len(matrix)] = matrix
    return filled.reshape(count, rows, -1)


ROUNDS = 50
"""Times that the weights are found anew at most; ten are usual."""

SETTLED = 1e-3
"""Change of the base parameters, in standard errors, at which the weights are found."""

SEEN = 1e-8
"""Least singular value of the regressor with columns of length 1, relative to the greatest, of what a motion shows."""

ROUNDING = 16.0 * np.finfo(float).eps
"""Least standard deviation of an error, relative to the greatest effort."""


@dataclass(frozen=True, eq=False)
class Regression:
    """What is to be explained: Y β = τ.

    Attributes:
        regressor: Y, of the base parameters, (N, n, r).
        effort: τ, without what is known of it, (N, n) in [N·m] or [N].
        weight: how much each counts, (N, n), 0 for not at all.
    """

    regressor: Array
    effort: Array
    weight: Array

    def chosen(self, rows: NDArray[np.bool_]) -> Regression:
        """Of some samples, a mask (N,)."""
        return Regression(self.regressor[rows], self.effort[rows], self.weight[rows])


@dataclass(frozen=True, eq=False)
class Estimate:
    """The solution.

    Attributes:
        values: β (r,); what the motion does not show stays at its nominal value.
        errors: standard errors (r,), infinite of what the motion does not show.
        triangle: A (r, r), and
        right: c (r,): minus the logarithm of β's likelihood is ½ ‖A β - c‖² and a constant.
        noise: standard deviation of the efforts' errors without outliers (n,) in [N·m] or [N]; NaN of a joint whose
            efforts are not used.
        outliers: share of each joint's efforts that count less than a third (n,).
        certainty: with which weight each effort counted in the end, (N, n) in [1/(N·m)²] or [1/N²].
        rank: how many combinations of β the motion shows.
        condition: condition number of the weighted regressor with columns of length 1, of those combinations.
    """

    values: Array
    errors: Array
    triangle: Array
    right: Array
    noise: Array
    outliers: Array
    certainty: Array
    rank: int
    condition: float


def estimate(problem: Regression, nominal: Array, settings: IdentificationSettings) -> Estimate:
    """The base parameters that fit best.

    Args:
        problem: what is to be explained.
        nominal: β before (r,).
        settings: settings.

    Raises:
        InputError: there are not more equations than parameters.
    """
    used = problem.weight > 0.0
    count, r = int(used.sum()), len(nominal)
    if count <= r:
        raise InputError(
            "samples",
            f"give {count} equations for {r} parameters: they hold too few samples of joints that move",
            problem.effort.shape,
        )
    joint = np.nonzero(used)[1]
    Y, tau, weight = problem.regressor[used], problem.effort[used], problem.weight[used]
    floor = np.maximum(ROUNDING * np.abs(problem.effort).max(axis=0), np.finfo(float).tiny)
    noise = np.maximum(_greatest(joint, np.abs(tau), len(floor)), floor)
    trust = np.ones(count)
    values, errors, rest = nominal, np.full(r, np.inf), tau - product(Y, nominal)
    for _ in range(ROUNDS):
        root = np.sqrt(weight * trust) / noise[joint]
        before, solution = values, _Solution(Y * root[:, None], rest * root)
        values, errors = nominal + solution.change, solution.errors
        residual = tau - product(Y, values)
        noise = np.maximum(_spread(residual, joint, len(floor), settings.robust, count / (count - r)), floor)
        size = np.abs(residual) / noise[joint]
        trust = np.minimum(1.0, settings.huber / np.maximum(size, 1e-300)) if settings.robust else trust
        if (np.abs(values - before) <= SETTLED * np.where(np.isfinite(errors), errors, np.inf)).all():
            break
    deviation = _efficient(residual, trust, weight, noise, joint) * np.sqrt(count / (count - r))
    deviation = np.maximum(deviation, floor)
    root = np.sqrt(weight * trust) / deviation[joint]
    solution = _Solution(Y * root[:, None], rest * root)
    right = solution.right + solution.triangle @ nominal
    per_joint = np.bincount(joint, minlength=len(floor))
    with np.errstate(invalid="ignore"):
        outliers = np.bincount(joint, weights=size > 3.0 * settings.huber, minlength=len(floor)) / per_joint
    certainty = np.zeros(used.shape)
    certainty[used] = root**2
    return Estimate(
        nominal + solution.change,
        solution.errors,
        solution.triangle,
        right,
        np.where(per_joint > 0, noise, np.nan),
        outliers,
        certainty,
        solution.rank,
        solution.condition,
    )


class _Solution:
    """Of one least-squares problem (m, r) by QR; the change is 0 along what the matrix does not show."""

    def __init__(self, matrix: Array, right: Array) -> None:
        r = matrix.shape[1]
        reduced = triangle(np.column_stack([matrix, right]))
        self.triangle, self.right = reduced[:r, :r], reduced[:r, r]
        length = np.linalg.norm(self.triangle, axis=0)
        scale = np.where(length > 0.0, length, 1.0)
        left, singular, rows = np.linalg.svd(self.triangle / scale)
        seen = singular > SEEN * singular.max(initial=0.0)
        self.rank = int(seen.sum())
        self.condition = float(singular[0] / singular[self.rank - 1]) if self.rank else np.inf
        inverse = rows[seen].T / singular[seen]
        self.change = inverse @ (left[:, seen].T @ self.right) / scale
        variance = np.einsum("ij,ij->i", inverse, inverse)
        hidden = (np.abs(rows[~seen]) > np.sqrt(SEEN)).any(axis=0)
        self.errors = np.where(hidden, np.inf, np.sqrt(variance) / scale)


def _spread(residual: Array, joint: NDArray[np.intp], n: int, robust: bool, lost: float) -> Array:
    """Standard deviation of each joint's errors (n,): by the median where outliers must not count."""
    if robust:
        medians = [np.median(np.abs(residual[joint == k])) if (joint == k).any() else 0.0 for k in range(n)]
        return np.asarray(1.4826 * np.sqrt(lost) * np.array(medians), dtype=np.float64)
    counts = np.maximum(np.bincount(joint, minlength=n), 1)
    found: Array = np.sqrt(lost * np.bincount(joint, weights=residual**2, minlength=n) / counts)
    return found


def _efficient(residual: Array, trust: Array, weight: Array, noise: Array, joint: NDArray[np.intp]) -> Array:
    """The deviation (n,) that makes ``(Yᵀ W Y)⁻¹`` the covariance: Huber, 1981, eq. 7.6.5, for each joint by itself."""
    n = len(noise)
    counts = np.maximum(np.bincount(joint, minlength=n), 1)
    influence = np.bincount(joint, weights=weight * (trust * residual) ** 2, minlength=n) / counts
    slope = np.bincount(joint, weights=trust >= 1.0, minlength=n) / counts
    mean_trust = np.bincount(joint, weights=trust, minlength=n) / counts
    found: Array = np.sqrt(influence * np.where(slope > 0.0, mean_trust, 1.0)) / np.where(slope > 0.0, slope, 1.0)
    return found


def _greatest(joint: NDArray[np.intp], values: Array, n: int) -> Array:
    found = np.zeros(n)
    np.maximum.at(found, joint, values)
    return found
