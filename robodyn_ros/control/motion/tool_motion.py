"""From a pose for the tool to a motion of the joints that the limits allow, or a refusal that says why.

An arm at rest goes straight there (:mod:`robodyn_ros.control.motion.point_to_point`); one that moves is brought to rest
first (:mod:`robodyn_ros.control.motion.point_to_point`). Both ask the equations of motion what efforts that takes.
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
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.target import ToolTarget
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, setting

EFFORT_SHARE = 0.8
"""Share of the effort limits that a motion may use; the rest is left to feedback."""

BRAKING_SHARE = 0.9
"""The same while an arm that moves is brought to rest: more, so that what it was doing is surely within it."""


@dataclass(frozen=True)
class ToolSettings:
    """Settings of motions to a pose; each field's metadata say what it is."""

    target_speed: float = setting(0.5, "speed of a motion to ~/target_pose, of the velocity limits", "-", 0.01, 1.0)

    def __post_init__(self) -> None:
        check_settings(self)


class PoseGoal(NamedTuple):
    """What is asked for, and of which arm."""

    target: Array  # pose of the tool in the frame, (4, 4)
    frame: str  # name of a link; the root link if empty
    q: Array  # where the arm is, and so the frame, (n,) in [rad] or [m]
    motion: Sample  # what the arm is asked to do when the motion begins
    limits: Limits
    parameters: Parameters  # of its dynamics
    config: ToolSettings = ToolSettings()


class ToolMotion:
    """Plans motions of one link. An object of this class belongs to one thread.

    Attributes:
        link: name of the tool.
    """

    def __init__(self, robot: Robot, link: str) -> None:
        """
        Args:
            robot: the arm.
            link: name of the tool. All that has to be compiled for it is compiled now.

        Raises:
            InputError: there is no such link, or no joint moves it.
        """
        self.link = link
        self._kinematics = Kinematics(robot)
        self._target = ToolTarget(self._kinematics, link)
        self._dynamics = RNEA(robot)
        self._kinematics.pose(link, np.zeros(robot.n))
        self._dynamics.inverse(*np.zeros((3, 1, robot.n)))

    def plan(self, wish: PoseGoal) -> Trajectory:
        """The motion, from where the arm is asked to be when it begins.

        Raises:
            InputError: no such frame, a target that is no pose, or limits that allow no motion there.
            UnreachableError: no positions within the limits bring the tool there.
        """
        target, limits, now = wish.target, wish.limits, wish.motion
        if wish.frame:
            target = self._frame(wish.frame, wish.q) @ target
        dynamics = self._dynamics
        dynamics.apply(wish.parameters)
        brake = braking(dynamics, now, limits.velocity, BRAKING_SHARE * limits.effort) if now.qd.any() else None
        start = now.q if brake is None else brake.positions[-1]
        goal = self._target.goal(target, start).q
        speed = limits.velocity * wish.config.target_speed / EFFORT_SHARE
        way = point_to_point(
            dynamics, start, goal, velocity_limit=speed, effort_limit=limits.effort, share=EFFORT_SHARE
        )
        return way if brake is None else _joined(brake, way)

    def _frame(self, name: str, q: Array) -> Array:
        known = [link.name for link in self._kinematics.robot.links]
        if name not in known:
            raise InputError("frame_id", f"{name!r} is unknown; a target is in the frame of {', '.join(known)}", name)
        return self._kinematics.pose(name, q)


def _joined(first: Trajectory, second: Trajectory) -> Trajectory:
    """One after the other; the second begins at rest where the first ends at rest."""
    times = np.concatenate((first.times, first.duration + second.times[1:]))
    rows = (
        np.concatenate((getattr(first, name), getattr(second, name)[1:]))
        for name in ("positions", "velocities", "accelerations")
    )
    return Trajectory(times, *rows)
