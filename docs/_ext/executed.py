# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Runs the Python of a page from top to bottom: for the tests, and to show in the site what it prints and plots.

A page is Markdown. Its blocks fenced as ``python`` are one program; where an assertion in it does not hold, the page is
wrong. What a block prints, and the figures it leaves open, belong under it. A block after the comment
``<!-- not run: why -->`` is left out. Nothing here knows Sphinx; :mod:`shown` does.
"""

from __future__ import annotations

import ast
import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
"""Where the programs run: the top of the project."""

FENCED = re.compile(
    r"^(?P<before> *<!-- not run: (?P<why>[^>]+) -->\n+)?"
    r"^(?P<fence> *```+)(?P<language>\w+)\n(?P<code>.*?)^(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)

UNTIL_TOLD = re.compile(
    r"^(ros2 launch|\.venv/bin/robodyn-(simulator|controller)|\.venv/bin/robodyn view|make demo VIEW=1)\b",
    re.MULTILINE,
)
"""Commands that run until they are told to end."""


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    line: int  # of its first line of code, from 1
    code: str
    why_not: str  # why it is not run; empty if it is


class Figure(NamedTuple):
    """What a block has drawn."""

    title: str
    svg: bytes


class Result(NamedTuple):
    """What came of a block."""

    block: Block
    printed: str
    figures: tuple[Figure, ...]


def blocks(page: Path, language: str) -> list[Block]:
    """The blocks of a language, in order."""
    text = page.read_text(encoding="utf-8")
    found = [
        Block(
            match["language"],
            text.count("\n", 0, match.start("code")) + 1,
            dedent(match["code"]),
            match["why"] or "",
        )
        for match in FENCED.finditer(text)
    ]
    return [block for block in found if block.language == language]


def run(page: Path, namespace: dict[str, object] | None = None) -> list[Result]:
    """Execute a page, block by block, in a namespace of its own; an exception names the page and its line.

    Args:
        page: the page.
        namespace: receives the names that the page defines.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    namespace = {} if namespace is None else namespace
    namespace["__name__"] = "__main__"
    results = []
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        with mpl.rc_context(fname=Path(__file__).with_name("figures.mplstyle")):
            for block in blocks(page, "python"):
                if block.why_not:
                    results.append(Result(block, "", ()))
                    continue
                # Empty lines before the code: the line numbers of a traceback are those of the page.
                code = compile("\n" * (block.line - 1) + block.code, os.fspath(page), "exec")
                with redirect_stdout(io.StringIO()) as printed:
                    exec(code, namespace)
                results.append(Result(block, printed.getvalue(), tuple(_figures())))
    finally:
        os.chdir(before)
        plt.close("all")
    return results


def without_checks(code: str) -> tuple[str, str]:
    """A block as its reader wants it first, and its checks: the assertions on its outermost level.

    A comment above an assertion goes with it.
    """
    lines, checks = code.splitlines(), set()
    for statement in ast.parse(code).body:
        if _is_check(statement):
            first = statement.lineno - 1
            while first > 0 and lines[first - 1].startswith("#"):
                first -= 1
            checks.update(range(first, statement.end_lineno or statement.lineno))
    shown = "\n".join(line for number, line in enumerate(lines) if number not in checks)
    folded = "\n".join(line for number, line in enumerate(lines) if number in checks)
    return re.sub(r"\n{3,}", "\n\n", shown).strip("\n"), folded


def _is_check(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assert):
        return True
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    called = statement.value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name.startswith("assert_")


def _lay_out(figure: Any) -> None:
    """Give the axes of a figure their places. Saving it would draw all of it for that, and draw it again then."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    FigureCanvasSVG(figure)
    figure.get_layout_engine().execute(figure)
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)


def _figures() -> Iterator[Figure]:
    """The open figures; they are closed."""
    from matplotlib import pyplot as plt

    for number in plt.get_fignums():
        figure = plt.figure(number)
        titles = [
            *(text.get_text() for text in figure.texts),
            *(axes.get_title() for axes in figure.axes),
        ]
        title = next(filter(None, titles), "")
        assert title, "a figure has a title, which those hear who cannot see it"
        svg = io.BytesIO()
        _lay_out(figure)
        figure.savefig(svg, format="svg", metadata={"Date": None})
        plt.close(figure)
        yield Figure(title, svg.getvalue())
