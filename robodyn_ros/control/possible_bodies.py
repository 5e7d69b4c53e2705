"""What a body may be taken for: the physically possible ones that are neither much lighter nor much heavier than its
model.

A body is physically possible if its pseudo-inertia P is positive definite
(:mod:`robodyn_ros.dynamics.pseudo_inertia`); with a part of the model's as the least body P̲ and a heaviest one P̄,
the possible ones are P̲ ≼ P ≼ P̄. Written as P = P̲ + S Z Sᵀ with S Sᵀ = P̄ - P̲, these are the Z whose eigenvalues lie
within [0, 1], a convex set; the nearest one to a Z is found by clipping them. Distance is that of Z (Frobenius), so
that metres and kilograms weigh what they do for this body: the metric ‖P₀^(-½) dP P₀^(-½)‖ that the affine-invariant
one of the positive definite matrices has at P₀ = P̄ - P̲ (Lee, Kwon and Park, A Natural Adaptive Control Law for Robot
Manipulators, 2018; with the metric held constant as in Lee, Wensing and Park, Geometric Robot Dynamic Identification: A
Convex Programming Approach, 2020).
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.pseudo_inertia import BASIS, to_pseudo
from robodyn_ros.robot.pose import Array

LEAST = 0.1
"""Part of its model that a body keeps in any case [-]."""

FLOOR = 1e-6
"""Least eigenvalue of Z [-]: above 0, for a model may be of point masses."""

_UNITS = BASIS.reshape(10, 16)
_PARAMETERS: Array = np.linalg.pinv(_UNITS.T)  # (10, 16): the ten parameters of a symmetric matrix


class PossibleBody:
    """See the module.

    Attributes:
        metric: G (10, 10), symmetric and positive definite: along G y the power yᵀ θ of parameters θ grows the fastest.
        greatest: P̄ (4, 4).
        least: P̲ (4, 4).
    """

    def __init__(self, model: Array, mass: float, spread: float) -> None:
        """
        Args:
            model: standard parameters of the body as the model has it, (10,).
            mass: that may be added to it [kg].
            spread: radius of gyration of that about the body's centre of mass, along each axis [m]. A point mass m at
                the distance d from there may be added if m (1 + d² / spread²) is not above ``mass``.
        """
        com = model[1:4] / model[0] if model[0] > 0.0 else np.zeros(3)
        added = np.zeros((4, 4))
        added[:3, :3] = mass * (spread**2 * np.eye(3) + np.outer(com, com))
        added[:3, 3] = added[3, :3] = mass * com
        added[3, 3] = mass
        self.greatest, self.least = to_pseudo(model) + added, LEAST * to_pseudo(model)
        values, axes = np.linalg.eigh(self.greatest - self.least)  # negative, perhaps, where the model is impossible
        self._factor = axes * np.sqrt(np.maximum(values, FLOOR * values[-1]))
        inverse, between = np.linalg.inv(self._factor), self._factor @ self._factor.T
        self._scaled = np.kron(inverse, inverse) @ _UNITS.T  # (16, 10): parameters → Z, but for P̲'s part of it
        self._scaled_least = self._scaled @ (LEAST * model)
        self.metric = _PARAMETERS @ np.kron(between, between) @ _PARAMETERS.T

    def nearest(self, parameters: Array) -> tuple[Array, float]:
        """The possible ones that are nearest to standard parameters (10,), and how far Z can go from there in any
        direction and be possible [-]: 0 if they were not possible themselves.
        """
        values, axes = np.linalg.eigh((self._scaled @ parameters - self._scaled_least).reshape(4, 4))
        room = min(float(values[0]) - FLOOR, 1.0 - float(values[-1]))
        if room >= 0.0:
            return parameters, room
        half = self._factor @ axes
        clipped = np.minimum(np.maximum(values, FLOOR), 1.0)
        nearest: Array = _PARAMETERS @ (self.least + (half * clipped) @ half.T).reshape(16)
        return nearest, 0.0
