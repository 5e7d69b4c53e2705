"""From motion to rest, as quickly as the efforts allow.

A quintic whose end follows from its beginning: of the Bernstein coefficients of its velocity::

    v,  v + h a/4,  (v + h a/4) / 2,  0,  0

the first two are the motion that it begins with, the last two rest, and the third lies between, so that a joint that
does not speed up at the beginning never turns back and is never faster than at first. Its duration h is doubled until
the efforts, by the model, are within their limits.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.trajectory import Sample, Trajectory
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array

SHORTEST_BRAKING, LONGEST_BRAKING = 0.02, 20.0
"""Between them lies the duration [s]."""

BRAKING_SAMPLES = 41
"""At so many instants the efforts are looked at."""


def braking(dynamics: Dynamics, motion: Sample, velocity_limit: Array, effort_limit: Array) -> Trajectory:
    """The way to rest.

    Args:
        dynamics: of the arm.
        motion: that it begins with.
        velocity_limit: (n,) in [rad/s] or [m/s].
        effort_limit: (n,) in [N·m] or [N].

    Raises:
        InputError: the arm cannot be brought to rest within these limits.
    """
    q, v, a = motion
    rest, h = np.zeros_like(q), SHORTEST_BRAKING
    while h <= LONGEST_BRAKING:
        turn = v + h * a / 4.0
        end = q + h / 5.0 * (v + 1.5 * turn)
        found = Trajectory([0.0, h], [q, end], [v, rest], [a, rest])
        samples = [found.sample(t) for t in np.linspace(0.0, h, BRAKING_SAMPLES, endpoint=False)]
        efforts = dynamics.inverse(*(np.array(values) for values in zip(*samples, strict=True)))
        swift = found.speed(velocity_limit) > np.maximum(velocity_limit, np.abs(v))
        if not swift.any() and (np.abs(efforts) <= effort_limit).all():
            return found
        h *= 2.0
    raise InputError("motion", f"at {v} cannot be brought to rest within the limits of speed and effort", motion)
