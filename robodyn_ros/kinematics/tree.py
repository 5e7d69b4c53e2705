# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The arm in the frames in which its equations are shortest.

Every body gets a frame whose z axis is its joint's axis. As by Denavit and Hartenberg (modified form, Craig,
Introduction to Robotics, ch. 3), x is along the common normal to the next joint's axis. The origin of a revolute joint
is where its axis is nearest to the origin of the next joint. Constant rotations become turns about x, offsets lose
components, and products with zero and one vanish from the generated code. It is only a change of coordinates.

The last joint has no next one: its origin is at the common normal to the axis before. If both axes are almost parallel,
that may be kilometres away, and an inertia about a point there loses its digits: those of l² beside a distance squared.
So the origin is there only if that is near the arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from robodyn_ros.robot import Array, Body, Pose, Robot, read_only

ROUNDING = 1e-14
"""Greatest sine, cosine or relative length that counts as the rounding error of a zero."""
PARALLEL = 1e-6
"""Two axes with a smaller sine between them count as parallel here, where only the choice of a frame depends on it."""
NEAR = 10.0
"""Greatest distance of a frame from its joint along the axis, relative to that of the next joint: two digits."""


@dataclass(frozen=True, eq=False)
class TreeNode:
    """One body of the tree; the joint turns about, or slides along, the z axis of the body's frame.

    Attributes:
        parent: index of the parent node, -1 for the base.
        prismatic: slides, else turns.
        rotation: constant part of the rotation from the body's frame to the parent's, (3, 3).
        turn: constant turn about z that follows it, 0 on a prismatic joint [rad].
        offset: position of the joint in the parent's frame, (3,) in [m].
        frame: pose of this frame in the body's own frame.
        body: the body of the node.
    """

    parent: int
    prismatic: bool
    rotation: Array
    turn: float
    offset: Array
    frame: Pose
    body: Body


@dataclass(frozen=True, eq=False)
class Tree:
    """The whole arm.

    Attributes:
        nodes: parents before children, in the order of ``Robot.bodies``.
        base: rotation from the base's frame to the root link's, (3, 3).
        n: number of coordinates.
    """

    nodes: tuple[TreeNode, ...]
    base: Array
    n: int

    def chain(self, node: int) -> list[TreeNode]:
        """The nodes from the base to one, which is the last; empty for -1."""
        return [] if node < 0 else [*self.chain(self.nodes[node].parent), self.nodes[node]]


_trees: WeakKeyDictionary[Robot, Tree] = WeakKeyDictionary()


def build_tree(robot: Robot) -> Tree:
    """Return the tree of an arm; it is built once for a robot."""
    if robot not in _trees:
        _trees[robot] = _built(robot)
    return _trees[robot]


def _built(robot: Robot) -> Tree:
    bodies = robot.bodies
    frames = _choose_frames(bodies)
    root = _oriented(bodies[0].placement.rotation @ bodies[0].joint.axis, np.zeros(3))
    base = Pose(read_only(root))
    nodes = []
    for body, frame in zip(bodies, frames, strict=True):
        parent = frames[body.parent] if body.parent >= 0 else base
        pose = parent.inverse() @ body.placement @ frame
        rotation, turn = _split(pose.rotation, body.joint.is_prismatic)
        scale = max(1.0, float(np.abs(pose.translation).max()))
        offset = np.where(np.abs(pose.translation) < ROUNDING * scale, 0.0, pose.translation)
        slides, parts = body.joint.is_prismatic, (read_only(rotation), turn, read_only(offset))
        nodes.append(TreeNode(body.parent, slides, *parts, frame, body))
    return Tree(tuple(nodes), base.rotation, robot.n)


def geometry(tree: Tree) -> tuple[object, ...]:
    """Return numbers that are equal for two trees if and only if their equations differ only in inertias."""
    return tree.n, tree.base.tolist(), *map(_geometry_of, tree.nodes)


def _geometry_of(node: TreeNode) -> tuple[object, ...]:
    body, arrays = node.body, (node.rotation, node.offset, node.frame.rotation, node.frame.translation)
    motion = node.parent, node.prismatic, node.turn, body.coordinate, body.ratio, body.offset
    return *motion, *(array.tolist() for array in arrays)


def _choose_frames(bodies: tuple[Body, ...]) -> list[Pose]:
    """Pose of each node's frame in its body's frame, from the tips to the base."""
    frames = [Pose() for _ in bodies]
    for index in reversed(range(len(bodies))):
        body = bodies[index]
        axis = body.joint.axis
        children = [k for k, other in enumerate(bodies) if other.parent == index]
        if children:
            child = bodies[children[0]]
            origin = (child.placement @ frames[children[0]]).translation
            normal = np.cross(axis, child.placement.rotation @ child.joint.axis)
            along = origin if body.joint.is_prismatic else (axis @ origin) * axis
            towards = normal if np.linalg.norm(normal) > PARALLEL else origin - along
        else:
            back = body.placement.inverse()
            before = bodies[body.parent] if body.parent >= 0 else None
            along = np.zeros(3)
            if before is not None and not body.joint.is_prismatic and not before.joint.is_prismatic:
                along = _foot(axis, back.translation, back.rotation @ before.joint.axis)
            towards = body.inertial.com - along
        frames[index] = Pose(read_only(_oriented(axis, towards)), read_only(along))
    return frames


def _foot(axis: Array, point: Array, direction: Array) -> Array:
    """The point of the line along ``axis`` through 0 that is closest to another line; 0 if it is far."""
    normal = np.cross(axis, direction)
    square = normal @ normal
    if square < PARALLEL**2:
        return np.zeros(3)
    distance = (np.cross(point, direction) @ normal) / square
    return distance * axis if abs(distance) <= NEAR * np.linalg.norm(point) else np.zeros(3)


def _oriented(axis: Array, towards: Array) -> Array:
    """A rotation whose z column is the axis and whose x column is the direction nearest to a vector."""
    x = towards - (towards @ axis) * axis
    length = np.linalg.norm(x)
    if length < PARALLEL * max(1.0, float(np.linalg.norm(towards))):
        x = np.eye(3)[np.argmin(np.abs(axis))]
        x = x - (x @ axis) * axis
        length = np.linalg.norm(x)
    x = x / length
    return np.column_stack([x, np.cross(axis, x), axis])


def _split(rotation: Array, slides: bool) -> tuple[Array, float]:
    """A rotation as (constant part, turn about z): the constant part is a turn about x if such a split exists."""
    if slides or abs(rotation[0, 2]) > ROUNDING:
        return np.vectorize(_clean)(rotation), 0.0
    sine, cosine = _clean(-rotation[1, 2]), _clean(rotation[2, 2])
    turn = np.arctan2(-rotation[0, 1], rotation[0, 0])
    return np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]]), float(_clean(turn))


def _clean(value: float) -> float:
    """Return a number, with zero or one in place of their rounding errors."""
    nearest = round(value)
    return float(nearest) if abs(value - nearest) < ROUNDING else float(value)
