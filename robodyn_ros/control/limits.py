# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Limits of references, and of the efforts that are sent to the arm.

The effort that is sent is computed from the effort of the control law in four stages:

1. **Blend** (:func:`blend`): when law, model or gains change, or a fault is over, the difference to the latest effort
   is added and fades out within ``blend_time``. A change of settings during a blend adds only its own difference to the
   remaining one. So changes in quick succession do not freeze the efforts.
2. **Soft position limits** (:func:`soften`): near a position limit, no effort drives the joint faster towards it.
3. **Absolute limit**: ±effort_limit, for the effort that is sent, and for its sum with the compensation that the drive
   adds by itself.
4. **Rate limit**: at most ±rate_limit · Δt away from the latest effort; Δt is ``state_timeout`` at most.
   Both limits are in :func:`limit`.

The stages are functions of numbers or of symbols: :mod:`robodyn_ros.control.step` traces and compiles them. The efforts
of a reaction to a fault are limited by ``core/limits.c``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.checks import is_within
from robodyn_ros.control.step_numbers import NEVER, StepMemory, StepSettings
from robodyn_ros.errors import InputError, LimitError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

SPEED_TOLERANCE = 1.01
"""Tolerance factor of velocity limits of a reference: splines overshoot between their points."""

FARTHEST = 1e6
"""Greatest position of a reference if the joint has no limit [rad] or [m]: for greater ones the resolution of a double
is worse than 1e-10."""

EFFORT_TOLERANCE = 1.001
"""Tolerance factor of the limits of a feed-forward effort, for the tolerance of a planner."""

EFFORT_ROUNDING = 1e-9
"""Greatest difference of two efforts by rounding, relative to their magnitude and to 1 N or 1 N·m."""

INSTANT = 1e-12
"""Least time between two commands in the rate limit [s]: an infinite rate times zero would be no number."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of an arm, each (n,); inf where there is no limit.

    Attributes:
        effort: [N·m] or [N].
        rate: of the effort, [N·m/s] or [N/s].
        velocity: [rad/s] or [m/s].
    """

    effort: Array
    rate: Array
    velocity: Array

    @classmethod
    def of(
        cls, robot: Robot, effort: ArrayLike, rate: ArrayLike | None = None, velocity: ArrayLike | None = None
    ) -> Limits:
        """Checked limits of an arm; unless given, the rate has no limit and the velocity has that of the URDF.

        A velocity limit of 0 in a URDF means an unknown limit, because an arm that may not move makes no sense.

        Raises:
            InputError: a limit of the wrong shape, negative or NaN.
        """
        rate = np.full(robot.n, np.inf) if rate is None else rate
        known = robot.velocity_limit > 0.0
        velocity = np.where(known, robot.velocity_limit, np.inf) if velocity is None else velocity
        given = {"effort_limit": effort, "rate_limit": rate, "velocity_limit": velocity}
        checked = {name: read_only(value) for name, value in given.items()}
        for name, value in checked.items():
            if value.shape != (robot.n,) or not (value >= 0.0).all():
                raise InputError(name, f"must be {robot.n} numbers from 0 up, not {given[name]!r}", given[name])
        return cls(*checked.values())


def saturate(effort: Array, limit: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Efforts clamped to ±limit, and a mask of the clamped ones.

    Args:
        effort: (n,) in [N·m] or [N].
        limit: (n,), not negative, inf where there is none.

    Returns:
        The clamped efforts (n,) and a mask (n,).
    """
    if is_within(effort, limit):  # as nearly always
        return effort, np.zeros(effort.shape, dtype=bool)
    clamped = np.minimum(np.maximum(effort, -limit), limit)
    return clamped, clamped != effort


def check_position_limits(name: str, robot: Robot, positions: Array, columns: list[int]) -> None:
    """Refuse positions outside the limits of their joints, or beyond ``FARTHEST``.

    Args:
        name: of the values, for the message.
        robot: the arm.
        positions: (m,) or (K, m) in [rad] or [m].
        columns: index into ``robot.joints`` of each of the m.

    Raises:
        LimitError: names the joint, the value and the limits.
    """
    rows = np.atleast_2d(positions)
    lower, upper = np.maximum(robot.lower[columns], -FARTHEST), np.minimum(robot.upper[columns], FARTHEST)
    outside = (rows < lower) | (rows > upper)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        joint = robot.joints[columns[column]]
        raise LimitError(name, joint.name, float(rows[row, column]), float(lower[column]), float(upper[column]))


def check_velocity_limits(name: str, robot: Robot, limit: Array, velocities: Array, columns: list[int]) -> None:
    """Refuse velocities beyond the limits of their joints.

    Args:
        name: of the values, for the message.
        robot: the arm.
        limit: (n,) in [rad/s] or [m/s].
        velocities: (m,) in [rad/s] or [m/s].
        columns: index into ``robot.joints`` of each of the m.

    Raises:
        LimitError: names the joint, the value and the limits.
    """
    _check_magnitudes(name, robot, SPEED_TOLERANCE, limit, velocities, columns)


def check_effort_limits(name: str, robot: Robot, limit: Array, efforts: Array, columns: list[int]) -> None:
    """Refuse feed-forward efforts beyond the limits of their joints.

    Args:
        name: of the values, for the message.
        robot: the arm.
        limit: (n,) in [N·m] or [N].
        efforts: (m,) in [N·m] or [N].
        columns: index into ``robot.joints`` of each of the m.

    Raises:
        LimitError: names the joint, the value and the limits.
    """
    _check_magnitudes(name, robot, EFFORT_TOLERANCE, limit, efforts, columns)


def _check_magnitudes(
    name: str, robot: Robot, tolerance: float, limit: Array, values: Array, columns: list[int]
) -> None:
    for column in np.flatnonzero(np.abs(values) > tolerance * limit[columns]):
        greatest = float(limit[columns[column]])
        raise LimitError(name, robot.joints[columns[column]].name, float(values[column]), -greatest, greatest)


def overload(robot: Robot, limit: Array, efforts: Array) -> str:
    """A message with the joint and time at which gravity and friction alone exceed the effort limits; "" if never.

    Args:
        robot: the arm.
        limit: greatest efforts (n,) in [N·m] or [N].
        efforts: against gravity and friction along a motion, at equal time steps (K, n).
    """
    most = np.abs(efforts).max(axis=0)
    column = int(np.argmax(most / np.maximum(limit, INSTANT)))
    over = np.abs(efforts[:, column]) > limit[column]
    if not over.any():
        return ""
    joint, first = robot.joints[column], int(np.argmax(over)) / max(len(efforts) - 1, 1)
    lasts = ", also at its goal" if over[-1] else ""
    return (
        f"gravity and friction alone take up to {most[column]:.4g} {joint.effort_unit} of joint {joint.name!r}, beyond "
        f"its limit of {limit[column]:.4g}, from {first:.0%} of the motion on{lasts}: the arm will not follow there"
    )


def blend(t: Any, wanted: Array, memory: StepMemory) -> tuple[Array, StepMemory]:
    """Efforts without a step: the difference between the last old and the first new effort fades linearly.

    Args:
        t: time [s].
        wanted: efforts (n,) in [N·m] or [N].
        memory: of the step.

    Returns:
        The blended efforts (n,), and the memory after the blend.
    """
    begins = memory.blending == 1.0
    begin = np.where(begins, t, memory.blend_begin)
    difference = np.where(begins, memory.blend_from - wanted, memory.blend_from)
    gone = t - begin
    left = np.where(memory.blending > 0.0, np.maximum(1.0 - gone / np.maximum(memory.blend_time, INSTANT), 0.0), 0.0)
    runs = (memory.blending > 0.0) & (gone >= 0.0) & (gone < memory.blend_time)  # time may run backwards
    asked: Array = wanted + left * difference
    return asked, memory._replace(blend_from=difference, blend_begin=begin, blending=np.where(runs, 2.0, 0.0))


def soften(effort: Array, q: Array, qd: Array, gravity: Array, settings: StepSettings) -> Array:
    """Efforts (n,) within the soft position limits.

    Near a position limit, the effort towards the limit is at most that of a hold at the limit. With d the distance to
    the hard limit, within ``soft_limit_margin`` of it and in its direction::

        τ ≤ g(q) + K d - D q̇,   d = max(0, limit - q)      (mirrored at the lower limit)

    The right-hand side is the effort that would hold the arm exactly at the limit. So the bound reduces neither the
    gravity effort nor a hold within the limits or at one. It removes every effort that drives the joint faster towards
    its stop: with a well damped joint the velocity decays as exp(-ωt), and at the limit no effort acts outwards any
    more. Beyond the limit no force drives the joint back, so an arm found there can be moved back slowly.

    Compare the soft limits of ROS's joint_limits_interface (velocity bounds that decrease with the distance, efforts
    that decrease with the velocity); they do not include gravity, and let a loaded joint drop from its upper limit.

    Args:
        effort: wanted, (n,) in [N·m] or [N].
        q: position (n,).
        qd: velocity (n,).
        gravity: the model's gravity effort minus the compensation of the drives, (n,).
        settings: position limits, K and D, and the margin.
    """
    margin = settings.soft_limit_margin
    above, below = settings.upper - q, q - settings.lower
    still = gravity - settings.damping * qd
    most = np.where(above < margin, still + settings.stiffness * np.clip(above, 0.0, margin), np.inf)
    least = np.where(below < margin, still - settings.stiffness * np.clip(below, 0.0, margin), -np.inf)
    return np.minimum(np.maximum(effort, least), most)


def limit(
    t: Any, asked: Array, softened: Array, added: Array, memory: StepMemory, settings: StepSettings
) -> tuple[Array, Any, Any, StepMemory]:
    """The absolute limit and the rate limit.

    Args:
        t: time [s].
        asked: blended efforts (n,) in [N·m] or [N].
        softened: these efforts within the soft position limits.
        added: compensation of the drives (n,).
        memory: of the step.
        settings: the limits.

    Returns:
        The effort to send, masks of its absolute and of its rate limit, each (n,), and the memory after it.
    """
    least = np.maximum(-added, 0.0) - settings.effort_limit
    most = settings.effort_limit - np.maximum(added, 0.0)
    clamped = np.minimum(np.maximum(softened, least), most)
    sends, fell_silent = memory.is_sending > 0.0, memory.sent_at > NEVER
    dt = np.where(sends, np.minimum(np.maximum(t - memory.sent_at, INSTANT), settings.state_timeout), INSTANT)
    change = np.where(sends | fell_silent, settings.rate_limit * dt, np.inf)
    effort = np.minimum(np.maximum(clamped, memory.sent - change), memory.sent + change)
    cut = np.where(differ(asked, effort), asked - effort, 0.0)
    after = memory._replace(sent=effort, cut=cut, sent_at=t, is_sending=1.0)
    return effort, differ(asked, clamped), differ(clamped, effort), after


def differ(before: Array, after: Array) -> Any:
    """Mask of efforts that differ by more than rounding before and after a limit, (n,).

    A blend begins at the latest effort, which may be exactly at the limit. So the last bits often decide on which side
    of the limit an effort is, and these bits depend on how the step was compiled.
    """
    return np.abs(before - after) > EFFORT_ROUNDING * (1.0 + np.abs(after))
