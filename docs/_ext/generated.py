# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Directives that write a page from the code, so that nothing is written twice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from importlib import import_module

from docutils import nodes
from docutils.statemachine import StringList
from fault_table import fault_rows
from library import modules
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from robodyn_ros.cli.main import command_parser, verb_parsers
from robodyn_ros.plugins import GROUPS, available, load

WIDTH = "92"
"""Of the help of a verb, as wide as the page [characters]."""


class Generated(SphinxDirective):
    """A directive that is replaced by the Markdown that it writes."""

    has_content = False

    def markdown(self) -> Iterator[str]:
        """The lines."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """See Sphinx."""
        self.env.note_reread()  # the code may have changed, and Sphinx would not know
        source = self.get_source_info()[0]
        return self.parse_text_to_nodes(
            StringList(list(self.markdown()), source), allow_section_headings=True
        )


class Plugins(Generated):
    """The installed plugins, by kind."""

    def markdown(self) -> Iterator[str]:
        """See :class:`Generated`."""
        for kind, group in GROUPS.items():
            yield from (
                f"## {kind}",
                "",
                f"Entry-point group `{group}`.",
                "",
                "| name | what it is | class |",
                "|---|---|---|",
            )
            for name in available(kind):
                plugin = load(kind, name)
                summary = (plugin.__doc__ or "").strip().partition("\n")[0].replace("|", r"\|")
                yield f"| `{name}` | {summary} | `{plugin.__module__}.{plugin.__qualname__}` |"
            yield ""


class Verbs(Generated):
    """The help of every verb of the command."""

    def markdown(self) -> Iterator[str]:
        """See :class:`Generated`."""
        os.environ["COLUMNS"] = WIDTH
        for name, parser in verb_parsers(command_parser()).items():
            yield from (
                f"## robodyn {name}",
                "",
                "```text",
                *parser.format_help().splitlines(),
                "```",
                "",
            )


class Settings(Generated):
    """Every dataclass of settings in the library, with its defaults and ranges."""

    def markdown(self) -> Iterator[str]:
        """See :class:`Generated`."""
        for module in modules():
            for name, found in sorted(vars(import_module(module)).items()):
                if (
                    getattr(found, "__module__", "") != module
                    or not isinstance(found, type)
                    or not is_dataclass(found)
                ):
                    continue
                items = [item for item in fields(found) if "description" in item.metadata]
                if items:
                    yield from (f"## {name}", "", f"`{module}.{name}`", "")
                    yield from (
                        "| field | default | unit | allowed | meaning |",
                        "|---|---|---|---|---|",
                    )
                    yield from map(_row, items)
                    yield ""


class Faults(Generated):
    """The table of faults."""

    def markdown(self) -> Iterator[str]:
        """See :class:`Generated`."""
        yield from fault_rows()


def _row(item: Field[object]) -> str:
    if "choices" in item.metadata:
        allowed = ", ".join(map(str, item.metadata["choices"]()))
    elif "text" in item.metadata:
        allowed = "any text"
    elif "names" in item.metadata:
        allowed = "names"
    else:
        allowed = "{:g} … {:g}".format(*item.metadata["range"])
    unit, default = (
        item.metadata.get("unit") or "-",
        item.default if item.default != "" else '""',
    )
    return (
        f"| `{item.name}` | {default} | {unit} | {allowed} | {item.metadata['description']} |"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    for directive in (Plugins, Verbs, Settings, Faults):
        app.add_directive(directive.__name__.lower(), directive)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
