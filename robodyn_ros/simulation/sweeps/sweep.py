"""A study from its first case to its last: what is missing is tried, kept, and put together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from robodyn_ros.robot import load_robot
from robodyn_ros.simulation.sweeps.results import Results
from robodyn_ros.simulation.sweeps.runner import Chunk, Rows, chunks, run_chunk
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.worker import IsolatedWorker

# Who tries the cases: this process, workers beside it, or a Dask cluster; the rows are the same.

AHEAD = 2
"""Chunks for each worker that are under way at once: more would only wait in memory."""


class FinishedChunk(NamedTuple):
    """A chunk that was tried."""

    chunk: Chunk
    rows: Rows


Backend = Callable[[Study, Iterable[Chunk]], Iterator[FinishedChunk]]
"""Tries chunks; they come back as they are done, in any order, each once."""


def in_process(study: Study, todo: Iterable[Chunk]) -> Iterator[FinishedChunk]:
    """In this process."""
    for chunk in todo:
        yield FinishedChunk(chunk, run_chunk(study, chunk))


class Workers:
    """Processes beside this one. To be used in a ``with``, at whose end none of them is left."""

    def __init__(self, count: int | None = None) -> None:
        """
        Args:
            count: how many; as many as there are processors unless given.
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
        """See :data:`Backend`."""
        return in_window(todo, lambda chunk: self._executor.submit(self._work, study, chunk), AHEAD * self._count)

    def _work(self, study: Study, chunk: Chunk) -> FinishedChunk:
        if not hasattr(self._own, "worker"):
            self._own.worker = IsolatedWorker()
            self._workers.append(self._own.worker)
        return FinishedChunk(chunk, self._own.worker.run(study, chunk))


def in_window(
    todo: Iterable[Chunk], submit: Callable[[Chunk], Future[FinishedChunk]], most: int
) -> Iterator[FinishedChunk]:
    """Submit so many at a time, and give back what is done."""
    waiting, pending = iter(todo), set[Future[FinishedChunk]]()
    while True:
        while len(pending) < most and (chunk := next(waiting, None)) is not None:
            pending.add(submit(chunk))
        if not pending:
            return
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


def sweep(
    study: Study,
    folder: Path,
    backend: Backend,
    *,
    resume: bool = False,
    told: Callable[[int, Rows], object] = lambda before, rows: None,
) -> Path:
    """Run a study.

    Args:
        study: what to run.
        folder: for the results.
        backend: who tries the cases.
        resume: whether to go on with what is in the folder.
        told: is told how many cases were there before, and the rows that have come, as they come.

    Returns:
        The file with all rows.

    Raises:
        RobodynError: the study's arm is none, or the folder is not to be written to.
    """
    wanted = chunks(study)
    results = Results(folder, study, load_robot(study.urdf).joint_names, resume)
    missing = results.missing(wanted)
    before = study.size - sum(chunk.size for chunk in missing)
    told(before, [])
    done: Any = backend(study, missing)
    with closing(done):
        for chunk, rows in done:
            results.store(chunk, rows)
            told(before, rows)
    results.join(wanted)
    return results.file
