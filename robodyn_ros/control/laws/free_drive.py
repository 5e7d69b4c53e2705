# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Free drive: the arm seems to weigh nothing and can be moved by hand.

    τ = g(q) + α (d q̇ + f tanh(q̇ / v)) + τ_ff

There is no stiffness, no damping and no reference: the gains do nothing.

Friction is compensated by the ratio α < 1 only. The rest of the friction, at least (1 - α) (d q̇ + f tanh(q̇ / v)),
opposes every motion, so that the power q̇ᵀ (τ - g - friction) is never positive: no motion feeds itself, even if the
model has more friction than there is, by a factor of up to 1/α. Full compensation would leave no friction, and a slight
error would let the arm run away.

Friction is compensated smoothly. At rest tanh gives nothing, and noise of the velocity gives little, so that all of the
Coulomb friction still holds the arm against errors of its masses: it stays where it is left.

Source: gravity compensation as in Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control
(2009), §8.5.1, without its feedback.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.laws.base import AccelerationGains, Controller, Efforts, FrictionCompensation, Reference
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array

FRICTION_RATIO = 0.7
"""α, the ratio of the known friction that is compensated [-]; right as long as there is 70 % of the known friction."""

SMOOTHING = 0.05
"""v, the velocity at which three quarters of the Coulomb part are reached [rad/s] or [m/s]: well above the noise of a
velocity that comes from an encoder, well below that of a hand."""


class FreeDrive(Controller):
    """Gravity and friction compensation only: the arm can be moved by hand."""

    feedback = "effort"
    follows = False

    def __init__(self, dynamics: Dynamics, kp: ArrayLike, kd: ArrayLike, ki: ArrayLike = 0.0) -> None:
        """The arguments are those of :class:`Controller`."""
        super().__init__(dynamics, kp, kd, ki)
        self._friction = FrictionCompensation(dynamics)

    def acceleration_gains(self, q: Array, period: float = 0.0) -> AccelerationGains:
        """None: the gains are not used, and friction is compensated less than it is."""
        none = np.zeros((len(q), len(q)))
        return AccelerationGains(none, none, none)

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        none = self._none
        gravity = self.dynamics.gravity(q)
        friction = FRICTION_RATIO * self._friction.against(qd, SMOOTHING)
        return Efforts(gravity, none, none, friction, none, reference.effort, gravity + friction + reference.effort)
