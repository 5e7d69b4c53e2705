"""Leading a reference within the limits to where a stream has jumped."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from robodyn_ros.checks import is_any
from robodyn_ros.control.laws.base import Reference
from robodyn_ros.robot.pose import Array, read_only

LEAD_TIME = 0.5
"""How long a reference that is led somewhere takes from rest to the velocity limit, at least [s]."""

SPEED = 0.9
"""Greatest speed of a reference that is led somewhere, in velocity limits: the arm overshoots."""

ACCELERATION = 4.0
"""Greatest acceleration of a reference that is led somewhere [rad/s²] or [m/s²]."""


class Lead:
    """Leads a streamed reference to where the stream has jumped: joint by joint, with a trapezoidal velocity.

    A joint approaches its target as fast as it can still brake before it, and no faster than its limit, where d is the
    distance and q̇* the velocity of the target::

        q̇ → q̇* ± √(2 a d),   |q̇| ≤ SPEED q̇_max,   |q̈| ≤ a = min(q̇_max / LEAD_TIME, ACCELERATION)

    A joint whose target has not jumped is at its target.

    Source: Biagiotti and Melchiorri, Trajectory Planning for Automatic Machines and Robots (2008), §3.2 (trapezoidal
    velocity), with the braking distance v²/2a as a feedback law.

    Attributes:
        present: the reference, on its way or at the target.
    """

    present: Reference

    def __init__(self, t: float, q: Array, qd: Array, velocity_limit: Array, jump: float) -> None:
        """
        Args:
            t: when it begins [s].
            q: from where, (n,) in [rad] or [m].
            qd: how fast, (n,) in [rad/s] or [m/s].
            velocity_limit: (n,), likewise; inf only for joints that do not jump.
            jump: how far a target may be away that the reference jumps to [rad] or [m].
        """
        self._time, self._q, self._qd = t, q, qd
        self._limit, self._jump = velocity_limit, jump
        self._leading = np.zeros(len(q), dtype=bool)
        self._target: Reference | None = None
        self._target_time = t
        self._target_velocity = self._arrived = np.zeros(len(q))

    def save(self, sources: Any) -> None:
        """Write what it remembers into the memory of ``../loop.c``."""
        assert self._target is not None  # it has been told where to lead
        sources.lead_t[...], sources.lead_q[:], sources.lead_qd[:] = self._time, self._q, self._qd
        sources.lead_limit[:], sources.lead_jump[...], sources.leading[:] = self._limit, self._jump, self._leading
        sources.target[:], sources.present[:] = np.concatenate(self._target), np.concatenate(self.present)
        sources.target_time[...], sources.target_velocity[:] = self._target_time, self._target_velocity
        sources.arrived[:] = self._arrived

    def restore(self, sources: Any) -> None:
        """Read it from there; the target is the same."""
        self._time, self._leading = float(sources.lead_t), sources.leading != 0
        self._q, self._qd = sources.lead_q.copy(), sources.lead_qd.copy()
        self.present = Reference(*map(read_only, sources.present.reshape(4, -1)))

    def aim(self, target: Reference, t: float) -> None:
        """There is another target, since t [s]."""
        if self._target is not None and t > self._target_time:
            moved = target.q - self._target.q
            steady = np.abs(moved) <= self._jump
            self._target_velocity = np.where(steady, moved / (t - self._target_time), 0.0)
            # Between two targets the distance grows and shrinks by as much as they are apart.
            self._arrived = np.where(steady, np.abs(moved), 0.0)
        self._target, self._target_time = target, t
        self.advance(t)

    def advance(self, t: float) -> None:
        """Time has come to t [s]."""
        target, dt = cast(Reference, self._target), max(t - self._time, 0.0)
        self._time = t
        away = target.q - self._q
        if not is_any(self._leading) and not is_any(np.abs(away) > self._jump):  # as nearly always
            self._q, self._qd, self.present = target.q, target.qd, target
            return
        distance = np.abs(away)
        arrived = np.minimum(np.maximum(self._arrived, 0.1 * self._jump), self._jump)
        self._leading = distance > np.where(self._leading, arrived, self._jump)
        acceleration = np.minimum(np.where(self._leading, self._limit, 0.0) / LEAD_TIME, ACCELERATION)
        wanted = self._target_velocity + np.sign(away) * np.sqrt(2.0 * acceleration * distance)
        wanted = np.minimum(np.maximum(wanted, -SPEED * self._limit), SPEED * self._limit)
        change = np.minimum(np.maximum(wanted - self._qd, -acceleration * dt), acceleration * dt)
        qdd = change / dt if dt > 0.0 else change
        self._q = np.where(self._leading, self._q + (self._qd + change) * dt, target.q)
        self._qd = np.where(self._leading, self._qd + change, target.qd)
        self.present = Reference(self._q, self._qd, np.where(self._leading, qdd, target.qdd), target.effort)
