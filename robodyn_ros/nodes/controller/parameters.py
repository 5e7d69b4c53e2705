"""The controller's parameters, and the model that is made of them.

Those of the node are declared when it starts; those of the joints when it is configured, since only then the joints are
known. All that does not say which arm it is may change while the arm moves.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from robodyn_ros import create_dynamics
from robodyn_ros.control.contact.settings import FIXED, ContactSettings, JointContactSettings
from robodyn_ros.control.drive_compensation import CompensationSettings
from robodyn_ros.control.faults.dry_run import check_model
from robodyn_ros.control.faults.settings import FaultReactions, SafetySettings
from robodyn_ros.control.laws.gains import JointGains
from robodyn_ros.control.loop_settings import NO_LIMIT, law_settings, model_parameters
from robodyn_ros.control.motion.mit_mode import MitSettings
from robodyn_ros.control.motion.payload_motion import PayloadSettings
from robodyn_ros.control.motion.tool_motion import ToolSettings
from robodyn_ros.control.motion.tool_stream import StreamSettings
from robodyn_ros.control.reference.tolerances import GoalSettings, JointTolerances
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.nodes.common.arm_parameters import (
    declare_joints,
    declare_locked,
    declare_model,
    declare_transmissions,
)
from robodyn_ros.nodes.common.description import NAME as DESCRIPTION
from robodyn_ros.nodes.common.description import declare_description
from robodyn_ros.nodes.common.diagnostics import DiagnosticsSettings
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings
from robodyn_ros.nodes.common.scheduling import SchedulingSettings, declare_scheduling
from robodyn_ros.nodes.controller.references import ReferenceSettings
from robodyn_ros.plugins import available
from robodyn_ros.robot import DescriptionSettings, Joint, Robot
from robodyn_ros.settings import check_settings, choice

FIXED_WHILE_CONFIGURED = (
    DESCRIPTION,
    *(item.name for item in fields(DescriptionSettings)),
    "joints",
    "tool",
    *(item.name for item in fields(MitSettings)),
    *FIXED,
    "stream.rate",
)
"""Parameters that count at the next configure; changing them while configured is refused."""

REALTIME = ("auto", "thread", "python")
"""Where the control loop runs: in a thread of C where that can be had, the same with a warning if not, or in Python.

The words on and off would be booleans in YAML.
"""

EFFORT_RATE = 100.0
"""Default limit of an effort's rate, in effort limits per second: from none to all of it in 10 ms [1/s]."""


@dataclass(frozen=True)
class RealtimeSettings:
    """Where the control loop runs."""

    realtime: str = choice(
        "python",
        "what runs the loop: a thread in C, which waits for no Python, or Python; auto: a thread, where it can be had",
        choices=lambda: REALTIME,
    )

    def __post_init__(self) -> None:
        check_settings(self)


def is_fixed_while_configured(name: str) -> bool:
    """Return whether a parameter counts at the next configure only."""
    return name in FIXED_WHILE_CONFIGURED or name.startswith("locked_joints.")


def declare_node_parameters(node: Node) -> None:
    """Declare the parameters that do not depend on the arm.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_description(node)
    declare_model(node)
    choices = f"one of {', '.join(available('controllers'))}"
    declare(node, "controller", "computed_torque", "controller plugin", constraints=choices)
    declare(node, "autostart", True, "configure and activate as soon as there is a description", read_only=True)
    _declare_payload(node)
    declare_settings(node, PayloadSettings, "payload_estimation.")
    declare(node, "estimates_file", "", "path of the YAML file that keeps what the law has learnt; none if empty")
    declare(node, "tool", "", "name of the link that ~/target_pose is about; the last that moves if empty")
    declare_settings(node, SafetySettings)
    declare_settings(node, CompensationSettings)
    declare_settings(node, MitSettings)
    declare_settings(node, ToolSettings)
    declare_settings(node, StreamSettings, "stream.")
    declare_settings(node, ReferenceSettings)
    declare_settings(node, GoalSettings, "constraints.")
    declare_settings(node, ContactSettings, "contact.")
    for kind, response in FaultReactions()._asdict().items():
        declare_settings(node, type(response), f"faults.{kind}.")
    for prefix, settings in law_settings().items():
        declare_settings(node, settings, prefix)
    declare_settings(node, RealtimeSettings)
    declare_settings(node, DiagnosticsSettings, read_only=True)
    declare_scheduling(node, SchedulingSettings())


def _declare_payload(node: Node) -> None:
    """Declare the payload that the arm holds."""
    declare(node, "payload.link", "", "link that holds a payload", constraints="a link of the arm; empty for none")
    declare(node, "payload.mass", 0.0, "mass of the payload [kg]", bounds=(0.0, 1e6))
    text = "centre of mass of the payload in the link's frame [m]"
    declare(node, "payload.com", [0.0] * 3, text, constraints="3 finite numbers")
    text = "inertia of the payload about its centre of mass, xx, xy, xz, yy, yz, zz [kg m²]"
    declare(node, "payload.inertia", [0.0] * 6, text, constraints="6 finite numbers")


def declare_choice_of_joints(node: Node, whole: Robot) -> None:
    """Declare which joints of a robot are controlled, and where the others are locked."""
    declare_joints(node, whole, "~/commands")
    declare_locked(node, whole)


def declare_joint_parameters(node: Node, robot: Robot) -> None:
    """Declare the parameters of the joints that are controlled.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_transmissions(node, robot)
    for joint in robot.joints:
        name = joint.name
        declare_settings(node, JointGains, f"gains.{name}.", f" of joint {name}")
        declare_settings(node, JointTolerances, f"constraints.{name}.", f" of joint {name}")
        declare_settings(node, JointContactSettings, f"contact.{name}.", f" on joint {name}")
        _declare_limits(node, joint)


def _declare_limits(node: Node, joint: Joint) -> None:
    known = bool(np.isfinite(joint.effort))
    name, unit = f"effort_limits.{joint.name}", joint.effort_unit
    text = f"greatest effort of joint {joint.name} [{unit}]"
    text += "; the URDF's unless given, and at most that" if known else "; must be given, for the URDF has none"
    greatest = joint.effort if known else float(np.finfo(float).max)
    declare(node, name, joint.effort if known else Parameter.Type.DOUBLE, text, bounds=(0.0, greatest))
    text = (
        f"greatest change of the effort of joint {joint.name} [{unit}/s]; {EFFORT_RATE:g} times the limit unless given"
    )
    default = NodeParameters(node).get(name, 0.0) * EFFORT_RATE or NO_LIMIT
    declare(node, f"effort_rate_limits.{joint.name}", min(default, NO_LIMIT), text, bounds=(1e-9, NO_LIMIT))
    text = f"greatest speed of joint {joint.name} [{joint.position_unit}/s]; the URDF's unless given, and at most that"
    greatest = min(joint.velocity or NO_LIMIT, NO_LIMIT)  # as Limits.of has it
    declare(node, f"velocity_limits.{joint.name}", greatest, text, bounds=(0.0, greatest))


def make_dynamics(parameters: NodeParameters, robot: Robot) -> Dynamics:
    """The model that the parameters name, checked at a few states.

    Raises:
        PluginError: the plugin is unknown or broken.
        InputError: the plugin refuses the arm, or a parameter.
        ModelError: the model contradicts itself.
    """
    dynamics = create_dynamics(parameters["dynamics"], robot, **model_parameters(parameters, robot))
    check_model(dynamics)
    return dynamics
