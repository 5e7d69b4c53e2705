"""What the equations of motion leave out of an arm's joints."""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.friction import Friction
from robodyn_ros.simulation.stops import Stops


class Joints(NamedTuple):
    """See the module."""

    friction: Friction
    stops: Stops  # at the position limits
    velocity_limit: Array  # (n,) in [rad/s] or [m/s], inf where there is none
