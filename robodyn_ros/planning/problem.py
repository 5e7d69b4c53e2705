"""What is asked of a planner: from where to where, at what cost, within which limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.checks import finite_array
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.planning.capsules import Capsule, capsules
from robodyn_ros.planning.clearance import Clearance
from robodyn_ros.planning.cost import Cost, MinimumTime
from robodyn_ros.planning.goals import Goal
from robodyn_ros.planning.limits import Limits
from robodyn_ros.planning.model import Model
from robodyn_ros.planning.obstacles import Obstacle
from robodyn_ros.robot.pose import Array


@dataclass(frozen=True, eq=False)
class Problem:
    """A motion to be found; it ends at the goal, and passes the via points in their order.

    Attributes:
        dynamics: of the arm, with payload, friction and gravity as they are.
        start: positions (n,) in [rad] or [m].
        goal: where it ends.
        cost: what is to be least.
        duration: of the motion [s]; free unless given.
        limits: to keep to; a share of the URDF's unless given (:class:`Limits`).
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
    limits: Limits | None = None
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
    def model(self) -> Model:
        """The arm's equations."""
        return Model(self.dynamics)

    @cached_property
    def bounds(self) -> Limits:
        """The limits, whether given or not."""
        return self.limits or Limits.of(self.dynamics.robot)

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
