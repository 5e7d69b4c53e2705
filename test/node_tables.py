# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Reads the tables of docs/reference/nodes, and makes them from running nodes."""

import re
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from ros_graph import Graph

from robodyn_ros.nodes.controller.parameters import is_fixed_while_configured

ROOT = Path(__file__).parents[1]

UNSAID = ("use_sim_time", "start_type_description_service")
"""Parameters that rclpy gives to every node."""

MANY = 1e300
"""What a range says where there is no limit."""


PAGES = ROOT / "docs/reference/nodes"

NAMES = tuple(sorted(page.stem for page in PAGES.glob("*.md") if page.stem.isidentifier() and page.stem != "index"))
"""Names of the nodes that have a page."""


def pages(node: str) -> str:
    """The text about a node: its page, and the one of its parameters if they have one of their own."""
    return "".join(page.read_text(encoding="utf-8") for page in sorted(PAGES.glob(f"{node}*.md")))


def rows(text: str, columns: int) -> list[list[str]]:
    """The rows of all tables of a text that have this number of columns, without headings and backticks."""
    found = []
    lines = [line for line in text.splitlines() if line.startswith("|")]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        is_heading = set(following) <= set("|-") and following != ""
        if len(cells) == columns and not is_heading and not set(line) <= set("|-"):
            found.append(cells)
    return found


def described(graph: Graph, node: str) -> dict[str, tuple[ParameterDescriptor, ParameterValue]]:
    """Name → descriptor and value of the parameters of a running node that are the package's own."""
    names = graph.call(ListParameters, f"{node}/list_parameters").result.names
    names = sorted(name for name in names if name not in UNSAID and not name.startswith("qos_overrides"))
    descriptors = graph.call(DescribeParameters, f"{node}/describe_parameters", names=names).descriptors
    values = graph.call(GetParameters, f"{node}/get_parameters", names=names).values
    return {name: (d, v) for name, d, v in zip(names, descriptors, values, strict=True)}


def parameter_rows(graph: Graph, node: str, joints: tuple[str, ...], given: dict[str, str]) -> list[str]:
    """The rows of a node's parameters, made from the running node; the parameters of joints are listed once.

    Args:
        graph: in which the node runs.
        node: its name.
        joints: names of the arm's.
        given: parameter that the node was started with → its default, as the table has it.
    """
    lines: dict[str, tuple[str, ...]] = {}
    for name, (descriptor, value) in described(graph, node).items():
        joint = next((joint for joint in joints if name.endswith(f".{joint}") or f".{joint}." in name), None)
        default = given[name] if name in given else "the arm's" if name == "joints" else _value(value)
        configure = node == "controller" and is_fixed_while_configured(name)
        when = "start" if descriptor.read_only else "configure" if configure else "any time"
        row = (default, _allowed(descriptor), descriptor.description, when)
        if re.match(r"faults\.\w+\.", name):
            name = re.sub(r"\.\w+\.", ".<kind>.", name)
            what = (
                "reaction to this [kind of fault](../../safety.md#faults)"
                if name.endswith("reaction")
                else "longest time of the reaction [s]"
            )
            row = ("the kind's", "the kind's" if name.endswith("reaction") else row[1], what, when)
        if joint is None:
            lines[name] = row
            continue
        general = name.replace(f".{joint}", ".<joint>")
        row = tuple(re.sub(rf"\bjoint {joint}\b", "the joint", cell) for cell in row)
        before = lines.get(general, row)
        lines[general] = tuple(_merged(one, other) for one, other in zip(before, row, strict=True))
    return [re.sub(" +", " ", f"| `{name}` | {' | '.join(row)} |") for name, row in lines.items()]


def _merged(one: str, other: str) -> str:
    """A cell of two joints that differ."""
    if one == other:
        return one
    units = re.compile(r"\[(?:N·m|N|m|rad)(/s)?(?: or (?:N·m|rad)(?:/s)?)?\]")
    first, second = units.search(one), units.search(other)
    if first and second and units.sub("", one) == units.sub("", other):
        per = first.group(1) or ""
        both = ("N", "N·m") if "N" in first.group(0) else ("m", "rad")
        return units.sub(f"[{both[0]}{per} or {both[1]}{per}]", one)
    return "the arm's"


def _value(value: Any) -> str:
    content = parameter_value_to_python(value)
    if content is None:
        return ""
    if isinstance(content, bool):
        return str(content).lower()
    if isinstance(content, (int, float)):
        return f"{content:g}"
    if isinstance(content, str):
        return content or '""'
    return "[" + ", ".join(item if isinstance(item, str) else f"{item:g}" for item in content) + "]"


def _allowed(descriptor: ParameterDescriptor) -> str:
    for bounds in [*descriptor.floating_point_range, *descriptor.integer_range]:
        least, greatest = ("" if abs(value) > MANY else f"{value:g}" for value in (bounds.from_value, bounds.to_value))
        return f"{least} … {greatest}".strip()
    return str(descriptor.additional_constraints)


def quality(profile: QoSProfile) -> str:
    """The page's word for a quality of service."""
    if profile.durability == DurabilityPolicy.TRANSIENT_LOCAL:
        return "latched"
    return "newest" if profile.reliability == ReliabilityPolicy.BEST_EFFORT else "reliable"
