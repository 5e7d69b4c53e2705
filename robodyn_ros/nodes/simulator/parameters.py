"""The simulator's parameters: those of the simulated hardware, and those of the node itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rclpy.node import Node

from robodyn_ros.errors import ConfigurationError
from robodyn_ros.nodes.common.description import declare_description
from robodyn_ros.nodes.common.diagnostics import DiagnosticsSettings
from robodyn_ros.nodes.common.joint_parameters import declare_joints, declare_model
from robodyn_ros.nodes.common.parameters import declare, declare_settings
from robodyn_ros.nodes.common.scheduling import SchedulingSettings, declare_scheduling
from robodyn_ros.robot import Robot
from robodyn_ros.settings import check_settings, setting, switch
from robodyn_ros.simulation.hardware.settings import groups, initial_positions, joint_groups


@dataclass(frozen=True)
class SimulatorSettings:
    """Settings of the simulator node; each field's metadata say what it is."""

    clock_rate: float = setting(100.0, "rate of /clock, at most that of joint_states", "Hz", 0.1, 10000.0)
    lockstep: bool = switch(
        False, "whether to wait for the answer to each state on joint_commands, instead of keeping to real time"
    )
    lockstep_timeout: float = setting(1.0, "how long to wait for an answer before saying so", "s", 0.1, 3600.0)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class PaceSettings:
    """Settings of how time passes; each field's metadata say what it is."""

    real_time_factor: float = setting(1.0, "simulated time per real time, except in lockstep", "-", 1e-3, 1000.0)
    step_by: float = setting(0.0, "how far ~/step goes, in whole steps (0: one period of the states)", "s", 0.0, 60.0)

    def __post_init__(self) -> None:
        check_settings(self)


def declare_node_parameters(node: Node) -> None:
    """Declare what is known before the arm is; what the hardware is made of is fixed when the node starts.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_description(node, "must be given", read_only=True)
    declare_model(node, read_only=True)
    for group in groups():
        declare_settings(node, group.defaults, group.prefix, read_only=True)
    declare_settings(node, SimulatorSettings, read_only=True)
    declare_settings(node, PaceSettings)
    declare_settings(node, DiagnosticsSettings, read_only=True)
    # Where a simulation goes as fast as it can, nothing ordinary would get the processor beside a real-time one.
    declare_scheduling(node, SchedulingSettings(thread_priority=0))
    text = "whether to publish the topic robot_description; false where robot_state_publisher does"
    declare(node, "publish_robot_description", True, text, read_only=True)


def declare_joint_parameters(node: Node, robot: Robot) -> None:
    """Declare what each joint has.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_joints(node, robot, "commands", read_only=True)
    greatest = np.finfo(float).max
    for joint, (name, default) in zip(robot.joints, initial_positions(robot).items(), strict=True):
        bounds = max(joint.lower, -greatest), min(joint.upper, greatest)
        text = f"where joint {joint.name} starts [{joint.position_unit}]"
        declare(node, name, default, text, bounds=bounds, read_only=True)
    for group in joint_groups(robot):
        assert group.joint is not None
        declare_settings(node, group.defaults, group.prefix, f" of joint {group.joint.name}", read_only=True)


def clock_steps(clock_rate: float, state_rate: float, state_steps: int) -> int:
    """Steps of the plant between two messages on /clock: a whole number of periods of the states.

    Raises:
        ConfigurationError: /clock would be faster than the states.
    """
    if clock_rate > state_rate:
        raise ConfigurationError(f"clock_rate: must be at most state_rate {state_rate:g}, not {clock_rate:g}")
    return max(1, round(state_rate / clock_rate)) * state_steps
