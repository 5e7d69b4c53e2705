"""Computed torque with a disturbance observer: what the model does not explain is observed, and taken away.

    r = K (p - ∫ (τ + C(q, q̇)ᵀ q̇ - g(q) - τ_friction + r) dt),   p = M(q) q̇,   so that   ṙ = K (d - r)
    τ = computed torque - r

p is the generalised momentum, whose derivative is τ + Cᵀ q̇ - g - τ_friction + d whatever the arm does; d are efforts
that the model does not know of: a payload, wrong masses, other friction, somebody who pushes. So r follows d with the
time constant 1/K, without accelerations and without M⁻¹. It learns nothing: a disturbance that comes again is observed
again, and what comes and goes within 1/K stays. In turn it needs no motion to learn from.

The observer knows the friction that the law feeds forward. Where an effort was limited it is what was sent that counts,
so nothing winds up. What is taken away is bounded, as part of the effort limits.

Source: De Luca and Mattone, Actuator failure detection and isolation using generalized momenta, ICRA 2003; De Luca,
Albu-Schäffer, Haddadin and Hirzinger, Collision detection and safe reaction with the DLR-III lightweight manipulator
arm, IROS 2006.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.control.laws.base import Controller, Efforts, Reference
from robodyn_ros.control.laws.computed_torque import SMOOTHING, ComputedTorque
from robodyn_ros.control.laws.friction_compensation import FrictionCompensation
from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array
from robodyn_ros.settings import check_settings, setting


@dataclass(frozen=True)
class DisturbanceObserverSettings:
    """Settings of the law; each field's metadata say what it is."""

    gain: float = setting(15.0, "gain K of the observer: the inverse of its time constant", "1/s", 0.0, 1000.0)
    limit: float = setting(0.3, "greatest disturbance that is taken away, as part of the effort limit", "-", 0.0, 1.0)

    def __post_init__(self) -> None:
        check_settings(self)


class DisturbanceObserver(ComputedTorque):
    """Computed torque, less what an observer of the momentum finds beside what the model knows.

    Attributes:
        disturbance: r (n,), what acts on the joints beside what the model knows, in [N·m] or [N].
    """

    settings = DisturbanceObserverSettings
    disturbance: Array
    _before: tuple[Array, Array, Array] | None  # momentum, what drives it of itself, and friction, a period ago

    def __init__(
        self,
        dynamics: Dynamics,
        kp: ArrayLike,
        kd: ArrayLike,
        ki: ArrayLike = 0.0,
        *,
        config: DisturbanceObserverSettings | None = None,
    ) -> None:
        """See :class:`Controller`."""
        super().__init__(dynamics, kp, kd, ki)
        self.config = config or DisturbanceObserverSettings()
        self._known = FrictionCompensation(dynamics)
        limits = dynamics.robot.effort_limit
        self._greatest = np.where(self.config.limit > 0.0, limits, 0.0) * self.config.limit
        self.forget()

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """Computed torque with a disturbance observer: what the model does not explain is observed, and taken away.

            r = K (p - ∫ (τ + C(q, q̇)ᵀ q̇ - g(q) - τ_friction + r) dt),   p = M(q) q̇,   so that   ṙ = K (d - r)
            τ = computed torque - r

        p is the generalised momentum, whose derivative is τ + Cᵀ q̇ - g - τ_friction + d whatever the arm does; d are
        efforts
        that the model does not know of: a payload, wrong masses, other friction, somebody who pushes. So r follows d
        with the
        time constant 1/K, without accelerations and without M⁻¹. It learns nothing: a disturbance that comes again is
        observed again, and what comes and goes within 1/K stays. In turn it needs no motion to learn from.

        The observer knows the friction that the law feeds forward. Where an effort was limited it is what was sent that
        counts, so nothing winds up. What is taken away is bounded, as part of the effort limits.

        Source: De Luca and Mattone, Actuator failure detection and isolation using generalized momenta, ICRA 2003; De
        Luca, Albu-Schäffer, Haddadin and Hirzinger, Collision detection and safe reaction with the DLR-III lightweight
        manipulator arm, IROS 2006.
        """
        efforts = super().compute(q, qd, reference, integral)
        taken = np.minimum(np.maximum(self.disturbance, -self._greatest), self._greatest)
        return efforts._replace(feedback=efforts.feedback - taken, total=efforts.total - taken)

    def advance(self, dt: float, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:
        """Observe a period, by the trapezoidal rule; implicit in r, so that no gain is too great for the period."""
        mass_matrix, coriolis_matrix = self.dynamics.mass_matrix(q), self.dynamics.coriolis_matrix(q, qd)
        momentum = mass_matrix @ qd
        drift = coriolis_matrix.T @ qd - self.dynamics.gravity(q)
        friction = self._known.against(reference.qd, SMOOTHING)
        if dt > 0.0 and self._before is not None:
            before, drift_before, friction_before = self._before
            explained = dt * (sent + (drift + drift_before) / 2.0 - friction_before)
            gain = self.config.gain
            self.disturbance = (self.disturbance + gain * (momentum - before - explained)) / (1.0 + gain * dt)
        elif dt <= 0.0:
            self.disturbance = self._none
        self._before = momentum, drift, friction

    def resume(self, before: Controller) -> None:
        """Take over what another one observes; by which model, may have changed, so a new period begins."""
        if isinstance(before, DisturbanceObserver) and before.disturbance.shape == self.disturbance.shape:
            self.disturbance = before.disturbance

    def forget(self) -> None:
        """Observe nothing yet."""
        self.disturbance = self._none
        self._before = None

    def estimates(self) -> dict[str, float]:
        """The disturbance of each joint."""
        joints = self.dynamics.robot.joints
        return {
            f"disturbance of {joint.name} [{joint.effort_unit}]": value
            for joint, value in zip(joints, self.disturbance.tolist(), strict=True)
        }
