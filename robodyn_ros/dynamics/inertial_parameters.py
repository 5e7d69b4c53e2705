"""The numbers in which the equations of motion are linear.

Per body ten standard parameters, about the origin of a frame: mass m, first moment m c, and rotational inertia, in
Pinocchio's order (m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz). Moving them to another frame, and grouping those
that the motion cannot tell apart, are linear maps; both are done on the pseudo-inertia
(:mod:`robodyn_ros.dynamics.pseudo_inertia`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robodyn_ros.dynamics.pseudo_inertia import MOMENT, moved, to_parameters, to_pseudo
from robodyn_ros.kinematics.tree import Node, Tree
from robodyn_ros.robot import Inertial, Pose, Robot
from robodyn_ros.robot.pose import Array

# The grouped parameters of a body: those of its pseudo-inertia that its joint cannot hand over to the parent.
REVOLUTE = ((0, 3), (1, 3), (0, 0), (0, 1), (1, 1), (0, 2), (1, 2))
PRISMATIC = ((3, 3), (0, 3), (1, 3), (2, 3))


def standard_parameters(robot: Robot) -> Array:
    """θ of every body in its own frame, (10 · bodies,) in [kg], [kg m], [kg m²]."""
    return np.concatenate([parameters_of(body.inertial) for body in robot.bodies])


def parameters_of(inertial: Inertial) -> Array:
    """The ten standard parameters of one body, (10,)."""
    m, c = inertial.mass, inertial.com
    about_origin = inertial.inertia + m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([m, *(m * c), *(about_origin[i, j] for i, j in MOMENT)])


def standard_map(tree: Tree) -> Array:
    """Matrix from θ in the bodies' frames to θ in the tree's frames, (10 · bodies, 10 · bodies)."""

    def apply(theta: Array) -> Array:
        return np.concatenate([to_parameters(p) for p in _in_tree(tree, theta)])

    return _matrix(apply, 10 * len(tree.nodes))


def grouped_map(tree: Tree) -> Array:
    """Matrix from θ in the bodies' frames to the grouped parameters: ``grouped_entries`` of each node in turn, then
    the first moment (3,) that ends up in the base, which only the potential energy knows of.

    A revolute joint cannot tell mass that lies on its axis from mass of the parent's; a prismatic joint cannot tell
    the child's rotational inertia from the parent's. What cannot be told apart is handed down to the parent, and the
    recursion has less to multiply (Khalil and Dombre, Modeling, Identification and Control of Robots, section 9.4.2).
    """

    def apply(theta: Array) -> Array:
        pseudo, base = _in_tree(tree, theta), np.zeros((4, 4))
        for node, own in reversed(list(zip(tree.nodes, pseudo, strict=True))):
            handed = own.copy()
            if node.prismatic:
                handed[3, :] = handed[:, 3] = 0.0
            else:
                handed[:2, :] = handed[:, :2] = 0.0
            own -= handed
            below = pseudo[node.parent] if node.parent >= 0 else base
            below += _moved(handed, _pose(node))
        kept = [p[entry] for node, p in zip(tree.nodes, pseudo, strict=True) for entry in grouped_entries(node)]
        return np.array([*kept, *base[:, 3]])

    return _matrix(apply, 10 * len(tree.nodes))


def grouped_entries(node: Node) -> tuple[tuple[int, int], ...]:
    """Which entries of a node's pseudo-inertia remain after grouping."""
    return PRISMATIC if node.prismatic else REVOLUTE


def _matrix(apply: Callable[[Array], Array], size: int) -> Array:
    return np.column_stack([apply(unit) for unit in np.eye(size)])


def _in_tree(tree: Tree, theta: Array) -> list[Array]:
    """Pseudo-inertia of every node in its frame."""
    return [
        _moved(to_pseudo(part), node.frame.inverse())
        for node, part in zip(tree.nodes, theta.reshape(-1, 10), strict=True)
    ]


def _pose(node: Node) -> Pose:
    """Pose of a node's frame in its parent's, with the joint at 0."""
    c, s = np.cos(node.turn), np.sin(node.turn)
    return Pose(node.rotation @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), node.offset)


def _moved(pseudo: Array, pose: Pose) -> Array:
    return moved(pseudo, pose.rotation, pose.translation)
