# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Obstacles, spheres and boxes in the root link's frame, and the distances of the arm from them.

For the distances the arm is made of capsules. Between a capsule and a sphere: the distance of the centre from the
capsule's segment, less both radii (Ericson, Real-Time Collision Detection (2005), section 5.1.2). Between a capsule and
a box: balls along its segment cover the capsule, so close that their common radius exceeds the capsule's, or
``THINNEST``, by no more than ``COVER``; the distance is the least signed distance of a ball from the box.

Each ``<collision>`` of a link, or each ``<visual>`` if it has none, becomes one capsule along its longest axis, which
encloses it. A mesh, or a body without any shape, becomes a capsule from its joint to the next one, or to a frame that
is fixed to it.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import check, finite_array
from robodyn_ros.engine.casadi import ca
from robodyn_ros.errors import InputError
from robodyn_ros.files import read_yaml_of
from robodyn_ros.kinematics.forward import placed
from robodyn_ros.kinematics.tree import build_tree
from robodyn_ros.robot import Array, Pose, Robot, read_document
from robodyn_ros.robot.shapes import read_solid

RADIUS = 0.05
"""Radius of a body without a known shape [m]; in a smaller arm it is :data:`SLENDERNESS` of the longest body."""

SLENDERNESS = 0.2
"""Greatest radius of such a body, over the length of the arm's longest body."""

COVER = 0.15
"""Ratio by which the radius of the balls that cover a capsule exceeds the capsule's."""

THINNEST = 0.01
"""Radius as of which a thinner capsule is covered, over its length."""

SMOOTHING = 1e-3
"""Radius with which distances are smoothed, so that they are differentiable everywhere: over the least sum of the
radius of a capsule and the radius, or half the thickness, of an obstacle."""


@dataclass(frozen=True, eq=False)
class Sphere:
    """A sphere.

    Attributes:
        name: name for messages.
        center: (3,) in [m].
        radius: [m].
    """

    name: str
    center: Array
    radius: float


@dataclass(frozen=True, eq=False)
class Box:
    """A box.

    Attributes:
        name: name for messages.
        center: (3,) in [m].
        size: edge lengths along its axes (3,) in [m].
        rotation: its axes as columns (3, 3).
    """

    name: str
    center: Array
    size: Array
    rotation: Array = field(default_factory=lambda: np.eye(3))


Obstacle = Sphere | Box


def sphere(name: str, center: Sequence[float] | Array, radius: float) -> Sphere:
    """A sphere, checked.

    Raises:
        InputError: the center is not three finite numbers, or the radius is not above 0.
    """
    return Sphere(name, _array(name, "center", center, (3,)), float(_lengths(name, "radius", radius, ())))


def box(
    name: str, center: Sequence[float] | Array, size: Sequence[float] | Array, rpy: Sequence[float] = (0.0, 0.0, 0.0)
) -> Box:
    """A box, checked; ``rpy`` are fixed-axis roll, pitch and yaw in [rad], as in a URDF.

    Raises:
        InputError: a vector is not three finite numbers, or a length is not above 0.
    """
    pose = Pose.from_xyz_rpy(_array(name, "center", center, (3,)).tolist(), _array(name, "rpy", rpy, (3,)).tolist())
    return Box(name, pose.translation, _lengths(name, "size", size, (3,)), pose.rotation)


def read_obstacles(path: str | os.PathLike[str]) -> tuple[Obstacle, ...]:
    """Read obstacles from a YAML or JSON file.

    ``{ball: {center: [x, y, z], radius: r}, wall: {center: …, size: [a, b, c], rpy: …}}``

    Raises:
        InputError: the file cannot be read, or has another content.
    """
    content = read_yaml_of("obstacles", path)
    if not isinstance(content, dict) or not all(isinstance(entry, dict) for entry in content.values()):
        raise InputError("obstacles", f"{os.fspath(path)} is not a mapping of names to obstacles", path)
    return tuple(_read(str(name), dict(entry)) for name, entry in content.items())


def _read(name: str, entry: dict[str, object]) -> Obstacle:
    make = {frozenset(("center", "radius")): sphere, frozenset(("center", "size")): box}.get(frozenset(entry) - {"rpy"})
    if make is None or (make is sphere and "rpy" in entry):
        has = ", ".join(map(str, entry))
        problem = f"obstacle {name!r} has {has}; it must have center and radius, or center, size (and rpy)"
        raise InputError("obstacles", problem, entry)
    return make(name, **entry)  # type: ignore[operator]


def _array(name: str, what: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    return np.array(finite_array(f"{what} of obstacle {name!r}", values, shape))


def _lengths(name: str, what: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    lengths = _array(name, what, values, shape)
    check((lengths > 0.0).all(), f"{what} of obstacle {name!r}", "above 0", values)
    return lengths


class Capsule(NamedTuple):
    """All points within a radius of a segment."""

    link: str
    start: Array  # in the link's frame (3,) in [m]
    end: Array
    radius: float  # [m]


def capsules(robot: Robot, radius: float | None = None) -> tuple[Capsule, ...]:
    """The capsules of all bodies that move.

    Args:
        robot: the arm.
        radius: radius of a body without a known shape [m]; by :data:`RADIUS` unless given.
    """
    ends = [_ends(robot, index, body.name) for index, body in enumerate(robot.bodies)]
    if radius is None:
        longest = float(np.linalg.norm(np.concatenate(ends), axis=1).max())
        radius = min(RADIUS, SLENDERNESS * longest) or RADIUS
    elements = {str(link.get("name")): link for link in read_document(robot.urdf).root.findall("link")}
    found: list[Capsule] = []
    for body, places in zip(robot.bodies, ends, strict=True):
        own = [(link, elements[link].findall("collision") or elements[link].findall("visual")) for link in body.links]
        shapes = [_enclosing(link, tag) for link, tags in own for tag in tags]
        found += [shape for shape in shapes if shape is not None]
        if None in shapes or not shapes:
            found += [Capsule(body.name, np.zeros(3), end, radius) for end in places]
    return tuple(found)


def _enclosing(link: str, tag: ET.Element) -> Capsule | None:
    """The capsule around a shape; None for a mesh."""
    solid = read_solid(tag)
    if solid is None:
        return None
    axis = int(np.argmax(solid.half)) if solid.kind == "box" else 2
    across = np.delete(solid.half, axis)
    radius = float(np.linalg.norm(across)) if solid.kind == "box" else across[0]
    length = solid.half[axis] - (radius if solid.kind in ("sphere", "capsule") else 0.0)
    middle, along = solid.pose.translation, length * solid.pose.rotation[:, axis]
    return Capsule(link, middle - along, middle + along, radius)


def _ends(robot: Robot, index: int, name: str) -> list[Array]:
    """The places of a body's child joints, and of the frames that are fixed to it, in its frame (3,) in [m]."""
    ends = [body.placement.translation for body in robot.bodies if body.parent == index]
    ends += [link.pose.translation for link in robot.links if link.body == index and link.name != name]
    return [end for end in ends if np.linalg.norm(end) > 1e-6] or [np.zeros(3)]


class ClearancePair(NamedTuple):
    """A link and an obstacle, by their names."""

    link: str
    obstacle: str

    def __str__(self) -> str:
        return f"distance of {self.link!r} from {self.obstacle!r}"


class Clearance:
    """Distances of the arm from obstacles.

    Attributes:
        pairs: the pair of each row of ``distances``; a pair has a row for each ball that covers a capsule.
        distances: q (n,) → distances (m,) in [m], below 0 where bodies and obstacles overlap.
        smoothing: what the distances are too small by at most [m].
    """

    def __init__(self, robot: Robot, capsules: Sequence[Capsule], obstacles: Sequence[Obstacle]) -> None:
        """
        Args:
            robot: the arm.
            capsules: the arm's bodies.
            obstacles: obstacles in the root link's frame.
        """
        sizes = [each.radius if isinstance(each, Sphere) else float(each.size.min()) / 2.0 for each in obstacles]
        self.smoothing = SMOOTHING * (min(capsule.radius for capsule in capsules) + min(sizes))
        q, tree = ca.SX.sym("q", robot.n), build_tree(robot)
        rows: list[ca.SX] = []
        self.pairs: list[ClearancePair] = []
        for capsule in capsules:
            link, ends = robot.link(capsule.link), (capsule.start, capsule.end)
            start, end = (placed(tree, link, q, ca.SX(ca.DM(at))).position for at in ends)
            for obstacle in obstacles:
                if isinstance(obstacle, Sphere):
                    found = [self._sphere(start, end, capsule, obstacle)]
                else:
                    points, radius = _cover(capsule)
                    centers = (start + s * (end - start) for s in points)
                    found = [self._box(center, obstacle) - radius for center in centers]
                rows += found
                self.pairs += [ClearancePair(capsule.link, obstacle.name)] * len(found)
        self.distances = ca.Function("clearance", [q], [ca.vertcat(*rows)])

    def nearest(self, q: np.ndarray) -> tuple[float, ClearancePair, int]:
        """Least distance [m] over positions (K, n), its pair, and the index of its position."""
        distances = np.array(self.distances(np.atleast_2d(q).T))
        row, column = np.unravel_index(int(np.argmin(distances)), distances.shape)
        return float(distances[row, column]), self.pairs[int(row)], int(column)

    def _sphere(self, start: ca.SX, end: ca.SX, capsule: Capsule, obstacle: Sphere) -> ca.SX:
        center = ca.DM(obstacle.center)
        along, to = end - start, center - start
        square = float(np.sum((capsule.end - capsule.start) ** 2))
        ratio = ca.fmin(1.0, ca.fmax(0.0, ca.dot(to, along) / square)) if square > 0.0 else 0.0
        return self._norm(to - ratio * along) - (capsule.radius + obstacle.radius)

    def _box(self, point: ca.SX, obstacle: Box) -> ca.SX:
        """Signed distance of a point from a box."""
        beyond = ca.fabs(ca.DM(obstacle.rotation).T @ (point - ca.DM(obstacle.center))) - ca.DM(obstacle.size / 2.0)
        return self._norm(ca.fmax(beyond, 0.0)) + ca.fmin(ca.mmax(beyond), 0.0)

    def _norm(self, vector: ca.SX) -> ca.SX:
        """Length, smooth at 0, and not above the true one."""
        return ca.sqrt(ca.sumsqr(vector) + self.smoothing**2) - self.smoothing


def _cover(capsule: Capsule) -> tuple[list[float], float]:
    """Ratios of the segment at which the balls' centres lie, and their radius [m]."""
    length = float(np.linalg.norm(capsule.end - capsule.start))
    radius = (1.0 + COVER) * max(capsule.radius, THINNEST * length)
    gap = 2.0 * np.sqrt(radius**2 - capsule.radius**2)
    count = int(np.ceil(length / gap)) + 1 if length > 0.0 else 1
    return np.linspace(0.0, 1.0, count).tolist(), radius
