"""Statistics of a loop over the time between two reports."""

from __future__ import annotations

import numpy as np


class LoopStatistics:
    """Gathers what the loop does; cheap to add to, worked out when asked for."""

    def __init__(self) -> None:
        self.commands = 0
        self._last: float | None = None
        self._clear()

    def add(self, begun: float, done: float, state_age: float, saturated: bool) -> None:
        """A state was answered with a command.

        Args:
            begun: when the state was there, by a clock that never goes back [s].
            done: when the command was out [s].
            state_age: age of the state [s].
            saturated: whether an effort was clamped.
        """
        self.commands += 1
        if self._last is not None:
            self._periods.append(begun - self._last)
        self._last = begun
        self._latencies.append(done - begun)
        self._ages.append(state_age)
        self._saturated += saturated

    def interrupted(self) -> None:
        """The flow of states was interrupted: the time until the next is no period."""
        self._last = None

    def take(self) -> dict[str, object]:
        """Name with unit → value, since the last call."""
        count = len(self._latencies)
        values: dict[str, object] = {"commands since start": self.commands, "commands": count}
        if self._periods:
            periods = 1e3 * np.array(self._periods)
            values["period mean [ms]"] = float(periods.mean())
            values["period jitter (standard deviation) [ms]"] = float(periods.std())
            values["period greatest [ms]"] = float(periods.max())
        if count:
            latencies = 1e3 * np.array(self._latencies)
            values["latency (state received to command sent) median [ms]"] = float(np.median(latencies))
            values["latency p99 [ms]"] = float(np.percentile(latencies, 99.0))
            values["state age greatest [ms]"] = 1e3 * max(self._ages)
            values["saturated [%]"] = 100.0 * self._saturated / count
        self._clear()
        return values

    def _clear(self) -> None:
        self._periods: list[float] = []
        self._latencies: list[float] = []
        self._ages: list[float] = []
        self._saturated = 0
