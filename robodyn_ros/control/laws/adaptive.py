# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Adaptive control: the law learns the load of the arm and its friction while it follows the reference.

    τ = Ŷ θ̂ + K_D s + K_P e,   Ŷ θ̂ = M̂(q) q̈_r + Ĉ(q, q̇) q̇_r + ĝ(q) + τ̂_friction(q̇_d)
    q̇_r = q̇_d + Λ e,   q̈_r = q̈_d + Λ ė,   s = q̇_r - q̇ = ė + Λ e,   e = q_d - q
    θ̂̇ = Γ Yᵀ s

Along the motion V = ½ sᵀ M s + ½ eᵀ K_P e + ½ θ̃ᵀ Γ⁻¹ θ̃ has V̇ = -sᵀ K_D s - eᵀ Λ K_P e ≤ 0, because Ṁ - 2C is
skew-symmetric: the errors decay, even if θ̂ does not converge to θ.

The gains have the same effect as those of computed torque on a joint that moves alone: Λ is the lesser root of
λ² - Kd λ + Kp = 0 (Kd / 2 if it has no real root), K_D = diag M̂(q) (Kd - Λ), and K_P = diag M̂(q) (Kp - Λ (Kd - Λ)).
K_P is 0 for ζ ≥ 1. For ζ < 1 the proof assumes that K_P is constant, which holds approximately.

Bodies stay physically possible, and friction within bounds (:mod:`robodyn_ros.control.laws.adaptation`). Errors within
a dead zone are not learnt from; at a standstill it covers the known friction too, which may balance efforts up to that.
Where the effort of a joint was cut, the joint does not learn in the direction of the cut.

Friction is fed forward at the velocity of the reference, with a smooth function, so that no noise of a measured
velocity enters. The law learns differences from the model; a payload that the model gets is added to them.

Source: Slotine and Li, On the adaptive control of robot manipulators, International Journal of Robotics Research 6(3)
(1987), with K_P as in Berghuis, Model-based Robot Control (1993).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.checks import finite_array
from robodyn_ros.control.laws import base
from robodyn_ros.control.laws.adaptation import Adaptation, AdaptiveSettings
from robodyn_ros.control.laws.base import AccelerationGains, Controller, Efforts, FrictionCompensation, Reference
from robodyn_ros.control.step import differ
from robodyn_ros.dynamics import CompiledDynamics, Parameters
from robodyn_ros.engine import Kernel
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array

LEAST_MASS = 1e-3  #: Least added mass of which the centre of mass is reported [kg].


class Adaptive(Controller):
    """Feedback linearisation by the full model, whose load and friction are learnt during the motion.

    ``bodies`` is the learnt difference of each body's standard parameters from the model's, (B, 10); ``friction`` is
    viscous and Coulomb friction, (2, n), in [N·m·s/rad, N·s/m] and [N·m, N].
    """

    feedback = "acceleration"
    settings = AdaptiveSettings
    quickness = "gains.<joint>.natural_frequency, or adaptive.rate"
    remembers = ("bodies", "friction", "_symbols")
    dynamics: CompiledDynamics

    def use_settings(self, config: AdaptiveSettings) -> None:
        """InputError: the dynamics plugin has no regressor."""
        given: object = self.dynamics  # of any plugin
        if not isinstance(given, CompiledDynamics):
            problem = "the law 'adaptive' needs one with a regressor, such as rnea or lagrangian"
            raise InputError("dynamics", f"{type(given).__name__}: {problem}", given)
        self.config, dynamics, robot = config, self.dynamics, self.dynamics.robot
        self._slope = (self.kd - np.sqrt(np.maximum(self.kd**2 - 4.0 * self.kp, 0.0))) / 2.0
        self._decay = self.kd - self._slope
        self._spring = np.maximum(self.kp - self._slope * self._decay, 0.0)
        self._symbols = dynamics.symbols.copy()  # read by the compiled functions: the model with the learnt change
        self._inertial = slice(3 + 3 * robot.n, None)
        self._model = self._symbols[self._inertial].copy()  # the model's own values of these

        def kernel(quantity: str) -> Kernel:
            return Kernel(dynamics.program(quantity), self._symbols, compiled=dynamics.compiled)

        self._mass_matrix, self._coriolis = kernel("mass_matrix"), kernel("coriolis_matrix")
        self._gravity, self._regressor = kernel("gravity"), kernel("slotine_li_regressor")
        self._known = FrictionCompensation(dynamics)
        self._adaptation = Adaptation(dynamics, self.config, self._decay)
        self.bodies = np.zeros((len(robot.bodies), 10))
        self.friction = self._modelled = np.zeros((2, robot.n))
        self._seen: Parameters | None = None
        self._refresh()

    def acceleration_gains(self, q: Array, period: float = 0.0) -> AccelerationGains:
        """With the effect of learning: at the rate ρ, θ̂ is an integral of K_D s with s = ė + Λ e."""
        position, velocity, integral = super().acceleration_gains(q, period)
        learnt = self.config.rate * np.diag(self._decay)
        return AccelerationGains(position + learnt, velocity, integral + learnt * self._slope)

    def compute(self, q: Array, qd: Array, reference: Reference, integral: Array | None = None) -> Efforts:
        """The efforts of the law, as :meth:`Controller.compute`."""
        self._refresh()
        e, ed = reference.q - q, reference.qd - qd
        offset = self._slope * e
        mass_matrix, coriolis_matrix = self._mass_matrix.call(q), self._coriolis.call(q, qd)
        gravity = self._gravity.call(q)
        inertia, coriolis = mass_matrix @ reference.qdd, coriolis_matrix @ reference.qd
        viscous, coulomb = self.friction * _shape(reference.qd)
        friction = viscous + coulomb
        pull = self._decay * (ed + offset) + self._spring * e
        if integral is not None:
            pull += self.ki * integral
        feedback = mass_matrix @ (self._slope * ed) + coriolis_matrix @ offset + mass_matrix.diagonal() * pull
        total = gravity + coriolis + inertia + friction + feedback + reference.effort
        return Efforts(gravity, coriolis, inertia, friction, feedback, reference.effort, total)

    def advance(self, dt: float, q: Array, qd: Array, reference: Reference, asked: Array, sent: Array) -> None:
        """Learn from a period."""
        self._refresh()
        e, ed = reference.q - q, reference.qd - qd
        offset, shape, cut = self._slope * e, _shape(reference.qd), np.where(differ(asked, sent), asked - sent, 0.0)
        s = ed + offset
        s = np.where(s * cut > 0.0, 0.0, s)
        hidden = self.friction[1] * (1.0 - np.abs(shape[1]))
        s = self._adaptation.lag(s, self._slope, hidden, self._mass_matrix.call(q).diagonal())
        if self._adaptation.bodies:
            regressor = self._regressor.call(q, qd, reference.qd + offset, reference.qdd + self._slope * ed)
            self._adaptation.learn_bodies(self.bodies, s @ regressor, dt)
        self._adaptation.learn_friction(self.friction, shape, s, dt)
        self._update_symbols()

    def resume(self, before: Controller) -> None:
        """Take over the learnt changes of another adaptive law of the same arm."""
        if isinstance(before, Adaptive) and before is not self and before.bodies.shape == self.bodies.shape:
            self._set(before.bodies, before.learnt_friction)

    def forget(self) -> None:
        """Set all learnt changes to zero."""
        self._set(np.zeros_like(self.bodies), np.zeros_like(self.friction))

    def forget_bodies(self) -> None:
        """Set the learnt changes of the bodies to zero, and keep those of friction."""
        self._set(np.zeros_like(self.bodies), self.learnt_friction)

    def estimates(self) -> dict[str, float]:
        """Mass and centre of mass added to each learnt body, and friction."""
        learnt, robot, found = self._adaptation, self.dynamics.robot, dict[str, float]()
        for body in learnt.bodies:
            name, change = robot.bodies[body].name, self.bodies[body].tolist()
            found[f"mass added to {name} [kg]"] = change[0]
            for axis, moment in zip("xyz", change[1:4], strict=True):
                found[f"first moment {axis} added to {name} [kg m]"] = moment
                if abs(change[0]) >= LEAST_MASS:
                    found[f"centre of mass {axis} of what was added to {name} [m]"] = moment / change[0]
        for joint, viscous, coulomb in zip(robot.joints, *self.friction.tolist(), strict=True):
            if learnt.friction:
                found[f"viscous friction of {joint.name} [{joint.effort_unit}·s/{joint.position_unit}]"] = viscous
                found[f"Coulomb friction of {joint.name} [{joint.effort_unit}]"] = coulomb
        return found

    def memory(self) -> dict[str, Any]:
        """The learnt changes, as differences from the model."""
        robot, (viscous, coulomb) = self.dynamics.robot, self.learnt_friction.tolist()
        return {
            "bodies": {body.name: change for body, change in zip(robot.bodies, self.bodies.tolist(), strict=True)},
            "viscous": dict(zip(robot.joint_names, viscous, strict=True)),
            "coulomb": dict(zip(robot.joint_names, coulomb, strict=True)),
        }

    def restore(self, memory: dict[str, Any]) -> None:
        """Continue from saved changes, projected to the present bounds; InputError: wrong names, or no numbers."""
        robot = self.dynamics.robot
        bodies = _column("bodies", memory, tuple(body.name for body in robot.bodies), (10,))
        self._set(bodies, np.array([_column(name, memory, robot.joint_names, ()) for name in ("viscous", "coulomb")]))

    @property
    def learnt_friction(self) -> Array:
        """Learnt difference of viscous and Coulomb friction from the model's, (2, n)."""
        return self.friction - self._modelled

    def _set(self, bodies: Array, friction: Array) -> None:
        """Take over differences from the model, projected to possible ones."""
        self.bodies, self.friction, self._seen = bodies.copy(), self._modelled + friction, None
        self._refresh()

    def _refresh(self) -> None:
        """Take over the model's parameters, if they have changed."""
        if self.dynamics.parameters is self._seen:
            return
        self._seen, known = self.dynamics.parameters, np.array([self._known.viscous, self._known.coulomb])
        self._adaptation.refresh(known)
        self.friction = np.clip(self.learnt_friction + known, 0.0, self._adaptation.greatest)
        self._modelled = known
        self._adaptation.make_possible(self.bodies)
        self._symbols[:] = self.dynamics.symbols
        self._model = self.dynamics.symbols[self._inertial].copy()
        self._update_symbols()

    def _update_symbols(self) -> None:
        """Write the present estimates where the compiled functions read them."""
        self._symbols[self._inertial] = self._model + self.dynamics.inertial_map @ self.bodies.ravel()


def _shape(qd: Array) -> Array:
    """The factors of viscous and Coulomb friction, (2, n)."""
    return np.stack([qd, np.tanh(qd / base.SMOOTHING)])


def _column(name: str, memory: dict[str, Any], keys: tuple[str, ...], shape: tuple[int, ...]) -> Array:
    given = memory.get(name)
    if not isinstance(given, dict) or sorted(given) != sorted(keys):
        has = ", ".join(map(str, given)) if isinstance(given, dict) else repr(given)
        raise InputError(name, f"must be of {', '.join(keys)}, not of {has}", given)
    return np.array([finite_array(f"{name}, {key}", given[key], shape) for key in keys])
