"""The problem that the law ``mpc`` solves again and again: the best short motion from a state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.laws.base import FrictionCompensation, Reference
from robodyn_ros.control.laws.computed_torque import SMOOTHING
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.planning.cost import Cost, Point
from robodyn_ros.planning.ddp.ddp import DDP, ILQRSettings
from robodyn_ros.planning.ddp.passes import DDPMemory
from robodyn_ros.planning.ddp.programs import require_expressions
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, setting, whole

if TYPE_CHECKING:
    import casadi as ca


# How far the law ``mpc`` looks ahead, how often it thinks, and for how long.


@dataclass(frozen=True)
class MPCSettings:
    """Settings of the law; each field's metadata say what it is."""

    period: float = setting(
        0.01, "time from one solution to the next; states between them get its feedback", "s", 0.0, 1.0
    )
    step: float = setting(0.01, "length of a step of the plan", "s", 1e-4, 1.0)
    steps: int = whole(30, "steps that are looked ahead", 2, 1000)
    iterations: int = whole(5, "greatest number of iterations of a solution", 1, 1000)
    budget: float = setting(0.005, "longest time for a solution; a later one is not used", "s", 0.0, 60.0)

    def __post_init__(self) -> None:
        check_settings(self)


class Deviation(Cost):
    """See the module. Its reference is (q_d, q̇_d, q̈_d, kp, kd) at each time, so that gains change without compiling."""

    @property
    def identity(self) -> str:
        """Equal texts mean equal costs."""
        return _source()

    def running(self, at: Point) -> ca.SX:
        """What the law ``mpc`` minimises: deviations from the reference, weighed so that the gains keep their meaning.

            l = ½ Σ (q̈ - q̈_d)² + kp² e² + (kd² - 2 kp) ė²,      l_f = ½ Σ kp kd e² + 2 kp e ė + kd ė²,      e = q_d - q

        Under computed torque every joint is a double integrator whose input is its acceleration. Of all feedback on
        such a
        joint, q̈ = q̈_d + kp e + kd ė minimises just this l over all time, and l_f is what is left of it from then on
        (Anderson
        and Moore, Optimal Control: Linear Quadratic Methods (1990), section 5.4, the inverse problem). So where no
        effort comes
        to its limit, minimising it is computed torque with the same gains, as far as the length of a step lets it be;
        and near a limit it is the best there is instead.
        """
        import casadi as ca

        q, qd, qdd, kp, kd = ca.vertsplit(at.reference, at.q.shape[0])
        return (ca.sumsqr(at.qdd - qdd) + ca.sumsqr(kp * (at.q - q)) + ca.dot(kd**2 - 2 * kp, (at.qd - qd) ** 2)) / 2

    def final(self, at: Point) -> ca.SX:
        """See the module."""
        import casadi as ca

        q, qd, _, kp, kd = ca.vertsplit(at.reference, at.q.shape[0])
        e, ed = at.q - q, at.qd - qd
        return (ca.dot(kp * kd, e**2) + 2 * ca.dot(kp, e * ed) + ca.dot(kd, ed**2)) / 2

    def reference(self, times: ArrayLike, n: int) -> Array:
        """Zeros: the law writes it."""
        return np.zeros((len(np.atleast_1d(times)), 5 * n))


def references(q: Array, qd: Array, h: float, kp: Array, kd: Array) -> Array:
    """The rows of ``Deviation.reference``, (K, 5n), at times h apart.

    The acceleration of a step is the mean one over the step, for the effort is held. A kd below √(2 kp), which l has no
    weight for, is taken as that: a damping ratio of 0.71.

    Args:
        q: positions at K + 1 times, (K + 1, n) in [rad] or [m].
        qd: velocities likewise.
        h: between them [s].
        kp: gain on the position error (n,) in [1/s²].
        kd: gain on the velocity error (n,) in [1/s].
    """
    acceleration = np.diff(qd, axis=0) / h
    gains = np.concatenate((kp, np.maximum(kd, np.sqrt(2.0 * kp))))
    return np.hstack((q[:-1], qd[:-1], acceleration, np.tile(gains, (len(acceleration), 1))))


@lru_cache(maxsize=1)
def _source() -> str:
    return Path(__file__).read_text(encoding="utf-8")


# What the law ``mpc`` goes by between two solutions: a short motion, and the feedback that keeps the arm to it.


class MPCPlan(NamedTuple):
    """A motion in N steps of equal length; time 0 is when it begins."""

    h: float  # length of a step [s]
    x: Array  # q and q̇, (N + 1, 2n)
    u: Array  # efforts held over each step, (N, n) in [N·m] or [N]
    K: Array  # feedback, (N, n, 2n)

    @classmethod
    def of(cls, memory: DDPMemory) -> MPCPlan:
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


TOLERANCE = 1e-4
"""Share of the cost below which another iteration gains nothing that the next solution would not."""


class MPCSolution(NamedTuple):
    """What came of a solution."""

    outcome: Literal["solved", "late", "failed"]
    plan: MPCPlan | None  # None unless it was solved
    taken: float  # time [s]


class MPCProblem:
    """See the module. Friction is left out of the model: as under computed torque, it is fed forward."""

    def __init__(self, dynamics: Dynamics, settings: MPCSettings) -> None:
        """
        Args:
            dynamics: the arm's model.
            settings: settings of the law.

        Raises:
            InputError: the dynamics have no expressions.
            NotReadyError: nothing was compiled for the arm, so that no solution would come in time.
        """
        self._dynamics, self._settings, self._friction = (
            require_expressions(dynamics),
            settings,
            FrictionCompensation(dynamics),
        )
        self._solver = _solver(self._dynamics, settings)

    def solve(
        self,
        state: tuple[Array, Array],
        expected: Callable[[float], Reference],
        feedforward: Array,
        limit: Array,
        gains: tuple[Array, Array],
        guess: Array | None,
    ) -> MPCSolution:
        """The best short motion, if it comes in time.

        Args:
            state: position and velocity, (n,) each.
            expected: the reference so far ahead of now [s].
            feedforward: what is added to its efforts, (n,).
            limit: what will be sent at most, (n,).
            gains: on the errors of position and velocity, (n,) each.
            guess: efforts (steps, n) to begin with; those of the reference unless given.
        """
        begun, solver, start = perf_counter(), self._solver, np.concatenate(state)
        try:
            self._pose(expected, feedforward, limit, gains, guess)
            found = solver.begin(start)
            ending = solver.search(start, self._settings.iterations, begun + self._settings.budget) if found else ""
        except RobodynError:  # numbers beyond their range, from a state that nobody expected
            found, ending = False, ""
        taken = perf_counter() - begun
        if not found:
            return MPCSolution("failed", None, taken)
        if ending == "late" or taken > self._settings.budget:
            return MPCSolution("late", None, taken)
        return MPCSolution("solved", MPCPlan.of(solver.memory), taken)

    def _pose(
        self,
        expected: Callable[[float], Reference],
        feedforward: Array,
        limit: Array,
        gains: tuple[Array, Array],
        guess: Array | None,
    ) -> None:
        """Write the problem into the solver's memory."""
        solver, h = self._solver, self._settings.step
        m, n = solver.memory, solver.memory.n
        solver.parameters[:] = self._dynamics.symbols
        solver.parameters[3 + n : 3 + 3 * n] = 0.0  # viscous and Coulomb friction
        ahead = [expected(k * h) for k in range(m.steps + 2)]
        q, qd = (np.array([getattr(reference, name) for reference in ahead]) for name in ("q", "qd"))
        m.h[:], m.r[:] = h, references(q, qd, h, *gains)
        given = feedforward + self._friction.against(qd[: m.steps], SMOOTHING)
        # Where what is given leaves nothing, no effort at all is the least evil.
        m.lower[:] = np.minimum(-limit - given, 0.0)
        m.upper[:] = np.maximum(limit - given, 0.0)
        if guess is None:
            rows = np.hsplit(m.r[:-1], 5)
            guess = self._dynamics.inverse(*(np.ascontiguousarray(row) for row in rows[:3]))
        m.u[:] = np.minimum(np.maximum(guess, m.lower), m.upper)


def _solver(dynamics: CompiledDynamics, settings: MPCSettings) -> DDP:
    """Who solves. It stays with the model, so that gains change without making anything anew."""
    made: dict[int, DDP] = vars(dynamics).setdefault("_mpc_solvers", {})
    if settings.steps not in made:
        rest = np.zeros(2 * dynamics.robot.n)
        tolerances = ILQRSettings(cost_tolerance=TOLERANCE)
        solver = DDP(dynamics, Deviation(), settings.steps, tolerances, dynamics.symbols.copy())
        solver.memory.h[:] = settings.step
        solver.begin(rest)  # so that what is compiled on first use is ready
        solver.search(rest, 1)
        dynamics.inverse(*np.zeros((3, settings.steps, dynamics.robot.n)))
        if not solver.quick:
            problem = "keeps time only if it is compiled: it needs a C compiler (cc, gcc, clang)"
            raise NotReadyError(f"the law 'mpc' {problem}")
        made[settings.steps] = solver
    return made[settings.steps]
