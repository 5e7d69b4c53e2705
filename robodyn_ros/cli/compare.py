"""``robodyn compare``: what each control law makes of an arm, the same gains for all."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from robodyn_ros.cli.arguments import names
from robodyn_ros.cli.console import console, print_json
from robodyn_ros.cli.verb import ExitCode, Verb
from robodyn_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from robodyn_ros.cli.compare_run import Motion, Run
    from robodyn_ros.control.base import Controller
    from robodyn_ros.dynamics.base import Dynamics
    from robodyn_ros.robot import Robot

LAWS = "pd,gravity_compensation,computed_torque,impedance,disturbance_observer,adaptive"
"""What is compared unless asked otherwise."""


def add_arguments(parser: ArgumentParser) -> None:
    """See :class:`Verb`."""
    parser.add_argument("urdf", help="the arm's URDF")
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
    """Compare, and say which law follows best."""
    from robodyn_ros import create_dynamics, load_robot
    from robodyn_ros.cli.compare_run import motions, perform
    from robodyn_ros.simulation.mismatch import Mismatch
    from robodyn_ros.simulation.plant import Plant

    if not args.rate > 0.0:
        raise InputError("--rate", f"must be above 0, not {args.rate:g}", args.rate)
    robot = load_robot(args.urdf)
    model = create_dynamics("rnea", robot)
    wrong = Mismatch(mass_scale=args.mass_scale, payload_mass=args.payload, friction_scale=args.friction_scale)
    drawn = wrong.draw(robot, seed=0)
    plant = Plant(create_dynamics("rnea", robot, **drawn.parameters), friction=drawn.friction)
    laws = _laws(args, model)
    pairs = [
        (motion, {name: perform(law, plant, motion, args.rate) for name, law in laws.items()})
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
    from robodyn_ros.control.gains import gains
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
    """In what the arm differs from the model."""
    said = []
    if args.mass_scale != 1.0:
        said.append(f"masses {args.mass_scale:g} times the model's")
    if args.payload > 0.0:
        said.append(f"{args.payload:g} kg that the model does not know")
    if args.friction_scale != 1.0:
        said.append(f"friction {args.friction_scale:g} times the model's")
    return ", ".join(said) or "an arm like its model"


def _show(args: Namespace, pairs: Sequence[tuple[Motion, Mapping[str, Run]]], robot: Robot) -> None:
    from rich.text import Text

    from robodyn_ros.cli.compare_table import table, verdict

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


def _print(args: Namespace, pairs: Sequence[tuple[Motion, Mapping[str, Run]]], robot: Robot) -> None:
    from robodyn_ros.cli.compare_table import report, scores, verdict

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


def _plot(path: Path, pairs: Sequence[tuple[Motion, Mapping[str, Run]]], robot: Robot, title: str) -> None:
    try:
        from robodyn_ros.cli.compare_plot import draw

        draw(path, pairs, robot, title)
    except ImportError as cause:
        raise InputError("--plot", "needs matplotlib: the extra 'plot'", path) from cause
    except (OSError, ValueError) as cause:
        raise InputError("--plot", f"{str(path)!r} cannot be written: {cause}", path) from cause


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
