/* The settings of the loop, of parameters: a part of core.c.

   It is the twin in C of what Python does with the parameters of the controller node; test_control_export.py compares
   them for random parameters:

     find_model                CompiledDynamics.apply and Payload.inertial
     find_gains                laws/gains.py
     find_thresholds           Thresholds.of in faults/plausibility.py
     find_contact              ContactThresholds in contact/settings.py, MomentumObserver.parameters
     find_tolerance            following_tolerance in faults/supervisor.py
     core_settings_prepare     make_loop_settings and CompiledSettings
     core_settings_hold        faults/holding.py */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CoreSettings {
  Settings loop;
  Parameters given;
  double velocity_limit[N], deceleration[N], path[N], goal[N], goal_speed, goal_time, hold_time;
  double law_stiffness[N], law_damping[N]; /* the law's gains, as effort gains */
  double model[MODEL_WIDTH], step[STEP_WIDTH], observer[OBSERVER_WIDTH];
  double *constants, *observer_constants;
};

const CoreParameter* core_parameters(int* count) {
  *count = (int)(sizeof PARAMETERS / sizeof *PARAMETERS);
  return PARAMETERS;
}

CoreSettings* core_settings_create(void) {
  CoreSettings* x = calloc(1, sizeof *x);
  if (!x) return 0;
  x->constants = calloc((size_t)step_constants, sizeof *x->constants);
  x->observer_constants = calloc((size_t)contact_constants, sizeof *x->constants);
  if (x->constants && x->observer_constants) return x;
  core_settings_destroy(x);
  return 0;
}

void core_settings_destroy(CoreSettings* x) {
  if (!x) return;
  free(x->constants);
  free(x->observer_constants);
  free(x);
}

const Parameters* core_given(const CoreSettings* x) { return &x->given; }

double core_velocity_limit(const CoreSettings* x, int joint) { return x->velocity_limit[joint]; }

static double near_turn(const Settings* s, int joint, double reference, double q) {
  return s->circular[joint] ? q - s->turn * nearbyint((q - reference) / s->turn) : q;
}

double core_position(const CoreSettings* x, int joint, double near, double q) {
  return near_turn(&x->loop, joint, near, q);
}

static int problem_of(char* text, size_t size, const char* name, const char* what, double value) {
  snprintf(text, size, "%s: %s, not %g", name, what, value);
  return 0;
}

static int check_ranges(const Parameters* given, char* problem, size_t size) {
  for (size_t k = 0; k < sizeof PARAMETERS / sizeof *PARAMETERS; ++k) {
    const CoreParameter* item = PARAMETERS + k;
    const double *values = (const double*)given + item->place, *first = (const double*)&FIRST_PARAMETERS + item->place;
    for (int i = 0; i < item->count; ++i) {
      if (!isfinite(values[i])) return problem_of(problem, size, item->name, "must be a finite number", values[i]);
      if (item->kind != 's' && !(values[i] >= item->least && values[i] <= item->greatest)) {
        snprintf(problem, size, "%s: must be within [%g, %g], not %g", item->name, item->least, item->greatest,
                 values[i]);
        return 0;
      }
      if (item->fixed && values[i] != first[i]) {
        snprintf(problem, size, "%s: is fixed in this package to %g, not %g: export it again", item->name, first[i],
                 values[i]);
        return 0;
      }
    }
  }
  return 1;
}

/* --- the model */

/* Eigenvalues of a symmetric matrix of three rows are not negative, up to rounding: Sylvester's criterion. */
static int is_positive(double xx, double xy, double xz, double yy, double yz, double zz, double tolerance) {
  xx += tolerance; yy += tolerance; zz += tolerance;
  const double minor = xx * yy - xy * xy;
  return xx >= 0 && yy >= 0 && zz >= 0 && minor >= 0 && xx * zz - xz * xz >= 0 && yy * zz - yz * yz >= 0
         && minor * zz - yz * (xx * yz - xy * xz) + xz * (xy * yz - yy * xz) >= 0;
}

static int find_model(CoreSettings* x, char* problem, size_t size) {
  const Parameters* p = &x->given;
  const double *inertia = p->payload_inertia, *c = p->payload_com, m = p->payload_mass;
  const int link = (int)p->payload_link;
  double held[10], most = 1e-9;
  memcpy(x->model, FIRST_MODEL, sizeof x->model);
  for (int k = 0; k < 3; ++k) {
    x->model[k] = 0;
    for (int j = 0; j < 3; ++j) x->model[k] += ROOT_TO_BASE[3 * k + j] * p->gravity[j];
  }
  for (int k = 0; k < 6; ++k) most = greater(most, fabs(inertia[k]));
  const double xx = inertia[0], xy = inertia[1], xz = inertia[2], yy = inertia[3], yz = inertia[4], zz = inertia[5];
  const double half = 0.5 * (xx + yy + zz), tolerance = 1e-9 * most;
  if (!is_positive(half - xx, -xy, -xz, half - yy, -yz, half - zz, tolerance)
      || !is_positive(xx, xy, xz, yy, yz, zz, tolerance)) {
    snprintf(problem, size, "payload.inertia: must be positive, and no principal moment greater than the sum of the others");
    return 0;
  }
  if (link < 0) {
    if (m > 0) snprintf(problem, size, "payload.link: must name the link that holds the payload");
    return !(m > 0);
  }
  held[0] = m;
  for (int k = 0; k < 3; ++k) held[1 + k] = m * c[k];
  const double square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
  held[4] = xx + m * (square - c[0] * c[0]);
  held[5] = xy - m * c[0] * c[1];
  held[6] = yy + m * (square - c[1] * c[1]);
  held[7] = xz - m * c[0] * c[2];
  held[8] = yz - m * c[1] * c[2];
  held[9] = zz + m * (square - c[2] * c[2]);
  for (int k = 0; k < INERTIAL_WIDTH; ++k)
    for (int j = 0; j < 10; ++j) x->model[3 + 3 * N + k] += LINKS[link][10 * k + j] * held[j];
  for (int k = 0; k < MODEL_WIDTH; ++k)
    if (!isfinite(x->model[k])) {
      snprintf(problem, size, "payload, gravity: multiply to something beyond the range of numbers");
      return 0;
    }
  return 1;
}

static void inertia_at(const CoreSettings* x, const double* q, double* inertia) {
  double mass[N * N];
  model_mass_matrix(q, x->model, mass);
  EACH inertia[i] = mass[i * N + i];
}

/* --- gains */

static void find_gains(const Parameters* p, const double* inertia, int acceleration, double* kp, double* kd, double* ki) {
  EACH {
    const double stiffness = p->gains_stiffness[i], damping = p->gains_damping[i], rho = p->gains_integral_rate[i];
    const double omega = stiffness > 0 ? sqrt(stiffness / inertia[i]) : p->gains_natural_frequency[i];
    const double spring = omega * omega;
    const double damper = damping > 0 ? damping / inertia[i] : 2 * p->gains_damping_ratio[i] * omega;
    const double scale = acceleration ? 1 : inertia[i];
    kp[i] = scale * (spring + damper * rho);
    kd[i] = scale * (damper + rho);
    ki[i] = scale * spring * rho;
  }
}

static void find_thresholds(CoreSettings* x, const double* inertia) {
  Settings* s = &x->loop;
  const double* coulomb = x->model + 3 + 2 * N;
  EACH {
    const double velocity = x->velocity_limit[i], effort = s->effort_limit[i];
    const double friction = greater(coulomb[i], ROBOT_FRICTION[i]), unknown = x->given.unknown_friction * effort;
    s->speed_error[i] = smaller(SPEED_ERROR, SPEED_ERROR * velocity);
    s->lack[i] = smaller(LACKING_SPEED, PART * velocity);
    s->inertia[i] = inertia[i];
    s->friction[i] = 2 * UNSURE * friction;
    s->modelled[i] = 2 * s->static_ratio * coulomb[i];
    s->doubt[i] = 2 * (friction > 0 ? KNOWN : 1) * unknown;
    s->least[i] = 2 * KNOWN * unknown;
    s->pull[i] = s->stiffness[i] > 0 ? STUCK * s->stiffness[i] : INFINITY;
    s->fast[i] = FAST * velocity;
    s->moves[i] = s->follows ? MOVES * smaller(1, velocity) : INFINITY;
    s->beyond[i] = BEYOND * effort;
  }
}

static void find_tolerance(CoreSettings* x, const double* inertia, const double* kp) {
  Settings* s = &x->loop;
  EACH {
    const double stiffness = kp[i] * (LAW_ACCELERATES ? inertia[i] : 1);
    const double soft = smaller(FAR_ACCELERATION * inertia[i], FAR_EFFORT * s->effort_limit[i]) / stiffness;
    s->tolerance[i] = greater(x->given.following_tolerance, soft);
    if (x->given.following_tolerance == 0 || !s->follows) s->tolerance[i] = INFINITY;
  }
}

static double bound(double value) { return value > 0 ? value : INFINITY; }

/* ContactThresholds.of in contact/settings.py, and the parameters of the observer */
static void find_contact(CoreSettings* x) {
  Settings* s = &x->loop;
  const Parameters* p = &x->given;
  if (!ARM_OBSERVES) return;
  EACH { s->touch[i] = bound(p->contact_touch[i]); s->collision[i] = bound(p->contact_collision[i]); }
  s->touch_wrench[0] = bound(p->contact_touch_force); s->touch_wrench[1] = bound(p->contact_touch_torque);
  s->collision_wrench[0] = bound(p->contact_collision_force); s->collision_wrench[1] = bound(p->contact_collision_torque);
  s->energy = bound(p->contact_energy);
  memcpy(x->observer, FIRST_OBSERVER, sizeof x->observer);
  x->observer[0] = p->contact_gain;
  memcpy(x->observer + OBSERVER_WIDTH - MODEL_WIDTH, x->model, sizeof x->model);
  contact_prepare(x->observer, x->observer_constants);
  s->observer_run = contact_run;
  s->observer_constants = x->observer_constants;
}

/* The natural frequency of a joint that moves alone, by the gains of the law. */
static double frequency(const double* kp, const double* kd, const double* inertia, int i) {
  const double scale = LAW_ACCELERATES ? 1 : inertia[i];
  return greater(sqrt(kp[i] / scale), 0.5 * kd[i] / scale);
}

/* The period of the states that the gains are stable with. That of the exported gains was computed when the package was
   written; frequencies that are k times as high need a period that is k times as short. */
static int check_period(double period, const double* kp, const double* kd, const double* inertia, char* problem, size_t size) {
  double quicker = 1;
  EACH if (FIRST_FREQUENCY[i] > 0) quicker = greater(quicker, frequency(kp, kd, inertia, i) / FIRST_FREQUENCY[i]);
  if (period * quicker <= GREATEST_PERIOD) return 1;
  snprintf(problem, size, "gains: a period of %g s is too long for them, %g s is the longest: lower natural frequencies, or raise "
           "update_rate", period, GREATEST_PERIOD / quicker);
  return 0;
}

int core_settings_prepare(CoreSettings* x, const Parameters* given, double period, char* problem, size_t size) {
  Settings* s = &x->loop;
  double inertia[N], kp[N], kd[N], ki[N], none[N];
  problem[0] = 0;
  if (!check_ranges(given, problem, size)) return 0;
  x->given = *given;
  if (!find_model(x, problem, size)) return 0;
  inertia_at(x, HOME, inertia);
  find_gains(given, inertia, LAW_ACCELERATES, kp, kd, ki);
  if (period > 0 && !check_period(period, kp, kd, inertia, problem, size)) return 0;
  if (period > 0 && 1.5 * period > given->state_timeout) {
    snprintf(problem, size, "state_timeout: a state comes every %g s, too rarely for %g s", period, given->state_timeout);
    return 0;
  }
  *s = FIRST_SETTINGS;
  s->step_run = step_run; s->gravity = model_gravity; s->inverse = model_inverse; s->forward = model_forward;
  s->step_constants = x->constants; s->model = x->model;
  copy_safety(s, given);
  s->estimates_velocity = given->missing_velocity != 0;
  for (int k = 0; k < KINDS; ++k) {
    for (int l = 0; l < LEVELS; ++l) s->answers[k * LEVELS + l] = ESCALATION[k][(int)given->faults_answer[k]][l];
    s->expiry[k] = given->faults_expiry[k];
  }
  find_gains(given, inertia, 0, s->stiffness, s->damping, none);
  EACH {
    s->effort_limit[i] = given->effort_limits[i] < NO_LIMIT ? given->effort_limits[i] : INFINITY;
    s->rate_limit[i] = given->effort_rate_limits[i] < NO_LIMIT ? given->effort_rate_limits[i] : INFINITY;
    x->velocity_limit[i] = given->velocity_limits[i] < NO_LIMIT ? given->velocity_limits[i] : INFINITY;
    s->velocity_limit[i] = x->velocity_limit[i];
    s->greatest_speed[i] = given->overspeed * x->velocity_limit[i];
    x->path[i] = given->constraints_trajectory[i] > 0 ? given->constraints_trajectory[i] : INFINITY;
    x->goal[i] = given->constraints_goal[i] > 0 ? given->constraints_goal[i] : INFINITY;
    const double deceleration = given->constraints_max_deceleration_on_cancel[i];
    x->deceleration[i] = deceleration > 0 ? deceleration : INFINITY;
    x->law_stiffness[i] = s->follows ? (LAW_ACCELERATES ? inertia[i] : 1) * kp[i] : 0;
    x->law_damping[i] = s->follows ? (LAW_ACCELERATES ? inertia[i] : 1) * kd[i] : 0;
  }
  x->goal_speed = given->constraints_stopped_velocity_tolerance > 0 ? given->constraints_stopped_velocity_tolerance : INFINITY;
  x->goal_time = given->constraints_goal_time > 0 ? given->constraints_goal_time : INFINITY;
  x->hold_time = given->cmd_timeout > 0 ? given->cmd_timeout : INFINITY;
  find_contact(x);
  find_thresholds(x, inertia);
  find_tolerance(x, inertia, kp);
  memcpy(x->step, FIRST_STEP, sizeof x->step);
  copy_step(x->step, given);
  copy(x->step + STEP_effort_limit, s->effort_limit);
  copy(x->step + STEP_rate_limit, s->rate_limit);
  copy(x->step + STEP_stiffness, s->stiffness);
  copy(x->step + STEP_damping, s->damping);
  copy(x->step + STEP_kp, kp);
  copy(x->step + STEP_kd, kd);
  copy(x->step + STEP_ki, ki);
  memcpy(x->step + STEP_model, x->model, sizeof x->model);
  step_prepare(x->step, x->constants);
  return 1;
}

/* --- holding */

static int joint_is_held(const CoreSettings* x, int i, double gravity, double rise, double most_effort, double most_rise,
                         const char* where, char* problem, size_t size) {
  const Settings* s = &x->loop;
  const int carried = x->given.allow_sagging != 0;
  const double effort = gravity == 0 && (s->effort_limit[i] > 0 || carried) ? 0 : gravity / s->effort_limit[i];
  const double rises = rise / (s->rate_limit[i] * RISE);
  const int is_held = (carried || s->effort_limit[i] > 0) && effort <= most_effort;
  if (is_held && rises <= most_rise) return 1;
  if (!is_held)
    snprintf(problem, size, "effort_limits.%s: %g is below what holds the arm: gravity takes %g or more %s; raise it, check "
             "gravity and payload, or set allow_sagging if something else carries the arm",
             core_joints[i], s->effort_limit[i], gravity, where);
  else
    snprintf(problem, size, "effort_rate_limits.%s: %g per s does not hold the arm %s: make it %g per s or more",
             core_joints[i], s->rate_limit[i], where, rise / RISE);
  return 0;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

int core_settings_hold(const CoreSettings* x, const CoreSettings* now, const double* q, char* problem, size_t size) {
  const int carried = x->given.allow_sagging != 0;
  double weight[N], before[N], inertia[N], weights[N][POSES], least[N];
  if (q) {
    model_gravity(q, x->model, weight);
    inertia_at(x, q, inertia);
    if (now) model_gravity(q, now->model, before);
    EACH {
      const double gravity = carried ? 0 : fabs(weight[i]), rise = x->loop.sent_part[i] * gravity + START * inertia[i];
      double most_effort = 1, most_rise = 1;
      if (now) {
        const double was = now->given.allow_sagging != 0 ? 0 : fabs(before[i]);
        if (was > 0) most_effort = greater(1, NO_WORSE * was / now->loop.effort_limit[i]);
        most_rise = greater(1, NO_WORSE * rise / (now->loop.rate_limit[i] * RISE));
      }
      if (!joint_is_held(x, i, gravity, rise, most_effort, most_rise, "where the arm is", problem, size)) return 0;
    }
    return 1;
  }
  EACH least[i] = INFINITY;
  for (int k = 0; k < POSES; ++k) {
    model_gravity(POSITIONS[k], x->model, weight);
    inertia_at(x, POSITIONS[k], inertia);
    EACH {
      weights[i][k] = carried ? 0 : fabs(weight[i]);
      least[i] = smaller(least[i], inertia[i]);
    }
  }
  EACH {
    qsort(weights[i], POSES, sizeof(double), by_size);
    const double gravity = weights[i][HELD_POSES - 1];
    const double rise = x->loop.sent_part[i] * gravity + START * least[i];
    if (!joint_is_held(x, i, gravity, rise, 1, 1, "in most poses", problem, size)) return 0;
  }
  return 1;
}
