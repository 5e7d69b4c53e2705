"""The last seconds of some signals, for live plots."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from robodyn_ros.robot.pose import Array


class History:
    """Samples of named signals, each (n,) or missing, over a span of time."""

    def __init__(self, span: float, n: int) -> None:
        """
        Args:
            span: how far back it goes [s].
            n: values of a signal.
        """
        self._span = span
        self._n = n
        self._samples: deque[tuple[float, dict[str, Array]]] = deque()

    def add(self, time: float, signals: Mapping[str, Array | None]) -> None:
        """Take a sample. The history begins anew when time runs backwards; a time that was there is left out."""
        samples = self._samples
        if samples and time < samples[-1][0]:
            samples.clear()
        if samples and time == samples[-1][0]:
            return
        samples.append((time, {name: values.copy() for name, values in signals.items() if values is not None}))
        while samples[0][0] < time - self._span:
            samples.popleft()

    def columns(self, names: tuple[str, ...], index: int) -> tuple[Array, ...]:
        """Time before now (k,) [s], and of each signal named the value of one joint (k,); NaN where it is missing."""
        times = np.array([time for time, _ in self._samples])
        missing = np.full(self._n, np.nan)
        rows = [[signals.get(name, missing)[index] for _, signals in self._samples] for name in names]
        return (times - times[-1] if len(times) else times, *(np.array(row) for row in rows))
