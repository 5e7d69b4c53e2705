# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The figure of a plan: each joint against its limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.document.plotting import COLOURS, LIMIT_LINE, finish_joint_figure, joint_figure
from robodyn_ros.planning.plan import Plan
from robodyn_ros.planning.problem import Problem
from robodyn_ros.robot.pose import Array

SAMPLES = 600
"""Points of each curve of the picture."""


def plot_plan(plan: Plan, problem: Problem, path: Path | None = None) -> Any:
    """Draw position, velocity and effort of each joint against their limits, and return the axes, (n, 3).

    Args:
        plan: a plan with a motion.
        problem: the problem that it solves.
        path: file of the picture, whose ending says the format; None for the screen.

    Raises:
        NotReadyError: the plan has no motion.
    """
    robot, limits, trajectory = problem.dynamics.robot, problem.bounds, plan.to_trajectory()
    times = np.linspace(0.0, plan.duration, SAMPLES)
    samples = [*(trajectory.sample(float(t))[:2] for t in times[:-1]), (plan.q[-1], plan.qd[-1])]
    with joint_figure(path, robot.n, foot=1.2) as (figure, grid):
        for k, (row, joint) in enumerate(zip(grid, robot.joints, strict=True)):
            q, qd = (np.array([sample[part][k] for sample in samples]) for part in range(2))
            _curve(row[0], times, q, (limits.lower[k], limits.upper[k]), f"position [{joint.position_unit}]")
            velocity = (-limits.velocity[k], limits.velocity[k])
            _curve(row[1], times, qd, velocity, f"velocity [{joint.position_unit}/s]")
            effort = (-limits.effort[k], limits.effort[k])
            _curve(row[2], plan.times, plan.effort[:, k], effort, f"effort [{joint.effort_unit}]")
            row[0].set_title(joint.name, loc="left", weight="bold", fontsize=12)
        title = f"{robot.name}: {plan.duration:.3g} s by {plan.method}; dotted: limits of the plan"
        finish_joint_figure(figure, grid, title)
    return grid


def _curve(axes: Any, times: Array, values: Array, limits: tuple[float, float], label: str) -> None:
    axes.plot(times, values, color=COLOURS[2])
    span = float(np.ptp(values)) or 1.0
    for limit in limits:
        if np.isfinite(limit) and values.min() - span < limit < values.max() + span:
            axes.axhline(limit, **LIMIT_LINE)
    axes.grid(visible=True, axis="y")
    axes.set_xlim(0.0, times[-1])
    axes.set_ylabel(label)
