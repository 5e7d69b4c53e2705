"""Forces that can hold a joint, within bounds: stops only push, and dry friction has a greatest value.

Both are one problem, a linear complementarity problem with bounds: find r, lower ≤ r ≤ upper, with w⁺ = w + M⁻¹ r and

    w⁺_i = 0 where lower_i < r_i < upper_i        (held)
    w⁺_i ≥ 0 where r_i = lower_i                  (gives way, upwards)
    w⁺_i ≤ 0 where r_i = upper_i                  (gives way, downwards)

With accelerations for w, r are forces and friction gets its Coulomb bounds; with velocities, r are impulses, of which a
stop has any amount and friction none. M is positive definite, so that there is one solution; it is Gauss's principle of
least constraint, and for impulses takes away kinetic energy, 1/2 w⁺ᵀ M w⁺ ≤ 1/2 wᵀ M w.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), ch. 11 (contact and impact). Solved by Murty's
least-index principal pivoting: Cottle, Pang, Stone, The Linear Complementarity Problem (1992), ch. 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.errors import SimulationError
from robodyn_ros.robot.pose import Array

ROUNDING = 1e-10
"""What counts as a rounding error of r, relative to the greatest load."""

PIVOTS = 1000
"""More than any arm needs (each joint takes one or two); reaching it means that M is not positive definite."""


class Restrained(NamedTuple):
    """The solution; see the module."""

    force: Array  # r (n,)
    motion: Array  # w⁺ (n,), exactly zero where held
    held: NDArray[np.bool_]  # (n,)


def restrain(M: Array, w: Array, lower: Array, upper: Array) -> Restrained:
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
            return Restrained(force, motion, mask)
        first = wrong.argmax()
        held[first] = caught[first]
        r[first] = low[first] if below[first] else high[first]
    raise SimulationError(f"no forces of stops and friction were found at mass matrix {M.tolist()}")
