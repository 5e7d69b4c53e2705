"""From what the law wants to what is sent: soft limits, two layers of effort limit, and no step.

1. **Blend**: when law, model or gains change, or a fault is over, the difference to what was sent last is added and
   fades away within ``blend_time``.
2. **Soft position limits**: :mod:`robodyn_ros.control.shaping`.
3. **Absolute limit**: ±effort_limit.
4. **Rate limit**: no more than ±rate_limit · Δt away from what was sent last; Δt counts ``state_timeout`` at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.checks import is_within
from robodyn_ros.control.faults.reactions import Feedback
from robodyn_ros.control.limits import saturate
from robodyn_ros.control.loop_settings import LoopSettings
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

# Soft position limits: near the end of its way, a joint is not pushed harder towards it than a hold there would.
#
# With d the distance to the hard limit, within ``margin`` of it and in its direction::
#
#     τ ≤ g(q) + K d - D q̇,   d = max(0, limit - q)      (mirrored at the lower limit)
#
# The right-hand side is what holding the arm exactly at the limit would give. So it never takes from the weight that is
# carried, nor from a hold inside the limits or at one. What it takes away is all that drives the joint faster towards
# its stop: the velocity there fades as exp(-ωt) with a well damped joint, and at the limit nothing pushes outwards any
# more. From outside no force drives the joint back, so that an arm found beyond a limit can be led back in peace.
#
# Compare the soft limits of ROS's joint_limits_interface (velocity bounds that fade with the distance, efforts that
# fade with the velocity); those do not know the arm's weight, and let a loaded joint drop away from its upper limit.


def soften(
    effort: Array, q: Array, qd: Array, gravity: Array, robot: Robot, feedback: Feedback, margin: float
) -> Array:
    """Efforts (n,) that keep the law of the module.

    Args:
        effort: wanted, (n,) in [N·m] or [N].
        q: position (n,).
        qd: velocity (n,).
        gravity: efforts that carry the arm, (n,).
        robot: whose limits.
        feedback: K and D.
        margin: how far before a limit the law begins [rad] or [m].
    """
    ends = zip(q.tolist(), robot.lower.tolist(), robot.upper.tolist(), strict=True)
    if all(x - lower >= margin and upper - x >= margin for x, lower, upper in ends):  # as nearly always
        return effort
    above, below = robot.upper - q, q - robot.lower
    still = gravity - feedback.damping * qd
    most = np.where(above < margin, still + feedback.stiffness * np.clip(above, 0.0, margin), np.inf)
    least = np.where(below < margin, still - feedback.stiffness * np.clip(below, 0.0, margin), -np.inf)
    return np.minimum(np.maximum(effort, least), most)


# Going over from one effort to another without a step.


class Blend:
    """What the first new effort differs by from the last old one is added to the new ones, and fades linearly."""

    def __init__(self, last: Array, duration: float) -> None:
        """
        Args:
            last: the last effort before the change, (n,).
            duration: within which the difference fades [s].
        """
        self._last = last
        self._duration = duration
        self._begin: float | None = None

    def offset(self, t: float, wanted: Array) -> Array:
        """What to add to an effort wanted at a time [s], (n,); the first call is the beginning."""
        if self._begin is None:
            self._begin, self._difference = t, self._last - wanted
        return max(0.0, 1.0 - (t - self._begin) / self._duration) * self._difference

    def over(self, t: float) -> bool:
        """Whether nothing is left of it at a time [s], or time ran backwards."""
        return self._begin is not None and not 0.0 <= t - self._begin < self._duration


INSTANT = 1e-12
"""What the time between two commands is taken for at least [s]: an infinite rate times no time would be no number."""


class Shaped(NamedTuple):
    """What is sent, (n,)."""

    effort: Array  # [N·m] or [N]
    saturated: NDArray[np.bool_]  # where the absolute limit or a soft position limit cut it
    rate_limited: NDArray[np.bool_]  # where the rate limit did


class Shaping:
    """From what the law wants to what is sent: soft limits, two layers of effort limit, and no step.

    1. **Blend**: when law, model or gains change, or a fault is over, the difference to what was sent last is added and
       fades away within ``blend_time``.
    2. **Soft position limits**: :mod:`robodyn_ros.control.shaping`.
    3. **Absolute limit**: ±effort_limit.
    4. **Rate limit**: no more than ±rate_limit · Δt away from what was sent last; Δt counts ``state_timeout`` at most.

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

    def urgent(self, t: float, wanted: Array, tuning: LoopSettings) -> Shaped:
        """As :meth:`shape`, for efforts that answer a fault: without blending, and without soft limits."""
        self._blend = None
        return self._send(t, wanted, wanted, tuning)

    def shape(
        self, t: float, wanted: Array, state: tuple[Array, Array], gravity: Array, tuning: LoopSettings
    ) -> Shaped:
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

    def _send(self, t: float, asked: Array, softened: Array, tuning: LoopSettings) -> Shaped:
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
