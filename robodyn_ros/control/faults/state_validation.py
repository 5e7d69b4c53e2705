"""State validation: a state must be new, finite, with velocities, and continue the one before."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.errors import FutureStateError, InputError, JumpError, OrderError, StaleStateError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array

AHEAD = 0.02
"""How much further than before a stamp may run ahead of the clock [s]."""

ALMOST = 1.0 - 1e-9
"""A time that falls short of another by a rounding error counts as equal."""


class StateValidation:
    """Accepts states, or refuses them."""

    def __init__(self, robot: Robot) -> None:
        """
        Args:
            robot: the arm.
        """
        self._shape = (robot.n,)
        self._space = ConfigurationSpace(robot)
        self._last = np.zeros(robot.n)
        self._continuity = Continuity(robot)
        self._estimate = VelocityEstimate(robot.n)

    def reset(self) -> None:
        """Accept the next state without regard to those before."""
        self._continuity.reset()
        self._estimate.reset()

    def validate(
        self, t: float, now: float, q: ArrayLike, qd: ArrayLike | None, safety: SafetySettings
    ) -> tuple[Array, Array]:
        """The position and velocity of a usable state, (n,) each.

        A continuous joint goes on in the turn where the last state was. Arguments and errors are those of
        :meth:`robodyn_ros.control.loop.ControlLoop.update`.
        """
        age = now - t
        if not abs(age) <= safety.state_timeout:
            raise (FutureStateError if age < 0.0 else StaleStateError)(age, safety.state_timeout)
        # What is kept of it must not follow the caller's array.
        position = self._space.near(self._last, finite_array("q", q, self._shape)).copy()
        if qd is not None:
            velocity = finite_array("qd", qd, self._shape).copy()
        elif safety.missing_velocity == "refuse":
            raise InputError("velocity", "is missing; the parameter missing_velocity can have it estimated")
        else:
            velocity = self._estimate.update(t, position, safety.velocity_filter, safety.state_timeout)
        self._continuity.check(t, now, position, velocity, safety)
        self._last = position
        return position, velocity

    def save(self, memory: Any) -> None:
        """Write what it remembers into the memory of ``../loop.c``."""
        memory.last_q[:] = self._last
        self._continuity.save(memory)
        self._estimate.save(memory)

    def restore(self, memory: Any) -> None:
        """Read it from there."""
        self._last = memory.last_q.copy()
        self._continuity.restore(memory)
        self._estimate.restore(memory)


class Continuity:
    """Compares each state with the last good one: is it newer, and does its velocity explain the change of position?

    Stamps run backwards where a second source publishes states, or a clock was set. Encoders that lose count, and wires
    that are swapped, make the position jump.

    A state that does not continue the last good one is refused. So are those after it, until they have continued each
    other for as long as states may be missing and no good one came between them; then the arm is taken to be there. So
    no single state, and no second source, takes over from states that still come.
    """

    def __init__(self, robot: Robot) -> None:
        """
        Args:
            robot: the arm.
        """
        self._robot = robot
        self.reset()

    def reset(self) -> None:
        """Accept the next state as it comes."""
        self._good: _Seen | None = None
        self._refused: _Seen | None = None
        self._refused_since = 0.0

    def check(self, t: float, now: float, q: Array, qd: Array, safety: SafetySettings) -> None:
        """Check a state.

        Args:
            t: its time [s].
            now: the time now, by the same clock [s].
            q: position (n,).
            qd: velocity (n,).
            safety: how far a position may jump and a stamp run ahead of the clock, and how long states may be missing.

        Raises:
            OrderError: it is older than the last good one, or runs ahead of the clock as none did before.
            JumpError: its position does not follow from the last good one.
        """
        state = _Seen(t, max(t - now, 0.0), q.tolist(), qd.tolist())
        try:
            if self._good is not None:
                self._check_continues(self._good, state, safety)
        except (OrderError, JumpError):
            if not self._continues_refused(state, safety):
                self._refused_since = t
            self._refused = state
            if t - self._refused_since < safety.state_timeout * ALMOST:
                raise
        else:
            if self._good is not None:
                state = state._replace(ahead=max(state.ahead, self._good.ahead))
        self._good, self._refused = state, None

    def save(self, memory: Any) -> None:
        """Write what it remembers into the memory of ``../loop.c``."""
        memory.good[...], memory.refused[...] = self._good is not None, self._refused is not None
        memory.refused_since[...] = self._refused_since
        if self._good is not None:
            memory.good_t[...], memory.good_ahead[...], memory.good_q[:], memory.good_qd[:] = self._good
        if self._refused is not None:
            memory.refused_t[...], memory.refused_ahead[...], memory.refused_q[:], memory.refused_qd[:] = self._refused

    def restore(self, memory: Any) -> None:
        """Read it from there."""
        self._good, self._refused = _seen(memory, "good"), _seen(memory, "refused")
        self._refused_since = float(memory.refused_since)

    def _continues_refused(self, state: _Seen, safety: SafetySettings) -> bool:
        """True if a state continues the one that was refused before it."""
        if self._refused is None or state.t - self._refused.t > safety.state_timeout:
            return False
        try:
            self._check_continues(self._refused, state, safety)
        except (OrderError, JumpError):
            return False
        return True

    def _check_continues(self, before: _Seen, state: _Seen, safety: SafetySettings) -> None:
        dt = state.t - before.t
        if dt < 0.0:
            raise OrderError(f"its stamp is {-dt:.3g} s before that of the state before it")
        if state.ahead > before.ahead + AHEAD:
            raise OrderError(f"its stamp is {state.ahead:.3g} s ahead of the clock")
        dt = min(dt, safety.state_timeout)
        # Plain numbers: for a few joints NumPy takes five times as long.
        beyond = [
            abs(new - old) - safety.position_jump - dt * max(abs(speed), abs(earlier))
            for new, speed, old, earlier in zip(state.q, state.qd, before.q, before.qd, strict=True)
        ]
        if max(beyond) > 0.0:
            joint = beyond.index(max(beyond))
            raise JumpError(self._robot.joints[joint].name, before.q[joint], state.q[joint])


class _Seen(NamedTuple):
    """A state that came."""

    t: float  # its time [s]
    ahead: float  # how far stamps have been ahead of the clock [s]
    q: list[float]
    qd: list[float]


def _seen(memory: Any, name: str) -> _Seen | None:
    """A state in the memory of ``../loop.c``."""
    if not getattr(memory, name):
        return None
    t, ahead, q, qd = (getattr(memory, f"{name}_{part}").tolist() for part in _Seen._fields)
    return _Seen(t, ahead, q, qd)


class VelocityEstimate:
    """Velocity from positions, where the drives measure none: filtered differentiation.

        v ← v + (Δq / Δt - v) Δt / (T + Δt)

    A first-order low pass of the difference quotient with the time constant T (backward Euler). It lags by T.
    """

    def __init__(self, n: int) -> None:
        """
        Args:
            n: number of joints.
        """
        self._rest = np.zeros(n)
        self._velocity = self._rest
        self._last: tuple[float, Array] | None = None

    def reset(self) -> None:
        """Begin with the next position, at rest."""
        self._last, self._velocity = None, self._rest

    def update(self, t: float, q: Array, time_constant: float, timeout: float) -> Array:
        """The velocity (n,) at time t [s], with the arm at q (n,).

        Args:
            t: time of the state [s].
            q: position (n,) in [rad] or [m].
            time_constant: T [s].
            timeout: after a longer pause the arm is taken to be at rest [s].
        """
        if self._last is None or not 0.0 <= t - self._last[0] <= timeout:
            self._velocity = self._rest
        elif t > self._last[0]:
            dt = t - self._last[0]
            self._velocity = self._velocity + ((q - self._last[1]) / dt - self._velocity) * (dt / (time_constant + dt))
        self._last = (t, q)
        return self._velocity

    def save(self, memory: Any) -> None:
        """Write what it remembers into the memory of ``../loop.c``."""
        memory.estimate_known[...], memory.estimate_v[:] = self._last is not None, self._velocity
        if self._last is not None:
            memory.estimate_t[...], memory.estimate_q[:] = self._last

    def restore(self, memory: Any) -> None:
        """Read it from there."""
        self._velocity = memory.estimate_v.copy()
        self._last = (float(memory.estimate_t), memory.estimate_q.copy()) if memory.estimate_known else None
