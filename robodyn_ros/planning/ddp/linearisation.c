// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The linearisation of the arm's step, for many steps at once.

   This code follows the functions `prepare` and `compute` of the accelerations with their derivatives (engine/codegen.py,
   the code for many states) and the macro N, the number of joints. */

enum { X = 2 * N, W = 3 * N };

/* States, efforts and lengths of the steps from row t on, one step a lane; lanes beyond `left` repeat the first. */
static void load(const double* h, const double* x, const double* u, int t, int left, real* state, real* effort, real* length) {
  for (int l = 0; l < LANES; ++l) {
    const int row = t + (l < left ? l : 0);
    for (int i = 0; i < X; ++i) state[i][l] = x[row * X + i];
    for (int i = 0; i < N; ++i) effort[i][l] = u[row * N + i];
    (*length)[l] = h[row];
  }
}

/* The derivative of the slope (q̇, q̈) by the state and effort at the beginning of the step, of that of the state, `by`. */
static void chain(const real* by_q, const real* by_v, const real* by_u, real (*by)[W], real (*change)[W]) {
  for (int i = 0; i < N; ++i) for (int j = 0; j < W; ++j) {
    real term = j < X ? uniform(0) : by_u[i * N + j - X];
    for (int l = 0; l < N; ++l) term += by_q[i * N + l] * by[l][j] + by_v[i * N + l] * by[N + l][j];
    change[i][j] = by[N + i][j];
    change[N + i][j] = term;
  }
}

/* Into A and B: 1 + h/6 sum. */
static void store(real (*sum)[W], real length, int left, double* A, double* B) {
  for (int l = 0; l < left; ++l) for (int i = 0; i < X; ++i) for (int j = 0; j < W; ++j) {
    const double element = (i == j) + length[l] / 6 * sum[i][j][l];
    if (j < X) A[(l * X + i) * X + j] = element;
    else B[(l * X + i) * N + j - X] = element;
  }
}

/* ∂x⁺/∂x and ∂x⁺/∂u of the Runge-Kutta step, by the chain rule from stage to stage. */
int linearise(int steps, const double* h, const double* x, const double* u, const double* p, double* A, double* B) {
  double c[CONSTANTS];
  prepare(p, c);
  for (int t = 0; t < steps; t += LANES) {
    const int left = steps - t < LANES ? steps - t : LANES;
    real x0[X], effort[N], length, at[X], slope[X], by[X][W], change[X][W], sum[X][W];
    load(h, x, u, t, left, x0, effort, &length);
    for (int i = 0; i < X; ++i) {
      at[i] = x0[i];
      for (int j = 0; j < W; ++j) { by[i][j] = uniform(i == j); sum[i][j] = uniform(0); }
    }
    for (int stage = 0; stage < 4; ++stage) {
      const double ratio = stage < 2 ? 0.5 : 1, weight = stage == 0 || stage == 3 ? 1 : 2;
      real by_q[N * N], by_v[N * N], by_u[N * N];
      compute(at, at + N, effort, p, c, slope + N, by_q, by_v, by_u);
      for (int i = 0; i < N; ++i) slope[i] = at[N + i];
      chain(by_q, by_v, by_u, by, change);
      for (int i = 0; i < X; ++i) {
        at[i] = x0[i] + ratio * length * slope[i];
        for (int j = 0; j < W; ++j) {
          sum[i][j] += weight * change[i][j];
          by[i][j] = uniform(i == j) + ratio * length * change[i][j];
        }
      }
    }
    store(sum, length, left, A + t * X * X, B + t * X * N);
  }
  return steps;
}
