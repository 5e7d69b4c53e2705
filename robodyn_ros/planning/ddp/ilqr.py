# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""iLQR with effort limits: the best motion of fixed duration from a state, on the arm's own dynamics.

    min over u_k   Σ h_k l(x_k, u_k) + l_f(x_N),     x_{k+1} = f(x_k, u_k),   lower ≤ u_k ≤ upper

Efforts are held over a step, and f is the Runge-Kutta step. There are no limits on the states; collocation plans within
them.

Each iteration linearises the arm and expands the cost along the trajectory (:meth:`DDP.derive`), solves this
linear-quadratic model backward in time, and tries the result on the arm itself, with shorter and shorter steps until
the cost falls by a sufficient ratio of the model's prediction (line search). The passes are in
:mod:`robodyn_ros.planning.ddp.passes`. The regularisation μ grows if the model is not convex or no step helps, and
shrinks with each success.

Source: Tassa, Erez, Todorov, Synthesis and Stabilization of Complex Behaviors through Online Trajectory Optimization,
IROS 2012, sections II-D to II-F; Tassa, Mansard, Todorov, Control-Limited Differential Dynamic Programming, ICRA 2014;
Li and Todorov, Iterative Linear Quadratic Regulator Design for Nonlinear Biological Movement Systems, ICINCO 2004.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import check, finite_array
from robodyn_ros.dynamics import CompiledDynamics, Dynamics
from robodyn_ros.engine import Program
from robodyn_ros.engine.c_interface import addresses_of, batch_function, start_batch
from robodyn_ros.errors import InputError
from robodyn_ros.planning.cost import Cost
from robodyn_ros.planning.ddp.passes import DDPMemory, DDPPrograms, Passes, require_expressions, start_passes
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, setting, whole

STEP_LENGTHS = 10.0 ** np.linspace(0.0, -3.0, 11)
"""Values of α in the line search, one after the other (Tassa et al., 2012)."""

Termination = Literal["", "gradient", "cost", "iterations", "late", "stuck"]
"""Reason for the end of a search; "" if it has not ended."""

REASONS = {
    "gradient": "the efforts have converged",
    "cost": "the cost has converged",
    "iterations": "it was not solved within {iterations} iterations",
    "late": "it was not solved within the time limit",
    "stuck": "no step lowers the cost, with any regularisation",
    "": "the first guess leads beyond the range of numbers",
}
"""Termination → reason in words."""


@dataclass(frozen=True)
class ILQRSettings(CheckedSettings):
    """Settings of iLQR; each field's metadata describe it.

    Source: Tassa, Erez, Todorov (2012), sections II-D and II-F; the values are those of the authors' published code.
    """

    iterations: int = whole(500, "greatest number of iterations", 1, 100_000)
    cost_tolerance: float = setting(
        1e-7, "solved when an iteration gains less than this ratio of the cost", "-", 0.0, 1.0
    )
    gradient_tolerance: float = setting(
        1e-7, "solved when no effort would change by more than this ratio of its joint's greatest", "-", 0.0, 1.0
    )
    least_reduction: float = setting(1e-4, "least ratio of the expected gain for a step to count", "-", 0.0, 1.0)
    mu_least: float = setting(1e-6, "least regularisation that is not 0", "-", 0.0, 1.0)
    mu_greatest: float = setting(1e10, "regularisation at which the search gives up", "-", 1.0, 1e300)
    mu_factor: float = setting(1.6, "base factor by which the regularisation changes", "-", 1.0, 100.0)


@dataclass(frozen=True, eq=False)
class ILQRSolution:
    """A motion in N steps, with the feedback that keeps the arm to it.

    Attributes:
        joints: names, in the order of every array of n.
        times: (N + 1,) [s].
        states: q and q̇, (N + 1, 2n); NaN if the first guess leads beyond the range of numbers.
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
        check(steps >= 1, "steps", "at least 1", steps)
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
        check(np.isfinite(duration) and duration > 0.0, "duration", "a time above 0 [s]", duration)
        times = np.linspace(0.0, duration, m.steps + 1)
        limit = self._dynamics.robot.effort_limit if effort_limit is None else effort_limit
        limit = _as_rows(limit, (1, n), "effort_limit")
        check((limit >= 0.0).all(), "effort_limit", "at least 0", effort_limit)
        guess = self._dynamics.gravity(start[:n]) if guess is None else guess
        m.h[:, 0], m.r[:] = np.diff(times), self._cost.reference(times, n)
        m.lower[:], m.upper[:] = -limit, limit
        m.u[:] = np.clip(_as_rows(guess, m.u.shape, "guess"), m.lower, m.upper)
        is_finite = ddp.begin(start)
        termination = ddp.search(start, deadline=begun + time_limit) if is_finite else ""
        states = m.x.copy() if is_finite else np.full_like(m.x, np.nan)
        motion = times, states, m.u.copy(), m.k.copy(), m.K.copy()
        reason = REASONS[termination].format(iterations=self._settings.iterations)
        result = ddp.cost, termination in {"gradient", "cost"}, reason, ddp.iterations, np.array(ddp.history)
        return ILQRSolution(self._dynamics.robot.joint_names, *motion, *result, perf_counter() - begun)


def batched(
    program: Program, parameters: Array, inputs: Sequence[Array], outputs: Sequence[Array]
) -> Callable[[], bool]:
    """A program bound to rows of fixed memory: one call for all steps of a trajectory, without allocation.

    Args:
        program: the program.
        parameters: its runtime parameters, read in place.
        inputs: one array for each input, (K, width), C-contiguous, read in place.
        outputs: one array for each result, K times its shape, written in place.

    Returns:
        The call; it returns False if an input is not finite. It fails if libraries are only listed.
    """
    # PyDLL keeps the interpreter's lock, so no other thread takes over in the middle of a control period.
    loop = batch_function(program, ctypes.PyDLL)
    count, given = ctypes.c_longlong(len(inputs[0])), (*inputs, parameters)
    arg, res = addresses_of(given), addresses_of(outputs)

    def run(_alive: Any = (given, outputs)) -> bool:
        return not loop(count, arg, res)

    return run


class DDP:
    """The solver for one arm, cost and number of steps; a search continues from the trajectory in the memory.

    Attributes:
        memory: trajectory, bounds and feedback; the caller writes step lengths, references, bounds and efforts.
        cost: cost of the trajectory in the memory.
        iterations: number of iterations since :meth:`begin`.
        history: the cost at first, and after each iteration that lowered it.
        parameters: runtime parameters of the compiled functions, read in place.
    """

    def __init__(
        self, dynamics: CompiledDynamics, cost: Cost, steps: int, settings: ILQRSettings, parameters: Array
    ) -> None:
        """
        Args:
            dynamics: dynamics of the arm.
            cost: the cost to minimise.
            steps: number of steps in time.
            settings: settings.
            parameters: runtime parameters of the compiled functions, such as ``dynamics.symbols``.

        Raises:
            NotReadyError: as :class:`.passes.Passes`.
        """
        self._dynamics, self._cost, self._settings, self.parameters = dynamics, cost, settings, parameters
        programs = DDPPrograms(dynamics, cost)
        m = self.memory = DDPMemory(dynamics.robot.n, steps, programs.width)

        (stage, stage_derivatives), (final, final_derivatives) = programs.stage(), programs.final()
        if dynamics.compiled:  # all at once, the longest first
            start_passes(dynamics, programs.motion())
            for program in (stage_derivatives, stage, final_derivatives):
                start_batch(program)
        self._passes = Passes(m, dynamics, programs.motion(), parameters)
        new, old = (m.x_new[:-1], m.u_new, m.r[:-1], m.h), (m.x[:-1], m.u, m.r[:-1], m.h)
        self._stage = batched(stage, parameters, new, (m.l_new,))
        self._stage_derivatives = batched(stage_derivatives, parameters, old, (m.lx, m.lu, m.lxx, m.lux, m.luu))
        self._final = batched(final, parameters, (m.x_new[-1:], m.r[-1:]), (m.v_new,))
        self._final_derivatives = batched(final_derivatives, parameters, (m.x[-1:], m.r[-1:]), (m.vx, m.vxx))
        self.cost, self.iterations, self.history = np.inf, 0, [np.inf]
        self._mu, self._factor = 0.0, 1.0

    def __deepcopy__(self, memo: dict[int, Any]) -> DDP:
        """A solver whose compiled functions work on memory of its own, with the same trajectory in it."""
        dynamics = deepcopy(self._dynamics, memo)
        parameters = dynamics.symbols if self.parameters is self._dynamics.symbols else self.parameters.copy()
        made = DDP(dynamics, deepcopy(self._cost, memo), self.memory.steps, self._settings, parameters)
        for name, values in vars(made.memory).items():
            if isinstance(values, np.ndarray):
                values[:] = getattr(self.memory, name)
        made.cost, made.iterations, made.history = self.cost, self.iterations, list(self.history)
        made._mu, made._factor = self._mu, self._factor
        return made

    def begin(self, start: Array) -> bool:
        """Simulate the efforts in the memory from a state (2n,); False if a state or the cost is not finite."""
        m = self.memory
        m.x_new[0] = m.x[0] = start
        m.k[:], m.K[:] = 0.0, 0.0
        self.cost, self.iterations, self.history = np.inf, 0, [np.inf]
        self._mu, self._factor = 0.0, 1.0
        if not self._passes.forward(0.0):
            return False
        self.cost = self._cost_of_new()
        self.history = [self.cost]
        m.accept()
        return bool(np.isfinite(self.cost))

    def search(self, start: Array, iterations: int | None = None, deadline: float = np.inf) -> Termination:
        """Improve the trajectory in the memory, which begins at a state (2n,).

        Args:
            start: the state.
            iterations: greatest number of iterations, the settings' unless given.
            deadline: time at which to stop, by ``time.perf_counter`` [s].
        """
        m, settings = self.memory, self._settings
        m.x_new[0] = m.x[0] = start
        for _ in range(iterations or settings.iterations):
            if perf_counter() > deadline:
                return "late"
            self.iterations += 1
            self.derive()
            while not self._passes.backward(self._mu):
                if not self._increase_regularisation():
                    return "stuck"
            greatest = settings.gradient_tolerance * np.abs(m.u).max(axis=0)
            if (np.abs(m.k) <= greatest).all() and self._mu < 1e-5:
                return "gradient"
            termination = self._line_search()
            if termination:
                return termination
        return "iterations"

    def derive(self) -> None:
        """Linearise the arm and expand the cost along the trajectory in the memory."""
        self._passes.linearise()
        self._stage_derivatives()
        self._final_derivatives()

    def _line_search(self) -> Termination:
        """Take the first step that lowers the cost enough, and adapt the regularisation."""
        m, settings = self.memory, self._settings
        linear, square = m.expected.tolist()
        for alpha in STEP_LENGTHS:
            expected = -alpha * (linear + alpha * square)
            if not self._passes.forward(alpha):
                continue
            tried = self._cost_of_new()
            if expected > 0.0 and self.cost - tried >= settings.least_reduction * expected:
                break
        else:
            may_go_on = self._increase_regularisation()
            if -(linear + square) <= settings.cost_tolerance * abs(self.cost):
                return "cost"
            return "" if may_go_on else "stuck"
        gained, self.cost = self.cost - tried, tried
        self.history.append(tried)
        m.accept()
        self._factor = min(1.0 / settings.mu_factor, self._factor / settings.mu_factor)
        self._mu = self._mu * self._factor if self._mu * self._factor >= settings.mu_least else 0.0
        return "cost" if gained <= settings.cost_tolerance * abs(tried) and self._mu < 1e-5 else ""

    def _increase_regularisation(self) -> bool:
        """Increase μ; False if it exceeds the greatest."""
        settings = self._settings
        self._factor = max(settings.mu_factor, self._factor * settings.mu_factor)
        self._mu = max(settings.mu_least, self._mu * self._factor)
        return self._mu <= settings.mu_greatest

    def _cost_of_new(self) -> float:
        m = self.memory
        if not (self._stage() and self._final()):
            return np.inf
        with np.errstate(over="ignore"):
            return float(m.l_new.sum() + m.v_new[0])


def _as_rows(values: object, shape: tuple[int, int], name: str) -> Array:
    """Numbers (rows, n) from (rows, n), or from (n,) for all rows.

    Raises:
        InputError: the values have another shape, or hold a NaN.
    """
    try:
        array = np.broadcast_to(np.asarray(values, dtype=np.float64), shape)
    except (TypeError, ValueError) as cause:
        raise InputError(name, f"must be {shape[1]} numbers, or {shape[0]} rows of them", values) from cause
    if np.isnan(array).any():
        raise InputError(name, "holds a NaN", values)
    return array
