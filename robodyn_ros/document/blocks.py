# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The blocks that every page of this package is made of.

A text is prose with formulas in LaTeX between dollar signs. A name that comes from a URDF goes through :func:`quoted`
before it stands in such a text. A text without formulas is a :class:`Literal`, in which a dollar sign is a dollar sign.
The renderers (:mod:`~robodyn_ros.document.text`, ``markdown``, ``html``, ``latex``) escape both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from robodyn_ros.files import as_json


class Literal(str):
    """A text without formulas: reports write texts from a file or a user as one."""

    __slots__ = ()


def quoted(name: str) -> str:
    """Return a name from a URDF for a text with formulas, where a dollar sign would begin one."""
    return name.replace("$", "_")


def split(text: str) -> list[tuple[bool, str]]:
    """Split a text into prose and formulas: (is a formula, its text) for each part."""
    if isinstance(text, Literal):
        return [(False, str(text))] if text else []
    return [(bool(i % 2), part) for i, part in enumerate(re.split(r"\$", text)) if part]


def joined(text: str, formula: Callable[[str], str], prose: Callable[[str], str]) -> str:
    """A text whose formulas and whose prose are each what a function makes of them."""
    return "".join((formula if is_formula else prose)(part) for is_formula, part in split(text))


class Block:
    """A part of a page."""


@dataclass(frozen=True)
class ProseBlock(Block):
    """A text, whose meaning is that of the class."""

    text: str


class TextBlock(ProseBlock):
    """A paragraph."""


class VerdictBlock(ProseBlock):
    """A paragraph with the result of a page; it stands out."""


class HeadingBlock(ProseBlock):
    """A heading within a section."""


class CodeBlock(ProseBlock):
    """A command or a piece of a file, shown verbatim."""


@dataclass(frozen=True)
class ListBlock(Block):
    """A list of texts."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class PictureBlock(Block):
    """A picture.

    Attributes:
        content: the bytes of its file.
        kind: their media type, for example ``image/png``.
        description: of the picture, for readers who cannot see it.
        width: width on a page [px]; as wide as the page unless given.
    """

    content: bytes
    kind: str
    description: str
    width: float = 0.0


@dataclass(frozen=True)
class SumBlock:
    """An equation whose right side is a sum; a renderer breaks a wide one before its signs.

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
class EquationBlock(Block):
    """Equations, one below the other."""

    equations: tuple[SumBlock | MatrixBlock, ...]


@dataclass(frozen=True)
class TableBlock(Block):
    """A table of texts.

    Attributes:
        heads: heading of each column.
        rows: cells, row by row.
        numeric: every column but the first holds numbers. A page aligns those at the right.
        faint: (row, column) of cells that count less. A page shows those paler, other formats like the rest.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: bool = False
    faint: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class DetailsBlock(Block):
    """Blocks that a page hides until its reader asks for them; other formats show them.

    Attributes:
        summary: line that stands in place of the hidden part.
        blocks: the hidden part.
    """

    summary: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Section:
    """A part with a heading.

    Attributes:
        name: the section's name on the command line and in links.
        title: its heading.
        blocks: its content.
    """

    name: str
    title: str
    blocks: tuple[Block, ...]

    def extended(self, blocks: Iterable[Block]) -> Section:
        """Return the section with further blocks at its end."""
        return replace(self, blocks=(*self.blocks, *blocks))


@dataclass(frozen=True)
class Document:
    """A whole page.

    Attributes:
        title: its heading.
        blocks: before the first section.
        sections: the rest.
        numbered: number the headings of the sections.
    """

    title: str
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...]
    numbered: bool = True

    def headings(self, separator: str) -> list[tuple[str, Section]]:
        """The sections, each with its number and a separator if there is one, else with nothing."""
        counted = enumerate(self.sections, 1)
        return [(f"{number}{separator}" if self.numbered else "", section) for number, section in counted]


def equation(name: str, *terms: str) -> SumBlock:
    """Return an equation written by hand; a term without a sign is added."""
    return SumBlock(name, tuple(term if term.startswith(("+ ", "- ")) else f"+ {term}" for term in terms))


def formulas(*equations: SumBlock | MatrixBlock) -> EquationBlock:
    """Return equations as one block."""
    return EquationBlock(equations)


def literal_text(text: str) -> TextBlock:
    """Return a paragraph without formulas."""
    return TextBlock(Literal(text))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> TableBlock:
    """Return a table whose cells may hold formulas."""
    return TableBlock(tuple(heads), tuple(tuple(row) for row in rows))


def literal_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: bool = False, faint: Iterable[tuple[int, int]] = ()
) -> TableBlock:
    """Return a table without formulas; see :class:`TableBlock` for the arguments."""
    cells = tuple(tuple(map(Literal, row)) for row in rows)
    return TableBlock(tuple(map(Literal, heads)), cells, numeric, frozenset(faint))


def broken(terms: Sequence[str], width: int, measure: Callable[[str], int]) -> list[str]:
    """Break a sum into lines before its signs; a term is broken only if it alone is wider than a line.

    Args:
        terms: each after its sign and a space.
        width: of a line.
        measure: gives the width of a text.
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
    """Return a sum without its first plus sign, or without the space after its first minus sign."""
    return re.sub(r"^(?:\+ |(-) )", r"\1", text)


def data(document: Document) -> str:
    """Return a document as JSON, with formulas in LaTeX, for a program to read.

    The object has ``title``, ``blocks``, and ``sections``, each with its name, title and blocks in order.
    """
    sections = [
        {"name": section.name, "title": section.title, "blocks": list(map(_block, section.blocks))}
        for section in document.sections
    ]
    whole = {"title": document.title, "blocks": list(map(_block, document.blocks)), "sections": sections}
    return as_json(whole, indent=2)


def _block(block: Block) -> dict[str, Any]:
    match block:
        case PictureBlock(kind=kind, description=description):
            return {"picture": description, "kind": kind}
        case EquationBlock(equations):
            return {"equations": list(map(_equation, equations))}
        case TableBlock(heads, rows):
            return {"heads": heads, "rows": rows}
        case DetailsBlock(summary, blocks):
            return {"details": summary, "blocks": list(map(_block, blocks))}
        case ListBlock(items):
            return {"items": items}
    assert isinstance(block, ProseBlock)
    return {type(block).__name__.removesuffix("Block").lower(): block.text}


def _equation(equation: SumBlock | MatrixBlock) -> dict[str, Any]:
    if isinstance(equation, MatrixBlock):
        return {"left": equation.name, "matrix": equation.rows}
    return {"left": equation.name, "right": leading(" ".join(equation.terms))}
