# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The physically possible parameters that fit best.

    minimise  ½ ‖A K x - c‖² + w Σ D(P(x), P₀),    D(P, P₀) = tr(P₀⁻¹ P) - log det(P₀⁻¹ P) - 4

over the parameters x of bodies and joints. The first term is the likelihood of the data: β = K x are base parameters,
and errors are in units of their standard deviation. The second is the entropic distance of each body from the one in
the URDF (Lee, Wensing and Park, Geometric robot dynamic identification: a convex programming approach, IEEE T-RO 36(2),
2020). It keeps parameters that the data do not determine near the URDF's numbers, in any units. It grows without
bound as a pseudo-inertia P becomes singular, so every result is physically possible. The non-negative parameters of
joints have the same distance with 1 x 1 matrices, x/x₀ - log(x/x₀) - 1.

The problem is convex and its second term self-concordant, so Newton's method finds the only minimum (Nesterov and
Nemirovskii, 1994; Boyd and Vandenberghe, Convex Optimization, 2004, chs. 9 and 11). The weight of the data rises in
stages, as in a path-following method. Each Newton step uses coordinates in which the Hessian of D is the identity:
P = C (1 + S) Cᵀ with the Cholesky factor C of the current pseudo-inertia, and x (1 + s) for parameters of joints. The
scaling stays good however close P is to the boundary of the possible parameters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics.parameters import least_eigenvalues, to_parameters, to_pseudo
from robodyn_ros.robot.pose import Array

GROWTH = 4.0
"""Factor by which the weight of the data grows from one stage to the next: along the boundary, where a body is a point,
each Newton step lowers the objective by a few units only, and a greater factor raises it by many."""

ROUGH, EXACT = 0.25, 1e-12
"""Newton decrement at which a stage ends, and the last stage; in units of the negative log-likelihood."""

MAX_STEPS = 500
"""Greatest number of Newton steps of a stage; the next stage continues a stage that ends early."""

SHORTEST = 1e-9
"""Least ratio of a Newton step that the line search tries."""

EDGE = 1e-12
"""Least eigenvalue of a pseudo-inertia with a diagonal of 1; below it rounding decides whether a body is possible."""

INWARDS = 0.95
"""Greatest ratio of a step to the distance to the boundary of the possible parameters."""


_ROW, _COLUMN = np.tril_indices(4)

SYMMETRIC = np.zeros((10, 4, 4))
"""An orthonormal basis of the symmetric 4 x 4 matrices."""
SYMMETRIC[range(10), _ROW, _COLUMN] = SYMMETRIC[range(10), _COLUMN, _ROW] = np.where(_ROW == _COLUMN, 1.0, np.sqrt(0.5))


class LocalCoordinates:
    """The coordinates of the module around one x (p,): ten parameters for each body, then those of joints.

    S is given in the orthonormal basis ``SYMMETRIC``.
    """

    def __init__(self, x: Array, bodies: int) -> None:
        self.factor = np.linalg.cholesky(to_pseudo(x[: 10 * bodies].reshape(-1, 10)))
        self.joints, self.count = x[10 * bodies :], 10 * bodies
        lower = self.factor[:, None]
        # Each column is the derivative of x by a coordinate, (b, 10, 10).
        self.blocks = to_parameters(lower @ SYMMETRIC @ lower.transpose(0, 1, 3, 2)).transpose(0, 2, 1)

    def apply(self, matrix: Array) -> Array:
        """The matrix on these coordinates for a matrix (r, p) on x."""
        parts = matrix[:, : self.count].reshape(len(matrix), len(self.blocks), 10).transpose(1, 0, 2) @ self.blocks
        bodies = parts.transpose(1, 0, 2).reshape(len(matrix), self.count)
        return np.hstack([bodies, matrix[:, self.count :] * self.joints])

    def step(self, z: Array) -> Array:
        """The change of x for coordinates z."""
        bodies = self.blocks @ z[: self.count].reshape(-1, 10, 1)
        return np.concatenate([bodies.ravel(), self.joints * z[self.count :]])

    def gradient(self, inverse: Array, nominal: Array) -> Array:
        """The gradient of D, for the inverses of the nominal pseudo-inertias (b, 4, 4) and nominal joint parameters."""
        change = self.factor.transpose(0, 2, 1) @ inverse @ self.factor - np.eye(4)
        return np.concatenate([np.einsum("bij,kij->bk", change, SYMMETRIC).ravel(), self.joints / nominal - 1.0])

    def reach(self, z: Array) -> float:
        """The multiple of z that reaches the boundary of the possible parameters."""
        inner = np.tensordot(z[: self.count].reshape(-1, 10), SYMMETRIC, 1)
        least = min(np.linalg.eigvalsh(inner).min(initial=0.0), z[self.count :].min(initial=0.0))
        return -1.0 / least if least < 0.0 else np.inf


class _Objective:
    """The objective of the module over w, with its data term times a weight."""

    def __init__(self, A: Array, K: Array, c: Array, nominal: Array, bodies: int, weight: float) -> None:
        root = np.sqrt(weight)
        self.data, self.bodies = A @ K / root, bodies
        self._A, self._K, self._c = A / root, K, c / root
        inverse: Array = np.linalg.inv(to_pseudo(nominal[: 10 * bodies].reshape(-1, 10))).astype(np.float64)
        self._inverse = inverse
        self._joints = nominal[10 * bodies :]

    def residual(self, x: Array) -> Array:
        """The residual of the data, (r,); K x comes first, for rounding changes β less than x near the minimum."""
        return self._A @ (self._K @ x) - self._c

    def value(self, x: Array, data_weight: float) -> float:
        """The objective at a possible x."""
        pseudo = self._inverse @ to_pseudo(x[: 10 * self.bodies].reshape(-1, 10))
        ratio = x[10 * self.bodies :] / self._joints
        distance = np.trace(pseudo, axis1=1, axis2=2).sum() - np.linalg.slogdet(pseudo)[1].sum()
        residual = self.residual(x)
        return float(0.5 * data_weight * residual @ residual + distance + (ratio - np.log(ratio)).sum())

    def _acceptable(self, x: Array, data_weight: float, value: float) -> bool:
        """True if x is inside the boundary, and its objective is not above a value."""
        if (least_eigenvalues(x[: 10 * self.bodies].reshape(-1, 10)) < EDGE).any():
            return False
        return self.value(x, data_weight) <= value

    def minimise(self, x: Array, data_weight: float, end: float) -> Array:
        """The minimum by Newton's method from x; it ends when the decrement is small enough or rounding stops it."""
        now = self.value(x, data_weight)
        for _ in range(MAX_STEPS):
            local = LocalCoordinates(x, self.bodies)
            M, residual = np.sqrt(data_weight) * local.apply(self.data), np.sqrt(data_weight) * self.residual(x)
            slope = local.gradient(self._inverse, self._joints)
            z = _newton(M, residual, slope)
            decrement = -float(z @ (slope + M.T @ residual))
            rounding = 8.0 * np.finfo(float).eps * abs(now)
            if not decrement > max(end, rounding):
                break
            length = min(1.0, INWARDS * local.reach(z))
            ahead = x + length * local.step(z)
            while not self._acceptable(ahead, data_weight, now - 1e-4 * length * decrement + rounding):
                length *= 0.5
                if length < SHORTEST:
                    return x
                ahead = x + length * local.step(z)
            x, now = ahead, self.value(ahead, data_weight)
        return x


def _newton(M: Array, residual: Array, slope: Array) -> Array:
    """The z that minimises |M z + residual|² + |z + slope|².

    It uses orthogonal transformations, because M may be too badly conditioned for normal equations.
    """
    across, triangular = np.linalg.qr(M.T)
    rotated, upper = np.linalg.qr(np.vstack([triangular.T, np.eye(len(triangular))]))
    y = np.linalg.solve(upper, rotated[: len(M)].T @ (M @ slope - residual))
    return across @ y - slope


class PhysicalFit(NamedTuple):
    """The minimum of the module's objective."""

    x: Array  # parameters (p,), those of bodies first
    covariance: Array  # of x by data and prior together (Laplace's approximation), (p, p)
    gain: Array  # fraction of each parameter's prior variance that the data remove, (p,)


def fit_physical(A: Array, K: Array, c: Array, nominal: Array, bodies: int, weight: float) -> PhysicalFit:
    """Minimise the objective of the module.

    Args:
        A: (r, r).
        K: takes parameters to base parameters (r, p).
        c: (r,).
        nominal: x₀ (p,), ten for each body and then those of joints; its pseudo-inertias are positive definite and its
            joint parameters above 0.
        bodies: number of bodies.
        weight: w.
    """
    objective = _Objective(A, K, c, nominal, bodies, weight)
    M = LocalCoordinates(nominal, bodies).apply(objective.data)
    scale = float(np.linalg.svd(M, compute_uv=False).max(initial=0.0))
    x, data_weight = nominal, 1.0 / max(1.0, scale) ** 2
    while data_weight < 1.0:
        x = objective.minimise(x, data_weight, ROUGH)
        data_weight = GROWTH * data_weight
    x = objective.minimise(x, 1.0, EXACT)
    local = LocalCoordinates(x, bodies)
    _, singular, rows = np.linalg.svd(local.apply(A @ K) / np.sqrt(weight))
    # (1 + MᵀM)⁻¹ is 1 / (1 + s²) along the right singular vectors of M, and 1 across them.
    left = np.ones(len(x))
    left[: len(singular)] = 1.0 / (1.0 + singular**2)
    prior = local.apply(np.eye(len(x))) @ rows.T
    covariance = (prior * left) @ prior.T / weight
    return PhysicalFit(x, covariance, 1.0 - np.diag(covariance) * weight / np.einsum("ij,ij->i", prior, prior))
