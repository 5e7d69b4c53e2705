# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""How large the house is, room by room, and through which files a position goes on its way to an effort.

    make house                       the working tree
    make house BENCH="v0.9 HEAD"     beside earlier commits

Lines of code are those with neither a blank, a comment nor a docstring alone. A parameter is a row of the pages below
docs/reference/nodes/.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
PACKAGE = "robodyn_ros"
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
PARAMETER = re.compile(r"^\| `[^|]*(?:\|[^|\n]*){4}\|$", re.M)  # name, default, range, what it is, when it changes
COMMENT_OF_C = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
COMPILED = ("control/core/*.c", "control/step.py and the law, compiled into one function")
"""What C goes through."""


def docstring_lines(code: str) -> set[int]:
    """The lines of a Python file on which texts stand that nothing reads: docstrings, of attributes too."""
    found: set[int] = set()
    for part in ast.walk(ast.parse(code)):
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str):
            found.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return found


def code_lines(name: str, code: str) -> int:
    """Lines of a Python or C file without blanks, comments and docstrings."""
    if not name.endswith(".py"):
        return sum(bool(line.strip()) for line in COMMENT_OF_C.sub("", code).splitlines())
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type not in SILENT
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - docstring_lines(code))


def files_of(revision: str) -> dict[str, str]:
    """Name → text of the Python, C and Markdown files of a commit; "" is the working tree."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    listed = ("ls-tree", "-r", "--name-only", revision) if revision else ("ls-files", "-co", "--exclude-standard")
    names = [name for name in git(*listed).splitlines() if name.endswith((".py", ".c", ".h", ".md"))]
    if revision:
        return {name: git("show", f"{revision}:{name}") for name in names}
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in names if (ROOT / name).exists()}


def rooms(name: str) -> Iterator[str]:
    """The rows that a file counts in."""
    if name.endswith(".md"):
        return
    top, *rest = name.split("/")
    if top in ("test", "benchmarks", PACKAGE) and rest:
        yield top
    if top == PACKAGE and len(rest) > 1:
        yield f"  {rest[0]}"
        if rest[:2] == ["nodes", "controller"] or rest[:2] == ["control", "core"]:
            yield f"    {rest[1]}"


def figures(files: dict[str, str]) -> dict[str, Counter[str]]:
    """Row → modules, lines, and lines of code."""
    found: dict[str, Counter[str]] = {}
    for name, code in files.items():
        for room in rooms(name):
            row = found.setdefault(room, Counter())
            row.update(modules=name.endswith(".py"), lines=len(code.splitlines()), code=code_lines(name, code))
    return found


def parameters(files: dict[str, str]) -> Counter[str]:
    """Node → rows of its page of parameters."""
    pages = {name: text for name, text in files.items() if name.startswith("docs/reference/nodes/")}
    return Counter({Path(name).stem: len(PARAMETER.findall(text)) for name, text in pages.items()})


def visited(call: Callable[[], object]) -> list[str]:
    """Files of the package whose Python functions a call runs, in the order of their first one."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(ROOT / PACKAGE)):
            found[str(Path(name).relative_to(ROOT / PACKAGE))] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(found)


def ways() -> dict[str, list[str]]:
    """Way of a position → files."""
    import robodyn_ros as rd
    from robodyn_ros.control import ControlLoop

    robot = rd.load_robot(ROOT / "urdf/prr.urdf")
    found = {}
    for way, traced in (("update of a traced law, from Python", True), ("update of a law in Python", False)):
        law = rd.create_controller("computed_torque", rd.create_dynamics("rnea", robot), 100.0, 20.0)
        law.traced = traced
        loop = ControlLoop(law, robot.effort_limit)
        for step in range(3):
            files = visited(lambda loop=loop, t=0.001 * step: loop.update(t, t, robot.home + 0.1, robot.home))  # type: ignore[misc]
        found[way] = [*files, *COMPILED[: 1 + traced]]
    thread = ["nodes/controller/realtime/runner.c", *COMPILED]
    return {"the controller's thread, from message to command": thread, **found}


def order(room: str) -> tuple[Any, ...]:
    """The package, its rooms in alphabetical order with their parts below them, then tests and benchmarks."""
    inside = {"    core": "control", "    controller": "nodes"}.get(room, room.strip())
    return (1, inside, room.startswith("    ")) if room.startswith("  ") else (0 if room == PACKAGE else 2, room, False)


def main() -> None:
    """See the module."""
    revisions = (*sys.argv[1:], "")
    trees = [files_of(revision) for revision in revisions]
    counted, pages = [figures(tree) for tree in trees], [parameters(tree) for tree in trees]
    table = Table("room", title="modules, lines, lines of code")
    for revision in revisions:
        table.add_column(revision[:12] or "now", justify="right")
    for room in sorted(set().union(*counted), key=order):
        cells = [found.get(room, Counter()) for found in counted]
        table.add_row(room, *(f"{cell['modules']} {cell['lines']:7,} {cell['code']:7,}" for cell in cells))
    table.add_row("parameters of all nodes", *(str(page.total()) for page in pages))
    for page in sorted(name for name in set().union(*pages) if any(counts[name] for counts in pages)):
        table.add_row(f"  {page.removesuffix('-parameters')}", *(str(counts[page]) for counts in pages))
    console = Console()
    console.print(table)
    for way, files in ways().items():
        console.print(f"{way}: {len(files)} files\n  {', '.join(files)}", highlight=False)


if __name__ == "__main__":
    main()
