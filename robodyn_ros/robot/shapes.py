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


class Solid(NamedTuple):
    """A box, a cylinder or a capsule along z, or a sphere."""

    kind: str
    pose: Pose  # in the link's frame
    half: Array  # half the lengths of the box around it (3,) in [m]

    def corners(self) -> Array:
        """The corners of the box around it (8, 3) in the link's frame [m]."""
        return box_corners(self.pose, -self.half, self.half)


def box_corners(pose: Pose, low: Array, high: Array) -> Array:
    """The corners (8, 3) of a box with this pose, from its least and greatest coordinates (3,) there [m]."""
    return np.array(list(itertools.product(*zip(low, high, strict=True)))) @ pose.rotation.T + pose.translation


def read_solid(shape: ET.Element) -> Solid | None:
    """The box, cylinder, capsule or sphere of a ``<visual>`` or ``<collision>``; None for all else."""
    tag = shape.find("geometry/*")
    if tag is None:
        return None
    try:
        if tag.tag == "box":
            half = [float(word) / 2.0 for word in tag.attrib["size"].split()]
        elif tag.tag in ("cylinder", "capsule"):  # the length of a capsule is that of its cylinder
            radius = float(tag.attrib["radius"])
            half = [radius, radius, float(tag.attrib["length"]) / 2.0 + (radius if tag.tag == "capsule" else 0.0)]
        elif tag.tag == "sphere":
            half = [float(tag.attrib["radius"])] * 3
        else:
            return None
    except (KeyError, ValueError):
        return None
    return Solid(tag.tag, pose_of(shape), np.array(half)) if len(half) == 3 else None
