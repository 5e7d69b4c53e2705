# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Velocities of a streamed reference that brings positions only: filtered differentiation by the stamps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.robot import Robot
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, choice, setting, whole

SILENCE = 0.1
"""After this time without a message a stream of positions is taken to stand still [s]."""

OVERTAKEN = 0.1
"""How much older than the one before a message may be that was overtaken on its way; else time has gone back [s]."""

SILENT_PERIODS = 5.0
"""The same in periods of the stream; the longer time counts. Some of its messages may be lost."""


@dataclass(frozen=True)
class ReferenceSettings:
    """Settings of the references; each field's metadata say what it is."""

    trajectory_points: int = whole(100_000, "most points of a message on ~/joint_trajectory", 1, 10_000_000)
    missing_reference_velocity: str = choice(
        "estimate", "velocity of a message on ~/reference without velocities", lambda: ("estimate", "zero")
    )
    reference_velocity_filter: float = setting(
        0.005, "time constant of the estimated velocities of ~/reference", "s", 0.0, 1.0
    )

    def __post_init__(self) -> None:
        check_settings(self)


class StreamVelocity:
    """Estimates the velocity of each joint of a stream of positions.

        v ← v + (Δq / Δt - v) Δt / (T + Δt),   |v| ≤ v_max

    A first-order low pass of the difference quotient with the time constant T (backward Euler), as of measured
    positions (:class:`robodyn_ros.control.faults.state_validation.VelocityEstimate`), joint by joint: a message may
    name some joints only. It lags by T and half a period. A lost message costs nothing but that lag, and two messages
    close together weigh little. One that was overtaken changes nothing. A joint is at rest at the begin, after a pause,
    where time goes back further than a message is overtaken, and where it jumps.
    """

    def __init__(self, robot: Robot) -> None:
        """
        Args:
            robot: the arm.
        """
        self._space = ConfigurationSpace(robot)
        self._t, self._q, self._v = np.full(robot.n, -np.inf), np.zeros(robot.n), np.zeros(robot.n)
        self._silent_after = np.inf  # [s]

    def update(
        self, t: float, q: Array, columns: list[int], limit: Array, *, filter_time: float, timeout: float, jump: float
    ) -> Array:
        """The velocities (m,) in [rad/s] or [m/s] of the joints of a message.

        Args:
            t: time of the message, by its stamp [s].
            q: its positions (m,) in [rad] or [m].
            columns: index of its joints among all n.
            limit: greatest velocities (n,), likewise per second.
            filter_time: T [s].
            timeout: after a longer pause the stream begins anew [s].
            jump: so does it after a greater change of position [rad] or [m].
        """
        whole = self._q.copy()
        whole[columns] = q
        moved, dt, v = self._space.difference(self._q, whole)[columns], t - self._t[columns], self._v[columns]
        goes_on = (dt >= -OVERTAKEN) & (dt <= timeout) & (np.abs(moved) <= jump)
        # With Δt ≤ 0 the velocity stays: a second message of one time, or one that was overtaken.
        step = np.where(goes_on, np.maximum(dt, 0.0), 0.0)
        change = np.where(step > 0.0, moved - v * step, 0.0) / np.maximum(filter_time + step, np.finfo(float).tiny)
        most = limit[columns]
        velocity = np.where(goes_on, np.clip(v + change, -most, most), 0.0)
        newest = np.where(goes_on & (dt < 0.0), -dt, 0.0)
        self._q[columns] = np.where(newest > 0.0, self._q[columns], q)
        self._t[columns], self._v[columns] = t + newest, velocity
        self._silent_after = max(SILENCE, SILENT_PERIODS * float(step.max(initial=0.0)))
        return velocity

    def is_silent(self, elapsed: float) -> bool:
        """True if the stream was moving and has been silent for longer than messages get lost.

        Args:
            elapsed: time since its last message [s].
        """
        return elapsed > self._silent_after and bool(np.any(self._v))

    def stop(self) -> None:
        """The stream stands still, or there is none any more."""
        self._v[:] = 0.0
