# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn plan``: the best motion that an arm's dynamics allow: smooth, in minimum time, by least effort.

Finds the motion of least cost from one pose to another within the limits of
position, speed and effort, with the arm's own equations: collocation, or time
scaling along a given path. By default it is quick and smooth; with --cost time
it is the fastest, and its efforts jump from one limit to the other. The plan
has the efforts of the motion; the controller feeds them forward.

The exit code is 1 if there is no such motion; the violated constraint is named.

Examples:
    robodyn plan arm.urdf --to PICK --out plan.json --plot plan.png  smoothly
    robodyn plan arm.urdf --to PICK --cost time                      fastest
    robodyn plan arm.urdf --to 0.3,-1,0 --cost effort --duration 2   least effort
    robodyn plan arm.urdf --to-tool 0.5,0,1 --payload 2              the tool
    robodyn plan arm.urdf --to 1,0.5,0 --method time-scaling         straight
    robodyn plan arm.urdf --to PICK --obstacles shelf.yaml --view    shown
"""

from __future__ import annotations

import subprocess
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial
from math import isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.table import Table

from robodyn_ros import create_dynamics
from robodyn_ros.checks import check
from robodyn_ros.cli.arm import add_arm, parse_pose, read_arm
from robodyn_ros.cli.console import check_outputs, console, make_file, picked, print_json, simple_table, waiting
from robodyn_ros.cli.processes import add_namespace, namespace_of, node_command
from robodyn_ros.cli.verb import ExitCode, add_gravity, add_option, number, only_with
from robodyn_ros.dynamics.parameters import Payload
from robodyn_ros.errors import InputError, NotReadyError, need_ros
from robodyn_ros.kinematics.so3 import quaternion
from robodyn_ros.planning.cost import SMOOTH, read_cost
from robodyn_ros.planning.obstacles import Sphere, read_obstacles
from robodyn_ros.planning.plan import METHODS, Plan, plot_plan
from robodyn_ros.planning.problem import Goal, JointGoal, MotionLimits, Problem, ToolGoal
from robodyn_ros.robot import Array, Pose, Robot, tip
from robodyn_ros.view.browser import PORT, Browser, check_free

FRAME_RATE = 25.0
"""Pictures a second in the browser."""

PAUSE = 1.0
"""Time at the end of the motion, before it begins again [s]."""

HOST = "127.0.0.1"
"""Address of the page."""

LAYERS = frozenset({"effort", "trace", "com"})
"""Layers of the marks that the browser shows."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser)
    where = parser.add_argument_group("where")
    add_option(where, "--to POSE", "goal: 0.3,-1,0 or joint=-1,joint=0.2, or a pose's name")
    text = "goal of the tool instead: x,y,z [m], or x,y,z,roll,pitch,yaw [m, rad] in the root link's frame"
    add_option(where, "--to-tool PLACE", text)
    add_option(where, "--tool LINK", "the tool (default: the last link before a gripper's fingers)")
    add_option(where, "--from POSE", "start, as --to (default: the nearest to 0 within the limits)", dest="start")
    add_option(where, "--via POSE", "position to pass, as --to; repeatable", repeatable=True)
    add_option(where, "--obstacles FILE", "spheres and boxes to avoid (YAML)", Path)
    add_option(where, "--margin LENGTH", "least distance from obstacles [m] (default: 0.01)", 0.01)
    how = parser.add_argument_group("how")
    text = "cost to minimise: time, effort, smoothness, or a sum such as time+0.1*effort (default: quick and smooth, "
    text += f"{SMOOTH})"
    add_option(how, "--cost COST", text)
    add_option(how, "--duration SECONDS", "duration of the motion [s] (default: free)", float)
    add_option(how, "--method", "time-scaling follows the spline through the poses", METHODS[0], choices=METHODS)
    text = "least distance from position limits during the motion [rad, m] (default: 0.02, for the soft limits)"
    add_option(how, "--limit-margin LENGTH", text, 0.02)
    add_option(how, "--limit-ratio RATIO", "fraction of the limits of speed and effort to be used (default: 0.9)", 0.9)
    for name, power in (("--acceleration", "²"), ("--jerk", "³")):
        text = f"limit of every joint [rad/s{power}, m/s{power}] (default: that of the URDF)"
        add_option(how, f"{name} LIMIT", text, float)
    add_option(how, "--payload KG", "mass that the tool carries [kg] (default: 0)", float)
    add_gravity(how)
    add_option(how, "--time-limit SECONDS", "longest search [s] (default: 20)", 20.0)
    out = parser.add_argument_group("output")
    add_option(out, "--out FILE", "write the plan here, as JSON", Path)
    add_option(out, "--plot FILE", "picture of the plan to write: .png, .svg or .pdf", Path)
    text = "show the plan in a browser until Ctrl-C, by a server at this port (default: 8080; extra viewer)"
    add_option(out, "--view PORT", text, int, nargs="?", const=PORT)
    add_option(out, "--send", "send the plan to the controller of the running ROS 2 graph", bool)
    add_namespace(out)
    add_option(out, "--json", "print the figures as JSON", bool)


def run(args: Namespace) -> ExitCode:
    """Plan, write, draw, send, show; the answer is no if there is no such motion."""
    _check_outputs(args)
    namespace = namespace_of(args, args.send, "with --send")
    problem = make_problem(args)
    plan = _solve(args, problem)
    _report(args, problem, plan)
    _write(args, "out", plan.save)
    if not plan.solved:
        return ExitCode.NO
    _write(args, "plot", partial(plot_plan, plan, problem))
    if args.send:
        send(plan, namespace)
    if args.view is not None:
        view(plan, problem, args.view)
    return ExitCode.YES


def _write(args: Namespace, name: str, write: Callable[[Path], object]) -> None:
    """Write the file of an option, if it is wanted."""
    path = getattr(args, name)
    if path is not None:
        make_file(f"--{name}", path, write)
        if not args.json:
            console().print(f"Written: {path}", soft_wrap=True)


def _check_outputs(args: Namespace) -> None:
    """Check the outputs before the search, so that an error does not come after it."""
    check_outputs(args.plot, args.out)
    if args.method == "time-scaling" and (args.cost not in (None, "time") or args.duration is not None):
        raise InputError("--method", "time-scaling seeks the shortest time; leave out --cost and --duration", args.cost)
    only_with(args, args.to_tool or args.payload, "with --to-tool or --payload", "tool")
    only_with(args, args.obstacles, "with --obstacles", "margin")
    only_with(args, args.method == METHODS[0], f"with --method {METHODS[0]}", "limit_margin", "time_limit")
    if args.send:
        need_ros()
    if args.view is not None:
        check_free(HOST, args.view)


def make_problem(args: Namespace) -> Problem:
    """Return the planning problem that the arguments state.

    Raises:
        InputError: an argument is wrong.
    """
    robot = read_arm(args)
    link = robot.link(args.tool or tip(robot), "--tool").name
    payload = None if args.payload is None else Payload(link, args.payload)
    dynamics = create_dynamics(
        "rnea", robot, payload=payload, gravity=args.gravity, viscous=robot.damping, coulomb=robot.friction
    )
    cost = args.cost or ("time" if args.method == "time-scaling" else SMOOTH)
    start = robot.home if args.start is None else parse_pose(args.start, robot, robot.home, "--from")
    stops = [start]
    for text in args.via:
        stops.append(parse_pose(text, robot, stops[-1], "--via"))
    return Problem(
        dynamics,
        start,
        _goal(args, robot, link, stops[-1]),
        read_cost(cost, robot.effort_limit, robot.velocity_limit),
        args.duration,
        MotionLimits.of(robot, **picked(args, "limit_ratio", "acceleration", "jerk")),
        via=tuple(JointGoal(stop, None) for stop in stops[1:]),
        obstacles=() if args.obstacles is None else read_obstacles(args.obstacles),
        **picked(args, "margin", "limit_margin"),
    )


def _goal(args: Namespace, robot: Robot, link: str, before: Array) -> Goal:
    if (args.to is None) == (args.to_tool is None):
        raise InputError("--to, --to-tool", "give one of the two", args.to)
    if args.to is not None:
        return JointGoal(parse_pose(args.to, robot, before))
    numbers = [number(word) for word in args.to_tool.split(",")]
    is_place = len(numbers) in (3, 6) and np.isfinite(numbers).all()
    check(is_place, "--to-tool", "x,y,z or x,y,z,roll,pitch,yaw", args.to_tool)
    if len(numbers) == 3:
        return ToolGoal.at(np.array(numbers), link)
    return ToolGoal(Pose.from_xyz_rpy(numbers[:3], numbers[3:]), link)


def _solve(args: Namespace, problem: Problem) -> Plan:
    """Find the plan, and show the progress of the search on stderr."""
    from robodyn_ros.planning.collocation.collocation import plan_by  # it needs CasADi

    with waiting("looking at the problem") as tell:

        def show(iteration: int, violation: float) -> None:
            tell(f"iteration {iteration}: constraints missed by {violation:.1e}")

        return plan_by(args.method, problem, args.time_limit, show)


def _report(args: Namespace, problem: Problem, plan: Plan) -> None:
    if args.json:
        print_json(plan_figures(plan, problem))
        return
    out = console()
    title = f"{plan.duration:.4g} s" if plan.solved else "no such motion"
    out.print(f"{title}: {plan.reason} ({plan.method}, {plan.solve_time:.2g} s)")
    if len(plan.times):
        out.print(plan_table(plan, problem))


def plan_figures(plan: Plan, problem: Problem) -> dict[str, Any]:
    """Return the figures of a plan for JSON.

    Args:
        plan: the result, solved or not.
        problem: that it solves.
    """
    whole = picked(plan, "solved", "reason", "method", "duration", "cost", "solve_time", "dynamics_error")
    worst = None if plan.violation is None else picked(plan.violation, "constraint", "amount")
    joints = dict(zip(plan.joints, _rows(plan, problem), strict=True))
    return whole | {"points": len(plan.times), "worst": worst, "joints": joints}


def plan_table(plan: Plan, problem: Problem) -> Table:
    """Return a table with a row for each joint.

    Args:
        plan: the result.
        problem: that it solves; its arm has the limits.
    """
    rows = []
    for joint, row in zip(problem.dynamics.robot.joints, _rows(plan, problem), strict=True):
        unit, ratios = joint.position_unit, (row["speed_ratio"], row["effort_ratio"])
        of_speed, of_effort = ("-" if isnan(ratio) else f"{ratio:.0%}" for ratio in ratios)
        # One that is too small to be seen is 0 without a sign.
        start, end, speed, effort = (f"{round(row[name], 4) + 0.0:.4g}" for name in ("start", "end", "speed", "effort"))
        position = f"{start} {unit}", f"{end} {unit}"
        rows.append((joint.name, *position, f"{speed} {unit}/s", of_speed, f"{effort} {joint.effort_unit}", of_effort))
    heads = ("Joint", "From", "To", "Greatest\nspeed", "Of its\nlimit", "Greatest\neffort", "Of its\nlimit")
    return simple_table(heads, rows)


def _rows(plan: Plan, problem: Problem) -> list[dict[str, float]]:
    """The figures of each joint; a ratio is NaN where there is no limit."""
    if not len(plan.times):
        return [{} for _ in plan.joints]
    robot, speed, effort = problem.dynamics.robot, np.abs(plan.qd).max(axis=0), np.abs(plan.effort).max(axis=0)
    limits = (np.where(np.isfinite(own), own, np.nan) for own in (robot.velocity_limit, robot.effort_limit))
    of_speed, of_effort = (values / own for values, own in zip((speed, effort), limits, strict=True))
    names = ("start", "end", "speed", "speed_ratio", "effort", "effort_ratio")
    columns = (plan.q[0], plan.q[-1], speed, of_speed, effort, of_effort)
    return [dict(zip(names, row, strict=True)) for row in np.column_stack(columns).tolist()]


def send(plan: Plan, namespace: dict[str, str]) -> None:
    """Send a plan to the controller of the running ROS 2 graph, by the replayer node.

    Args:
        plan: one that is solved.
        namespace: remapping to that of the controller, as :func:`.namespace_of` gives it.

    Raises:
        NotReadyError: there is no controller, or the arm is not at the start of the plan; the node has reported it.
    """
    with TemporaryDirectory(prefix="robodyn-") as folder:
        path = Path(folder) / "plan.json"
        plan.save(path)
        command = node_command("replayer", {"plan": str(path)}, Path(folder), remappings=namespace)
        if subprocess.run(command, check=False).returncode != 0:
            raise NotReadyError("the plan was not sent")


def view(plan: Plan, problem: Problem, port: int) -> None:
    """Show the motion in the browser again and again, with tool trace and obstacles, until Ctrl-C.

    Args:
        plan: one that is solved.
        problem: with the arm and the obstacles.
        port: to listen at.

    Raises:
        ConfigurationError: the port is in use.
    """
    browser, trajectory = Browser(problem.dynamics.robot, HOST, port), plan.to_trajectory()
    _show_obstacles(browser, problem)
    console(stderr=True).print(f"{browser.url}  (Ctrl-C ends)", soft_wrap=True)
    try:
        while True:
            browser.overlay.forget()
            begun = time.monotonic()
            while (t := time.monotonic() - begun) < plan.duration + PAUSE:
                sample = trajectory.sample(t)
                planned = None
                if trajectory.efforts is not None and t < trajectory.duration:
                    planned = np.array([np.interp(t, trajectory.times, column) for column in trajectory.efforts.T])
                browser.show(sample.q, sample.qd, planned, None, LAYERS | browser.at_first)
                time.sleep(1.0 / FRAME_RATE)
    finally:
        browser.stop()


def _show_obstacles(browser: Browser, problem: Problem) -> None:
    scene, color = browser.server.scene, (200, 80, 60)
    for obstacle in problem.obstacles:
        name, position = f"/obstacles/{obstacle.name}", obstacle.center
        if isinstance(obstacle, Sphere):
            scene.add_icosphere(name, radius=obstacle.radius, color=color, opacity=0.5, position=position)
            continue
        size, turn = tuple(obstacle.size.tolist()), quaternion(obstacle.rotation)
        scene.add_box(name, dimensions=size, color=color, opacity=0.5, position=position, wxyz=turn)
