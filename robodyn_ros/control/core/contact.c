// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Contact: the external efforts on the arm, by the momentum observer, and their thresholds. */

#include "memory.h"

static void reset_observer(State* m) {
  for (int k = 0; k < 3 * N; ++k) m->observed[k] = 0;
  for (int k = 0; k < N + 8; ++k) m->external[k] = 0;
}

/* Estimates the external efforts, for a state that comes dt [s] after the one before. */
static void observe(const Settings* s, State* m, double dt, const double* q, const double* qd, int begins) {
  if (!s->observer_run) return;
  double* const* x = s->observer_arrays;
  begins = begins || !m->applies;
  if (!(dt > 0 || begins)) return;
  x[DT][0] = begins ? -1 : dt;
  copy(x[OBSERVED_Q], q); copy(x[OBSERVED_QD], qd); copy(x[BIAS], m->bias);
  EACH x[APPLIED][i] = m->applies ? m->applied[i] : 0;
  for (int k = 0; k < 3 * N; ++k) x[OBSERVED][k] = m->observed[k];
  s->observer_run(x, s->observer_constants);
  int good = 1;
  for (int k = 0; k < 3 * N; ++k) good &= isfinite(m->observed[k] = x[OBSERVED_AFTER][k]) != 0;
  for (int k = 0; k < N + 8; ++k) good &= isfinite(m->external[k] = x[EXTERNAL][k]) != 0;
  if (!good) reset_observer(m);
}

/* The threshold that external efforts and a wrench exceed: the problem, or CORE_OK. */
static CoreRefusal exceeded(const double* external, const double* most, const double* wrench) {
  const double force = length3(external + WRENCH), torque = length3(external + WRENCH + 3);
  int joint = -1;
  EACH if (!(fabs(external[i]) <= most[i])) joint = i;
  if (joint >= 0) {
    EACH if (fabs(external[i]) - most[i] > fabs(external[joint]) - most[joint]) joint = i;
    return (CoreRefusal){EXTERNAL_EFFORT, joint, fabs(external[joint]), most[joint]};
  }
  if (force > wrench[0]) return (CoreRefusal){EXTERNAL_FORCE, 0, force, wrench[0]};
  return (CoreRefusal){torque > wrench[1] ? EXTERNAL_TORQUE : CORE_OK, 0, torque, wrench[1]};
}

int core_judge_contact(const CoreSettings* settings, const double* external, CoreRefusal* problem) {
  const Settings* s = &settings->loop;
  *problem = exceeded(external, s->collision, s->collision_wrench);
  if (problem->why) return 1;
  *problem = exceeded(external, s->touch, s->touch_wrench);
  return problem->why ? 2 : 0;
}
