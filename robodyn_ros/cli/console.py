"""The output of the command: results go to stdout, progress and errors to stderr; only a terminal gets colour.

The checks of output files stand here too. A verb calls them before its work, so that a wrong path is an error at once
and not after a minute.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from robodyn_ros.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

WIDTH = 80
"""Columns of an output that is not a terminal."""

WIDEST = 1000
"""Greatest number of columns of a table whose names are long."""

GREATEST_WIDTH = 100
"""Greatest number of columns: a table that fills a wide terminal is hard to read."""


class _Console(Console):
    def print(self, *objects: Any, **how: Any) -> None:
        """Print; a table becomes as wide as its words and numbers ask, for the name of a joint is never broken."""
        before = self.width
        if len(objects) == 1 and isinstance(objects[0], Table):
            options = self.options.update(max_width=WIDEST)
            for column in objects[0].columns:
                cells = [Measurement.get(self, options, cell) for cell in column.cells]
                numbers = column.justify == "right" or column is objects[0].columns[0]  # or names
                widths = [cell.maximum if numbers else cell.minimum for cell in cells]
                column.min_width = max([Measurement.get(self, options, column.header).minimum, *widths])
            wanted = Measurement.get(self, options, objects[0])
            self.width = before if wanted.minimum <= before else wanted.maximum
        try:
            super().print(*objects, **how)
        finally:
            self.width = before

    def on_broken_pipe(self) -> NoReturn:
        """Raise, so that :func:`robodyn_ros.cli.main.main` handles it; rich would exit with a code of its own."""
        raise BrokenPipeError


def console(stderr: bool = False) -> Console:
    """Return a console for the present stdout or stderr."""
    # A name in brackets is a name, and so is one between colons: what a file brings is never markup.
    made = _Console(stderr=stderr, highlight=False, soft_wrap=False, markup=False, emoji=False)
    made.width = min(made.width, GREATEST_WIDTH) if made.is_terminal else WIDTH
    return made


def progress_bar(*columns: str | ProgressColumn, transient: bool = True) -> Progress:
    """Return a progress bar on stderr, which shows only on a terminal.

    Args:
        *columns: what to show (default: rich's choice).
        transient: remove the bar at the end.
    """
    from rich.progress import Progress

    out = console(stderr=True)
    return Progress(*columns, console=out, transient=transient, disable=not out.is_terminal)


def print_json(value: Any) -> None:
    """Print a value as JSON; a number that is not finite, which JSON does not have, as null."""
    json.dump(_without_nan(value), sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    return [_without_nan(item) for item in value] if isinstance(value, (list, tuple)) else value


def check_picture(option: str, path: Path) -> None:
    """Check that a picture can be drawn into this file.

    Raises:
        InputError: its ending names no picture format, or its folder does not exist or is not writable.
        ConfigurationError: Matplotlib is not installed.
    """
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(option, f"must end in .png, .svg or .pdf, not {path.suffix!r}", path)
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
        raise InputError(option, f"{str(path)!r} cannot be written", path)
    if find_spec("matplotlib") is None:
        raise ConfigurationError("the picture needs matplotlib: pip install 'robodyn_ros[plot]'")


def check_folder(option: str, path: Path) -> None:
    """Check that the folder of a file exists.

    Raises:
        InputError: it does not.
    """
    if not path.resolve().parent.is_dir():
        raise InputError(option, f"there is no folder {str(path.parent)!r}", path)


def write_file(option: str, path: Path, content: str | bytes) -> None:
    """Write a file, or replace it.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as cause:
        raise InputError(option, f"{str(path)!r} cannot be written: {cause.strerror}", path) from cause
