# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The passes of differential dynamic programming, on the memory of a problem.

Linearisation: a step is that of the classical Runge-Kutta method with the effort held. Its derivatives follow by the
chain rule from those of forward dynamics, stage by stage, so they are those of the step itself, to rounding.

Backward pass: the value function V(x) = V + vᵀ δx + ½ δxᵀ V δx is carried from step to step::

    Qx = lx + Aᵀ v          Qxx = lxx + Aᵀ V A      Qux = lux + Bᵀ V A (+ μ Bᵀ A)
    Qu = lu + Bᵀ v          Quu = luu + Bᵀ V B (+ μ Bᵀ B)

and k, K minimise it over δu = k + K δx within the effort limits: k by a quadratic program with bounds (``box_qp``),
K on the efforts that no bound holds. The regularisation μ pulls towards the known trajectory; it enters k and K, and
not V.

Forward pass: the step of the arm under the efforts u + α k + K δx, within the effort limits.

The passes are ``passes.c`` and ``linearisation.c``, compiled together with the arm's dynamics; :class:`Passes` calls
them.

Source: Tassa, Erez, Todorov, Synthesis and Stabilization of Complex Behaviors through Online Trajectory Optimization,
IROS 2012, eqs. 5, 10 and 11; Tassa, Mansard, Todorov, Control-Limited Differential Dynamic Programming, ICRA 2014,
section III-C and algorithm 1. The second derivatives of the dynamics are left out, which makes DDP iLQR (Li and
Todorov, 2004).

:class:`DDPPrograms` has the accelerations and the costs with their derivatives for the engine. The cost of a step is h
times the running cost at its beginning. Its second derivatives are those of generalised Gauss-Newton: the cost is a
convex function of q, q̇, q̈ and τ, and the curvature of q̈(q, q̇, τ) is left out, as iLQR leaves out that of the arm's
step.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from robodyn_ros.control.core_library import core_files
from robodyn_ros.dynamics import CompiledDynamics, Dynamics
from robodyn_ros.engine import Program, ca, digest
from robodyn_ros.engine.c_interface import required, text_key
from robodyn_ros.engine.codegen import batch_source, scalar_source
from robodyn_ros.engine.library import Wanted, is_listing, loaded, start_library
from robodyn_ros.errors import InputError, NotReadyError
from robodyn_ros.planning.cost import Cost, Point, symbolic_point
from robodyn_ros.robot.pose import Array

Inputs = tuple[tuple[str, int], ...]
Shapes = tuple[tuple[int, ...], ...]

PASSES = Path(__file__).with_name("passes.c").read_text(encoding="utf-8")

LINEARISATION = Path(__file__).with_name("linearisation.c").read_text(encoding="utf-8")


class DDPMemory:
    """The arrays of a problem with n joints and a number of steps, made once; x = (q, q̇).

    The passes and the compiled functions read and write them in place.

    Attributes:
        h: lengths of the steps (steps, 1) [s].
        x: states (steps + 1, 2n).
        u: efforts (steps, n) [N·m] or [N].
        r: references of the cost (steps + 1, width).
        lower: least efforts (steps, n).
        upper: greatest efforts (steps, n).
        A: ∂x⁺/∂x (steps, 2n, 2n).
        B: ∂x⁺/∂u (steps, 2n, n).
        lx: derivative of the cost of a step (steps, 2n); likewise ``lu`` (steps, n), ``lxx`` (steps, 2n, 2n), ``lux``
            (steps, n, 2n) and ``luu`` (steps, n, n).
        l_new: cost of each step of the trial trajectory, (steps,).
        v_new: final cost of the trial trajectory, (1,).
        vx: derivative of the final cost, (1, 2n); likewise ``vxx`` (1, 2n, 2n).
        k: change of the efforts (steps, n).
        K: feedback (steps, n, 2n).
        x_new: states of the trial trajectory, as x; likewise ``u_new``. Both trajectories begin at the same state.
        expected: (2,); a step α changes the cost by α times the first plus α² times the second, for a quadratic cost.
    """

    def __init__(self, n: int, steps: int, width: int) -> None:
        """
        Args:
            n: number of joints.
            steps: number of steps.
            width: length of the cost's reference.
        """
        self.n, self.steps = n, steps
        self.h = np.zeros((steps, 1))
        self.x, self.x_new = np.zeros((steps + 1, 2 * n)), np.zeros((steps + 1, 2 * n))
        self.u, self.u_new = np.zeros((steps, n)), np.zeros((steps, n))
        self.r = np.zeros((steps + 1, width))
        self.lower, self.upper = np.full((steps, n), -np.inf), np.full((steps, n), np.inf)
        self.A, self.B = np.zeros((steps, 2 * n, 2 * n)), np.zeros((steps, 2 * n, n))
        self.lx, self.lu = np.zeros((steps, 2 * n)), np.zeros((steps, n))
        self.lxx, self.lux = np.zeros((steps, 2 * n, 2 * n)), np.zeros((steps, n, 2 * n))
        self.luu = np.zeros((steps, n, n))
        self.l_new, self.v_new = np.zeros(steps), np.zeros(1)
        self.vx, self.vxx = np.zeros((1, 2 * n)), np.zeros((1, 2 * n, 2 * n))
        self.k, self.K = np.zeros((steps, n)), np.zeros((steps, n, 2 * n))
        self.expected = np.zeros(2)

    def accept(self) -> None:
        """Make the trial trajectory the trajectory."""
        self.x[:], self.u[:] = self.x_new, self.u_new


def start_passes(dynamics: CompiledDynamics, motion: Program) -> None:
    """Begin to compile the libraries of :class:`Passes`, the longer one first."""
    for made in reversed(_libraries(dynamics, motion)):
        start_library(*made)


# PyDLL keeps the interpreter's lock, so no other thread takes over in the middle of a control period.
def _libraries(dynamics: CompiledDynamics, motion: Program) -> tuple[Wanted, Wanted]:
    """The libraries of the passes and of the linearisation."""
    n = f"#define N {dynamics.robot.n}\n"
    around = n + core_files()["cholesky.h"]
    passes = _library("ddp_passes", dynamics.program("forward"), scalar_source, around + PASSES)
    return passes, _library("ddp_linearisation", motion, batch_source, n + LINEARISATION)


class Passes:
    """The passes, bound to the memory of a problem; they cannot be called if libraries are only listed.

    Attributes:
        linearise: computes A and B along the trajectory.
    """

    def __init__(self, memory: DDPMemory, dynamics: CompiledDynamics, motion: Program, parameters: Array) -> None:
        """
        Args:
            memory: the problem's arrays.
            dynamics: dynamics of the arm.
            motion: program of its accelerations with their derivatives.
            parameters: runtime parameters of the dynamics, read in place.

        Raises:
            NotReadyError: there is no C compiler, or compilation of the dynamics is switched off.
        """
        if not dynamics.compiled:
            raise NotReadyError("iLQR needs compiled dynamics: create them with compiled=True")
        find = loaded if is_listing() else partial(required, "iLQR")
        passes, linearisation = (find(*wanted, ctypes.PyDLL) for wanted in _libraries(dynamics, motion))
        if passes is None:
            return
        m = memory
        derived = m.A, m.B, m.lx, m.lu, m.lxx, m.lux, m.luu, m.vx, m.vxx
        wanted, feedback = (m.u, m.lower, m.upper), (m.k, m.K)
        self._steps = m.steps
        self.linearise = _bound(linearisation.linearise, m.steps, (m.h, m.x, m.u, parameters, m.A, m.B))
        self._backward = _bound(passes.backward, m.steps, (*derived, *wanted, *feedback, m.expected))
        known = m.h, m.x, m.u, *feedback, m.lower, m.upper, parameters
        self._forward = _bound(passes.forward, m.steps, (*known, m.x_new, m.u_new))

    def backward(self, mu: float) -> bool:
        """Compute k, K and the expected change of the cost; False if Quu is not positive definite at a step."""
        return self._backward(ctypes.c_double(mu)) < 0

    def forward(self, alpha: float) -> bool:
        """Compute the trajectory under u + α k + K δx into ``x_new`` and ``u_new``; False if a state is not finite."""
        return self._forward(ctypes.c_double(alpha)) == self._steps


def _library(name: str, program: Program, source: Callable[[Program], str], code: str) -> Wanted:
    return Wanted(name, text_key(f"{program.key}\n{code}"), lambda: source(program) + code)


def _bound(function: Any, steps: int, arrays: tuple[Array, ...]) -> Callable[..., int]:
    """A function of a library, bound to arrays that it keeps alive."""
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]

    def call(*numbers: ctypes.c_double, _alive: tuple[Array, ...] = arrays) -> int:
        return int(function(steps, *numbers, *addresses))

    return call


def require_expressions(dynamics: Dynamics) -> CompiledDynamics:
    """The same dynamics, if it has expressions that can be differentiated.

    Raises:
        InputError: it has none.
    """
    if not isinstance(dynamics, CompiledDynamics):
        name = type(dynamics).__name__
        raise InputError("dynamics", f"{name} has no expressions to plan with; lagrangian and rnea have", dynamics)
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
        return self._program("ilqr_motion", self._motion, inputs, ((n,), square, square, square), self._motion_of)

    def stage(self) -> tuple[Program, Program]:
        """x, u, r, h → the cost of a step; and its derivatives lx, lu, lxx, lux, luu."""
        n, inputs = self._n, (*self._state, ("r", self.width), ("h", 1))
        shapes = ((2 * n,), (n,), (2 * n, 2 * n), (n, 2 * n), (n, n))
        return self._of_cost("ilqr_stage", inputs, shapes, self._stage)

    def final(self) -> tuple[Program, Program]:
        """x, r → the cost at the end; and its derivatives vx, vxx."""
        m = 2 * self._n
        return self._of_cost("ilqr_final", (("x", m), ("r", self.width)), ((m,), (m, m)), self._final)

    def _of_cost(
        self, name: str, inputs: Inputs, derivatives: Shapes, expressions: Callable[..., list[ca.SX]]
    ) -> tuple[Program, Program]:
        more, key = f"{name}_derivatives", self._key
        value = self._program(name, key, inputs, ((),), lambda *given: expressions(*given)[:1])
        return value, self._program(more, key, inputs, derivatives, lambda *given: expressions(*given)[1:])

    def _program(
        self, name: str, key: str, inputs: Inputs, outputs: Shapes, expressions: Callable[..., list[ca.SX]]
    ) -> Program:
        return Program.of(name, key, inputs, len(self._dynamics.symbols), outputs, expressions)

    def _motion_of(self, q: ca.SX, qd: ca.SX, tau: ca.SX, p: ca.SX) -> list[ca.SX]:
        names = ("forward", "forward_derivatives")
        return [found for name in names for found in self._dynamics.expressions(name, [q, qd, tau], p)]

    def _stage(self, x: ca.SX, u: ca.SX, r: ca.SX, h: ca.SX, p: ca.SX) -> list[ca.SX]:
        n = self._n
        q, qd, qdd = x[:n], x[n:], ca.SX.sym("qdd", n)
        running = ca.SX(self._cost.running(Point(q, qd, qdd, u, r)))
        given = ca.vertcat(x, u, qdd)
        hessian, gradient = ca.hessian(running, given)
        known, by = given, ca.SX.eye(3 * n)
        if ca.depends_on(running, qdd):
            # Derivatives are taken by symbols alone.
            symbols = [*(ca.SX.sym(name, n) for name in ("q", "qd", "tau")), p]
            motion = ca.Function("motion", symbols, self._motion_of(*symbols))(q, qd, u, p)
            known, by = ca.vertcat(x, u, motion[0]), ca.vertcat(by, ca.horzcat(*motion[1:]))
        else:
            hessian, gradient = hessian[: 3 * n, : 3 * n], gradient[: 3 * n]
        found = ca.substitute([running, by.T @ gradient, by.T @ hessian @ by], [given], [known])
        cost, first, second = (h * part for part in found)
        m = 2 * n
        return [cost, first[:m], first[m:], second[:m, :m], second[m:, :m], second[m:, m:]]

    def _final(self, x: ca.SX, r: ca.SX, p: ca.SX) -> list[ca.SX]:
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
    symbols = symbolic_point(n, width)
    none = ca.SX(n, 1)
    final = cost.final(symbols._replace(qdd=none, effort=none))
    function = ca.Function("cost", list(symbols), [ca.SX(cost.running(symbols)), ca.SX(final)])
    return hashlib.sha256(function.serialize().encode()).hexdigest()
