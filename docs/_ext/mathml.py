"""Formulas become MathML when the site is built, so that a page needs no script and no network to show them."""

from __future__ import annotations

from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

NAMESPACE = "http://www.w3.org/1998/Math/MathML"

FUNCTIONS = {"sin", "cos", "tan", "exp", "ln", "log", "det"}

ACCENTS = {"˙", "¨", "^", "~", "¯", "→"}
"""They sit close to what is under them, and are not stretched to its width."""

CLOSING = {")", "]", "}", "|", "‖", "!"}
"""A minus after one of these is that of a difference."""

ElementTree.register_namespace("", NAMESPACE)


def mathml(latex: str, display: str) -> str:
    """A formula, ``inline`` or as a ``block``.

    Raises:
        ValueError: it uses something that the converter does not know.
    """
    tree = ElementTree.fromstring(convert(latex, display=display))
    for element in tree.iter():
        text = (element.text or "").strip()
        if "\\" in text or text == "&" or (element.tag.endswith("}mo") and not text):
            raise ValueError(
                f"{latex!r} has something in it that is not known to the converter"
            )
        side = element.attrib.pop(
            "columnalign", ""
        )  # browsers no longer know it (MathML Core): site.css has the class
        if side in {"left", "right"}:
            element.set("class", side)
        if element.get("mathvariant", "normal") != "normal":
            raise ValueError(
                f"{latex!r} has letters of a kind that browsers do not show: bold, for example"
            )
        named = element.tag.endswith("}mo") and len(text) > 1 and text.isalpha()
        if named or (element.tag.endswith("}mi") and text in FUNCTIONS):
            element.tag = f"{{{NAMESPACE}}}mo"
            element.attrib.update(lspace="0.17em", rspace="0.17em")
        if text in {"|", "‖", "∥"} and "fence" not in element.attrib:
            element.set(
                "stretchy", "false"
            )  # one of a pair may stand in an exponent, and would stretch otherwise
        if element.tag.endswith("}mover") and (element[1].text or "") in ACCENTS:
            element.set("accent", "true")
            element[1].set("stretchy", "false")
            element[1].set("class", "accent")
        for one, other in zip(element, list(element)[1:], strict=False):
            if other.text == "−" and one.tag.endswith("}mo") and one.text not in CLOSING:
                other.set("form", "prefix")
    return ElementTree.tostring(tree, encoding="unicode")


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
