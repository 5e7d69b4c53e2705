"""The report of ``robodyn simulate``: how well each joint was controlled, as figures, a table and a picture."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.cli.console import console, print_json, quantity
from robodyn_ros.cli.plotting import (
    COLOURS,
    DPI,
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


@dataclass(frozen=True)
class SimulatedJointFigures:
    """How well a joint was controlled; errors are None where there was no reference."""

    joint: str
    unit: str  # of the errors
    error_rms: float | None
    error_greatest: float | None
    effort_unit: str
    effort_greatest: float
    effort_limit: float | None  # None where there is none


@dataclass(frozen=True)
class SimulatedFigures:
    """The figures of a trial."""

    simulated: float  # [s]
    states: int  # that the control received
    commands: int  # that the hardware received
    joints: tuple[SimulatedJointFigures, ...]
    faults: dict[str, int]  # what → how often


def figures(trial: Trial, robot: Robot) -> SimulatedFigures:
    """Return the figures of a trial."""
    joints = []
    for index, joint in enumerate(robot.joints):
        _, error = tracking_error(trial, index)
        rms, greatest = (np.sqrt(np.mean(error**2)), np.abs(error).max()) if len(error) else (None, None)
        joints.append(
            SimulatedJointFigures(
                joint.name,
                joint.position_unit,
                None if rms is None else float(rms),
                None if greatest is None else float(greatest),
                joint.effort_unit,
                float(np.abs(trial.truth.values["effort"][:, index]).max()),
                joint.effort if np.isfinite(joint.effort) else None,
            )
        )
    return SimulatedFigures(
        float(trial.truth.t[-1]), len(trial.states.t), len(trial.commands.t), tuple(joints), dict(trial.faults)
    )


def report(found: SimulatedFigures, controller: str, seconds: float, args: Namespace) -> None:
    """Print the figures as a table or as JSON.

    Args:
        found: the figures.
        controller: the law's name.
        seconds: time that the simulation took [s].
        args: the command line.
    """
    written = {name: str(path) for name, path in (("out", args.out), ("plot", args.plot)) if path is not None}
    if args.json:
        print_json({"controller": controller, **asdict(found), "seconds": seconds, **written})
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Joint", no_wrap=True)
    for heading in ("RMS error", "Greatest error", "Greatest effort", "Limit"):
        table.add_column(heading, justify="right", no_wrap=True)
    for joint in found.joints:
        errors = (joint.error_rms, joint.error_greatest)
        limit = "none" if joint.effort_limit is None else f"{joint.effort_limit:g} {joint.effort_unit}"
        table.add_row(
            joint.joint,
            *("–" if error is None else quantity(error, joint.unit) for error in errors),
            f"{joint.effort_greatest:.1f} {joint.effort_unit}",
            limit,
        )
    out = console()
    out.print(table)
    pace = f"{found.simulated / seconds:.0f} times real time"
    out.print(f"{found.simulated:g} s under {controller} in {seconds:.2f} s, {pace}.", markup=False)
    for what, count in found.faults.items():
        out.print(f"{count} times {what}", style="red", markup=False)
    for path in written.values():
        out.print(f"Written: {path}", markup=False, soft_wrap=True)


def draw(path: Path, trial: Trial, robot: Robot, title: str) -> None:
    """Draw position, tracking error and effort of each joint.

    Args:
        path: file of the picture; its ending says the format.
        trial: the trial.
        robot: the arm.
        title: title of the picture.
    """
    with joint_figure(robot.n, foot=1.2) as (figure, grid):
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
        figure.savefig(path, dpi=DPI)


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
