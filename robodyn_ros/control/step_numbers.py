# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The numbers of a control step: its memory from period to period, and its settings.

Each of them is one array of numbers, which compiled code reads and writes; the fields are views of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from robodyn_ros.control.drive_compensation import DriveCompensation
from robodyn_ros.control.faults.settings import Feedback, SafetySettings
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array

Kind = TypeVar("Kind", "StepMemory", "StepSettings")


class StepMemory(NamedTuple):
    """Memory of a control step; arrays (n,), and numbers as arrays ()."""

    integral: Array  # of the position error [rad s] or [m s]
    requested: Array  # latest effort of the law, without the compensation of the drives [N·m] or [N]
    sent: Array  # latest effort sent, likewise
    added: Array  # compensation that the drives added to it by themselves
    cut: Array  # blended effort minus effort sent
    blend_from: Array  # effort sent when the blend was requested; once it runs, the difference that fades
    has_requested: Any  # 1 if the law has given an effort since the loop started
    is_sending: Any  # 1 if an effort has been sent since the loop was switched on, or stopped sending
    sent_at: Any  # time of the latest effort sent [s]
    blending: Any  # 0: no; 1: it begins with the next effort; 2: it runs
    blend_begin: Any  # begin of the blend [s]
    blend_time: Any  # duration of the blend [s]
    lagging: Any  # 1 if a joint with a limited effort lags behind, so that the trajectory waits


class StepSettings(NamedTuple):
    """Settings of a control step; arrays (n,), and numbers as arrays ()."""

    effort_limit: Array  # [N·m] or [N]
    rate_limit: Array  # [N·m/s] or [N/s]
    lower: Array  # position limits [rad] or [m]
    upper: Array
    stiffness: Array  # of the soft position limits [N·m/rad] or [N/m]
    damping: Array  # likewise [N·m·s/rad] or [N·s/m]
    adds_gravity: Array  # 1 where a drive adds gravity by itself
    adds_coriolis: Array  # likewise
    adds_friction: Array  # likewise
    soft_limit_margin: Any  # distance from the position limit at which they begin [rad] or [m]
    state_timeout: Any  # longest time step of the rate limit [s]
    integral_limit: Any  # [rad s] or [m s]


NEVER = -1e300
"""A time before all others [s]; not infinite, so that the difference of two of them is a number."""

SCALARS = {
    "has_requested", "is_sending", "sent_at", "blending", "blend_begin", "blend_time", "lagging",
    "soft_limit_margin", "state_timeout", "integral_limit",
}  # fmt: skip
"""Fields with one number for the arm, not one for each joint."""


def shapes(kind: type[Kind], n: int) -> list[tuple[int, ...]]:
    """The shape of each field for n joints."""
    return [() if name in SCALARS else (n,) for name in kind._fields]


def width(kind: type[Kind], n: int) -> int:
    """Length of the array for n joints."""
    return sum(n if shape else 1 for shape in shapes(kind, n))


def place(kind: type[Kind], name: str, n: int) -> int:
    """Index at which a field begins."""
    sizes = [n if shape else 1 for shape in shapes(kind, n)]
    return sum(sizes[: kind._fields.index(name)])


def views(kind: type[Kind], values: Any, n: int) -> Kind:
    """The parts of an array by name; they share its memory.

    Args:
        kind: memory or settings.
        values: all numbers, (width,), an array or a traced one.
        n: number of joints.
    """
    parts, start = [], 0
    for shape in shapes(kind, n):
        end = start + (n if shape else 1)
        parts.append(values[start:end].reshape(shape))
        start = end
    return kind(*parts)


def first_memory(n: int) -> Array:
    """The memory of n joints before the first step, (width,)."""
    numbers = np.zeros(width(StepMemory, n))
    numbers[place(StepMemory, "sent_at", n)] = NEVER
    return numbers


def joined(parts: Sequence[Any]) -> Array:
    """Arrays and numbers one after the other, (width,)."""
    return np.concatenate([np.ravel(part) for part in parts]).astype(np.float64)


def step_settings(
    robot: Robot,
    effort: Array,
    rate: Array,
    feedback: Feedback,
    safety: SafetySettings,
    drives: DriveCompensation | None = None,
) -> StepSettings:
    """The settings of a step.

    Args:
        robot: the arm.
        effort: limits of the effort, (n,) in [N·m] or [N].
        rate: limits of its rate, (n,) in [N·m/s] or [N/s].
        feedback: K and D of the soft limits.
        safety: the other settings.
        drives: the compensation that the drives add by themselves; none unless given.
    """
    drives = drives or DriveCompensation.none(robot.n)
    numbers = [getattr(safety, name) for name in StepSettings._fields if hasattr(safety, name)]
    return StepSettings(
        effort, rate, robot.lower, robot.upper, feedback.stiffness, feedback.damping, *drives, *map(np.float64, numbers)
    )
