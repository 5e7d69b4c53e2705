# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn validate``: compare an arm's equations and motions with MuJoCo's.

Compares M, g, inverse and forward dynamics of an arm with MuJoCo's at random
states, and the native plant with MuJoCo's over random motions under computed
torque, without friction. The exit code is 1 if they differ. MuJoCo must be
installed: pip install mujoco.

Examples:
    robodyn validate arm.urdf                        100 states, 3 motions of 2 s
    robodyn validate arm.urdf --dynamics lagrangian  the other formulation
    robodyn validate arm.urdf --states 1000 --json   for a script
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from functools import partial

from rich.text import Text

from robodyn_ros import create_dynamics
from robodyn_ros.cli.arm import add_arm, read_arm
from robodyn_ros.cli.console import console, picked, print_json, simple_table, tracked
from robodyn_ros.cli.verb import ExitCode, add_option, add_settings
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.plant.mujoco import Comparison, ValidationSettings, mimics, validate

OPTIONS = ("states", "motions", "duration", "step", "seed")
"""Settings of ``ValidationSettings`` that have an option."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    add_option(parser, "--dynamics NAME", "dynamics plugin", "rnea")
    add_settings(parser, ValidationSettings, OPTIONS)
    add_option(parser, "--json", "print JSON instead of a table", bool)


def run(args: Namespace) -> ExitCode:
    """Compare; the answer is no if a difference is above its tolerance."""
    robot = read_arm(args)
    settings = ValidationSettings(**picked(args, *OPTIONS))
    with tracked(description="comparing", total=settings.states + settings.motions) as update:
        found = validate(create_dynamics(args.dynamics, robot), settings, partial(update, advance=1))
    agrees = all(comparison.agrees for comparison in found)
    if args.json:
        comparisons = [{**comparison._asdict(), "agrees": comparison.agrees} for comparison in found]
        print_json({"robot": robot.name, "agrees": agrees, "settings": asdict(settings), "comparisons": comparisons})
    else:
        _show(robot, settings, found, agrees)
    return ExitCode.YES if agrees else ExitCode.NO


def _show(robot: Robot, settings: ValidationSettings, found: list[Comparison], agrees: bool) -> None:
    rows = []
    for each in found:
        verdict = Text("agrees", "green") if each.agrees else Text("differs", "bold red")
        quantity, error, allowed = each
        rows.append((quantity, f"{error:.1e}", f"{allowed:.0e}", verdict))
    out = console()
    out.print(simple_table(("Native beside MuJoCo", "Error", "Allowed", ""), rows, left=(0, 3)))
    summary = f"{settings.states} states: norm of the difference, relative to the greatest norm."
    if following := mimics(robot):
        summary += f" No motions: MuJoCo does not couple {', '.join(following)} rigidly with the joint that it mimics."
    elif settings.motions:
        summary += f" Motions: greatest difference of a joint's position [{robot.position_unit}]."
    out.print(summary)
    outcome = Text("agrees with MuJoCo", "bold green") if agrees else Text("differs from MuJoCo", "bold red")
    out.print(Text.assemble(robot.name, " ", outcome))
