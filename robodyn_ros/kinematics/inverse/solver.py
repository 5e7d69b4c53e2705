# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics by damped least squares from several starts.

:mod:`robodyn_ros.kinematics.inverse.step` has the step and its sources. A target outside the ball that the arm can
reach is tried from one start only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.engine.states import as_states, refuse_non_finite
from robodyn_ros.errors import ConfigurationError, InputError
from robodyn_ros.kinematics.forward import Kinematics
from robodyn_ros.kinematics.inverse.step import build_step
from robodyn_ros.kinematics.inverse.task import NullSpaceObjective, Task, centred
from robodyn_ros.kinematics.se3 import as_pose
from robodyn_ros.kinematics.tree import Tree
from robodyn_ros.robot import Link, Pose, Robot
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array

Limits = Literal["clamp", "avoid", "ignore"]


@dataclass(frozen=True)
class InverseSettings:
    """Settings of the numerical solver.

    Attributes:
        position_tolerance: greatest distance from the target [m].
        rotation_tolerance: greatest angle from it [rad].
        starts: greatest number of starts: the given one, then random ones within the limits.
        iterations: steps at most from one start; with a null-space objective ten times as many.
        patience: number of steps after which a start ends that has not halved its error E.
        damping: c of λ = c E + floor.
        floor: damping that remains at the target; it keeps redundant arms and free directions regular.
        limits: ``clamp`` joints at their limits; ``avoid`` them by null-space motion as well; ``ignore`` them.
        choose: the ``first`` solution found, or the ``nearest`` to the start of all solutions.
        settled: greatest step that counts as converged, with a null-space objective [rad] or [m].
        seed: seed of the random starts; the same seed gives the same solution.
    """

    position_tolerance: float = 1e-7
    rotation_tolerance: float = 1e-7
    starts: int = 100
    iterations: int = 40
    patience: int = 6
    damping: float = 0.1
    floor: float = 1e-10
    limits: Limits = "clamp"
    choose: Literal["first", "nearest"] = "first"
    settled: float = 1e-6
    seed: int = 1

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, str):
                choices = get_args(Limits) if item.name == "limits" else ("first", "nearest")
                if value not in choices:
                    raise ConfigurationError(f"{item.name}: must be one of {', '.join(choices)}, not {value!r}")
            elif not (isfinite(value) and value >= (0 if item.name in ("seed", "damping") else 1e-300)):
                raise ConfigurationError(f"{item.name}: must be finite and above 0, not {value!r}")
            elif item.type == "int" and int(value) != value:
                raise ConfigurationError(f"{item.name}: must be a whole number, not {value!r}")


Outcome = Literal["converged", "beyond_reach", "limits", "not_found"]
"""``beyond_reach``: farther away than the arm is long, so there is no solution. ``limits``: found only without position
limits. ``not_found``: no start converged; a solution may still exist, but that is unlikely with many starts.
"""


class InverseSolution(NamedTuple):
    """The best result of a search for joint positions."""

    q: Array  # (n,) in [rad] or [m]; the closest one of the search, if it did not converge
    converged: bool
    outcome: Outcome
    reason: str  # the outcome as a sentence, with numbers
    position_error: float  # in the task's directions [m]
    rotation_error: float  # likewise [rad]
    iterations: int  # steps from all starts together
    starts: int  # number of starts


class Reach(NamedTuple):
    """A ball that a link's origin never leaves."""

    center: Array  # in the root link's frame (3,) in [m]
    radius: float  # [m]

    def excess(self, position: Array, directions: Array) -> float:
        """Return the distance of a position (3,) outside, along the task's directions (k, 3) [m]; inside, at most 0."""
        return float(np.linalg.norm(directions @ (position - self.center))) - self.radius


def reach(robot: Robot, tree: Tree, link: Link) -> Reach:
    """Return the ball about the first joint whose radius is the sum of the lengths of all segments.

    Each prismatic one counts at its longest. No point outside is reachable; a point inside may be.
    """
    chain = []
    index = link.body
    while index >= 0:
        chain.append(tree.nodes[index])
        index = chain[-1].parent
    chain.reverse()
    if not chain:
        return Reach(link.pose.translation, 0.0)
    radius = float(np.linalg.norm((chain[-1].frame.inverse() @ link.pose).translation))
    for place, node in enumerate(chain):
        offset = node.offset if place else np.zeros(3)
        if node.prismatic:
            limits = (robot.lower[node.body.coordinate], robot.upper[node.body.coordinate])
            ends = [offset + node.rotation[:, 2] * (node.body.ratio * q + node.body.offset) for q in limits]
            radius += max(float(np.linalg.norm(end)) if np.isfinite(end).all() else np.inf for end in ends)
        else:
            radius += float(np.linalg.norm(offset))
    return Reach(tree.base @ chain[0].offset, radius)


SPAN = np.pi
"""Random starts of a joint without limits lie within ± this [rad] or [m] of 0."""


class _Attempt(NamedTuple):
    """The result of one start."""

    q: Array
    position_error: float
    rotation_error: float
    energy: float  # E
    steps: int
    arrived: bool


class InverseKinematics:
    """Joint positions for poses of one link. Like a kernel, an object of this class belongs to one thread.

    Attributes:
        robot: the arm.
        settings: of the search; may be replaced between two solutions.
    """

    def __init__(self, kinematics: Kinematics, link: str, settings: InverseSettings | None = None) -> None:
        """
        Args:
            kinematics: of the arm.
            link: name of the link with the target pose.
            settings: the defaults unless given.

        Raises:
            InputError: no such link, no joint moves it, or ``kinematics`` is of another kind.
        """
        given: object = kinematics  # from a caller without a type checker
        if not isinstance(given, Kinematics):
            problem = f"must be a Kinematics, which Kinematics(robot) makes, not {type(given).__name__}"
            raise InputError("kinematics", problem, kinematics)
        self.robot = kinematics.robot
        found = self.robot.link(link)
        if found.body < 0:
            raise InputError("link", f"{link!r} is fixed to the base and cannot move", link)
        self.settings = settings or InverseSettings()
        self._step = build_step(kinematics.tree, found, kinematics.compiled)
        self._space = ConfigurationSpace(self.robot)
        self._reach = reach(self.robot, kinematics.tree, found)
        self._pose = kinematics.tree, found
        self._lower, self._upper = self.robot.lower, self.robot.upper
        lines = np.isfinite(self._lower) & np.isfinite(self._upper)
        self._middle = np.where(lines, (np.where(lines, self._lower, 0.0) + np.where(lines, self._upper, 0.0)) / 2, 0.0)
        self._middle = np.clip(self._middle, self._lower, self._upper)
        self._whole = Task.pose()

    def solve(
        self,
        target: ArrayLike | Pose,
        start: ArrayLike | None = None,
        task: Task | None = None,
        objective: NullSpaceObjective | None = None,
    ) -> InverseSolution:
        """Joint positions for a pose of the link.

        Args:
            target: pose of the link in the root link's frame, (4, 4) or a Pose.
            start: start of the search, to which the turns of revolute joints are nearest, (n,); the middle of the
                limits unless given.
            task: the components of the pose that count; all unless given.
            objective: null-space objective, see :mod:`robodyn_ros.kinematics.inverse.task`.

        Raises:
            InputError: the target is no pose, or the start is not n finite numbers.
        """
        matrix, task = as_pose(target), task or self._whole
        first = self._middle
        if start is not None:
            (first,) = as_states(("start",), (start,), (self.robot.n,))
            refuse_non_finite(("start",), (first,))
            if first.ndim > 1:
                raise InputError("start", f"must be of shape ({self.robot.n},), not {first.shape}", start)
        self._aim(matrix, task)
        excess = self._reach.excess(matrix[:3, 3], task.directions(matrix[:3, :3])[task.weights[:3] > 0.0])
        settings = self.settings
        if excess > settings.position_tolerance:
            settings = replace(settings, starts=1)
        best, tried, steps = self._search(first, settings, objective)
        if best.arrived:
            outcome: Outcome = "converged"
        elif excess > settings.position_tolerance:
            outcome = "beyond_reach"
        elif settings.limits != "ignore" and self._search(first, replace(settings, limits="ignore"), None)[0].arrived:
            outcome = "limits"
        else:
            outcome = "not_found"
        q = self._space.nearest_turn(first, best.q)
        reason = _reason(outcome, best, tried, excess, self._reach.radius)
        return InverseSolution(q, best.arrived, outcome, reason, best.position_error, best.rotation_error, steps, tried)

    def _aim(self, matrix: Array, task: Task) -> None:
        step = self._step
        step.position[:], step.rotation[:] = matrix[:3, 3], matrix[:3, :3]
        step.directions[:] = task.directions(matrix[:3, :3])
        step.weights[:] = task.weights

    def _search(
        self, first: Array, settings: InverseSettings, objective: NullSpaceObjective | None
    ) -> tuple[_Attempt, int, int]:
        """The best attempt, and its numbers of starts and steps."""
        step = self._step
        bounded = settings.limits != "ignore"
        step.lower[:], step.upper[:] = (self._lower, self._upper) if bounded else (-np.inf, np.inf)
        step.damping[:] = settings.damping, settings.floor
        if settings.limits == "avoid":
            objective = _both(objective, centred(self.robot))
        best: _Attempt | None = None
        tried = steps = 0
        for q in self._starts(first, settings):
            attempt = self._descend(q, settings, objective)
            tried, steps = tried + 1, steps + attempt.steps
            if best is None or self._better(attempt, best, first):
                best = attempt
            if best.arrived and settings.choose == "first":
                break
        assert best is not None
        return best, tried, steps

    def _starts(self, first: Array, settings: InverseSettings) -> Iterator[Array]:
        yield np.clip(first, self._lower, self._upper) if settings.limits != "ignore" else first
        lower, upper = (
            np.where(np.isfinite(self._lower), self._lower, -SPAN),
            np.where(np.isfinite(self._upper), self._upper, SPAN),
        )
        rng = np.random.default_rng(settings.seed)
        for _ in range(settings.starts - 1):
            yield rng.uniform(lower, np.maximum(lower, upper))

    def _descend(self, q: Array, settings: InverseSettings, objective: NullSpaceObjective | None) -> _Attempt:
        step = self._step
        evaluate, position, stepped = step.kernel.evaluate, step.q.data, step.stepped.data
        measure = step.measure.data
        near, aligned, patience = settings.position_tolerance, settings.rotation_tolerance, settings.patience
        limit = settings.iterations * (10 if objective else 1)
        step.q[:] = q
        step.secondary[:] = 0.0
        before, count, arrived = np.inf, 0, False
        while True:
            if objective is not None:
                step.secondary[:] = objective(step.q)
            evaluate()
            arrived = measure[0] <= near and measure[1] <= aligned
            if arrived and (objective is None or abs(step.stepped - step.q).max() <= settings.settled):
                break
            if count == limit:
                break
            if objective is None and count % patience == 0:
                if not measure[2] < before:
                    break
                before = 0.5 * measure[2]
            position[:] = stepped
            count += 1
        return _Attempt(step.q.copy(), measure[0], measure[1], measure[2], count, arrived)

    def _better(self, one: _Attempt, other: _Attempt, first: Array) -> bool:
        if one.arrived and other.arrived:
            turned = [self._space.nearest_turn(first, attempt.q) for attempt in (one, other)]
            return bool(self._space.distance(first, turned[0]) < self._space.distance(first, turned[1]))
        return one.arrived or (not other.arrived and one.energy < other.energy)


def _both(one: NullSpaceObjective | None, other: NullSpaceObjective) -> NullSpaceObjective:
    return other if one is None else lambda q: one(q) + other(q)


def _reason(outcome: Outcome, best: _Attempt, tried: int, excess: float, radius: float) -> str:
    closest = f"the closest solution is {best.position_error:.3g} m and {best.rotation_error:.3g} rad away"
    if outcome == "converged":
        return f"converged to {best.position_error:.1e} m and {best.rotation_error:.1e} rad"
    if outcome == "beyond_reach":
        return (
            f"beyond reach: it lies {excess:.3g} m outside the ball of {radius:.3g} m that the arm can reach; {closest}"
        )
    if outcome == "limits":
        return f"found only outside the position limits; within them {closest}"
    return f"not found from {tried} starts: {closest}"
