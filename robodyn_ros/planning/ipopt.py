"""IPOPT on a program: within a time limit, with progress, and with an answer that says how it ended.

Wächter and Biegler, On the implementation of an interior-point filter line-search algorithm for large-scale nonlinear
programming, Mathematical Programming 106 (2006); it comes with CasADi.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import casadi as ca
import numpy as np

from robodyn_ros.planning.program import Program
from robodyn_ros.robot.pose import Array

TOLERANCE = 1e-8
"""Of the constraints, in the units of the program."""

ACCEPTED = 1e-6
"""So well is good enough where it gets no better."""

Report = Callable[[int, float], None]
"""Called with the number of the iteration and the greatest constraint violation."""


class Outcome(NamedTuple):
    """How it ended."""

    x: Array
    cost: float
    status: str  # IPOPT's
    iterations: int
    violation: float  # of the worst constraint, in the program's units

    @property
    def optimal(self) -> bool:
        """Whether it is a minimum, to the tolerance."""
        return self.status in ("Solve_Succeeded", "Solved_To_Acceptable_Level")

    @property
    def late(self) -> bool:
        """Whether time ran out."""
        return self.status in ("Maximum_WallTime_Exceeded", "Maximum_CpuTime_Exceeded", "User_Requested_Stop")


def solve(program: Program, start: Array, until: float, report: Report | None = None) -> Outcome:
    """Minimise.

    Args:
        program: what is to be minimised.
        start: the unknowns to begin with.
        until: when to stop, by ``time.perf_counter`` [s].
        report: called in each iteration.
    """
    nlp = {"x": program.x, "f": program.objective, "g": program.constraints}
    left = max(until - perf_counter(), 0.01)
    options = {
        "print_time": False,
        "expand": False,
        "error_on_fail": False,
        "ipopt": {
            "print_level": 0,
            "sb": "yes",
            "max_wall_time": left,
            "max_iter": 3000,
            "tol": TOLERANCE,
            "acceptable_tol": ACCEPTED,
            "acceptable_constr_viol_tol": ACCEPTED,
            "bound_relax_factor": 0.0,
            "mu_strategy": "adaptive",
        },
    }
    watch = _Watch(program, until, report)
    options["iteration_callback"] = watch
    solver = ca.nlpsol("plan", "ipopt", nlp, options)
    found = solver(x0=start, lbx=program.low, ubx=program.high, lbg=program.lower, ubg=program.upper)
    x, g = np.array(found["x"]).ravel(), np.array(found["g"]).ravel()
    missed = np.concatenate((program.lower - g, g - program.upper, program.low - x, x - program.high))
    stats = solver.stats()
    return Outcome(
        x,
        float(ca.Function("cost", [program.x], [program.cost])(x)),
        stats["return_status"],
        int(stats["iter_count"]),
        float(missed.max()),
    )


class _Watch(ca.Callback):  # type: ignore[misc]
    """Looks at every iteration: reports it, and stops when time is up."""

    def __init__(self, program: Program, until: float, report: Report | None) -> None:
        super().__init__()
        self._sizes = (program.x.numel(), program.constraints.numel())
        self._bounds = program.lower, program.upper
        self._until, self._report, self._count = until, report, 0
        self.construct("watch", {})

    def get_n_in(self) -> int:
        return int(ca.nlpsol_n_out())

    def get_n_out(self) -> int:
        return 1

    def get_name_in(self, index: int) -> str:
        return str(ca.nlpsol_out(index))

    def get_name_out(self, index: int) -> str:
        return "stop"

    def get_sparsity_in(self, index: int) -> ca.Sparsity:
        rows = {"x": self._sizes[0], "lam_x": self._sizes[0], "g": self._sizes[1], "lam_g": self._sizes[1], "f": 1}
        return ca.Sparsity.dense(rows.get(str(ca.nlpsol_out(index)), 0), 1)

    def eval(self, arguments: list[ca.DM]) -> list[int]:
        if self._report is not None:
            g = np.array(arguments[2]).ravel()
            missed = np.maximum(self._bounds[0] - g, g - self._bounds[1]).max()
            self._report(self._count, max(float(missed), 0.0))
        self._count += 1
        return [int(perf_counter() > self._until)]
