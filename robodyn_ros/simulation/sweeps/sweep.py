# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A sweep: a study from its first case to its last.

:func:`sweep` shows all of it. The cases of a study are cut into chunks; a backend runs the chunks that the results do
not have yet; the rows of each chunk are stored as they come, and joined to one file at the end. The backends are this
process (:func:`in_process`), workers beside it (:class:`Workers`) and a Dask cluster (:mod:`.cluster`). All give the
same rows.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from robodyn_ros.robot import reload_robot
from robodyn_ros.simulation.sweeps.results import Results
from robodyn_ros.simulation.sweeps.runner import Chunk, Rows, chunks, run_chunk
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.worker import IsolatedWorker

AHEAD = 2
"""Number of submitted chunks for each worker; more would only wait in memory."""


class FinishedChunk(NamedTuple):
    """A chunk with the rows of its cases."""

    chunk: Chunk
    rows: Rows


Backend = Callable[[Study, Iterable[Chunk]], Iterator[FinishedChunk]]
"""Runs chunks. It yields each of them once, as soon as it is finished, in any order."""


def sweep(
    study: Study,
    folder: Path,
    backend: Backend,
    *,
    resume: bool = False,
    progress: Callable[[int, Rows], object] = lambda before, rows: None,
) -> Path:
    """Run a study.

    Args:
        study: the study.
        folder: folder of the results.
        backend: runs the cases.
        resume: True to continue with the results in the folder.
        progress: called with the number of cases that were there before, and the rows of each finished chunk.

    Returns:
        The file with all rows.

    Raises:
        RobodynError: the study's URDF is wrong, or the folder cannot be written.
    """
    wanted = chunks(study)
    results = Results(folder, study, reload_robot(study.urdf).joint_names, resume)
    missing = results.missing(wanted)
    before = study.size - sum(chunk.size for chunk in missing)
    progress(before, [])
    done: Any = backend(study, missing)
    with closing(done):
        for chunk, rows in done:
            results.store(chunk, rows)
            progress(before, rows)
    results.join(wanted)
    return results.file


def in_process(study: Study, todo: Iterable[Chunk]) -> Iterator[FinishedChunk]:
    """Run the chunks in this process."""
    for chunk in todo:
        yield FinishedChunk(chunk, run_chunk(study, chunk))


class Workers:
    """A backend of worker processes, for a ``with`` statement; it ends all of them at the end."""

    def __init__(self, count: int | None = None) -> None:
        """
        Args:
            count: number of processes; the number of processors if None.
        """
        self._count = count or len(os.sched_getaffinity(0))
        self._executor = ThreadPoolExecutor(self._count, thread_name_prefix="sweep")
        self._workers: list[IsolatedWorker] = []
        self._own = threading.local()

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.end()
        self._executor.shutdown()

    def __call__(self, study: Study, todo: Iterable[Chunk]) -> Iterator[FinishedChunk]:
        """Run chunks; see :data:`Backend`."""
        return in_window(todo, lambda chunk: self._executor.submit(self._work, study, chunk), AHEAD * self._count)

    def _work(self, study: Study, chunk: Chunk) -> FinishedChunk:
        if not hasattr(self._own, "worker"):
            self._own.worker = IsolatedWorker()
            self._workers.append(self._own.worker)
        return FinishedChunk(chunk, self._own.worker.run(study, chunk))


def in_window(
    todo: Iterable[Chunk], submit: Callable[[Chunk], Future[FinishedChunk]], most: int
) -> Iterator[FinishedChunk]:
    """Submit at most so many chunks at a time, and yield each as it is finished."""
    waiting, pending = iter(todo), set[Future[FinishedChunk]]()
    while True:
        while len(pending) < most and (chunk := next(waiting, None)) is not None:
            pending.add(submit(chunk))
        if not pending:
            return
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()
