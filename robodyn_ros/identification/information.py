"""How much a motion tells of the base parameters, and how that changes with the motion.

    I = - log det Σ Ybᵀ W Yb

over the samples: D-optimality, which does not depend on the units or the choice of the parameters (Swevers et al.,
1997). Its derivative by the samples goes through the regressor in reverse, in compiled code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.dynamics.rnea import RNEA
from robodyn_ros.engine import Kernel, Program, digest
from robodyn_ros.identification.base_parameters import BaseParameters
from robodyn_ros.kinematics.tree import build_tree, geometry
from robodyn_ros.robot.pose import Array

if TYPE_CHECKING:
    import casadi as ca


class Information:
    """Of motions of one arm; ``rank`` is the number of base parameters."""

    def __init__(self, dynamics: RNEA, base: BaseParameters, scale: Array) -> None:
        """
        Args:
            dynamics: the arm.
            base: its base parameters.
            scale: efforts of each joint that count as equally uncertain (n,) in [N·m] or [N].
        """
        self._dynamics, self._base, self._scale, self.rank = dynamics, base, scale, base.rank
        self._reverse = Kernel(self._program(), dynamics.symbols, compiled=dynamics.compiled)

    def weighted(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Regressor of the base parameters over the scale, (N n, r)."""
        Y = self._base.regressor(self._dynamics.regressor(q, qd, qdd))
        rows: Array = (Y / self._scale[:, None]).reshape(-1, self._base.rank)
        return rows

    def condition(self, q: Array, qd: Array, qdd: Array) -> float:
        """Condition number of the weighted regressor, its columns scaled to length 1."""
        rows = self.weighted(q, qd, qdd)
        return float(np.linalg.cond(rows / np.linalg.norm(rows, axis=0)))

    def loss(self, q: Array, qd: Array, qdd: Array) -> tuple[float, tuple[Array, Array, Array]]:
        """I of a motion (N, n), and its derivatives by each; infinite where the motion does not show every one."""
        rows = self.weighted(q, qd, qdd)
        length = np.linalg.norm(rows, axis=0)
        try:
            unit = rows / np.where(length > 0.0, length, 1.0)
            triangle = np.linalg.cholesky(unit.T @ unit)
        except np.linalg.LinAlgError:
            return np.inf, (np.zeros_like(q),) * 3
        value = -2.0 * float(np.log(np.diag(triangle)).sum() + np.log(length).sum())
        inverse = np.linalg.inv(triangle)
        slope = -2.0 * (unit @ (inverse.T @ inverse)) / length  # -2 F (FᵀF)⁻¹
        seed = (slope.reshape(len(q), -1, self._base.rank) / self._scale[:, None]).reshape(len(q), -1)
        return value, self._reverse.call(q, qd, qdd, np.ascontiguousarray(seed))

    def _program(self) -> Program:
        n, dynamics = self._dynamics.robot.n, self._dynamics
        chosen = self._base.columns[self._base.independent].tolist()

        def build() -> tuple[list[ca.SX], list[ca.SX]]:
            import casadi as ca  # what is compiled runs without it

            states = [ca.SX.sym(name, n) for name in ("q", "qd", "qdd")]
            seed = ca.SX.sym("seed", n * len(chosen))
            parameters = ca.SX.sym("parameters", len(dynamics.symbols))
            (regressor,) = dynamics.expressions("regressor", states, parameters)
            product = ca.dot(ca.vec(regressor[:, chosen].T), seed)
            return [*states, seed, parameters], [ca.gradient(product, state) for state in states]

        key = digest(*geometry(build_tree(dynamics.robot)), chosen, source=__name__)
        inputs = (("q", n), ("qd", n), ("qdd", n), ("seed", n * len(chosen)))
        return Program("regressor_reverse", key, inputs, ((n,), (n,), (n,)), build)
