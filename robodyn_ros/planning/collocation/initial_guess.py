"""Motions that a search begins with: along straight lines first, then around."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from time import perf_counter

import numpy as np

from robodyn_ros.control.motion.point_to_point import point_to_point, rest_to_rest
from robodyn_ros.control.motion.trajectory import Trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.planning.collocation.program import Guess, Mesh
from robodyn_ros.planning.collocation.scheme import Scheme
from robodyn_ros.planning.problem import Problem
from robodyn_ros.robot.pose import Array

# A way around obstacles, as a first guess: two random trees that grow towards each other, and shortcuts.
#
# Kuffner and LaValle, RRT-Connect: An efficient approach to single-query path planning, ICRA 2000; a branch that has
# met
# an obstacle only follows what is near (Yershova and others, Dynamic-domain RRTs, ICRA 2005). What is found is crooked
# and slow; the solver makes a motion of it.

STEP = 0.15
"""Length of a branch, with joints measured in radians and metres."""

RESOLUTION = 0.03
"""Distance between the positions at which a branch is looked at."""

DOMAIN = 3.0 * STEP
"""How far away something may be for a branch to follow it that has met an obstacle."""

BRANCHES = 20000
"""A search is given up after so many."""

SHORTCUTS = 60
"""So many are tried."""


def search(problem: Problem, start: Array, goal: Array, seed: int, until: float) -> list[Array] | None:
    """Positions (n,) from start to goal between which straight lines are free; None if none are found.

    Args:
        problem: with obstacles.
        start: (n,).
        goal: (n,).
        seed: of the random positions; the same search for the same seed.
        until: when to give up, by ``time.perf_counter`` [s].
    """
    if free(problem, start, goal):
        return [start, goal]
    random = np.random.default_rng(seed)
    trees = [_Tree(start), _Tree(goal)]
    limits = problem.bounds
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    for attempt in range(BRANCHES):
        if perf_counter() > until:
            break
        this, other = trees if attempt % 2 == 0 else trees[::-1]
        grown = this.extend(problem, random.uniform(lower, upper))
        if grown is not None and other.connect(problem, this.positions[grown]):
            forward, backward = (tree.way(-1 if tree is other else grown) for tree in trees)
            return _shortened(problem, [*forward[::-1], *backward[1:]], random, until)
    return None


def free(problem: Problem, a: Array, b: Array) -> bool:
    """Whether the arm keeps its distance on the straight line, its ends included."""
    clearance = problem.clearance
    if clearance is None:
        return True
    count = max(2, int(np.ceil(np.linalg.norm(b - a) / RESOLUTION)) + 1)
    line = a + np.linspace(0.0, 1.0, count)[:, np.newaxis] * (b - a)
    return bool(np.array(clearance.distances(line.T)).min() >= min(problem.margin, 1e-3))


class _Tree:
    def __init__(self, root: Array) -> None:
        self.positions = [root]
        self._parents = [0]
        self._domains = [np.inf]
        self._known = np.empty((256, len(root)))  # the positions again, as one array
        self._known[0] = root

    def extend(self, problem: Problem, towards: Array) -> int | None:
        """Grow one branch; its index, None if it is not free."""
        known = self._known[: len(self.positions)]
        nearest = int(np.argmin(((known - towards) ** 2).sum(axis=1)))
        way = towards - known[nearest]
        length = float(np.linalg.norm(way))
        if length > self._domains[nearest]:
            return None
        end = towards if length <= STEP else known[nearest] + STEP / length * way
        if not free(problem, known[nearest], end):
            self._domains[nearest] = DOMAIN
            return None
        if len(self.positions) == len(self._known):
            self._known = np.concatenate((self._known, np.empty_like(self._known)))
        self._known[len(self.positions)] = end
        self.positions.append(end)
        self._domains.append(np.inf)
        self._parents.append(nearest)
        return len(self.positions) - 1

    def connect(self, problem: Problem, target: Array) -> bool:
        """Grow towards a position until it is reached, or something is in the way."""
        while (grown := self.extend(problem, target)) is not None:
            if np.array_equal(self.positions[grown], target):
                return True
        return False

    def way(self, index: int) -> list[Array]:
        """From a position back to the root."""
        index %= len(self.positions)
        found = [self.positions[index]]
        while index:
            index = self._parents[index]
            found.append(self.positions[index])
        return found


def _shortened(problem: Problem, way: list[Array], random: np.random.Generator, until: float) -> list[Array]:
    for _ in range(SHORTCUTS):
        if len(way) < 3 or perf_counter() > until:
            break
        first, last = sorted(random.choice(len(way), 2, replace=False).tolist())
        if last - first > 1 and free(problem, way[first], way[last]):
            way = [*way[: first + 1], *way[last:]]
    return way


DETOURS = 6
"""So many ways around are tried, where the first one leads nowhere."""


def initial_guesses(problem: Problem, mesh: Mesh, scheme: Scheme, until: float) -> Iterator[Guess]:
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
