# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Segments of a recording without gaps, on a uniform time grid, filtered and differentiated without phase lag.

A filter that runs forwards and then backwards has no delay (Gustafsson, Determining the initial states in
forward-backward filtering, 1996), and neither has a spline through all samples. Position, velocity, acceleration and
effort therefore belong to the same moments.

A periodic motion may be averaged over its periods, because noise differs from one period to the next (Swevers,
Ganseman, Tükel, de Schutter and Van Brussel, Optimal robot excitation and identification, IEEE Transactions on Robotics
and Automation 13(5), 1997).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicSpline, make_interp_spline
from scipy.ndimage import maximum_filter1d
from scipy.signal import butter, sosfiltfilt

from robodyn_ros.identification.recording.recording import RecordedTrack
from robodyn_ros.robot.pose import Array, Flags

ORDER = 4
"""Order of the Butterworth filter; run both ways, it has twice this order."""

STEPS = 15
"""Least number of steps of a segment: ``sosfiltfilt`` mirrors so many samples of this filter at its edges."""

SETTLING = 3.0
"""Periods of the cutoff frequency after which the filter has settled from an edge."""


@dataclass(frozen=True, eq=False)
class Segment:
    """N samples at a uniform rate.

    Attributes:
        t: times [s] (N,).
        q: positions (N, n) in [rad] or [m], as recorded.
        effort: efforts (N, n) in [N·m] or [N], as recorded.
    """

    t: Array
    q: Array
    effort: Array

    @property
    def periods(self) -> int:
        """Number of periods of which the segment is the mean; 0 if it is not a mean."""
        return 0

    @property
    def step(self) -> float:
        """Time between two samples [s]."""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))

    def motion(self, cutoff: float, at: Array | None = None) -> tuple[Array, ...]:
        """Position, velocity and acceleration, low-pass filtered at a cutoff frequency [Hz], (N, n) each.

        Args:
            cutoff: cutoff frequency of the filter [Hz].
            at: times from the start of the segment [s] (k,); those of the samples unless given.
        """
        grid = np.arange(len(self.t)) * self.step
        spline = make_interp_spline(grid, lowpass(self.q, cutoff, self.step), k=5)
        return tuple(spline(grid if at is None else at, order) for order in range(3))

    def delayed_effort(self, delay: float, cutoff: float, at: Array | None = None) -> tuple[Array, ...]:
        """The effort that acts at the times of the samples, and its rate of change, (N, n) each.

        Args:
            delay: time by which the effort acts later than recorded [s].
            cutoff: cutoff frequency of its filter [Hz].
            at: times from the start of the segment [s] (k,); those of the samples unless given.
        """
        grid = np.arange(len(self.t)) * self.step
        spline = CubicSpline(grid, lowpass(self.effort, cutoff, self.step))
        acting = np.clip((grid if at is None else at) - delay, 0.0, grid[-1])
        return spline(acting), spline(acting, 1)

    def at_limit(self, limit: Array) -> Flags:
        """The samples with an effort at its limit (n,) or beyond, (N,)."""
        return np.asarray((np.abs(self.effort) >= limit).any(axis=1))

    def near(self, marked: Flags, reach: int) -> Flags:
        """Which samples are marked or within a number of samples from a marked one, in the shape of ``marked``."""
        return maximum_filter1d(marked, 2 * reach + 1, axis=0, mode="wrap" if self.periods else "constant")

    def settled(self, cutoff: float, delay: float) -> slice:
        """The samples that lie so far from the edges that the filter has settled."""
        edge = int(np.ceil((SETTLING / cutoff + abs(delay)) / self.step))
        return slice(edge, len(self.t) - edge)


@dataclass(frozen=True, eq=False)
class MeanPeriod(Segment):
    """The mean of the periods of a segment; its first sample follows its last.

    The whole segment is filtered and differentiated, and the mean of the results is taken. In the opposite order, the
    small step from the end of the mean to its beginning would become a spike of acceleration.

    Attributes:
        whole: the segment as recorded.
        at: times of all samples of all periods from its start [s] (periods · N,).
    """

    whole: Segment
    at: Array

    @classmethod
    def of(cls, whole: Segment, first: float, period: float, count: int) -> MeanPeriod:
        """The mean of periods.

        Args:
            whole: the segment as recorded.
            first: start of the first period from the start of the segment [s].
            period: length of a period [s].
            count: number of periods.
        """
        size = round(period / whole.step)
        at = first + np.arange(count * size) / size * period
        grid = np.arange(len(whole.t)) * whole.step
        columns = np.concatenate([whole.q, whole.effort], axis=1)
        mean = np.column_stack([np.interp(at, grid, column).reshape(count, size).mean(axis=0) for column in columns.T])
        q, effort = np.split(mean, 2, axis=1)
        return cls(whole.t[0] + at[:size], q, effort, whole, at)

    @property
    def periods(self) -> int:
        """Number of periods of which this is the mean."""
        return len(self.at) // len(self.t)

    def motion(self, cutoff: float, at: Array | None = None) -> tuple[Array, ...]:
        """The mean of :meth:`Segment.motion` over the periods, (N, n) each."""
        return tuple(map(self._mean, self.whole.motion(cutoff, self.at)))

    def delayed_effort(self, delay: float, cutoff: float, at: Array | None = None) -> tuple[Array, ...]:
        """The mean of :meth:`Segment.delayed_effort` over the periods, (N, n) each."""
        return tuple(map(self._mean, self.whole.delayed_effort(delay, cutoff, self.at)))

    def at_limit(self, limit: Array) -> Flags:
        """The samples with an effort at its limit (n,) or beyond in any of the periods, (N,)."""
        rows = np.round(self.at / self.whole.step).astype(int)
        return self.whole.at_limit(limit)[rows].reshape(self.periods, -1).any(axis=0)

    def settled(self, cutoff: float, delay: float) -> slice:
        """All samples: the periods begin and end where the filter has settled."""
        return slice(None)

    def _mean(self, values: Array) -> Array:
        return values.reshape(self.periods, len(self.t), -1).mean(axis=0)


def find_segments(position: RecordedTrack, effort: RecordedTrack, gap: float, shortest: float) -> Iterator[Segment]:
    """The segments in which both positions and efforts were recorded without a gap.

    Args:
        position: positions of the joints.
        effort: efforts of the joints.
        gap: longest time between two messages of one segment [s].
        shortest: shortest length of a segment [s].
    """
    step = float(np.median(np.diff(position.t)))
    for first, last in _common(_spans(position.t, gap), _spans(effort.t, gap)):
        if last - first < shortest:
            continue
        t = np.arange(first, last + 1e-9, step)
        chosen = slice(*np.searchsorted(position.t, [first - gap, last + gap]))
        q = CubicSpline(position.t[chosen], position.values[chosen])(t)
        columns = [np.interp(t, effort.t, column) for column in effort.values.T]
        yield Segment(t, q, np.column_stack(columns))


def lowpass(values: Array, cutoff: float, step: float) -> Array:
    """Values (N, n), low-pass filtered at a cutoff frequency [Hz] without phase shift.

    They are returned as they are if the cutoff is close to the Nyquist frequency.
    """
    ratio = 2.0 * cutoff * step
    if ratio >= 0.9:
        return values
    return sosfiltfilt(butter(ORDER, ratio, output="sos"), values, axis=0)


def _spans(t: Array, gap: float) -> list[tuple[float, float]]:
    """First and last time of each span without a gap."""
    breaks = np.flatnonzero(np.diff(t) > gap)
    edges = [0, *(breaks + 1).tolist(), len(t)]
    return [(float(t[first]), float(t[end - 1])) for first, end in pairwise(edges)]


def _common(some: list[tuple[float, float]], others: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """First and last time of each overlap of two lists of spans."""
    for first, last in some:
        for start, end in others:
            if max(first, start) < min(last, end):
                yield max(first, start), min(last, end)
