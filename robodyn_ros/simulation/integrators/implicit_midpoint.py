# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""The implicit midpoint rule, whose energy error stays bounded over any time.

    q₁ = q + h (q̇ + q̇₁)/2,   q̇₁ = q̇ + h a((q + q₁)/2, (q̇ + q̇₁)/2)

In q and q̇ it is symmetric (time-reversible). In q and p = M q̇ it is symplectic up to terms of order h², because M
depends on q; these terms are a change of variables. So its energy error oscillates and does not drift where the exact
motion is reversible (Hairer, Lubich, Wanner, Geometric Numerical Integration (2006), sections II.1, XI.3).
"""

from sys import float_info

from robodyn_ros.simulation.integrators.base import CompiledIntegrator

ITERATIONS = 100
"""Most iterations. A suitable step takes about five; each reduces the error by a factor of about (h ω/2)²."""

ROUNDING = 4 * float_info.epsilon
"""The iteration has converged when the relative change of the velocity is less than this."""


class ImplicitMidpoint(CompiledIntegrator):
    """Order 2, symmetric: the energy error stays bounded.

    Source: Hairer, Lubich, Wanner, Geometric Numerical Integration (2006), eq. I.1.7; fixed point iteration,
    section VIII.6.
    """

    order = 2
    # Near the rounding error the changes no longer shrink.
    code = f"""
  double a[N], x[N], m[N], before = INFINITY;
  for (int i = 0; i < N; ++i) m[i] = v[i];
  for (int k = 0; k < {ITERATIONS}; ++k) {{
    double change = 0, scale = 0, sum = 0;
    for (int i = 0; i < N; ++i) x[i] = q[i] + 0.5 * h * m[i];
    acceleration(s, x, m, a);
    for (int i = 0; i < N; ++i) {{
      const double next = v[i] + 0.5 * h * a[i], by = fabs(next - m[i]), size = fabs(v[i]) + fabs(0.5 * h * a[i]);
      change = by > change ? by : change;
      scale = size > scale ? size : scale;
      sum += next;
      m[i] = next;
    }}
    if (!isfinite(sum)) return 1;
    if (change <= {ROUNDING!r} * scale || (change <= 1e-12 * scale && change >= before)) {{
      for (int i = 0; i < N; ++i) {{ q1[i] = q[i] + h * m[i]; v1[i] = 2 * m[i] - v[i]; }}
      return 0;
    }}
    before = change;
  }}
  return 1;
"""
