# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Adaptation of an arm's unknown parameters: which are learnt, how quickly, and within which bounds.

    θ̂̇ = Γ Yᵀ s,   then projected to the nearest possible θ̂

Γ is symmetric and positive definite, and the possible θ̂ are a convex set. So if the true θ is in the set, the
projection never takes θ̂ further from it, in the metric Γ⁻¹. :class:`PossibleBody` has the metric and the set for the
ten parameters of a body; friction coefficients have scale factors and intervals instead.

The speed of learning depends on the regressor Y and on the law's damping K_D: an error θ̃ that makes the arm lag by
s = K_D⁻¹ Y θ̃ decays with the matrix Γ Yᵀ K_D⁻¹ Y. Γ is chosen so that the greatest contribution of one joint to this
matrix is the setting ``rate``, over poses in the whole range of the joints, at rest and accelerated by 1 rad/s² or
1 m/s².

Source: Slotine and Li, On the adaptive control of robot manipulators, International Journal of Robotics Research 6(3)
(1987); Ioannou and Sun, Robust Adaptive Control (1996), chapters 4 (projection) and 8 (dead zone).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.dynamics.parameters import BASIS, to_pseudo
from robodyn_ros.robot import Array, position_ranges, tip
from robodyn_ros.settings import CheckedSettings, choice, setting

UNKNOWN = ("payload", "friction", "payload_and_friction", "everything")
"""Choices of learning: the last body's inertial parameters, joint friction, both, or all bodies and friction."""

LEAST_RATIO = 0.1  #: Least ratio of a learnt body to its model [-].
FLOOR = 1e-6  #: Least eigenvalue of Z [-]: above 0, because a model may have point masses.

UNITS: Array = BASIS.reshape(10, 16)  # the pseudo-inertia of each parameter

PARAMETERS: Array = np.linalg.pinv(UNITS.T)  # (10, 16): the ten parameters of a symmetric matrix

POSES = 24  #: Number of poses from which the gain for the rate is found.
SPEED = 1.0  #: Speed that scales viscous friction [rad/s] or [m/s]; half of the velocity limit if there is one.
SPREAD = 0.3  #: Radius of gyration of added mass, about the centre of mass of its body [m].
MASS_RATIO = 0.5  #: Greatest mass added to a body, as ratio of the moving mass of the arm [-].
FRICTION_RATIO = 0.3  #: Greatest friction of a joint, as ratio of its effort limit [-].


@dataclass(frozen=True)
class AdaptiveSettings(CheckedSettings):
    """Which parameters the law ``adaptive`` learns, how quickly, and within which bounds."""

    unknown: str = choice("payload_and_friction", "which parameters are learnt", choices=lambda: UNKNOWN)
    rate: float = setting(2.0, "greatest rate of learning; at 0 the learnt values stay as they are", "1/s", 0.0, 100.0)
    dead_zone: float = setting(2e-4, "position error below which nothing is learnt", "rad or m", 0.0, 1.0)


class Adaptation:
    """Adaptation of an arm with B bodies and n joints: of the ``bodies`` with these indices, and of friction, if it is
    learnt, up to ``greatest``, viscous and Coulomb, (2, n).
    """

    def __init__(self, dynamics: CompiledDynamics, settings: AdaptiveSettings, decay: Array) -> None:
        """The law's K_D divided by the diagonal of M is ``decay``, (n,) in [1/s]."""
        robot = dynamics.robot
        self._dynamics, self._settings, self._decay = dynamics, settings, decay
        held = robot.link(tip(robot)).body
        self.bodies = {"everything": tuple(range(len(robot.bodies))), "friction": ()}.get(settings.unknown, (held,))
        self.friction = settings.unknown != "payload"
        self._speed = np.where(np.isfinite(robot.velocity_limit), robot.velocity_limit / 2.0, SPEED)
        self._softness = np.divide(1.0, decay, out=np.zeros(robot.n), where=decay > 0.0)

    def refresh(self, friction: Array) -> None:
        """Take over changed parameters of the model; ``friction`` is its viscous and Coulomb friction, (2, n)."""
        n, settings, robot = self._dynamics.robot.n, self._settings, self._dynamics.robot
        poses, regressors = _regressors(self._dynamics)
        self._model = self._dynamics.theta()[: -3 * n].reshape(-1, 10)
        added = MASS_RATIO * float(sum(body.inertial.mass for body in robot.bodies))
        self._possible = [PossibleBody(one, added, SPREAD) for one in self._model]
        efforts = np.abs(np.einsum("snbk,bk->sn", regressors, self._model)).max(axis=0)
        coulomb = FRICTION_RATIO * np.where(np.isfinite(robot.effort_limit), robot.effort_limit, efforts)
        self.greatest = np.maximum(np.array([coulomb / self._speed, coulomb]), friction)
        inertia = np.array([self._dynamics.mass_matrix(q).diagonal() for q in poses])
        self._quickness = settings.rate * self._decay * inertia.min(axis=0) / np.array([self._speed**2, np.ones(n)])
        lags = np.zeros(regressors.shape[:2])
        for body in self.bodies:
            own = regressors[:, :, body]
            lags += np.einsum("sni,ij,snj->sn", own, self._possible[body].metric, own)
        quickest = (lags / inertia * self._softness).max() if self._softness.all() else 0.0
        self._gain = settings.rate / quickest if quickest > 0.0 else 0.0

    def lag(self, s: Array, slope: Array, hidden: Array, inertia: Array) -> Array:
        """The component (n,) of s outside the dead zone, which is learnt from; s is velocity error plus slope (n,)
        [1/s] times position error (n,). ``hidden`` are the efforts that static friction may balance (n,), ``inertia``
        is the diagonal of M (n,).
        """
        zone = slope * self._settings.dead_zone + self._softness * hidden / inertia
        return s - np.minimum(np.maximum(s, -zone), zone)

    def learn_bodies(self, change: Array, power: Array, dt: float) -> None:
        """Learn the bodies for a time dt [s] by the power Yᵀ s; ``change``, the learnt difference of the standard
        parameters from the model's, (B, 10), is changed in place.
        """
        for body in self.bodies:
            change[body] += dt * self._gain * (self._possible[body].metric @ power[10 * body : 10 * body + 10])
            self._project(body, change)

    def learn_friction(self, friction: Array, shape: Array, s: Array, dt: float) -> None:
        """Learn friction, (2, n), in place for a time dt [s]; ``shape`` has its factors, q̇ and tanh(q̇ / v)."""
        if self.friction:
            learnt = friction + shape * (dt * self._quickness * s)
            friction[:] = np.minimum(np.maximum(learnt, 0.0), self.greatest)

    def make_possible(self, change: Array) -> None:
        """Project the learnt change of each body, (B, 10), to the nearest one with which the body is possible."""
        for body in range(len(change)):
            if change[body].any():
                self._project(body, change)

    def _project(self, body: int, change: Array) -> None:
        nearest, is_possible = self._possible[body].nearest(self._model[body] + change[body])
        change[body] = np.where(is_possible, change[body], nearest - self._model[body])


class PossibleBody:
    """The physically possible parameters of a body, with bounds around its model.

    A body is physically possible if its pseudo-inertia P is positive definite (:mod:`robodyn_ros.dynamics.parameters`).
    The possible bodies are P̲ ≼ P ≼ P̄ between the lightest, a ratio of the model's, and the heaviest. With P = P̲ + S
    Z Sᵀ and S Sᵀ = P̄ - P̲, these are the Z whose eigenvalues lie within [0, 1], a convex set; clipping the eigenvalues
    gives the nearest Z in it.

    Distances are measured in Z (Frobenius), which weighs metres and kilograms by their effect on this body. It is the
    metric ‖P₀^(-½) dP P₀^(-½)‖ that the affine-invariant metric of the positive definite matrices has at P₀ = P̄ - P̲
    (Lee, Kwon and Park, A Natural Adaptive Control Law for Robot Manipulators, 2018; with the metric held constant as
    in Lee, Wensing and Park, Geometric Robot Dynamic Identification: A Convex Programming Approach, 2020).

    Attributes:
        metric: G (10, 10), symmetric and positive definite; G y is the steepest ascent of the power yᵀ θ.
        greatest, least: P̄ and P̲ (4, 4).
    """

    def __init__(self, model: Array, mass: float, spread: float) -> None:
        """By the standard parameters (10,) of the body in the model, the greatest mass that may be added [kg], and the
        radius of gyration ``spread`` of that mass about the body's centre of mass along each axis [m]: a point mass m
        at the distance d from there may be added if m (1 + d² / spread²) is not above ``mass``.
        """
        com = model[1:4] / model[0] if model[0] > 0.0 else np.zeros(3)
        added = np.zeros((4, 4))
        added[:3, :3] = mass * (spread**2 * np.eye(3) + np.outer(com, com))
        added[:3, 3] = added[3, :3] = mass * com
        added[3, 3] = mass
        self.greatest, self.least = to_pseudo(model) + added, LEAST_RATIO * to_pseudo(model)
        values, axes = np.linalg.eigh(self.greatest - self.least)  # negative only if the model is impossible
        self._factor = axes * np.sqrt(np.maximum(values, FLOOR * values[-1]))
        inverse, between = np.linalg.inv(self._factor), self._factor @ self._factor.T
        self._scaled = np.kron(inverse, inverse) @ UNITS.T  # (16, 10): parameters → Z, without the offset by P̲
        self._scaled_least = self._scaled @ (LEAST_RATIO * model)
        self.metric = PARAMETERS @ np.kron(between, between) @ PARAMETERS.T

    def nearest(self, parameters: Array) -> tuple[Array, bool]:
        """The possible parameters nearest to standard parameters (10,), and whether the latter were possible."""
        values, axes = np.linalg.eigh((self._scaled @ parameters - self._scaled_least).reshape(4, 4))
        half = self._factor @ axes
        clipped = np.minimum(np.maximum(values, FLOOR), 1.0)
        nearest: Array = PARAMETERS @ (self.least + (half * clipped) @ half.T).reshape(16)
        return nearest, (values[0] >= FLOOR) & (values[-1] <= 1.0)


def _regressors(dynamics: CompiledDynamics) -> tuple[list[Array], Array]:
    """Poses at rest and accelerated, (2 · POSES) of (n,), and the bodies' regressors there, (2 · POSES, n, B, 10)."""
    robot, rng = dynamics.robot, np.random.default_rng(1)
    lower, upper = position_ranges(robot)
    still, states = np.zeros(robot.n), []
    for _ in range(POSES):
        q = rng.uniform(lower, upper)
        states += [(q, still, still, still), (q, still, still, rng.choice([-1.0, 1.0], robot.n))]
    found = [dynamics.slotine_li_regressor(*state)[:, : -3 * robot.n] for state in states]
    return [state[0] for state in states], np.array(found).reshape(2 * POSES, robot.n, -1, 10)
