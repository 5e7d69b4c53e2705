"""The picture of ``robodyn plan``: position, velocity and effort, joint by joint, against their limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.cli.demo_plot import COLOURS, DPI, FAINT, PLOT_STYLE
from robodyn_ros.planning.plan import Plan
from robodyn_ros.planning.problem import Problem
from robodyn_ros.robot.pose import Array

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
