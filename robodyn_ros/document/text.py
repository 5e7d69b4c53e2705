# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A document as plain text for a terminal, formulas on one line: ``m₂ lc₂² q̈₂``.

:func:`unicode` translates the part of LaTeX in which this package writes formulas.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from robodyn_ros.document import blocks as page
from robodyn_ros.errors import RobodynError

SIGNS = {
    "tau": "τ",
    "theta": "θ",
    "alpha": "α",
    "omega": "ω",
    "lambda": "λ",
    "ell": "ℓ",
    "partial": "∂",
    "sum": "∑",
    "cdot": "·",
    "times": "×",
    "dots": "…",
    "quad": " ",
    ",": " ",
}

FUNCTIONS = {"sin", "cos"}

TOKEN = re.compile(r"\\([A-Za-z]+|,)|(\d+(?:\.\d+)?)|([A-Za-z])|(\s+)|(.)", re.DOTALL)

BELOW = str.maketrans("0123456789ijk+−", "₀₁₂₃₄₅₆₇₈₉ᵢⱼₖ₊₋")

ABOVE = str.maketrans("0123456789+−T", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀ")

DOTS = ("", "\u0307", "\u0308")
"""Combining characters; each stands after the letter that it marks."""

HALVES = {("1", "2"): "½"}


def unicode(formula: str) -> str:
    """Return a formula in LaTeX as plain text.

    Raises:
        RobodynError: it has LaTeX that this package does not write.
    """
    return re.sub(" +", " ", _FormulaReader(formula).row("")).strip()


def width(text: str) -> int:
    """Return how many columns a text takes in a terminal."""
    return sum(character not in DOTS for character in text)


class _FormulaReader:
    """Translates the tokens of a formula one by one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [(found.lastindex or 0, found.group(found.lastindex or 0)) for found in TOKEN.finditer(text)]
        self._tokens.reverse()

    def row(self, end: str) -> str:
        """Translate up to an end token, which is consumed too.

        A space follows a function; none follows ∂, though LaTeX needs one.
        """
        made, spaced = "", False
        while self._tokens and self._tokens[-1][1] != (end or None):
            is_function = self._tokens[-1][1] in {*FUNCTIONS, "operatorname"}
            part = self._one()
            scripts = {"_": "", "^": ""}
            while self._tokens and (sign := self._tokens[-1][1]) in scripts and not scripts[sign]:
                self._tokens.pop()
                scripts[sign] = self._one()
            part += scripts["_"].replace(" ", "").translate(BELOW) + _raised(scripts["^"])
            made += " " if spaced and not part.startswith((" ", "(")) else ""
            made += "" if part == " " and made.endswith("∂") else part
            spaced = is_function and not any(scripts.values())
        if end and (not self._tokens or self._tokens.pop()[1] != end):
            raise RobodynError(f"{end!r} is missing in the formula {self._text!r}")
        return made

    def _one(self) -> str:
        """Return the formula in a brace, or of a single token."""
        if not self._tokens:
            raise RobodynError(f"the formula {self._text!r} ends too early")
        kind, token = self._tokens.pop()
        if kind == 1:
            return self._command(token)
        if kind == 5 and token == "{":
            return self.row("}")
        if token == "}":
            raise RobodynError(f"a closing brace without an opening one in the formula {self._text!r}")
        return " " if kind == 4 else {"-": "−", "'": "′"}.get(token, token)

    def _command(self, name: str) -> str:
        if name in SIGNS:
            return SIGNS[name]
        if name in FUNCTIONS:
            return name
        if name in {"dot", "ddot"}:
            return self._one() + DOTS[len(name) - 2]
        if name == "frac":
            texts = self._one().strip(), self._one().strip()
            return HALVES.get(texts) or "/".join(f"({text})" if " " in text else text for text in texts)
        if name in {"mathrm", "operatorname"}:
            return self._one()
        raise RobodynError(f"the formula {self._text!r} has an unknown command \\{name}")


def _raised(text: str) -> str:
    return text.translate(ABOVE) if set(map(ord, text)) <= ABOVE.keys() else f"^({text})"


COLUMNS = 80

INDENT = "  "


class TextLine(NamedTuple):
    """A line of the text.

    Attributes:
        text: without the end of line.
        role: ``title``, ``heading``, ``verdict``, ``formula``, ``table``, ``code`` or ``prose``.
    """

    text: str
    role: str = "prose"


def text(document: page.Document) -> str:
    """Return a document as one text, without marks."""
    return "\n".join(line.text.rstrip() for line in text_lines(document)) + "\n"


def text_lines(document: page.Document, columns: int = COLUMNS) -> Iterator[TextLine]:
    """Yield the lines of a document.

    Args:
        document: the document.
        columns: greatest width; only a single longer name or factor exceeds it.
    """
    yield TextLine(document.title, "title")
    yield TextLine("")
    yield from _blocks(document.blocks, columns)
    for number, section in document.headings("  "):
        yield TextLine(f"{number}{plain(section.title)}", "heading")
        yield TextLine("")
        yield from _blocks(section.blocks, columns)


def block_text(blocks: Iterable[page.Block]) -> str:
    """Return blocks as one text, without the end of the last line."""
    return "\n".join(line.text.rstrip() for line in _blocks(blocks, COLUMNS)).rstrip()


def plain(text: str) -> str:
    """Return prose with its formulas in Unicode."""
    return "".join(unicode(part).replace(" ", "\u00a0") if formula else part for formula, part in page.split(text))


def _blocks(blocks: Iterable[page.Block], columns: int) -> Iterator[TextLine]:
    for block in blocks:
        yield from _block(block, columns)
        if not isinstance(block, page.DetailsBlock):
            yield TextLine("")


ROLES = {page.TextBlock: "prose", page.VerdictBlock: "verdict", page.HeadingBlock: "heading"}
"""Block of prose → the role of its lines."""


def _block(block: page.Block, columns: int) -> Iterator[TextLine]:
    match block:
        case page.CodeBlock(content):
            yield from (TextLine(INDENT + line, "code") for line in content.splitlines())
        case page.ProseBlock(content):
            yield from _paragraph(content, columns, ROLES[type(block)])
        case page.ListBlock(items):
            for item in items:
                yield from _paragraph(item, columns, first="- ", indent=INDENT)
        case page.PictureBlock(description=description):
            yield from _paragraph(page.Literal(f"[{description}]"), columns)
        case page.TableBlock():
            yield from (TextLine(line, "table") for line in _table(block, columns))
        case page.EquationBlock(equations):
            yield from _equations(equations, columns)
        case page.DetailsBlock(summary, inner):
            yield from _blocks((page.HeadingBlock(summary), *inner), columns)


def _equations(equations: Sequence[page.SumBlock | page.MatrixBlock], columns: int) -> Iterator[TextLine]:
    """Equations below each other, with a line between where one has a matrix."""
    for before, equation in zip((None, *equations), equations, strict=False):
        if before and (isinstance(before, page.MatrixBlock) or isinstance(equation, page.MatrixBlock)):
            yield TextLine("")
        rows = _sum(equation, columns) if isinstance(equation, page.SumBlock) else _matrix(equation)
        yield from (TextLine(row, "formula") for row in rows)


def _paragraph(
    content: str, columns: int, role: str = "prose", *, first: str = "", indent: str = ""
) -> Iterator[TextLine]:
    wrapper = textwrap.TextWrapper(columns, first, indent, break_long_words=False, break_on_hyphens=False)
    yield from (TextLine(line.replace("\u00a0", " "), role) for line in wrapper.wrap(plain(content)))


def _sum(equation: page.SumBlock, columns: int) -> Iterator[str]:
    name = f"{INDENT}{unicode(equation.name)} = "
    indent = " " * min(width(name), len(INDENT) + 8)
    formulas = page.broken(equation.terms, columns - width(name), lambda formula: width(unicode(formula)))
    first, *others = map(unicode, formulas)
    yield name + first
    yield from (indent + line for line in others)


def _matrix(equation: page.MatrixBlock) -> Iterator[str]:
    cells = [[unicode(cell) for cell in row] for row in equation.rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    name = f"{INDENT}{unicode(equation.name)} = "
    middle, last = (len(cells) - 1) // 2, len(cells) - 1
    for place, row in enumerate(cells):
        left, right = {0: ("⎛", "⎞"), last: ("⎝", "⎠")}.get(place, ("⎜", "⎟")) if last else ("(", ")")
        padded = [cell + " " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True)]
        yield f"{name if place == middle else ' ' * width(name)}{left} {'   '.join(padded)} {right}"


def _table(block: page.TableBlock, columns: int) -> Iterator[str]:
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


SMALLEST = 5e-4
"""Magnitude below which only the bound ``<0.001`` is written."""


def quantity(value: float, unit: str) -> str:
    """Format a length [m] or an angle [rad] in thousandths with three digits, for example ``0.412 mrad``."""
    return f"{digits(1e3 * value)} m{unit}"


def digits(value: float) -> str:
    """Format a number with three digits, or with all digits before the point if they are more.

    A number too small for three decimal places becomes ``<0.001``, and zero becomes ``0``.
    """
    magnitude = abs(value)
    if magnitude < SMALLEST:
        return "0" if value == 0.0 else "<0.001" if value > 0.0 else ">-0.001"
    places = 0 if magnitude >= 99.95 else 1 if magnitude >= 9.995 else 2 if magnitude >= 0.9995 else 3
    return f"{value:.{places}f}"
