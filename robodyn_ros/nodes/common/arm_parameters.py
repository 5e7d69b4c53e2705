"""Parameters of more than one node: the model of the arm, the order of its joints, and their transmissions."""

from __future__ import annotations

from rclpy.node import Node

from robodyn_ros.control.transmission import Transmission, TransmissionSettings
from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings
from robodyn_ros.plugins import available
from robodyn_ros.robot import Robot


def declare_model(node: Node, read_only: bool = False) -> None:
    """Declare the dynamics plugin and the gravity, which with the description make the model of the arm."""
    choices = f"one of {', '.join(available('dynamics'))}"
    declare(node, "dynamics", "rnea", "dynamics plugin", constraints=choices, read_only=read_only)
    declare_gravity(node, read_only)


def declare_gravity(node: Node, read_only: bool = False) -> None:
    """Declare the gravity vector."""
    text = "acceleration of free fall in the root link's frame [m/s²]"
    declare(node, "gravity", list(STANDARD_GRAVITY), text, constraints="3 finite numbers", read_only=read_only)


def declare_joints(node: Node, robot: Robot, topic: str, read_only: bool = False) -> None:
    """Declare the order of the joints on a topic of commands."""
    text = f"names of all joints of the arm, in the order of {topic}"
    declare(node, "joints", list(robot.joint_names), text, constraints="each joint once", read_only=read_only)


def declare_transmissions(node: Node, robot: Robot) -> None:
    """Declare what is between each joint and its motor."""
    for name in robot.joint_names:
        declare_settings(node, TransmissionSettings, f"transmission.{name}.", f" of joint {name}", read_only=True)


def joint_order(parameters: NodeParameters, robot: Robot) -> tuple[str, ...]:
    """The joints in the order of commands.

    Raises:
        ConfigurationError: it is not all joints of the arm, each once.
    """
    given = tuple(parameters["joints"])
    if sorted(given) != sorted(robot.joint_names):
        arm = ", ".join(robot.joint_names)
        raise ConfigurationError(f"joints: must be all joints of the arm, each once ({arm}), not {', '.join(given)}")
    return given


def make_transmission(parameters: NodeParameters, robot: Robot) -> Transmission:
    """The transmission between the joints and their motors."""
    return Transmission(
        [parameters.settings(TransmissionSettings, f"transmission.{name}.") for name in robot.joint_names]
    )
