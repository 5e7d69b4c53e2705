# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tolerances of a trajectory on its path and at its goal, as in joint_trajectory_controller."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, setting


@dataclass(frozen=True)
class GoalSettings(CheckedSettings):
    """Tolerances of the whole arm."""

    stopped_velocity_tolerance: float = setting(0.01, "greatest speed at the goal", "rad/s or m/s", 0.0, 100.0)
    goal_time: float = setting(0.0, "longest wait for the goal after the last point (0: no limit)", "s", 0.0, 3600.0)


@dataclass(frozen=True)
class JointTolerances(CheckedSettings):
    """Tolerances of a joint, and its deceleration."""

    trajectory: float = setting(0.0, "greatest distance from the reference (0: no limit)", "rad or m", 0.0, 1000.0)
    goal: float = setting(0.0, "greatest distance from the last point (0: no limit)", "rad or m", 0.0, 1000.0)
    max_deceleration_on_cancel: float = setting(
        0.0,
        "deceleration after a cancel or a hold (0: the URDF's, or a stop at once if it has none)",
        "rad/s² or m/s²",
        0.0,
        1e4,
    )


@dataclass(frozen=True, eq=False)
class Tolerances:
    """The tolerances of a trajectory; inf where there is none.

    Attributes:
        path: (n,) in [rad] or [m].
        goal: (n,) in [rad] or [m].
        speed: at the goal, [rad/s] or [m/s].
        time: after the last point [s].
    """

    path: Array
    goal: Array
    speed: float
    time: float

    @classmethod
    def none(cls, n: int) -> Tolerances:
        """No tolerances, for n joints."""
        return cls(np.full(n, np.inf), np.full(n, np.inf), np.inf, np.inf)

    @classmethod
    def of(cls, arm: GoalSettings, joints: list[JointTolerances]) -> Tolerances:
        """From settings, where 0 stands for no limit."""
        path, goal = (np.array([getattr(j, name) or np.inf for j in joints]) for name in ("trajectory", "goal"))
        return cls(path, goal, arm.stopped_velocity_tolerance or np.inf, arm.goal_time or np.inf)
