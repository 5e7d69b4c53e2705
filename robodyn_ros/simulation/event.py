"""Events: a joint leaves the domain of the mode that it is in, within a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.mode import Mode

BISECTIONS = 52
"""Halvings of a step to find an event in it: as many as a float64 has binary digits."""

Polynomial = tuple[float, float, float, float]
"""Coefficients of a cubic over [0, 1], highest power first."""


class Event(NamedTuple):
    """A joint leaves the mode's domain."""

    part: float  # when, as a part of the step
    joint: int
    bound: float  # the position [rad] or [m], or the velocity [rad/s] or [m/s], at which it does
    moving: bool  # whether that is a velocity
    slope: float  # by how much that changes in a step


def first_event(mode: Mode, q: Array, qd: Array, q1: Array, qd1: Array, dt: float) -> Event | None:
    """The first of the joints to leave a mode's domain in a step, or None if none does.

    Args:
        mode: that the step begins in.
        q: position at its beginning (n,) in [rad] or [m].
        qd: velocity at its beginning (n,) in [rad/s] or [m/s].
        q1: position at its end.
        qd1: velocity at its end.
        dt: its length [s].
    """
    below, above = q1 < mode.q_low, q1 > mode.q_high
    slower, faster = qd1 < mode.v_low, qd1 > mode.v_high
    if not (below | above | slower | faster).any():
        return None
    events = []
    for joint in np.flatnonzero(below | above):
        bound = float(mode.q_low[joint] if below[joint] else mode.q_high[joint])
        a, b, c, d = _cubic(q[joint] - bound, dt * qd[joint], q1[joint] - bound, dt * qd1[joint])
        part = _crossing((a, b, c, d), -1.0 if below[joint] else 1.0)
        events.append(Event(part, int(joint), bound, False, (3.0 * a * part + 2.0 * b) * part + c))
    for joint in np.flatnonzero(slower | faster):
        bound = float(mode.v_low[joint] if slower[joint] else mode.v_high[joint])
        a, b, c, _ = _cubic(q[joint], dt * qd[joint], q1[joint], dt * qd1[joint])
        part = _crossing((0.0, 3.0 * a, 2.0 * b, c - dt * bound), -1.0 if slower[joint] else 1.0)
        events.append(Event(part, int(joint), bound, True, (6.0 * a * part + 2.0 * b) / dt))
    return min(events, key=lambda event: event.part)


def _cubic(y0: float, v0: float, y1: float, v1: float) -> Polynomial:
    """The cubic with these values and slopes at its ends."""
    rise = y1 - y0
    return float(v0 + v1 - 2.0 * rise), float(3.0 * rise - 2.0 * v0 - v1), float(v0), float(y0)


def _crossing(cubic: Polynomial, sign: float) -> float:
    """The last point in [0, 1) before ``sign`` times the cubic, not positive at 0, turns positive."""
    a, b, c, d = cubic
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if sign * (((a * middle + b) * middle + c) * middle + d) > 0.0:
            high = middle
        else:
            low = middle
    return low
