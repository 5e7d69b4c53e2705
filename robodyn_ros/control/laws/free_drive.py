# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Free drive: gravity and most of the friction are compensated, so that the arm can be moved by hand.

    τ = g(q) + α (d q̇ + f tanh(q̇ / v)) + τ_ff

There is no stiffness, no damping and no reference: the gains do nothing.

Friction is compensated by the ratio α < 1 only. The rest, at least (1 - α) (d q̇ + f tanh(q̇ / v)), opposes every motion,
so that the power q̇ᵀ (τ - g - friction) is never positive: no motion sustains itself, even if the model overestimates
friction by a factor of up to 1/α. The compensation is smooth. At rest tanh is zero, and velocity noise gives little, so
that the full Coulomb friction holds the arm against errors of the modelled masses: it stays where it is released.

Source: gravity compensation as in Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control
(2009), §8.5.1, without its feedback.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.laws.base import AccelerationGains, Efforts, FrictionLaw, Reference
from robodyn_ros.robot.pose import Array

FRICTION_RATIO = 0.7  #: α [-]; safe if the real friction is at least 70 % of the modelled one.
SMOOTHING = 0.05  #: v [rad/s] or [m/s]: well above the noise of an encoder, well below the velocity of a hand.


class FreeDrive(FrictionLaw):
    """Gravity and friction compensation only: the arm can be moved by hand."""

    feedback = "effort"
    follows = False

    def acceleration_gains(self, q: Array, period: float = 0.0) -> AccelerationGains:
        """Zero: the gains are not used, and friction is compensated only in part."""
        none = np.zeros((len(q), len(q)))
        return AccelerationGains(none, none, none)

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        none = self._none
        gravity = self.dynamics.gravity(q)
        friction = FRICTION_RATIO * self._friction.against(qd, SMOOTHING)
        return Efforts(gravity, none, none, friction, none, reference.effort, gravity + friction + reference.effort)
