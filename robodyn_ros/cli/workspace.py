"""``robodyn workspace``: where an arm can go, and what it can do and hold there, as a picture or a point cloud."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robodyn_ros.cli.console import print_json
from robodyn_ros.cli.verb import ExitCode, Verb
from robodyn_ros.errors import InputError

if TYPE_CHECKING:
    from robodyn_ros.kinematics import Kinematics
    from robodyn_ros.kinematics.workspace import Cells

OF = ("manipulability", "payload")
"""What a map can show."""

_LABELS = {"manipulability": "manipulability of the position", "payload": "greatest payload [kg]"}

ENDINGS = (".png", ".svg", ".pdf", ".ply")


def add_arguments(parser: ArgumentParser) -> None:
    """See :class:`Verb`."""
    parser.add_argument("urdf", help="the arm's URDF")
    parser.add_argument("--link", metavar="NAME", help="the tool (default: the last link of the URDF)")
    parser.add_argument("--of", default=OF[0], metavar="WHAT", help=f"{' or '.join(OF)} (default: %(default)s)")
    text = "picture (.png, .svg, .pdf) or point cloud (.ply) to write (default: %(default)s)"
    parser.add_argument("--out", default="workspace.png", metavar="FILE", help=text)
    text = "axes of the picture, across and up (default: %(default)s)"
    parser.add_argument("--plane", default="xz", metavar="AXES", help=text)
    text = "thickness of the slice around the plane that the picture shows [m] (default: everything, seen through)"
    parser.add_argument("--slice", type=float, metavar="LENGTH", help=text)
    parser.add_argument("--cell", type=float, default=0.02, metavar="LENGTH", help="edge of a cell [m] (default: 0.02)")
    text = "number of positions to sample (default: %(default)s)"
    parser.add_argument("--samples", type=int, default=300_000, metavar="N", help=text)
    parser.add_argument("--mass", type=float, metavar="KG", help="payload to ask about: where can the arm hold it?")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(args: Namespace) -> ExitCode:
    """Sample, write, and say what was found; with a mass, the answer is no if it can be held nowhere."""
    from robodyn_ros import load_robot
    from robodyn_ros.kinematics import Kinematics

    out = Path(args.out)
    if out.suffix not in ENDINGS:
        raise InputError("--out", f"{args.out!r} must end in {', '.join(ENDINGS)}", args.out)
    if args.of not in OF:
        raise InputError("--of", f"{args.of!r} is not one of {', '.join(OF)}", args.of)
    if args.samples < 1 or not args.cell > 0.0:
        raise InputError("--samples", "and --cell must be above 0", args.samples)
    robot = load_robot(args.urdf)
    link = args.link or robot.links[-1].name
    of = "payload" if args.mass is not None else args.of
    kinematics = Kinematics(robot)
    found = _payloads(kinematics, link, args) if of == "payload" else _manipulabilities(kinematics, link, args)
    size = len(found.values)
    figures: dict[str, Any] = {"robot": robot.name, "link": link, "of": of, "cell": args.cell, "cells": size}
    if size:
        _write(out, found, args, f"{robot.name}: {of} of {link}", _LABELS[of])
        figures |= {"least": float(found.values.min()), "greatest": float(found.values.max()), "out": str(out)}
    if args.mass is not None:
        share = float((found.values >= args.mass).mean()) if size else 0.0
        figures |= {"mass": args.mass, "share": share}
    _report(figures, args.json)
    return ExitCode.YES if figures.get("share", size) else ExitCode.NO


def _report(figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(figures)
    elif not figures["cells"]:
        print(f"{figures['link']}: the arm cannot hold itself anywhere")
    else:
        count, values = f"{figures['cells']} cells of {figures['cell']:g} m", f"{figures['of']} {figures['least']:.3g}"
        print(f"{figures['out']}: {count}, {values} to {figures['greatest']:.3g}")
        if "mass" in figures:
            print(f"{figures['mass']:g} kg can be held in {figures['share']:.0%} of them")


def _manipulabilities(kinematics: Kinematics, link: str, args: Namespace) -> Cells:
    from robodyn_ros.kinematics.workspace import cells, sample

    samples = sample(kinematics, link, args.samples, rows=_rows(kinematics, link, args.plane))
    return cells(samples.points, samples.manipulability, args.cell)


def _payloads(kinematics: Kinematics, link: str, args: Namespace) -> Cells:
    from robodyn_ros import create_dynamics
    from robodyn_ros.dynamics.holding import holding_map

    dynamics = create_dynamics("rnea", kinematics.robot)
    return holding_map(dynamics, kinematics, link, size=args.cell, count=args.samples).cells


def _rows(kinematics: Kinematics, link: str, plane: str) -> tuple[int, ...]:
    """All three directions, or those of the picture where the arm never leaves a plane."""
    import numpy as np

    from robodyn_ros.kinematics.workspace import random_positions

    linear = kinematics.jacobian(link, random_positions(kinematics.robot, 20))[:, :3]
    moves = np.flatnonzero(np.abs(linear).max(axis=(0, 2)) > 1e-9)
    return tuple(moves.tolist()) or tuple("xyz".index(axis) for axis in plane if axis in "xyz")


def _write(out: Path, found: Cells, args: Namespace, title: str, label: str) -> None:
    """The cloud of all cells, or a picture of the plane: the greatest value behind each point of it."""
    import numpy as np

    from robodyn_ros.kinematics.ply import write_ply
    from robodyn_ros.kinematics.workspace_plot import AXES, plot_map

    try:
        if out.suffix == ".ply":
            write_ply(out, found.centers, found.values)
            return
        third = next((AXES.index(axis) for axis in AXES if axis not in args.plane), 1)
        near = np.abs(found.centers[:, third]) <= (np.inf if args.slice is None else args.slice / 2 + args.cell / 2)
        if not near.any():
            raise InputError("--slice", f"the tool is nowhere within {args.slice:g} m around that plane", args.slice)
        order = np.argsort(found.values[near], kind="stable")  # the greatest is drawn last, over the others
        levels = () if args.mass is None else (args.mass,)
        points, values = found.centers[near][order], found.values[near][order]
        plot_map(out, points, values, plane=args.plane, title=title, label=label, levels=levels, size=args.cell)
    except OSError as cause:
        raise InputError("--out", f"{str(out)!r} cannot be written: {cause.strerror}", out) from cause


VERB = Verb(
    summary="where an arm can go, and what it can do and hold there",
    description=(
        "Draws the workspace of a link: the arm is put into many positions within its\n"
        "limits, and each cell of space gets the best of those that lead there:\n\n"
        "  manipulability  how evenly the tool can move (Yoshikawa); 0 is singular\n"
        "  payload         the greatest mass that the effort limits can hold at rest\n\n"
        "What is drawn is reachable for certain; more samples fill gaps."
    ),
    examples=(
        ("robodyn workspace arm.urdf", "workspace.png, seen along y"),
        ("robodyn workspace arm.urdf --mass 2", "where can it hold 2 kg?"),
        ("robodyn workspace arm.urdf --mass 2 --json", "the answer for a script"),
        ("robodyn workspace arm.urdf --plane xy --slice 0.1", "from above, at height 0"),
        ("robodyn workspace arm.urdf --out cloud.ply", "for a mesh viewer"),
    ),
    add_arguments=add_arguments,
    run=run,
)
