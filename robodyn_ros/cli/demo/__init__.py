# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn demo``: a PRR arm under three controllers, on real ROS 2 topics.

Starts a simulator and a controller as processes of their own, in an isolated
ROS 2 graph, and moves the PRR arm, an elevator that carries a two-link arm,
through its named poses under each control law, with the same stiffness and
damping at home. Then shows the figures of each law, and draws them.

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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from robodyn_ros import load_robot
from robodyn_ros.cli.arm import OWN_ARM, OWN_GAINS, Tour, tour
from robodyn_ros.cli.console import check_outputs, console, make_file, print_json, progress_bar
from robodyn_ros.cli.demo import figures
from robodyn_ros.cli.processes import ProcessGroup, isolated, start_arm
from robodyn_ros.cli.verb import ExitCode, GivenParameters, add_option, add_parameters, names, node_parameters
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
        records = _perform(controllers, motion, robot, env, Path(folder), viewers, args.lockstep, given)
        runs = [figures.evaluate(name, record, motion.trajectory, robot) for name, record in records.items()]
        verdict = figures.judge(runs)
        _report(args, runs, verdict)
        motions = {name: figures.cut(record, motion.trajectory) for name, record in records.items()}
        title = f"The {robot.name.upper()} arm through its named poses\n{verdict}"
        make_file("--plot", args.plot, lambda path: figures.draw(path, motions, motion, robot, title))
        if args.view is not None:
            files = (find(OWN_GAINS), *given.files)
            start_arm(viewers, {"robot_description": robot.urdf}, controllers[-1], files, given=given.values)
            text = f"The page stays open, with the arm under {controllers[-1]}: its sliders move it. Ctrl-C ends it."
            console(stderr=True).print(text, soft_wrap=True)
            with suppress(KeyboardInterrupt):
                viewers.stay()
    return ExitCode.YES if verdict.passed else ExitCode.NO


def _speed(text: str) -> float:
    """Read the speed factor."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not SPEEDS[0] <= value <= SPEEDS[1]:
        raise ArgumentTypeError(f"must be a number from {SPEEDS[0]} to {SPEEDS[1]}, not {text!r}")
    return value


def _perform(
    controllers: list[str],
    motion: Tour,
    robot: Robot,
    env: Mapping[str, str],
    folder: Path,
    viewers: ProcessGroup,
    lockstep: bool,
    given: GivenParameters,
) -> dict[str, RunRecord]:
    """Run the tour under each law, and show the progress: controller → record.

    A run in real time that cannot be judged is repeated in lockstep.
    """
    records = {}
    columns = (
        TextColumn("[bold cyan]{task.description}"),
        BarColumn(bar_width=8),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with progress_bar(*columns, transient=False) as shown:
        progress = DemoProgress(shown, controllers, motion, robot)
        for name in controllers:
            viewers.check()
            for waits in (True,) if lockstep else (False, True):
                progress.begin(name)
                own = folder / f"{name}{' in lockstep' if waits else ''}"
                own.mkdir()
                show = partial(progress.report, name)
                records[name] = run_controller(name, motion.trajectory, robot, env, own, show, waits, given)
                broken = figures.evaluate(name, records[name], motion.trajectory, robot).broken
                if not broken:
                    break
                progress.repeat(name, broken, again=not waits)
            progress.done(name)
    return records


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
    start = trajectory.positions[0].tolist()
    simulator = {f"initial_position.{name}": q for name, q in zip(robot.joint_names, start, strict=True)}
    record = folder / "record.npz"
    motion: dict[str, Any] = {"joints": list(robot.joint_names), "record": str(record)}
    motion |= {"times": trajectory.times.tolist(), "waypoints": trajectory.positions.ravel().tolist()}
    files, values = given or GivenParameters()
    with ProcessGroup(env, folder) as group:
        start_arm(group, model, controller, (find(OWN_GAINS), *files), simulator | {"lockstep": lockstep}, values)
        conductor = group.start("conductor", motion, piped=True)
        for line in group.lines(conductor):
            show(json.loads(line))
    return RunRecord.load(record)


class DemoProgress:
    """The progress of the runs on stderr: live on a terminal, a line for each run elsewhere."""

    def __init__(self, progress: Progress, controllers: Sequence[str], tour: Tour, robot: Robot) -> None:
        """
        Args:
            progress: the display.
            controllers: names of the laws, one for each run.
            tour: the motion.
            robot: the arm.
        """
        self._progress = progress
        self._tour = tour
        self._robot = robot
        add = partial(progress.add_task, total=tour.trajectory.duration, start=False, note="waiting")
        self._tasks: dict[str, TaskID] = {name: add(name) for name in controllers}

    def begin(self, controller: str) -> None:
        """Show that a run begins."""
        self._progress.start_task(self._tasks[controller])
        self._progress.update(self._tasks[controller], note="starting the nodes")

    def report(self, controller: str, progress: Mapping[str, Any]) -> None:
        """Show a report of the conductor: the pose that the arm moves to, and the error of each joint."""
        time = float(progress["time"])
        pose = self._tour.heading_for(time)
        errors = zip(progress["error"], self._robot.joints, strict=True)
        note = f"{pose:<9} {' '.join(quantity(abs(error), joint.position_unit) for error, joint in errors)}"
        self._progress.update(self._tasks[controller], completed=time, note=note)

    def repeat(self, controller: str, broken: Sequence[str], again: bool) -> None:
        """Report why a run cannot be judged."""
        what = "; it is repeated in lockstep" if again else ""
        text = f"{controller}: the run cannot be judged{what}: {'; '.join(broken)}"
        self._progress.console.print(text, soft_wrap=True)

    def done(self, controller: str) -> None:
        """Show that a run is over."""
        task = self._tasks[controller]
        self._progress.update(task, completed=self._tour.trajectory.duration, note="done")
        self._progress.stop_task(task)
        if not self._progress.console.is_terminal:
            self._progress.console.print(f"{controller}: {self._tour.trajectory.duration:.1f} s of motion recorded")


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
