"""A motion that repeats, as the mean of its periods: what is noise differs from one to the next and averages out.

Source: Swevers, Ganseman, Tukel, De Schutter and Van Brussel, Optimal robot excitation and identification (1997).
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import correlate

from robodyn_ros.identification.signals_stretch import Stretch
from robodyn_ros.robot.pose import Array

RATE = 50.0
"""At which a period is looked for [Hz]."""

SHORTEST = 1.0
"""Period that is looked for at least [s]."""

EARLY = (0.15, 0.35)
"""Where in a stretch the piece begins and ends that is looked for again, as shares of the whole."""

NEAR = 0.01
"""Power of the difference over that of the piece, at a lag that is worth a closer look."""

ALIKE = 0.02
"""How far positions one period apart may differ, over the standard deviation of their joint."""

SHARE = 0.5
"""Of the motion that must repeat."""


def averaged(part: Stretch, moving: Array, period: float = 0.0) -> Stretch | None:
    """The mean of the periods of a stretch; None if nothing in it repeats.

    Args:
        part: one stretch.
        moving: which joints move, (n,) of bool.
        period: of the motion [s], about; 0 to look for one.
    """
    every = max(1, round(1.0 / (RATE * part.step)))
    x = part.q[::every, moving]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    step = every * part.step
    for lag in [round(period / step)] if period else _candidates(x, round(SHORTEST / step)):
        length = _refined(x, lag)
        first, last = _longest(x, length)
        if last - first < lag or np.var(x[first : last + lag], axis=0).min() < SHARE:
            continue
        return _mean(part, length * step, first * step, (last + length) * step)
    return None


def _candidates(x: Array, least: int) -> list[int]:
    """Lags at which an early piece of the motion comes again, the shortest first.

    The piece begins late enough and is short enough that what leads into the motion and out of it is not in it, even if
    there are only two periods.
    """
    first, last = int(EARLY[0] * len(x)), int(EARLY[1] * len(x))
    lags = np.arange(least, len(x) // 2)
    if last - first < least or len(lags) < 3:
        return []
    piece = x[first:last]
    alike = np.sum([correlate(y[first:], y[first:last], "valid") for y in x.T], axis=0)[lags]
    power = np.concatenate([[0.0], np.cumsum(np.sum(x**2, axis=1))])
    apart = np.sum(piece**2) + power[last + lags] - power[first + lags] - 2.0 * alike
    inner = (apart[1:-1] < apart[:-2]) & (apart[1:-1] <= apart[2:]) & (apart[1:-1] < NEAR * np.sum(piece**2))
    found: list[int] = lags[1:-1][inner].tolist()
    return found


def _refined(x: Array, lag: int) -> float:
    """A lag to a small part of a sample, by Gauss and Newton's method."""
    spline, length = CubicSpline(np.arange(len(x)), x), float(lag)
    first, last = int(EARLY[0] * len(x)), min(int(EARLY[1] * len(x)), len(x) - lag - 2)
    here = np.arange(first, max(last, first + 2))
    for _ in range(5):
        slope = spline(here + length, 1)
        length -= float(np.sum((spline(here + length) - x[here]) * slope) / np.sum(slope**2))
        length = float(np.clip(length, lag - 1.0, lag + 1.0))
    return length


def _longest(x: Array, length: float) -> tuple[int, int]:
    """Where the longest piece begins and ends whose samples have their like one period later."""
    here = np.arange(max(0, len(x) - 1 - int(np.ceil(length))))
    later = CubicSpline(np.arange(len(x)), x)(here + length)
    differs = np.abs(later - x[here]).max(axis=1, initial=0.0) > ALIKE
    edges = np.concatenate([[-1], np.flatnonzero(differs), [len(differs)]])
    widest = int(np.argmax(np.diff(edges)))
    return int(edges[widest]) + 1, int(edges[widest + 1])


def _mean(part: Stretch, period: float, first: float, last: float) -> Stretch | None:
    """The mean over all whole periods between two times [s] from the start of the stretch."""
    last = min(last, float(part.t[-1] - part.t[0]))
    count = int((last - first) / period + 1e-6)
    if count < 2:
        return None
    size = round(period / part.step)
    at = first + (np.arange(count * size) / size) * period
    t = np.arange(len(part.t)) * part.step
    q = CubicSpline(t, part.q)(np.minimum(at, t[-1]))
    effort = np.column_stack([np.interp(at, t, column) for column in part.effort.T])
    n = q.shape[1]
    shape = (count, size, n)
    return Stretch(
        part.t[0] + first + np.arange(size) * period / size,
        q.reshape(shape).mean(axis=0),
        effort.reshape(shape).mean(axis=0),
        count,
    )
