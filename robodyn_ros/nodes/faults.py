"""Faults: each is counted, and said at most once every few seconds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

PAUSE = 2.0
"""Time between two warnings of the same kind [s]."""


class Faults:
    """Counts faults by kind.

    Attributes:
        counts: kind → how often.
    """

    def __init__(self, warn: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            warn: where a warning goes.
            clock: time that never goes back [s].
        """
        self.counts: Counter[str] = Counter()
        self._warn = warn
        self._clock = clock
        self._said: dict[str, float] = {}

    def count(self, kind: str, problem: object) -> None:
        """Count a fault, and warn of it unless its kind was warned of a moment ago."""
        self.counts[kind] += 1
        now = self._clock()
        if now - self._said.get(kind, -PAUSE) >= PAUSE:
            self._said[kind] = now
            self._warn(f"{kind}: {problem} (seen {self.counts[kind]} times)")
