# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""``robodyn plugins``: list the plugins that are installed.

Lists the installed plugins and the module that each comes from. If a plugin
cannot be loaded, the cause is shown and the exit code is 1. For a control law,
the list states whether it is traced and runs compiled, or the reason why it
runs as Python.

Examples:
    robodyn plugins           all of them
    robodyn plugins dynamics  of one kind
    robodyn plugins --json    for a script
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from rich.text import Text

import robodyn_ros as rd
from robodyn_ros.cli.console import console, print_json, simple_table
from robodyn_ros.cli.verb import ExitCode, add_option
from robodyn_ros.control.compiled_step import trace_problem
from robodyn_ros.control.laws.traced import kind_problem
from robodyn_ros.errors import PluginError
from robodyn_ros.files import find
from robodyn_ros.plugins import GROUPS, available, load, raised

ARM = "urdf/prr.urdf"
"""The arm that control laws are traced for."""


class PluginEntry(NamedTuple):
    """A plugin, as it is listed."""

    kind: str
    name: str
    summary: str  # the first line of its docstring
    origin: str  # its class, as module:name
    problem: str  # why it cannot be loaded, empty if it can
    runs: str = ""  # of a control law: "traced", or "as Python: " and why


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument("kind", nargs="?", choices=sorted(GROUPS), help="only plugins of this kind")
    add_option(parser, "--json", "print JSON instead of a table", bool)


def run(args: Namespace) -> ExitCode:
    """List the plugins; the answer is no if one of them cannot be loaded."""
    kinds = [args.kind] if args.kind else sorted(GROUPS)
    entries = [_entry(kind, name) for kind in kinds for name in available(kind)]
    if args.json:
        print_json([entry._asdict() for entry in entries])
    else:
        _show(entries)
    return ExitCode.NO if any(entry.problem for entry in entries) else ExitCode.YES


def _entry(kind: str, name: str) -> PluginEntry:
    try:
        plugin = load(kind, name)
    except PluginError as problem:
        return PluginEntry(kind, name, "", "", str(problem))
    summary = (plugin.__doc__ or "").strip().partition("\n")[0]
    origin = f"{plugin.__module__}:{plugin.__qualname__}"
    return PluginEntry(kind, name, summary, origin, "", _how_it_runs(name) if kind == "controllers" else "")


def _how_it_runs(law: str) -> str:
    """Return "traced" for a control law, or the reason why it is not; it is tried on the arm of the package."""
    dynamics = rd.create_dynamics("rnea", rd.load_robot(find(ARM)), compiled=False)
    try:
        problem = kind_problem(load("controllers", law))
        problem = problem or trace_problem(rd.create_controller(law, dynamics, 100.0, 20.0))
    except Exception as cause:  # of a law of another package
        problem = raised(cause)
    return f"as Python: {problem}" if problem else "traced"


def _show(entries: list[PluginEntry]) -> None:
    """Print a table with a row for each kind and the plugins below it, so that a module's name fits 80 columns."""
    out, rows = console(), list[Sequence["str | Text"]]()
    names = max([len("Name"), *(len(entry.name) + 2 for entry in entries)])
    room = out.width - names - 4  # between the columns are two spaces, and one is at each edge
    for kind, own in groupby(entries, lambda entry: entry.kind):
        rows.append((Text(kind, "cyan"),))
        rows += [(Text(f"  {entry.name}", "bold"), _what(entry, room)) for entry in own]
    out.print(simple_table(("Name", "What it is"), rows, (0, 1)))


def _what(entry: PluginEntry, room: int) -> Text:
    """The summary and the module of a plugin, or why it cannot be loaded."""
    if entry.problem:
        return Text(entry.problem, "red")
    module = _broken_at_dots(entry.origin.partition(":")[0], room)
    runs = ("\n" + entry.runs, "green" if entry.runs == "traced" else "yellow") if entry.runs else ""
    return Text.assemble(entry.summary, "\n", (module, "dim"), runs)


def _broken_at_dots(module: str, room: int) -> str:
    """A module's name in lines of at most that many columns, where its parts are that short."""
    lines = [""]
    for part in module.replace(".", ".\n").split("\n"):
        if lines[-1] and len(lines[-1] + part) > room:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
