# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A document in Markdown, formulas in LaTeX between dollar signs, as GitHub, GitLab, Jupyter and Pandoc read it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator

from robodyn_ros.document.blocks import (
    Block,
    CodeBlock,
    DetailsBlock,
    Document,
    EquationBlock,
    HeadingBlock,
    ListBlock,
    Literal,
    PictureBlock,
    TableBlock,
    TextBlock,
    VerdictBlock,
    split,
)
from robodyn_ros.document.latex import aligned

MARKUP = re.compile(r"[\\`*_{}<>|$]|^\[|\](?=[(\[])|&(?=#?\w+;)|~(?=~)")
"""Signs that Markdown could take for markup: also the end of a link's text, character references and ``~~``."""


def markdown(document: Document) -> str:
    """Return the text of the file."""
    parts = [f"# {_prose(document.title)}", *_blocks(document.blocks)]
    for number, section in document.headings():
        parts += [f"## {f'{number}. ' if number else ''}{_prose(section.title)}", *_blocks(section.blocks)]
    return "\n\n".join(parts) + "\n"


def _blocks(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case TextBlock(content):
                yield _prose(content)
            case VerdictBlock(content):
                yield f"**{_prose(content)}**"
            case HeadingBlock(content):
                yield f"### {_prose(content)}"
            case CodeBlock(content):
                yield "\n".join(f"    {line}" for line in content.splitlines())
            case ListBlock(items):
                yield "\n".join(f"- {_prose(item)}" for item in items)
            case PictureBlock(content, kind, description, _):
                yield f"![{_prose(Literal(description))}](data:{kind};base64,{b64encode(content).decode()})"
            case EquationBlock(equations):
                yield f"$$\n\\begin{{aligned}}\n{aligned(equations)}\n\\end{{aligned}}\n$$"
            case TableBlock(heads, rows):
                lines = [heads, ["---"] * len(heads), *rows]
                yield "\n".join(f"| {' | '.join(map(_prose, line))} |" for line in lines)
            case DetailsBlock(summary, inner):
                yield f"### {_prose(summary)}"
                yield from _blocks(inner)


def _prose(text: str) -> str:
    """Return a text on one line, formulas as they are, and nothing in the rest that could be markup."""
    return "".join(
        f"${part}$" if formula else re.sub(r"\s*[\r\n]+\s*", " ", MARKUP.sub(r"\\\g<0>", part))
        for formula, part in split(text)
    )
