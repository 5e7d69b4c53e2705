"""What the formulations share: the energies, and the little linear algebra that expressions need."""

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


def sum_by_coordinate(tree: Tree, efforts: list[ca.SX]) -> ca.SX:
    """Efforts of the coordinates from those of the joints: a mimic joint's adds to the coordinate that moves it."""
    tau = ca.SX.zeros(tree.n)
    for node, effort in zip(tree.nodes, efforts, strict=True):
        tau[node.body.coordinate] += node.body.ratio * effort
    return tau


def energies(tree: Tree, q: ca.SX, qd: ca.SX, gravity: ca.SX, inertias: list[Inertia]) -> tuple[ca.SX, ca.SX]:
    """Kinetic and potential energy (Siciliano et al., Robotics: Modelling, Planning and Control, eq. 7.3 to 7.36).

    Every body adds ½ m v·v + v·(ω × m c) + ½ ω·I ω, about its frame's origin, and -g·(m p + m c).
    """
    kinetic = potential = ca.SX(0)
    motions: list[tuple[ca.SX, ca.SX, ca.SX, ca.SX]] = []
    for node, (mass, moment, inertia) in zip(tree.nodes, inertias, strict=True):
        transform = Transform(node, q)
        rate = joint_rate(node, qd) * Z
        if node.parent < 0:
            omega, v = ca.SX.zeros(3), ca.SX.zeros(3)
            down, height = transform.down(gravity), -ca.dot(gravity, transform.offset)
        else:
            omega, v, before, height = motions[node.parent]
            v = transform.down(v + ca.cross(omega, transform.offset))
            omega = transform.down(omega)
            down, height = transform.down(before), height - ca.dot(before, transform.offset)
        if node.prismatic:
            v += rate
        else:
            omega += rate
        motions.append((omega, v, down, height))
        linear = mass * ca.dot(v, v) / 2 + ca.dot(v, ca.cross(omega, moment))
        kinetic += linear + ca.dot(omega, inertia @ omega) / 2
        potential += mass * height - ca.dot(down, moment)
    return kinetic, potential


def solve_symmetric(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """Solve A x = b for a symmetric positive definite A by L D Lᵀ (Golub and Van Loan, algorithm 4.1.2)."""
    n = matrix.shape[0]
    lower, diagonal, x = ca.SX.eye(n), ca.SX.zeros(n), ca.SX(right)
    for j in range(n):
        scaled = [lower[j, k] * diagonal[k] for k in range(j)]
        diagonal[j] = matrix[j, j] - sum((lower[j, k] * scaled[k] for k in range(j)), ca.SX(0))
        for i in range(j + 1, n):
            rest = matrix[i, j] - sum((lower[i, k] * scaled[k] for k in range(j)), ca.SX(0))
            lower[i, j] = rest / diagonal[j]
    for i in range(n):
        x[i] -= sum((lower[i, k] * x[k] for k in range(i)), ca.SX(0))
    for i in reversed(range(n)):
        x[i] = x[i] / diagonal[i] - sum((lower[k, i] * x[k] for k in range(i + 1, n)), ca.SX(0))
    return x
