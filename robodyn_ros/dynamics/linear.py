"""The little linear algebra that expressions need."""

from __future__ import annotations

import casadi as ca

from robodyn_ros.kinematics.tree import Tree


def sum_by_coordinate(tree: Tree, efforts: list[ca.SX]) -> ca.SX:
    """Efforts of the coordinates from those of the joints: a mimic joint's adds to the coordinate that moves it."""
    tau = ca.SX.zeros(tree.n)
    for node, effort in zip(tree.nodes, efforts, strict=True):
        tau[node.body.coordinate] += node.body.ratio * effort
    return tau


def solve_symmetric(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """Solve A X = B, (n, n) and (n, k), for a symmetric positive definite A by Lᵀ D L.

    From the last coordinate to the first, as a mass matrix wants it: no zero between branches of a tree is lost, and
    the tips' part of it is known first (Featherstone, Rigid Body Dynamics Algorithms, section 6.5).
    """
    n = matrix.shape[0]
    left, inverse, x = ca.SX(matrix), ca.SX.zeros(n), ca.SX(right)
    lower = ca.SX.eye(n)
    for k in reversed(range(n)):
        inverse[k] = 1 / left[k, k]
        lower[k, :k] = left[k, :k] * inverse[k]
        for i in range(k):
            left[i, : i + 1] -= lower[k, i] * left[k, : i + 1]
            x[i, :] -= lower[k, i] * x[k, :]
    for k in range(n):
        x[k, :] = x[k, :] * inverse[k] - sum((lower[k, i] * x[i, :] for i in range(k)), ca.SX(0))
    return x
