"""What the joints are doing between two events: sliding, held, at a compliant stop, faster than their drives push.

In one mode the motion is smooth, and stays so until a joint leaves the mode's domain (reaches a stop, comes to rest,
reaches its velocity limit) or a held joint breaks loose.

Held are joints at rest, by friction or by a rigid stop, as long as these can bear the load; and joints at their
velocity limit, by a drive that gives just the effort that keeps them there, as long as that is between nothing and the
effort that was asked for. Beyond the limit a drive gives no effort towards more speed: so it is with a motor whose
voltage is used up. All of it is one problem (:mod:`.restraint`).
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
from robodyn_ros.simulation.plant.joint_effects import JointEffects

# Forces that can hold a joint, within bounds: stops only push, and dry friction has a greatest value.
#
# Both are one problem, a linear complementarity problem with bounds: find r, lower ≤ r ≤ upper, with w⁺ = w + M⁻¹ r and
#
#     w⁺_i = 0 where lower_i < r_i < upper_i        (held)
#     w⁺_i ≥ 0 where r_i = lower_i                  (gives way, upwards)
#     w⁺_i ≤ 0 where r_i = upper_i                  (gives way, downwards)
#
# With accelerations for w, r are forces and friction gets its Coulomb bounds; with velocities, r are impulses, of which
# a
# stop has any amount and friction none. M is positive definite, so that there is one solution; it is Gauss's principle
# of least constraint, and for impulses takes away kinetic energy, 1/2 w⁺ᵀ M w⁺ ≤ 1/2 wᵀ M w.
#
# Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), ch. 11 (contact and impact). Solved by Murty's
# least-index principal pivoting: Cottle, Pang, Stone, The Linear Complementarity Problem (1992), ch. 4.

ROUNDING = 1e-10
"""What counts as a rounding error of r, relative to the greatest load."""

PIVOTS = 1000
"""More than any arm needs (each joint takes one or two); reaching it means that M is not positive definite."""


class BoxedLCPSolution(NamedTuple):
    """The solution; see the module."""

    force: Array  # r (n,)
    motion: Array  # w⁺ (n,), exactly zero where held
    held: NDArray[np.bool_]  # (n,)


def solve_boxed_lcp(M: Array, w: Array, lower: Array, upper: Array) -> BoxedLCPSolution:
    """Solve for the restraining forces or impulses.

    Args:
        M: mass matrix (n, n).
        w: accelerations or velocities without them (n,).
        lower: least force or impulse (n,), at most 0.
        upper: greatest (n,), at least 0; a joint with both 0 is free.

    Raises:
        SimulationError: no solution, which is so only if M is not positive definite.
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


Mask = NDArray[np.bool_]
"""Which of the joints (n,)."""


class Mode(NamedTuple):
    """See the module; every array is (n,)."""

    direction: Array  # in which the joint slides against friction, +1 or -1, or 0 if it does not
    held: Mask  # the joints whose velocity stays what it is
    over: Array  # +1 or -1 for a joint beyond its velocity limit on that side and driven further, else 0
    contact: Array  # +1 or -1 for a joint in a compliant stop, upper or lower, 0 in none
    q_low: Array  # the domain
    q_high: Array
    v_low: Array
    v_high: Array
    r_low: Array  # what friction and rigid stops can bear
    r_high: Array


class Modes:
    """The modes of one arm."""

    def __init__(self, dynamics: Dynamics, joints: JointEffects) -> None:
        """
        Args:
            dynamics: the equations of motion.
            joints: their friction, stops and velocity limits.
        """
        self._dynamics = dynamics
        self._friction, self._stops, self._speed = joints
        self._rough = self._friction.static > 0.0
        self._zero = read_only(np.zeros(dynamics.robot.n))

    def at(self, q: Array, qd: Array, effort: Array, stuck: Mask | None = None) -> Mode:
        """The mode that begins in a state.

        Args:
            q: position (n,) in [rad] or [m].
            qd: velocity (n,) in [rad/s] or [m/s].
            effort: of the drives, (n,) in [N·m] or [N].
            stuck: joints that are held whatever the load, (n,).
        """
        speed, stops = self._speed, self._stops
        rest = qd == 0.0
        direction = np.where(self._rough, np.sign(qd), 0.0)
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
            # What breaks loose is held by less at once, which may set others loose, or spare them: one at a time.
            first = np.argmax(np.where(slips, np.abs(motion), -1.0))
            direction[first], low[first], high[first] = side[first], 0.0, 0.0
            held = loose = np.zeros(len(q), dtype=bool)
        over = np.where(loose & (qd == side * speed), side, over)
        direction = np.where(loose & rest & self._rough, side, direction)
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
        """The equation of motion in a mode.

        Args:
            mode: see :meth:`at`.
            effort: of the drives, (n,) in [N·m] or [N].
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
        """Which compliant stops are touched. At the limit itself it depends on where the joint is going."""
        stops = self._stops
        contact = np.where(q > stops.upper, 1.0, np.where(q < stops.lower, -1.0, 0.0))
        edge = ~stops.rigid & ((q == stops.upper) | (q == stops.lower))
        if edge.any():
            net = effort + self._friction.force(qd, direction)
            going = np.where(qd == 0.0, self._dynamics.forward(q, qd, net), qd)
            contact = np.where(edge & (q == stops.upper) & (going > 0.0), 1.0, contact)
            contact = np.where(edge & (q == stops.lower) & (going < 0.0), -1.0, contact)
        return contact

    def _least(self, pushed: Array, over: Array) -> Array:
        """The least velocity on this side of the velocity limit, which binds only those who push beyond it, (n,)."""
        return np.where(over > 0.0, self._speed, np.where((pushed < 0.0) & (over == 0.0), -self._speed, -np.inf))

    def _force(self, effort: Array, direction: Array, over: Array, contact: Array) -> Callable[[Array, Array], Array]:
        """What acts on the joints as a function of position and velocity."""
        friction, stops = self._friction, self._stops
        drive = np.where(over * effort > 0.0, 0.0, effort)
        touched = bool(contact.any())

        def force(q: Array, qd: Array) -> Array:
            net = drive + friction.force(qd, direction)
            return net + stops.force(q, qd, contact) if touched else net

        return force
