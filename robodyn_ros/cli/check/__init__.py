"""``robodyn check``: a URDF, read as an experienced engineer would."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from robodyn_ros.cli.check.joints import Loads
from robodyn_ros.cli.check.urdf import Finding, Urdf, UrdfJoint, UrdfLink
from robodyn_ros.cli.console import console, print_json
from robodyn_ros.cli.verb import ExitCode, Verb, add_gravity
from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.robot import Robot

if TYPE_CHECKING:
    from robodyn_ros.cli.check.joints import Loads
    from robodyn_ros.cli.check.urdf import Finding, Urdf, UrdfJoint, UrdfLink
    from robodyn_ros.robot import Robot


# The tables of `robodyn check`: 80 columns at most.

POSES_A_TABLE = 3
"""How many poses fit beside each other."""

STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def table(*headings: str, left: int) -> Table:
    """A table whose first columns are text and the others numbers."""
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for index, heading in enumerate(headings):
        made.add_column(heading, justify="left" if index < left else "right", overflow="fold", no_wrap=index >= left)
    return made


def link_table(urdf: Urdf, moved: set[str], findings: Sequence[Finding]) -> Table:
    """The links: their mass and where it is. A mark stands before those with a finding."""
    made = table("", "Link", "Mass\nkg", "Centre of mass\nmm", "Principal inertias\nkg m²", left=2)
    for link in urdf.links:
        if link.inertial is None:
            remark = "massless" if link.name in moved else "does not move"
            made.add_row(_mark(link.title, findings), link.name, Text(remark, "dim"))
        else:
            made.add_row(_mark(link.title, findings), link.name, *_inertial_cells(link))
    return made


def _inertial_cells(link: UrdfLink) -> tuple[str, ...]:
    assert link.inertial is not None
    com = " ".join(f"{1e3 * value:5.0f}" for value in link.inertial.com)
    moments = " ".join(f"{value:8.3g}" for value in np.linalg.eigvalsh(link.inertial.inertia))
    return f"{link.inertial.mass:.4g}", com, moments


def joint_table(urdf: Urdf, order: Sequence[str], findings: Sequence[Finding]) -> Table:
    """The joints that move, numbered in the order of every vector; those that mimic have no number."""
    made = table("", "#", "Joint", "Type", "Axis", "Range", "Velocity", "Effort", left=5)
    moving = {joint.name: joint for joint in urdf.joints if joint.moves}
    names = [*order, *(name for name in moving if name not in order)]
    for name in names:
        joint = moving[name]
        number = str(order.index(name) + 1) if name in order else ""
        made.add_row(_mark(joint.title, findings), number, name, *_joint_cells(joint))
    return made


def _joint_cells(joint: UrdfJoint) -> tuple[str, ...]:
    limits, unit = joint.limits or {}, "m" if joint.type == "prismatic" else "rad"
    effort_unit = "N" if joint.type == "prismatic" else "N·m"
    axis = "x (default)" if joint.axis is None else " ".join(f"{value:.3g}" for value in joint.axis)
    bounded = joint.type != "continuous" and {"lower", "upper"} & limits.keys()
    span = f"{limits.get('lower', 0.0):.3g} … {limits.get('upper', 0.0):.3g} {unit}" if bounded else "unlimited"
    velocity = f"{limits['velocity']:.4g} /s" if "velocity" in limits else "none"
    effort = f"{limits['effort']:.4g} {effort_unit}" if "effort" in limits else "none"
    kind = joint.type if joint.mimic is None else f"mimics {joint.mimic}"
    return kind, axis, span, velocity, effort


def load_tables(robot: Robot, found: Loads) -> Iterator[Table]:
    """What it takes to hold the arm: at each pose, and at the worst of the whole range."""
    names = list(found.poses)
    for start in range(0, len(names), POSES_A_TABLE):
        some = names[start : start + POSES_A_TABLE]
        headings = ("Joint", "Unit", *(name[:12] for name in some), "Worst", "Limit", "Share", "Inertia felt")
        made = table(*headings, left=2)
        for index, joint in enumerate(robot.joints):
            worst, limit = abs(found.worst[index]), joint.effort
            share = worst / limit if limit > 0.0 else np.inf
            made.add_row(
                joint.name,
                joint.effort_unit,
                *(_number(found.efforts[name][index]) for name in some),
                _number(worst),
                f"{limit:.4g}" if np.isfinite(limit) else "none",
                Text(f"{share:.0%}", "bold red" if share > 1.0 else "") if np.isfinite(limit) else "",
                f"{found.lightest[index]:.3g} … {found.heaviest[index]:.3g}",
            )
        condition = ["", *(f"{found.condition[name]:.3g}" for name in some), f"{found.worst_condition:.3g}"]
        made.add_row("condition of M", *condition, style="dim")
        yield made


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) > 1e-9 else "0"


def finding_lines(findings: Sequence[Finding]) -> Iterator[Text]:
    """The findings, the gravest first."""
    for severity, style in STYLES.items():
        for finding in findings:
            if finding.severity == severity:
                where = f", line {finding.line}" if finding.line else ""
                yield Text.assemble((f"{severity}: ", style), (f"{finding.element}{where}: ", "bold"), finding.text)


def _mark(title: str, findings: Sequence[Finding]) -> Text:
    graves = [finding.severity for finding in findings if finding.element == title]
    for severity, mark in (("error", "✗"), ("warning", "!"), ("note", "·")):
        if severity in graves:
            return Text(mark, STYLES[severity])
    return Text(" ")


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
    from robodyn_ros.cli.check.joints import joint_findings
    from robodyn_ros.cli.check.links import link_findings
    from robodyn_ros.cli.check.urdf import read_urdf

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
    from robodyn_ros.cli.check.joints import load_findings, loads, parse_pose
    from robodyn_ros.cli.check.urdf import Finding

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
    from robodyn_ros.cli.check.links import moving_links

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

    from robodyn_ros.cli.check.links import moving_links

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
