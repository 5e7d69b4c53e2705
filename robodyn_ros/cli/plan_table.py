"""The figures of a plan: how close to its limits each joint comes."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

from robodyn_ros.planning.plan import Plan
from robodyn_ros.planning.problem import Problem


def figures(plan: Plan, problem: Problem) -> dict[str, Any]:
    """What a script may want to know."""
    missed = plan.violation
    return {
        "solved": plan.solved,
        "reason": plan.reason,
        "method": plan.method,
        "duration": plan.duration,
        "cost": _number(plan.cost),
        "solve_time": plan.solve_time,
        "points": len(plan.times),
        "dynamics_error": _number(plan.dynamics_error),
        "worst": None if missed is None else {"constraint": missed.constraint, "amount": _number(missed.amount)},
        "joints": dict(zip(plan.joints, _rows(plan, problem), strict=True)),
    }


def table(plan: Plan, problem: Problem) -> Table:
    """The same of each joint, to be read."""
    made = Table(box=None, pad_edge=False)
    made.add_column("Joint")
    for title in ("From", "To", "Greatest\nspeed", "Of its\nlimit", "Greatest\neffort", "Of its\nlimit"):
        made.add_column(title, justify="right")
    for joint, row in zip(problem.dynamics.robot.joints, _rows(plan, problem), strict=True):
        unit, shares = joint.position_unit, (row["speed_share"], row["effort_share"])
        texts = ["-" if share is None else f"{share:.0%}" for share in shares]
        made.add_row(
            joint.name,
            f"{row['start']:.4g} {unit}",
            f"{row['end']:.4g} {unit}",
            f"{row['speed']:.3g} {unit}/s",
            texts[0],
            f"{row['effort']:.4g} {joint.effort_unit}",
            texts[1],
        )
    return made


def _rows(plan: Plan, problem: Problem) -> list[dict[str, float | None]]:
    robot = problem.dynamics.robot
    if not len(plan.times):
        return [{} for _ in plan.joints]
    speed, effort = np.abs(plan.qd).max(axis=0), np.abs(plan.effort).max(axis=0)
    return [
        {
            "start": float(plan.q[0, k]),
            "end": float(plan.q[-1, k]),
            "speed": float(speed[k]),
            "speed_share": _number(float(speed[k] / robot.velocity_limit[k]))
            if robot.velocity_limit[k] < np.inf
            else None,
            "effort": float(effort[k]),
            "effort_share": _number(float(effort[k] / robot.effort_limit[k]))
            if robot.effort_limit[k] < np.inf
            else None,
        }
        for k in range(robot.n)
    ]


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
