# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The text of a URDF: read once, to a tree of XML elements with their places in the text, and edited in place.

Every reader of a URDF uses this tree: the model (:mod:`robodyn_ros.robot.urdf`), :class:`UrdfEditor`, the shapes of the
viewer and of the planner, and ``robodyn check``.

The text comes from users and over the network. It is read by expat. A document type is refused before it is read,
because it can define XML entities (external files, exponential expansion). The cost of reading is linear in the number
of bytes, whatever the depth. Namespaces are left alone, as robot_state_publisher's parser does: a URDF may use prefixes
that it never declares. (A parser that knows namespaces, such as lxml, refuses those files.)
"""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from robodyn_ros.errors import InputError, Place, RobotDescriptionError, is_it
from robodyn_ros.files import folders, read_bytes, similar
from robodyn_ros.robot import mjcf, xacro
from robodyn_ros.robot.pose import MOMENTS, Pose
from robodyn_ros.robot.robot import Inertial

TEXT = "robot description"
"""Name in messages of a URDF that does not come from a file."""

DEEPEST = 64
"""Elements nested deeper than this are skipped: no reader looks below ``robot/link/visual/geometry/mesh``."""

LONGEST = 60
"""Number of characters that a message quotes of a file that does not describe a robot."""

_NAME = re.compile(r"\w{1,100}")
"""Pattern of an arm's name: no path, no file extension."""

_BLANK = "\ufeff \t\r\n"  # the byte order mark that some editors write, and white space

_ORIGINS = ("robot/link/inertial/origin", "robot/joint/origin")
"""Paths of the origins that the model reads."""


_DEFINITIONS = ("xacro:property", "xacro:arg", "xacro:macro")
"""Tags of xacro that add nothing to a URDF by themselves; other programs leave them in the file."""


_UNREAD = {"xacro:macro", "gazebo", "transmission", "ros2_control"}
"""Tags whose content no reader uses."""


class UrdfElement(ET.Element):
    """An XML element with the place of its opening tag.

    Attributes:
        line: its line in the file, from 1; None if xacro or MuJoCo made the text, so that no user has it.
        start: its first byte in the text as UTF-8.
    """

    line: int | None = None
    start: int


def line_of(element: ET.Element) -> int | None:
    """The line of an element of a URDF, from 1; None if no user has the text."""
    return element.line if isinstance(element, UrdfElement) else None


@dataclass(frozen=True, eq=False)
class UrdfDocument:
    """A URDF that is well-formed XML.

    Attributes:
        label: name of the source in messages: the path as given, or :data:`TEXT`.
        file: the path as given, or None if the source is the text itself.
        text: the XML.
        root: its root element.
        objection: the first reason, if any, why this package cannot read the XML as a URDF.
    """

    label: str
    file: str | None
    text: str
    root: UrdfElement
    objection: RobotDescriptionError | None

    @cached_property
    def places(self) -> dict[str, Place]:
        """Name in messages of the robot, a link or a joint → file and line; empty if there is no file.

        If two elements have the same name, this is the place of the later one, because the later one is the mistake.
        """
        if self.file is None:
            return {}
        elements = [self.root, *self.root.findall("link"), *self.root.findall("joint")]
        return {title_of(element): Place(self.file, line_of(element)) for element in elements}


def title_of(element: ET.Element) -> str:
    """Name of an element in messages, for example ``joint 'shoulder'``."""
    return f"{element.tag} {element.get('name', '')!r}"


def read_document(source: str | os.PathLike[str]) -> UrdfDocument:
    """Read a description of an arm; an MJCF, whose root tag is ``<mujoco>``, becomes a URDF.

    Args:
        source: the XML itself, if it starts with ``<``; the path of a file, where one that ends in ``.xacro`` is
            expanded, with its arguments behind the path (``arm.urdf.xacro name:=value``); or the name of an arm, of
            this package or of the package ``robot_descriptions``.

    Raises:
        RobotDescriptionError: there is no such file, it is empty or not text, or it is not XML; xacro or MuJoCo fails;
            the message names the file.
        InputError: source is neither a path nor a string.
    """
    if isinstance(source, str) and source.lstrip(_BLANK).startswith("<"):
        return _parsed(TEXT, None, source)
    if not isinstance(source, (str, os.PathLike)) or not isinstance(os.fspath(source), str):
        raise InputError("source", f"must be a path or an XML string, not {type(source).__name__}", source)
    file, arguments = xacro.split_arguments(os.fspath(source))
    if not file.strip(_BLANK):
        raise RobotDescriptionError(TEXT, "is empty")
    if _NAME.fullmatch(file) and not Path(file).is_file():
        file, arguments = _named(file, arguments)
    if file.endswith(".xacro"):
        return _Parser(file, file, is_made=True).read(xacro.expand(file, arguments))
    if arguments:
        raise RobotDescriptionError(file, f"takes no arguments ({', '.join(arguments)}): it is no .xacro file")
    try:
        text = read_bytes(file).decode("utf-8")
    except UnicodeDecodeError as cause:
        raise RobotDescriptionError(file, f"is not UTF-8 text: {cause.reason} at byte {cause.start}") from cause
    except OSError as cause:
        raise RobotDescriptionError(file, f"cannot be read: {cause.strerror}") from cause
    except ValueError as cause:  # a null character in the path
        raise RobotDescriptionError(repr(file), f"is not a path: {cause}") from cause
    if not text.removeprefix("\ufeff").strip():
        raise RobotDescriptionError(file, "is empty")
    return _parsed(file, file, text)


def _parsed(label: str, file: str | None, text: str) -> UrdfDocument:
    """The document of a URDF or an MJCF."""
    if mjcf.is_mjcf(text):
        return _Parser(label, file, is_made=True).read(mjcf.to_urdf(label, text, file))
    return _Parser(label, file).read(text)


def _named(name: str, arguments: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The file of an arm of this package or of ``robot_descriptions``, and the arguments of that file.

    Raises:
        RobotDescriptionError: there is no arm of this name; the message lists those of this package.
    """
    own = {path.stem: path for folder in folders() for path in sorted(folder.glob("urdf/*.urdf"))}
    if name in own:
        return str(own[name]), arguments
    others = ""
    if find_spec("robot_descriptions") is not None:
        try:
            module = import_module(f"robot_descriptions.{name}")
        except ModuleNotFoundError:
            others = ", and none of the package robot_descriptions"
        except Exception as cause:  # it clones a repository
            raise RobotDescriptionError(name, f"robot_descriptions cannot get it: {cause}") from cause
        else:
            for attribute in ("URDF_PATH", "XACRO_PATH", "MJCF_PATH"):
                if hasattr(module, attribute):
                    path, given = str(getattr(module, attribute)), getattr(module, f"{attribute[:-5]}_ARGS", None)
                    return path, {**(given or {}), **arguments}
    others += is_it(name, own) or similar(f"{name}.urdf")
    found = "Is a directory" if Path(name).is_dir() else "No such file"
    problem = f"cannot be read: {found}, no arm of this package ({', '.join(sorted(own))}){others}"
    raise RobotDescriptionError(name, problem)


class _Parser:
    """Builds the tree from expat's events.

    Args:
        label: name of the source in messages.
        file: the path as given, or None.
        is_made: True if another program made the text, so that its line numbers are of no use to a user.
    """

    def __init__(self, label: str, file: str | None, *, is_made: bool = False) -> None:
        self._label = label
        self._file = file
        self._is_made = is_made
        self._tree: Any = ET.TreeBuilder(UrdfElement)  # of which typeshed says that it makes no UrdfElement
        self._path: list[str] = []
        self._objection: RobotDescriptionError | None = None
        self._expat = expat.ParserCreate()
        self._expat.StartDoctypeDeclHandler = self._doctype
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end

    def read(self, text: str) -> UrdfDocument:
        text, self._skipped = _without_blank(text)
        try:
            self._expat.Parse(text, True)
        except expat.ExpatError as cause:
            where = f"line {cause.lineno + self._skipped}, column {cause.offset + 1}"
            begin = text.strip()[:LONGEST].splitlines()[0]
            problem = f"malformed XML at {where}: {expat.ErrorString(cause.code)}"
            if not begin.startswith("<"):  # such as the pointer that Git LFS leaves in place of a file
                problem = f"is no XML: it begins with {begin!r}"
            raise self._objection or self._error(problem, cause.lineno) from cause
        except UnicodeEncodeError as cause:
            raise RobotDescriptionError(self._label, "is not text: it holds half of a surrogate pair") from cause
        return UrdfDocument(self._label, self._file, text, self._tree.close(), self._objection)

    def _doctype(self, root: str, *_: object) -> NoReturn:
        # A server that lacks the file sends a page with <!DOCTYPE html>.
        raise self._error_here(f"a document type (<!DOCTYPE {root[:LONGEST]}>) is refused: a URDF has none")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._path.append(tag)
        if len(self._path) <= DEEPEST:
            element = self._tree.start(tag, attributes)
            element.line = None if self._is_made else self._expat.CurrentLineNumber + self._skipped
            element.start = self._expat.CurrentByteIndex
        self._objection = self._objection or self._objection_to(tag, attributes)

    def _objection_to(self, tag: str, attributes: dict[str, str]) -> RobotDescriptionError | None:
        if tag.startswith("xacro:") and tag not in _DEFINITIONS and _UNREAD.isdisjoint(self._path[:DEEPEST]):
            return self._error_here(f"<{tag}> is unresolved; run xacro on the file first")
        if len(self._path) == 1 and tag != "robot":
            return self._error_here(f"the root tag is <{tag}>, a URDF's is <robot>")
        if "quat_xyzw" in attributes and "/".join(self._path[:5]) in _ORIGINS:
            return self._error_here("quat_xyzw is not read here; use rpy")
        return None

    def _end(self, tag: str) -> None:
        if len(self._path) <= DEEPEST:
            self._tree.end(tag)
        self._path.pop()

    def _error_here(self, problem: str) -> RobotDescriptionError:
        line = self._expat.CurrentLineNumber
        return self._error(problem if self._is_made else f"line {line + self._skipped}: {problem}", line)

    def _error(self, problem: str, line: int) -> RobotDescriptionError:
        place = None if self._file is None else Place(self._file, None if self._is_made else line + self._skipped)
        return RobotDescriptionError(self._label, problem, place)


def _without_blank(text: str) -> tuple[str, int]:
    """The text without the characters that XML forbids before its declaration, and the number of lines removed."""
    text = text.removeprefix("\ufeff")
    bare = text.lstrip(_BLANK)
    if bare.startswith("<?xml"):
        return bare, text[: len(text) - len(bare)].count("\n")
    return text, 0


_OPENING = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")

_ATTRIBUTE = re.compile(r"""([^\s=]+)(\s*=\s*)("[^"]*"|'[^']*')""")


class UrdfEditor:
    """A URDF with other numbers; all other bytes stay the same. It gathers changes, and :meth:`text` makes them.

    Only opening tags whose attributes change are rewritten, in place; a missing tag is inserted. Comments, unknown
    tags, the order of elements and white space stay.
    """

    def __init__(self, urdf: str) -> None:
        """
        Args:
            urdf: the XML of a URDF.

        Raises:
            RobotDescriptionError: it is not XML.
        """
        self._document = document = read_document(urdf)
        self._bytes = document.text.encode()
        self._root = document.root
        self._named = {(child.tag, child.get("name")): child for child in document.root}
        self._changes: dict[ET.Element, dict[str, str]] = {}
        self._removed: set[ET.Element] = set()

    def find(self, tag: str, name: str) -> ET.Element | None:
        """The ``link`` or ``joint`` of a name, or None if there is none; :meth:`set` changes it."""
        return self._named.get((tag, name))

    def child(self, element: ET.Element, tag: str) -> ET.Element:
        """The first child with a tag; a new one if there is none."""
        found = element.find(tag)
        return ET.SubElement(element, tag) if found is None else found

    def set(self, element: ET.Element, attribute: str, value: str) -> None:
        """Give an attribute of an element another value, which needs no escaping."""
        element.set(attribute, value)
        self._changes.setdefault(element, {})[attribute] = value

    def set_inertial(self, link: str, inertial: Inertial) -> None:
        """Give a link another inertial; it keeps the axes that the URDF gives the inertia in."""
        own = self.child(self._named["link", link], "inertial")
        origin = self.child(own, "origin")
        roll, pitch, yaw = map(float, origin.get("rpy", "0 0 0").split())
        axes = Pose.from_xyz_rpy((0.0, 0.0, 0.0), (roll, pitch, yaw)).rotation
        self.set(origin, "xyz", mjcf.numbers_text(inertial.com))
        self.set_moments(link, replace(inertial, inertia=axes.T @ inertial.inertia @ axes))

    def set_moments(self, link: str, inertial: Inertial) -> None:
        """Give a link another mass and another inertia, in the axes that the URDF gives the inertia in."""
        own = self.child(self._named["link", link], "inertial")
        mass, moments = self.child(own, "mass"), self.child(own, "inertia")
        if float(mass.get("value", "nan")) != inertial.mass:
            self.set(mass, "value", repr(float(inertial.mass)))
        for name, place in MOMENTS.items():
            self.set(moments, name, repr(float(inertial.inertia[place])))

    def weld(self, joint: str, origin: Pose | None = None) -> None:
        """Make a joint a fixed one, with another origin if one is given."""
        element = self._named["joint", joint]
        self.set(element, "type", "fixed")
        if origin is not None:
            for name, values in (("xyz", origin.translation), ("rpy", origin.rpy)):
                self.set(self.child(element, "origin"), name, mjcf.numbers_text(values))

    def name_robot(self, name: str) -> None:
        """Give the robot a name, which needs no escaping."""
        self.set(self._root, "name", name)

    def free(self, joint: str) -> None:
        """Have a joint mimic no other."""
        mimic = self._named["joint", joint].find("mimic")
        assert mimic is not None
        self._removed.add(mimic)

    def set_dynamics(self, joint: str, name: str, value: float) -> None:
        """Give a joint another ``armature``, ``damping`` or ``friction``.

        urdfdom, which ROS uses, refuses a tag with neither of the last two.
        """
        dynamics = self.child(self._named["joint", joint], "dynamics")
        self.set(dynamics, name, repr(float(value)))
        if {"damping", "friction"}.isdisjoint(dynamics.keys()):
            self.set(dynamics, "damping", "0.0")

    def document(self) -> UrdfDocument:
        """The URDF with all changes, as a document, so that the text need not be read again."""
        return replace(self._document, text=self.text())

    def text(self) -> str:
        """The XML with all changes."""
        parts, at = [], 0
        for element in self._root.iter():
            added = [child for child in element if not isinstance(child, UrdfElement)]
            is_changed = added or element in self._changes or element in self._removed
            if not (is_changed and isinstance(element, UrdfElement)):
                continue
            match = _OPENING.match(self._bytes, element.start)
            assert match is not None  # expat has read it
            parts.append(self._bytes[at : element.start])
            at = match.end()
            if element not in self._removed:
                parts.append(self._head(element, match, added).encode())
            elif not match.group().endswith(b"/>"):
                at = self._bytes.index(b">", self._bytes.index(f"</{element.tag}".encode(), at)) + 1
        return b"".join([*parts, self._bytes[at:]]).decode()

    def _head(self, element: ET.Element, opening: re.Match[bytes], added: list[ET.Element]) -> str:
        """The opening tag with the changed attributes, and behind it the children that are added."""
        left = dict(self._changes.get(element, {}))

        def replaced(match: re.Match[str]) -> str:
            name, between, old = match.groups()
            return f"{name}{between}{old[0]}{left.pop(name)}{old[0]}" if name in left else match.group()

        head = _ATTRIBUTE.sub(replaced, opening.group().decode())
        closing = "/>" if head.endswith("/>") else ">"
        body = head[: -len(closing)]
        if left:
            body = body.rstrip() + "".join(f' {name}="{value}"' for name, value in left.items())
        if not added:
            return body + closing
        if closing == "/>":
            return f"{body.rstrip()}>{''.join(map(_written, added))}</{element.tag}>"
        space = re.match(rb"\s*", self._bytes[opening.end() :])
        assert space is not None
        return body + closing + "".join(space.group().decode() + _written(child) for child in added)


def _written(element: ET.Element) -> str:
    """The XML of an element that is added."""
    return ET.tostring(element, encoding="unicode").replace(" />", "/>")
