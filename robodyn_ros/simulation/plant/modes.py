# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Modes: how each joint moves between two events (sliding, held, at a compliant stop, beyond its velocity limit).

Within one mode the motion is smooth. The mode ends when a joint leaves the mode's domain (it reaches a stop, comes to
rest or reaches its velocity limit) or when a held joint breaks loose. :mod:`.mechanism` finds the end.

A joint is held in two cases. At rest, friction or a rigid stop holds it for as long as they can bear the load. At its
velocity limit, the drive holds its velocity with an effort between zero and the commanded effort. Beyond the limit a
drive gives no effort towards more speed, as a motor at its voltage limit.

Which joints are held is one linear complementarity problem with bounds (boxed LCP): find r, lower ≤ r ≤ upper, with
w⁺ = w + M⁻¹ r and

    w⁺_i = 0 where lower_i < r_i < upper_i        (held)
    w⁺_i ≥ 0 where r_i = lower_i                  (gives way, upwards)
    w⁺_i ≤ 0 where r_i = upper_i                  (gives way, downwards)

With accelerations for w, r are forces, and dry friction has its Coulomb bounds. With velocities for w, r are impulses;
a stop gives an impulse of any size, friction gives none. M is positive definite, so there is exactly one solution. It
is Gauss's principle of least constraint, and impulses reduce kinetic energy, 1/2 w⁺ᵀ M w⁺ ≤ 1/2 wᵀ M w.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), ch. 11 (contact and impact). Solved by Murty's least-index
principal pivoting: Cottle, Pang, Stone, The Linear Complementarity Problem (1992), ch. 4.

The forces and the held joints' motion are written in C too (``force_on`` and ``hold`` in ``motion.c``), and so are the
boxed LCP and the search for the mode (``../trial/trial.c``). A change here must be made there too;
``test_simulation_friction.py`` and ``test_simulation_sweep_trial.py`` compare them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import SimulationError
from robodyn_ros.robot.pose import Array, read_only
from robodyn_ros.simulation.integrators.base import Acceleration
from robodyn_ros.simulation.plant.external_forces import ExternalForces
from robodyn_ros.simulation.plant.joint_effects import JointEffects

ROUNDING = 1e-10
"""Rounding error of r, relative to the greatest load."""

PIVOTS = 1000
"""Most pivots; each joint takes one or two. More are needed only if M is not positive definite."""

Mask = NDArray[np.bool_]
"""True for some of the joints (n,)."""


class BoxedLCPSolution(NamedTuple):
    """The solution of a boxed LCP."""

    force: Array  # r (n,)
    motion: Array  # w⁺ (n,), exactly zero where held
    held: Mask  # (n,)


def solve_boxed_lcp(M: Array, w: Array, lower: Array, upper: Array) -> BoxedLCPSolution:
    """Solve for the forces or impulses that hold joints.

    Args:
        M: mass matrix (n, n).
        w: accelerations or velocities without these forces or impulses (n,).
        lower: least force or impulse (n,), at most 0.
        upper: greatest force or impulse (n,), at least 0; a joint with both 0 is free.

    Raises:
        SimulationError: no solution was found; then M is not positive definite.
    """
    joints = np.flatnonzero(lower < upper)
    low, high, own = lower[joints], upper[joints], w[joints]
    A = np.linalg.inv(M)[:, joints]
    B, inertia = A[joints], M.diagonal()[joints]
    held = np.ones(len(joints), dtype=bool)
    r = np.zeros(len(joints))
    rounding = ROUNDING * (1.0 + np.abs(M @ w).max())
    for _ in range(PIVOTS):
        r[held] = 0.0
        r[held] = -np.linalg.solve(B[held][:, held], (own + B @ r)[held])
        load = (own + B @ r) * inertia  # in the unit of r, to compare with its rounding error
        below = held & (r < low - rounding)
        above = held & (r > high + rounding)
        caught = ~held & (((r == low) & (load < -rounding)) | ((r == high) & (load > rounding)))
        wrong = below | above | caught
        if not wrong.any():
            motion = w + A @ r
            motion[joints[held]] = 0.0
            force, mask = np.zeros(len(w)), np.zeros(len(w), dtype=bool)
            force[joints], mask[joints] = r, held
            return BoxedLCPSolution(force, motion, mask)
        first = wrong.argmax()
        held[first] = caught[first]
        r[first] = low[first] if below[first] else high[first]
    raise SimulationError(f"no forces of stops and friction were found at mass matrix {M.tolist()}")


class Mode(NamedTuple):
    """One mode and its domain; every array is (n,)."""

    direction: Array  # in which the joint slides against friction, +1 or -1, or 0 if it does not slide
    held: Mask  # joints whose velocity stays constant
    over: Array  # +1 or -1 for a joint that is beyond its velocity limit on that side and driven further, else 0
    contact: Array  # +1 or -1 for a joint in its upper or lower compliant stop, else 0
    q_low: Array  # bounds of the domain: positions in [rad] or [m]
    q_high: Array
    v_low: Array  # and velocities in [rad/s] or [m/s]
    v_high: Array
    r_low: Array  # load that friction and rigid stops can bear in [N·m] or [N]
    r_high: Array


class Modes:
    """The modes of one arm."""

    def __init__(self, dynamics: Dynamics, joints: JointEffects, outside: ExternalForces | None = None) -> None:
        """
        Args:
            dynamics: the equations of motion.
            joints: friction, stops and velocity limits.
            outside: external forces; none if None.
        """
        self._outside = outside or ExternalForces(dynamics.robot)
        self._dynamics = dynamics
        self._friction, self._stops, self._speed = joints
        self._dry = self._friction.static > 0.0
        self._zero = read_only(np.zeros(dynamics.robot.n))

    def at(self, q: Array, qd: Array, effort: Array, stuck: Mask | None = None) -> Mode:
        """Return the mode that begins in a state.

        Args:
            q: position (n,) in [rad] or [m].
            qd: velocity (n,) in [rad/s] or [m/s].
            effort: effort of the drives (n,) in [N·m] or [N].
            stuck: joints to hold under any load (n,); none if None.

        Raises:
            SimulationError: as :func:`solve_boxed_lcp`.
        """
        speed, stops = self._speed, self._stops
        rest = qd == 0.0
        direction = np.where(self._dry, np.sign(qd), 0.0)
        pushed = np.sign(effort)
        over = np.where(pushed * qd > speed, pushed, 0.0)
        contact = self._contact(q, qd, effort, direction)
        borne = np.where(rest, self._friction.static, 0.0)
        r_low = np.where(rest & (q >= stops.wall_upper), -np.inf, -borne)
        r_high = np.where(rest & (q <= stops.wall_lower), np.inf, borne)
        low = r_low - np.where(qd == speed, np.maximum(effort, 0.0), 0.0)
        high = r_high + np.where(qd == -speed, np.maximum(-effort, 0.0), 0.0)
        if stuck is not None:
            low, high = np.where(stuck, -np.inf, low), np.where(stuck, np.inf, high)
        held = loose = np.zeros(len(q), dtype=bool)
        side = np.zeros(len(q))
        while (low < high).any():
            net = self._force(effort, direction, over, contact)
            unrestrained = self._dynamics.forward(q, qd, net(q, qd))
            force, motion, held = solve_boxed_lcp(self._dynamics.mass_matrix(q), unrestrained, low, high)
            loose, side = ~held & (force != 0.0), -np.sign(force)
            slips = loose & rest & (self._friction.static > self._friction.dry(qd))
            if not slips.any():
                break
            # A joint that breaks loose gets less friction at once. That may free other joints, or keep them held, so
            # only the fastest is freed before the problem is solved again.
            first = np.argmax(np.where(slips, np.abs(motion), -1.0))
            direction[first], low[first], high[first] = side[first], 0.0, 0.0
            held = loose = np.zeros(len(q), dtype=bool)
        over = np.where(loose & (qd == side * speed), side, over)
        direction = np.where(loose & rest & self._dry, side, direction)
        inside = contact == 0.0
        return Mode(
            np.where(held & rest, 0.0, direction),
            held,
            over,
            contact,
            np.where(inside, stops.lower, np.where(contact > 0.0, stops.upper, -np.inf)),
            np.where(inside, stops.upper, np.where(contact < 0.0, stops.lower, np.inf)),
            np.maximum(np.where(direction > 0.0, 0.0, -np.inf), self._least(pushed, over)),
            np.minimum(np.where(direction < 0.0, 0.0, np.inf), -self._least(-pushed, -over)),
            r_low,
            r_high,
        )

    def acceleration(self, mode: Mode, effort: Array) -> Acceleration:
        """Return the equation of motion in a mode.

        Args:
            mode: as :meth:`at` returns it.
            effort: effort of the drives (n,) in [N·m] or [N].
        """
        dynamics, zero = self._dynamics, self._zero
        force = self._force(effort, mode.direction, mode.over, mode.contact)
        if not mode.held.any():
            return lambda q, qd: dynamics.forward(q, qd, force(q, qd))
        free = np.flatnonzero(~mode.held)
        block = np.ix_(free, free)

        def held(q: Array, qd: Array) -> Array:
            qdd = np.zeros(len(q))
            net = force(q, qd) - dynamics.inverse(q, qd, zero)
            qdd[free] = np.linalg.solve(dynamics.mass_matrix(q)[block], net[free])
            return qdd

        return held

    def _contact(self, q: Array, qd: Array, effort: Array, direction: Array) -> Array:
        """Return :attr:`Mode.contact`. Exactly at a limit, the direction of motion decides."""
        stops = self._stops
        contact = np.where(q > stops.upper, 1.0, np.where(q < stops.lower, -1.0, 0.0))
        edge = ~stops.rigid & ((q == stops.upper) | (q == stops.lower))
        if edge.any():
            net = self._with_outside(effort + self._friction.force(qd, direction), q, qd)
            going = np.where(qd == 0.0, self._dynamics.forward(q, qd, net), qd)
            contact = np.where(edge & (q == stops.upper) & (going > 0.0), 1.0, contact)
            contact = np.where(edge & (q == stops.lower) & (going < 0.0), -1.0, contact)
        return contact

    def _least(self, pushed: Array, over: Array) -> Array:
        """The least velocity in the domain (n,); the velocity limit counts only for drives that push beyond it."""
        return np.where(over > 0.0, self._speed, np.where((pushed < 0.0) & (over == 0.0), -self._speed, -np.inf))

    def _force(self, effort: Array, direction: Array, over: Array, contact: Array) -> Callable[[Array, Array], Array]:
        """The force of drives, friction, stops and external forces, as a function of position and velocity."""
        friction, stops = self._friction, self._stops
        drive = np.where(over * effort > 0.0, 0.0, effort)
        touched = bool(contact.any())

        def force(q: Array, qd: Array) -> Array:
            net = drive + friction.force(qd, direction)
            return self._with_outside(net + stops.force(q, qd, contact) if touched else net, q, qd)

        return force

    def _with_outside(self, net: Array, q: Array, qd: Array) -> Array:
        return net + self._outside.efforts(q, qd) if self._outside.active else net
