"""Motions that a search begins with: along straight lines first, then around."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from robodyn_ros.control.point_to_point import point_to_point
from robodyn_ros.control.trajectory import Trajectory
from robodyn_ros.control.waypoints import rest_to_rest
from robodyn_ros.errors import InputError
from robodyn_ros.planning.mesh import Mesh
from robodyn_ros.planning.path_search import free, search
from robodyn_ros.planning.problem import Problem
from robodyn_ros.planning.program import Guess
from robodyn_ros.planning.scheme import Scheme
from robodyn_ros.robot.pose import Array

DETOURS = 6
"""So many ways around are tried, where the first one leads nowhere."""


def guesses(problem: Problem, mesh: Mesh, scheme: Scheme, until: float) -> Iterator[Guess]:
    """The straight way from stop to stop if it is free, then ways around; the same each time.

    Args:
        problem: what is asked.
        mesh: of the motions.
        scheme: likewise.
        until: when to stop looking, by ``time.perf_counter`` [s].
    """
    legs = list(zip(problem.stops[:-1], problem.stops[1:], strict=True))
    straight = [[a, b] for a, b in legs]
    if all(free(problem, a, b) for a, b in legs):
        yield _made(problem, straight, mesh, scheme)
    random, found = np.random.default_rng(0), False
    for seed in range(DETOURS):
        if problem.clearance is None:
            ways = [[a, _beside(problem, a, b, random), b] for a, b in legs]
        else:
            around = [search(problem, a, b, seed, until) for a, b in legs]
            ways = [way for way in around if way is not None]
            if len(ways) < len(legs):
                break
        found = True
        yield _made(problem, ways, mesh, scheme)
    if not found:
        yield _made(problem, straight, mesh, scheme)


def _made(problem: Problem, ways: list[list[Array]], mesh: Mesh, scheme: Scheme) -> Guess:
    return from_trajectory(problem, _through(problem, ways), mesh, scheme)


def from_trajectory(problem: Problem, legs: list[Trajectory], mesh: Mesh, scheme: Scheme) -> Guess:
    """A motion on a mesh, from one trajectory a leg."""
    durations = np.array([leg.duration for leg in legs])
    if problem.duration:
        durations *= problem.duration / durations.sum()
    times = scheme.times(mesh.steps(durations))
    begins = np.concatenate(([0.0], np.cumsum(durations)))
    rows = []
    for t in times:
        leg = min(int(np.searchsorted(begins, t, side="right")) - 1, len(legs) - 1)
        stretch = durations[leg] / legs[leg].duration
        q, qd, qdd = legs[leg].sample((t - begins[leg]) / stretch)
        rows.append((q, qd / stretch, qdd / stretch**2))
    q, qd, qdd = (np.array([row[k] for row in rows]) for k in range(3))
    return Guess(q, qd, qdd, problem.model.efforts(q, qd, qdd), durations)


def _through(problem: Problem, ways: list[list[Array]]) -> list[Trajectory]:
    """A motion along each way, at rest at its ends."""
    found = []
    for way in ways:
        pieces = [_straight(problem, a, b) for a, b in itertools.pairwise(way)]
        begins = np.concatenate(([0.0], np.cumsum([piece.duration for piece in pieces])))
        if len(pieces) == 1:
            found.append(pieces[0])
            continue
        velocities = np.zeros((len(way), problem.model.n))
        for k in range(1, len(way) - 1):  # passed without a stop
            velocities[k] = (way[k + 1] - way[k - 1]) / (begins[k + 1] - begins[k - 1])
        found.append(Trajectory(begins, np.array(way), velocities))
    return found


def _straight(problem: Problem, a: Array, b: Array) -> Trajectory:
    limits = problem.bounds
    try:
        return point_to_point(
            problem.dynamics, a, b, velocity_limit=limits.velocity, effort_limit=limits.effort, share=1.0
        )
    except InputError:  # no straight way within the efforts: the solver may find a crooked one
        finite = np.where(np.isfinite(limits.velocity), limits.velocity, 2.0)
        return rest_to_rest([a, b], [0.0, max(0.1, 4.0 * float(np.max(np.abs(b - a) / finite)))])


def _beside(problem: Problem, a: Array, b: Array, random: np.random.Generator) -> Array:
    """A random position about the middle of the way."""
    limits = problem.bounds
    return np.clip(random.normal((a + b) / 2.0, np.maximum(np.abs(b - a), 0.3)), limits.lower, limits.upper)
