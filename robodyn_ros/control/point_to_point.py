"""From where the arm is to where it should be, at rest at both ends, as quickly as its limits allow.

Every joint moves by the same quintic, on a straight line of the configuration space (a continuous joint the shorter way
round). Its duration keeps speeds within the velocity limits, and efforts, by the model, within the effort limits: where
they are exceeded the motion is stretched in time (after Hollerbach, Dynamic scaling of manipulator trajectories, ASME
J. Dyn. Sys. Meas. Control 106 (1984)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.checks import finite_array
from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.control.waypoints import PEAK_VELOCITY, rest_to_rest
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array

SAMPLES = 101
"""At so many instants of the motion the efforts are looked at."""

LONGEST = 600.0
"""A motion that no effort limit allows in this time is given up [s]."""

SHORTEST = 0.02
"""A motion takes at least this long [s], also one from a place to itself."""

PRECISION = 1e-3
"""How closely the duration is found, relative to itself."""


def point_to_point(
    dynamics: Dynamics,
    start: ArrayLike,
    goal: ArrayLike,
    *,
    velocity_limit: ArrayLike | None = None,
    effort_limit: ArrayLike | None = None,
    share: float = 0.8,
) -> Trajectory:
    """A quintic from rest to rest, of the shortest duration that the limits allow.

    Args:
        dynamics: of the arm, with payload and friction as they are.
        start: positions (n,) in [rad] or [m].
        goal: likewise; on a circle it is taken in the turn nearest to the start.
        velocity_limit: (n,) in [rad/s] or [m/s]; the URDF's unless given.
        effort_limit: (n,) in [N·m] or [N]; the URDF's unless given.
        share: of the limits that may be used, above 0 and up to 1; the rest is left to feedback.

    Raises:
        InputError: a wrong shape, something not finite, a limit not above 0, or the effort limits are too low to hold
            the arm somewhere on the way; the message names the joint.
    """
    robot = dynamics.robot
    shape = (robot.n,)
    first, last = finite_array("start", start, shape), finite_array("goal", goal, shape)
    if not 0.0 < share <= 1.0:
        raise InputError("share", f"must be above 0 and at most 1, not {share!r}", share)
    speed = share * _checked_limit(
        "velocity_limit", robot.velocity_limit if velocity_limit is None else velocity_limit, shape
    )
    effort = share * _checked_limit("effort_limit", robot.effort_limit if effort_limit is None else effort_limit, shape)
    last = ConfigurationSpace(robot).near(first, last)
    shortest = max(SHORTEST, float(np.max(PEAK_VELOCITY * np.abs(last - first) / speed)))
    duration = shortest
    while (too_much := _excess(dynamics, first, last, duration, effort)) is not None:
        if duration > LONGEST:
            name, place, needed, allowed = too_much
            raise InputError(
                "effort_limit",
                f"joint {name!r} would need {needed:.4g}, and may use {allowed:.4g}, {share:.0%} of its limit: at "
                f"{place:.0%} of the way, however slowly it moves",
                effort_limit,
            )
        duration *= 2.0
    low, high = max(shortest, duration / 2.0), duration
    while high - low > PRECISION * high:
        middle = (low + high) / 2.0
        if _excess(dynamics, first, last, middle, effort) is None:
            high = middle
        else:
            low = middle
    return rest_to_rest([first, last], [0.0, high])


def _excess(
    dynamics: Dynamics, first: Array, last: Array, duration: float, limit: Array
) -> tuple[str, float, float, float] | None:
    """Where an effort passes its limit most: joint, share of the way, effort needed and allowed; None if none does."""
    u = np.linspace(0.0, 1.0, SAMPLES)[:, None]
    way = last - first
    q = first + (10 * u**3 - 15 * u**4 + 6 * u**5) * way
    qd = (30 * u**2 - 60 * u**3 + 30 * u**4) * way / duration
    qdd = (60 * u - 180 * u**2 + 120 * u**3) * way / duration**2
    efforts = np.abs(dynamics.inverse(q, qd, qdd))
    excess = efforts / limit
    place, joint = np.unravel_index(np.argmax(excess), excess.shape)
    if excess[place, joint] <= 1.0:
        return None
    name = dynamics.robot.joint_names[joint]
    return name, float(u[place, 0]), float(efforts[place, joint]), float(limit[joint])


def _checked_limit(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    limit = np.asarray(value, dtype=np.float64)
    if limit.shape != shape or not (limit > 0.0).all():
        raise InputError(name, f"must be {shape[0]} numbers above 0, not {value!r}", value)
    return limit
