# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where a link is, from a Robot's placements and axes alone: what the tests of robot/ compare with the truth."""

import numpy as np
from scipy.spatial.transform import Rotation

from robodyn_ros.robot import Pose, Robot
from robodyn_ros.robot.pose import read_only


def turned(axis: np.ndarray, angle: float) -> Pose:
    """Rotation about an axis, by SciPy."""
    return Pose(read_only(Rotation.from_rotvec(angle * axis).as_matrix()))


def link_pose(arm: Robot, name: str, q: np.ndarray) -> Pose:
    """Pose of a link in the root's frame at q, from placements and axes alone."""
    target = arm.link(name)
    pose, index = target.pose, target.body
    while index >= 0:
        body = arm.bodies[index]
        position = body.ratio * q[body.coordinate] + body.offset
        axis = body.joint.axis
        motion = Pose(translation=position * axis) if body.joint.is_prismatic else turned(axis, position)
        pose, index = body.placement @ motion @ pose, body.parent
    return pose
