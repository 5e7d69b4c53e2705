# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A URDF as it is written, even if no robot can be made of it, and the findings about its links.

Findings about the links tell whether their masses and inertias are possible, and whether their mass is where their
shapes are. Bodies are compared by the radius of gyration k = √(tr I / 2 m), the root mean square distance of the mass
from its centre (tr I = 2 ∫ r² dm). No mass lies outside its link, so k is less than the distance of the farthest point;
a solid box of diagonal d has k = d / √12. Factors of a thousand are mistaken units.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.robot.description import UrdfDocument, line_of, title_of
from robodyn_ros.robot.pose import Array, Pose
from robodyn_ros.robot.robot import Finding, Inertial
from robodyn_ros.robot.shapes import read_solid
from robodyn_ros.robot.tree import check_inertial
from robodyn_ros.robot.urdf import limit_of, own_inertial, pose_of, read_elements


class UrdfLink(NamedTuple):
    """A link: its inertial in the link's frame, None without one, and the XML of its shapes."""

    name: str
    title: str  # in messages
    line: int | None  # None if another program made the URDF
    inertial: Inertial | None
    has_origin: bool
    shapes: tuple[ET.Element, ...]


class UrdfJoint(NamedTuple):
    """A joint; a value that the file lacks is None."""

    name: str
    title: str  # in messages
    line: int | None  # None if another program made the URDF
    type: str
    parent: str
    child: str
    origin: Pose
    axis: Array | None
    limits: dict[str, float] | None
    mimic: str | None

    @property
    def moves(self) -> bool:
        """True unless the joint is fixed."""
        return self.type != "fixed"


class Urdf(NamedTuple):
    """The links and joints of a URDF."""

    name: str
    links: tuple[UrdfLink, ...]
    joints: tuple[UrdfJoint, ...]


def read_urdf(document: UrdfDocument) -> tuple[Urdf, list[RobotDescriptionError]]:
    """The links and joints of a URDF, and all problems of their form.

    Args:
        document: the description; what is invalid in it is left out.
    """
    root, problems = read_elements(document)
    links = tuple(map(_link, root.findall("link"), document.root.findall("link")))
    return Urdf(document.root.get("name", ""), links, tuple(map(_joint, root.findall("joint")))), problems


def _link(element: ET.Element, whole: ET.Element) -> UrdfLink:
    """A link; its inertial is None too if its mass is missing or invalid."""
    try:
        read = own_inertial(element)
    except RobotDescriptionError:
        read = None
    inertial = None if read is None else read[0].seen_from(read[1])
    shapes = (*whole.iter("visual"), *whole.iter("collision"))
    has_origin = element.find("inertial/origin") is not None
    return UrdfLink(element.get("name", ""), title_of(element), line_of(element), inertial, has_origin, shapes)


def _joint(element: ET.Element) -> UrdfJoint:
    parts = {part.tag: part for part in element}
    limits = None
    if "limit" in parts:
        given = {name: limit_of(float(value)) for name, value in parts["limit"].items()}
        limits = {name: value for name, value in given.items() if np.isfinite(value) or name in ("lower", "upper")}
    parent, child = (parts[tag].get("link", "") if tag in parts else "" for tag in ("parent", "child"))
    return UrdfJoint(
        name=element.get("name", ""),
        title=title_of(element),
        line=line_of(element),
        type=element.get("type", ""),
        parent=parent,
        child=child,
        origin=pose_of(element),
        axis=np.array(parts["axis"].attrib["xyz"].split(), float) if "axis" in parts else None,
        limits=limits,
        mimic=parts["mimic"].get("joint", "") if "mimic" in parts else None,
    )


NO_SIZE = 1e-3
"""A link with a smaller diagonal has no size to compare with [m]."""

DENSE, THIN = 3e4, 2.0
"""Densities of a link's box beyond which a mass is wrong [kg/m³]: osmium has 2.3e4, a frame of tubes some 50."""

HEAVY = 1000.0
"""The mass of a heavier link is probably in grams [kg]."""

POINT_LIKE = 0.03
"""Radius of gyration over diagonal: a box has 0.29, a motor in a long tube 0.1."""

MARGIN = 0.1
"""Distance of a centre of mass from the shapes that is allowed, over their diagonal; motors are often not drawn."""

UNITS = {3: "g·m²", 6: "kg·mm²", 9: "g·mm²"}
"""Power of ten by which an inertia is too large → its probable unit."""

NEAR = 0.4
"""Distance from that power of ten that is allowed [-]."""

Remark = tuple[str, str]
"""Severity and text of a finding."""


class Size(NamedTuple):
    """The size of a link, as a box in the link's frame."""

    lower: Array  # (3,) in [m]
    upper: Array  # (3,) in [m]
    by_shapes: bool  # False: the box encloses its joints only

    @property
    def extent(self) -> Array:
        """Lengths of its sides (3,) in [m]."""
        return self.upper - self.lower

    @property
    def diagonal(self) -> float:
        """The longest distance in it [m]."""
        return float(np.linalg.norm(self.extent))

    def beyond(self, point: Array) -> float:
        """Distance of a point (3,) from the box [m], 0 inside.

        Args:
            point: in the link's frame (3,) [m].
        """
        return float(np.linalg.norm(np.maximum(0.0, np.maximum(self.lower - point, point - self.upper))))

    def farthest(self, point: Array) -> float:
        """Greatest distance of the box's corners from a point (3,) [m].

        Args:
            point: in the link's frame (3,) [m].
        """
        return float(np.linalg.norm(np.maximum(np.abs(self.lower - point), np.abs(self.upper - point))))


def size_of(link: UrdfLink, urdf: Urdf) -> Size | None:
    """The size of a link by its shapes, else by its joints, or None if it is too small or unknown.

    Args:
        link: the link.
        urdf: its URDF; the joints give the least extent of a mesh.
    """
    corners = [corner for solid in map(read_solid, link.shapes) if solid is not None for corner in solid.corners()]
    complete = bool(corners) and not any(shape.find("geometry/mesh") is not None for shape in link.shapes)
    if not complete:
        # A mesh is in a file of its own, which may be missing; but it extends at least from joint to joint.
        corners += [np.zeros(3), *(joint.origin.translation for joint in urdf.joints if joint.parent == link.name)]
    points = np.array(corners)
    size = Size(points.min(axis=0), points.max(axis=0), complete)
    return size if size.diagonal > NO_SIZE else None


def link_findings(urdf: Urdf, unread: Collection[str] = ()) -> Iterator[Finding]:
    """The findings about the links that move.

    Args:
        urdf: links and joints, as :func:`~robodyn_ros.cli.check.urdf.read_urdf` gives them.
        unread: titles of links whose mass is not known, because something in them is invalid.
    """
    moved = moving_links(urdf)
    turned = {joint.child for joint in urdf.joints if joint.type in ("revolute", "continuous")}
    for link in urdf.links:
        if link.inertial is not None and link.name in moved:
            size = size_of(link, urdf)
            remarks = [*_possible(link.title, link.inertial), *_mass(link.inertial.mass, size)]
            if size is not None and link.inertial.mass > 0.0:
                remarks += [*_com(link.inertial.com, size), *_inertia(link.inertial, size)]
            if link.name in turned and not link.has_origin and link.inertial.mass > 0.0:
                text = "its centre of mass is at its joint, because <inertial> has no <origin>: is it missing?"
                remarks.append(("warning", text))
            for severity, text in remarks:
                yield Finding(severity, link.title, link.line, text)  # type: ignore[arg-type]
        elif link.inertial is not None:
            for _, text in _possible(link.title, link.inertial):
                yield Finding("note", link.title, link.line, f"{text}; the link does not move, so this has no effect")
    yield from _without_mass(urdf, unread)
    yield from _placeholders([link for link in urdf.links if link.name in moved])


def moving_links(urdf: Urdf) -> set[str]:
    """Names of the links that some joint moves.

    Args:
        urdf: links and joints.
    """
    above = {joint.child: joint for joint in urdf.joints}

    def moves(name: str, seen: frozenset[str] = frozenset()) -> bool:
        joint = above.get(name)
        if joint is None or name in seen:
            return False
        return joint.moves or moves(joint.parent, seen | {name})

    return {link.name for link in urdf.links if moves(link.name)}


def _possible(title: str, inertial: Inertial) -> Iterator[Remark]:
    try:
        check_inertial(title, inertial)
    except RobotDescriptionError as problem:
        yield "error", problem.problem


def _mass(mass: float, size: Size | None) -> Iterator[Remark]:
    if mass == 0.0:
        yield "note", "has an <inertial> with mass 0"
    volume = float(np.prod(size.extent)) if size is not None and size.by_shapes else 0.0
    if volume > 0.0 and mass / volume > DENSE:
        yield "warning", f"{mass:g} kg in a box of {_litres(volume)}, heavier than any metal: is the mass in g?"
    elif mass > HEAVY:
        yield "warning", f"weighs {mass:g} kg: is that in g?"
    if volume > 0.0 and 0.0 < mass / volume < THIN:
        yield "warning", f"{mass:g} kg in a box of {_litres(volume)}, lighter than foam: are the shapes in mm?"


def _com(com: Array, size: Size) -> Iterator[Remark]:
    # If only the joints are known, the link may extend beyond them by their distance.
    allowed = MARGIN * size.diagonal + 5e-3 if size.by_shapes else size.diagonal + 0.1
    beyond = size.beyond(com)
    if beyond > allowed:
        place = ", ".join(f"{value:.3g}" for value in com)
        hint = ": is it in mm?" if beyond > 100.0 * size.diagonal else ""
        yield "warning", f"its centre of mass is at ({place}) m, {1e3 * beyond:.0f} mm outside the link{hint}"


def _inertia(inertial: Inertial, size: Size) -> Iterator[Remark]:
    k = float(np.sqrt(max(0.0, np.trace(inertial.inertia)) / (2.0 * inertial.mass)))  # 0 also if it is impossible
    if k == 0.0:
        yield "note", "has no rotational inertia: a point mass"
        return
    solid = size.diagonal / np.sqrt(12.0)
    reach = size.farthest(inertial.com) if size.by_shapes else 1.5 * size.diagonal + 0.15
    power = float(np.log10((k / solid) ** 2))
    left = k**2 - inertial.com @ inertial.com  # about the centre of mass, if the inertia is about the joint
    if size.by_shapes and k**2 > 2.5 * solid**2 and abs(left - solid**2) < 0.3 * solid**2:
        yield "warning", "its inertia looks as if taken about the joint; a URDF has it about the centre of mass"
    elif k > reach:
        hint = "".join(f": is it in {unit}?" for exponent, unit in UNITS.items() if abs(power - exponent) < NEAR)
        text = f"its inertia puts the mass {_length(k)} from its centre, but the link reaches only {_length(reach)}"
        yield "warning", f"{text}{hint}"
    elif k < POINT_LIKE * size.diagonal:
        text = f"its inertia puts the mass within {_length(k)} of its centre, in a link of {_length(size.diagonal)}"
        yield "warning", f"{text}: that is too small"


def _without_mass(urdf: Urdf, unread: Collection[str]) -> Iterator[Finding]:
    """Findings about links without mass that a joint moves."""
    links = {link.name: link for link in reversed(urdf.links)}  # of two with one name the first
    for joint in urdf.joints:
        if not joint.moves or joint.child not in links:
            continue
        welded, ahead = 0.0, [joint.child]
        while ahead and len(ahead) <= len(urdf.links):
            name = ahead.pop()
            inertial = links[name].inertial if name in links else None
            welded += inertial.mass if inertial is not None else 0.0
            welded += np.nan if name in links and links[name].title in unread else 0.0
            ahead += [other.child for other in urdf.joints if other.parent == name and not other.moves]
        if welded == 0.0:
            link = links[joint.child]
            yield Finding("warning", link.title, link.line, f"is moved by {joint.title} but has no mass")


def _placeholders(links: list[UrdfLink]) -> Iterator[Finding]:
    """Findings about links of different mass that have the same inertia."""
    groups: dict[tuple[float, ...], list[UrdfLink]] = {}
    for link in links:
        if link.inertial is not None and link.inertial.inertia.any():
            key = tuple(float(f"{moment:.4g}") for moment in np.linalg.eigvalsh(link.inertial.inertia))
            groups.setdefault(key, []).append(link)
    for moments, group in groups.items():
        masses = {float(f"{link.inertial.mass:.3g}") for link in group if link.inertial}
        if len(masses) > 1 or moments == (1.0, 1.0, 1.0):
            names = ", ".join(link.name for link in group)
            listed = " ".join(f"{moment:g}" for moment in moments)
            text = f"the inertia {listed} kg m² looks like a placeholder; it is that of {names}"
            yield Finding("warning", group[0].title, group[0].line, text)


def _length(value: float) -> str:
    return f"{1e3 * value:.3g} mm" if value < 1.0 else f"{value:.3g} m"


def _litres(volume: float) -> str:
    return f"{1e3 * volume:.3g} litres"
