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
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine import Program
from robodyn_ros.engine.c_interface import text_key
from robodyn_ros.engine.codegen import batch_source, scalar_source
from robodyn_ros.engine.library import COMPILER_HINT, Wanted, is_listing, loaded, start_library
from robodyn_ros.errors import NotReadyError
from robodyn_ros.robot.pose import Array

PASSES = Path(__file__).with_name("passes.c").read_text(encoding="utf-8")

LINEARISATION = Path(__file__).with_name("linearisation.c").read_text(encoding="utf-8")

ITERATIONS = 100
"""Greatest number of iterations of ``box_qp``; a few steps find the active bounds, and then one step is exact."""

TOLERANCE = 1e-11
"""Gradient of the free elements, over the greatest element of g, at which the quadratic program is solved."""

ARMIJO, SHRINK, SHORTEST = 0.1, 0.6, 1e-22
"""The line search of the quadratic program: required ratio of the expected decrease, factor, least step."""

BOX_QP = {
    "ITERATIONS": ITERATIONS,
    "TOLERANCE": TOLERANCE,
    "ARMIJO": ARMIJO,
    "SHRINK": SHRINK,
    "SHORTEST": SHORTEST,
}
"""Constants of the quadratic program, by their names in C."""


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


def make_passes(memory: DDPMemory, dynamics: CompiledDynamics, motion: Program, parameters: Array) -> Passes:
    """Make the passes; they cannot be called if libraries are only listed.

    Args:
        memory: the problem's arrays.
        dynamics: dynamics of the arm.
        motion: program of its accelerations with their derivatives.
        parameters: runtime parameters of the dynamics, read in place.

    Raises:
        NotReadyError: there is no C compiler, or compilation of the dynamics is switched off.
    """
    wanted = _libraries(dynamics, motion) if dynamics.compiled else ()
    passes, linearisation = [loaded(*made, ctypes.PyDLL) for made in wanted] or (None, None)
    if passes is not None and linearisation is not None:
        return Passes(memory, passes, linearisation, parameters)
    if is_listing():
        return cast(Passes, None)
    raise NotReadyError(f"iLQR needs a C compiler, and none is used here: {COMPILER_HINT}")


def start_passes(dynamics: CompiledDynamics, motion: Program) -> None:
    """Begin to compile the libraries of :func:`make_passes`, the longer one first."""
    for made in reversed(_libraries(dynamics, motion)):
        start_library(*made)


# PyDLL keeps the interpreter's lock, so no other thread takes over in the middle of a control period.
def _libraries(dynamics: CompiledDynamics, motion: Program) -> tuple[Wanted, Wanted]:
    """The libraries of the passes and of the linearisation."""
    n = f"#define N {dynamics.robot.n}\n"
    constants = "".join(f"#define {name} {value!r}\n" for name, value in BOX_QP.items())
    return (
        _library("ddp_passes", dynamics.program("forward"), scalar_source, n + constants + PASSES),
        _library("ddp_linearisation", motion, batch_source, n + LINEARISATION),
    )


class Passes:
    """The passes, bound to the memory of a problem."""

    def __init__(self, memory: DDPMemory, passes: Any, linearisation: Any, parameters: Array) -> None:
        """
        Args:
            memory: the problem's arrays.
            passes: the library with ``forward`` and ``backward``.
            linearisation: the library with ``linearise``.
            parameters: runtime parameters of the dynamics, read in place.
        """
        m = memory
        derived = m.A, m.B, m.lx, m.lu, m.lxx, m.lux, m.luu, m.vx, m.vxx
        wanted, feedback = (m.u, m.lower, m.upper), (m.k, m.K)
        self._steps = m.steps
        self._linearise = _bound(linearisation.linearise, m.steps, (m.h, m.x, m.u, parameters, m.A, m.B))
        self._backward = _bound(passes.backward, m.steps, (*derived, *wanted, *feedback, m.expected))
        known = m.h, m.x, m.u, *feedback, m.lower, m.upper, parameters
        self._forward = _bound(passes.forward, m.steps, (*known, m.x_new, m.u_new))

    def linearise(self) -> None:
        """Compute A and B along the trajectory."""
        self._linearise()

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
    function.restype = ctypes.c_longlong
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    count = ctypes.c_longlong(steps)

    def call(*numbers: ctypes.c_double, _alive: tuple[Array, ...] = arrays) -> int:
        return int(function(count, *numbers, *addresses))

    return call
