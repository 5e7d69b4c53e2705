# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn simulate``: an arm under a control law, offline: figures, CSV, MCAP, rosbag2, a picture.

Simulates an arm under a control law without ROS, as fast as the machine allows:
the plant, drives and sensors of the simulator node and the control loop of the
controller node, with the same parameters, from the same files. The command to
each state is computed when the state arrives.

The exit code is 1 if the arm or its control failed.

Examples:
    robodyn simulate arm.urdf --duration 5 --out run.csv        stay for 5 s
    robodyn simulate arm.urdf --to 0.3,-1,0 --plot run.png      go there
    robodyn simulate arm.urdf --motion motion.json              a JointTrajectory
    robodyn simulate arm.urdf --params arm.yaml --out run.mcap  for Foxglove
    robodyn simulate arm.urdf --controller none --out run       passive; rosbag2
    robodyn simulate arm.urdf -p command_delay:=0.004           with slow drives
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from math import isfinite, isnan
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from robodyn_ros.checks import check
from robodyn_ros.cli import console as terminal
from robodyn_ros.cli.arm import DURATION, POSES, TOUR, TOUR_JOINTS, add_arm, read_arm, requested_trajectory
from robodyn_ros.cli.verb import ExitCode, add_option, add_simulated, check_used, gather_simulated, only_with
from robodyn_ros.control import ControlLoop, loop_default_values
from robodyn_ros.control.motion.trajectory import Trajectory, joint_order, read_trajectory
from robodyn_ros.control.parameter_file import LoadedParameters
from robodyn_ros.document.text import digits, quantity
from robodyn_ros.errors import InputError, LimitError, signals_deferred
from robodyn_ros.planning.plan import Plan
from robodyn_ros.plugins import available
from robodyn_ros.robot import Array, Robot
from robodyn_ros.simulation import PlantBase, run_trial
from robodyn_ros.simulation import trial_files as files
from robodyn_ros.simulation.hardware import Hardware, default_values
from robodyn_ros.simulation.trial import Trial, figures, simulated, trial_stop
from robodyn_ros.tasks import make_loop, make_simulated

PASSIVE = "none"
"""Name in place of a control law: no commands, no brakes."""

LONGEST = 1e6
"""Greatest duration [s]."""

ENDINGS = {".csv": "csv", ".mcap": "mcap", "": "rosbag2"}
"""Ending of the recording's file → format."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    text = f"control law, one of {', '.join((*available('controllers'), PASSIVE))} (default: computed_torque)"
    add_option(parser, "--controller NAME", text)
    text = f"duration of the simulation [s] (default: {DURATION:g}, or what the motion takes)"
    add_option(parser, "--duration SECONDS", text, float)
    motion = parser.add_mutually_exclusive_group()
    text = "pose to go to and rest at: 0.3,-1,0, joint=-1,joint=0.2 or a pose's name; repeatable (default: stay)"
    add_option(motion, "--to POSE", text, repeatable=True)
    add_option(motion, "--tour", "the motion of `robodyn demo`, for the PRR arm", bool)
    add_option(motion, "--motion FILE", "follow a JointTrajectory, JSON or YAML, or a plan, from where it begins", Path)
    add_simulated(parser, "the nodes simulator and controller", "seed:=3 or controller:dynamics:=lagrangian")
    text = "write the recording here: .csv, .mcap, or a folder without ending for a rosbag2"
    add_option(parser, "--out PATH", text, Path)
    formats = sorted(ENDINGS.values())
    add_option(parser, "--format", "format of --out (default: by the ending)", choices=formats)
    add_option(parser, "--plot FILE", "picture of the motion to write: .png, .svg or .pdf", Path)
    add_option(parser, "--json", "print the figures as JSON instead of a table", bool)


def run(args: Namespace) -> ExitCode:
    """Simulate, write, draw and report; the answer is no if the arm or its control failed."""
    write = _writer(args)
    terminal.check_outputs(args.plot, args.out)
    given = gather_simulated(args)
    robot = read_arm(args, *given.values())
    trial, seconds = _simulate(args, robot, given)
    if write is not None:
        terminal.make_file("--out", args.out, lambda path: write(path, trial, robot))
    name, found = args.controller, _figures(trial, robot)
    if args.plot is not None:
        title = f"{robot.name} under {name}" if name != PASSIVE else f"{robot.name}, passive"
        title += f", {found['stopped'].partition(': ')[0]}" if found["stopped"] else ""
        terminal.make_file("--plot", args.plot, partial(files.plot_trial, trial, robot, title))
    _report(found, name, seconds, args)
    return ExitCode.NO if trial.faults else ExitCode.YES


def _writer(args: Namespace) -> Callable[[Path, Trial, Robot], None] | None:
    """The function that writes the recording, if one is wanted; an error before the simulation if it cannot."""
    only_with(args, args.out, "with --out", "format")
    if args.out is None:
        return None
    name = args.format or ENDINGS.get(args.out.suffix)
    if name is None:
        raise InputError("--out", f"must end in .csv or .mcap or have no ending, unless --format is given: {args.out}")
    if name != "csv":
        files.check(args.out, name)
    return {"csv": files.write_csv, "mcap": files.write_mcap}.get(name, files.write_rosbag2)


def _simulate(args: Namespace, robot: Robot, given: dict[str, LoadedParameters]) -> tuple[Trial, float]:
    """Build hardware and control loop, give the loop its trajectory, and run: the trial, and the time it took [s]."""
    simulator, controller = given.values()
    motion = None if args.motion is None else _read_motion(args.motion, robot)
    start: Iterable[float] = ()  # where the motion begins, the arm is
    if args.tour and robot.joint_names == TOUR_JOINTS:
        start = POSES[TOUR[0]]
    elif motion is not None and motion.times[0] == 0.0:
        start = motion.positions[0].tolist()
    for name, position in zip(robot.joint_names, start, strict=False):
        simulator.setdefault(f"initial_position.{name}", position)
    args.controller = args.controller or controller.get("controller", "computed_torque")
    passive = args.controller == PASSIVE
    loop = None
    with terminal.preparing(f"preparing {robot.name}"):
        if not passive:
            loop, unused_by_loop = make_loop(controller | {"controller": args.controller}, robot)
        hardware, unused = make_simulated(simulator | {"brake": False} if passive else simulator, robot)
    speed = hardware.plant.velocity_limit if loop is None else loop.settings.limits.velocity
    trajectory, duration = _motion(args, hardware.plant, motion, speed)
    if loop is not None:
        unused = (unused - set(controller)) | (unused_by_loop - set(simulator)) | (unused & unused_by_loop)
        _start(loop, hardware, trajectory, args.duration is not None and bool(args.to))
    else:
        unused |= set(controller) - set(simulator) - set(controller.places) - {"controller"}
    places = simulator.located_names() | controller.located_names()
    check_used(unused, {*default_values(robot), *loop_default_values(robot)}, args.given, places)
    begun = perf_counter()
    return _run_trial(hardware, loop, duration), perf_counter() - begun


def _motion(
    args: Namespace, plant: PlantBase, motion: Trajectory | None, speed: Array
) -> tuple[Trajectory | None, float]:
    """The motion that the options ask for, if any, within a speed (n,), and the duration of the trial [s]."""
    duration = args.duration
    if args.controller == PASSIVE and (args.to or args.tour or args.motion):
        raise InputError("--controller", "must be a control law if the arm is to move", PASSIVE)
    is_allowed = duration is None or 0.0 < duration <= LONGEST
    check(is_allowed, "--duration", f"above 0 s, and {LONGEST:g} s at most", duration)
    trajectory = motion or requested_trajectory(args.to, args.tour, duration, plant.dynamics.robot, plant.q, speed)
    if duration is None:
        duration = trajectory.duration if trajectory is not None else DURATION
    return trajectory, duration


def _read_motion(path: Path, robot: Robot) -> Trajectory:
    """The motion of a file: the plan that `robodyn plan --out` wrote, or a trajectory."""
    try:
        plan = Plan.load(path)
    except InputError as problem:
        if '"joints"' in str(problem.value):  # it begins as a plan does, and has something wrong or lacks it
            raise
        return read_trajectory(path, robot)
    order = joint_order(path, plan.joints, robot)
    columns = {name: getattr(plan, name)[:, order] for name in ("q", "qd", "qdd", "effort")}
    return replace(plan, **columns).to_trajectory()


def _start(loop: ControlLoop, hardware: Hardware, trajectory: Trajectory | None, timed: bool) -> None:
    """Start the loop where the arm is, and give it a trajectory; ``timed``: it takes the time of ``--duration``."""
    loop.start(0.0, hardware.plant.q)
    if trajectory is None:
        return
    try:
        goal = loop.follow(trajectory, 0.0)
    except LimitError as problem:
        if not timed or problem.quantity != "speed":
            raise
        raise InputError("--duration", f"is too short for this motion: {problem}", trajectory.duration) from problem
    if goal.overload:
        terminal.warn(goal.overload)


def _run_trial(hardware: Hardware, loop: ControlLoop | None, duration: float) -> Trial:
    """Run the trial, and show its progress on stderr."""
    columns = (BarColumn(), TextColumn("{task.completed:.1f} of {task.total:g} s"), TimeRemainingColumn())
    with terminal.tracked(*columns, total=duration) as update, signals_deferred() as came:

        def show(time: float) -> None:
            update(completed=time)
            if came:
                raise KeyboardInterrupt

        return run_trial(hardware, loop, duration, show)


def _figures(trial: Trial, robot: Robot) -> dict[str, Any]:
    """The figures of a trial; an error is NaN without a reference, and an effort limit infinite where there is none."""
    found, joints = figures(trial), []
    columns = (found[name].tolist() for name in ("rms_error", "peak_error", "peak_effort"))
    for joint, rms, peak, effort, limit in zip(robot.joints, *columns, trial.effort_limit.tolist(), strict=True):
        errors = {"unit": joint.position_unit, "error_rms": rms, "error_greatest": peak}
        efforts = {"effort_unit": joint.effort_unit, "effort_greatest": effort, "effort_limit": limit}
        joints.append({"joint": joint.name, **errors, **efforts})
    return {
        "simulated": float(trial.truth.t[-1]),  # [s]
        "states": len(trial.states.t),  # that the control received
        "commands": len(trial.commands.t),  # that the hardware received
        "joints": joints,
        "faults": dict(trial.faults),  # fault → number of times
        "stopped": trial_stop(trial, robot),  # when and why the control stopped first, "" if it did not
    }


def _report(found: dict[str, Any], controller: str, seconds: float, args: Namespace) -> None:
    """Print the figures as a table or as JSON.

    Args:
        found: the figures.
        controller: the law's name.
        seconds: time that the simulation took [s].
        args: the command line.
    """
    written = {name: str(path) for name, path in (("out", args.out), ("plot", args.plot)) if path is not None}
    if args.json:
        terminal.print_json({"controller": controller, **found, "seconds": seconds, **written})
        return

    rows = []
    for joint in found["joints"]:
        errors = (joint["error_rms"], joint["error_greatest"])
        limit = f"{joint['effort_limit']:g} {joint['effort_unit']}" if isfinite(joint["effort_limit"]) else "none"
        told = ("–" if isnan(error) else quantity(error, joint["unit"]) for error in errors)
        rows.append((joint["joint"], *told, f"{digits(joint['effort_greatest'])} {joint['effort_unit']}", limit))
    out = terminal.console()
    if found["stopped"]:
        out.print(found["stopped"], style="bold red", soft_wrap=True)
    out.print(terminal.simple_table(("Joint", "RMS error", "Greatest error", "Greatest effort", "Limit"), rows))
    pace = f"{digits(found['simulated'] / seconds)} times real time"
    out.print(f"{found['simulated']:g} s under {controller} in {seconds:.2f} s, {pace}.")
    for what, count in found["faults"].items():
        out.print(f"{count} times {simulated(what)}", style="red", soft_wrap=True)
    for path in written.values():
        out.print(f"Written: {path}", soft_wrap=True)
