/* Differential dynamic programming in C: the backward and the forward pass.

   passes.py has the equations and the same in Python (`box_qp`, `Passes.backward`, `Passes.forward`);
   test_planning_ilqr.py compares the two. This code follows the functions `prepare` and `compute` of the arm's forward
   dynamics (engine/codegen.py), the macro N, the number of joints, and the macros of passes.BOX_QP. Matrices are stored
   row by row, one matrix after another for each step. */

enum { X = 2 * N };

static double clamped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

static double form(const double (*H)[N], const double* g, const double* x) {
  double sum = 0;
  for (int i = 0; i < N; ++i) {
    double row = 0;
    for (int j = 0; j < N; ++j) row += H[i][j] * x[j];
    sum += x[i] * (g[i] + 0.5 * row);
  }
  return sum;
}

/* Solve L Lᵀ x = x in place, for the first m elements. */
static void solved(int m, const double (*L)[N], double* x) {
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < i; ++j) x[i] -= L[i][j] * x[j];
    x[i] /= L[i][i];
  }
  for (int i = m - 1; i >= 0; --i) {
    for (int j = i + 1; j < m; ++j) x[i] -= L[j][i] * x[j];
    x[i] /= L[i][i];
  }
}

/* x: the initial guess, then the solution. free: the elements that no bound holds. L: the Cholesky factor of H on them.
   Returns the number of free elements, or -1 if H is not positive definite on them. */
static int box_qp(
  const double (*H)[N], const double* g, const double* lower, const double* upper, double* x, int* free, double (*L)[N]
) {
  double value, scale = 0;
  int count = 0;
  for (int i = 0; i < N; ++i) {
    x[i] = clamped(x[i], lower[i], upper[i]);
    scale = fmax(scale, fabs(g[i]));
  }
  value = form(H, g, x);
  for (int iteration = 0; iteration < ITERATIONS; ++iteration) {
    double gradient[N], step[N] = {0}, newton[N], worst = 0, slope = 0, length = 1;
    count = 0;
    for (int i = 0; i < N; ++i) {
      gradient[i] = g[i];
      for (int j = 0; j < N; ++j) gradient[i] += H[i][j] * x[j];
      const int held = lower[i] >= upper[i] || (x[i] <= lower[i] && gradient[i] > 0) ||
                       (x[i] >= upper[i] && gradient[i] < 0);
      if (!held) {
        newton[count] = -gradient[i];
        worst = fmax(worst, fabs(gradient[i]));
        free[count++] = i;
      }
    }
    for (int i = 0; i < count; ++i)
      for (int j = 0; j <= i; ++j) {
        double sum = H[free[i]][free[j]];
        for (int l = 0; l < j; ++l) sum -= L[i][l] * L[j][l];
        if (i == j && !(sum > 0)) return -1;
        L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
      }
    if (worst <= TOLERANCE * (scale + 2.3e-308)) return count;
    solved(count, (const double (*)[N])L, newton);
    for (int i = 0; i < count; ++i) step[free[i]] = newton[i];
    for (int i = 0; i < N; ++i) slope += step[i] * gradient[i];
    for (;;) {
      double tried[N];
      for (int i = 0; i < N; ++i) tried[i] = clamped(x[i] + length * step[i], lower[i], upper[i]);
      const double reached = form(H, g, tried);
      if (reached - value <= ARMIJO * length * slope) {
        for (int i = 0; i < N; ++i) x[i] = tried[i];
        value = reached;
        break;
      }
      length *= SHRINK;
      if (length < SHORTEST) return count;
    }
  }
  return count;
}

/* The backward pass. Returns the step at which Quu is not positive definite, or -1. */
long long backward(
  long long steps, double mu, const double* A_, const double* B_, const double* lx, const double* lu, const double* lxx,
  const double* lux, const double* luu, const double* vx, const double* vxx, const double* u, const double* lower,
  const double* upper, double* k_, double* K_, double* expected
) {
  double v[X], V[X][X], guess[N] = {0};
  expected[0] = expected[1] = 0;
  for (int i = 0; i < X; ++i) {
    v[i] = vx[i];
    for (int j = 0; j < X; ++j) V[i][j] = vxx[i * X + j];
  }
  for (long long t = steps - 1; t >= 0; --t) {
    const double (*A)[X] = (const double (*)[X])(A_ + t * X * X), (*B)[N] = (const double (*)[N])(B_ + t * X * N);
    double (*K)[X] = (double (*)[X])(K_ + t * N * X), *k = k_ + t * N;
    double VA[X][X], VB[X][N], Qx[X], Qu[N], Qxx[X][X], Qux[N][X], Quu[N][N], H[N][N], G[N][X], L[N][N], QK[N][X];
    double low[N], high[N], Qk[N];
    int free[N];
    for (int i = 0; i < X; ++i) {
      for (int j = 0; j < X; ++j) VA[i][j] = 0;
      for (int j = 0; j < N; ++j) VB[i][j] = 0;
      for (int l = 0; l < X; ++l) {
        for (int j = 0; j < X; ++j) VA[i][j] += V[i][l] * A[l][j];
        for (int j = 0; j < N; ++j) VB[i][j] += V[i][l] * B[l][j];
      }
    }
    for (int i = 0; i < X; ++i) {
      Qx[i] = lx[t * X + i];
      for (int l = 0; l < X; ++l) Qx[i] += A[l][i] * v[l];
      for (int j = 0; j < X; ++j) Qxx[i][j] = lxx[(t * X + i) * X + j];
    }
    for (int l = 0; l < X; ++l)
      for (int i = 0; i < X; ++i)
        for (int j = 0; j < X; ++j) Qxx[i][j] += A[l][i] * VA[l][j];
    for (int i = 0; i < N; ++i) {
      Qu[i] = lu[t * N + i];
      for (int l = 0; l < X; ++l) Qu[i] += B[l][i] * v[l];
      for (int j = 0; j < X; ++j) { Qux[i][j] = lux[(t * N + i) * X + j]; G[i][j] = 0; }
      for (int j = 0; j < N; ++j) { Quu[i][j] = luu[(t * N + i) * N + j]; H[i][j] = 0; }
      for (int l = 0; l < X; ++l) {
        for (int j = 0; j < X; ++j) { Qux[i][j] += B[l][i] * VA[l][j]; G[i][j] += B[l][i] * A[l][j]; }
        for (int j = 0; j < N; ++j) { Quu[i][j] += B[l][i] * VB[l][j]; H[i][j] += B[l][i] * B[l][j]; }
      }
      for (int j = 0; j < X; ++j) G[i][j] = Qux[i][j] + mu * G[i][j];
      for (int j = 0; j < N; ++j) H[i][j] = Quu[i][j] + mu * H[i][j];
      low[i] = lower[t * N + i] - u[t * N + i];
      high[i] = upper[t * N + i] - u[t * N + i];
    }
    const int count = box_qp((const double (*)[N])H, Qu, low, high, guess, free, L);
    if (count < 0) return t;
    for (int i = 0; i < N; ++i) {
      k[i] = guess[i];
      for (int j = 0; j < X; ++j) K[i][j] = 0;
    }
    for (int j = 0; j < X; ++j) {
      double column[N];
      for (int i = 0; i < count; ++i) column[i] = -G[free[i]][j];
      solved(count, (const double (*)[N])L, column);
      for (int i = 0; i < count; ++i) K[free[i]][j] = column[i];
    }
    for (int i = 0; i < N; ++i) {
      Qk[i] = Qu[i];
      for (int j = 0; j < X; ++j) QK[i][j] = Qux[i][j];
      for (int l = 0; l < N; ++l) {
        Qk[i] += Quu[i][l] * k[l];
        for (int j = 0; j < X; ++j) QK[i][j] += Quu[i][l] * K[l][j];
      }
      expected[0] += k[i] * Qu[i];
      expected[1] += 0.5 * k[i] * (Qk[i] - Qu[i]);
    }
    for (int i = 0; i < X; ++i) {
      v[i] = Qx[i];
      for (int l = 0; l < N; ++l) v[i] += K[l][i] * Qk[l] + Qux[l][i] * k[l];
      for (int j = 0; j < X; ++j) V[i][j] = Qxx[i][j];
      for (int l = 0; l < N; ++l)
        for (int j = 0; j < X; ++j) V[i][j] += K[l][i] * QK[l][j] + Qux[l][i] * K[l][j];
    }
    for (int i = 0; i < X; ++i)
      for (int j = 0; j < i; ++j) V[i][j] = V[j][i] = 0.5 * (V[i][j] + V[j][i]);
  }
  return -1;
}

/* The classical Runge-Kutta step with the effort held. */
static void step(const double* x, const double* u, double h, const double* p, const double* c, double* next) {
  double at[X], slope[X], sum[X], check;
  for (int i = 0; i < X; ++i) { at[i] = x[i]; sum[i] = 0; }
  for (int stage = 0; stage < 4; ++stage) {
    const double part = stage < 2 ? 0.5 * h : h, weight = stage == 0 || stage == 3 ? 1 : 2;
    for (int i = 0; i < N; ++i) slope[i] = at[N + i];
    compute(at, at + N, u, p, c, slope + N, &check);
    for (int i = 0; i < X; ++i) { sum[i] += weight * slope[i]; at[i] = x[i] + part * slope[i]; }
  }
  for (int i = 0; i < X; ++i) next[i] = x[i] + h / 6 * sum[i];
}

/* The forward pass from x[0]. Returns the number of steps that lead to finite states. */
long long forward(
  long long steps, double alpha, const double* h, const double* x_old, const double* u_old, const double* k,
  const double* K, const double* lower, const double* upper, const double* p, double* x, double* u
) {
  double c[CONSTANTS];
  prepare(p, c);
  for (long long t = 0; t < steps; ++t, x += X, x_old += X, u += N, u_old += N, k += N, K += N * X) {
    for (int i = 0; i < N; ++i) {
      u[i] = u_old[i] + alpha * k[i];
      for (int j = 0; j < X; ++j) u[i] += K[i * X + j] * (x[j] - x_old[j]);
      u[i] = clamped(u[i], lower[t * N + i], upper[t * N + i]);
    }
    step(x, u, h[t], p, c, x + X);
    for (int j = 0; j < X; ++j)
      if (!isfinite(x[X + j])) return t;
  }
  return steps;
}
