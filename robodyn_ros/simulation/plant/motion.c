// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The motion of an arm within one mode: forces on the joints, held joints, and the loops over steps.

   This file follows the functions `prepare` and `compute` of the arm's forward dynamics (engine/codegen.py) and the
   macros N and P, the numbers of joints and of runtime parameters, and FASTEST. compiled_motion.py replaces `@rows` by the rows of a
   frame and `@advance` by the body of the integrator's step.

   The same physics is written in Python for machines without a compiler. A change here must be made there too:

     force_on            Modes._force in modes.py with Friction.force and Stops.force in joint_effects.py
     hold, acceleration  Modes.acceleration in modes.py
     advance             the integrator's step (../integrators/)
     rollout             _rollout_stepwise in ../rollout.py

   test_simulation_friction.py (test_compiled_steps_and_steps_in_python_are_the_same) and test_simulation_integrators.py
   (test_compiled_and_not_are_the_same) compare the two. */

enum { @rows };

/* External forces: a function of the engine's kernel_source, its parameters and their constants (external_forces.py) */
typedef struct {
  void (*run)(double* const* x, const double* k);
  double* p;
  const double* k;
} Forces;

typedef struct {
  const double *p, *effort;
  const double (*row)[N];  /* rows of the frame; null for the bare equations of motion */
  const Forces* outside;   /* null if nothing acts from outside */
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

static inline void bare(const System* s, const double* q, const double* v, const double* force, double* a) {
  double check;
  compute(q, v, force, s->p, s->k, a, &check);
}

static double force_on(const System* s, int i, double q, double v) {
  const double (*row)[N] = s->row;
  double force = row[OVER][i] * row[EFFORT][i] > 0 ? 0 : row[EFFORT][i];
  force -= row[VISCOUS][i] * v;
  if (row[DIRECTION][i] != 0) {
    const double x = row[STRIBECK_RATE][i] * v;
    const double dry = row[COULOMB][i]
      + (row[STRIBECK_AMPLITUDE][i] != 0 ? row[STRIBECK_AMPLITUDE][i] * exp(-x * x) : 0);
    force -= row[DIRECTION][i] * dry;
  }
  if (row[CONTACT][i] != 0) {
    const double depth = row[CONTACT][i] > 0 ? q - row[UPPER][i] : row[LOWER][i] - q;
    const double push = row[STIFFNESS][i] * depth * (1 + row[DISSIPATION][i] * row[CONTACT][i] * v);
    if (push > 0) force -= row[CONTACT][i] * push;
  }
  return force;
}

/* The forces on all joints, external forces included. */
static void forces_on(const System* s, const double* q, const double* v, double* force) {
  for (int i = 0; i < N; ++i) force[i] = force_on(s, i, q[i], v[i]);
  if (s->outside) {
    double more[N], check;
    double* x[] = {(double*)q, (double*)v, s->outside->p, more, &check};
    s->outside->run(x, s->outside->k);
    for (int i = 0; i < N; ++i) force[i] += more[i];
  }
}

/* Forces r on the held joints, which make their accelerations zero; a becomes the accelerations with these forces. */
static void hold(const System* s, const double* q, double* a, double* r) {
  static const double zero[N];
  double column[N][N], L[N][N], check;
  for (int k = 0; k < s->count; ++k) {
    double unit[N] = {0};
    unit[s->held[k]] = 1;
    compute(q, zero, unit, s->p0, s->k0, column[k], &check);
  }
  for (int k = 0; k < s->count; ++k) {
    r[k] = -a[s->held[k]];
    for (int l = 0; l <= k; ++l) {
      double sum = column[k][s->held[l]];
      for (int m = 0; m < l; ++m) sum -= L[k][m] * L[l][m];
      L[k][l] = l < k ? sum / L[l][l] : sqrt(sum);
    }
    for (int l = 0; l < k; ++l) r[k] -= L[k][l] * r[l];
    r[k] /= L[k][k];
  }
  for (int k = s->count - 1; k >= 0; --k) {
    for (int l = k + 1; l < s->count; ++l) r[k] -= L[l][k] * r[l];
    r[k] /= L[k][k];
  }
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

/* True if a joint at velocity v is driven beyond its velocity limit, while the mode does not cut off its drive. */
static int driven_over(const System* s, int i, double v) {
  const double u = s->row[EFFORT][i];
  return s->row[OVER][i] == 0 && u * v > 0 && fabs(v) > s->row[SPEED][i];
}

/* True if the mode in the frame still applies to the state in the frame: no sliding joint has come to rest, no drive
   must be cut off, and the forces on the held joints are within their bounds. */
static int applies(const System* s) {
  const double (*row)[N] = s->row, *q = row[Q], *v = row[V];
  for (int i = 0; i < N; ++i)
    if ((v[i] == 0 && row[DIRECTION][i] != 0) || driven_over(s, i, v[i])) return 0;
  if (!s->count) return 1;
  double force[N], a[N], r[N];
  forces_on(s, q, v, force);
  bare(s, q, v, force, a);
  hold(s, q, a, r);
  for (int k = 0; k < s->count; ++k) {
    const int i = s->held[k];
    const double u = row[EFFORT][i];
    const double low = row[R_LOW][i] - (v[i] >= row[SPEED][i] && u > 0 ? u : 0);
    const double high = row[R_HIGH][i] + (v[i] <= -row[SPEED][i] && u < 0 ? -u : 0);
    if (!(r[k] >= low && r[k] <= high)) return 0;
  }
  return 1;
}

static void begin(System* s, const double (*row)[N], const double* p, const Forces* outside) {
  set_parameters(s, p);
  s->outside = outside;
  s->row = row;
  s->count = 0;
  for (int i = 0; i < N; ++i)
    if (row[HELD][i] != 0) s->held[s->count++] = i;
}

/* Makes one step of any length in the mode from rows Q and V. Returns nonzero if it failed. */
int smooth(double h, const double (*row)[N], const double* p, const Forces* outside, double* q1, double* v1) {
  System s;
  begin(&s, row, p, outside);
  return advance(&s, h, row[Q], row[V], q1, v1);
}

/* True if every joint rests: within the mode the state stays the same. */
static int rests(const double (*row)[N]) {
  for (int i = 0; i < N; ++i)
    if (row[HELD][i] == 0 || row[V][i] != 0) return 0;
  return 1;
}

static void set_state(double (*row)[N], const double* q, const double* v) {
  for (int i = 0; i < N; ++i) { row[Q][i] = q[i]; row[V][i] = v[i]; }
}

/* Makes one step in the mode: rows Q and V become the state after it. Returns nonzero, with the state as it was, if the
   mode ends in it. */
static int step_in_mode(const System* s, double h, double (*row)[N]) {
  double q1[N], v1[N];
  if (advance(s, h, row[Q], row[V], q1, v1)) return 1;
  for (int i = 0; i < N; ++i) {
    if (!(q1[i] >= row[Q_LOW][i] && q1[i] <= row[Q_HIGH][i] && isfinite(q1[i]))) return 1;
    if (!(v1[i] >= row[V_LOW][i] && v1[i] <= row[V_HIGH][i] && fabs(v1[i]) <= FASTEST)) return 1;
    if (driven_over(s, i, v1[i])) return 1;
  }
  set_state(row, q1, v1);
  return 0;
}

/* Makes steps in the mode until it ends. Returns their number; rows Q and V become the state after them. */
long long advance_many(long long steps, double h, double (*row)[N], const double* p, const Forces* outside) {
  System s;
  begin(&s, row, p, outside);
  const int stays = rests(row);
  for (long long k = 0; k < steps; ++k) {
    if (!applies(&s)) return k;
    if (stays) return steps;
    if (step_in_mode(&s, h, row)) return k;
  }
  return steps;
}
