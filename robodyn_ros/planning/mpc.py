"""Model predictive control: every few states, the best short motion from the state that the arm is in.

    min  Σ h l(x_k, u_k) + l_f(x_N)   over   x_{k+1} = f(x_k, u_k),  |u_k| ≤ effort limit,   x_0 = the state

with the l of :mod:`.mpc_cost`, by iLQR (:mod:`.ilqr`), which begins with what is left of the motion before. What goes
to the arm is u + K (x - x_plan) of that motion, anew for every state. So where no effort comes to its limit the law is
computed torque with the same gains; and where one does, it knows of it beforehand: it brakes as early as it must.

Friction, the integral of the error and a reference's own effort are added as in computed torque, and what the limits
leave beside them is planned with.

A solution that takes longer than its budget or fails is not used: until the next one the law is computed torque itself,
as it is for states that it was not led to by :meth:`advance`; :meth:`report` and :meth:`complaint` say how often.

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
"""How long the law does not try again after a solution that was late, in durations of that: states must be answered."""

KEPT = 1000
"""How many durations of solutions are kept for their statistics."""


class MPC(Controller):
    """The best short motion within the effort limits, anew every few states; else computed torque.

    Attributes:
        plan: what it goes by, or None: then it is computed torque.
        config: the settings.
        solved: how many solutions were used.
        late: how many came too late.
        failed: how many were none.
        solve_times: how long the last of them took [s].
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
        """See :class:`Controller`. What it compiles is ready when it is made.

        Raises:
            InputError: the dynamics have no expressions.
            NotReadyError: nothing was compiled for the law, so that it could not keep time.
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
        self._said = 0, 0
        self.plan: MPCPlan | None = None
        self._age, self._wait, self._state = np.inf, self.config.period, (self._none, self._none)

    def look_ahead(self, expected: Callable[[float], Reference], effort_limit: Array) -> None:
        """See :class:`Controller`."""
        self._expected, self._limit = expected, effort_limit

    def advance(self, dt: float, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:
        """Go on by a period, and solve if it is time to."""
        if dt <= 0.0:
            self.forget()
        self._age += dt
        self._state = q, qd
        if not self._age < self._wait - 1e-9:
            self._solve(q, qd, reference)

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """See the module."""
        plan = self.plan
        if plan is None or not (np.array_equal(q, self._state[0]) and np.array_equal(qd, self._state[1])):
            return self._computed_torque.compute(q, qd, reference, integral)
        drawn = self._none if integral is None else self.ki * integral
        gravity, coriolis, inertia, drawn = self.dynamics.terms(q, qd, reference.qdd, drawn)
        friction = self._friction.against(reference.qd, SMOOTHING)
        feedback = plan.effort(self._age, q, qd) - gravity - coriolis - inertia + drawn
        total = gravity + coriolis + inertia + friction + feedback + reference.effort
        return Efforts(gravity, coriolis, inertia, friction, feedback, reference.effort, total)

    def resume(self, before: Controller) -> None:
        """Take over the plan, where there is one."""
        if isinstance(before, MPC) and before is not self:
            self.plan, self._age, self._state = before.plan, before._age, before._state
            self._expected, self._limit = before._expected, before._limit
            self.solved, self.late, self.failed = before.solved, before.late, before.failed
            self.solve_times, self._said = before.solve_times, before._said

    def forget(self) -> None:
        """Have no plan."""
        self.plan, self._age, self._wait, self._state = None, np.inf, self.config.period, (self._none, self._none)

    def complaint(self) -> str:
        """How many solutions could not be used since it was last asked."""
        said, self._said = self._said, (self.late, self.failed)
        late, failed = self.late - said[0], self.failed - said[1]
        return f"{late} solutions of mpc too late, {failed} failed: computed torque instead" if late + failed else ""

    def report(self) -> dict[str, float]:
        """How the solutions are doing."""
        times = 1e3 * np.array(self.solve_times or [0.0])
        return {
            "mpc solutions used": float(self.solved),
            "mpc solutions too late, computed torque instead": float(self.late),
            "mpc solutions failed, computed torque instead": float(self.failed),
            "mpc solve time median [ms]": float(np.median(times)),
            "mpc solve time p99 [ms]": float(np.percentile(times, 99.0)),
        }

    def _solve(self, q: Array, qd: Array, reference: Reference) -> None:
        """A new plan from a state, or none."""
        guess = None if self.plan is None else self.plan.shifted(self._age)
        # As it moves now, unless somebody said what is to come.
        expected = self._expected or (lambda ahead: reference._replace(q=reference.q + ahead * reference.qd))
        gains = self.kp, self.kd
        answer = self._problem.solve((q, qd), expected, reference.effort, self._limit, gains, guess)
        self.plan, self._age = answer.plan, 0.0
        self._wait = max(self.config.period, REST * answer.taken if answer.outcome == "late" else 0.0)
        self.solve_times.append(answer.taken)
        self.solved += answer.outcome == "solved"
        self.late += answer.outcome == "late"
        self.failed += answer.outcome == "failed"
