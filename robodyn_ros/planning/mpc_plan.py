"""What the law ``mpc`` goes by between two solutions: a short motion, and the feedback that keeps the arm to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.planning.ddp_memory import Memory
from robodyn_ros.robot.pose import Array


class ShortPlan(NamedTuple):
    """A motion in N steps of equal length; time 0 is when it begins."""

    h: float  # length of a step [s]
    x: Array  # q and q̇, (N + 1, 2n)
    u: Array  # efforts held over each step, (N, n) in [N·m] or [N]
    K: Array  # feedback, (N, n, 2n)

    @classmethod
    def of(cls, memory: Memory) -> ShortPlan:
        """What is in a problem's memory now."""
        return cls(float(memory.h[0, 0]), memory.x.copy(), memory.u.copy(), memory.K.copy())

    def effort(self, t: float, q: Array, qd: Array) -> Array:
        """The effort u + K (x - x_plan), (n,), at time t [s] for a state; the limits may be passed a little."""
        k = min(int(t / self.h), len(self.u) - 1)
        s, n = t / self.h - k, len(q)
        before, after = self.x[k], self.x[k + 1]
        # Between the steps: the cubic through both states, and its derivative.
        q0, q1, d0, d1 = before[:n], after[:n], self.h * before[n:], self.h * after[n:]
        b, c = 3.0 * (q1 - q0) - 2.0 * d0 - d1, d0 + d1 - 2.0 * (q1 - q0)
        planned_q = q0 + s * (d0 + s * (b + s * c))
        planned_qd = (d0 + s * (2.0 * b + 3.0 * s * c)) / self.h
        effort: Array = self.u[k] + self.K[k, :, :n] @ (q - planned_q) + self.K[k, :, n:] @ (qd - planned_qd)
        return effort

    def shifted(self, t: float) -> Array:
        """The efforts (N, n) of as many steps that begin at time t [s]; the last one goes on."""
        # As long as a solution comes every whole number of steps, the efforts are the very same ones.
        moments = np.round(t / self.h + np.arange(len(self.u)), 6)
        shifted: Array = self.u[np.minimum(moments.astype(int), len(self.u) - 1)]
        return shifted
