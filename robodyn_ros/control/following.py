"""Whether a trajectory is followed as well as was asked for: path and goal tolerances, as joint_trajectory_controller.

- On the way no joint may be further from the reference than its path tolerance.
- After the last point the goal counts as reached once every joint is within its goal tolerance of it and slower than
  ``stopped_velocity_tolerance``; within ``goal_time`` if that is not 0, else however long it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from robodyn_ros.control.checks import is_any
from robodyn_ros.control.reference import Follow
from robodyn_ros.control.settings import check_settings, setting
from robodyn_ros.robot.pose import Array

Outcome = Literal["succeeded", "path tolerance violated", "goal tolerance violated", "replaced", "held", "interrupted"]
"""How it ended; ``interrupted`` by a fault, by a gap in the states, or by deactivation."""


@dataclass(frozen=True)
class GoalConfig:
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
    def of(cls, config: GoalConfig, joints: list[JointTolerances]) -> Tolerances:
        """From settings, where 0 stands for no limit."""
        path, goal = (np.array([getattr(j, name) or np.inf for j in joints]) for name in ("trajectory", "goal"))
        return cls(path, goal, config.stopped_velocity_tolerance or np.inf, config.goal_time or np.inf)


class Following:
    """A trajectory that was accepted.

    Attributes:
        outcome: how it ended; None until then.
    """

    def __init__(self, source: Follow, tolerances: Tolerances) -> None:
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
