# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The explicit and the semi-implicit Euler method, both of order 1."""

from robodyn_ros.simulation.integrators.base import CompiledIntegrator


class ExplicitEuler(CompiledIntegrator):
    """Order 1, for teaching only: it adds energy to every oscillation.

    Source: Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I (1993), eq. I.7.3.
    """

    order = 1
    code = """
  double a[N];
  acceleration(s, q, v, a);
  for (int i = 0; i < N; ++i) { q1[i] = q[i] + h * v[i]; v1[i] = v[i] + h * a[i]; }
  return 0;
"""


class SemiImplicitEuler(CompiledIntegrator):
    """Order 1: first the velocity, then the position with the new velocity.

    It is symplectic only if q̈ does not depend on q̇ and M is constant; neither holds for an arm.
    Source: Hairer, Lubich, Wanner, Geometric Numerical Integration (2006), eq. I.1.9.
    """

    order = 1
    code = """
  double a[N];
  acceleration(s, q, v, a);
  for (int i = 0; i < N; ++i) { v1[i] = v[i] + h * a[i]; q1[i] = q[i] + h * v1[i]; }
  return 0;
"""
