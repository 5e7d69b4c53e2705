"""Formulas become MathML when the site is built, so that a page needs no script and no network to show them."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from robodyn_ros.document.mathml import mathml


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    _write(translator, node, "inline")


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append('<div class="formula">')
    _write(translator, node, "block")


def _write(translator: HTML5Translator, node: nodes.Element, display: str) -> None:
    try:
        translator.body.append(mathml(node.astext(), display))
    except Exception as problem:  # whatever the converter stumbles over, the page and the line are what is wanted
        logging.getLogger(__name__).warning("formula: %s", problem, location=node)
    if display == "block":
        translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
