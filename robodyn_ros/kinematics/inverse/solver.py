# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics by damped least squares from several starts.

A target outside the ball that the arm can reach is tried from one start only. A step, from residual to new position, is
one compiled function.

The residual is e = [p* - p; log(R* Rᵀ)], along given directions, and the step (Levenberg–Marquardt)::

    (Jᵀ W J + λ 1) Δq = Jᵀ W e,     λ = c E + floor,     E = eᵀ W e / 2

The unit of length is the mean length of the arm's segments, in e and of prismatic joints, so that the steps of an arm
of millimetres are those of one of metres.

Damping in proportion to the error: Chan and Lawrence, General inverse kinematics with the error damped pseudoinverse
(ICRA 1988); Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg–Marquardt method (IEEE Trans.
Robotics 27 (2011)). With equal angular weights the geometric Jacobian gives the exact gradient, because the logarithm's
derivative does not change its own direction.

A joint at a limit that the gradient pushes outwards is held there and takes no part in the step (Bertsekas, Projected
Newton methods for optimization problems with simple constraints (1982)); the others are clamped at theirs. The motion z
of a null-space objective is projected into the null space, z - (JᵀWJ + λ)⁻¹ JᵀWJ z (Nakamura and Hanafusa, Inverse
kinematic solutions with singularity robustness, J. Dyn. Sys. Meas. Control 108 (1986)).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import check, finite_state
from robodyn_ros.engine import Kernel, Program, ca, digest
from robodyn_ros.engine.tracing import column, solve_symmetric, traced
from robodyn_ros.errors import InputError, check_type
from robodyn_ros.kinematics import so3
from robodyn_ros.kinematics.forward import Kinematics, geometric_jacobian, placed
from robodyn_ros.kinematics.inverse.task import NullSpaceObjective, Task, centred
from robodyn_ros.kinematics.se3 import as_pose, from_pose
from robodyn_ros.kinematics.tree import Tree, geometry
from robodyn_ros.robot import Array, ConfigurationSpace, Link, Pose, position_ranges, random_positions
from robodyn_ros.settings import CheckedSettings, choice, setting, whole

LIMITS, CHOSEN = ("clamp", "avoid", "ignore"), ("first", "nearest")
"""Values of the settings ``limits`` and ``choose``."""


TINY, HUGE = 1e-300, 1e300
"""Range of a setting that is above 0."""


@dataclass(frozen=True)
class InverseSettings(CheckedSettings):
    """Settings of the numerical solver; each field's metadata describe it."""

    position_tolerance: float = setting(1e-7, "greatest distance from the target", "m", TINY, HUGE)
    rotation_tolerance: float = setting(1e-7, "greatest angle from the target", "rad", TINY, HUGE)
    starts: int = whole(100, "greatest number of starts: the given one, then random ones within the limits", 1, 10**9)
    iterations: int = whole(40, "steps at most from one start; ten times as many with a null-space objective", 1, 10**9)
    patience: int = whole(6, "number of steps after which a start ends that has not halved its error E", 1, 10**9)
    damping: float = setting(0.1, "c of λ = c E + floor", "-", 0.0, HUGE)
    floor: float = setting(1e-10, "damping at the target; it keeps free directions regular", "-", TINY, HUGE)
    limits: str = choice("clamp", "clamp at the limits, avoid them by null-space motion too, or ignore", lambda: LIMITS)
    choose: str = choice("first", "the first solution found, or of all the nearest to the start", lambda: CHOSEN)
    settled: float = setting(1e-6, "greatest step that has converged, with an objective", "rad or m", TINY, HUGE)
    seed: int = whole(1, "seed of the random starts; the same seed gives the same solution", 0, 10**18)


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


def reach(tree: Tree, link: Link, lower: Array, upper: Array) -> Reach:
    """Return the ball about the first joint whose radius is the sum of the lengths of all segments.

    Each prismatic one counts at its longest. No point outside is reachable within the limits; a point inside may be.

    Args:
        tree: the arm.
        link: the link.
        lower: position limits (n,) in [rad] or [m], -inf where there is none.
        upper: likewise, inf where there is none.
    """
    chain = tree.chain(link.body)
    if not chain:
        return Reach(link.pose.translation, 0.0)
    radius = float(np.linalg.norm((chain[-1].frame.inverse() @ link.pose).translation))
    for place, node in enumerate(chain):
        offset = node.offset if place else np.zeros(3)
        if node.prismatic:
            limits = np.array([lower[node.body.coordinate], upper[node.body.coordinate]])
            if not np.isfinite(limits).all():
                return Reach(tree.base @ chain[0].offset, np.inf)
            ends = offset + np.outer(node.body.ratio * limits + node.body.offset, node.rotation[:, 2])
            radius += float(np.linalg.norm(ends, axis=1).max())
        else:
            radius += float(np.linalg.norm(offset))
    return Reach(tree.base @ chain[0].offset, radius)


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
        length: mean length of the segments that lead to the link [m].
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
        check_type("kinematics", kinematics, Kinematics, "a Kinematics, which Kinematics(robot) makes")
        self.robot = kinematics.robot
        found = self.robot.link(link)
        if found.body < 0:
            raise InputError("link", f"{link!r} is fixed to the base and cannot move", link)
        self.settings = settings or InverseSettings()
        self._step = build_step(kinematics.tree, found, kinematics.compiled)
        self._space = ConfigurationSpace(self.robot)
        self._kinematics, self._link = kinematics, found
        self._lower, self._upper = self.robot.lower, self.robot.upper
        self._reach = reach(kinematics.tree, found, self._lower, self._upper)
        whole = reach(kinematics.tree, found, *position_ranges(self.robot))
        self.length = whole.radius / len(kinematics.tree.chain(found.body))
        none = np.full(self.robot.n, np.inf)
        self._reach_without_limits = reach(kinematics.tree, found, -none, none)
        self._whole = Task.pose()

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle is made anew, because the step owns memory."""
        return type(self), (self._kinematics, self._link.name, self.settings)

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
            InputError: the target is no pose, the start is not n finite numbers, or the task is no Task.
        """
        matrix, task = as_pose(target), self._whole if task is None else task
        makers = "Task.pose(), position(), planar(), pointing() or along()"
        check(isinstance(task, Task), "task", f"a Task, which {makers} makes", task)
        first = self.robot.middle if start is None else finite_state("start", start, self.robot.n)
        step, settings = self._step, self.settings
        step.position[:], step.rotation[:] = position, rotation = matrix[:3, 3], matrix[:3, :3]
        step.directions[:] = directions = task.directions(rotation)
        step.weights[:] = task.weights
        ball = self._reach_without_limits if settings.limits == "ignore" else self._reach
        excess = ball.excess(position, directions[task.weights[:3] > 0.0])
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
        reason = _reason(outcome, best, tried, excess, ball.radius)
        return InverseSolution(q, best.arrived, outcome, reason, best.position_error, best.rotation_error, steps, tried)

    def _search(
        self, first: Array, settings: InverseSettings, objective: NullSpaceObjective | None
    ) -> tuple[_Attempt, int, int]:
        """The best attempt, and its numbers of starts and steps."""
        step = self._step
        bounded = settings.limits != "ignore"
        step.lower[:], step.upper[:] = (self._lower, self._upper) if bounded else (-np.inf, np.inf)
        unit = self.length if self.length > settings.position_tolerance else 1.0  # an arm that turns on the spot
        step.damping[:] = settings.damping, settings.floor, unit
        if settings.limits == "avoid":
            own, given = centred(self.robot), objective
            objective = own if given is None else lambda q: given(q) + own(q)
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
        yield from random_positions(self.robot, settings.starts - 1, settings.seed)

    def _descend(self, q: Array, settings: InverseSettings, objective: NullSpaceObjective | None) -> _Attempt:
        step = self._step
        evaluate, position, stepped = step.kernel.evaluate, step.q.data, step.stepped.data
        measure = step.measure.data
        near, aligned, patience = settings.position_tolerance, settings.rotation_tolerance, settings.patience
        limit = settings.iterations * (10 if objective else 1)
        last = limit - settings.iterations  # of the steps with the objective: the others lead to the target in any case
        step.q[:] = q
        step.secondary[:] = 0.0
        before, count, arrived = np.inf, 0, False
        while True:
            if objective is not None:
                step.secondary[:] = objective(step.q) if count < last else 0.0
            evaluate()
            arrived = measure[0] <= near and measure[1] <= aligned
            if arrived and (count >= last or abs(step.stepped - step.q).max() <= settings.settled):
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


def _reason(outcome: Outcome, best: _Attempt, tried: int, excess: float, radius: float) -> str:
    closest = f"the closest solution is {best.position_error:.3g} m and {best.rotation_error:.3g} rad away"
    if outcome == "converged":
        return f"converged to {best.position_error:.1e} m and {best.rotation_error:.1e} rad"
    if outcome == "beyond_reach":
        place = f"{excess:.3g} m outside the ball of {radius:.3g} m that the arm can reach"
        return f"beyond reach: it lies {place}; {closest}"
    if outcome == "limits":
        return f"found only outside the position limits; within them {closest}"
    return f"not found from {tried} starts: {closest}"


class DampedStep(NamedTuple):
    """The compiled step and the memory it works on; views into one kernel."""

    kernel: Kernel
    q: Array  # in: position at the start (n,)
    secondary: Array  # in: motion z of the null-space objective (n,)
    position: Array  # in: p* (3,)
    rotation: Array  # in: R* (3, 3)
    directions: Array  # in: rows along which the linear and the angular residual count, (2, 3, 3)
    weights: Array  # in: W (6,)
    damping: Array  # in: c, floor, unit of length [m] (3,)
    lower: Array  # in: (n,)
    upper: Array  # in: (n,)
    stepped: Array  # out: the new position (n,)
    residual: Array  # out: along the directions, at the old position (6,) in [m] and [rad]
    measure: Array  # out: weighted lengths of its linear part [m] and its angular part [rad], and E (3,)


def step_program(tree: Tree, link: Link) -> Program:
    """The function to compile for the step for one link of an arm."""
    n = tree.n
    key = digest(*geometry(tree), link.body, from_pose(link.pose).tolist(), source=__name__)
    inputs, outputs = (("q", n), ("secondary", n)), ((n,), (6,), (3,))
    return Program.of("inverse_step", key, inputs, 39 + 2 * n, outputs, partial(_step_expressions, tree, link))


def build_step(tree: Tree, link: Link, compiled: bool) -> DampedStep:
    """Return the step for one link of an arm."""
    n = tree.n
    parameters = np.zeros(39 + 2 * n)
    cuts = np.split(parameters, np.cumsum([3, 9, 18, 6, 3, n]))
    kernel = Kernel(step_program(tree, link), parameters, compiled=compiled)
    position, rotation, directions, weights, damping, lower, upper = cuts
    turned = rotation.reshape(3, 3), directions.reshape(2, 3, 3)
    (q, secondary), (stepped, residual, measure) = kernel.inputs, kernel.results
    given = q, secondary, position, *turned, weights, damping, lower, upper
    return DampedStep(kernel, *given, stepped, residual, measure)


def _step_expressions(tree: Tree, link: Link, q: ca.SX, secondary: ca.SX, parameters: ca.SX) -> list[ca.SX]:
    n = tree.n
    cuts = [0, *np.cumsum([3, 9, 18, 6, 3, n, n]).tolist()]
    position, rotation, directions, weights, damping, lower, upper = ca.vertsplit(parameters, cuts)
    rotation = ca.reshape(rotation, 3, 3).T
    seen = ca.diagcat(ca.reshape(directions[:9], 3, 3).T, ca.reshape(directions[9:], 3, 3).T)

    where = placed(tree, link, q)
    e = seen @ ca.vertcat(position - where.position, column([so3.rotation_vector(traced(rotation @ where.rotation.T))]))
    J = seen @ geometric_jacobian(where, q)
    W = weights / ca.vertcat(*[damping[2] ** 2] * 3, 1, 1, 1)
    JW = J.T @ ca.diag(W)
    A, g = JW @ J, JW @ e
    held = ca.logic_or(ca.logic_and(q <= lower, g < 0), ca.logic_and(q >= upper, g > 0))
    free = 1 - held
    E = ca.dot(W, e**2) / 2
    slides = {node.body.coordinate for node in tree.nodes if node.prismatic}
    units = ca.vertcat(*(damping[2] if i in slides else 1 for i in range(n)))
    H = (free @ free.T) * A + ca.diag((damping[0] * E + damping[1]) / units**2 * free + held)
    step = free * (solve_symmetric(H, free * (g - A @ (free * secondary))) + secondary)
    counted = ca.if_else(weights > 0, e, 0)
    measure = ca.vertcat(ca.norm_2(counted[:3]), ca.norm_2(counted[3:]), E)
    return [ca.fmin(ca.fmax(q + step, lower), upper), e, measure]
