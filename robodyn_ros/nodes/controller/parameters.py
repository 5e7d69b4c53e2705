# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller's parameters, and the model that is made from them.

The parameters of the node are declared when it starts, those of the joints when it is configured, because only then are
the joints known. All parameters that do not select the arm may change while the arm moves.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from rclpy.node import Node

from robodyn_ros import create_dynamics
from robodyn_ros.control.contact import FIXED
from robodyn_ros.control.drives import MitSettings
from robodyn_ros.control.faults.dry_run import check_model
from robodyn_ros.control.loop_settings import (
    ARM_SETTINGS,
    JOINT_SETTINGS,
    PAYLOAD,
    law_settings,
    limit_specs,
    model_parameters,
)
from robodyn_ros.control.motion.own_motions import PayloadSettings, ToolSettings
from robodyn_ros.control.motion.streams import StreamSettings
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
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_settings, declare_spec, refuse_former
from robodyn_ros.nodes.common.scheduling import SchedulingSettings, declare_scheduling
from robodyn_ros.plugins import available
from robodyn_ros.robot import Robot
from robodyn_ros.settings import TOOL, CheckedSettings, choice

FIXED_WHILE_CONFIGURED = (
    DESCRIPTION,
    "accept",
    "joints",
    "tool",
    *(item.name for item in fields(MitSettings)),
    *FIXED,
    "realtime",
)
"""Parameters that are read by the next configure; changing them while configured is refused."""

REALTIME = ("auto", "on", "off")
"""The thread of the control loop: ``auto``, a thread in C if possible; ``on``, the same with a warning if it is not
possible; ``off``, the callback of the states in Python.
"""


@dataclass(frozen=True)
class RealtimeSettings(CheckedSettings):
    """Where the control loop runs."""

    realtime: str = choice(
        "auto",
        "whether a thread in C, which does not wait for Python, runs the loop; auto: if possible",
        choices=lambda: REALTIME,
    )


def is_fixed_while_configured(name: str) -> bool:
    """Return whether a parameter is read by the next configure only."""
    return name in FIXED_WHILE_CONFIGURED or name.startswith("locked_joints.")


def declare_node_parameters(node: Node) -> None:
    """Declare the parameters that do not depend on the arm.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
        InputError: a value is given for a parameter that does not exist any more.
    """
    refuse_former(node)
    declare_description(node)
    declare_model(node)
    choices = f"one of {', '.join(available('controllers'))}"
    declare(node, "controller", "computed_torque", "controller plugin", constraints=choices)
    declare(node, "autostart", True, "configure and activate as soon as there is a description", read_only=True)
    for spec in PAYLOAD:
        declare_spec(node, spec)
    declare_settings(node, PayloadSettings, "payload_estimation.")
    declare(node, "estimates_file", "", "path of the YAML file for the learnt values of the law; none if empty")
    declare_spec(node, TOOL)
    for settings, prefix in (*ARM_SETTINGS, (MitSettings, ""), (ToolSettings, ""), (StreamSettings, "stream.")):
        declare_settings(node, settings, prefix)
    for prefix, settings in law_settings().items():
        declare_settings(node, settings, prefix)
    declare_settings(node, RealtimeSettings)
    declare_settings(node, DiagnosticsSettings, read_only=True)
    declare_scheduling(node, SchedulingSettings())


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
        for settings, prefix, of in JOINT_SETTINGS:
            declare_settings(node, settings, f"{prefix}{joint.name}.", f"{of} joint {joint.name}")
        effort, *_ = limit_specs(joint)
        declare_spec(node, effort)
        for spec in limit_specs(joint, NodeParameters(node).get(effort.name, 0.0))[1:]:
            declare_spec(node, spec)


def make_dynamics(parameters: NodeParameters, robot: Robot) -> Dynamics:
    """The model selected by the parameters, checked at a few states.

    Raises:
        PluginError: the plugin is unknown or broken.
        InputError: the plugin refuses the arm, or a parameter.
        ModelError: the model contradicts itself.
    """
    dynamics = create_dynamics(parameters["dynamics"], robot, **model_parameters(parameters, robot))
    check_model(dynamics)
    return dynamics
