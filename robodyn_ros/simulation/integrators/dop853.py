# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""DOP853, the reference integrator: SciPy's Dormand-Prince method of order 8, with step size control."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from robodyn_ros.dynamics.base import Dynamics
from robodyn_ros.errors import SimulationError
from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Acceleration, Integrator, Sampled, under_effort


class DOP853(Integrator):
    """Order 8: Dormand-Prince with adaptive steps.

    Source: Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I (1993), section II.5.

    Attributes:
        rtol: relative tolerance of a step.
        atol: absolute tolerance of a step [rad], [m], [rad/s] or [m/s].
        max_step: the longest step [s].
    """

    order = 8
    adaptive = True

    def __init__(self, rtol: float = 1e-12, atol: float | None = None, max_step: float = np.inf) -> None:
        """
        Args:
            rtol: relative tolerance of a step.
            atol: absolute tolerance of a step [rad], [m], [rad/s] or [m/s]; rtol if None.
            max_step: the longest step [s]; if finite, also the first step.
        """
        self.max_step = max_step
        self.rtol = rtol
        self.atol = rtol if atol is None else atol

    def step(self, acceleration: Acceleration, q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
        """Make a step, by as many steps of DOP853 as the tolerance needs; see :meth:`Integrator.step`."""
        qs, qds = self._solve(acceleration, q, qd, np.array([0.0, dt]))
        return qs[-1], qds[-1]

    def motion(self, dynamics: Dynamics, q: Array, qd: Array, efforts: Array, dt: float, steps: int) -> Sampled | None:
        """Integrate once under constant efforts, and sample the dense output; None if the efforts change."""
        if efforts.ndim > 1 or steps == 0:
            return None
        return self._solve(under_effort(dynamics, efforts), q, qd, np.linspace(0.0, steps * dt, steps + 1))

    def _solve(self, acceleration: Acceleration, q: Array, qd: Array, times: Array) -> Sampled:
        n = len(q)

        def slope(_: float, state: Array) -> Array:
            return np.concatenate((state[n:], acceleration(state[:n].copy(), state[n:].copy())))

        first = min(self.max_step, times[-1] - times[0]) if np.isfinite(self.max_step) else None
        options = {"rtol": self.rtol, "atol": self.atol, "max_step": self.max_step, "first_step": first}
        found = solve_ivp(slope, (times[0], times[-1]), np.concatenate((q, qd)), "DOP853", times, **options)
        if not found.success:
            raise SimulationError(f"DOP853 failed at {found.t[-1] if len(found.t) else 0.0:g} s: {found.message}")
        return found.y[:n].T.copy(), found.y[n:].T.copy()
