# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn teach``: show the arm a motion by hand, and play it back.

Records a motion that is shown by hand: the running controller changes to a law
under which the arm can be guided, and back at the end. The motion is smoothed,
reduced to few points, slowed down if it exceeds the limits, and written as a
JointTrajectory. With --play the controller follows such a file, under any law,
from any position of the arm. `robodyn simulate --motion` reads it too.

Examples:
    robodyn teach arm.urdf --out wave.json               guide the arm; Enter ends
    robodyn teach arm.urdf --play wave.json --speed 0.5  at half the speed
    robodyn teach arm.urdf --recording run.csv           from a recording
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from robodyn_ros import create_dynamics
from robodyn_ros.cli.arm import add_arm, read_arm
from robodyn_ros.cli.console import check_file, console, make_file, picked, print_json
from robodyn_ros.cli.processes import add_namespace, messages_of, namespace_of, reporting_node
from robodyn_ros.cli.verb import ExitCode, add_gravity, add_option, add_parameters, gather, only_with, values_of
from robodyn_ros.control.motion.trajectory import read_trajectory, write_trajectory
from robodyn_ros.errors import NotReadyError, RobodynError
from robodyn_ros.identification.recording import read_recording
from robodyn_ros.planning.demonstration import DemonstrationSettings, demonstration
from robodyn_ros.robot import Robot


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    add_option(parser, "--out FILE", "JointTrajectory to write, as JSON", Path("taught.json"))
    add_option(parser, "--recording PATH", "rosbag2 or table (.csv) to convert (default: the motion is shown now)")
    text = "motion to play back, under the present law of the controller (default: a motion is recorded)"
    add_option(parser, "--play FILE", text, Path)
    add_option(parser, "--speed FACTOR", "speed of --play, as ratio of the recorded speed", 1.0)
    add_option(parser, "--controller NAME", "law of the controller while the arm is guided by hand", "hand_guiding")
    add_gravity(parser)
    add_namespace(parser)
    add_parameters(parser, "the reduction to few points", "tolerance:=0.005")
    add_option(parser, "--json", "print the figures as JSON", bool)


def run(args: Namespace) -> ExitCode:
    """Record or read a motion and write it, or play one back."""
    robot, shown = read_arm(args), args.recording is None
    namespace = namespace_of(args, shown or args.play is not None, "with a running controller")
    recorded = ("out", "recording", "controller", "gravity", "params", "given")
    only_with(args, args.play is None, "without --play", *recorded)
    only_with(args, shown, "without --recording", "controller")
    only_with(args, args.play is not None, "with --play", "speed")
    if args.play is not None:
        return _play(args, robot, namespace)
    check_file("--out", args.out)
    settings = _settings(args)
    if not shown:
        return _write(args, robot, args.recording, settings)
    with TemporaryDirectory(prefix="robodyn-") as folder:
        recording = Path(folder) / "shown.csv"
        parameters = {"robot_description": robot.urdf, "record": str(recording), "law": args.controller}
        try:
            _follow("teacher", parameters, namespace)
        except RobodynError:  # such as a controller that refuses its former law, after the demonstration
            if recording.exists():
                with suppress(RobodynError):
                    _write(args, robot, str(recording), settings)
            raise
        return _write(args, robot, str(recording), settings)


def _settings(args: Namespace) -> DemonstrationSettings:
    defaults = {item.name: item.default for item in fields(DemonstrationSettings)}
    with values_of(args, gather(args.params, args.given, ("teacher",))["teacher"], defaults) as values:
        return values.settings(DemonstrationSettings)


def _write(args: Namespace, robot: Robot, recording: str, settings: DemonstrationSettings) -> ExitCode:
    """Make a trajectory of a recording, write it, and report."""
    track = read_recording(recording, robot.joint_names).position
    dynamics = create_dynamics("rnea", robot, gravity=args.gravity, viscous=robot.damping, coulomb=robot.friction)
    made = demonstration(dynamics, track.t, track.values, settings)
    motion = made.trajectory
    make_file("--out", args.out, lambda path: write_trajectory(path, motion, robot.joint_names))
    if args.json:
        whole = {"file": args.out, "duration": motion.duration, "points": len(motion.times), "states": made.shown}
        whole["shown_duration"] = made.duration
        print_json(whole | picked(made, "slowed", "distance", "clipped"))
        return ExitCode.YES
    out = console()
    text = f"{args.out}: {motion.duration:.3g} s, {len(motion.times)} points of {made.shown} states"
    out.print(f"{text}\nat most {made.distance:.2g} {robot.position_unit} from the shown motion", soft_wrap=True)
    if made.slowed > 1.0:
        out.print(f"It takes {made.slowed:.2f} times as long as shown ({made.duration:.3g} s): the limits require it.")
    for name in made.clipped:
        out.print(f"{name} was moved beyond its limits; the motion stops there.", soft_wrap=True)
    return ExitCode.YES


def _play(args: Namespace, robot: Robot, namespace: dict[str, str]) -> ExitCode:
    """Play a motion back, and print the greatest distance of the arm from it."""
    read_trajectory(args.play, robot)
    parameters = {"robot_description": robot.urdf, "motion": str(args.play.resolve()), "speed": args.speed}
    last = _follow("replayer", parameters, namespace)
    if args.json:
        print_json(last)
        return ExitCode.YES
    for joint in robot.joints:
        away = last["error"][joint.name]
        console().print(f"  {joint.name}: at most {away:.2g} {joint.position_unit} away", soft_wrap=True)
    return ExitCode.YES


def _follow(node: str, parameters: dict[str, Any], namespace: dict[str, str]) -> dict[str, Any]:
    """Run the teacher or the replayer, show its stages, and return its last message; Enter and Ctrl-C go to the node.

    Raises:
        KeyboardInterrupt: Ctrl-C has come, but not to end a demonstration.
        NotReadyError: the node has failed, or was ended from outside.
    """
    last, out, interrupted = dict[str, Any](), console(stderr=True), False
    out.print("  waiting for the controller", style="cyan")
    with reporting_node(node, parameters, namespace) as process:
        for message in messages_of(process):
            if message is None:
                interrupted = interrupted or last.get("stage") != "recording"
                continue
            last = message
            if last.get("stage") == "recording":
                out.print("Guide the arm by hand now. Enter or Ctrl-C ends it.", style="cyan")
            elif "stage" in last:
                out.print(f"  {last['stage']}", style="cyan")
        if interrupted:
            raise KeyboardInterrupt
    if not last or "stage" in last:
        raise NotReadyError(f"the {node} was ended from outside")
    return last
