# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The noise of recorded positions."""

from __future__ import annotations

import numpy as np

from robodyn_ros.robot.pose import Array

NORMAL = 0.6745
"""Median of |x| of a normal distribution, in standard deviations [-]."""


def position_noise(t: Array, q: Array) -> Array:
    """Standard deviation of the noise of positions at equal intervals, (n,) in [rad] or [m].

    The third difference of white noise σ has the variance 20 σ², and that of a motion is small at the rate of states;
    the median ignores the few greater values. The result is at least the resolution over √12.

    Args:
        t: times (N,) in [s].
        q: positions (N, n).
    """
    step = np.diff(t)
    even = np.abs(step - np.median(step)) < 0.5 * np.median(step)
    rows = even[:-2] & even[1:-1] & even[2:]
    bent = np.abs(np.diff(q, 3, axis=0))[rows]
    moved = np.abs(np.diff(q, axis=0))
    resolution = np.min(np.where(moved > 0.0, moved, np.inf), axis=0, initial=np.inf)
    least = np.where(np.isfinite(resolution), resolution, 0.0) / np.sqrt(12.0)
    found: Array = np.maximum(np.median(bent, axis=0) / NORMAL / np.sqrt(20.0) if len(bent) else 0.0, least)
    return found
