"""Pseudo-inertias of many bodies at once.

    P = ∫ [r; 1] [r; 1]ᵀ dm = [[Σ, m c], [m cᵀ, m]],    Σ = ½ tr(I) 1 - I

is linear in the ten standard parameters of a body, and there is a body with these parameters exactly if P is positive
semidefinite (Wensing, Kim and Slotine, Linear matrix inequalities for physically consistent inertial parameter
identification, IEEE RA-L 3(1), 2018). Bodies are (b, 10), in the order of ``dynamics.inertial_parameters``, or
(b, 4, 4).
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.robot import Inertial
from robodyn_ros.robot.pose import Array, read_only

_MOMENT = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Where the last six of the ten stand in I."""


def _basis() -> Array:
    """P of each of the ten parameters alone, (10, 4, 4)."""
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for axis in range(3):
        basis[1 + axis, axis, 3] = basis[1 + axis, 3, axis] = 1.0
    for k, (i, j) in enumerate(_MOMENT):
        inertia = np.zeros((3, 3))
        inertia[i, j] = inertia[j, i] = 1.0
        basis[4 + k, :3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return basis


BASIS = read_only(_basis())
"""P of each of the ten parameters alone, (10, 4, 4)."""


def to_pseudo(parameters: Array) -> Array:
    """(b, 4, 4) of (b, 10)."""
    pseudo: Array = np.tensordot(parameters, BASIS, 1)
    return pseudo


def to_parameters(pseudo: Array) -> Array:
    """(…, 10) of (…, 4, 4)."""
    second = pseudo[..., :3, :3]
    inertia = np.trace(second, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - second
    moments = [inertia[..., i, j] for i, j in _MOMENT]
    return np.stack([pseudo[..., 3, 3], *(pseudo[..., i, 3] for i in range(3)), *moments], axis=-1)


def to_inertial(parameters: Array) -> Inertial:
    """The body of ten parameters with a mass above zero."""
    pseudo = to_pseudo(parameters)
    mass = pseudo[3, 3]
    com = pseudo[:3, 3] / mass
    second = pseudo[:3, :3] - mass * np.outer(com, com)
    return Inertial(float(mass), read_only(com), read_only(np.trace(second) * np.eye(3) - second))


def least_eigenvalues(parameters: Array) -> Array:
    """Of the pseudo-inertias of bodies (b, 10), lengths measured so that they are about 1, relative to the greatest,
    (b,); above 0 where there is such a body with mass and extent in all directions.
    """
    pseudo = to_pseudo(parameters)
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(pseudo, axis1=-2, axis2=-1)), np.finfo(float).tiny))
    values = np.linalg.eigvalsh(pseudo / (scale[:, :, None] * scale[:, None, :]))
    least: Array = values[:, 0] / values[:, -1]
    return least


def made_possible(parameters: Array, length: float, floor: float) -> Array:
    """The nearest bodies that have mass and extent in all directions, (b, 10).

    Args:
        parameters: of bodies that may lack both, or be impossible, (b, 10).
        length: size of the arm [m].
        floor: least eigenvalue of a pseudo-inertia that stays as it is, relative to its greatest, or to the bodies'
            average where that is more, with lengths in units of the arm's.
    """
    scale = np.array([length, length, length, 1.0])
    values, vectors = np.linalg.eigh(to_pseudo(parameters) / np.outer(scale, scale))
    typical = np.maximum(values[:, -1:], floor * max(values[:, -1].mean(), np.finfo(float).tiny))
    raised = np.maximum(values, floor * typical)
    new = to_parameters((vectors * raised[:, None, :]) @ vectors.transpose(0, 2, 1) * np.outer(scale, scale))
    return np.where((raised == values).all(axis=1)[:, None], parameters, new)


def moved(pseudo: Array, rotation: Array, translation: Array) -> Array:
    """P' = T P Tᵀ: the same body (4, 4) seen from the frame in which its own has that pose."""
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = rotation, translation
    found: Array = transform @ pseudo @ transform.T
    return found
