"""The actuators: from the commands that arrive to the efforts that act on the arm.

A command is checked, clamped to the effort limit, rounded to what the drive can be told, and reaches the drive after
the delay; the drive follows it with its lag and rate limit (:mod:`.drive`). The plant holds the effort over a step,
so it is given the mean over the step: its impulse is exact, also when a command reaches the drive in the middle of
the step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, copysign, expm1, inf
from sys import maxsize

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.control.limits import saturate
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.settings import check_settings, choice, setting, switch


@dataclass(frozen=True)
class DriveSettings:
    """Settings of a joint's drive; each field's metadata say what it is."""

    lag: float = setting(0.0, "time constant of the lag of the drive", "s", 0.0, 10.0)
    rate_limit: float = setting(0.0, "greatest rate of change (0: no limit) of the effort", "N/s or N·m/s", 0.0, 1e9)
    resolution: float = setting(0.0, "resolution (0: none) of the command", "N or N·m", 0.0, 1e6)

    def __post_init__(self) -> None:
        check_settings(self)


class Drive:
    """One joint's drive: from the effort that it is told to the effort that it gives.

        |ȧ| ≤ r         a approaches the command no faster than the rate limit r
        T ẋ + x = a     x, the effort, follows with the lag T

    While the command stays the same, a is a ramp and then constant, so both equations have closed solutions (the
    response
    of a first-order system to a ramp and to a step: Franklin, Powell, Emami-Naeini, Feedback Control of Dynamic
    Systems, ch. 3). They are used as they are: nothing is approximated, whatever the step.

    Attributes:
        effort: that it gave last [N·m] or [N].
    """

    def __init__(self, settings: DriveSettings) -> None:
        """
        Args:
            settings: the settings.
        """
        self._lag = settings.lag
        self._rate = settings.rate_limit or inf
        self._resolution = settings.resolution
        self._instant = not (settings.lag or settings.rate_limit)
        self.reset()

    def reset(self) -> None:
        """Give no effort."""
        self.effort = self._aim = 0.0

    def rounded(self, command: float) -> float:
        """The nearest command that the drive can be told."""
        return round(command / self._resolution) * self._resolution if self._resolution else command

    def is_at(self, command: float) -> bool:
        """Whether the drive gives this effort from now on, without a transition."""
        return self._instant or self.effort == command == self._aim

    def follow(self, command: float, duration: float) -> float:
        """Go on by a time [s] with a command.

        Returns:
            The integral of the effort over that time [N·m·s] or [N·s].
        """
        way = command - self._aim
        ramp = min(abs(way) / self._rate, duration)
        total = self._lagged(copysign(self._rate, way), ramp) if ramp > 0.0 else 0.0
        if ramp < duration:
            self._aim = command
            total += self._lagged(0.0, duration - ramp)
        return total

    def _lagged(self, slope: float, duration: float) -> float:
        """Go on while a has this slope; the integral of x."""
        lag, behind = self._lag, slope * self._lag
        area = (self._aim - behind + 0.5 * slope * duration) * duration
        away, decay = self.effort - self._aim + behind, expm1(-duration / lag) if lag else -1.0
        self._aim += slope * duration
        self.effort = self._aim - behind + away * (1.0 + decay)
        return area - away * lag * decay


GREATEST = 1e6
"""Greatest command that is taken for one [N·m] or [N]. What no drive can give is a fault of the sender, and clamping it
would hide that; a smaller one is clamped to the effort limit, as ros2_control does."""

ROUNDING = 1e-6
"""What of a delay counts as a rounding error, as a part of the step."""

TIMEOUT_RESPONSES = ("hold", "zero", "brake")
"""What the drives can do when no command comes any more: go on with the last, give no effort, or hold the joints."""


@dataclass(frozen=True)
class CommandSettings:
    """Settings of how commands reach the drives; each field's metadata say what it is."""

    command_delay: float = setting(0.0, "time from a command's arrival until the drives follow it", "s", 0.0, 1.0)
    command_timeout: float = setting(
        0.1, "time without a command after which the drives count on none", "s", 1e-3, 3600.0
    )
    on_command_timeout: str = choice(
        "hold", "what the drives do then: go on with the last, give no effort, or brake", lambda: TIMEOUT_RESPONSES
    )
    brake: bool = switch(
        True, "whether brakes hold the arm where it starts until the first command comes; false lets it fall"
    )

    def __post_init__(self) -> None:
        check_settings(self)


class Actuators:
    """The actuators: from the commands that arrive to the efforts that act on the arm.

    A command is checked, clamped to the effort limit, rounded to what the drive can be told, and reaches the drive
    after
    the delay; the drive follows it with its lag and rate limit (:mod:`.drive`). The plant holds the effort over a step,
    so it is given the mean over the step: its impulse is exact, also when a command reaches the drive in the middle of
    the step.
    """

    def __init__(self, drives: Sequence[DriveSettings], delay: float, step: float, effort_limit: ArrayLike) -> None:
        """
        Args:
            drives: settings of each joint's drive (n).
            delay: see :class:`CommandSettings` [s].
            step: that the plant takes [s].
            effort_limit: (n,) in [N·m] or [N]; inf where there is none.
        """
        self._drives = tuple(Drive(settings) for settings in drives)
        self._coarse = any(settings.resolution for settings in drives)
        self._limit = read_only(effort_limit)
        self._step = step
        whole = round(delay / step)
        self._delay = float(whole) if abs(delay / step - whole) < ROUNDING else delay / step
        self.reset()

    def reset(self) -> None:
        """Give no effort, and forget every command."""
        for drive in self._drives:
            drive.reset()
        self._told = read_only(np.zeros(len(self._drives)))
        self._coming: deque[tuple[float, Array]] = deque()

    def checked(self, effort: ArrayLike) -> Array:
        """A command as the drives are told it.

        Args:
            effort: (n,) in [N·m] or [N].

        Raises:
            InputError: it is not n finite numbers of at most :data:`GREATEST`.
        """
        given = finite_array("effort", effort, self._limit.shape)
        if (np.abs(given) > GREATEST).any():
            raise InputError("effort", f"is beyond {GREATEST:g}, which no drive can give: {given}", effort)
        clamped, _ = saturate(given, self._limit)
        if not self._coarse:
            return clamped
        return np.array([drive.rounded(value) for drive, value in zip(self._drives, clamped.tolist(), strict=True)])

    def command(self, now: int, effort: Array) -> None:
        """Take a command.

        Args:
            now: when it arrived [steps].
            effort: what :meth:`checked` returned (n,).
        """
        self._coming.append((now + self._delay, effort))

    def let_go(self, now: int) -> None:
        """Have the drives give no effort from now on [steps]; commands on their way are forgotten."""
        self._coming.clear()
        self._coming.append((float(now), np.zeros(len(self._drives))))

    def wait(self, now: int) -> int:
        """How many steps after now [steps] the next command has reached the drives; very many if there is none."""
        return max(0, ceil(self._coming[0][0] - now)) if self._coming else maxsize

    def steady(self, now: int) -> Array | None:
        """The effort (n,) that acts from now [steps] until another command comes, None while it still changes."""
        while self._coming and self._coming[0][0] <= now:
            self._told = self._coming.popleft()[1]
        settled = not self._coming and all(map(Drive.is_at, self._drives, self._told.tolist()))
        return self._told if settled else None

    def advance(self, now: int) -> Array:
        """Go on by the step that begins now [steps]; the mean effort over it (n,) in [N·m] or [N]."""
        time, end, impulse = float(now), now + 1.0, np.zeros(len(self._drives))
        while self._coming and self._coming[0][0] < end:
            due, command = self._coming.popleft()
            if due > time:
                impulse += self._follow(due - time)
                time = due
            self._told = command
        mean: Array = impulse + self._follow(end - time)
        return mean

    def _follow(self, part: float) -> Array:
        """Go on by a part of a step; the impulse over it, as the mean of a whole step."""
        seconds = part * self._step
        told = self._told.tolist()
        return (
            np.array([drive.follow(value, seconds) for drive, value in zip(self._drives, told, strict=True)])
            / self._step
        )
