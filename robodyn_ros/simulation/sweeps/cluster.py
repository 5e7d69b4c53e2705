# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""A backend on a Dask cluster. Workers may join, leave and crash, and the scheduler may restart."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import chain
from typing import Any

from robodyn_ros.errors import RobodynError, need
from robodyn_ros.simulation.sweeps.runner import Chunk, Rows
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.sweep import AHEAD, Backend, FinishedChunk
from robodyn_ros.simulation.sweeps.worker import IsolatedWorker

RECONNECT_TIMEOUT = 120.0
"""Time to wait for a scheduler that is gone [s]."""

CONNECT_TIMEOUT = 10.0
"""Time to wait for a scheduler before the first connection [s]."""

POLL_INTERVAL = 2.0
"""Interval of looking for new workers while no chunk finishes [s]."""

_idle: list[IsolatedWorker] = []


class ClusterError(RobodynError):
    """The cluster cannot be reached; the message names its address."""


def cluster(address: str, timeout: float = RECONNECT_TIMEOUT) -> Backend:
    """Return a backend that runs chunks on a Dask cluster.

    Args:
        address: address of its scheduler, ``tcp://host:port``.
        timeout: time to wait for a scheduler that is gone [s].

    Raises:
        ConfigurationError: distributed is not installed.
        ClusterError: the address is not one of a scheduler.
    """
    need("distributed", "a Dask cluster needs distributed", "robodyn_ros[sweep]")
    if not re.fullmatch(r"\w+://\S+:\d+", address):
        raise ClusterError(f"{address!r} is no address of a scheduler: tcp://host:port")

    def run(study: Study, todo: Iterable[Chunk]) -> Iterator[FinishedChunk]:
        waiting, submitted = iter(todo), _SubmittedChunks(study)
        connected = False
        while True:
            client = _connect(address, timeout if connected else min(CONNECT_TIMEOUT, timeout))
            connected = True
            try:
                waiting = chain(submitted.withdraw(), waiting)
                while client.status in ("running", "connecting"):
                    for chunk in _first(waiting, AHEAD * max(1, _threads(client)) - len(submitted)):
                        submitted.submit(client, chunk)
                    if not len(submitted):
                        return
                    yield from submitted.done(client)
                    waiting = chain(submitted.lost(), waiting)
            except OSError:
                pass  # the scheduler is gone, and the submitted chunks with it
            finally:
                _close(client)

    return run


def run_isolated(study: Study, chunk: Chunk) -> Rows:
    """Run the cases of a chunk on a worker of the cluster, in an isolated process that stays for the next chunk."""
    worker = _idle.pop() if _idle else IsolatedWorker()
    try:
        return worker.run(study, chunk)
    finally:
        _idle.append(worker)


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
            try:
                rows = future.result(timeout=RECONNECT_TIMEOUT)
            except (CancelledError, TimeoutError):  # its only copy was on a worker that left
                continue
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


def _first(waiting: Iterator[Chunk], count: int) -> Iterator[Chunk]:
    for _ in range(count):
        chunk = next(waiting, None)
        if chunk is None:
            return
        yield chunk


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


def _threads(client: Any) -> int:
    """Number of threads of all workers."""
    return sum(client.nthreads().values()) if client.status == "running" else 0


def _close(client: Any) -> None:
    with suppress(OSError, CancelledError):  # the scheduler may be gone
        client.close(timeout=POLL_INTERVAL)
