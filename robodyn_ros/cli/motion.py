# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Joint positions and motions from the command line, and the tour of the demonstration.

The tour is a motion of the PRR arm through its named poses, with a moment of rest in each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite, nan
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.limits import check_position_limits
from robodyn_ros.control.motion.point_to_point import durations, rest_to_rest
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.suggestions import is_it

TOUR_JOINTS = ("elevator", "shoulder", "wrist")
"""Joints of the PRR arm, whose poses have names."""

POSES: dict[str, tuple[float, float, float]] = {
    "HOME": (0.15, 0.0, 0.0),
    "PICK": (0.3, -1.83, -0.12),
    "CLIMB": (0.3, -1.83, 2.0),
    "STATION": (1.0, -1.0, 0.0),
    "PROCESSOR": (0.6, 1.2, 0.0),
    "ALGAE": (1.2, 1.43, 0.0),
    "L1": (0.8, -0.95, -0.5),
}
"""Pose → elevator [m], shoulder [rad], wrist [rad]. The angles are those of the real arm; the heights are additions.

Every pose is far enough from the position limits for the soft limits not to act in it
(:attr:`~robodyn_ros.control.faults.settings.SafetySettings.soft_limit_margin`)."""

TOUR = (*POSES, "HOME")
"""Poses in the order of the tour."""

VELOCITY = (1.0, 4.0, 4.0)
"""Greatest speeds at speed 1 [m/s, rad/s, rad/s]: a half, a third and a half of the arm's limits."""

ACCELERATION = (3.0, 10.0, 10.0)
"""Greatest accelerations at speed 1 [m/s², rad/s², rad/s²]: computed torque needs 70 % of the effort limits then."""

REST = 0.2
"""Time of rest in each pose [s]."""


class Tour(NamedTuple):
    """The motion through the poses, with the times of arrival."""

    trajectory: Trajectory
    arrivals: tuple[float, ...]  # at each pose of the tour [s]

    def heading_for(self, time: float) -> str:
        """Return the name of the pose that the arm is in or moves to at a time [s]."""
        index = int(np.searchsorted(self.arrivals, time - REST))
        return TOUR[min(index, len(TOUR) - 1)]


def tour(speed: float = 1.0) -> Tour:
    """Return the tour through the poses, from rest to rest by quintics.

    Args:
        speed: factor on the greatest speeds; the accelerations are scaled by its square.
    """
    stops: Array = np.array([POSES[name] for name in TOUR])
    limits = speed * np.array(VELOCITY), speed**2 * np.array(ACCELERATION)
    arrivals = [0.0]
    for duration in durations(stops, *limits).tolist():
        arrivals.append(arrivals[-1] + REST + duration)
    times = [time for arrival in arrivals for time in (arrival, arrival + REST)]
    return Tour(rest_to_rest(np.repeat(stops, 2, axis=0), times), tuple(arrivals))


def parse_pose(text: str, robot: Robot, before: Array, option: str = "--to") -> Array:
    """Return the joint positions (n,) in [rad] or [m] that a text names.

    Args:
        text: positions of all joints, ``0.3,-1,0``; of some joints, ``shoulder=-1,wrist=0.2``; or the name of a pose.
        robot: the arm.
        before: positions of the joints that the text does not name (n,).
        option: that has the text, for messages.

    Raises:
        InputError: the text has none of these forms.
    """
    if robot.joint_names == TOUR_JOINTS and text.upper() in POSES:
        return np.array(POSES[text.upper()])
    named = dict(re.findall(r"([^,=\s]+)\s*=\s*([^,=\s]+)", text))
    if named and set(named) <= set(robot.joint_names):
        joints = zip(robot.joint_names, before.tolist(), strict=True)
        return np.array([_position(named[name], option, name) if name in named else value for name, value in joints])
    parts = text.split(",")
    if not named and len(parts) == robot.n:
        return np.array([_position(part, option, name) for name, part in zip(robot.joint_names, parts, strict=True)])
    all_of_them = ", ".join(robot.joint_names)
    problem = f"{text!r} is neither {robot.n} positions ({all_of_them}) nor joint=position of some of them"
    if robot.joint_names == TOUR_JOINTS:
        problem += f", nor one of {', '.join(POSES)}{is_it(text, POSES)}"
    mistaken = [name for name in named if name not in robot.joint_names]
    problem += "".join(f"; {name!r} is no joint{is_it(name, robot.joint_names)}" for name in mistaken)
    raise InputError(option, problem, text)


def _position(text: str, option: str, joint: str) -> float:
    """The position of a joint [rad or m].

    Raises:
        InputError: the text is no finite number.
    """
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not isfinite(value):
        raise InputError(option, f"the position of {joint!r} must be a finite number, not {text.strip()!r}", text)
    return value


def requested_trajectory(
    poses: Sequence[str], with_tour: bool, duration: float, robot: Robot, start: Array
) -> Trajectory | None:
    """Return the trajectory that the command line asks for, or None if the arm is to stay.

    Args:
        poses: waypoints at rest, one after the other; the segments take equal times.
        with_tour: follow the tour of the demonstration instead.
        duration: of all segments together [s]; the tour takes its own time.
        robot: the arm.
        start: positions at the beginning (n,).

    Raises:
        InputError: a text names no pose, or this arm has no tour.
    """
    if with_tour:
        if robot.joint_names != TOUR_JOINTS:
            raise InputError("--tour", f"is of an arm with the joints {', '.join(TOUR_JOINTS)}", robot.joint_names)
        return tour().trajectory
    if not poses:
        return None
    stops = [start]
    for text in poses:
        stops.append(parse_pose(text, robot, stops[-1]))
        check_position_limits("--to", robot, stops[-1], list(range(robot.n)))
    return rest_to_rest(np.array(stops), np.linspace(0.0, duration, len(stops)))
