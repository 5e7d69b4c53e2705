"""What ``robodyn identify`` does: read, prepare, identify, write."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from robodyn_ros import create_dynamics, load_robot
from robodyn_ros.cli.arguments import names
from robodyn_ros.cli.console import progress_bar
from robodyn_ros.cli.outputs import write_file
from robodyn_ros.cli.verb import ExitCode
from robodyn_ros.errors import InputError
from robodyn_ros.identification.recording import Source
from robodyn_ros.identification.recording_reading import read_recording
from robodyn_ros.identification.signals import Prepared, prepare
from robodyn_ros.identification.signals_samples import RecordedSamples
from robodyn_ros.identification.signals_settings import Preparation
from robodyn_ros.robot import Robot


def identify_arm(args: Namespace) -> ExitCode:
    """The arm's numbers."""
    from robodyn_ros.cli.identify_table import print_arm, show_arm
    from robodyn_ros.identification import IdentificationConfig, identify
    from robodyn_ros.identification.report import html, improved

    robot = load_robot(args.urdf)
    with _progress(args) as at:
        used, unused = _prepared(args, robot, at)
        at("identifying")
        validation = RecordedSamples.joined([one.samples for one in unused]) if unused else None
        result = identify(
            robot,
            RecordedSamples.joined([one.samples for one in used]),
            IdentificationConfig(stribeck=args.stribeck, armature=args.armature),
            validation=validation,
            gravity=args.gravity,
        )
        if args.out is not None:
            write_file("--out", args.out, result.urdf)
        if args.report is not None:
            at("drawing")
            write_file("--report", args.report, html(result, used, unused))
    (print_arm if args.json else show_arm)(result, used, unused, args)
    return ExitCode.YES if improved(result) else ExitCode.NO


def identify_payload(args: Namespace) -> ExitCode:
    """What a link holds."""
    from robodyn_ros.cli.identify_table import print_payload, show_payload
    from robodyn_ros.identification.payload import estimate_payload

    robot = load_robot(args.urdf)
    with _progress(args) as at:
        used, unused = _prepared(args, robot, at)
        if unused:
            raise InputError("--validate", "is for the arm's numbers, not for a payload", args.validate)
        at("identifying")
        dynamics: Any = create_dynamics("rnea", robot, gravity=args.gravity)
        found = estimate_payload(dynamics, args.payload, RecordedSamples.joined([one.samples for one in used]))
    (print_payload if args.json else show_payload)(found, robot, used)
    return ExitCode.YES if found.identified[0] else ExitCode.NO


def _prepared(args: Namespace, robot: Robot, at: Callable[[str], None]) -> tuple[list[Prepared], list[Prepared]]:
    """The recordings to identify from, and those to be predicted."""
    order = tuple(names(args.command_joints))
    source = Source(args.states, args.commands, order, args.times)
    given = {name: value for name in ("cutoff", "gap", "period") if (value := getattr(args, name)) is not None}
    if args.delay is not None:
        given |= {"align": False, "delay": args.delay}
    config = Preparation(effort=args.effort, average=not args.no_average, **given)

    def read(paths: list[str], config: Preparation) -> list[Prepared]:
        recordings = []
        for path in paths:
            at(f"reading {path}")
            recordings.append(read_recording(path, robot.joint_names, source))
        at("preparing")
        return prepare(recordings, robot, config, gravity=args.gravity)

    used = read(args.recordings, config)
    # What is to be predicted is not looked at for the delay of the efforts either.
    known = replace(config, effort=used[0].effort, align=False, delay=used[0].delay)
    return used, read(args.validate, known)


@contextmanager
def _progress(args: Namespace) -> Iterator[Callable[[str], None]]:
    """Show on stderr what is being done."""
    from rich.progress import BarColumn, TextColumn

    steps = len(args.recordings + args.validate) + 3 + (args.report is not None)
    with progress_bar(BarColumn(), TextColumn("{task.description}", markup=False)) as progress:
        task = progress.add_task("", total=steps, completed=-1)

        def at(what: str) -> None:
            progress.update(task, description=what, advance=1)

        yield at
