# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The problem that a planner solves: start, goal, cost, limits and obstacles of a motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import check, finite_array
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.engine.casadi import ca
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics, se3, so3
from robodyn_ros.kinematics.forward import placed
from robodyn_ros.kinematics.inverse.task import Task
from robodyn_ros.kinematics.target import ToolTarget
from robodyn_ros.kinematics.tree import build_tree
from robodyn_ros.planning.cost import Cost, MinimumTime
from robodyn_ros.planning.ddp.passes import require_expressions
from robodyn_ros.planning.obstacles import Capsule, Clearance, Obstacle, capsules
from robodyn_ros.robot import Array, ConfigurationSpace, Flags, Pose, Robot, random_positions, read_only

LIMIT_RATIO = 0.9
"""Default ratio of the limits of speed and effort that a plan uses; the rest remains for the feedback."""

REVERSAL = 0.02
"""Speed at which a smooth reversal has three quarters of Coulomb friction, over the velocity limit, or over 1 rad/s or
m/s if that is less."""


class SmoothModel:
    """The equations of motion of one arm, smooth everywhere, with payload, friction and gravity as they are now.

    Attributes:
        dynamics: dynamics of the arm.
        n: number of joints.
        inverse: (q, q̇, q̈) → τ, each (n,).
    """

    def __init__(self, dynamics: Dynamics) -> None:
        """
        Args:
            dynamics: dynamics of the arm.

        Raises:
            InputError: the plugin of the dynamics has no expressions.
        """
        model = require_expressions(dynamics)
        self.dynamics, self.n = dynamics, dynamics.robot.n
        n = self.n
        states = [ca.SX.sym(name, n) for name in ("q", "qd", "qdd")]
        symbols, rough = model.symbols.copy(), model.parameters.coulomb
        symbols[3 + 2 * n : 3 + 3 * n] = 0.0  # sign(q̇) has no derivative where it matters
        tau = model.expressions("inverse", states, symbols)[0]
        tau += ca.DM(rough) * ca.tanh(states[1] / ca.DM(REVERSAL * np.minimum(dynamics.robot.velocity_limit, 1.0)))
        self.inverse = ca.Function("inverse", states, [tau], ["q", "qd", "qdd"], ["tau"])

    def efforts(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """τ (K, n) in [N·m] or [N] of motions (K, n)."""
        columns = [np.asarray(values, dtype=np.float64).T for values in (q, qd, qdd)]
        return np.array(self.inverse(*columns)).T

    def holding(self, q: ArrayLike) -> Array:
        """The efforts (n,) that hold the arm at rest at q (n,)."""
        still = np.zeros(self.n)
        return np.array(self.inverse(np.asarray(q), still, still)).ravel()


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """The limits of n joints; inf where there is none.

    Attributes:
        lower: least positions (n,) in [rad] or [m].
        upper: greatest positions (n,).
        velocity: greatest speeds (n,) in [rad/s] or [m/s].
        acceleration: greatest accelerations (n,) in [rad/s²] or [m/s²].
        effort: greatest efforts (n,) in [N·m] or [N].
        jerk: greatest jerks (n,) in [rad/s³] or [m/s³].
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array
    jerk: Array

    @classmethod
    def of(
        cls,
        robot: Robot,
        *,
        limit_ratio: float = LIMIT_RATIO,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        effort: ArrayLike | None = None,
        jerk: ArrayLike | None = None,
    ) -> MotionLimits:
        """The limits of the URDF, or others in their place.

        Args:
            robot: the arm.
            limit_ratio: ratio of the limits of velocity and effort that may be used, above 0 and up to 1.
            velocity: velocity limits, (n,) or one for all; those of the URDF unless given.
            acceleration: acceleration limits, likewise, for speeding up and slowing down; all of them is used.
            effort: effort limits, likewise; those of the URDF unless given.
            jerk: jerk limits, likewise; all of them is used.

        Raises:
            InputError: the ratio is out of range, a shape is wrong, or a limit is not above 0.
        """
        check(0.0 < limit_ratio <= 1.0, "limit_ratio", "above 0 and at most 1", limit_ratio)
        speed = limit_ratio * _limit("velocity", velocity, robot.velocity_limit, robot)
        change = _limit("acceleration", acceleration, robot.symmetric_acceleration_limit, robot)
        force = limit_ratio * _limit("effort", effort, robot.effort_limit, robot)
        return cls(robot.lower, robot.upper, speed, change, force, _limit("jerk", jerk, robot.jerk_limit, robot))


def _limit(name: str, own: ArrayLike | None, usual: Array, robot: Robot) -> Array:
    value = usual if own is None else own
    given = np.asarray(value, dtype=np.float64)
    is_limit = given.shape in ((), (robot.n,)) and (given > 0.0).all()
    check(is_limit, f"{name} limit", f"above 0, one number or {robot.n}", value)
    return read_only(np.broadcast_to(given, (robot.n,)))


@dataclass(frozen=True, eq=False)
class JointGoal:
    """A goal in joint positions.

    Attributes:
        q: positions (n,) in [rad] or [m]; NaN for a joint that may be anywhere.
        qd: velocities (n,) or one for all; NaN for a joint that may have any, None if all may. At rest unless given.
    """

    q: ArrayLike
    qd: ArrayLike | None = 0.0

    def positions(self, model: SmoothModel, near: Array) -> Array:
        """Joint positions (n,) that reach the goal; joints that may be anywhere stay at ``near``."""
        given = np.asarray(self.q, dtype=np.float64)
        check(given.shape == (model.n,) and not np.isinf(given).any(), "goal", f"{model.n} positions", self.q)
        turned = ConfigurationSpace(model.dynamics.robot).near(near, np.where(np.isnan(given), near, given))
        return np.where(np.isnan(given), near, turned)

    def fixes(self, model: SmoothModel) -> Flags:
        """True for each joint (n,) whose position the goal determines by itself."""
        return np.isfinite(np.asarray(self.q, dtype=np.float64).reshape(model.n))


@dataclass(frozen=True, eq=False)
class ToolGoal:
    """A goal in the pose of a link, or in some components of that pose.

    Attributes:
        pose: pose in the root link's frame, (4, 4) or a Pose.
        link: the tool.
        task: the components of the pose that count; those that the arm can reach unless given
            (:mod:`robodyn_ros.kinematics.target`).
        qd: as for :class:`JointGoal`.
    """

    pose: ArrayLike | Pose
    link: str
    task: Task | None = None
    qd: ArrayLike | None = 0.0

    @classmethod
    def at(cls, position: Sequence[float] | Array, link: str, qd: ArrayLike | None = 0.0) -> ToolGoal:
        """A goal in the position alone, (3,) in [m]; the orientation is free."""
        return cls(Pose(translation=np.asarray(position, dtype=np.float64)), link, Task.position(), qd)

    def positions(self, model: SmoothModel, near: Array) -> Array:
        """Joint positions (n,) that reach the goal, found from ``near``; joints that do not move the tool stay there.

        Raises:
            UnreachableError: there are none within the limits.
            InputError: the link does not exist, or the pose is invalid.
        """
        found = ToolTarget(Kinematics(model.dynamics.robot), self.link, task=self.task).goal(self.pose, near).q
        return np.where(self.fixes(model), near, found)

    def fixes(self, model: SmoothModel) -> Flags:
        """True for each joint (n,) that does not move the tool, such as a gripper's: it stays where it is."""
        moves = np.array(ca.DM(self.residual(model).jac_sparsity(0, 0), 1.0))
        return moves.max(axis=0, initial=0.0) == 0.0

    def residual(self, model: SmoothModel) -> ca.Function:
        """The residual of q that is 0 at the goal, in [m] and the sine of [rad]: the task's rows that depend on q."""
        q, rows, counted, _, _ = self._rows(model)
        return ca.Function("residual", [q], [rows[counted]])

    def error(self, model: SmoothModel, q: Array) -> float:
        """Greatest component of the residual at q (n,), with angles in place of their sines, which are 0 at half a turn
        too.
        """
        symbols, rows, counted, axes, turn = self._rows(model)
        found, turned = map(np.array, ca.Function("error", [symbols], [rows, turn])(q))
        found[3:, 0] = axes @ so3.log(turned)
        return float(np.abs(found[counted]).max(initial=0.0))

    def _rows(self, model: SmoothModel) -> tuple[ca.SX, ca.SX, list[int], Array, ca.SX]:
        """q, all rows of the residual, those that count, the task's directions, and the turn from the goal."""
        robot = model.dynamics.robot
        task, wanted = ToolTarget(Kinematics(robot), self.link, task=self.task).task, se3.as_pose(self.pose)
        q = ca.SX.sym("q", model.n)
        where = placed(build_tree(robot), robot.link(self.link), q)
        axes, rotation = task.directions(wanted[:3, :3]), ca.DM(wanted[:3, :3])
        turn = where.rotation @ rotation.T
        angular = ca.inv_skew((turn - turn.T) / 2)
        rows = ca.vertcat(ca.DM(axes) @ (where.position - ca.DM(wanted[:3, 3])), ca.DM(axes) @ angular)
        slopes = ca.Function("slopes", [q], [ca.jacobian(rows, q)])
        seen = np.array([np.abs(np.array(slopes(at))).max(axis=1) for at in random_positions(robot, 5)]).max(axis=0)
        counted = [int(row) for row in np.flatnonzero((task.weights > 0.0) & (seen > 1e-9))]
        return q, rows, counted, axes, turn


Goal = JointGoal | ToolGoal


def speed(goal: Goal, n: int) -> Array:
    """The velocities (n,) at a goal; NaN for a joint that may have any.

    Raises:
        InputError: the goal's velocities have a wrong shape or are infinite.
    """
    given = np.asarray(np.nan if goal.qd is None else goal.qd, dtype=np.float64)
    if given.shape not in ((), (n,)) or np.isinf(given).any():
        raise InputError("goal", f"must have {n} velocities or one, not {goal.qd!r}", goal.qd)
    return np.array(np.broadcast_to(given, (n,)))


def rests(goal: Goal, n: int) -> bool:
    """True if the arm is at rest at a goal."""
    return not np.nan_to_num(speed(goal, n), nan=1.0).any()


@dataclass(frozen=True, eq=False)
class Problem:
    """A motion to be found. It passes the via points in their order and ends at the goal.

    Attributes:
        dynamics: dynamics of the arm, with payload, friction and gravity as they are.
        start: positions (n,) in [rad] or [m].
        goal: the end of the motion.
        cost: the cost to minimise.
        duration: duration of the motion [s]; free unless given.
        limits: limits of the motion; ``MotionLimits.of`` the arm unless given.
        start_velocity: velocities at the start (n,); at rest unless given.
        via: via points.
        obstacles: obstacles that the arm avoids.
        margin: least distance from them [m].
        bodies: the arm's capsules; those of the URDF's shapes unless given.
        limit_margin: distance from position limits, but near the ends of the motion [rad] or [m]. It keeps tracking
            errors, and a controller's soft limits, from interfering. A path that is given (time scaling) may be nearer.
        longest: greatest duration of a leg in the search of collocation [s]; a motion along the straight path, by time
            scaling or where there is no optimum, may take longer.
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
        _ = self.first  # which is checked as it is read
        check(self.duration is None or 0.0 < self.duration < np.inf, "duration", "above 0 s", self.duration)
        if self.cost.moving and (self.duration is None or self.via):
            raise InputError("cost", "tracks a trajectory: that needs a fixed duration, and no via points", self.cost)
        check(self.longest > 0.0, "longest", "above 0 s", self.longest)
        for name in ("margin", "limit_margin"):
            check(0.0 <= getattr(self, name) < np.inf, name, "a finite number from 0 up", getattr(self, name))

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
        """The given limits, else the default ones."""
        return self.limits or MotionLimits.of(self.dynamics.robot)

    @cached_property
    def first(self) -> tuple[Array, Array]:
        """Position and velocity (n,) at the start."""
        n = self.dynamics.robot.n
        qd = np.zeros(n) if self.start_velocity is None else self.start_velocity
        return finite_array("start", self.start, (n,)), finite_array("start_velocity", qd, (n,))

    @cached_property
    def clearance(self) -> Clearance | None:
        """Distances from the obstacles; None if there are no obstacles or no bodies."""
        if not self.obstacles:
            return None
        bodies = capsules(self.dynamics.robot) if self.bodies is None else self.bodies
        return Clearance(self.dynamics.robot, bodies, self.obstacles) if bodies else None

    @cached_property
    def stops(self) -> tuple[Array, ...]:
        """Joint positions (n,) at the start, the via points and the goal.

        Raises:
            UnreachableError: a tool goal cannot be reached.
            InputError: a goal is wrong.
        """
        goals, start = (*self.via, self.goal), self.first[0]
        return tuple(accumulate(goals, lambda before, goal: goal.positions(self.model, before), initial=start))
