# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Puts under a page's Python what it prints and plots. The program runs when the page is read: see :mod:`executed`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import executed
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

WIDTH = re.compile(rb'<svg[^>]*? width="([\d.]+pt)"')


class Show(SphinxTransform):
    """Runs a page that has Python in it, and adds the results to its document tree."""

    default_priority = 400

    def apply(self) -> None:
        """See the class."""
        page = Path(self.env.doc2path(self.env.docname))
        if page.suffix != ".md" or not executed.blocks(page, "python"):
            return
        try:
            names: dict[str, object] = {}
            results = executed.run(page, names)
        except Exception as problem:
            message = "%s: its Python does not run: %s: %s"
            logging.getLogger(__name__).warning(message, page, type(problem).__name__, problem)
            return
        shown = [
            node
            for node in self.document.findall(nodes.literal_block)
            if node.get("language") == "python"
        ]
        title = "확인" if "/ko/" in self.env.docname else "Checks"
        for number, (node, result) in enumerate(zip(shown, results, strict=True)):
            after = list(_printed(result))
            for index, figure in enumerate(result.figures):
                after.append(
                    self._figure(
                        f"{self.env.docname.replace('/', '-')}-{number}-{index}.svg", figure
                    )
                )
            parent = node.parent
            place = parent.index(node)
            parent[place : place + 1] = [*_folded(node, result.block.code, title), *after]
        self.env.temp_data["names"] = names

    def _figure(self, name: str, figure: executed.Figure) -> nodes.image:
        """The picture is an ordinary file beside the site, which Sphinx copies."""
        folder = Path(self.env.app.doctreedir) / "figures"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(figure.svg)
        here = Path(self.env.doc2path(self.env.docname)).parent
        size = WIDTH.search(figure.svg)
        return nodes.image(
            uri=os.path.relpath(folder / name, here),
            alt=figure.title,
            classes=["plotted"],
            width=size[1].decode()
            if size
            else "100%",  # with a width, Sphinx links to the picture
        )


def _folded(node: nodes.literal_block, code: str, title: str) -> list[nodes.Node]:
    """A block without its checks, and those under a line that opens them."""
    shown, checks = executed.without_checks(code)
    if not checks:
        return [node]
    folded = nodes.literal_block(checks, checks, language="python")
    opening = nodes.raw(
        "", f"<details class='checks'><summary>{title}</summary>", format="html"
    )
    block = [opening, folded, nodes.raw("", "</details>", format="html")]
    if not shown:
        return block
    return [nodes.literal_block(shown, shown, language="python"), *block]


def _printed(result: executed.Result) -> list[nodes.Node]:
    if not result.printed.strip():
        return []
    text = result.printed.rstrip("\n")
    return [nodes.literal_block(text, text, language="none", classes=["printed"])]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_transform(Show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
