"""Limits: on what is asked of the arm, and on what is sent to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.errors import LimitError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array


def saturate(effort: Array, limit: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Efforts within ±limit, and which of them had to be cut.

    Args:
        effort: (n,) in [N·m] or [N].
        limit: (n,), not negative, inf where there is none.

    Returns:
        The clamped efforts (n,) and a mask (n,).
    """
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
