# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Two arms that are coupled joint by joint, or tool by tool: one is led, the other follows.

Simulated arms, to try it; whoever leads a real arm pushes the leader by the simulator's ~/apply_wrench::

    ros2 launch robodyn_ros teleoperation.launch.py robot:=prr rviz:=false

Arms that differ are coupled tool by tool::

    ros2 launch robodyn_ros teleoperation.launch.py robot:=prr follower_robot:=rr coupling:=tool rviz:=false

Real arms have their drivers in the two namespaces::

    ros2 launch robodyn_ros teleoperation.launch.py robot:=my_arm.urdf simulated:=false leader:=left follower:=right
"""

from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from robodyn_ros.errors import ConfigurationError
from robodyn_ros.nodes.common.launching import SWITCH, Argument, declared, parameter_files, parameters_of, read_urdf
from robodyn_ros.nodes.teleoperator import COUPLED
from robodyn_ros.plugins import available

ARGUMENTS: dict[str, Argument] = {
    "robot": ("prr", "both arms, as arm.launch.py takes one"),
    "follower_robot": ("", "the arm that follows, as robot; the same arm unless given"),
    "config": ("", "a parameter file (YAML) of both arms; the one in config/ that is named like the arm unless given"),
    "coupling": (
        "",
        "what is coupled: joint by joint, or tool by tool; that of config unless given, else joints",
        ("", *COUPLED),
    ),
    "leader": ("leader", "a ROS name, the namespace of the arm that is led"),
    "follower": ("follower", "a ROS name, the namespace of the arm that follows"),
    "leader_controller": ("impedance", "controller plugin of the leader", available("controllers")),
    "follower_controller": ("computed_torque", "controller plugin of the follower", available("controllers")),
    "simulated": ("true", "whether simulators stand in for both arms", SWITCH),
}
"""Name → default, description, and the choices where there are some; those of arm.launch.py can be given too."""


def generate_launch_description() -> LaunchDescription:
    """Return the description that `ros2 launch` runs."""
    return LaunchDescription([*declared(ARGUMENTS), OpaqueFunction(function=graph)])


def graph(context: LaunchContext) -> list[Any]:
    """Return both arms, and a teleoperator beside each, for the values of the arguments."""
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    if given["leader"].strip("/") == given["follower"].strip("/"):
        raise ConfigurationError(
            f"follower: {given['follower']} is the namespace of the leader, too; each arm needs one"
        )
    share = Path(get_package_share_directory("robodyn_ros"))
    simulated = given["simulated"].lower() in ("true", "1")
    file = str(share / "launch" / ("sim.launch.py" if simulated else "arm.launch.py"))
    states = context.launch_configurations.get("joint_states", "joint_states")  # of arm.launch.py, not declared yet
    robots = {"leader": given["robot"], "follower": given["follower_robot"] or given["robot"]}
    found: list[Any] = []
    for role, other in (("leader", "follower"), ("follower", "leader")):
        name, robot = given[role], robots[role]
        arm = {"namespace": name, "robot": robot, "controller": given[f"{role}_controller"]}
        own = {"role": role, **parameters_of(given, "coupling")}
        own["robot_description"] = ParameterValue(read_urdf(robot, share), value_type=str)
        files = parameter_files(robot, given["config"], share, "teleoperator", name)
        topics = [("joint_states", states), ("~/received", f"/{given[other].strip('/')}/teleoperator/sent")]
        how = {"namespace": name, "parameters": [*files, own], "remappings": topics, "output": "screen"}
        found.append(GroupAction([IncludeLaunchDescription(file, launch_arguments=arm.items())]))
        found.append(Node(package="robodyn_ros", executable="teleoperator", **how))
    return found
