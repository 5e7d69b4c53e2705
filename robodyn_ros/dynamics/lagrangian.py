# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plugin ``lagrangian``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.inertial_parameters import standard_map
from robodyn_ros.kinematics.tree import Tree
from robodyn_ros.robot.pose import Array

if TYPE_CHECKING:
    from robodyn_ros.dynamics.equations import Equations


class Lagrangian(CompiledDynamics):
    """The equations of Euler and Lagrange, from the kinetic and the potential energy of the arm.

    :mod:`robodyn_ros.dynamics.euler_lagrange` has the expressions.
    """

    @staticmethod
    def parameter_map(tree: Tree) -> Array:
        """The standard parameters, in the frames of the tree."""
        return standard_map(tree)

    def equations(self) -> Equations:
        """K, P, and Lagrange's equations."""
        from robodyn_ros.dynamics.euler_lagrange import EulerLagrange

        return EulerLagrange(self._tree, self.inertial_map)
