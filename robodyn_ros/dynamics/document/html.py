"""A document as one HTML page that needs nothing else: formulas are MathML, which browsers read by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from robodyn_ros.dynamics.document.blocks import Block, Document, Equations, Matrix, Sum, Table, Text, broken, split
from robodyn_ros.dynamics.document.mathml import mathml, mathml_matrix
from robodyn_ros.dynamics.document.page import page
from robodyn_ros.dynamics.document.unicode import unicode, width

WIDTH = 100
"""Letters and signs in a line of a formula, as they are in plain text."""

STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #8886; }
.scroll { overflow-x: auto; margin: 0.7rem 0; }
.equations td { padding: 0.25rem 0.3rem; vertical-align: baseline; white-space: nowrap; }
.equations td:first-child { text-align: right; padding-left: 1.5rem; }
.facts { border-collapse: collapse; }
.facts th, .facts td { text-align: left; padding: 0.2rem 1.2rem 0.2rem 0; border-bottom: 1px solid #8884; }
mtd { padding: 0.15rem 0.6rem; }
"""


def html(document: Document) -> str:
    """The text of the page."""
    parts = [f"<h1>{_prose(document.title)}</h1>", *_blocks(document.blocks)]
    for number, section in enumerate(document.sections, 1):
        parts += [f'<h2 id="{escape(section.name)}">{number}. {_prose(section.title)}</h2>', *_blocks(section.blocks)]
    return page(document.title, STYLE, "\n".join(parts))


def _blocks(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Text(content):
                yield f"<p>{_prose(content)}</p>"
            case Equations(equations):
                rows = "\n".join(row for equation in equations for row in _rows(equation))
                yield f'<div class="scroll"><table class="equations">\n{rows}\n</table></div>'
            case Table(heads, rows):
                head = "".join(f"<th>{_prose(cell)}</th>" for cell in heads)
                lines = ["<tr>" + "".join(f"<td>{_prose(cell)}</td>" for cell in row) + "</tr>" for row in rows]
                body = "\n".join(lines)
                yield f'<div class="scroll"><table class="facts">\n<tr>{head}</tr>\n{body}\n</table></div>'


def _rows(equation: Sum | Matrix) -> Iterator[str]:
    left = mathml(f"{equation.name} =", display=True)
    if isinstance(equation, Matrix):
        yield f"<tr><td>{left}</td><td>{mathml_matrix(equation.rows)}</td></tr>"
        return
    first, *others = broken(equation.terms, WIDTH, lambda term: width(unicode(term)))
    yield f"<tr><td>{left}</td><td>{mathml(first, display=True)}</td></tr>"
    for line in others:  # after something, if only {}, a sign is that of a sum
        yield f"<tr><td></td><td>{mathml('{}' + line, display=True)}</td></tr>"


def _prose(text: str) -> str:
    return "".join(mathml(part) if formula else escape(part) for formula, part in split(text))
