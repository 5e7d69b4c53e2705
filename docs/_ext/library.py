"""The reference of the library: a page for every room, made of the docstrings of its modules."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

import robodyn_ros

SILENT = ("nodes", "cli", "dynamics.conformance")
"""Rooms whose reference is not that of their modules: nodes have topics, the command has verbs, the kit has clauses."""


def modules() -> Iterator[str]:
    """The modules of the library, and of a folder in a room the folder itself only."""
    for found in sorted(
        pkgutil.walk_packages(robodyn_ros.__path__), key=lambda found: found.name
    ):
        prefix = "robodyn_ros."
        if found.name in SILENT:
            continue
        if found.ispkg:
            for inner in sorted(
                pkgutil.iter_modules([f"{robodyn_ros.__path__[0]}/{found.name}"]),
                key=lambda i: i.name,
            ):
                name = f"{found.name}.{inner.name}"
                if name not in SILENT and not inner.name.startswith("_"):
                    yield prefix + name


def write_rooms(app: Sphinx) -> None:
    """A page for every room of the library; one that has not changed is not written again."""
    folder = Path(app.srcdir) / "reference" / "api"
    folder.mkdir(exist_ok=True)
    pages: dict[str, list[str]] = {}
    for module in modules():
        room = module.split(".")[1]
        page = pages.setdefault(
            room,
            [
                f"# {room}",
                "",
                "```{eval-rst}",
                f".. automodule:: robodyn_ros.{room}",
                "   :no-members:",
                "```",
                "",
            ],
        )
        page += [f"## {module}", "", "```{eval-rst}", f".. automodule:: {module}", "```", ""]
    for old in folder.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for room, lines in pages.items():
        path, text = folder / f"{room}.md", "\n".join(lines)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def as_sentences(
    app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Docstrings are prose with mathematics in it, for Sphinx to read as such.

    What is indented after a paragraph is a formula, to be shown as it stands. Bars are absolute values, not
    substitutions. And what stands before a colon in the first line about an attribute is no type, for which Napoleon
    takes it unless that line is one without a colon: an empty comment.
    """
    if lines and lines[0].startswith(
        "Alias for field number"
    ):  # Python's own words about a field of a named tuple
        lines.clear()
    prose: list[str] = []
    literal = False
    for line in lines:
        paragraph = next((earlier for earlier in reversed(prose) if earlier), "")
        opens = line.startswith(" ") and prose[-1:] == [""] and not paragraph.startswith(" ")
        literal = opens or (literal and (line.startswith(" ") or not line))
        if opens and not paragraph.endswith("::"):
            prose += ["::", ""]
        prose.append(
            line
            if literal
            else re.sub(r"(``.*?``)|\|", lambda bar: bar.group(1) or r"\|", line)
        )
    lines[:] = prose
    if what in {"attribute", "property", "data"}:
        lines[:0] = ["..", ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_rooms)
    app.connect("autodoc-process-docstring", as_sentences, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
