"""How large a link is: by its shapes where the URDF has some that can be read, else by where its joints are."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from typing import NamedTuple

import numpy as np

from robodyn_ros.cli.check_urdf import Urdf, UrdfLink, shape_pose
from robodyn_ros.robot.pose import Array

NO_SIZE = 1e-3
"""Below this nobody can say what a link is like [m]."""


class Size(NamedTuple):
    """A box in the link's frame."""

    lower: Array  # (3,) in [m]
    upper: Array  # (3,) in [m]
    by_shapes: bool  # else only the joints are known to lie in it

    @property
    def extent(self) -> Array:
        """Lengths of its sides (3,) in [m]."""
        extent: Array = self.upper - self.lower
        return extent

    @property
    def diagonal(self) -> float:
        """The longest distance in it [m]."""
        return float(np.linalg.norm(self.extent))

    def beyond(self, point: Array) -> float:
        """How far a point (3,) lies outside [m], 0 inside."""
        return float(np.linalg.norm(np.maximum(0.0, np.maximum(self.lower - point, point - self.upper))))

    def farthest(self, point: Array) -> float:
        """The greatest distance of any of it from a point (3,) [m]."""
        return float(np.linalg.norm(np.maximum(np.abs(self.lower - point), np.abs(self.upper - point))))


def size_of(link: UrdfLink, urdf: Urdf) -> Size | None:
    """The size of a link, or None if nothing is known of it."""
    corners = [corner for shape in link.shapes for corner in _corners(shape)]
    complete = bool(corners) and not any(_is_mesh(shape) for shape in link.shapes)
    if not complete:
        # A mesh stands in a file of its own that need not be here; but it surely reaches from joint to joint.
        corners += [np.zeros(3), *(joint.origin.translation for joint in urdf.joints if joint.parent == link.name)]
    points = np.array(corners)
    size = Size(points.min(axis=0), points.max(axis=0), complete)
    return size if size.diagonal > NO_SIZE else None


def _is_mesh(shape: ET.Element) -> bool:
    return shape.find("geometry/mesh") is not None


def _corners(shape: ET.Element) -> list[Array]:
    """The corners of a box around a shape, in the link's frame; none of a mesh or of what cannot be read."""
    box, cylinder, sphere = (shape.find(f"geometry/{kind}") for kind in ("box", "cylinder", "sphere"))
    try:
        if box is not None:
            half = [float(word) / 2 for word in box.attrib["size"].split()]
        elif cylinder is not None:
            radius = float(cylinder.attrib["radius"])
            half = [radius, radius, float(cylinder.attrib["length"]) / 2]
        elif sphere is not None:
            half = [float(sphere.attrib["radius"])] * 3
        else:
            return []
    except (KeyError, ValueError):
        return []
    if len(half) != 3:
        return []
    pose = shape_pose(shape)
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    return list((signs * half) @ pose.rotation.T + pose.translation)
