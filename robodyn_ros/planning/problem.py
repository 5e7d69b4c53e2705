"""What is asked of a planner: from where to where, at what cost, within which limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics, se3
from robodyn_ros.kinematics.expressions import placed
from robodyn_ros.kinematics.inverse.task import Task
from robodyn_ros.kinematics.target import ToolTarget
from robodyn_ros.kinematics.workspace import random_positions
from robodyn_ros.planning.clearance import Capsule, Clearance, capsules
from robodyn_ros.planning.cost import Cost, MinimumTime
from robodyn_ros.planning.obstacles import Obstacle
from robodyn_ros.planning.smooth_model import SmoothModel
from robodyn_ros.robot import Pose, Robot
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array, read_only

# What a motion has to keep to.

SHARE = 0.9
"""Of the limits of speed and effort that a plan uses unless told otherwise; the rest is left to feedback."""


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Of n joints; inf where there is none.

    Attributes:
        lower: least positions (n,) in [rad] or [m].
        upper: greatest positions (n,).
        velocity: greatest speeds (n,) in [rad/s] or [m/s].
        acceleration: greatest accelerations (n,) in [rad/s²] or [m/s²].
        effort: greatest efforts (n,) in [N·m] or [N].
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array

    @classmethod
    def of(
        cls,
        robot: Robot,
        *,
        share: float = SHARE,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        effort: ArrayLike | None = None,
    ) -> MotionLimits:
        """Those of the URDF, or others in their place.

        Args:
            robot: the arm.
            share: of the limits of speed and effort that may be used, above 0 and up to 1.
            velocity: (n,) or one for all, of which the share is taken.
            acceleration: likewise, but all of it is used; none unless given, for a URDF has none.
            effort: likewise, of which the share is taken.

        Raises:
            InputError: a wrong shape, or a limit not above 0.
        """
        if not 0.0 < share <= 1.0:
            raise InputError("share", f"must be above 0 and at most 1, not {share!r}", share)
        return cls(
            robot.lower,
            robot.upper,
            share * _limit("velocity", robot.velocity_limit if velocity is None else velocity, robot),
            _limit("acceleration", np.inf if acceleration is None else acceleration, robot),
            share * _limit("effort", robot.effort_limit if effort is None else effort, robot),
        )


def _limit(name: str, value: ArrayLike, robot: Robot) -> Array:
    given = np.asarray(value, dtype=np.float64)
    if given.shape not in ((), (robot.n,)) or not (given > 0.0).all():
        raise InputError(f"{name} limit", f"must be above 0, one number or {robot.n}, not {value!r}", value)
    return read_only(np.broadcast_to(given, (robot.n,)))


# Where a motion has to go: positions of joints, or a place of the tool.


@dataclass(frozen=True, eq=False)
class JointGoal:
    """Positions of the joints.

    Attributes:
        q: (n,) in [rad] or [m]; NaN for a joint that may be anywhere.
        qd: velocities (n,); NaN, or None for all of them: any. At rest unless given; a via point passes at any speed.
    """

    q: ArrayLike
    qd: ArrayLike | None = 0.0

    def positions(self, model: SmoothModel, near: Array) -> Array:
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

    def positions(self, model: SmoothModel, near: Array) -> Array:
        """Joint positions (n,) that reach it, from which a search begins.

        Raises:
            UnreachableError: there are none within the limits.
            InputError: no such link, or no pose.
        """
        return ToolTarget(Kinematics(model.dynamics.robot), self.link, task=self.task).goal(self.pose, near).q

    def residual(self, model: SmoothModel) -> ca.Function:
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


@dataclass(frozen=True, eq=False)
class Problem:
    """A motion to be found; it ends at the goal, and passes the via points in their order.

    Attributes:
        dynamics: of the arm, with payload, friction and gravity as they are.
        start: positions (n,) in [rad] or [m].
        goal: where it ends.
        cost: what is to be least.
        duration: of the motion [s]; free unless given.
        limits: to keep to; a share of the URDF's unless given (:class:`MotionLimits`).
        start_velocity: (n,); at rest unless given.
        via: where it passes.
        obstacles: what it keeps clear of.
        margin: by how much [m].
        bodies: the arm's capsules; of the URDF's shapes unless given.
        limit_margin: how far it keeps from position limits, but near its ends [rad] or [m]. A controller whose soft
            limits begin there, or a tracking error, else gets in its way.
        longest: no motion takes longer [s].
    """

    dynamics: Dynamics
    start: ArrayLike
    goal: Goal
    cost: Cost = field(default_factory=MinimumTime)
    duration: float | None = None
    limits: MotionLimits | None = None
    start_velocity: ArrayLike | None = None
    via: tuple[Goal, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    margin: float = 0.01
    bodies: tuple[Capsule, ...] | None = None
    limit_margin: float = 0.0
    longest: float = 60.0

    def __post_init__(self) -> None:
        n = self.dynamics.robot.n
        finite_array("start", self.start, (n,))
        finite_array("start_velocity", np.zeros(n) if self.start_velocity is None else self.start_velocity, (n,))
        if self.duration is not None and not 0.0 < self.duration < np.inf:
            raise InputError("duration", f"must be above 0 s, not {self.duration!r}", self.duration)
        if self.cost.moving and (self.duration is None or self.via):
            raise InputError("cost", "tracks a trajectory: that takes a fixed duration, and no via points", self.cost)
        for name in ("margin", "limit_margin"):
            if not getattr(self, name) >= 0.0:
                raise InputError(name, f"must not be below 0, but is {getattr(self, name)!r}", getattr(self, name))

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self.dynamics.robot.joint_names

    @cached_property
    def model(self) -> SmoothModel:
        """The arm's equations."""
        return SmoothModel(self.dynamics)

    @cached_property
    def bounds(self) -> MotionLimits:
        """The limits, whether given or not."""
        return self.limits or MotionLimits.of(self.dynamics.robot)

    @cached_property
    def first(self) -> tuple[Array, Array]:
        """Position and velocity (n,) at the start."""
        n = self.dynamics.robot.n
        qd = np.zeros(n) if self.start_velocity is None else self.start_velocity
        return np.asarray(self.start, dtype=np.float64), np.asarray(qd, dtype=np.float64)

    @cached_property
    def clearance(self) -> Clearance | None:
        """Distances from the obstacles; None where there are none."""
        if not self.obstacles:
            return None
        bodies = capsules(self.dynamics.robot) if self.bodies is None else self.bodies
        return Clearance(self.model, bodies, self.obstacles) if bodies else None

    @cached_property
    def stops(self) -> tuple[Array, ...]:
        """Joint positions (n,) at the start, the via points and the goal, from which a search begins.

        Raises:
            UnreachableError: one of them cannot be reached.
            InputError: one of them is wrong.
        """
        found = [self.first[0]]
        for goal in (*self.via, self.goal):
            found.append(goal.positions(self.model, found[-1]))
        return tuple(found)
