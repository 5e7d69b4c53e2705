"""The passes of differential dynamic programming, on the memory of a problem.

Linearisation: a step is that of the classical Runge-Kutta method with the effort held. Its derivatives follow by the
chain rule from those of forward dynamics, stage by stage, so they are those of the step itself, to rounding.

Backward pass: the value function V(x) = V + vᵀ δx + ½ δxᵀ V δx is carried from step to step::

    Qx = lx + Aᵀ v          Qxx = lxx + Aᵀ V A      Qux = lux + Bᵀ V A (+ μ Bᵀ A)
    Qu = lu + Bᵀ v          Quu = luu + Bᵀ V B (+ μ Bᵀ B)

and k, K minimise it over δu = k + K δx within the effort limits: k by a quadratic program with bounds (:func:`box_qp`),
K on the efforts that no bound holds. The regularisation μ pulls towards the known trajectory; it enters k and K, and
not V.

Forward pass: the step of the arm under the efforts u + α k + K δx, within the effort limits.

All three passes exist twice: :class:`Passes` in Python, and ``passes.c`` and ``linearisation.c``, which
:class:`CompiledPasses` calls, compiled together with the arm's dynamics. test_planning_ilqr.py compares the two.

Source: Tassa, Erez, Todorov, Synthesis and Stabilization of Complex Behaviors through Online Trajectory Optimization,
IROS 2012, eqs. 5, 10 and 11; Tassa, Mansard, Todorov, Control-Limited Differential Dynamic Programming, ICRA 2014,
section III-C and algorithm 1. The second derivatives of the dynamics are left out, which makes DDP iLQR (Li and
Todorov, 2004).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine import Kernel, Program
from robodyn_ros.engine.c_functions import text_key
from robodyn_ros.engine.codegen import batch_source, scalar_source
from robodyn_ros.engine.library import Wanted, loaded, start_library
from robodyn_ros.errors import InputError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.rk4 import rk4_step

PASSES = Path(__file__).with_name("passes.c").read_text(encoding="utf-8")

LINEARISATION = Path(__file__).with_name("linearisation.c").read_text(encoding="utf-8")

ITERATIONS = 100
"""Greatest number of iterations of :func:`box_qp`; a few steps find the active bounds, and then one step is exact."""

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


def make_passes(
    memory: DDPMemory, dynamics: CompiledDynamics, motion: Program, parameters: Array
) -> Passes | CompiledPasses:
    """Make the passes: in C where there is a compiler, else in Python.

    Args:
        memory: the problem's arrays.
        dynamics: dynamics of the arm.
        motion: program of its accelerations with their derivatives.
        parameters: runtime parameters of the dynamics, read in place.
    """
    if dynamics.compiled:
        passes, linearisation = (loaded(*made, ctypes.PyDLL) for made in _libraries(dynamics, motion))
        if passes is not None and linearisation is not None:
            return CompiledPasses(memory, passes, linearisation, parameters)
    return Passes(memory, dynamics, motion, parameters)


def start_passes(dynamics: CompiledDynamics, motion: Program) -> None:
    """Begin to compile what :func:`make_passes` takes, the longer one first."""
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
    """The passes in Python, for machines without a compiler."""

    def __init__(self, memory: DDPMemory, dynamics: CompiledDynamics, motion: Program, parameters: Array) -> None:
        """
        Args:
            memory: the problem's arrays.
            dynamics: dynamics of the arm.
            motion: program of its accelerations with their derivatives.
            parameters: runtime parameters of the dynamics, read in place.
        """
        self._memory = memory
        self._forward, self._motion = (
            Kernel(program, parameters, compiled=dynamics.compiled).call
            for program in (dynamics.program("forward"), motion)
        )

    def linearise(self) -> None:
        """Compute A and B along the trajectory."""
        m, n = self._memory, self._memory.n
        first = np.broadcast_to(np.eye(2 * n, 3 * n), (m.steps, 2 * n, 3 * n))
        x, total, by, at = m.x[:-1], np.zeros_like(first), first, m.x[:-1]
        for part, weight in zip((m.h / 2, m.h / 2, m.h, m.h), (1, 2, 2, 1), strict=True):
            states = np.ascontiguousarray(at[:, :n]), np.ascontiguousarray(at[:, n:]), m.u
            qdd, by_q, by_qd, by_tau = self._motion(*states)
            slope = np.hstack((states[1], qdd))
            change = np.concatenate((by[:, n:], by_q @ by[:, :n] + by_qd @ by[:, n:]), axis=1)
            change[:, n:, 2 * n :] += by_tau
            total += weight * change
            at, by = x + part * slope, first + part[:, :, np.newaxis] * change
        whole = first + m.h[:, :, np.newaxis] / 6 * total
        m.A[:], m.B[:] = whole[:, :, : 2 * n], whole[:, :, 2 * n :]

    def backward(self, mu: float) -> bool:
        """Compute k, K and the expected change of the cost; False if Quu is not positive definite at a step."""
        m = self._memory
        v, V, guess = m.vx[0], m.vxx[0], np.zeros(m.n)
        m.expected[:] = 0.0
        for t in reversed(range(m.steps)):
            A, B = m.A[t], m.B[t]
            Qx, Qu = m.lx[t] + A.T @ v, m.lu[t] + B.T @ v
            Qxx, Qux, Quu = m.lxx[t] + A.T @ V @ A, m.lux[t] + B.T @ V @ A, m.luu[t] + B.T @ V @ B
            H, G = Quu + mu * B.T @ B, Qux + mu * B.T @ A
            guess, free, solved = box_qp(H, Qu, m.lower[t] - m.u[t], m.upper[t] - m.u[t], guess)
            if not solved:
                return False
            k, K = m.k[t], m.K[t]
            k[:], K[:] = guess, 0.0
            if free.any():
                K[free] = -np.linalg.solve(H[np.ix_(free, free)], G[free])
            m.expected += k @ Qu, k @ Quu @ k / 2
            v = Qx + K.T @ (Quu @ k + Qu) + Qux.T @ k
            V = Qxx + K.T @ (Quu @ K + Qux) + Qux.T @ K
            V = (V + V.T) / 2
        return True

    def forward(self, alpha: float) -> bool:
        """Compute the trajectory under u + α k + K δx into ``x_new`` and ``u_new``; False if a state is not finite."""
        m = self._memory
        for t in range(m.steps):
            wanted = m.u[t] + alpha * m.k[t] + m.K[t] @ (m.x_new[t] - m.x[t])
            m.u_new[t] = np.minimum(np.maximum(wanted, m.lower[t]), m.upper[t])
            m.x_new[t + 1] = self._step(m.x_new[t], m.u_new[t], float(m.h[t, 0]))
            if not np.isfinite(m.x_new[t + 1]).all():
                return False
        return True

    def _step(self, x: Array, u: Array, h: float) -> Array:
        def acceleration(q: Array, qd: Array) -> Array:
            qdd: Array = self._forward(q, qd, u)
            return qdd

        with np.errstate(over="ignore", invalid="ignore"):
            try:
                return np.concatenate(rk4_step(acceleration, x[: self._memory.n], x[self._memory.n :], h))
            except InputError:  # a stage that is not finite
                return np.full_like(x, np.nan)


class CompiledPasses:
    """The passes in C: as :class:`Passes`, a hundred times as fast."""

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
        """As :meth:`Passes.linearise`."""
        self._linearise()

    def backward(self, mu: float) -> bool:
        """As :meth:`Passes.backward`."""
        return self._backward(ctypes.c_double(mu)) < 0

    def forward(self, alpha: float) -> bool:
        """As :meth:`Passes.forward`."""
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


class BoxQP(NamedTuple):
    """The solution of a quadratic program with bounds."""

    x: Array  # (n,)
    free: NDArray[np.bool_]  # True for the elements that no bound holds, (n,)
    solved: bool  # False if H is not positive definite on the free elements


def box_qp(H: Array, g: Array, lower: Array, upper: Array, start: Array) -> BoxQP:
    """Minimise ½ xᵀ H x + gᵀ x, lower ≤ x ≤ upper, by projected Newton steps, for a small H.

    The same in C stands in ``passes.c``.

    Source: Tassa, Mansard, Todorov (2014), algorithm 1; after Bertsekas, Projected Newton Methods for Optimization
    Problems with Simple Constraints (1982).

    Args:
        H: symmetric, (n, n).
        g: (n,).
        lower: (n,), -inf where there is none.
        upper: (n,), not below ``lower``; inf where there is none.
        start: initial guess, (n,).
    """
    x: Array = np.minimum(np.maximum(start, lower), upper)
    value = x @ g + x @ H @ x / 2
    enough = TOLERANCE * (np.abs(g).max() + np.finfo(float).tiny)
    free = np.ones(len(x), dtype=bool)
    for _ in range(ITERATIONS):
        gradient = g + H @ x
        free = ~((lower >= upper) | ((x <= lower) & (gradient > 0.0)) | ((x >= upper) & (gradient < 0.0)))
        if not free.any():
            return BoxQP(x, free, True)
        try:
            factor = np.linalg.cholesky(H[np.ix_(free, free)])
        except np.linalg.LinAlgError:
            return BoxQP(x, free, False)
        if np.abs(gradient[free]).max() <= enough:
            break
        step = np.zeros(len(x))
        step[free] = -np.linalg.solve(factor.T, np.linalg.solve(factor, gradient[free]))
        slope, length = step @ gradient, 1.0
        while True:
            tried = np.minimum(np.maximum(x + length * step, lower), upper)
            reached = tried @ g + tried @ H @ tried / 2
            if reached - value <= ARMIJO * length * slope:
                break
            length *= SHRINK
            if length < SHORTEST:  # nothing left to gain but rounding
                return BoxQP(x, free, True)
        x, value = tried, reached
    return BoxQP(x, free, True)
