# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions from rest to rest and from motion to rest, as quickly as the limits of the arm allow.

A quintic from rest to rest over Δ in T reaches the speed 15/8 Δ/T, the acceleration 10/√3 Δ/T² and the jerk 60 Δ/T³
(Biagiotti and Melchiorri, Trajectory Planning for Automatic Machines and Robots (2008), ch. 2). A motion that exceeds a
limit is scaled in time (after Hollerbach, Dynamic scaling of manipulator trajectories, ASME J. Dyn. Sys. Meas. Control
106 (1984)). Efforts are those of the model, with the friction that the law compensates.

An effort that is held until the next command, a period T later, has a mean delay of T/2 (Åström and Wittenmark,
Computer-Controlled Systems (3rd ed., 1997), §8.2). So its error is T/2 τ̇, and the error of the joints obeys ::

    M(q) (ë + 2ω ė + ω² e) + D ė = T/2 τ̇

with the natural frequency ω of the feedback and the viscous friction D. With a period given, the duration limits this
error: a light arm with strong drives could leave its path by it alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.checks import check, finite_array
from robodyn_ros.control.laws.base import FrictionCompensation
from robodyn_ros.control.laws.gains import JointGains
from robodyn_ros.control.motion.trajectory import Sample, Trajectory
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.robot import Array, ConfigurationSpace

PEAK_VELOCITY = 15.0 / 8.0  #: Greatest speed of a quintic from rest to rest, in Δ/T [-].
PEAK_ACCELERATION = 10.0 / np.sqrt(3.0)  #: Greatest acceleration of a quintic from rest to rest, in Δ/T² [-].
PEAK_JERK = 60.0  #: Greatest jerk of a quintic from rest to rest, in Δ/T³ [-].
SAMPLES = 101  #: Number of samples of a motion at which the efforts are checked.
LONGEST = 600.0  #: Longest duration of a motion [s]; a motion that needs longer is refused.
SHORTEST = 0.02  #: Shortest duration of a motion [s], also of one from a position to itself.
PRECISION = 1e-3  #: Relative precision of the duration.
LAG = 2e-3  #: Greatest error of a joint because efforts are held for a period [rad] or [m].
TAIL = 25  #: Number of samples after a motion at which the error is checked, within a time of 1/ω.
SHORTEST_BRAKING, LONGEST_BRAKING = 0.02, 20.0  #: Shortest and longest duration of braking [s].
BRAKING_SAMPLES = 41  #: Number of samples of braking at which the efforts are checked.


def point_to_point(
    dynamics: Dynamics,
    start: ArrayLike,
    goal: ArrayLike,
    *,
    velocity_limit: ArrayLike | None = None,
    effort_limit: ArrayLike | None = None,
    limit_ratio: float = 0.8,
    period: float = 0.0,
) -> Trajectory:
    """A quintic from rest to rest, the same for every joint, of the shortest duration that the limits allow.

    Args:
        dynamics: of the arm, with its present payload and friction.
        start: positions (n,) in [rad] or [m].
        goal: likewise; for a continuous joint, in the turn nearest to the start.
        velocity_limit, effort_limit: (n,) or one for all, [rad/s] or [m/s], [N·m] or [N]; the URDF's unless given.
        limit_ratio: ratio of the limits that may be used, above 0 and up to 1; the rest is for feedback.
        period: time between two commands [s]; 0 if it is unknown, or short. With it the motion is slow enough for every
            joint to stay within ``LAG`` of its path, with the default gains.

    Raises:
        InputError: a wrong shape, something not finite, a limit not above 0, no limit at all for the joints that move,
            or effort limits below gravity and friction somewhere on the path; the message names the joint.
    """
    robot = dynamics.robot
    shape = (robot.n,)
    first, last = finite_array("start", start, shape), finite_array("goal", goal, shape)
    check(0.0 < limit_ratio <= 1.0, "limit_ratio", "above 0 and at most 1", limit_ratio)
    fastest = robot.velocity_limit if velocity_limit is None else velocity_limit
    speed = limit_ratio * _limit("velocity_limit", fastest, robot.n)
    effort = limit_ratio * _limit("effort_limit", robot.effort_limit if effort_limit is None else effort_limit, robot.n)
    check(0.0 <= period < np.inf, "period", "0 s or more", period)
    last = ConfigurationSpace(robot).near(first, last)

    def fits(duration: float) -> bool:
        motion = _states(first, last, np.linspace(0.0, 1.0, SAMPLES), duration)
        return _exceeded_limit(dynamics, motion, effort) is None and _lag(dynamics, motion, duration, period) <= LAG

    softly = limit_ratio * robot.symmetric_acceleration_limit, limit_ratio * robot.jerk_limit
    if not period:
        kinds = dict(zip(("velocity", "acceleration", "jerk"), (speed, *softly), strict=True))
        require_limits("velocity_limit", robot.joint_names, first != last, kinds, effort)
    shortest = max(SHORTEST, float(_shortest(np.abs(last - first), speed, *softly).max()))
    duration = shortest
    while not fits(duration):
        if duration > LONGEST:
            why = _why_never(dynamics, first, last, duration, effort, limit_ratio)
            raise InputError("effort_limit", why, effort_limit)
        duration *= 2.0
    low, high = max(shortest, duration / 2.0), duration
    while high - low > PRECISION * high:
        middle = (low + high) / 2.0
        low, high = (low, middle) if fits(middle) else (middle, high)
    return rest_to_rest([first, last], [0.0, high])


def require_limits(
    name: str, joints: Sequence[str], moves: NDArray[np.bool_], kinds: Mapping[str, Array], effort: Array
) -> None:
    """Refuse (InputError) a motion whose shortest time no limit keeps above 0: of the joints with ``moves`` (n,), by
    the kinds of limits of each joint (n,), or by limits of effort (n,), which count for all. ``name`` is the input that
    lacks limits.
    """
    kept = np.isfinite(list(kinds.values())).any(axis=0)
    if moves.any() and not (kept & moves).any() and not np.isfinite(effort).any():
        names = ", ".join(repr(joint) for joint, moved in zip(joints, moves, strict=True) if moved)
        missing = f"each joint that moves ({names}) has none of {', '.join(kinds)} or effort: no time is the shortest"
        raise InputError(name, missing, kinds)


def rest_to_rest(waypoints: ArrayLike, times: ArrayLike) -> Trajectory:
    """A quintic from each of the waypoints (K, n) in [rad] or [m], at times (K,) in [s], to the next, with zero
    velocity and acceleration at each; errors as of :class:`Trajectory`.
    """
    rest = np.zeros(np.shape(waypoints))
    return Trajectory(times, waypoints, rest, rest)


def durations(
    waypoints: ArrayLike, velocity_limit: ArrayLike, acceleration_limit: ArrayLike, jerk_limit: ArrayLike = np.inf
) -> Array:
    """Shortest times [s] (K - 1,) with which :func:`rest_to_rest` is within limits, from each waypoint to the next.

    Args:
        waypoints: (K, n) in [rad] or [m], K >= 2; the time between equal ones is 0.
        velocity_limit, acceleration_limit, jerk_limit: (n,) or one for all, in [rad] or [m] per [s], [s²] and [s³]; inf
            where there is none.

    Raises:
        InputError: a wrong shape, a limit not above zero, or no finite limit on a joint that has to move.
    """
    shape = np.shape(waypoints)
    if len(shape) != 2 or shape[0] < 2:
        raise InputError("waypoints", f"must be 2 or more by n joints, not of shape {shape}", waypoints)
    distance = np.abs(np.diff(finite_array("waypoints", waypoints, shape), axis=0))
    velocity = _limit("velocity_limit", velocity_limit, shape[1])
    acceleration = _limit("acceleration_limit", acceleration_limit, shape[1])
    needed = _shortest(distance, velocity, acceleration, _limit("jerk_limit", jerk_limit, shape[1]))
    if ((distance > 0.0) & (needed == 0.0)).any():
        raise InputError("velocity_limit", "a joint that moves has neither this limit nor one on acceleration")
    return needed.max(axis=1)


def _shortest(distance: Array, velocity: Array, acceleration: Array, jerk: Array) -> Array:
    """Shortest times of quintics over distances, (..., n) in [s]."""
    slow = np.maximum(PEAK_VELOCITY * distance / velocity, np.sqrt(PEAK_ACCELERATION * distance / acceleration))
    return np.maximum(slow, np.cbrt(PEAK_JERK * distance / jerk))


def braking(dynamics: Dynamics, motion: Sample, velocity_limit: Array, effort_limit: Array) -> Trajectory:
    """A motion to rest, as quickly as the efforts allow.

    It is a quintic whose end follows from its beginning. The Bernstein coefficients of its velocity are::

        v,  v + h a/4,  (v + h a/4) / 2,  0,  0

    The first two are the initial motion, the last two are rest, and the third is between them. So a joint that does not
    accelerate at the beginning never turns back, and is never faster than at the beginning. The duration h is doubled
    until the efforts of the model are within their limits (n,), and the decelerations within those of the URDF.
    InputError: the arm cannot be brought to rest within these limits.
    """
    q, v, a = motion
    rest, h = np.zeros_like(q), SHORTEST_BRAKING
    hardest = np.maximum(dynamics.robot.symmetric_acceleration_limit, np.abs(a))
    while h <= LONGEST_BRAKING:
        turn = v + h * a / 4.0
        end = q + h / 5.0 * (v + 1.5 * turn)
        found = Trajectory([0.0, h], [q, end], [v, rest], [a, rest])
        states = found.samples(np.linspace(0.0, h, BRAKING_SAMPLES, endpoint=False))
        efforts, soft = dynamics.inverse(*states), (np.abs(states[2]) <= hardest).all()
        swift = found.speed(velocity_limit) > np.maximum(velocity_limit, np.abs(v))
        if soft and not swift.any() and (np.abs(efforts) <= effort_limit).all():
            return found
        h *= 2.0
    raise InputError("motion", f"at {v} cannot be brought to rest within the limits of speed and effort", motion)


def _states(first: Array, last: Array, u: Array, duration: float) -> Sample:
    """A quintic at fractions u (K,) of its duration [s]: positions, velocities and accelerations, each (K, n)."""
    u, distance = u[:, None], last - first
    return Sample(
        first + (10 * u**3 - 15 * u**4 + 6 * u**5) * distance,
        (30 * u**2 - 60 * u**3 + 30 * u**4) * distance / duration,
        (60 * u - 180 * u**2 + 120 * u**3) * distance / duration**2,
    )


def _rigid_efforts(dynamics: Dynamics, motion: Sample) -> Array:
    """The efforts of a motion without friction, (K, n)."""
    parameters = dynamics.parameters
    friction = parameters.viscous * motion.qd + parameters.coulomb * np.sign(motion.qd)
    return dynamics.inverse(*motion) - friction


def _exceeded_limit(dynamics: Dynamics, motion: Sample, limit: Array) -> tuple[int, int, Array, Array] | None:
    """The greatest excess of an effort limit: row and joint, and efforts and friction (K, n); None without excess."""
    known = FrictionCompensation(dynamics)
    friction = known.viscous * motion.qd + known.coulomb * np.sign(motion.qd)
    efforts = _rigid_efforts(dynamics, motion) + friction
    ratio = np.abs(efforts) / limit
    row, joint = (int(index) for index in np.unravel_index(np.argmax(ratio), ratio.shape))
    return None if ratio[row, joint] <= 1.0 else (row, joint, efforts, friction)


def _why_never(dynamics: Dynamics, first: Array, last: Array, duration: float, limit: Array, limit_ratio: float) -> str:
    """Why a motion is impossible even with a long duration."""
    found = _exceeded_limit(dynamics, _states(first, last, np.linspace(0.0, 1.0, SAMPLES), duration), limit)
    if found is None:
        return f"no motion of up to {LONGEST:g} s stays on its path"
    row, column, efforts, friction = found
    joint, rubs = dynamics.robot.joints[column], abs(friction[row, column])
    of_it = f" ({rubs:.4g} of it against friction)" if rubs > 0.01 * abs(efforts[row, column]) else ""
    return (
        f"joint {joint.name!r} would need {abs(efforts[row, column]):.4g} {joint.effort_unit}{of_it}, and may use "
        f"{limit[column]:.4g} {joint.effort_unit}, {limit_ratio:.0%} of its limit: at {row / (SAMPLES - 1):.0%} of the "
        "path, however slowly it moves"
    )


def _lag(dynamics: Dynamics, motion: Sample, duration: float, period: float) -> float:
    """Greatest error of a joint because efforts are held for a period [rad] or [m].

    The feedback is that of the default gains. The error is integrated by implicit Euler, also for a time after the
    motion, in which it may still grow.
    """
    if period == 0.0:
        return 0.0
    omega, viscous = JointGains().natural_frequency, FrictionCompensation(dynamics).viscous
    efforts = _rigid_efforts(dynamics, motion) + viscous * motion.qd
    h = duration / (SAMPLES - 1)
    late = np.gradient(efforts, h, axis=0) * period / 2.0
    masses = dynamics.mass_matrix(motion.q)
    error, rate, greatest = np.zeros(len(viscous)), np.zeros(len(viscous)), 0.0
    steps = [(h, mass, missed) for mass, missed in zip(masses, late, strict=True)]
    steps += [(1.0 / (TAIL * omega), masses[-1], np.zeros(len(viscous)))] * TAIL
    for h, mass, missed in steps:  # of M (ë + 2ω ė + ω² e) + D ė = missed effort
        after = (1.0 + omega * h) ** 2 * mass + np.diag(h * viscous)
        rate = np.linalg.solve(after, mass @ (rate - h * omega**2 * error) + h * missed)
        error = error + h * rate
        greatest = max(greatest, float(np.abs(error).max()))
    return greatest


def _limit(name: str, value: ArrayLike, n: int) -> Array:
    limit = np.asarray(value, dtype=np.float64)
    check(limit.shape in ((), (n,)) and (limit > 0.0).all(), name, f"above zero, one or {n} of them", value)
    return limit
