# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Columns of prose in a table get a class: on a phone they keep room for a few words, and the table scrolls."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

LONG = 45
"""Length of a text from which on its column is one of prose."""


class Prose(SphinxTransform):
    """Marks the columns in which a text is long."""

    default_priority = 402

    def apply(self) -> None:
        """See the class."""
        for group in self.document.findall(nodes.tgroup):
            columns: dict[int, list[nodes.entry]] = {}
            for row in group.findall(nodes.row):
                for index, entry in enumerate(row.findall(nodes.entry)):
                    columns.setdefault(index, []).append(entry)
            for entries in columns.values():
                if any(len(entry.astext()) > LONG for entry in entries):
                    for entry in entries:
                        entry["classes"].append("prose")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_transform(Prose)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
