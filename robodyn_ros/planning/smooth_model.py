# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The arm's equations as CasADi functions that are smooth everywhere, for solvers."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine.casadi import ca
from robodyn_ros.errors import InputError
from robodyn_ros.kinematics.tree import Tree, build_tree
from robodyn_ros.robot.pose import Array

REVERSAL = 0.02
"""Speed at which a smooth reversal has three quarters of Coulomb friction [rad/s] or [m/s]."""


class SmoothModel:
    """The equations of motion of one arm, with payload, friction and gravity as they are now.

    Attributes:
        dynamics: dynamics of the arm.
        n: number of joints.
        inverse: (q, q̇, q̈) → τ, each (n,).
    """

    def __init__(self, dynamics: Dynamics) -> None:
        """
        Args:
            dynamics: dynamics of the arm.

        Raises:
            InputError: the plugin of the dynamics has no expressions.
        """
        if not isinstance(dynamics, CompiledDynamics):
            name = type(dynamics).__name__
            raise InputError("dynamics", f"{name} has no expressions to plan with; lagrangian and rnea have", dynamics)
        self.dynamics, self.n = dynamics, dynamics.robot.n
        n = self.n
        states = [ca.SX.sym(name, n) for name in ("q", "qd", "qdd")]
        symbols, rough = dynamics.symbols.copy(), dynamics.parameters.coulomb
        symbols[3 + 2 * n : 3 + 3 * n] = 0.0  # sign(q̇) has no derivative where it matters
        tau = dynamics.expressions("inverse", states, symbols)[0]
        tau += ca.DM(rough) * ca.tanh(states[1] / REVERSAL)
        self.inverse = ca.Function("inverse", states, [tau], ["q", "qd", "qdd"], ["tau"])

    @cached_property
    def tree(self) -> Tree:
        """The arm's frames."""
        return build_tree(self.dynamics.robot)

    def efforts(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """τ (K, n) in [N·m] or [N] of motions (K, n)."""
        columns = [np.asarray(values, dtype=np.float64).T for values in (q, qd, qdd)]
        found: Array = np.array(self.inverse(*columns)).T
        return found

    def holding(self, q: ArrayLike) -> Array:
        """The efforts (n,) that hold the arm at rest at q (n,)."""
        still = np.zeros(self.n)
        found: Array = np.array(self.inverse(np.asarray(q), still, still)).ravel()
        return found
