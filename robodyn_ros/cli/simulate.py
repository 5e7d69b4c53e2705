"""``robodyn simulate``: an arm under a control law, offline."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robodyn_ros import create_dynamics
from robodyn_ros.cli.console import check_folder, check_picture
from robodyn_ros.cli.verb import ExitCode, Verb
from robodyn_ros.control.loop import ControlLoop
from robodyn_ros.control.loop_settings import MODEL, loop_default_values, make_loop_settings
from robodyn_ros.control.parameter_file import FileParameters, NodeParameters, parse_parameter, read_parameters
from robodyn_ros.errors import InputError
from robodyn_ros.plugins import available
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.hardware.hardware import Hardware
from robodyn_ros.simulation.hardware.settings import default_values, make_hardware

if TYPE_CHECKING:
    from robodyn_ros.control.loop import ControlLoop
    from robodyn_ros.robot import Robot
    from robodyn_ros.simulation.hardware.hardware import Hardware
    from robodyn_ros.simulation.trial.trial import Trial


# Hardware and control loop of ``robodyn simulate``, from the parameters that the nodes take.

NODES = ("simulator", "controller")
"""The nodes whose parameters are taken."""


def gather(files: Sequence[Path], given: Sequence[str]) -> dict[str, NodeParameters]:
    """Node → parameters given.

    Args:
        files: parameter files, the later ones winning over those before.
        given: ``name:=value`` for both nodes or ``node:name:=value`` for one, winning over the files.

    Raises:
        InputError: a file or a parameter cannot be read.
    """
    found = {node: NodeParameters() for node in NODES}
    for node, parameters in found.items():
        for file in files:
            parameters |= read_parameters(file, node)
    for text in given:
        name, value = parse_parameter(text)
        node, _, own = name.rpartition(":")
        for parameters in [found[node]] if node in found else found.values():
            parameters |= {own if node in found else name: value}
    return found


def make_simulated(given: dict[str, Any], robot: Robot) -> tuple[Hardware, set[str]]:
    """The hardware, and the names of parameters that it has no use for.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    values = FileParameters(given, MODEL | default_values(robot))
    with values.located():
        hardware = make_hardware(values, robot)
    return hardware, set(values.unused())


def make_loop(given: dict[str, Any], robot: Robot) -> tuple[ControlLoop, set[str]]:
    """The control loop, and the names of parameters that it has no use for.

    Raises:
        RobodynError: a value is wrong; the message names it.
    """
    values = FileParameters(given, loop_default_values(robot))
    with values.located():
        dynamics = create_dynamics(values["dynamics"], robot, gravity=tuple(values["gravity"]))
        loop = ControlLoop.from_settings(make_loop_settings(values, dynamics))
    return loop, set(values.unused())


NOBODY = "none"
"""In place of a control law: no commands, no brakes."""

DURATION = 10.0
"""How long unless told otherwise [s]."""

ENDINGS = {".csv": "csv", ".mcap": "mcap", "": "rosbag2"}
"""Ending of the file → format."""


def add_arguments(parser: ArgumentParser) -> None:
    """See :class:`Verb`."""
    parser.add_argument("urdf", type=Path, help="the arm")
    text = f"control law, one of {', '.join((*available('controllers'), NOBODY))} (default: computed_torque)"
    parser.add_argument("--controller", metavar="NAME", help=text)
    text = f"how long [s] (default: {DURATION:g}, or as long as the tour)"
    parser.add_argument("--duration", type=float, metavar="SECONDS", help=text)
    motion = parser.add_mutually_exclusive_group()
    text = "go there and be at rest: 0.3,-1,0 or joint=-1,joint=0.2; again for the next way (default: stay)"
    motion.add_argument("--to", action="append", default=[], metavar="POSE", help=text)
    motion.add_argument("--tour", action="store_true", help="the motion of `robodyn demo`, for the PRR arm")
    text = "follow the JointTrajectory in this file, JSON or YAML"
    motion.add_argument("--motion", type=Path, metavar="FILE", help=text)
    text = "parameter file of the nodes simulator and controller, as ROS 2 takes it; again for another"
    parser.add_argument("--params", type=Path, action="append", default=[], metavar="FILE", help=text)
    text = "a parameter of the nodes, or of one: seed:=3, controller:dynamics:=lagrangian; again for another"
    parser.add_argument("-p", dest="given", action="append", default=[], metavar="NAME:=VALUE", help=text)
    text = "write what happened here: .csv, .mcap, or a folder without ending for a rosbag2"
    parser.add_argument("--out", type=Path, metavar="PATH", help=text)
    formats = sorted(ENDINGS.values())
    parser.add_argument("--format", choices=formats, help="in which format, if the ending is not to say it")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it here: .png, .svg or .pdf")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON instead of a table")


def run(args: Namespace) -> ExitCode:
    """Simulate, write, draw and report."""
    write = _writer(args)
    if args.plot is not None:
        check_picture("--plot", args.plot)
    from robodyn_ros import load_robot
    from robodyn_ros.cli.simulate_report import figures, report

    robot = load_robot(args.urdf)
    trial, seconds = _simulate(args, robot)
    if write is not None:
        write(args.out, trial, robot)
    name = args.controller
    if args.plot is not None:
        from robodyn_ros.cli.simulate_report import draw

        draw(args.plot, trial, robot, f"{robot.name} under {name}" if name != NOBODY else f"{robot.name}, passive")
    report(figures(trial, robot), name, seconds, args)
    return ExitCode.NO if trial.faults else ExitCode.YES


def _simulate(args: Namespace, robot: Robot) -> tuple[Trial, float]:
    """What happened, and how long it took [s]."""
    from time import perf_counter

    from robodyn_ros.cli.motion import motion
    from robodyn_ros.control.motion.trajectory import read_trajectory

    given = gather(args.params, args.given)
    simulator, controller = (given[node] for node in NODES)
    args.controller = args.controller or controller.get("controller", "computed_torque")
    passive = args.controller == NOBODY
    hardware, unused = make_simulated(simulator | {"brake": False} if passive else simulator, robot)
    loop, duration = None, args.duration
    if passive and (args.to or args.tour or args.motion):
        raise InputError("--controller", "must be a control law if the arm is to go somewhere", NOBODY)
    way = motion(args.to, args.tour, duration or DURATION, robot, hardware.plant.q)
    if args.motion is not None:
        way = read_trajectory(args.motion, robot)
    if duration is None:
        duration = way.duration if way is not None else DURATION
    if not 0.0 < duration <= 1e6:
        raise InputError("--duration", f"must be above 0 s, and 1e6 s at most, not {duration!r}", duration)
    if not passive:
        loop, unused_by_loop = make_loop(controller | {"controller": args.controller}, robot)
        unused = (unused - set(controller)) | (unused_by_loop - set(simulator)) | (unused & unused_by_loop)
        loop.start(0.0, hardware.plant.q)
        if way is not None:
            loop.follow(way, 0.0)
    _mention(unused)
    begun = perf_counter()
    return _watched(hardware, loop, duration), perf_counter() - begun


def _watched(hardware: Hardware, loop: ControlLoop | None, duration: float) -> Trial:
    """Run, and show on stderr how far it is."""
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    from robodyn_ros.cli.console import progress_bar
    from robodyn_ros.simulation.trial.trial import run_trial

    columns = (BarColumn(), TextColumn("{task.completed:.1f} of {task.total:g} s"), TimeRemainingColumn())
    with progress_bar(*columns) as progress:
        task = progress.add_task("", total=duration)
        return run_trial(hardware, loop, duration, lambda time: progress.update(task, completed=time))


def _mention(unused: set[str]) -> None:
    from robodyn_ros.cli.console import console

    if unused:
        names = ", ".join(sorted(unused))
        console(stderr=True).print(f"not used here: {names}", markup=False, soft_wrap=True)


def _writer(args: Namespace) -> Callable[[Path, Trial, Robot], None] | None:
    """What writes the file; find out now, not after the simulation, that there is nothing."""
    if args.out is None:
        return None
    name = args.format or ENDINGS.get(args.out.suffix)
    if name is None:
        raise InputError("--out", f"must end in .csv or .mcap or have no ending, unless --format says it: {args.out}")
    check_folder("--out", args.out)
    if name == "csv":
        from robodyn_ros.simulation.trial.files import write_csv

        return write_csv
    from robodyn_ros.simulation.trial import files

    files.check(args.out, name)
    return files.write_mcap if name == "mcap" else files.write_rosbag2


VERB = Verb(
    summary="an arm under a control law, offline: figures, CSV, MCAP, rosbag2, a picture",
    description=(
        "Simulates an arm under a control law without ROS, as fast as it goes: the plant,\n"
        "drives and sensors of the simulator node and the control loop of the controller\n"
        "node, with the same parameters, from the same files. Each state gets its command\n"
        "at the moment it comes.\n"
        "\n"
        "The answer is no if the arm or its control failed on the way."
    ),
    examples=(
        ("robodyn simulate arm.urdf --duration 5 --out run.csv", "stay for 5 s"),
        ("robodyn simulate arm.urdf --to 0.3,-1,0 --plot run.png", "go there"),
        ("robodyn simulate arm.urdf --motion motion.json", "a JointTrajectory"),
        ("robodyn simulate arm.urdf --params arm.yaml --out run.mcap", "for Foxglove"),
        ("robodyn simulate arm.urdf --controller none --out run", "passive; rosbag2"),
        ("robodyn simulate arm.urdf -p command_delay:=0.004", "with slow drives"),
    ),
    add_arguments=add_arguments,
    run=run,
)
