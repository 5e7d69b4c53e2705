"""Segments of a recording without gaps, on a uniform time grid, filtered and differentiated without phase lag.

A filter that runs forwards and then backwards delays nothing (Gustafsson, Determining the initial states in
forward-backward filtering, 1996), and a spline through all samples lags to neither side. So position, velocity,
acceleration and effort belong to the same moments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicSpline, make_interp_spline
from scipy.signal import butter, sosfiltfilt

from robodyn_ros.identification.recording.recording import RecordedTrack
from robodyn_ros.robot.pose import Array

ORDER = 4
"""Order of the Butterworth filter; run both ways, it has twice this order."""

SETTLING = 3.0
"""Periods of the cutoff frequency after which the filter has settled from an edge."""


@dataclass(frozen=True, eq=False)
class Segment:
    """N samples at a uniform rate.

    Attributes:
        t: times [s] (N,).
        q: positions (N, n) in [rad] or [m], as recorded.
        effort: efforts (N, n) in [N·m] or [N], as recorded.
        periods: number of periods of which the segment is the mean; 0 for a motion that does not repeat. In a mean of
            periods the first sample follows the last.
    """

    t: Array
    q: Array
    effort: Array
    periods: int = 0

    @property
    def step(self) -> float:
        """Time between two samples [s]."""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))

    def motion(self, cutoff: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (N, n), low-pass filtered at a cutoff frequency [Hz]."""
        q, inner = self._extended(self.q)
        smooth = lowpass(q, cutoff, self.step)
        spline = make_interp_spline(np.arange(len(q)) * self.step, smooth, k=5)
        at = np.arange(len(q))[inner] * self.step
        found = [spline(at, order) for order in range(3)]
        return found[0], found[1], found[2]

    def delayed_effort(self, delay: float, cutoff: float) -> tuple[Array, Array]:
        """The effort that acts at the times of the samples, and its rate of change, (N, n) each.

        Args:
            delay: time by which the effort acts later than recorded [s].
            cutoff: cutoff frequency of its filter [Hz].
        """
        effort, inner = self._extended(self.effort)
        spline = CubicSpline(np.arange(len(effort)) * self.step, lowpass(effort, cutoff, self.step))
        at = np.clip(np.arange(len(effort))[inner] * self.step - delay, 0.0, (len(effort) - 1) * self.step)
        return spline(at), spline(at, 1)

    def settled(self, cutoff: float, delay: float) -> slice:
        """The samples that lie so far from the edges that the filter has settled."""
        if self.periods:
            return slice(None)
        edge = int(np.ceil((SETTLING / cutoff + abs(delay)) / self.step))
        return slice(edge, len(self.t) - edge)

    def _extended(self, values: Array) -> tuple[Array, slice]:
        """The values with the periods before and after, if there are any, and where the segment lies among them."""
        count = len(values)
        if not self.periods:
            return values, slice(None)
        return np.concatenate([values] * 3), slice(count, 2 * count)


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
        if last - first < max(shortest, 8 * step):
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
    filtered: Array = sosfiltfilt(butter(ORDER, ratio, output="sos"), values, axis=0)
    return filtered


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
