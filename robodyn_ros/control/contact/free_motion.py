# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Thresholds of contact, proposed from what an observer finds while the arm moves freely.

What is observed then is the model's own error: wrong masses, friction, noise, delay. The greatest value of each half
second is taken. A Gumbel distribution of these maxima, by its moments, says which value a time of operation passes
with a given chance:

    β = s sqrt(6) / π,   μ = m - γ β,   x = μ + β ln(N / P)

m and s are mean and standard deviation of the maxima, γ Euler's constant, N the number of half seconds, P the chance.
The threshold is at least a little more than the greatest value seen. It holds for motions like those that were seen:
record what the arm will do.

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
"""Length of the time of which the greatest value is taken [s]."""

LEAST_BLOCKS = 10
"""So many of them are needed."""

HEADROOM = 1.1
"""A threshold is at least so many times the greatest value that was seen."""

COLLISION = 2.5
"""Threshold of a collision, in thresholds of a touch."""


class ProposedThresholds(NamedTuple):
    """What free motion proposes; (n,) in [N·m] or [N], and force [N] and torque [N·m], (2,)."""

    seen: Array  # the greatest effort that was observed
    touch: Array
    collision: Array
    seen_wrench: Array
    touch_wrench: Array
    collision_wrench: Array
    seconds: float  # of motion that was seen


def observe_motion(observer: MomentumObserver, t: Array, q: Array, qd: Array, efforts: Array) -> Array:
    """What an observer finds in a motion, (N, n + 8).

    Args:
        observer: begins anew.
        t: times, increasing, (N,) [s].
        q: positions (N, n).
        qd: velocities (N, n).
        efforts: of the drives, from each time to the next, (N, n).
    """
    observer.reset()
    found = np.zeros((len(t), len(observer.found)))
    for k in range(len(t)):
        dt = -1.0 if k == 0 else float(t[k] - t[k - 1])
        found[k] = observer.update(dt, q[k], qd[k], efforts[k - 1] if k else efforts[0])
    return found


def block_maxima(t: ArrayLike, values: ArrayLike) -> Array:
    """The greatest of each column in each block of time, (blocks, k).

    Args:
        t: times (N,) [s].
        values: (N, k), not negative.

    Raises:
        InputError: the time is too short.
    """
    times, rows = np.asarray(t, dtype=np.float64), np.asarray(values, dtype=np.float64)
    place = ((times - times[0]) / BLOCK).astype(int)
    count = int(place[-1])  # the last one is not whole
    if count < LEAST_BLOCKS:
        least = LEAST_BLOCKS * BLOCK
        raise InputError("recording", f"lasts {times[-1] - times[0]:.3g} s; thresholds take {least:g} s and more", t)
    return np.array([rows[place == k].max(axis=0) for k in range(count) if (place == k).any()])


def extreme(maxima: Array, blocks: float, chance: float) -> Array:
    """The value that the greatest of so many blocks passes with a chance, for each column (k,).

    Args:
        maxima: of blocks, (N, k).
        blocks: how many are to come.
        chance: within 0 and 1.
    """
    scale = maxima.std(axis=0, ddof=1) * np.sqrt(6.0) / np.pi
    place = maxima.mean(axis=0) - np.euler_gamma * scale
    found: Array = np.maximum(place + scale * np.log(blocks / chance), HEADROOM * maxima.max(axis=0))
    return found


def propose_thresholds(t: Array, found: Array, hours: float = 1.0, chance: float = 0.01) -> ProposedThresholds:
    """Thresholds that free motion passes within some hours with a chance at most.

    Args:
        t: times (N,) [s].
        found: what was observed then, (N, n + 8).
        hours: of motions like that one.
        chance: of one false alarm in these hours.

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
