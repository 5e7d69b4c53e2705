"""URDF → Robot.

Defaults are those of the URDF specification (http://wiki.ros.org/urdf/XML and urdfdom's urdf.xsd): origin and rpy zero,
axis (1, 0, 0), position limits 0 where ``<limit>`` leaves one out, multiplier 1, no ``<inertial>`` = massless.
Where the specification asks for something that the equations can do without, its absence has a meaning of its own:

* no ``<limit>`` on a revolute or prismatic joint, no effort or velocity in it: no limit is known, infinity;
* no ``<inertia>``, or zeros: a point mass.

The XML passes three steps: :func:`~robodyn_ros.robot.description.read_document` reads it; this module reduces it to the
tags and attributes that describe the dynamics, and checks that names and numbers are complete; urdf_parser_py parses
what is left. All else that a URDF may hold (``<visual>``, ``<gazebo>``, ``<transmission>``, ``<ros2_control>``,
attributes of other programs) is dropped, so that urdf_parser_py neither fails nor prints because of it.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from urdf_parser_py import urdf

from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.robot.checks import check_inertial
from robodyn_ros.robot.description import MOMENTS, UrdfDocument, line_of, read_document, title_of
from robodyn_ros.robot.pose import Array, Pose, read_only
from robodyn_ros.robot.robot import Inertial, Joint, JointType, Mimic, Robot
from robodyn_ros.robot.tree import build_robot

TYPES: tuple[JointType, ...] = ("revolute", "continuous", "prismatic", "fixed")
"""The joint types that an arm can have here."""


@dataclass(frozen=True)
class _Tag:
    """The attributes and children that a tag must have or may have; all other attributes are dropped.

    ``defaults`` are for attributes that urdf_parser_py requires and this package does not.
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    defaults: dict[str, str] = field(default_factory=dict)


_ORIGIN = _Tag(optional=("xyz", "rpy"))

_SCHEMA = {
    "robot": _Tag(required=("name",)),
    "robot/link": _Tag(required=("name",)),
    "robot/link/inertial": _Tag(children=("mass",)),
    "robot/link/inertial/origin": _ORIGIN,
    "robot/link/inertial/mass": _Tag(required=("value",)),
    "robot/link/inertial/inertia": _Tag(optional=tuple(MOMENTS), defaults=dict.fromkeys(MOMENTS, "0")),
    "robot/joint": _Tag(required=("name", "type"), children=("parent", "child")),
    "robot/joint/origin": _ORIGIN,
    "robot/joint/parent": _Tag(required=("link",)),
    "robot/joint/child": _Tag(required=("link",)),
    "robot/joint/axis": _Tag(optional=("xyz",), defaults={"xyz": "1 0 0"}),
    "robot/joint/limit": _Tag(
        optional=("lower", "upper", "velocity", "effort"), defaults={"velocity": "inf", "effort": "inf"}
    ),
    "robot/joint/dynamics": _Tag(optional=("damping", "friction")),
    "robot/joint/mimic": _Tag(required=("joint",), optional=("multiplier", "offset")),
}

_WORDS = {"name", "type", "link", "joint"}

_VECTORS = {"xyz", "rpy"}


def load_robot(source: str | os.PathLike[str]) -> Robot:
    """The robot that a URDF describes.

    Args:
        source: path of a URDF file, or its XML as a string.

    Raises:
        RobotDescriptionError: it cannot be read or does not describe an arm; the message names the link or joint, and
            the error carries file and line.
        InputError: source is neither a path nor a string.
    """
    return build(read_document(source))


def build(document: UrdfDocument) -> Robot:
    """The robot that a URDF describes, from its tree.

    Raises:
        RobotDescriptionError: it does not describe an arm; see :func:`load_robot`.
    """
    try:
        elements = _validated(document)
        with np.errstate(all="ignore"):  # what overflows ends as inf or nan, and build_robot reports it
            links = _links(elements)
            joints = tuple(_joint(title, element) for title, element in elements if element.tag == "joint")
            name = document.root.attrib["name"]
            robot = replace(build_robot(name, links, joints, document.text), places=document.places)
    except RobotDescriptionError as problem:
        if problem.place is None:
            problem.place = document.places.get(problem.element)
        raise
    return robot


def _validated(document: UrdfDocument) -> tuple[tuple[str, ET.Element], ...]:
    """Name in messages and element of each link and joint, reduced and checked."""
    if document.objection is not None:
        raise document.objection
    root, found = document.root, []
    _reduced("robot", root, title_of(root) if root.get("name") else document.label)
    for element in root:
        path = f"robot/{element.tag}"
        if path in _SCHEMA:
            title = title_of(element) if element.get("name") else f"{element.tag} at line {line_of(element)}"
            found.append((title, _reduced(path, element, title)))
    return tuple(found)


def _reduced(path: str, element: ET.Element, title: str) -> ET.Element:
    """A copy with the tags and attributes in ``_SCHEMA`` only, and with the defaults filled in.

    Raises:
        RobotDescriptionError: something required is missing, something is there twice, or a number is none.
    """
    tag = _SCHEMA[path]
    kept = {name: value for name, value in element.items() if name in tag.required + tag.optional}
    where = "" if path.count("/") < 2 else f"<{element.tag}> "
    for name in tag.required:
        if not kept.get(name):
            raise RobotDescriptionError(title, f"{where}has no {name}")
    for name, value in kept.items():
        if "${" in value or "$(" in value:
            raise RobotDescriptionError(title, f"{where}{name}={value!r} is unresolved; run xacro on the file first")
        if name not in _WORDS:
            _check_numbers(f"{where}{name}", value, 3 if name in _VECTORS else 1, title)
    copy = ET.Element(element.tag, {**kept, **{n: v for n, v in tag.defaults.items() if n not in kept}})
    if path == "robot":
        return copy
    children = [child for child in element if f"{path}/{child.tag}" in _SCHEMA]
    tags = [child.tag for child in children]
    for required in tag.children:
        if required not in tags:
            raise RobotDescriptionError(title, f"{where}has no <{required}>")
    for child in children:
        if tags.count(child.tag) > 1:
            raise RobotDescriptionError(title, f"{where}has more than one <{child.tag}>")
        copy.append(_reduced(f"{path}/{child.tag}", child, title))
    return copy


def _check_numbers(what: str, text: str, count: int, title: str) -> None:
    words = text.split()
    if len(words) != count:
        raise RobotDescriptionError(title, f"{what}={text!r} must be {count} number{'s' * (count > 1)}")
    for word in words:
        try:
            # Python reads 0_5 as 5; nobody who wrote it into a URDF meant that.
            number = math.nan if "_" in word else float(word)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise RobotDescriptionError(title, f"{what}={text!r} is not a finite number")


def _links(elements: tuple[tuple[str, ET.Element], ...]) -> dict[str, Inertial | None]:
    links: dict[str, Inertial | None] = {}
    for title, element in elements:
        if element.tag == "link":
            parsed = _parsed(urdf.Link, title, element)
            if parsed.name in links:
                raise RobotDescriptionError(title, "there is another link of this name")
            links[parsed.name] = None if parsed.inertial is None else _inertial(title, parsed.inertial)
    return links


def _parsed(kind: Any, title: str, element: ET.Element) -> Any:
    """The element, parsed by urdf_parser_py's class for it."""
    try:
        return kind.from_xml_string(ET.tostring(element))
    except Exception as cause:  # it raises AssertionError, KeyError, its own ParseError and bare Exceptions
        raise RobotDescriptionError(title, f"cannot be parsed: {cause}") from cause


def _pose(origin: Any) -> Pose:
    if origin is None:
        return Pose()
    return Pose.from_xyz_rpy(origin.xyz or (0.0, 0.0, 0.0), origin.rpy or (0.0, 0.0, 0.0))


def _inertial(title: str, parsed: Any) -> Inertial:
    """The inertial in the link's frame; the URDF gives it in a frame at the centre of mass, turned by the rpy."""
    inertia = np.zeros((3, 3)) if parsed.inertia is None else parsed.inertia.to_matrix()
    inertial = Inertial(parsed.mass, read_only(np.zeros(3)), read_only(inertia))
    check_inertial(title, inertial)
    return inertial.seen_from(_pose(parsed.origin))


def _joint(title: str, element: ET.Element) -> Joint:
    kind = next((kind for kind in TYPES if kind == element.get("type")), None)
    if kind is None:
        # urdf_parser_py would let floating and planar pass.
        raise RobotDescriptionError(
            title, f"type {element.get('type')!r} is not supported; it must be one of {', '.join(TYPES)}"
        )
    parsed = _parsed(urdf.Joint, title, element)
    joint = Joint(parsed.name, kind, parsed.parent, parsed.child, _pose(parsed.origin))
    if kind == "fixed":
        # Exporters leave zero axes, limits and the like on joints that they fix.
        return joint
    lower, upper, velocity, effort = _limits(title, parsed)
    damping, friction = _friction(title, parsed.dynamics)
    return replace(
        joint,
        axis=_axis(title, parsed.axis),
        lower=lower,
        upper=upper,
        velocity=velocity,
        effort=effort,
        damping=damping,
        friction=friction,
        mimic=_mimic(parsed.mimic),
    )


def _axis(title: str, xyz: list[float] | None) -> Array:
    axis = np.array([1.0, 0.0, 0.0] if xyz is None else xyz)
    greatest = np.abs(axis).max()
    if greatest == 0.0:
        raise RobotDescriptionError(title, "axis is zero and has no direction")
    axis = axis / greatest  # so that squares neither underflow nor overflow
    return read_only(axis / np.linalg.norm(axis))


def _limits(title: str, parsed: Any) -> tuple[float, float, float, float]:
    """The limits lower, upper, velocity and effort."""
    if parsed.limit is None:
        return -np.inf, np.inf, np.inf, np.inf
    limit = parsed.limit
    for name in ("velocity", "effort"):
        if getattr(limit, name) < 0.0:
            raise RobotDescriptionError(title, f"{name} limit {getattr(limit, name):g} is negative")
    if parsed.type == "continuous":
        return -np.inf, np.inf, limit.velocity, limit.effort
    lower, upper = float(limit.lower), float(limit.upper)
    if lower > upper:
        raise RobotDescriptionError(title, f"lower limit {lower:g} is above the upper limit {upper:g}")
    return lower, upper, limit.velocity, limit.effort


def _friction(title: str, dynamics: Any) -> tuple[float, float]:
    """The damping and the friction."""
    if dynamics is None:
        return 0.0, 0.0
    damping, friction = dynamics.damping or 0.0, dynamics.friction or 0.0
    for name, value in (("damping", damping), ("friction", friction)):
        if value < 0.0:
            raise RobotDescriptionError(title, f"{name} {value:g} is negative and would drive the arm")
    return damping, friction


def _mimic(parsed: Any) -> Mimic | None:
    if parsed is None:
        return None
    multiplier = 1.0 if parsed.multiplier is None else parsed.multiplier
    return Mimic(parsed.joint, multiplier, parsed.offset or 0.0)
