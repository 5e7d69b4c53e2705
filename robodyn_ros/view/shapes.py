"""The shapes of a URDF's links, its ``<visual>`` tags with every default applied, and the files of their meshes."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlparse

from urdf_parser_py import urdf

from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.description import read_document
from robodyn_ros.robot.pose import Pose
from robodyn_ros.view.marks import Color

Packages = Callable[[str], str | None]
"""Name of a package → its share folder, or None."""

GREY: Color = (0.6, 0.6, 0.62, 1.0)
"""Colour of the shapes to which the URDF gives none."""


class Shape(NamedTuple):
    """One ``<visual>``."""

    link: str
    pose: Pose  # of the shape in the link's frame
    kind: Literal["box", "cylinder", "sphere", "mesh"]
    size: tuple[float, ...]  # box: lengths; cylinder: radius, length along z; sphere: radius; mesh: scale [m]
    mesh: str  # file or URI of a mesh, else empty
    color: Color


def read_shapes(robot: Robot) -> tuple[Shape, ...]:
    """The shapes of a robot, in the order of its URDF.

    Raises:
        RobotDescriptionError: a ``<visual>`` is not what the specification asks for.
    """
    root = read_document(robot.urdf).root
    palette = {str(m.get("name")): m for m in root.findall("material")}
    return tuple(
        _shape(robot, str(link.get("name")), visual, palette)
        for link in root.findall("link")
        for visual in link.findall("visual")
    )


def _shape(robot: Robot, link: str, visual: ET.Element, palette: dict[str, ET.Element]) -> Shape:
    own = visual.find("material")
    named = palette.get(str(own.get("name"))) if own is not None and own.find("color") is None else own
    try:
        color = _color(named)
        plain = _plain(visual, 3)
        plain[:] = [child for child in plain if child.tag != "material"]  # read above; textures may lack their file
        parsed = urdf.Visual.from_xml_string(ET.tostring(plain))
    except Exception as cause:  # urdf_parser_py raises AssertionError, KeyError, its own ParseError and bare Exceptions
        raise robot.description_error(f"link {link!r}", f"<visual> cannot be parsed: {cause}") from cause
    origin = parsed.origin
    pose = Pose() if origin is None else Pose.from_xyz_rpy(origin.xyz or (0, 0, 0), origin.rpy or (0, 0, 0))
    shape = parsed.geometry
    if isinstance(shape, urdf.Box):
        return Shape(link, pose, "box", tuple(shape.size), "", color)
    if isinstance(shape, urdf.Cylinder):
        return Shape(link, pose, "cylinder", (shape.radius, shape.length), "", color)
    if isinstance(shape, urdf.Sphere):
        return Shape(link, pose, "sphere", (shape.radius,), "", color)
    if isinstance(shape, urdf.Mesh):
        return Shape(link, pose, "mesh", tuple(shape.scale or (1.0, 1.0, 1.0)), shape.filename, color)
    raise robot.description_error(f"link {link!r}", "<visual> has no box, cylinder, sphere or mesh")


def _plain(element: ET.Element, depth: int) -> ET.Element:
    """A copy down to a depth, without the prefixed names of other programs, which urdf_parser_py cannot read."""
    copy = ET.Element(element.tag, {name: value for name, value in element.items() if ":" not in name})
    if depth:
        copy.extend(_plain(child, depth - 1) for child in element if ":" not in child.tag)
    return copy


def _color(material: ET.Element | None) -> Color:
    color = None if material is None else material.find("color")
    if color is None:
        return GREY
    red, green, blue, opacity = (float(word) for word in color.get("rgba", "").split())
    return red, green, blue, opacity


def ros_package_path(package: str) -> str | None:
    """The folder of a package, below one of the folders in the variable ``ROS_PACKAGE_PATH``."""
    for folder in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
        for path in (Path(folder) / package, Path(folder) if Path(folder).name == package else None):
            if path is not None and path.is_dir():
                return str(path)
    return None


def mesh_path(resource: str, packages: Packages = ros_package_path) -> Path:
    """The path of a mesh.

    Args:
        resource: ``package://name/path``, ``file:///path``, or a path.
        packages: function that finds packages.

    Raises:
        RobotDescriptionError: the package is not found, or the file is not there.
    """
    parts = urlparse(resource)
    if parts.scheme == "package":
        share = packages(parts.netloc)
        if share is None:
            problem = f"package {parts.netloc!r} is not found; add the folder that it lies in to ROS_PACKAGE_PATH"
            raise RobotDescriptionError(f"mesh {resource!r}", problem)
        path = Path(share) / unquote(parts.path).lstrip("/")
    else:
        path = Path(unquote(parts.path)) if parts.scheme == "file" else Path(resource)
    if not path.is_file():
        raise RobotDescriptionError(f"mesh {resource!r}", f"there is no file {str(path)!r}")
    return path
