"""The best motion by direct transcription: solve, look between the points, divide the mesh, solve again.

The mesh is fine enough when the efforts that the motion needs anywhere differ from those that were planned, linear
between the points, by less than a share of their limit. After Betts, Practical Methods for Optimal Control (2010),
section 4.7: an error of order p in the length of an interval says into how many parts it must be divided.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.settings import check_settings, choice, setting, whole
from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.planning.checks import impossible
from robodyn_ros.planning.guess import guesses
from robodyn_ros.planning.ipopt import Outcome, Report, solve
from robodyn_ros.planning.mesh import Mesh
from robodyn_ros.planning.plan import Plan, points_of
from robodyn_ros.planning.problem import Problem
from robodyn_ros.planning.program import Guess, Program
from robodyn_ros.planning.sampling import Sampled, sample
from robodyn_ros.planning.scheme import SCHEMES, Scheme, scheme
from robodyn_ros.planning.verification import Findings, verify

PARTS = 4
"""An interval is divided into so many at most, at once."""


@dataclass(frozen=True)
class CollocationConfig:
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


def plan(problem: Problem, config: CollocationConfig | None = None, report: Report | None = None) -> Plan:
    """The motion of least cost, or why there is none.

    Args:
        problem: what is asked.
        config: settings, the defaults unless given.
        report: called in each iteration with its number and the greatest constraint violation.

    Raises:
        InputError: the problem is wrong in itself.
    """
    return _Search(problem, config or CollocationConfig(), report).run()


class _Search:
    def __init__(self, problem: Problem, config: CollocationConfig, report: Report | None) -> None:
        self._problem, self._config, self._report = problem, config, report
        self._scheme: Scheme = scheme(config.scheme)
        self._begun = perf_counter()
        self._until = self._begun + config.time_limit

    def run(self) -> Plan:
        problem, config = self._problem, self._config
        why = impossible(problem)
        if why is not None:
            return Plan.refused(problem.joints, *why, config.scheme, perf_counter() - self._begun)
        mesh = Mesh.uniform(1 + len(problem.via), config.intervals)
        program, outcome = self._first(mesh)
        for _ in range(config.refinements):
            if not outcome.optimal:
                break
            motion = program.unpack(outcome.x)
            parts = self._parts(*self._verified(motion, mesh), mesh)
            if (parts == 1).all() or self._late():
                break
            mesh = mesh.divided(parts)
            finer = Program(problem, mesh, self._scheme)
            better = solve(finer, finer.pack(self._on(motion, program.mesh, mesh)), self._until, self._report)
            if not better.optimal:
                mesh = program.mesh  # what was found before is still a solution of its own mesh
                break
            program, outcome = finer, better
        return self._answer(program, outcome)

    def _first(self, mesh: Mesh) -> tuple[Program, Outcome]:
        """A solution on the first mesh; from the guess that leads to one, else what came nearest."""
        program = Program(self._problem, mesh, self._scheme)
        best: Outcome | None = None
        for guess in guesses(self._problem, mesh, self._scheme, self._until):
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

    def _verified(self, motion: Guess, mesh: Mesh) -> tuple[Sampled, Findings]:
        """The motion at so many points that its efforts are straight between them, and what it misses."""
        limit = np.where(np.isfinite(self._problem.bounds.effort), self._problem.bounds.effort, np.inf)
        scale = np.minimum(limit, np.maximum(np.abs(motion.effort).max(axis=0), 1e-9))
        sampled = sample(self._scheme, self._curve(motion, mesh), motion.effort, self._config.tolerance / 2.0 * scale)
        stops = np.flatnonzero(np.append(np.isin(sampled.interval, mesh.ends) & sampled.begins, True))
        return sampled, verify(self._problem, sampled.trajectory, stops.tolist(), self._config.tolerance)

    def _parts(self, sampled: Sampled, findings: Findings, mesh: Mesh) -> NDArray[np.int_]:
        """Into how many each interval is to be divided (N,)."""
        errors, close = np.zeros(mesh.intervals), np.zeros(mesh.intervals, dtype=bool)
        np.maximum.at(errors, sampled.interval, findings.errors)
        np.logical_or.at(close, sampled.interval, findings.close)
        needed = np.ceil((errors / self._config.tolerance) ** (1.0 / self._scheme.order))
        parts = np.where(errors > self._config.tolerance, np.clip(needed, 2, PARTS), 1)
        return np.maximum(parts, np.where(close, 2, 1)).astype(int)

    def _on(self, motion: Guess, old: Mesh, new: Mesh) -> Guess:
        """A motion on another mesh."""
        before = self._curve(motion, old)
        times = self._scheme.times(new.steps(motion.durations))
        samples = [before.sample(min(float(t), before.duration * (1.0 - 1e-12))) for t in times]
        q, qd, qdd = (np.array([sample[k] for sample in samples]) for k in range(3))
        return Guess(q, qd, qdd, self._problem.model.efforts(q, qd, qdd), motion.durations)

    def _answer(self, program: Program, outcome: Outcome) -> Plan:
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
            method=self._config.scheme,
            dynamics_error=findings.dynamics_error,
        )

    def _reason(self, outcome: Outcome, findings: Findings, mesh: Mesh, solved: bool) -> str:
        if solved:
            return f"solved on {mesh.intervals} intervals"
        worst = f"the {findings.worst.constraint} is missed by {findings.worst.amount:.3g} {findings.worst.unit}"
        if outcome.late or self._late():
            return f"the time limit of {self._config.time_limit:g} s has passed; {worst}"
        if not outcome.optimal:
            return f"no solution was found ({outcome.status.replace('_', ' ').lower()}): {worst}"
        return f"between the points of {mesh.intervals} intervals {worst}"
