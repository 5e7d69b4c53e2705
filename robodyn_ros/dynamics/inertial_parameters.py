# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The inertial parameters, in which the equations of motion are linear.

Each body has ten standard parameters about the origin of a frame: mass m, first moment m c, and rotational inertia, in
Pinocchio's order (m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz). They form a symmetric 4 x 4 matrix that transforms
like a point, the pseudo-inertia

    P = ∫ [r; 1] [r; 1]ᵀ dm = [[Σ, m c], [m cᵀ, m]],    Σ = ½ tr(I) 1 − I

(Wensing, Kim and Slotine, Linear matrix inequalities for physically consistent inertial parameter identification, IEEE
RA-L 3(1), 2018). P is linear in the parameters, and a body with them exists exactly if P is positive semidefinite.
Moving parameters to another frame, and grouping those that the motion cannot tell apart, are linear maps; both are done
on P. Arrays of many bodies are (b, 10) or (b, 4, 4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.kinematics.tree import Tree, TreeNode
from robodyn_ros.robot import Inertial, LockedJoints, Pose, Robot
from robodyn_ros.robot.pose import Array, read_only

MOMENT = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Rows and columns of I that the last six of the ten are in."""


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
    """Return P (…, 4, 4) of standard parameters (…, 10)."""
    pseudo: Array = np.tensordot(parameters, BASIS, 1)
    return pseudo


def to_parameters(pseudo: Array) -> Array:
    """Return the standard parameters (…, 10) of P (…, 4, 4)."""
    second = pseudo[..., :3, :3]
    inertia = np.trace(second, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - second
    moments = [inertia[..., i, j] for i, j in MOMENT]
    return np.stack([pseudo[..., 3, 3], *(pseudo[..., i, 3] for i in range(3)), *moments], axis=-1)


def moved(pseudo: Array, rotation: Array, translation: Array) -> Array:
    """Return P' = T P Tᵀ: the same body (…, 4, 4) seen from the frame in which its own has that pose."""
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = rotation, translation
    found: Array = transform @ pseudo @ transform.T
    return found


REVOLUTE = ((0, 3), (1, 3), (0, 0), (0, 1), (1, 1), (0, 2), (1, 2))
"""Grouped parameters of a body that turns: the entries of its pseudo-inertia that are not moved to the parent."""

PRISMATIC = ((3, 3), (0, 3), (1, 3), (2, 3))
"""Grouped parameters of a body that slides."""


def standard_parameters(robot: Robot) -> Array:
    """Return θ of every body in its own frame, (10 · bodies,) in [kg], [kg m], [kg m²]."""
    return np.concatenate([parameters_of(body.inertial) for body in robot.bodies])


def locked_parameters(joints: LockedJoints, positions: ArrayLike) -> Array:
    """Return θ of a robot with locked joints, (10 · bodies,), with these at positions (k,) in [rad] or [m]."""
    return np.concatenate([parameters_of(own) for own in joints.inertials(positions)])


def parameters_of(inertial: Inertial) -> Array:
    """Return the ten standard parameters of one body, (10,)."""
    m, c = inertial.mass, inertial.com
    about_origin = inertial.inertia + m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([m, *(m * c), *(about_origin[i, j] for i, j in MOMENT)])


def standard_map(tree: Tree) -> Array:
    """Return the matrix from θ in the bodies' frames to θ in the tree's frames, (10 · bodies, 10 · bodies)."""
    return np.ascontiguousarray(np.concatenate([to_parameters(p) for p in _units_in_tree(tree)], axis=1).T)


def grouped_map(tree: Tree) -> Array:
    """Return the matrix from θ in the bodies' frames to the grouped parameters: ``grouped_entries`` of each node in
    turn, then the first moment (3,) of the base, on which only the potential energy depends, and its mass.

    Mass on the axis of a revolute joint acts like mass of the parent; the rotational inertia behind a prismatic joint
    acts like that of the parent. These parts are moved to the parent, and the recursion has less to multiply (Khalil
    and Dombre, Modeling, Identification and Control of Robots, section 9.4.2).
    """
    pseudo = _units_in_tree(tree)
    base = np.zeros_like(pseudo[0])
    for node, own in reversed(list(zip(tree.nodes, pseudo, strict=True))):
        handed = own.copy()
        if node.prismatic:
            handed[:, 3, :] = handed[:, :, 3] = 0.0
        else:
            handed[:, :2, :] = handed[:, :, :2] = 0.0
        own -= handed
        below = pseudo[node.parent] if node.parent >= 0 else base
        below += _moved(handed, _pose(node))
    kept = [p[:, i, j] for node, p in zip(tree.nodes, pseudo, strict=True) for i, j in grouped_entries(node)]
    return np.array([*kept, *base[:, :, 3].T])


def grouped_entries(node: TreeNode) -> tuple[tuple[int, int], ...]:
    """Return the entries of a node's pseudo-inertia that remain after grouping."""
    return PRISMATIC if node.prismatic else REVOLUTE


def _units_in_tree(tree: Tree) -> list[Array]:
    """Pseudo-inertia of every node in its frame for each unit vector of θ in turn, (10 · bodies, 4, 4)."""
    units = to_pseudo(np.eye(10 * len(tree.nodes)).reshape(-1, len(tree.nodes), 10))
    return [_moved(units[:, index], node.frame.inverse()) for index, node in enumerate(tree.nodes)]


def _pose(node: TreeNode) -> Pose:
    """Pose of a node's frame in its parent's, with the joint at 0."""
    c, s = np.cos(node.turn), np.sin(node.turn)
    return Pose(node.rotation @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), node.offset)


def _moved(pseudo: Array, pose: Pose) -> Array:
    return moved(pseudo, pose.rotation, pose.translation)


def to_inertial(parameters: Array) -> Inertial:
    """Return the body of ten parameters with a mass above zero."""
    pseudo = to_pseudo(parameters)
    mass = pseudo[3, 3]
    com = pseudo[:3, 3] / mass
    second = pseudo[:3, :3] - mass * np.outer(com, com)
    return Inertial(float(mass), read_only(com), read_only(np.trace(second) * np.eye(3) - second))


def least_eigenvalues(parameters: Array) -> Array:
    """Return the least eigenvalue of each body's pseudo-inertia over its greatest, (b,) of (b, 10).

    Lengths are scaled so that they are about 1. It is above 0 where such a body exists, with mass and extent in all
    directions.
    """
    pseudo = to_pseudo(parameters)
    scale = np.sqrt(np.maximum(np.abs(np.diagonal(pseudo, axis1=-2, axis2=-1)), np.finfo(float).tiny))
    values = np.linalg.eigvalsh(pseudo / (scale[:, :, None] * scale[:, None, :]))
    least: Array = values[:, 0] / values[:, -1]
    return least


def made_possible(parameters: Array, length: float, floor: float) -> Array:
    """Return the nearest bodies that have mass and extent in all directions, (b, 10).

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
