# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""From a pose of the tool to positions of the joints, or a refusal with its reason.

The components of the pose that count depend on the arm: six joints or more can reach a pose, a planar arm a position
and a turn in its plane, others a position. A target may deviate by a slack at most in directions that the arm cannot
move in (a planar arm: out of its plane). A planar RR or PRR arm uses the closed form, others damped least squares.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_states
from robodyn_ros.errors import RobodynError, RobotDescriptionError
from robodyn_ros.kinematics import se3
from robodyn_ros.kinematics.forward import Kinematics
from robodyn_ros.kinematics.inverse.planar import Branches, PlanarInverse
from robodyn_ros.kinematics.inverse.solver import InverseKinematics, InverseSettings
from robodyn_ros.kinematics.inverse.task import Task
from robodyn_ros.kinematics.screws import Screws, plane_normal, screws
from robodyn_ros.robot import Array, ConfigurationSpace, Pose

SLACK = 0.02, 0.05
"""Default slack: over the mean length of the arm's segments, and in [rad]."""


class UnreachableError(RobodynError):
    """A pose that the tool cannot reach; the message has the reason.

    Attributes:
        reason: the reason without the tool's name.
    """

    def __init__(self, link: str, reason: str) -> None:
        super().__init__(f"target of {link!r}: {reason}")
        self.reason = reason


class Goal(NamedTuple):
    """Joint positions that bring the tool to a target."""

    q: Array  # (n,) in [rad] or [m], within the limits, in the turns nearest to the initial position
    pose: Array  # pose of the tool at these positions (4, 4)
    position_error: float  # between that and the target, in all directions [m]
    rotation_error: float  # likewise [rad]


class ToolTarget:
    """Joint positions for targets of one link. Like a kernel, an object of this class belongs to one thread.

    Attributes:
        task: the components of a pose that count.
        slack: greatest deviation of a target in directions that the arm cannot move in: [m] and [rad]; without limit
            if the task was given.
    """

    def __init__(self, kinematics: Kinematics, link: str, *, task: Task | None = None) -> None:
        """
        Args:
            kinematics: of the arm.
            link: the tool.
            task: the components of a pose that count; those that the arm can reach unless given.

        Raises:
            InputError: no such link, or no joint moves it.
        """
        self._kinematics, self._link = kinematics, link
        self._inverse = InverseKinematics(kinematics, link, InverseSettings(choose="nearest", starts=20))
        self._space = ConfigurationSpace(kinematics.robot)
        found = screws(kinematics.robot, link)
        normal = plane_normal(found.axes)
        self.task = task or _task(found, normal)
        self._normal = normal if task is None else None  # what a given task does not count is free
        self.slack = SLACK[0] * self._inverse.length, SLACK[1]
        self._planar = None
        if task is None:
            with suppress(RobotDescriptionError):  # most arms are not
                self._planar = PlanarInverse(kinematics.robot, link)

    def goal(self, target: ArrayLike | Pose, q: ArrayLike) -> Goal:
        """Return the joint positions for a target of the tool.

        Args:
            target: pose of the tool in the root link's frame, (4, 4) or a Pose.
            q: present joint positions, (n,) in [rad] or [m].

        Raises:
            InputError: the target is no pose, or q is not n finite numbers.
            UnreachableError: no positions within the limits bring the tool there.
        """
        wanted, start = se3.as_pose(target), finite_states("q", q, self._kinematics.robot.n)
        if self._planar is not None:
            found = self._by_branches(self._planar, wanted, start)
        else:
            solution = self._inverse.solve(wanted, start, self.task)
            if not solution.converged:
                raise UnreachableError(self._link, solution.reason)
            found = solution.q
        pose = self._kinematics.pose(self._link, found)
        missing = se3.error(pose, wanted)
        off = float(np.linalg.norm(missing[:3])), float(np.linalg.norm(missing[3:]))
        self._check_slack(missing)
        return Goal(found, pose, *off)

    def _by_branches(self, closed: PlanarInverse, wanted: Array, start: Array) -> Array:
        """Return the nearest branch of the closed form, for the projection of the target on the plane."""
        flat = wanted[:3, 3] - closed.arm.beside(wanted[:3, 3])
        turn = closed.arm.turn_of(wanted[:3, :3]) if closed.arm.kind == "PRR" else None
        found: Branches = closed.solve(flat, turn, start, slack=1e-9)
        if not found.solutions:
            raise UnreachableError(self._link, f"out of reach: {found.reason}")
        if not found.within_limits:
            listed = "; ".join(np.array2string(one.q, precision=4, suppress_small=True) for one in found.solutions)
            raise UnreachableError(self._link, f"reachable only outside the position limits, at {listed}")
        distances = [self._space.distance(start, branch.q) for branch in found.within_limits]
        return found.within_limits[int(np.argmin(distances))].q

    def _check_slack(self, missing: Array) -> None:
        """Refuse a target that deviates by more than the slack in directions that the arm cannot move in."""
        if self._normal is None:
            return
        beside = abs(float(missing[:3] @ self._normal))
        tilt = float(np.linalg.norm(missing[3:] - (missing[3:] @ self._normal) * self._normal))
        if beside > self.slack[0]:
            raise UnreachableError(self._link, f"out of the plane of the arm by {beside:.3g} m")
        if tilt > self.slack[1]:
            raise UnreachableError(self._link, f"the tool would have to tilt out of the plane by {tilt:.3g} rad")


def _task(found: Screws, normal: Array | None) -> Task:
    joints = len(set(found.coordinates))
    if normal is None:
        return Task.pose() if joints >= 6 else Task.position()
    planar = Task.planar(normal)
    return planar if joints >= 3 else Task.along((1, 1, 0, 0, 0, 0), planar.axes)
