# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plugin ``lagrangian``: K, P, L = K - P, and d/dt ∂L/∂q̇ - ∂L/∂q = τ by automatic differentiation.

The chain rule goes through the recursion that computes the energies. So the cost grows with n as that recursion's does,
not with n⁴ as in the textbook's expanded sums.
"""

from __future__ import annotations

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.equations import Equations, Inertia, Symbols
from robodyn_ros.dynamics.parameters import standard_map
from robodyn_ros.engine.casadi import ca
from robodyn_ros.kinematics.tree import Tree
from robodyn_ros.robot.pose import Array


class Lagrangian(CompiledDynamics):
    """The equations of Euler and Lagrange, from the kinetic and the potential energy of the arm."""

    @staticmethod
    def parameter_map(tree: Tree) -> Array:
        """The standard parameters, in the frames of the tree."""
        return standard_map(tree)

    def equations(self) -> Equations:
        """K, P, and Lagrange's equations."""
        return EulerLagrange(self._tree, self.inertial_map)


class EulerLagrange(Equations):
    """The equations of motion from the energies."""

    def efforts(self, q: ca.SX, qd: ca.SX, qdd: ca.SX, p: Symbols) -> ca.SX:
        """d/dt ∂L/∂q̇ - ∂L/∂q (Siciliano et al., Robotics: Modelling, Planning and Control, eq. 7.2)."""
        kinetic, potential = self.energy(q, qd, p)
        lagrangian = kinetic - potential
        momentum = ca.gradient(lagrangian, qd)
        change = ca.jtimes(momentum, ca.vertcat(q, qd), ca.vertcat(qd, qdd))
        return change - ca.gradient(lagrangian, q)

    def mass_matrix(self, q: ca.SX, p: Symbols) -> ca.SX:
        """∂²K/∂q̇²."""
        qd = ca.SX.sym("qd", q.shape[0])
        kinetic, _ = self.energy(q, qd, p)
        return ca.hessian(kinetic, qd)[0]

    def gravity(self, q: ca.SX, p: Symbols) -> ca.SX:
        """∂P/∂q."""
        _, potential = self.energy(q, ca.SX.zeros(q.shape[0]), p)
        return ca.gradient(potential, q)

    def inertias(self, p: Symbols) -> tuple[list[Inertia], Inertia]:
        """The standard parameters."""
        bodies = []
        for ten in ca.vertsplit(p.pi, 10):
            m, x, y, z, ixx, ixy, iyy, ixz, iyz, izz = ca.vertsplit(ten)
            rows = [ca.horzcat(ixx, ixy, ixz), ca.horzcat(ixy, iyy, iyz), ca.horzcat(ixz, iyz, izz)]
            bodies.append(Inertia(m, ca.vertcat(x, y, z), ca.vertcat(*rows)))
        return bodies, Inertia(ca.SX(0), ca.SX.zeros(3), ca.SX.zeros(3, 3))
