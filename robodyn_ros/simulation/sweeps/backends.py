# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Where the chunks of a sweep run: in this process, on worker processes beside it, or on a Dask cluster.

All backends give the same rows. A worker is isolated: its cases may hang or crash without harm to any other process.

    python -m robodyn_ros.simulation.sweeps.backends DESCRIPTOR

is such a worker: it receives studies and chunks on the connection of this file descriptor, and sends rows. It ends when
the connection is closed, and the kernel kills it when the process that started it ends, even in a case that hangs.
Workers of a cluster may join, leave and crash, and its scheduler may restart.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, suppress
from itertools import chain, islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from robodyn_ros.die_with_parent import dying_with_parent
from robodyn_ros.errors import RobodynError, need
from robodyn_ros.simulation.sweeps.runner import Chunk, Rows, lost_rows, run_chunk
from robodyn_ros.simulation.sweeps.study import Study

AHEAD = 2
"""Number of submitted chunks for each worker; more would only wait in memory."""

GRACE = 60.0
"""Time for a chunk beyond the time limits of its cases [s]: to start the process and to compile the arm."""

ATTEMPTS = 2
"""Attempts at a single case whose process ends, before that is its result."""

RECONNECT_TIMEOUT = 120.0
"""Time to wait for a scheduler that is gone [s]."""

CONNECT_TIMEOUT = 10.0
"""Time to wait for a scheduler before the first connection [s]."""

POLL_INTERVAL = 2.0
"""Interval of looking for new workers while no chunk finishes [s]."""

_idle: list[IsolatedWorker] = []


class FinishedChunk(NamedTuple):
    """A chunk with the rows of its cases."""

    chunk: Chunk
    rows: Rows


Backend = Callable[[Study, Iterable[Chunk]], Iterator[FinishedChunk]]
"""Runs chunks. It yields each of them once, as soon as it is finished, in any order."""


def in_process(study: Study, todo: Iterable[Chunk]) -> Iterator[FinishedChunk]:
    """Run the chunks in this process."""
    for chunk in todo:
        yield FinishedChunk(chunk, run_chunk(study, chunk))


class Workers(AbstractContextManager["Workers"]):
    """A backend of worker processes, for a ``with`` statement; it ends all of them at the end."""

    def __init__(self, count: int | None = None) -> None:
        """
        Args:
            count: number of processes; the number of processors if None.
        """
        self._count = count or len(os.sched_getaffinity(0))
        self._executor = ThreadPoolExecutor(self._count, thread_name_prefix="sweep")
        self._workers = [IsolatedWorker() for _ in range(self._count)]
        self._idle = self._workers.copy()

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.end()
        self._executor.shutdown()

    def __call__(self, study: Study, todo: Iterable[Chunk]) -> Iterator[FinishedChunk]:
        """Run chunks; see :data:`Backend`."""
        waiting, pending = iter(todo), set[Future[FinishedChunk]]()
        while True:
            for chunk in islice(waiting, max(0, AHEAD * self._count - len(pending))):
                pending.add(self._executor.submit(self._run, study, chunk))
            if not pending:
                return
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)

    def _run(self, study: Study, chunk: Chunk) -> FinishedChunk:
        return FinishedChunk(chunk, run_isolated(study, chunk, self._idle))


class WorkerError(RobodynError):
    """A worker process ended or did not answer; the message says how."""


class IsolatedWorker:
    """A worker process, which is started when it is needed, and again after it has ended."""

    def __init__(self) -> None:
        self._worker: tuple[subprocess.Popen[bytes], Connection[Any, Any]] | None = None
        self._study = ""
        self._cancelled = False

    def run(self, study: Study, chunk: Chunk) -> Rows:
        """Run the cases of a chunk.

        Raises:
            RobodynError: the study's URDF is wrong.
            CancelledError: :meth:`end` was called.
        """
        try:
            return self._ask(study, chunk)
        except WorkerError:  # one of the cases may be the reason, so each runs alone
            return [row for case in chunk.cases() for row in self._run_one(study, case)]

    def end(self) -> None:
        """End the process for good; a call that waits for an answer raises CancelledError."""
        self._cancelled = True
        if self._worker is not None:
            self._worker[0].kill()

    def _close(self) -> None:
        if self._worker is not None:
            (process, connection), self._worker = self._worker, None
            process.kill()
            process.wait()
            connection.close()

    def _run_one(self, study: Study, case: Chunk) -> Rows:
        for _ in range(ATTEMPTS):
            try:
                return self._ask(study, case)
            except WorkerError as problem:
                reason = str(problem)
        return lost_rows(study, case, reason)

    def _ask(self, study: Study, chunk: Chunk) -> Rows:
        digest = study.digest
        try:
            if self._worker is None:
                self._worker, self._study = _start(), ""
            if self._cancelled:
                raise CancelledError
            process, connection = self._worker
            connection.send((None if digest == self._study else study, chunk))
            self._study = digest
            if not connection.poll(GRACE + chunk.size * study.limits.case_timeout):
                raise TimeoutError
            answer = connection.recv()
        except (OSError, EOFError, TimeoutError) as cause:
            reason = _failure(process, cause)
            self._close()
            if self._cancelled:
                raise CancelledError from cause
            raise WorkerError(reason) from cause
        except BaseException:  # Ctrl-C: the answer must not be taken for that of the next chunk
            self._close()
            raise
        if isinstance(answer, Exception):
            raise answer
        return answer


def _failure(process: subprocess.Popen[bytes], cause: BaseException) -> str:
    if isinstance(cause, TimeoutError):
        return "out of time: its process did not answer"
    code = process.wait()
    return f"its process ended by {signal.Signals(-code).name}" if code < 0 else f"its process ended ({code})"


def _start() -> tuple[subprocess.Popen[bytes], Connection[Any, Any]]:
    """A worker process and the connection to it."""
    own, other = Pipe()
    with other:
        fd = other.fileno()
        command = dying_with_parent([sys.executable, "-m", __name__, str(fd)])
        # Output of plugins goes to standard error. A session of its own: Ctrl-C is for the parent process only.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=(fd,), start_new_session=True)
    return process, own


class ClusterError(RobodynError):
    """The cluster cannot be reached; the message names its address."""


def cluster(address: str) -> Backend:
    """Return a backend that runs chunks on a Dask cluster.

    Args:
        address: address of its scheduler, ``tcp://host:port``.

    Raises:
        ConfigurationError: distributed is not installed.
        ClusterError: the address is not one of a scheduler.
    """
    need("distributed", "a Dask cluster needs distributed", "robodyn_ros[sweep]")
    if not re.fullmatch(r"\w+://\S+:\d+", address):
        raise ClusterError(f"{address!r} is no address of a scheduler: tcp://host:port")

    def run(study: Study, todo: Iterable[Chunk]) -> Iterator[FinishedChunk]:
        waiting, submitted, timeout = iter(todo), _SubmittedChunks(study), CONNECT_TIMEOUT
        while True:
            client = _connect(address, timeout)
            timeout = RECONNECT_TIMEOUT
            with suppress(OSError), ExitStack() as stack:  # the scheduler may go, and the submitted chunks with it
                stack.callback(_close, client)
                waiting = chain(submitted.withdraw(), waiting)
                while client.status in ("running", "connecting"):
                    wanted = AHEAD * max(1, sum(client.nthreads().values())) if client.status == "running" else AHEAD
                    for chunk in islice(waiting, max(0, wanted - len(submitted))):
                        submitted.submit(client, chunk)
                    if not len(submitted):
                        return
                    yield from submitted.done(client)
                    waiting = chain(submitted.lost(), waiting)

    return run


def run_isolated(study: Study, chunk: Chunk, idle: list[IsolatedWorker] = _idle) -> Rows:
    """Run the cases of a chunk in an isolated process, which is idle then: on a cluster, one of the worker's own."""
    worker = idle.pop() if idle else IsolatedWorker()
    try:
        return worker.run(study, chunk)
    finally:
        idle.append(worker)


class _SubmittedChunks:
    """The chunks that are submitted to the cluster, each once at a time."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._futures: dict[Any, Chunk] = {}
        self._attempt = 0

    def __len__(self) -> int:
        return len(self._futures)

    def submit(self, client: Any, chunk: Chunk) -> None:
        """Submit a chunk."""
        self._attempt += 1
        key = f"sweep-{self._study.digest}-{chunk.first}-{self._attempt}"
        self._futures[client.submit(run_isolated, self._study, chunk, key=key, pure=False)] = chunk

    def done(self, client: Any) -> Iterator[FinishedChunk]:
        """Wait a moment for finished chunks, and yield them."""
        from distributed import wait

        with suppress(TimeoutError, CancelledError), client.as_current():
            wait(list(self._futures), timeout=POLL_INTERVAL, return_when="FIRST_COMPLETED")
        for future in [future for future in self._futures if future.status == "finished"]:
            with suppress(CancelledError, TimeoutError):  # its only copy was on a worker that left
                rows = future.result(timeout=RECONNECT_TIMEOUT)
                yield FinishedChunk(self._futures.pop(future), rows)

    def lost(self) -> list[Chunk]:
        """Remove and return the chunks to run again: they were lost, or their workers were killed too often.

        Raises:
            Exception: the error of a task.
        """
        from distributed import KilledWorker

        found = []
        for future in list(self._futures):
            if future.status == "error" and not isinstance(problem := future.exception(), KilledWorker):
                raise problem
            if future.status in ("error", "cancelled", "lost"):
                found.append(self._futures.pop(future))
        return found

    def withdraw(self) -> list[Chunk]:
        """Remove and return all chunks."""
        found, self._futures = list(self._futures.values()), {}
        return found


def _connect(address: str, timeout: float) -> Any:
    """Return a client of the scheduler, as soon as that answers."""
    from distributed import Client

    end = time.monotonic() + timeout
    while True:
        try:
            return Client(address, timeout=POLL_INTERVAL, set_as_default=False)
        except OSError as problem:  # a TimeoutError too
            if time.monotonic() > end:
                raise ClusterError(f"no scheduler answers at {address}") from problem
            time.sleep(0.1)


def _close(client: Any) -> None:
    with suppress(OSError, CancelledError):  # the scheduler may be gone
        client.close(timeout=POLL_INTERVAL)


def main() -> None:
    """Answer until the connection is closed."""
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    study: Any = None
    with suppress(EOFError, ConnectionError):  # the parent process has ended
        while True:
            given, chunk = connection.recv()
            study = given or study
            answer: Any
            try:
                answer = run_chunk(study, chunk)
            except Exception as problem:  # raised again in the parent process
                answer = problem
            connection.send(answer)


if __name__ == "__main__":
    main()
