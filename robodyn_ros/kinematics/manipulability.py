# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Manipulability: the velocities and forces of the tool in a pose, by its Jacobian.

J = U Σ Vᵀ. The velocities at unit joint rates fill an ellipsoid with the half axes σᵢ uᵢ, the forces at unit joint
efforts one with the half axes uᵢ / σᵢ (Yoshikawa, Manipulability of robotic mechanisms, Int. J. Robotics
Research 4 (1985); Siciliano et al., Robotics (2009), section 3.9). Rows in metres and rows in radians do not compare:
choose rows of one kind, or weigh them by a length of the arm, J := diag(1, 1, 1, L, L, L) J.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import as_real
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array

LINEAR, ANGULAR = (0, 1, 2), (3, 4, 5)
"""Rows of a geometric Jacobian."""

SINGULAR = 1e-9
"""A singular value below this ratio to the greatest counts as zero."""


class Ellipsoid(NamedTuple):
    """An ellipsoid by its half axes, longest first."""

    axes: Array  # unit vectors as columns (m, m)
    lengths: Array  # (m,); of a force ellipsoid inf if any force is held

    @property
    def volume(self) -> float:
        """Product of the half axes: the volume over that of the unit ball."""
        return float(np.prod(self.lengths))


class Analysis(NamedTuple):
    """Manipulability of a Jacobian (m, n)."""

    singular_values: Array  # σ, greatest first, (min(m, n),)
    rank: int
    singular: bool  # rank < min(m, n)
    manipulability: float  # √det(J Jᵀ), √det(Jᵀ J) if m > n: the product of the singular values (Yoshikawa)
    condition: float  # σ_max / σ_min, from 1 to inf
    isotropy: float  # σ_min / σ_max, from 0 (singular) to 1 (the same in every direction)
    null_space: Array  # joint rates without motion of the tool, orthonormal columns (n, n - rank)
    lost: Array  # directions in which the arm cannot go, orthonormal columns (m, m - rank)
    velocity: Ellipsoid  # of unit joint rates
    force: Ellipsoid  # of unit joint efforts


def analyse(
    jacobian: ArrayLike, rows: tuple[int, ...] | None = None, *, length: float = 1.0, tolerance: float = SINGULAR
) -> Analysis:
    """Return the singular values of a Jacobian, and the measures derived from them.

    Args:
        jacobian: (m, n), for instance of ``Kinematics.jacobian``.
        rows: those that count, all unless given; ``LINEAR`` and ``ANGULAR`` of a geometric one, (0, 2, 4) in the plane
            x-z.
        length: weight of radians against metres [m]: multiplies the rows from 3 on of a geometric Jacobian (six
            rows).
        tolerance: see ``SINGULAR``.

    Raises:
        InputError: not a matrix of finite numbers, or no such row.
    """
    J = as_real("jacobian", jacobian, "a matrix")
    if J.ndim != 2 or 0 in J.shape or not np.isfinite(J).all():
        raise InputError("jacobian", f"must be a matrix of finite numbers, not of shape {J.shape}", jacobian)
    if length != 1.0 and len(J) == 6:
        J = J * np.array([1.0, 1.0, 1.0, length, length, length])[:, None]
    if rows is not None:
        if not rows or not set(rows) <= set(range(len(J))):
            raise InputError("rows", f"must be among 0 … {len(J) - 1}, not {rows!r}", rows)
        J = J[list(rows)]
    m = len(J)
    U, sigma, Vt = np.linalg.svd(J)
    rank = int(np.count_nonzero(sigma > tolerance * sigma[0])) if sigma[0] > 0.0 else 0
    least, greatest = (float(sigma[-1]), float(sigma[0])) if rank == len(sigma) else (0.0, float(sigma[0]))
    lengths = np.zeros(m)
    lengths[:rank] = sigma[:rank]
    with np.errstate(divide="ignore"):
        forces = 1.0 / lengths[::-1]
    return Analysis(
        singular_values=sigma,
        rank=rank,
        singular=rank < len(sigma),
        manipulability=float(np.prod(sigma)) if rank == len(sigma) else 0.0,
        condition=greatest / least if least > 0.0 else np.inf,
        isotropy=least / greatest if greatest > 0.0 else 0.0,
        null_space=Vt[rank:].T,
        lost=U[:, rank:],
        velocity=Ellipsoid(U, lengths),
        force=Ellipsoid(U[:, ::-1], forces),
    )


def manipulability(jacobians: ArrayLike, rows: tuple[int, ...] | None = None) -> Array:
    """Return Yoshikawa's measure of many Jacobians (N, m, n): the product of their singular values, (N,)."""
    J = as_real("jacobians", jacobians, "matrices")
    chosen = J if rows is None else J[..., list(rows), :]
    product: Array = np.prod(np.linalg.svd(chosen, compute_uv=False), axis=-1)
    return product
