"""Bodies by their pseudo-inertias (:mod:`robodyn_ros.dynamics.pseudo_inertia`), many at once: which are possible.

Bodies are (b, 10), in the order of ``dynamics.inertial_parameters``, or (b, 4, 4).
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.pseudo_inertia import to_parameters, to_pseudo
from robodyn_ros.robot import Inertial
from robodyn_ros.robot.pose import Array, read_only


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
