"""What ``robodyn simulate`` prints: how well each joint was controlled, and what went wrong."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict, dataclass

import numpy as np

from robodyn_ros.cli.console import console, print_json
from robodyn_ros.cli.quantity import quantity
from robodyn_ros.cli.simulate_plot import tracking_error
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.trial import Trial


@dataclass(frozen=True)
class JointFigures:
    """How a joint was controlled; errors are None where there was no reference."""

    joint: str
    unit: str  # of the errors
    error_rms: float | None
    error_greatest: float | None
    effort_unit: str
    effort_greatest: float
    effort_limit: float | None  # None where there is none


@dataclass(frozen=True)
class Figures:
    """How it went."""

    simulated: float  # [s]
    states: int  # that came
    commands: int
    joints: tuple[JointFigures, ...]
    faults: dict[str, int]  # what → how often


def figures(trial: Trial, robot: Robot) -> Figures:
    """The figures of a trial."""
    joints = []
    for index, joint in enumerate(robot.joints):
        _, error = tracking_error(trial, index)
        rms, greatest = (np.sqrt(np.mean(error**2)), np.abs(error).max()) if len(error) else (None, None)
        joints.append(
            JointFigures(
                joint.name,
                joint.position_unit,
                None if rms is None else float(rms),
                None if greatest is None else float(greatest),
                joint.effort_unit,
                float(np.abs(trial.truth.values["effort"][:, index]).max()),
                joint.effort if np.isfinite(joint.effort) else None,
            )
        )
    return Figures(
        float(trial.truth.t[-1]), len(trial.states.t), len(trial.commands.t), tuple(joints), dict(trial.faults)
    )


def report(found: Figures, controller: str, seconds: float, args: Namespace) -> None:
    """Print them.

    Args:
        found: the figures.
        controller: the law's name.
        seconds: how long the simulation took [s].
        args: of the command line.
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
