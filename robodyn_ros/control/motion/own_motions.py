# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The controller's own motions: to a pose of the tool, and for the estimation of the payload.

**To a pose**, an arm at rest moves by :func:`.point_to_point`; a moving arm first brakes (:func:`.braking`).

**For the payload**, a short motion around the held position, which begins and ends there at rest. Every joint moves to
both sides, as far as its limits allow. The joints move in different orders, so that gravity acts in different
directions, and friction, which has the sign of the velocity, averages out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.limits import Limits
from robodyn_ros.control.motion.point_to_point import braking, durations, point_to_point, rest_to_rest
from robodyn_ros.control.motion.trajectory import FIELDS, Sample, Trajectory
from robodyn_ros.dynamics import Dynamics, Parameters
from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.engine.c_interface import start_library_of
from robodyn_ros.errors import NotReadyError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.inverse.solver import step_program
from robodyn_ros.kinematics.target import ToolTarget
from robodyn_ros.robot import Array, Robot
from robodyn_ros.settings import CheckedSettings, setting, shared, switch

EFFORT_RATIO = 0.8  #: Ratio of the effort limits that a motion may use [-]; the rest is for feedback.
BRAKING_RATIO = 0.9  #: Ratio of the effort limits during braking [-]; greater, so that the present motion is within it.


@dataclass(frozen=True)
class ToolSettings(CheckedSettings):
    """Settings of motions to a pose."""

    target_speed: float = setting(
        0.5, "speed of the controller's own motions, as ratio of the velocity limits", "-", 0.01, 1.0
    )


class PoseGoal(NamedTuple):
    """A pose for the tool, and the present state of the arm."""

    target: Array  # pose of the tool in the root link's frame, (4, 4)
    motion: Sample  # the reference of the arm when the motion begins
    limits: Limits
    parameters: Parameters  # of its dynamics
    settings: ToolSettings = ToolSettings()


def start_tool_motion(robot: Robot, link: str) -> None:
    """Begin to compile what :class:`ToolMotion` needs, in the background."""
    kinematics, tool = Kinematics(robot), robot.link(link)
    if tool.body >= 0:  # else it raises an error
        for program in (step_program(kinematics.tree, tool), kinematics.program(link)):
            start_library_of(program)


class ToolMotion:
    """Plans motions of one link, in one thread only."""

    def __init__(self, robot: Robot, link: str) -> None:
        """What the motions need is compiled here; InputError: there is no such link, or no joint moves it."""
        self.link = link
        kinematics = Kinematics(robot)
        self._target = ToolTarget(kinematics, link)
        self._dynamics = RNEA(robot)
        kinematics.pose(link, np.zeros(robot.n))
        self._dynamics.inverse(*np.zeros((3, 1, robot.n)))

    def plan(self, goal: PoseGoal) -> Trajectory:
        """The motion to a goal, from the reference when it begins. InputError: a target that is no pose, or limits that
        allow no motion there. UnreachableError: no positions within the limits bring the tool there.
        """
        limits, now, dynamics = goal.limits, goal.motion, self._dynamics
        dynamics.apply(goal.parameters)
        dynamics.parameters = goal.parameters
        brake = braking(dynamics, now, limits.velocity, BRAKING_RATIO * limits.effort) if now.qd.any() else None
        start = now.q if brake is None else brake.positions[-1]
        end = self._target.goal(goal.target, start).q
        speed = limits.velocity * goal.settings.target_speed / EFFORT_RATIO
        motion = point_to_point(
            dynamics, start, end, velocity_limit=speed, effort_limit=limits.effort, limit_ratio=EFFORT_RATIO
        )
        return motion if brake is None else _joined(brake, motion)


def _joined(first: Trajectory, second: Trajectory) -> Trajectory:
    """Both motions as one; the second begins at rest where the first ends at rest."""
    times = np.concatenate((first.times, first.duration + second.times[1:]))
    return Trajectory(times, *(np.concatenate((getattr(first, row), getattr(second, row)[1:])) for row in FIELDS))


WAYPOINTS = 8  #: Number of waypoints before the return to the held position.
LEAST_ROOM = 0.2  #: Least ratio of its room to its distance with which a joint moves [-].
CHECKS = 20  #: Number of samples between two waypoints at which efforts are predicted.
ACCELERATION = 3.0  #: Greatest acceleration [rad/s²] or [m/s²].
MARGIN = 0.05  #: Distance kept from the position limits [rad] or [m].
STRAIN = 0.9  #: Greatest predicted effort, as ratio of the effort limit [-].
DEVIATION = 2.0  #: Error that ends the motion, as ratio of the joint's distance [-].
SPEED = 0.5  #: Speed of the motion, as ratio of that of other motions [-].


@dataclass(frozen=True)
class PayloadSettings(CheckedSettings):
    """Settings of the estimation of a payload."""

    distance: tuple[float, ...] = setting(
        (0.3, 0.05), "distance that a revolute and a prismatic joint move to either side", "rad, m", 1e-3, 1.5
    )
    speed: float = shared(ToolSettings, "target_speed")
    adopt: bool = switch(False, "set the parameters payload.* to the result")

    def distances(self, robot: Robot) -> Array:
        """Distance that each joint moves to either side, (n,) in [rad] or [m]."""
        return np.array([self.distance[joint.is_prismatic] for joint in robot.joints])


def payload_motion(
    dynamics: Dynamics, held: Array, effort: Array, limits: Limits, settings: PayloadSettings
) -> Trajectory:
    """A motion for the estimation of the payload, from the position ``held`` (n,) [rad] or [m], within limits.
    ``effort`` holds the arm there, (n,) [N·m] or [N]: its difference from the model is assumed to be needed during the
    motion too. NotReadyError: there is not enough room or effort for it; the message names the joint.
    """
    robot = dynamics.robot
    most = settings.distances(robot)
    rooms = robot.upper - MARGIN - held, held - robot.lower - MARGIN
    above, below = (np.where(room >= LEAST_ROOM * most, np.minimum(room, most), 0.0) for room in rooms)
    if not (above + below).any():
        raise NotReadyError("no joint has room to move: each is at its position limits")
    leg, joint = np.arange(WAYPOINTS)[:, None], np.arange(robot.n)[None, :]
    turn = leg + joint
    side = np.where(turn // 2 ** (joint % 3) % 2 == 0, 1.0, -1.0) * np.where((turn + turn // 2) % 2 == 0, 1.0, 0.5)
    there = held - below + (1.0 + side) / 2.0 * (above + below)
    waypoints = np.vstack([held, there, held])
    speed = np.where(np.isfinite(limits.velocity), SPEED * settings.speed * limits.velocity, np.inf)
    acceleration = np.minimum(ACCELERATION, robot.symmetric_acceleration_limit)
    legs = durations(waypoints, speed, acceleration, robot.jerk_limit)
    kept = np.concatenate([[True], legs > 0.0])
    trajectory = rest_to_rest(waypoints[kept], np.concatenate([[0.0], np.cumsum(legs[legs > 0.0])]))
    unexplained = np.abs(effort - dynamics.gravity(held))
    checked = trajectory.samples(np.linspace(0.0, trajectory.duration, CHECKS * len(legs)))
    for needed in np.abs(dynamics.inverse(*checked)) + unexplained:
        for place in np.flatnonzero(needed > STRAIN * limits.effort):
            weak, most = robot.joints[place], STRAIN * limits.effort[place]
            about = f"{weak.name} would need about {needed[place]:.3g} {weak.effort_unit} on the path"
            raise NotReadyError(f"{about}, and {STRAIN:g} of its limit are {most:.3g}")
    return trajectory
