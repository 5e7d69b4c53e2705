# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Model predictive control (MPC): every few states, the law plans the best short motion from the state of the arm.

    min  Σ h l(x_k, u_k) + l_f(x_N)   over   x_{k+1} = f(x_k, u_k),  |u_k| ≤ effort limit,   x_0 = the state

iLQR solves the problem and starts from the rest of the previous plan. The law sends u + K (x - x_plan) of the plan, for
every state. While no effort reaches its limit, the law is computed torque with the same gains; near a limit it plans
ahead and brakes early enough.

Friction, the integral of the error and a reference's own effort are added as in computed torque; the plan may use the
effort that the limits leave beside them.

The cost (:class:`Deviation`) weighs deviations from the reference so that the gains kp and kd keep their meaning:

    l = ½ Σ (q̈ - q̈_d)² + kp² e² + (kd² - 2 kp) ė²,      l_f = ½ Σ kp kd e² + 2 kp e ė + kd ė²,      e = q_d - q

Under computed torque every joint is a double integrator whose input is its acceleration. Among all feedback on such a
joint, q̈ = q̈_d + kp e + kd ė minimises exactly this l over all time, and l_f is its integral after the end of the plan
(Anderson and Moore, Optimal Control: Linear Quadratic Methods (1990), section 5.4, the inverse problem). So while no
effort reaches its limit, minimising l is computed torque with the same gains, up to the length of a step.

A solution that fails or takes longer than its budget is not used: until the next one the law is computed torque, as it
is for states for which :meth:`advance` was not called. :meth:`report` and :meth:`complaint` count these solutions.

Source: Tassa, Mansard, Todorov, Control-Limited Differential Dynamic Programming, ICRA 2014; Koenemann et al.,
Whole-body Model-Predictive Control applied to the HRP-2 Humanoid, IROS 2015, for warm start and feedback in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.laws.base import SMOOTHING, Controller, Efforts, FrictionCompensation, Reference
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.dynamics import CompiledDynamics, Dynamics
from robodyn_ros.engine.casadi import ca
from robodyn_ros.engine.library import is_listing
from robodyn_ros.engine.program import class_key
from robodyn_ros.errors import RobodynError
from robodyn_ros.planning.cost import Cost, Point
from robodyn_ros.planning.ddp.ilqr import DDP, ILQRSettings
from robodyn_ros.planning.ddp.passes import require_expressions
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, setting, whole

TOLERANCE = 1e-4
"""Ratio of the cost below which another iteration gains no more than the next solution."""

ITERATIONS = 5
"""Greatest number of iterations of a solution."""

REST = 10.0
"""Time without another try after a late solution, in durations of that solution, so that every state gets an effort."""

KEPT = 1000
"""Number of solve times that are kept for their statistics."""


@dataclass(frozen=True)
class MPCSettings(CheckedSettings):
    """Settings of the law ``mpc``; each field's metadata describe it."""

    step: float = setting(
        0.01,
        "length of a step of the plan; each step begins a new plan, whose feedback acts within the step",
        "s",
        1e-4,
        1.0,
    )
    steps: int = whole(30, "number of steps in the horizon", 2, 1000)
    budget: float = setting(0.005, "longest time for a solution; a late solution is not used", "s", 0.0, 60.0)


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
        self._model = require_expressions(dynamics)
        self._solver = _solver(self._model, self.config)
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
        """Plan from a state, within the budget of time; the plan is None if the solution cannot be used."""
        begun, solver, budget, start = perf_counter(), self._solver, self.config.budget, np.concatenate((q, qd))
        try:
            self._write(reference)
            found = solver.begin(start)
            ending = solver.search(start, ITERATIONS, begun + budget) if found else ""
        except RobodynError:  # numbers out of range, from an extreme state
            found, ending = False, ""
        duration = perf_counter() - begun
        late = found and (ending == "late" or duration > budget)
        solved = found and not late
        m, self._age = solver.memory, 0.0
        self.plan = MPCPlan(float(m.h[0, 0]), m.x.copy(), m.u.copy(), m.K.copy()) if solved else None
        self._wait = max(self.config.step, REST * duration if late else 0.0)
        self.solve_times.append(duration)
        self.solved, self.late, self.failed = self.solved + solved, self.late + late, self.failed + (not found)

    def _write(self, reference: Reference) -> None:
        """Write the problem into the solver's memory."""
        solver, h = self._solver, self.config.step
        m, n = solver.memory, solver.memory.n
        solver.parameters[:] = self._model.symbols
        solver.parameters[3 + n : 3 + 3 * n] = 0.0  # viscous and Coulomb friction
        # Without an expected reference, the present one continues at its velocity.
        expected = self._expected or (lambda ahead: reference._replace(q=reference.q + ahead * reference.qd))
        ahead = [expected(k * h) for k in range(m.steps + 2)]
        q, qd = (np.array([getattr(each, name) for each in ahead]) for name in ("q", "qd"))
        m.h[:], m.r[:] = h, deviation_references(q, qd, h, self.kp, self.kd)
        added = reference.effort + self._friction.against(qd[: m.steps], SMOOTHING)
        # If the added efforts leave nothing of the limits, an effort of 0 stays allowed.
        m.lower[:] = np.minimum(-self._limit - added, 0.0)
        m.upper[:] = np.maximum(self._limit - added, 0.0)
        if self.plan is not None:
            guess = self.plan.shifted(self._age)
        else:
            guess = self.dynamics.inverse(*(np.ascontiguousarray(row) for row in np.hsplit(m.r[:-1], 5)[:3]))
        m.u[:] = np.minimum(np.maximum(guess, m.lower), m.upper)


class Deviation(Cost):
    """The cost l and l_f of the module.

    Its reference is (q_d, q̇_d, q̈_d, kp, kd) at each time, so that gains change without a new compilation.
    """

    @property
    def identity(self) -> str:
        """Equal texts mean equal costs."""
        return class_key(type(self))

    def running(self, at: Point) -> ca.SX:
        """The running cost l of the module."""
        q, qd, qdd, kp, kd = ca.vertsplit(at.reference, at.q.shape[0])
        return (ca.sumsqr(at.qdd - qdd) + ca.sumsqr(kp * (at.q - q)) + ca.dot(kd**2 - 2 * kp, (at.qd - qd) ** 2)) / 2

    def final(self, at: Point) -> ca.SX:
        """The final cost l_f of the module."""
        q, qd, _, kp, kd = ca.vertsplit(at.reference, at.q.shape[0])
        e, ed = at.q - q, at.qd - qd
        return (ca.dot(kp * kd, e**2) + 2 * ca.dot(kp, e * ed) + ca.dot(kd, ed**2)) / 2

    def reference(self, times: ArrayLike, n: int) -> Array:
        """Zeros, (K, 5n); the law writes the reference itself."""
        return np.zeros((len(np.atleast_1d(times)), 5 * n))


def deviation_references(q: Array, qd: Array, h: float, kp: Array, kd: Array) -> Array:
    """The references of :class:`Deviation`, (K, 5n), at times h apart.

    The acceleration of a step is its mean over the step, because the effort is held. A kd below √(2 kp), for which l
    has no weight, is raised to that value, a damping ratio of 0.71.

    Args:
        q: positions at K + 1 times, (K + 1, n) in [rad] or [m].
        qd: velocities likewise.
        h: time between them [s].
        kp: gain on the position error (n,) in [1/s²].
        kd: gain on the velocity error (n,) in [1/s].
    """
    acceleration = np.diff(qd, axis=0) / h
    gains = np.concatenate((kp, np.maximum(kd, np.sqrt(2.0 * kp))))
    return np.hstack((q[:-1], qd[:-1], acceleration, np.tile(gains, (len(acceleration), 1))))


class MPCPlan(NamedTuple):
    """A short motion in N steps of equal length from time 0, with the feedback that keeps the arm to it."""

    h: float  # length of a step [s]
    x: Array  # q and q̇, (N + 1, 2n)
    u: Array  # efforts held over each step, (N, n) in [N·m] or [N]
    K: Array  # feedback, (N, n, 2n)

    def effort(self, t: float, q: Array, qd: Array) -> Array:
        """The effort u + K (x - x_plan), (n,), at time t [s] for a state; it may exceed the limits a little."""
        k = min(int(t / self.h), len(self.u) - 1)
        s, n = t / self.h - k, len(q)
        before, after = self.x[k], self.x[k + 1]
        # Between the steps: the cubic through both states, and its derivative.
        q0, q1, d0, d1 = before[:n], after[:n], self.h * before[n:], self.h * after[n:]
        b, c = 3.0 * (q1 - q0) - 2.0 * d0 - d1, d0 + d1 - 2.0 * (q1 - q0)
        planned_q = q0 + s * (d0 + s * (b + s * c))
        planned_qd = (d0 + s * (2.0 * b + 3.0 * s * c)) / self.h
        return self.u[k] + self.K[k, :, :n] @ (q - planned_q) + self.K[k, :, n:] @ (qd - planned_qd)

    def shifted(self, t: float) -> Array:
        """The efforts (N, n) of N steps from time t [s]; the last one continues."""
        # If solutions come every whole number of steps, the efforts are exactly those of the plan.
        moments = np.round(t / self.h + np.arange(len(self.u)), 6)
        return self.u[np.minimum(moments.astype(int), len(self.u) - 1)]


def _solver(dynamics: CompiledDynamics, settings: MPCSettings) -> DDP:
    """The solver for a number of steps. It is kept with the dynamics, so that new gains need no new solver."""
    made: dict[int, DDP] = vars(dynamics).setdefault("_mpc_solvers", {})
    if settings.steps not in made:
        rest = np.zeros(2 * dynamics.robot.n)
        tolerances = ILQRSettings(cost_tolerance=TOLERANCE)
        solver = DDP(dynamics, Deviation(), settings.steps, tolerances, dynamics.symbols.copy())
        solver.memory.h[:] = settings.step
        dynamics.inverse(*np.zeros((3, settings.steps, dynamics.robot.n)))  # compiled on first use
        if is_listing():
            return solver
        solver.begin(rest)
        solver.search(rest, 1)
        made[settings.steps] = solver
    return made[settings.steps]
