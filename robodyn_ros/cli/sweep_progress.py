"""How far a sweep is, and the time that is left, on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from robodyn_ros.cli.console import progress_bar
from robodyn_ros.simulation.sweeps.chunk import Rows

Told = Callable[[int, Rows], None]


@contextmanager
def progress(total: int, what: str = "cases") -> Iterator[Told]:
    """Show it.

    Args:
        total: number of cases.
        what: they are called.
    """
    columns = (
        TextColumn(what),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", style="yellow"),
    )
    with progress_bar(*columns) as shown:
        task = shown.add_task("", total=total, note="")
        done = failed = 0

        def told(before: int, rows: Rows) -> None:
            nonlocal done, failed
            done += len(rows)
            failed += sum(1 for row in rows if row["failed"])
            note = f"{failed} failed" if failed else ""
            if not rows:
                shown.update(task, completed=before, note=note)
            else:
                shown.update(task, completed=before + done, note=note)

        yield told
