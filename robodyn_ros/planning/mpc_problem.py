"""The problem that the law ``mpc`` solves again and again: the best short motion from a state."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Literal, NamedTuple

import numpy as np

from robodyn_ros.control.base import Reference
from robodyn_ros.control.computed_torque import SMOOTHING
from robodyn_ros.control.friction_compensation import Friction
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.planning.ddp import DDP
from robodyn_ros.planning.ddp_programs import written
from robodyn_ros.planning.ilqr_config import ILQRConfig
from robodyn_ros.planning.mpc_cost import Deviation, references
from robodyn_ros.planning.mpc_plan import ShortPlan
from robodyn_ros.planning.mpc_settings import MPCConfig
from robodyn_ros.robot.pose import Array

TOLERANCE = 1e-4
"""Share of the cost below which another iteration gains nothing that the next solution would not."""


class Answer(NamedTuple):
    """What came of a solution."""

    outcome: Literal["solved", "late", "failed"]
    plan: ShortPlan | None  # None unless it was solved
    taken: float  # time [s]


class ShortProblem:
    """See the module. Friction is left out of the model: as under computed torque, it is fed forward."""

    def __init__(self, dynamics: Dynamics, config: MPCConfig) -> None:
        """
        Args:
            dynamics: the arm's model.
            config: settings of the law.

        Raises:
            InputError: the dynamics have no expressions.
            NotReadyError: nothing was compiled for the arm, so that no solution would come in time.
        """
        self._dynamics, self._config, self._friction = written(dynamics), config, Friction(dynamics)
        self._solver = _solver(self._dynamics, config)

    def solve(
        self,
        state: tuple[Array, Array],
        expected: Callable[[float], Reference],
        feedforward: Array,
        limit: Array,
        gains: tuple[Array, Array],
        guess: Array | None,
    ) -> Answer:
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
            ending = solver.search(start, self._config.iterations, begun + self._config.budget) if found else ""
        except RobodynError:  # numbers beyond their range, from a state that nobody expected
            found, ending = False, ""
        taken = perf_counter() - begun
        if not found:
            return Answer("failed", None, taken)
        if ending == "late" or taken > self._config.budget:
            return Answer("late", None, taken)
        return Answer("solved", ShortPlan.of(solver.memory), taken)

    def _pose(
        self,
        expected: Callable[[float], Reference],
        feedforward: Array,
        limit: Array,
        gains: tuple[Array, Array],
        guess: Array | None,
    ) -> None:
        """Write the problem into the solver's memory."""
        solver, h = self._solver, self._config.step
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


def _solver(dynamics: CompiledDynamics, config: MPCConfig) -> DDP:
    """Who solves. It stays with the model, so that gains change without making anything anew."""
    made: dict[int, DDP] = vars(dynamics).setdefault("_mpc_solvers", {})
    if config.steps not in made:
        rest = np.zeros(2 * dynamics.robot.n)
        tolerances = ILQRConfig(cost_tolerance=TOLERANCE)
        solver = DDP(dynamics, Deviation(), config.steps, tolerances, dynamics.symbols.copy())
        solver.memory.h[:] = config.step
        solver.begin(rest)  # so that what is compiled on first use is ready
        solver.search(rest, 1)
        dynamics.inverse(*np.zeros((3, config.steps, dynamics.robot.n)))
        if not solver.quick:
            problem = "keeps time only if it is compiled: it needs a C compiler (cc, gcc, clang)"
            raise NotReadyError(f"the law 'mpc' {problem}")
        made[config.steps] = solver
    return made[config.steps]
