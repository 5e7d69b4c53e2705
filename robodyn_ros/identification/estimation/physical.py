"""The physically possible parameters that fit best.

    minimise  ½ ‖A K x - c‖² + w Σ D(P(x), P₀),    D(P, P₀) = tr(P₀⁻¹ P) - log det(P₀⁻¹ P) - 4

over the parameters x of bodies and joints: the first term is what the data say (β = K x are base parameters, errors
in units of their standard deviation), the second the entropic distance of each body from the one in the URDF (Lee,
Wensing and Park, Geometric robot dynamic identification: a convex programming approach, IEEE T-RO 36(2), 2020). It
keeps what the data do not show near the URDF's numbers, whatever the units, and grows without bound where a
pseudo-inertia P ceases to be positive definite, so that no other result is possible. What must not be negative of a
joint is the same with 1 x 1 matrices, x/x₀ - log(x/x₀) - 1.

The problem is convex and its second term self-concordant, so Newton's method finds the one minimum (Nesterov and
Nemirovskii, 1994; Boyd and Vandenberghe, Convex Optimization, 2004, chs. 9 and 11), the weight of the data rising step
by step as in a path-following method. Each step is taken in coordinates in which D's Hessian is the identity,
P = C (1 + S) Cᵀ with the Cholesky factor C, so that nothing is badly scaled however close P comes to the edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from robodyn_ros.dynamics.inertial_parameters import least_eigenvalues, to_parameters, to_pseudo
from robodyn_ros.robot.pose import Array

# Coordinates in which what is near and what is far does not depend on units, nor on how close the impossible is.
#
# P = C (1 + S) Cᵀ with the Cholesky factor C of a pseudo-inertia, and x (1 + s) for what must not be negative: in these
# the distance of ``physical`` has the identity for its Hessian.


def _symmetric() -> Array:
    """An orthonormal basis of the symmetric 4 x 4 matrices, (10, 4, 4)."""
    basis = []
    for i in range(4):
        for j in range(i + 1):
            unit = np.zeros((4, 4))
            unit[i, j] = unit[j, i] = 1.0 if i == j else np.sqrt(0.5)
            basis.append(unit)
    return np.array(basis)


SYMMETRIC = _symmetric()


class LocalCoordinates:
    """Around one x (p,), ten parameters for each body and then those of joints; S in an orthonormal basis."""

    def __init__(self, x: Array, bodies: int) -> None:
        self.factor = np.linalg.cholesky(to_pseudo(x[: 10 * bodies].reshape(-1, 10)))
        self.joints = x[10 * bodies :]
        lower = self.factor[:, None]
        # Columns: how x changes with each coordinate, (b, 10, 10).
        self.blocks = to_parameters(lower @ SYMMETRIC @ lower.transpose(0, 1, 3, 2)).transpose(0, 2, 1)

    def apply(self, matrix: Array) -> Array:
        """A matrix (r, p) on x as one on these coordinates."""
        count = 10 * len(self.blocks)
        parts = matrix[:, :count].reshape(len(matrix), -1, 10).transpose(1, 0, 2) @ self.blocks
        return np.hstack([parts.transpose(1, 0, 2).reshape(len(matrix), count), matrix[:, count:] * self.joints])

    def step(self, z: Array) -> Array:
        """How x changes with z."""
        count = 10 * len(self.blocks)
        bodies = self.blocks @ z[:count].reshape(-1, 10, 1)
        return np.concatenate([bodies.ravel(), self.joints * z[count:]])

    def gradient(self, inverse: Array, nominal: Array) -> Array:
        """Of D, with the inverses of the nominal pseudo-inertias (b, 4, 4) and the nominal joint parameters."""
        change = self.factor.transpose(0, 2, 1) @ inverse @ self.factor - np.eye(4)
        bodies = np.einsum("bij,kij->bk", change, SYMMETRIC).ravel()
        return np.concatenate([bodies, self.joints / nominal - 1.0])

    def reach(self, z: Array) -> float:
        """How many times z leads to the edge."""
        count = 10 * len(self.blocks)
        inner = np.tensordot(z[:count].reshape(-1, 10), SYMMETRIC, 1)
        least = min(np.linalg.eigvalsh(inner).min(initial=0.0), z[count:].min(initial=0.0))
        return -1.0 / least if least < 0.0 else np.inf


GROWTH = 30.0
"""By how much the weight of the data grows from one stage to the next."""

ROUGH, EXACT = 0.25, 1e-12
"""What a Newton step still promises when a stage ends, and the last one; the unit is that of minus log likelihoods."""

STEPS = 60
"""Newton steps of a stage at most; a stage that ends rough leaves more to the next."""

SHORTEST = 1e-9
"""Share of a step that is still tried."""

EDGE = 1e-12
"""Least eigenvalue of a pseudo-inertia, relative to the greatest; below it rounding says what is possible."""

INWARDS = 0.95
"""How far a step may go towards the edge of what is possible."""


class _Objective:
    """The function of the module, over w, with the data's part times some share."""

    def __init__(self, A: Array, K: Array, c: Array, nominal: Array, bodies: int, weight: float) -> None:
        root = np.sqrt(weight)
        self.data, self.bodies = A @ K / root, bodies
        self._A, self._K, self._c = A / root, K, c / root
        inverse: Array = np.linalg.inv(to_pseudo(nominal[: 10 * bodies].reshape(-1, 10))).astype(np.float64)
        self._inverse = inverse
        self._joints = nominal[10 * bodies :]

    def residual(self, x: Array) -> Array:
        """Of the data, (r,); β first, for x is known less precisely than that where it has been found."""
        found: Array = self._A @ (self._K @ x) - self._c
        return found

    def value(self, x: Array, share: float) -> float:
        """At x, which is possible."""
        pseudo = self._inverse @ to_pseudo(x[: 10 * self.bodies].reshape(-1, 10))
        ratio = x[10 * self.bodies :] / self._joints
        distance = np.trace(pseudo, axis1=1, axis2=2).sum() - np.linalg.slogdet(pseudo)[1].sum()
        residual = self.residual(x)
        return float(0.5 * share * residual @ residual + distance + (ratio - np.log(ratio)).sum())

    def _better(self, x: Array, share: float, value: float) -> bool:
        """Whether x is clear of the edge, and no worse than a value."""
        if least_eigenvalues(x[: 10 * self.bodies].reshape(-1, 10)).min(initial=1.0) < EDGE:
            return False
        return self.value(x, share) <= value

    def minimised(self, x: Array, share: float, end: float) -> Array:
        """By Newton's method from x, until the decrement is small enough or rounding stops it."""
        now = self.value(x, share)
        for _ in range(STEPS):
            local = LocalCoordinates(x, self.bodies)
            M, residual = np.sqrt(share) * local.apply(self.data), np.sqrt(share) * self.residual(x)
            slope = local.gradient(self._inverse, self._joints)
            z = _newton(M, residual, slope)
            decrement = -float(z @ (slope + M.T @ residual))
            rounding = 8.0 * np.finfo(float).eps * abs(now)
            if not decrement > max(end, rounding):
                break
            length = min(1.0, INWARDS * local.reach(z))
            ahead = x + length * local.step(z)
            while not self._better(ahead, share, now - 1e-4 * length * decrement + rounding):
                length *= 0.5
                if length < SHORTEST:
                    return x
                ahead = x + length * local.step(z)
            x, now = ahead, self.value(ahead, share)
        return x


def _newton(M: Array, residual: Array, slope: Array) -> Array:
    """The z of least |M z + residual|² + |z + slope|², by orthogonal transformations, for M can be worse conditioned
    than normal equations bear.
    """
    across, triangle = np.linalg.qr(M.T)
    rotated, upper = np.linalg.qr(np.vstack([triangle.T, np.eye(len(M))]))
    y = solve_triangular(upper, rotated[: len(M)].T @ (M @ slope - residual))
    step: Array = across @ y - slope
    return step


@dataclass(frozen=True, eq=False)
class Fit:
    """The minimum.

    Attributes:
        x: parameters (p,), those of bodies first.
        bodies: how many.
        data: A K (r, p).
        weight: w.
    """

    x: Array
    bodies: int
    data: Array
    weight: float

    @cached_property
    def covariance(self) -> Array:
        """Of x, by data and prior together (Laplace's approximation), (p, p)."""
        return self._uncertainty[0]

    @cached_property
    def gain(self) -> Array:
        """Which share of each parameter's variance by the prior alone the data take away, (p,)."""
        return self._uncertainty[1]

    @cached_property
    def _uncertainty(self) -> tuple[Array, Array]:
        local = LocalCoordinates(self.x, self.bodies)
        _, singular, rows = np.linalg.svd(local.apply(self.data) / np.sqrt(self.weight))
        # (1 + MᵀM)⁻¹ is 1 / (1 + s²) along the right singular vectors of M, and 1 across them.
        left = np.ones(len(self.x))
        left[: len(singular)] = 1.0 / (1.0 + singular**2)
        prior = local.apply(np.eye(len(self.x))) @ rows.T
        covariance = (prior * left) @ prior.T / self.weight
        gain = 1.0 - np.diag(covariance) * self.weight / np.einsum("ij,ij->i", prior, prior)
        return covariance, gain


def fit_physical(A: Array, K: Array, c: Array, nominal: Array, bodies: int, weight: float) -> Fit:
    """The minimum of the problem above.

    Args:
        A: (r, r).
        K: base parameters of parameters (r, p).
        c: (r,).
        nominal: x₀ (p,), ten for each body and then those of joints; its pseudo-inertias are positive definite and its
            joint parameters above 0.
        bodies: how many.
        weight: w.
    """
    objective = _Objective(A, K, c, nominal, bodies, weight)
    scale = float(np.linalg.norm(LocalCoordinates(nominal, bodies).apply(objective.data), 2))
    x, share = nominal, 1.0 / max(1.0, scale) ** 2
    while share < 1.0:
        x = objective.minimised(x, share, ROUGH)
        share = GROWTH * share
    x = objective.minimised(x, 1.0, EXACT)
    return Fit(x, bodies, A @ K, weight)
