"""From the command line of ``robodyn plan`` to the problem."""

from __future__ import annotations

from argparse import Namespace

import numpy as np

from robodyn_ros import create_dynamics, load_robot
from robodyn_ros.cli.simulate_motion import pose
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.errors import InputError
from robodyn_ros.planning.cost_text import read_cost
from robodyn_ros.planning.goals import Goal, JointGoal, ToolGoal
from robodyn_ros.planning.limits import Limits
from robodyn_ros.planning.obstacles import read_obstacles
from robodyn_ros.planning.problem import Problem
from robodyn_ros.robot import Pose, Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.robot.tip import tip


def problem_of(args: Namespace) -> Problem:
    """What the arguments ask for.

    Raises:
        InputError: an argument is wrong.
    """
    robot = load_robot(args.urdf)
    link = args.link or tip(robot)
    payload = None if args.payload is None else Payload(link, args.payload)
    dynamics = create_dynamics("rnea", robot, payload=payload, viscous=robot.damping, coulomb=robot.friction)
    start = robot.home if args.start is None else _pose("--from", args.start, robot, robot.home)
    stops = [start]
    for text in args.via:
        stops.append(_pose("--via", text, robot, stops[-1]))
    return Problem(
        dynamics,
        start,
        _goal(args, robot, link, stops[-1]),
        read_cost(args.cost),
        args.duration,
        Limits.of(robot, share=args.share, acceleration=args.acceleration),
        via=tuple(JointGoal(stop, None) for stop in stops[1:]),
        obstacles=() if args.obstacles is None else read_obstacles(args.obstacles),
        margin=args.margin,
        limit_margin=args.limit_margin,
    )


def _goal(args: Namespace, robot: Robot, link: str, before: Array) -> Goal:
    if (args.to is None) == (args.to_tool is None):
        raise InputError("--to", "or --to-tool must be given, one of them", args.to)
    if args.to is not None:
        return JointGoal(_pose("--to", args.to, robot, before))
    try:
        numbers = [float(word) for word in args.to_tool.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (3, 6) or not np.isfinite(numbers).all():
        raise InputError("--to-tool", f"must be x,y,z or x,y,z,roll,pitch,yaw, not {args.to_tool!r}", args.to_tool)
    if len(numbers) == 3:
        return ToolGoal.at(np.array(numbers), link)
    return ToolGoal(Pose.from_xyz_rpy(numbers[:3], numbers[3:]), link)


def _pose(option: str, text: str, robot: Robot, before: Array) -> Array:
    try:
        return pose(text, robot, before)
    except InputError as cause:
        raise InputError(option, str(cause).partition(": ")[2], text) from cause
