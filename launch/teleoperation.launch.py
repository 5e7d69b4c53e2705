"""Two arms that are coupled joint by joint: one is led, the other follows.

Simulated arms, to try it; whoever leads a real arm pushes the leader by the simulator's ~/apply_wrench::

    ros2 launch robodyn_ros teleoperation.launch.py robot:=prr rviz:=false

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

from robodyn_ros.nodes.common.launching import (
    DESCRIPTION,
    SWITCH,
    Argument,
    declared,
    described,
    parameter_files,
    read_urdf,
)
from robodyn_ros.plugins import available

ARGUMENTS: dict[str, Argument] = {
    "robot": ("prr", "both arms, as arm.launch.py takes one"),
    **DESCRIPTION,
    "config": ("", "parameter file of both arms; the one in config/ that is named like the arm unless given"),
    "leader": ("leader", "namespace of the arm that is led"),
    "follower": ("follower", "namespace of the arm that follows"),
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
    share = Path(get_package_share_directory("robodyn_ros"))
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    simulated = given["simulated"].lower() in ("true", "1")
    file = str(share / "launch" / ("sim.launch.py" if simulated else "arm.launch.py"))
    urdf = read_urdf(given["robot"], share)
    found: list[Any] = []
    for role, other in (("leader", "follower"), ("follower", "leader")):
        name = given[role]
        arm = {"namespace": name, "controller": given[f"{role}_controller"]}
        found.append(GroupAction([IncludeLaunchDescription(file, launch_arguments=arm.items())]))
        found.append(
            Node(
                package="robodyn_ros",
                executable="teleoperator",
                namespace=name,
                parameters=[
                    *parameter_files(given["robot"], given["config"], share, node="teleoperator", namespace=name),
                    {"robot_description": ParameterValue(urdf, value_type=str), "role": role, **described(given)},
                ],
                remappings=[("~/received", f"/{given[other]}/teleoperator/sent")],
                output="screen",
            )
        )
    return found
