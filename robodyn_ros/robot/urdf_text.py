"""The text of a URDF, of which single attributes are changed, and to which tags are added that are missing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from robodyn_ros.robot import Inertial, Pose
from robodyn_ros.robot.pose import Array

MOMENTS = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}

_OPENING = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")

_ATTRIBUTE = re.compile(r"""([^\s=]+)(\s*=\s*)("[^"]*"|'[^']*')""")


@dataclass
class _Element:
    """A tag, and what is to become of it.

    Attributes:
        tag: its name.
        attributes: as they were.
        start, end: where the opening tag stands, in bytes of UTF-8; both -1 of one that is to be added.
        children: in order.
        changes: attributes to be set.
    """

    tag: str
    attributes: dict[str, str]
    start: int = -1
    end: int = -1
    children: list[_Element] = field(default_factory=list)
    changes: dict[str, str] = field(default_factory=dict)

    def child(self, tag: str) -> _Element:
        """The first one of that name; a new one if there is none."""
        for child in self.children:
            if child.tag == tag:
                return child
        self.children.append(_Element(tag, {}))
        return self.children[-1]

    def written(self) -> str:
        """One that is to be added."""
        inside = "".join(child.written() for child in self.children)
        head = "".join(f' {name}="{value}"' for name, value in self.changes.items())
        return f"<{self.tag}{head}>{inside}</{self.tag}>" if inside else f"<{self.tag}{head}/>"


class UrdfText:
    """Changes are gathered, and made by :meth:`text`."""

    def __init__(self, urdf: str) -> None:
        """
        Args:
            urdf: a URDF that was read without complaint.
        """
        self._bytes = urdf.encode()
        self._root = self._parsed(urdf)
        self._named = {(child.tag, child.attributes.get("name")): child for child in self._root.children}

    def set_inertial(self, link: str, inertial: Inertial) -> None:
        """Give a link another inertial; it keeps the axes that the URDF gives the inertia in."""
        own = self._named["link", link].child("inertial")
        origin = own.child("origin")
        roll, pitch, yaw = map(float, origin.attributes.get("rpy", "0 0 0").split())
        axes = Pose.from_xyz_rpy((0.0, 0.0, 0.0), (roll, pitch, yaw)).rotation
        turned: Array = axes.T @ inertial.inertia @ axes
        origin.changes["xyz"] = " ".join(map(repr, inertial.com.tolist()))
        own.child("mass").changes["value"] = repr(float(inertial.mass))
        moments = own.child("inertia").changes
        for name, place in MOMENTS.items():
            moments[name] = repr(float(turned[place]))

    def set_dynamics(self, joint: str, name: str, value: float) -> None:
        """Give a joint another ``damping`` or ``friction``."""
        self._named["joint", joint].child("dynamics").changes[name] = repr(float(value))

    def text(self) -> str:
        """With all changes."""
        parts, at = [], 0
        for element in self._changed(self._root):
            parts += [self._bytes[at : element.start], self._head(element).encode()]
            at = element.end
        return b"".join([*parts, self._bytes[at:]]).decode()

    def _changed(self, element: _Element) -> list[_Element]:
        """Those whose opening tag is written anew, in the order of the text."""
        added = any(child.start < 0 for child in element.children)
        below = [found for child in element.children if child.start >= 0 for found in self._changed(child)]
        return [element, *below] if element.changes or added else below

    def _head(self, element: _Element) -> str:
        """The opening tag with the changed attributes, and the tags that are added behind it."""
        left = dict(element.changes)

        def replaced(match: re.Match[str]) -> str:
            name, between, old = match.groups()
            return f"{name}{between}{old[0]}{left.pop(name)}{old[0]}" if name in left else match.group()

        head = _ATTRIBUTE.sub(replaced, self._bytes[element.start : element.end].decode())
        closing = "/>" if head.endswith("/>") else ">"
        body = head[: -len(closing)]
        if left:
            body = body.rstrip() + "".join(f' {name}="{value}"' for name, value in left.items())
        added = [child.written() for child in element.children if child.start < 0]
        if not added:
            return body + closing
        if closing == "/>":
            return f"{body.rstrip()}>{''.join(added)}</{element.tag}>"
        space = re.match(rb"\s*", self._bytes[element.end :])
        assert space is not None
        return body + closing + "".join(space.group().decode() + tag for tag in added)

    def _parsed(self, urdf: str) -> _Element:
        outside = _Element("", {})
        opened = [outside]
        parser = expat.ParserCreate()

        def start(tag: str, attributes: dict[str, str]) -> None:
            begin = parser.CurrentByteIndex
            head = _OPENING.match(self._bytes, begin)
            assert head is not None  # expat has just read it
            opened[-1].children.append(_Element(tag, attributes, begin, head.end()))
            opened.append(opened[-1].children[-1])

        def end(_: str) -> None:
            opened.pop()

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.Parse(urdf, True)
        return outside.children[0]
