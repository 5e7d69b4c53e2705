"""The conductor's parameters, and the trajectory that is made of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from robodyn_ros.control.settings import check_settings, setting
from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.control.waypoints import rest_to_rest
from robodyn_ros.errors import InputError
from robodyn_ros.nodes.parameters import Values, declare, declare_settings


@dataclass(frozen=True)
class ConductorConfig:
    """Settings of the conductor; each field's metadata say what it is."""

    lead: float = setting(0.3, "time from sending the trajectory to its start", "s", 0.0, 10.0)
    patience: float = setting(15.0, "longest wait for anything before giving up", "s", 0.1, 600.0)
    progress_rate: float = setting(10.0, "rate of the progress on stdout, by the time of the states", "Hz", 0.1, 100.0)
    tolerance: float = setting(1e-3, "greatest distance from the first waypoint at the start", "rad or m", 0.0, 1.0)

    def __post_init__(self) -> None:
        check_settings(self)


def declare_parameters(node: Node) -> None:
    """Declare all of them; they are fixed when the node starts.

    Raises:
        ParameterException: a value given has the wrong type or is out of range.
    """
    kinds = Parameter.Type
    declare(node, "joints", kinds.STRING_ARRAY, "names of joints, in the order of the waypoints", read_only=True)
    declare(node, "times", kinds.DOUBLE_ARRAY, "when to be at each waypoint [s]", read_only=True)
    text = "where to be at rest, one waypoint after the other [rad] or [m]"
    declare(node, "waypoints", kinds.DOUBLE_ARRAY, text, read_only=True)
    declare(node, "record", kinds.STRING, "path of the .npz file to write", read_only=True)
    declare_settings(node, ConductorConfig, read_only=True)


def make_trajectory(values: Values) -> Trajectory:
    """The trajectory that the parameters describe.

    Raises:
        RobodynError: a parameter is missing or wrong; the message names it.
    """
    times, waypoints, n = values["times"], np.array(values["waypoints"]), len(values["joints"])
    if not n or waypoints.size != len(times) * n:
        problem = f"has {waypoints.size} numbers, not {len(times)} times by {n} joints"
        raise InputError("waypoints", problem, waypoints)
    return rest_to_rest(waypoints.reshape(len(times), n), times)
