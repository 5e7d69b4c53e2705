# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A goal of the action FollowJointTrajectory: its tolerances and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from robodyn_ros.control.reference.following import Following, Outcome
from robodyn_ros.control.reference.tolerances import Tolerances
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array

Status = Literal["succeeded", "aborted", "canceled"]


class GoalResult(NamedTuple):
    """The result of a goal."""

    status: Status
    code: int  # error_code of FollowJointTrajectory's result
    text: str


RESULTS: dict[Outcome, GoalResult] = {
    "succeeded": GoalResult("succeeded", 0, "the goal was reached"),
    "path tolerance violated": GoalResult(
        "aborted", -4, "a joint left its path tolerance; the arm is held where it was"
    ),
    "goal tolerance violated": GoalResult(
        "aborted", -5, "the goal was not reached in time; the arm is held where it was"
    ),
    "replaced": GoalResult(
        "canceled", -1, "Current goal cancelled due to new incoming action, trajectory or reference."
    ),
    "held": GoalResult("aborted", -1, "replaced by a hold"),
    "interrupted": GoalResult("aborted", -1, "interrupted by a fault, or by a gap in the joint states"),
    "stopped": GoalResult(
        "canceled", -1, "Current goal cancelled during deactivate transition: the controller sends no commands now."
    ),
}
"""Outcome of a trajectory → result of its goal; statuses, codes and beginnings of texts as in
joint_trajectory_controller."""


class ActionGoal:
    """One goal, from its acceptance to its end."""

    def __init__(self, following: Following) -> None:
        """
        Args:
            following: its trajectory.
        """
        self._following = following
        self._canceled = False

    def cancel(self, hold: Callable[[], object]) -> bool:
        """Cancel the goal, unless it has ended; True if it was cancelled.

        Args:
            hold: function that makes the arm hold; if it raises, the goal is not cancelled.
        """
        if self._following.outcome is not None:
            return False
        hold()
        self._canceled = True
        return True

    @property
    def result(self) -> GoalResult | None:
        """The result of the goal; None while it is active."""
        outcome = self._following.outcome
        if outcome is None:
            return None
        if self._canceled and outcome == "held":
            return GoalResult("canceled", 0, "canceled; the arm is held")
        return RESULTS[outcome]


def goal_tolerances(
    defaults: Tolerances,
    joints: Sequence[str],
    path: Iterable[tuple[str, float]],
    goal: Iterable[tuple[str, float]],
    time: float,
) -> Tolerances:
    """The tolerances of a goal.

    As in joint_trajectory_controller, 0 keeps the default, and a negative value means no limit.

    Args:
        defaults: tolerances that the goal does not give.
        joints: names of the arm's joints.
        path: joint and tolerance of its position on the path [rad] or [m].
        goal: likewise, at the end.
        time: for reaching the goal [s].

    Raises:
        InputError: an unknown joint, or something that is not finite.
    """

    def merged(default: Array, given: Iterable[tuple[str, float]]) -> Array:
        values: Array = default.copy()
        for name, value in given:
            if name not in joints or not np.isfinite(value):
                raise InputError("tolerance", f"{value} of joint {name!r}; the arm has {', '.join(joints)}", value)
            values[joints.index(name)] = _chosen(default[joints.index(name)], value)
        return values

    return Tolerances(
        merged(defaults.path, path), merged(defaults.goal, goal), defaults.speed, _chosen(defaults.time, time)
    )


def _chosen(default: float, value: float) -> float:
    return default if value == 0.0 else np.inf if value < 0.0 else value
