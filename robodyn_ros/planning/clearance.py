"""How far the arm is from what stands in its way.

A capsule and a sphere: the distance of the centre from the segment, less both radii (Ericson, Real-Time Collision
Detection (2005), section 5.1.2). A capsule and a box: the capsule is covered by balls along its segment, close enough
for their common radius to grow by no more than COVER, and each is held against the signed distance of the box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from robodyn_ros.kinematics.expressions import placed
from robodyn_ros.planning.capsules import Capsule
from robodyn_ros.planning.model import Model
from robodyn_ros.planning.obstacles import Obstacle, Sphere

COVER = 0.15
"""How much the balls that cover a capsule are larger than it."""

SOFT = 1e-4
"""Rounding of the box's edges where distances are differentiated [m]."""


class Pair(NamedTuple):
    """What is held apart."""

    link: str
    obstacle: str


class Clearance:
    """Distances of the arm from obstacles.

    Attributes:
        pairs: of which each row of ``distances`` is, one of them several times where several balls are looked at.
        distances: q (n,) → (m,) in [m], below 0 where they meet.
    """

    def __init__(self, model: Model, capsules: Sequence[Capsule], obstacles: Sequence[Obstacle]) -> None:
        """
        Args:
            model: of the arm.
            capsules: its bodies.
            obstacles: in the root link's frame.
        """
        q = ca.SX.sym("q", model.n)
        rows: list[ca.SX] = []
        self.pairs: list[Pair] = []
        for capsule in capsules:
            start, end = (_point(model, capsule.link, at, q) for at in (capsule.start, capsule.end))
            for obstacle in obstacles:
                found = _sphere(start, end, capsule, obstacle) if isinstance(obstacle, Sphere) else []
                if not isinstance(obstacle, Sphere):
                    points, radius = _cover(capsule)
                    local = [ca.DM(obstacle.rotation).T @ (start + s * (end - start) - ca.DM(obstacle.center))
                             for s in points]  # fmt: skip
                    found = [_box(point, obstacle.size / 2.0) - radius for point in local]
                rows += found
                self.pairs += [Pair(capsule.link, obstacle.name)] * len(found)
        self.distances = ca.Function("clearance", [q], [ca.vertcat(*rows)])

    def nearest(self, q: np.ndarray) -> tuple[float, Pair, int]:
        """Least distance [m] over positions (K, n), whose it is, and at which of them."""
        all_of_them = np.array(self.distances(np.atleast_2d(q).T))
        row, column = np.unravel_index(int(np.argmin(all_of_them)), all_of_them.shape)
        return float(all_of_them[row, column]), self.pairs[int(row)], int(column)


def _point(model: Model, link: str, at: np.ndarray, q: ca.SX) -> ca.SX:
    return placed(model.tree, model.dynamics.robot.link(link), q, ca.SX(ca.DM(at))).position


def _sphere(start: ca.SX, end: ca.SX, capsule: Capsule, obstacle: Sphere) -> list[ca.SX]:
    center = ca.DM(obstacle.center)
    along, to = end - start, center - start
    square = float(np.sum((capsule.end - capsule.start) ** 2))
    share = ca.fmin(1.0, ca.fmax(0.0, ca.dot(to, along) / square)) if square > 0.0 else 0.0
    return [_norm(to - share * along) - (capsule.radius + obstacle.radius)]


def _cover(capsule: Capsule) -> tuple[list[float], float]:
    """Shares of the segment at which balls sit, and their radius [m]."""
    length = float(np.linalg.norm(capsule.end - capsule.start))
    radius = (1.0 + COVER) * capsule.radius
    gap = 2.0 * np.sqrt(radius**2 - capsule.radius**2)
    count = int(np.ceil(length / gap)) + 1 if length > 0.0 else 1
    return np.linspace(0.0, 1.0, count).tolist() if count > 1 else [0.5], radius


def _box(point: ca.SX, half: np.ndarray) -> ca.SX:
    """Signed distance of a point from a box about the origin."""
    beyond = ca.fabs(point) - ca.DM(half)
    outside = _norm(ca.fmax(beyond, 0.0))
    return outside + ca.fmin(ca.mmax(beyond), 0.0)


def _norm(vector: ca.SX) -> ca.SX:
    """Length, smooth at 0, and no greater than the true one."""
    return ca.sqrt(ca.sumsqr(vector) + SOFT**2) - SOFT
