"""``robodyn identify``: the arm's real numbers, from recordings of its motion."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from robodyn_ros.cli.arguments import add_gravity
from robodyn_ros.cli.outputs import check_folder
from robodyn_ros.cli.verb import ExitCode, Verb
from robodyn_ros.errors import InputError

TIMES = ("auto", "stamp", "received")
EFFORTS = ("auto", "measured", "commanded")
"""As the library has them, which takes time to import."""


def add_arguments(parser: ArgumentParser) -> None:
    """See :class:`Verb`."""
    text = "a recording: the folder of a rosbag2, a .mcap or .db3 file, or a .csv table"
    parser.add_argument("recordings", nargs="+", metavar="RECORDING", help=text)
    parser.add_argument("--urdf", required=True, metavar="FILE", help="the arm as it is known")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the URDF with the new numbers here")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a report here, .html")
    text = "a recording that is not used but predicted; again for another"
    parser.add_argument("--validate", action="append", default=[], metavar="RECORDING", help=text)
    text = "take the arm as known, and find what this link holds"
    parser.add_argument("--payload", metavar="LINK", help=text)
    _add_sources(parser)
    _add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def _add_sources(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("what is in a bag")
    group.add_argument("--states", default="", metavar="TOPIC", help="the states (default: joint_states, anywhere)")
    text = "the commanded efforts (default: joint_commands or commands, near the states)"
    group.add_argument("--commands", default="", metavar="TOPIC", help=text)
    text = "joints in the order of a Float64MultiArray, separated by commas (default: the arm's)"
    group.add_argument("--command-joints", default="", metavar="NAMES", help=text)
    text = "which time of a message counts (default: the stamp where there is one)"
    group.add_argument("--times", default=TIMES[0], choices=TIMES, help=text)


def _add_settings(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("how it is used")
    text = "which effort counts (default: measured where there is one)"
    group.add_argument("--effort", default=EFFORTS[0], choices=EFFORTS, help=text)
    text = "frequency above which nothing counts (default: where positions are noise)"
    group.add_argument("--cutoff", type=float, metavar="HZ", help=text)
    text = "time by which efforts act later than recorded (default: found from the motion)"
    group.add_argument("--delay", type=float, metavar="SECONDS", help=text)
    text = "period of a motion that repeats, to average over (default: looked for)"
    group.add_argument("--period", type=float, metavar="SECONDS", help=text)
    group.add_argument("--no-average", action="store_true", help="do not average over periods")
    text = "longest time between two messages that belong together"
    group.add_argument("--gap", type=float, metavar="SECONDS", help=text)
    group.add_argument("--stribeck", action="store_true", help="identify static friction as well")
    group.add_argument("--armature", action="store_true", help="identify the inertia of rotors as well")
    add_gravity(group)


def run(args: Namespace) -> ExitCode:
    """Identify, write and report; the answer is no if the URDF predicted as well."""
    _check(args)
    from robodyn_ros.cli.identify_run import identify_arm, identify_payload

    return identify_arm(args) if args.payload is None else identify_payload(args)


def _check(args: Namespace) -> None:
    """Find out now, not after the work, what cannot be written."""
    if args.report is not None and args.report.suffix != ".html":
        raise InputError("--report", f"{str(args.report)!r} must end in .html", args.report)
    for option, path in (("--out", args.out), ("--report", args.report)):
        if path is None:
            continue
        check_folder(option, path)
        if args.payload is not None:
            raise InputError(option, "is for the arm's numbers; --payload prints what it finds", path)
    if args.out is not None and args.out.exists() and args.out.samefile(args.urdf):
        raise InputError("--out", f"{str(args.out)!r} is the URDF itself, which is not written over", args.out)
    if args.report is not None:
        from importlib.util import find_spec

        if find_spec("matplotlib") is None:
            raise InputError("--report", "needs matplotlib: the extra 'plot'", args.report)


VERB = Verb(
    summary="the arm's real numbers, from recordings of its motion",
    description=(
        "Finds the masses, centres of mass, inertias and friction with which the arm's\n"
        "equations of motion explain what was recorded: joint_states and commands in a\n"
        "rosbag2 (SQLite or MCAP) or in a table. What the motion does not show stays as\n"
        "near to the URDF as can be, and nothing becomes physically impossible. The new\n"
        "URDF keeps comments and tags that are unknown here.\n"
        "\n"
        "A column of a table is called time, or joint/position, joint/effort (measured)\n"
        "or joint/command, as `robodyn simulate --out run.csv` writes it.\n"
        "\n"
        "The answer is no if the URDF predicted the efforts as well."
    ),
    examples=(
        ("robodyn identify run --urdf arm.urdf --out new.urdf", "a rosbag2"),
        ("robodyn identify a.mcap b.mcap --urdf arm.urdf", "two of them"),
        ("robodyn identify a.mcap --validate b.mcap --urdf arm.urdf", "predict b"),
        ("robodyn identify a.csv --urdf arm.urdf --report a.html", "report"),
        ("robodyn identify a --urdf arm.urdf --payload hand", "what it holds"),
        ("robodyn identify a --urdf arm.urdf --states /left/joint_states", "of two"),
    ),
    add_arguments=add_arguments,
    run=run,
)
