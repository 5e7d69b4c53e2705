# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The shapes of a link that have no file: boxes, cylinders, capsules and spheres."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from typing import NamedTuple

import numpy as np

from robodyn_ros.robot.pose import Array, Pose
from robodyn_ros.robot.urdf import pose_of

SIZES = {"box": ("size",), "cylinder": ("radius", "length"), "capsule": ("radius", "length"), "sphere": ("radius",)}
"""Kind of a shape → the attributes with its numbers; the length of a capsule is that of its cylinder."""


class Solid(NamedTuple):
    """A box, a cylinder or a capsule along z, or a sphere."""

    kind: str
    pose: Pose  # in the link's frame
    size: tuple[float, ...]  # its numbers, as in the URDF [m]

    @property
    def half(self) -> Array:
        """Half the lengths of the box around it (3,) in [m]."""
        return np.array(extent(self.kind, self.size)) / 2.0

    def corners(self) -> Array:
        """The corners of the box around it (8, 3) in the link's frame [m]."""
        return box_corners(self.pose, -self.half, self.half)


def extent(kind: str, size: tuple[float, ...]) -> tuple[float, ...]:
    """Lengths of the box around a shape, along its own axes [m]; of a mesh its scale."""
    wide, long = 2.0 * size[0], size[-1]
    found = {"cylinder": (wide, wide, long), "capsule": (wide, wide, long + wide), "sphere": (wide, wide, wide)}
    return found.get(kind, size)


def box_corners(pose: Pose, low: Array, high: Array) -> Array:
    """The corners (8, 3) of a box with this pose, from its least and greatest coordinates (3,) there [m]."""
    return np.array(list(itertools.product(*zip(low, high, strict=True)))) @ pose.rotation.T + pose.translation


def read_solid(shape: ET.Element) -> Solid | None:
    """The box, cylinder, capsule or sphere of a ``<visual>`` or ``<collision>``; None for all else."""
    tag = shape.find("geometry/*")
    if tag is None or tag.tag not in SIZES:
        return None
    try:
        words = tag.attrib["size"].split() if tag.tag == "box" else [tag.attrib[name] for name in SIZES[tag.tag]]
        size = tuple(map(float, words))
    except (KeyError, ValueError):
        return None
    return Solid(tag.tag, pose_of(shape), size) if tag.tag != "box" or len(size) == 3 else None
