# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pose and Jacobian of a link as CasADi expressions of the coordinates.

Compiled functions run without CasADi: this module is imported only to build new ones.
"""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.engine.casadi import ca
from robodyn_ros.kinematics.se3 import from_pose
from robodyn_ros.kinematics.tree import Tree, TreeNode
from robodyn_ros.robot import Link

Z = ca.SX([0.0, 0.0, 1.0])
"""The axis of every joint, in the frames of the tree."""


class Transform:
    """Pose of a node's frame in its parent's frame, as a function of the coordinates."""

    def __init__(self, node: TreeNode, q: ca.SX) -> None:
        s = node.body.ratio * q[node.body.coordinate] + node.body.offset
        self._constant, self._turn = ca.SX(ca.DM(node.rotation)), ca.SX.eye(3)
        self.offset = ca.SX(ca.DM(node.offset))
        if node.prismatic:
            self.offset += self._constant[:, 2] * s
        else:
            cosine, sine = ca.cos(s + node.turn), ca.sin(s + node.turn)
            self._turn[0, 0] = self._turn[1, 1] = cosine
            self._turn[1, 0], self._turn[0, 1] = sine, -sine

    def up(self, v: ca.SX) -> ca.SX:
        """Components in the parent's frame of vectors (3, k) given in the child's."""
        return self._constant @ (self._turn @ v)

    def after(self, rotation: ca.SX) -> ca.SX:
        """The rotation (3, 3) of the child's frame for another rotation of the parent's."""
        return (rotation @ self._constant) @ self._turn

    def up_symmetric(self, matrix: ca.SX) -> ca.SX:
        """R S Rᵀ of a symmetric matrix (3, 3): with w = cos (Sxx - Syy) - 2 sin Sxy the turn about z takes eight
        multiplications, where two general products take twenty-four.
        """
        cosine, sine = self._turn[0, 0], self._turn[1, 0]
        if not sine.is_zero():
            w = cosine * (matrix[0, 0] - matrix[1, 1]) - 2 * (sine * matrix[0, 1])
            xx, yy, xy = matrix[1, 1] + cosine * w, matrix[0, 0] - cosine * w, matrix[0, 1] + sine * w
            side = self._turn[:2, :2] @ matrix[:2, 2]
            matrix = ca.blockcat([[xx, xy, side[0]], [xy, yy, side[1]], [side[0], side[1], matrix[2, 2]]])
        return ca.tril2symm(ca.tril(self._constant @ matrix @ self._constant.T))

    def down(self, v: ca.SX) -> ca.SX:
        """Components in the child's frame of vectors (3, k) given in the parent's."""
        return self._turn.T @ (self._constant.T @ v)


def joint_rate(node: TreeNode, rates: ca.SX) -> ca.SX:
    """Rate of a node's joint from the rates (or accelerations) of the coordinates; they differ for a mimic joint."""
    return node.body.ratio * rates[node.body.coordinate]


class PlacedJoint(NamedTuple):
    """A joint that moves a link, in the root link's frame."""

    node: TreeNode
    axis: ca.SX  # (3,)
    origin: ca.SX  # (3,)


class Placed(NamedTuple):
    """A link's frame in the root link's."""

    rotation: ca.SX  # (3, 3)
    position: ca.SX  # (3,)
    joints: list[PlacedJoint]  # those that move it, from the root on

    @property
    def matrix(self) -> ca.SX:
        """As a homogeneous matrix (4, 4)."""
        return ca.vertcat(ca.horzcat(self.rotation, self.position), ca.SX(ca.DM([[0, 0, 0, 1]])))


def placed(tree: Tree, link: Link, q: ca.SX, point: ca.SX | None = None) -> Placed:
    """The pose of a link, or of the frame at one of its points with the link's axes.

    Args:
        tree: of the arm.
        link: of the arm.
        q: coordinates (n,).
        point: in the link's frame (3,) in [m]; its origin unless given.
    """
    chain: list[TreeNode] = []
    index = link.body
    while index >= 0:
        chain.insert(0, tree.nodes[index])
        index = tree.nodes[index].parent
    pose = ca.SX(ca.DM(from_pose(link.pose)))
    if point is not None:
        pose = ca.horzcat(pose[:, :3], pose @ ca.vertcat(point, 1))
    if chain:
        pose = ca.SX(ca.DM(from_pose(chain[-1].frame.inverse()))) @ pose
    rotation, position = ca.SX(ca.DM(tree.base)) if chain else ca.SX.eye(3), ca.SX.zeros(3)
    joints = []
    for node in chain:
        transform = Transform(node, q)
        position = position + rotation @ transform.offset
        rotation = transform.after(rotation)
        joints.append(PlacedJoint(node, rotation[:, 2], position))
    return Placed(rotation @ pose[:3, :3], position + rotation @ pose[:3, 3], joints)


def drift(where: Placed, qd: ca.SX) -> ca.SX:
    """J̇ q̇ (6,) of a frame, in the root link's axes: its acceleration at zero joint accelerations.

    Source: Craig, Introduction to Robotics, eq. 6.32 to 6.36.
    """
    omega, alpha, a, at = ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3), ca.SX.zeros(3)
    for node, axis, origin in where.joints:
        rate = joint_rate(node, qd) * axis
        a += _relative_acceleration(origin - at, omega, alpha)
        a, alpha = (a + 2 * ca.cross(omega, rate), alpha) if node.prismatic else (a, alpha + ca.cross(omega, rate))
        omega, at = omega if node.prismatic else omega + rate, origin
    return ca.vertcat(a + _relative_acceleration(where.position - at, omega, alpha), alpha)


def _relative_acceleration(offset: ca.SX, omega: ca.SX, alpha: ca.SX) -> ca.SX:
    """Acceleration of a point of a body relative to that of another one."""
    return ca.cross(alpha, offset) + ca.cross(omega, ca.cross(omega, offset))


def geometric_jacobian(where: Placed, q: ca.SX, frame: str = "aligned") -> ca.SX:
    """J(q) (6, n) with [v; ω] = J q̇; see ``Kinematics.jacobian`` for the frames."""
    rotation, position, joints = where
    linear, angular = ca.SX(3, q.numel()), ca.SX(3, q.numel())
    for node, axis, origin in joints:
        k, ratio = node.body.coordinate, node.body.ratio
        linear[:, k] += ratio * (axis if node.prismatic else ca.cross(axis, position - origin))
        if not node.prismatic:
            angular[:, k] += ratio * axis
    if frame == "body":
        linear, angular = rotation.T @ linear, rotation.T @ angular
    elif frame == "space":
        linear = linear + ca.skew(position) @ angular  # the velocity of the body's point at the root link's origin
    return ca.vertcat(linear, angular)
