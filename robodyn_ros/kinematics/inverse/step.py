# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One step of damped least squares, from residual to new position, as one compiled function.

The residual is e = [p* - p; log(R* Rᵀ)], along given directions, and the step (Levenberg–Marquardt)::

    (Jᵀ W J + λ 1) Δq = Jᵀ W e,     λ = c E + floor,     E = eᵀ W e / 2

Damping in proportion to the error: Chan and Lawrence, General inverse kinematics with the error damped pseudoinverse
(ICRA 1988); Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg–Marquardt method (IEEE Trans.
Robotics 27 (2011)). With equal angular weights the geometric Jacobian gives the exact gradient, because the logarithm's
derivative does not change its own direction.

A joint at a limit that the gradient pushes outwards is held there and takes no part in the step (Bertsekas, Projected
Newton methods for optimization problems with simple constraints (1982)); the others are clamped at theirs. The motion z
of a null-space objective is projected into the null space, z - (JᵀWJ + λ)⁻¹ JᵀWJ z (Nakamura and Hanafusa, Inverse
kinematic solutions with singularity robustness, J. Dyn. Sys. Meas. Control 108 (1986)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.engine import Kernel, Program, digest
from robodyn_ros.engine.casadi import ca
from robodyn_ros.kinematics.forward import geometric_jacobian, placed
from robodyn_ros.kinematics.se3 import from_pose
from robodyn_ros.kinematics.tree import Tree, geometry
from robodyn_ros.robot import Link
from robodyn_ros.robot.pose import Array


class DampedStep(NamedTuple):
    """The compiled step and the memory it works on; views into one kernel."""

    kernel: Kernel
    q: Array  # in: position at the start (n,)
    secondary: Array  # in: motion z of the null-space objective (n,)
    position: Array  # in: p* (3,)
    rotation: Array  # in: R* (3, 3)
    directions: Array  # in: rows along which the linear and the angular residual count, (2, 3, 3)
    weights: Array  # in: W (6,)
    damping: Array  # in: c, floor (2,)
    lower: Array  # in: (n,)
    upper: Array  # in: (n,)
    stepped: Array  # out: the new position (n,)
    residual: Array  # out: along the directions, at the old position (6,) in [m] and [rad]
    measure: Array  # out: weighted lengths of its linear part [m] and its angular part [rad], and E (3,)


def build_step(tree: Tree, link: Link, compiled: bool) -> DampedStep:
    """Return the step for one link of an arm."""
    n = tree.n
    key = digest(*geometry(tree), link.body, from_pose(link.pose).tolist(), source=__name__)
    inputs, outputs = (("q", n), ("secondary", n)), ((n,), (6,), (3,))
    program = Program("inverse_step", key, inputs, outputs, lambda: _expressions(tree, link))
    parameters = np.zeros(38 + 2 * n)
    cuts = np.split(parameters, np.cumsum([3, 9, 18, 6, 2, n]))
    kernel = Kernel(program, parameters, compiled=compiled)
    position, rotation, directions, weights, damping, lower, upper = cuts
    (q, secondary), (stepped, residual, measure) = kernel.inputs, kernel.results
    return DampedStep(
        kernel=kernel,
        q=q,
        secondary=secondary,
        position=position,
        rotation=rotation.reshape(3, 3),
        directions=directions.reshape(2, 3, 3),
        weights=weights,
        damping=damping,
        lower=lower,
        upper=upper,
        stepped=stepped,
        residual=residual,
        measure=measure,
    )


def _expressions(tree: Tree, link: Link) -> tuple[list[ca.SX], list[ca.SX]]:
    n = tree.n
    q, secondary, parameters = ca.SX.sym("q", n), ca.SX.sym("secondary", n), ca.SX.sym("parameters", 38 + 2 * n)
    cuts = [0, *np.cumsum([3, 9, 18, 6, 2, n, n]).tolist()]
    position, rotation, directions, weights, damping, lower, upper = ca.vertsplit(parameters, cuts)
    rotation = ca.reshape(rotation, 3, 3).T
    seen = ca.diagcat(ca.reshape(directions[:9], 3, 3).T, ca.reshape(directions[9:], 3, 3).T)

    where = placed(tree, link, q)
    e = seen @ ca.vertcat(position - where.position, _rotation_vector(rotation @ where.rotation.T))
    J = seen @ geometric_jacobian(where, q)
    JW = J.T @ ca.diag(weights)
    A, g = JW @ J, JW @ e
    held = ca.logic_or(ca.logic_and(q <= lower, g < 0), ca.logic_and(q >= upper, g > 0))
    free = 1 - held
    E = ca.dot(weights, e**2) / 2
    H = (free @ free.T) * A + ca.diag((damping[0] * E + damping[1]) * free + held)
    step = free * (_solve(H, free * (g - A @ (free * secondary))) + secondary)
    counted = ca.if_else(weights > 0, e, 0)
    measure = ca.vertcat(ca.norm_2(counted[:3]), ca.norm_2(counted[3:]), E)
    return [q, secondary, parameters], [ca.fmin(ca.fmax(q + step, lower), upper), e, measure]


def _rotation_vector(rotation: ca.SX) -> ca.SX:
    """Return the logarithm by the quaternion; so3.log and so3.quaternion have the same in NumPy."""
    (a, b, c), (d, e, f), (g, h, i) = ([rotation[j, k] for k in range(3)] for j in range(3))
    columns = [
        ca.vertcat(1 + a + e + i, h - f, c - g, d - b),
        ca.vertcat(h - f, 1 + a - e - i, b + d, c + g),
        ca.vertcat(c - g, b + d, 1 - a + e - i, f + h),
        ca.vertcat(d - b, c + g, f + h, 1 - a - e + i),
    ]
    best, size = columns[0], columns[0][0]
    for k in (1, 2, 3):
        better = columns[k][k] > size
        best, size = ca.if_else(better, columns[k], best), ca.fmax(size, columns[k][k])
    best = best * ca.if_else(best[0] < 0, -1, 1)
    w, v = best[0], best[1:]
    s = ca.sqrt(ca.sumsqr(v))
    small = s < 1e-8 * w
    return v * ca.if_else(small, 2 / ca.fmax(w, s), 2 * ca.atan2(s, w) / ca.if_else(small, 1, s))


def _solve(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """Return x with A x = b for a symmetric positive definite A, by A = L D Lᵀ without a branch."""
    n = right.numel()
    L = ca.SX.eye(n)
    D: list[ca.SX] = []
    for j in range(n):
        d = matrix[j, j] - sum((L[j, k] ** 2 * D[k] for k in range(j)), ca.SX(0))
        D.append(d)
        for i in range(j + 1, n):
            L[i, j] = (matrix[i, j] - sum((L[i, k] * L[j, k] * D[k] for k in range(j)), ca.SX(0))) / d
    y: list[ca.SX] = []
    for i in range(n):
        y.append(right[i] - sum((L[i, k] * y[k] for k in range(i)), ca.SX(0)))
    x = [y[i] / D[i] for i in range(n)]
    for i in reversed(range(n)):
        x[i] -= sum((L[k, i] * x[k] for k in range(i + 1, n)), ca.SX(0))
    return ca.vertcat(*x)
