"""What a law gives against friction.

    τ_friction(q̇) = d q̇ + f tanh(q̇ / v)

d viscous and f Coulomb friction of the model, v the smoothing velocity. At a standstill Coulomb friction is whatever
the load asks for, up to ± f, so nothing is compensated there: a jump by sign(q̇) would shake the arm at every change of
sign, and with it the noise of every encoder.

Source: Andersson, Söderberg, Björklund, Friction models for sliding dry, boundary and mixed lubricated contacts,
Tribology International 40 (2007), the smoothed Coulomb model (tanh).
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.parameters import Parameters
from robodyn_ros.robot.pose import Array, read_only


class FrictionCompensation:
    """The friction that a model knows: its parameters where they have any, else the URDF's ``<dynamics>``.

    The parameters may change while the arm moves; they are looked at anew whenever they are others.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        """
        Args:
            dynamics: the model.
        """
        self._dynamics = dynamics
        self._none = read_only(np.zeros(dynamics.robot.n))
        self._seen: Parameters | None = None
        self._look()

    @property
    def viscous(self) -> Array:
        """(n,) in [N·m·s/rad] or [N·s/m]."""
        self._look()
        return self._viscous

    @property
    def coulomb(self) -> Array:
        """(n,) in [N·m] or [N]."""
        self._look()
        return self._coulomb

    def against(self, qd: Array, smoothing: float) -> Array:
        """The effort that overcomes it at velocities (n,), with a smoothing velocity in [rad/s] or [m/s]."""
        self._look()
        if not self._known:
            return self._none
        effort: Array = self._viscous * qd + self._coulomb * np.tanh(qd / smoothing)
        return effort

    def _look(self) -> None:
        robot, parameters = self._dynamics.robot, self._dynamics.parameters
        if parameters is self._seen:
            return
        self._seen = parameters
        self._viscous = parameters.viscous if parameters.viscous.any() else robot.damping
        self._coulomb = parameters.coulomb if parameters.coulomb.any() else robot.friction
        self._known = bool(self._viscous.any() or self._coulomb.any())
