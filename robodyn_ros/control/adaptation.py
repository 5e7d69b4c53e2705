"""How an arm's unknown numbers are learnt: which, how quickly, and how far.

    θ̂̇ = Γ Yᵀ s,   then the nearest possible θ̂

Γ is symmetric and positive definite, and the possible θ̂ are a convex set; so with the true θ in the set, the projection
never takes θ̂ further from it, in the metric Γ⁻¹. For a body's ten parameters metric and set are those of
:mod:`robodyn_ros.control.possible_bodies`, for friction coefficients they are scales and intervals.

How quick this is depends on the regressor Y and on the damping K_D of the law: an error θ̃ that makes the arm lag by
s = K_D⁻¹ Y θ̃ dies away with the matrix Γ Yᵀ K_D⁻¹ Y. Γ is such that its greatest part from one joint is the ``rate``
asked for, over poses all over the joints' range, at rest and accelerated by 1 rad/s² or 1 m/s².

Source: Slotine and Li, On the adaptive control of robot manipulators, International Journal of Robotics Research 6(3)
(1987); Ioannou and Sun, Robust Adaptive Control (1996), chapters 4 (projection) and 8 (dead zone).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from robodyn_ros.control.adaptive_settings import AdaptiveConfig
from robodyn_ros.control.possible_bodies import PossibleBody
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.robot.pose import Array
from robodyn_ros.robot.tip import tip

POSES = 24
"""How many poses the rate is found from."""

SPEED = 1.0
"""Speed that viscous friction is scaled by where a joint has no limit [rad/s] or [m/s]; else half of the limit."""


class Adaptation:
    """See the module; of an arm with B bodies and n joints.

    Attributes:
        bodies: indices of the bodies that are learnt.
        friction: whether friction is.
        greatest: viscous and Coulomb friction that is learnt at most, (2, n).
    """

    greatest: Array

    def __init__(self, dynamics: CompiledDynamics, config: AdaptiveConfig, decay: Array) -> None:
        """
        Args:
            dynamics: the arm's model.
            config: what to learn, and how.
            decay: of the law, whose K_D is that times the diagonal of M, (n,) in [1/s].
        """
        robot = dynamics.robot
        self._dynamics, self._config, self._decay = dynamics, config, decay
        held = robot.link(tip(robot)).body
        self.bodies = {"everything": tuple(range(len(robot.bodies))), "friction": ()}.get(config.unknown, (held,))
        self.friction = config.unknown != "payload"
        limited = (robot.velocity_limit > 0.0) & np.isfinite(robot.velocity_limit)
        self._speed = np.where(limited, robot.velocity_limit / 2.0, SPEED)
        self._softness = np.divide(1.0, decay, out=np.zeros(robot.n), where=decay > 0.0)
        self._poses, self._regressors = _regressors(dynamics)

    def refresh(self, friction: Array) -> None:
        """Look at the model anew, whose parameters are others.

        Args:
            friction: viscous and Coulomb friction that it knows, (2, n).
        """
        n, config, robot = self._dynamics.robot.n, self._config, self._dynamics.robot
        self._model = self._dynamics.theta()[: -3 * n].reshape(-1, 10)
        added = config.mass_limit * float(sum(body.inertial.mass for body in robot.bodies))
        self._possible = [PossibleBody(one, added, config.spread) for one in self._model]
        efforts = np.abs(np.einsum("snbk,bk->sn", self._regressors, self._model)).max(axis=0)
        coulomb = config.friction_limit * np.where(np.isfinite(robot.effort_limit), robot.effort_limit, efforts)
        self.greatest = np.maximum(np.array([coulomb / self._speed, coulomb]), friction)
        felt = np.array([self._dynamics.mass_matrix(q).diagonal() for q in self._poses])
        self._quickness = config.rate * self._decay * felt.min(axis=0) / np.array([self._speed**2, np.ones(n)])
        lags = np.zeros(self._regressors.shape[:2])
        for body in self.bodies:
            own = self._regressors[:, :, body]
            lags += np.einsum("sni,ij,snj->sn", own, self._possible[body].metric, own)
        quickest = (lags / felt * self._softness).max() if self._softness.all() else 0.0
        self._gain = config.rate / quickest if quickest > 0.0 else 0.0
        self._room = [0.0 for _ in self._possible]

    def lag(self, s: Array, slope: Array, hidden: Array, felt: Array) -> Array:
        """What is learnt from of s: nothing within the dead zone.

        Args:
            s: velocity error plus slope times position error, (n,).
            slope: (n,) in [1/s].
            hidden: efforts that friction may hide, (n,) in [N·m] or [N].
            felt: the diagonal of M, (n,) in [kg m²] or [kg].
        """
        zone = slope * self._config.dead_zone + self._softness * hidden / felt
        beyond: Array = s - np.minimum(np.maximum(s, -zone), zone)
        return beyond

    def learn_bodies(self, change: Array, power: Array, dt: float) -> None:
        """Go on by dt [s].

        Args:
            change: what was learnt: by how much the standard parameters differ from the model's, (B, 10); is changed.
            power: Yᵀ s, (10 · B or more,).
        """
        for body in self.bodies:
            own = power[10 * body : 10 * body + 10]
            steepest, step = self._possible[body].metric @ own, dt * self._gain
            change[body] += step * steepest
            # The length of the step is more than any eigenvalue of Z can change by.
            self._room[body] -= step * sqrt(own @ steepest)
            if self._room[body] < 0.0:
                self._bring_back(body, change)

    def learn_friction(self, friction: Array, shape: Array, s: Array, dt: float) -> None:
        """Go on by dt [s].

        Args:
            friction: viscous and Coulomb friction, (2, n); is changed.
            shape: what they are multiplied by, (2, n).
            s: (n,).
        """
        if self.friction:
            step = shape * (dt * self._quickness * s)
            friction[:] = np.minimum(np.maximum(friction + step, 0.0), self.greatest)

    def make_possible(self, change: Array) -> None:
        """Change what was learnt of each body, (B, 10), by as little as makes the body possible."""
        for body in range(len(change)):
            if change[body].any():
                self._bring_back(body, change)

    def _bring_back(self, body: int, change: Array) -> None:
        taken = self._model[body] + change[body]
        nearest, self._room[body] = self._possible[body].nearest(taken)
        if nearest is not taken:
            change[body] = nearest - self._model[body]


def _regressors(dynamics: CompiledDynamics) -> tuple[list[Array], Array]:
    """Poses at rest and accelerated, (2 · POSES) of (n,), and the bodies' regressors there, (2 · POSES, n, B, 10)."""
    robot, rng = dynamics.robot, np.random.default_rng(1)
    lower, upper = np.clip(robot.lower, -np.pi, np.pi), np.clip(robot.upper, -np.pi, np.pi)
    still, states = np.zeros(robot.n), []
    for _ in range(POSES):
        q = rng.uniform(lower, upper)
        states += [(q, still, still, still), (q, still, still, rng.choice([-1.0, 1.0], robot.n))]
    found = [dynamics.slotine_li_regressor(*state)[:, : -3 * robot.n] for state in states]
    return [state[0] for state in states], np.array(found).reshape(2 * POSES, robot.n, -1, 10)
