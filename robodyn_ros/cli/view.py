# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn view``: an arm in the browser, with sliders that move it.

Starts a simulator and a controller as processes of their own, in an isolated
ROS 2 graph, and a viewer that shows the arm in a browser: sliders that send
references, buttons for hold, pause, step and reset, a choice of controller and
dynamics plugin, and live plots. Ctrl-C ends it.

Only this machine can reach it, unless --host is given, and only the printed
address opens it: its token is new for each start.

Examples:
    robodyn view                          the PRR arm, at the address printed
    robodyn view my_arm.urdf              your own arm
    robodyn view -p command_delay:=0.004  with slow drives
    robodyn view --attach                 an arm that runs already, real or not
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from robodyn_ros.cli.arm import OWN_GAINS, POSES, add_arm, arm_settings, arm_source, chooses_joints, chosen_arm
from robodyn_ros.cli.console import console
from robodyn_ros.cli.processes import GroupProcess, ProcessGroup, add_namespace, isolated, namespace_of, start_arm
from robodyn_ros.cli.verb import ExitCode, add_option, add_parameters, node_parameters, only_with
from robodyn_ros.errors import InputError, need_ros
from robodyn_ros.files import find
from robodyn_ros.plugins import find as find_plugin
from robodyn_ros.robot.description import read_document
from robodyn_ros.robot.urdf import build
from robodyn_ros.view.browser import check_free
from robodyn_ros.view.gate import EXPOSED, is_exposed

OWN = "prr"
"""The arm that is shown unless one is given."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    add_arm(parser, nargs="?", default=OWN)
    what = "the nodes simulator and controller; the PRR arm has its own unless one is given"
    add_parameters(parser, what, "command_delay:=0.004")
    add_option(parser, "--controller NAME", "control law (default: that of the parameters, or computed_torque)")
    add_option(parser, "--dynamics NAME", "dynamics plugin (default: that of the parameters, or rnea)")
    add_option(parser, "--host", "address to listen at; 0.0.0.0 lets other machines in", "127.0.0.1")
    add_option(parser, "--port", "port to listen at", 8080)
    text = "show, and move, the arm of the running ROS 2 graph, by its topic robot_description"
    add_option(parser, "--attach", text, bool)
    add_namespace(parser)


def run(args: Namespace) -> ExitCode:
    """Start the nodes, and show the arm until Ctrl-C."""
    need_ros()
    if args.attach and args.urdf != OWN:
        raise InputError("--attach", "takes the arm from the topic robot_description; leave the URDF out", args.urdf)
    of_arm = ("joints", "locked", "root", "tip", "params", "given", "controller", "dynamics", "accept")
    only_with(args, not args.attach, "without --attach, which shows an arm with its parameters,", *of_arm)
    namespace = namespace_of(args, args.attach, "with --attach")
    shown, start = ({}, None) if args.attach else _arm(args)
    check_free(args.host, args.port)
    with (
        TemporaryDirectory(prefix="robodyn-") as folder,
        nullcontext(os.environ) if args.attach else isolated() as env,
        ProcessGroup(env, Path(folder)) as group,
    ):
        if start:
            start(group)
        parameters = {**shown, "host": args.host, "port": args.port}
        viewer = group.start("viewer", parameters, topics=namespace, piped=True)
        if is_exposed(args.host):
            console(stderr=True).print(f"warning: {EXPOSED}")
        if args.attach:
            console(stderr=True).print("waiting for the topic robot_description", style="cyan")
        console().print(f"{url(group, viewer)}  (Ctrl-C ends)", soft_wrap=True)
        group.stay()


def _arm(args: Namespace) -> tuple[dict[str, Any], Callable[[ProcessGroup], object] | None]:
    """Read the arm, and return parameters of the viewer, and what starts simulator and controller, if it has masses."""
    document = read_document(arm_source(args))
    robot = chosen_arm(build(document, arm_settings(args)), args=args)
    given = node_parameters(args, robot)
    if args.urdf == OWN and not given.files:
        given = given._replace(files=[find(OWN_GAINS)])
    model: dict[str, Any] = {"robot_description": robot.urdf, "accept": list(arm_settings(args).accept)}
    for kind, name in (("controllers", args.controller), ("dynamics", args.dynamics)):
        if name:
            find_plugin(kind, name)
    if args.dynamics:
        model["dynamics"] = args.dynamics
    if chooses_joints(args):
        model["joints"] = list(robot.joint_names)  # in place of those of a file
    pictured: dict[str, Any] = {"robot_description": robot.urdf, "urdf_file": str(Path(document.label).absolute())}
    if args.urdf == OWN:
        pictured |= {f"poses.{name}": list(q) for name, q in POSES.items()}
    if not any(body.inertial.mass for body in robot.bodies):
        print(f"{robot.name} has no masses: the viewer poses it, without simulator and controller", file=sys.stderr)
        return {**pictured, "posed": True}, None
    start = partial(start_arm, parameters=model, controller=args.controller, given=given)
    return {**pictured, "use_sim_time": True}, start


def url(group: ProcessGroup, viewer: GroupProcess) -> str:
    """Wait for the page of a viewer, and return its address; parts that are not drawn are printed to stderr.

    Args:
        group: the nodes, which must not fail meanwhile.
        viewer: the viewer, with a pipe for its stdout.

    Raises:
        ProcessError: a node has failed.
    """
    for line in group.lines(viewer):
        if line.startswith("http://"):
            return line
        print(f"warning: {line}", file=sys.stderr)
    raise viewer.failure("ended before it showed the arm")
