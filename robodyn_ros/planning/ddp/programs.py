# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The programs of iLQR for the engine: accelerations and costs with their derivatives.

The cost of a step is h times the running cost at its beginning. Its second derivatives are those of generalised
Gauss-Newton: the cost is a convex function of q, q̇, q̈ and τ, and the curvature of q̈(q, q̇, τ) is left out, as iLQR
leaves out that of the arm's step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine import Program, digest
from robodyn_ros.errors import InputError
from robodyn_ros.planning.cost import Cost, Point

if TYPE_CHECKING:
    import casadi as ca

    Built = tuple[list[ca.SX], list[ca.SX]]


def require_expressions(dynamics: Dynamics) -> CompiledDynamics:
    """The same dynamics, if it has expressions that can be differentiated.

    Raises:
        InputError: it has none.
    """
    if not isinstance(dynamics, CompiledDynamics):
        problem = f"must be written as expressions, as those of the plugins lagrangian and rnea: {type(dynamics)}"
        raise InputError("dynamics", problem, dynamics)
    return dynamics


class DDPPrograms:
    """The programs of an arm and a cost.

    Attributes:
        width: length of the cost's reference.
    """

    def __init__(self, dynamics: CompiledDynamics, cost: Cost) -> None:
        """
        Args:
            dynamics: dynamics of the arm.
            cost: the cost to minimise.
        """
        self._dynamics, self._cost, self._n = dynamics, cost, dynamics.robot.n
        self.width = int(cost.reference([0.0], self._n).shape[1])
        n, known = self._n, dynamics.program("forward").key
        self._motion = digest(known, source=__name__)
        self._key = digest(known, self.width, _identity(cost, n, self.width), source=__name__)
        self._state = (("x", 2 * n), ("u", n))

    def motion(self) -> Program:
        """q, q̇, τ → q̈, ∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ."""
        n = self._n
        inputs, square = (("q", n), ("qd", n), ("tau", n)), (n, n)
        shapes = (n,), square, square, square
        return self._program(
            "ilqr_motion", self._motion, inputs, shapes, lambda *given: self._motion_of(list(given[:-1]), given[-1])
        )

    def stage(self) -> Program:
        """x, u, r, h → the cost of a step."""
        inputs = (*self._state, ("r", self.width), ("h", 1))
        return self._program("ilqr_stage", self._key, inputs, ((),), lambda *given: self._stage(*given)[:1])

    def stage_derivatives(self) -> Program:
        """x, u, r, h → lx, lu, lxx, lux, luu."""
        n = self._n
        shapes = ((2 * n,), (n,), (2 * n, 2 * n), (n, 2 * n), (n, n))
        inputs = (*self._state, ("r", self.width), ("h", 1))
        return self._program(
            "ilqr_stage_derivatives", self._key, inputs, shapes, lambda *given: self._stage(*given)[1:]
        )

    def final(self) -> Program:
        """x, r → the cost at the end."""
        inputs = (("x", 2 * self._n), ("r", self.width))
        return self._program("ilqr_final", self._key, inputs, ((),), lambda *given: self._final(*given)[:1])

    def final_derivatives(self) -> Program:
        """x, r → vx, vxx."""
        m = 2 * self._n
        inputs = (("x", m), ("r", self.width))
        return self._program(
            "ilqr_final_derivatives", self._key, inputs, ((m,), (m, m)), lambda *given: self._final(*given)[1:]
        )

    def _program(
        self,
        name: str,
        key: str,
        inputs: tuple[tuple[str, int], ...],
        outputs: tuple[tuple[int, ...], ...],
        expressions: Callable[..., list[ca.SX]],
    ) -> Program:
        def build() -> Built:
            from robodyn_ros.engine.casadi import ca

            symbols = [ca.SX.sym(label, length) for label, length in inputs]
            parameters = ca.SX.sym("parameters", len(self._dynamics.symbols))
            return [*symbols, parameters], expressions(*symbols, parameters)

        return Program(name, key, inputs, outputs, build)

    def _motion_of(self, states: list[ca.SX], p: ca.SX) -> list[ca.SX]:
        names = ("forward", "forward_derivatives")
        return [found for name in names for found in self._dynamics.expressions(name, states, p)]

    def _stage(self, x: ca.SX, u: ca.SX, r: ca.SX, h: ca.SX, p: ca.SX) -> list[ca.SX]:
        from robodyn_ros.engine.casadi import ca

        n = self._n
        q, qd, qdd = x[:n], x[n:], ca.SX.sym("qdd", n)
        running = ca.SX(self._cost.running(Point(q, qd, qdd, u, r)))
        given = ca.vertcat(x, u, qdd)
        hessian, gradient = ca.hessian(running, given)
        known, by = given, ca.SX.eye(3 * n)
        if ca.depends_on(running, qdd):
            states = [ca.SX.sym(name, n) for name in ("q", "qd", "tau")]  # derivatives are taken by symbols alone
            function = ca.Function("motion", [*states, p], self._motion_of(states, p))
            motion = function(q, qd, u, p)
            known, by = ca.vertcat(x, u, motion[0]), ca.vertcat(by, ca.horzcat(*motion[1:]))
        else:
            hessian, gradient = hessian[: 3 * n, : 3 * n], gradient[: 3 * n]
        found = ca.substitute([running, by.T @ gradient, by.T @ hessian @ by], [given], [known])
        cost, first, second = (h * part for part in found)
        m = 2 * n
        return [cost, first[:m], first[m:], second[:m, :m], second[m:, :m], second[m:, m:]]

    def _final(self, x: ca.SX, r: ca.SX, p: ca.SX) -> list[ca.SX]:
        from robodyn_ros.engine.casadi import ca

        n = self._n
        none = ca.SX(n, 1)
        final = ca.SX(self._cost.final(Point(x[:n], x[n:], none, none, r)))
        hessian, gradient = ca.hessian(final, x)
        return [final, gradient, hessian]


def _identity(cost: Cost, n: int, width: int) -> str:
    """A text that is equal for equal costs: the cost's own ``identity``, else a hash of its expressions."""
    identity = getattr(cost, "identity", None)
    if identity is not None:
        return str(identity)
    from robodyn_ros.engine.casadi import ca

    q, qd, qdd, tau = (ca.SX.sym(name, n) for name in ("q", "qd", "qdd", "tau"))
    symbols = Point(q, qd, qdd, tau, ca.SX.sym("r", width))
    none = ca.SX(n, 1)
    final = cost.final(symbols._replace(qdd=none, effort=none))
    function = ca.Function("cost", list(symbols), [ca.SX(cost.running(symbols)), ca.SX(final)])
    return hashlib.sha256(function.serialize().encode()).hexdigest()


def as_rows(values: object, shape: tuple[int, int], name: str) -> np.ndarray:
    """Numbers (rows, n) from (rows, n), or from (n,) for all rows.

    Raises:
        InputError: the values have another shape, or hold a NaN.
    """
    try:
        array = np.broadcast_to(np.asarray(values, dtype=np.float64), shape)
    except (TypeError, ValueError) as cause:
        raise InputError(name, f"must be {shape[1]} numbers, or {shape[0]} rows of them", values) from cause
    if np.isnan(array).any():
        raise InputError(name, "holds a NaN", values)
    return array
