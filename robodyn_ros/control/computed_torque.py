"""Computed torque, also called inverse dynamics control.

    τ = M(q) (q̈_d + Kd ė + Kp e) + C(q, q̇) q̇ + g(q) + τ_friction(q̇_d) + τ_ff,   e = q_d - q

With an exact model the error obeys ë + Kd ė + Kp e = 0 on every joint, wherever the arm is.

Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control (2009), §8.5.2, eq. 8.57 with
its stabilising y; Lynch and Park, Modern Robotics (2017), §11.4, computed torque without the integral. The friction of
the URDF's ``<dynamics>`` is fed forward at the reference velocity, whose sign does not chatter: d q̇_d + f sign(q̇_d).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.base import Controller, Efforts, Reference
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array


class ComputedTorque(Controller):
    """Feedback linearisation by the whole model."""

    feedback = "acceleration"

    def __init__(self, dynamics: Dynamics, kp: ArrayLike, kd: ArrayLike) -> None:
        """See :class:`Controller`."""
        super().__init__(dynamics, kp, kd)
        robot = dynamics.robot
        self._has_friction = bool(robot.damping.any() or robot.friction.any())

    def compute(self, q: Array, qd: Array, reference: Reference) -> Efforts:
        """See the module."""
        mass_matrix = self.dynamics.mass_matrix(q)
        gravity = self.dynamics.gravity(q)
        coriolis = self.dynamics.inverse(q, qd, self._none) - gravity
        inertia = mass_matrix @ reference.qdd
        feedback = mass_matrix @ (self.kp * (reference.q - q) + self.kd * (reference.qd - qd))
        friction = self._friction(reference.qd) if self._has_friction else self._none
        total = gravity + coriolis + inertia + friction + feedback + reference.effort
        return Efforts(gravity, coriolis, inertia, friction, feedback, reference.effort, total)

    def _friction(self, qd: Array) -> Array:
        robot = self.dynamics.robot
        return robot.damping * qd + robot.friction * np.sign(qd)
