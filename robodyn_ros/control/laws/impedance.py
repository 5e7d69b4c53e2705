# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Joint impedance: under external forces the arm behaves as a spring and a damper around the reference.

    τ = M(q) q̈_d + C(q, q̇) q̇_d + g(q) + K e + D ė + Ki ∫e dt + τ_friction(q̇_d) + τ_ff,   e = q_d - q

K [N·m/rad, N/m] and D [N·m·s/rad, N·s/m] are the stiffness and damping at the joints. The inertia of the arm is
left as it is (no inertia shaping, which would need a measurement of the contact force). With an exact model and Ki = 0

    M(q) ë + (C(q, q̇) + D) ė + K e = - τ_external

and because Ṁ - 2 C is skew-symmetric, the energy ½ ėᵀ M ė + ½ eᵀ K e falls at the rate ėᵀ D ė: the arm is passive in
every contact. With Ki > 0 the compliance vanishes in the long run, so leave Ki at zero unless you want that.

Source: Ott, Cartesian Impedance Control of Redundant and Flexible-Joint Robots (2008), chapter 3, in joint space; the
law is the "PD+" of Paden and Panja, Globally asymptotically stable 'PD+' controller for robot manipulators,
International Journal of Control 47 (1988).
"""

from __future__ import annotations

from robodyn_ros.control.laws.base import SMOOTHING, Efforts, FrictionLaw, Reference
from robodyn_ros.robot.pose import Array


class Impedance(FrictionLaw):
    """A spring and a damper around the reference, with model-based compensation of gravity, inertia and friction."""

    feedback = "effort"

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        dynamics = self.dynamics
        gravity = dynamics.gravity(q)
        coriolis = dynamics.coriolis_matrix(q, qd) @ reference.qd
        inertia = dynamics.mass_matrix(q) @ reference.qdd
        friction = self._friction.against(reference.qd, SMOOTHING)
        feedback = self.correction(q, qd, reference, integral)
        total = gravity + coriolis + inertia + friction + feedback + reference.effort
        return Efforts(gravity, coriolis, inertia, friction, feedback, reference.effort, total)
