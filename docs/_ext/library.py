# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The reference of the library: a page for every room, made of the docstrings of its modules."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import GenericAlias
from typing import Any, ClassVar

from sphinx.application import Sphinx
from sphinx.domains.python import PythonDomain

import robodyn_ros

ELSEWHERE = ("nodes", "cli", "dynamics.conformance", "control.conformance")
"""Rooms and folders that have no page here: nodes have topics, the command has verbs, the kit has clauses."""


def modules() -> Iterator[str]:
    """Return the names of all modules and folders in the rooms of the library, at any depth."""

    def inside(package: str, path: Iterable[str]) -> Iterator[str]:
        for found in sorted(pkgutil.iter_modules(path), key=lambda found: found.name):
            name = f"{package}.{found.name}"
            if found.name.startswith("_") or name.partition(".")[2] in ELSEWHERE:
                continue
            if package != "robodyn_ros":  # the rooms themselves are the titles of the pages
                yield name
            if found.ispkg:
                yield from inside(name, [f"{folder}/{found.name}" for folder in path])

    return inside("robodyn_ros", list(robodyn_ros.__path__))


def write_rooms(app: Sphinx) -> None:
    """Write a page for every room of the library; a page that has not changed is not written again."""
    folder = Path(app.srcdir) / "reference" / "api"
    folder.mkdir(exist_ok=True)
    pages: dict[str, list[str]] = {}
    for module in modules():
        room = module.split(".")[1]
        if room not in pages:
            pages[room] = [f"# {room}", "", *_documented(f"robodyn_ros.{room}")]
        pages[room] += [f"## {module}", "", *_documented(module)]
    for old in folder.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for room, lines in pages.items():
        path, text = folder / f"{room}.md", "\n".join(lines)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _documented(module: str) -> list[str]:
    """The docstrings of a module and of what it defines; a name that it only re-exports is left out."""
    return [
        "```{eval-rst}",
        f".. automodule:: {module}",
        "   :ignore-module-all:",
        "```",
        "",
    ]


def as_sentences(
    app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Prepare a docstring, which is prose with mathematics in it, for Sphinx.

    An indented block after a paragraph is a formula, and becomes literal text. A bar is an absolute value, not a
    substitution. Napoleon takes the text before a colon in the first line about an attribute for a type; an empty
    comment as the first line prevents that.
    """
    if lines and lines[0].startswith(
        "Alias for field number"
    ):  # Python's own docstring for a field of a named tuple
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


def without_aliases(
    app: Sphinx, what: str, name: str, thing: object, skip: bool, options: object
) -> bool | None:
    """Skip the aliases of array types: autodoc writes them as text that docutils cannot read."""
    return True if isinstance(thing, GenericAlias) else None


class IndexedPythonDomain(PythonDomain):
    """Sphinx's domain, which finds a name that is not qualified without going through all 6,000 objects."""

    def find_obj(
        self, env: Any, modname: str | None, classname: str | None, name: str, *more: Any
    ) -> Any:
        """See Sphinx. Whatever it finds ends with the last part of the name."""
        everything = self.objects
        if self._indexed != len(everything):
            self._indexed = len(everything)
            self._by_last_part.clear()
            for whole, entry in everything.items():
                self._by_last_part.setdefault(whole.rpartition(".")[2], {})[whole] = entry
        last = name.removesuffix("()").rpartition(".")[2]
        self.data["objects"] = self._by_last_part.get(last, {})
        try:
            return super().find_obj(env, modname, classname, name, *more)
        finally:
            self.data["objects"] = everything

    _indexed = -1
    _by_last_part: ClassVar[dict[str, dict[str, Any]]] = {}


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_domain(IndexedPythonDomain, override=True)
    app.connect("builder-inited", write_rooms)
    app.connect("autodoc-skip-member", without_aliases)
    app.connect("autodoc-process-docstring", as_sentences, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
