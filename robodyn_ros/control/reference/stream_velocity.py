# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Velocities of a streamed reference with positions only: filtered differentiation by the stamps."""

from __future__ import annotations

import ctypes

import numpy as np

from robodyn_ros.control.core_library import Core
from robodyn_ros.robot.pose import Array


class StreamVelocity:
    """The velocity of each joint of a stream of positions, as the core estimates it (``core_velocity_update``).

        v ← v + (Δq / Δt - v) Δt / (T + Δt),   |v| ≤ v_max

    A first-order low pass of the difference quotient with the time constant T (backward Euler), as for measured
    positions. Each joint has its own filter, because a message may name some joints only. The estimate lags by T and
    half a period. A lost message has no further effect, two messages close together have little weight, and a message
    that was overtaken is ignored. The velocity of a joint is zero at the begin, after a pause, after a jump of its
    position, and when the clock was set back.
    """

    def __init__(self, core: Core) -> None:
        """
        Args:
            core: of the loop that follows the stream.
        """
        self._core, self._record = core, core.structs.make("CoreVelocity")
        self._pointer = ctypes.c_void_p(self._record.address)
        core.library.core_velocity_reset(self._pointer)

    def update(self, settings: int, t: float, q: Array, columns: list[int]) -> Array:
        """The velocities (m,) in [rad/s] or [m/s] of the joints of a message.

        Args:
            settings: address of the settings of the core: T, greatest velocities, and thresholds of a pause and a jump.
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
        """True if the stream was moving and has been silent for longer than by lost messages.

        Args:
            elapsed: time since its last message [s].
        """
        return bool(self._core.library.core_velocity_is_silent(self._pointer, ctypes.c_double(elapsed)))

    def stop(self) -> None:
        """Set the velocities to zero, because the stream stands still or has ended."""
        self._record.fields.v[:] = 0.0
