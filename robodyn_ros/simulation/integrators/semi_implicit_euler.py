"""Semi-implicit Euler: first the velocity, then the position with the new velocity."""

from __future__ import annotations

from robodyn_ros.robot.pose import Array
from robodyn_ros.simulation.integrators.base import Acceleration, Integrator


class SemiImplicitEuler(Integrator):
    """Order 1: the velocity first, then the position with it.

    Symplectic only where q̈ does not depend on q̇ and M is constant; an arm has neither.
    Source: Hairer, Lubich, Wanner, Geometric Numerical Integration (2006), eq. I.1.9.
    """

    order = 1
    code = """
  double a[N];
  acceleration(s, q, v, a);
  for (int i = 0; i < N; ++i) { v1[i] = v[i] + h * a[i]; q1[i] = q[i] + h * v1[i]; }
  return 0;
"""

    def step(self, acceleration: Acceleration, q: Array, qd: Array, dt: float) -> tuple[Array, Array]:
        """See :class:`Integrator`."""
        after = qd + dt * acceleration(q, qd)
        return q + dt * after, after
