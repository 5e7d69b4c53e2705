# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The version; copyright and licence, at the head of this project's source files and of those that it writes."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str

COPYRIGHT = "Copyright 2026 robodyn_ros maintainers"

LICENCE = "SPDX-License-Identifier: Apache-2.0"
"""As https://spdx.dev/learn/handling-license-info names it to programs."""

COMMENTS = {
    **dict.fromkeys((".py", ".sh", ".toml", ".yaml", ".yml", ".cfg", "CMakeLists.txt", "Makefile", "#!"), "# {}"),
    **dict.fromkeys((".c", ".h", ".cpp", ".hpp"), "// {}"),
    ".tex": "% {}",
    ".css": "/* {} */",
    ".html": "<!-- {} -->",
}
"""Ending or name of a source file, or its first two letters → a comment there; templates end in .in besides."""


def with_licence(name: str, text: str) -> str:
    """The text of a file with copyright and licence at its head; unchanged if it has them, or is no source file.

    Args:
        name: of the file.
        text: in it.
    """
    path = PurePath(name.removesuffix(".in"))
    form = COMMENTS.get(path.name) or COMMENTS.get(path.suffix) or COMMENTS.get(text[:2])
    if form is None or not text.strip():
        return text
    lines = "".join(f"{form.format(line)}\n" for line in (COPYRIGHT, LICENCE))
    first, rest = text.split("\n", 1) if text.startswith("#!") else ("", text)
    return text if rest.startswith(lines) else f"{first}\n{lines}\n{rest}".lstrip("\n")


def __getattr__(name: str) -> str:
    """``__version__``, as it was installed: setup.py and package.xml have it, which the tools of a release change."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("robodyn_ros")
