"""The analytical Jacobian: the rates of a minimal (or redundant) description of the pose instead of an angular
velocity.

    [ṗ; φ̇] = J_a q̇,   ω = B(φ) φ̇,   J_a = diag(1, B(φ)⁻¹) J

(Siciliano et al., Robotics (2009), section 3.6). It exists where B does: roll, pitch and yaw lose it at a pitch of
±π/2, z-y-z angles at a middle angle of 0 or π, the rotation vector at 2π only, which it never reaches. A quaternion has
it everywhere, with a row more.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import so3
from robodyn_ros.kinematics.forward import ORIGIN, Kinematics
from robodyn_ros.robot.pose import Array

Angles = Literal["rpy", "zyz", "rotation_vector", "quaternion"]

SINGULAR = 1e-9
"""Below this sine of the distance to a singular angle there is no analytical Jacobian."""


def orientation(rotation: ArrayLike, angles: Angles = "rpy") -> Array:
    """A rotation (…, 3, 3) as roll, pitch, yaw of URDF (R = Rz Ry Rx), z-y-z angles, rotation vector [rad], or (w, x,
    y, z).

    Raises:
        InputError: no such description.
    """
    r = np.asarray(rotation, dtype=np.float64)
    if angles == "rpy":
        pitch = np.arctan2(-r[..., 2, 0], np.hypot(r[..., 2, 1], r[..., 2, 2]))
        roll, yaw = np.arctan2(r[..., 2, 1], r[..., 2, 2]), np.arctan2(r[..., 1, 0], r[..., 0, 0])
        return np.stack([roll, pitch, yaw], -1)
    if angles == "zyz":
        middle = np.arctan2(np.hypot(r[..., 0, 2], r[..., 1, 2]), r[..., 2, 2])
        first, last = np.arctan2(r[..., 1, 2], r[..., 0, 2]), np.arctan2(r[..., 2, 1], -r[..., 2, 0])
        return np.stack([first, middle, last], -1)
    _check(angles)
    return so3.log(r) if angles == "rotation_vector" else so3.quaternion(r)


def analytical_jacobian(
    kinematics: Kinematics, link: str, q: ArrayLike, angles: Angles = "rpy", point: ArrayLike = ORIGIN
) -> Array:
    """J_a with [ṗ; φ̇] = J_a q̇, (6, n) or (N, 6, n); of a quaternion 7 rows.

    Args:
        kinematics: of the arm.
        link: its name.
        q: positions (n,) or (N, n) in [rad] or [m].
        angles: how the orientation is described, see :func:`orientation`.
        point: of the link, in its frame, (3,) in [m].

    Raises:
        InputError: as ``Kinematics.jacobian``; no such description; or it is singular at q.
    """
    _check(angles)
    J = kinematics.jacobian(link, q, "aligned", point)
    rotation = kinematics.pose(link, q)[..., :3, :3]
    return np.concatenate([J[..., :3, :], _rates(orientation(rotation, angles), angles) @ J[..., 3:, :]], -2)


def analytical_jacobian_derivative(
    kinematics: Kinematics,
    link: str,
    q: ArrayLike,
    qd: ArrayLike,
    angles: Angles = "rpy",
    point: ArrayLike = ORIGIN,
) -> Array:
    """J̇_a with [p̈; φ̈] = J_a q̈ + J̇_a q̇, of the shape of J_a: J̇_a = diag(0, Ė) J + diag(1, E) J̇ with E = B⁻¹.

    Args:
        kinematics: of the arm.
        link: its name.
        q: positions (n,) or (N, n) in [rad] or [m].
        qd: velocities, likewise, in [rad/s] or [m/s].
        angles: how the orientation is described, see :func:`orientation`.
        point: of the link, in its frame, (3,) in [m].

    Raises:
        InputError: as :func:`analytical_jacobian`.
    """
    _check(angles)
    rate = kinematics.jacobian_derivative(link, q, qd, "aligned", point)
    J = kinematics.jacobian(link, q, "aligned", point)
    phi = orientation(kinematics.pose(link, q)[..., :3, :3], angles)
    E = _rates(phi, angles)
    phi_rate = (E @ J[..., 3:, :] @ np.asarray(qd, dtype=np.float64)[..., None])[..., 0]
    turning = E @ rate[..., 3:, :] + _rates_derivative(phi, phi_rate, E, angles) @ J[..., 3:, :]
    return np.concatenate([rate[..., :3, :], turning], -2)


def _rates(phi: Array, angles: Angles) -> Array:
    """E(φ) = B(φ)⁻¹ with φ̇ = E ω, (…, 3, 3); of a quaternion (…, 4, 3)."""
    if angles == "rotation_vector":
        return so3.left_jacobian_inverse(phi)
    if angles == "quaternion":
        return _of_quaternion(phi)
    if np.any(np.abs(np.cos(phi[..., 1]) if angles == "rpy" else np.sin(phi[..., 1])) < SINGULAR):
        where = "a pitch of ±π/2" if angles == "rpy" else "a middle angle of 0 or π"
        raise InputError("q", f"the {angles} angles are singular here, at {where}: their rates are unbounded", phi)
    return np.asarray(np.linalg.inv(_axes(phi, angles)), dtype=np.float64)


def _rates_derivative(phi: Array, rate: Array, E: Array, angles: Angles) -> Array:
    """Ė along φ̇."""
    if angles == "quaternion":
        return _of_quaternion(rate)  # E is linear in the quaternion
    if angles == "rotation_vector":
        return so3.left_jacobian_inverse_derivative(phi, rate)
    # The columns of B are the axes about which the angles turn, and each is turned by those after it in the chain.
    B = _axes(phi, angles)
    first, second = (2, 1) if angles == "rpy" else (0, 1)
    last = 0 if angles == "rpy" else 2
    moving = np.zeros_like(B)
    spin = B[..., :, first] * rate[..., first, None]
    moving[..., :, second] = np.cross(spin, B[..., :, second])
    moving[..., :, last] = np.cross(spin + B[..., :, second] * rate[..., second, None], B[..., :, last])
    return -E @ moving @ E


def _axes(phi: Array, angles: Angles) -> Array:
    """B(φ): the axes, in the root link's frame, about which roll, pitch, yaw or the z-y-z angles turn, as columns."""
    first, middle, last = np.moveaxis(phi, -1, 0)
    yaw = last if angles == "rpy" else first
    zero, one = np.zeros_like(yaw), np.ones_like(yaw)
    outer, inner = [zero, zero, one], [-np.sin(yaw), np.cos(yaw), zero]
    if angles == "rpy":
        columns = [[np.cos(yaw) * np.cos(middle), np.sin(yaw) * np.cos(middle), -np.sin(middle)], inner, outer]
    else:
        columns = [outer, inner, [np.cos(yaw) * np.sin(middle), np.sin(yaw) * np.sin(middle), np.cos(middle)]]
    return np.stack([np.stack(column, -1) for column in columns], -1)


def _of_quaternion(q: Array) -> Array:
    w, v = q[..., :1], q[..., 1:]
    return np.concatenate([-v[..., None, :], w[..., None] * np.eye(3) - so3.hat(v)], -2) / 2.0


def _check(angles: Angles) -> None:
    if angles not in get_args(Angles):
        raise InputError("angles", f"must be one of {', '.join(get_args(Angles))}, not {angles!r}", angles)
