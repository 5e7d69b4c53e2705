"""The figures of a plan: how close to its limits each joint comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from robodyn_ros.cli.demo.plot import COLOURS, DPI, FAINT, PLOT_STYLE
from robodyn_ros.planning.plan import Plan
from robodyn_ros.planning.problem import Problem
from robodyn_ros.robot.pose import Array


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


# The picture of ``robodyn plan``: position, velocity and effort, joint by joint, against their limits.

SAMPLES = 600
"""Points of each curve."""


def draw(path: Path, plan: Plan, problem: Problem) -> None:
    """Write the picture.

    Args:
        path: of the image; its ending says of which kind.
        plan: with a motion.
        problem: that it answers.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    robot, limits, trajectory = problem.dynamics.robot, problem.bounds, plan.to_trajectory()
    times = np.linspace(0.0, plan.duration, SAMPLES)
    samples = [*(trajectory.sample(float(t))[:2] for t in times[:-1]), (plan.q[-1], plan.qd[-1])]
    with pyplot.rc_context(PLOT_STYLE):
        size = (13.0, 2.3 * robot.n + 1.2)
        figure, grid = pyplot.subplots(robot.n, 3, figsize=size, sharex=True, squeeze=False, layout="constrained")
        for k, (row, joint) in enumerate(zip(grid, robot.joints, strict=True)):
            q, qd = (np.array([sample[part][k] for sample in samples]) for part in range(2))
            _curve(row[0], times, q, (limits.lower[k], limits.upper[k]), f"position [{joint.position_unit}]")
            velocity = (-limits.velocity[k], limits.velocity[k])
            _curve(row[1], times, qd, velocity, f"velocity [{joint.position_unit}/s]")
            effort = (-limits.effort[k], limits.effort[k])
            _curve(row[2], plan.times, plan.effort[:, k], effort, f"effort [{joint.effort_unit}]")
            row[0].set_title(joint.name, loc="left", weight="bold", fontsize=12)
        for axes in grid[-1]:
            axes.set_xlabel("time [s]")
        figure.align_ylabels()
        figure.suptitle(
            f"{robot.name}: {plan.duration:.3g} s by {plan.method}; dotted: what the plan may use", fontsize=12
        )
        figure.savefig(path, dpi=DPI)
        pyplot.close(figure)


def _curve(axes: Any, times: Array, values: Array, limits: tuple[float, float], label: str) -> None:
    axes.plot(times, values, color=COLOURS[2])
    span = float(np.ptp(values)) or 1.0
    for limit in limits:
        if np.isfinite(limit) and values.min() - span < limit < values.max() + span:
            axes.axhline(limit, color=FAINT, linewidth=1.0, linestyle=(0, (1, 1.5)))
    axes.grid(visible=True, axis="y")
    axes.set_xlim(0.0, times[-1])
    axes.set_ylabel(label)
