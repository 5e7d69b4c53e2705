# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Rotations: the group SO(3) and its logarithms, stable at every angle from 0 to π.

A rotation vector φ = θ a is the angle [rad] times the unit axis, (3,) or (N, 3); a rotation is a matrix, (3, 3) or (N,
3, 3). Rodrigues' formula and its inverse: Lynch and Park, Modern Robotics (2017), section 3.2.3. The logarithm uses
the quaternion: arccos((tr R - 1) / 2) loses half the digits near 0 and near π (Shepperd, Quaternion from rotation
matrix, J. Guidance and Control 1 (1978)). Left Jacobian: Barfoot, State Estimation for Robotics (2017), section 7.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.robot.pose import Array

SERIES = 0.05
"""Angle below which the coefficients are computed by their series, where three terms are exact to rounding [rad]."""


def hat(phi: ArrayLike) -> Array:
    """[φ]×, the skew matrix with [φ]× y = φ × y."""
    x, y, z = np.moveaxis(np.asarray(phi, dtype=np.float64), -1, 0)
    zero = np.zeros_like(x)
    return np.stack([np.stack(row, -1) for row in ((zero, -z, y), (z, zero, -x), (-y, x, zero))], -2)


def vee(skew: ArrayLike) -> Array:
    """The vector of a skew matrix: the inverse of :func:`hat`."""
    m = np.asarray(skew, dtype=np.float64)
    return np.stack([m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]], -1) / 2.0


def exp(phi: ArrayLike) -> Array:
    """The rotation about φ by its length."""
    a, b, _ = coefficients(angle(phi))
    return _squared(phi, a, b)


def log(rotation: ArrayLike) -> Array:
    """The shortest φ with exp φ = R, of length π at most; of the two at a half turn, either."""
    return rotation_vector(np.asarray(rotation, dtype=np.float64))


def quaternion(rotation: ArrayLike) -> Array:
    """The unit quaternion (w, x, y, z) of a rotation, w ≥ 0, (4,) or (N, 4)."""
    q = _scaled_quaternion(np.asarray(rotation, dtype=np.float64))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def rotation_vector(r: Array) -> Array:
    """:func:`log` of an array, which may have expressions: a control law that uses it can be traced."""
    q = _scaled_quaternion(r)
    w, v = q[..., 0], q[..., 1:]
    s = np.sqrt(np.sum(v**2, -1))
    small = s < 1e-8 * w  # then atan2(s, w) = s / w to rounding
    factor = np.where(small, 2.0 / np.maximum(w, s), 2.0 * np.arctan2(s, w) / np.where(small, 1.0, s))
    return factor[..., None] * v


def _scaled_quaternion(r: Array) -> Array:
    """A positive multiple of the quaternion (w, x, y, z) with w ≥ 0, (…, 4)."""
    (a, b, c), (d, e, f), (g, h, i) = ([r[..., j, k] for k in range(3)] for j in range(3))
    outer = [  # 4 q qᵀ, linear in R: the column of the greatest diagonal element loses no digit
        [1 + a + e + i, h - f, c - g, d - b],
        [h - f, 1 + a - e - i, b + d, c + g],
        [c - g, b + d, 1 - a + e - i, f + h],
        [d - b, c + g, f + h, 1 - a - e + i],
    ]
    columns = [np.stack(column, -1) for column in outer]
    q, greatest = columns[0], outer[0][0]
    for k in (1, 2, 3):
        greater = outer[k][k] > greatest
        q, greatest = np.where(greater[..., None], columns[k], q), np.maximum(outer[k][k], greatest)
    return np.where(q[..., :1] < 0.0, -q, q)


def left_jacobian(phi: ArrayLike) -> Array:
    """J(φ) with ω = J(φ) φ̇, ω in the axes of the frame that the rotation maps to."""
    _, b, c = coefficients(angle(phi))
    return _squared(phi, b, c)


def left_jacobian_inverse(phi: ArrayLike) -> Array:
    """J(φ)⁻¹; singular at a whole turn, 2π."""
    theta = angle(phi)
    square, small = theta**2, theta < SERIES
    half = np.where(small, 1.0, theta / 2.0)
    exact = (1.0 - half * np.cos(half) / np.sin(half)) / np.where(small, 1.0, square)
    factor = np.where(small, 1 / 12 + square / 720 + square**2 / 30240, exact)
    return _squared(phi, np.full_like(theta, -0.5), factor)


def _squared(phi: ArrayLike, first: Array, second: Array) -> Array:
    """1 + first [φ]× + second [φ]×²."""
    matrix = hat(phi)
    return np.eye(3) + first[..., None, None] * matrix + second[..., None, None] * matrix @ matrix


def angle(phi: ArrayLike) -> Array:
    """Length of a rotation vector [rad]."""
    length: Array = np.linalg.norm(np.asarray(phi, dtype=np.float64), axis=-1)
    return np.asarray(length)


def coefficients(theta: Array) -> tuple[Array, Array, Array]:
    """Sin θ / θ, (1 - cos θ) / θ², (θ - sin θ) / θ³."""
    square, small = theta**2, theta < SERIES
    safe = np.where(small, 1.0, theta)
    series = 1 / 6 - square / 120 + square**2 / 5040
    c = np.where(small, series, (safe - np.sin(safe)) / safe / safe**2)
    return np.sinc(theta / np.pi), np.sinc(theta / (2.0 * np.pi)) ** 2 / 2.0, c
