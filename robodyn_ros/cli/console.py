# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The output of the command: results go to stdout, progress and errors to stderr; only a terminal gets colour.

Progress is a bar on a terminal, and a line every few seconds where the output is piped.

The checks of output files are here too. A verb calls them before its work, so that a wrong path is an error at once and
not after a minute.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, NoReturn

from rich import box, progress
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from robodyn_ros.document import blocks as page
from robodyn_ros.errors import InputError, need
from robodyn_ros.files import as_json, writing

WIDTH = 80
"""Columns of an output that is not a terminal, unless the environment variable COLUMNS has a number."""

WIDEST = 1000
"""Greatest number of columns of a table whose names are long."""

GREATEST_WIDTH = 100
"""Greatest number of columns: a table that fills a wide terminal is hard to read."""


class _Console(Console):
    def print(self, *objects: Any, **how: Any) -> None:
        """Print; a table that is too wide for the terminal is printed in parts, because no name or number is broken."""
        if len(objects) == 1 and isinstance(objects[0], Table):
            for part in self._parts(objects[0]):
                self._print_table(part, how)
        else:
            super().print(*objects, **how)

    def _print_table(self, table: Table, how: Mapping[str, Any]) -> None:
        before, measured = self.width, self._measured(table)
        self.width = max(before, measured.minimum)
        for column in table.columns if measured.maximum > self.width else ():
            if column.justify == "right":  # rich would not break its heading, but cut what is beyond the width
                column.width = column.min_width
        try:
            super().print(table, **how)
        finally:
            self.width = before

    def _parts(self, table: Table) -> list[Table]:
        """A table as one or more that fit, if that is possible; each begins with the columns that name the rows."""
        self._set_widths(table)
        if self._measured(table).minimum <= self.width:
            return [table]
        headings = [str(column.header) for column in table.columns]
        names = 1 + next((index for index, heading in enumerate(headings) if len(heading) > 1), 0)
        parts: list[list[int]] = []
        for index in range(names, len(headings)):
            longer = [*parts[-1], index] if parts else []
            if longer and self._measured(_some_columns(table, [*range(names), *longer])).minimum <= self.width:
                parts[-1] = longer
            else:
                parts.append([index])
        made = [_some_columns(table, [*range(names), *part]) for part in parts] or [table]
        for part in made[1:]:
            part.title = None
        return made

    def _set_widths(self, table: Table) -> None:
        """Make every column as wide as its numbers, its names and the longest word of its prose."""
        options = self.options.update(max_width=WIDEST)
        for column in table.columns:
            cells = [Measurement.get(self, options, cell) for cell in column.cells]
            numbers = column.justify == "right" or column is table.columns[0]  # or names
            widths = [cell.maximum if numbers else cell.minimum for cell in cells]
            heading = Measurement.get(self, options, column.header)
            column.min_width = max([heading.maximum if column.no_wrap else heading.minimum, *widths])

    def _measured(self, table: Table) -> Measurement:
        return Measurement.get(self, self.options.update(max_width=WIDEST), table)

    def on_broken_pipe(self) -> NoReturn:
        """Raise, so that :func:`robodyn_ros.cli.main.main` handles it; rich would exit with a code of its own."""
        raise BrokenPipeError


def _some_columns(table: Table, indices: Sequence[int]) -> Table:
    """A table of some of a table's columns."""
    part = copy(table)
    part.columns = [replace(table.columns[index], _index=place) for place, index in enumerate(indices)]
    return part


def console(stderr: bool = False) -> Console:
    """Return a console for the present stdout or stderr."""
    # Names from a file may have brackets or colons: they are never markup.
    made = _Console(stderr=stderr, highlight=False, soft_wrap=False, markup=False, emoji=False)
    told = made.is_terminal or os.environ.get("COLUMNS", "").isdigit()
    made.width = (told and min(made.width, GREATEST_WIDTH)) or WIDTH  # a width of 0 says nothing
    return made


def warn(text: str) -> None:
    """Print a warning to stderr."""
    console(stderr=True).print(f"warning: {text}", soft_wrap=True)


def simple_table(
    headings: Sequence[str], rows: Iterable[Sequence[str | Text]], left: Collection[int] = (0,), **how: Any
) -> Table:
    """Return a table of text and numbers; no number and no name of a row is broken.

    Args:
        headings: of the columns.
        rows: cells; an empty row ends a section.
        left: columns of text; the others are numbers.
        **how: as for ``rich.table.Table``, such as ``title``.
    """
    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title_justify="left", **how)
    for index, heading in enumerate(headings):
        made.add_column(heading, justify="left" if index in left else "right", overflow="fold")
    for row in rows:
        if row:
            made.add_row(*row)
        else:
            made.add_section()
    return made


def print_document(document: page.Document) -> None:
    """Print a report without its title and pictures: texts, verdicts, commands and tables."""
    out = console()
    for title, blocks in (("", document.blocks), *((each.title, each.blocks) for each in document.sections)):
        if title:
            out.print(Text(f"\n{title}\n", "bold cyan"))
        for block in blocks:
            if isinstance(block, page.TableBlock):
                left = (0,) if block.numeric else range(len(block.heads))
                out.print(simple_table(block.heads, block.rows, left))
            elif isinstance(block, page.VerdictBlock | page.HeadingBlock):
                out.print(Text(block.text, "bold"), soft_wrap=True)
            elif isinstance(block, page.TextBlock | page.CodeBlock):
                out.print(block.text, soft_wrap=True)


def picked(thing: object, *names: str) -> dict[str, Any]:
    """Some attributes of an object by their names: for JSON, or for the settings that a verb has as options."""
    return {name: getattr(thing, name) for name in names}


def print_json(value: Any) -> None:
    """Print a value as JSON (:func:`robodyn_ros.files.as_json`)."""
    sys.stdout.write(as_json(value, indent=2))


def check_outputs(picture: Path | None, out: Path | None = None) -> None:
    """Check the picture of ``--plot`` and the file of ``--out``, if they are wanted, as ``check_file`` and ``need``."""
    check_file("--out", out)
    check_file("--plot", picture, ".png", ".svg", ".pdf")
    if picture is not None:
        need("matplotlib", "the picture needs matplotlib", "robodyn_ros[plot]")


def check_file(option: str, path: Path | None, *endings: str) -> None:
    """Check that a file, if one is wanted, can be written, in a folder that need not exist yet.

    Raises:
        InputError: it cannot, or it has another ending than these.
    """
    if path is None:
        return
    if endings and path.suffix not in endings:
        known = " or ".join(filter(None, (", ".join(endings[:-1]), endings[-1])))
        raise InputError(option, f"must end in {known}, not {path.suffix!r}", path)
    nearest = next(folder for folder in path.resolve().parents if folder.exists())
    why = "it is a folder" if path.is_dir() else "" if nearest.is_dir() else f"{nearest} is no folder"
    if why or not os.access(nearest, os.W_OK):
        raise InputError(option, f"{str(path)!r} cannot be written: {why or f'no permission in {nearest}'}", path)


def make_file(option: str, path: Path, write: Callable[[Path], object]) -> None:
    """Make the folder of a file, and the file by a function that writes it.

    Raises:
        InputError: the file cannot be written.
    """
    with writing(option, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)


def write_file(option: str, path: Path, content: str | bytes) -> None:
    """Write a file, or replace it; errors as of ``check_file`` and ``make_file``."""
    check_file(option, path)
    make_file(option, path, lambda path: path.write_bytes(content.encode() if isinstance(content, str) else content))


TASK = progress.TextColumn("{task.description}", markup=False)
"""The column with the description of a task."""

PERIOD = 4.0
"""Time between two lines [s]."""

DRAWN = (progress.BarColumn, progress.SpinnerColumn, progress.TimeElapsedColumn)
"""Columns that a line omits, because it ends with the time."""


def progress_bar(*columns: progress.ProgressColumn, transient: bool = True) -> progress.Progress:
    """Return the display of progress, for a ``with`` statement.

    Args:
        *columns: columns to show (default: description, bar and percentage); a line has its texts and numbers.
        transient: remove the bar at the end.
    """
    out = console(stderr=True)
    shown = columns or (TASK, progress.BarColumn(), progress.TaskProgressColumn())
    if out.is_terminal:
        return progress.Progress(*shown, console=out, transient=transient)
    return _ProgressLines(*shown, console=out, disable=True)


@contextmanager
def tracked(
    *columns: progress.ProgressColumn, description: str = "", total: float | None, **task: Any
) -> Iterator[Callable[..., None]]:
    """Show the progress of one task; yields the function that changes it.

    Args:
        *columns: as for :func:`progress_bar`.
        description: of the task.
        total: its length, in any unit; None if it is unknown.
        **task: as for ``rich.progress.Progress.add_task``.
    """
    with progress_bar(*columns) as shown:
        yield partial(shown.update, shown.add_task(description, total=total, **task))


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show that a long task without known progress is running; yields the function that changes its description.

    Args:
        what: the task, such as ``measuring``.
    """
    columns = progress.SpinnerColumn(), TASK, progress.TimeElapsedColumn()
    with tracked(*columns, description=what, total=None) as update:
        yield lambda text: update(description=text)


@contextmanager
def preparing(what: str) -> Iterator[None]:
    """Show that a long preparation is running, and what is compiled for it."""
    from robodyn_ros.engine.library import library_records

    with waiting(what) as tell, library_records(tell, warn):
        yield


class _ProgressLines(progress.Progress):
    """Progress as lines. Their clock is a thread, since one step of the work may take minutes."""

    def start(self) -> None:
        self._ended = Event()
        self._begun = self.get_time()
        self._clock = Thread(target=self._tell, daemon=True)
        self._clock.start()

    def stop(self) -> None:
        self._ended.set()
        self._clock.join()

    def _tell(self) -> None:
        while not self._ended.wait(PERIOD):
            for task in self.tasks:
                if task.started and not task.finished:
                    parts = [each.render(task) for each in self.columns if not isinstance(each, DRAWN)]  # type: ignore[union-attr]
                    words = [part.plain for part in parts if isinstance(part, Text) and part.plain.strip()]
                    words.append(f"({self.get_time() - self._begun:.0f} s)")
                    self.console.print(" ".join(words), soft_wrap=True)
