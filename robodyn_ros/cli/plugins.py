"""``robodyn plugins``: what is installed, and where it comes from."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import NamedTuple

from robodyn_ros.cli.console import console, print_json
from robodyn_ros.cli.verb import ExitCode, Verb
from robodyn_ros.errors import PluginError
from robodyn_ros.plugins import GROUPS, available, load


class Found(NamedTuple):
    """A plugin, as the table shows it."""

    kind: str
    name: str
    summary: str  # the first line of its docstring
    origin: str  # its class
    problem: str  # why it cannot be used, empty if it can


def add_arguments(parser: ArgumentParser) -> None:
    """See :class:`Verb`."""
    parser.add_argument("kind", nargs="?", choices=sorted(GROUPS), help="only plugins of this kind")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: Namespace) -> ExitCode:
    """List the plugins; the answer is no if one of them cannot be loaded."""
    kinds = [args.kind] if args.kind else sorted(GROUPS)
    found = [_look(kind, name) for kind in kinds for name in available(kind)]
    if args.json:
        print_json([plugin._asdict() for plugin in found])
    else:
        _show(found)
    return ExitCode.NO if any(plugin.problem for plugin in found) else ExitCode.YES


def _look(kind: str, name: str) -> Found:
    try:
        plugin = load(kind, name)
    except PluginError as problem:
        return Found(kind, name, "", "", str(problem))
    summary = (plugin.__doc__ or "").strip().partition("\n")[0]
    return Found(kind, name, summary, f"{plugin.__module__}:{plugin.__qualname__}", "")


def _show(found: list[Found]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, style in (("Kind", "cyan"), ("Name", "bold"), ("What it is", "")):
        table.add_column(heading, style=style, no_wrap=heading != "What it is", overflow="fold")
    before = ""
    for plugin in found:
        text = Text(plugin.problem, "red") if plugin.problem else Text(plugin.summary)
        text.append(f"\n{plugin.origin.partition(':')[0]}" if plugin.origin else "", "dim")
        table.add_row("" if plugin.kind == before else plugin.kind, plugin.name, text)
        before = plugin.kind
    console().print(table)


VERB = Verb(
    summary="list the plugins that are installed",
    description=(
        "Lists the installed plugins and the module that each comes from. One that cannot\n"
        "be loaded is shown with the cause, and the exit code is then 1."
    ),
    examples=(
        ("robodyn plugins", "all of them"),
        ("robodyn plugins dynamics", "of one kind"),
        ("robodyn plugins --json", "for a script"),
    ),
    add_arguments=add_arguments,
    run=run,
)
