"""What the motion of a tree of bodies amounts to: kinetic and potential energy, momentum."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from robodyn_ros.kinematics.transform import Transform, Z, joint_rate
from robodyn_ros.kinematics.tree import Tree


class Inertia(NamedTuple):
    """A body's inertial parameters about the origin of its frame."""

    mass: ca.SX  # scalar
    moment: ca.SX  # m c, (3,)
    inertia: ca.SX  # rotational, (3, 3)


class Velocity(NamedTuple):
    """Of a body's frame, in that frame."""

    omega: ca.SX  # angular (3,)
    v: ca.SX  # linear, of the origin (3,)


def velocities(tree: Tree, transforms: list[Transform], qd: ca.SX) -> list[Velocity]:
    """Velocity of every body, from the base to the tips (Craig, Introduction to Robotics, eq. 5.45 to 5.48)."""
    found: list[Velocity] = []
    for node, transform in zip(tree.nodes, transforms, strict=True):
        before = found[node.parent] if node.parent >= 0 else Velocity(ca.SX.zeros(3), ca.SX.zeros(3))
        omega = transform.down(before.omega)
        v = transform.down(before.v + ca.cross(before.omega, transform.offset))
        rate = joint_rate(node, qd) * Z
        found.append(Velocity(omega, v + rate) if node.prismatic else Velocity(omega + rate, v))
    return found


def energies(tree: Tree, q: ca.SX, qd: ca.SX, gravity: ca.SX, inertias: list[Inertia]) -> tuple[ca.SX, ca.SX]:
    """Kinetic and potential energy (Siciliano et al., Robotics: Modelling, Planning and Control, section 7.1).

    Every body adds ½ m v·v + v·(ω × m c) + ½ ω·I ω, about its frame's origin, and -g·(m p + m c).
    """
    transforms = [Transform(node, q) for node in tree.nodes]
    kinetic = potential = ca.SX(0)
    down: list[ca.SX] = []  # gravity in each body's frame
    height: list[ca.SX] = []  # -g·p of each frame's origin
    for node, transform, (omega, v), (mass, moment, inertia) in zip(
        tree.nodes, transforms, velocities(tree, transforms, qd), inertias, strict=True
    ):
        before = down[node.parent] if node.parent >= 0 else gravity
        below = height[node.parent] if node.parent >= 0 else ca.SX(0)
        down.append(transform.down(before))
        height.append(below - ca.dot(before, transform.offset))
        kinetic += mass * ca.dot(v, v) / 2 + ca.dot(v, ca.cross(omega, moment)) + ca.dot(omega, inertia @ omega) / 2
        potential += mass * height[-1] - ca.dot(down[-1], moment)
    return kinetic, potential


def total_momentum(
    tree: Tree, q: ca.SX, qd: ca.SX, inertias: list[Inertia], base: Inertia
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Linear momentum, angular momentum about the centre of mass, and that centre, in the root link's axes, (3,)
    each.
    """
    transforms = [Transform(node, q) for node in tree.nodes]
    sums = [[ca.SX.zeros(3), ca.SX.zeros(3), inertia.moment, inertia.mass] for inertia in inertias]
    for total, (omega, v), (mass, moment, inertia) in zip(
        sums, velocities(tree, transforms, qd), inertias, strict=True
    ):
        total[0] = mass * v + ca.cross(omega, moment)
        total[1] = inertia @ omega + ca.cross(moment, v)
    rest = [ca.SX.zeros(3), ca.SX.zeros(3), base.moment, base.mass]
    for index in reversed(range(len(sums))):
        node, transform, (linear, angular, moment, mass) = tree.nodes[index], transforms[index], sums[index]
        below = sums[node.parent] if node.parent >= 0 else rest
        linear = transform.up(linear)
        below[0] += linear
        below[1] += transform.up(angular) + ca.cross(transform.offset, linear)
        below[2] += transform.up(moment) + mass * transform.offset
        below[3] += mass
    linear, angular, moment, mass = rest
    centre, axes = moment / mass, ca.DM(tree.base)
    return axes @ linear, axes @ (angular - ca.cross(centre, linear)), axes @ centre
