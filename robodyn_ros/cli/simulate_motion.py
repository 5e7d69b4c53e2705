"""What the arm of ``robodyn simulate`` is to do: stay, go to poses, or make the tour of the demonstration."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from robodyn_ros.cli.demo_motion import POSES, tour
from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.control.waypoints import rest_to_rest
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

TOURED = ("elevator", "shoulder", "wrist")
"""The joints of the arm whose poses have names."""


def pose(text: str, robot: Robot, before: Array) -> Array:
    """The positions (n,) in [rad] or [m] that a text says.

    Args:
        text: a position for every joint, ``0.3,-1,0``; for some, ``shoulder=-1,wrist=0.2``; or a pose's name.
        robot: the arm.
        before: where the joints are of which it does not speak (n,).

    Raises:
        InputError: it is none of these.
    """
    if robot.joint_names == TOURED and text.upper() in POSES:
        return np.array(POSES[text.upper()])
    named = dict(re.findall(r"([^,=\s]+)\s*=\s*([^,=\s]+)", text))
    try:
        if named and set(named) <= set(robot.joint_names):
            given = {name: float(value) for name, value in named.items()}
            joints = zip(robot.joint_names, before.tolist(), strict=True)
            return np.array([given.get(name, value) for name, value in joints])
        values = np.array([float(value) for value in text.split(",")])
        if values.shape == before.shape:
            return values
    except ValueError:
        pass
    all_of_them = ", ".join(robot.joint_names)
    problem = f"{text!r} is neither {robot.n} positions ({all_of_them}) nor joint=position of some of them"
    if robot.joint_names == TOURED:
        problem += f", nor one of {', '.join(POSES)}"
    raise InputError("--to", problem, text)


def motion(poses: Sequence[str], touring: bool, duration: float, robot: Robot, start: Array) -> Trajectory | None:
    """The trajectory that was asked for; None to stay.

    Args:
        poses: where to be at rest, one after the other, the time shared equally among the ways.
        touring: whether to make the demonstration's tour instead.
        duration: of all the ways [s]; the tour takes its own time.
        robot: the arm.
        start: where it begins (n,).

    Raises:
        InputError: a pose that is none, or no tour for this arm.
    """
    if touring:
        if robot.joint_names != TOURED:
            raise InputError("--tour", f"is of an arm with the joints {', '.join(TOURED)}", robot.joint_names)
        return tour().trajectory
    if not poses:
        return None
    stops = [start]
    for text in poses:
        stops.append(pose(text, robot, stops[-1]))
    return rest_to_rest(np.array(stops), np.linspace(0.0, duration, len(stops)))
