// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Differential dynamic programming: the backward and the forward pass.

   passes.py has the equations. This code follows the functions `prepare` and `compute` of the arm's forward dynamics
   (engine/codegen.py), the macro N, the number of joints, and cholesky.h of the control loop's core. Matrices are stored
   row by row, one matrix after another for each step. */

/* of box_qp */
#define ITERATIONS 100 /* most iterations; a few steps find the active bounds, and then one step is exact */
#define TOLERANCE 1e-11 /* gradient of the free elements, over the greatest element of g, at which it is solved */
#define ARMIJO 0.1 /* line search: required ratio of the expected decrease, factor, and least step */
#define SHRINK 0.6
#define SHORTEST 1e-22

enum { X = 2 * N };

static double clamped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

static void copy(int count, const double* from, double* to) {
  for (int i = 0; i < count; ++i) to[i] = from[i];
}

/* C += A B, of (rows, inner) and (inner, columns). */
static inline void add_product(int rows, int inner, int columns, const double* A, const double* B, double* C) {
  for (int i = 0; i < rows; ++i) for (int l = 0; l < inner; ++l) for (int j = 0; j < columns; ++j)
    C[i * columns + j] += A[i * inner + l] * B[l * columns + j];
}

/* C += s Aᵀ B, of (inner, rows) and (inner, columns). */
static inline void add_transposed(int rows, int inner, int columns, double s, const double* A, const double* B, double* C) {
  for (int l = 0; l < inner; ++l) for (int i = 0; i < rows; ++i) for (int j = 0; j < columns; ++j)
    C[i * columns + j] += s * A[l * rows + i] * B[l * columns + j];
}

/* ½ xᵀ H x + gᵀ x. */
static double form(const double* H, const double* g, const double* x) {
  double row[N] = {0}, sum = 0;
  add_product(N, N, 1, H, x, row);
  for (int i = 0; i < N; ++i) sum += x[i] * (g[i] + 0.5 * row[i]);
  return sum;
}

/* The elements of x that are at no bound; their number. */
static int find_free(const double* gradient, const double* lower, const double* upper, const double* x, int* free) {
  int count = 0;
  for (int i = 0; i < N; ++i) {
    const int below = x[i] <= lower[i] && gradient[i] > 0, above = x[i] >= upper[i] && gradient[i] < 0;
    if (lower[i] < upper[i] && !below && !above) free[count++] = i;
  }
  return count;
}

/* The Cholesky factor L of H on the free elements. Returns 0 if H is not positive definite there. */
static int factored_free(const double* H, int count, const int* free, double (*L)[N]) {
  double A[N][N];
  for (int i = 0; i < count; ++i) for (int j = 0; j <= i; ++j) A[i][j] = H[free[i] * N + free[j]];
  return factored(count, A, L);
}

/* Go from x along a step, shorter and shorter, until the form falls enough (Armijo). Returns 0 if it does not. */
static int search_line(const double* H, const double* g, const double* lower, const double* upper, const double* step,
                       double slope, double* x, double* value) {
  for (double length = 1; length >= SHORTEST; length *= SHRINK) {
    double tried[N];
    for (int i = 0; i < N; ++i) tried[i] = clamped(x[i] + length * step[i], lower[i], upper[i]);
    const double reached = form(H, g, tried);
    if (reached - *value > ARMIJO * length * slope) continue;
    copy(N, tried, x);
    *value = reached;
    return 1;
  }
  return 0;
}

/* Minimise ½ xᵀ H x + gᵀ x within bounds by projected Newton steps: Tassa, Mansard, Todorov (2014), algorithm 1; after
   Bertsekas, Projected Newton Methods for Optimization Problems with Simple Constraints (1982).
   x: the initial guess, then the solution. free: the elements at no bound. L: the Cholesky factor of H on them.
   Returns the number of free elements, or -1 if H is not positive definite on them. */
static int box_qp(const double* H, const double* g, const double* lower, const double* upper, double* x, int* free,
                  double (*L)[N]) {
  double scale = 2.3e-308;
  int count = 0;
  for (int i = 0; i < N; ++i) {
    x[i] = clamped(x[i], lower[i], upper[i]);
    scale = fmax(scale, fabs(g[i]));
  }
  double value = form(H, g, x);
  for (int iteration = 0; iteration < ITERATIONS; ++iteration) {
    double gradient[N], step[N] = {0}, newton[N], worst = 0, slope = 0;
    copy(N, g, gradient);
    add_product(N, N, 1, H, x, gradient);
    count = find_free(gradient, lower, upper, x, free);
    if (!factored_free(H, count, free, L)) return -1;
    for (int i = 0; i < count; ++i) {
      newton[i] = -gradient[free[i]];
      worst = fmax(worst, fabs(newton[i]));
    }
    if (worst <= TOLERANCE * scale) return count;
    solve_factored(count, L, 0, newton);
    for (int i = 0; i < count; ++i) { step[free[i]] = newton[i]; slope += newton[i] * gradient[free[i]]; }
    if (!search_line(H, g, lower, upper, step, slope, x, &value)) return count;
  }
  return count;
}

/* The feedback on the free efforts: K = -H⁻¹ G there, 0 on the others. */
static void find_feedback(int count, const int* free, double (*L)[N], const double* G, double* K) {
  for (int i = 0; i < N * X; ++i) K[i] = 0;
  for (int j = 0; j < X; ++j) {
    double column[N];
    for (int i = 0; i < count; ++i) column[i] = -G[free[i] * X + j];
    solve_factored(count, L, 0, column);
    for (int i = 0; i < count; ++i) K[free[i] * X + j] = column[i];
  }
}

/* The backward pass. Returns the step at which Quu is not positive definite, or -1. */
int backward(
  int steps, double mu, const double* A, const double* B, const double* lx, const double* lu, const double* lxx,
  const double* lux, const double* luu, const double* vx, const double* vxx, const double* u, const double* lower,
  const double* upper, double* k, double* K, double* expected
) {
  double v[X], V[X * X], guess[N] = {0};
  expected[0] = expected[1] = 0;
  copy(X, vx, v);
  copy(X * X, vxx, V);
  for (int t = steps - 1; t >= 0; --t) {
    const double *At = A + t * X * X, *Bt = B + t * X * N;
    double *kt = k + t * N, *Kt = K + t * N * X;
    double VA[X * X] = {0}, VB[X * N] = {0}, Qx[X], Qu[N], Qxx[X * X], Qux[N * X], Quu[N * N], H[N * N], G[N * X];
    double L[N][N], low[N], high[N];
    int free[N];
    copy(X, lx + t * X, Qx); copy(N, lu + t * N, Qu);
    copy(X * X, lxx + t * X * X, Qxx); copy(N * X, lux + t * N * X, Qux); copy(N * N, luu + t * N * N, Quu);
    add_product(X, X, X, V, At, VA);
    add_product(X, X, N, V, Bt, VB);
    add_transposed(X, X, 1, 1, At, v, Qx);
    add_transposed(N, X, 1, 1, Bt, v, Qu);
    add_transposed(X, X, X, 1, At, VA, Qxx);
    add_transposed(N, X, X, 1, Bt, VA, Qux);
    add_transposed(N, X, N, 1, Bt, VB, Quu);
    copy(N * X, Qux, G);
    copy(N * N, Quu, H);
    add_transposed(N, X, X, mu, Bt, At, G);
    add_transposed(N, X, N, mu, Bt, Bt, H);
    for (int i = 0; i < N; ++i) { low[i] = lower[t * N + i] - u[t * N + i]; high[i] = upper[t * N + i] - u[t * N + i]; }
    const int count = box_qp(H, Qu, low, high, guess, free, L);
    if (count < 0) return t;
    copy(N, guess, kt);
    find_feedback(count, free, (const double (*)[N])L, G, Kt);
    /* Qk = Qu + Quu k, QK = Qux + Quu K; then the value function */
    double Qk[N], QK[N * X];
    copy(N, Qu, Qk);
    copy(N * X, Qux, QK);
    add_product(N, N, 1, Quu, kt, Qk);
    add_product(N, N, X, Quu, Kt, QK);
    for (int i = 0; i < N; ++i) { expected[0] += kt[i] * Qu[i]; expected[1] += 0.5 * kt[i] * (Qk[i] - Qu[i]); }
    copy(X, Qx, v);
    copy(X * X, Qxx, V);
    add_transposed(X, N, 1, 1, Kt, Qk, v);
    add_transposed(X, N, 1, 1, Qux, kt, v);
    add_transposed(X, N, X, 1, Kt, QK, V);
    add_transposed(X, N, X, 1, Qux, Kt, V);
    for (int i = 0; i < X; ++i) for (int j = 0; j < i; ++j)
      V[i * X + j] = V[j * X + i] = 0.5 * (V[i * X + j] + V[j * X + i]);
  }
  return -1;
}

/* The classical Runge-Kutta step with the effort held. */
static void step(const double* x, const double* u, double h, const double* p, const double* c, double* next) {
  double at[X], slope[X], sum[X] = {0};
  copy(X, x, at);
  for (int stage = 0; stage < 4; ++stage) {
    const double duration = stage < 2 ? 0.5 * h : h, weight = stage == 0 || stage == 3 ? 1 : 2;
    copy(N, at + N, slope);
    compute(at, at + N, u, p, c, slope + N);
    for (int i = 0; i < X; ++i) { sum[i] += weight * slope[i]; at[i] = x[i] + duration * slope[i]; }
  }
  for (int i = 0; i < X; ++i) next[i] = x[i] + h / 6 * sum[i];
}

/* The forward pass from x[0]. Returns the number of steps that lead to finite states. */
int forward(
  int steps, double alpha, const double* h, const double* x_old, const double* u_old, const double* k,
  const double* K, const double* lower, const double* upper, const double* p, double* x, double* u
) {
  double c[CONSTANTS];
  prepare(p, c);
  for (int t = 0; t < steps; ++t, x += X, x_old += X, u += N, u_old += N, k += N, K += N * X) {
    double away[X];
    for (int j = 0; j < X; ++j) away[j] = x[j] - x_old[j];
    for (int i = 0; i < N; ++i) u[i] = u_old[i] + alpha * k[i];
    add_product(N, X, 1, K, away, u);
    for (int i = 0; i < N; ++i) u[i] = clamped(u[i], lower[t * N + i], upper[t * N + i]);
    step(x, u, h[t], p, c, x + X);
    for (int j = 0; j < X; ++j) if (!isfinite(x[X + j])) return t;
  }
  return steps;
}
