"""Limits: on what the arm is asked to do, and on the efforts that are sent to it.

:class:`Shaping` makes the effort that is sent out of the effort that the control law wants, in four stages:

1. **Blend**: when law, model or gains change, or a fault is over, the difference to what was sent last is added and
   fades away within ``blend_time``.
2. **Soft position limits** (:func:`soften`): near a position limit, nothing drives the joint faster towards it.
3. **Absolute limit**: ±effort_limit.
4. **Rate limit**: no more than ±rate_limit · Δt away from what was sent last; Δt counts ``state_timeout`` at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.checks import is_within
from robodyn_ros.control.faults.settings import Feedback, SafetySettings
from robodyn_ros.errors import InputError, LimitError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.pose import Array, read_only

SPEED_TOLERANCE = 1.01
"""How much faster than its limit a reference may be for a rounding error: splines overshoot between their points."""

FARTHEST = 1e6
"""Greatest position of a reference where the joint has no limit [rad] or [m]: further out a double has fewer than ten
digits behind the point, and soon not one."""

INSTANT = 1e-12
"""The least time between two commands that the rate limit counts with [s]: an infinite rate times no time would be no
number."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of an arm, each (n,); inf where there is no limit.

    Attributes:
        effort: [N·m] or [N].
        rate: of the effort, [N·m/s] or [N/s].
        velocity: [rad/s] or [m/s].
    """

    effort: Array
    rate: Array
    velocity: Array

    @classmethod
    def of(
        cls, robot: Robot, effort: ArrayLike, rate: ArrayLike | None = None, velocity: ArrayLike | None = None
    ) -> Limits:
        """Checked limits of an arm; unless given, the rate has no limit and the velocity has that of the URDF.

        A velocity limit of 0 in a URDF stands for an unknown one, because an arm that may not move makes no sense.

        Raises:
            InputError: a limit of the wrong shape, negative or NaN.
        """
        rate = np.full(robot.n, np.inf) if rate is None else rate
        known = robot.velocity_limit > 0.0
        velocity = np.where(known, robot.velocity_limit, np.inf) if velocity is None else velocity
        given = {"effort_limit": effort, "rate_limit": rate, "velocity_limit": velocity}
        checked = {name: read_only(value) for name, value in given.items()}
        for name, value in checked.items():
            if value.shape != (robot.n,) or not (value >= 0.0).all():
                raise InputError(name, f"must be {robot.n} numbers from 0 up, not {given[name]!r}", given[name])
        return cls(*checked.values())


def saturate(effort: Array, limit: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Efforts within ±limit, and which of them had to be cut.

    Args:
        effort: (n,) in [N·m] or [N].
        limit: (n,), not negative, inf where there is none.

    Returns:
        The clamped efforts (n,) and a mask (n,).
    """
    if is_within(effort, limit):  # as nearly always
        return effort, np.zeros(effort.shape, dtype=bool)
    clamped = np.minimum(np.maximum(effort, -limit), limit)
    return clamped, clamped != effort


def check_position_limits(name: str, robot: Robot, positions: Array, columns: list[int]) -> None:
    """Refuse positions outside the limits of their joints, or beyond ``FARTHEST``.

    Args:
        name: what they are, for the message.
        robot: the arm.
        positions: (m,) or (K, m) in [rad] or [m].
        columns: index into ``robot.joints`` of each of the m.

    Raises:
        LimitError: names the joint, the value and the limits.
    """
    rows = np.atleast_2d(positions)
    lower, upper = np.maximum(robot.lower[columns], -FARTHEST), np.minimum(robot.upper[columns], FARTHEST)
    outside = (rows < lower) | (rows > upper)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        joint = robot.joints[columns[column]]
        raise LimitError(name, joint.name, float(rows[row, column]), float(lower[column]), float(upper[column]))


def check_velocity_limits(name: str, robot: Robot, limit: Array, velocities: Array, columns: list[int]) -> None:
    """Refuse velocities beyond the limits of their joints.

    Args:
        name: what they are, for the message.
        robot: the arm.
        limit: (n,) in [rad/s] or [m/s].
        velocities: (m,) in [rad/s] or [m/s].
        columns: index into ``robot.joints`` of each of the m.

    Raises:
        LimitError: names the joint, the value and the limits.
    """
    for column in np.flatnonzero(np.abs(velocities) > SPEED_TOLERANCE * limit[columns]):
        greatest = float(limit[columns[column]])
        raise LimitError(name, robot.joints[columns[column]].name, float(velocities[column]), -greatest, greatest)


def soften(
    effort: Array, q: Array, qd: Array, gravity: Array, robot: Robot, feedback: Feedback, margin: float
) -> Array:
    """Efforts (n,) within the soft position limits.

    Near a position limit, the joint is not pushed harder towards it than a hold at the limit would push. With d the
    distance to the hard limit, within ``margin`` of it and in its direction::

        τ ≤ g(q) + K d - D q̇,   d = max(0, limit - q)      (mirrored at the lower limit)

    The right-hand side is the effort that would hold the arm exactly at the limit. So the bound never takes from the
    weight that is carried, nor from a hold inside the limits or at one. It takes away everything that drives the joint
    faster towards its stop: the velocity there fades as exp(-ωt) with a well damped joint, and at the limit nothing
    pushes outwards any more. From outside no force drives the joint back, so an arm found beyond a limit can be moved
    back slowly.

    Compare the soft limits of ROS's joint_limits_interface (velocity bounds that fade with the distance, efforts that
    fade with the velocity); those do not know the arm's weight, and let a loaded joint drop away from its upper limit.

    Args:
        effort: wanted, (n,) in [N·m] or [N].
        q: position (n,).
        qd: velocity (n,).
        gravity: efforts that carry the arm, (n,).
        robot: whose limits.
        feedback: K and D.
        margin: how far before a limit the bound begins [rad] or [m].
    """
    ends = zip(q.tolist(), robot.lower.tolist(), robot.upper.tolist(), strict=True)
    if all(x - lower >= margin and upper - x >= margin for x, lower, upper in ends):  # as nearly always
        return effort
    above, below = robot.upper - q, q - robot.lower
    still = gravity - feedback.damping * qd
    most = np.where(above < margin, still + feedback.stiffness * np.clip(above, 0.0, margin), np.inf)
    least = np.where(below < margin, still - feedback.stiffness * np.clip(below, 0.0, margin), -np.inf)
    return np.minimum(np.maximum(effort, least), most)


class Shaping:
    """Makes the efforts that are sent out of the efforts that are wanted; the module's text names the stages.

    Attributes:
        sent: what was sent last, (n,) in [N·m] or [N]; None before the first command, and after silence.
        cut: what was asked for minus what was sent last, (n,).
    """

    _limits: Limits
    _feedback: Feedback
    _safety: SafetySettings

    def __init__(self, robot: Robot) -> None:
        """
        Args:
            robot: the arm.
        """
        self._robot = robot
        self._none = read_only(np.zeros(robot.n))
        self._nowhere = np.zeros(robot.n, dtype=bool)
        self.reset()

    def apply(self, limits: Limits, feedback: Feedback, safety: SafetySettings) -> None:
        """Work with these from the next command on.

        Args:
            limits: of efforts and their rate.
            feedback: K and D of the soft limits.
            safety: the margin of the soft limits, and the longest time that the rate limit counts with.
        """
        self._limits, self._feedback, self._safety = limits, feedback, safety

    def reset(self) -> None:
        """The next command is the first."""
        self.sent: Array | None = None
        self.cut = self._none
        self._time = -np.inf
        self._blend: Blend | None = None

    def blend(self, duration: float) -> None:
        """Begin the next command where the last one was, and go over to what is wanted within a time [s]."""
        if self.sent is not None and duration > 0.0:
            self._blend = Blend(self.sent, duration)

    def shape(self, t: float, wanted: Array, q: Array, qd: Array, gravity: Array) -> Shaped:
        """The efforts to send.

        Args:
            t: time [s].
            wanted: efforts (n,) in [N·m] or [N].
            q: position (n,).
            qd: velocity (n,).
            gravity: efforts that carry the arm, (n,).
        """
        asked = wanted
        if self._blend is not None:
            asked = wanted + self._blend.offset(t, wanted)
            if self._blend.over(t):
                self._blend = None
        margin = self._safety.soft_limit_margin
        return self._send(t, asked, soften(asked, q, qd, gravity, self._robot, self._feedback, margin))

    def shape_reaction(self, t: float, wanted: Array) -> Shaped:
        """As :meth:`shape`, for the reaction to a fault: without blending and without soft limits."""
        self._blend = None
        return self._send(t, wanted, wanted)

    def _send(self, t: float, asked: Array, softened: Array) -> Shaped:
        """Apply the absolute limit and the rate limit."""
        clamped, saturated = saturate(softened, self._limits.effort)
        if softened is not asked:
            saturated = clamped != asked
        effort, rate_limited = clamped, self._nowhere
        if self.sent is not None:
            step = self._limits.rate * min(max(t - self._time, INSTANT), self._safety.state_timeout)
            if not is_within(clamped - self.sent, step):
                effort = np.minimum(np.maximum(clamped, self.sent - step), self.sent + step)
                rate_limited = effort != clamped
        self.cut = self._none if effort is asked else asked - effort
        self.sent, self._time = effort, t
        return Shaped(effort, saturated, rate_limited)


class Shaped(NamedTuple):
    """What is sent, (n,)."""

    effort: Array  # [N·m] or [N]
    saturated: NDArray[np.bool_]  # where the absolute limit or a soft position limit cut it
    rate_limited: NDArray[np.bool_]  # where the rate limit did


class Blend:
    """A change of effort without a step.

    What the first new effort differs by from the last old one is added to the new ones, and fades linearly.
    """

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
        """True if nothing is left of it at a time [s], or time ran backwards."""
        return self._begin is not None and not 0.0 <= t - self._begin < self._duration
