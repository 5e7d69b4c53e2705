# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The report of ``robodyn check``: tables of 80 columns at most and a list of findings, or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from robodyn_ros.cli.check.joints import Loads
from robodyn_ros.cli.check.links import moving_links
from robodyn_ros.cli.check.urdf import Urdf, UrdfJoint, UrdfLink
from robodyn_ros.cli.console import console
from robodyn_ros.robot import Robot
from robodyn_ros.robot.robot import Finding
from robodyn_ros.robot.urdf import MOTION_LIMITS

POSES_A_TABLE = 3
"""Number of poses that fit beside each other."""

STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def show(urdf: Urdf, findings: list[Finding], robot: Robot | None, found: Loads | None) -> None:
    """Print the report; robot and loads are None where no robot can be made."""
    out, moved = console(), moving_links(urdf)
    mass = sum(link.inertial.mass for link in urdf.links if link.inertial and link.name in moved)
    order = () if robot is None else robot.joint_names
    has = f"{_counted(len(urdf.links), 'link')}, {_counted(len(order), 'joint')}"
    out.print(Text(f"{urdf.name}: {has}, {mass:.4g} kg that move\n", "bold"))
    out.print(link_table(urdf, moved, findings))
    out.print(joint_table(urdf, order, findings))
    for made in motion_tables(urdf):
        out.print(made)
    if robot is not None and found is not None:
        out.print(Text("Efforts that hold the arm; reflected inertia of each joint", "bold"))
        for made in load_tables(robot, found):
            out.print(made)
    for line in finding_lines(findings):
        out.print(line)
    out.print(_verdict(findings))


def _verdict(findings: list[Finding]) -> Text:
    count = Counter(finding.severity for finding in findings)
    counted = ", ".join(_counted(count[kind], kind) for kind in ("error", "warning", "note"))
    style = "bold red" if count["error"] else "bold yellow" if count["warning"] else "bold green"
    return Text(f"\n{counted}" if findings else "Nothing suspicious.", style)


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def as_data(urdf: Urdf, findings: list[Finding], robot: Robot | None, found: Loads | None) -> dict[str, Any]:
    """The report for a script, as JSON takes it; robot and loads are None where no robot can be made."""
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


def table(*headings: str, left: int) -> Table:
    """A table whose first columns are text and the others numbers."""
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for index, heading in enumerate(headings):
        made.add_column(heading, justify="left" if index < left else "right", overflow="fold", no_wrap=index >= left)
    return made


def link_table(urdf: Urdf, moved: set[str], findings: Sequence[Finding]) -> Table:
    """The links with their mass, centre of mass and inertia; a mark stands before a link with a finding."""
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
    com = " ".join(f"{np.round(1e3 * value) + 0.0:5.0f}" for value in link.inertial.com)
    moments = " ".join(f"{value:8.3g}" for value in np.linalg.eigvalsh(link.inertial.inertia))
    return f"{link.inertial.mass:.4g}", com, moments


def joint_table(urdf: Urdf, order: Sequence[str], findings: Sequence[Finding]) -> Table:
    """The joints that move, numbered in the order of q; mimic joints have no number."""
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
    axis = "x (default)" if joint.axis is None else " ".join(f"{value + 0.0:.3g}" for value in joint.axis)
    bounded = joint.type != "continuous" and {"lower", "upper"} & limits.keys()
    span = f"{limits.get('lower', 0.0):.3g} … {limits.get('upper', 0.0):.3g} {unit}" if bounded else "unlimited"
    velocity = f"{limits['velocity']:.4g} {unit}/s" if "velocity" in limits else "none"
    effort = f"{limits['effort']:.4g} {effort_unit}" if "effort" in limits else "none"
    kind = joint.type if joint.mimic is None else f"mimics {joint.mimic}"
    return kind, axis, span, velocity, effort


def motion_tables(urdf: Urdf) -> Iterator[Table]:
    """The limits of acceleration, deceleration and jerk of the joints that name one; nothing if none does."""
    made = table("Joint", *(name.capitalize() for name in MOTION_LIMITS), left=1)
    for joint in urdf.joints:
        limits, unit = joint.limits or {}, "m" if joint.type == "prismatic" else "rad"
        units = dict(zip(MOTION_LIMITS, (f"{unit}/s²", f"{unit}/s²", f"{unit}/s³"), strict=True))
        cells = [f"{limits[name]:.4g} {units[name]}" if name in limits else "none" for name in MOTION_LIMITS]
        if set(MOTION_LIMITS) & limits.keys():
            made.add_row(joint.name, *cells)
    if made.row_count:
        yield made


def load_tables(robot: Robot, found: Loads) -> Iterator[Table]:
    """The efforts that hold the arm, at each pose and at the worst of the whole range."""
    names = list(found.poses)
    for start in range(0, len(names), POSES_A_TABLE):
        some = names[start : start + POSES_A_TABLE]
        headings = ("Joint", "Unit", *(name[:12] for name in some), "Worst", "Limit", "Share", "Inertia felt")
        made = table(*headings, left=2)
        for index, joint in enumerate(robot.joints):
            worst, limit = abs(found.worst[index]), joint.effort
            ratio = worst / limit if limit > 0.0 else np.inf
            made.add_row(
                joint.name,
                joint.effort_unit,
                *(_number(found.efforts[name][index]) for name in some),
                _number(worst),
                f"{limit:.4g}" if np.isfinite(limit) else "none",
                Text(f"{ratio:.0%}", "bold red" if ratio > 1.0 else "") if np.isfinite(limit) else "",
                " … ".join(dict.fromkeys(f"{inertia[index]:.3g}" for inertia in (found.lightest, found.heaviest))),
            )
        condition = ["", *(f"{found.condition[name]:.3g}" for name in some), f"{found.worst_condition:.3g}"]
        made.add_row("condition of M", *condition, style="dim")
        yield made


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) > 1e-9 else "0"


def finding_lines(findings: Sequence[Finding]) -> Iterator[Text]:
    """The findings, the most severe first."""
    for severity, style in STYLES.items():
        for finding in findings:
            if finding.severity == severity:
                where = f", line {finding.line}" if finding.line else ""
                yield Text.assemble((f"{severity}: ", style), (f"{finding.element}{where}: ", "bold"), finding.text)


def _mark(title: str, findings: Sequence[Finding]) -> Text:
    severities = [finding.severity for finding in findings if finding.element == title]
    for severity, mark in (("error", "✗"), ("warning", "!"), ("note", "·")):
        if severity in severities:
            return Text(mark, STYLES[severity])
    return Text(" ")
