"""The motion of the demonstration: through the named poses of the PRR arm, resting a moment in each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.control.waypoints import durations, rest_to_rest
from robodyn_ros.robot.pose import Array

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
