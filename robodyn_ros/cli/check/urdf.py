# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A URDF with its mistakes: the input of `robodyn check`, even if no robot can be made of it.

:func:`robodyn_ros.robot.load_robot` ends at the first mistake; this continues after an invalid number, and it keeps the
shapes of the links and the line of each element.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np

from robodyn_ros.robot.description import UrdfDocument, line_of, title_of
from robodyn_ros.robot.pose import MOMENTS, Array, Pose, read_only
from robodyn_ros.robot.robot import Finding, Inertial
from robodyn_ros.robot.urdf import MOTION_LIMITS

LIMITS: tuple[str, ...] = ("lower", "upper", "effort", "velocity", *MOTION_LIMITS)


@dataclass(frozen=True, eq=False)
class UrdfLink:
    """A link: its inertial in the link's frame, None without one, and the XML of its shapes."""

    name: str
    line: int | None  # None if another program made the URDF
    inertial: Inertial | None
    has_origin: bool
    shapes: tuple[ET.Element, ...]

    @property
    def title(self) -> str:
        """The name by which a message calls it."""
        return f"link {self.name!r}"


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """A joint; a value that the file lacks is None."""

    name: str
    line: int | None  # None if another program made the URDF
    type: str
    parent: str
    child: str
    origin: Pose
    axis: Array | None
    limits: dict[str, float] | None
    mimic: str | None

    @property
    def title(self) -> str:
        """The name by which a message calls it."""
        return f"joint {self.name!r}"

    @property
    def moves(self) -> bool:
        """True unless the joint is fixed."""
        return self.type != "fixed"


@dataclass(frozen=True, eq=False)
class Urdf:
    """The links and joints of a URDF, and the findings about their numbers."""

    name: str
    links: tuple[UrdfLink, ...]
    joints: tuple[UrdfJoint, ...]
    findings: tuple[Finding, ...]


def read_urdf(document: UrdfDocument) -> Urdf:
    """The links and joints of a URDF, and the findings about their numbers.

    Args:
        document: the description; an invalid number in it becomes a finding, not an error.
    """
    findings: list[Finding] = []
    reader = _Reader(findings)
    links = tuple(reader.link(element) for element in document.root.findall("link"))
    joints = tuple(reader.joint(element) for element in document.root.findall("joint"))
    return Urdf(document.root.get("name", ""), links, joints, tuple(findings))


class _Reader:
    """Reads elements; an invalid number becomes a finding."""

    def __init__(self, findings: list[Finding]) -> None:
        self._findings = findings
        self._title = ""

    def link(self, element: ET.Element) -> UrdfLink:
        name, inertial = element.get("name", ""), element.find("inertial")
        self._title = title_of(element)
        shapes = tuple(element.iter("visual")) + tuple(element.iter("collision"))
        has_origin = inertial is not None and inertial.find("origin") is not None
        return UrdfLink(name, line_of(element), self._inertial(inertial), has_origin, shapes)

    def joint(self, element: ET.Element) -> UrdfJoint:
        name, limit, axis = element.get("name", ""), element.find("limit"), element.find("axis")
        self._title = title_of(element)
        limits: dict[str, float] | None = None
        if limit is not None:
            given = [key for key in LIMITS if key in limit.attrib]
            limits = {key: value for key in given if (value := self._number(limit, key)) is not None}
        mimic = element.find("mimic")
        return UrdfJoint(
            name,
            line_of(element),
            element.get("type", ""),
            _attribute(element.find("parent"), "link"),
            _attribute(element.find("child"), "link"),
            self.pose(element.find("origin")),
            None if axis is None else self._vector(axis, "xyz", 3),
            limits,
            None if mimic is None else mimic.get("joint", ""),
        )

    def pose(self, origin: ET.Element | None) -> Pose:
        if origin is None:
            return Pose()
        xyz, rpy = self._vector(origin, "xyz", 3), self._vector(origin, "rpy", 3)
        zero = np.zeros(3)
        return Pose.from_xyz_rpy(zero if xyz is None else xyz, zero if rpy is None else rpy)  # type: ignore[arg-type]

    def _inertial(self, element: ET.Element | None) -> Inertial | None:
        if element is None or (tag := element.find("mass")) is None:
            return None
        mass, tensor = self._number(tag, "value"), element.find("inertia")
        inertia = np.zeros((3, 3))
        if tensor is not None:
            values = {key: (self._number(tensor, key) if key in tensor.attrib else 0.0) or 0.0 for key in MOMENTS}
            xx, xy, xz, yy, yz, zz = values.values()
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        own = Inertial(mass or 0.0, read_only(np.zeros(3)), read_only(inertia))
        return own.seen_from(self.pose(element.find("origin")))

    def _number(self, element: ET.Element, key: str) -> float | None:
        found = self._vector(element, key, 1)
        return None if found is None else float(found[0])

    def _vector(self, element: ET.Element, key: str, count: int) -> Array | None:
        text = element.get(key, " ".join(["0"] * count))
        try:
            values = np.array([float(word) for word in text.split()])
        except ValueError:
            values = np.array([np.nan])
        if values.shape == (count,) and np.isfinite(values).all():
            return values
        many = f"{count} finite numbers" if count > 1 else "a finite number"
        self._note(element, f"<{element.tag}> {key}={text!r} must be {many}")
        return None

    def _note(self, element: ET.Element, text: str) -> None:
        self._findings.append(Finding("error", self._title, line_of(element), text))


def _attribute(element: ET.Element | None, name: str) -> str:
    return "" if element is None else element.get(name, "")


def shape_pose(shape: ET.Element) -> Pose:
    """The pose of a ``<visual>`` or ``<collision>`` in its link's frame; the identity if it cannot be read.

    Args:
        shape: the element.
    """
    return _Reader([]).pose(shape.find("origin"))
