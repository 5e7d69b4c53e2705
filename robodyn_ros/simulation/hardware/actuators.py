# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The actuators: from the commands that arrive to the efforts that act on the arm.

A command is checked, clamped to the effort limit and rounded to the resolution of the drive. It reaches the drive after
the delay, and the drive follows it with its lag and rate limit. The plant keeps the effort constant over a step, so it
gets the mean over the step. The impulse is then exact, also when a command reaches the drive within a step.

A drive turns a command into the effort x:

    |ȧ| ≤ r         a approaches the command no faster than the rate limit r
    T ẋ + x = a     x, the effort, follows with the lag T

While the command is constant, a is a ramp and then constant, so both equations have closed solutions (the response of a
first-order system to a ramp and to a step: Franklin, Powell, Emami-Naeini, Feedback Control of Dynamic Systems, ch. 3).
The solutions are used as they are, without approximation, for every length of the step.

``drives.c`` is these solutions.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from sys import maxsize
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.control.drive_compensation import DriveCompensation
from robodyn_ros.control.laws.base import FrictionCompensation
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.engine.c_functions import required, text_key
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.settings import NONE, CheckedSettings, choice, names, setting, switch

DRIVES = Path(__file__).with_name("drives.c").read_text(encoding="utf-8")

GREATEST = 1e6
"""Greatest command that is accepted [N·m] or [N]. No drive can give more: a greater one is a fault of the sender,
which clamping would hide. A smaller command is clamped to the effort limit, as ros2_control does."""

ROUNDING = 1e-6
"""Tolerance of a delay's rounding error, as a part of the step."""

SMOOTHING = 0.01
"""Measured velocity at which drives that add friction add three quarters of the Coulomb friction [rad/s] or [m/s]."""

TIMEOUT_RESPONSES = ("hold", "zero", "brake")
"""Responses of the drives to missing commands: keep the last one, give no effort, or brake."""


@dataclass(frozen=True)
class DriveSettings(CheckedSettings):
    """Settings of a joint's drive; each field's metadata describe it."""

    lag: float = setting(0.0, "time constant of the lag of the drive", "s", 0.0, 10.0)
    rate_limit: float = setting(0.0, "greatest rate of change (0: no limit) of the effort", "N/s or N·m/s", 0.0, 1e9)
    resolution: float = setting(0.0, "resolution (0: none) of the command", "N or N·m", 0.0, 1e6)


@dataclass(frozen=True)
class CommandSettings(CheckedSettings):
    """Settings of how commands reach the drives; each field's metadata describe it."""

    command_delay: float = setting(0.0, "time from the arrival of a command until the drives apply it", "s", 0.0, 1.0)
    command_timeout: float = setting(
        0.1, "time without a command after which the drives respond to its absence", "s", 1e-3, 3600.0
    )
    on_command_timeout: str = choice(
        "hold", "response to missing commands: hold the last one, give no effort, or brake", lambda: TIMEOUT_RESPONSES
    )
    brake: bool = switch(
        True, "whether brakes hold the arm where it starts until the first command comes; false lets it fall"
    )
    drive_adds: tuple[str, ...] = names(
        (NONE,), "terms that the drives add by themselves: gravity, coriolis, friction; for one joint gravity.<joint>"
    )


class DriveModel:
    """The efforts that drives add to their commands, by their own model of the arm.

    Gravity and Coriolis efforts are those of the model at the present state; friction is that of the model, smoothed
    about standstill (:class:`robodyn_ros.control.laws.base.FrictionCompensation`).
    """

    def __init__(self, dynamics: Dynamics, terms: Sequence[str]) -> None:
        """
        Args:
            dynamics: the model in the drives.
            terms: the terms that they add (:class:`robodyn_ros.control.drive_compensation.DriveCompensation`).

        Raises:
            InputError: a term or a joint is unknown.
        """
        self._dynamics = dynamics
        self._terms = DriveCompensation.of(dynamics.robot, terms, "drive_adds")
        self._friction = FrictionCompensation(dynamics)

    def effort(self, q: Array, qd: Array) -> Array:
        """The added efforts (n,) at a position and velocity (n,), in [N·m] or [N]."""
        gravity, coriolis, friction = self._terms
        total: Array = gravity * self._dynamics.gravity(q)
        if coriolis.any():
            total = total + coriolis * (self._dynamics.coriolis_matrix(q, qd) @ qd)
        if friction.any():
            total = total + friction * self._friction.against(qd, SMOOTHING)
        return total


def drive_rows(drives: Sequence[DriveSettings], effort_limit: Array) -> Array:
    """The structures ``Drive`` of drives at zero effort, (n, 6)."""
    settings = [(drive.lag, drive.rate_limit or np.inf, drive.resolution) for drive in drives]
    return np.column_stack([np.reshape(settings, (-1, 3)), effort_limit, np.zeros((len(drives), 2))])


class Actuators:
    """The drives of all joints, and the commands on their way to them."""

    def __init__(self, drives: Sequence[DriveSettings], delay: float, step: float, effort_limit: ArrayLike) -> None:
        """
        Args:
            drives: settings of each joint's drive (n).
            delay: time from the arrival of a command until the drives apply it [s].
            step: length of the plant's step [s].
            effort_limit: (n,) in [N·m] or [N]; inf where there is none.

        Raises:
            NotReadyError: there is no C compiler.
        """
        self._limit = read_only(effort_limit)
        self._drives = drive_rows(drives, self._limit)
        self._library = required("the simulation", "drives", text_key(DRIVES), lambda: DRIVES)
        self._count, self._address = ctypes.c_int64(len(drives)), ctypes.c_void_p(self._drives.ctypes.data)
        self._step = step
        whole = round(delay / step)
        self._delay = float(whole) if abs(delay / step - whole) < ROUNDING else delay / step
        self.reset()

    def reset(self) -> None:
        """Set the efforts to zero, and discard every command."""
        self._drives[:, 4:] = 0.0
        self._active = read_only(np.zeros(len(self._drives)))
        self._coming: deque[tuple[float, Array]] = deque()

    def checked(self, effort: ArrayLike) -> Array:
        """Return a command as the drives receive it: clamped and rounded.

        Args:
            effort: (n,) in [N·m] or [N].

        Raises:
            InputError: it is not n finite numbers of at most :data:`GREATEST`.
        """
        given = np.ascontiguousarray(finite_array("effort", effort, self._limit.shape))
        if (np.abs(given) > GREATEST).any():
            raise InputError("effort", f"is beyond {GREATEST:g}, which no drive can give: {given}", effort)
        result = np.empty(len(given))
        self._call("drives_receive", given, result)
        return result

    def command(self, now: int, effort: Array) -> None:
        """Accept a command.

        Args:
            now: time of its arrival [steps].
            effort: the result of :meth:`checked` (n,).
        """
        self._coming.append((now + self._delay, effort))

    def release(self, now: int) -> None:
        """Command zero effort from now on [steps]; discard the commands on their way."""
        self._coming.clear()
        self._coming.append((float(now), np.zeros(len(self._drives))))

    def wait(self, now: int) -> int:
        """Steps from now [steps] until the next command has reached the drives; very many if there is none."""
        return max(0, ceil(self._coming[0][0] - now)) if self._coming else maxsize

    def steady(self, now: int) -> Array | None:
        """The constant effort (n,) from now [steps] until another command comes; None while it still changes."""
        while self._coming and self._coming[0][0] <= now:
            self._active = self._coming.popleft()[1]
        settled = not self._coming and self._call("drives_are_at", self._active)
        return self._active if settled else None

    def advance(self, now: int) -> Array:
        """Advance by the step that begins now [steps]; return the mean effort over it (n,) in [N·m] or [N]."""
        time, end, impulse = float(now), now + 1.0, np.zeros(len(self._drives))
        while self._coming and self._coming[0][0] < end:
            due, command = self._coming.popleft()
            if due > time:
                impulse += self._follow(due - time)
                time = due
            self._active = command
        mean: Array = impulse + self._follow(end - time)
        return mean

    def _follow(self, part: float) -> Array:
        """Advance by a part of a step; return the impulse over it, divided by the length of a step."""
        integral = np.empty(len(self._drives))
        self._call("drives_follow", self._active, ctypes.c_double(part * self._step), integral)
        return integral / self._step

    def _call(self, name: str, *given: Any) -> int:
        """Call a function of ``drives.c``."""
        arguments = (ctypes.c_void_p(part.ctypes.data) if isinstance(part, np.ndarray) else part for part in given)
        code: int = getattr(self._library, name)(self._count, self._address, *arguments)
        return code
