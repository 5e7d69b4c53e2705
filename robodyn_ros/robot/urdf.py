# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""URDF → Robot. (:mod:`robodyn_ros.robot.mjcf` converts an MJCF to a URDF first.)

Defaults are those of the URDF specification (http://wiki.ros.org/urdf/XML and urdfdom's urdf.xsd): origin and rpy zero,
axis (1, 0, 0), position limits 0 where ``<limit>`` leaves one out, multiplier 1, no ``<inertial>`` = massless.
Some values that the specification requires may be absent here:

* no ``<limit>`` on a revolute or prismatic joint, or no effort or velocity in it, or 0 or -1: no limit is known,
  infinity; 1e16 or more, in any limit: likewise;
* lower = upper = 0 on a joint that moves: likewise;
* no ``acceleration``, ``deceleration`` or ``jerk`` in it (URDF 1.2; any version of the URDF may have them): no limit is
  known, infinity; no deceleration beside an acceleration: that holds for both;
* no ``<inertia>``, or zeros: a point mass.

The XML passes three steps: :func:`~robodyn_ros.robot.description.read_document` reads it; this module reduces it to the
tags and attributes that describe the dynamics, and checks that names and numbers are complete; urdf_parser_py parses
the result. All other tags of a URDF (``<visual>``, ``<gazebo>``, ``<transmission>``, ``<ros2_control>``) are dropped,
so that urdf_parser_py neither fails nor prints because of them. Tags and attributes that the specification does not
have are dropped as well, and one finding lists them.
"""

from __future__ import annotations

import math
import os
import re
import warnings
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from urdf_parser_py import urdf

from robodyn_ros.errors import ConfigurationError, RobotDescriptionError, RobotDescriptionWarning, check_type, is_it
from robodyn_ros.robot.description import UrdfDocument, UrdfEditor, UrdfElement, line_of, read_document, title_of
from robodyn_ros.robot.mjcf import CONSTRAINT, REMARK
from robodyn_ros.robot.pose import MOMENTS, Array, Pose, read_only
from robodyn_ros.robot.robot import Finding, Inertial, Joint, JointType, Mimic, Robot
from robodyn_ros.robot.tree import build_robot, check_inertial, nearest_possible
from robodyn_ros.settings import NONE, CheckedSettings, names

IMPERFECTIONS = {
    "impossible_inertia": "a physically impossible inertia is used unchanged",
    "repaired_inertia": "the nearest possible inertia replaces it",
    "movable_base": "a floating or planar joint is welded",
    "closed_loops": "parts outside the tree of joints are left out",
}
"""Imperfection that a description may have → the way in which it is accepted."""

ACCEPTED = f"imperfections of the description that are accepted: {'; '.join(map(': '.join, IMPERFECTIONS.items()))}"
"""Description of the setting that names them."""

NOT_KNOWN = (0.0, -1.0)
"""Values that URDFs have for an effort or velocity limit that is not known."""

UNLIMITED = 1e16
"""A limit from this number on is none: a URDF has no word for infinity, and so SDF's programs write this number, others
the greatest one of 32 or 64 bits."""

ARMATURE = "armature"
"""Attribute of ``<dynamics>`` for the inertia of the motor's rotor; the specification has no place for it."""

LIMITS = ("lower", "upper", "velocity", "effort")
"""Attributes of ``<limit>`` that urdf_parser_py knows."""

MOTION_LIMITS = ("acceleration", "deceleration", "jerk")
"""Attributes of ``<limit>`` since URDF 1.2; urdf_parser_py does not know them."""

TYPES: tuple[JointType, ...] = ("revolute", "continuous", "prismatic", "fixed")
"""The joint types that an arm can have here."""

MOVABLE = ("floating", "planar", "ball")
"""The joint types of a movable base, which can be welded; only an MJCF has the last one."""

REMEDY = (
    "accept 'repaired_inertia' to take the nearest possible one, or 'impossible_inertia' to take it as it is; "
    "'robodyn check ARM --repair FILE' writes a corrected URDF"
)
"""The remedies for a URDF with an impossible inertia."""


@dataclass(frozen=True)
class _Tag:
    """The attributes and children that a tag must have or may have; all other attributes are dropped.

    ``defaults`` are for attributes that urdf_parser_py requires and this package does not. ``elsewhere`` has the
    attributes and the children (as ``<tag>``) that the specification has and the dynamics do not need.
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    defaults: dict[str, str] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()


def _tags(*names: str) -> tuple[str, ...]:
    return tuple(f"<{name}>" for name in names)


_ORIGIN = _Tag(optional=("xyz", "rpy"))

_OTHERS = _tags(CONSTRAINT, REMARK, "material", "sensor", "transmission", "gazebo", "ros2_control", "mujoco")
"""Tags of the robot that the dynamics do not need; the specification leaves the last ones to other programs."""

_SCHEMA = {
    "robot": _Tag(("name",), elsewhere=("version", "xmlns", *_OTHERS)),
    "robot/link": _Tag(required=("name",), elsewhere=("type", *_tags("visual", "collision"))),
    "robot/link/inertial": _Tag(children=("mass",)),
    "robot/link/inertial/origin": _ORIGIN,
    "robot/link/inertial/mass": _Tag(required=("value",)),
    "robot/link/inertial/inertia": _Tag(optional=tuple(MOMENTS), defaults=dict.fromkeys(MOMENTS, "0")),
    "robot/joint": _Tag(
        required=("name", "type"),
        children=("parent", "child"),
        elsewhere=_tags("calibration", "safety_controller"),
    ),
    "robot/joint/origin": _ORIGIN,
    "robot/joint/parent": _Tag(required=("link",)),
    "robot/joint/child": _Tag(required=("link",)),
    "robot/joint/axis": _Tag(optional=("xyz",), defaults={"xyz": "1 0 0"}),
    "robot/joint/limit": _Tag(optional=(*LIMITS, *MOTION_LIMITS), defaults={"velocity": "inf", "effort": "inf"}),
    "robot/joint/dynamics": _Tag(optional=("damping", "friction", ARMATURE)),
    "robot/joint/mimic": _Tag(required=("joint",), optional=("multiplier", "offset")),
}

_TOLD = re.compile(rf"\s*<(?:{CONSTRAINT}|{REMARK}) [^>]*/>")
"""A tag of :mod:`robodyn_ros.robot.mjcf` for the reader, as it is written there."""

_WORDS = {"name", "type", "link", "joint"}

_VECTORS = {"xyz", "rpy"}

_BOUNDS = {*LIMITS, *MOTION_LIMITS}


@dataclass(frozen=True)
class DescriptionSettings(CheckedSettings):
    """Reactions to a URDF that does not describe an arm exactly."""

    accept: tuple[str, ...] = names((NONE,), ACCEPTED)

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        known = (*IMPERFECTIONS, NONE)
        for name in self.accept:
            if name not in known:
                raise ConfigurationError(f"accept: {name!r} is none of {', '.join(known)}{is_it(name, known)}")
        if {"impossible_inertia", "repaired_inertia"} <= {*self.accept}:
            raise ConfigurationError("accept: an impossible_inertia cannot be a repaired_inertia too; name one of them")


def load_robot(source: str | os.PathLike[str], *, accept: Sequence[str] = ()) -> Robot:
    """The robot that a URDF or an MJCF describes.

    Args:
        source: path of a file, or its XML as a string: a URDF, or an MJCF where MuJoCo is installed. A path of a .xacro
            file can have arguments behind it (``arm.urdf.xacro name:=value``). The name of an arm of this package, or
            of the package ``robot_descriptions``, is accepted as well.
        accept: imperfections that are accepted with a warning; any other is refused. ``repaired_inertia``: an inertia
            that no body can have, on a link that moves, is replaced by the nearest possible one
            (:func:`~robodyn_ros.robot.tree.nearest_possible`), also in ``Robot.urdf``. ``impossible_inertia``: it is
            taken as it is, because M may be positive definite nevertheless. ``movable_base``: a ``floating`` or
            ``planar`` joint at the base (in an MJCF a ``free`` or ``ball`` joint) is welded. ``closed_loops``: closed
            loops, tendons and springs of an MJCF are left out, and a joint that mimics a missing one moves by itself.

    Warns:
        RobotDescriptionWarning: for each inertia that is impossible or was repaired, each joint that was welded, each
            constraint that was ignored, and a robot without a name, which gets that of the file.

    Raises:
        RobotDescriptionError: it cannot be read or does not describe an arm; the message names the link or joint, and
            the error carries file and line.
        InputError: source is neither a path nor a string.
        ConfigurationError: ``accept`` has an unknown name, or names that exclude each other.
    """
    robot = build(read_document(source), DescriptionSettings(tuple(accept)))
    for text in robot.warnings:
        warnings.warn(text, RobotDescriptionWarning, stacklevel=2)
    return robot


def as_robot(given: object) -> Robot:
    """The robot that a caller gives: itself, or that of a URDF, read by :func:`load_robot`.

    Raises:
        RobotDescriptionError: the URDF cannot be read or does not describe an arm.
        InputError: it is neither a robot nor a path.
    """
    expected = "a Robot, which load_robot makes of a URDF, or the URDF's path"
    check_type("robot", given, (Robot, str, os.PathLike), expected)
    return given if isinstance(given, Robot) else load_robot(given)  # type: ignore[arg-type]


def reload_robot(urdf: str | UrdfDocument) -> Robot:
    """The robot of the text in :attr:`Robot.urdf`; it was accepted before, so there are no warnings."""
    document = urdf if isinstance(urdf, UrdfDocument) else read_document(urdf)
    return build(document, DescriptionSettings(("impossible_inertia", "closed_loops")))


def build(document: UrdfDocument, settings: DescriptionSettings = DescriptionSettings()) -> Robot:
    """The robot that a URDF describes, from its tree.

    Raises:
        RobotDescriptionError: it does not describe an arm; see :func:`load_robot`.
    """
    try:
        parts = _Parts(document, settings)
        root = _valid(document)
        with np.errstate(all="ignore"):  # an overflow gives inf or nan, which build_robot reports
            links = {link.attrib["name"]: parts.link(link) for link in root.findall("link")}
            joints = tuple(parts.joint(joint) for joint in root.findall("joint"))
            robot = build_robot(document.root.attrib["name"], links, joints, parts.text())
        findings = tuple(parts.findings(robot))
    except RobotDescriptionError as problem:
        if problem.place is None:
            problem.place = document.places.get(problem.element)
        raise
    return replace(robot, places=document.places, findings=findings)


def repair(document: UrdfDocument) -> tuple[str, tuple[Finding, ...]]:
    """The text of a URDF with the nearest possible inertia in place of each impossible one, and the list of changes.

    Raises:
        RobotDescriptionError: a link or joint is not complete, or a number is invalid.
    """
    parts = _Parts(document, DescriptionSettings(("repaired_inertia",)))
    for link in _valid(document).findall("link"):
        parts.link(link)
    changes = [Finding("warning", title, None, text) for title, text in parts.repaired.items()]
    return parts.text(), tuple(changes)


def _valid(document: UrdfDocument) -> ET.Element:
    """The result of :func:`read_elements`, if there is no problem; else the first one is raised."""
    root, problems = read_elements(document)
    for problem in problems:
        raise problem
    return root


def read_elements(document: UrdfDocument) -> tuple[ET.Element, list[RobotDescriptionError]]:
    """A copy of a URDF with the tags and attributes that describe the dynamics, and all problems of their form.

    A number that is invalid has its default in the copy, or is left out; what the URDF lacks is left out too.
    """
    problems = [] if document.objection is None else [document.objection]
    root = document.root
    title = title_of(root) if root.get("name") else document.label
    copy = UrdfElement("robot", _known_attributes(_SCHEMA["robot"], root, "", title, problems))
    for element in root:
        path = f"robot/{element.tag}"
        if path in _SCHEMA:
            title = title_of(element) if element.get("name") else _unnamed(element)
            copy.append(_reduced(path, element, title, problems))
    return copy, problems


def _unknown(path: str, element: ET.Element) -> Iterator[str]:
    """Attributes and children that ``_SCHEMA`` does not have, at any depth; tags with a prefix are not URDF's."""
    tag = _SCHEMA.get(path)
    if tag is None:
        return
    for name in element.attrib:
        if name not in (*tag.required, *tag.optional, *tag.elsewhere) and ":" not in name:
            yield f"{name} of <{element.tag}>"
    for child in element:
        inside = f"{path}/{child.tag}"
        if inside not in _SCHEMA and f"<{child.tag}>" not in tag.elsewhere and ":" not in child.tag:
            yield f"<{child.tag}> in <{element.tag}>"
        elif path != "robot":
            yield from _unknown(inside, child)


def _unnamed(element: ET.Element) -> str:
    """Name in messages of an element that has none."""
    line = line_of(element)
    return f"{element.tag} without a name" if line is None else f"{element.tag} at line {line}"


def _reduced(path: str, element: ET.Element, title: str, problems: list[RobotDescriptionError]) -> ET.Element:
    """A copy with the tags and attributes in ``_SCHEMA`` only, and with the defaults filled in.

    The problems get a missing required part, a part that occurs twice, and an invalid number.
    """
    tag = _SCHEMA[path]
    where = "" if path.count("/") < 2 else f"<{element.tag}> "
    copy = UrdfElement(element.tag, tag.defaults | _known_attributes(tag, element, where, title, problems))
    copy.line = line_of(element)
    children = [child for child in element if f"{path}/{child.tag}" in _SCHEMA]
    there = Counter(child.tag for child in children)
    wrong = [f"has no <{required}>" for required in tag.children if required not in there]
    wrong += [f"has more than one <{name}>" for name, count in there.items() if count > 1]
    problems += (RobotDescriptionError(title, where + problem) for problem in wrong)
    copy.extend([_reduced(f"{path}/{child.tag}", child, title, problems) for child in children])
    return copy


def _known_attributes(
    tag: _Tag, element: ET.Element, where: str, title: str, problems: list[RobotDescriptionError]
) -> dict[str, str]:
    """The attributes of an element that its tag knows, without invalid numbers."""
    wrong = [f"has no {name}" for name in tag.required if not element.get(name)]
    kept: dict[str, str] = {}
    for name, value in element.items():
        if name in tag.optional or (name in tag.required and value):
            problem = _attribute_problem(name, value)
            wrong += [f"{name}={value!r} {problem}"] if problem else []
            kept |= {name: value} if not problem or name in _WORDS else {}
    problems += (RobotDescriptionError(title, where + problem) for problem in wrong)
    return kept


def _attribute_problem(name: str, text: str) -> str:
    """The problem of an attribute; empty if there is none."""
    if "${" in text or "$(" in text:
        return "is unresolved; run xacro on the file first"
    if name in _WORDS:
        return ""
    words, count = text.split(), 3 if name in _VECTORS else 1
    if len(words) != count:
        return f"must be {count} number{'s' * (count > 1)}"
    remedy = "; leave it out where there is no limit" if name in _BOUNDS and "inf" in text.lower() else ""
    return "" if all(map(_is_number, words)) else f"is not a finite number{remedy}"


def _is_number(word: str) -> bool:
    # Python reads 0_5 as 5, and digits of all scripts. In a URDF these are mistakes, and ROS does not read them.
    try:
        return word.isascii() and "_" not in word and math.isfinite(float(word))
    except ValueError:
        return False


class _Parts:
    """Makes the links and joints, and records the changes to them.

    Attributes:
        repaired: name in messages of a link → how its inertia was changed.
    """

    def __init__(self, document: UrdfDocument, settings: DescriptionSettings) -> None:
        self.repaired: dict[str, str] = {}
        self._document, self._settings = document, settings
        self._constraints = document.root.findall(CONSTRAINT)
        self._remarks = document.root.findall(REMARK)
        self._impossible: dict[str, RobotDescriptionError] = {}
        self._welded: list[str] = []
        self._freed: dict[str, str] = {}
        self._names: set[str] = set()
        self._joint_names = {joint.get("name") for joint in document.root.findall("joint")}
        self._is_unnamed = document.file is not None and not document.root.get("name")
        if self._is_unnamed and document.objection is None:
            name = re.sub(r"[^\w.-]", "_", Path(document.label).stem)
            document.root.set("name", name)
            self._editor.name_robot(name)

    @cached_property
    def _editor(self) -> UrdfEditor:
        return UrdfEditor(self._document.text)

    def text(self) -> str:
        """The text of the URDF, with the changes and without the constraints and remarks of an MJCF."""
        is_changed = self.repaired or self._welded or self._freed or self._is_unnamed
        text = self._editor.text() if is_changed else self._document.text
        return _TOLD.sub("", text) if self._constraints or self._remarks else text

    def link(self, element: ET.Element) -> Inertial | None:
        """The inertial of a link in the link's frame, possible or as it is accepted."""
        title, name, read = title_of(element), element.attrib["name"], own_inertial(element)
        if name in self._names:
            raise RobotDescriptionError(title, "there is another link of this name")
        self._names.add(name)
        if read is None:
            return None
        own, pose = read
        try:
            check_inertial(title, own)
        except RobotDescriptionError as problem:
            self._impossible[title] = problem
            if "repaired_inertia" in self._settings.accept:
                own, before = nearest_possible(own), own
                if not np.isfinite(own.inertia).all():
                    raise RobotDescriptionError(title, f"{problem.problem}; the nearest is no number") from problem
                self.repaired[title] = _change(problem, before, own)
                self._editor.set_moments(name, own)
        return own.seen_from(pose)

    def joint(self, element: ET.Element) -> Joint:
        """A joint; the settings may weld one at a movable base, and free one that mimics a missing joint."""
        title = title_of(element)
        is_movable = element.get("type") in MOVABLE
        if is_movable and self._moves(element):
            raise RobotDescriptionError(title, f"{_not_supported(element)}; only a joint at the base can be welded")
        if is_movable and "movable_base" in self._settings.accept:
            element.set("type", "fixed")
            self._editor.weld(element.attrib["name"])
            self._welded.append(title)
            return _joint(title, element)
        joint = _joint(title, element)
        if joint.mimic is not None and joint.mimic.joint not in self._joint_names:
            text = f"mimics joint {joint.mimic.joint!r}, which does not exist"
            if "closed_loops" not in self._settings.accept:
                raise RobotDescriptionError(title, f"{text}; accept 'closed_loops' to have it move by itself")
            self._editor.free(joint.name)
            self._freed[title] = text
            joint = replace(joint, mimic=None)
        return joint

    def _moves(self, joint: ET.Element) -> bool:
        """Whether a joint before this one moves it."""
        before, parent = {_link_of(each, "child"): each for each in self._document.root.findall("joint")}, joint
        while (found := before.pop(_link_of(parent, "parent"), None)) is not None:
            parent = found
            if parent.get("type") not in (*MOVABLE, "fixed"):
                return True
        return False

    def findings(self, robot: Robot) -> Iterator[Finding]:
        """The findings of the repairs and changes that were made.

        Raises:
            RobotDescriptionError: an impossible inertia on a link that moves, where it is to be refused.
        """
        lines = {title_of(element): line_of(element) for element in self._document.root}
        yield from self._of_constraints()
        yield from self._of_unknown()
        for each in self._remarks:
            yield Finding("warning", each.get("element", ""), None, each.get("problem", ""))
        if self._is_unnamed:
            text = "has no name in the URDF, which ROS refuses; that of the file is taken"
            yield Finding("warning", title_of(self._document.root), line_of(self._document.root), text)
        for title, text in self._freed.items():
            yield Finding("warning", title, lines[title], f"{text}; it moves by itself")
        for title in self._welded:
            yield Finding("warning", title, lines[title], "is welded: the base does not move")
        yield from self._of_inertias(robot, lines)

    def _of_constraints(self) -> Iterator[Finding]:
        """The constraints that a tree of joints cannot have, which are ignored."""
        things = len(self._constraints)
        for element in self._constraints:
            title, text = element.get("element", ""), element.get("problem", "")
            if "closed_loops" not in self._settings.accept:
                others = f" (it is one of {things} such constraints)" if things > 1 else ""
                text = f"{text}, which a tree of joints does not have{others}; accept 'closed_loops' to leave it out"
                raise RobotDescriptionError(title, text)
            yield Finding("warning", title, None, f"{text}, which is ignored")

    def _of_unknown(self) -> Iterator[Finding]:
        """Parts that the specification does not have, in one finding for all of them."""
        first: dict[str, ET.Element] = {}
        root = self._document.root
        for element in (root, *root):
            for what in _unknown(f"robot/{element.tag}" if element is not root else "robot", element):
                first.setdefault(what, element)
        if first:
            lines = {what: line_of(element) for what, element in first.items()}
            told = (what if lines[what] is None else f"{what} (line {lines[what]})" for what in first)
            text = f"has tags or attributes that no URDF has, which are ignored: {', '.join(told)}"
            yield Finding("warning", title_of(root), min(filter(None, lines.values()), default=None), text)

    def _of_inertias(self, robot: Robot, lines: dict[str, int | None]) -> Iterator[Finding]:
        """Impossible inertias, and the reaction to each."""
        moving = {f"link {link.name!r}" for link in robot.links if link.body >= 0}
        count = len(moving & self._impossible.keys())
        for title, problem in self._impossible.items():
            text = problem.problem
            if title not in moving:
                text += "; the link does not move, so this has no effect"
            elif not {"impossible_inertia", "repaired_inertia"} & {*self._settings.accept}:
                more = f" (it is one of {count} links with such an inertia)" if count > 1 else ""
                raise RobotDescriptionError(title, f"{text}{more}. {REMEDY}")
            text = self.repaired.get(title, text)
            yield Finding("warning" if title in moving else "note", title, lines[title], text)


def _change(problem: RobotDescriptionError, before: Inertial, after: Inertial) -> str:
    """How an inertial was repaired."""
    moments = (", ".join(f"{m:.4g}" for m in np.linalg.eigvalsh(each.inertia)) for each in (before, after))
    text = f"repaired: principal moments {' → '.join(moments)} kg m²"
    if before.mass != after.mass:
        text += f", mass {before.mass:g} → {after.mass:g} kg"
    return f"{text}; {problem.problem}"


def own_inertial(link: ET.Element) -> tuple[Inertial, Pose] | None:
    """A link's inertial in its own frame, possible or not, and the pose of that frame in the link; None without one.

    Args:
        link: as :func:`read_elements` gives it.

    Raises:
        RobotDescriptionError: urdf_parser_py cannot parse it.
    """
    inertial, element = _parsed(urdf.Link, link).inertial, link.find("inertial")
    if element is None:
        return None
    inertia = np.zeros((3, 3)) if inertial.inertia is None else inertial.inertia.to_matrix()
    return Inertial(inertial.mass, read_only(np.zeros(3)), read_only(inertia)), pose_of(element)


def _parsed(kind: Any, element: ET.Element) -> Any:
    """The element, parsed by urdf_parser_py's class for it."""
    try:
        return _from_xml(kind, ET.tostring(element))
    except Exception as cause:  # it raises AssertionError, KeyError, its own ParseError and bare Exceptions
        raise RobotDescriptionError(title_of(element), f"cannot be parsed: {cause}") from cause


@lru_cache(maxsize=512)
def _from_xml(kind: Any, text: bytes) -> Any:
    """The result of urdf_parser_py for a text; it is never changed, and few parts of an arm vary."""
    return kind.from_xml_string(text)


def pose_of(element: ET.Element) -> Pose:
    """The pose that the ``<origin>`` of an element gives; what is missing or invalid in it is 0."""
    origin = element.find("origin")
    kept = {} if origin is None else _known_attributes(_ORIGIN, origin, "", "", [])
    xyz, rpy = ([float(word) for word in kept.get(name, "0 0 0").split()] for name in ("xyz", "rpy"))
    return Pose.from_xyz_rpy(xyz, rpy)


def _joint(title: str, element: ET.Element) -> Joint:
    kind = next((kind for kind in TYPES if kind == element.get("type")), None)
    if kind is None:
        # urdf_parser_py would let floating and planar pass.
        remedy = "; accept 'movable_base' to weld it" if element.get("type") in MOVABLE else ""
        raise RobotDescriptionError(title, _not_supported(element) + remedy)
    extra = _taken(element, "dynamics", (ARMATURE,)) | _taken(element, "limit", MOTION_LIMITS)
    parsed = _parsed(urdf.Joint, element)
    joint = Joint(parsed.name, kind, parsed.parent, parsed.child, pose_of(element))
    if kind == "fixed":
        # Exporters leave zero axes, limits and the like on joints that they fix.
        return joint
    axis, losses = _axis(title, parsed.axis), extra.pop(ARMATURE, 0.0)
    values = _limits(title, parsed) | _friction(title, parsed.dynamics, losses) | _motion_limits(title, extra)
    return replace(joint, axis=axis, mimic=_mimic(parsed.mimic), **values)


def _link_of(joint: ET.Element, tag: str) -> str | None:
    end = joint.find(tag)
    return None if end is None else end.get("link")


def _not_supported(joint: ET.Element) -> str:
    return f"type {joint.get('type')!r} is not supported; it must be one of {', '.join(TYPES)}"


def _axis(title: str, xyz: list[float] | None) -> Array:
    axis = np.array([1.0, 0.0, 0.0] if xyz is None else xyz)
    greatest = np.abs(axis).max()
    if greatest == 0.0:
        raise RobotDescriptionError(title, "axis is zero and has no direction")
    axis = axis / greatest  # so that squares neither underflow nor overflow
    return read_only(axis / np.linalg.norm(axis))


def _limits(title: str, parsed: Any) -> dict[str, Any]:
    """The limits of position, velocity and effort that are known."""
    if parsed.limit is None:
        return {}
    limit = {name: limit_of(getattr(parsed.limit, name)) for name in LIMITS}
    for name in ("velocity", "effort"):
        if limit[name] < 0.0 and limit[name] not in NOT_KNOWN:
            text = f"{name} limit {limit[name]:g} is negative; leave it out, or give 0, if it is not known"
            raise RobotDescriptionError(title, text)
    found = {name: limit[name] for name in ("velocity", "effort") if limit[name] not in NOT_KNOWN}
    lower, upper = limit["lower"], limit["upper"]
    if parsed.type == "continuous" or lower == upper == 0.0:
        return found
    if lower > upper:
        raise RobotDescriptionError(title, f"lower limit {lower:g} is above the upper limit {upper:g}")
    return found | {"lower": lower, "upper": upper}


def limit_of(value: float) -> float:
    """A limit; infinity in place of :data:`UNLIMITED` and more."""
    return float(value) if abs(value) < UNLIMITED else math.copysign(math.inf, value)


def _motion_limits(title: str, given: dict[str, float]) -> dict[str, Any]:
    """The limits of acceleration, deceleration and jerk that are known."""
    for name, value in given.items():
        if value <= 0.0:
            text = f"{name} limit {value:g} is not above 0; leave it out if it is not known"
            raise RobotDescriptionError(title, text)
    both = {"deceleration": given["acceleration"]} if "acceleration" in given else {}
    return {name: limit_of(value) for name, value in (both | given).items()}


def _taken(element: ET.Element, tag: str, names: tuple[str, ...]) -> dict[str, float]:
    """Attributes of a child that urdf_parser_py does not know and must not get."""
    child = element.find(tag)
    return {} if child is None else {name: float(child.attrib.pop(name)) for name in names if name in child.attrib}


def _friction(title: str, dynamics: Any, armature: float) -> dict[str, Any]:
    """The damping, the friction and the rotor's inertia."""
    found = {name: getattr(dynamics, name, None) or 0.0 for name in ("damping", "friction")}
    for name, value in found.items():
        if value < 0.0:
            raise RobotDescriptionError(title, f"{name} {value:g} is negative and would drive the arm")
    if armature < 0.0:
        raise RobotDescriptionError(title, f"{ARMATURE} {armature:g} is negative, and no rotor has that inertia")
    return found | {ARMATURE: armature}


def _mimic(parsed: Any) -> Mimic | None:
    if parsed is None:
        return None
    multiplier = 1.0 if parsed.multiplier is None else parsed.multiplier
    return Mimic(parsed.joint, multiplier, parsed.offset or 0.0)
