"""``robodyn bench``: how fast an arm's dynamics are on this machine."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from robodyn_ros.cli.verb import ExitCode, Verb
from robodyn_ros.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

ROUNDS = 30
"""Runs that a median is taken of, unless told otherwise."""


def add_arguments(parser: ArgumentParser) -> None:
    """See :class:`Verb`."""
    parser.add_argument("urdf", help="the arm's URDF")
    text = "dynamics plugin (default: %(default)s)"
    parser.add_argument("--dynamics", default="rnea", metavar="NAME", help=text)
    text = "runs that a median is taken of (default: %(default)s)"
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=text)
    parser.add_argument("--json", action="store_true", help="figures for a script, in [µs] and [s]")


def run(args: Namespace) -> ExitCode:
    """Measure and show."""
    from robodyn_ros import load_robot
    from robodyn_ros.cli.bench_run import BATCH, measure
    from robodyn_ros.cli.console import console, print_json

    if args.rounds < 1:
        raise InputError("--rounds", "must be at least 1", args.rounds)
    robot = load_robot(args.urdf)
    with console(stderr=True).status(f"Measuring {robot.name}, a few seconds ..."):
        found = measure(robot, args.dynamics, args.rounds)
    if args.json:
        print_json({"robot": robot.name, "joints": robot.n, "dynamics": args.dynamics, **found})
        return ExitCode.YES
    out = console()
    out.print(_calls(f"{robot.name}, {args.dynamics}: one call [µs]", found["calls"]))
    batch, rollout, first = found["batch"], found["rollout"], found["first"]
    out.print(f"\n{BATCH:,} states of inverse dynamics: {_list(batch, lambda time: BATCH / time, ' million/s')}")
    out.print(f"1 s of RK4 at 1 kHz: {_list(rollout, lambda time: time / 1e3, ' ms')}")
    warm, cold = first["warm"], first["cold"]
    out.print(
        f"URDF to first effort: {warm:.2f} s; with nothing compiled yet {cold:.2f} s; import {first['import']:.2f} s"
    )
    return ExitCode.YES


def _list(times: dict[str, float], value: Callable[[float], float], unit: str) -> str:
    """Ours, and the others in brackets."""
    said = [f"{name} {value(time):.3g}{unit}" for name, time in times.items() if name != "ours"]
    return f"{value(times['ours']):.3g}{unit}" + (f" ({', '.join(said)})" if said else "")


def _calls(title: str, calls: dict[str, dict[str, float]]) -> Table:
    from rich.table import Table

    from robodyn_ros.cli.bench_others import OTHERS

    present = [name for name in OTHERS if any(name in times for times in calls.values())]
    columns = [name for name in ("in place", "plain") if name in calls["inverse"]] + present
    table = Table("quantity", title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="right")
    for quantity, times in calls.items():
        table.add_row(quantity, *(f"{times[name]:.3f}" if name in times else "" for name in columns))
    return table


VERB = Verb(
    summary="how fast an arm's dynamics are on this machine",
    description=(
        "Measures the dynamics of an arm on this machine: single calls (in place: in\n"
        "memory of the caller, as a control loop does it; plain: arrays in, array out),\n"
        "many states at once, a rollout, and the time until the first effort. Pinocchio,\n"
        "MuJoCo and the Robotics Toolbox do the same work beside it where they are\n"
        "installed (pip install pin mujoco)."
    ),
    examples=(
        ("robodyn bench arm.urdf", "table"),
        ("robodyn bench arm.urdf --dynamics lagrangian", "the other formulation"),
        ("robodyn bench arm.urdf --json", "for a script"),
    ),
    add_arguments=add_arguments,
    run=run,
)
