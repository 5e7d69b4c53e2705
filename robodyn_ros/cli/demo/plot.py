"""The picture of the demonstration: response, tracking error and effort, joint by joint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.cli.demo.figures import RecordedMotion
from robodyn_ros.cli.motion import TOUR, Tour
from robodyn_ros.robot import Joint, Robot
from robodyn_ros.robot.pose import Array

COLOURS = ("#D55E00", "#E69F00", "#0072B2", "#009E73", "#CC79A7")
"""Of the controllers, in order. Okabe and Ito, Color Universal Design (2008): the colour-blind can tell them apart."""

INK, FAINT = "#222222", "#8c8c8c"

DPI = 120

POINTS = 1000
"""Of each curve at most: more than the picture has pixels for."""

FLOOR = 0.01
"""Least error shown on the logarithmic scale [mm] or [mrad]."""

PLOT_STYLE = {
    "font.size": 10.0,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def draw(path: Path, runs: Mapping[str, RecordedMotion], tour: Tour, robot: Robot, title: str) -> None:
    """Write the picture.

    Args:
        path: of the image; its ending says of which kind.
        runs: controller → its run.
        tour: the motion.
        robot: the arm.
        title: what it shows.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(PLOT_STYLE):
        figure, grid = pyplot.subplots(
            robot.n, 3, figsize=(13.0, 2.3 * robot.n + 1.4), sharex=True, squeeze=False, layout="constrained"
        )
        figure.get_layout_engine().set(hspace=0.06, wspace=0.04)
        for index, (row, joint) in enumerate(zip(grid, robot.joints, strict=True)):
            _responses(row[0], joint, index, runs, tour)
            _errors(row[1], joint, index, runs)
            _efforts(row[2], joint, index, runs)
            place = {"xycoords": "axes fraction", "rotation": 90, "ha": "right", "va": "center"}
            row[0].annotate(joint.name, (-0.22, 0.5), weight="bold", fontsize=12, **place)
        _frame(figure, grid, tour, title)
        _save(figure, path)
        pyplot.close(figure)


def _responses(axes: Any, joint: Joint, index: int, runs: Mapping[str, RecordedMotion], tour: Tour) -> None:
    time = np.linspace(0.0, tour.trajectory.duration, POINTS)
    reference = [tour.trajectory.sample(t).q[index] for t in time.tolist()]
    for (name, run), colour in zip(runs.items(), COLOURS * len(runs), strict=False):
        axes.plot(*_thinned(run.time, run.q[:, index]), color=colour, label=name)
    axes.plot(time, reference, color=INK, linestyle=(0, (4, 3)), linewidth=1.1, label="reference")
    axes.set_ylabel(f"position [{joint.position_unit}]")


def _errors(axes: Any, joint: Joint, index: int, runs: Mapping[str, RecordedMotion]) -> None:
    for run, colour in zip(runs.values(), COLOURS * len(runs), strict=False):
        error = np.maximum(1e3 * np.abs(run.error[:, index]), FLOOR)
        axes.semilogy(*_thinned(run.time, error), color=colour)
    axes.set_ylim(bottom=FLOOR)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel(f"tracking error [m{joint.position_unit}]")


def _efforts(axes: Any, joint: Joint, index: int, runs: Mapping[str, RecordedMotion]) -> None:
    for run, colour in zip(runs.values(), COLOURS * len(runs), strict=False):
        axes.plot(*_thinned(run.command_time, run.effort[:, index]), color=colour, linewidth=1.1)
    if np.isfinite(joint.effort):
        for limit in (-joint.effort, joint.effort):
            axes.axhline(limit, color=FAINT, linewidth=1.0, linestyle=(0, (1, 1.5)))
        place = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
        axes.annotate("limit", (0.995, joint.effort), color=FAINT, fontsize=8, **place)
        least = min(run.effort[:, index].min() for run in runs.values())
        # A joint that only ever pushes one way needs no room for the other.
        axes.set_ylim((-1.15 if least < -0.3 * joint.effort else -0.2) * joint.effort, 1.15 * joint.effort)
    axes.set_ylabel(f"effort [{joint.effort_unit}]")


def _frame(figure: Any, grid: Any, tour: Tour, title: str) -> None:
    """What the panels share."""
    for axes in grid.flat:
        axes.grid(visible=True, axis="y")
        for arrival in tour.arrivals:
            axes.axvline(arrival, color="#d4d4d4", linewidth=0.6, zorder=0)
        axes.set_xlim(0.0, tour.trajectory.duration)
    for axes, heading in zip(grid[0], ("Response", "Tracking error", "Effort"), strict=True):
        axes.set_title(heading, weight="bold", pad=40.0)
        for name, arrival in zip(TOUR, tour.arrivals, strict=True):
            place = {"xycoords": ("data", "axes fraction"), "rotation": 35, "ha": "left", "va": "bottom"}
            axes.annotate(name, (arrival, 1.01), color=FAINT, fontsize=7.5, **place)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    figure.align_ylabels()
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle(title, fontsize=12, linespacing=1.5)


def _save(figure: Any, path: Path) -> None:
    if path.suffix != ".png":
        figure.savefig(path)
        return
    from PIL import Image

    figure.set_dpi(DPI)
    figure.canvas.draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    # Few colours are in it; a palette makes the file a third as large.
    picture.quantize(128).save(path, optimize=True)


def _thinned(time: Array, values: Array) -> tuple[Array, Array]:
    step = max(1, len(time) // POINTS)
    return time[::step], values[::step]
