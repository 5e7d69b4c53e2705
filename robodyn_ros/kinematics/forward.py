# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Pose and Jacobian of any link.

Poses are homogeneous matrices in the root link's frame (Lynch and Park, Modern Robotics, section 3.3). The Jacobian
is the geometric one, linear rows above angular ones (Siciliano et al., Robotics: Modelling, Planning and Control,
section 3.1). Its frame defines the point and the axes of the twist [v; ω] = J q̇:

    aligned   the velocity of the link's origin, in the root link's axes
    body      the same in the link's own axes: the body twist V_b, J_b = Ad(T⁻¹) J_s
    space     the velocity of the link's point at the root link's origin, in its axes: the spatial twist V_s

(Lynch and Park, sections 5.1.1 and 5.1.2, for the last two.) With a ``point``, all of this is of the frame at that
point of the link with the link's axes.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import check_choice, finite_state
from robodyn_ros.engine import Kernel, Program, ca, digest
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.se3 import from_pose
from robodyn_ros.kinematics.tree import Tree, TreeNode, build_tree, geometry
from robodyn_ros.robot import Array, Link, Robot, as_robot, read_only

Frame = Literal["aligned", "body", "space"]

ORIGIN = (0.0, 0.0, 0.0)

DRIFT = "drift_aligned"


class Kinematics:
    """Forward kinematics of one arm. Like a kernel, an object of this class belongs to one thread.

    Attributes:
        robot: the arm.
        compiled: whether C is used if there is a compiler.
    """

    def __init__(self, robot: Robot | str | os.PathLike[str], *, compiled: bool = True) -> None:
        """
        Args:
            robot: the arm, or the path of its URDF.
            compiled: compile to C if there is a compiler; False uses CasADi's virtual machine.
        """
        self.robot = as_robot(robot)
        self.compiled = compiled
        self.tree = build_tree(self.robot)
        self._kernels: dict[tuple[str, str], Kernel] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle is made anew, because kernels own memory."""
        return partial(type(self), compiled=self.compiled), (self.robot,)

    def pose(self, link: str, q: ArrayLike, point: ArrayLike = ORIGIN) -> Array:
        """Pose of a link's frame in the root link's, (4, 4) or (N, 4, 4).

        Args:
            link: its name.
            q: positions (n,) or (N, n) in [rad] or [m].
            point: of the link, in its frame, (3,) in [m].

        Raises:
            InputError: no such link, or an array has the wrong shape or is not finite.
        """
        return self._at("aligned", link, point).call(q)[0]

    def jacobian(self, link: str, q: ArrayLike, frame: Frame = "aligned", point: ArrayLike = ORIGIN) -> Array:
        """J(q) with [v; ω] = J q̇, (6, n) or (N, 6, n).

        Args:
            link: its name.
            q: positions (n,) or (N, n) in [rad] or [m].
            frame: ``aligned``, ``body`` or ``space``: the point and the axes of the twist.
            point: of the link, in its frame, (3,) in [m].

        Raises:
            InputError: as ``pose``, or no such frame.
        """
        return self._at(frame, link, point).call(q)[1]

    def jacobian_derivative(
        self, link: str, q: ArrayLike, qd: ArrayLike, frame: Frame = "aligned", point: ArrayLike = ORIGIN
    ) -> Array:
        """J̇(q, q̇) = Σ ∂J/∂qₖ q̇ₖ, so that [v̇; ω̇] = J q̈ + J̇ q̇; shapes and errors as ``jacobian``.

        Args:
            link: its name.
            q: positions (n,) or (N, n) in [rad] or [m].
            qd: velocities, likewise, in [rad/s] or [m/s].
            frame: ``aligned``, ``body`` or ``space``: the point and the axes of the twist.
            point: of the link, in its frame, (3,) in [m].
        """
        return self._at(f"rate_{frame}", link, point).call(q, qd)

    def drift(self, link: str, q: ArrayLike, qd: ArrayLike, point: ArrayLike = ORIGIN) -> Array:
        """J̇(q, q̇) q̇ in the frame ``aligned``, so that [v̇; ω̇] = J q̈ + J̇ q̇, (6,) or (N, 6).

        Args:
            link: its name.
            q: positions (n,) or (N, n) in [rad] or [m].
            qd: velocities, likewise, in [rad/s] or [m/s].
            point: of the link, in its frame, (3,) in [m].

        Raises:
            InputError: as ``pose``.
        """
        return self._at(DRIFT, link, point).call(q, qd)

    def com(self, link: str, q: ArrayLike) -> Array:
        """Centre of mass of a link, without the links fixed to it, in the root link's frame, (3,) or (N, 3) in [m].

        Raises:
            InputError: as ``pose``, or the link has no mass.
        """
        inertial = self.robot.link(link).inertial
        if inertial is None or inertial.mass == 0.0:
            raise InputError("link", f"{link!r} has no mass, and therefore no centre of mass", link)
        return self.pose(link, q, inertial.com)[..., :3, 3]

    def kernel(self, link: str, frame: Frame = "aligned") -> Kernel:
        """Return pose and Jacobian of a link with memory of their own, for loops that allocate nothing.

        Its input is q, its parameters are the point, its results are the pose (4, 4) and J (6, n).

        Raises:
            InputError: no such link, or no such frame.
        """
        return Kernel(self.program(link, frame), np.zeros(3), compiled=self.compiled)

    def program(self, link: str, frame: Frame = "aligned") -> Program:
        """The function to compile for :meth:`kernel`.

        Raises:
            InputError: no such link, or no such frame.
        """
        return self._program(frame, link)

    def poses_program(self) -> Program:
        """The function to compile for the poses of all links, stacked (4 L, 4) in the order of ``robot.links``."""
        tree, links = self.tree, self.robot.links

        def results(q: ca.SX, none: ca.SX) -> list[ca.SX]:
            return [ca.vertcat(*(placed(tree, link, q).matrix for link in links))]

        places = [(link.body, from_pose(link.pose).tolist()) for link in links]
        key = digest(*geometry(tree), places, source=__name__)
        return Program.of("kinematics_poses", key, (("q", self.robot.n),), 0, ((4 * len(links), 4),), results)

    def _at(self, quantity: str, link: str, point: ArrayLike) -> Kernel:
        """The kernel of a quantity of a link, for a point of it."""
        found = self._kernels.get((quantity, link)) if isinstance(link, str) else None
        if found is None:
            found = Kernel(self._program(quantity, link), np.zeros(3), compiled=self.compiled)
            self._kernels[quantity, link] = found
        found.parameters[:] = 0.0 if point is ORIGIN else finite_state("point", point, 3)
        return found

    def _program(self, quantity: str, name: str) -> Program:
        kind, _, frame = quantity.rpartition("_")
        check_choice("frame", frame, get_args(Frame))
        n, tree, link = self.robot.n, self.tree, self.robot.link(name)

        def results(q: ca.SX, *more: ca.SX) -> list[ca.SX]:
            *qd, point = more
            where = placed(tree, link, q, point)
            if kind == "drift":
                return [drift(where, *qd)]
            jacobian = geometric_jacobian(where, q, frame)
            if kind == "rate":
                return [ca.reshape(ca.jtimes(ca.vec(jacobian), q, *qd), 6, n)]
            return [where.matrix, jacobian]

        shapes = {"": ((4, 4), (6, n)), "rate": ((6, n),), "drift": ((6,),)}[kind]
        key = digest(*geometry(tree), link.body, from_pose(link.pose).tolist(), source=__name__)
        inputs = (("q", n), ("qd", n)) if kind else (("q", n),)
        return Program.of(f"kinematics_{quantity}", key, inputs, 3, shapes, results)


Z = read_only([0.0, 0.0, 1.0])
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
    chain = tree.chain(link.body)
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
