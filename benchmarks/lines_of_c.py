# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where the C of the package stands, and through which files a position goes on its way to an effort.

    python benchmarks/lines_of_c.py               the present state
    python benchmarks/lines_of_c.py REVISION      and that of an earlier commit

C in Python is a text of a Python file that has statements of C on several lines; texts with holes count, too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
STATEMENT = re.compile(r"^\s*(#include|#define|typedef|static|void|double|int|int64_t|for|if|return|\}).*|.*;\s*$")

COMPILED = ("control/core/*.c", "control/step.py and the law, compiled into one function")
"""What C goes through."""


def texts(code: str) -> Iterator[str]:
    """The texts of a Python file, docstrings apart."""
    tree = ast.parse(code)
    docs = {id(part.value) for part in ast.walk(tree) if isinstance(part, ast.Expr)}
    pieces = {id(piece) for part in ast.walk(tree) if isinstance(part, ast.JoinedStr) for piece in part.values}
    for part in ast.walk(tree):
        if id(part) in docs or id(part) in pieces:
            continue
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.JoinedStr):
            yield "".join(str(piece.value) if isinstance(piece, ast.Constant) else "x" for piece in part.values)


def lines_of_c(text: str) -> int:
    """How many lines of C a text has; 0 if it is none."""
    lines = [line for line in text.splitlines() if line.strip()]
    statements = sum(STATEMENT.match(line) is not None for line in lines)
    is_code = len(lines) > 2 and text.count(";") > 1 and "{" in text and 2 * statements > len(lines)
    return len(lines) if is_code else 0


def count(files: dict[str, str]) -> dict[str, int]:
    """Name → lines of C, of Python files that have some, and of C files."""
    found = {}
    for name, code in files.items():
        lines = len(code.splitlines()) if name.endswith(".c") else sum(map(lines_of_c, texts(code)))
        if lines:
            found[name] = lines
    return found


def files_of(revision: str) -> dict[str, str]:
    """Name → text of the package's Python and C files in a commit; "" is the working tree."""
    if not revision:
        paths = [path for kind in ("py", "c") for path in (ROOT / "robodyn_ros").rglob(f"*.{kind}")]
        return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    names = git("ls-tree", "-r", "--name-only", revision, "robodyn_ros").splitlines()
    return {name: git("show", f"{revision}:{name}") for name in names if name.endswith((".py", ".c"))}


def visited(call: Callable[[], object]) -> list[str]:
    """Files of the package whose Python functions a call runs, in the order of their first one."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(ROOT / "robodyn_ros")):
            found[str(Path(name).relative_to(ROOT / "robodyn_ros"))] = None

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
    thread = ["nodes/controller/realtime/thread.c", *COMPILED]
    return {"the controller's thread, from message to command": thread, **found}


def main() -> None:
    """See the module."""
    for revision in (*sys.argv[1:], ""):
        found = count(files_of(revision))
        print(f"{revision or 'now'}:")
        for kind, title in ((".py", "C in texts of Python"), (".c", "C in files")):
            own = {name: lines for name, lines in found.items() if name.endswith(kind)}
            print(f"  {title}: {sum(own.values())} lines in {len(own)} files")
            for name, lines in sorted(own.items(), key=lambda item: -item[1]):
                print(f"    {lines:5d} {name}")
    for way, files in ways().items():
        print(f"{way}: {len(files)} files")
        for name in files:
            print(f"    {name}")


if __name__ == "__main__":
    main()
