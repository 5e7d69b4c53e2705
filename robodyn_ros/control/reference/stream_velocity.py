# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Velocities of a streamed reference that brings positions only: filtered differentiation by the stamps."""

from __future__ import annotations

import ctypes

import numpy as np

from robodyn_ros.control.core_library import Core
from robodyn_ros.robot.pose import Array


class StreamVelocity:
    """The velocity of each joint of a stream of positions, as the core estimates it (``core_velocity_update``).

        v ← v + (Δq / Δt - v) Δt / (T + Δt),   |v| ≤ v_max

    A first-order low pass of the difference quotient with the time constant T (backward Euler), as of measured
    positions, joint by joint: a message may name some joints only. It lags by T and half a period. A lost message
    costs nothing but that lag, and two messages close together weigh little. One that was overtaken changes nothing. A
    joint is at rest at the begin, after a pause, where time goes back further than a message is overtaken, and where it
    jumps.
    """

    def __init__(self, core: Core) -> None:
        """
        Args:
            core: of the loop that the stream is for.
        """
        self._core, self._record = core, core.structs.make("CoreVelocity")
        self._pointer = ctypes.c_void_p(self._record.address)
        core.library.core_velocity_reset(self._pointer)

    def update(self, settings: int, t: float, q: Array, columns: list[int]) -> Array:
        """The velocities (m,) in [rad/s] or [m/s] of the joints of a message.

        Args:
            settings: address of the settings of the core: T, greatest velocities, and what a pause and a jump are.
            t: time of the message, by its stamp [s].
            q: its positions (m,) in [rad] or [m].
            columns: index of its joints among all n.
        """
        n = self._core.n
        joints, positions, velocities = np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)
        joints[columns], positions[columns] = 1, q
        arrays = (ctypes.c_void_p(array.ctypes.data) for array in (joints, positions, velocities))
        self._core.library.core_velocity_update(self._pointer, ctypes.c_void_p(settings), ctypes.c_double(t), *arrays)
        return velocities[columns]

    def is_silent(self, elapsed: float) -> bool:
        """True if the stream was moving and has been silent for longer than messages get lost.

        Args:
            elapsed: time since its last message [s].
        """
        return bool(self._core.library.core_velocity_is_silent(self._pointer, ctypes.c_double(elapsed)))

    def stop(self) -> None:
        """The stream stands still, or there is none any more."""
        self._record.fields.v[:] = 0.0
