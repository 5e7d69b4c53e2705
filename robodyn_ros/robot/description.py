"""A robot description's text, reduced to the tags and attributes that this package reads.

What a URDF may say besides (``<visual>``, ``<gazebo>``, ``<transmission>``, ``<ros2_control>``, an attribute of
somebody's own) is dropped here, so that no later reader can stumble over it or talk about it. What stays is checked
for completeness: a missing name or number is reported with the link or joint that misses it.

The text comes from users and over the network: it is read by expat, and a document type, with which XML entities
would come (external files, exponential expansion), is refused unread.
"""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from xml.parsers import expat

from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.robot.source import read_source


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
class Description:
    """A checked description: ``elements`` pairs what a message calls a link or joint with its pruned XML."""

    name: str
    elements: tuple[tuple[str, ET.Element], ...]
    text: str


def read_description(source: str | os.PathLike[str]) -> Description:
    """Read a path or an XML string.

    Raises:
        RobotDescriptionError: it cannot be read, is not XML, or lacks something that a URDF must have.
        InputError: it is neither a path nor a string.
    """
    label, text = read_source(source)
    reader = _Reader(label)
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
    return Description(reader.root.attrib["name"], tuple(elements), text)


class _Reader:
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
