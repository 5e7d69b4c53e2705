# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rigid motions: the group SE(3), its logarithms and its adjoint.

A motion is a homogeneous matrix T, (4, 4) or (N, 4, 4); a twist is [v; ω], linear above angular, (6,) or (N, 6), the
order of this package's Jacobians (Lynch and Park, Modern Robotics (2017), section 3.3, have the opposite order).
Composition is the matrix product, ``T1 @ T2``.
"""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import as_real, check
from robodyn_ros.kinematics import so3
from robodyn_ros.robot import Array, Pose

ROUNDING = 1e-6
"""Tolerance of the orthonormal rows of a rotation."""


def motion(rotation: ArrayLike, translation: ArrayLike) -> Array:
    """T of a rotation (…, 3, 3) and a translation (…, 3) in [m]."""
    r, p = np.asarray(rotation, dtype=np.float64), np.asarray(translation, dtype=np.float64)
    matrix = np.zeros((*np.broadcast_shapes(r.shape[:-2], p.shape[:-1]), 4, 4))
    matrix[..., :3, :3], matrix[..., :3, 3], matrix[..., 3, 3] = r, p, 1.0
    return matrix


def from_pose(pose: Pose) -> Array:
    """T of a Pose, (4, 4)."""
    return motion(pose.rotation, pose.translation)


def as_pose(target: ArrayLike | Pose) -> Array:
    """A homogeneous matrix (4, 4).

    Raises:
        InputError: it is not one.
    """
    if isinstance(target, Pose):
        return from_pose(target)
    matrix = as_real("target", target, "a homogeneous matrix (4, 4)")
    is_motion = matrix.shape == (4, 4) and _is_motion(*matrix.tolist())
    check(is_motion, "target", "a homogeneous matrix (4, 4) with a rotation", target)
    return matrix


def _is_motion(x: list[float], y: list[float], z: list[float], last: list[float]) -> bool:
    """Return whether the rows are a motion's: x and y orthonormal, z their product; in plain numbers, for speed."""
    (a, b, c, p), (d, e, f, q), (g, h, i, r) = x, y, z
    off = abs(a * a + b * b + c * c - 1.0) + abs(d * d + e * e + f * f - 1.0) + abs(a * d + b * e + c * f)
    off += abs(b * f - c * e - g) + abs(c * d - a * f - h) + abs(a * e - b * d - i)
    return off < ROUNDING and last == [0.0, 0.0, 0.0, 1.0] and isfinite(p + q + r)


def inverse(matrix: ArrayLike) -> Array:
    """T⁻¹ = [Rᵀ, -Rᵀ p; 0, 1]."""
    m = np.asarray(matrix, dtype=np.float64)
    back = np.swapaxes(m[..., :3, :3], -1, -2)
    return motion(back, -(back @ m[..., :3, 3:])[..., 0])


def hat(twist: ArrayLike) -> Array:
    """The 4 × 4 matrix [ω× v; 0 0] of a twist."""
    xi = np.asarray(twist, dtype=np.float64)
    matrix = np.zeros((*xi.shape[:-1], 4, 4))
    matrix[..., :3, :3], matrix[..., :3, 3] = so3.hat(xi[..., 3:]), xi[..., :3]
    return matrix


def vee(matrix: ArrayLike) -> Array:
    """The twist of such a matrix: the inverse of :func:`hat`."""
    m = np.asarray(matrix, dtype=np.float64)
    return np.concatenate([m[..., :3, 3], so3.vee(m[..., :3, :3])], -1)


def exp(twist: ArrayLike) -> Array:
    """The motion that a constant twist makes in unit time (Lynch and Park, proposition 3.25)."""
    xi = np.asarray(twist, dtype=np.float64)
    v, phi = xi[..., :3], xi[..., 3:]
    return motion(so3.exp(phi), (so3.left_jacobian(phi) @ v[..., None])[..., 0])


def log(matrix: ArrayLike) -> Array:
    """The twist with exp ξ = T whose rotation is the shortest."""
    m = np.asarray(matrix, dtype=np.float64)
    phi = so3.log(m[..., :3, :3])
    v = (so3.left_jacobian_inverse(phi) @ m[..., :3, 3:])[..., 0]
    return np.concatenate([v, phi], -1)


def adjoint(matrix: ArrayLike) -> Array:
    """Ad(T), (6, 6): from twists in frame B to the same twists in A, for T the pose of B in A.

    In the order [v; ω]: [[R, [p]× R], [0, R]] (Lynch and Park, definition 3.20).
    """
    m = np.asarray(matrix, dtype=np.float64)
    result = np.zeros((*m.shape[:-2], 6, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = m[..., :3, :3]
    result[..., :3, 3:] = so3.hat(m[..., :3, 3]) @ m[..., :3, :3]
    return result


def error(actual: ArrayLike, wanted: ArrayLike) -> Array:
    """Return the error between two poses: [Δp; Δφ] in the axes both are given in, Δφ = log(R_wanted R_actualᵀ).

    The velocity [ṗ; ω] that corrects it in unit time on straight lines; unlike a logarithm of the whole motion, its
    upper half does not depend on the rotation.
    """
    a, b = np.asarray(actual, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    turn = so3.log(b[..., :3, :3] @ np.swapaxes(a[..., :3, :3], -1, -2))
    return np.concatenate([b[..., :3, 3] - a[..., :3, 3], turn], -1)
