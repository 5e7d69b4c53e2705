# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The directions about which the bodies of an arm turn.

Joints that are parallel, whatever slides between them, turn about one direction. The sine and cosine of the sum of
their angles say all about it: this makes the equations of planar arms short. So every body's orientation is

    B Rz(φ) K,    φ = Σ ± θ_k + quarter turns.

φ turns about the directions B, which only joints of other directions change; K is constant.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robodyn_ros.kinematics.tree import Tree, TreeNode
from robodyn_ros.robot.pose import Array

ROUNDING = 1e-12
"""A sine, or an angle in radians, below this is the rounding of a zero."""

QUARTER = math.pi / 2

REVERSED = np.diag([1.0, -1.0, -1.0])
"""From the frame of a joint that turns the other way round."""


class Angle(NamedTuple):
    """A sum of joints' angles θ and quarter turns."""

    terms: tuple[tuple[int, int], ...] = ()  # (index of the node, ±1), in order
    quarters: int = 0

    def plus(self, other: Angle, sign: int = 1) -> Angle:
        """Return the sum or, with sign -1, the difference."""
        signs = dict(self.terms)
        for node, own in other.terms:
            signs[node] = signs.get(node, 0) + sign * own
        return Angle(tuple(sorted(item for item in signs.items() if item[1])), self.quarters + sign * other.quarters)


class Direction(NamedTuple):
    """Orientation B Rz(φ) K of one body. All bodies of one group have the same B."""

    group: int
    angle: Angle  # φ
    constant: Array  # K, (3, 3)
    rest: float  # θ = ratio · q + rest, and quarter turns [rad]
    before: Array | None = None  # of the first of a group: B = parent's B Rz(φ), times this, (3, 3)


def directions(tree: Tree) -> list[Direction]:
    """Return the orientation of every body; group 0 has the direction of the tree's base."""
    found: list[Direction] = []
    for index, node in enumerate(tree.nodes):
        above = found[node.parent] if node.parent >= 0 else Direction(0, Angle(), np.eye(3), 0.0)
        found.append(_next(index, node, above))
    return found


def is_exact(matrix: Array) -> bool:
    """Return whether a rotation only exchanges axes and reverses them."""
    return bool(np.isin(matrix, (-1.0, 0.0, 1.0)).all())


def _next(index: int, node: TreeNode, above: Direction) -> Direction:
    constant = _clean(above.constant @ node.rotation)
    if node.prismatic:
        return Direction(above.group, above.angle, constant, 0.0)
    along = float(constant[2, 2])
    if abs(abs(along) - 1.0) > ROUNDING:
        theta, rest = _theta(index, node, 0.0)
        return Direction(index + 1, theta, np.eye(3), rest, constant)
    sense = 1 if along > 0.0 else -1
    theta, rest = _theta(index, node, sense * math.atan2(constant[1, 0], constant[0, 0]))
    return Direction(above.group, above.angle.plus(theta, sense), np.eye(3) if sense > 0 else REVERSED, rest)


def _theta(index: int, node: TreeNode, more: float) -> tuple[Angle, float]:
    constant = node.turn + node.body.offset + more
    quarters = round(constant / QUARTER)
    rest = constant - quarters * QUARTER
    return Angle(((index, 1),), quarters), 0.0 if abs(rest) < ROUNDING else rest


def _clean(matrix: Array) -> Array:
    nearest = np.round(matrix)
    return np.where(np.abs(matrix - nearest) < ROUNDING, nearest, matrix)
