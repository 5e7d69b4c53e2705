"""Pose and Jacobian of any link.

Poses are homogeneous matrices in the root link's frame (Lynch and Park, Modern Robotics, section 3.3). The Jacobian
is the geometric one at the link's origin, in the root link's axes, linear rows above angular ones (Siciliano et al.,
Robotics: Modelling, Planning and Control, section 3.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.engine import Kernel, Program, digest
from robodyn_ros.kinematics.tree import build_tree, geometry
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

if TYPE_CHECKING:
    import casadi as ca


class Kinematics:
    """Forward kinematics of one arm. Like a kernel, an object of this class belongs to one thread."""

    def __init__(self, robot: Robot, *, compiled: bool = True) -> None:
        """
        Args:
            robot: the arm.
            compiled: compile to C where there is a compiler; False keeps to CasADi's virtual machine.
        """
        self.robot = robot
        self._tree = build_tree(robot)
        self._compiled = compiled
        self._kernels: dict[str, Kernel] = {}

    def pose(self, link: str, q: ArrayLike) -> Array:
        """Pose of a link's frame in the root link's, (4, 4) or (N, 4, 4).

        Raises:
            InputError: no such link, or q has the wrong shape or is not finite.
        """
        pose: Array = self._kernel(link).call(q)[0]
        return pose

    def jacobian(self, link: str, q: ArrayLike) -> Array:
        """J(q) with [v; ω] = J q̇, (6, n) or (N, 6, n).

        Raises:
            InputError: as ``pose``.
        """
        jacobian: Array = self._kernel(link).call(q)[1]
        return jacobian

    def _kernel(self, link: str) -> Kernel:
        if isinstance(link, str) and link in self._kernels:
            return self._kernels[link]
        found, n = self.robot.link(link), self.robot.n

        def build() -> tuple[list[ca.SX], list[ca.SX]]:
            import casadi as ca  # what is compiled runs without it

            from robodyn_ros.kinematics.transform import Transform

            q = ca.SX.sym("q", n)
            pose = ca.SX(ca.DM(_matrix(found.pose)))
            index = found.body
            if index >= 0:
                pose = ca.SX(ca.DM(_matrix(self._tree.nodes[index].frame.inverse()))) @ pose
            while index >= 0:
                transform = Transform(self._tree.nodes[index], q)
                pose = ca.vertcat(
                    ca.horzcat(transform.up(pose[:3, :3]), transform.up(pose[:3, 3]) + transform.offset), pose[3, :]
                )
                index = self._tree.nodes[index].parent
            base = ca.SX(ca.DM(self._tree.base)) if found.body >= 0 else ca.SX.eye(3)
            rotation, position = base @ pose[:3, :3], base @ pose[:3, 3]
            turning = [
                ca.inv_skew(ca.reshape(ca.jacobian(ca.vec(rotation), q[k]), 3, 3) @ rotation.T) for k in range(n)
            ]
            jacobian = ca.vertcat(ca.jacobian(position, q), ca.horzcat(*turning))
            pose = ca.vertcat(ca.horzcat(rotation, position), ca.SX(ca.DM([[0, 0, 0, 1]])))
            return [q, ca.SX.sym("none", 0)], [pose, jacobian]

        facts = (geometry(self._tree), found.body, _matrix(found.pose).tolist())
        key = digest(*facts, source=__name__)
        program = Program("kinematics", key, (("q", n),), ((4, 4), (6, n)), build)
        self._kernels[link] = Kernel(program, np.zeros(0), compiled=self._compiled)
        return self._kernels[link]


def _matrix(pose: Any) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = pose.rotation, pose.translation
    return matrix
