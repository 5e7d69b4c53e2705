"""URDF → Robot.

Defaults are those of the URDF specification (http://wiki.ros.org/urdf/XML and urdfdom's urdf.xsd): origin and rpy zero,
axis (1, 0, 0), position limits 0 where ``<limit>`` leaves one out, multiplier 1, no ``<inertial>`` = massless.
Where the specification asks for something that the equations can do without, its absence has a meaning of its own:

* no ``<limit>`` on a revolute or prismatic joint, no effort or velocity in it: no limit is known, infinity;
* no ``<inertia>``, or zeros: a point mass.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
from urdf_parser_py import urdf

from robodyn_ros.errors import InputError, RobotDescriptionError
from robodyn_ros.robot.checks import check_finite, check_inertial, check_moves_inertia
from robodyn_ros.robot.pose import Array, Pose, read_only
from robodyn_ros.robot.robot import Inertial, Joint, JointType, Mimic, Robot
from robodyn_ros.robot.tree import build_robot

# A path or an XML string → text.

_BLANK = "\ufeff \t\r\n"  # the byte order mark that some editors write, and white space


def read_source(source: str | os.PathLike[str]) -> tuple[str, str]:
    """What to call the source in a message, and its text: a string that starts with ``<`` is the text itself.

    Raises:
        RobotDescriptionError: there is no such file, it is not text, or there is nothing in it.
        InputError: it is neither a path nor a string.
    """
    if isinstance(source, str) and source.lstrip(_BLANK).startswith("<"):
        return "robot description", _clean(source)
    if not isinstance(source, (str, os.PathLike)) or not isinstance(os.fspath(source), str):
        raise InputError("source", f"must be a path or an XML string, not {type(source).__name__}", source)
    label = os.fspath(source)
    if not label.strip(_BLANK):
        raise RobotDescriptionError("robot description", "is empty")
    try:
        text = _clean(Path(label).read_bytes().decode("utf-8"))
    except UnicodeDecodeError as cause:
        raise RobotDescriptionError(label, f"is not UTF-8 text: {cause.reason} at byte {cause.start}") from cause
    except OSError as cause:
        raise RobotDescriptionError(label, f"cannot be read: {cause.strerror}") from cause
    except ValueError as cause:  # a null character in the path
        raise RobotDescriptionError(repr(label), f"is not a path: {cause}") from cause
    if not text.strip():
        raise RobotDescriptionError(label, "is empty")
    return label, text


def _clean(text: str) -> str:
    """Without what XML forbids ahead of its declaration; blank lines stay where they do no harm, for line numbers."""
    text = text.removeprefix("\ufeff")
    bare = text.lstrip(_BLANK)
    return bare if bare.startswith("<?xml") else text


# A robot description's text, reduced to the tags and attributes that this package reads.
#
# What a URDF may say besides (``<visual>``, ``<gazebo>``, ``<transmission>``, ``<ros2_control>``, an attribute of
# somebody's own) is dropped here, so that no later reader can stumble over it or talk about it. What stays is checked
# for completeness: a missing name or number is reported with the link or joint that misses it.
#
# The text comes from users and over the network: it is read by expat, and a document type, with which XML entities
# would come (external files, exponential expansion), is refused unread.


@dataclass(frozen=True)
class _Tag:
    """What a tag must hold and may hold; an attribute in neither is dropped.

    ``defaults`` are for attributes that urdf_parser_py insists on and this package does not; see urdf.py.
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    defaults: dict[str, str] = field(default_factory=dict)


_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

_ORIGIN = _Tag(optional=("xyz", "rpy"))

_SCHEMA = {
    "robot": _Tag(required=("name",)),
    "robot/link": _Tag(required=("name",)),
    "robot/link/inertial": _Tag(children=("mass",)),
    "robot/link/inertial/origin": _ORIGIN,
    "robot/link/inertial/mass": _Tag(required=("value",)),
    "robot/link/inertial/inertia": _Tag(optional=_MOMENTS, defaults=dict.fromkeys(_MOMENTS, "0")),
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


@dataclass(frozen=True, eq=False)
class UrdfDescription:
    """A checked description: ``elements`` pairs what a message calls a link or joint with its pruned XML."""

    name: str
    elements: tuple[tuple[str, ET.Element], ...]
    text: str


def read_description(source: str | os.PathLike[str]) -> UrdfDescription:
    """Read a path or an XML string.

    Raises:
        RobotDescriptionError: it cannot be read, is not XML, or lacks something that a URDF must have.
        InputError: it is neither a path nor a string.
    """
    label, text = read_source(source)
    reader = _UrdfReader(label)
    reader.read(text)
    assert reader.root is not None  # expat has reported a document without a root
    name = f"robot {reader.root.get('name', '')!r}"
    _check("robot", reader.root, name if reader.root.get("name") else label)
    elements = []
    for element in reader.root:
        title = f"{element.tag} {element.get('name')!r}"
        if not element.get("name"):
            title = f"{element.tag} at line {reader.lines[element]}"
        _check(f"robot/{element.tag}", element, title)
        elements.append((title, element))
    return UrdfDescription(reader.root.attrib["name"], tuple(elements), text)


class _UrdfReader:
    """Builds the tree of the tags in ``_SCHEMA`` from expat's events and skips every other subtree.

    Namespaces are left alone, as robot_state_publisher's parser does: a URDF may use prefixes that it never declares.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.root: ET.Element | None = None
        self.lines: dict[ET.Element, int] = {}
        self._open: list[tuple[str, ET.Element]] = []
        self._skipped = 0
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def read(self, text: str) -> None:
        try:
            self._parser.Parse(text, True)
        except expat.ExpatError as cause:
            where = f"line {cause.lineno}, column {cause.offset + 1}"
            raise RobotDescriptionError(
                self.label, f"malformed XML at {where}: {expat.ErrorString(cause.code)}"
            ) from cause
        except UnicodeEncodeError as cause:
            raise RobotDescriptionError(self.label, "is not text: it holds half of a surrogate pair") from cause

    def _doctype(self, *_: object) -> None:
        line = self._parser.CurrentLineNumber
        raise RobotDescriptionError(self.label, f"line {line}: a document type (<!DOCTYPE>) is refused; remove it")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        if tag.startswith("xacro:"):
            raise RobotDescriptionError(self.label, f"line {line}: <{tag}> is unresolved; run xacro on the file first")
        if not self._open and tag != "robot":
            raise RobotDescriptionError(self.label, f"line {line}: the root tag is <{tag}>, a URDF's is <robot>")
        parent = self._open[-1] if self._open else None
        path = f"{parent[0]}/{tag}" if parent else tag
        if self._skipped or path not in _SCHEMA:
            self._skipped += 1
            return
        if path.endswith("/origin") and "quat_xyzw" in attributes:
            raise RobotDescriptionError(self.label, f"line {line}: quat_xyzw is not read here; use rpy")
        known = _SCHEMA[path].required + _SCHEMA[path].optional
        element = ET.Element(tag, {name: value for name, value in attributes.items() if name in known})
        self.lines[element] = line
        if parent is None:
            self.root = element
        else:
            parent[1].append(element)
        self._open.append((path, element))

    def _end(self, _: str) -> None:
        if self._skipped:
            self._skipped -= 1
        else:
            self._open.pop()


def _check(path: str, element: ET.Element, title: str) -> None:
    """Everything required is there, nothing is there twice, and every number is one; then defaults are filled in."""
    where = "" if path.count("/") < 2 else f"<{element.tag}> "
    for name in _SCHEMA[path].required:
        if not element.get(name):
            raise RobotDescriptionError(title, f"{where}has no {name}")
    for name, value in element.items():
        if "${" in value or "$(" in value:
            raise RobotDescriptionError(title, f"{where}{name}={value!r} is unresolved; run xacro on the file first")
        if name not in _WORDS:
            _check_numbers(f"{where}{name}", value, 3 if name in _VECTORS else 1, title)
    element.attrib.update({**_SCHEMA[path].defaults, **element.attrib})
    if path == "robot":
        return
    tags = [child.tag for child in element]
    for tag in _SCHEMA[path].children:
        if tag not in tags:
            raise RobotDescriptionError(title, f"{where}has no <{tag}>")
    for child in element:
        if tags.count(child.tag) > 1:
            raise RobotDescriptionError(title, f"{where}has more than one <{child.tag}>")
        _check(f"{path}/{child.tag}", child, title)


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


TYPES: tuple[JointType, ...] = ("revolute", "continuous", "prismatic", "fixed")
"""The joint types that an arm can have here."""


def load_robot(source: str | os.PathLike[str]) -> Robot:
    """The robot that a URDF describes.

    Args:
        source: path of a URDF file, or its XML as a string.

    Raises:
        RobotDescriptionError: it cannot be read or does not describe an arm; the message names the link or joint.
        InputError: source is neither a path nor a string.
    """
    description = read_description(source)
    with np.errstate(all="ignore"):  # what overflows ends as inf or nan, and check_finite reports it
        links = _links(description)
        joints = tuple(_joint(*found) for found in description.elements if found[1].tag == "joint")
        robot = build_robot(description.name, links, joints, description.text)
        check_finite(robot)
        check_moves_inertia(robot)
    return robot


def _links(description: UrdfDescription) -> dict[str, Inertial | None]:
    links: dict[str, Inertial | None] = {}
    for title, element in description.elements:
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
    """In the link's frame; the URDF gives it in a frame at the centre of mass, turned by the origin's rpy."""
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
    """Lower, upper, velocity, effort."""
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
    """Damping and friction."""
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
