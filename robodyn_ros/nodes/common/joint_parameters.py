"""The controller's parameters, and what is made of them.

Those of the node are declared when it starts; those of the joints when it is configured, for only then the joints are
known. All that does not say which arm it is may change while the arm moves.
"""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from robodyn_ros import create_dynamics
from robodyn_ros.control.faults.dry_run import check_model
from robodyn_ros.control.faults.settings import FaultReactions, SafetySettings
from robodyn_ros.control.laws.gains import JointGains
from robodyn_ros.control.loop_settings import NO_LIMIT, law_settings, model_parameters
from robodyn_ros.control.motion.payload_motion import PayloadSettings
from robodyn_ros.control.motion.tool_motion import ToolSettings
from robodyn_ros.control.reference.tolerances import GoalSettings, JointTolerances
from robodyn_ros.control.transmission import Transmission, TransmissionSettings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.nodes.common.description import NAME as DESCRIPTION
from robodyn_ros.nodes.common.description import declare_description
from robodyn_ros.nodes.common.diagnostics import DiagnosticsSettings
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_gravity, declare_settings
from robodyn_ros.nodes.common.scheduling import SchedulingSettings, declare_scheduling
from robodyn_ros.plugins import available
from robodyn_ros.robot import Joint, Robot

FIXED_WHILE_CONFIGURED = (DESCRIPTION, "joints", "tool")
"""Parameters that count at the next configure; changing them while configured is refused."""

RATE = 100.0
"""Default rate limit of an effort, in effort limits a second: from nothing to all of it in 10 ms [1/s]."""


def declare_model(node: Node, read_only: bool = False) -> None:
    """Declare what the model of the arm is made from, beside its description."""
    choices = f"one of {', '.join(available('dynamics'))}"
    declare(node, "dynamics", "rnea", "dynamics plugin", constraints=choices, read_only=read_only)
    declare_gravity(node, read_only)


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
    declare_payload(node)
    declare_settings(node, PayloadSettings, "payload_estimation.")
    declare(node, "estimates_file", "", "path of the YAML file that keeps what the law has learnt; none if empty")
    declare(node, "tool", "", "name of the link that ~/target_pose is about; the last that moves if empty")
    declare_settings(node, SafetySettings)
    declare_settings(node, ToolSettings)
    declare_settings(node, GoalSettings, "constraints.")
    for kind, response in FaultReactions()._asdict().items():
        declare_settings(node, type(response), f"faults.{kind}.")
    for prefix, settings in law_settings().items():
        declare_settings(node, settings, prefix)
    declare_settings(node, DiagnosticsSettings, read_only=True)
    declare_scheduling(node, SchedulingSettings())


def declare_payload(node: Node) -> None:
    """Declare what the arm holds."""
    declare(node, "payload.link", "", "link that holds a payload", constraints="a link of the arm; empty for none")
    declare(node, "payload.mass", 0.0, "mass of the payload [kg]", bounds=(0.0, 1e6))
    text = "centre of mass of the payload in the link's frame [m]"
    declare(node, "payload.com", [0.0] * 3, text, constraints="3 finite numbers")
    text = "inertia of the payload about its centre of mass, xx, xy, xz, yy, yz, zz [kg m²]"
    declare(node, "payload.inertia", [0.0] * 6, text, constraints="6 finite numbers")


def declare_joint_parameters(node: Node, robot: Robot) -> None:
    """Declare what each joint has.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_joints(node, robot, "~/commands")
    for joint in robot.joints:
        name = joint.name
        declare_settings(node, JointGains, f"gains.{name}.", f" of joint {name}")
        declare_settings(node, JointTolerances, f"constraints.{name}.", f" of joint {name}")
        declare_settings(node, TransmissionSettings, f"transmission.{name}.", f" of joint {name}", read_only=True)
        _declare_limits(node, joint)


def _declare_limits(node: Node, joint: Joint) -> None:
    known = bool(np.isfinite(joint.effort))
    name, unit = f"effort_limits.{joint.name}", joint.effort_unit
    text = f"greatest effort of joint {joint.name} [{unit}]"
    text += "; the URDF's unless given, and at most that" if known else "; must be given, for the URDF has none"
    greatest = joint.effort if known else float(np.finfo(float).max)
    declare(node, name, joint.effort if known else Parameter.Type.DOUBLE, text, bounds=(0.0, greatest))
    text = f"greatest change of the effort of joint {joint.name} [{unit}/s]; {RATE:g} times the limit unless given"
    default = NodeParameters(node).get(name, 0.0) * RATE or NO_LIMIT
    declare(node, f"effort_rate_limits.{joint.name}", min(default, NO_LIMIT), text, bounds=(1e-9, NO_LIMIT))
    text = f"greatest speed of joint {joint.name} [{joint.position_unit}/s]; the URDF's unless given, and at most that"
    greatest = min(joint.velocity or NO_LIMIT, NO_LIMIT)  # as Limits.of has it
    declare(node, f"velocity_limits.{joint.name}", greatest, text, bounds=(0.0, greatest))


def declare_joints(node: Node, robot: Robot, topic: str, read_only: bool = False) -> None:
    """Declare the order of the joints on a topic of commands."""
    text = f"names of all joints of the arm, in the order of {topic}"
    declare(node, "joints", list(robot.joint_names), text, constraints="each joint once", read_only=read_only)


def joint_order(values: NodeParameters, robot: Robot) -> tuple[str, ...]:
    """The joints in the order of commands.

    Raises:
        ConfigurationError: it is not all joints of the arm, each once.
    """
    given = tuple(values["joints"])
    if sorted(given) != sorted(robot.joint_names):
        arm = ", ".join(robot.joint_names)
        raise ConfigurationError(f"joints: must be all joints of the arm, each once ({arm}), not {', '.join(given)}")
    return given


def make_dynamics(values: NodeParameters, robot: Robot) -> Dynamics:
    """The model that the parameters name, tried at a few states.

    Raises:
        PluginError, InputError: of the plugin; ``ModelError``: it contradicts itself.
    """
    dynamics = create_dynamics(values["dynamics"], robot, **model_parameters(values, robot))
    check_model(dynamics)
    return dynamics


def make_transmission(values: NodeParameters, robot: Robot) -> Transmission:
    """What is between the joints and their motors."""
    return Transmission([values.settings(TransmissionSettings, f"transmission.{name}.") for name in robot.joint_names])
