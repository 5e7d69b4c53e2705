# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The plugin ``rnea``: the recursive Newton-Euler algorithm.

Every point r of a moving body has the acceleration a + U r with U = [ω̇]× + [ω]×². So with the body's pseudo-inertia
P the matrix [U a] P holds its whole dynamics: the last column is the force, the antisymmetric part of the rest the
moment (Khalil and Dombre, Modeling, Identification and Control of Robots, eq. 9.87 to 9.99, in this form). The
recursion carries ω, ω̇, a out to the tips, the base accelerating against gravity, and the forces back (Luh, Walker
and Paul, 1980).
"""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.equations import Equations, Inertia, Symbols
from robodyn_ros.dynamics.parameters import grouped_entries, grouped_map
from robodyn_ros.engine.casadi import ca
from robodyn_ros.kinematics.forward import Transform, Z, joint_rate
from robodyn_ros.kinematics.tree import Tree
from robodyn_ros.robot.pose import Array


class RNEA(CompiledDynamics):
    """The recursive Newton-Euler algorithm: velocities from the base to the tip, forces back."""

    @staticmethod
    def parameter_map(tree: Tree) -> Array:
        """The parameters that the motion can tell apart."""
        return grouped_map(tree)

    def equations(self) -> Equations:
        """The recursions of Newton and Euler."""
        return NewtonEuler(self._tree, self.inertial_map)


MANY = 30
"""With more joints than this, forward dynamics by articulated bodies is shorter whatever the arm."""


class SpatialMotion(NamedTuple):
    """Motion of a body's frame, in that frame."""

    omega: ca.SX  # angular velocity (3,)
    points: ca.SX  # U = [ω̇]× + [ω]×², (3, 3)
    alpha: ca.SX  # angular acceleration (3,)
    a: ca.SX  # acceleration of the origin, against gravity (3,)


class NewtonEuler(Equations):
    """The equations of motion by recursion."""

    def efforts(self, q: ca.SX, qd: ca.SX, qdd: ca.SX, p: Symbols) -> ca.SX:
        """τ by a pass out to the tips and one back to the base."""
        transforms = [Transform(node, q) for node in self.tree.nodes]
        motions = self._motions(transforms, qd, qdd, p.gravity)
        wrenches = [_wrench(motion, pseudo) for motion, pseudo in zip(motions, self._pseudo(p)[0], strict=True)]
        return self._collect(transforms, wrenches) + p.armature * qdd

    def _motions(self, transforms: list[Transform], qd: ca.SX, qdd: ca.SX, gravity: ca.SX) -> list[SpatialMotion]:
        """The pass from the base to the tips."""
        motions: list[SpatialMotion] = []
        still = SpatialMotion(ca.SX.zeros(3), ca.SX.zeros(3, 3), ca.SX.zeros(3), -gravity)
        for node, transform in zip(self.tree.nodes, transforms, strict=True):
            before = motions[node.parent] if node.parent >= 0 else still
            rate, acceleration = joint_rate(node, qd) * Z, joint_rate(node, qdd) * Z
            omega, alpha = transform.down(before.omega), transform.down(before.alpha)
            a = transform.down(before.a + before.points @ transform.offset)
            if node.prismatic:
                a += acceleration + 2 * ca.cross(omega, rate)
            else:
                alpha += acceleration + ca.cross(omega, rate)
                omega += rate
            motions.append(SpatialMotion(omega, _points(omega, alpha), alpha, a))
        return motions

    def _collect(self, transforms: list[Transform], wrenches: list[tuple[ca.SX, ca.SX]]) -> ca.SX:
        """The pass from the tips to the base: the effort of each coordinate along the axes of its joints."""
        tau = ca.SX.zeros(self.tree.n)
        for index in reversed(range(len(wrenches))):
            node, transform, (force, torque) = self.tree.nodes[index], transforms[index], wrenches[index]
            tau[node.body.coordinate] += node.body.ratio * (force[2] if node.prismatic else torque[2])
            if node.parent >= 0:
                before = wrenches[node.parent]
                force, torque = _wrench_in_parent(force, torque, transform)
                wrenches[node.parent] = (before[0] + force, before[1] + torque)
        return tau

    def solved(self, q: ca.SX, efforts: ca.SX, p: Symbols) -> ca.SX:
        """M⁻¹ efforts by articulated bodies, or from the mass matrix, whichever takes fewer operations.

        The operations of articulated bodies grow with n, those of the mass matrix with n³ but from fewer; they are
        equal at about fifteen joints (Featherstone, Rigid Body Dynamics Algorithms, chapter 10, compares them).
        """
        tree, candidates = self.tree, []
        if not any(node.body.joint.mimic for node in tree.nodes):  # which close loops that the recursion cannot see
            candidates.append(solve_articulated(tree, q, efforts, p.armature, self.inertias(p)[0]))
        if not candidates or tree.n <= MANY:
            candidates.append(super().solved(q, efforts, p))
        return min(candidates, key=ca.n_nodes)

    def mass_matrix(self, q: ca.SX, p: Symbols) -> ca.SX:
        """M by composite rigid bodies: the efforts of all joints below for the unit acceleration of each joint
        (Featherstone, Rigid Body Dynamics Algorithms, section 6.2).
        """
        nodes = self.tree.nodes
        transforms = [Transform(node, q) for node in nodes]
        composites = self._pseudo(p)[0]
        result = ca.diag(p.armature)
        for index in reversed(range(len(nodes))):
            node, composite = nodes[index], composites[index]
            if node.parent >= 0:
                composites[node.parent] += _pseudo_in_parent(composite, transforms[index])
            none = ca.SX.zeros(3)
            turning = SpatialMotion(none, ca.skew(Z), Z, none)
            sliding = SpatialMotion(none, ca.SX.zeros(3, 3), none, Z)
            force, torque = _wrench(sliding if node.prismatic else turning, composite)
            at = index
            while at >= 0:
                lower = nodes[at]
                value = node.body.ratio * lower.body.ratio * (force[2] if lower.prismatic else torque[2])
                i, j = node.body.coordinate, lower.body.coordinate
                result[i, j] += value
                if at != index:
                    result[j, i] += value
                force, torque = _wrench_in_parent(force, torque, transforms[at])
                at = lower.parent
        return result

    def inertias(self, p: Symbols) -> tuple[list[Inertia], Inertia]:
        """Grouped inertia of each body, and the part that grouping moved to the base."""
        bodies, base = self._pseudo(p)
        return [Inertia(s[3, 3], s[:3, 3], ca.trace(s[:3, :3]) * ca.SX.eye(3) - s[:3, :3]) for s in bodies], base

    def _pseudo(self, p: Symbols) -> tuple[list[ca.SX], Inertia]:
        """Grouped pseudo-inertias, symmetric (4, 4), and the base's mass and first moment."""
        pseudo, entries = [], iter(ca.vertsplit(p.pi))
        for node in self.tree.nodes:
            s = ca.SX.zeros(4, 4)
            for i, j in grouped_entries(node):
                s[i, j] = s[j, i] = next(entries)
            pseudo.append(s)
        return pseudo, Inertia(p.pi[-1], p.pi[-4:-1], ca.SX.zeros(3, 3))


def _points(omega: ca.SX, alpha: ca.SX) -> ca.SX:
    """U = [ω̇]× + [ω]×², each product of two rates formed once."""
    x, y, z = ca.vertsplit(omega)
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    square = [ca.horzcat(-yy - zz, xy, xz), ca.horzcat(xy, -xx - zz, yz), ca.horzcat(xz, yz, -xx - yy)]
    return ca.vertcat(*square) + ca.skew(alpha)


def _wrench(motion: SpatialMotion, pseudo: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Force and moment, about the frame's origin, that give a body of that pseudo-inertia that motion."""
    second, moment, mass = pseudo[:3, :3], pseudo[:3, 3], pseudo[3, 3]
    u = motion.points
    force = mass * motion.a + u @ moment
    torque = ca.cross(moment, motion.a)
    for k, (i, j) in enumerate(((2, 1), (0, 2), (1, 0))):
        # (U Σ)_ij - (U Σ)_ji, with the two terms of one off-diagonal Σ_ij gathered.
        m = 3 - i - j
        torque[k] += u[i, j] * second[j, j] - u[j, i] * second[i, i] + (u[i, i] - u[j, j]) * second[i, j]
        torque[k] += u[i, m] * second[m, j] - u[j, m] * second[m, i]
    return force, torque


def _pseudo_in_parent(pseudo: ca.SX, transform: Transform) -> ca.SX:
    """P' = T P Tᵀ."""
    moment, mass, r = transform.up(pseudo[:3, 3]), pseudo[3, 3], transform.offset
    half = moment @ r.T + mass * (r @ r.T) / 2
    second = ca.tril2symm(ca.tril(transform.up_symmetric(pseudo[:3, :3]) + half + half.T))
    shifted = moment + mass * r
    return ca.blockcat([[second, shifted], [shifted.T, mass]])


def solve_articulated(tree: Tree, q: ca.SX, tau: ca.SX, armature: ca.SX, inertias: list[Inertia]) -> ca.SX:
    """Return the solution (n,) of M q̈ = τ for an arm without mimic joints by the articulated-body algorithm, in O(n).

    (Featherstone, Rigid Body Dynamics Algorithms, section 7.3, from rest and without gravity.) Motions and forces are
    split in an angular and a linear half, (α, a) and (n, f), both about the origin of the body's frame. Masses may be
    negative, as grouped parameters are: only the reflected inertia of each joint has to be positive.
    """
    transforms = [Transform(node, q) for node in tree.nodes]
    articulated = [_spatial(inertia) for inertia in inertias]
    forces = [ca.SX.zeros(6) for _ in tree.nodes]
    columns: list[ca.SX] = [ca.SX()] * len(tree.nodes)
    ratios: list[ca.SX] = [ca.SX()] * len(tree.nodes)
    for index in reversed(range(len(tree.nodes))):
        node, axis = tree.nodes[index], 5 if tree.nodes[index].prismatic else 2
        column = articulated[index][:, axis]
        rotor = armature[node.body.coordinate]
        inverse = 1 / (column[axis] + rotor)
        net = inverse * (tau[node.body.coordinate] - forces[index][axis])
        columns[index], ratios[index] = inverse * column, net
        if node.parent >= 0:
            rest = articulated[index] - columns[index] @ column.T
            # Along its axis a joint passes on only the resistance of its rotor.
            passed = column * (rotor * inverse)
            rest[axis, :], rest[:, axis] = passed.T, passed
            articulated[node.parent] += _inertia_in_parent(rest, transforms[index])
            torque, force = ca.vertsplit(forces[index] + column * net, 3)
            force, torque = _wrench_in_parent(force, torque, transforms[index])
            forces[node.parent] += ca.vertcat(torque, force)
    motions: list[ca.SX] = []
    qdd = ca.SX.zeros(tree.n)
    for index, (node, transform) in enumerate(zip(tree.nodes, transforms, strict=True)):
        alpha, a = ca.vertsplit(motions[node.parent], 3) if node.parent >= 0 else (ca.SX.zeros(3), ca.SX.zeros(3))
        carried = ca.vertcat(transform.down(alpha), transform.down(a + ca.cross(alpha, transform.offset)))
        own = ratios[index] - ca.dot(columns[index], carried)
        carried[5 if node.prismatic else 2] += own
        motions.append(carried)
        qdd[node.body.coordinate] = own
    return qdd


def _spatial(inertia: Inertia) -> ca.SX:
    """The (6, 6) matrix from (α, a) to (n, f)."""
    moment = ca.skew(inertia.moment)
    return ca.blockcat([[inertia.inertia, moment], [-moment, inertia.mass * ca.SX.eye(3)]])


def _inertia_in_parent(matrix: ca.SX, transform: Transform) -> ca.SX:
    """Xᵀ I X."""
    r = ca.skew(transform.offset)
    angular, linear = transform.up_symmetric(matrix[:3, :3]), transform.up_symmetric(matrix[3:, 3:])
    mixed = transform.up(transform.up(matrix[:3, 3:]).T).T
    moved = mixed + r @ linear
    angular = ca.tril2symm(ca.tril(angular + r @ mixed.T - moved @ r))  # the upper half need not be computed
    return ca.blockcat([[angular, moved], [moved.T, linear]])


def _wrench_in_parent(force: ca.SX, torque: ca.SX, transform: Transform) -> tuple[ca.SX, ca.SX]:
    """Force and moment about the origin of the body's frame, in the parent's frame and about its origin."""
    force = transform.up(force)
    return force, transform.up(torque) + ca.cross(transform.offset, force)
