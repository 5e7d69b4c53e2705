"""The passes of differential dynamic programming, on the memory of a problem: see :mod:`.ddp_memory`.

The step is the classical Runge-Kutta method's with the effort held. Its derivatives follow by the chain rule from those
of forward dynamics, stage by stage, so they are those of the very step that is made, to rounding.

Backward, the value function V(x) = V + vᵀ δx + ½ δxᵀ V δx is carried from step to step::

    Qx = lx + Aᵀ v          Qxx = lxx + Aᵀ V A      Qux = lux + Bᵀ V A (+ μ Bᵀ A)
    Qu = lu + Bᵀ v          Quu = luu + Bᵀ V B (+ μ Bᵀ B)

and k, K minimise it over δu = k + K δx within the effort limits: k by a quadratic program with bounds, K by what the
bounds leave free. μ pulls towards the trajectory that is known; it counts for k and K, and not for V.

Source: Tassa, Erez, Todorov, Synthesis and Stabilization of Complex Behaviors through Online Trajectory Optimization,
IROS 2012, eqs. 5, 10 and 11; Tassa, Mansard, Todorov, Control-Limited Differential Dynamic Programming, ICRA 2014,
section III-C. The second derivatives of the dynamics are left out, which makes DDP iLQR (Li and Todorov, 2004).
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.compiled import CompiledDynamics
from robodyn_ros.engine import Kernel, Program
from robodyn_ros.errors import InputError
from robodyn_ros.planning.box_qp import box_qp
from robodyn_ros.planning.ddp_memory import Memory
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.rk4 import rk4_step


class Passes:
    """The passes in Python, for where there is no compiler."""

    def __init__(self, memory: Memory, dynamics: CompiledDynamics, motion: Program, parameters: Array) -> None:
        """
        Args:
            memory: what is worked on.
            dynamics: the arm's model.
            motion: its accelerations with their derivatives.
            parameters: what the compiled functions read.
        """
        self._memory = memory
        self._forward, self._motion = (
            Kernel(program, parameters, compiled=dynamics.compiled).call
            for program in (dynamics.program("forward"), motion)
        )

    def linearise(self) -> None:
        """A and B along the trajectory."""
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
        """k, K and the expected change of the cost; False if Quu is not positive definite somewhere."""
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
        """The trajectory by u + α k + K δx, into ``x_new`` and ``u_new``; False if it leaves the range of numbers."""
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
