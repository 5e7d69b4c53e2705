# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The arm of a node: its description, and the parameters of its model, its joints and its transmissions.

The description is the parameter ``robot_description``, else the topic of that name. The parameter is XML, a path, or
any other argument of :func:`~robodyn_ros.robot.load_robot`. The topic is XML alone: its publisher cannot make this node
read a file of this machine, or run a program.
"""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from std_msgs.msg import String

from robodyn_ros.control.drives import Transmission, TransmissionSettings
from robodyn_ros.control.parameter_file import NOT_GIVEN, position_given
from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.errors import ConfigurationError, LimitError, NotReadyError, nearest
from robodyn_ros.nodes.common.client_library import LATCHED, on_topic
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings, unknown_parameters
from robodyn_ros.plugins import available
from robodyn_ros.robot import DescriptionSettings, LockedJoints, Robot, read_document
from robodyn_ros.robot.mjcf import is_mjcf
from robodyn_ros.robot.urdf import build

DESCRIPTION = "robot_description"

ANY = DescriptionSettings(("repaired_inertia", "movable_base", "closed_loops"))
"""The settings of a node beside the controller, which checks the description: everything that can be accepted is."""


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
    declare(node, "tool", "", "link of the tool; the last link that moves if empty", read_only=True)


def declare_joints(node: Node, robot: Robot, topic: str, read_only: bool = False) -> None:
    """Declare which joints are controlled, and their order on a topic of commands."""
    text = f"names of the joints that are controlled, in the order of {topic}; the others are locked"
    constraints = "joints of the arm, each at most once"
    declare(node, "joints", list(robot.joint_names), text, constraints=constraints, read_only=read_only)


def declare_locked(node: Node, robot: Robot, otherwise: str, read_only: bool = False) -> None:
    """Declare the position of each locked joint; ``otherwise`` is the one if none is given, in words."""
    for joint in robot.joints:
        text = f"position at which joint {joint.name} is locked if joints leaves it out [{joint.position_unit}]; "
        text += f"{NOT_GIVEN:g} means {otherwise}"
        name, bounds = f"locked_joints.{joint.name}", (-NOT_GIVEN, NOT_GIVEN)
        declare(node, name, NOT_GIVEN, text, bounds=bounds, read_only=read_only)


def locked_positions(parameters: NodeParameters, joints: LockedJoints) -> dict[str, float]:
    """Name → position of the locked joints whose position a parameter gives [rad] or [m].

    Raises:
        LimitError: one is outside the joint's limits.
    """
    found = {}
    for joint in joints.whole.joints:
        parameter = f"locked_joints.{joint.name}"
        given = position_given(parameter, parameters[parameter]) if joint.name in joints.names else None
        if given is not None:
            if not joint.lower <= given <= joint.upper:
                raise LimitError(parameter, joint.name, given, joint.lower, joint.upper, joint.position_unit)
            found[joint.name] = given
    return found


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
    prefixes = [f"transmission.{name}." for name in robot.joint_names]
    return Transmission([parameters.settings(TransmissionSettings, prefix) for prefix in prefixes])


FROM_TOPIC = "the topic of this name is used if empty"
"""The case that the parameter is empty, in its description."""


def declare_description(node: Node, if_empty: str = FROM_TOPIC, read_only: bool = False) -> None:
    """Declare the parameter, and those of its settings; its description ends with the case that it is empty.

    Args:
        node: the node.
        if_empty: the description of that case.
        read_only: True if they are fixed when the node starts.
    """
    _declare_urdf(node, if_empty, read_only)
    declare_settings(node, DescriptionSettings, read_only=read_only)


def _declare_urdf(node: Node, if_empty: str, read_only: bool) -> None:
    text = "the arm's URDF: its XML, or the path of a file (.urdf, or .xacro with arguments behind it, name:=value)"
    declare(node, DESCRIPTION, "", f"{text}; {if_empty}", read_only=read_only)


def observe_description(node: Node, on_arrival: Callable[[], None] = lambda: None) -> DescriptionSource:
    """The description for a node beside the controller, whose parameter is declared; its settings are ``ANY``."""
    _declare_urdf(node, FROM_TOPIC, read_only=True)
    return DescriptionSource(node, on_arrival, ANY)


def absence(node: Node) -> str:
    """The words for a description that no parameter gives, and the misspelt name that it may have been given by."""
    near = nearest(DESCRIPTION, unknown_parameters(node))
    return "the parameter is empty" + (f" ({near!r} is no parameter)" if near else "")


def read_description(node: Node, text: str, more: str = "", settings: DescriptionSettings | None = None) -> Robot:
    """Make the arm from its description; repairs of the description are logged.

    Args:
        node: which has declared the description.
        text: the URDF's XML, or its path.
        more: the rest of the message if it is empty.
        settings: of the description; those that the node has declared unless given.

    Raises:
        NotReadyError: it is empty.
        RobotDescriptionError: it does not describe an arm.
        ConfigurationError: a setting of the description is not one of its choices.
    """
    if not text:
        raise NotReadyError(f"no {DESCRIPTION}: {absence(node)}{more}")
    robot = build(read_document(text), settings or NodeParameters(node).settings(DescriptionSettings))
    for warning in robot.warnings:
        node.get_logger().warning(warning)
    return robot


class DescriptionSource:
    """The arm's description, from the parameter or the topic."""

    def __init__(self, node: Node, on_arrival: Callable[[], None], settings: DescriptionSettings | None = None) -> None:
        """
        Args:
            node: its parameter and subscription are used.
            on_arrival: called when a new description comes on the topic and the parameter is empty.
            settings: of the description; those that the node has declared unless given.
        """
        self._node, self._settings = node, settings
        self._on_arrival = on_arrival
        self._received = self._used = ""
        self._subscription = node.create_subscription(String, DESCRIPTION, self._receive, LATCHED)

    @property
    def known(self) -> bool:
        """True if there is a description."""
        return bool(self._text())

    @property
    def awaited(self) -> str:
        """The missing description, in words; "" if there is one."""
        if self.known:
            return ""
        return f"a {DESCRIPTION}: {absence(self._node)}, and nothing has come {on_topic(self._node, DESCRIPTION)}"

    @property
    def changed(self) -> bool:
        """True if another description has come since :meth:`robot` was called."""
        return bool(self._used) and self._text() != self._used

    def robot(self) -> Robot:
        """The arm.

        Raises:
            NotReadyError: there is no description yet.
            RobotDescriptionError: it does not describe an arm.
        """
        self._used = self._text()
        return read_description(self._node, self._used, ", and nothing has come on the topic", self._settings)

    def _text(self) -> str:
        return self._given() or self._received

    def _given(self) -> str:
        return self._node.get_parameter(DESCRIPTION).value

    def _receive(self, message: String) -> None:
        if not message.data.lstrip().startswith("<") or is_mjcf(message.data):
            problem = f"the topic must have a URDF's XML, not {message.data[:40]!r}"
            self._node.faults.count(f"{DESCRIPTION} refused", problem)
            return
        new = message.data != self._received
        self._received = message.data
        if new and not self._given():
            self._on_arrival()
