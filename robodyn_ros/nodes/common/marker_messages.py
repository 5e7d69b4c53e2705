# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Marks and shapes of the view → visualization_msgs/Marker, in the root link's frame."""

from __future__ import annotations

from functools import singledispatch
from pathlib import Path

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from robodyn_ros.kinematics import se3
from robodyn_ros.nodes.common.messages import to_pose
from robodyn_ros.robot.pose import Array
from robodyn_ros.view import Arrow, Ball, Line
from robodyn_ros.view.marks import Color, Mark, Shape

GHOST = 0.35
"""Opacity of the reference's ghost."""

KINDS = {
    "box": Marker.CUBE,
    "cylinder": Marker.CYLINDER,
    "sphere": Marker.SPHERE,
    "mesh": Marker.MESH_RESOURCE,
}


def to_marker(mark: Mark, frame: str, stamp: Time) -> Marker:
    """Return the marker of a mark; its namespace is the mark's layer.

    Args:
        mark: the mark.
        frame: name of the root link.
        stamp: time of the state that it belongs to.
    """
    marker = _new(frame, stamp, mark.layer, mark.color)
    _fill(mark, marker)
    return marker


def ghost(shape: Shape, pose: Array, frame: str, stamp: Time) -> Marker:
    """Return the marker of a link's shape at the reference.

    Args:
        shape: of the link.
        pose: of the link in the root link's frame (4, 4).
        frame: name of the root link.
        stamp: time of the state that it belongs to.
    """
    marker = _new(frame, stamp, "reference", (*shape.color[:3], GHOST))
    rotation = pose[:3, :3] @ shape.pose.rotation
    marker.type = KINDS[shape.kind]
    marker.pose = to_pose(se3.motion(rotation, pose[:3, :3] @ shape.pose.translation + pose[:3, 3]))
    if shape.kind == "box" or shape.kind == "mesh":
        size = shape.size
    elif shape.kind == "cylinder":
        size = (2 * shape.size[0], 2 * shape.size[0], shape.size[1])
    else:
        size = (2 * shape.size[0],) * 3
    marker.scale.x, marker.scale.y, marker.scale.z = size
    if shape.mesh:
        marker.mesh_resource = Path(shape.mesh).absolute().as_uri() if "://" not in shape.mesh else shape.mesh
    return marker


@singledispatch
def _fill(mark: object, marker: Marker) -> None:
    raise TypeError(f"{type(mark).__name__} is not a mark")


@_fill.register
def _(mark: Ball, marker: Marker) -> None:
    marker.type = Marker.SPHERE
    marker.pose = to_pose(se3.motion(mark.rotation, mark.center))
    marker.scale.x, marker.scale.y, marker.scale.z = (2.0 * float(radius) for radius in mark.radii)


@_fill.register
def _(mark: Arrow, marker: Marker) -> None:
    marker.type = Marker.ARROW
    marker.points = [_point(mark.start), _point(mark.end)]
    marker.scale.x, marker.scale.y = 2.0 * mark.radius, 4.0 * mark.radius
    marker.scale.z = min(6.0 * mark.radius, 0.5 * float(np.linalg.norm(mark.end - mark.start)))


@_fill.register
def _(mark: Line, marker: Marker) -> None:
    marker.type = Marker.LINE_STRIP
    marker.points = [_point(point) for point in mark.points]
    marker.scale.x = mark.width


def _new(frame: str, stamp: Time, namespace: str, color: Color) -> Marker:
    marker = Marker(ns=namespace, action=Marker.ADD)
    marker.header.frame_id, marker.header.stamp = frame, stamp
    marker.pose.orientation.w = 1.0
    marker.color = ColorRGBA(**dict(zip("rgba", map(float, color), strict=True)))
    return marker


def _point(place: Array) -> Point:
    return Point(**dict(zip("xyz", map(float, place), strict=True)))
