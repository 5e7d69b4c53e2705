# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""Stiffness: how fast viscous friction decays, compared with the step of the integration.

M q̇ decays under friction D q̇ at the rates λ, the eigenvalues of M⁻¹ D. A light joint with much friction has a rate far
above 1/h, and then every explicit method with step h explodes, RK4 from h λ = 2.79 on (Hairer, Wanner, Solving Ordinary
Differential Equations II (1996), section IV.2). The integrator is then replaced by :class:`.sdirk4.SDIRK4`, which
takes any rate. An arm whose friction decays in no less than a step keeps its integrator.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Integrator
from robodyn_ros.simulation.integrators.sdirk4 import SDIRK4

POSES = 16
"""Poses at which the rates are found, besides the nearest one to zero; between them, M changes by less than 2.79."""

SPAN = np.pi
"""Bound of these poses where a joint has no limit [rad] or [m]."""


def decay_rates(dynamics: Dynamics, viscous: Array) -> Array:
    """Return the greatest rate at which each joint's own friction slows it down, over the arm's poses, (n,) in [1/s].

    It is d (M⁻¹)ᵢᵢ: the other joints are free. The fastest rate of the whole arm is between the greatest of these and
    their sum.

    Args:
        dynamics: of the arm.
        viscous: viscous friction (n,) in [N·m·s/rad] or [N·s/m].
    """
    rates: Array = (np.diagonal(_inverse_masses(dynamics), axis1=1, axis2=2) * viscous).max(axis=0)
    return rates


def fastest_rate(dynamics: Dynamics, viscous: Array) -> float:
    """Return the greatest eigenvalue of M⁻¹ D over the arm's poses [1/s]; arguments as :func:`decay_rates`."""
    root = np.sqrt(viscous)
    symmetric = root[:, None] * _inverse_masses(dynamics) * root
    return float(np.linalg.eigvalsh(symmetric).max())


def is_stiff(dynamics: Dynamics, viscous: Array, step: float) -> bool:
    """Return whether friction decays in less than a step.

    Args:
        dynamics: of the arm.
        viscous: viscous friction (n,) in [N·m·s/rad] or [N·s/m].
        step: [s].
    """
    return bool(viscous.any()) and step * fastest_rate(dynamics, viscous) > 1.0


def stable_integrator(integrator: Integrator, dynamics: Dynamics, viscous: Array, step: float) -> Integrator:
    """Return the integrator, or SDIRK4 if friction decays in less than a step and the integrator has a fixed one.

    Args:
        integrator: as it was chosen.
        dynamics: of the arm; its own viscous friction counts too.
        viscous: viscous friction of the plant (n,) in [N·m·s/rad] or [N·s/m].
        step: [s].
    """
    if integrator.adaptive:
        return integrator
    return SDIRK4() if is_stiff(dynamics, viscous + dynamics.parameters.viscous, step) else integrator


def sample_inverse_masses(dynamics: Dynamics) -> tuple[Array, Array]:
    """Return some of the arm's poses (N, n), and M⁻¹ at each of them (N, n, n)."""
    robot = dynamics.robot
    lower, upper = np.maximum(robot.lower, -SPAN), np.minimum(robot.upper, SPAN)
    lower, upper = np.minimum(lower, robot.upper), np.maximum(upper, robot.lower)
    poses = np.random.default_rng(0).uniform(lower, upper, (POSES, robot.n))
    poses = np.vstack([robot.home, poses])
    return poses, np.linalg.inv(np.array([dynamics.mass_matrix(q) for q in poses]))


def _inverse_masses(dynamics: Dynamics) -> Array:
    return sample_inverse_masses(dynamics)[1]
