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
from robodyn_ros.nodes.common import launching
from robodyn_ros.nodes.common.launching import SWITCH, Argument
from robodyn_ros.plugins import available

ARGUMENTS: dict[str, Argument] = {
    "robot": (
        "prr",
        "the arm: r, pr, rr, prr; a URDF file; a .xacro file with its arguments, 'arm.urdf.xacro side:=left'; a name "
        "of the package robot_descriptions",
    ),
    **launching.ACCEPT,
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
    return LaunchDescription([*launching.declared(ARGUMENTS), OpaqueFunction(function=graph)])


def graph(context: LaunchContext) -> list[Any]:
    """Return the nodes for the values of the arguments."""
    share = Path(get_package_share_directory("robodyn_ros"))
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    urdf = launching.read_urdf(given["robot"], share)
    if given["hardware"]:
        urdf = launching.with_hardware(urdf, Path(given["hardware"]))
    switched = ("robot_state_publisher", "rviz", "planner", "viewer")
    on = {argument: {"condition": IfCondition(LaunchConfiguration(argument))} for argument in switched}
    for package, argument in BESIDE.items():
        if on[argument]["condition"].evaluate(context):
            launching.need_package(package, f"{argument}:=false")
    files = partial(launching.parameter_files, given["robot"], given["config"], share, namespace=given["namespace"])
    time = {"use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)}
    description = {"robot_description": ParameterValue(urdf, value_type=str)}
    chosen = description | launching.accepted(given) | launching.parameters_of(given, "dynamics", "controller")
    own = files(node="controller")
    robot = launching.read_arm(given, urdf, own)
    joints = launching.chosen_joints(given, robot)
    states, screen = ("joint_states", given["joint_states"]), {"output": "screen"}
    commands, manager = given["commands"] or "controller/commands", []

    def node(executable: str, *parameters: Any, package: str = "robodyn_ros", **how: Any) -> Node:
        """A node with the clock of the arm, and its states unless other topics are renamed."""
        renamed = {"remappings": [states], **how}
        return Node(package=package, executable=executable, parameters=[*parameters, time], **renamed)

    if given["ros2_control"]:
        if given["namespace"]:
            raise ConfigurationError(
                "ros2_control: the file names nodes without a namespace; start a controller_manager in yours, and "
                "give its topic, commands:=forward_effort_controller/commands"
            )
        launching.need_package("controller_manager", "do not give ros2_control")
        file = given["ros2_control"]
        found = launching.read_controller_manager(Path(file))
        by = "root and tip choose" if joints else f"{given['config'] or 'the parameter file of the arm'} chooses"
        chosen_by = joints or next((read_parameters(Path(path), "controller") for path in own), {})
        found.check_joints(robot, chosen_by.get("joints"), by)
        commands, joints = given["commands"] or found.commands, {"joints": list(found.joints)}
        renamed = [("~/robot_description", "robot_description")]
        spawned = [*found.controllers, "--param-file", file]
        manager = [
            node("ros2_control_node", file, package="controller_manager", remappings=renamed),
            Node(package="controller_manager", executable="spawner", arguments=spawned),
        ]
    shown = ["-d", str(share / "rviz" / "robodyn.rviz"), "-f", launching.root_link(urdf)]
    nodes = [
        *manager,
        node("controller", *own, chosen, joints, remappings=[states, ("~/commands", commands)], **screen),
        node("robot_state_publisher", description, package="robot_state_publisher", **on["robot_state_publisher"]),
        node("rviz2", package="rviz2", arguments=shown, remappings=[], **on["rviz"]),
        node("markers", *files(node="markers", named=True), description, **on["rviz"]),
        node("planner", *files(node="planner"), description, joints, **on["planner"], **screen),
        node("viewer", *files(node="viewer", named=True), description, **on["viewer"], **screen),
    ]
    return launching.in_namespace(given["namespace"], nodes)
