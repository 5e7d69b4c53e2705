"""URDF → Robot.

Defaults are those of the URDF specification (http://wiki.ros.org/urdf/XML and urdfdom's urdf.xsd): origin and rpy zero,
axis (1, 0, 0), position limits 0 where ``<limit>`` leaves one out, multiplier 1, no ``<inertial>`` = massless.
Where the specification asks for something that the equations can do without, its absence has a meaning of its own:

* no ``<limit>`` on a revolute or prismatic joint, no effort or velocity in it: no limit is known, infinity;
* no ``<inertia>``, or zeros: a point mass.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
from urdf_parser_py import urdf

from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.robot.checks import check_finite, check_inertial, check_moves_inertia
from robodyn_ros.robot.description import Description, read_description
from robodyn_ros.robot.inertial import Inertial
from robodyn_ros.robot.joint import Joint, JointType, Mimic
from robodyn_ros.robot.pose import Array, Pose, read_only
from robodyn_ros.robot.robot import Robot
from robodyn_ros.robot.tree import build_robot

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


def _links(description: Description) -> dict[str, Inertial | None]:
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
