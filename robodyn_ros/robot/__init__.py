# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The model of the arm: URDF → an immutable Robot.

Each step has one file: :mod:`~robodyn_ros.robot.description` reads the XML (:mod:`~robodyn_ros.robot.xacro` and
:mod:`~robodyn_ros.robot.mjcf` convert other formats to URDF), :mod:`~robodyn_ros.robot.urdf` makes links and joints of
it, and :mod:`~robodyn_ros.robot.tree` orders them into the bodies of a :class:`Robot`
(:mod:`~robodyn_ros.robot.robot`) and refuses bodies and arms that cannot exist. :mod:`~robodyn_ros.robot.reduction`
locks some of its joints.
"""

from robodyn_ros.robot.configuration import ConfigurationSpace, position_ranges, random_positions
from robodyn_ros.robot.description import read_document
from robodyn_ros.robot.pose import Array, Flags, Indices, Pose, read_only
from robodyn_ros.robot.reduction import LockedJoints
from robodyn_ros.robot.robot import Body, Inertial, Joint, Link, Mimic, Robot, tip
from robodyn_ros.robot.urdf import DescriptionSettings, as_robot, load_robot, reload_robot

__all__ = [
    "Array",
    "Body",
    "ConfigurationSpace",
    "DescriptionSettings",
    "Flags",
    "Indices",
    "Inertial",
    "Joint",
    "Link",
    "LockedJoints",
    "Mimic",
    "Pose",
    "Robot",
    "as_robot",
    "load_robot",
    "position_ranges",
    "random_positions",
    "read_document",
    "read_only",
    "reload_robot",
    "tip",
]
