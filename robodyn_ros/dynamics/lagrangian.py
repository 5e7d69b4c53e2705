"""Lagrange's equations, literally: K, P, L = K - P, and d/dt ∂L/∂q̇ - ∂L/∂q = τ by automatic differentiation.

Since dL/dt's partial derivatives are taken by the chain rule on the recursion that computes the energies, the cost
grows with n as that recursion does, not with n⁴ as in the textbook's expanded sums.
"""

from __future__ import annotations

import casadi as ca

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.expressions import Inertia, energies, solve_symmetric
from robodyn_ros.dynamics.inertial_parameters import standard_map
from robodyn_ros.kinematics.tree import Tree
from robodyn_ros.robot.pose import Array


class Lagrangian(CompiledDynamics):
    """Dynamics from the energies of the arm."""

    @staticmethod
    def parameter_map(tree: Tree) -> Array:
        """The standard parameters, in the frames of the tree."""
        return standard_map(tree)

    def _inverse(self, q: ca.SX, qd: ca.SX, qdd: ca.SX, gravity: ca.SX, pi: ca.SX) -> ca.SX:
        kinetic, potential = self._energy(q, qd, gravity, pi)
        lagrangian = kinetic - potential
        momentum = ca.gradient(lagrangian, qd)
        change = ca.jtimes(momentum, ca.vertcat(q, qd), ca.vertcat(qd, qdd))
        return change - ca.gradient(lagrangian, q)

    def _forward(self, q: ca.SX, qd: ca.SX, tau: ca.SX, gravity: ca.SX, pi: ca.SX) -> ca.SX:
        bias = self._inverse(q, qd, ca.SX.zeros(q.shape[0]), gravity, pi)
        return solve_symmetric(self._mass_matrix(q, gravity, pi), tau - bias)

    def _mass_matrix(self, q: ca.SX, gravity: ca.SX, pi: ca.SX) -> ca.SX:
        qd = ca.SX.sym("qd", q.shape[0])
        kinetic, _ = self._energy(q, qd, gravity, pi)
        return ca.hessian(kinetic, qd)[0]

    def _coriolis_matrix(self, q: ca.SX, qd: ca.SX, gravity: ca.SX, pi: ca.SX) -> ca.SX:
        """Christoffel symbols of the first kind, summed with q̇ (Siciliano et al., eq. 7.45): with p = M q̇,
        C = ½ (Ṁ + ∂p/∂q - (∂p/∂q)ᵀ).
        """
        mass_matrix = self._mass_matrix(q, gravity, pi)
        change = ca.reshape(ca.jtimes(ca.vec(mass_matrix), q, qd), mass_matrix.shape)
        turning = ca.jacobian(mass_matrix @ qd, q)
        return (change + turning - turning.T) / 2

    def _gravity(self, q: ca.SX, gravity: ca.SX, pi: ca.SX) -> ca.SX:
        _, potential = self._energy(q, ca.SX.zeros(q.shape[0]), gravity, pi)
        return ca.gradient(potential, q)

    def _energy(self, q: ca.SX, qd: ca.SX, gravity: ca.SX, pi: ca.SX) -> tuple[ca.SX, ca.SX]:
        inertias = []
        for index in range(len(self._tree.nodes)):
            m, x, y, z, ixx, ixy, iyy, ixz, iyz, izz = ca.vertsplit(pi[10 * index : 10 * index + 10])
            rows = [ca.horzcat(ixx, ixy, ixz), ca.horzcat(ixy, iyy, iyz), ca.horzcat(ixz, iyz, izz)]
            inertias.append(Inertia(m, ca.vertcat(x, y, z), ca.vertcat(*rows)))
        return energies(self._tree, q, qd, gravity, inertias)
