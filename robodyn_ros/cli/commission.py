# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn commission``: switch an arm on for the first time, one joint at a time.

Switches an arm on for the first time: with little effort, one joint at a time,
from the tip to the base. It finds the sign, the scale and the friction of each
joint. Then it raises the gravity compensation in steps from 0 to 100 %. Begin
with the arm at rest without effort: on its stops, hanging, or supported. No
controller may run at the same time. Ctrl-C, a joint that moves too fast or too
far, or missing states end the procedure, and the efforts are ramped down. Keep
the emergency stop in your hand. The exit code is 1 unless everything is right.

Examples:
    robodyn commission arm.urdf                       on the controller's topics
    robodyn commission arm.urdf --params my_arm.yaml  with transmissions
    robodyn commission arm.urdf --report arm.html     report as a page
"""

from __future__ import annotations

import os
import signal
import subprocess
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from robodyn_ros.cli.arm import add_arm, arm_settings, chooses_joints, read_arm
from robodyn_ros.cli.console import check_file, console
from robodyn_ros.cli.processes import messages_of, reporting_node
from robodyn_ros.cli.verb import ExitCode, add_option, add_parameters, gather, values_of
from robodyn_ros.control.commissioning.findings import CommissionerSettings, CommissioningSettings
from robodyn_ros.control.drives import CompensationSettings, TransmissionSettings
from robodyn_ros.dynamics import STANDARD_GRAVITY
from robodyn_ros.errors import NotReadyError
from robodyn_ros.robot import Robot
from robodyn_ros.settings import split_names

LOCKED = "locked_joints."
"""Beginning of the names of parameters with the position of a locked joint."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    add_parameters(parser, "the commissioner, for instance with the transmissions", "push_time:=3")
    add_option(parser, "--joint-states TOPIC", "topic of the arm's states", "joint_states")
    add_option(parser, "--commands TOPIC", "topic of the efforts, std_msgs/Float64MultiArray", "controller/commands")
    text = "topic of the efforts with names, sensor_msgs/JointState"
    add_option(parser, "--joint-commands TOPIC", text, "controller/joint_commands")
    add_option(parser, "--report PATH", "report to write, .md or .html", Path("commissioning.md"))
    text = "do not ask; the positive direction of a joint is then not confirmed"
    add_option(parser, "--yes", text, bool)


def run(args: Namespace) -> ExitCode:
    """Run the procedure; the answer is no unless every joint is right and the arm stands."""
    check_file("--report", args.report, ".md", ".html")
    topics = {"joint_states": args.joint_states, "~/commands": args.commands, "~/joint_commands": args.joint_commands}
    with reporting_node("commissioner", _parameters(args), topics, subprocess.PIPE) as process:
        outcome, interrupted = _follow(process)
        if interrupted and "verdict" not in outcome:
            raise KeyboardInterrupt
    if "verdict" not in outcome:
        raise NotReadyError("the commissioner was ended from outside")
    console().print(f"\n{outcome['verdict']}\nReport: {args.report}", soft_wrap=True)
    if interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.YES if outcome["good"] else ExitCode.NO


SETTINGS = (CommissioningSettings, CommissionerSettings, CompensationSettings)
"""The settings of the node whose names have no prefix."""


def _default_values(robot: Robot) -> dict[str, Any]:
    """Name → default of the node's parameters that a file may give."""
    defaults: dict[str, Any] = {"joints": [], "gravity": list(STANDARD_GRAVITY)}
    groups: list[tuple[str, Any]] = [("", kind) for kind in SETTINGS]
    groups += [(f"transmission.{name}.", TransmissionSettings) for name in robot.joint_names]
    for prefix, kind in groups:
        defaults |= {prefix + item.name: item.default for item in fields(kind)}
    return defaults | {LOCKED + name: 0.0 for name in robot.joint_names}


def _parameters(args: Namespace) -> dict[str, Any]:
    """The parameters of the node, whose settings are checked."""
    (given,) = gather(args.params, args.given, ("commissioner",)).values()
    positions = {name: given[name] for name in given if name.startswith(LOCKED)}
    robot = read_arm(args, positions)  # which takes out those of joints that it locks
    for name in [name for name in given if name.startswith(LOCKED) and name not in positions]:
        del given[name]
    defaults = _default_values(robot)
    with values_of(args, given, defaults) as values:
        for kind in SETTINGS:
            values.settings(kind)
    parameters: dict[str, Any] = {"robot_description": robot.urdf, "accept": list(arm_settings(args).accept)}
    parameters |= {"guided": not args.yes, "report": str(args.report.resolve())}
    parameters |= {name: _of_type(defaults.get(name), value) for name, value in given.items()}
    if isinstance(parameters.get("joints"), list) and chooses_joints(args):
        left = [name for name in parameters["joints"] if name in robot.joint_names]  # in the order of the drives
        parameters["joints"] = split_names(args.joints or "") or left
    return parameters


def _of_type(default: object, value: Any) -> Any:
    """A value as ROS takes it: a whole number is no float there."""
    return float(value) if isinstance(default, float) and type(value) is int else value


def _follow(process: subprocess.Popen[str]) -> tuple[dict[str, Any], bool]:
    """Show the node's messages, and pass on the answers to its questions and Ctrl-C.

    The node writes a line of JSON on stdout for each stage, question and the verdict, and reads the answers on stdin.

    Returns:
        Its last message, and whether Ctrl-C has come.
    """
    out, last, stage, interrupted = console(), dict[str, Any](), "", False
    for message in messages_of(process):
        if message is None:
            console(stderr=True).print("letting go; a moment, please")
            interrupted = True
            continue
        last = message
        if message.get("stage", stage) != stage:
            stage = message["stage"]
            out.print(f"  {stage}", style="cyan")
        if "question" in message:
            interrupted = _answer(process, message["question"]) or interrupted
    return last, interrupted


def _answer(process: subprocess.Popen[str], question: str) -> bool:
    """Ask the user; the end of the input counts as Ctrl-C. Return whether it was Ctrl-C."""
    assert process.stdin is not None
    try:
        answer = input(f"{question} [y/n] ").strip().lower()
    except (EOFError, KeyboardInterrupt) as end:
        process.send_signal(signal.SIGINT)
        return isinstance(end, KeyboardInterrupt)
    with suppress(BrokenPipeError):  # it has ended meanwhile, and its last messages say why
        os.write(process.stdin.fileno(), f"{answer}\n".encode())
    return False
