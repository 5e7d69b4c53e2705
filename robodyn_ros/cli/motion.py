"""What the arm of ``robodyn simulate`` is to do: stay, go to poses, or make the tour of the demonstration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.motion.point_to_point import durations, rest_to_rest
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

# The motion of the demonstration: through the named poses of the PRR arm, resting a moment in each.

POSES: dict[str, tuple[float, float, float]] = {
    "HOME": (0.0, 0.0, 0.0),
    "PICK": (0.3, -1.83, -0.12),
    "CLIMB": (0.3, -1.83, 2.0),
    "STATION": (1.0, -1.0, 0.0),
    "PROCESSOR": (0.6, 1.2, 0.0),
    "ALGAE": (1.2, 1.43, 0.0),
    "L1": (0.8, -0.95, -0.5),
}
"""Elevator [m], shoulder [rad], wrist [rad]. The angles are the arm's own poses; its elevator is moved as well here."""

TOUR = (*POSES, "HOME")
"""The poses in the order of the motion."""

VELOCITY = (1.0, 4.0, 4.0)
"""Greatest speeds at speed 1 [m/s, rad/s, rad/s]: a half, a third and a half of the arm's limits."""

ACCELERATION = (3.0, 10.0, 10.0)
"""Greatest accelerations at speed 1 [m/s², rad/s², rad/s²]: computed torque takes 70 % of the effort then."""

REST = 0.2
"""Time in each pose [s]."""


class Tour(NamedTuple):
    """The motion, and when it is where."""

    trajectory: Trajectory
    arrivals: tuple[float, ...]  # when each pose of the tour is reached [s]

    def heading_for(self, time: float) -> str:
        """Name of the pose that the arm is in or on its way to, at a time [s]."""
        index = int(np.searchsorted(self.arrivals, time - REST))
        return TOUR[min(index, len(TOUR) - 1)]


def tour(speed: float = 1.0) -> Tour:
    """The tour through the poses, from rest to rest by quintics.

    Args:
        speed: factor on the greatest speeds; accelerations grow with its square.
    """
    stops: Array = np.array([POSES[name] for name in TOUR])
    limits = speed * np.array(VELOCITY), speed**2 * np.array(ACCELERATION)
    arrivals = [0.0]
    for duration in durations(stops, *limits).tolist():
        arrivals.append(arrivals[-1] + REST + duration)
    times = [time for arrival in arrivals for time in (arrival, arrival + REST)]
    return Tour(rest_to_rest(np.repeat(stops, 2, axis=0), times), tuple(arrivals))


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
