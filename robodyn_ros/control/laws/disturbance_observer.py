# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Computed torque with a disturbance observer: efforts that the model does not explain are observed and compensated.

    r = K (p - ∫ (τ + C(q, q̇)ᵀ q̇ - g(q) - τ_friction + r) dt),   p = M(q) q̇,   so that   ṙ = K (d - r)
    τ = computed torque - r

d are the efforts that are not in the model: a payload, errors of masses and friction, a person who pushes. r follows d
with the time constant 1/K, without accelerations and without M⁻¹. The observer needs no excitation, and it does not
learn: a disturbance that recurs is observed anew, and one that lasts shorter than 1/K is not compensated.

The observer uses the friction that the law feeds forward, and the effort that was sent, so that it does not wind up.
The compensation is bounded by a ratio of the effort limits.

Source: De Luca and Mattone, Actuator failure detection and isolation using generalized momenta, ICRA 2003; De Luca,
Albu-Schäffer, Haddadin and Hirzinger, Collision detection and safe reaction with the DLR-III lightweight manipulator
arm, IROS 2006.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.laws.base import SMOOTHING, AccelerationGains, Controller, Efforts, Reference
from robodyn_ros.control.laws.computed_torque import ComputedTorque
from robodyn_ros.control.momentum_observer import momentum_residual
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import CheckedSettings, setting


@dataclass(frozen=True)
class DisturbanceObserverSettings(CheckedSettings):
    """Settings of the disturbance observer."""

    gain: float = setting(15.0, "gain K of the observer: the inverse of its time constant", "1/s", 0.0, 1000.0)
    limit: float = setting(0.3, "greatest disturbance that is compensated, as ratio of the effort limit", "-", 0.0, 1.0)


class DisturbanceObserver(ComputedTorque):
    """Computed torque, minus an estimate of the efforts that are not in the model.

    It is ``disturbance``, r (n,) in [N·m] or [N].
    """

    settings = DisturbanceObserverSettings
    quickness = "gains.<joint>.natural_frequency, or disturbance_observer.gain"
    remembers = ("disturbance", "_momentum", "_drift", "_lost", "_observes")

    def use_settings(self, config: DisturbanceObserverSettings) -> None:
        """See :meth:`Controller.use_settings`."""
        super().use_settings(config)
        self.config = config
        self._greatest = np.where(config.limit > 0.0, self.dynamics.robot.effort_limit, 0.0) * config.limit
        self.forget()

    def forget(self) -> None:
        """Set the disturbance to zero."""
        self.disturbance = self._momentum = self._drift = self._lost = self._none  # p, Cᵀ q̇ - g and τ_friction
        self._observes = 0.0  # 1 once a period has begun

    def acceleration_gains(self, q: Array, period: float = 0.0) -> AccelerationGains:
        """Those of computed torque, and the observer's: it acts as an implicit integral of their feedback."""
        gains, rate = super().acceleration_gains(q, period), self.config.gain / (1.0 + self.config.gain * period)
        return gains.plus_integral_action(rate) if self.config.limit > 0.0 else gains

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        efforts = super().compute(q, qd, reference, integral)
        compensated = np.minimum(np.maximum(self.disturbance, -self._greatest), self._greatest)
        return efforts._replace(feedback=efforts.feedback - compensated, total=efforts.total - compensated)

    def advance(self, dt: float, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:
        """Observe a period by the trapezoidal rule, implicit in r and so stable with every gain."""
        mass_matrix, coriolis_matrix = self.dynamics.mass_matrix(q), self.dynamics.coriolis_matrix(q, qd)
        momentum = mass_matrix @ qd
        drift = coriolis_matrix.T @ qd - self.dynamics.gravity(q)
        friction = self._friction.against(reference.qd, SMOOTHING)
        observed = momentum_residual(
            self.disturbance, dt, momentum - self._momentum, self._drift, drift, sent - self._lost, self.config.gain
        )
        kept = np.where(self._observes > 0.0, observed, self.disturbance)
        self.disturbance = np.where(dt > 0.0, kept, 0.0)
        self._momentum, self._drift, self._lost, self._observes = momentum, drift, friction, 1.0

    def resume(self, before: Controller) -> None:
        """Take over the disturbance of another observer; a new period begins, because the model may differ."""
        if isinstance(before, DisturbanceObserver) and before.disturbance.shape == self.disturbance.shape:
            self.disturbance = before.disturbance.copy()

    def estimates(self) -> dict[str, float]:
        """The disturbance of each joint."""
        joints = self.dynamics.robot.joints
        return {
            f"disturbance of {joint.name} [{joint.effort_unit}]": value
            for joint, value in zip(joints, self.disturbance.tolist(), strict=True)
        }
