# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A document in the formats that keep its formulas in LaTeX: LaTeX itself, PDF, and Markdown.

The LaTeX compiles as it is; the PDF is made by the LaTeX that this machine has. Markdown has formulas between dollar
signs, as GitHub, GitLab, Jupyter and Pandoc read it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from robodyn_ros.document import blocks as page
from robodyn_ros.errors import ConfigurationError

WIDTH = 86
"""Letters and signs in a line."""

PROSE = {character: rf"\{character}" for character in "#%&{}_$"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\n": " ",
    "\r": " ",
    "\t": " ",
    "²": "$^2$",
    "·": r"\,",
    "°": r"$^\circ$",
    "→": r"$\to$",
    "−": "$-$",
    "–": "--",
    "±": r"$\pm$",
}
"""Characters with a meaning in LaTeX, and the signs of this package's prose that are not ASCII."""

OPTIONS = ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape")

ENGINES: dict[str, tuple[str, ...]] = {"pdflatex": OPTIONS, "lualatex": OPTIONS, "xelatex": OPTIONS, "tectonic": ()}
"""Programs that are looked for, in this order, and their options."""

PATIENCE = 120.0
"""Time that LaTeX may take; a document takes a second or two [s]."""


def tex(document: page.Document) -> str:
    """Return the text of the file."""
    parts = [
        r"\documentclass{article}",
        r"\usepackage{amsmath, longtable}",
        r"\usepackage[margin=2cm]{geometry}",
        r"\allowdisplaybreaks",
        r"\setlength{\parindent}{0pt}",
        r"\setlength{\parskip}{1ex}",
        r"\setcounter{MaxMatrixCols}{20}",
        r"\begin{document}",
        rf"\section*{{{_prose(document.title)}}}",
        *_blocks(document.blocks),
    ]
    for number, section in document.headings(r"\quad "):
        parts += [rf"\subsection*{{{number}{_prose(section.title)}}}", *_blocks(section.blocks)]
    return "\n".join([*parts, r"\end{document}"]) + "\n"


def aligned(equations: Sequence[page.SumBlock | page.MatrixBlock]) -> str:
    """Return the rows of an environment that aligns equations at their equals signs."""
    return " \\\\\n".join(_row(equation) for equation in equations)


def _row(equation: page.SumBlock | page.MatrixBlock) -> str:
    if isinstance(equation, page.SumBlock):
        lines = page.broken(equation.terms, WIDTH, _width)
        return f"{equation.name} &= " + " \\\\\n &\\quad ".join(lines)
    body = r" \\ ".join(" & ".join(row) for row in equation.rows)
    return rf"{equation.name} &= \begin{{pmatrix}} {body} \end{{pmatrix}}"


FORMS = {page.TextBlock: "{}\n", page.VerdictBlock: "\\textbf{{{}}}\n", page.HeadingBlock: r"\subsubsection*{{{}}}"}
"""Block of prose → its form in LaTeX."""


def _blocks(blocks: Iterable[page.Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case page.CodeBlock(content):
                yield "\n\n".join(rf"\texttt{{{_prose(page.Literal(line))}}}" for line in content.splitlines()) + "\n"
            case page.ProseBlock(content):
                yield FORMS[type(block)].format(_prose(content))
            case page.ListBlock(items):
                lines = "\n".join(rf"\item {{}}{_prose(item)}" for item in items)
                yield f"\\begin{{itemize}}\n{lines}\n\\end{{itemize}}"
            case page.PictureBlock(description=description):  # a picture would be a file of its own
                yield f"[{_prose(page.Literal(description))}]\n"
            case page.EquationBlock(equations):
                yield f"\\begin{{align*}}\n{aligned(equations)}\n\\end{{align*}}"
            case page.TableBlock(heads, rows):
                yield rf"\begin{{longtable}}{{{'l' * len(heads)}}}"
                yield rf"{' & '.join(map(_prose, heads))} \\ \hline"
                for row in rows:
                    line = " & ".join(map(_prose, row))
                    yield rf"{'{}' if line.startswith(('[', '*')) else ''}{line} \\"  # \\[ and \\* are commands
                yield r"\end{longtable}"
            case page.DetailsBlock(summary, inner):
                yield from _blocks((page.HeadingBlock(summary), *inner))


def _prose(text: str) -> str:
    """Return a text with formulas as they are; a sign that LaTeX may not know becomes an underscore."""
    return page.joined(text, "${}$".format, lambda part: re.sub(r"[^\w .,:;()+/'=-]|_", _sign, part, flags=re.ASCII))


def _sign(found: re.Match[str]) -> str:
    return PROSE.get(found.group(), found.group() if found.group().isascii() else r"\_")


def _width(text: str) -> int:
    """Return about how many letters and signs a formula has."""
    return len(re.sub(r"\\(operatorname|mathrm|frac|d?dot)|[\\{}_^ ]", "", text))


def pdf(document: page.Document) -> bytes:
    """Return the content of the PDF.

    Raises:
        ConfigurationError: there is no LaTeX here, or it fails.
    """
    engine = next((name for name in ENGINES if shutil.which(name)), None)
    if engine is None:
        raise ConfigurationError(f"PDF needs LaTeX: none of {', '.join(ENGINES)} is on PATH (latex and html need none)")
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "document.tex"), Path(folder, "document.pdf")
        source.write_text(tex(document), encoding="utf-8")
        command = [engine, *ENGINES[engine], source.name]
        try:
            for _ in range(2):  # longtable takes its widths from the first run
                done = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE
                )
        except subprocess.TimeoutExpired as cause:
            raise ConfigurationError(f"{engine} did not end within {PATIENCE:.0f} s") from cause
        if done.returncode or not result.exists():
            said = next((line for line in done.stdout.splitlines() if line.startswith("!")), "it gives no reason")
            raise ConfigurationError(f"{engine} failed: {said.lstrip('! ')}")
        return result.read_bytes()


MARKUP = re.compile(r"[\\`*_{}<>|$]|^\[|\](?=[(\[])|&(?=#?\w+;)|~(?=~)")
"""Signs that Markdown could take for markup: also the end of a link's text, character references and ``~~``."""


def markdown(document: page.Document) -> str:
    """Return the text of the file."""
    parts = [f"# {_markdown_prose(document.title)}", *_markdown_blocks(document.blocks)]
    for number, section in document.headings(". "):
        parts += [f"## {number}{_markdown_prose(section.title)}", *_markdown_blocks(section.blocks)]
    return "\n\n".join(parts) + "\n"


MARKDOWN_FORMS = {page.TextBlock: "{}", page.VerdictBlock: "**{}**", page.HeadingBlock: "### {}"}
"""Block of prose → its form in Markdown."""


def _markdown_blocks(blocks: Iterable[page.Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case page.CodeBlock(content):
                yield "\n".join(f"    {line}" for line in content.splitlines())
            case page.ProseBlock(content):
                yield MARKDOWN_FORMS[type(block)].format(_markdown_prose(content))
            case page.ListBlock(items):
                yield "\n".join(f"- {_markdown_prose(item)}" for item in items)
            case page.PictureBlock(content, kind, description, _):
                source = f"data:{kind};base64,{b64encode(content).decode()}"
                yield f"![{_markdown_prose(page.Literal(description))}]({source})"
            case page.EquationBlock(equations):
                yield f"$$\n\\begin{{aligned}}\n{aligned(equations)}\n\\end{{aligned}}\n$$"
            case page.TableBlock(heads, rows):
                lines = [heads, ["---"] * len(heads), *rows]
                yield "\n".join(f"| {' | '.join(map(_markdown_prose, line))} |" for line in lines)
            case page.DetailsBlock(summary, inner):
                yield from _markdown_blocks((page.HeadingBlock(summary), *inner))


def _markdown_prose(text: str) -> str:
    """Return a text on one line, formulas as they are, and nothing in the rest that could be markup."""
    return page.joined(text, "${}$".format, lambda part: re.sub(r"\s*[\r\n]+\s*", " ", MARKUP.sub(r"\\\g<0>", part)))
