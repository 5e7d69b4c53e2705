"""Pose and Jacobian of a link as CasADi expressions of the coordinates.

What is compiled runs without CasADi: this module is imported only where something is to be built.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from robodyn_ros.kinematics.se3 import from_pose
from robodyn_ros.kinematics.transform import Transform
from robodyn_ros.kinematics.tree import Tree
from robodyn_ros.robot import Link


class Placed(NamedTuple):
    """A link's frame in the root link's."""

    rotation: ca.SX  # (3, 3)
    position: ca.SX  # (3,)

    @property
    def matrix(self) -> ca.SX:
        """As a homogeneous matrix (4, 4)."""
        return ca.vertcat(ca.horzcat(self.rotation, self.position), ca.SX(ca.DM([[0, 0, 0, 1]])))


def placed(tree: Tree, link: Link, q: ca.SX, point: ca.SX | None = None) -> Placed:
    """Where a link is, or the frame at a point of it whose axes are the link's.

    Args:
        tree: of the arm.
        link: of the arm.
        q: coordinates (n,).
        point: in the link's frame (3,) in [m]; its origin unless given.
    """
    pose = ca.SX(ca.DM(from_pose(link.pose)))
    if point is not None:
        pose = ca.horzcat(pose[:, :3], pose @ ca.vertcat(point, 1))
    index = link.body
    if index >= 0:
        pose = ca.SX(ca.DM(from_pose(tree.nodes[index].frame.inverse()))) @ pose
    rotation, position = pose[:3, :3], pose[:3, 3]
    while index >= 0:
        transform = Transform(tree.nodes[index], q)
        rotation, position = transform.up(rotation), transform.up(position) + transform.offset
        index = tree.nodes[index].parent
    base = ca.SX(ca.DM(tree.base)) if link.body >= 0 else ca.SX.eye(3)
    return Placed(base @ rotation, base @ position)


def geometric_jacobian(where: Placed, q: ca.SX, frame: str = "aligned") -> ca.SX:
    """J(q) (6, n) with [v; ω] = J q̇; see ``Kinematics.jacobian`` for the frames."""
    rotation, position = where
    columns = [ca.reshape(ca.jacobian(ca.vec(rotation), q[k]), 3, 3) for k in range(q.numel())]
    angular = ca.horzcat(*(ca.inv_skew(column @ rotation.T) for column in columns))
    linear = ca.jacobian(position, q)
    if frame == "body":
        linear, angular = rotation.T @ linear, rotation.T @ angular
    elif frame == "space":
        linear = linear + ca.skew(position) @ angular  # the velocity of what passes the root link's origin
    return ca.vertcat(linear, angular)
