# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""What the arm is: URDF → an immutable Robot.

The path of a URDF, one file a step: :mod:`~robodyn_ros.robot.description` reads the XML
(:mod:`~robodyn_ros.robot.xacro` and :mod:`~robodyn_ros.robot.mjcf` make a URDF of what is none yet),
:mod:`~robodyn_ros.robot.urdf` makes links and joints of it, :mod:`~robodyn_ros.robot.tree` orders them into the bodies
of a :class:`Robot` (:mod:`~robodyn_ros.robot.robot`), and :mod:`~robodyn_ros.robot.checks` refuses what cannot exist.
:mod:`~robodyn_ros.robot.reduction` locks some of its joints.
"""

from robodyn_ros.robot.pose import Pose
from robodyn_ros.robot.reduction import LockedJoints
from robodyn_ros.robot.robot import Body, Inertial, Joint, Link, Mimic, Robot
from robodyn_ros.robot.urdf import DescriptionSettings, as_robot, load_robot, reload_robot

__all__ = [
    "Body",
    "DescriptionSettings",
    "Inertial",
    "Joint",
    "Link",
    "LockedJoints",
    "Mimic",
    "Pose",
    "Robot",
    "as_robot",
    "load_robot",
    "reload_robot",
]
