# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn check``: likely mistakes in a URDF, and the efforts that hold the arm.

Reads a URDF and finds its likely mistakes: impossible masses, centres of mass
and inertias, placeholders, wrong units, missing limits. Shows the joints, the
efforts that hold the arm, at poses and at the worst of its range, against the
effort limits, and the condition of its mass matrix. The exit code is 1 if
something is wrong or suspicious.

Examples:
    robodyn check arm.urdf                         everything
    robodyn check arm.urdf --at pick=0.3,-1.2,0.7  and that pose
    robodyn check arm.urdf --json                  for a script
    robodyn check arm.urdf.xacro side:=left        a .xacro file
    robodyn check arm.urdf --repair new.urdf       with possible inertias
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from robodyn_ros import create_dynamics
from robodyn_ros.cli.arm import add_arm, arm_settings, arm_source, without_locked
from robodyn_ros.cli.check import joints
from robodyn_ros.cli.check.urdf import Urdf, UrdfJoint, link_findings, moving_links, read_urdf
from robodyn_ros.cli.console import console, picked, print_json, simple_table, write_file
from robodyn_ros.cli.verb import ExitCode, add_gravity, add_option
from robodyn_ros.engine.casadi import has_casadi
from robodyn_ros.engine.library import only_listed
from robodyn_ros.errors import RobotDescriptionError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.description import UrdfDocument, read_document
from robodyn_ros.robot.robot import Finding, Inertial
from robodyn_ros.robot.urdf import MOTION_LIMITS, build, repair
from robodyn_ros.simulation.plant.base import PlantSettings


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_arm(parser)
    text = "write the URDF here, with the nearest possible inertia in place of each impossible one"
    add_option(parser, "--repair FILE", text, Path)
    text = "a pose to hold: 0.3,-1,0 or joint=-1, or with a name, pick=0.3,-1,0; repeatable"
    add_option(parser, "--at POSE", text, repeatable=True)
    add_gravity(parser)
    add_option(parser, "--dynamics NAME", "dynamics plugin", "rnea")
    add_option(parser, "--json", "print JSON instead of tables", bool)


@np.errstate(over="ignore", divide="ignore")  # what is beyond the range of numbers is infinite in the findings
def run(args: Namespace) -> ExitCode:
    """Check, and print the findings; the answer is no if there is an error or a warning."""
    document = read_document(arm_source(args))
    if args.repair is not None:
        document = _repaired(document, args.repair)
    urdf, problems = read_urdf(document)
    form = [_error(document, problem) for problem in problems]
    findings = [*form, *link_findings(urdf, {one.element for one in form})]
    findings += joints.joint_findings(urdf, {(one.element, one.text) for one in form})
    robot, found = _loaded(args, document, findings)
    if robot is not None:
        findings = [finding for finding in findings if finding not in form]  # it has the name of its file
        urdf = urdf._replace(name=robot.name)
        findings.extend(joints.follower_findings(robot, urdf))
    if robot is not None and found is not None:
        findings.extend(joints.motor_findings(robot, urdf, found.lightest))
    if args.json:
        print_json(as_data(urdf, findings, robot, found))
    else:
        show(urdf, findings, robot, found)
    return ExitCode.NO if {"error", "warning"} & {finding.severity for finding in findings} else ExitCode.YES


def _repaired(document: UrdfDocument, out: Path) -> UrdfDocument:
    """Write the URDF with possible inertias, print each change, and read the written file.

    Raises:
        InputError: the file cannot be written.
        RobotDescriptionError: a link is not complete, or a value is no number.
    """
    text, changes = repair(document)
    write_file("--repair", out, text)
    for change in changes:
        print(f"{change.element}: {change.text}", file=sys.stderr)
    print(f"repaired inertias: {len(changes)}, written to {out}", file=sys.stderr)
    return read_document(out)


def _loaded(
    args: Namespace, document: UrdfDocument, findings: list[Finding]
) -> tuple[Robot | None, joints.Loads | None]:
    """The robot and its loads, or None with the reason among the findings."""
    robot = None
    try:
        robot = without_locked(build(document, arm_settings(args)), args=args)
        known = {finding[:2] for finding in findings}
        findings.extend(finding for finding in robot.findings if finding[:2] not in known)
        dynamics = create_dynamics(args.dynamics, robot, gravity=args.gravity)
    except RobotDescriptionError as problem:
        # The findings have it too, but without the remedy.
        element, text = problem.element, problem.problem
        findings[:] = [one for one in findings if one.element != element or not text.startswith(one.text)]
        findings.append(_error(document, problem))
        return robot, None
    with only_listed() if has_casadi() else nullcontext():  # too few states to be worth a compilation
        found = joints.loads(dynamics, dict(joints.named_pose(text, robot) for text in args.at))
        findings.extend(joints.load_findings(robot, found))
        findings.extend(joints.damping_findings(dynamics, PlantSettings().step))
        findings.extend(joints.uncertainty_findings(dynamics))
    return robot, found


def _error(document: UrdfDocument, problem: RobotDescriptionError) -> Finding:
    place = document.places.get(problem.element)
    return Finding("error", problem.element, None if place is None else place.line, problem.problem)


POSES_A_TABLE = 3
"""Number of poses that fit beside each other."""

STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}
"""Severity of a finding → its style; the most severe first."""

MARKS = {"error": "✗", "warning": "!", "note": "·"}


def show(urdf: Urdf, findings: list[Finding], robot: Robot | None, found: joints.Loads | None) -> None:
    """Print the report in tables of 80 columns at most; robot and loads are None where no robot can be made."""
    out, moved = console(), moving_links(urdf)
    mass = sum(link.inertial.mass for link in urdf.links if link.inertial and link.name in moved)
    order = () if robot is None else robot.joint_names
    joints_there = order or [joint.name for joint in urdf.joints if joint.moves and joint.mimic is None]
    has = f"{_counted(len(urdf.links), 'link')}, {_counted(len(joints_there), 'joint')}"
    out.print(Text(f"{urdf.name}: {has}, {mass:.4g} kg that move\n", "bold"))
    out.print(link_table(urdf, moved, findings))
    out.print(joint_table(urdf, order, findings))
    for made in motion_tables(urdf):
        out.print(made)
    if robot is not None and found is not None:
        out.print(Text("Efforts that hold the arm; reflected inertia of each joint", "bold"))
        for made in load_tables(robot, found):
            out.print(made)
    for finding in sorted(findings, key=lambda one: [*STYLES].index(one.severity)):
        where = f", line {finding.line}" if finding.line else ""
        heads = (f"{finding.severity}: ", STYLES[finding.severity]), (f"{finding.element}{where}: ", "bold")
        out.print(Text.assemble(*heads, finding.text))
    out.print(_verdict(findings))


def _verdict(findings: list[Finding]) -> Text:
    count = Counter[str](finding.severity for finding in findings)
    counted = ", ".join(_counted(count[kind], kind) for kind in STYLES)
    style = "bold red" if count["error"] else "bold yellow" if count["warning"] else "bold green"
    return Text(f"\n{counted}" if findings else "Nothing suspicious.", style)


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def as_data(urdf: Urdf, findings: list[Finding], robot: Robot | None, found: joints.Loads | None) -> dict[str, Any]:
    """The report for a script, as JSON takes it; robot and loads are None where no robot can be made."""
    moved = moving_links(urdf)
    report: dict[str, Any] = {"robot": urdf.name, "findings": [finding._asdict() for finding in findings], "links": []}
    for link in urdf.links:
        inertial = {name: getattr(link.inertial, name, None) for name in ("mass", "com", "inertia")}
        report["links"].append({"name": link.name, "moves": link.name in moved, **inertial})
    report["joints"] = [picked(joint, "name", "type", "mimic", "limits") for joint in urdf.joints]
    report |= {"order": None if robot is None else robot.joint_names, "loads": None}
    if found is not None:
        report["loads"] = picked(found, "poses", "efforts", "worst", "worst_poses") | {
            "condition": {**found.condition, "worst": found.worst_condition},
            "reflected_inertia": [found.lightest, found.heaviest],
        }
    return report


def link_table(urdf: Urdf, moved: set[str], findings: Sequence[Finding]) -> Table:
    """The links with their mass, centre of mass and inertia; a mark stands before a link with a finding."""
    rows: list[tuple[str | Text, ...]] = []
    for link in urdf.links:
        remark = Text("massless" if link.name in moved else "does not move", "dim")
        cells: tuple[str | Text, ...] = (remark,) if link.inertial is None else _inertial_cells(link.inertial)
        rows.append((_mark(link.title, findings), link.name, *cells))
    heads = ("", "Link", "Mass\nkg", "Centre of mass\nmm", "Principal inertias\nkg m²")
    return simple_table(heads, rows, left=(0, 1))


def _inertial_cells(inertial: Inertial) -> tuple[str, ...]:
    com = " ".join(f"{np.round(1e3 * value) + 0.0:5.0f}" for value in inertial.com)
    moments = " ".join(f"{value:8.3g}" for value in np.linalg.eigvalsh(inertial.inertia))
    return f"{inertial.mass:.4g}", com, moments


def joint_table(urdf: Urdf, order: Sequence[str], findings: Sequence[Finding]) -> Table:
    """The joints that move, numbered in the order of q; mimic joints have no number."""
    rows: list[tuple[str | Text, ...]] = []
    moving = {joint.name: joint for joint in urdf.joints if joint.moves}
    for name in (*order, *(name for name in moving if name not in order)):
        number = str(order.index(name) + 1) if name in order else ""
        rows.append((_mark(moving[name].title, findings), number, name, *_joint_cells(moving[name])))
    heads = ("", "#", "Joint", "Type", "Axis", "Range", "Velocity", "Effort")
    return simple_table(heads, rows, left=range(5))


def _joint_cells(joint: UrdfJoint) -> tuple[str, ...]:
    limits, unit = joint.limits or {}, "m" if joint.type == "prismatic" else "rad"
    effort_unit = "N" if joint.type == "prismatic" else "N·m"
    axis = "x (default)" if joint.axis is None else " ".join(f"{value + 0.0:.3g}" for value in joint.axis)
    given = {"lower", "upper"} & limits.keys() if joint.type != "continuous" else ()
    ends = limits.get("lower", 0.0), limits.get("upper", 0.0)
    span = f"{ends[0]:.3g} … {ends[1]:.3g} {unit}" if given and not np.isinf(ends).all() else "unlimited"
    velocity = f"{limits['velocity']:.4g} {unit}/s" if "velocity" in limits else "none"
    effort = f"{limits['effort']:.4g} {effort_unit}" if "effort" in limits else "none"
    kind = joint.type if joint.mimic is None else f"mimics {joint.mimic}"
    return kind, axis, span, velocity, effort


def motion_tables(urdf: Urdf) -> Iterator[Table]:
    """The limits of acceleration, deceleration and jerk of the joints that name one; nothing if none does."""
    rows = []
    for joint in urdf.joints:
        limits, unit = joint.limits or {}, "m" if joint.type == "prismatic" else "rad"
        units = dict(zip(MOTION_LIMITS, (f"{unit}/s²", f"{unit}/s²", f"{unit}/s³"), strict=True))
        cells = [f"{limits[name]:.4g} {units[name]}" if name in limits else "none" for name in MOTION_LIMITS]
        if set(MOTION_LIMITS) & limits.keys():
            rows.append((joint.name, *cells))
    if rows:
        yield simple_table(("Joint", *(name.capitalize() for name in MOTION_LIMITS)), rows)


def load_tables(robot: Robot, found: joints.Loads) -> Iterator[Table]:
    """The efforts that hold the arm, at each pose and at the worst of the whole range."""
    names = list(found.poses)
    for start in range(0, len(names), POSES_A_TABLE):
        some = names[start : start + POSES_A_TABLE]
        rows: list[tuple[str | Text, ...]] = []
        for index, joint in enumerate(robot.joints):
            worst, limit = abs(found.worst[index]), joint.effort
            ratio = worst / limit if limit > 0.0 else np.inf
            of_limit = Text(f"{ratio:.0%}", "bold red" if ratio > 1.0 else "") if np.isfinite(limit) else ""
            inertias = dict.fromkeys(f"{inertia[index]:.3g}" for inertia in (found.lightest, found.heaviest))
            held = (_number(value) for value in (*(found.efforts[name][index] for name in some), worst))
            bound = f"{limit:.4g}" if np.isfinite(limit) else "none"
            rows.append((joint.name, joint.effort_unit, *held, bound, of_limit, " … ".join(inertias)))
        conditions = [*(found.condition[name] for name in some), found.worst_condition]
        rows.append((Text("condition of M", "dim"), "", *(Text(f"{value:.3g}", "dim") for value in conditions)))
        poses = (name.replace(",", ", ") for name in some)
        heads = ("Joint", "Unit", *poses, "Worst", "Limit", "Ratio", "Reflected inertia")
        yield simple_table(heads, rows, left=(0, 1))


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) > 1e-9 else "0"


def _mark(title: str, findings: Sequence[Finding]) -> Text:
    severities = {finding.severity for finding in findings if finding.element == title}
    return next((Text(mark, STYLES[kind]) for kind, mark in MARKS.items() if kind in severities), Text(" "))


def main() -> int:
    """``ros2 run robodyn_ros check arm.urdf``."""
    from robodyn_ros.cli.main import main as robodyn

    return robodyn(["check", *sys.argv[1:]])
