# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The workspace of a link, and the manipulability of a pose.

The workspace is found by sampling positions within the limits, and by solving for orientations.
A point of the reachable workspace is reached in some orientation, one of the dexterous workspace in every orientation
(Kumar and Waldron, The workspaces of a mechanical manipulator, ASME J. Mech. Design 103 (1981)); between the two is
the ratio of orientations, the capability map of Zacharias, Borst and Hirzinger (IROS 2007). Sampling approaches the
reachable set from within: every sampled point is reachable.

The manipulability of a pose is that of its Jacobian J = U Σ Vᵀ. The velocities at unit joint rates fill an ellipsoid
with the half axes σᵢ uᵢ, the forces at unit joint efforts one with the half axes uᵢ / σᵢ (Yoshikawa, Manipulability of
robotic mechanisms, Int. J. Robotics Research 4 (1985); Siciliano et al., Robotics (2009), section 3.9). Rows in metres
and rows in radians do not compare: choose rows of one kind, or weigh them by a length of the arm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from robodyn_ros.checks import as_real, check, finite_states
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import se3
from robodyn_ros.kinematics.forward import Kinematics
from robodyn_ros.kinematics.inverse.solver import InverseKinematics
from robodyn_ros.kinematics.inverse.task import Task
from robodyn_ros.robot import Array, random_positions


class WorkspaceSamples(NamedTuple):
    """Positions of the arm, with those of the link."""

    q: Array  # (N, n) in [rad] or [m]
    points: Array  # (N, 3) in [m], in the root link's frame
    manipulability: Array  # (N,) Yoshikawa's, of the chosen rows


class Cells(NamedTuple):
    """Cubes of space that contain samples, and one value of each."""

    centers: Array  # (K, 3) in [m]
    values: Array  # (K,)
    counts: NDArray[np.int64]  # samples in each (K,)
    best: NDArray[np.int64]  # index of the sample that the value comes from (K,)
    size: float  # edge of a cube [m]


def sample(
    kinematics: Kinematics, link: str, count: int = 100_000, *, rows: tuple[int, ...] = (0, 1, 2), seed: int = 1
) -> WorkspaceSamples:
    """Sample the position of a link at random positions of the arm, a few million per second.

    Args:
        kinematics: of the arm.
        link: its name.
        count: number of samples.
        rows: rows of the geometric Jacobian for the manipulability; of a planar arm those of its plane.
        seed: of the positions.

    Raises:
        InputError: no such link, or no such rows.
    """
    q = random_positions(kinematics.robot, count, seed)
    jacobians = kinematics.jacobian(link, q)
    if (moves := jacobians.any(axis=(0, 1))).any():  # the joints of another branch say nothing about this link
        jacobians = jacobians[..., moves]
    return WorkspaceSamples(q, kinematics.pose(link, q)[:, :3, 3], manipulability(jacobians, rows))


def cells(points: ArrayLike, values: ArrayLike, size: float) -> Cells:
    """Sort points into cubes, and keep the greatest value in each.

    Args:
        points: (N, 3) in [m].
        values: (N,); negate them to keep the least; NaN is ignored.
        size: edge of a cube [m].

    Raises:
        InputError: shapes that do not fit, points that are not finite, or a size not above zero.
    """
    where, value = finite_states("points", points, 3), as_real("values", values, "real numbers")
    if where.ndim != 2 or value.shape != where.shape[:1] or not 0.0 < size < np.inf:
        raise InputError("points", f"must be (N, 3) with N values and a size above 0, not {where.shape}, {value.shape}")
    known = np.flatnonzero(~np.isnan(value))
    index = np.floor(where[known] / size).astype(np.int64)
    order = np.lexsort((value[known], *index.T))
    index, order = index[order], known[order]
    last = np.append((np.diff(index, axis=0) != 0).any(axis=1), True)[: len(index)]
    ends = np.flatnonzero(last)
    best = order[ends]
    centers = np.asarray((index[ends] + 0.5) * size, dtype=np.float64)
    return Cells(centers, value[best], np.diff(ends, prepend=-1), best, size)


def dexterity(
    inverse: InverseKinematics, points: ArrayLike, orientations: int = 50, *, task: Task | None = None, seed: int = 1
) -> Array:
    """Return the ratio of orientations in which a link can be brought to points, (N,) from 0 to 1.

    Args:
        inverse: inverse kinematics of the link, with the settings of its search.
        points: (N, 3) in the root link's frame in [m].
        orientations: their number, at random and the same for all points (Shoemake, Uniform random rotations, 1992).
        task: ``Task.pointing()`` counts directions of the tool alone; the whole pose unless given.
        seed: of the orientations.

    Raises:
        InputError: points of a wrong shape, or not finite.
    """
    given = finite_states("points", points, 3)
    turns = random_rotations(orientations, seed)
    found = np.zeros(len(np.atleast_2d(given)))
    for index, point in enumerate(np.atleast_2d(given)):
        start: Array | None = None
        for turn in turns:
            solution = inverse.solve(se3.motion(turn, point), start, task)
            if solution.converged:
                found[index] += 1.0
                start = solution.q  # the next solution is often near
            elif solution.outcome == "beyond_reach":
                break
    return found / orientations


def random_rotations(count: int, seed: int = 1) -> Array:
    """Return rotations (count, 3, 3), all equally likely."""
    return Rotation.random(count, random_state=seed).as_matrix()


LINEAR, ANGULAR = (0, 1, 2), (3, 4, 5)
"""Rows of a geometric Jacobian."""

SINGULAR = 1e-9
"""A singular value below this ratio to the greatest counts as zero."""


class Ellipsoid(NamedTuple):
    """An ellipsoid by its half axes, longest first."""

    axes: Array  # unit vectors as columns (m, m)
    lengths: Array  # (m,); of a force ellipsoid inf if any force is held


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
    J = _chosen(J, rows)
    m = len(J)
    U, sigma, Vt = np.linalg.svd(J)
    rank = int(np.count_nonzero(sigma > tolerance * sigma[0]))
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
    """Return Yoshikawa's measure of many Jacobians (N, m, n): the product of their singular values, (N,).

    Raises:
        InputError: no such row.
    """
    chosen = _chosen(as_real("jacobians", jacobians, "matrices"), rows)
    sigma = np.linalg.svd(chosen, compute_uv=False)
    product = np.prod(sigma, axis=-1)
    return np.where(sigma[..., -1] > SINGULAR * sigma[..., 0], product, 0.0)


def _chosen(jacobians: Array, rows: tuple[int, ...] | None) -> Array:
    """The rows of Jacobians (…, m, n) that count, all unless given."""
    known = range(jacobians.shape[-2])
    if rows is None:
        return jacobians
    check(rows and set(rows) <= set(known), "rows", f"among 0 … {len(known) - 1}", rows)
    return jacobians[..., list(rows), :]
