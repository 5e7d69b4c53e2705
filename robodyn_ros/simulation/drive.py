"""One joint's drive: from the effort that it is told to the effort that it gives.

    |ȧ| ≤ r         a approaches the command no faster than the rate limit r
    T ẋ + x = a     x, the effort, follows with the lag T

While the command stays the same, a is a ramp and then constant, so both equations have closed solutions (the response
of a first-order system to a ramp and to a step: Franklin, Powell, Emami-Naeini, Feedback Control of Dynamic Systems,
ch. 3). They are used as they are: nothing is approximated, whatever the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, expm1, inf

from robodyn_ros.control.settings import check_settings, setting


@dataclass(frozen=True)
class DriveConfig:
    """Settings of a joint's drive; each field's metadata say what it is."""

    lag: float = setting(0.0, "time constant of the lag of the drive", "s", 0.0, 10.0)
    rate_limit: float = setting(0.0, "greatest rate of change (0: no limit) of the effort", "N/s or N·m/s", 0.0, 1e9)
    resolution: float = setting(0.0, "resolution (0: none) of the command", "N or N·m", 0.0, 1e6)

    def __post_init__(self) -> None:
        check_settings(self)


class Drive:
    """See the module.

    Attributes:
        effort: that it gave last [N·m] or [N].
    """

    def __init__(self, config: DriveConfig) -> None:
        """
        Args:
            config: the settings.
        """
        self._lag = config.lag
        self._rate = config.rate_limit or inf
        self._resolution = config.resolution
        self._instant = not (config.lag or config.rate_limit)
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
