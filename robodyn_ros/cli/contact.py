# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn contact``: propose thresholds of touch and collision from free motion.

Reads a recording of motion in which nothing touches the arm, estimates the
external efforts with the momentum observer, and proposes thresholds that such
motion hardly ever exceeds. Record the planned motions of the arm, for ten
seconds or more. This is not a safety function in the sense of a standard.

Examples:
    robodyn contact arm.urdf free.csv                  thresholds from a table
    robodyn contact arm.urdf bag/ --out c.yaml         and a parameter file
    robodyn contact arm.urdf free.csv --hours 8        for a shift
    robodyn contact arm.urdf free.csv --params a.yaml  for drives that add gravity
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robodyn_ros import create_dynamics
from robodyn_ros.checks import check
from robodyn_ros.cli.arm import add_arm, read_arm
from robodyn_ros.cli.console import check_file, console, print_json, simple_table, write_file
from robodyn_ros.cli.verb import ExitCode, add_option, add_parameters, gather, values_of
from robodyn_ros.control.contact import ProposedThresholds, observe_motion, propose_thresholds
from robodyn_ros.control.drives import CompensationSettings, DriveCompensation
from robodyn_ros.control.laws.base import SMOOTHING
from robodyn_ros.control.loop_settings import loop_default_values, model_parameters
from robodyn_ros.control.momentum_observer import MomentumObserver
from robodyn_ros.errors import InputError
from robodyn_ros.identification.recording import Recording, read_recording
from robodyn_ros.robot import Array, Robot
from robodyn_ros.settings import TOOL
from robodyn_ros.simulation.hardware import DriveModel


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    text = "rosbag2 or table (.csv) of motion in which nothing touches the arm, with positions and efforts"
    parser.add_argument("recording", metavar="RECORDING", help=text)
    add_option(parser, "--tool LINK", "link at which the wrench acts (default: the last that moves)", "")
    add_option(parser, "--gain K", "gain of the observer, as the controller's contact.gain [1/s]", 30.0)
    add_option(parser, "--hours H", "time of motion for the probability of a false alarm [h]", 1.0)
    add_option(parser, "--chance P", "probability of a false alarm within --hours", 0.01)
    add_parameters(parser, "the controller: its model, and what the drives add", "drive_compensates:=[gravity]")
    add_option(parser, "--out FILE", "parameter file of the controller to write (default: none is written)", Path)
    add_option(parser, "--json", "print the figures as JSON", bool)


def run(args: Namespace) -> ExitCode:
    """Observe the motion, and propose."""
    check_file("--out", args.out)
    check(0.1 <= args.gain <= 1000.0, "--gain", "within 0.1 and 1000", args.gain)
    (given,) = gather(args.params, args.given, ("controller",)).values()
    robot = read_arm(args, given)
    with values_of(args, given, loop_default_values(robot)) as values:
        dynamics = create_dynamics("rnea", robot, **model_parameters(values, robot))
        drives = DriveCompensation.of(robot, values.settings(CompensationSettings).drive_compensates)
    if args.tool:
        robot.link(args.tool, "--tool")
    recording = read_recording(args.recording, robot.joint_names)
    t, q = recording.position
    qd, efforts = np.gradient(q, t, axis=0), _efforts(recording, t)
    if recording.commanded is not None:
        efforts = efforts + DriveModel(dynamics, drives).effort(q, qd, SMOOTHING)
    observer = MomentumObserver(dynamics, args.tool or values[TOOL.name], args.gain)
    found = observe_motion(observer, t, q, qd, efforts)
    proposed = propose_thresholds(t, found, args.hours, args.chance)
    parameters = _parameters(robot, proposed, args)
    if args.out is not None:
        write_file("--out", args.out, yaml.safe_dump(parameters, sort_keys=False, allow_unicode=True))
    if args.json:
        print_json({"robot": robot.name, "joints": robot.joint_names, **proposed._asdict()})
    else:
        _show(robot, proposed, args)
    return ExitCode.YES


def _efforts(recording: Recording, t: Array) -> Array:
    """The efforts that acted from each time on, (N, n): those commanded, else those measured."""
    track = recording.commanded or recording.measured
    if track is None:
        raise InputError("recording", f"{recording.name} has no efforts", recording.name)
    return track.values[np.clip(np.searchsorted(track.t, t, side="right") - 1, 0, None)]


def _parameters(robot: Robot, proposed: ProposedThresholds, args: Namespace) -> dict[str, Any]:
    """A parameter file of the controller, as plain data."""
    contact: dict[str, Any] = {"observe": "tool", "gain": args.gain}
    for kind in ("touch", "collision"):
        contact[f"{kind}_wrench"] = [float(f"{value:.3g}") for value in getattr(proposed, f"{kind}_wrench")]
    for name, touch, collision in zip(robot.joint_names, proposed.touch, proposed.collision, strict=True):
        contact[name] = {"touch": float(f"{touch:.3g}"), "collision": float(f"{collision:.3g}")}
    tool = {"tool": args.tool} if args.tool else {}  # an empty one would override that of another file
    return {"/**/controller": {"ros__parameters": {**tool, "contact": contact}}}


def _show(robot: Robot, proposed: ProposedThresholds, args: Namespace) -> None:
    names = [*((joint.name, joint.effort_unit) for joint in robot.joints)]
    names += [("force at the link", "N"), ("torque at the link", "N·m")]
    found = proposed._asdict()
    columns = (np.append(found[kind], found[f"{kind}_wrench"]).tolist() for kind in ("seen", "touch", "collision"))
    rows = [(name, *(f"{v:.3g}" for v in values), unit) for (name, unit), *values in zip(names, *columns, strict=True)]
    out = console()
    out.print(simple_table(("External effort", "Seen", "Touch", "Collision", ""), rows, left=(0, 4)))
    text = f"{proposed.seconds:.3g} s of motion. The probability of a false alarm in {args.hours:g} h of such motions "
    out.print(f"{text}is {100.0 * args.chance:g} %.")
    if args.out is not None:
        out.print(f"{args.out}: parameters of the controller", soft_wrap=True)
