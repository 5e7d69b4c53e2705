"""The picture of the comparison: step, tracking error and effort, joint by joint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.cli.compare_run import Motion, Run
from robodyn_ros.cli.demo_plot import COLOURS, DPI, FAINT, INK, PLOT_STYLE
from robodyn_ros.robot import Joint, Robot

LEAST = 1e-3
"""Least error shown on the logarithmic scale [mm] or [mrad]."""


def draw(path: Path, pairs: Sequence[tuple[Motion, Mapping[str, Run]]], robot: Robot, title: str) -> None:
    """Write the picture.

    Args:
        path: of the image; its ending says of which kind.
        pairs: the step and the trajectory, each with law → run.
        robot: the arm.
        title: what it shows.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    (_, steps), (_, runs) = pairs
    with pyplot.rc_context(PLOT_STYLE):
        size = 13.0, 2.3 * robot.n + 1.4
        figure, grid = pyplot.subplots(robot.n, 3, figsize=size, sharex="col", squeeze=False, layout="constrained")
        for index, (row, joint) in enumerate(zip(grid, robot.joints, strict=True)):
            _response(row[0], joint, index, steps)
            _error(row[1], joint, index, runs)
            _effort(row[2], joint, index, runs)
        for axes, heading in zip(grid[0], ("Step", "Trajectory: error", "Trajectory: effort"), strict=True):
            axes.set_title(heading, weight="bold")
        for axes in grid[-1]:
            axes.set_xlabel("time [s]")
        for axes in grid.flat:
            axes.grid(visible=True, axis="y")
            axes.margins(x=0.0)
        figure.align_ylabels()
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        figure.suptitle(title, fontsize=12, linespacing=1.5)
        figure.savefig(path, dpi=DPI)
        pyplot.close(figure)


def _response(axes: Any, joint: Joint, index: int, runs: Mapping[str, Run]) -> None:
    for rank, (name, run) in enumerate(runs.items()):
        # Laws that differ along a trajectory alone lie on top of each other here: the later the thinner.
        width, colour = 1.3 + 0.55 * (len(runs) - 1 - rank), COLOURS[rank % len(COLOURS)]
        axes.plot(run.t, run.q[:, index], color=colour, linewidth=width, label=name)
    run = next(iter(runs.values()))
    axes.plot(run.t, run.reference[:, index], color=INK, linestyle=(0, (4, 3)), linewidth=1.1, label="reference")
    axes.set_ylabel(f"{joint.name}\nposition [{joint.position_unit}]")


def _error(axes: Any, joint: Joint, index: int, runs: Mapping[str, Run]) -> None:
    for run, colour in zip(runs.values(), COLOURS * len(runs), strict=False):
        axes.semilogy(run.t, np.maximum(1e3 * np.abs(run.error[:, index]), LEAST), color=colour)
    axes.set_ylim(bottom=LEAST)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel(f"tracking error [m{joint.position_unit}]")


def _effort(axes: Any, joint: Joint, index: int, runs: Mapping[str, Run]) -> None:
    for run, colour in zip(runs.values(), COLOURS * len(runs), strict=False):
        axes.plot(run.t, run.effort[:, index], color=colour, linewidth=1.1)
    peak = max(float(np.abs(run.effort[:, index]).max()) for run in runs.values())
    if joint.effort < 3.0 * peak:
        axes.axhline(joint.effort, color=FAINT, linewidth=1.0, linestyle=(0, (1, 1.5)))
    axes.set_ylabel(f"effort [{joint.effort_unit}]")
