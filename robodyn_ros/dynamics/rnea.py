# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plugin ``rnea``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.inertial_parameters import grouped_map
from robodyn_ros.kinematics.tree import Tree
from robodyn_ros.robot.pose import Array

if TYPE_CHECKING:
    from robodyn_ros.dynamics.equations import Equations


class RNEA(CompiledDynamics):
    """The recursive Newton-Euler algorithm: velocities from the base to the tip, forces back.

    :mod:`robodyn_ros.dynamics.newton_euler` has the expressions.
    """

    @staticmethod
    def parameter_map(tree: Tree) -> Array:
        """The parameters that the motion can tell apart."""
        return grouped_map(tree)

    def equations(self) -> Equations:
        """The recursions of Newton and Euler."""
        from robodyn_ros.dynamics.newton_euler import NewtonEuler

        return NewtonEuler(self._tree, self.inertial_map)
