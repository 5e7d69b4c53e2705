# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Streamed references: the link that streams for the tool move, and the velocities of streamed positions.

``core/tool.c`` computes a joint reference from a stream for the tool, for the controller node, for a loop in Python
(:meth:`.ControlLoop.move_tool`) and for the exported controller. This module computes the data of the arm for that.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from robodyn_ros.control.core_library import Core
from robodyn_ros.dynamics.task_space import arm_directions
from robodyn_ros.engine.c_interface import address_of, plain_function
from robodyn_ros.engine.program import Program
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.robot import Array, Robot, random_positions, tip
from robodyn_ros.settings import CheckedSettings, setting

LENGTH = 0.3  #: Distance with the same weight as a rotation by one radian, if joints cannot follow both [m].
POSES = 100  #: Number of random poses from which the usual singular value is computed.
NEAR = 0.05  #: Ratio of the least singular value to its median over those poses at which the tool stops on its path.
OLDEST_FRAME = 1.0  #: Greatest age of a transform of tf; the publisher of an older one has stopped [s].


@dataclass(frozen=True)
class StreamSettings(CheckedSettings):
    """Settings of streams for the tool."""

    speed: tuple[float, ...] = setting(
        (0.5, 2.0), "greatest speed and angular velocity of the streamed reference", "m/s, rad/s", 1e-3, 100.0
    )
    acceleration: tuple[float, ...] = setting(
        (5.0, 20.0), "greatest linear and angular acceleration of the streamed reference", "m/s², rad/s²", 1e-2, 1e4
    )


@dataclass(frozen=True, eq=False)
class StreamedTool:
    """The link that streams move, with its data for the core."""

    link: str  # its name
    axes: Array  # the directions in which the arm can move it, as rows over a twist, weighted by LENGTH, (k, 6)
    floor: float  # singular value of the Jacobian in these directions at which the tool stops on its path
    program: Program  # of its pose and its Jacobian

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, robot: Robot, link: str = "") -> StreamedTool:
        """The streamed link of an arm, the tip unless given; computed once for each. InputError: no joint moves it."""
        kinematics, link = Kinematics(robot), link or tip(robot)
        if robot.link(link).body < 0:
            raise InputError("link", f"no joint moves {link!r}", link)
        jacobians = np.array([kinematics.jacobian(link, q) for q in random_positions(robot, POSES)])
        axes = arm_directions(jacobians, "", link) * np.array([1.0, 1.0, 1.0, LENGTH, LENGTH, LENGTH])
        usual = np.linalg.svd(axes @ jacobians, compute_uv=False)[:, -1]
        return cls(link, axes, NEAR * float(np.median(usual)), kinematics.program(link))

    def values(self, settings: StreamSettings) -> dict[str, Any]:
        """Members of the struct ``Settings`` of the core → their values."""
        axes = np.zeros((6, 6))
        axes[: len(self.axes)] = self.axes
        return {
            "tool": address_of(plain_function(self.program)),
            "tool_directions": len(self.axes),
            "tool_axes": axes.ravel(),
            "tool_floor": self.floor,
            "stream_speed": settings.speed,
            "stream_acceleration": settings.acceleration,
        }


class StreamVelocity:
    """The velocity of each joint of a stream of positions, by filtered differentiation (``core_velocity_update``).

        v ← v + (Δq / Δt - v) Δt / (T + Δt),   |v| ≤ v_max

    A first-order low pass of the difference quotient with the time constant T (backward Euler). The estimate lags by T
    and half a period; a message that was overtaken is ignored. The velocity of a joint is zero at the begin, after a
    pause, after a jump of its position, and when the clock was set back.
    """

    def __init__(self, core: Core) -> None:
        self._core, self._record = core, core.structs.make("CoreVelocity")
        self._pointer = ctypes.c_void_p(self._record.address)
        core.library.core_velocity_reset(self._pointer)

    def update(self, settings: int, t: float, q: Array, columns: list[int]) -> Array:
        """The velocities (m,) in [rad/s] or [m/s] of the joints of a message, by its stamp t [s], positions (m,) in
        [rad] or [m] and the index of each joint among all n. The settings of the core, given by their address, have T,
        the greatest velocities, and the thresholds of a pause and a jump.
        """
        n = self._core.n
        joints, positions, velocities = np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)
        joints[columns], positions[columns] = 1, q
        arrays = (ctypes.c_void_p(array.ctypes.data) for array in (joints, positions, velocities))
        self._core.library.core_velocity_update(self._pointer, ctypes.c_void_p(settings), ctypes.c_double(t), *arrays)
        return velocities[columns]

    def is_silent(self, elapsed: float) -> bool:
        """True if the stream moved, and has been silent for ``elapsed`` [s], longer than by lost messages."""
        return bool(self._core.library.core_velocity_is_silent(self._pointer, ctypes.c_double(elapsed)))

    def stop(self) -> None:
        """Set the velocities to zero, because the stream stands still or has ended."""
        self._record.fields.v[:] = 0.0
