"""Proportional-derivative feedback, without a model.

    τ = Kp e + Kd ė + τ_ff,   e = q_d - q

Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control (2009), §8.5.1, eq. 8.51
without its gravity term.
"""

from __future__ import annotations

from robodyn_ros.control.base import Controller, Efforts, Reference
from robodyn_ros.robot.pose import Array


class PD(Controller):
    """Stiffness and damping about the reference. What the load needs shows up as a lasting error."""

    feedback = "effort"

    def compute(self, q: Array, qd: Array, reference: Reference) -> Efforts:
        """See the module."""
        none = self._none
        feedback = self.kp * (reference.q - q) + self.kd * (reference.qd - qd)
        return Efforts(none, none, none, none, feedback, reference.effort, feedback + reference.effort)
