# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""iLQR with effort limits: the best motion of fixed duration from a state, on the arm's own dynamics.

    min over u_k   Σ h_k l(x_k, u_k) + l_f(x_N),     x_{k+1} = f(x_k, u_k),   lower ≤ u_k ≤ upper

Efforts are held over a step, and f is the Runge-Kutta step. :mod:`robodyn_ros.planning.ddp.ddp` has the iterations.
There are no limits on the states; collocation plans within them.

Source: Tassa, Erez, Todorov, Synthesis and Stabilization of Complex Behaviors through Online Trajectory Optimization,
IROS 2012; Tassa, Mansard, Todorov, Control-Limited Differential Dynamic Programming, ICRA 2014; Li and Todorov,
Iterative Linear Quadratic Regulator Design for Nonlinear Biological Movement Systems, ICINCO 2004.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.planning.cost import Cost
from robodyn_ros.planning.ddp.ddp import DDP, ILQRSettings
from robodyn_ros.planning.ddp.programs import as_rows, require_expressions
from robodyn_ros.planning.plan import Plan
from robodyn_ros.robot.pose import Array

REASONS = {
    "gradient": "the efforts have converged",
    "cost": "the cost has converged",
    "iterations": "it was not solved within {iterations} iterations",
    "late": "it was not solved within the time limit",
    "stuck": "no step lowers the cost, with any regularisation",
    "": "the first guess leads beyond the range of numbers",
}
"""Termination → reason in words."""


@dataclass(frozen=True, eq=False)
class ILQRSolution:
    """A motion in N steps, with the feedback that keeps the arm to it.

    Attributes:
        joints: names, in the order of every array of n.
        times: (N + 1,) [s].
        states: q and q̇, (N + 1, 2n).
        efforts: efforts, held over each step, (N, n) in [N·m] or [N].
        change: change of the efforts that the next iteration would make, (N, n); close to 0 when solved.
        feedback: K (N, n, 2n), with δu = K δx, the optimal feedback on deviations; rows at effort limits are 0.
        cost: the minimised cost.
        solved: True if it is a minimum, to the tolerances.
        reason: why the search ended.
        iterations: number of iterations.
        history: the cost at first, and after each iteration that lowered it.
        solve_time: time that the search took [s].
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
        """The motion as a plan; at its last point the last effort acts.

        Args:
            dynamics: dynamics of the arm.
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


class ILQR:
    """Solves problems of one arm, cost and number of steps.

    Attributes:
        ddp: the solver; after a solution its memory holds the derivatives along the motion.
    """

    def __init__(self, dynamics: Dynamics, cost: Cost, steps: int, settings: ILQRSettings | None = None) -> None:
        """
        Args:
            dynamics: dynamics of the arm, by the plugins ``rnea`` or ``lagrangian``, with its friction.
            cost: the cost to minimise; its second derivatives are Gauss-Newton's.
            steps: number of steps in time.
            settings: settings, the defaults unless given.

        Raises:
            InputError: the dynamics have no expressions, or there is no step.
            NotReadyError: there is no C compiler; the message explains how to get one.
        """
        if steps < 1:
            raise InputError("steps", f"must be at least 1, not {steps}", steps)
        self._dynamics, self._cost, self._settings = require_expressions(dynamics), cost, settings or ILQRSettings()
        self.ddp = DDP(self._dynamics, cost, steps, self._settings, self._dynamics.symbols)

    def solve(
        self,
        start: ArrayLike,
        duration: float,
        *,
        guess: ArrayLike | None = None,
        effort_limit: ArrayLike | None = None,
        time_limit: float = np.inf,
    ) -> ILQRSolution:
        """Find the best motion from a state.

        Args:
            start: q and q̇, (2n,).
            duration: duration of the motion [s], in steps of equal length.
            guess: initial guess of the efforts, (n,) or (steps, n) in [N·m] or [N]; gravity's at the start unless
                given.
            effort_limit: greatest efforts (n,), the URDF's unless given.
            time_limit: greatest time of the search [s].

        Raises:
            InputError: an argument has a wrong shape, is not finite or is out of range.
        """
        begun, ddp, m, n = perf_counter(), self.ddp, self.ddp.memory, self._dynamics.robot.n
        start = finite_array("start", start, (2 * n,))
        if not (np.isfinite(duration) and duration > 0.0):
            raise InputError("duration", f"must be a time above 0 [s], not {duration!r}", duration)
        times = np.linspace(0.0, duration, m.steps + 1)
        limit = as_rows(self._dynamics.robot.effort_limit if effort_limit is None else effort_limit, (1, n), "limit")
        guess = self._dynamics.gravity(start[:n]) if guess is None else guess
        m.h[:, 0], m.r[:] = np.diff(times), self._cost.reference(times, n)
        m.lower[:], m.upper[:] = -limit, limit
        m.u[:] = np.clip(as_rows(guess, m.u.shape, "guess"), m.lower, m.upper)
        termination = ddp.search(start, deadline=begun + time_limit) if ddp.begin(start) else ""
        return ILQRSolution(
            self._dynamics.robot.joint_names,
            times,
            m.x.copy(),
            m.u.copy(),
            m.k.copy(),
            m.K.copy(),
            ddp.cost,
            termination in {"gradient", "cost"},
            REASONS[termination].format(iterations=self._settings.iterations),
            ddp.iterations,
            np.array(ddp.history),
            perf_counter() - begun,
        )
