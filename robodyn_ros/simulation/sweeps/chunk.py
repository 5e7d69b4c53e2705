"""Some cases that follow each other: what a worker is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from robodyn_ros.simulation.sweeps.bench import Bench
from robodyn_ros.simulation.sweeps.study import Study

LEAST, MOST, PARTS = 8, 128, 64
"""Cases of a chunk: a 64th of all, within these bounds. It depends on the study alone, as the file of results does."""

Rows = list[dict[str, Any]]

_benches: dict[str, Bench] = {}


class Chunk(NamedTuple):
    """See the module."""

    first: int
    size: int

    def cases(self) -> Iterator[Chunk]:
        """Each of its cases by itself."""
        return (Chunk(number, 1) for number in range(self.first, self.first + self.size))


def chunks(study: Study) -> list[Chunk]:
    """All cases of a study, in chunks."""
    size = min(max(study.size // PARTS, LEAST), MOST)
    return [Chunk(first, min(size, study.size - first)) for first in range(0, study.size, size)]


def run_chunk(study: Study, chunk: Chunk) -> Rows:
    """Try its cases. What a study needs is made once in a process.

    Raises:
        RobodynError: the arm of the study is none.
    """
    digest = study.digest
    if digest not in _benches:
        _benches.clear()
        _benches[digest] = Bench(study)
    bench = _benches[digest]
    return [bench.row(case) for case in study.cases(*chunk)]


def lost(study: Study, chunk: Chunk, why: str) -> Rows:
    """Its cases, of which nobody came back."""
    bench = Bench(study)
    return [bench.blank(case, why) for case in study.cases(*chunk)]
