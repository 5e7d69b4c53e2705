"""What a document is made of.

A text is prose, with formulas in LaTeX between dollar signs. What comes from a URDF goes through ``quoted`` before it
stands in one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


def quoted(name: str) -> str:
    """A name from a URDF as prose, where a dollar sign would begin a formula."""
    return name.replace("$", "_")


def split(text: str) -> list[tuple[bool, str]]:
    """The parts of a text: whether each is a formula, and what it says."""
    return [(bool(i % 2), part) for i, part in enumerate(re.split(r"\$", text)) if part]


@dataclass(frozen=True)
class TextBlock:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class SumBlock:
    """An equation whose right side is a sum; a renderer breaks it before signs where it is wide.

    Attributes:
        name: left side.
        terms: each after its sign and a space.
    """

    name: str
    terms: tuple[str, ...]


@dataclass(frozen=True)
class MatrixBlock:
    """An equation whose right side is a matrix.

    Attributes:
        name: left side.
        rows: formulas, row by row.
    """

    name: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class EquationBlock:
    """Equations, one below the other."""

    equations: tuple[SumBlock | MatrixBlock, ...]


@dataclass(frozen=True)
class TableBlock:
    """A table of texts."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = TextBlock | EquationBlock | TableBlock


@dataclass(frozen=True)
class Section:
    """A part with a heading.

    Attributes:
        name: what it is called on the command line.
        title: its heading.
        blocks: what is in it.
    """

    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """The whole.

    Attributes:
        title: its heading.
        blocks: what stands before the first section.
        sections: the rest.
    """

    title: str
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...]


def equation(name: str, *terms: str) -> SumBlock:
    """An equation written by hand; a term without a sign is added."""
    return SumBlock(name, tuple(term if term.startswith(("+ ", "- ")) else f"+ {term}" for term in terms))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> TableBlock:
    """A table."""
    return TableBlock(tuple(heads), tuple(tuple(row) for row in rows))


def broken(terms: Sequence[str], width: int, measure: Callable[[str], int]) -> list[str]:
    """A sum on lines of some width, broken before signs; within a term only if that alone is wider.

    Args:
        terms: each after its sign and a space.
        width: of a line.
        measure: width of a text.
    """
    lines: list[str] = []
    for term in (leading(terms[0]), *terms[1:]):
        for part in [term] if measure(term) <= width else re.split(r" (?=[-+] )", term):
            if lines and measure(f"{lines[-1]} {part}") <= width:
                lines[-1] += f" {part}"
            else:
                lines.append(part)
    return lines


def leading(text: str) -> str:
    """Without the first plus sign, or without the space after a minus sign."""
    return re.sub(r"^(?:\+ |(-) )", r"\1", text)


# A document as JSON, formulas in LaTeX, for a program to read.


def data(document: Document) -> str:
    """The text of the file: title, text, and for each section its name, title and blocks in order."""
    sections = [
        {"name": section.name, "title": section.title, "blocks": [_block(block) for block in section.blocks]}
        for section in document.sections
    ]
    whole = {"title": document.title, "blocks": [_block(block) for block in document.blocks], "sections": sections}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _block(block: Block) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"text": block.text}
    if isinstance(block, EquationBlock):
        return {"equations": [_equation(equation) for equation in block.equations]}
    return {"heads": block.heads, "rows": block.rows}


def _equation(equation: SumBlock | MatrixBlock) -> dict[str, Any]:
    if isinstance(equation, MatrixBlock):
        return {"left": equation.name, "matrix": equation.rows}
    return {"left": equation.name, "right": leading(" ".join(equation.terms))}
