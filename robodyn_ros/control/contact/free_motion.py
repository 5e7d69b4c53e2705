# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Thresholds of contact, proposed from the observer's estimates while the arm moves freely.

In free motion the observer estimates the errors of the model: masses, friction, noise, delay. The greatest value of
each half second is taken. A Gumbel distribution of these maxima, fitted by its moments, gives the value x that is
exceeded within a time of operation with a given probability:

    β = s sqrt(6) / π,   μ = m - γ β,   x = μ + β ln(N / P)

m and s are mean and standard deviation of the maxima, γ Euler's constant, N the number of half seconds, P the
probability. The threshold is at least ``HEADROOM`` times the greatest observed value. It is valid for motions like the
recorded ones, so record the motions of the application.

Source: Coles, An Introduction to Statistical Modeling of Extreme Values (2001), chapters 3.1 and 3.3 (block maxima);
NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.6.16 (Gumbel distribution by moments).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.contact.momentum_observer import MomentumObserver
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array

BLOCK = 0.5
"""Length of a block of which the greatest value is taken [s]."""

LEAST_BLOCKS = 10
"""Least number of blocks."""

HEADROOM = 1.1
"""Least ratio of a threshold to the greatest observed value."""

COLLISION = 2.5
"""Ratio of the threshold of a collision to that of a touch."""


class ProposedThresholds(NamedTuple):
    """Thresholds from free motion; (n,) in [N·m] or [N], and force [N] and torque [N·m], (2,)."""

    seen: Array  # greatest observed effort
    touch: Array
    collision: Array
    seen_wrench: Array
    touch_wrench: Array
    collision_wrench: Array
    seconds: float  # duration of the motion


def observe_motion(observer: MomentumObserver, t: Array, q: Array, qd: Array, efforts: Array) -> Array:
    """The observer's estimates during a motion, (N, n + 8).

    Args:
        observer: reset before the motion.
        t: times, increasing, (N,) [s].
        q: positions (N, n).
        qd: velocities (N, n).
        efforts: of the drives, each from its time to the next, (N, n).
    """
    observer.reset()
    found = np.zeros((len(t), len(observer.found)))
    for k in range(len(t)):
        dt = -1.0 if k == 0 else float(t[k] - t[k - 1])
        found[k] = observer.update(dt, q[k], qd[k], efforts[k - 1] if k else efforts[0])
    return found


def block_maxima(t: ArrayLike, values: ArrayLike) -> Array:
    """The greatest value of each column in each block of time, (blocks, k).

    Args:
        t: times (N,) [s].
        values: (N, k), not negative.

    Raises:
        InputError: the time is too short.
    """
    times, rows = np.asarray(t, dtype=np.float64), np.asarray(values, dtype=np.float64)
    place = ((times - times[0]) / BLOCK).astype(int)
    count = int(place[-1])  # the last block is not complete
    if count < LEAST_BLOCKS:
        least = LEAST_BLOCKS * BLOCK
        raise InputError("recording", f"lasts {times[-1] - times[0]:.3g} s; thresholds need at least {least:g} s", t)
    return np.array([rows[place == k].max(axis=0) for k in range(count) if (place == k).any()])


def extreme(maxima: Array, blocks: float, chance: float) -> Array:
    """The value that the maximum of future blocks exceeds with a given probability, for each column (k,).

    Args:
        maxima: of observed blocks, (N, k).
        blocks: number of future blocks.
        chance: the probability, between 0 and 1.
    """
    scale = maxima.std(axis=0, ddof=1) * np.sqrt(6.0) / np.pi
    place = maxima.mean(axis=0) - np.euler_gamma * scale
    found: Array = np.maximum(place + scale * np.log(blocks / chance), HEADROOM * maxima.max(axis=0))
    return found


def propose_thresholds(t: Array, found: Array, hours: float = 1.0, chance: float = 0.01) -> ProposedThresholds:
    """Thresholds that free motion exceeds within some hours with a given probability at most.

    Args:
        t: times (N,) [s].
        found: estimates at these times, (N, n + 8).
        hours: of motions like the recorded one.
        chance: probability of a false alarm within these hours.

    Raises:
        InputError: the time is too short, or hours or chance are not above 0.
    """
    if not (hours > 0.0 and 0.0 < chance < 1.0):
        raise InputError("hours, chance", f"must be above 0, and a chance below 1, not {hours!r}, {chance!r}", hours)
    efforts, wrench = np.abs(found[:, :-8]), found[:, -8:-2]
    strengths = np.column_stack([np.linalg.norm(part, axis=1) for part in (wrench[:, :3], wrench[:, 3:])])
    maxima = block_maxima(t, np.column_stack((efforts, strengths)))
    blocks = hours * 3600.0 / BLOCK
    touch, seen, n = extreme(maxima, blocks, chance), maxima.max(axis=0), efforts.shape[1]
    return ProposedThresholds(
        seen[:n], touch[:n], COLLISION * touch[:n], seen[n:], touch[n:], COLLISION * touch[n:], float(t[-1] - t[0])
    )
