# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn identify``: the arm's real parameters, from recordings of its motion.

Finds the masses, centres of mass, inertias and friction with which the arm's
equations of motion explain the recorded motion: joint_states and commands in a
rosbag2 (SQLite or MCAP) or in a table. Parameters that the motion does not
excite stay as near to the URDF as possible, and all remain physically possible.
The new URDF keeps comments and unknown tags.

A column of a table is called time, or joint/position, joint/effort (measured)
or joint/command, as `robodyn simulate --out run.csv` writes it.

The exit code is 1 if the new URDF does not predict the efforts better than the
old one.

Examples:
    robodyn identify arm.urdf run --out new.urdf                   a rosbag2
    robodyn identify arm.urdf a.mcap b.mcap                        two bags
    robodyn identify arm.urdf a.mcap --validate b.mcap             predict b
    robodyn identify arm.urdf a.csv --report a.html                report
    robodyn identify arm.urdf a --payload-link hand                its payload
    robodyn identify arm.urdf a --joint-states /left/joint_states  of two
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import BarColumn
from rich.text import Text

from robodyn_ros import create_dynamics
from robodyn_ros.cli import console as terminal
from robodyn_ros.cli.arm import add_arm, locked_joints, read_arm, whole_arm
from robodyn_ros.cli.verb import ExitCode, add_gravity, add_option, add_settings, names, only_with
from robodyn_ros.document.html import html
from robodyn_ros.errors import InputError, need
from robodyn_ros.identification import Identification, IdentificationSettings, identify, report
from robodyn_ros.identification.estimation.identify import with_parameters
from robodyn_ros.identification.estimation.payload import PayloadEstimate, estimate_payload
from robodyn_ros.identification.estimation.result import Prediction
from robodyn_ros.identification.preparation import PreparedSamples, prepare
from robodyn_ros.identification.recording import RecordingSource, read_recording
from robodyn_ros.identification.recording.recording import TIMES, RecordedTrack
from robodyn_ros.identification.samples import RecordedSamples
from robodyn_ros.identification.settings import SignalSettings
from robodyn_ros.robot import Array, Joint, Robot

STILL = 0.01
"""Fraction of its range of motion within which a joint counts as at rest [-]."""

Recordings = Sequence[PreparedSamples]
"""Recordings that are prepared for the identification."""

OPTIONS = ("effort", "cutoff", "gap", "period")
"""Settings of ``SignalSettings`` that have an option."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    text = "a recording: the folder of a rosbag2, a .mcap or .db3 file, or a .csv table"
    parser.add_argument("recordings", nargs="+", metavar="RECORDING", help=text)
    text = "write the URDF with the new numbers here, and beside it all numbers with all digits, as .parameters.csv"
    add_option(parser, "--out FILE", text, Path)
    add_option(parser, "--report FILE", "write a report here, .html", Path)
    text = "a recording that is not used but predicted; repeatable"
    add_option(parser, "--validate RECORDING", text, repeatable=True)
    add_option(parser, "--payload-link LINK", "take the arm as known, and identify the payload of this link")
    _add_sources(parser)
    _add_settings(parser)
    add_option(parser, "--json", "print JSON instead of tables", bool)


def _add_sources(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("content of a bag")
    add_option(group, "--joint-states TOPIC", "the states (default: joint_states, anywhere)", "", dest="states")
    text = "the commanded efforts (default: joint_commands or commands, near the states)"
    add_option(group, "--commands TOPIC", text, "")
    text = "joints in the order of a Float64MultiArray, separated by commas (default: the arm's)"
    add_option(group, "--command-joints NAMES", text, "")
    text = "time of a message: its stamp, or when it was received (default: the stamp if there is one)"
    add_option(group, "--times", text, TIMES[0], choices=TIMES)


def _add_settings(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("processing")
    add_settings(group, SignalSettings, OPTIONS)
    text = "delay between recording and action of an effort (default: found from the motion)"
    add_option(group, "--delay SECONDS", text, float)
    add_option(group, "--no-average", "never average over periods (default: if detected)", bool)
    add_option(group, "--stribeck", "identify static friction as well", bool)
    add_option(group, "--armature", "identify the inertia of rotors as well", bool)
    add_gravity(group)


def run(args: Namespace) -> ExitCode:
    """Identify the arm, or the payload of a link; write and report."""
    _check_outputs(args)
    return identify_arm(args) if args.payload_link is None else identify_payload(args)


def _check_outputs(args: Namespace) -> None:
    """Check the outputs before the work, so that an error does not come after it."""
    terminal.check_file("--out", args.out)
    terminal.check_file("--report", args.report, ".html")
    has_bag = any(Path(path).suffix != ".csv" for path in (*args.recordings, *args.validate))
    only_with(args, has_bag, "with a bag", "states", "commands", "command_joints", "times")
    of_arm = ("out", "report", "validate", "stribeck", "armature")
    only_with(args, args.payload_link is None, "for the arm's numbers, without --payload-link,", *of_arm)
    if args.report is not None:
        need("matplotlib", "the report needs matplotlib", "robodyn_ros[plot]")


def identify_arm(args: Namespace) -> ExitCode:
    """Identify the arm: read and prepare the recordings, identify, write; the answer is no if the URDF was as good."""
    robot = read_arm(args)
    with _progress(args) as tell:
        used, unused = _prepare(args, robot, tell)
        tell("identifying")
        validation = RecordedSamples.joined([one.samples for one in unused]) if unused else None
        samples = RecordedSamples.joined([one.samples for one in used])
        wanted = IdentificationSettings(**terminal.picked(args, "stribeck", "armature"))
        result = identify(robot, samples, wanted, validation=validation, gravity=args.gravity)
        if args.out is not None:
            terminal.write_file("--out", args.out, with_parameters(robot, result.theta, whole_arm(args).urdf))
            terminal.write_file("--out", _numbers(args.out), report.everything(result))
        if args.report is not None:
            tell("drawing")
            terminal.write_file("--report", args.report, html(report.report(result, used, unused)))
    (print_arm if args.json else show_arm)(result, used, unused, args)
    return ExitCode.YES if report.improved(result) else ExitCode.NO


def _numbers(out: Path) -> Path:
    """The file with all numbers, beside the new URDF."""
    return out.with_suffix(".parameters.csv")


def identify_payload(args: Namespace) -> ExitCode:
    """Estimate the payload of a link; the answer is no if its mass is not identified.

    Raises:
        InputError: the link does not exist.
    """
    robot = read_arm(args)
    robot.link(args.payload_link, "--payload-link")
    with _progress(args) as tell:
        used, _ = _prepare(args, robot, tell)
        tell("identifying")
        dynamics: Any = create_dynamics("rnea", robot, gravity=args.gravity)
        found = estimate_payload(dynamics, args.payload_link, RecordedSamples.joined([one.samples for one in used]))
    (print_payload if args.json else show_payload)(found, robot, used)
    return ExitCode.YES if found.identified[0] else ExitCode.NO


def _prepare(args: Namespace, robot: Robot, tell: Callable[[str], None]) -> tuple[Recordings, Recordings]:
    """Read and prepare the recordings to identify from, and those to predict (``--validate``)."""
    order, locked = tuple(names(args.command_joints)) or robot.joint_names, locked_joints(args, robot)
    if missing := [name for name in robot.joint_names if name not in order]:
        raise InputError("--command-joints", f"has no joint {', '.join(missing)}", args.command_joints)
    source = RecordingSource(args.states, args.commands, order, args.times)
    given = terminal.picked(args, *OPTIONS)
    if args.delay is not None:
        given |= {"align": False, "delay": args.delay}
    settings = SignalSettings(average=not args.no_average, **given)

    def read(paths: list[str], settings: SignalSettings) -> list[PreparedSamples]:
        recordings = []
        for path in paths:
            tell(f"reading {path}")
            recordings.append(read_recording(path, robot.joint_names, source))
            _warn_if_still(path, recordings[-1].position)
            for joint in locked:
                _warn_if_moved(path, joint, source)
        tell("preparing")
        return prepare(recordings, robot, settings, gravity=args.gravity)

    used = read(args.recordings, settings)
    # The recordings to predict take the delay of the others; theirs is not estimated.
    known = replace(settings, effort=used[0].effort, align=False, delay=used[0].delay)
    return used, read(args.validate, known)


def _warn_if_still(path: str, positions: RecordedTrack) -> None:
    """Warn if the arm rests for most of a recording, for example because its controller has stopped."""
    t, q = positions.t, positions.values
    away = np.abs(q - q[-1]) > STILL * np.ptp(q, axis=0)
    end = float(t[np.flatnonzero(away.any(axis=1))[-1]] - t[0]) if away.any() else 0.0
    if end < 0.5 * float(t[-1] - t[0]):
        text = f"{path}: the arm rests from t = {end:.3g} s of {t[-1] - t[0]:.3g} s on, as if its controller had "
        text += "stopped there; the log of the controller, or the first line of `robodyn simulate`, has the reason"
        terminal.warn(text)


def _warn_if_moved(path: str, joint: Joint, source: RecordingSource) -> None:
    """Warn if a joint moves that the model has locked."""
    try:
        positions = read_recording(path, (joint.name,), source).position.values
    except InputError:
        return  # it was not recorded
    moved = float(np.ptp(np.unwrap(positions, axis=0)))  # an encoder may jump from π to -π
    if moved > STILL * min(joint.upper - joint.lower, 1.0):
        text = f"{path}: joint {joint.name} moves by {moved:.3g} {joint.position_unit}, but the model has it locked; "
        terminal.warn(f"{text}add it to --joints, or use a motion in which it rests")


@contextmanager
def _progress(args: Namespace) -> Iterator[Callable[[str], None]]:
    """Show the present step on stderr; yields the function to call at each step."""
    steps = len(args.recordings + args.validate) + 3 + (args.report is not None)
    with terminal.tracked(BarColumn(), terminal.TASK, total=steps, completed=-1) as update:
        yield lambda what: update(description=what, advance=1)


def show_arm(result: Identification, used: Recordings, unused: Recordings, args: Namespace) -> None:
    """Print the recordings, the prediction of each joint's effort, and the identified parameters.

    Args:
        result: the identified parameters.
        used: the recordings of the identification.
        unused: the recordings that were predicted.
        args: of the verb.
    """
    out = terminal.console()
    _show_recordings(out, [*used, *unused])
    out.print(terminal.simple_table(*_joints(result)))
    for heading, rows in (report.friction(result), report.changes(result)):
        if rows:
            out.print(terminal.simple_table(heading, rows))
        else:
            out.print(f"{heading[0]}: nothing")
    stated = report.stated_uncertainty(result, used)
    rows = [(one.name, f"{one.default:g} {one.unit}", f"{one.value:.2g} {one.unit}", one.joint) for one in stated]
    out.print(terminal.simple_table(("For the controller", "Default", "Here", "Joint"), rows))
    wanted = report.sought(result)
    text = f"{sum(one.identified for one in wanted)} of {len(wanted)} parameters are identified; this motion excites "
    text += f"{result.rank} of {result.base.rank} base parameters"
    where = "are in the files below" if args.out or args.report else "come with --out or --report"
    out.print(f"{text}; all numbers {where}.")
    out.print(Text(report.verdict(result), "bold green" if report.improved(result) else "bold yellow"))
    for path in (args.out, args.out and _numbers(args.out), args.report):
        if path is not None:
            out.print(f"Written: {path}", soft_wrap=True)


def print_arm(result: Identification, used: Recordings, unused: Recordings, args: Namespace) -> None:
    """Print the result as JSON.

    Args:
        result: the identified parameters.
        used: the recordings of the identification.
        unused: the recordings that were predicted.
        args: of the verb.
    """
    robot, names = result.robot, ("name", "nominal", "value", "standard_error")
    whole: dict[str, Any] = {"robot": robot.name, "joints": robot.joint_names}
    whole |= {"improved": report.improved(result), "verdict": report.verdict(result)}
    whole["uncertainty"] = {one.name: one.value for one in report.stated_uncertainty(result, used)}
    whole |= {"recordings": list(map(_recording, used)), "validated_on": list(map(_recording, unused))}
    whole["errors"] = {name: found and _errors(robot, found) for name, found in result.predictions.items()}
    whole["noise"] = _by_joint(robot, result.noise)
    rows = zip(result.base.text(), result.base_nominal, result.base_values, result.base_errors, strict=True)
    whole["combinations"] = [dict(zip(names, row, strict=True)) for row in rows]
    whole["parameters"] = [asdict(one) for one in result.parameters]
    terminal.print_json(whole | terminal.picked(result, "rank", "condition") | terminal.picked(args, "out", "report"))


def _errors(robot: Robot, found: Prediction) -> dict[str, dict[str, float]]:
    rows = zip(robot.joint_names, found.rms, found.relative, strict=True)
    return {joint: {"rms": rms, "relative": relative} for joint, rms, relative in rows}


def show_payload(found: PayloadEstimate, robot: Robot, used: Recordings) -> None:
    """Print the payload and the effort that it explains.

    Args:
        found: the payload.
        robot: the arm, for names and units.
        used: the recordings.
    """
    out, payload = terminal.console(), found.payload
    _show_recordings(out, used)
    known = [np.where(found.identified[1:4], values, np.nan) for values in (payload.com, found.com_error)]
    com, spread = (", ".join("–" if np.isnan(x) else f"{round(1e3 * x, 1) + 0.0:.1f}" for x in each) for each in known)
    rows = [("Mass", f"{payload.mass:.4g} kg", f"{found.mass_error:.2g} kg")]
    rows.append((f"Centre of mass in {payload.link}", f"({com}) mm", f"({spread}) mm"))
    out.print(terminal.simple_table(("Payload", "Value", "±"), rows))
    errors = zip(robot.joints, found.rms_without.tolist(), found.rms.tolist(), strict=True)
    unexplained = [(joint.name, *(f"{rms:.3g} {joint.effort_unit}" for rms in both)) for joint, *both in errors]
    out.print(terminal.simple_table(("Unexplained effort", "Without", "With the payload"), unexplained))
    if found.reason:
        out.print(f"Not every coordinate of the payload is determined: {found.reason}.")


def print_payload(found: PayloadEstimate, robot: Robot, used: Recordings) -> None:
    """Print the payload as JSON.

    Args:
        found: the payload.
        robot: the arm, for its names.
        used: the recordings.
    """
    errors = {name: _by_joint(robot, getattr(found, name)) for name in ("rms", "rms_without")}
    whole = terminal.picked(found.payload, "link", "mass", "com", "inertia")
    whole |= terminal.picked(found, "mass_error", "com_error", "identified", "reason")
    terminal.print_json(whole | errors | {"recordings": list(map(_recording, used))})


def _show_recordings(out: Any, recordings: Recordings) -> None:
    for one in recordings:
        delay = round(1e3 * one.delay, 1)
        later = f"{abs(delay)} ms {'after' if delay > 0.0 else 'before'} their stamps" if delay else "without delay"
        periods = f", mean of {one.periods} periods" if one.periods else ""
        text = f"{one.name}: {one.used:.1f} s, {len(one.samples)} samples up to {one.cutoff:.1f} Hz{periods}; "
        out.print(f"{text}{one.effort} efforts act {later}.")
        for note in (*one.notes, *(f"{name} stood still" for name in one.still)):
            out.print(f"  {note}", style="yellow")


def _joints(result: Identification) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heading and rows of the table with the quality of each joint's predicted effort."""
    heads = ("URDF", "Now", "Cross-validation", "Validation: URDF", "Now")
    columns = [(head, found) for head, found in zip(heads, result.predictions.values(), strict=True) if found]
    joints = enumerate(result.robot.joint_names)
    rows = [(name, *(report.unexplained(found, k) for _, found in columns)) for k, name in joints]
    return ("Unexplained effort", *(head for head, _ in columns)), rows


def _recording(one: PreparedSamples) -> dict[str, Any]:
    names = ("name", "effort", "cutoff", "delay", "delay_error", "periods", "used", "duration", "still", "notes")
    return terminal.picked(one, *names) | {"samples": len(one.samples)}


def _by_joint(robot: Robot, values: Array) -> dict[str, float]:
    return dict(zip(robot.joint_names, values.tolist(), strict=True))
