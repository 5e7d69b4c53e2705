# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Model predictive control (MPC): every few states, the law plans the best short motion from the state of the arm.

    min  Σ h l(x_k, u_k) + l_f(x_N)   over   x_{k+1} = f(x_k, u_k),  |u_k| ≤ effort limit,   x_0 = the state

The cost l is that of :class:`~robodyn_ros.planning.mpc_problem.Deviation`. iLQR solves the problem and starts from the
rest of the previous plan. The law sends u + K (x - x_plan) of the plan, for every state. While no effort reaches its
limit, the law is computed torque with the same gains; near a limit it plans ahead and brakes early enough.

Friction, the integral of the error and a reference's own effort are added as in computed torque; the plan may use the
effort that the limits leave beside them.

A solution that fails or takes longer than its budget is not used: until the next one the law is computed torque, as it
is for states for which :meth:`advance` was not called. :meth:`report` and :meth:`complaint` count these solutions.

Source: Tassa, Mansard, Todorov, Control-Limited Differential Dynamic Programming, ICRA 2014; Koenemann et al.,
Whole-body Model-Predictive Control applied to the HRP-2 Humanoid, IROS 2015, for warm start and feedback in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.laws.base import Controller, Efforts, FrictionCompensation, Reference
from robodyn_ros.control.laws.computed_torque import SMOOTHING, ComputedTorque
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.planning.mpc_problem import MPCPlan, MPCProblem, MPCSettings
from robodyn_ros.robot.pose import Array

REST = 10.0
"""Time without another try after a late solution, in durations of that solution, so that every state gets an effort."""

KEPT = 1000
"""Number of solve times that are kept for their statistics."""


class MPC(Controller):
    """Model predictive control within the effort limits, with computed torque as its fallback.

    Attributes:
        plan: the plan that the law follows; None while it is computed torque.
        config: the settings.
        solved: number of solutions that were used.
        late: number of solutions that came too late.
        failed: number of solutions that failed.
        solve_times: times of the latest solutions [s].
    """

    feedback = "acceleration"
    settings = MPCSettings

    def __init__(
        self,
        dynamics: Dynamics,
        kp: ArrayLike,
        kd: ArrayLike,
        ki: ArrayLike = 0.0,
        *,
        config: MPCSettings | None = None,
    ) -> None:
        """Make the law as any :class:`Controller`, and compile its functions.

        Raises:
            InputError: the dynamics have no expressions.
            NotReadyError: the law's functions cannot be compiled, so it would be too slow.
        """
        super().__init__(dynamics, kp, kd, ki)
        self.config = config or MPCSettings()
        self._computed_torque = ComputedTorque(dynamics, kp, kd, ki)
        self._friction = FrictionCompensation(dynamics)
        self._problem = MPCProblem(dynamics, self.config)
        self._limit = dynamics.robot.effort_limit
        self._expected: Callable[[float], Reference] | None = None
        self.solved = self.late = self.failed = 0
        self.solve_times: deque[float] = deque(maxlen=KEPT)
        self._reported = 0, 0
        self.plan: MPCPlan | None = None
        self._age, self._wait, self._state = np.inf, self.config.step, (self._none, self._none)

    def look_ahead(self, expected: Callable[[float], Reference], effort_limit: Array) -> None:
        """Take over the expected reference and the effort limit (:meth:`Controller.look_ahead`)."""
        self._expected, self._limit = expected, effort_limit

    def advance(self, dt: float, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:
        """Advance by a period, and solve if a solution is due."""
        if dt <= 0.0:
            self.forget()
        self._age += dt
        self._state = q, qd
        if not self._age < self._wait - 1e-9:
            self._solve(q, qd, reference)

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the plan for the state of the last :meth:`advance`, else those of computed torque."""
        plan = self.plan
        if plan is None or not (np.array_equal(q, self._state[0]) and np.array_equal(qd, self._state[1])):
            return self._computed_torque.compute(q, qd, reference, integral)
        correction = self._none if integral is None else self.ki * integral
        gravity, coriolis, inertia, correction = self.dynamics.terms(q, qd, reference.qdd, correction)
        friction = self._friction.against(reference.qd, SMOOTHING)
        feedback = plan.effort(self._age, q, qd) - gravity - coriolis - inertia + correction
        total = gravity + coriolis + inertia + friction + feedback + reference.effort
        return Efforts(gravity, coriolis, inertia, friction, feedback, reference.effort, total)

    def resume(self, before: Controller) -> None:
        """Take over the plan of an MPC law that was in use before."""
        if isinstance(before, MPC) and before is not self:
            self.plan, self._age, self._state = before.plan, before._age, before._state
            self._expected, self._limit = before._expected, before._limit
            self.solved, self.late, self.failed = before.solved, before.late, before.failed
            self.solve_times, self._reported = before.solve_times, before._reported

    def forget(self) -> None:
        """Drop the plan."""
        self.plan, self._age, self._wait, self._state = None, np.inf, self.config.step, (self._none, self._none)

    def complaint(self) -> str:
        """The number of solutions that could not be used since the last call, in words; empty if there are none."""
        before, self._reported = self._reported, (self.late, self.failed)
        late, failed = self.late - before[0], self.failed - before[1]
        return f"{late} solutions of mpc too late, {failed} failed: computed torque instead" if late + failed else ""

    def report(self) -> dict[str, float]:
        """The number of solutions by outcome, and their times."""
        times = 1e3 * np.array(self.solve_times or [0.0])
        return {
            "mpc solutions used": float(self.solved),
            "mpc solutions too late, computed torque instead": float(self.late),
            "mpc solutions failed, computed torque instead": float(self.failed),
            "mpc solve time median [ms]": float(np.median(times)),
            "mpc solve time p99 [ms]": float(np.percentile(times, 99.0)),
        }

    def _solve(self, q: Array, qd: Array, reference: Reference) -> None:
        """Plan from a state; the plan is None if the solution cannot be used."""
        guess = None if self.plan is None else self.plan.shifted(self._age)
        # Without an expected reference, the present one continues at its velocity.
        expected = self._expected or (lambda ahead: reference._replace(q=reference.q + ahead * reference.qd))
        gains = self.kp, self.kd
        solution = self._problem.solve((q, qd), expected, reference.effort, self._limit, gains, guess)
        self.plan, self._age = solution.plan, 0.0
        self._wait = max(self.config.step, REST * solution.duration if solution.outcome == "late" else 0.0)
        self.solve_times.append(solution.duration)
        self.solved += solution.outcome == "solved"
        self.late += solution.outcome == "late"
        self.failed += solution.outcome == "failed"
