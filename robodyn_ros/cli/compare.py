# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn compare``: compare the control laws on an arm.

Simulates a step and a trajectory under each control law, with the same
stiffness and damping for all: error, settling, effort, and a verdict. The arm
may differ from the model of the laws in its masses, its payload and its
friction. A law that fails gets no verdict, and the exit code is then 1.

Examples:
    robodyn compare arm.urdf                               an arm like its model
    robodyn compare arm.urdf --mass-scale 1.1 --payload 1  another arm
    robodyn compare arm.urdf --params gains.yaml           with your own gains
    robodyn compare arm.urdf --plot laws.png               with a picture
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from robodyn_ros.cli.arm import add_arm, read_arm
from robodyn_ros.cli.console import check_outputs, console, make_file, picked, print_json, simple_table
from robodyn_ros.cli.verb import ExitCode, add_option, add_simulated, check_used, gather_simulated, names
from robodyn_ros.control import FileParameters, loop_default_values
from robodyn_ros.document.text import digits, quantity
from robodyn_ros.robot import Joint, Robot
from robodyn_ros.simulation.comparison import LAWS, ComparedMotion, ComparedRun, LawComparison, compare
from robodyn_ros.simulation.plant.mismatch import Mismatch

COLUMNS = {
    "step": ("RMS\nerror", "Steady\nerror", "Settles\nin", "Peak\neffort", "Of its\nlimit"),
    "trajectory": ("RMS\nerror", "Peak\nerror", "Steady\nerror", "Peak\neffort", "Of its\nlimit"),
}
"""Motion → columns of its table."""

ERRORS = {"RMS": "rms_error", "Peak": "peak_error", "Steady": "steady_state_error"}
"""First word of a column → its figure."""

GAINS = ("natural_frequency", "damping_ratio", "integral_rate")
"""The numbers of the command line that give the gains of every joint."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    text = f"control law, or several separated by commas (default: {', '.join(LAWS)})"
    add_option(parser, "--controller NAME", text, ",".join(LAWS))
    for name, default, unit, text in (
        ("natural-frequency", 12.0, "W", "natural frequency of the errors [rad/s]; parameters override it"),
        ("damping-ratio", 1.0, "Z", "damping ratio of the errors [-]; parameters override it"),
        ("integral-rate", 0.0, "R", "rate of the integral action [1/s]; parameters override it"),
        ("rate", 500.0, "HZ", "rate of the control [Hz]"),
    ):
        add_option(parser, f"--{name} {unit}", f"{text} (default: {default:g})", default)
    what = "the nodes: gains and settings of the laws, mismatch of the arm"
    add_simulated(parser, what, "gains.elbow.damping_ratio:=0.7")
    add_option(parser, "--plot FILE", "picture to write, .png, .svg or .pdf", Path)
    add_option(parser, "--json", "print JSON instead of tables", bool)


def run(args: Namespace) -> ExitCode:
    """Have each law do each motion, and report which law follows best; the answer is no if one failed."""
    check_outputs(args.plot)
    robot, mismatch, parameters = _arm_and_parameters(args)
    numbers = picked(args, *GAINS, "rate")
    comparison = compare(robot, names(args.controller), **numbers, mismatch=mismatch, parameters=parameters)
    if args.plot is not None and comparison.runs[0]:
        make_file("--plot", args.plot, comparison.plot)
    if args.json:
        _print(comparison)
    else:
        _show(args, comparison, parameters or {})
    return ExitCode.NO if comparison.failures else ExitCode.YES


def _arm_and_parameters(args: Namespace) -> tuple[Robot, Mismatch, dict[str, Any] | None]:
    """The arm, how it differs from the model, and the controller's parameters.

    The parameters have the three numbers of the command line for joints without gains; they are None if none are given.
    """
    simulator, given = gather_simulated(args).values()
    robot = read_arm(args, simulator, given)
    values = FileParameters(simulator, {})
    with values.located():
        mismatch = values.settings(Mismatch, "mismatch.")
    if not (args.params or args.given):
        return robot, mismatch, None
    mismatches = {f"mismatch.{item.name}" for item in fields(Mismatch)}
    known = {*loop_default_values(robot), *mismatches}
    of_simulator = set(simulator) - set(simulator.places) - set(given) - mismatches
    check_used((set(given) - known) | of_simulator, known, args.given, given.located_names())
    for joint in robot.joint_names:
        for name in GAINS:
            given.setdefault(f"gains.{joint}.{name}", getattr(args, name))
    return robot, mismatch, given


def _show(args: Namespace, comparison: LawComparison, parameters: Mapping[str, Any]) -> None:
    out = console()
    for name, why in comparison.failures.items():
        out.print(f"{name}: {why}", style="bold red", soft_wrap=True)
    joints, numbers = comparison.robot.joint_names, (*GAINS, "stiffness", "damping")
    given = vars(args) | dict.fromkeys(numbers[len(GAINS) :], 0.0)
    gains = {tuple(parameters.get(f"gains.{joint}.{name}", given[name]) for name in numbers) for joint in joints}
    out.print(Text(f"{comparison.robot.name}: {comparison.arm}; {_gains(*gains)}", "bold"))
    for motion, runs in zip(comparison.motions, comparison.runs, strict=True):
        out.print(Text(f"\n{motion.name.capitalize()}, {motion.duration:.1f} s", "bold"))
        out.print(table(motion, runs, comparison.robot))
    out.print(Text(comparison.verdict(), "bold red" if comparison.failures else "bold green"))
    if args.plot is not None and comparison.runs[0]:
        out.print(f"Written: {args.plot}", soft_wrap=True)


def _gains(numbers: Sequence[float], *others: Sequence[float]) -> str:
    frequency, damping, rate, *direct = numbers
    if others or any(direct):
        return "gains of the parameters"
    return f"ω = {frequency:g} rad/s, ζ = {damping:g}" + (f", ρ = {rate:g} 1/s" if rate > 0.0 else "")


def _print(comparison: LawComparison) -> None:
    robot = comparison.robot
    about: dict[str, Any] = {"robot": robot.name, "joints": robot.joint_names, "arm": comparison.arm}
    for motion, runs in zip(comparison.motions, comparison.runs, strict=True):
        about[motion.name] = {name: run.figures(motion) for name, run in runs.items()}
    found = {name: getattr(comparison, name)() for name in ("scores", "settling", "verdict")}
    print_json(about | found | {"failures": comparison.failures})


def table(motion: ComparedMotion, runs: Mapping[str, ComparedRun], robot: Robot) -> Table:
    """Return a table of at most 80 columns, with a row for each law and joint."""
    rows: list[tuple[str | Text, ...]] = []
    for name, run in runs.items():
        figures = run.figures(motion)
        rows.append((Text(name, "bold cyan"),))
        for index, joint in enumerate(robot.joints):
            one = {key: float(values[index]) for key, values in figures.items()} | {"limit": run.effort_limit[index]}
            rows.append((f"  {joint.name}", *(_cell(heading, one, joint) for heading in COLUMNS[motion.name])))
        rows.append(())
    return simple_table(("Controller\n  joint", *COLUMNS[motion.name]), rows)


def _cell(heading: str, figures: Mapping[str, float], joint: Joint) -> str:
    if heading.startswith("Settles"):
        value = figures["settling_time"]
        return f"{value:.2f} s" if np.isfinite(value) else "never"
    if heading.endswith("effort"):
        return f"{digits(figures['peak_effort'])} {joint.effort_unit}"
    if heading.endswith("limit"):
        return f"{figures['peak_effort'] / figures['limit']:.0%}" if 0.0 < figures["limit"] < np.inf else "none"
    return quantity(figures[ERRORS[heading.split()[0]]], joint.position_unit)
