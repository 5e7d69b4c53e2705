"""``robodyn compare``: each control law on the same arm, motions and gains."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from robodyn_ros.cli.arm import add_arm, read_arm
from robodyn_ros.cli.console import console, digits, print_json, quantity
from robodyn_ros.cli.plotting import (
    COLOURS,
    DPI,
    LIMIT_LINE,
    REFERENCE_LINE,
    add_legend,
    finish_joint_figure,
    joint_figure,
)
from robodyn_ros.cli.verb import ExitCode, Verb, names
from robodyn_ros.errors import InputError

if TYPE_CHECKING:
    from robodyn_ros.cli.compare_run import ComparedMotion, Run
    from robodyn_ros.control.laws.base import Controller
    from robodyn_ros.dynamics.base import Dynamics
    from robodyn_ros.robot import Joint, Robot
    from robodyn_ros.robot.pose import Array

    Runs = Mapping[str, Run]  # law → its run
    Pairs = Sequence[tuple[ComparedMotion, Runs]]  # the step and the trajectory, each with its runs

LAWS = "pd,gravity_compensation,computed_torque,impedance,disturbance_observer,adaptive"
"""Laws that are compared by default."""

COLUMNS = {
    "step": ("RMS\nerror", "Lasting\nerror", "Settles\nin", "Peak\neffort", "Of its\nlimit"),
    "trajectory": ("RMS\nerror", "Peak\nerror", "Lasting\nerror", "Peak\neffort", "Of its\nlimit"),
}
"""Motion → columns of its table."""

ERRORS = {"RMS": "rms_error", "Peak": "peak_error", "Lasting": "lasting_error"}
"""First word of a column → its figure."""

FLOOR = 1e-3
"""Least error on the logarithmic scale of the picture [mm] or [mrad]."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    text = "the laws, separated by commas (default: %(default)s)"
    parser.add_argument("--controllers", default=LAWS, metavar="NAMES", help=text)
    for name, default, unit, text in (
        ("natural-frequency", 12.0, "W", "natural frequency of the errors [rad/s]"),
        ("damping-ratio", 1.0, "Z", "damping ratio of the errors [-]"),
        ("integral-rate", 0.0, "R", "rate of the integral action [1/s]"),
        ("rate", 500.0, "HZ", "rate of the control [Hz]"),
        ("mass-scale", 1.0, "F", "the arm's masses over the model's [-]"),
        ("payload", 0.0, "KG", "payload that the model does not know, at the last link [kg]"),
        ("friction-scale", 1.0, "F", "the arm's friction over the model's [-]"),
    ):
        parser.add_argument(
            f"--{name}", default=default, type=float, metavar=unit, help=f"{text} (default: {default:g})"
        )
    parser.add_argument("--plot", metavar="FILE", help="picture to write, .png, .svg or .pdf")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def run(args: Namespace) -> ExitCode:
    """Have each law do each motion, and say which law follows best."""
    from robodyn_ros import create_dynamics
    from robodyn_ros.cli.compare_run import motions, run_motion
    from robodyn_ros.simulation.plant.mismatch import Mismatch
    from robodyn_ros.simulation.plant.native import Plant

    if not args.rate > 0.0:
        raise InputError("--rate", f"must be above 0, not {args.rate:g}", args.rate)
    robot = read_arm(args)
    model = create_dynamics("rnea", robot)
    mismatch = Mismatch(mass_scale=args.mass_scale, payload_mass=args.payload, friction_scale=args.friction_scale)
    drawn = mismatch.draw(robot, seed=0)
    plant = Plant(create_dynamics("rnea", robot, **drawn.parameters), friction=drawn.friction)
    laws = _laws(args, model)
    pairs = [
        (motion, {name: run_motion(law, plant, motion, args.rate) for name, law in laws.items()})
        for motion in motions(robot)
    ]
    if args.plot:
        _plot(Path(args.plot), pairs, robot, f"{robot.name}: {_arm(args)}")
    if args.json:
        _print(args, pairs, robot)
    else:
        _show(args, pairs, robot)
    return ExitCode.YES


def _laws(args: Namespace, model: Dynamics) -> dict[str, Controller]:
    """Return the control laws, all with the same gains."""
    from robodyn_ros.control.laws.gains import gains
    from robodyn_ros.plugins import load

    robot = model.robot
    made = {}
    for name in names(args.controllers):
        law = load("controllers", name)
        if not law.follows:
            raise InputError("--controllers", f"{name!r} follows no reference", name)
        chosen = gains(law, model, robot.home, args.natural_frequency, args.damping_ratio, args.integral_rate)
        made[name] = law(model, *chosen)
    if not made:
        raise InputError("--controllers", "names none", args.controllers)
    return made


def _arm(args: Namespace) -> str:
    """Say in what the arm differs from the model."""
    said = []
    if args.mass_scale != 1.0:
        said.append(f"masses {args.mass_scale:g} times the model's")
    if args.payload > 0.0:
        said.append(f"{args.payload:g} kg that the model does not know")
    if args.friction_scale != 1.0:
        said.append(f"friction {args.friction_scale:g} times the model's")
    return ", ".join(said) or "an arm like its model"


def _show(args: Namespace, pairs: Pairs, robot: Robot) -> None:
    out = console()
    gains = f"ω = {args.natural_frequency:g} rad/s, ζ = {args.damping_ratio:g}"
    gains += f", ρ = {args.integral_rate:g} 1/s" if args.integral_rate > 0.0 else ""
    out.print(Text(f"{robot.name}: {_arm(args)}; {gains}", "bold"))
    for motion, runs in pairs:
        out.print(Text(f"\n{motion.name.capitalize()}, {motion.duration:.1f} s", "bold"))
        out.print(table(motion, runs, robot))
    motion, runs = pairs[-1]
    out.print(Text(verdict(motion, runs, robot), "bold green"))
    if args.plot:
        out.print(args.plot)


def _print(args: Namespace, pairs: Pairs, robot: Robot) -> None:
    motion, runs = pairs[-1]
    print_json(
        {
            "robot": robot.name,
            "joints": list(robot.joint_names),
            "arm": _arm(args),
            **{one.name: report(one, some) for one, some in pairs},
            "scores": scores(motion, runs),
            "verdict": verdict(motion, runs, robot),
        }
    )


def table(motion: ComparedMotion, runs: Runs, robot: Robot) -> Table:
    """Return a table of at most 80 columns, with a row for each law and joint."""
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left")
    made.add_column("Controller\n  joint", overflow="fold")
    for heading in COLUMNS[motion.name]:
        made.add_column(heading, justify="right", no_wrap=True)
    for name, run in runs.items():
        figures = run.figures(motion)
        made.add_row(Text(name, "bold cyan"))
        for index, joint in enumerate(robot.joints):
            one = {key: float(values[index]) for key, values in figures.items()}
            cells = [_cell(heading, one, joint) for heading in COLUMNS[motion.name]]
            made.add_row(f"  {joint.name}", *cells, end_section=index == robot.n - 1)
    return made


def _cell(heading: str, figures: Mapping[str, float], joint: Joint) -> str:
    if heading.startswith("Settles"):
        value = figures["settling_time"]
        return f"{value:.2f} s" if np.isfinite(value) else "never"
    if heading.endswith("effort"):
        return f"{digits(figures['peak_effort'])} {joint.effort_unit}"
    if heading.endswith("limit"):
        return f"{figures['peak_effort'] / joint.effort:.0%}" if 0.0 < joint.effort < np.inf else "none"
    return quantity(figures[ERRORS[heading.split()[0]]], joint.position_unit)


def scores(motion: ComparedMotion, runs: Runs) -> dict[str, float]:
    """Return the score of each law, best first.

    A score is the RMS error over the distance that a joint moves, the root mean square over the joints [-].
    """
    found = {
        name: float(np.sqrt(np.mean((run.figures(motion)["rms_error"] / motion.size) ** 2)))
        for name, run in runs.items()
    }
    return dict(sorted(found.items(), key=lambda item: item[1]))


def verdict(motion: ComparedMotion, runs: Runs, robot: Robot) -> str:
    """Say in words which law follows best, and why its error does not vanish."""
    found = scores(motion, runs)
    (best, least), *others = found.items()
    said = f"{best} follows best, with an RMS error of {least:.2%} of the way"
    if others:
        said += "; " + ", ".join(f"{name} makes {score / least:.3g} times as much" for name, score in others)
    lasting = runs[best].figures(motion)["lasting_error"]
    worst = int(np.argmax(lasting / motion.size))
    if lasting[worst] > 1e-3 * motion.size[worst]:
        joint = robot.joints[worst]
        left = quantity(float(lasting[worst]), joint.position_unit)
        said += f". What it leaves, {left} at {joint.name}, is what the model does not know: "
        said += "the right masses would take it away, or an integral (--integral-rate)"
    limited = [name for name, run in runs.items() if (run.saturated > 0.0).any()]
    return f"{said}.{' At an effort limit at times: ' + ', '.join(limited) + '.' if limited else ''}"


def report(motion: ComparedMotion, runs: Runs) -> dict[str, dict[str, list[float | None]]]:
    """Return the figures for JSON: law → figure → a value for each joint, null where there is none."""
    return {name: {key: _plain(values) for key, values in run.figures(motion).items()} for name, run in runs.items()}


def _plain(values: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _plot(path: Path, pairs: Pairs, robot: Robot, title: str) -> None:
    try:
        draw(path, pairs, robot, title)
    except ImportError as cause:
        raise InputError("--plot", "needs matplotlib: the extra 'plot'", path) from cause
    except (OSError, ValueError) as cause:
        raise InputError("--plot", f"{str(path)!r} cannot be written: {cause}", path) from cause


def draw(path: Path, pairs: Pairs, robot: Robot, title: str) -> None:
    """Draw step, tracking error and effort of each joint.

    Args:
        path: file of the picture; its ending says the format.
        pairs: the step and the trajectory, each with law → run.
        robot: the arm.
        title: title of the picture.
    """
    (_, steps), (_, runs) = pairs
    with joint_figure(robot.n, foot=1.4, sharex="col") as (figure, grid):
        for index, (row, joint) in enumerate(zip(grid, robot.joints, strict=True)):
            _response(row[0], joint, index, steps)
            _error(row[1], joint, index, runs)
            _effort(row[2], joint, index, runs)
        for axes, heading in zip(grid[0], ("Step", "Trajectory: error", "Trajectory: effort"), strict=True):
            axes.set_title(heading, weight="bold")
        for axes in grid.flat:
            axes.grid(visible=True, axis="y")
            axes.margins(x=0.0)
        add_legend(figure, *grid[0][0].get_legend_handles_labels())
        finish_joint_figure(figure, grid, title, linespacing=1.5)
        figure.savefig(path, dpi=DPI)


def _response(axes: Any, joint: Joint, index: int, runs: Runs) -> None:
    for rank, (name, run) in enumerate(runs.items()):
        # Laws that differ only along a trajectory have the same curve here, so each is thinner than the one before.
        width, colour = 1.3 + 0.55 * (len(runs) - 1 - rank), COLOURS[rank % len(COLOURS)]
        axes.plot(run.t, run.q[:, index], color=colour, linewidth=width, label=name)
    run = next(iter(runs.values()))
    axes.plot(run.t, run.reference[:, index], **REFERENCE_LINE, label="reference")
    axes.set_ylabel(f"{joint.name}\nposition [{joint.position_unit}]")


def _error(axes: Any, joint: Joint, index: int, runs: Runs) -> None:
    for run, colour in zip(runs.values(), COLOURS * len(runs), strict=False):
        axes.semilogy(run.t, np.maximum(1e3 * np.abs(run.error[:, index]), FLOOR), color=colour)
    axes.set_ylim(bottom=FLOOR)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylabel(f"tracking error [m{joint.position_unit}]")


def _effort(axes: Any, joint: Joint, index: int, runs: Runs) -> None:
    for run, colour in zip(runs.values(), COLOURS * len(runs), strict=False):
        axes.plot(run.t, run.effort[:, index], color=colour, linewidth=1.1)
    peak = max(float(np.abs(run.effort[:, index]).max()) for run in runs.values())
    if joint.effort < 3.0 * peak:
        axes.axhline(joint.effort, **LIMIT_LINE)
    axes.set_ylabel(f"effort [{joint.effort_unit}]")


VERB = Verb(
    summary="compare the control laws on an arm",
    description=(
        "Has each control law do a step and a trajectory, in simulation, with the\n"
        "same stiffness and damping for all: error, settling, effort, and a verdict.\n"
        "The arm may differ from the model that the laws know, in its masses, by a\n"
        "payload, and in its friction."
    ),
    examples=(
        ("robodyn compare arm.urdf", "an arm like its model"),
        ("robodyn compare arm.urdf --mass-scale 1.1 --payload 1", "one that is not"),
        ("robodyn compare arm.urdf --plot laws.png", "with a picture"),
    ),
    add_arguments=add_arguments,
    run=run,
)
