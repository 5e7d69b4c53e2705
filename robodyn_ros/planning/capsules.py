"""The arm's bodies as capsules: a segment and a radius each, which enclose what the URDF draws.

Each ``<collision>`` of a link, or each ``<visual>`` where it has none, becomes one capsule along its longest axis.
A mesh, or a body without any shape, becomes one from its joint to the next (to the frames fixed to it).
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import NamedTuple

import numpy as np

from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, Pose

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
    elements = {str(link.get("name")): link for link in ET.fromstring(robot.urdf).findall("link")}
    found: list[Capsule] = []
    for index, body in enumerate(robot.bodies):
        shapes = [
            made
            for link in body.links
            for tag in _shapes(elements[link])
            if (made := _enclosing(link, tag)) is not None
        ]
        found += shapes or _bones(robot, index, body.name, radius)
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


def _bones(robot: Robot, index: int, name: str, radius: float) -> list[Capsule]:
    """From the body's joint to each that hangs on it, and to the frames fixed to it."""
    ends = [body.placement.translation for body in robot.bodies if body.parent == index]
    ends += [link.pose.translation for link in robot.links if link.body == index and link.name != name]
    apart = [end for end in ends if np.linalg.norm(end) > 1e-6] or [np.zeros(3)]
    return [Capsule(name, np.zeros(3), end, radius) for end in apart]


def _numbers(element: ET.Element | None, name: str) -> list[float]:
    text = "0 0 0" if element is None else element.get(name, "0 0 0")
    return [float(word) for word in text.split()]
