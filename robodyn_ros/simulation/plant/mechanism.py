# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""One step of the arm with friction, stops and velocity limits, cut at the events in it.

    M(q) q̈ + C(q, q̇) q̇ + g(q) = τ - friction(q̇) - stops(q, q̇) + outside(q, q̇) + r

r holds joints at rest, by friction or by a stop, for as long as these can bear the load; a held joint stands exactly
still. A joint that reaches a rigid stop changes its velocity by an impulse, which acts on the other joints through M.

Between two events the motion is smooth (:mod:`.modes`) and the integrator keeps its full order.
:meth:`Mechanism.advance` makes a step:

1. Find the mode of the state (:class:`.modes.Modes`).
2. Integrate in that mode to the end of the step (:class:`.compiled_motion.SmoothMotion`).
3. Find the first event: the first joint that leaves the mode's domain, by the root of the cubic through both ends.
   Without an event the step is done.
4. Refine its time by Newton's method on the integrator itself, or by regula falsi where that does not converge, and go
   to the state at that time.
5. Apply the impulses of rigid stops, and continue at 1 with the rest of the step.

So stops and friction only dissipate energy. ``../trial/trial.c`` has the same step in C, where function names are those
of this module; a change here must be made there too. ``test_simulation_sweep_trial.py`` compares them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.plant.compiled_motion import SmoothMotion, Step
from robodyn_ros.simulation.plant.external_forces import ExternalForces
from robodyn_ros.simulation.plant.joint_effects import JointEffects
from robodyn_ros.simulation.plant.modes import Mask, Mode, Modes, solve_boxed_lcp

BISECTIONS = 52
"""Bisections to find the root of a cubic in a step: the binary digits of a float64."""

REFINEMENTS = 4
"""Newton steps to find an event. Each reduces the error by the factor of the cubic's relative error, about 1e-3."""

BRACKETINGS = 60
"""Most steps of regula falsi after that, for a stiff motion, which no cubic approximates."""

CLOSE = 1e-13
"""Tolerance of a joint's distance to its bound at an event, relative to its motion in the step."""

Polynomial = tuple[float, float, float, float]
"""Coefficients of a cubic over [0, 1], highest power first."""


class Mechanism:
    """An arm with friction, stops, and drives that have a velocity limit.

    Attributes:
        modes: the modes of its joints.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        joints: JointEffects,
        integrator: Integrator,
        outside: ExternalForces | None = None,
    ) -> None:
        """
        Args:
            dynamics: the equations of motion.
            joints: friction, stops and velocity limits.
            integrator: integrates the smooth parts of the motion.
            outside: external forces; none if None.
        """
        self.modes = Modes(dynamics, joints, outside)
        self._smooth = SmoothMotion(dynamics, joints, integrator, self.modes, outside)
        self._dynamics = dynamics
        self._stops = joints.stops

    def advance(self, q: Array, qd: Array, effort: Array, dt: float) -> tuple[Array, Array, Mode | None]:
        """Make a step.

        Args:
            q: position (n,) in [rad] or [m], within the rigid stops.
            qd: velocity (n,) in [rad/s] or [m/s], not into a rigid stop, as :meth:`settled` or this method returned it.
            effort: effort of the drives, constant over the step (n,) in [N·m] or [N].
            dt: length of the step [s].

        Returns:
            Position and velocity after the step, and the mode at its end, or None if the next step has to find it.

        Raises:
            SimulationError: an equation was not solved.
        """
        bounced, stuck = np.zeros((2, len(q)), dtype=bool)
        for _ in range(4 * len(q)):  # a joint has two events, to arrive and to leave; more in one step is chattering
            mode = self.modes.at(q, qd, effort, stuck)
            step = self._smooth.within(mode, effort)
            q1, qd1 = step(q, qd, dt)
            event = first_event(mode, q, qd, q1, qd1, dt)
            if event is None:
                return q1, qd1, None if stuck.any() else mode
            last = event
            if event.part == 0.0 and qd[event.joint] == (event.bound if event.moving else 0.0):
                stuck[event.joint] = True  # it would leave and return at once: too short for the rest of the step
                continue
            end = (qd1 if event.moving else q1)[event.joint] - event.bound
            part, q, qd = self._reach(event, step, q, qd, dt, end)
            if not event.moving:
                q[event.joint] = event.bound
            q, qd, hit = self._settle(q, qd, event if event.moving else None, bounced)
            bounced |= hit
            dt -= part * dt
        return *self._settle(q1, qd1, last if last.moving else None, np.ones(len(q), dtype=bool))[:2], None

    def _reach(
        self, event: Event, step: Step, q: Array, qd: Array, dt: float, after: float
    ) -> tuple[float, Array, Array]:
        """Refine the time of an event, as a fraction of the step; return it and the state at that time.

        ``after`` is how far the joint is beyond the bound at the end of the step. Source of regula falsi with halved
        values: Dowell, Jarratt, A modified regula falsi method (1971).
        """
        part, low, high, last = event.part, 0.0, 1.0, 0.0
        before, side = (qd if event.moving else q)[event.joint] - event.bound, np.sign(after)
        for count in range(REFINEMENTS + BRACKETINGS):
            q1, qd1 = step(q, qd, part * dt)
            off = (qd1 if event.moving else q1)[event.joint] - event.bound
            if abs(off) <= CLOSE * abs(event.slope):
                break
            better = part - off / event.slope if count < REFINEMENTS and event.slope else 0.0
            if off * side > 0.0:
                high, after, before = part, off, before * (0.5 if last > 0.0 else 1.0)
            else:
                low, before, after = part, off, after * (0.5 if last < 0.0 else 1.0)
            if low < better < high:
                last = 0.0
            else:
                last = side * off
                share = before / (before - after) if before * after < 0.0 else 0.5
                better = low + (high - low) * share
            if better in (low, high):
                break
            part = better
        return part, q1, qd1

    def settled(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the nearest valid state: no joint is beyond a rigid stop or moves into one."""
        return self._settle(q, qd, None, np.ones(len(q), dtype=bool))[:2]

    def _settle(self, q: Array, qd: Array, reached: Event | None, dead: Mask) -> tuple[Array, Array, Mask]:
        """Apply the impulses of rigid stops.

        Args:
            q: position (n,) in [rad] or [m].
            qd: velocity (n,) in [rad/s] or [m/s].
            reached: the event at a velocity bound, which the velocity then has exactly; None if there is none.
            dead: joints that do not bounce (n,). A joint that hits its stop twice in a step comes to rest, because a
                bouncing ball has infinitely many impacts in finite time.

        Returns:
            Position, velocity, and the joints that hit their stops.
        """
        stops = self._stops
        q = np.clip(q, stops.wall_lower, stops.wall_upper)
        at_lower, at_upper = q <= stops.wall_lower, q >= stops.wall_upper
        hit = at_lower & (qd < 0.0) | at_upper & (qd > 0.0)
        if reached is None and not hit.any():
            return q, qd, hit
        least, greatest = np.where(at_upper, -np.inf, 0.0), np.where(at_lower, np.inf, 0.0)
        kept = np.zeros(len(q))  # velocities after the impulse of the joints that it acts on
        if hit.any():
            # All joints that hit at once take the least coefficient: with several, Newton's law may add energy.
            kept[hit] = -np.where(dead, 0.0, stops.restitution)[hit].min() * qd[hit]
        elif reached is not None:
            # This impulse is as small as the error in the time of the event; joints at rest stay at rest.
            corrected = qd == 0.0
            corrected[reached.joint] = True
            least[corrected], greatest[corrected] = -np.inf, np.inf
            kept[reached.joint] = reached.bound
        impulse = solve_boxed_lcp(self._dynamics.mass_matrix(q), qd - kept, least, greatest)
        return q, impulse.motion + kept, hit


class Event(NamedTuple):
    """A joint leaves the mode's domain."""

    part: float  # time, as a fraction of the step
    joint: int
    bound: float  # position [rad] or [m], or velocity [rad/s] or [m/s], that the joint passes
    moving: bool  # True if that is a velocity
    slope: float  # change of that quantity, per step


def first_event(mode: Mode, q: Array, qd: Array, q1: Array, qd1: Array, dt: float) -> Event | None:
    """Return the first event in a step, or None if no joint leaves the mode's domain.

    Args:
        mode: the mode at the beginning of the step.
        q: position at the beginning (n,) in [rad] or [m].
        qd: velocity at the beginning (n,) in [rad/s] or [m/s].
        q1: position at the end.
        qd1: velocity at the end.
        dt: length of the step [s].
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
    """The cubic over [0, 1] with these values and slopes at its ends."""
    rise = y1 - y0
    return float(v0 + v1 - 2.0 * rise), float(3.0 * rise - 2.0 * v0 - v1), float(v0), float(y0)


def _crossing(cubic: Polynomial, sign: float) -> float:
    """The last point in [0, 1) before ``sign`` times the cubic turns positive; at 0 it is not positive."""
    a, b, c, d = cubic
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if sign * (((a * middle + b) * middle + c) * middle + d) > 0.0:
            high = middle
        else:
            low = middle
    return low
