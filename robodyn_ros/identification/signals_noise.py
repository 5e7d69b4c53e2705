"""Up to which frequency recorded positions say something of the motion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.signal import welch

from robodyn_ros.identification.signals_stretch import Stretch
from robodyn_ros.robot.pose import Array

ABOVE = 10.0
"""Power of the motion over that of the noise at which the one ends. The ratio at a frequency is the same for position,
velocity and acceleration, for differentiating scales both alike."""

HIGHEST = 0.2
"""Of the rate of the positions; above it, there is no motion."""

LOWEST = 2.0
"""Cutoff frequency at least [Hz]: what moves an arm is not slower."""

SPAN = 8.0
"""Length of the pieces whose spectra are averaged [s]."""


def cutoff_frequency(parts: Sequence[Stretch], moving: Array) -> float:
    """The frequency up to which the motion of some joint stands out of the noise [Hz].

    The noise is what is in the upper half of the spectrum, where encoders, not joints, are what moves.

    Args:
        parts: of one recording.
        moving: which joints move, (n,) of bool.
    """
    longest = max(parts, key=lambda part: len(part.t))
    rate = 1.0 / longest.step
    size = min(len(longest.t), round(SPAN * rate))
    f, power = welch(longest.q[:, moving], rate, "hann", size, detrend="linear", axis=0)
    noise = np.median(power[f > 0.25 * rate], axis=0)
    highest = LOWEST
    for column, floor in zip(power.T, noise.tolist(), strict=True):
        peak = int(np.argmax(column))
        under = np.flatnonzero(column[peak:] < ABOVE * floor)
        highest = max(highest, float(f[peak + under[0]]) if len(under) else np.inf)
    return float(min(highest, HIGHEST * rate))
