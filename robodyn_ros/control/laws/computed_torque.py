# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Computed torque, also called inverse dynamics control.

    τ = M(q) (q̈_d + Kd ė + Kp e + Ki ∫e dt) + C(q, q̇) q̇ + g(q) + τ_friction(q̇_d) + τ_ff,   e = q_d - q

With an exact model the error obeys ë + Kd ė + Kp e + Ki ∫e dt = 0 on every joint, in every position of the arm.

Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control (2009), §8.5.2, eq. 8.57 with
its stabilising y; Lynch and Park, Modern Robotics (2017), §11.4, computed torque. Friction is fed forward at the
reference velocity (:class:`robodyn_ros.control.laws.base.FrictionCompensation`).
"""

from __future__ import annotations

from robodyn_ros.control.laws.base import SMOOTHING, Efforts, FrictionLaw, Reference
from robodyn_ros.robot.pose import Array


class ComputedTorque(FrictionLaw):
    """Feedback linearisation by the full model: the error obeys the same linear equation in every position."""

    feedback = "acceleration"

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        correction = self.correction(q, qd, reference, integral)
        gravity, coriolis, inertia, feedback = self.dynamics.terms(q, qd, reference.qdd, correction)
        friction = self._friction.against(reference.qd, SMOOTHING)
        total = gravity + coriolis + inertia + friction + feedback + reference.effort
        return Efforts(gravity, coriolis, inertia, friction, feedback, reference.effort, total)
