# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Formulas for browsers, which read MathML by themselves (MathML Core, W3C): no script and no network.

latex2mathml converts LaTeX. Elements that browsers render badly are corrected afterwards. ``robodyn derive`` and the
documentation share this module.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from xml.etree import ElementTree

from robodyn_ros.errors import RobodynError, need

NAMESPACE = "http://www.w3.org/1998/Math/MathML"

FUNCTIONS = {"sin", "cos", "tan", "exp", "ln", "log", "det"}

DOTS = {"˙", "¨"}

ACCENTS = {"^", "~", "¯", "→"}
"""Accents close to their base, and not stretched to its width. Dots as close as that would touch the letter."""

CLOSING = {")", "]", "}", "|", "‖", "!"}
"""A minus sign after one of these is that of a difference."""

STYLE = "mo.accent { font-size: 0.85em; }\n"
"""CSS that a page with formulas needs."""

SCRIPTS = {"msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3}
"""Element with scripts → its number of children: the base and the scripts."""

ELEMENTS = {
    *("math", "mrow", "mi", "mo", "mn", "mtext", "ms", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mpadded"),
    *("msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mprescripts", "none"),
    *("mtable", "mtr", "mtd", "mphantom", "menclose"),
}
"""Elements that a formula may have (MathML 3, chapter 3); all other markup is refused."""


def math_font() -> str:
    """Return the CSS that embeds the font of formulas: brackets stretch only in a font for mathematics."""
    content = b64encode(Path(__file__).with_name("math.woff2").read_bytes()).decode()
    source = f'url("data:font/woff2;base64,{content}") format("woff2")'
    return f"""@font-face {{ font-family: "Robodyn Math"; src: {source}; }}
math {{ font-family: "Robodyn Math", math; font-size: 1.08em; }}
"""


def mathml(formula: str, display: str = "inline") -> str:
    """Return a formula in LaTeX as an element ``math``.

    Args:
        formula: the formula.
        display: ``inline``, or ``block`` for a formula on a line of its own.

    Raises:
        ConfigurationError: latex2mathml is not installed.
        RobodynError: the converter does not know a part of the formula.
    """
    converter = need("latex2mathml.converter", "formulas in HTML need latex2mathml", "robodyn_ros[symbolic]")
    try:
        tree = ElementTree.fromstring(converter.convert(formula, display=display))
    except ElementTree.ParseError as cause:
        raise RobodynError(f"{formula!r} has a part that latex2mathml does not know") from cause
    for element in tree.iter():
        element.tag = element.tag.removeprefix(f"{{{NAMESPACE}}}")  # HTML needs no namespace
    for element in tree.iter():
        _mend(element, formula)
    return ElementTree.tostring(tree, encoding="unicode", short_empty_elements=False)


def _mend(element: ElementTree.Element, formula: str) -> None:
    problem = _problem(element)
    if problem:
        raise RobodynError(f"{formula!r} has {problem}")
    text = (element.text or "").strip()
    side = element.attrib.pop("columnalign", "")  # MathML Core does not have it: the style sheet has the class
    if side in {"left", "right"}:
        element.set("class", side)
    if (element.tag == "mo" and len(text) > 1 and text.isalpha()) or (element.tag == "mi" and text in FUNCTIONS):
        element.tag = "mo"
        element.attrib.update(lspace="0.17em", rspace="0.17em")
    if text in {"|", "‖", "∥"} and "fence" not in element.attrib:
        # One of a pair may stand in an exponent and must not stretch there; a browser takes it for a relation.
        element.attrib.update(stretchy="false", lspace="0", rspace="0")
    _mend_children(element)


def _problem(element: ElementTree.Element) -> str:
    """The part of an element that a formula may not have; "" if there is none."""
    text = (element.text or "").strip()
    if element.tag not in ELEMENTS or "href" in element.attrib:
        return f"an element that is not mathematics: <{element.tag}>"
    if "\\" in text or text == "&" or (element.tag == "mo" and not text):
        return "a part that latex2mathml does not know"
    if element.get("mathvariant", "normal") != "normal":
        return f"letters in a style that browsers do not show: {element.get('mathvariant')}"
    return ""


def _mend_children(element: ElementTree.Element) -> None:
    """Correct accents, bases of scripts, and signs at the beginning of a term."""
    if element.tag == "mover" and (element[1].text or "") in ACCENTS | DOTS:
        element[1].attrib.update(stretchy="false", **{"class": "accent"})
        if element[1].text in ACCENTS:
            element.set("accent", "true")
    carried = len(element) - SCRIPTS.get(element.tag, len(element))
    if carried > 0:  # the converter does not group a matrix with its brackets
        group = ElementTree.Element("mrow")
        group[:] = element[: carried + 1]
        element[: carried + 1] = [group]
    for one, other in zip(element, list(element)[1:], strict=False):
        if other.text == "−" and one.tag == "mo" and one.text not in CLOSING:
            other.set("form", "prefix")
