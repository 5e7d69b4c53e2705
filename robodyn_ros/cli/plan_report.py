"""The report of ``robodyn plan``: how close to its limits each joint comes, as figures, a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from robodyn_ros.cli.plotting import COLOURS, DPI, LIMIT_LINE, finish_joint_figure, joint_figure
from robodyn_ros.planning.plan import Plan
from robodyn_ros.planning.problem import Problem
from robodyn_ros.robot.pose import Array

SAMPLES = 600
"""Points of each curve of the picture."""


def figures(plan: Plan, problem: Problem) -> dict[str, Any]:
    """Return the figures of a plan for JSON."""
    violation = plan.violation
    return {
        "solved": plan.solved,
        "reason": plan.reason,
        "method": plan.method,
        "duration": plan.duration,
        "cost": _number(plan.cost),
        "solve_time": plan.solve_time,
        "points": len(plan.times),
        "dynamics_error": _number(plan.dynamics_error),
        "worst": None
        if violation is None
        else {"constraint": violation.constraint, "amount": _number(violation.amount)},
        "joints": dict(zip(plan.joints, _rows(plan, problem), strict=True)),
    }


def table(plan: Plan, problem: Problem) -> Table:
    """Return a table with a row for each joint."""
    made = Table(box=None, pad_edge=False)
    made.add_column("Joint")
    for title in ("From", "To", "Greatest\nspeed", "Of its\nlimit", "Greatest\neffort", "Of its\nlimit"):
        made.add_column(title, justify="right")
    for joint, row in zip(problem.dynamics.robot.joints, _rows(plan, problem), strict=True):
        unit, ratios = joint.position_unit, (row["speed_share"], row["effort_share"])
        texts = ["-" if ratio is None else f"{ratio:.0%}" for ratio in ratios]
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
            "speed_share": _ratio(speed[k], robot.velocity_limit[k]),
            "effort": float(effort[k]),
            "effort_share": _ratio(effort[k], robot.effort_limit[k]),
        }
        for k in range(robot.n)
    ]


def _ratio(value: float, limit: float) -> float | None:
    """A value over its limit [-], None where there is no limit."""
    return _number(float(value / limit)) if limit < np.inf else None


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


def draw(path: Path, plan: Plan, problem: Problem) -> None:
    """Draw position, velocity and effort of each joint against their limits.

    Args:
        path: file of the picture; its ending says the format.
        plan: a plan with a motion.
        problem: the problem that it solves.
    """
    robot, limits, trajectory = problem.dynamics.robot, problem.bounds, plan.to_trajectory()
    times = np.linspace(0.0, plan.duration, SAMPLES)
    samples = [*(trajectory.sample(float(t))[:2] for t in times[:-1]), (plan.q[-1], plan.qd[-1])]
    with joint_figure(robot.n, foot=1.2) as (figure, grid):
        for k, (row, joint) in enumerate(zip(grid, robot.joints, strict=True)):
            q, qd = (np.array([sample[part][k] for sample in samples]) for part in range(2))
            _curve(row[0], times, q, (limits.lower[k], limits.upper[k]), f"position [{joint.position_unit}]")
            velocity = (-limits.velocity[k], limits.velocity[k])
            _curve(row[1], times, qd, velocity, f"velocity [{joint.position_unit}/s]")
            effort = (-limits.effort[k], limits.effort[k])
            _curve(row[2], plan.times, plan.effort[:, k], effort, f"effort [{joint.effort_unit}]")
            row[0].set_title(joint.name, loc="left", weight="bold", fontsize=12)
        title = f"{robot.name}: {plan.duration:.3g} s by {plan.method}; dotted: what the plan may use"
        finish_joint_figure(figure, grid, title)
        figure.savefig(path, dpi=DPI)


def _curve(axes: Any, times: Array, values: Array, limits: tuple[float, float], label: str) -> None:
    axes.plot(times, values, color=COLOURS[2])
    span = float(np.ptp(values)) or 1.0
    for limit in limits:
        if np.isfinite(limit) and values.min() - span < limit < values.max() + span:
            axes.axhline(limit, **LIMIT_LINE)
    axes.grid(visible=True, axis="y")
    axes.set_xlim(0.0, times[-1])
    axes.set_ylabel(label)
