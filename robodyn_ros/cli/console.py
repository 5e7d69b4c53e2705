"""Where the command writes: results to stdout, progress and errors to stderr; colour on a terminal only."""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console

from robodyn_ros.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

WIDTH = 80
"""Columns when the output is no terminal."""

GREATEST_WIDTH = 100
"""Columns at most: tables and help stretched over a wide terminal are hard to read."""


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Leave it to the command; rich would end the process with its own code."""
        raise BrokenPipeError


def console(stderr: bool = False) -> Console:
    """A console for stdout or stderr as it is now."""
    made = _Console(stderr=stderr, highlight=False, soft_wrap=False)
    made.width = min(made.width, GREATEST_WIDTH) if made.is_terminal else WIDTH
    return made


def progress_bar(*columns: str | ProgressColumn, transient: bool = True) -> Progress:
    """Shows on stderr how far it is, if that is a terminal.

    Args:
        *columns: what to show, rich's choice unless given.
        transient: whether it goes when it is done.
    """
    from rich.progress import Progress

    out = console(stderr=True)
    return Progress(*columns, console=out, transient=transient, disable=not out.is_terminal)


def print_json(value: Any) -> None:
    """Print a value for a script to read."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


# Numbers with their units, as people read them.


def quantity(value: float, unit: str) -> str:
    """A length in [m] or an angle in [rad] in thousandths, three digits, for example ``0.412 mrad``."""
    return f"{digits(1e3 * value)} m{unit}"


def digits(value: float) -> str:
    """A number with three digits, or all that stand before the point."""
    magnitude = abs(value)
    places = 0 if magnitude >= 99.95 else 1 if magnitude >= 9.995 else 2 if magnitude >= 0.9995 else 3
    return f"{value:.{places}f}"


# The files that a verb writes: whether they can be is found out before its work, not after a minute.


def check_picture(option: str, path: Path) -> None:
    """Find out now that a picture cannot be drawn there.

    Raises:
        InputError: its ending is of no picture, or its folder is not there or not to be written to.
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
    """Find out now that the folder of a file is not there.

    Raises:
        InputError: it is not.
    """
    if not path.resolve().parent.is_dir():
        raise InputError(option, f"there is no folder {str(path.parent)!r}", path)


def write_file(option: str, path: Path, content: str | bytes) -> None:
    """Write a file; one that is there is replaced.

    Raises:
        InputError: it cannot be written.
    """
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as cause:
        raise InputError(option, f"{str(path)!r} cannot be written: {cause.strerror}", path) from cause
