"""Free drive: the arm weighs nothing and can be led by hand.

    τ = g(q) + α (d q̇ + f tanh(q̇ / v)) + τ_ff

No stiffness, no damping, and no reference: the gains do nothing. Friction is compensated by the share α < 1 and
smoothly, both for the same reason. What is left of friction, (1 - α) (d q̇ + f tanh(q̇ / v)) and more, opposes every
motion, so that the power q̇ᵀ (τ - g - friction) is never positive: no motion feeds itself, even if the model knows
more friction than there is by up to 1/α. Full compensation would leave none, and an error of a hair would let the arm
run away. At rest tanh gives nothing and noise of the velocity gives little, so that all of the Coulomb friction still
holds the arm against errors of its masses: it stays where it is left.

Source: gravity compensation as in Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control
(2009), §8.5.1, without its feedback.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.laws.friction_compensation import FrictionCompensation
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array

SHARE = 0.7
"""α, the share of the known friction that is compensated [-]: right as long as there is 70 % of the friction known."""

SMOOTHING = 0.05
"""v, the velocity at which three quarters of that share are reached [rad/s] or [m/s]: well above the noise of a
velocity that comes from an encoder, well below that of a hand."""


class FreeDrive(Controller):
    """Gravity and friction compensation only: the arm can be led by hand."""

    feedback = "effort"
    follows = False

    def __init__(self, dynamics: Dynamics, kp: ArrayLike, kd: ArrayLike, ki: ArrayLike = 0.0) -> None:
        """See :class:`Controller`."""
        super().__init__(dynamics, kp, kd, ki)
        self._friction = FrictionCompensation(dynamics)

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """Free drive: the arm weighs nothing and can be led by hand.

            τ = g(q) + α (d q̇ + f tanh(q̇ / v)) + τ_ff

        No stiffness, no damping, and no reference: the gains do nothing. Friction is compensated by the share α < 1 and
        smoothly, both for the same reason. What is left of friction, (1 - α) (d q̇ + f tanh(q̇ / v)) and more, opposes
        every
        motion, so that the power q̇ᵀ (τ - g - friction) is never positive: no motion feeds itself, even if the model
        knows
        more friction than there is by up to 1/α. Full compensation would leave none, and an error of a hair would let
        the arm
        run away. At rest tanh gives nothing and noise of the velocity gives little, so that all of the Coulomb friction
        still holds the arm against errors of its masses: it stays where it is left.

        Source: gravity compensation as in Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and
        Control (2009), §8.5.1, without its feedback.
        """
        none = self._none
        gravity = self.dynamics.gravity(q)
        friction = SHARE * self._friction.against(qd, SMOOTHING)
        return Efforts(gravity, none, none, friction, none, reference.effort, gravity + friction + reference.effort)
