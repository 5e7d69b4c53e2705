"""How far the arm is from what stands in its way.

A capsule and a sphere: the distance of the centre from the segment, less both radii (Ericson, Real-Time Collision
Detection (2005), section 5.1.2). A capsule and a box: the capsule is covered by balls along its segment, close enough
for their common radius to grow by no more than COVER, and each is held against the signed distance of the box.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from robodyn_ros.kinematics.expressions import placed
from robodyn_ros.planning.obstacles import Obstacle, Sphere
from robodyn_ros.planning.smooth_model import SmoothModel
from robodyn_ros.robot import Robot
from robodyn_ros.robot.description import read_document
from robodyn_ros.robot.pose import Array, Pose

# The arm's bodies as capsules: a segment and a radius each, which enclose what the URDF draws.
#
# Each ``<collision>`` of a link, or each ``<visual>`` where it has none, becomes one capsule along its longest axis.
# A mesh, or a body without any shape, becomes one from its joint to the next (to the frames fixed to it).

RADIUS = 0.05
"""Of a body whose shape is not known [m]."""


class Capsule(NamedTuple):
    """All points within a radius of a segment."""

    link: str
    start: Array  # in the link's frame (3,) in [m]
    end: Array
    radius: float  # [m]


def capsules(robot: Robot, radius: float = RADIUS) -> tuple[Capsule, ...]:
    """Of everything that moves.

    Args:
        robot: the arm.
        radius: of a body whose shape is not known [m].
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
    """From the body's joint to each that hangs on it, and to the frames fixed to it."""
    ends = [body.placement.translation for body in robot.bodies if body.parent == index]
    ends += [link.pose.translation for link in robot.links if link.body == index and link.name != name]
    apart = [end for end in ends if np.linalg.norm(end) > 1e-6] or [np.zeros(3)]
    return [Capsule(name, np.zeros(3), end, radius) for end in apart]


def _numbers(element: ET.Element | None, name: str) -> list[float]:
    text = "0 0 0" if element is None else element.get(name, "0 0 0")
    return [float(word) for word in text.split()]


COVER = 0.15
"""How much the balls that cover a capsule are larger than it."""

SOFT = 1e-4
"""Rounding of the box's edges where distances are differentiated [m]."""


class ClearancePair(NamedTuple):
    """What is held apart."""

    link: str
    obstacle: str


class Clearance:
    """Distances of the arm from obstacles.

    Attributes:
        pairs: of which each row of ``distances`` is, one of them several times where several balls are looked at.
        distances: q (n,) → (m,) in [m], below 0 where they meet.
    """

    def __init__(self, model: SmoothModel, capsules: Sequence[Capsule], obstacles: Sequence[Obstacle]) -> None:
        """
        Args:
            model: of the arm.
            capsules: its bodies.
            obstacles: in the root link's frame.
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
        """Least distance [m] over positions (K, n), whose it is, and at which of them."""
        all_of_them = np.array(self.distances(np.atleast_2d(q).T))
        row, column = np.unravel_index(int(np.argmin(all_of_them)), all_of_them.shape)
        return float(all_of_them[row, column]), self.pairs[int(row)], int(column)


def _point(model: SmoothModel, link: str, at: np.ndarray, q: ca.SX) -> ca.SX:
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
