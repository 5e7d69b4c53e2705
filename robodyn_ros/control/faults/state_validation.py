"""State validation: a state must be new, finite, with velocities, and consistent with the one before."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.checks import finite_array
from robodyn_ros.control.faults.settings import SafetySettings
from robodyn_ros.errors import InputError, JumpError, StaleStateError
from robodyn_ros.robot import Robot
from robodyn_ros.robot.configuration import ConfigurationSpace
from robodyn_ros.robot.pose import Array


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
        self._jumps = JumpDetection(robot)
        self._estimate = VelocityEstimate(robot.n)

    def reset(self) -> None:
        """Accept the next state without regard to those before."""
        self._jumps.reset()
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
            raise StaleStateError(age, safety.state_timeout)
        # What is kept of it must not follow the caller's array.
        position = self._space.near(self._last, finite_array("q", q, self._shape)).copy()
        if qd is not None:
            velocity = finite_array("qd", qd, self._shape).copy()
        elif safety.missing_velocity == "refuse":
            raise InputError("velocity", "is missing; the parameter missing_velocity can have it estimated")
        else:
            velocity = self._estimate.update(t, position, safety.velocity_filter, safety.state_timeout)
        self._jumps.check(t, position, velocity, safety.position_jump, safety.state_timeout)
        self._last = position
        return position, velocity


class JumpDetection:
    """Compares each state with the last one: does its velocity explain the change of position?

    Encoders that lose count, and wires that are swapped, make the position jump.

    A state that jumps is refused, and so are those after it until they have been consistent with each other for as long
    as states may be missing; then the arm is taken to be there.
    """

    def __init__(self, robot: Robot) -> None:
        """
        Args:
            robot: the arm.
        """
        self._robot = robot
        self._good: tuple[float, list[float], list[float]] | None = None
        self._seen: tuple[float, list[float], list[float]] | None = None

    def reset(self) -> None:
        """Accept the next state as it comes."""
        self._good = self._seen = None

    def check(self, t: float, q: Array, qd: Array, jump: float, timeout: float) -> None:
        """Check a state.

        Args:
            t: its time [s].
            q: position (n,).
            qd: velocity (n,).
            jump: greatest change of position that needs no velocity to explain it [rad] or [m].
            timeout: states further apart than this are not compared [s].

        Raises:
            JumpError: it does not follow from the last one.
        """
        for before in (self._good, self._seen):
            if before is not None and 0.0 <= t - before[0] <= timeout:
                break
        else:
            before = None
        self._seen = (t, q.tolist(), qd.tolist())
        if before is not None:
            # Plain numbers: for a few joints NumPy takes five times as long.
            dt = t - before[0]
            beyond = [
                abs(new - old) - jump - dt * max(abs(speed), abs(earlier))
                for new, speed, old, earlier in zip(*self._seen[1:], *before[1:], strict=True)
            ]
            if max(beyond) > 0.0:
                joint = beyond.index(max(beyond))
                raise JumpError(self._robot.joints[joint].name, before[1][joint], self._seen[1][joint])
        self._good = self._seen


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
