"""``robodyn check``: a URDF, read as an experienced engineer would."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from typing import TYPE_CHECKING, Any

from robodyn_ros.cli.arguments import add_gravity
from robodyn_ros.cli.console import console, print_json
from robodyn_ros.cli.verb import ExitCode, Verb
from robodyn_ros.errors import RobotDescriptionError

if TYPE_CHECKING:
    from robodyn_ros.cli.check_loads import Loads
    from robodyn_ros.cli.check_urdf import Finding, Urdf, UrdfJoint, UrdfLink
    from robodyn_ros.robot import Robot


def add_arguments(parser: ArgumentParser) -> None:
    """See :class:`Verb`."""
    parser.add_argument("urdf", help="the arm's URDF")
    text = "a pose to hold, as numbers in the order of the joints or name=numbers; may be given again"
    parser.add_argument("--pose", action="append", default=[], metavar="Q", help=text)
    add_gravity(parser)
    text = "dynamics plugin (default: %(default)s)"
    parser.add_argument("--dynamics", default="rnea", metavar="NAME", help=text)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def run(args: Namespace) -> ExitCode:
    """Check, and say what was found; the answer is no if something is wrong or suspicious."""
    from robodyn_ros.cli.check_joints import joint_findings
    from robodyn_ros.cli.check_links import link_findings
    from robodyn_ros.cli.check_urdf import read_urdf

    urdf = read_urdf(args.urdf)
    findings = [*urdf.findings, *link_findings(urdf), *joint_findings(urdf)]
    robot, found = _loaded(args, urdf, findings)
    if args.json:
        print_json(_report(urdf, findings, robot, found))
    else:
        _show(urdf, findings, robot, found)
    return ExitCode.NO if {"error", "warning"} & {finding.severity for finding in findings} else ExitCode.YES


def _loaded(args: Namespace, urdf: Urdf, findings: list[Finding]) -> tuple[Robot | None, Loads | None]:
    """The robot and its loads; what keeps it from being made joins the findings."""
    from robodyn_ros import create_dynamics, load_robot
    from robodyn_ros.cli.check_loads import load_findings, loads, parse_pose
    from robodyn_ros.cli.check_urdf import Finding

    try:
        robot = load_robot(args.urdf)
    except RobotDescriptionError as problem:
        text = str(problem).removeprefix(f"{problem.element}: ")
        if not any(finding.element == problem.element and finding.text == text for finding in findings):
            parts: tuple[UrdfLink | UrdfJoint, ...] = (*urdf.links, *urdf.joints)
            lines = {part.title: part.line for part in parts}
            findings.append(Finding("error", problem.element, lines.get(problem.element), text))
        return None, None
    dynamics = create_dynamics(args.dynamics, robot, gravity=args.gravity)
    found = loads(dynamics, dict(parse_pose(text, robot) for text in args.pose))
    findings.extend(load_findings(robot, found))
    return robot, found


def _report(urdf: Urdf, findings: list[Finding], robot: Robot | None, found: Loads | None) -> dict[str, Any]:
    from robodyn_ros.cli.check_links import moving_links

    moved = moving_links(urdf)
    report: dict[str, Any] = {
        "robot": urdf.name,
        "findings": [finding._asdict() for finding in findings],
        "links": [
            {
                "name": link.name,
                "moves": link.name in moved,
                "mass": None if link.inertial is None else link.inertial.mass,
                "com": None if link.inertial is None else link.inertial.com.tolist(),
                "inertia": None if link.inertial is None else link.inertial.inertia.tolist(),
            }
            for link in urdf.links
        ],
        "joints": [
            {"name": joint.name, "type": joint.type, "mimic": joint.mimic, "limits": joint.limits}
            for joint in urdf.joints
        ],
        "order": None if robot is None else list(robot.joint_names),
        "loads": None,
    }
    if found is not None:
        report["loads"] = {
            "poses": {name: pose.tolist() for name, pose in found.poses.items()},
            "efforts": {name: effort.tolist() for name, effort in found.efforts.items()},
            "worst": found.worst.tolist(),
            "worst_poses": found.worst_poses.tolist(),
            "condition": {**found.condition, "worst": found.worst_condition},
            "inertia_felt": [found.lightest.tolist(), found.heaviest.tolist()],
        }
    return report


def _show(urdf: Urdf, findings: list[Finding], robot: Robot | None, found: Loads | None) -> None:
    from rich.text import Text

    from robodyn_ros.cli.check_links import moving_links
    from robodyn_ros.cli.check_table import finding_lines, joint_table, link_table, load_tables

    out, moved = console(), moving_links(urdf)
    mass = sum(link.inertial.mass for link in urdf.links if link.inertial and link.name in moved)
    order = () if robot is None else robot.joint_names
    out.print(Text(f"{urdf.name}: {len(urdf.links)} links, {len(order)} joints, {mass:.4g} kg that move\n", "bold"))
    out.print(link_table(urdf, moved, findings))
    out.print(joint_table(urdf, order, findings))
    if robot is not None and found is not None:
        out.print(Text("Efforts that hold the arm; inertia that each joint feels", "bold"))
        for made in load_tables(robot, found):
            out.print(made)
    for line in finding_lines(findings):
        out.print(line)
    count = Counter(finding.severity for finding in findings)
    counted = ", ".join(f"{count[kind]} {kind}{'s' * (count[kind] != 1)}" for kind in ("error", "warning", "note"))
    style = "bold red" if count["error"] else "bold yellow" if count["warning"] else "bold green"
    out.print(Text(f"\n{counted}" if findings else "Nothing suspicious.", style))


VERB = Verb(
    summary="read a URDF as an experienced engineer would",
    description=(
        "Reads a URDF and says what an experienced engineer would ask about it: masses,\n"
        "centres of mass and inertias that cannot be, placeholders, wrong units, missing\n"
        "limits; which joint is which; what it takes to hold the arm, at poses and at the\n"
        "worst of its range, against the effort limits; and how well its mass matrix can\n"
        "be inverted. The exit code is 1 if something is wrong or suspicious."
    ),
    examples=(
        ("robodyn check arm.urdf", "everything"),
        ("robodyn check arm.urdf --pose pick=0.3,-1.2,0.7", "and that pose"),
        ("robodyn check arm.urdf --json", "for a script"),
    ),
    add_arguments=add_arguments,
    run=run,
)


def main() -> int:
    """``ros2 run robodyn_ros check arm.urdf``."""
    from robodyn_ros.cli.main import main as robodyn

    return robodyn(["check", *sys.argv[1:]])
