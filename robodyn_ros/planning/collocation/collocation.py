"""The best motion by direct transcription: solve, look between the points, divide the mesh, solve again.

The mesh is fine enough when the efforts that the motion needs anywhere differ from those that were planned, linear
between the points, by less than a share of their limit. After Betts, Practical Methods for Optimal Control (2010),
section 4.7: an error of order p in the length of an interval says into how many parts it must be divided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.planning.collocation.initial_guess import initial_guesses
from robodyn_ros.planning.collocation.program import Guess, Mesh, NonlinearProgram
from robodyn_ros.planning.collocation.scheme import SCHEMES, Scheme, scheme
from robodyn_ros.planning.plan import Plan, points_of
from robodyn_ros.planning.problem import Problem
from robodyn_ros.planning.verification import Verification, infeasibility, verify
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, choice, setting, whole

# IPOPT on a program: within a time limit, with progress, and with an answer that says how it ended.
#
# Wächter and Biegler, On the implementation of an interior-point filter line-search algorithm for large-scale nonlinear
# programming, Mathematical Programming 106 (2006); it comes with CasADi.

TOLERANCE = 1e-8
"""Of the constraints, in the units of the program."""

ACCEPTED = 1e-6
"""So well is good enough where it gets no better."""

Report = Callable[[int, float], None]
"""Called with the number of the iteration and the greatest constraint violation."""


class SolverOutcome(NamedTuple):
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


def solve(program: NonlinearProgram, start: Array, until: float, report: Report | None = None) -> SolverOutcome:
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
    watch = _IterationCallback(program, until, report)
    options["iteration_callback"] = watch
    solver = ca.nlpsol("plan", "ipopt", nlp, options)
    found = solver(x0=start, lbx=program.low, ubx=program.high, lbg=program.lower, ubg=program.upper)
    x, g = np.array(found["x"]).ravel(), np.array(found["g"]).ravel()
    missed = np.concatenate((program.lower - g, g - program.upper, program.low - x, x - program.high))
    stats = solver.stats()
    return SolverOutcome(
        x,
        float(ca.Function("cost", [program.x], [program.cost])(x)),
        stats["return_status"],
        int(stats["iter_count"]),
        float(missed.max()),
    )


class _IterationCallback(ca.Callback):  # type: ignore[misc]
    """Looks at every iteration: reports it, and stops when time is up."""

    def __init__(self, program: NonlinearProgram, until: float, report: Report | None) -> None:
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


PIECES = 32
"""An interval becomes so many pieces at most."""


class SampledMotion(NamedTuple):
    """A motion on a mesh as points that lie close enough for its efforts to be straight between them."""

    trajectory: Trajectory  # through K points, with efforts
    interval: NDArray[np.intp]  # of the mesh in which each piece lies (K - 1,)
    begins: NDArray[np.bool_]  # whether the piece begins the interval (K - 1,)


def sample(scheme: Scheme, curve: Trajectory, effort: Array, tolerance: Array) -> SampledMotion:
    """See the module.

    Args:
        scheme: of the motion.
        curve: through all points of the mesh.
        effort: at these points (K, n).
        tolerance: by how much efforts may deviate from straight lines (n,).
    """
    size = scheme.inner + 1
    assert curve.velocities is not None and curve.accelerations is not None
    times, rows, interval, begins = [], [], [], []
    for k, start in enumerate(range(0, len(effort) - 1, size)):
        own = effort[start : start + size + 1]
        # A parabola through three points leaves the straight lines through m + 1 of its points by D / (2 m²), with D
        # its second difference.
        bend = np.abs(np.diff(own, 2, axis=0)).max(axis=0) if scheme.inner else np.zeros_like(tolerance)
        pieces = int(np.clip(size * np.ceil(np.sqrt((bend / tolerance).max() / 2.0) / size), size, PIECES))
        for piece in range(pieces):
            share = piece / pieces
            if piece * size % pieces == 0:
                node = start + piece * size // pieces
                motion = curve.positions[node], curve.velocities[node], curve.accelerations[node]
                times.append(curve.times[node])
            else:
                times.append(curve.times[start] + share * (curve.times[start + size] - curve.times[start]))
                motion = curve.sample(float(times[-1]))
            rows.append((*motion, scheme.effort(own, share)))
            interval.append(k)
            begins.append(piece == 0)
    times.append(curve.times[-1])
    rows.append((curve.positions[-1], curve.velocities[-1], curve.accelerations[-1], effort[-1]))
    columns = (np.array([row[part] for row in rows]) for part in range(4))
    return SampledMotion(Trajectory(np.array(times), *columns), np.array(interval), np.array(begins))


PARTS = 4
"""An interval is divided into so many at most, at once."""


@dataclass(frozen=True)
class CollocationSettings:
    """Settings; each field's metadata say what it is."""

    scheme: str = choice("hermite-simpson", "collocation scheme", lambda: tuple(SCHEMES))
    intervals: int = whole(20, "intervals of each leg to begin with", 2, 1000)
    tolerance: float = setting(
        0.005, "error of the planned efforts between the points, over their limit", "-", 1e-8, 1.0
    )
    refinements: int = whole(8, "how often the mesh is made finer, at most", 0, 20)
    time_limit: float = setting(20.0, "for everything", "s", 0.01, 3600.0)

    def __post_init__(self) -> None:
        check_settings(self)


def plan(problem: Problem, settings: CollocationSettings | None = None, report: Report | None = None) -> Plan:
    """The motion of least cost, or why there is none.

    Args:
        problem: what is asked.
        settings: settings, the defaults unless given.
        report: called in each iteration with its number and the greatest constraint violation.

    Raises:
        InputError: the problem is wrong in itself.
    """
    return _MeshRefinement(problem, settings or CollocationSettings(), report).run()


class _MeshRefinement:
    def __init__(self, problem: Problem, settings: CollocationSettings, report: Report | None) -> None:
        self._problem, self._settings, self._report = problem, settings, report
        self._scheme: Scheme = scheme(settings.scheme)
        self._begun = perf_counter()
        self._until = self._begun + settings.time_limit

    def run(self) -> Plan:
        problem, settings = self._problem, self._settings
        why = infeasibility(problem)
        if why is not None:
            return Plan.refused(problem.joints, *why, settings.scheme, perf_counter() - self._begun)
        mesh = Mesh.uniform(1 + len(problem.via), settings.intervals)
        program, outcome = self._first(mesh)
        for _ in range(settings.refinements):
            if not outcome.optimal:
                break
            motion = program.unpack(outcome.x)
            parts = self._parts(*self._verified(motion, mesh), mesh)
            if (parts == 1).all() or self._late():
                break
            mesh = mesh.divided(parts)
            finer = NonlinearProgram(problem, mesh, self._scheme)
            better = solve(finer, finer.pack(self._on(motion, program.mesh, mesh)), self._until, self._report)
            if not better.optimal:
                mesh = program.mesh  # what was found before is still a solution of its own mesh
                break
            program, outcome = finer, better
        return self._answer(program, outcome)

    def _first(self, mesh: Mesh) -> tuple[NonlinearProgram, SolverOutcome]:
        """A solution on the first mesh; from the guess that leads to one, else what came nearest."""
        program = NonlinearProgram(self._problem, mesh, self._scheme)
        best: SolverOutcome | None = None
        for guess in initial_guesses(self._problem, mesh, self._scheme, self._until):
            outcome = solve(program, program.pack(guess), self._until, self._report)
            if best is None or outcome.optimal or outcome.violation < best.violation:
                best = outcome
            if outcome.optimal or self._late():
                break
        assert best is not None
        return program, best

    def _late(self) -> bool:
        return perf_counter() > self._until

    def _curve(self, motion: Guess, mesh: Mesh) -> Trajectory:
        """The curve through the points of the mesh."""
        times = self._scheme.times(mesh.steps(motion.durations))
        return Trajectory(times, motion.q, motion.qd, motion.qdd)

    def _verified(self, motion: Guess, mesh: Mesh) -> tuple[SampledMotion, Verification]:
        """The motion at so many points that its efforts are straight between them, and what it misses."""
        limit = np.where(np.isfinite(self._problem.bounds.effort), self._problem.bounds.effort, np.inf)
        scale = np.minimum(limit, np.maximum(np.abs(motion.effort).max(axis=0), 1e-9))
        sampled = sample(self._scheme, self._curve(motion, mesh), motion.effort, self._settings.tolerance / 2.0 * scale)
        stops = np.flatnonzero(np.append(np.isin(sampled.interval, mesh.ends) & sampled.begins, True))
        return sampled, verify(self._problem, sampled.trajectory, stops.tolist(), self._settings.tolerance)

    def _parts(self, sampled: SampledMotion, findings: Verification, mesh: Mesh) -> NDArray[np.int_]:
        """Into how many each interval is to be divided (N,)."""
        errors, close = np.zeros(mesh.intervals), np.zeros(mesh.intervals, dtype=bool)
        np.maximum.at(errors, sampled.interval, findings.errors)
        np.logical_or.at(close, sampled.interval, findings.close)
        needed = np.ceil((errors / self._settings.tolerance) ** (1.0 / self._scheme.order))
        parts = np.where(errors > self._settings.tolerance, np.clip(needed, 2, PARTS), 1)
        return np.maximum(parts, np.where(close, 2, 1)).astype(int)

    def _on(self, motion: Guess, old: Mesh, new: Mesh) -> Guess:
        """A motion on another mesh."""
        before = self._curve(motion, old)
        times = self._scheme.times(new.steps(motion.durations))
        samples = [before.sample(min(float(t), before.duration * (1.0 - 1e-12))) for t in times]
        q, qd, qdd = (np.array([sample[k] for sample in samples]) for k in range(3))
        return Guess(q, qd, qdd, self._problem.model.efforts(q, qd, qdd), motion.durations)

    def _answer(self, program: NonlinearProgram, outcome: SolverOutcome) -> Plan:
        motion = program.unpack(outcome.x)
        sampled, findings = self._verified(motion, program.mesh)
        solved = outcome.optimal and findings.share <= 1.0
        return Plan(
            self._problem.joints,
            *points_of(sampled.trajectory),
            solved=solved,
            reason=self._reason(outcome, findings, program.mesh, solved),
            violation=findings.worst,
            cost=outcome.cost,
            solve_time=perf_counter() - self._begun,
            method=self._settings.scheme,
            dynamics_error=findings.dynamics_error,
        )

    def _reason(self, outcome: SolverOutcome, findings: Verification, mesh: Mesh, solved: bool) -> str:
        if solved:
            return f"solved on {mesh.intervals} intervals"
        worst = f"the {findings.worst.constraint} is missed by {findings.worst.amount:.3g} {findings.worst.unit}"
        if outcome.late or self._late():
            return f"the time limit of {self._settings.time_limit:g} s has passed; {worst}"
        if not outcome.optimal:
            return f"no solution was found ({outcome.status.replace('_', ' ').lower()}): {worst}"
        return f"between the points of {mesh.intervals} intervals {worst}"
