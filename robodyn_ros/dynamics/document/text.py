"""A document as plain text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from robodyn_ros.dynamics.document.blocks import Block, Document, Equations, Matrix, Sum, Table, Text, broken, split
from robodyn_ros.dynamics.document.unicode import unicode, width

COLUMNS = 80
INDENT = "  "


class Line(NamedTuple):
    """A line of the text.

    Attributes:
        text: without the end of line.
        role: ``title``, ``heading``, ``formula``, ``table`` or ``prose``.
    """

    text: str
    role: str = "prose"


def text_lines(document: Document, columns: int = COLUMNS) -> Iterator[Line]:
    """The lines of a document.

    Args:
        document: the document.
        columns: width of the text; only a single name or factor that is longer stands out.
    """
    yield Line(document.title, "title")
    yield Line("")
    yield from _blocks(document.blocks, columns)
    for number, section in enumerate(document.sections, 1):
        yield Line(f"{number}  {plain(section.title)}", "heading")
        yield Line("")
        yield from _blocks(section.blocks, columns)


def text(document: Document) -> str:
    """A document as one text, without marks."""
    return "\n".join(line.text.rstrip() for line in text_lines(document)) + "\n"


def plain(text: str) -> str:
    """Prose, its formulas in Unicode."""
    return "".join(unicode(part).replace(" ", "\u00a0") if formula else part for formula, part in split(text))


def _blocks(blocks: tuple[Block, ...], columns: int) -> Iterator[Line]:
    for block in blocks:
        match block:
            case Text(content):
                lines = textwrap.wrap(plain(content), columns, break_long_words=False, break_on_hyphens=False)
                yield from (Line(line.replace("\u00a0", " ")) for line in lines)
            case Table():
                yield from (Line(line, "table") for line in _table(block, columns))
            case Equations(equations):
                for before, equation in zip((None, *equations), equations, strict=False):
                    if before and (isinstance(before, Matrix) or isinstance(equation, Matrix)):
                        yield Line("")
                    rows = _sum(equation, columns) if isinstance(equation, Sum) else _matrix(equation)
                    yield from (Line(row, "formula") for row in rows)
        yield Line("")


def _sum(equation: Sum, columns: int) -> Iterator[str]:
    name = f"{INDENT}{unicode(equation.name)} = "
    indent = " " * min(width(name), len(INDENT) + 8)
    formulas = broken(equation.terms, columns - width(name), lambda formula: width(unicode(formula)))
    first, *others = map(unicode, formulas)
    yield name + first
    yield from (indent + line for line in others)


def _matrix(equation: Matrix) -> Iterator[str]:
    cells = [[unicode(cell) for cell in row] for row in equation.rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    name = f"{INDENT}{unicode(equation.name)} = "
    middle, last = (len(cells) - 1) // 2, len(cells) - 1
    for place, row in enumerate(cells):
        left, right = (
            ("(", ")") if last == 0 else ("⎛", "⎞") if place == 0 else ("⎝", "⎠") if place == last else ("⎜", "⎟")
        )
        padded = [cell + " " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True)]
        yield f"{name if place == middle else ' ' * width(name)}{left} {'   '.join(padded)} {right}"


def _table(block: Table, columns: int) -> Iterator[str]:
    """The last column is wrapped where the table is too wide."""
    rows = [[plain(cell).replace("\u00a0", " ") for cell in row] for row in (block.heads, *block.rows)]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    before = len(INDENT) + sum(widths[:-1]) + 2 * len(widths[:-1])
    rest = max(columns - before, 16)
    for place, row in enumerate(rows):
        cells = [cell + " " * (wide - width(cell)) for cell, wide in zip(row[:-1], widths[:-1], strict=True)]
        first, *more = textwrap.wrap(row[-1], rest) or [""]
        yield (INDENT + "  ".join([*cells, first])).rstrip()
        yield from (" " * before + line for line in more)
        if place == 0:
            yield INDENT + "─" * (before + min(widths[-1], rest) - len(INDENT))
