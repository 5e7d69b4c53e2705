"""Limits: on what is asked of the arm, and on what is sent to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.checks import is_within
from robodyn_ros.errors import InputError, LimitError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

SPEED_TOLERANCE = 1.01
"""How much faster than its limit a reference may be for a rounding error: splines overshoot between their points."""


@dataclass(frozen=True, eq=False)
class Limits:
    """What the arm may be given and asked for, each (n,), inf where there is no limit.

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
        """Limits of an arm, checked; no limit of the rate and the URDF's of the velocity unless given.

        A velocity limit of 0 in a URDF stands for one that nobody knew: an arm that may not move would be none.

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
    """Refuse positions outside the limits of their joints.

    Args:
        name: what they are, for the message.
        robot: the arm.
        positions: (m,) or (K, m) in [rad] or [m].
        columns: index into ``robot.joints`` of each of the m.

    Raises:
        LimitError: names the joint, the value and the limits.
    """
    rows = np.atleast_2d(positions)
    outside = (rows < robot.lower[columns]) | (rows > robot.upper[columns])
    if outside.any():
        row, column = np.argwhere(outside)[0]
        joint = robot.joints[columns[column]]
        raise LimitError(name, joint.name, float(rows[row, column]), joint.lower, joint.upper)


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
    for column in np.flatnonzero(np.abs(velocities) > SPEED_TOLERANCE * limit[columns]):
        greatest = float(limit[columns[column]])
        raise LimitError(name, robot.joints[columns[column]].name, float(velocities[column]), -greatest, greatest)
