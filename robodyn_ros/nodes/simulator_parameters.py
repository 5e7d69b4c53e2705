"""The simulator's parameters, and the plant that is made of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rclpy.node import Node

from robodyn_ros.control.settings import check_settings, setting
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.nodes.controller_parameters import declare_joints, declare_model, make_dynamics
from robodyn_ros.nodes.description import declare_description
from robodyn_ros.nodes.diagnostics import DiagnosticsConfig
from robodyn_ros.nodes.parameters import Values, declare, declare_settings
from robodyn_ros.robot import Robot
from robodyn_ros.simulation import Plant, PlantConfig


@dataclass(frozen=True)
class SimulatorConfig:
    """Settings of the simulator node; each field's metadata say what it is."""

    state_rate: float = setting(500.0, "rate of joint_states, each after a whole number of steps", "Hz", 1.0, 10000.0)
    clock_rate: float = setting(100.0, "rate of /clock, at most that of joint_states", "Hz", 0.1, 10000.0)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.clock_rate > self.state_rate:
            raise ConfigurationError(
                f"clock_rate: must be at most state_rate {self.state_rate:g}, not {self.clock_rate:g}"
            )


def declare_node_parameters(node: Node) -> None:
    """Declare what is known before the arm is; all of it is fixed when the node starts, for the plant is made of it.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_description(node, "must be given", read_only=True)
    declare_model(node, read_only=True)
    declare_settings(node, PlantConfig, read_only=True)
    declare_settings(node, SimulatorConfig, read_only=True)
    declare_settings(node, DiagnosticsConfig, read_only=True)
    text = "whether to publish the topic robot_description; false where robot_state_publisher does"
    declare(node, "publish_robot_description", True, text, read_only=True)
    text = "whether brakes hold the arm where it starts until the first command comes; false lets it fall"
    declare(node, "brake", True, text, read_only=True)


def declare_joint_parameters(node: Node, robot: Robot) -> None:
    """Declare what each joint has.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    declare_joints(node, robot, "commands", read_only=True)
    greatest = np.finfo(float).max
    for joint in robot.joints:
        bounds = max(joint.lower, -greatest), min(joint.upper, greatest)
        default = min(max(0.0, joint.lower), joint.upper)
        text = f"where joint {joint.name} starts [{joint.position_unit}]"
        declare(node, f"initial_position.{joint.name}", default, text, bounds=bounds, read_only=True)


def make_plant(values: Values, robot: Robot) -> Plant:
    """The plant that the parameters describe.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    start = [values[f"initial_position.{name}"] for name in robot.joint_names]
    return Plant(make_dynamics(values, robot), values.settings(PlantConfig), q0=start)


def whole_steps(period: float, step: float) -> int:
    """How many steps of the plant make a period of the states.

    Raises:
        ConfigurationError: not a whole number of them.
    """
    steps = round(period / step)
    if steps < 1 or abs(steps * step - period) > 1e-9 * period:
        raise ConfigurationError(f"state_rate: its period {period:g} s is not a whole number of steps of {step:g} s")
    return steps
