# Copyright 2026 robodyn_ros maintainers
# SPDX-License-Identifier: Apache-2.0

"""SDIRK4: an implicit Runge-Kutta method for stiff motions, such as those of light joints with much viscous friction.

Friction d on an inertia m decays in m/d seconds, which may be far below a step. An explicit method then explodes. This
one is L-stable: fast motion that decays within a step has decayed at its end, for any step; slow motion has order 4.

    kᵢ = a(qᵢ, vᵢ),   vᵢ = v₀ + h Σⱼ aᵢⱼ kⱼ,   qᵢ = q₀ + h Σⱼ aᵢⱼ vⱼ,   j = 1 … i

Each stage is solved for kᵢ by a Newton iteration. Its matrix is the same in all stages, 1 - hγ ∂a/∂v - (hγ)² ∂a/∂q,
with derivatives by finite differences at the beginning; they need not be exact. The last stage is the end of the step.

A step is cut into shorter ones where the embedded method of order 3 finds an error above the tolerance: after a sudden
change of effort, until the fast motion has decayed. Dry friction and stops then meet the true velocity.

Source: Hairer, Wanner, Solving Ordinary Differential Equations II (1996), table IV.6.5, the embedded method in eq.
IV.6.18; the iteration and the choice of steps, section IV.8.
"""

from sys import float_info

from robodyn_ros.simulation.integrators.base import CompiledIntegrator

GAMMA = 0.25
"""γ, the diagonal of the table."""

BELOW = (
    (),
    (1 / 2,),
    (17 / 50, -1 / 25),
    (371 / 1360, -137 / 2720, 15 / 544),
    (25 / 24, -49 / 48, 125 / 16, -85 / 12),
)
"""The table of coefficients aᵢⱼ below the diagonal."""

EMBEDDED = (59 / 48, -17 / 96, 225 / 32, -85 / 12, 0.0)
"""Weights of the embedded method of order 3."""

TOLERANCE = 1e-4
"""Greatest error of a velocity in a step [rad/s] or [m/s], relative to velocities above 1."""

ITERATIONS = 20
"""Most iterations in a stage. About four are needed; each reduces the error by the change of the matrix in the step."""

ROUNDING = 4 * float_info.epsilon
"""The iteration has converged when the relative change of the velocity is less than this."""

FLOOR = 1e-13
"""It has also converged at this change [rad/s] or [m/s]: an arm at rest moves by the rounding errors of its forces."""

INCREMENT = float_info.epsilon**0.5
"""Increment of the finite differences [rad], [m], [rad/s] or [m/s], relative to states above 1."""

SAFETY, SHRINK, GROW = 0.9, 0.1, 5.0
"""Factors of the next step: for safety, the least and the greatest."""

SHORTEST = 1e-9
"""Shortest step, relative to the whole one."""

_ROWS = ", ".join(f"{{{', '.join(map(repr, row)) or '0'}}}" for row in BELOW)
_WEIGHTS = ", ".join(repr(weight - last) for weight, last in zip(EMBEDDED, (*BELOW[-1], GAMMA), strict=True))


class SDIRK4(CompiledIntegrator):
    """Order 4, L-stable: singly diagonally implicit, five stages, with steps cut where the tolerance needs it.

    Source: Hairer, Wanner, Solving Ordinary Differential Equations II (1996), table IV.6.5.
    """

    order = 4
    adaptive = True
    # W is the matrix of the iteration, and beside it the unit matrix, which Gauss-Jordan elimination turns into the
    # inverse. The iteration ends as well near the rounding error, where the changes no longer shrink.
    code = f"""
  static const double below[5][4] = {{{_ROWS}}}, weight[5] = {{{_WEIGHTS}}};
  double k[5][N], vs[5][N], Jq[N][N], Jv[N][N], x[N], y[N], a[N], dt = h, left = h;
  acceleration(s, q, v, k[0]);
  for (int j = 0; j < N; ++j)
    for (int speed = 0; speed < 2; ++speed) {{
      for (int i = 0; i < N; ++i) {{ x[i] = q[i]; y[i] = v[i]; }}
      double* moved = speed ? y + j : x + j;
      const double before = *moved;
      *moved += {INCREMENT!r} * fmax(1, fabs(before));
      acceleration(s, x, y, a);
      for (int i = 0; i < N; ++i) (speed ? Jv : Jq)[i][j] = (a[i] - k[0][i]) / (*moved - before);
    }}
  for (int i = 0; i < N; ++i) {{ q1[i] = q[i]; v1[i] = v[i]; }}
  while (left > 0) {{
    double W[N][2 * N], qs[N], error = 0, scale = 1;
    const double g = {GAMMA!r} * dt;
    int failed = 0;
    for (int i = 0; i < N; ++i) for (int j = 0; j < N; ++j) {{
      W[i][N + j] = i == j;
      W[i][j] = (i == j) - g * (Jv[i][j] + g * Jq[i][j]);
    }}
    for (int j = 0; j < N; ++j) {{
      int best = j;
      for (int i = j + 1; i < N; ++i) if (fabs(W[i][j]) > fabs(W[best][j])) best = i;
      if (!(fabs(W[best][j]) > 0)) return 1;
      for (int c = 0; c < 2 * N; ++c) {{ const double swap = W[j][c]; W[j][c] = W[best][c]; W[best][c] = swap; }}
      const double pivot = 1 / W[j][j];
      for (int c = 0; c < 2 * N; ++c) W[j][c] *= pivot;
      for (int i = 0; i < N; ++i) {{
        const double by = W[i][j];
        if (i != j && by != 0) for (int c = 0; c < 2 * N; ++c) W[i][c] -= by * W[j][c];
      }}
    }}
    for (int stage = 0; stage < 5 && !failed; ++stage) {{
      double v0[N], q0[N], before = INFINITY;
      if (stage) for (int i = 0; i < N; ++i) k[stage][i] = k[stage - 1][i];
      for (int i = 0; i < N; ++i) {{
        v0[i] = v1[i]; q0[i] = q1[i];
        for (int j = 0; j < stage; ++j) {{
          v0[i] += dt * below[stage][j] * k[j][i];
          q0[i] += dt * below[stage][j] * vs[j][i];
        }}
      }}
      for (int count = 0;; ++count) {{
        double change = 0, size = 0, sum = 0;
        for (int i = 0; i < N; ++i) {{ y[i] = v0[i] + g * k[stage][i]; x[i] = q0[i] + g * y[i]; }}
        acceleration(s, x, y, a);
        for (int i = 0; i < N; ++i) a[i] -= k[stage][i];
        for (int i = 0; i < N; ++i) {{
          double by = 0;
          for (int j = 0; j < N; ++j) by += W[i][N + j] * a[j];
          k[stage][i] += by;
          vs[stage][i] = v0[i] + g * k[stage][i];
          change = fmax(change, fabs(g * by));
          size = fmax(size, fabs(v0[i]) + fabs(g * k[stage][i]));
          sum += vs[stage][i];
        }}
        if (!isfinite(sum) || count == {ITERATIONS}) {{ failed = 1; break; }}
        if (change <= {ROUNDING!r} * size + {FLOOR!r} || (change <= 1e-10 * size && change >= before)) break;
        before = change;
      }}
      for (int i = 0; i < N; ++i) qs[i] = q0[i] + g * vs[stage][i];
    }}
    for (int i = 0; i < N && !failed; ++i) {{
      double ev = 0, eq = 0;
      for (int j = 0; j < 5; ++j) {{ ev += weight[j] * k[j][i]; eq += weight[j] * vs[j][i]; }}
      error = fmax(error, fmax(fabs(dt * ev), fabs(eq)));
      scale = fmax(scale, fmax(fabs(v1[i]), fabs(vs[4][i])));
    }}
    const double ratio = failed ? INFINITY : error / ({TOLERANCE!r} * scale);
    if (ratio <= 1) {{
      for (int i = 0; i < N; ++i) {{ q1[i] = qs[i]; v1[i] = vs[4][i]; k[0][i] = k[4][i]; }}
      left = dt >= left ? 0 : left - dt;
    }} else {{
      if (dt <= {SHORTEST!r} * h) return 1;
      for (int i = 0; i < N; ++i) k[0][i] = 0;
    }}
    dt *= fmin({GROW!r}, fmax({SHRINK!r}, {SAFETY!r} * pow(ratio, -0.25)));
    if (dt > left) dt = left;
  }}
  return 0;
"""
