"""The controller's parameters, and what is made of them.

Those of the node are declared when it starts; those of the joints when it is configured, for only then the joints are
known. What a change while the node is configured would mean a new model for is refused then; gains, effort limits and
timeouts change at once and together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from robodyn_ros import create_dynamics
from robodyn_ros.control.base import Controller
from robodyn_ros.control.gains import gains
from robodyn_ros.control.loop import LoopConfig
from robodyn_ros.control.settings import check_settings, setting
from robodyn_ros.dynamics import STANDARD_GRAVITY, Dynamics
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.nodes.description import NAME as DESCRIPTION
from robodyn_ros.nodes.description import declare_description
from robodyn_ros.nodes.diagnostics import DiagnosticsConfig
from robodyn_ros.nodes.parameters import Values, declare, declare_settings
from robodyn_ros.plugins import available, load
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

FIXED_WHILE_CONFIGURED = (DESCRIPTION, "joints", "dynamics", "controller", "gravity")
"""Parameters that count at the next configure; changing them while configured is refused."""


@dataclass(frozen=True)
class JointGains:
    """How a joint's error dies away, ë + 2ζω ė + ω² e = 0; the same meaning for every controller plugin."""

    natural_frequency: float = setting(10.0, "natural frequency ω of the position error", "rad/s", 0.0, 1000.0)
    damping_ratio: float = setting(1.0, "damping ratio ζ of the position error", "-", 0.0, 100.0)

    def __post_init__(self) -> None:
        check_settings(self)


class Tuning(NamedTuple):
    """What may change while the arm moves."""

    controller: Controller
    effort_limit: Array  # (n,) in [N·m] or [N]
    config: LoopConfig


def declare_model(node: Node, read_only: bool = False) -> None:
    """Declare what the model of the arm is made from, beside its description."""
    choices = f"one of {', '.join(available('dynamics'))}"
    declare(node, "dynamics", "rnea", "dynamics plugin", constraints=choices, read_only=read_only)
    text = "acceleration of free fall in the root link's frame [m/s²]"
    gravity = list(STANDARD_GRAVITY)
    declare(node, "gravity", gravity, text, constraints="3 finite numbers", read_only=read_only)


def declare_node_parameters(node: Node) -> None:
    """Declare what is known before the arm is.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_description(node, "the topic of this name is used if empty")
    declare_model(node)
    choices = f"one of {', '.join(available('controllers'))}"
    declare(node, "controller", "computed_torque", "controller plugin", constraints=choices)
    declare(node, "autostart", True, "configure and activate as soon as there is a description", read_only=True)
    declare_settings(node, LoopConfig)
    declare_settings(node, DiagnosticsConfig, read_only=True)


def declare_joint_parameters(node: Node, robot: Robot) -> None:
    """Declare what each joint has.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_joints(node, robot, "~/commands")
    for joint in robot.joints:
        declare_settings(node, JointGains, f"gains.{joint.name}.", f" of joint {joint.name}")
        known = bool(np.isfinite(joint.effort))
        text = f"greatest effort of joint {joint.name} [{joint.effort_unit}]"
        text += "; the URDF's unless given, and at most that" if known else "; must be given, for the URDF has none"
        greatest = joint.effort if known else float(np.finfo(float).max)
        default = joint.effort if known else Parameter.Type.DOUBLE
        declare(node, f"effort_limits.{joint.name}", default, text, bounds=(0.0, greatest))


def declare_joints(node: Node, robot: Robot, topic: str, read_only: bool = False) -> None:
    """Declare the order of the joints on a topic of commands."""
    text = f"names of all joints of the arm, in the order of {topic}"
    declare(node, "joints", list(robot.joint_names), text, constraints="each joint once", read_only=read_only)


def joint_order(values: Values, robot: Robot) -> tuple[str, ...]:
    """The joints in the order of commands.

    Raises:
        ConfigurationError: it is not all joints of the arm, each once.
    """
    given = tuple(values["joints"])
    if sorted(given) != sorted(robot.joint_names):
        arm = ", ".join(robot.joint_names)
        raise ConfigurationError(f"joints: must be all joints of the arm, each once ({arm}), not {', '.join(given)}")
    return given


def make_dynamics(values: Values, robot: Robot) -> Dynamics:
    """The model that the parameters name.

    Raises:
        PluginError, InputError: of the plugin.
    """
    return create_dynamics(values["dynamics"], robot, gravity=tuple(values["gravity"]))


def tune(values: Values, dynamics: Dynamics) -> Tuning:
    """What may change while the arm moves, from the parameters.

    Raises:
        RobodynError: a value is wrong, or an effort limit is missing; the message names it.
    """
    robot = dynamics.robot
    law = load("controllers", values["controller"])
    chosen = [values.settings(JointGains, f"gains.{name}.") for name in robot.joint_names]
    omega, zeta = [g.natural_frequency for g in chosen], [g.damping_ratio for g in chosen]
    home = np.clip(np.zeros(robot.n), robot.lower, robot.upper)
    controller = law(dynamics, *gains(law, dynamics, home, omega, zeta))
    limit = np.array([values[f"effort_limits.{name}"] for name in robot.joint_names])
    return Tuning(controller, limit, values.settings(LoopConfig))
