# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Proportional-derivative feedback with gravity compensation.

    τ = Kp e + Kd ė + Ki ∫e dt + g(q) + τ_ff,   e = q_d - q

Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control (2009), §8.5.1, eq. 8.51;
Lynch and Park, Modern Robotics (2017), §11.4.2. Globally asymptotically stable about a constant reference
without the integral, locally with it.
"""

from __future__ import annotations

from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.robot.pose import Array


class GravityCompensation(Controller):
    """PD feedback plus the model's gravity effort at the arm's position, so that the arm does not sag."""

    feedback = "effort"

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        none = self._none
        gravity = self.dynamics.gravity(q)
        feedback = self.correction(q, qd, reference, integral)
        return Efforts(gravity, none, none, none, feedback, reference.effort, gravity + feedback + reference.effort)
