"""What a push shows: which way the joint goes, at what effort it breaks loose, and roughly how heavy it is.

The effort grows at a constant rate u̇. Once it has overcome friction and load, at t₀, what is more moves the joint:

    M q̈ = u̇ (t - t₀)    so    Δq = u̇ (t - t₀)³ / 6 M    and    t = t₀ + (6 M / u̇)^⅓ Δq^⅓

a straight line of t over Δq^⅓, whose intercept is the break and whose slope the inertia. It leaves out viscous friction
and what the load changes on the way, so the inertia is good for feedback and no more; :mod:`.stroke` measures it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LEAST = 4
"""Samples that make a line."""


class Push(NamedTuple):
    """What came of pushing one joint in one direction."""

    direction: int  # of the effort, +1 or -1
    moved: float  # how far the joint went [rad] or [m]
    loose: float  # effort at which it broke loose, with its sign; nan if it did not [N·m] or [N]
    inertia: float  # that it seems to have; nan if it did not move [kg m²] or [kg]

    @property
    def follows(self) -> bool:
        """Whether the joint went the way it was pushed."""
        return self.moved * self.direction > 0.0


def evaluate(direction: int, rate: float, times: Sequence[float], moves: Sequence[float], onset: float) -> Push:
    """What a push shows.

    Args:
        direction: of the effort.
        rate: at which it grew [N·m/s] or [N/s].
        times: since the effort began [s].
        moves: distance from the start at these times [rad] or [m].
        onset: distance up to which a joint has not moved [rad] or [m].
    """
    t, moved = np.array(times), np.array(moves)
    still = np.flatnonzero(np.abs(moved) <= onset)
    first = int(still[-1]) + 1 if still.size else 0  # from here on it moves without a break
    if len(t) - first < LEAST:
        return Push(direction, 0.0, np.nan, np.nan)
    slope, start = np.polyfit(np.cbrt(np.abs(moved[first:])), t[first:], 1)
    inertia = rate * max(float(slope), 1e-9) ** 3 / 6.0
    return Push(direction, float(moved[-1]), direction * rate * float(start), inertia)
