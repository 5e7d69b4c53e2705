"""From what the law wants to what is sent: soft limits, two layers of effort limit, and no step.

1. **Blend**: when law, model or gains change, or a fault is over, the difference to what was sent last is added and
   fades away within ``blend_time``.
2. **Soft position limits**: :mod:`robodyn_ros.control.soft_limits`.
3. **Absolute limit**: ±effort_limit.
4. **Rate limit**: no more than ±rate_limit · Δt away from what was sent last; Δt counts ``state_timeout`` at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control.blend import Blend
from robodyn_ros.control.checks import is_within
from robodyn_ros.control.limits import saturate
from robodyn_ros.control.soft_limits import soften
from robodyn_ros.control.tuning import Tuning
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

INSTANT = 1e-12
"""What the time between two commands is taken for at least [s]: an infinite rate times no time would be no number."""


class Shaped(NamedTuple):
    """What is sent, (n,)."""

    effort: Array  # [N·m] or [N]
    saturated: NDArray[np.bool_]  # where the absolute limit or a soft position limit cut it
    rate_limited: NDArray[np.bool_]  # where the rate limit did


class Shaping:
    """See the module.

    Attributes:
        sent: what was sent last, (n,) in [N·m] or [N]; None before the first command, and after silence.
        cut: what was asked for minus what was sent last, (n,).
    """

    def __init__(self, robot: Robot) -> None:
        """
        Args:
            robot: the arm.
        """
        self._robot = robot
        self._none = read_only(np.zeros(robot.n))
        self._nowhere = np.zeros(robot.n, dtype=bool)
        self.forget()

    def forget(self) -> None:
        """The next command is the first."""
        self.sent: Array | None = None
        self.cut = self._none
        self._time = -np.inf
        self._blend: Blend | None = None

    def blend(self, duration: float) -> None:
        """Begin the next command where the last one was, and go over to what is asked for within a time [s]."""
        if self.sent is not None and duration > 0.0:
            self._blend = Blend(self.sent, duration)

    def urgent(self, t: float, wanted: Array, tuning: Tuning) -> Shaped:
        """As :meth:`shape`, for efforts that answer a fault: without blending, and without soft limits."""
        self._blend = None
        return self._send(t, wanted, wanted, tuning)

    def shape(self, t: float, wanted: Array, state: tuple[Array, Array], gravity: Array, tuning: Tuning) -> Shaped:
        """Efforts to send for efforts wanted.

        Args:
            t: time [s].
            wanted: (n,) in [N·m] or [N].
            state: position and velocity, (n,) each.
            gravity: efforts that carry the arm, (n,).
            tuning: limits, margin of the soft limits and their gains.
        """
        asked = wanted
        if self._blend is not None:
            asked = wanted + self._blend.offset(t, wanted)
            if self._blend.over(t):
                self._blend = None
        margin = tuning.config.soft_limit_margin
        return self._send(t, asked, soften(asked, *state, gravity, self._robot, tuning.feedback, margin), tuning)

    def _send(self, t: float, asked: Array, softened: Array, tuning: Tuning) -> Shaped:
        limits, longest = tuning.limits, tuning.config.state_timeout
        clamped, saturated = saturate(softened, limits.effort)
        if softened is not asked:
            saturated = clamped != asked
        effort, rate_limited = clamped, self._nowhere
        if self.sent is not None:
            step = limits.rate * min(max(t - self._time, INSTANT), longest)
            if not is_within(clamped - self.sent, step):
                effort = np.minimum(np.maximum(clamped, self.sent - step), self.sent + step)
                rate_limited = effort != clamped
        self.cut = self._none if effort is asked else asked - effort
        self.sent, self._time = effort, t
        return Shaped(effort, saturated, rate_limited)
