"""What iLQR found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.planning.plan import Plan
from robodyn_ros.robot.pose import Array


@dataclass(frozen=True, eq=False)
class Solution:
    """A motion in N steps, with the feedback that keeps the arm to it.

    Attributes:
        joints: names, in the order of every array of n.
        times: (N + 1,) [s].
        states: q and q̇, (N + 1, 2n).
        efforts: held over each step, (N, n) in [N·m] or [N].
        change: by which the efforts would change next, (N, n): close to zero when solved.
        feedback: K (N, n, 2n), with δu = K δx: the best answer to being off the way; zero rows at effort limits.
        cost: what was minimised.
        solved: whether it is a minimum, to the tolerances.
        reason: why the search ended.
        iterations: how many it took.
        history: the cost at first and after each of them that lowered it.
        solve_time: how long it took [s].
    """

    joints: tuple[str, ...]
    times: Array
    states: Array
    efforts: Array
    change: Array
    feedback: Array
    cost: float
    solved: bool
    reason: str
    iterations: int
    history: Array
    solve_time: float

    def to_plan(self, dynamics: Dynamics) -> Plan:
        """As any planner gives it; at its last point the last effort acts on.

        Args:
            dynamics: the arm's model.
        """
        n = len(self.joints)
        q, qd = self.states[:, :n].copy(), self.states[:, n:].copy()
        effort = np.vstack((self.efforts, self.efforts[-1:]))
        return Plan(
            self.joints,
            self.times,
            q,
            qd,
            dynamics.forward(q, qd, effort),
            effort,
            self.solved,
            self.reason,
            None,
            self.cost,
            self.solve_time,
            "ilqr",
            0.0,
        )
