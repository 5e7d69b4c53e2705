// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The settings of the loop from the parameters of the controller: a part of arm_loop.c.

   Formulas that also exist in Python are traced from it: gains, the numbers of the model, and the uncertainty of states
   (model_gains, model_numbers, model_uncertainty). The other code only copies numbers, as CoreSettings,
   ContactThresholds and make_loop_settings do for the node; test_control_export.py compares the results. Two checks
   differ from the node's: a payload's inertia by the pivots of its matrix in place of eigenvalues, and the period by that
   of the exported gains (check_period). */

struct ArmSettings {
  CoreSettings core; /* the first member, so that its address is that of the struct */
  Parameters given;
  CoreTolerances tolerances;
  double model[MODEL_WIDTH + BODIES_WIDTH]; /* parameters of the model, and the bodies' inertial ones */
  double *step_arrays[STEP_ARRAYS], *observer_arrays[OBSERVER_ARRAYS];
  double step_numbers[STEP_NUMBERS], observer_numbers[OBSERVER_NUMBERS];
  double *step_constants, *observer_constants;
};

const ArmParameter* arm_parameters(int* count) {
  *count = (int)(sizeof PARAMETERS / sizeof *PARAMETERS);
  return PARAMETERS;
}

void arm_settings_destroy(ArmSettings* x) {
  if (!x) return;
  free(x->step_constants);
  free(x->observer_constants);
  free(x);
}

ArmSettings* arm_settings_create(void) {
  ArmSettings* x = calloc(1, sizeof *x);
  if (!x) return 0;
  x->step_constants = calloc((size_t)step_constants, sizeof(double));
  x->observer_constants = calloc((size_t)contact_constants, sizeof(double));
  if (!x->step_constants || !x->observer_constants) { arm_settings_destroy(x); return 0; }
  double* at = x->step_numbers;
  for (int k = 0; k < STEP_ARRAYS; at += STEP_WIDTHS[k++]) x->step_arrays[k] = at;
  at = x->observer_numbers;
  for (int k = 0; k < OBSERVER_ARRAYS; at += OBSERVER_WIDTHS[k++]) x->observer_arrays[k] = at;
  return x;
}

const Parameters* arm_given(const ArmSettings* x) { return &x->given; }
const CoreSettings* arm_core_settings(const ArmSettings* x) { return &x->core; }

/* A refusal: 0, and the problem as text, by a format. */
#define REFUSED(...) (snprintf(problem, size, __VA_ARGS__), 0)

static int check_ranges(const Parameters* given, char* problem, size_t size) {
  for (size_t k = 0; k < sizeof PARAMETERS / sizeof *PARAMETERS; ++k) {
    const ArmParameter* item = PARAMETERS + k;
    const double *values = (const double*)given + item->place, *first = (const double*)&FIRST_PARAMETERS + item->place;
    for (int i = 0; i < item->count; ++i) {
      if (!isfinite(values[i])) return REFUSED("%s: must be a finite number, not %g", item->name, values[i]);
      if (item->kind != 's' && !(values[i] >= item->least && values[i] <= item->greatest))
        return REFUSED("%s: must be within [%g, %g], not %g", item->name, item->least, item->greatest, values[i]);
      if (item->fixed && values[i] != first[i])
        return REFUSED("%s: is fixed in this package to %g, not %g: export it again", item->name, first[i], values[i]);
    }
  }
  return 1;
}

/* --- the model */

/* Eigenvalues of a symmetric matrix of three rows are not negative, up to a tolerance: the pivots of its elimination. */
static int is_positive(double xx, double xy, double xz, double yy, double yz, double zz, double tolerance) {
  xx += tolerance; yy += tolerance; zz += tolerance;
  const double second = yy - xy * xy / xx, mixed = yz - xy * xz / xx;
  return xx > 0 && second > 0 && zz - xz * xz / xx - mixed * mixed / second > 0;
}

static int find_model(ArmSettings* x, char* problem, size_t size) {
  const Parameters* p = &x->given;
  const double* inertia = p->payload_inertia;
  double most = 1e-9;
  for (int k = 0; k < 6; ++k) most = greater(most, fabs(inertia[k]));
  const double xx = inertia[0], xy = inertia[1], xz = inertia[2], yy = inertia[3], yz = inertia[4], zz = inertia[5];
  const double half = 0.5 * (xx + yy + zz), tolerance = 1e-9 * most;
  if (!is_positive(half - xx, -xy, -xz, half - yy, -yz, half - zz, tolerance)
      || !is_positive(xx, xy, xz, yy, yz, zz, tolerance))
    return REFUSED("payload.inertia: must be positive, and no principal moment greater than the sum of the others");
  model_numbers(p->gravity, &p->payload_mass, p->payload_com, inertia, x->model);
  for (int k = 0; k < MODEL_WIDTH; ++k)
    if (!isfinite(x->model[k])) return REFUSED("payload, gravity: their product is beyond the range of numbers");
  return 1;
}

static void inertia_at(const ArmSettings* x, const double* q, double* inertia) {
  double mass[N * N];
  model_mass_matrix(q, x->model, mass);
  EACH inertia[i] = mass[i * N + i];
}

/* --- gains */

static void find_gains(const Parameters* p, const double* inertia, int acceleration, double* kp, double* kd, double* ki) {
  double scale[N];
  EACH scale[i] = acceleration ? 1 : inertia[i];
  model_gains(inertia, scale, p->gains_natural_frequency, p->gains_damping_ratio, p->gains_integral_rate,
              p->gains_stiffness, p->gains_damping, kp, kd, ki);
}

static double bound_of(double value) { return value > 0 ? value : INFINITY; }

/* The observer of contacts, and its thresholds. */
#if ARM_OBSERVES
static void find_contact(ArmSettings* x) {
  Settings* s = &x->core.loop;
  const Parameters* p = &x->given;
  double* numbers = x->observer_arrays[NUMBERS];
  EACH { s->touch[i] = bound_of(p->contact_touch[i]); s->collision[i] = bound_of(p->contact_collision[i]); }
  for (int k = 0; k < 2; ++k) {
    s->touch_wrench[k] = bound_of(p->contact_touch_wrench[k]);
    s->collision_wrench[k] = bound_of(p->contact_collision_wrench[k]);
  }
  s->energy = bound_of(p->contact_energy);
  memcpy(numbers, FIRST_OBSERVER, sizeof FIRST_OBSERVER);
  numbers[0] = p->contact_gain;
  memcpy(numbers + OBSERVER_WIDTHS[NUMBERS] - MODEL_WIDTH, x->model, MODEL_WIDTH * sizeof(double));
  contact_prepare(numbers, x->observer_constants);
  s->observer_run = contact_run;
  s->observer_arrays = x->observer_arrays;
  s->observer_constants = x->observer_constants;
}
#else
static void find_contact(ArmSettings* x) { (void)x; }
#endif

/* The natural frequency of a joint that moves alone, from the gains of the law. */
static double frequency(const double* kp, const double* kd, const double* inertia, int i) {
  const double scale = LAW_ACCELERATES ? 1 : inertia[i];
  return greater(sqrt(kp[i] / scale), 0.5 * kd[i] / scale);
}

/* Checks that the gains are stable with the period of the states, and that states come often enough; a period of 0 is
   not known. The longest period of the exported gains was computed at the export; frequencies k times as high need a
   period of 1/k. */
static int check_period(const Parameters* p, double period, const double* kp, const double* kd, const double* inertia,
                        char* problem, size_t size) {
  double quicker = 1;
  if (!(period > 0)) return 1;
  EACH if (FIRST_FREQUENCY[i] > 0) quicker = greater(quicker, frequency(kp, kd, inertia, i) / FIRST_FREQUENCY[i]);
  if (period * quicker > GREATEST_PERIOD)
    return REFUSED("gains: a period of %g s is too long for them, %g s is the longest: lower natural frequencies, or raise "
                   "update_rate", period, GREATEST_PERIOD / quicker);
  if (PERIODS_IN_TIMEOUT * period > p->state_timeout)
    return REFUSED("state_timeout: a state comes every %g s, too rarely for %g s", period, p->state_timeout);
  return 1;
}

/* The reactions to each kind of fault. */
static void find_reactions(Settings* s, const Parameters* p) {
  for (int k = 0; k < KINDS; ++k) {
    s->reactions[k] = (int64_t)p->faults_reaction[k];
    s->max_duration[k] = p->faults_max_duration[k];
  }
}

/* The numbers of the control step. */
static void find_step(ArmSettings* x, const double* kp, const double* kd, const double* ki) {
  Settings* s = &x->core.loop;
  double* y = x->step_arrays[SETTINGS];
  memcpy(y, FIRST_STEP, sizeof FIRST_STEP);
  copy_step(y, &x->given);
  copy(y + STEP_effort_limit, s->effort_limit);
  copy(y + STEP_rate_limit, s->rate_limit);
  copy(y + STEP_stiffness, s->stiffness);
  copy(y + STEP_damping, s->damping);
  copy(y + STEP_kp, kp);
  copy(y + STEP_kd, kd);
  copy(y + STEP_ki, ki);
  memcpy(y + STEP_model, x->model, MODEL_WIDTH * sizeof(double));
  step_prepare(y, x->step_constants);
  s->step_arrays = x->step_arrays;
  s->step_constants = x->step_constants;
}

static double limit_of(double value) { return value < NO_LIMIT ? value : INFINITY; }

int arm_settings_prepare(ArmSettings* x, const Parameters* p, double period, char* problem, size_t size) {
  Settings* s = &x->core.loop;
  double inertia[N], kp[N], kd[N], ki[N], none[N];
  problem[0] = 0;
  if (!check_ranges(p, problem, size)) return 0;
  x->given = *p;
  if (!find_model(x, problem, size)) return 0;
  inertia_at(x, HOME, inertia);
  find_gains(p, inertia, LAW_ACCELERATES, kp, kd, ki);
  if (!check_period(p, period, kp, kd, inertia, problem, size)) return 0;
  *s = FIRST_SETTINGS;
  s->step_run = step_run; s->model = x->model;
  s->gravity = model_gravity; s->mass_matrix = model_mass_matrix; s->inverse = model_inverse; s->forward = model_forward;
  s->sensitivity = model_sensitivity; s->sensitivity_model = x->model; s->tool = model_tool;
  copy_safety(s, p);
  s->estimates_velocity = p->missing_velocity != 0;
  memcpy(s->stream_speed, p->stream_speed, sizeof s->stream_speed);
  memcpy(s->stream_acceleration, p->stream_acceleration, sizeof s->stream_acceleration);
  find_reactions(s, p);
  find_gains(p, inertia, 0, s->stiffness, s->damping, none);
  EACH {
    s->effort_limit[i] = limit_of(p->effort_limits[i]);
    s->rate_limit[i] = limit_of(p->effort_rate_limits[i]);
    s->velocity_limit[i] = limit_of(p->velocity_limits[i]);
    s->greatest_speed[i] = p->overspeed * s->velocity_limit[i];
    const double braking = p->constraints_max_deceleration_on_cancel[i];
    s->deceleration[i] = braking > 0 ? braking : s->braking[i];
    const double scale = s->follows ? (LAW_ACCELERATES ? inertia[i] : 1) : 0;
    s->law_stiffness[i] = scale * kp[i];
    s->law_damping[i] = scale * kd[i];
    x->tolerances.path[i] = bound_of(p->constraints_trajectory[i]);
    x->tolerances.goal[i] = bound_of(p->constraints_goal[i]);
    x->tolerances.path_speed[i] = INFINITY;
    x->tolerances.speed[i] = bound_of(p->constraints_stopped_velocity_tolerance);
  }
  x->tolerances.time = bound_of(p->constraints_goal_time);
  find_contact(x);
  find_uncertainty(s, p, x->model);
  EACH s->tolerance[i] = s->follows ? bound_of(p->following_tolerance) : INFINITY;
  find_step(x, kp, kd, ki);
  if (p->on_deactivate == LEAVE_DAMPING && !(p->mit_limits[1] > 0))
    return REFUSED("on_deactivate: 'damping' is that of drives in MIT mode: set mit_limits to their greatest stiffness and damping");
  return 1;
}

/* --- holding */

/* most: (2), ratio to the limits up to which the load is accepted: of the effort, and of its rate. */
static int joint_is_held(const Settings* s, int i, Load load, const double* most, const char* where, char* problem, size_t size) {
  const char* joint = arm_joints[i];
  const int why = exceeds(s, i, load, most);
  if (!why) return 1;
  if (why == CORE_TOO_STRONG)
    return REFUSED("effort_limits.%s: %g is below what holds the arm: gravity takes %g or more %s; raise it, check gravity "
                   "and payload, or set externally_supported if something else carries the arm",
                   joint, s->effort_limit[i], load.effort, where);
  return REFUSED("effort_rate_limits.%s: %g per s does not hold the arm %s: make it %g per s or more",
                 joint, s->rate_limit[i], where, load.rate);
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

/* At the arm's position: at least as well as with the present settings, if there are any. */
static int holds_at(const ArmSettings* x, const ArmSettings* now, const double* q, char* problem, size_t size) {
  double weight[N], before[N], inertia[N];
  model_gravity(q, x->model, weight);
  inertia_at(x, q, inertia);
  if (now) model_gravity(q, now->model, before);
  EACH {
    const Load load = load_of(&x->core.loop, i, weight[i], inertia[i]);
    double most[2] = {1, 1};
    if (now) {
      const Settings* s = &now->core.loop;
      const double was = load_of(s, i, before[i], inertia[i]).effort;
      if (was > 0) most[0] = greater(1, NO_WORSE * was / s->effort_limit[i]);
      most[1] = greater(1, NO_WORSE * load.rate / s->rate_limit[i]);
    }
    if (!joint_is_held(&x->core.loop, i, load, most, "where the arm is", problem, size)) return 0;
  }
  return 1;
}

int arm_settings_hold(const ArmSettings* x, const ArmSettings* now, const double* q, char* problem, size_t size) {
  const double most[2] = {1, 1};
  double weight[N], inertia[N], weights[N][POSES], least[N];
  if (q) return holds_at(x, now, q, problem, size);
  EACH least[i] = INFINITY;
  for (int k = 0; k < POSES; ++k) {
    model_gravity(POSITIONS[k], x->model, weight);
    inertia_at(x, POSITIONS[k], inertia);
    EACH { weights[i][k] = fabs(weight[i]); least[i] = smaller(least[i], inertia[i]); }
  }
  EACH {
    qsort(weights[i], POSES, sizeof(double), by_size);
    const Load load = load_of(&x->core.loop, i, weights[i][HELD_POSES - 1], least[i]);
    if (!joint_is_held(&x->core.loop, i, load, most, "in most poses", problem, size)) return 0;
  }
  return 1;
}
