# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The content of a picture: marks in the root link's frame, and the shapes of the links.

RViz and the browser draw the same ones. Marks at the tool are the force that acts there, its stiffness, and walls
around it. Shapes are the ``<visual>`` tags of a URDF with every default applied, and the files of their meshes.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlparse

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.errors import RobotDescriptionError, pip_install
from robodyn_ros.robot import Array, Pose, Robot, read_document, read_only
from robodyn_ros.robot.shapes import box_corners, extent, read_solid
from robodyn_ros.robot.urdf import pose_of
from robodyn_ros.robot.xacro import find_package

Color = tuple[float, float, float, float]
"""Red, green, blue and opacity, each from 0 to 1."""


class Ball(NamedTuple):
    """A sphere or an ellipsoid."""

    layer: str
    name: str
    center: Array  # (3,) [m]
    rotation: Array  # (3, 3), axes of the ellipsoid as columns, right-handed
    radii: Array  # semi-axes (3,) [m]
    color: Color


class Arrow(NamedTuple):
    """An arrow."""

    layer: str
    name: str
    start: Array  # (3,) [m]
    end: Array  # (3,) [m]
    radius: float  # of the shaft [m]
    color: Color


class Line(NamedTuple):
    """Straight segments from point to point."""

    layer: str
    name: str
    points: Array  # (k, 3) [m], k >= 2
    width: float  # [m]
    color: Color


Mark = Ball | Arrow | Line


COLORS: dict[str, Color] = {"x": (0.9, 0.2, 0.2, 1.0), "y": (0.2, 0.7, 0.25, 1.0), "z": (0.2, 0.4, 0.95, 1.0)}
"""Axis → colour."""


def triad(layer: str, pose: Array, length: float) -> list[Arrow]:
    """A frame as three arrows: x red, y green, z blue.

    Args:
        layer: name of their layer.
        pose: pose of the frame in the root link's frame (4, 4).
        length: length of the arrows [m].
    """
    place = pose[:3, 3]
    return [
        Arrow(layer, f"{layer}.{axis}", place, place + length * pose[:3, k], 0.04 * length, color)
        for k, (axis, color) in enumerate(COLORS.items())
    ]


WRENCH, STIFFNESS, WALL = "wrench", "stiffness", "wall"

TOOL_LAYERS = (WRENCH, STIFFNESS, WALL)
"""Names of their layers."""

SHORTEST = 0.02
"""Shortest arrow of a force that is drawn, in sizes of the arm."""

STIFF = 2000.0
"""Stiffness whose semi-axis is a quarter of the arm's size [N/m]."""

GREATEST = 0.5
"""Greatest semi-axis, in sizes of the arm."""

LEAST = 0.004
"""Least semi-axis, likewise: a direction without stiffness is flat, but visible."""

WRENCH_COLOR: Color = (0.90, 0.20, 0.10, 1.0)
STIFFNESS_COLOR: Color = (0.10, 0.60, 0.55, 0.40)
WALL_COLOR: Color = (0.60, 0.35, 0.25, 0.9)


def force_arrow(place: Array, force: Array, per_metre: float, size: float) -> list[Arrow]:
    """A force as an arrow from its point of action; none if it is too small to be seen.

    Args:
        place: its point of action (3,) [m].
        force: in the root link's axes (3,) [N].
        per_metre: force of an arrow of 1 m [N/m].
        size: of the arm [m].
    """
    displacement = force / per_metre
    if np.linalg.norm(displacement) < SHORTEST * size:
        return []
    return [Arrow(WRENCH, "wrench.force", place, place + displacement, 0.012 * size, WRENCH_COLOR)]


def stiffness_ball(place: Array, axes: Array, stiffness: Array, size: float) -> Ball:
    """The translational stiffness as an ellipsoid: each semi-axis is as long as its direction is stiff.

    Args:
        place: of the tool (3,) [m].
        axes: directions of the stiffness in the root link's axes, as columns (3, 3).
        stiffness: along them (3,) [N/m].
        size: of the arm [m].
    """
    radii = size * np.clip(0.25 * stiffness / STIFF, LEAST, GREATEST)
    return Ball(STIFFNESS, "stiffness", place, axes, radii, STIFFNESS_COLOR)


def foot_on_wall(place: Array, point: Array, normal: Array) -> Array:
    """The point of a wall that is nearest to a place, (3,) [m].

    Args:
        place: of the tool (3,) [m].
        point: of the wall (3,) [m].
        normal: direction out of the wall, of any length but 0 (3,).
    """
    return place - normal * (normal @ (place - point)) / (normal @ normal)


def wall_lines(name: str, point: Array, normal: Array, size: float) -> list[Line]:
    """A wall as a square with its diagonals, and a short line out of it.

    Args:
        name: of the wall.
        point: of its surface, the middle of the square (3,) [m].
        normal: direction out of the wall, of any length but 0 (3,).
        size: of the arm, half the side of the square [m].
    """
    normal = normal / np.linalg.norm(normal)
    aside = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    aside /= np.linalg.norm(aside)
    up = np.cross(normal, aside)
    corners = [point + size * (a * aside + b * up) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    ways = {
        "edge": [*corners, corners[0]],
        "rising": [corners[0], corners[2]],
        "falling": [corners[1], corners[3]],
        "normal": [point, point + 0.1 * size * normal],
    }
    return [Line(WALL, f"{name}.{way}", np.array(points), 0.01 * size, WALL_COLOR) for way, points in ways.items()]


def box_lines(lower: Array, upper: Array, place: Array, far: float, size: float) -> list[Line]:
    """The walls of the tool's box of allowed positions, a square each; none for a side that is far away.

    Args:
        lower: least coordinates (3,) [m].
        upper: greatest coordinates (3,) [m].
        place: of the tool (3,) [m]; the squares of an open box are around it.
        far: magnitude from which on there is no wall [m].
        size: of the arm [m].
    """
    lines = []
    middle = np.where((np.abs(lower) < far) & (np.abs(upper) < far), (lower + upper) / 2.0, place)
    for bounds, side, sign in ((lower, "lower", 1.0), (upper, "upper", -1.0)):
        for axis, name in enumerate("xyz"):
            if abs(bounds[axis]) < far:
                point = middle.copy()
                point[axis] = bounds[axis]
                lines += wall_lines(f"{side}_{name}", point, sign * np.eye(3)[axis], 0.5 * size)
    return lines


GREY: Color = (0.6, 0.6, 0.62, 1.0)
"""Colour of the shapes to which the URDF gives none."""


class Shape(NamedTuple):
    """One ``<visual>``, or a part of it."""

    link: str
    pose: Pose  # of the shape in the link's frame
    kind: str  # box, cylinder, sphere or mesh
    size: tuple[float, ...]  # box: lengths; cylinder: radius, length along z; sphere: radius; mesh: scale [m]
    mesh: str  # file or URI of a mesh, else empty
    color: Color
    painted: bool = True  # the URDF gives the colour

    def corners(self, meshes: Meshes) -> Array | None:
        """The corners of the box around the shape (8, 3) in the link's frame [m]; None if its mesh cannot be read."""
        if self.kind == "mesh":
            parts = [part.vertices for part in meshes.parts(self.mesh)]
            if not parts:
                return None
            vertices = np.vstack(parts) * self.size
            low, high = vertices.min(axis=0), vertices.max(axis=0)
        else:
            high = np.array(extent(self.kind, self.size)) / 2.0
            low = -high
        return box_corners(self.pose, low, high)


def read_shapes(robot: Robot) -> tuple[Shape, ...]:
    """The shapes of a robot, in the order of its URDF. A capsule is a cylinder and two spheres.

    Raises:
        RobotDescriptionError: a ``<visual>`` does not follow the specification.
    """
    root = read_document(robot.urdf).root
    palette = {str(m.get("name")): m for m in root.findall("material")}
    return tuple(
        shape
        for link in root.findall("link")
        for visual in link.findall("visual")
        for shape in _shapes(robot, str(link.get("name")), visual, palette)
    )


def moving_shapes(robot: Robot) -> tuple[Shape, ...]:
    """As :func:`read_shapes`, those of the links that move."""
    moving = {link.name for link in robot.links if link.body >= 0}
    return tuple(shape for shape in read_shapes(robot) if shape.link in moving)


def _shapes(robot: Robot, link: str, visual: ET.Element, palette: dict[str, ET.Element]) -> Iterator[Shape]:
    """The shape of a ``<visual>``, or those that a capsule is made of."""
    own, mesh, solid = visual.find("material"), visual.find("geometry/mesh"), read_solid(visual)
    named = palette.get(str(own.get("name"))) if own is not None and own.find("color") is None else own
    try:
        look = _color(named) or GREY, _color(named) is not None
        scale = "1 1 1" if mesh is None else mesh.get("scale", "1 1 1")
        x, y, z = map(float, scale.split())
        file = "" if mesh is None else _mesh(robot, mesh.attrib["filename"])
    except (KeyError, ValueError) as cause:
        raise robot.description_error(f"link {link!r}", f"<visual> cannot be parsed: {cause}") from cause
    if mesh is not None:
        yield Shape(link, pose_of(visual), "mesh", (x, y, z), file, *look)
        return
    if solid is None:
        problem = "<visual> has no mesh, and no box, cylinder, capsule or sphere with all of its numbers"
        raise robot.description_error(f"link {link!r}", problem)
    shape = Shape(link, solid.pose, solid.kind.replace("capsule", "cylinder"), solid.size, "", *look)
    yield shape
    for side in (-0.5, 0.5) if solid.kind == "capsule" else ():
        end = shape.pose @ Pose(translation=read_only([0.0, 0.0, side * shape.size[1]]))
        yield shape._replace(pose=end, kind="sphere", size=shape.size[:1])


def _mesh(robot: Robot, name: str) -> str:
    """The file or URI of a mesh; a relative path starts at the folder of the URDF, if it was loaded from a file."""
    place = next(iter(robot.places.values()), None)
    return name if place is None or "://" in name else str((Path(place.file).resolve().parent / name).resolve())


def _color(material: ET.Element | None) -> Color | None:
    color = None if material is None else material.find("color")
    if color is None:
        return None
    red, green, blue, opacity = (float(word) for word in color.get("rgba", "").split())
    return red, green, blue, opacity


class MeshPart(NamedTuple):
    """The triangles of a mesh that have one colour."""

    vertices: Array  # (k, 3) [m]
    faces: NDArray[np.int64]  # (m, 3), indices of vertices
    color: Color  # in the file


class Meshes:
    """The files of an arm's meshes, each read once.

    Attributes:
        problems: unreadable file → reason, in a sentence without the mesh's name.
    """

    def __init__(self, near: str = "") -> None:
        """
        Args:
            near: path of the URDF; packages are searched around it too, and relative paths start at its folder.
        """
        self._near = near
        self._read: dict[str, tuple[MeshPart, ...]] = {}
        self.problems: dict[str, str] = {}

    def parts(self, resource: str) -> tuple[MeshPart, ...]:
        """The parts of a mesh, in the unit and with the colours of its file; none if it cannot be read.

        Args:
            resource: as for :func:`mesh_path`.
        """
        if resource not in self._read:
            try:
                self._read[resource] = read_mesh(mesh_path(resource, self._near))
            except RobotDescriptionError as problem:
                self._read[resource] = ()
                self.problems[resource] = problem.problem
        return self._read[resource]

    @property
    def missing(self) -> tuple[str, ...]:
        """One line for each reason why meshes cannot be drawn, with their number and the first of them."""
        lines = []
        for why, count in Counter(self.problems.values()).items():
            first = next(name for name, reason in self.problems.items() if reason == why).rpartition("/")[2]
            what = f"{count} meshes are not drawn ({first}, …)" if count > 1 else f"the mesh {first} is not drawn"
            lines.append(f"{what}: {why}")
        return tuple(lines)


def mesh_path(resource: str, near: str = "") -> Path:
    """The path of a mesh.

    Args:
        resource: ``package://name/path``, ``file:///path``, or a path.
        near: path of the URDF, as :class:`Meshes` takes it.

    Raises:
        RobotDescriptionError: the package or the file is not found.
    """
    parts = urlparse(resource)
    if parts.scheme == "package":
        try:
            share = find_package(parts.netloc, near)
        except LookupError as cause:
            raise RobotDescriptionError(f"mesh {resource!r}", str(cause)) from cause
        path = Path(share) / unquote(parts.path).lstrip("/")
    elif parts.scheme in ("", "file"):
        path = Path(unquote(parts.path) if parts.scheme else resource)
        path = path if path.is_absolute() or not near else (Path(near).resolve().parent / path).resolve()
    else:
        raise RobotDescriptionError(f"mesh {resource!r}", f"{parts.scheme}:// is no file of this machine")
    if not path.is_file():
        raise RobotDescriptionError(f"mesh {resource!r}", f"there is no such file in {path.parent}")
    return path


def read_mesh(path: Path) -> tuple[MeshPart, ...]:
    """Read a mesh, in [m]; the up axis of a Collada file is ignored, as in RViz.

    Raises:
        RobotDescriptionError: it cannot be read.
    """
    import trimesh

    if path.suffix.lower() == ".dae" and find_spec("collada") is None:
        raise RobotDescriptionError(f"mesh {str(path)!r}", f"a .dae file needs pycollada: {pip_install('pycollada')}")
    try:
        scene = trimesh.load_scene(path)
        scale = re.fullmatch(r"([0-9.eE+-]+) \* meters", scene.units or "")
        pieces: dict[Color, list[tuple[Array, NDArray[np.int64]]]] = {}
        for mesh in scene.dump():
            if isinstance(mesh, trimesh.Trimesh) and len(mesh.faces):
                triangles = np.asarray(mesh.vertices) * (float(scale[1]) if scale else 1.0), np.asarray(mesh.faces)
                pieces.setdefault(_mesh_color(mesh.visual), []).append(triangles)
    except Exception as cause:  # trimesh has many readers, each with its own exceptions
        raise RobotDescriptionError(f"mesh {str(path)!r}", f"cannot be read: {cause}") from cause
    if not pieces:
        raise RobotDescriptionError(f"mesh {str(path)!r}", "has no triangles")
    return tuple(_joined(pieces[color], color) for color in pieces)


def _mesh_color(visual: object) -> Color:
    """The main colour of a mesh by its file, grey if it has none."""
    if not getattr(visual, "defined", False):
        return GREY
    owner: Any = getattr(visual, "material", None) or visual
    red, green, blue, opacity = owner.main_color / 255.0
    return float(red), float(green), float(blue), float(opacity) or 1.0  # exporters write 0 for opaque


def _joined(pieces: list[tuple[Array, NDArray[np.int64]]], color: Color) -> MeshPart:
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in pieces)])
    faces = [faces + start for (_, faces), start in zip(pieces, starts, strict=False)]
    return MeshPart(np.concatenate([vertices for vertices, _ in pieces]), np.concatenate(faces), color)
