# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller of an arm, with robot_state_publisher and RViz beside it.

It serves the real and the simulated arm: sim.launch.py is this file, with the simulator in place of the hardware.
With ros2_control, it starts the controller_manager too, and the efforts go to the forward_command_controller that the
manager's parameter file has for them::

    ros2 launch robodyn_ros arm.launch.py robot:=my_arm.urdf ros2_control:=controllers.yaml hardware:=my_hardware.xml

Where a controller_manager runs already, only the topic is named::

    ros2 launch robodyn_ros arm.launch.py robot:=my_arm.urdf commands:=/forward_effort_controller/commands
"""

from functools import partial
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from robodyn_ros.control.parameter_file import read_parameters
from robodyn_ros.errors import ConfigurationError
from robodyn_ros.nodes.common.launching import (
    ACCEPT,
    SWITCH,
    Argument,
    accepted,
    chosen_joints,
    declared,
    in_namespace,
    need_package,
    parameter_files,
    parameters_of,
    read_controller_manager,
    read_urdf,
    root_link,
    with_hardware,
)
from robodyn_ros.plugins import available

ARGUMENTS: dict[str, Argument] = {
    "robot": (
        "prr",
        "the arm: r, pr, rr, prr; a URDF file; a .xacro file with its arguments, 'arm.urdf.xacro side:=left'; a name "
        "of the package robot_descriptions",
    ),
    **ACCEPT,
    "root": ("", "where the arm starts, if the URDF has several: a link of it; the root link unless given"),
    "tip": (
        "",
        "where the arm ends: a link of the URDF; the joints on the way are controlled, the others locked; all are "
        "controlled unless root or tip is given",
    ),
    "dynamics": ("", "dynamics plugin; that of config unless given, else rnea", ("", *available("dynamics"))),
    "controller": (
        "",
        "controller plugin; that of config unless given, else computed_torque",
        ("", *available("controllers")),
    ),
    "config": ("", "a parameter file (YAML); the one in config/ that is named like the arm unless given"),
    "namespace": (
        "",
        "a ROS name, such as left, that all nodes, topics and the clock are in, for more than one arm in a graph; none "
        "unless given",
    ),
    "joint_states": ("joint_states", "topic of the arm's states"),
    "commands": (
        "",
        "the topic that takes the efforts (std_msgs/Float64MultiArray); unless given, that of ros2_control's "
        "controller, else controller/commands",
    ),
    "ros2_control": (
        "",
        "a parameter file (YAML) with one forward_command_controller for efforts: starts a controller_manager with it; "
        "none is started unless given",
    ),
    "hardware": ("", "an XML file with the <ros2_control> tag, for a URDF that has none"),
    "use_sim_time": ("false", "whether time comes from /clock", SWITCH),
    "robot_state_publisher": ("true", "whether to start robot_state_publisher", SWITCH),
    "rviz": ("true", "whether to start RViz, with markers of masses, efforts and the reference", SWITCH),
    "planner": ("false", "whether to start the planner, which finds motions by the arm's dynamics", SWITCH),
    "viewer": ("false", "whether to show the arm in a browser, at the address that the node prints", SWITCH),
}
"""Name → default, description, and the choices where there are some, which ros2 launch --show-args lists."""

BESIDE = {"robot_state_publisher": "robot_state_publisher", "rviz2": "rviz"}
"""Other packages whose nodes are started, and the argument that leaves each out."""


def generate_launch_description() -> LaunchDescription:
    """Return the description that `ros2 launch` runs."""
    return LaunchDescription([*declared(ARGUMENTS), OpaqueFunction(function=graph)])


def graph(context: LaunchContext) -> list[Any]:
    """Return the nodes for the values of the arguments."""
    share = Path(get_package_share_directory("robodyn_ros"))
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    urdf = read_urdf(given["robot"], share)
    if given["hardware"]:
        urdf = with_hardware(urdf, Path(given["hardware"]))
    beside = {package: IfCondition(LaunchConfiguration(argument)) for package, argument in BESIDE.items()}
    for package, condition in beside.items():
        if condition.evaluate(context):
            need_package(package, f"{BESIDE[package]}:=false")
    files = partial(parameter_files, given["robot"], given["config"], share, namespace=given["namespace"])
    time = {"use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)}
    description = {"robot_description": ParameterValue(urdf, value_type=str)}
    model = description | accepted(given)
    chosen = parameters_of(given, "dynamics", "controller")
    joints = chosen_joints(given, urdf)
    states = ("joint_states", given["joint_states"])
    own = files(node="controller")
    commands, manager = given["commands"] or "controller/commands", []
    if given["ros2_control"]:
        if given["namespace"]:
            raise ConfigurationError(
                "ros2_control: the file names nodes without a namespace; start a controller_manager in yours, and "
                "give its topic, commands:=forward_effort_controller/commands"
            )
        need_package("controller_manager", "do not give ros2_control")
        file = given["ros2_control"]
        found = read_controller_manager(Path(file))
        by = "root and tip choose" if joints else f"{given['config'] or 'the parameter file of the arm'} chooses"
        chosen_by = joints or next((read_parameters(Path(path), "controller") for path in own), {})
        found.check_joints(chosen_by.get("joints"), by)
        commands, joints = given["commands"] or found.commands, {"joints": list(found.joints)}
        renamed = [("~/robot_description", "robot_description")]
        spawned = [*found.controllers, "--param-file", file]
        manager = [
            Node(
                package="controller_manager",
                executable="ros2_control_node",
                parameters=[file, time],
                remappings=renamed,
            ),
            Node(package="controller_manager", executable="spawner", arguments=spawned),
        ]
    nodes = [
        *manager,
        Node(
            package="robodyn_ros",
            executable="controller",
            parameters=[*own, model, chosen, joints, time],
            remappings=[states, ("~/commands", commands)],
            output="screen",
        ),
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[description, time],
            remappings=[states],
            condition=beside["robot_state_publisher"],
        ),
        Node(
            package="rviz2",
            executable="rviz2",
            arguments=["-d", str(share / "rviz" / "robodyn.rviz"), "-f", root_link(urdf)],
            parameters=[time],
            condition=beside["rviz2"],
        ),
        Node(
            package="robodyn_ros",
            executable="markers",
            parameters=[*files(node="markers", named=True), description, time],
            remappings=[states],
            condition=beside["rviz2"],
        ),
        Node(
            package="robodyn_ros",
            executable="planner",
            parameters=[*files(node="planner"), description, joints, time],
            remappings=[states],
            condition=IfCondition(LaunchConfiguration("planner")),
            output="screen",
        ),
        Node(
            package="robodyn_ros",
            executable="viewer",
            parameters=[*files(node="viewer", named=True), description, time],
            remappings=[states],
            output="screen",
            condition=IfCondition(LaunchConfiguration("viewer")),
        ),
    ]
    return in_namespace(given["namespace"], nodes)
