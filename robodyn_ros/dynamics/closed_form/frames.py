"""Where the bodies of an arm are and how they turn, as polynomials of an ``Algebra``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.closed_form.algebra import Algebra
from robodyn_ros.dynamics.closed_form.directions import Direction, is_exact
from robodyn_ros.kinematics.tree import Node, Tree
from robodyn_ros.robot.pose import Array

Polynomials = NDArray[np.object_]


class Frame(NamedTuple):
    """A body's frame in the base's frame."""

    group: Polynomials  # B of ``directions``, (3, 3)
    axes: dict[int, Polynomials]  # of the body's joint and of those before it that turn, by node, in B's axes, (3,)
    within: Polynomials  # Rz(φ) K, (3, 3)
    position: Polynomials  # (3,)


def frames(tree: Tree, found: Sequence[Direction], algebra: Algebra) -> list[Frame]:
    """The frame of every body."""
    made: list[Frame] = []
    one = _exact(np.eye(3), algebra)
    for k, (node, direction) in enumerate(zip(tree.nodes, found, strict=True)):
        before = made[node.parent] if node.parent >= 0 else Frame(one, {}, one, _exact(np.zeros(3), algebra))
        group, axes = before.group, dict(before.axes)
        if direction.before is not None:
            above = _turn(found[node.parent], algebra) if node.parent >= 0 else one
            into = above @ constant(k, direction.before, algebra)
            group, axes = group @ into, {other: into.T @ axis for other, axis in axes.items()}
        if not node.prismatic:
            axes[k] = _exact(direction.constant[:, 2], algebra)
        within = _turn(direction, algebra) @ constant(k, direction.constant, algebra)
        offset = np.array([algebra.number("l", k, i) for i in range(3)], dtype=object)
        position = before.position + before.group @ (before.within @ offset)
        if node.prismatic:
            position = position + group @ within[:, 2] * _slide(node, algebra)
        made.append(Frame(group, axes, within, position))
    return made


def constant(k: int, matrix: Array, algebra: Algebra) -> Polynomials:
    """A constant rotation at node k; its sine and cosine are numbers of the algebra if they have letters."""
    if algebra.numeric or is_exact(matrix):
        return _exact(matrix, algebra)
    zero, one, cosine, sine = algebra.zero, algebra.one, algebra.number("ct", k), algebra.number("st", k)
    return np.array([[one, zero, zero], [zero, cosine, -sine], [zero, sine, cosine]], dtype=object)


def _exact(values: Array, algebra: Algebra) -> Polynomials:
    """Numbers as polynomials; fractions only in a numeric algebra."""
    made = np.empty(values.shape, dtype=object)
    for place, value in np.ndenumerate(values):
        made[place] = algebra.constant(float(value))
    return made


def _turn(direction: Direction, algebra: Algebra) -> Polynomials:
    """Rz(φ)."""
    c, s, zero, one = algebra.cosine(direction.angle), algebra.sine(direction.angle), algebra.zero, algebra.one
    return np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]], dtype=object)


def _slide(node: Node, algebra: Algebra) -> object:
    """How far a sliding joint is out."""
    body = node.body
    return algebra.constant(body.ratio) * algebra.q[body.coordinate] + algebra.constant(body.offset)
