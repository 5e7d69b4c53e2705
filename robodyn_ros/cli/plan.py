"""``robodyn plan``: the best motion that an arm's dynamics allow, as a file, a picture, or sent to the arm."""

from __future__ import annotations

import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros import create_dynamics, load_robot
from robodyn_ros.cli.console import check_folder, check_picture, console
from robodyn_ros.cli.motion import pose
from robodyn_ros.cli.verb import ExitCode, Verb, need_ros
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.errors import InputError, NotReadyError
from robodyn_ros.planning.cost import read_cost
from robodyn_ros.planning.obstacles import Sphere, read_obstacles
from robodyn_ros.planning.plan import Plan
from robodyn_ros.planning.problem import Goal, JointGoal, MotionLimits, Problem, ToolGoal
from robodyn_ros.robot import Pose, Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.robot.robot import tip
from robodyn_ros.view.browser import Browser

if TYPE_CHECKING:
    from robodyn_ros.planning.plan import Plan
    from robodyn_ros.planning.problem import Problem


# From the command line of ``robodyn plan`` to the problem.


def problem_of(args: Namespace) -> Problem:
    """What the arguments ask for.

    Raises:
        InputError: an argument is wrong.
    """
    robot = load_robot(args.urdf)
    link = args.link or tip(robot)
    payload = None if args.payload is None else Payload(link, args.payload)
    dynamics = create_dynamics("rnea", robot, payload=payload, viscous=robot.damping, coulomb=robot.friction)
    start = robot.home if args.start is None else _pose("--from", args.start, robot, robot.home)
    stops = [start]
    for text in args.via:
        stops.append(_pose("--via", text, robot, stops[-1]))
    return Problem(
        dynamics,
        start,
        _goal(args, robot, link, stops[-1]),
        read_cost(args.cost),
        args.duration,
        MotionLimits.of(robot, share=args.share, acceleration=args.acceleration),
        via=tuple(JointGoal(stop, None) for stop in stops[1:]),
        obstacles=() if args.obstacles is None else read_obstacles(args.obstacles),
        margin=args.margin,
        limit_margin=args.limit_margin,
    )


def _goal(args: Namespace, robot: Robot, link: str, before: Array) -> Goal:
    if (args.to is None) == (args.to_tool is None):
        raise InputError("--to", "or --to-tool must be given, one of them", args.to)
    if args.to is not None:
        return JointGoal(_pose("--to", args.to, robot, before))
    try:
        numbers = [float(word) for word in args.to_tool.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (3, 6) or not np.isfinite(numbers).all():
        raise InputError("--to-tool", f"must be x,y,z or x,y,z,roll,pitch,yaw, not {args.to_tool!r}", args.to_tool)
    if len(numbers) == 3:
        return ToolGoal.at(np.array(numbers), link)
    return ToolGoal(Pose.from_xyz_rpy(numbers[:3], numbers[3:]), link)


def _pose(option: str, text: str, robot: Robot, before: Array) -> Array:
    try:
        return pose(text, robot, before)
    except InputError as cause:
        raise InputError(option, str(cause).partition(": ")[2], text) from cause


# A plan to the controller of the ROS 2 graph that is there, by the node that knows how to.


def send(plan: Plan) -> None:
    """Have the controller follow it.

    Raises:
        NotReadyError: there is no controller, or the arm is not where the plan starts; the node has said so.
    """
    with TemporaryDirectory(prefix="robodyn-") as folder:
        path = Path(folder) / "plan.json"
        plan.save(path)
        command = [sys.executable, "-m", "robodyn_ros.nodes.planner.sender", "--ros-args", "-p", f"plan:={path}"]
        if subprocess.run(command, check=False).returncode != 0:
            raise NotReadyError("the plan was not sent")


# A plan in the browser, again and again: the arm on its way, the tool's trace, what is in the way.

RATE = 25.0
"""Pictures a second."""

PAUSE = 1.0
"""At the end, before it begins anew [s]."""

LAYERS = frozenset({"effort", "trace", "com"})


def view(plan: Plan, problem: Problem, port: int) -> None:
    """Show it until Ctrl-C.

    Raises:
        ConfigurationError: viser is not installed, or the port is taken.
    """
    browser, trajectory = Browser(problem.dynamics.robot, "127.0.0.1", port), plan.to_trajectory()
    _obstacles(browser, problem)
    console().print(f"http://localhost:{port}  (Ctrl-C ends)", soft_wrap=True)
    try:
        while True:
            browser.overlay.forget()
            begun = time.monotonic()
            while (t := time.monotonic() - begun) < plan.duration + PAUSE:
                sample = trajectory.sample(t)
                planned = None if trajectory.planned is None else trajectory.planned.at(t)
                browser.show(sample.q, sample.qd, planned, None, LAYERS)
                time.sleep(1.0 / RATE)
    finally:
        browser.stop()


def _obstacles(browser: Browser, problem: Problem) -> None:
    scene, color = browser.server.scene, (200, 80, 60)
    for obstacle in problem.obstacles:
        name, position = f"/obstacles/{obstacle.name}", obstacle.center
        if isinstance(obstacle, Sphere):
            scene.add_icosphere(name, radius=obstacle.radius, color=color, opacity=0.5, position=position)
            continue
        from scipy.spatial.transform import Rotation

        turn = np.roll(Rotation.from_matrix(obstacle.rotation).as_quat(), 1)  # viser puts w first
        size = tuple(obstacle.size.tolist())
        scene.add_box(name, dimensions=size, color=color, opacity=0.5, position=position, wxyz=turn)


METHODS = ("collocation", "time-scaling")
"""How a motion is found."""


def add_arguments(parser: ArgumentParser) -> None:
    """See :class:`Verb`."""
    parser.add_argument("urdf", type=Path, help="the arm")
    where = parser.add_argument_group("where")
    text = "end: 0.3,-1,0 or joint=-1,joint=0.2, or a pose's name"
    where.add_argument("--to", metavar="POSE", help=text)
    text = "end of the tool instead: x,y,z [m], or x,y,z,roll,pitch,yaw [m, rad] in the root link's frame"
    where.add_argument("--to-tool", metavar="PLACE", help=text)
    where.add_argument("--link", metavar="NAME", help="the tool (default: the last link that moves)")
    where.add_argument("--from", dest="start", metavar="POSE", help="start, as --to (default: all joints at 0)")
    text = "position to pass, as --to; again for the next"
    where.add_argument("--via", action="append", default=[], metavar="POSE", help=text)
    where.add_argument("--obstacles", type=Path, metavar="FILE", help="spheres and boxes to keep clear of (YAML)")
    where.add_argument("--margin", type=float, default=0.01, metavar="LENGTH", help="by how much [m] (default: 0.01)")
    how = parser.add_argument_group("how")
    text = "what is to be least: time, effort, smoothness, or a sum as time+1e-4*effort (default: %(default)s)"
    how.add_argument("--cost", default="time", metavar="COST", help=text)
    how.add_argument("--duration", type=float, metavar="SECONDS", help="of the motion (default: free)")
    text = "time-scaling keeps to the spline through the poses (default: %(default)s)"
    how.add_argument("--method", choices=METHODS, default=METHODS[0], help=text)
    text = "distance to keep from position limits on the way [rad, m] (default: 0.02, for the soft limits)"
    how.add_argument("--limit-margin", type=float, default=0.02, metavar="LENGTH", help=text)
    text = "of the limits of speed and effort that may be used (default: 0.9)"
    how.add_argument("--share", type=float, default=0.9, metavar="SHARE", help=text)
    how.add_argument(
        "--acceleration", type=float, metavar="LIMIT", help="of every joint [rad/s², m/s²] (default: none)"
    )
    how.add_argument("--payload", type=float, metavar="KG", help="mass that the tool carries")
    how.add_argument("--time-limit", type=float, default=20.0, metavar="SECONDS", help="for the search (default: 20)")
    out = parser.add_argument_group("what becomes of it")
    out.add_argument("--out", type=Path, metavar="FILE", help="write the plan here, as JSON")
    out.add_argument("--plot", type=Path, metavar="FILE", help="draw it here: .png, .svg or .pdf")
    out.add_argument("--view", action="store_true", help="show it in the browser, until Ctrl-C (extra viewer)")
    out.add_argument("--port", type=int, default=8080, help="of --view (default: %(default)s)")
    out.add_argument("--send", action="store_true", help="send it to the controller of the ROS 2 graph that is there")
    out.add_argument("--json", action="store_true", help="print the figures as JSON")


def run(args: Namespace) -> ExitCode:
    """Plan, write, draw, show, send; the answer is no if there is no such motion."""
    _check_outputs(args)
    problem = problem_of(args)
    found = _found(args, problem)
    _report(args, problem, found)
    if args.out is not None:
        found.save(args.out)
    if not found.solved:
        return ExitCode.NO
    if args.plot is not None:
        from robodyn_ros.cli.plan_report import draw

        draw(args.plot, found, problem)
    if args.send:
        send(found)
    if args.view:
        view(found, problem, args.port)
    return ExitCode.YES


def _found(args: Namespace, problem: Problem) -> Plan:
    """The plan; how far the search is goes to stderr."""
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    from robodyn_ros.cli.console import progress_bar

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with progress_bar(*columns) as progress:
        task = progress.add_task("looking at the problem")
        if args.method == "time-scaling":
            from robodyn_ros.planning import time_scaling

            return time_scaling.plan(problem)
        from robodyn_ros.planning.collocation.collocation import CollocationSettings, plan

        def tell(iteration: int, violation: float) -> None:
            progress.update(task, description=f"iteration {iteration}: constraints missed by {violation:.1e}")

        return plan(problem, CollocationSettings(time_limit=args.time_limit), tell)


def _report(args: Namespace, problem: Problem, found: Plan) -> None:
    from robodyn_ros.cli.console import console, print_json
    from robodyn_ros.cli.plan_report import figures, table

    if args.json:
        print_json(figures(found, problem))
        return
    out = console()
    title = f"{found.duration:.4g} s" if found.solved else "no such motion"
    out.print(f"{title}: {found.reason} ({found.method}, {found.solve_time:.2g} s)", markup=False, soft_wrap=True)
    if len(found.times):
        out.print(table(found, problem))


def _check_outputs(args: Namespace) -> None:
    """Find out now, not after the search, what cannot be written."""
    if args.plot is not None:
        check_picture("--plot", args.plot)
    if args.out is not None:
        check_folder("--out", args.out)
    if args.method == "time-scaling" and (args.cost != "time" or args.duration is not None):
        raise InputError("--method", "time-scaling seeks the shortest time; leave out --cost and --duration", args.cost)
    if args.send:
        need_ros()


VERB = Verb(
    summary="the best motion that an arm's dynamics allow: minimum time, minimum effort",
    description=(
        "Finds the motion of least cost from one pose to another within the limits of\n"
        "position, speed and effort, by the arm's own equations: collocation, or time\n"
        "scaling along a given path. It comes with the efforts that it takes;\n"
        "the controller feeds them forward.\n"
        "\n"
        "The answer is no if there is no such motion; it says which constraint is in the\n"
        "way."
    ),
    examples=(
        ("robodyn plan arm.urdf --to PICK --out plan.json --plot plan.png", "fastest"),
        ("robodyn plan arm.urdf --to 0.3,-1,0 --cost effort --duration 2", "least effort"),
        ("robodyn plan arm.urdf --to-tool 0.5,0,1 --payload 2", "the tool"),
        ("robodyn plan arm.urdf --to 1,0.5,0 --method time-scaling", "straight"),
        ("robodyn plan arm.urdf --to PICK --obstacles shelf.yaml --view", "shown"),
    ),
    add_arguments=add_arguments,
    run=run,
)
