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
    """Solve A X = B, (n, n) and (n, k), for a symmetric positive definite A by L D Lᵀ.

    Golub and Van Loan, Matrix Computations, section 4.1.2.
    """
    n = matrix.shape[0]
    lower, inverse, x = ca.SX.eye(n), ca.SX.zeros(n), ca.SX(right)
    columns: list[ca.SX] = []
    for j in range(n):
        # Column j of L D, then of L.
        column = matrix[j:, j] - sum((column_k[j - k :] * lower[j, k] for k, column_k in enumerate(columns)), ca.SX(0))
        columns.append(column)
        inverse[j] = 1 / column[0]
        lower[j:, j] = column * inverse[j]
    for i in range(n):
        x[i, :] -= sum((lower[i, k] * x[k, :] for k in range(i)), ca.SX(0))
    for i in reversed(range(n)):
        x[i, :] = x[i, :] * inverse[i] - sum((lower[k, i] * x[k, :] for k in range(i + 1, n)), ca.SX(0))
    return x
