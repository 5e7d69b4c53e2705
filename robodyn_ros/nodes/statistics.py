"""Statistics of a loop over the time between two reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.control.command import Command


class LoopStatistics:
    """Gathers what the loop does; cheap to add to, worked out when asked for.

    Attributes:
        commands: how many were sent.
        overruns: how many periods were longer than they may be.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        """
        Args:
            joints: names, in the order of commands.
        """
        self.commands = 0
        self.overruns = 0
        self._joints = joints
        self._last: float | None = None
        self._latest: Command | None = None
        self._clear()

    def add(self, begun: float, done: float, command: Command, overrun: float) -> None:
        """A state was answered with a command.

        Args:
            begun: when the state was there, by a clock that never goes back [s].
            done: when the command was out [s].
            command: what was sent.
            overrun: longest period that is no overrun [s].
        """
        self.commands += 1
        if self._last is not None:
            period = begun - self._last
            self._periods.append(period)
            self.overruns += period > overrun
        self._last = begun
        self._latencies.append(done - begun)
        self._ages.append(command.state_age)
        self._keep(command)

    def add_blind(self, command: Command) -> None:
        """A command was sent without a state."""
        self.commands += 1
        self._keep(command)

    def _keep(self, command: Command) -> None:
        self._sent += 1
        self._latest = command
        for count, mask in zip(self._limited, (command.saturated, command.rate_limited), strict=True):
            hit = mask.tolist()
            if True in hit:
                count += [True, *hit]

    def interrupted(self) -> None:
        """The flow of states was interrupted: the time until the next is no period."""
        self._last = None

    def take(self) -> dict[str, object]:
        """Name with unit → value, since the last call."""
        count = len(self._latencies)
        values: dict[str, object] = {"commands since start": self.commands, "commands": self._sent}
        values["period overruns since start"] = self.overruns
        if self._periods:
            periods = 1e3 * np.array(self._periods)
            values["period mean [ms]"] = float(periods.mean())
            values["period jitter (standard deviation) [ms]"] = float(periods.std())
            values["period p99 [ms]"] = float(np.percentile(periods, 99.0))
            values["period greatest [ms]"] = float(periods.max())
        if count:
            latencies, ages = 1e3 * np.array(self._latencies), 1e3 * np.array(self._ages)
            values["latency (state received to command sent) median [ms]"] = float(np.median(latencies))
            values["latency p99 [ms]"] = float(np.percentile(latencies, 99.0))
            values["latency (state's stamp to command sent) median [ms]"] = float(np.median(ages + latencies))
            values["latency from stamp p99 [ms]"] = float(np.percentile(ages + latencies, 99.0))
            values["state age greatest [ms]"] = float(ages.max())
        if self._latest is not None:
            values.update(self._efforts(self._latest))
        self._clear()
        return values

    def _efforts(self, latest: Command) -> dict[str, object]:
        values: dict[str, object] = {}
        for what, counts in zip(("saturated", "rate limited"), self._limited, strict=True):
            for joint, count in zip(("", *(f" {name}" for name in self._joints)), counts, strict=True):
                values[f"{what}{joint} [%]"] = 100.0 * float(count) / self._sent
        if latest.efforts is not None:
            for term, effort in latest.efforts._asdict().items():
                values[f"effort {term}"] = " ".join(f"{value:.5g}" for value in effort)
        values["effort sent"] = " ".join(f"{value:.5g}" for value in latest.effort)
        return values

    def _clear(self) -> None:
        self._periods: list[float] = []
        self._latencies: list[float] = []
        self._ages: list[float] = []
        self._sent = 0
        self._latest = None
        self._limited = np.zeros((2, 1 + len(self._joints)), dtype=np.int64)
