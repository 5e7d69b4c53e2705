"""A document in Markdown, formulas in LaTeX between dollar signs, as GitHub, GitLab, Jupyter and Pandoc read it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from robodyn_ros.document.blocks import Block, Document, EquationBlock, TableBlock, TextBlock, split
from robodyn_ros.document.latex import aligned


def markdown(document: Document) -> str:
    """The text of the file."""
    parts = [f"# {_prose(document.title)}", *_blocks(document.blocks)]
    for number, section in enumerate(document.sections, 1):
        parts += [f"## {number}. {_prose(section.title)}", *_blocks(section.blocks)]
    return "\n\n".join(parts) + "\n"


def _blocks(blocks: tuple[Block, ...]) -> Iterator[str]:
    for block in blocks:
        match block:
            case TextBlock(content):
                yield _prose(content)
            case EquationBlock(equations):
                yield f"$$\n\\begin{{aligned}}\n{aligned(equations)}\n\\end{{aligned}}\n$$"
            case TableBlock(heads, rows):
                lines = [heads, ["---"] * len(heads), *rows]
                yield "\n".join(f"| {' | '.join(map(_prose, line))} |" for line in lines)


def _prose(text: str) -> str:
    return "".join(
        f"${part}$" if formula else re.sub(r"([\\`*_{}<>|])", r"\\\1", part) for formula, part in split(text)
    )
