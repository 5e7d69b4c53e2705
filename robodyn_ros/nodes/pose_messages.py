"""geometry_msgs/Pose ↔ homogeneous matrices."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Pose

from robodyn_ros.control.checks import finite_array
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import se3, so3
from robodyn_ros.robot.pose import Array

SLACK = 0.01
"""How far the length of a quaternion may be from 1: such as its sender has rounded it."""


def to_matrix(pose: Pose) -> Array:
    """The pose as a matrix (4, 4), in [m].

    Raises:
        InputError: something is not finite, or the orientation is no unit quaternion.
    """
    p, o = pose.position, pose.orientation
    position = finite_array("position", [p.x, p.y, p.z], (3,))
    quaternion = finite_array("orientation", [o.w, o.x, o.y, o.z], (4,))
    length = float(np.linalg.norm(quaternion))
    if abs(length - 1.0) > SLACK:
        raise InputError("orientation", f"must be a quaternion of length 1; (w, x, y, z) is {quaternion}", quaternion)
    unit = quaternion / length
    skew = so3.hat(unit[1:])
    return se3.motion(np.eye(3) + 2.0 * unit[0] * skew + 2.0 * skew @ skew, position)


def to_pose(matrix: Array) -> Pose:
    """The message for a matrix (4, 4), in [m]."""
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = matrix[:3, 3].tolist()
    o = pose.orientation
    o.w, o.x, o.y, o.z = so3.quaternion(matrix[:3, :3]).tolist()
    return pose
