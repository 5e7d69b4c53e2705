"""The planner's settings, and the problem that they and a target make."""

from __future__ import annotations

from dataclasses import dataclass

from rclpy.node import Node

from robodyn_ros import create_dynamics
from robodyn_ros.control.loop_settings import BehaviourSettings
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.nodes.common.parameters import NodeParameters, declare, declare_gravity, declare_settings
from robodyn_ros.planning.cost import Cost, read_cost
from robodyn_ros.planning.obstacles import Obstacle, read_obstacles
from robodyn_ros.planning.problem import SHARE
from robodyn_ros.robot import Robot
from robodyn_ros.robot.robot import tip
from robodyn_ros.settings import check_settings, choice, setting, switch

METHODS = ("collocation", "time-scaling")


@dataclass(frozen=True)
class PlannerSettings:
    """Settings of the node; each field's metadata say what it is."""

    method: str = choice("collocation", "how a motion is found", lambda: METHODS)
    share: float = setting(SHARE, "part of the limits of speed and effort that may be used", "-", 0.01, 1.0)
    time_limit: float = setting(20.0, "for a search", "s", 0.01, 3600.0)
    margin: float = setting(0.01, "distance to keep from obstacles", "m", 0.0, 10.0)
    limit_margin: float = setting(
        BehaviourSettings().soft_limit_margin, "distance to keep from position limits on the way", "rad or m", 0.0, 10.0
    )
    payload: float = setting(0.0, "mass that the tool carries", "kg", 0.0, 1e6)
    execute: bool = switch(False, "whether what is found is sent to the controller at once; see ~/execute")

    def __post_init__(self) -> None:
        check_settings(self)


def declare_planner(node: Node) -> None:
    """Declare the parameters."""
    declare_settings(node, PlannerSettings)
    declare(node, "cost", "time", "what is to be least: time, effort, smoothness, or a sum as time+1e-4*effort")
    declare(node, "obstacles", "", "file of what to keep clear of, as `robodyn plan` takes it; nothing if empty")
    declare(node, "tip", "", "name of the link that a pose is meant for; the last that moves if empty", read_only=True)
    declare_gravity(node, read_only=True)


@dataclass(frozen=True, eq=False)
class PlanGoal:
    """What the parameters say when a target comes."""

    config: PlannerSettings
    cost: Cost
    obstacles: tuple[Obstacle, ...]
    link: str
    dynamics: Dynamics


def read_wish(node: Node, robot: Robot) -> PlanGoal:
    """The present values.

    Raises:
        RobodynError: one of them is wrong.
    """
    values = NodeParameters(node)
    config = values.settings(PlannerSettings)
    link = values["tip"] or tip(robot)
    dynamics = create_dynamics(
        "rnea",
        robot,
        gravity=tuple(values["gravity"]),
        payload=Payload(link, config.payload) if config.payload > 0.0 else None,
        viscous=robot.damping,
        coulomb=robot.friction,
    )
    obstacles = read_obstacles(values["obstacles"]) if values["obstacles"] else ()
    return PlanGoal(config, read_cost(values["cost"]), obstacles, link, dynamics)
