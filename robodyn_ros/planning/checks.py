"""What can be seen before anything is solved: ends that no motion can begin or end at."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodyn_ros.kinematics.target import UnreachableError
from robodyn_ros.planning.goals import JointGoal, speed
from robodyn_ros.planning.plan import Violation
from robodyn_ros.planning.problem import Problem
from robodyn_ros.planning.program import rests
from robodyn_ros.robot.pose import Array

ROUNDING = 1e-9
"""By so much an end may pass a limit [rad] or [m]."""


def impossible(problem: Problem) -> tuple[str, Violation] | None:
    """Why the problem has no solution, and the constraint that says so; None if nothing is seen.

    Raises:
        InputError: the problem is wrong in itself.
    """
    try:
        stops = problem.stops
    except UnreachableError as problem_of_it:
        return f"unreachable: {problem_of_it}", Violation("reach of the tool", np.inf, "m")
    return next(_found(problem, stops), None)


def _found(problem: Problem, stops: tuple[Array, ...]) -> Iterator[tuple[str, Violation]]:
    titles = ["start", *(f"via point {k + 1}" for k in range(len(problem.via))), "goal"]
    goals = (*problem.via, problem.goal)
    n = len(stops[0])
    speeds = [problem.first[1], *(speed(goal, n) for goal in goals)]
    fixed = [True, *(isinstance(goal, JointGoal) for goal in goals)]
    limits, names = problem.bounds, problem.joints
    for title, q, qd, known in zip(titles, stops, speeds, fixed, strict=True):
        beyond = np.maximum(limits.lower - q, q - limits.upper)
        if (beyond > ROUNDING).any():
            joint = int(np.argmax(beyond))
            allowed = f"[{limits.lower[joint]:.6g}, {limits.upper[joint]:.6g}]"
            yield _reason(title, f"position limit of {names[joint]!r}", beyond[joint], "[rad] or [m]",
                          f"it is at {q[joint]:.6g}, allowed is {allowed}")  # fmt: skip
        fast = np.nan_to_num(np.abs(qd) - limits.velocity, nan=-1.0)
        if (fast > ROUNDING).any():
            joint = int(np.argmax(fast))
            yield _reason(title, f"velocity limit of {names[joint]!r}", fast[joint], "[rad/s] or [m/s]",
                          f"it is {qd[joint]:.6g}, allowed is {limits.velocity[joint]:.6g}")  # fmt: skip
        if known and problem.clearance is not None:
            distance, pair, _ = problem.clearance.nearest(q)
            if distance < (0.0 if title == "start" else problem.margin):
                constraint, missing = f"distance of {pair.link!r} from {pair.obstacle!r}", problem.margin - distance
                yield _reason(title, constraint, missing, "m", f"in collision, or too close: {distance:.4g} m apart")
    weights = [("start", stops[0])] if not problem.first[1].any() else []
    if isinstance(problem.goal, JointGoal) and rests(problem.goal, n):
        weights.append(("goal", stops[-1]))
    for title, q in weights:
        held = np.abs(problem.model.holding(q))
        excess = held / limits.effort - 1.0
        if (excess > ROUNDING).any():
            joint = int(np.argmax(excess))
            excessive = held[joint] - limits.effort[joint]
            yield _reason(title, f"effort limit of {names[joint]!r}", excessive, "[N·m] or [N]",
                          f"to hold the arm there takes {held[joint]:.4g}, allowed is {limits.effort[joint]:.4g}: "
                          "the arm or its payload is too heavy")  # fmt: skip


def _reason(title: str, constraint: str, amount: float, unit: str, detail: str) -> tuple[str, Violation]:
    return f"{title} violates the {constraint}: {detail}", Violation(f"{title}: {constraint}", float(amount), unit)
