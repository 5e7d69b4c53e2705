"""The ten standard parameters of a body as a symmetric 4 x 4 matrix, which moves like a point: its pseudo-inertia

    P = ∫ [r; 1] [r; 1]ᵀ dm = [[Σ, m c], [m cᵀ, m]],    Σ = ½ tr(I) 1 − I

(Wensing, Kim and Slotine, Linear matrix inequalities for physically consistent inertial parameter identification, IEEE
RA-L 3(1), 2018). P is linear in the parameters, and there is a body that has them exactly if P is positive
semidefinite. The order of the ten is that of :mod:`robodyn_ros.dynamics.inertial_parameters`.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.robot.pose import Array, read_only

MOMENT = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Where the last six of the ten stand in I."""


def _basis() -> Array:
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for axis in range(3):
        basis[1 + axis, axis, 3] = basis[1 + axis, 3, axis] = 1.0
    for k, (i, j) in enumerate(MOMENT):
        inertia = np.zeros((3, 3))
        inertia[i, j] = inertia[j, i] = 1.0
        basis[4 + k, :3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return basis


BASIS = read_only(_basis())
"""P of each of the ten parameters alone, (10, 4, 4)."""


def to_pseudo(parameters: Array) -> Array:
    """P (…, 4, 4) of standard parameters (…, 10)."""
    pseudo: Array = np.tensordot(parameters, BASIS, 1)
    return pseudo


def to_parameters(pseudo: Array) -> Array:
    """Standard parameters (…, 10) of P (…, 4, 4)."""
    second = pseudo[..., :3, :3]
    inertia = np.trace(second, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - second
    moments = [inertia[..., i, j] for i, j in MOMENT]
    return np.stack([pseudo[..., 3, 3], *(pseudo[..., i, 3] for i in range(3)), *moments], axis=-1)


def moved(pseudo: Array, rotation: Array, translation: Array) -> Array:
    """P' = T P Tᵀ: the same body (4, 4) seen from the frame in which its own has that pose."""
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = rotation, translation
    found: Array = transform @ pseudo @ transform.T
    return found
