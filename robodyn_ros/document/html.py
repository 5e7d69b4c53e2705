# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A document as one self-contained HTML page: no other file, no script, no network.

Every text is escaped, so that a name from a file stays text. The style sheet is for light and dark, wide and narrow
screens: tables, equations and pictures wider than the screen scroll in a box of their own, with a shadow at the side
where more follows.

Browsers read MathML by themselves (MathML Core, W3C). latex2mathml converts the LaTeX of the formulas, and elements
that browsers render badly are corrected afterwards. The documentation uses :func:`mathml` too.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from robodyn_ros.document import blocks as page
from robodyn_ros.document.text import block_text, unicode, width
from robodyn_ros.errors import RobodynError, need

WIDTH = 100
"""Letters and signs in a line of a formula, counted as in plain text."""

LONG = 45
"""Number of characters of a text from which its column keeps a least width on a narrow screen."""

STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3, p, li, summary { overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid #8886; }
h3 { font-size: 1rem; margin: 1.5rem 0 0.3rem; }
p, ul { max-width: 60rem; }
.verdict { font-weight: bold; }
.faint { opacity: 0.55; }
.scroll { overflow-x: auto; margin: 0.7rem 0; }
.scroll {
  background:
    linear-gradient(to right, Canvas 30%, transparent) 0 0 / 2.5rem 100% local no-repeat,
    linear-gradient(to left, Canvas 30%, transparent) 100% 0 / 2.5rem 100% local no-repeat,
    linear-gradient(to right, #8888, transparent) 0 0 / 0.7rem 100% no-repeat,
    linear-gradient(to left, #8888, transparent) 100% 0 / 0.7rem 100% no-repeat;
}
pre { overflow-x: auto; margin: 0.7rem 0; font-size: 0.95em; }
summary { cursor: pointer; margin: 0.7rem 0; }
.picture img { width: 100%; min-width: 44rem; background: white; border-radius: 4px; }
.drawing img { max-width: 100%; height: auto; background: white; border-radius: 4px; }
.cells { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
.cells th, .cells td { text-align: left; vertical-align: top; }
.cells th, .cells td { padding: 0.2rem 1.1rem 0.2rem 0; border-bottom: 1px solid #8884; }
.numeric th:not(:first-child), .numeric td:not(:first-child) { text-align: right; }
.numeric td:not(:first-child):not(.prose) { white-space: nowrap; }
.cells .prose { min-width: 14rem; }
.equations td { padding: 0.25rem 0.3rem; vertical-align: baseline; white-space: nowrap; }
.equations td:first-child { text-align: right; padding-left: 1.5rem; }
mtd { padding: 0.15rem 0.6rem; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; }
  .equations td:first-child { padding-left: 0; }
}
mo.accent { font-size: 0.85em; }
"""


def html(document: page.Document) -> str:
    """Return the text of the page.

    Raises:
        ConfigurationError: the document has formulas, and latex2mathml is not installed.
    """
    parts = [f"<h1>{_prose(document.title)}</h1>", *_blocks(document.blocks)]
    for number, section in document.headings(". "):
        heading = number + _prose(section.title)
        parts += [f'<h2 id="{escape(section.name)}">{heading}</h2>', *_blocks(section.blocks)]
    body = "\n".join(parts)
    style = STYLE + (math_font() if "<math" in body else "")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(document.title)}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def block_html(blocks: Iterable[page.Block]) -> str:
    """Return blocks as a part of a page, for a page with a style of its own."""
    return "\n".join(_blocks(blocks))


FORMS = {page.TextBlock: "<p>{}</p>", page.VerdictBlock: '<p class="verdict">{}</p>', page.HeadingBlock: "<h3>{}</h3>"}
"""Block of prose → its element."""


def _blocks(blocks: Iterable[page.Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case page.CodeBlock(content):
                yield f"<pre><code>{escape(content)}</code></pre>"
            case page.ProseBlock(content):
                yield FORMS[type(block)].format(_prose(content))
            case page.ListBlock(items):
                yield "<ul>\n" + "\n".join(f"<li>{_prose(item)}</li>" for item in items) + "\n</ul>"
            case page.PictureBlock(content, kind, description, size):
                source = f"data:{escape(kind)};base64,{b64encode(content).decode()}"
                image = f'<img alt="{escape(description)}" src="{source}"'
                if size:
                    yield f'<div class="drawing">{image} width="{size:g}"></div>'
                else:
                    yield f'<div class="scroll picture">{image}></div>'
            case page.EquationBlock(equations):
                rows = "\n".join(row for equation in equations for row in _equation_rows(equation))
                yield f'<div class="scroll"><table class="equations">\n{rows}\n</table></div>'
            case page.TableBlock():
                yield _table(block)
            case page.DetailsBlock(summary, inner):
                content = "\n".join(_blocks(inner))
                yield f"<details><summary>{_prose(summary)}</summary>\n{content}\n</details>"


def _table(block: page.TableBlock) -> str:
    lines = ["<tr>" + "".join(f"<th>{_prose(cell)}</th>" for cell in block.heads) + "</tr>"]
    wide = {j for row in block.rows for j, cell in enumerate(row) if len(cell) > LONG}
    for i, row in enumerate(block.rows):
        classes = (
            " ".join(name for name, has in (("faint", (i, j) in block.faint), ("prose", j in wide)) if has)
            for j in range(len(row))
        )
        marks = (f' class="{found}"' if found else "" for found in classes)
        cells = "".join(f"<td{mark}>{_prose(cell)}</td>" for mark, cell in zip(marks, row, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    body = "\n".join(lines)
    name = "cells numeric" if block.numeric else "cells"
    return f'<div class="scroll"><table class="{name}">\n{body}\n</table></div>'


def _equation_rows(equation: page.SumBlock | page.MatrixBlock) -> Iterator[str]:
    left = _tall(f"{equation.name} =")
    if isinstance(equation, page.MatrixBlock):
        cells = r" \\ ".join(" & ".join(row) for row in equation.rows)
        right = mathml(rf"\begin{{pmatrix}} {cells} \end{{pmatrix}}")
        yield f"<tr><td>{left}</td><td>{right}</td></tr>"
        return
    first, *others = page.broken(equation.terms, WIDTH, lambda term: width(unicode(term)))
    yield f"<tr><td>{left}</td><td>{_tall(first)}</td></tr>"
    for line in others:  # behind {} a sign is that of a sum
        yield f"<tr><td></td><td>{_tall('{}' + line)}</td></tr>"


def _tall(formula: str) -> str:
    """Return a formula in display style for a cell of a table."""
    return mathml(formula, "block").replace('display="block"', 'displaystyle="true"', 1)


def _prose(text: str) -> str:
    return page.joined(text, mathml, escape)


class Summarised:
    """Base of the classes whose objects show themselves in a few lines: as text at a prompt, as a table in a notebook.

    ``repr`` gives the text and ``_repr_html_``, which Jupyter calls, the HTML; both escape names from a URDF.
    """

    def summary(self) -> tuple[page.Block, ...]:
        """Return the blocks that describe the object."""
        raise NotImplementedError

    def __repr__(self) -> str:
        try:
            return block_text(self.summary())
        except AttributeError:  # the constructor of the object has not finished
            return object.__repr__(self)

    def _repr_html_(self) -> str:
        return block_html(self.summary())


NAMESPACE = "http://www.w3.org/1998/Math/MathML"

FUNCTIONS = {"sin", "cos", "tan", "exp", "ln", "log", "det"}

DOTS = {"˙", "¨"}

ACCENTS = {"^", "~", "¯", "→"}
"""Accents close to their base, and not stretched to its width. Dots as close as that would touch the letter."""

CLOSING = {")", "]", "}", "|", "‖", "!"}
"""A minus sign after one of these is that of a difference."""

SCRIPTS = {"msub": 2, "msup": 2, "msubsup": 3}
"""Element with scripts of a matrix → its number of children: the base and the scripts."""

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
