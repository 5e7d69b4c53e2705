# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Proportional-derivative feedback, without a model.

    τ = Kp e + Kd ė + Ki ∫e dt + τ_ff,   e = q_d - q

Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control (2009), §8.5.1, eq. 8.51
without its gravity term; Lynch and Park, Modern Robotics (2017), §11.4.2, PID.
"""

from __future__ import annotations

from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.robot.pose import Array


class PD(Controller):
    """Stiffness and damping about the reference. Without integral action, a load causes a steady-state error."""

    feedback = "effort"

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        none = self._none
        feedback = self.correction(q, qd, reference, integral)
        return Efforts(none, none, none, none, feedback, reference.effort, feedback + reference.effort)
