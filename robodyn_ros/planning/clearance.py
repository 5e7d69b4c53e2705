# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Distances between the arm and obstacles, for an arm of capsules.

Between a capsule and a sphere: the distance of the centre from the capsule's segment, less both radii (Ericson,
Real-Time Collision Detection (2005), section 5.1.2). Between a capsule and a box: balls along its segment cover the
capsule, so close that their common radius exceeds the capsule's by no more than ``COVER``; the distance is the least
signed distance of a ball from the box.

Each ``<collision>`` of a link, or each ``<visual>`` if it has none, becomes one capsule along its longest axis, which
encloses it. A mesh, or a body without any shape, becomes a capsule from its joint to the next one, or to a frame that
is fixed to it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robodyn_ros.engine.casadi import ca
from robodyn_ros.kinematics.forward import placed
from robodyn_ros.planning.obstacles import Obstacle, Sphere
from robodyn_ros.planning.smooth_model import SmoothModel
from robodyn_ros.robot import Robot
from robodyn_ros.robot.description import read_document
from robodyn_ros.robot.pose import Array, Pose

RADIUS = 0.05
"""Radius of a body without a known shape [m]."""

COVER = 0.15
"""Ratio by which the radius of the balls that cover a capsule exceeds the capsule's."""

SMOOTHING = 1e-4
"""Radius with which distances are smoothed, so that they are differentiable everywhere [m]."""


class Capsule(NamedTuple):
    """All points within a radius of a segment."""

    link: str
    start: Array  # in the link's frame (3,) in [m]
    end: Array
    radius: float  # [m]


def capsules(robot: Robot, radius: float = RADIUS) -> tuple[Capsule, ...]:
    """The capsules of all bodies that move.

    Args:
        robot: the arm.
        radius: radius of a body without a known shape [m].
    """
    elements = {str(link.get("name")): link for link in read_document(robot.urdf).root.findall("link")}
    found: list[Capsule] = []
    for index, body in enumerate(robot.bodies):
        shapes = [
            made
            for link in body.links
            for tag in _shapes(elements[link])
            if (made := _enclosing(link, tag)) is not None
        ]
        found += shapes or _link_capsules(robot, index, body.name, radius)
    return tuple(found)


def _shapes(link: ET.Element) -> list[ET.Element]:
    return link.findall("collision") or link.findall("visual")


def _enclosing(link: str, tag: ET.Element) -> Capsule | None:
    """The capsule around a shape; None for a mesh."""
    origin, geometry = tag.find("origin"), tag.find("geometry")
    pose = Pose.from_xyz_rpy(_numbers(origin, "xyz"), _numbers(origin, "rpy"))
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None or shape.tag not in ("box", "cylinder", "sphere"):
        return None
    half = np.zeros(3)
    if shape.tag == "box":
        lengths = np.array(_numbers(shape, "size"))
        longest = int(np.argmax(lengths))
        radius = float(np.linalg.norm(np.delete(lengths, longest))) / 2.0
        half[longest] = lengths[longest] / 2.0
    else:
        radius = float(shape.get("radius", "0"))
        half[2] = float(shape.get("length", "0")) / 2.0 if shape.tag == "cylinder" else 0.0
    middle, along = pose.translation, pose.rotation @ half
    return Capsule(link, middle - along, middle + along, radius)


def _link_capsules(robot: Robot, index: int, name: str, radius: float) -> list[Capsule]:
    """Capsules from the body's joint to each of its child joints, and to the frames that are fixed to it."""
    ends = [body.placement.translation for body in robot.bodies if body.parent == index]
    ends += [link.pose.translation for link in robot.links if link.body == index and link.name != name]
    apart = [end for end in ends if np.linalg.norm(end) > 1e-6] or [np.zeros(3)]
    return [Capsule(name, np.zeros(3), end, radius) for end in apart]


def _numbers(element: ET.Element | None, name: str) -> list[float]:
    text = "0 0 0" if element is None else element.get(name, "0 0 0")
    return [float(word) for word in text.split()]


class ClearancePair(NamedTuple):
    """A link and an obstacle, by their names."""

    link: str
    obstacle: str


class Clearance:
    """Distances of the arm from obstacles.

    Attributes:
        pairs: the pair of each row of ``distances``; a pair has a row for each ball that covers a capsule.
        distances: q (n,) → distances (m,) in [m], below 0 where bodies and obstacles overlap.
    """

    def __init__(self, model: SmoothModel, capsules: Sequence[Capsule], obstacles: Sequence[Obstacle]) -> None:
        """
        Args:
            model: model of the arm.
            capsules: the arm's bodies.
            obstacles: obstacles in the root link's frame.
        """
        q = ca.SX.sym("q", model.n)
        rows: list[ca.SX] = []
        self.pairs: list[ClearancePair] = []
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
                self.pairs += [ClearancePair(capsule.link, obstacle.name)] * len(found)
        self.distances = ca.Function("clearance", [q], [ca.vertcat(*rows)])

    def nearest(self, q: np.ndarray) -> tuple[float, ClearancePair, int]:
        """Least distance [m] over positions (K, n), its pair, and the index of its position."""
        distances = np.array(self.distances(np.atleast_2d(q).T))
        row, column = np.unravel_index(int(np.argmin(distances)), distances.shape)
        return float(distances[row, column]), self.pairs[int(row)], int(column)


def _point(model: SmoothModel, link: str, at: np.ndarray, q: ca.SX) -> ca.SX:
    return placed(model.tree, model.dynamics.robot.link(link), q, ca.SX(ca.DM(at))).position


def _sphere(start: ca.SX, end: ca.SX, capsule: Capsule, obstacle: Sphere) -> list[ca.SX]:
    center = ca.DM(obstacle.center)
    along, to = end - start, center - start
    square = float(np.sum((capsule.end - capsule.start) ** 2))
    ratio = ca.fmin(1.0, ca.fmax(0.0, ca.dot(to, along) / square)) if square > 0.0 else 0.0
    return [_norm(to - ratio * along) - (capsule.radius + obstacle.radius)]


def _cover(capsule: Capsule) -> tuple[list[float], float]:
    """Ratios of the segment at which the balls' centres lie, and their radius [m]."""
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
    """Length, smooth at 0, and not above the true one."""
    return ca.sqrt(ca.sumsqr(vector) + SMOOTHING**2) - SMOOTHING
