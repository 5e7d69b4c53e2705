"""From waypoints to a trajectory that stops at each, and how quickly it can.

A quintic from rest to rest over Δ in T reaches the speed 15/8 Δ/T and the acceleration 10/√3 Δ/T² (Biagiotti and
Melchiorri, Trajectory Planning for Automatic Machines and Robots (2008), ch. 2; 10/√3 at (3 ± √3)/6 of the time).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.checks import finite_array
from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array

PEAK_VELOCITY = 15.0 / 8.0
PEAK_ACCELERATION = 10.0 / np.sqrt(3.0)


def rest_to_rest(waypoints: ArrayLike, times: ArrayLike) -> Trajectory:
    """A quintic from each waypoint to the next, at rest with no acceleration in each.

    Args:
        waypoints: (K, n) in [rad] or [m].
        times: when to be there, (K,) in [s].

    Raises:
        InputError: see :class:`Trajectory`.
    """
    rest = np.zeros(np.shape(waypoints))
    return Trajectory(times, waypoints, rest, rest)


def durations(waypoints: ArrayLike, velocity_limit: ArrayLike, acceleration_limit: ArrayLike) -> Array:
    """Shortest times in which :func:`rest_to_rest` keeps within limits, from each waypoint to the next.

    Args:
        waypoints: (K, n) in [rad] or [m], K >= 2.
        velocity_limit: (n,) or one for all, in [rad/s] or [m/s]; inf where there is none.
        acceleration_limit: likewise, in [rad/s²] or [m/s²].

    Returns:
        (K - 1,) in [s]; 0 between equal waypoints.

    Raises:
        InputError: a wrong shape, a limit not above zero, or no finite limit on a joint that has to move.
    """
    shape = np.shape(waypoints)
    if len(shape) != 2 or shape[0] < 2:
        raise InputError("waypoints", f"must be 2 or more by n joints, not of shape {shape}", waypoints)
    way = np.abs(np.diff(finite_array("waypoints", waypoints, shape), axis=0))
    velocity = _limit("velocity_limit", velocity_limit, shape[1])
    acceleration = _limit("acceleration_limit", acceleration_limit, shape[1])
    needed = np.maximum(PEAK_VELOCITY * way / velocity, np.sqrt(PEAK_ACCELERATION * way / acceleration))
    if ((way > 0.0) & (needed == 0.0)).any():
        raise InputError("velocity_limit", "a joint that moves has neither this limit nor one on acceleration")
    longest: Array = needed.max(axis=1)
    return longest


def _limit(name: str, value: ArrayLike, n: int) -> Array:
    limit = np.asarray(value, dtype=np.float64)
    if limit.shape not in ((), (n,)) or not (limit > 0.0).all():
        raise InputError(name, f"must be above zero, one or {n} of them, not {value!r}", value)
    return limit
