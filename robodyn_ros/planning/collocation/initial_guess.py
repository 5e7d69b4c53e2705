# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Initial guesses for collocation: straight lines in joint space first, then detours.

Around obstacles, RRT-Connect finds a path: two random trees grow towards each other (Kuffner and LaValle, RRT-Connect:
An efficient approach to single-query path planning, ICRA 2000). Shortcuts follow. The path is crooked and slow; the
solver makes it smooth and fast.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from time import perf_counter

import numpy as np

from robodyn_ros.control import Trajectory, point_to_point, rest_to_rest
from robodyn_ros.errors import InputError
from robodyn_ros.planning.collocation.program import Guess, Mesh, position_units
from robodyn_ros.planning.collocation.scheme import Scheme
from robodyn_ros.planning.problem import Problem
from robodyn_ros.robot.pose import Array

STEP = 0.15
"""Length of a branch, with joints measured in radians and metres, or by half of their range if that is less."""

RESOLUTION = 0.03
"""Distance between the positions at which a branch is checked, likewise."""

MAX_BRANCHES = 20000
"""Number of branches after which a search gives up."""

SHORTCUTS = 60
"""Number of shortcuts that are tried."""

DETOURS = 6
"""Number of detours that are tried, one after the other, until the solver succeeds."""


def initial_guesses(problem: Problem, mesh: Mesh, scheme: Scheme, until: float) -> Iterator[Guess]:
    """The straight path from stop to stop if it is free, then detours; they are the same at every call.

    Args:
        problem: the problem.
        mesh: mesh of the guesses.
        scheme: collocation scheme of the guesses.
        until: time at which to stop the search for paths, by ``time.perf_counter`` [s].
    """
    legs = list(zip(problem.stops[:-1], problem.stops[1:], strict=True))
    straight = [[a, b] for a, b in legs]
    if all(is_free(problem, a, b) for a, b in legs):
        yield _guess(problem, straight, mesh, scheme)
    random = np.random.default_rng(0)
    for seed in range(DETOURS):
        if problem.clearance is None:
            paths = [[a, _random_midpoint(problem, a, b, random), b] for a, b in legs]
        else:
            around = [rrt_connect(problem, a, b, seed, until) for a, b in legs]
            paths = [path for path in around if path is not None]
            if len(paths) < len(legs):
                if seed > 0:
                    continue
                paths = straight
        yield _guess(problem, paths, mesh, scheme)


def _guess(problem: Problem, paths: list[list[Array]], mesh: Mesh, scheme: Scheme) -> Guess:
    return from_trajectory(problem, [_trajectory(problem, path) for path in paths], mesh, scheme)


def from_trajectory(problem: Problem, legs: list[Trajectory], mesh: Mesh, scheme: Scheme) -> Guess:
    """A guess on a mesh from one trajectory per leg, stretched in time to the problem's duration if that is fixed."""
    durations = np.array([leg.duration for leg in legs])
    if problem.duration:
        durations *= problem.duration / durations.sum()
    times = scheme.times(mesh.steps(durations))
    begins = np.concatenate(([0.0], np.cumsum(durations)))
    own = np.minimum(np.searchsorted(begins, times, side="right") - 1, len(legs) - 1)
    slowdown = (durations / [leg.duration for leg in legs])[own]
    rows = [legs[k].sample(t) for k, t in zip(own, (times - begins[own]) / slowdown, strict=True)]
    q, qd, qdd = (np.array(part) / slowdown[:, np.newaxis] ** k for k, part in enumerate(zip(*rows, strict=True)))
    return Guess(q, qd, qdd, problem.model.efforts(q, qd, qdd), durations)


def _trajectory(problem: Problem, path: list[Array]) -> Trajectory:
    """A motion along a path, at rest at its ends."""
    pieces = [_straight(problem, a, b) for a, b in itertools.pairwise(path)]
    begins = np.concatenate(([0.0], np.cumsum([piece.duration for piece in pieces])))
    if len(pieces) == 1:
        return pieces[0]
    velocities = np.gradient(path, begins, axis=0)
    velocities[[0, -1]] = 0.0
    return Trajectory(begins, np.array(path), velocities)


def _straight(problem: Problem, a: Array, b: Array) -> Trajectory:
    limits = problem.bounds
    try:
        return point_to_point(
            problem.dynamics, a, b, velocity_limit=limits.velocity, effort_limit=limits.effort, limit_ratio=1.0
        )
    except InputError:  # no straight motion within the efforts: the solver may find a curved one
        finite = np.where(np.isfinite(limits.velocity), limits.velocity, 2.0)
        return rest_to_rest([a, b], [0.0, max(0.1, 4.0 * float(np.max(np.abs(b - a) / finite)))])


def _random_midpoint(problem: Problem, a: Array, b: Array, random: np.random.Generator) -> Array:
    """A random position around the middle between two positions."""
    limits = problem.bounds
    spread = np.maximum(np.abs(b - a), 0.3 * position_units(problem))
    return np.clip(random.normal((a + b) / 2.0, spread), limits.lower, limits.upper)


def rrt_connect(problem: Problem, start: Array, goal: Array, seed: int, until: float) -> list[Array] | None:
    """A path of positions (n,) from start to goal with free straight lines between them; None if none is found.

    Args:
        problem: a problem with obstacles.
        start: (n,).
        goal: (n,).
        seed: seed of the random positions.
        until: time at which to give up, by ``time.perf_counter`` [s].
    """
    if is_free(problem, start, goal):
        return [start, goal]
    random = np.random.default_rng(seed)
    trees = [_Tree(start, position_units(problem)), _Tree(goal, position_units(problem))]
    limits = problem.bounds
    # Half a turn, or π m, beyond zero and both ends of the path: the whole range of most joints.
    around = np.array([start, goal, np.zeros_like(start)])
    lower = np.maximum(limits.lower, around.min(axis=0) - np.pi)
    upper = np.minimum(limits.upper, around.max(axis=0) + np.pi)
    for attempt in range(MAX_BRANCHES):
        if perf_counter() > until:
            break
        this, other = trees if attempt % 2 == 0 else trees[::-1]
        grown = this.extend(problem, random.uniform(lower, upper))
        if grown is not None and other.connect(problem, this.positions[grown]):
            forward, backward = (tree.path(-1 if tree is other else grown) for tree in trees)
            return _shortened(problem, [*forward[::-1], *backward[1:]], random, until)
    return None


def is_free(problem: Problem, a: Array, b: Array) -> bool:
    """True if the arm keeps its distance from obstacles on the straight line, ends included."""
    clearance = problem.clearance
    if clearance is None:
        return True
    count = max(2, int(np.ceil(np.linalg.norm((b - a) / position_units(problem)) / RESOLUTION)) + 1)
    line = a + np.linspace(0.0, 1.0, count)[:, np.newaxis] * (b - a)
    return bool(np.array(clearance.distances(line.T)).min() >= min(problem.margin, 1e-3))


class _Tree:
    """A tree of RRT-Connect: positions, each with its parent."""

    def __init__(self, root: Array, unit: Array) -> None:
        self._unit, self._parents = unit, [0]
        self.positions = np.empty((256, len(root)))  # as many as parents; the rest is room for more
        self.positions[0] = root

    def extend(self, problem: Problem, towards: Array) -> int | None:
        """Grow one branch; return its index, or None if it is not free."""
        known = self.positions[: len(self._parents)]
        nearest = int(np.argmin((((known - towards) / self._unit) ** 2).sum(axis=1)))
        vector = towards - known[nearest]
        length = float(np.linalg.norm(vector / self._unit))
        end = towards if length <= STEP else known[nearest] + STEP / length * vector
        if not is_free(problem, known[nearest], end):
            return None
        if len(known) == len(self.positions):
            self.positions = np.concatenate((self.positions, np.empty_like(self.positions)))
        self.positions[len(known)] = end
        self._parents.append(nearest)
        return len(known)

    def connect(self, problem: Problem, target: Array) -> bool:
        """Grow towards a position until it is reached (True) or an obstacle is met (False)."""
        while (grown := self.extend(problem, target)) is not None:
            if np.array_equal(self.positions[grown], target):
                return True
        return False

    def path(self, index: int) -> list[Array]:
        """The positions from one back to the root."""
        index %= len(self._parents)
        found = [self.positions[index]]
        while index:
            index = self._parents[index]
            found.append(self.positions[index])
        return found


def _shortened(problem: Problem, path: list[Array], random: np.random.Generator, until: float) -> list[Array]:
    """The path with random shortcuts."""
    for _ in range(SHORTCUTS):
        if perf_counter() > until:
            break
        first, last = sorted(random.choice(len(path), 2, replace=False).tolist())
        if last - first > 1 and is_free(problem, path[first], path[last]):
            path = [*path[: first + 1], *path[last:]]
    return path
