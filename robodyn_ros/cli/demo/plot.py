# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The picture of the demonstration: response, tracking error and effort of each joint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.cli.demo.figures import RecordedMotion
from robodyn_ros.cli.motion import TOUR, Tour
from robodyn_ros.document.plotting import (
    FAINT,
    LIMIT_LINE,
    POINTS,
    REFERENCE_LINE,
    add_legend,
    finish_joint_figure,
    gather_legend,
    joint_figure,
    law_colours,
    law_panels,
    share_heights,
    thinned,
)
from robodyn_ros.robot import Joint, Robot

FLOOR = 0.01
"""Least error on the logarithmic scale [mm] or [mrad]."""


def draw(path: Path, runs: Mapping[str, RecordedMotion], tour: Tour, robot: Robot, title: str) -> None:
    """Draw response, tracking error and effort of each joint, with a row for every four laws.

    Args:
        path: file of the picture; its ending says the format.
        runs: controller → its run.
        tour: the motion.
        robot: the arm.
        title: title of the picture.
    """
    colours, panels = law_colours(runs), law_panels(runs)
    with joint_figure(path, robot.n * len(panels), foot=1.4) as (figure, grid):
        figure.get_layout_engine().set(hspace=0.06, wspace=0.04)
        for index, joint in enumerate(robot.joints):
            rows = grid[index * len(panels) : (index + 1) * len(panels)]
            for row, laws in zip(rows, panels, strict=True):
                some = {name: runs[name] for name in laws}
                _responses(row[0], joint, index, some, tour, colours)
                _errors(row[1], joint, index, some, colours)
                _efforts(row[2], joint, index, some, colours)
                place = {"xycoords": "axes fraction", "rotation": 90, "ha": "right", "va": "center"}
                row[0].annotate(joint.name, (-0.22, 0.5), weight="bold", fontsize=12, **place)
            share_heights(rows)
        add_legend(figure, *gather_legend(grid[: len(panels), 0]))
        _annotate(figure, grid, tour, title)
    if path.suffix == ".png":
        from PIL import Image

        with Image.open(path) as picture:  # it has few colours; a palette makes the file a third as large
            picture.convert("RGB").quantize(128).save(path, optimize=True)


Runs = Mapping[str, RecordedMotion]
Colours = Mapping[str, str]


def _responses(axes: Any, joint: Joint, index: int, runs: Runs, tour: Tour, colours: Colours) -> None:
    time = np.linspace(0.0, tour.trajectory.duration, POINTS)
    reference = [tour.trajectory.sample(t).q[index] for t in time.tolist()]
    for name, run in runs.items():
        axes.plot(*thinned(run.time, run.q[:, index]), color=colours[name], label=name)
    axes.plot(time, reference, **REFERENCE_LINE, label="reference")
    axes.set_ylabel(f"position [{joint.position_unit}]")


def _errors(axes: Any, joint: Joint, index: int, runs: Runs, colours: Colours) -> None:
    for name, run in runs.items():
        error = np.maximum(1e3 * np.abs(run.error[:, index]), FLOOR)
        axes.semilogy(*thinned(run.time, error), color=colours[name])
    axes.set_ylim(bottom=FLOOR)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel(f"tracking error [m{joint.position_unit}]")


def _efforts(axes: Any, joint: Joint, index: int, runs: Runs, colours: Colours) -> None:
    for name, run in runs.items():
        axes.plot(*thinned(run.command_time, run.effort[:, index]), color=colours[name], linewidth=1.1)
    if np.isfinite(joint.effort):
        for limit in (-joint.effort, joint.effort):
            axes.axhline(limit, **LIMIT_LINE)
        place = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
        axes.annotate("limit", (0.995, joint.effort), color=FAINT, fontsize=8, **place)
        least = min(run.effort[:, index].min() for run in runs.values())
        # A joint that pushes in one direction only needs no room for the other.
        axes.set_ylim((-1.15 if least < -0.3 * joint.effort else -0.2) * joint.effort, 1.15 * joint.effort)
    axes.set_ylabel(f"effort [{joint.effort_unit}]")


def _annotate(figure: Any, grid: Any, tour: Tour, title: str) -> None:
    """Draw the common parts of all panels: poses of the tour, headings and title."""
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
    finish_joint_figure(figure, grid, title, linespacing=1.5)
