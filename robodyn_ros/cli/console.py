"""Where the command writes: results to stdout, progress and errors to stderr; colour on a terminal only."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console

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
