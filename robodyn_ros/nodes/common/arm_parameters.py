# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Parameters of more than one node: the model of the arm, the order of its joints, and their transmissions."""

from __future__ import annotations

from rclpy.node import Node

from robodyn_ros.control.drives import Transmission, TransmissionSettings
from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings
from robodyn_ros.plugins import available
from robodyn_ros.robot import LockedJoints, Robot

NOT_GIVEN = 1e6
"""Position of a locked joint that means "not given", and bound of the others [rad] or [m]."""


def declare_model(node: Node, read_only: bool = False) -> None:
    """Declare the dynamics plugin and the gravity, which with the description make the model of the arm."""
    choices = f"one of {', '.join(available('dynamics'))}"
    declare(node, "dynamics", "rnea", "dynamics plugin", constraints=choices, read_only=read_only)
    declare_gravity(node, read_only)


def declare_gravity(node: Node, read_only: bool = False) -> None:
    """Declare the gravity vector."""
    text = "acceleration of free fall in the root link's frame [m/s²]"
    declare(node, "gravity", list(STANDARD_GRAVITY), text, constraints="3 finite numbers", read_only=read_only)


def declare_tool(node: Node) -> None:
    """Declare the tool, which is fixed when the node starts."""
    declare(node, "tool", "", "the tool, a link; the last that moves if empty", read_only=True)


def declare_joints(node: Node, robot: Robot, topic: str, read_only: bool = False) -> None:
    """Declare which joints are controlled, and their order on a topic of commands."""
    text = f"names of the joints that are controlled, in the order of {topic}; the others are locked"
    constraints = "joints of the arm, each at most once"
    declare(node, "joints", list(robot.joint_names), text, constraints=constraints, read_only=read_only)


def declare_locked(node: Node, robot: Robot, read_only: bool = False) -> None:
    """Declare the position of each locked joint."""
    for joint in robot.joints:
        text = (
            f"position of joint {joint.name} if joints leaves it out [{joint.position_unit}]; the last that is known "
            f"of it, or else the middle of its range, if {NOT_GIVEN:g}"
        )
        name = f"locked_joints.{joint.name}"
        declare(node, name, NOT_GIVEN, text, bounds=(-NOT_GIVEN, NOT_GIVEN), read_only=read_only)


def locked_position(parameters: NodeParameters, name: str) -> float | None:
    """Position of a locked joint [rad] or [m]; None if no parameter gives it."""
    given: float = parameters[f"locked_joints.{name}"]
    return None if given == NOT_GIVEN else given


def locked_joints(parameters: NodeParameters, robot: Robot) -> LockedJoints:
    """The joints that are locked, because the parameter ``joints`` leaves them out.

    Raises:
        InputError: it names other joints, one twice, or none.
    """
    return LockedJoints(robot, parameters["joints"])


def declare_transmissions(node: Node, robot: Robot) -> None:
    """Declare the transmission between each joint and its motor."""
    for name in robot.joint_names:
        declare_settings(node, TransmissionSettings, f"transmission.{name}.", f" of joint {name}", read_only=True)


def joint_order(parameters: NodeParameters, robot: Robot) -> tuple[str, ...]:
    """The controlled joints in the order of commands.

    Raises:
        ConfigurationError: it is not all joints of the robot, each once.
    """
    given = tuple(parameters["joints"])
    if sorted(given) != sorted(robot.joint_names):
        arm = ", ".join(robot.joint_names)
        raise ConfigurationError(f"joints: must be the joints of the arm, each once ({arm}), not {', '.join(given)}")
    return given


def make_transmission(parameters: NodeParameters, robot: Robot) -> Transmission:
    """The transmission between the joints and their motors."""
    return Transmission(
        [parameters.settings(TransmissionSettings, f"transmission.{name}.") for name in robot.joint_names]
    )
