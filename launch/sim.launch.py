# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A simulated arm: arm.launch.py with the simulator's clock, and the simulator in place of the hardware."""

from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import IncludeLaunchDescription, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from robodyn_ros.nodes.common import launching

ARGUMENTS: dict[str, launching.Argument] = {
    "use_sim_time": ("true", "time comes from /clock, which the simulator publishes", ("true", "True", "1")),
    "ros2_control": ("", "none, as the simulator takes the place of the hardware; for arm.launch.py only", ("",)),
}
"""Name → default, description and choices, in place of those of arm.launch.py."""


def generate_launch_description() -> LaunchDescription:
    """Return the description that `ros2 launch` runs."""
    arm = Path(get_package_share_directory("robodyn_ros")) / "launch" / "arm.launch.py"
    others = IncludeLaunchDescription(str(arm))  # it declares the others, which the simulator shares
    return LaunchDescription([*launching.declared(ARGUMENTS), others, OpaqueFunction(function=simulator)])


def simulator(context: LaunchContext) -> list[Any]:
    """Return the simulator for the values of the arguments."""
    share = Path(get_package_share_directory("robodyn_ros"))
    names = ("robot", "accept", "config", "namespace", "dynamics", "joint_states", "commands", "robot_state_publisher")
    given = {name: LaunchConfiguration(name).perform(context) for name in (*names, "root", "tip")}
    published = given["robot_state_publisher"].lower() in ("true", "1")
    urdf = launching.read_urdf(given["robot"], share)
    files = launching.parameter_files(given["robot"], given["config"], share, "simulator", given["namespace"])
    own = {
        "robot_description": ParameterValue(urdf, value_type=str),
        **launching.accepted(given),
        **launching.chosen_joints(given, launching.read_arm(given, urdf, files)),
        **launching.parameters_of(given, "dynamics"),
        "publish_robot_description": not published,
    }
    topics = [("joint_states", given["joint_states"]), ("commands", given["commands"] or "controller/commands")]
    how = {"parameters": [*files, own], "remappings": topics, "output": "screen"}
    return launching.in_namespace(given["namespace"], [Node(package="robodyn_ros", executable="simulator", **how)])
