# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Trajectory optimisation by collocation: solve, verify between the points, refine the mesh, solve again.

The mesh is fine enough if, everywhere between the points, the efforts that the motion needs differ from the planned
ones, which are linear between the points, by less than a ratio of their limit. After Betts, Practical Methods for
Optimal Control (2010), section 4.7: the error, of order p in the length of an interval, gives the number of parts
into which the interval must be divided.

IPOPT, which comes with CasADi, solves the nonlinear programs within a time limit (Wächter and Biegler, On the
implementation of an interior-point filter line-search algorithm for large-scale nonlinear programming, Mathematical
Programming 106 (2006)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.checks import check_choice
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.engine.casadi import ca
from robodyn_ros.errors import ConfigurationError, InputError, signals_deferred
from robodyn_ros.planning import time_scaling
from robodyn_ros.planning.collocation.initial_guess import initial_guesses
from robodyn_ros.planning.collocation.program import Guess, Mesh, NonlinearProgram, require_time
from robodyn_ros.planning.collocation.scheme import SCHEMES, Scheme
from robodyn_ros.planning.cost import MinimumTime, time_alone
from robodyn_ros.planning.plan import METHODS, Plan
from robodyn_ros.planning.problem import Problem
from robodyn_ros.planning.verification import Verification, feasible, infeasibility, verify
from robodyn_ros.robot.pose import Array, Flags, Indices
from robodyn_ros.settings import CheckedSettings, choice, setting, whole

TOLERANCE = 1e-8
"""Tolerance of the constraints, in the units of the program."""

OPTIMAL = 1e-7
"""Tolerance of the conditions of an optimum, likewise."""

ACCEPTABLE = 1e-4
"""Tolerance of an optimum that is accepted if the solver gets no better in ``PATIENCE`` iterations."""

PATIENCE = 3

SEARCH = 0.8
"""Ratio of the time limit that the search may take; the rest is for making its last motion feasible."""

MAX_PIECES = 32
"""Greatest number of pieces into which an interval is sampled."""

MAX_PARTS = 4
"""Greatest number of parts into which a refinement divides an interval."""

Progress = Callable[[int, float], None]
"""Called in each iteration with its number and the greatest constraint violation."""


@dataclass(frozen=True)
class CollocationSettings(CheckedSettings):
    """Settings of :func:`plan`; each field's metadata describe it."""

    scheme: str = choice("hermite-simpson", "collocation scheme", lambda: tuple(SCHEMES))
    intervals: int = whole(20, "intervals of each leg on the first mesh", 2, 1000)
    tolerance: float = setting(
        0.005, "error of the planned efforts between the points, over their limit", "-", 1e-8, 1.0
    )
    refinements: int = whole(8, "greatest number of mesh refinements", 0, 20)
    time_limit: float = setting(20.0, "time limit of the whole search", "s", 0.01, 3600.0)


def plan_by(method: str, problem: Problem, time_limit: float = 20.0, progress: Progress | None = None) -> Plan:
    """Find a motion by one of the methods; the arguments are those of :func:`plan` and of :class:`CollocationSettings`.

    Raises:
        InputError: there is no such method, or the problem is contradictory.
        ConfigurationError: an optional package of the method is not installed.
    """
    check_choice("method", method, METHODS)
    if method == time_scaling.METHOD:
        return time_scaling.plan(problem)
    return plan(problem, CollocationSettings(time_limit=time_limit), progress)


def plan(problem: Problem, settings: CollocationSettings | None = None, progress: Progress | None = None) -> Plan:
    """Find the motion of least cost, or the reason why there is none.

    Args:
        problem: the problem.
        settings: settings, the defaults unless given.
        progress: called in each iteration with its number and the greatest constraint violation.

    Raises:
        InputError: the problem is contradictory, or no limit keeps its shortest time above 0.
    """
    return _MeshRefinement(problem, settings or CollocationSettings(), progress).run()


class _MeshRefinement:
    """One search: a sequence of nonlinear programs on finer and finer meshes."""

    def __init__(self, problem: Problem, settings: CollocationSettings, progress: Progress | None) -> None:
        self._problem, self._settings, self._progress = problem, settings, progress
        self._scheme = SCHEMES[settings.scheme]()
        self._begun = perf_counter()
        self._until = self._begun + SEARCH * settings.time_limit
        self._curves: list[tuple[Trajectory, list[int]]] = []  # of the search, with the indices of via points and goal
        self._converged = False  # True if a program was solved, if on a coarse mesh
        self._why = ""  # why there is no optimum

    def run(self) -> Plan:
        """The motion of least cost; if time is too short for it, the best feasible one that was found."""
        problem = self._problem
        why = infeasibility(problem)
        if why is not None:
            return Plan.refused(problem.joints, *why, self._settings.scheme, perf_counter() - self._begun)
        if problem.duration is None and time_alone(problem.cost):
            require_time(problem)
        found = self._search()
        return found if found.solved else self._feasible(found)

    def _feasible(self, missed: Plan) -> Plan:
        """The best feasible motion along a path of the search, or along the spline through the stops."""
        problem, settings = self._problem, self._settings
        slowed = [feasible(problem, *kept, settings.tolerance) for kept in reversed(self._curves)]
        found = [(motion, settings.scheme) for motion in slowed]
        straight = None if self._converged and any(motion for motion, _ in found) else self._along_spline()
        if straight is not None:
            stops = [int(np.abs(straight.positions - place).max(axis=1).argmin()) for place in problem.stops[1:]]
            found.append((feasible(problem, straight, stops, settings.tolerance), time_scaling.METHOD))
        motions = [(motion, method) for motion, method in found if motion is not None]
        if not motions:
            return missed
        best, method = min(motions, key=lambda each: each[0].cost)
        path = ", along the straight path" if method == time_scaling.METHOD else ""
        reason = f"feasible{path}; no optimum: {self._why}"
        return best.verification.plan(problem, best.trajectory, True, reason, best.cost, method, self._begun)

    def _along_spline(self) -> Trajectory | None:
        """The fastest motion along the spline through the stops, slowed down to the given duration; None if none."""
        try:
            found = time_scaling.plan(replace(self._problem, duration=None, cost=MinimumTime()))
        except (ConfigurationError, InputError):  # no toppra, or not from rest to rest
            return None
        if not found.solved:
            return None
        slow = (self._problem.duration or found.duration) / found.duration
        return Trajectory(slow * found.times, found.q, found.qd / slow, found.qdd / slow**2)

    def _search(self) -> Plan:
        """Solve, verify, refine, until the motion is accurate, time is up or a finer program has no solution."""
        problem, settings = self._problem, self._settings
        mesh = Mesh.uniform(1 + len(problem.via), settings.intervals)
        program, outcome = self._first(mesh)
        for _ in range(settings.refinements):
            if not outcome.optimal:
                break
            motion = program.unpack(outcome.x)
            parts = self._parts(*self._verified(motion, mesh), mesh)
            if (parts == 1).all() or self._timed_out():
                break
            mesh = mesh.divided(parts)
            finer = NonlinearProgram(problem, mesh, self._scheme)
            begin = finer.pack(self._resampled(motion, program.mesh, mesh))
            better = solve(finer, begin, self._until, self._progress, near=True)
            self._keep(finer.unpack(better.x), mesh)
            if not better.optimal:  # the previous solution still solves the program on its own mesh
                break
            program, outcome = finer, better
        return self._plan(program, outcome)

    def _first(self, mesh: Mesh) -> tuple[NonlinearProgram, SolverOutcome]:
        """The solution on the first mesh, from the first guess that converges; else the nearest outcome."""
        program = NonlinearProgram(self._problem, mesh, self._scheme)
        best: SolverOutcome | None = None
        for guess in initial_guesses(self._problem, mesh, self._scheme, self._until):
            outcome = solve(program, program.pack(guess), self._until, self._progress)
            self._keep(guess, mesh)
            self._keep(program.unpack(outcome.x), mesh)
            self._converged |= outcome.optimal
            if best is None or outcome.optimal or outcome.violation < best.violation:
                best = outcome
            if outcome.optimal or self._timed_out():
                break
        assert best is not None
        return program, best

    def _keep(self, motion: Guess, mesh: Mesh) -> None:
        """Keep a motion that may become a feasible one; a search that fails may have left the given duration."""
        if self._problem.duration and not np.isclose(motion.durations.sum(), self._problem.duration, rtol=1e-3):
            return
        self._curves.append((self._curve(motion, mesh), [(self._scheme.inner + 1) * int(end) for end in mesh.ends]))

    def _timed_out(self) -> bool:
        return perf_counter() > self._until

    def _curve(self, motion: Guess, mesh: Mesh) -> Trajectory:
        """The curve through the points of the mesh."""
        times = self._scheme.times(mesh.steps(motion.durations))
        return Trajectory(times, motion.q, motion.qd, motion.qdd)

    def _verified(self, motion: Guess, mesh: Mesh) -> tuple[SampledMotion, Verification]:
        """The motion sampled so finely that its efforts are linear between the points, and its verification."""
        scale = np.minimum(self._problem.bounds.effort, np.maximum(np.abs(motion.effort).max(axis=0), 1e-9))
        allowed = self._settings.tolerance / 2.0 * scale
        sampled = sample_motion(self._scheme, self._curve(motion, mesh), motion.effort, allowed)
        stops = np.flatnonzero(np.append(np.isin(sampled.interval, mesh.ends) & sampled.begins, True))
        return sampled, verify(self._problem, sampled.trajectory, stops.tolist(), self._settings.tolerance)

    def _parts(self, sampled: SampledMotion, found: Verification, mesh: Mesh) -> Indices:
        """The number of parts into which each interval is divided (N,)."""
        errors, close = np.zeros(mesh.intervals), np.zeros(mesh.intervals, dtype=bool)
        np.maximum.at(errors, sampled.interval, found.errors)
        np.logical_or.at(close, sampled.interval, found.close)
        needed = np.ceil((errors / self._settings.tolerance) ** (1.0 / self._scheme.order))
        # An interval that has been divided before has a jump of the efforts, whose error has no order.
        least = np.where(mesh.ratio < mesh.ratio.max() * (1.0 - 1e-9), MAX_PARTS, 2)
        parts = np.where(errors > self._settings.tolerance, np.clip(needed, least, MAX_PARTS), 1)
        return np.maximum(parts, np.where(close, 2, 1)).astype(int)

    def _resampled(self, motion: Guess, old: Mesh, new: Mesh) -> Guess:
        """A motion on another mesh."""
        before = self._curve(motion, old)
        times = self._scheme.times(new.steps(motion.durations))
        q, qd, qdd = before.samples(np.minimum(times, before.duration))
        return Guess(q, qd, qdd, self._problem.model.efforts(q, qd, qdd), motion.durations)

    def _plan(self, program: NonlinearProgram, outcome: SolverOutcome) -> Plan:
        sampled, found = self._verified(program.unpack(outcome.x), program.mesh)
        solved = outcome.optimal and found.ratio <= 1.0
        reason, scheme = self._reason(outcome, found, program.mesh, solved), self._settings.scheme
        return found.plan(self._problem, sampled.trajectory, solved, reason, outcome.cost, scheme, self._begun)

    def _reason(self, outcome: SolverOutcome, found: Verification, mesh: Mesh, solved: bool) -> str:
        if solved:
            return f"optimal, solved on {mesh.intervals} intervals"
        worst = f"the {found.worst.constraint} is missed by {found.worst.amount:.3g} {found.worst.unit}"
        if outcome.timed_out or self._timed_out():
            self._why = f"stopped by the time limit of {self._settings.time_limit:g} s"
            return f"the time limit of {self._settings.time_limit:g} s has passed; {worst}"
        if not outcome.optimal:
            status = outcome.status.replace("_", " ").lower()
            self._why = f"the solver found none ({status})"
            given = self._problem.duration
            short = "" if given is None else f", perhaps because {given:g} s is too short"
            return f"no solution was found ({status}){short}: {worst}"
        self._why = f"between the points of {mesh.intervals} intervals {worst}"
        return self._why


class SampledMotion(NamedTuple):
    """A motion on a mesh, at points so close that its efforts are linear between them."""

    trajectory: Trajectory  # through K points, with efforts
    interval: Indices  # interval of the mesh in which each piece lies (K - 1,)
    begins: Flags  # True for the first piece of an interval (K - 1,)


def sample_motion(scheme: Scheme, curve: Trajectory, effort: Array, tolerance: Array) -> SampledMotion:
    """Sample a motion so finely that its efforts are linear between the points.

    Args:
        scheme: collocation scheme of the motion.
        curve: the motion through all points of the mesh.
        effort: efforts at these points (K, n).
        tolerance: greatest deviation of the efforts from straight lines (n,).
    """
    size, times, efforts, interval = scheme.inner + 1, [], [], []
    for k, start in enumerate(range(0, len(effort) - 1, size)):
        own = effort[start : start + size + 1]
        # A parabola through three points deviates from the straight lines through m + 1 of its points by D / (2 m²),
        # with D its second difference.
        bend = np.abs(np.diff(own, 2, axis=0)).max(axis=0) if scheme.inner else np.zeros_like(tolerance)
        pieces = int(np.clip(size * np.ceil(np.sqrt((bend / tolerance).max() / 2.0) / size), size, MAX_PIECES))
        ratios = np.arange(pieces) / pieces
        times.append(curve.times[start] + ratios * (curve.times[start + size] - curve.times[start]))
        efforts += [scheme.effort(own, ratio) for ratio in ratios]
        interval += [k] * pieces
    whole = np.append(np.concatenate(times), curve.times[-1])
    motion = Trajectory(whole, *curve.samples(whole), [*efforts, effort[-1]])
    return SampledMotion(motion, np.array(interval), np.diff(interval, prepend=-1) > 0)


class SolverOutcome(NamedTuple):
    """The outcome of a solution."""

    x: Array
    cost: float
    status: str  # return status of IPOPT
    violation: float  # greatest constraint violation, in the program's units

    @property
    def optimal(self) -> bool:
        """True if it is a minimum, to the tolerance."""
        return self.status in ("Solve_Succeeded", "Solved_To_Acceptable_Level")

    @property
    def timed_out(self) -> bool:
        """True if the time limit ended it."""
        return self.status in ("Maximum_WallTime_Exceeded", "Maximum_CpuTime_Exceeded", "User_Requested_Stop")


NEAR: dict[str, Any] = {
    "mu_strategy": "monotone",
    "mu_init": 1e-6,
    "bound_mult_init_method": "mu-based",
    "bound_push": 1e-6,
    "bound_frac": 1e-6,
}
"""Options of IPOPT near the solution: the motion stays on its active limits.

Thousands of limits share the barrier, so a greater barrier parameter than this one drives the motion far away again.
"""


def solve(
    program: NonlinearProgram, start: Array, until: float, progress: Progress | None = None, near: bool = False
) -> SolverOutcome:
    """Solve a nonlinear program.

    Args:
        program: the program.
        start: initial values of the unknowns.
        until: time at which to stop, by ``time.perf_counter`` [s].
        progress: called in each iteration.
        near: True if the initial values are those of a solution on a coarser mesh.
    """
    nlp = {"x": program.x, "f": program.objective, "g": program.constraints}
    options = {
        "print_time": False,
        "ipopt": {
            "print_level": 0,
            "sb": "yes",
            "max_wall_time": max(until - perf_counter(), 0.01),
            "max_iter": 3000,
            "tol": OPTIMAL,
            "constr_viol_tol": TOLERANCE,
            "acceptable_tol": ACCEPTABLE,
            "acceptable_iter": PATIENCE,
            "acceptable_constr_viol_tol": 10.0 * TOLERANCE,
            "bound_relax_factor": 0.0,
            "mu_strategy": "adaptive",
            **(NEAR if near else {}),
        },
    }
    with signals_deferred() as came:
        options["iteration_callback"] = _IterationCallback(program, until, progress, came)
        solver = ca.nlpsol("plan", "ipopt", nlp, options)
        found = solver(x0=start, lbx=program.low, ubx=program.high, lbg=program.lower, ubg=program.upper)
    x, g = np.array(found["x"]).ravel(), np.array(found["g"]).ravel()
    missed = np.concatenate((program.lower - g, g - program.upper, program.low - x, x - program.high))
    cost = float(ca.Function("cost", [program.x], [program.cost])(x))
    return SolverOutcome(x, cost, solver.stats()["return_status"], float(missed.max()))


class _IterationCallback(ca.Callback):  # type: ignore[misc]
    """Reports every iteration, and stops the solver when time is up, or when a signal has come."""

    def __init__(self, program: NonlinearProgram, until: float, progress: Progress | None, came: list[int]) -> None:
        super().__init__()
        self._program, self._until, self._progress, self._came, self._count = program, until, progress, came, 0
        self.construct("watch", {})

    def get_n_in(self) -> int:
        return int(ca.nlpsol_n_out())

    def get_sparsity_in(self, index: int) -> ca.Sparsity:
        x, g = self._program.x.numel(), self._program.constraints.numel()
        rows = {"x": x, "lam_x": x, "g": g, "lam_g": g, "f": 1}
        return ca.Sparsity.dense(rows.get(str(ca.nlpsol_out(index)), 0), 1)

    def eval(self, arguments: list[ca.DM]) -> list[int]:
        if self._progress is not None:
            g = np.array(arguments[2]).ravel()
            missed = np.maximum(self._program.lower - g, g - self._program.upper).max()
            self._progress(self._count, max(float(missed), 0.0))
        self._count += 1
        return [int(bool(self._came) or perf_counter() > self._until)]
