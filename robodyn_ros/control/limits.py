# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Limits: on what the arm is asked to do, and on the efforts that are sent to it.

The effort that is sent is made out of the effort that the control law wants, in four stages:

1. **Blend** (:func:`blend`): when law, model or gains change, or a fault is over, the difference to what was sent last
   is added and fades away within ``blend_time``. A change of settings adds to what is left only what it changes. So
   changes in quick succession do not keep the efforts where they are.
2. **Soft position limits** (:func:`soften`): near a position limit, nothing drives the joint faster towards it.
3. **Absolute limit**: ±effort_limit, for what is sent and for what the drive gives altogether, with what it adds by
   itself.
4. **Rate limit**: no more than ±rate_limit · Δt away from what was sent last; Δt counts ``state_timeout`` at most.
   Both in :func:`limit`.

The stages are functions of numbers or of symbols: :mod:`robodyn_ros.control.step` has them traced and compiled. What is
sent because of a fault is limited by ``core/limits.c``.
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
"""How much faster than its limit a reference may be for a rounding error: splines overshoot between their points."""

FARTHEST = 1e6
"""Greatest position of a reference where the joint has no limit [rad] or [m]: further out a double has fewer than ten
digits behind the point, and soon not one."""

EFFORT_TOLERANCE = 1.001
"""How far beyond its limit a feed-forward effort may be for the tolerance of a planner."""

EFFORT_ROUNDING = 1e-9
"""How far apart two efforts may be by rounding, relative to their magnitude and to 1 N or 1 N·m."""

INSTANT = 1e-12
"""The least time between two commands that the rate limit counts with [s]: an infinite rate times no time would be no
number."""


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

        A velocity limit of 0 in a URDF stands for an unknown one, because an arm that may not move makes no sense.

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
    """Efforts within ±limit, and which of them had to be cut.

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
        name: what they are, for the message.
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
        name: what they are, for the message.
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
        name: what they are, for the message.
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
    """Say where gravity and friction alone take more than the joints can give; empty where they do not.

    Args:
        robot: the arm.
        limit: greatest efforts (n,) in [N·m] or [N].
        efforts: against gravity and friction along a motion, at equal distances in time (K, n).
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
    """A change of effort without a step: what the first new effort differs by from the last old one fades linearly.

    Args:
        t: time [s].
        wanted: efforts (n,) in [N·m] or [N].
        memory: of the step.

    Returns:
        What to ask for (n,), and the memory after it.
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

    Near a position limit, the joint is not pushed harder towards it than a hold at the limit would push. With d the
    distance to the hard limit, within ``soft_limit_margin`` of it and in its direction::

        τ ≤ g(q) + K d - D q̇,   d = max(0, limit - q)      (mirrored at the lower limit)

    The right-hand side is the effort that would hold the arm exactly at the limit. So the bound never takes from the
    weight that is carried, nor from a hold inside the limits or at one. It takes away everything that drives the joint
    faster towards its stop: the velocity there fades as exp(-ωt) with a well damped joint, and at the limit nothing
    pushes outwards any more. From outside no force drives the joint back, so an arm found beyond a limit can be moved
    back slowly.

    Compare the soft limits of ROS's joint_limits_interface (velocity bounds that fade with the distance, efforts that
    fade with the velocity); those do not know the arm's weight, and let a loaded joint drop away from its upper limit.

    Args:
        effort: wanted, (n,) in [N·m] or [N].
        q: position (n,).
        qd: velocity (n,).
        gravity: efforts that carry the arm, without what the drives add, (n,).
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
        asked: efforts (n,) in [N·m] or [N].
        softened: the same within the soft position limits.
        added: what the drives add by themselves (n,).
        memory: of the step.
        settings: the limits.

    Returns:
        The effort to send, where it is limited, where its rate is, each (n,), and the memory after it.
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
    """Where efforts before and after a limit differ by more than rounding, (n,).

    A blend begins at what was sent last, which may be the very limit. So the last bits often decide on which side of
    the limit an effort is, and these bits depend on how the step was compiled.
    """
    return np.abs(before - after) > EFFORT_ROUNDING * (1.0 + np.abs(after))
