"""The pictures of the report: measured and predicted effort, and what is left, joint by joint."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from robodyn_ros.identification.result import Prediction
from robodyn_ros.robot import Joint, Robot
from robodyn_ros.robot.pose import Array

MEASURED, BEFORE, NOW, FAINT = "#222222", "#D55E00", "#0072B2", "#8c8c8c"
"""Okabe and Ito, Color Universal Design (2008): the colour-blind can tell them apart."""

PLOT_STYLE = {
    "font.size": 9.0,
    "axes.edgecolor": FAINT,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.1,
    "svg.fonttype": "path",
    "svg.hashsalt": "robodyn",
}

POINTS = 1200
"""Of each curve at most: more than the picture has pixels for."""


def efforts(robot: Robot, before: Prediction, now: Prediction) -> bytes:
    """Measured and predicted effort, left, and what the predictions leave of it, right; an SVG.

    Args:
        robot: the arm.
        before: prediction by the arm as its URDF had it.
        now: prediction by the identified arm, of the same samples.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(PLOT_STYLE):
        size = 11.0, 1.7 * robot.n + 0.9
        figure, grid = pyplot.subplots(robot.n, 2, figsize=size, sharex=True, squeeze=False, layout="constrained")
        t, rows = _axis(now)
        for index, (row, joint) in enumerate(zip(grid, robot.joints, strict=True)):
            _panel(row[0], joint, t, _curve(now.samples.effort, rows, index), MEASURED, "measured")
            for found, colour, label in ((before, BEFORE, "URDF"), (now, NOW, "identified")):
                _panel(row[0], joint, t, _curve(found.effort, rows, index), colour, label)
                _panel(row[1], joint, t, _curve(found.residual, rows, index), colour, label)
            row[0].set_ylabel(f"{joint.name} [{joint.effort_unit}]")
            for axes in row:
                _grey(axes, t, now.used[rows[rows >= 0], index], rows)
                axes.grid(visible=True, axis="y")
                axes.margins(x=0.0)
        for axes, heading in zip(grid[0], ("Effort", "Measured minus predicted"), strict=True):
            axes.set_title(heading, weight="bold")
        for axes in grid[-1]:
            axes.set_xlabel("time [s]")
        figure.align_ylabels()
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        made = io.BytesIO()
        figure.savefig(made, format="svg", metadata={"Date": None})
        pyplot.close(figure)
    return made.getvalue()


def _axis(found: Prediction) -> tuple[Array, Any]:
    """Time [s] from 0, motions one after the other, and the rows that are drawn, with -1 where a motion ends."""
    samples = found.samples
    step = max(1, len(samples) // POINTS)
    t, rows, offset = [], [], 0.0
    for motion in np.unique(samples.motions):
        chosen = np.flatnonzero(samples.motions == motion)[::step]
        own = samples.t[chosen] - samples.t[chosen[0]]
        t += [*(offset + own).tolist(), np.nan]
        rows += [*chosen.tolist(), -1]
        offset += float(own[-1])
    return np.array(t[:-1]), np.array(rows[:-1])


def _curve(values: Array, rows: Any, index: int) -> Array:
    curve: Array = values[rows, index].copy()
    curve[rows < 0] = np.nan
    return curve


def _panel(axes: Any, joint: Joint, t: Array, values: Array, colour: str, label: str) -> None:
    axes.plot(t, values, color=colour, label=label, linewidth=1.8 if label == "measured" else 1.0)


def _grey(axes: Any, t: Array, used: Any, rows: Any) -> None:
    """Shade where the joint rests, so that its effort says nothing of the arm."""
    out = np.zeros(len(t), dtype=bool)
    out[rows >= 0] = ~used
    axes.fill_between(t, 0.0, 1.0, where=out, transform=axes.get_xaxis_transform(), color="#f0f0f0", linewidth=0.0)
