"""Forward dynamics in O(n): the articulated-body algorithm (Featherstone, Rigid Body Dynamics Algorithms, section 7.3).

Motions and forces are split in an angular and a linear half, (α, a) and (n, f), both about the origin of the body's
frame; a is the plain acceleration of that origin, so velocity terms stand in the bias. Bodies may be lighter than
nothing, as grouped parameters are: only what a joint feels has to be positive.
"""

from __future__ import annotations

import casadi as ca

from robodyn_ros.dynamics.energies import Inertia
from robodyn_ros.kinematics.transform import Transform, Z, joint_rate
from robodyn_ros.kinematics.tree import Tree


def forward_dynamics(
    tree: Tree, q: ca.SX, qd: ca.SX, tau: ca.SX, gravity: ca.SX, armature: ca.SX, inertias: list[Inertia]
) -> ca.SX:
    """Accelerations of the coordinates, (n,), of an arm without mimic joints."""
    transforms = [Transform(node, q) for node in tree.nodes]
    velocities, drifts = _velocities(tree, transforms, qd)
    articulated = [_spatial(inertia) for inertia in inertias]
    bias = [_gyroscopic(omega, inertia) for omega, inertia in zip(velocities, inertias, strict=True)]
    columns: list[ca.SX] = [ca.SX()] * len(tree.nodes)
    ratios: list[ca.SX] = [ca.SX()] * len(tree.nodes)
    for index in reversed(range(len(tree.nodes))):
        node, axis = tree.nodes[index], 5 if tree.nodes[index].prismatic else 2
        column = articulated[index][:, axis]
        rotor = armature[node.body.coordinate]
        inverse = 1 / (column[axis] + rotor)
        net = inverse * (tau[node.body.coordinate] - bias[index][axis])
        columns[index], ratios[index] = inverse * column, net
        if node.parent >= 0:
            rest = articulated[index] - columns[index] @ column.T
            # Along its axis a joint passes on nothing but what its rotor resists.
            passed = column * (rotor * inverse)
            rest[axis, :], rest[:, axis] = passed.T, passed
            force = bias[index] + rest @ drifts[index] + column * net
            articulated[node.parent] += _inertia_in_parent(rest, transforms[index])
            bias[node.parent] += _force_in_parent(force, transforms[index])
    accelerations: list[ca.SX] = []
    qdd = ca.SX.zeros(tree.n)
    for index, (node, transform) in enumerate(zip(tree.nodes, transforms, strict=True)):
        axis = 5 if node.prismatic else 2
        before = accelerations[node.parent] if node.parent >= 0 else ca.vertcat(ca.SX.zeros(3), -gravity)
        alpha, a = before[:3], before[3:]
        carried = ca.vertcat(transform.down(alpha), transform.down(a + ca.cross(alpha, transform.offset)))
        carried += drifts[index]
        own = ratios[index] - ca.dot(columns[index], carried)
        carried[axis] += own
        accelerations.append(carried)
        qdd[node.body.coordinate] = own
    return qdd


def _velocities(tree: Tree, transforms: list[Transform], qd: ca.SX) -> tuple[list[ca.SX], list[ca.SX]]:
    """Angular velocities (3,), and the accelerations (6,) that velocities alone cause across each joint."""
    omegas: list[ca.SX] = []
    drifts: list[ca.SX] = []
    for node, transform in zip(tree.nodes, transforms, strict=True):
        before = omegas[node.parent] if node.parent >= 0 else ca.SX.zeros(3)
        rate = joint_rate(node, qd) * Z
        omega = transform.down(before)
        linear = transform.down(ca.cross(before, ca.cross(before, transform.offset)))
        turning = ca.cross(omega, rate)
        if node.prismatic:
            drifts.append(ca.vertcat(ca.SX.zeros(3), linear + 2 * turning))
        else:
            drifts.append(ca.vertcat(turning, linear))
            omega += rate
        omegas.append(omega)
    return omegas, drifts


def _spatial(inertia: Inertia) -> ca.SX:
    """The (6, 6) matrix from (α, a) to (n, f)."""
    moment = ca.skew(inertia.moment)
    return ca.blockcat([[inertia.inertia, moment], [-moment, inertia.mass * ca.SX.eye(3)]])


def _gyroscopic(omega: ca.SX, inertia: Inertia) -> ca.SX:
    """The force (6,) that keeps a body turning at ω without acceleration."""
    torque = ca.cross(omega, inertia.inertia @ omega)
    return ca.vertcat(torque, ca.cross(omega, ca.cross(omega, inertia.moment)))


def _inertia_in_parent(matrix: ca.SX, transform: Transform) -> ca.SX:
    """Xᵀ I X."""
    r = ca.skew(transform.offset)
    angular, linear = transform.up_symmetric(matrix[:3, :3]), transform.up_symmetric(matrix[3:, 3:])
    mixed = transform.up(transform.up(matrix[:3, 3:]).T).T
    moved = mixed + r @ linear
    angular = ca.tril2symm(ca.tril(angular + r @ mixed.T - moved @ r))  # the upper half need not be computed
    return ca.blockcat([[angular, moved], [moved.T, linear]])


def _force_in_parent(force: ca.SX, transform: Transform) -> ca.SX:
    linear = transform.up(force[3:])
    return ca.vertcat(transform.up(force[:3]) + ca.cross(transform.offset, linear), linear)
