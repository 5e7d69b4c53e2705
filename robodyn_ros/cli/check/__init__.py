# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn check``: a URDF, read as an experienced engineer would."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from robodyn_ros.cli.arm import add_arm, arm_settings, arm_source, without_locked
from robodyn_ros.cli.console import write_file
from robodyn_ros.cli.verb import ExitCode, Verb, add_gravity
from robodyn_ros.errors import InputError, RobotDescriptionError

if TYPE_CHECKING:
    from robodyn_ros.cli.check.joints import Loads
    from robodyn_ros.robot import Robot
    from robodyn_ros.robot.description import UrdfDocument
    from robodyn_ros.robot.robot import Finding


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_arm(parser)
    text = "write the URDF here, with the nearest possible inertia in place of each impossible one"
    parser.add_argument("--repair", type=Path, metavar="FILE", help=text)
    text = "a pose to hold: 0.3,-1,0 or joint=-1, or with a name, pick=0.3,-1,0; repeatable"
    parser.add_argument("--at", action="append", default=[], metavar="POSE", help=text)
    add_gravity(parser)
    text = "dynamics plugin (default: %(default)s)"
    parser.add_argument("--dynamics", default="rnea", metavar="NAME", help=text)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def run(args: Namespace) -> ExitCode:
    """Check, and print the findings; the answer is no if there is an error or a warning."""
    from robodyn_ros.cli.check.joints import follower_findings, joint_findings, motor_findings
    from robodyn_ros.cli.check.links import link_findings
    from robodyn_ros.cli.check.report import as_data, show
    from robodyn_ros.cli.check.urdf import read_urdf
    from robodyn_ros.cli.console import print_json
    from robodyn_ros.robot.description import read_document

    document = read_document(arm_source(args))
    if args.repair is not None:
        document = _repaired(document, args.repair)
    urdf = read_urdf(document)
    findings = [*urdf.findings, *link_findings(urdf), *joint_findings(urdf)]
    robot, found = _loaded(args, document, findings)
    if robot is not None:
        findings.extend(follower_findings(robot, urdf))
    if robot is not None and found is not None:
        findings.extend(motor_findings(robot, urdf, found.lightest))
    if args.json:
        print_json(as_data(urdf, findings, robot, found))
    else:
        show(urdf, findings, robot, found)
    return ExitCode.NO if {"error", "warning"} & {finding.severity for finding in findings} else ExitCode.YES


def _repaired(document: UrdfDocument, out: Path) -> UrdfDocument:
    """Write the URDF with possible inertias, print each change, and read the written file.

    Raises:
        InputError: the file is the URDF itself, or cannot be written.
        RobotDescriptionError: a link is not complete, or a value is no number.
    """
    from robodyn_ros.robot.description import read_document
    from robodyn_ros.robot.urdf import repair

    if document.file is not None and out.exists() and out.samefile(document.file):
        raise InputError("--repair", f"{str(out)!r} is the URDF itself, which is not overwritten", out)
    text, changes = repair(document)
    write_file("--repair", out, text)
    for change in changes:
        print(f"{change.element}: {change.text}", file=sys.stderr)
    print(f"repaired inertias: {len(changes)}, written to {out}", file=sys.stderr)
    return read_document(out)


def _loaded(args: Namespace, document: UrdfDocument, findings: list[Finding]) -> tuple[Robot | None, Loads | None]:
    """The robot and its loads, or None with the reason among the findings."""
    from robodyn_ros import create_dynamics
    from robodyn_ros.cli.check.joints import damping_findings, load_findings, loads, named_pose
    from robodyn_ros.cli.check.uncertainty import uncertainty_findings
    from robodyn_ros.robot.robot import Finding
    from robodyn_ros.robot.urdf import build
    from robodyn_ros.simulation.plant.base import PlantSettings

    robot = None
    try:
        robot = without_locked(build(document, arm_settings(args)), args=args)
        known = {finding[:2] for finding in findings}
        findings.extend(finding for finding in robot.findings if finding[:2] not in known)
        dynamics = create_dynamics(args.dynamics, robot, gravity=args.gravity)
    except RobotDescriptionError as problem:
        text, place = str(problem).removeprefix(f"{problem.element}: "), document.places.get(problem.element)
        # The findings have it too, but without the remedy.
        findings[:] = [one for one in findings if one.element != problem.element or not text.startswith(one.text)]
        findings.append(Finding("error", problem.element, None if place is None else place.line, text))
        return robot, None
    found = loads(dynamics, dict(named_pose(text, robot) for text in args.at))
    findings.extend(load_findings(robot, found))
    findings.extend(damping_findings(dynamics, PlantSettings().step))
    findings.extend(uncertainty_findings(dynamics))
    return robot, found


VERB = Verb(
    summary="read a URDF as an experienced engineer would",
    description=(
        "Reads a URDF and finds its likely mistakes: impossible masses, centres of mass\n"
        "and inertias, placeholders, wrong units, missing limits. Shows the joints, the\n"
        "efforts that hold the arm, at poses and at the worst of its range, against the\n"
        "effort limits, and the condition of its mass matrix. The exit code is 1 if\n"
        "something is wrong or suspicious."
    ),
    examples=(
        ("robodyn check arm.urdf", "everything"),
        ("robodyn check arm.urdf --at pick=0.3,-1.2,0.7", "and that pose"),
        ("robodyn check arm.urdf --json", "for a script"),
        ("robodyn check arm.urdf.xacro side:=left", "a .xacro file"),
        ("robodyn check arm.urdf --repair new.urdf", "with possible inertias"),
    ),
    add_arguments=add_arguments,
    run=run,
)


def main() -> int:
    """``ros2 run robodyn_ros check arm.urdf``."""
    from robodyn_ros.cli.main import main as robodyn

    return robodyn(["check", *sys.argv[1:]])
