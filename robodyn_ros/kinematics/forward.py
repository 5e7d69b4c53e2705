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
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.engine import Kernel, Program, digest
from robodyn_ros.engine.states import as_states, refuse_non_finite
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.se3 import from_pose
from robodyn_ros.kinematics.tree import build_tree, geometry
from robodyn_ros.robot import Link, Robot, as_robot
from robodyn_ros.robot.pose import Array

if TYPE_CHECKING:
    import casadi as ca

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

    def pose(self, link: str, q: ArrayLike, point: ArrayLike = ORIGIN) -> Array:
        """Pose of a link's frame in the root link's, (4, 4) or (N, 4, 4).

        Args:
            link: its name.
            q: positions (n,) or (N, n) in [rad] or [m].
            point: of the link, in its frame, (3,) in [m].

        Raises:
            InputError: no such link, or an array has the wrong shape or is not finite.
        """
        pose: Array = self._at("aligned", link, point).call(q)[0]
        return pose

    def jacobian(self, link: str, q: ArrayLike, frame: Frame = "aligned", point: ArrayLike = ORIGIN) -> Array:
        """J(q) with [v; ω] = J q̇, (6, n) or (N, 6, n).

        Args:
            link: its name.
            q: positions (n,) or (N, n) in [rad] or [m].
            frame: ``aligned``, ``body`` or ``space``, as the head of this file defines them.
            point: of the link, in its frame, (3,) in [m].

        Raises:
            InputError: as ``pose``, or no such frame.
        """
        jacobian: Array = self._at(frame, link, point).call(q)[1]
        return jacobian

    def jacobian_derivative(
        self, link: str, q: ArrayLike, qd: ArrayLike, frame: Frame = "aligned", point: ArrayLike = ORIGIN
    ) -> Array:
        """J̇(q, q̇) = Σ ∂J/∂qₖ q̇ₖ, so that [v̇; ω̇] = J q̈ + J̇ q̇; shapes and errors as ``jacobian``.

        Args:
            link: its name.
            q: positions (n,) or (N, n) in [rad] or [m].
            qd: velocities, likewise, in [rad/s] or [m/s].
            frame: ``aligned``, ``body`` or ``space``, as the head of this file defines them.
            point: of the link, in its frame, (3,) in [m].
        """
        derivative: Array = self._at(f"rate_{frame}", link, point).call(q, qd)
        return derivative

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
        found: Array = self._at(DRIFT, link, point).call(q, qd)
        return found

    def com(self, link: str, q: ArrayLike) -> Array:
        """Centre of mass of a link, without the links fixed to it, in the root link's frame, (3,) or (N, 3) in [m].

        Raises:
            InputError: as ``pose``, or the link has no mass.
        """
        return self.pose(link, q, self._com(link))[..., :3, 3]

    def com_jacobian(self, link: str, q: ArrayLike, frame: Frame = "aligned") -> Array:
        """The Jacobian at a link's centre of mass; shapes and errors as ``jacobian`` and ``com``."""
        return self.jacobian(link, q, frame, self._com(link))

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
        return self._program(frame, self.robot.link(link))

    def poses_program(self) -> Program:
        """The function to compile for the poses of all links, stacked (4 L, 4) in the order of ``robot.links``."""
        n, tree, links = self.robot.n, self.tree, self.robot.links

        def build() -> tuple[list[ca.SX], list[ca.SX]]:
            from robodyn_ros.engine.casadi import ca
            from robodyn_ros.kinematics.expressions import placed

            q = ca.SX.sym("q", n)
            return [q, ca.SX.sym("none", 0)], [ca.vertcat(*(placed(tree, link, q).matrix for link in links))]

        places = [(link.body, from_pose(link.pose).tolist()) for link in links]
        key = digest(*geometry(tree), places, source=__name__)
        return Program("kinematics_poses", key, (("q", n),), ((4 * len(links), 4),), build)

    def _com(self, link: str) -> Array:
        inertial = self.robot.link(link).inertial
        if inertial is None or inertial.mass == 0.0:
            raise InputError("link", f"{link!r} has no mass, and therefore no centre of mass", link)
        return inertial.com

    def _at(self, quantity: str, link: str, point: ArrayLike) -> Kernel:
        """The kernel of a quantity of a link, for a point of it."""
        found = self._kernels.get((quantity, link)) if isinstance(link, str) else None
        if found is None:
            found = self._kernels[quantity, link] = Kernel(
                self._program(quantity, self.robot.link(link)), np.zeros(3), compiled=self.compiled
            )
        if point is not ORIGIN:
            (given,) = as_states(("point",), (point,), (3,))
            refuse_non_finite(("point",), (given,))
            if given.ndim > 1:
                raise InputError("point", f"must be of shape (3,), not {given.shape}", point)
            found.parameters[:] = given
        else:
            found.parameters[:] = 0.0
        return found

    def _program(self, quantity: str, link: Link) -> Program:
        kind, _, frame = quantity.rpartition("_")
        if frame not in get_args(Frame):
            raise InputError("frame", f"must be one of {', '.join(get_args(Frame))}, not {frame!r}", frame)
        n, tree = self.robot.n, self.tree

        def build() -> tuple[list[ca.SX], list[ca.SX]]:
            from robodyn_ros.engine.casadi import ca
            from robodyn_ros.kinematics.expressions import drift, geometric_jacobian, placed

            q, qd, point = ca.SX.sym("q", n), ca.SX.sym("qd", n), ca.SX.sym("point", 3)
            where = placed(tree, link, q, point)
            if kind == "drift":
                return [q, qd, point], [drift(where, qd)]
            jacobian = geometric_jacobian(where, q, frame)
            if kind == "rate":
                return [q, qd, point], [ca.reshape(ca.jtimes(ca.vec(jacobian), q, qd), 6, n)]
            return [q, point], [where.matrix, jacobian]

        shapes = {"": ((4, 4), (6, n)), "rate": ((6, n),), "drift": ((6,),)}[kind]
        key = digest(*geometry(tree), link.body, from_pose(link.pose).tolist(), source=__name__)
        inputs = (("q", n), ("qd", n)) if kind else (("q", n),)
        return Program(f"kinematics_{quantity}", key, inputs, shapes, build)
