"""The arm with what the equations of motion leave out: friction, stops, and drives with a greatest speed.

    M(q) q̈ + C(q, q̇) q̇ + g(q) = τ - friction(q̇) - stops(q, q̇) + r

r holds joints that stand still, by friction or by a stop, for as long as that can bear the load; then they stand
exactly still. Reaching a rigid stop, a joint changes its velocity by an impulse, which acts on the others through M.

Between such events the motion is smooth (:mod:`.mode`), and integrated with the full order; a step in which one happens
is cut there: at the root of the cubic through its ends (:mod:`.event`), improved by Newton's method on the integrator
itself. So the stops and friction only take energy out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.plant.compiled_motion import SmoothMotion, Step
from robodyn_ros.simulation.plant.joint_effects import JointEffects
from robodyn_ros.simulation.plant.modes import Mask, Mode, Modes, solve_boxed_lcp

# Events: a joint leaves the domain of the mode that it is in, within a step.

BISECTIONS = 52
"""Halvings of a step to find an event in it: as many as a float64 has binary digits."""

Polynomial = tuple[float, float, float, float]
"""Coefficients of a cubic over [0, 1], highest power first."""


class Event(NamedTuple):
    """A joint leaves the mode's domain."""

    part: float  # when, as a part of the step
    joint: int
    bound: float  # the position [rad] or [m], or the velocity [rad/s] or [m/s], at which it does
    moving: bool  # whether that is a velocity
    slope: float  # by how much that changes in a step


def first_event(mode: Mode, q: Array, qd: Array, q1: Array, qd1: Array, dt: float) -> Event | None:
    """The first of the joints to leave a mode's domain in a step, or None if none does.

    Args:
        mode: that the step begins in.
        q: position at its beginning (n,) in [rad] or [m].
        qd: velocity at its beginning (n,) in [rad/s] or [m/s].
        q1: position at its end.
        qd1: velocity at its end.
        dt: its length [s].
    """
    below, above = q1 < mode.q_low, q1 > mode.q_high
    slower, faster = qd1 < mode.v_low, qd1 > mode.v_high
    if not (below | above | slower | faster).any():
        return None
    events = []
    for joint in np.flatnonzero(below | above):
        bound = float(mode.q_low[joint] if below[joint] else mode.q_high[joint])
        a, b, c, d = _cubic(q[joint] - bound, dt * qd[joint], q1[joint] - bound, dt * qd1[joint])
        part = _crossing((a, b, c, d), -1.0 if below[joint] else 1.0)
        events.append(Event(part, int(joint), bound, False, (3.0 * a * part + 2.0 * b) * part + c))
    for joint in np.flatnonzero(slower | faster):
        bound = float(mode.v_low[joint] if slower[joint] else mode.v_high[joint])
        a, b, c, _ = _cubic(q[joint], dt * qd[joint], q1[joint], dt * qd1[joint])
        part = _crossing((0.0, 3.0 * a, 2.0 * b, c - dt * bound), -1.0 if slower[joint] else 1.0)
        events.append(Event(part, int(joint), bound, True, (6.0 * a * part + 2.0 * b) / dt))
    return min(events, key=lambda event: event.part)


def _cubic(y0: float, v0: float, y1: float, v1: float) -> Polynomial:
    """The cubic with these values and slopes at its ends."""
    rise = y1 - y0
    return float(v0 + v1 - 2.0 * rise), float(3.0 * rise - 2.0 * v0 - v1), float(v0), float(y0)


def _crossing(cubic: Polynomial, sign: float) -> float:
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


REFINEMENTS = 4
"""Newton steps to find an event: each brings the error down by the part that the cubic is wrong by, about 1e-3."""

CLOSE = 1e-13
"""How far from its bound a joint may be at an event, relative to what it does in a step."""


class Mechanism:
    """The arm with what the equations of motion leave out: friction, stops, and drives with a greatest speed.

        M(q) q̈ + C(q, q̇) q̇ + g(q) = τ - friction(q̇) - stops(q, q̇) + r

    r holds joints that stand still, by friction or by a stop, for as long as that can bear the load; then they stand
    exactly still. Reaching a rigid stop, a joint changes its velocity by an impulse, which acts on the others through
    M.

    Between such events the motion is smooth (:mod:`.mode`), and integrated with the full order; a step in which one
    happens is cut there: at the root of the cubic through its ends (:mod:`.event`), improved by Newton's method on the
    integrator itself. So the stops and friction only take energy out.

    Attributes:
        modes: finds out what the joints are doing.
    """

    def __init__(self, dynamics: Dynamics, joints: JointEffects, integrator: Integrator) -> None:
        """
        Args:
            dynamics: the equations of motion.
            joints: their friction, stops and velocity limits.
            integrator: takes the smooth parts of the motion over their steps.
        """
        self.modes = Modes(dynamics, joints)
        self._smooth = SmoothMotion(dynamics, joints, integrator, self.modes)
        self._dynamics = dynamics
        self._stops = joints.stops

    def advance(self, q: Array, qd: Array, effort: Array, dt: float) -> tuple[Array, Array, Mode | None]:
        """The state after a step.

        Args:
            q: position (n,) in [rad] or [m], within the rigid stops.
            qd: velocity (n,) in [rad/s] or [m/s], not into one: what :meth:`settled` or this method returned.
            effort: held over the step (n,) in [N·m] or [N].
            dt: length of the step [s].

        Returns:
            Position, velocity, and the mode that the step ended in, or None if that is for the next step to find out.
        """
        bounced, stuck = np.zeros((2, len(q)), dtype=bool)
        for _ in range(4 * len(q)):  # a joint has two events, to arrive and to leave; more in one step is chatter
            mode = self.modes.at(q, qd, effort, stuck)
            step = self._smooth.within(mode, effort)
            q1, qd1 = step(q, qd, dt)
            event = first_event(mode, q, qd, q1, qd1, dt)
            if event is None:
                return q1, qd1, None if stuck.any() else mode
            last = event
            if event.part == 0.0 and qd[event.joint] == (event.bound if event.moving else 0.0):
                stuck[event.joint] = True  # let go, and back at once: what remains of the step is too short for it
                continue
            part, q, qd = self._reach(event, step, q, qd, dt)
            if not event.moving:
                q[event.joint] = event.bound
            q, qd, hit = self._settle(q, qd, event if event.moving else None, bounced)
            bounced |= hit
            dt -= part * dt
        return *self._settle(q1, qd1, last if last.moving else None, np.ones(len(q), dtype=bool))[:2], None

    def _reach(self, event: Event, step: Step, q: Array, qd: Array, dt: float) -> tuple[float, Array, Array]:
        """When an event is, as a part of the step, and the state then."""
        part = event.part
        for _ in range(REFINEMENTS):
            q1, qd1 = step(q, qd, part * dt)
            off = (qd1 if event.moving else q1)[event.joint] - event.bound
            better = min(max(part - off / event.slope, 0.0), 1.0) if event.slope else part
            if better == part or abs(off) <= CLOSE * abs(event.slope):
                break
            part = better
        return part, q1, qd1

    def settled(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """A state put right: no joint beyond a rigid stop or moving into one."""
        return self._settle(q, qd, None, np.ones(len(q), dtype=bool))[:2]

    def _settle(self, q: Array, qd: Array, reached: Event | None, dead: Mask) -> tuple[Array, Array, Mask]:
        """The same, with the velocity that was ``reached`` exact, and bouncing but where the joints are ``dead``: what
        hits its stop twice in a step has come to rest, for the bounces of a ball are infinitely many.

        Returns:
            Position, velocity, and which joints hit their stops.
        """
        stops = self._stops
        q = np.clip(q, stops.wall_lower, stops.wall_upper)
        at_lower, at_upper = q <= stops.wall_lower, q >= stops.wall_upper
        hit = at_lower & (qd < 0.0) | at_upper & (qd > 0.0)
        if reached is None and not hit.any():
            return q, qd, hit
        least, greatest = np.where(at_upper, -np.inf, 0.0), np.where(at_lower, np.inf, 0.0)
        kept = np.zeros(len(q))  # velocities that remain where the impulse has done its work
        if hit.any():
            # One coefficient for all that hit at once: with several, Newton's law may add energy.
            kept[hit] = -np.where(dead, 0.0, stops.restitution)[hit].min() * qd[hit]
        elif reached is not None:
            # An impulse as small as the error in the time of the event: what rests is not torn loose by it.
            corrected = qd == 0.0
            corrected[reached.joint] = True
            least[corrected], greatest[corrected] = -np.inf, np.inf
            kept[reached.joint] = reached.bound
        impulse = solve_boxed_lcp(self._dynamics.mass_matrix(q), qd - kept, least, greatest)
        return q, impulse.motion + kept, hit
