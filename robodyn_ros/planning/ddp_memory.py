"""The arrays of a problem of differential dynamic programming, made once: its passes and programs work on them."""

from __future__ import annotations

import numpy as np


class Memory:
    """Trajectory, bounds, model and feedback of a problem with n joints and a number of steps; x = (q, q̇).

    Attributes:
        h: lengths of the steps (steps, 1) [s].
        x: states (steps + 1, 2n).
        u: efforts (steps, n) [N·m] or [N].
        r: references of the cost (steps + 1, width).
        lower: least efforts (steps, n), likewise ``upper``.
        A: ∂x⁺/∂x (steps, 2n, 2n).
        B: ∂x⁺/∂u (steps, 2n, n).
        lx: derivatives of the cost of a step, likewise ``lu``, ``lxx``, ``lux`` (steps, n, 2n) and ``luu``.
        l_new: cost of each step of the trajectory that is tried, (steps,).
        v_new: its cost at the end, (1,).
        vx: derivatives of the cost at the end, (1, 2n), likewise ``vxx``.
        k: change of the efforts (steps, n).
        K: feedback (steps, n, 2n).
        x_new: as x, of a trajectory that is tried; likewise ``u_new``. Both begin at the same state.
        expected: (2,); the cost changes by α times the first plus α² times the second, if all was quadratic.
    """

    def __init__(self, n: int, steps: int, width: int) -> None:
        """
        Args:
            n: number of joints.
            steps: how many.
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
        """The trajectory that was tried is the trajectory."""
        self.x[:], self.u[:] = self.x_new, self.u_new
