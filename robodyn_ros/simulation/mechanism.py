"""The arm with what the equations of motion leave out: friction, and stops at the position limits.

    M(q) q̈ + C(q, q̇) q̇ + g(q) = τ - d q̇ - f sign(q̇) + r

Viscous friction d and Coulomb friction f come from the URDF's ``<dynamics>``. Stops are hard and inelastic. A joint
that stands still is held by friction or by a stop for as long as that can bear the load (:mod:`.restraint`), and then
stands exactly still. Reaching a stop, a joint loses its speed by an impulse, which acts on the others through M.

Between such events the motion is smooth, and integrated with the full order; a step in which a joint reaches a stop or
comes to rest is cut there, at the root of the cubic through its ends. So the stops and friction only take energy out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.simulation.restraint import restrain
from robodyn_ros.simulation.rk4 import Acceleration, rk4_step

BISECTIONS = 52
"""Halvings of a step to find an event in it: as many as a float64 has binary digits."""


class Load(NamedTuple):
    """What acts on the joints until the next event."""

    force: Array  # efforts and sliding friction (n,) in [N·m] or [N]
    direction: Array  # in which each joint slides, +1 or -1, or 0 if it is held (n,)
    free: NDArray[np.intp] | None  # the joints that are not held; None for all


class Event(NamedTuple):
    """A joint reaches a stop, or comes to rest against friction."""

    part: float  # when, as a part of the step
    joint: int
    stop: float | None  # the position of the stop [rad] or [m]


class Mechanism:
    """See the module."""

    def __init__(self, dynamics: Dynamics) -> None:
        """
        Args:
            dynamics: the equations of motion.
        """
        robot = dynamics.robot
        self._dynamics = dynamics
        self._lower, self._upper = robot.lower, robot.upper
        self._damping = robot.damping if robot.damping.any() else None
        self._friction = robot.friction
        self._rough = bool(robot.friction.any())
        self._zero = read_only(np.zeros(robot.n))

    def advance(self, q: Array, qd: Array, effort: Array, dt: float) -> tuple[Array, Array]:
        """The state after a step.

        Args:
            q: position (n,) in [rad] or [m], within the position limits.
            qd: velocity (n,) in [rad/s] or [m/s], not into a stop: what :meth:`settled` or this method returned.
            effort: held over the step (n,) in [N·m] or [N].
            dt: length of the step [s].
        """
        for _ in range(4 * len(q)):  # a joint has two events, to arrive and to leave; more in one step is chatter
            load = self._load(q, qd, effort)
            acceleration = self._acceleration(load)
            q1, qd1 = rk4_step(acceleration, q, qd, dt)
            event = self._first_event(q, qd, q1, qd1, dt, load)
            if event is None:
                return q1, qd1
            last = event.joint
            if event.part == 0.0 and qd[last] == 0.0:
                break  # let go in this very step, and already back: that motion is too small to follow
            q, qd = rk4_step(acceleration, q, qd, event.part * dt)
            if event.stop is not None:
                q[event.joint] = event.stop
            q, qd = self.settled(q, qd, None if event.stop is not None else event.joint)
            dt -= event.part * dt
        return self.settled(q1, qd1, last)

    def settled(self, q: Array, qd: Array, at_rest: int | None = None) -> tuple[Array, Array]:
        """A state put right: no joint beyond a stop or moving into one, and the joint ``at_rest`` still."""
        q = np.clip(q, self._lower, self._upper)
        at_lower, at_upper = q <= self._lower, q >= self._upper
        if at_rest is None and not (at_lower & (qd < 0.0) | at_upper & (qd > 0.0)).any():
            return q, qd
        least, greatest = np.where(at_upper, -np.inf, 0.0), np.where(at_lower, np.inf, 0.0)
        if at_rest is not None:
            least[at_rest], greatest[at_rest] = -np.inf, np.inf
        return q, restrain(self._dynamics.mass_matrix(q), qd, least, greatest).motion

    def _load(self, q: Array, qd: Array, effort: Array) -> Load:
        friction, direction, free = self._friction, np.sign(qd), None
        still = direction == 0.0
        least, greatest = np.where(still, -friction, 0.0), np.where(still, friction, 0.0)
        greatest[still & (q <= self._lower)] = np.inf
        least[still & (q >= self._upper)] = -np.inf
        if (least < greatest).any():
            w = self._acceleration(Load(effort - friction * direction, direction, None))(q, qd)
            force, _, held = restrain(self._dynamics.mass_matrix(q), w, least, greatest)
            direction = np.where(held, 0.0, direction - np.sign(force))
            free = None if not held.any() else np.flatnonzero(~held)
        return Load(effort - friction * direction if self._rough else effort, direction, free)

    def _acceleration(self, load: Load) -> Acceleration:
        dynamics, damping, zero = self._dynamics, self._damping, self._zero
        force, _, free = load

        def total(qd: Array) -> Array:
            return force if damping is None else force - damping * qd

        def unheld(q: Array, qd: Array) -> Array:
            return dynamics.forward(q, qd, total(qd))

        if free is None:
            return unheld
        joints, block = free, np.ix_(free, free)

        def held(q: Array, qd: Array) -> Array:
            qdd = np.zeros(len(q))
            net = total(qd) - dynamics.inverse(q, qd, zero)
            qdd[joints] = np.linalg.solve(dynamics.mass_matrix(q)[block], net[joints])
            return qdd

        return held

    def _first_event(self, q: Array, qd: Array, q1: Array, qd1: Array, dt: float, load: Load) -> Event | None:
        below, above = q1 < self._lower, q1 > self._upper
        outside = below | above
        back = self._friction * load.direction * qd1 < 0.0
        if not outside.any() and not back.any():
            return None
        events = []
        for joint in np.flatnonzero(outside):
            stop = float(self._lower[joint] if below[joint] else self._upper[joint])
            outward = -1.0 if below[joint] else 1.0
            cubic = _cubic(q[joint] - stop, dt * qd[joint], q1[joint] - stop, dt * qd1[joint])
            events.append(Event(_crossing(cubic, outward), int(joint), stop))
        for joint in np.flatnonzero(back):
            c = _cubic(q[joint], dt * qd[joint], q1[joint], dt * qd1[joint])
            speed = (0.0, 3.0 * c[0], 2.0 * c[1], c[2])
            events.append(Event(_crossing(speed, -float(load.direction[joint])), int(joint), None))
        return min(events, key=lambda event: event.part)


Cubic = tuple[float, float, float, float]


def _cubic(y0: float, v0: float, y1: float, v1: float) -> Cubic:
    """Coefficients, highest power first, of the cubic over [0, 1] with these values and slopes at its ends."""
    rise = y1 - y0
    return float(v0 + v1 - 2.0 * rise), float(3.0 * rise - 2.0 * v0 - v1), float(v0), float(y0)


def _crossing(cubic: Cubic, sign: float) -> float:
    """The last point in [0, 1) before ``sign`` times the cubic, not positive at 0, turns positive."""
    a, b, c, d = cubic
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if sign * (((a * middle + b) * middle + c) * middle + d) > 0.0:
            high = middle
        else:
            low = middle
    return low
