"""What a target asks for, and the search for it."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from robodyn_ros.errors import InputError
from robodyn_ros.nodes.planner_parameters import Wish
from robodyn_ros.nodes.pose_messages import to_matrix
from robodyn_ros.planning.goals import Goal, JointGoal, ToolGoal
from robodyn_ros.planning.plan import Plan
from robodyn_ros.robot.pose import Array

ROUNDING = 1e-3
"""So far beyond its stop a sensor may see a joint [rad] or [m]."""


def pose_goal(message: PoseStamped, wish: Wish, q: Array) -> Goal:
    """The tool at a pose.

    Raises:
        InputError: it is no pose, or not in the root link's frame.
    """
    root = wish.dynamics.robot.root
    if message.header.frame_id not in ("", root):
        raise InputError("frame_id", f"must be {root!r}, the root link, not {message.header.frame_id!r}")
    return ToolGoal(to_matrix(message.pose), wish.link)


def joint_goal(message: JointState, wish: Wish, q: Array) -> Goal:
    """Some joints elsewhere, the others where they are, q (n,).

    Raises:
        InputError: positions that are not one for each name, or an unknown name.
    """
    names = wish.dynamics.robot.joint_names
    if len(message.position) != len(message.name) or not message.name:
        raise InputError("position", f"has {len(message.position)} values for {len(message.name)} joints")
    goal = q.copy()
    for name, position in zip(message.name, message.position, strict=True):
        if name not in names:
            raise InputError("name", f"there is no joint {name!r}; the arm has {', '.join(names)}", name)
        goal[names.index(name)] = position
    return JointGoal(goal)


def search(wish: Wish, goal: Goal, start: Array) -> Plan:
    """The best motion from a position (n,); to be called in a thread.

    Raises:
        RobodynError: the problem is wrong in itself.
    """
    from robodyn_ros.planning.collocation import CollocationConfig, plan
    from robodyn_ros.planning.limits import Limits
    from robodyn_ros.planning.problem import Problem

    robot, config = wish.dynamics.robot, wish.config
    inside = np.clip(start, robot.lower, robot.upper)
    limits = Limits.of(robot, share=config.share)
    problem = Problem(
        wish.dynamics,
        np.where(np.abs(inside - start) < ROUNDING, inside, start),
        goal,
        wish.cost,
        limits=limits,
        obstacles=wish.obstacles,
        margin=config.margin,
        limit_margin=config.limit_margin,
    )
    if config.method == "time-scaling":
        from robodyn_ros.planning import time_scaling

        return time_scaling.plan(problem)
    return plan(problem, CollocationConfig(time_limit=config.time_limit))
