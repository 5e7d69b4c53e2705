"""Where a motion has to go: positions of joints, or a place of the tool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics, se3
from robodyn_ros.kinematics.expressions import placed
from robodyn_ros.kinematics.inverse.task import Task
from robodyn_ros.kinematics.target import ToolTarget
from robodyn_ros.kinematics.workspace import random_positions
from robodyn_ros.planning.model import Model
from robodyn_ros.robot import Pose
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array


@dataclass(frozen=True, eq=False)
class JointGoal:
    """Positions of the joints.

    Attributes:
        q: (n,) in [rad] or [m]; NaN for a joint that may be anywhere.
        qd: velocities (n,); NaN, or None for all of them: any. At rest unless given; a via point passes at any speed.
    """

    q: ArrayLike
    qd: ArrayLike | None = 0.0

    def positions(self, model: Model, near: Array) -> Array:
        """Joint positions (n,) that reach it, from which a search begins; near what is left open."""
        given = np.asarray(self.q, dtype=np.float64)
        if given.shape != (model.n,) or np.isinf(given).any():
            raise InputError("goal", f"must be {model.n} positions, not {self.q!r}", self.q)
        turned = ConfigurationSpace(model.dynamics.robot).near(near, np.where(np.isnan(given), near, given))
        return np.where(np.isnan(given), near, turned)


@dataclass(frozen=True, eq=False)
class ToolGoal:
    """A pose of a link, or the part of it that counts.

    Attributes:
        pose: in the root link's frame, (4, 4) or a Pose.
        link: the tool.
        task: what of the pose counts; what the arm is built for unless given (:mod:`robodyn_ros.kinematics.target`).
        qd: as of :class:`JointGoal`.
    """

    pose: ArrayLike | Pose
    link: str
    task: Task | None = None
    qd: ArrayLike | None = 0.0

    @classmethod
    def at(cls, position: Sequence[float] | Array, link: str, qd: ArrayLike | None = 0.0) -> ToolGoal:
        """The place alone, (3,) in [m], however the tool is turned."""
        return cls(Pose(translation=np.asarray(position, dtype=np.float64)), link, Task.position(), qd)

    def positions(self, model: Model, near: Array) -> Array:
        """Joint positions (n,) that reach it, from which a search begins.

        Raises:
            UnreachableError: there are none within the limits.
            InputError: no such link, or no pose.
        """
        return ToolTarget(Kinematics(model.dynamics.robot), self.link, task=self.task).goal(self.pose, near).q

    def residual(self, model: Model) -> ca.Function:
        """What must be 0 of q, in [m] and the sine of [rad]: the rows of the task that the arm can change."""
        robot = model.dynamics.robot
        target = ToolTarget(Kinematics(robot), self.link, task=self.task)
        task, wanted = target.task, se3.as_pose(self.pose)
        q = ca.SX.sym("q", model.n)
        where = placed(model.tree, robot.link(self.link), q)
        axes, rotation = task.directions(wanted[:3, :3]), ca.DM(wanted[:3, :3])
        turn = where.rotation @ rotation.T
        angular = ca.inv_skew((turn - turn.T) / 2)
        rows = ca.vertcat(ca.DM(axes) @ (where.position - ca.DM(wanted[:3, 3])), ca.DM(axes) @ angular)
        slopes = ca.Function("slopes", [q], [ca.jacobian(rows, q)])
        seen = np.array([np.abs(np.array(slopes(at))).max(axis=1) for at in random_positions(robot, 5)]).max(axis=0)
        counted = [int(row) for row in np.flatnonzero((task.weights > 0.0) & (seen > 1e-9))]
        return ca.Function("residual", [q], [rows[counted]])


Goal = JointGoal | ToolGoal


def speed(goal: Goal, n: int) -> Array:
    """The velocities (n,) that a goal asks for, NaN where any will do."""
    given = np.asarray(np.nan if goal.qd is None else goal.qd, dtype=np.float64)
    if given.shape not in ((), (n,)) or np.isinf(given).any():
        raise InputError("goal", f"must have {n} velocities or one, not {goal.qd!r}", goal.qd)
    return np.array(np.broadcast_to(given, (n,)))
