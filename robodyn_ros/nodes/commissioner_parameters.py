"""The commissioner's parameters."""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.node import Node

from robodyn_ros.control.commissioning import CommissioningConfig
from robodyn_ros.control.settings import check_settings, setting, switch
from robodyn_ros.control.transmission import TransmissionConfig
from robodyn_ros.nodes.controller_parameters import declare_joints, declare_model
from robodyn_ros.nodes.description import declare_description
from robodyn_ros.nodes.parameters import declare, declare_settings
from robodyn_ros.robot import Robot


@dataclass(frozen=True)
class CommissionerConfig:
    """Settings of the commissioner node; each field's metadata say what it is."""

    guided: bool = switch(False, "whether to ask before each joint, on stdout, and to wait for an answer on stdin")
    state_timeout: float = setting(0.2, "longest wait for the next joint state", "s", 1e-3, 10.0)
    start_timeout: float = setting(30.0, "longest wait for the first joint state", "s", 0.1, 3600.0)

    def __post_init__(self) -> None:
        check_settings(self)


def declare_node_parameters(node: Node) -> None:
    """Declare what is known before the arm is.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_description(node, "must be given", read_only=True)
    declare_model(node, read_only=True)
    declare(node, "report", "", "path of the report to write, .md or .html; none if empty", read_only=True)
    declare_settings(node, CommissionerConfig, read_only=True)
    declare_settings(node, CommissioningConfig, read_only=True)


def declare_joint_parameters(node: Node, robot: Robot) -> None:
    """Declare what each joint has.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_joints(node, robot, "~/commands", read_only=True)
    for joint in robot.joints:
        declare_settings(node, TransmissionConfig, f"transmission.{joint.name}.", f" of joint {joint.name}", True)
