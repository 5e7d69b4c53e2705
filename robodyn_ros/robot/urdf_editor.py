# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A URDF with other numbers; all other bytes stay the same.

Only opening tags whose attributes change are rewritten, in place; a missing tag is inserted. Comments, unknown tags,
the order of elements and white space stay.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

from robodyn_ros.robot.description import UrdfDocument, UrdfElement, read_document
from robodyn_ros.robot.pose import MOMENTS, Array, Pose
from robodyn_ros.robot.robot import Inertial

_OPENING = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")

_ATTRIBUTE = re.compile(r"""([^\s=]+)(\s*=\s*)("[^"]*"|'[^']*')""")


class UrdfEditor:
    """Gathers changes; :meth:`text` makes them."""

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
        if found is None:
            found = UrdfElement(tag)
            element.append(found)
        return found

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
        turned: Array = axes.T @ inertial.inertia @ axes
        self.set(origin, "xyz", " ".join(map(repr, inertial.com.tolist())))
        self.set(self.child(own, "mass"), "value", repr(float(inertial.mass)))
        moments = self.child(own, "inertia")
        for name, place in MOMENTS.items():
            self.set(moments, name, repr(float(turned[place])))

    def set_moments(self, link: str, inertial: Inertial) -> None:
        """Give a link another mass and another inertia, in the axes that the URDF gives the inertia in."""
        own = self.child(self._named["link", link], "inertial")
        mass, moments = self.child(own, "mass"), self.child(own, "inertia")
        if float(mass.get("value", "nan")) != inertial.mass:
            self.set(mass, "value", repr(float(inertial.mass)))
        for name, place in MOMENTS.items():
            self.set(moments, name, repr(float(inertial.inertia[place])))

    def weld(self, joint: str) -> None:
        """Make a joint a fixed one."""
        self.set(self._named["joint", joint], "type", "fixed")

    def name_robot(self, name: str) -> None:
        """Give the robot a name, which needs no escaping."""
        self.set(self._root, "name", name)

    def free(self, joint: str) -> None:
        """Have a joint mimic no other."""
        mimic = self._named["joint", joint].find("mimic")
        assert mimic is not None
        self._removed.add(mimic)

    def set_dynamics(self, joint: str, name: str, value: float) -> None:
        """Give a joint another ``armature``, ``damping`` or ``friction``."""
        self.set(self.child(self._named["joint", joint], "dynamics"), name, repr(float(value)))

    def document(self) -> UrdfDocument:
        """The URDF with all changes, as a document, so that the text need not be read again."""
        return replace(self._document, text=self.text())

    def text(self) -> str:
        """The XML with all changes."""
        parts, at = [], 0
        for element in self._root.iter():
            added = [child for child in element if _is_new(child)]
            if _is_new(element) or not (added or element in self._changes or element in self._removed):
                continue
            assert isinstance(element, UrdfElement)
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


def _is_new(element: ET.Element) -> bool:
    return not isinstance(element, UrdfElement) or element.start < 0


def _written(element: ET.Element) -> str:
    """The XML of an element that is added."""
    inside = "".join(map(_written, element))
    head = "".join(f' {name}="{value}"' for name, value in element.items())
    return f"<{element.tag}{head}>{inside}</{element.tag}>" if inside else f"<{element.tag}{head}/>"
