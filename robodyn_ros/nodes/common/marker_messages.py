# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Marks and shapes of the view, and trajectories → visualization_msgs/Marker, in the root link's frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.kinematics import Kinematics, se3
from robodyn_ros.nodes.common.messages import stamp, to_pose
from robodyn_ros.robot import Array, Robot
from robodyn_ros.robot.shapes import extent
from robodyn_ros.view.marks import Arrow, Ball, Color, Line, Mark, Shape, moving_shapes

GHOST = 0.35
"""Opacity of the reference's ghost."""

PLAN_COLOR: Color = (0.55, 0.35, 0.85, 0.9)
"""Color of the tool's path in a plan."""

PATH_POINTS = 200
"""Number of points of the tool's path."""

KINDS = {"box": Marker.CUBE, "cylinder": Marker.CYLINDER, "sphere": Marker.SPHERE, "mesh": Marker.MESH_RESOURCE}


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
    marker.scale.x, marker.scale.y, marker.scale.z = extent(shape.kind, shape.size)
    if shape.mesh:
        marker.mesh_resource = Path(shape.mesh).absolute().as_uri() if "://" not in shape.mesh else shape.mesh
    return marker


class Preview:
    """A trajectory as markers: the path of the tool, and a ghost of the arm that moves along it."""

    def __init__(self, robot: Robot, link: str, trajectory: Trajectory) -> None:
        """
        Args:
            robot: the arm.
            link: the link whose path is shown.
            trajectory: of all joints.

        Raises:
            RobodynError: the URDF's shapes cannot be read.
        """
        self._kinematics, self._root = Kinematics(robot), robot.root
        self._shapes = moving_shapes(robot)
        self.trajectory = trajectory
        self.path = tool_path(self._kinematics, link, trajectory)

    def message(self, t: float, now: int) -> MarkerArray:
        """The markers.

        Args:
            t: time of the trajectory at which the ghost is [s].
            now: stamp [ns].
        """
        q, when = self.trajectory.sample(t).q, stamp(now)
        markers = [to_marker(Line("plan", "path", self.path, 0.006, PLAN_COLOR), self._root, when)]
        for index, shape in enumerate(self._shapes):
            marker = ghost(shape, self._kinematics.pose(shape.link, q), self._root, when)
            marker.ns, marker.id = "plan_ghost", index
            markers.append(marker)
        return MarkerArray(markers=markers)

    def removal(self) -> MarkerArray:
        """The message that removes the markers."""
        return MarkerArray(markers=[Marker(action=Marker.DELETEALL)])


def tool_path(kinematics: Kinematics, link: str, trajectory: Trajectory) -> Array:
    """Positions of a link along a trajectory, (K, 3) in [m]."""
    times = np.linspace(0.0, trajectory.duration, PATH_POINTS)
    return kinematics.pose(link, trajectory.samples(times).q)[:, :3, 3]


def _fill(mark: Mark, marker: Marker) -> None:
    """The shape and the place of a mark."""
    if isinstance(mark, Ball):
        marker.type, marker.pose = Marker.SPHERE, to_pose(se3.motion(mark.rotation, mark.center))
        marker.scale.x, marker.scale.y, marker.scale.z = (2.0 * float(radius) for radius in mark.radii)
    elif isinstance(mark, Arrow):
        marker.type, marker.points = Marker.ARROW, [_point(mark.start), _point(mark.end)]
        marker.scale.x, marker.scale.y = 2.0 * mark.radius, 4.0 * mark.radius
        marker.scale.z = min(6.0 * mark.radius, 0.5 * float(np.linalg.norm(mark.end - mark.start)))
    else:
        marker.type, marker.points = Marker.LINE_STRIP, [_point(point) for point in mark.points]
        marker.scale.x = mark.width


def _new(frame: str, stamp: Time, namespace: str, color: Color) -> Marker:
    marker = Marker(ns=namespace, action=Marker.ADD)
    marker.header.frame_id, marker.header.stamp = frame, stamp
    marker.pose.orientation.w = 1.0
    marker.color = ColorRGBA(**dict(zip("rgba", map(float, color), strict=True)))
    return marker


def _point(place: Array) -> Point:
    return Point(**dict(zip("xyz", map(float, place), strict=True)))
