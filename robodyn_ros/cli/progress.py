# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The progress of a verb on stderr: a bar on a terminal, a line every few seconds where the output is piped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from robodyn_ros.cli.console import console

PERIOD = 4.0
"""Time between two lines [s]."""

DRAWN = (BarColumn, SpinnerColumn, TimeElapsedColumn)
"""Columns that a line omits, because it ends with the time."""


def progress_bar(*columns: ProgressColumn, transient: bool = True) -> Progress:
    """Return the display of progress, for a ``with`` statement.

    Args:
        *columns: columns to show (default: description, bar and percentage); a line has its texts and numbers.
        transient: remove the bar at the end.
    """
    out = console(stderr=True)
    shown = columns or (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    if out.is_terminal:
        return Progress(*shown, console=out, transient=transient)
    return _ProgressLines(*shown, console=out, disable=True)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that a long task without known progress is running.

    Args:
        what: the task, such as ``measuring``.
    """
    with progress_bar(SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()) as shown:
        shown.add_task(what, total=None)
        yield


class _ProgressLines(Progress):
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
                    self.console.print(" ".join(words), markup=False, highlight=False, soft_wrap=True)
