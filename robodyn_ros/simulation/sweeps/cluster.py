"""Cases on a Dask cluster: workers may come, go and die, and the scheduler may be started again."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import chain
from typing import Any

from robodyn_ros.errors import ConfigurationError, RobodynError
from robodyn_ros.simulation.sweeps.runner import Chunk, Rows
from robodyn_ros.simulation.sweeps.study import Study
from robodyn_ros.simulation.sweeps.sweep import AHEAD, Backend, FinishedChunk
from robodyn_ros.simulation.sweeps.worker import IsolatedWorker

PATIENCE = 120.0
"""How long a scheduler that is gone is waited for [s]."""

GREETING = 10.0
"""How long one that has not been there yet is [s]."""

GLANCE = 2.0
"""How often somebody looks whether there are more workers, while nothing is done [s]."""

_idle: list[IsolatedWorker] = []


class ClusterError(RobodynError):
    """The cluster cannot be reached; the message has its address."""


def cluster(address: str, patience: float = PATIENCE) -> Backend:
    """On a Dask cluster.

    Args:
        address: of its scheduler, ``tcp://host:port``.
        patience: how long a scheduler that is gone is waited for [s].

    Raises:
        ConfigurationError: distributed is not installed.
        ClusterError: that is no address.
    """
    _need()
    if not re.fullmatch(r"\w+://\S+:\d+", address):
        raise ClusterError(f"{address!r} is no address of a scheduler: tcp://host:port")

    def run(study: Study, todo: Iterable[Chunk]) -> Iterator[FinishedChunk]:
        waiting, under_way = iter(todo), _UnderWay(study)
        known = False
        while True:
            client, known = _connected(address, patience if known else min(GREETING, patience)), True
            try:
                waiting = chain(under_way.given_up(), waiting)
                while client.status in ("running", "connecting"):
                    for chunk in _first(waiting, AHEAD * max(1, _threads(client)) - len(under_way)):
                        under_way.submit(client, chunk)
                    if not len(under_way):
                        return
                    yield from under_way.done(client)
                    waiting = chain(under_way.lost(), waiting)
            except OSError:
                pass  # the scheduler is gone; so is what it knew
            finally:
                _close(client)

    return run


def try_chunk(study: Study, chunk: Chunk) -> Rows:
    """On a worker: try the cases of a chunk in a process of its own, which stays for the next."""
    worker = _idle.pop() if _idle else IsolatedWorker()
    try:
        return worker.run(study, chunk)
    finally:
        _idle.append(worker)


class _UnderWay:
    """Chunks that were submitted, each once at a time."""

    def __init__(self, study: Study) -> None:
        """Of a study."""
        self._study = study
        self._futures: dict[Any, Chunk] = {}
        self._attempt = 0

    def __len__(self) -> int:
        return len(self._futures)

    def submit(self, client: Any, chunk: Chunk) -> None:
        """Have a worker try it."""
        self._attempt += 1
        key = f"sweep-{self._study.digest}-{chunk.first}-{self._attempt}"
        self._futures[client.submit(try_chunk, self._study, chunk, key=key, pure=False)] = chunk

    def done(self, client: Any) -> Iterator[FinishedChunk]:
        """Wait a moment for what comes back."""
        from distributed import wait

        with suppress(TimeoutError, CancelledError), client.as_current():
            wait(list(self._futures), timeout=GLANCE, return_when="FIRST_COMPLETED")
        for future in [future for future in self._futures if future.status == "finished"]:
            try:
                rows = future.result(timeout=PATIENCE)
            except (CancelledError, TimeoutError):  # its only copy went away with a worker
                continue
            yield FinishedChunk(self._futures.pop(future), rows)

    def lost(self) -> list[Chunk]:
        """Take out what has to be tried again: it was lost, or its worker was killed too often.

        Raises:
            Exception: what a task raised.
        """
        from distributed import KilledWorker

        found = []
        for future in list(self._futures):
            if future.status == "error" and not isinstance(problem := future.exception(), KilledWorker):
                raise problem
            if future.status in ("error", "cancelled", "lost"):
                found.append(self._futures.pop(future))
        return found

    def given_up(self) -> list[Chunk]:
        """Take out everything."""
        found, self._futures = list(self._futures.values()), {}
        return found


def _first(waiting: Iterator[Chunk], count: int) -> Iterator[Chunk]:
    for _ in range(count):
        chunk = next(waiting, None)
        if chunk is None:
            return
        yield chunk


def _connected(address: str, patience: float) -> Any:
    """A client of the scheduler, as soon as there is one."""
    from distributed import Client

    end = time.monotonic() + patience
    while True:
        try:
            return Client(address, timeout=GLANCE, set_as_default=False)
        except OSError as problem:  # a TimeoutError too
            if time.monotonic() > end:
                raise ClusterError(f"no scheduler answers at {address}") from problem
            time.sleep(0.1)


def _threads(client: Any) -> int:
    """Of all workers together."""
    return sum(client.nthreads().values()) if client.status == "running" else 0


def _close(client: Any) -> None:
    with suppress(OSError, CancelledError):  # there may be nobody to say goodbye to
        client.close(timeout=GLANCE)


def _need() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError as cause:
        raise ConfigurationError("a Dask cluster needs distributed: pip install 'robodyn_ros[sweep]'") from cause
