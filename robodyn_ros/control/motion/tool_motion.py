# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Motions to a pose of the tool, within the limits of the joints.

An arm at rest moves by :func:`~robodyn_ros.control.motion.point_to_point.point_to_point`. A moving arm is first brought
to rest by :func:`~robodyn_ros.control.motion.point_to_point.braking`. Both keep the efforts of the model within the
limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.limits import Limits
from robodyn_ros.control.motion.point_to_point import braking, point_to_point
from robodyn_ros.control.motion.trajectory import Sample, Trajectory
from robodyn_ros.dynamics.parameters import Parameters
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.errors import InputError, is_it
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.target import ToolTarget
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, setting

EFFORT_RATIO = 0.8
"""Ratio of the effort limits that a motion may use [-]; the rest is for feedback."""

BRAKING_RATIO = 0.9
"""Ratio of the effort limits during braking [-]; greater, so that the present motion is within it."""


TARGET_SPEED = (0.5, "speed of the controller's own motions, as ratio of the velocity limits", "-", 0.01, 1.0)
"""A setting: its default, description, unit, least and greatest value."""


@dataclass(frozen=True)
class ToolSettings(CheckedSettings):
    """Settings of motions to a pose."""

    target_speed: float = setting(*TARGET_SPEED)


class PoseGoal(NamedTuple):
    """A pose for the tool, and the present state of the arm."""

    target: Array  # pose of the tool in the frame, (4, 4)
    frame: str  # name of a link; the root link if empty
    q: Array  # position of the arm, and so of the frame, (n,) in [rad] or [m]
    motion: Sample  # the reference of the arm when the motion begins
    limits: Limits
    parameters: Parameters  # of its dynamics
    settings: ToolSettings = ToolSettings()


class ToolMotion:
    """Plans motions of one link. Use an object of this class in one thread only.

    Attributes:
        link: name of the tool.
    """

    def __init__(self, robot: Robot, link: str) -> None:
        """
        Args:
            robot: the arm.
            link: name of the tool. The constructor compiles everything that it needs.

        Raises:
            InputError: there is no such link, or no joint moves it.
        """
        self.link = link
        self._kinematics = Kinematics(robot)
        self._target = ToolTarget(self._kinematics, link)
        self._dynamics = RNEA(robot)
        self._kinematics.pose(link, np.zeros(robot.n))
        self._dynamics.inverse(*np.zeros((3, 1, robot.n)))

    def plan(self, goal: PoseGoal) -> Trajectory:
        """The motion to a goal, from the reference when it begins.

        Raises:
            InputError: no such frame, a target that is no pose, or limits that allow no motion there.
            UnreachableError: no positions within the limits bring the tool there.
        """
        target, limits, now = goal.target, goal.limits, goal.motion
        if goal.frame:
            target = target_frame(self._kinematics, goal.frame, goal.q) @ target
        dynamics = self._dynamics
        dynamics.apply(goal.parameters)
        brake = braking(dynamics, now, limits.velocity, BRAKING_RATIO * limits.effort) if now.qd.any() else None
        start = now.q if brake is None else brake.positions[-1]
        end = self._target.goal(target, start).q
        speed = limits.velocity * goal.settings.target_speed / EFFORT_RATIO
        motion = point_to_point(
            dynamics, start, end, velocity_limit=speed, effort_limit=limits.effort, share=EFFORT_RATIO
        )
        return motion if brake is None else _joined(brake, motion)


def target_frame(kinematics: Kinematics, name: str, q: Array) -> Array:
    """Pose of the link in whose frame a target is given, (4, 4) in the root link's frame.

    Args:
        kinematics: of the arm.
        name: of the link.
        q: position (n,).

    Raises:
        InputError: there is no such link.
    """
    known = [link.name for link in kinematics.robot.links]
    if name not in known:
        problem = f"{name!r} is unknown; a target is in the frame of {', '.join(known)}{is_it(name, known)}"
        raise InputError("frame_id", problem, name)
    return kinematics.pose(name, q)


def _joined(first: Trajectory, second: Trajectory) -> Trajectory:
    """Both motions as one; the second begins at rest where the first ends at rest."""
    times = np.concatenate((first.times, first.duration + second.times[1:]))
    rows = (
        np.concatenate((getattr(first, name), getattr(second, name)[1:]))
        for name in ("positions", "velocities", "accelerations")
    )
    return Trajectory(times, *rows)
