# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The equations of motion as CasADi expressions: those that a formulation writes, and those that follow from them.

A formulation gives the efforts of the rigid bodies and rotors, M and the bodies' inertias. Forward dynamics, C,
friction, derivatives, the regressor, the balances and the momentum follow in :class:`Equations`, by the chain rule and
a solver.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from robodyn_ros.engine.casadi import ca
from robodyn_ros.engine.tracing import solve_symmetric
from robodyn_ros.kinematics.forward import Transform, Z, joint_rate
from robodyn_ros.kinematics.tree import Tree
from robodyn_ros.robot.pose import Array


class Inertia(NamedTuple):
    """A body's inertial parameters about the origin of its frame."""

    mass: ca.SX  # scalar
    moment: ca.SX  # m c, (3,)
    inertia: ca.SX  # rotational, (3, 3)


class Velocity(NamedTuple):
    """Velocity of a body's frame, in that frame."""

    omega: ca.SX  # angular (3,)
    v: ca.SX  # linear, of the origin (3,)


def velocities(tree: Tree, transforms: list[Transform], qd: ca.SX, base: Velocity | None) -> list[Velocity]:
    """Velocity of every body, from the base to the tips (Craig, Introduction to Robotics, eq. 5.45 to 5.48)."""
    found: list[Velocity] = []
    for node, transform in zip(tree.nodes, transforms, strict=True):
        before = found[node.parent] if node.parent >= 0 else base or Velocity(ca.SX.zeros(3), ca.SX.zeros(3))
        omega = transform.down(before.omega)
        v = transform.down(before.v + ca.cross(before.omega, transform.offset))
        rate = joint_rate(node, qd) * Z
        found.append(Velocity(omega, v + rate) if node.prismatic else Velocity(omega + rate, v))
    return found


def energies(
    tree: Tree, q: ca.SX, qd: ca.SX, gravity: ca.SX, inertias: list[Inertia], base: Velocity | None = None
) -> tuple[ca.SX, ca.SX]:
    """Kinetic and potential energy (Siciliano et al., Robotics: Modelling, Planning and Control, section 7.1).

    Every body adds ½ m v·v + v·(ω × m c) + ½ ω·I ω, about its frame's origin, and -g·(m p + m c).
    """
    transforms = [Transform(node, q) for node in tree.nodes]
    kinetic = potential = ca.SX(0)
    down: list[ca.SX] = []  # gravity in each body's frame
    height: list[ca.SX] = []  # -g·p of each frame's origin
    bodies = zip(tree.nodes, transforms, velocities(tree, transforms, qd, base), inertias, strict=True)
    for node, transform, (omega, v), (mass, moment, inertia) in bodies:
        before = down[node.parent] if node.parent >= 0 else gravity
        below = height[node.parent] if node.parent >= 0 else ca.SX(0)
        down.append(transform.down(before))
        height.append(below - ca.dot(before, transform.offset))
        kinetic += mass * ca.dot(v, v) / 2 + ca.dot(v, ca.cross(omega, moment)) + ca.dot(omega, inertia @ omega) / 2
        potential += mass * height[-1] - ca.dot(down[-1], moment)
    return kinetic, potential


class Symbols(NamedTuple):
    """The runtime parameters, as symbols or as numbers."""

    gravity: ca.SX  # in the frame of the tree's base, (3,)
    armature: ca.SX  # (n,)
    viscous: ca.SX  # (n,)
    coulomb: ca.SX  # (n,)
    pi: ca.SX  # the formulation's inertial parameters


class Equations(ABC):
    """The equations of motion of one tree; q, q̇, q̈, τ are columns (n,)."""

    def __init__(self, tree: Tree, parameter_map: Array) -> None:
        """
        Args:
            tree: the arm.
            parameter_map: matrix from the standard parameters to π.
        """
        self.tree = tree
        self._map = ca.DM(parameter_map)

    def unpack(self, parameters: ca.SX | Array) -> Symbols:
        """Name the parts of the parameter vector."""
        vector, n = ca.SX(parameters), self.tree.n
        return Symbols(*ca.vertsplit(vector, [0, 3, 3 + n, 3 + 2 * n, 3 + 3 * n, vector.shape[0]]))

    @abstractmethod
    def efforts(self, q: ca.SX, qd: ca.SX, qdd: ca.SX, p: Symbols) -> ca.SX:
        """τ without friction."""

    @abstractmethod
    def mass_matrix(self, q: ca.SX, p: Symbols) -> ca.SX:
        """M."""

    @abstractmethod
    def inertias(self, p: Symbols) -> tuple[list[Inertia], Inertia]:
        """Inertia of each body, and of the base as far as the formulation moved mass there."""

    def gravity(self, q: ca.SX, p: Symbols) -> ca.SX:
        """The efforts of gravity: those at rest."""
        still = ca.SX.zeros(q.shape[0])
        return self.efforts(q, still, still, p)

    def solved(self, q: ca.SX, efforts: ca.SX, p: Symbols) -> ca.SX:
        """M⁻¹ efforts."""
        return solve_symmetric(self.mass_matrix(q, p), efforts)

    def coriolis_matrix(self, q: ca.SX, qd: ca.SX, p: Symbols) -> ca.SX:
        """C: half the derivative of C q̇ by q̇.

        With Christoffel symbols of the first kind (Siciliano et al., eq. 7.45) the i-th element of C q̇ is Σ Γᵢⱼₖ q̇ⱼ q̇ₖ,
        and Γᵢⱼₖ = Γᵢₖⱼ.
        """
        return ca.jacobian(self.coriolis(q, qd, p), qd) / 2

    def inverse(self, q: ca.SX, qd: ca.SX, qdd: ca.SX, p: Symbols) -> ca.SX:
        """τ."""
        return self.efforts(q, qd, qdd, p) + self.friction(qd, p)

    def forward(self, q: ca.SX, qd: ca.SX, tau: ca.SX, p: Symbols) -> ca.SX:
        """q̈."""
        return self.solved(q, tau - self.bias(q, qd, p), p)

    def friction(self, qd: ca.SX, p: Symbols) -> ca.SX:
        """Viscous and Coulomb friction."""
        return p.viscous * qd + p.coulomb * ca.sign(qd)

    def mass_matrix_inverse(self, q: ca.SX, p: Symbols) -> ca.SX:
        """M⁻¹."""
        return solve_symmetric(self.mass_matrix(q, p), ca.SX.eye(q.shape[0]))

    def coriolis(self, q: ca.SX, qd: ca.SX, p: Symbols) -> ca.SX:
        """C q̇."""
        return self.efforts(q, qd, ca.SX.zeros(q.shape[0]), p._replace(gravity=ca.SX.zeros(3)))

    def bias(self, q: ca.SX, qd: ca.SX, p: Symbols) -> ca.SX:
        """C q̇ + g + friction."""
        return self.inverse(q, qd, ca.SX.zeros(q.shape[0]), p)

    def terms(self, q: ca.SX, qd: ca.SX, qdd: ca.SX, correction: ca.SX, p: Symbols) -> tuple[ca.SX, ...]:
        """g, C q̇, M q̈, M y."""
        mass_matrix = self.mass_matrix(q, p)
        return self.gravity(q, p), self.coriolis(q, qd, p), mass_matrix @ qdd, mass_matrix @ correction

    def energy(self, q: ca.SX, qd: ca.SX, p: Symbols, base: Velocity | None = None) -> tuple[ca.SX, ca.SX]:
        """Kinetic and potential energy; the rotors' kinetic energy is ½ armature q̇²."""
        bodies, root = self.inertias(p)
        kinetic, potential = energies(self.tree, q, qd, p.gravity, bodies, base)
        return kinetic + ca.dot(p.armature, qd**2) / 2, potential - ca.dot(p.gravity, root.moment)

    def power(self, q: ca.SX, qd: ca.SX, qdd: ca.SX, p: Symbols) -> tuple[ca.SX, ...]:
        """q̇·τ, dK/dt, dP/dt, q̇·friction."""
        kinetic, potential = self.energy(q, qd, p)
        state, rate = ca.vertcat(q, qd), ca.vertcat(qd, qdd)
        spent = ca.dot(qd, self.inverse(q, qd, qdd, p)), ca.dot(qd, self.friction(qd, p))
        return spent[0], ca.jtimes(kinetic, state, rate), ca.jtimes(potential, state, rate), spent[1]

    def center_of_mass(self, q: ca.SX, p: Symbols) -> ca.SX:
        """Centre of mass of all that moves, in the root link's frame."""
        return ca.DM(self.tree.base) @ self._center(q, p)

    def _center(self, q: ca.SX, p: Symbols) -> ca.SX:
        """Centre of mass in the axes of the base: the potential energy is -γ·Σ m c."""
        gravity, (bodies, root) = ca.SX.sym("gravity", 3), self.inertias(p)
        _, potential = self.energy(q, ca.SX.zeros(q.shape[0]), p._replace(gravity=gravity))
        return ca.gradient(-potential, gravity) / sum((body.mass for body in bodies), root.mass)

    def momentum(self, q: ca.SX, qd: ca.SX, p: Symbols) -> tuple[ca.SX, ca.SX]:
        """Linear momentum, and angular momentum about the centre of mass.

        The momentum of all bodies is the derivative of their kinetic energy by the velocity of the base.
        """
        base, axes = Velocity(ca.SX.sym("omega", 3), ca.SX.sym("v", 3)), ca.DM(self.tree.base)
        kinetic, _ = self.energy(q, qd, p, base)
        parts = [ca.gradient(kinetic, part) for part in base]
        angular, linear = ca.substitute(parts, list(base), [ca.SX.zeros(3)] * 2)
        return axes @ linear, axes @ (angular - ca.cross(self._center(q, p), linear))

    def regressor(self, q: ca.SX, qd: ca.SX, qdd: ca.SX, p: Symbols) -> ca.SX:
        """∂τ/∂θ; τ is linear in θ, so this is exact (Siciliano et al., eq. 7.80)."""
        theta = ca.SX.sym("theta", self._map.shape[1])
        bodies = ca.jacobian(self.efforts(q, qd, qdd, p._replace(pi=self._map @ theta)), theta)
        return ca.horzcat(bodies, ca.diag(qdd), ca.diag(qd), ca.diag(ca.sign(qd)))

    def slotine_li_regressor(self, q: ca.SX, qd: ca.SX, qd_r: ca.SX, qdd_r: ca.SX, p: Symbols) -> ca.SX:
        """∂/∂θ of M q̈_r + C(q, q̇) q̇_r + g + friction(q̇_r), with the C of Christoffel symbols (Slotine and Li, On the
        adaptive control of robot manipulators, 1987). C(q, q̇) q̇_r is half the derivative of C q̇ by q̇ along q̇_r.
        """
        theta = ca.SX.sym("theta", self._map.shape[1])
        unknown, still = p._replace(pi=self._map @ theta), ca.SX.zeros(q.shape[0])
        efforts = ca.substitute(self.efforts(q, qd, qdd_r, unknown), qd, still)
        efforts += ca.jtimes(self.coriolis(q, qd, unknown), qd, qd_r) / 2
        return ca.horzcat(ca.jacobian(efforts, theta), ca.diag(qdd_r), ca.diag(qd_r), ca.diag(ca.sign(qd_r)))

    def inverse_derivatives(self, q: ca.SX, qd: ca.SX, qdd: ca.SX, p: Symbols) -> tuple[ca.SX, ...]:
        """∂τ/∂q, ∂τ/∂q̇, M."""
        tau = self.inverse(q, qd, qdd, p)
        return ca.jacobian(tau, q), ca.jacobian(tau, qd), self.mass_matrix(q, p)

    def forward_derivatives(self, q: ca.SX, qd: ca.SX, tau: ca.SX, p: Symbols) -> tuple[ca.SX, ...]:
        """From those of inverse dynamics (Carpentier and Mansard, 2018, eq. 7): ∂q̈/∂x = -M⁻¹ ∂τ/∂x at that q̈."""
        qdd = ca.SX.sym("qdd", q.shape[0])
        by_q, by_qd, mass = self.inverse_derivatives(q, qd, qdd, p)
        known = self.forward(q, qd, tau, p)
        n = q.shape[0]
        solved = solve_symmetric(mass, ca.horzcat(-ca.substitute(ca.horzcat(by_q, by_qd), qdd, known), ca.SX.eye(n)))
        return solved[:, :n], solved[:, n : 2 * n], solved[:, 2 * n :]
