# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn demo``: a PRR arm under three controllers, on real ROS 2 topics.

Starts a simulator and a controller as processes of their own, in an isolated
ROS 2 graph, and moves the PRR arm, an elevator that carries a two-link arm,
through its named poses under each control law, with the same stiffness and
damping in the home pose. Then shows the figures of each law, and draws them.

The exit code is 0 if computed torque tracks 10 times better than pd on every
revolute joint (RMS), and within 2 mm and 5 mrad RMS. The demonstration takes
about a minute; Ctrl-C ends it at once. On a machine that is too busy for real
time a run is repeated in lockstep, where the arm waits for the controller. A
run with a fault, a gap or too many lost commands gives no verdict, and the exit
code is 1.

Examples:
    robodyn demo                                  everything; draws demo.png
    robodyn demo --speed 0.5                      the same motion, half as fast
    robodyn demo --controller pd,computed_torque  only these two
    robodyn demo --view                           until Ctrl-C
    robodyn demo --json --plot arm.svg            for a script and a page
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from robodyn_ros import load_robot
from robodyn_ros.cli.arm import OWN_ARM, OWN_GAINS, Tour, tour
from robodyn_ros.cli.console import check_outputs, console, make_file, print_json, progress_bar
from robodyn_ros.cli.demo import figures
from robodyn_ros.cli.processes import ProcessGroup, isolated, start_arm
from robodyn_ros.cli.verb import ExitCode, GivenParameters, add_option, add_parameters, names, node_parameters, number
from robodyn_ros.cli.view import url
from robodyn_ros.control.motion.trajectory import RunRecord, Trajectory
from robodyn_ros.document.text import quantity
from robodyn_ros.errors import need_ros
from robodyn_ros.files import find
from robodyn_ros.plugins import available
from robodyn_ros.robot import Robot
from robodyn_ros.view.browser import check_free

CONTROLLERS = "pd,gravity_compensation,computed_torque"
"""Laws that are compared by default."""

SPEEDS = (0.1, 1.2)
"""Range of the speed factor; above it the effort limits of the arm do not suffice."""


DYNAMICS = "rnea"
"""Dynamics plugin of the simulator and of the controller."""

DIAGNOSTICS_RATE = 20.0
"""Rate of the nodes' diagnostics [Hz]; the conductor waits for some of them."""

ReportCallback = Callable[[Mapping[str, Any]], None]
"""Function that takes each progress report of the conductor."""

RunCallback = Callable[[str, bool, ReportCallback], RunRecord]
"""Function that runs a law, in lockstep or not, and has its progress shown."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_option(parser, "--plot FILE", "picture of the results to write: .png, .svg or .pdf", Path("demo.png"))
    add_option(parser, "--controller NAME", "control law, or several separated by commas", CONTROLLERS)
    text = f"factor on the speed of the motion, {SPEEDS[0]} to {SPEEDS[1]}"
    parser.add_argument("--speed", type=_speed, default=1.0, metavar="FACTOR", help=text)
    what = "the nodes simulator and controller, besides those of the demonstration"
    add_parameters(parser, what, "simulator:mismatch.payload_mass:=0.5")
    add_option(parser, "--json", "print the figures as JSON instead of a table", bool)
    text = "let the arm wait for the command to each state, as on a machine that is too slow (default: no)"
    add_option(parser, "--lockstep", text, bool)
    text = "show the arm live in a browser, by a server at this port (default: 8080)"
    add_option(parser, "--view PORT", text, int, nargs="?", const=8080)


def run(args: Namespace) -> ExitCode:
    """Run the tour under every law, judge, report and draw; the answer is the verdict."""
    controllers = list(dict.fromkeys(names(args.controller, "--controller", available("controllers"))))
    check_outputs(args.plot)
    need_ros()
    if args.view is not None:
        check_free("127.0.0.1", args.view)
    robot, motion = load_robot(find(OWN_ARM)), tour(args.speed)
    given = node_parameters(args, robot)
    with isolated() as env, TemporaryDirectory(prefix="robodyn-") as folder, ProcessGroup(env, Path(folder)) as viewers:
        if args.view is not None:
            viewer = viewers.start("viewer", {"robot_description": robot.urdf, "port": args.view}, piped=True)
            console(stderr=True).print(f"Watch it at {url(viewers, viewer)}", soft_wrap=True)

        def run_in(name: str, lockstep: bool, show: ReportCallback) -> RunRecord:
            """Run the tour under a law, in a folder of its own."""
            viewers.check()
            own = Path(folder, f"{name}{' in lockstep' if lockstep else ''}")
            own.mkdir()
            return run_controller(name, motion.trajectory, robot, env, own, show, lockstep, given)

        records = _perform(controllers, motion, robot, args.lockstep, run_in)
        runs = [figures.evaluate(name, record, motion.trajectory, robot) for name, record in records.items()]
        verdict = figures.judge(runs)
        _report(args, runs, verdict)
        motions = {name: figures.cut(record, motion.trajectory) for name, record in records.items()}
        title = f"The {robot.name.upper()} arm through its named poses\n{verdict}"
        make_file("--plot", args.plot, lambda path: figures.draw(path, motions, motion, robot, title))
        if args.view is not None:
            start_arm(viewers, {"robot_description": robot.urdf}, controllers[-1], _with_gains(given))
            text = f"The page stays open, with the arm under {controllers[-1]}: its sliders move it. Ctrl-C ends it."
            console(stderr=True).print(text, soft_wrap=True)
            with suppress(KeyboardInterrupt):
                viewers.stay()
    return ExitCode.YES if verdict.passed else ExitCode.NO


def _with_gains(given: GivenParameters) -> GivenParameters:
    """The parameters of the user over those of the demonstration."""
    return given._replace(files=(find(OWN_GAINS), *given.files))


def _speed(text: str) -> float:
    """Read the speed factor."""
    value = number(text)
    if not SPEEDS[0] <= value <= SPEEDS[1]:
        raise ArgumentTypeError(f"must be a number from {SPEEDS[0]} to {SPEEDS[1]}, not {text!r}")
    return value


def _perform(names: list[str], motion: Tour, robot: Robot, lockstep: bool, run: RunCallback) -> dict[str, RunRecord]:
    """Run the tour under each law, and show the progress: controller → record.

    A run in real time that cannot be judged is repeated in lockstep. The progress is live on a terminal, and a line for
    each run elsewhere.
    """
    records, duration = {}, motion.trajectory.duration
    columns = TextColumn("[bold cyan]{task.description}"), BarColumn(bar_width=8), TimeElapsedColumn()
    note = TextColumn("{task.fields[note]}", markup=False)
    with progress_bar(*columns, note, transient=False) as shown:
        add, say = partial(shown.add_task, total=duration, start=False, note="waiting"), shown.console.print
        for name, task in {name: add(name) for name in names}.items():
            for waits in (True,) if lockstep else (False, True):
                shown.start_task(task)
                shown.update(task, note="starting the nodes")
                records[name] = run(name, waits, partial(_show_report, partial(shown.update, task), motion, robot))
                broken = figures.evaluate(name, records[name], motion.trajectory, robot).broken
                if not broken:
                    break
                what = "" if waits else "; it is repeated in lockstep"
                say(f"{name}: the run cannot be judged{what}: {'; '.join(broken)}", soft_wrap=True)
            shown.update(task, completed=duration, note="done")
            shown.stop_task(task)
            if not shown.console.is_terminal:
                say(f"{name}: {duration:.1f} s of motion recorded")
    return records


def _show_report(update: Callable[..., None], tour: Tour, robot: Robot, progress: Mapping[str, Any]) -> None:
    """Show a report of the conductor: the pose that the arm moves to, and the error of each joint."""
    time = float(progress["time"])
    errors = zip(progress["error"], robot.joints, strict=True)
    told = " ".join(quantity(abs(error), joint.position_unit) for error, joint in errors)
    update(completed=time, note=f"{tour.heading_for(time):<9} {told}")


def run_controller(
    controller: str,
    trajectory: Trajectory,
    robot: Robot,
    env: Mapping[str, str],
    folder: Path,
    show: ReportCallback,
    lockstep: bool = False,
    given: GivenParameters | None = None,
) -> RunRecord:
    """Run the trajectory under one law, from rest at its first point, in processes of its own.

    A run is simulator, controller and conductor as processes. The conductor is a node that sends the trajectory and
    records states and commands; it writes its progress on stdout, a line of JSON for each report.

    Args:
        controller: the law's name.
        trajectory: a trajectory through waypoints, at rest in each.
        robot: the arm.
        env: environment of the processes.
        folder: an empty folder for their files.
        show: takes the progress reports.
        lockstep: let the simulator wait for the answer to each state: the machine's speed has no influence then.
        given: further parameters of the nodes, which override the others.

    Raises:
        ProcessError: a process has failed.
    """
    model = {"robot_description": robot.urdf, "dynamics": DYNAMICS, "diagnostics_rate": DIAGNOSTICS_RATE}
    start = zip(robot.joint_names, trajectory.positions[0].tolist(), strict=True)
    simulator: dict[str, Any] = {f"initial_position.{name}": q for name, q in start}
    record = folder / "record.npz"
    motion: dict[str, Any] = {"joints": list(robot.joint_names), "record": str(record)}
    motion |= {"times": trajectory.times.tolist(), "waypoints": trajectory.positions.ravel().tolist()}
    given = _with_gains(given or GivenParameters())
    simulator |= {"lockstep": lockstep, **given.values.get("simulator", {})}
    with ProcessGroup(env, folder) as group:
        start_arm(group, model, controller, given._replace(values={**given.values, "simulator": simulator}))
        conductor = group.start("conductor", motion, piped=True)
        for line in group.lines(conductor):
            show(json.loads(line))
    return RunRecord.load(record)


def _report(args: Namespace, runs: list[figures.RunFigures], verdict: figures.DemoVerdict) -> None:
    if args.json:
        about = {"passed": verdict.passed, **asdict(verdict), "picture": str(args.plot)}
        print_json({**about, "runs": [asdict(run) for run in runs]})
        return
    out = console()
    out.print(figures.table(runs))
    waited = [run.lockstep for run in runs]
    explained = ((figures.LOST, not all(waited)), (figures.IN_LOCKSTEP, any(waited)))
    if notes := " ".join(note for note, told in explained if told):
        out.print(f"{notes}\n", style="dim")
    out.print(figures.verdict_text(verdict))
    out.print(f"The picture is {args.plot}.", soft_wrap=True)
