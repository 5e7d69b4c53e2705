// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The motion of an arm within one mode: forces on the joints, held joints, and the loop over bare steps.

   This file follows the functions `prepare` and `compute` of the arm's forward dynamics (engine/codegen.py), or of a
   model in Python (native.py), the macros N and P, the numbers of joints and of runtime parameters, and FASTEST, and
   cholesky.h of the control loop's core. native.py replaces `@rows` by the rows of a frame and `@advance` by the body of the integrator's step. */

enum { @rows };

/* External forces: a function of the engine's kernel_source, its parameters and their constants (external_forces.py) */
typedef struct {
  void (*run)(double* const* x, const double* k);
  double* p;
  const double* k;
} Forces;

typedef struct System {
  const double *p, *effort;
  double (*row)[N];        /* rows of the frame; null for the bare equations of motion */
  const Forces* outside;   /* null if nothing acts from outside */
  int (*in_python)(const struct System* s, double h, const double* q, const double* v, double* q1, double* v1); /* a step */
  int held[N], count;      /* the joints whose acceleration is kept zero */
  double p0[P];            /* the parameters without gravity */
  double k[CONSTANTS], k0[CONSTANTS];
} System;

static void set_parameters(System* s, const double* p) {
  s->p = p;
  for (int i = 0; i < P; ++i) s->p0[i] = i < 3 ? 0 : p[i];
  prepare(s->p, s->k);
  prepare(s->p0, s->k0);
}

/* The bare equations of motion. */
static inline void bare(const System* s, const double* q, const double* v, const double* force, double* a) {
  compute(q, v, force, s->p, s->k, a);
}

/* Dry friction of joint i that slides at velocity v. */
static inline double dry_friction(double (*row)[N], int i, double v) {
  const double x = row[STRIBECK_RATE][i] * v;
  return row[COULOMB][i] + (row[STRIBECK_AMPLITUDE][i] != 0 ? row[STRIBECK_AMPLITUDE][i] * exp(-x * x) : 0);
}

/* The force of drive, friction and stop on joint i, as the mode in the frame has it. */
static double force_on(const System* s, int i, double q, double v) {
  double (*row)[N] = s->row;
  double force = row[OVER][i] * row[EFFORT][i] > 0 ? 0 : row[EFFORT][i];
  force -= row[VISCOUS][i] * v;
  if (row[DIRECTION][i] != 0) force -= row[DIRECTION][i] * dry_friction(row, i, v);
  if (row[CONTACT][i] != 0) {
    const double depth = row[CONTACT][i] > 0 ? q - row[UPPER][i] : row[LOWER][i] - q;
    const double push = row[STIFFNESS][i] * depth * (1 + row[DISSIPATION][i] * row[CONTACT][i] * v);
    if (push > 0) force -= row[CONTACT][i] * push;
  }
  return force;
}

static void add_outside(const System* s, const double* q, const double* v, double* force) {
  if (!s->outside) return;
  double more[N];
  double* x[] = {(double*)q, (double*)v, s->outside->p, more};
  s->outside->run(x, s->outside->k);
  for (int i = 0; i < N; ++i) force[i] += more[i];
}

/* The forces on all joints, external forces included. */
static void forces_on(const System* s, const double* q, const double* v, double* force) {
  for (int i = 0; i < N; ++i) force[i] = force_on(s, i, q[i], v[i]);
  add_outside(s, q, v, force);
}

/* Solves A x = b for a symmetric positive definite A. Returns nonzero if A is not. */
static int solve(int n, double (*A)[N], const double* b, double* x) {
  double L[N][N];
  if (!factored(n, A, L)) return 1;
  for (int i = 0; i < n; ++i) x[i] = b[i];
  solve_factored(n, L, 0, x);
  return 0;
}

/* The accelerations by a unit force on joint j, without gravity and velocities. */
static void by_unit_force(const System* s, const double* q, int j, double* a) {
  static const double zero[N];
  double unit[N] = {0};
  unit[j] = 1;
  compute(q, zero, unit, s->p0, s->k0, a);
}

/* Forces r on the held joints, which make their accelerations zero; a becomes the accelerations with these forces. */
static void hold(const System* s, const double* q, double* a, double* r) {
  double column[N][N], A[N][N], b[N];
  for (int k = 0; k < s->count; ++k) {
    by_unit_force(s, q, s->held[k], column[k]);
    for (int l = 0; l < s->count; ++l) A[k][l] = column[k][s->held[l]];
    b[k] = -a[s->held[k]];
  }
  if (solve(s->count, A, b, r)) for (int k = 0; k < s->count; ++k) r[k] = NAN;
  for (int k = 0; k < s->count; ++k) for (int i = 0; i < N; ++i) a[i] += column[k][i] * r[k];
  for (int k = 0; k < s->count; ++k) a[s->held[k]] = 0;
}

static void acceleration(const System* s, const double* q, const double* v, double* a) {
  if (!s->row) {
    bare(s, q, v, s->effort, a);
    return;
  }
  double force[N], r[N];
  forces_on(s, q, v, force);
  bare(s, q, v, force, a);
  if (s->count) hold(s, q, a, r);
}

static int advance(const System* s, double h, const double* q, const double* v, double* q1, double* v1) {@advance}

/* Integrates the bare equations of motion. q and v are steps + 1 states, the first of them given; effort advances by
   stride each step. Returns the number of steps that succeeded. */
long long rollout(
  long long steps, double h, long long stride, const double* effort, double* q, double* v, const double* p
) {
  System s = {.effort = effort};
  set_parameters(&s, p);
  for (long long k = 0; k < steps; ++k, s.effort += stride, q += N, v += N)
    if (advance(&s, h, q, v, q + N, v + N)) return k;
  return steps;
}
