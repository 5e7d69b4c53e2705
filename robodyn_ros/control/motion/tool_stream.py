# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Streams for the tool: the link that is moved, and the limits.

``core/tool.c`` computes a joint reference from them, for the controller node, for a loop in Python
(:meth:`.ControlLoop.move_tool`) and for the exported controller. This module computes the data of the arm for that.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from robodyn_ros.dynamics.task_space import arm_directions
from robodyn_ros.engine.c_functions import plain_function
from robodyn_ros.engine.program import Program
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics import Kinematics
from robodyn_ros.kinematics.workspace import random_positions
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array
from robodyn_ros.robot.robot import tip
from robodyn_ros.settings import CheckedSettings, setting

LENGTH = 0.3
"""Distance with the same weight as a rotation by one radian, if joints cannot follow both [m]."""

POSES = 100
"""Number of random poses from which the usual singular value is computed."""

NEAR = 0.05
"""Ratio of the least singular value to its median over those poses at which the tool stops on its path."""

OLDEST_FRAME = 1.0
"""Greatest age of a transform of tf; an older one is refused, because its publisher has stopped [s]."""


@dataclass(frozen=True)
class StreamSettings(CheckedSettings):
    """Settings of streams for the tool."""

    speed: tuple[float, ...] = setting(
        (0.5, 2.0), "greatest speed and angular velocity of the streamed reference", "m/s, rad/s", 1e-3, 100.0
    )
    acceleration: tuple[float, ...] = setting(
        (5.0, 20.0),
        "greatest acceleration and angular acceleration of the streamed reference",
        "m/s², rad/s²",
        1e-2,
        1e4,
    )


@dataclass(frozen=True, eq=False)
class StreamedTool:
    """The link that streams move, with its data for the core.

    Attributes:
        link: its name.
        axes: the directions in which the arm can move it, as rows over a twist, weighted by :data:`LENGTH`, (k, 6).
        floor: singular value of the Jacobian in these directions at which the tool stops on its path.
        program: of its pose and its Jacobian.
    """

    link: str
    axes: Array
    floor: float
    program: Program

    @classmethod
    def of(cls, robot: Robot, link: str = "") -> StreamedTool:
        """The streamed link of an arm; computed once for each.

        Args:
            robot: the arm.
            link: its name; the arm's tool unless given.

        Raises:
            InputError: no such link, or no joint moves it.
        """
        return _found(robot, link or tip(robot))

    def values(self, settings: StreamSettings) -> dict[str, Any]:
        """Members of the struct ``Settings`` of the core → their values.

        Args:
            settings: limits of the stream.
        """
        axes = np.zeros((6, 6))
        axes[: len(self.axes)] = self.axes
        return {
            "tool": ctypes.cast(plain_function(self.program), ctypes.c_void_p).value or 0,
            "tool_directions": len(self.axes),
            "tool_axes": axes.ravel(),
            "tool_floor": self.floor,
            "stream_speed": settings.speed,
            "stream_acceleration": settings.acceleration,
        }


@lru_cache(maxsize=16)
def _found(robot: Robot, link: str) -> StreamedTool:
    kinematics = Kinematics(robot)
    if robot.link(link).body < 0:
        raise InputError("link", f"no joint moves {link!r}", link)
    jacobians = np.array([kinematics.jacobian(link, q) for q in random_positions(robot, POSES)])
    axes = arm_directions(jacobians, "", link) * np.array([1.0, 1.0, 1.0, LENGTH, LENGTH, LENGTH])
    usual = np.linalg.svd(axes @ jacobians, compute_uv=False)[:, -1]
    return StreamedTool(link, axes, NEAR * float(np.median(usual)), kinematics.program(link))
