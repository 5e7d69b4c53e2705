# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Tables on a phone: a row of many words becomes a block with the heading of each cell, other tables scroll.

A column of prose gets a class, so that it keeps room for a few words.
"""

from __future__ import annotations

from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

LONG = 45
"""Length of a text from which on its column is one of prose."""

ROW = 60
"""Length of a row of three cells or more from which on it does not fit beside each other on a phone."""


class Readable(SphinxTransform):
    """Marks the columns in which a text is long, and the tables that are stacked on a phone."""

    default_priority = 402

    def apply(self) -> None:
        """See the module."""
        for group in self.document.findall(nodes.tgroup):
            rows = [list(row.findall(nodes.entry)) for row in group.findall(nodes.row)]
            for entries in zip(*rows, strict=False):
                if any(len(entry.astext()) > LONG for entry in entries):
                    for entry in entries:
                        entry["classes"].append("prose")
            if (
                len(rows[0]) > 2
                and max(sum(len(entry.astext()) for entry in row) for row in rows) > ROW
            ):
                group.parent["classes"].append("stacked")
                for row in rows[1:]:
                    for entry, heading in zip(row, rows[0], strict=False):
                        entry["heading"] = heading.astext()


def begin(writer: HTML5Translator, entry: nodes.Element) -> None:
    """Write the tag of a cell with the heading of its column, which the style shows on a phone."""
    HTML5Translator.visit_entry(writer, entry)
    if "heading" in entry:
        writer.body[-1] = writer.body[-1].replace(
            "<td", f'<td data-heading="{escape(entry["heading"])}"', 1
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_transform(Readable)
    app.add_node(nodes.entry, override=True, html=(begin, HTML5Translator.depart_entry))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
