# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The figure of a trial: how well each joint was controlled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.document.plotting import (
    COLOURS,
    FAINT,
    LIMIT_LINE,
    REFERENCE_LINE,
    add_legend,
    finish_joint_figure,
    joint_figure,
    thinned,
)
from robodyn_ros.robot import Joint, Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.trial.trial import Trial, TrialSamples

TRUTH = COLOURS[2]

WIDE: dict[str, Any] = {"color": COLOURS[1], "linewidth": 2.6, "alpha": 0.5}
"""Style of measured positions and commanded efforts, which lie behind the true ones."""


def plot_trial(trial: Trial, robot: Robot, title: str, path: Path | None = None) -> Any:
    """Draw position, tracking error and effort of each joint, and return the axes, (n, 3).

    Args:
        trial: the trial.
        robot: the arm.
        title: title of the picture.
        path: file of the picture, whose ending says the format; None for the screen.
    """
    with joint_figure(path, robot.n, foot=1.2) as (figure, grid):
        figure.get_layout_engine().set(hspace=0.06, wspace=0.04)
        for index, (row, joint) in enumerate(zip(grid, robot.joints, strict=True)):
            _position(row[0], trial, joint, index)
            _error_or_velocity(row[1], trial, joint, index)
            _effort(row[2], trial, joint, index)
            row[0].set_title(joint.name, loc="left", weight="bold", fontsize=12)
        for axes in grid.flat:
            axes.grid(visible=True, axis="y")
            axes.set_xlim(0.0, max(trial.truth.t[-1], 1e-9))
        found = {label: line for axes in grid[0] for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        add_legend(figure, found.values(), found)
        finish_joint_figure(figure, grid, title)
    return grid


def tracking_error(trial: Trial, index: int) -> tuple[Array, Array]:
    """Return times [s] and reference minus position of a joint [rad] or [m], at each command with a reference."""
    commands, truth = trial.commands, trial.truth
    reference = commands.values["q"][:, index]
    known = ~np.isnan(reference)
    t = commands.t[known]
    return t, reference[known] - np.interp(t, truth.t, truth.values["q"][:, index])


def _position(axes: Any, trial: Trial, joint: Joint, index: int) -> None:
    states, truth, commands = trial.states, trial.truth, trial.commands
    if len(states.t):
        axes.plot(*_thinned(states, "q", index), **WIDE, label="measured position, commanded effort")
    axes.plot(*_thinned(truth, "q", index), color=TRUTH, label="true")
    if len(commands.t):
        axes.plot(*_thinned(commands, "q", index), **REFERENCE_LINE, label="reference")
    axes.set_ylabel(f"position [{joint.position_unit}]")


def _error_or_velocity(axes: Any, trial: Trial, joint: Joint, index: int) -> None:
    """Draw the tracking error, or the velocity where there is no reference."""
    axes.axhline(0.0, color=FAINT, linewidth=0.8)
    t, error = tracking_error(trial, index)
    if len(t):
        axes.plot(t, 1e3 * error, color=TRUTH)
        axes.set_ylabel(f"reference − position [m{joint.position_unit}]")
    else:
        axes.plot(*_thinned(trial.truth, "qd", index), color=TRUTH)
        axes.set_ylabel(f"velocity [{joint.position_unit}/s]")


def _effort(axes: Any, trial: Trial, joint: Joint, index: int) -> None:
    commands, truth = trial.commands, trial.truth
    if len(commands.t):
        axes.plot(*_thinned(commands, "effort", index), **WIDE)
    axes.plot(*_thinned(truth, "effort", index), color=TRUTH)
    if np.isfinite(joint.effort):
        for limit in (-joint.effort, joint.effort):
            axes.axhline(limit, **LIMIT_LINE)
    axes.set_ylabel(f"effort [{joint.effort_unit}]")


def _thinned(samples: TrialSamples, name: str, index: int) -> tuple[Array, Array]:
    return thinned(samples.t, samples.values[name][:, index])
