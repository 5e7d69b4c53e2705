# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The classical Runge-Kutta method of order 4.

Source: Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I (1993), section II.1, table II.1.2.
"""

from __future__ import annotations

from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Acceleration, Integrator


def rk4_step(acceleration: Acceleration, q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
    """Return position and velocity after a step of q̈ = a(q, q̇).

    Args:
        acceleration: the equation of motion, with constant efforts over the step.
        q: position (n,) in [rad] or [m].
        qd: velocity (n,) in [rad/s] or [m/s].
        dt: length of the step [s].
    """
    half = 0.5 * dt
    a1 = acceleration(q, qd)
    v2 = qd + half * a1
    a2 = acceleration(q + half * qd, v2)
    v3 = qd + half * a2
    a3 = acceleration(q + half * v2, v3)
    v4 = qd + dt * a3
    a4 = acceleration(q + dt * v3, v4)
    sixth = dt / 6.0
    return q + sixth * (qd + 2.0 * (v2 + v3) + v4), qd + sixth * (a1 + 2.0 * (a2 + a3) + a4)


class RK4(Integrator):
    """Order 4: the classical Runge-Kutta method."""

    order = 4
    code = """
  double a1[N], a2[N], a3[N], a4[N], v2[N], v3[N], v4[N], x[N];
  const double half = 0.5 * h, sixth = h / 6;
  acceleration(s, q, v, a1);
  for (int i = 0; i < N; ++i) { x[i] = q[i] + half * v[i]; v2[i] = v[i] + half * a1[i]; }
  acceleration(s, x, v2, a2);
  for (int i = 0; i < N; ++i) { x[i] = q[i] + half * v2[i]; v3[i] = v[i] + half * a2[i]; }
  acceleration(s, x, v3, a3);
  for (int i = 0; i < N; ++i) { x[i] = q[i] + h * v3[i]; v4[i] = v[i] + h * a3[i]; }
  acceleration(s, x, v4, a4);
  for (int i = 0; i < N; ++i) {
    q1[i] = q[i] + sixth * (v[i] + 2 * (v2[i] + v3[i]) + v4[i]);
    v1[i] = v[i] + sixth * (a1[i] + 2 * (a2[i] + a3[i]) + a4[i]);
  }
  return 0;
"""

    def step(self, acceleration: Acceleration, q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
        """Make a step; see :meth:`Integrator.step`."""
        return rk4_step(acceleration, q, qd, dt)
