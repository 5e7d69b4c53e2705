# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn excite``: a motion from which an arm's parameters can be identified.

Finds a periodic motion that excites the inertial and friction parameters of the
arm as well as possible, within the limits of position, velocity and effort in
the URDF and, if asked, within a box. It begins and ends at rest.

The file is a message trajectory_msgs/msg/JointTrajectory: send it to the
controller, or give it to `robodyn simulate --motion`; record, and identify.

Examples:
    robodyn excite arm.urdf --out motion.json        within the URDF's limits
    robodyn excite arm.urdf --floor 0.05             no link below 5 cm
    robodyn excite arm.urdf --period 20 --periods 5  slower, and more often
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from robodyn_ros.cli.arm import add_arm, parse_pose, read_arm
from robodyn_ros.cli.console import check_file, console, make_file, picked, print_json, simple_table, tracked
from robodyn_ros.cli.verb import ExitCode, add_gravity, add_option, add_settings
from robodyn_ros.control.motion.trajectory import write_trajectory
from robodyn_ros.errors import InputError
from robodyn_ros.identification.excitation import Excitation, excite
from robodyn_ros.identification.settings import ExcitationSettings, Workspace
from robodyn_ros.robot import Robot

OPTIONS = ("period", "harmonics", "periods", "velocity_ratio", "effort_ratio", "tries", "seed")
"""Settings of ``ExcitationSettings`` that have an option."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    add_option(parser, "--out FILE", "JointTrajectory to write, as JSON", Path("motion.json"))
    text = "position of the arm before the motion: 0.3,-1,0 or joint=-1 (default: the nearest to 0 within its limits)"
    add_option(parser, "--from POSE", text, dest="start")
    add_option(parser, "--floor Z", "least height of the links' origins in the root link's frame [m]", float)
    text = "box for the links' origins in the root link's frame, least and greatest x y z [m]"
    parser.add_argument("--box", type=float, nargs=6, metavar="M", help=text)
    add_settings(parser, ExcitationSettings, OPTIONS)
    add_gravity(parser)
    add_option(parser, "--json", "print the figures as JSON instead of a table", bool)


def run(args: Namespace) -> ExitCode:
    """Optimise the trajectory, write it and report."""
    check_file("--out", args.out)
    robot = read_arm(args)
    start = robot.home if args.start is None else parse_pose(args.start, robot, robot.home, "--from")
    settings = ExcitationSettings(**picked(args, *OPTIONS))
    columns = TextColumn("searching for a motion, tries"), BarColumn(), MofNCompleteColumn()
    with tracked(*columns, total=args.tries) as update, _box_named(args):
        space, told = _workspace(args), partial(update, advance=1)
        excitation = excite(robot, settings, workspace=space, start=start, gravity=args.gravity, progress=told)
    make_file("--out", args.out, lambda path: write_trajectory(path, excitation.trajectory, robot.joint_names))
    _report(robot, excitation, args)
    return ExitCode.YES


@contextmanager
def _box_named(args: Namespace) -> Iterator[None]:
    """In this context, an error about the space of the arm names the options that limit it."""
    try:
        yield
    except InputError as problem:
        box = " and ".join(f"--{name}" for name in ("box", "floor") if getattr(args, name) is not None)
        if not box or problem.name not in ("workspace", "start") or (problem.name == "start" and args.start):
            raise
        raise InputError(box, problem.problem, problem.value) from problem


def _workspace(args: Namespace) -> Workspace | None:
    """The box that ``--box`` and ``--floor`` leave to the arm."""
    if args.box is None:
        return None if args.floor is None else Workspace(lower=(-inf, -inf, args.floor))
    box = Workspace(tuple(args.box[:3]), tuple(args.box[3:]))
    return box if args.floor is None else replace(box, lower=(*args.box[:2], max(args.box[2], args.floor)))


def _report(robot: Robot, excitation: Excitation, args: Namespace) -> None:
    trajectory = excitation.trajectory
    least, greatest = trajectory.extent()
    speed = trajectory.speed(np.zeros(robot.n))
    if args.json:
        names, columns = ("joint", "least", "greatest", "speed"), (robot.joint_names, least, greatest, speed)
        whole = {"file": args.out, "duration": trajectory.duration, **picked(excitation, "approach", "condition")}
        whole |= {"parameters": excitation.base.rank, "errors_smaller_by": excitation.gain}
        print_json(whole | {"joints": [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]})
        return
    cells = [
        (joint.name, *(f"{value:.3f} {joint.position_unit}" for value in (a, b)), f"{v:.3f} {joint.position_unit}/s")
        for joint, a, b, v in zip(robot.joints, least, greatest, speed, strict=True)
    ]
    out = console()
    out.print(simple_table(("Joint", "Least", "Greatest", "Greatest speed"), cells))
    text = f"{args.out}: {trajectory.duration:.1f} s, {excitation.approach:.1f} s of them to approach its beginning\n"
    text += f"{excitation.base.rank} base parameters, condition {excitation.condition:.1f}, errors "
    text += f"{excitation.gain:.1f} times smaller\nthan with the random motion at the start of the search"
    out.print(text, soft_wrap=True)
