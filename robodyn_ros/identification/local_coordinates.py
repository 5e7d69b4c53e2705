"""Coordinates in which what is near and what is far does not depend on units, nor on how close the impossible is.

P = C (1 + S) Cᵀ with the Cholesky factor C of a pseudo-inertia, and x (1 + s) for what must not be negative: in these
the distance of ``physical`` has the identity for its Hessian.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.pseudo_inertia import to_parameters, to_pseudo
from robodyn_ros.robot.pose import Array


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
