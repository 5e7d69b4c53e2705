"""Whether a trajectory is followed as well as was asked for: path and goal tolerances, as joint_trajectory_controller.

- On the way no joint may be further from the reference than its path tolerance.
- After the last point the goal counts as reached once every joint is within its goal tolerance of it and slower than
  ``stopped_velocity_tolerance``; within ``goal_time`` if that is not 0, else however long it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from robodyn_ros.checks import is_any
from robodyn_ros.control.reference.references import TrajectoryReference
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, setting

Outcome = Literal["succeeded", "path tolerance violated", "goal tolerance violated", "replaced", "held", "interrupted"]
"""How it ended; ``interrupted`` by a fault, by a gap in the states, or by deactivation."""


@dataclass(frozen=True)
class GoalSettings:
    """Tolerances of the whole arm; each field's metadata say what it is."""

    stopped_velocity_tolerance: float = setting(0.01, "greatest speed at the goal", "rad/s or m/s", 0.0, 100.0)
    goal_time: float = setting(0.0, "longest wait for the goal after the last point (0: no limit)", "s", 0.0, 3600.0)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class JointTolerances:
    """Tolerances of a joint; each field's metadata say what it is."""

    trajectory: float = setting(0.0, "greatest distance from the reference (0: any)", "rad or m", 0.0, 1000.0)
    goal: float = setting(0.0, "greatest distance from the last point (0: any)", "rad or m", 0.0, 1000.0)

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, eq=False)
class Tolerances:
    """What a trajectory is judged by; inf where anything goes.

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
        """Anything goes, for n joints."""
        return cls(np.full(n, np.inf), np.full(n, np.inf), np.inf, np.inf)

    @classmethod
    def of(cls, config: GoalSettings, joints: list[JointTolerances]) -> Tolerances:
        """From settings, where 0 stands for no limit."""
        path, goal = (np.array([getattr(j, name) or np.inf for j in joints]) for name in ("trajectory", "goal"))
        return cls(path, goal, config.stopped_velocity_tolerance or np.inf, config.goal_time or np.inf)


class Following:
    """A trajectory that was accepted.

    Attributes:
        outcome: how it ended; None until then.
    """

    def __init__(self, source: TrajectoryReference, tolerances: Tolerances) -> None:
        """
        Args:
            source: what gives the reference.
            tolerances: what it is judged by.
        """
        self.outcome: Outcome | None = None
        self._source = source
        self._tolerances = tolerances

    def end(self, outcome: Outcome) -> None:
        """It ended so, unless it has ended already."""
        self.outcome = self.outcome or outcome

    def judge(self, t: float, error: Array, qd: Array) -> bool:
        """Look at the arm.

        Args:
            t: time [s].
            error: reference minus position, (n,).
            qd: velocity, (n,).

        Returns:
            Whether a tolerance is violated, so that the arm should stop.
        """
        allowed, distance = self._tolerances, np.abs(error)
        if self.outcome is not None or t < self._source.start:
            return False
        if t < self._source.end:
            if is_any(distance > allowed.path):
                self.end("path tolerance violated")
        elif (distance <= allowed.goal).all() and (np.abs(qd) <= allowed.speed).all():
            self.end("succeeded")
        elif t > self._source.end + allowed.time:
            self.end("goal tolerance violated")
        return self.outcome in ("path tolerance violated", "goal tolerance violated")


# A trajectory as a goal of the action FollowJointTrajectory: what it may ask for, and how it is told that it ended.
#
# Tolerances follow joint_trajectory_controller: 0 leaves the default, a negative one stands for any distance.

Status = Literal["succeeded", "aborted", "canceled"]


class GoalResult(NamedTuple):
    """How a goal ended."""

    status: Status
    code: int  # error_code of FollowJointTrajectory's result
    text: str


VERDICTS: dict[Outcome, GoalResult] = {
    "succeeded": GoalResult("succeeded", 0, "the goal was reached"),
    "path tolerance violated": GoalResult(
        "aborted", -4, "a joint left its path tolerance; the arm is held where it was"
    ),
    "goal tolerance violated": GoalResult(
        "aborted", -5, "the goal was not reached in time; the arm is held where it was"
    ),
    "replaced": GoalResult("aborted", -1, "replaced by a newer trajectory or reference"),
    "held": GoalResult("aborted", -1, "the arm was told to hold"),
    "interrupted": GoalResult("aborted", -1, "interrupted by a fault, or by a gap in the joint states"),
}
"""Outcome of a trajectory → how its goal ends."""


class ActionGoal:
    """One goal, from its acceptance to its end."""

    def __init__(self, following: Following) -> None:
        """
        Args:
            following: how the trajectory goes.
        """
        self._following = following
        self._canceled = False

    def cancel(self) -> bool:
        """Whether it can be canceled, for it has not ended; the arm is then to be told to hold."""
        if self._following.outcome is not None:
            return False
        self._canceled = True
        return True

    @property
    def verdict(self) -> GoalResult | None:
        """How it ended; None until then."""
        outcome = self._following.outcome
        if outcome is None:
            return None
        if self._canceled and outcome == "held":
            return GoalResult("canceled", 0, "canceled; the arm is held")
        return VERDICTS[outcome]


def asked_tolerances(
    defaults: Tolerances,
    joints: Sequence[str],
    path: Iterable[tuple[str, float]],
    goal: Iterable[tuple[str, float]],
    time: float,
) -> Tolerances:
    """What a goal is judged by.

    Args:
        defaults: where it asks for nothing.
        joints: names of the arm's.
        path: joint and tolerance of its position on the way [rad] or [m].
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
