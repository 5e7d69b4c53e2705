"""What an arm holds, from the states and commands of a short motion that it has just made.

Positions are smoothed and differentiated without phase lag, efforts smoothed in the same way. Friction is not known,
and found together with the payload: each is taken for known in turn.
"""

from __future__ import annotations

import numpy as np
from scipy.signal import savgol_filter

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.errors import InputError
from robodyn_ros.identification.payload import PayloadEstimate, estimate_payload
from robodyn_ros.identification.samples import Samples
from robodyn_ros.robot.pose import Array

WINDOW = 0.1
"""Time over which a signal is smoothed, by a cubic [s]."""

ROUNDS = 6
"""How often payload and friction take turns."""

STANDSTILL = 0.05
"""Part of a joint's greatest speed below which its friction may be anything [-]."""

LEAST = 100
"""Fewest states."""


def estimate_online(
    dynamics: CompiledDynamics, link: str, t: Array, q: Array, effort: Array, usable: Array
) -> PayloadEstimate:
    """The payload.

    Args:
        dynamics: the arm without payload.
        link: what holds it.
        t: times of the states, (N,) in [s], rising.
        q: positions (N, n) in [rad] or [m].
        effort: sent in answer to each, (N, n) in [N·m] or [N].
        usable: whether all of that effort was what the drives gave, (N,).

    Raises:
        InputError: too few states; see :func:`estimate_payload` too.
    """
    if len(t) < LEAST:
        raise InputError("t", f"has {len(t)} states; a motion that shows a payload has {LEAST} at least", t)
    samples = _samples(t, q, effort, usable)
    moving = np.abs(samples.qd) > STANDSTILL * np.abs(samples.qd).max(axis=0)
    friction = np.zeros((2, dynamics.robot.n))
    for _ in range(ROUNDS):
        # A friction of 0 would stand for the URDF's; the least number above it does not.
        viscous, coulomb = np.maximum(friction, np.finfo(float).tiny)
        found = estimate_payload(dynamics, link, samples, viscous=viscous, coulomb=coulomb)
        friction = _friction(dynamics, found, samples, moving)
    return found


def _samples(t: Array, q: Array, effort: Array, usable: Array) -> Samples:
    """At even times, smoothed; ends that the smoothing reaches are left out."""
    step = float(np.median(np.diff(t)))
    even = np.arange(t[0], t[-1], step)
    half = max(2, round(WINDOW / step / 2.0))
    chosen = slice(half, -half, half // 2)  # neighbours say nearly the same

    def smooth(values: Array, order: int) -> Array:
        spread = np.column_stack([np.interp(even, t, column) for column in values.T])
        smoothed: Array = savgol_filter(spread, 2 * half + 1, 3, deriv=order, delta=step, axis=0)
        return smoothed[chosen]

    poor = np.convolve(np.interp(even, t, usable.astype(float)) < 1.0, np.ones(2 * half + 1), "same") > 0.5
    weight = np.where(poor, 0.0, 1.0)[chosen]
    return Samples(even[chosen], smooth(q, 0), smooth(q, 1), smooth(q, 2), smooth(effort, 0), weight)


def _friction(dynamics: CompiledDynamics, found: PayloadEstimate, samples: Samples, moving: Array) -> Array:
    """Viscous and Coulomb friction (2, n) that explain best what a payload leaves over; none below 0."""
    dynamics.configure(payload=found.payload)
    rest = samples.effort - dynamics.inverse(samples.q, samples.qd, samples.qdd)
    dynamics.configure(payload=None)
    friction = np.zeros((2, samples.n))
    for joint in range(samples.n):
        rows = np.logical_and(moving[:, joint], samples.weights > 0.0)
        qd = samples.qd[rows, joint]
        columns = np.column_stack([qd, np.sign(qd), np.ones(len(qd))])
        if len(qd) > 3:
            friction[:, joint] = np.linalg.lstsq(columns, rest[rows, joint], rcond=None)[0][:2]
    return np.maximum(friction, 0.0)
