# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Formulas become MathML when the site is built, so that a page needs no script and no network to show them."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from robodyn_ros.document.html import mathml

WORDS = re.compile(r"(\\[a-zA-Z]+|\\.|[{}])")
"""What a formula in LaTeX is cut into: commands, braces, and the text between."""


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    _write(translator, node, "inline")


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append('<div class="formula">')
    _write(translator, node, "block")


def _write(translator: HTML5Translator, node: nodes.Element, display: str) -> None:
    text = node.astext()
    try:
        for part in equations(text) if display == "block" else [text]:
            translator.body.append(mathml(part, display))
    except Exception as problem:  # whatever the converter stumbles over, the page and the line are what is wanted
        logging.getLogger(__name__).warning("formula: %s", problem, location=node)
    if display == "block":
        translator.body.append("</div>\n")
    raise nodes.SkipNode


def equations(formula: str) -> list[str]:
    """The equations that stand side by side in a formula: on a narrow screen they stand below each other."""
    parts, depth = [""], 0
    for word in WORDS.split(formula):
        depth += {"{": 1, "}": -1, r"\begin": 1, r"\end": -1, r"\left": 1, r"\right": -1}.get(
            word, 0
        )
        if word == r"\qquad" and not depth:
            parts.append("")
        else:
            parts[-1] += word
    return [part.strip() for part in parts]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
