// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* A period of the loop: `run_period` shows all steps from a state to an effort, from top to bottom. */

#include "memory.h"

/* --- the control step: law, blend, limits (step.py), compiled for the law and the arm or called back */

static inline void set_step(double* const* x, double t, double dt, const double* q, const double* qd, const double* reference) {
  x[TIMES][0] = t; x[TIMES][1] = dt;
  copy(x[STATE], q); copy(x[STATE + 1], qd);
  for (int k = 0; k < REFERENCES; ++k) copy(x[REFERENCE + k], reference + k * N);
}

/* Adds to the feed-forward the part of the planned efforts that the law does not give itself, for an arm on the
   reference and without integral. So an arm on its reference gets the planned effort under every law. This step changes
   no memory of the law, and the next step overwrites its results. */
static void add_planned(const Settings* s, const double* planned, double* reference) {
  StepMemory fresh = {0};
  double* const memory = s->step_arrays[MEMORY];
  fresh.has_requested = fresh.is_sending = 1;
  s->step_arrays[MEMORY] = (double*)&fresh;
  set_step(s->step_arrays, 0, 0, reference, reference + N, reference);
  s->step_run(s->step_arrays, s->step_constants);
  s->step_arrays[MEMORY] = memory;
  const double *own = s->step_arrays[RESULTS] + (ROWS - 1) * N, *effort = reference + 3 * N;
  EACH reference[3 * N + i] = isnan(planned[i]) ? effort[i] : planned[i] - own[i] + effort[i];
}

/* --- parts of a period */

/* For the first state, and after a gap without states: the arm is held at its present position. The efforts continue
   from the last command, unless this is another arm, because a simulation was reset. */
static void restart(const Settings* s, State* m, double t, const double* q) {
  int elsewhere = 0;
  EACH elsewhere |= fabs(q[i] - m->q[i]) > ELSEWHERE * s->uncertainty.scale[i];
  m->restarts += m->references.source != WAITING;
  if (m->clock_reset && elsewhere) reset_limiter(&m->memory);
  m->clock_reset = m->trail_count = 0;
  start(m, t, q);
  reset_step(&m->memory);
  blend(&m->memory, s->blend_time);
}

/* The rate limit measures the time between commands by the stamps of the states. States from a queue are processed one
   right after the other, whatever their stamps are. So a decrease of the age makes the last command count as sent
   later. A stamp ahead of the clock means that the clock lags; its age counts as 0. */
static void note_age(State* m, double age) {
  age = greater(age, 0);
  m->memory.sent_at -= age - m->state_age;
  m->state_age = age;
}

/* The load of a joint: the gravity effort, and the rate of effort that carries it and starts a motion in time. */
typedef struct { double effort, rate; } Load;

static Load load_of(const Settings* s, int i, double gravity, double inertia) {
  Load load = {s->externally_supported ? 0 : fabs(gravity), 0};
  load.rate = (s->sent_ratio[i] * load.effort + HELD_START * inertia) / HELD_RISE;
  return load;
}

/* The limit that a load exceeds: CORE_TOO_STRONG, CORE_TOO_FAST, or CORE_OK. `most`: factors on the limits. */
static int exceeds(const Settings* s, int i, Load load, const double* most) {
  const int is_carried = s->externally_supported || s->effort_limit[i] > 0;
  if (!is_carried || !(load.effort <= most[0] * s->effort_limit[i])) return CORE_TOO_STRONG;
  return load.rate <= most[1] * s->rate_limit[i] ? CORE_OK : CORE_TOO_FAST;
}

/* For the first state: whether the limits allow the efforts that hold the arm there; limits.py has the message.
   A model that gives no finite numbers is a fault of the law. */
static int is_held(const Settings* s, State* m, const double* q) {
  double gravity[N], mass[N * N];
  s->gravity(q, s->model, gravity);
  s->mass_matrix(q, s->model, mass);
  EACH {
    const Load load = load_of(s, i, gravity[i], mass[i * N + i]);
    if (!isfinite(load.effort) || !isfinite(load.rate)) return 1;
    const int why = exceeds(s, i, load, (const double[]){1, 1});
    if (!why) continue;
    if (why == CORE_TOO_STRONG) say(m, NO_PROBLEM, i, load.effort, s->effort_limit[i]);
    else say(m, NO_PROBLEM, i, load.rate, s->rate_limit[i]);
    return 0;
  }
  return 1;
}

/* The greatest tracking error of a joint: the tolerance, or the error at which the spring of a soft law gives the whole
   effort limit; without a spring there is none. */
static double find_most_error(const Settings* s, int i) {
  return s->law_stiffness[i] > 0 ? greater(s->tolerance[i], s->effort_limit[i] / s->law_stiffness[i]) : INFINITY;
}

/* The joint that exceeds its greatest tracking error most; -1 if there is none. */
static int joint_far_away(const State* m, const double* reference, const double* q) {
  int far = -1;
  double most = 0;
  EACH {
    const double beyond = fabs(reference[i] - q[i]) - m->most_error[i];
    if (!(beyond <= most)) { far = i; most = beyond; }
  }
  return far;
}

/* The reference for the state, with planned efforts. Returns it without them, in `bare` if they differ. */
static const double* find_reference(const Settings* s, State* m, double t, double dt, const double* q, double* bare,
                                    double* planned, double* reference) {
  References* y = &m->references;
  if (m->memory.lagging != 0) wait(y, dt);
  if (!s->follows) start(m, t, q); /* the user moves the arm; the next law begins at its position */
  m->time = t;
  proceed(s, y, t, q);
  if (y->source == STREAM) advance_limiter(s, y, t);
  if (y->source == TOOL) advance_tool(s, m, t);
  sample(y, t, reference);
  if (!planned_at(y, t, planned)) return reference;
  copy_whole(bare, reference);
  add_planned(s, planned, reference);
  return bare;
}

/* Stores the results of a valid control step, and the outcome of the trajectory. */
static void take_step(const Settings* s, State* m, Period* p, const double* given, const double* planned) {
  double* const* x = s->step_arrays;
  const int outcome = judge(&m->references, p->t, x[RESULTS] + ERROR * N, given, p->qd);
  StepMemory* after = (StepMemory*)x[AFTER];
  memcpy(p->rows, x[RESULTS], sizeof p->rows);
  memcpy(x[LAW_MEMORY], x[LAW_AFTER], (size_t)s->law_memory_width * sizeof(double));
  copy(m->gravity_last, x[RESULTS] + GRAVITY * N);
  m->gravity_known = 1;
  limit_unexplained(s, m, after, p->rows);
  m->memory = *after;
  if (outcome) {
    m->references.outcome = outcome;
    m->references.outcomes[m->references.goal_id % OUTCOMES] = outcome;
    if (outcome != CORE_SUCCEEDED) {
      m->references.violations++;
      m->references.violated_id = m->references.goal_id;
      start(m, p->t, p->q);
    }
  }
  m->active = 0;
  m->stepped = 1;
  copy(m->stepped_q, p->q); copy(m->stepped_qd, p->qd); copy(m->stepped_planned, planned);
  copy_whole(m->stepped_reference, given);
  m->applies = 1;
  EACH m->applied[i] = p->rows[i] + m->memory.added[i];
  remember_trail(m, p->t, p->q);
  note_motion(m, p->t, p->q, p->qd, &s->uncertainty);
}

void core_stop(Core* c) {
  State* m = &c->state;
  if (!c->settings) return;
  const Settings* s = &c->settings->loop;
  m->good = 0; m->estimate_t = -INFINITY;
  reset_limiter(&m->memory);
  end_goal(&m->references, CORE_SWITCHED_OFF);
  m->time = -INFINITY; m->references.source = WAITING; m->references.next = 0;
  reset_step(&m->memory);
  m->active = 0;
  m->count = 0; m->period = m->delay = m->before = m->allowed = 0; m->sampling_last = -INFINITY;
  forget_judgement(s, m);
  core_acknowledge(c);
  m->applies = m->trail_count = m->stepped = 0;
  reset_observer(m);
}

/* --- the period */

/* The law and the limits; a failure is a fault. */
static int run_law(Core* c, double dt, const double* given, const double* planned) {
  State* m = &c->state;
  Period* p = &c->period;
  const Settings* s = &c->settings->loop;
  double* const* x = s->step_arrays;
  set_step(x, p->t, dt, p->q, p->qd, p->reference);
  s->step_run(x, s->step_constants);
  if (x[FLAGS][0] == 0) {
    say_only(m, NO_NUMBERS);
    if (m->memory.is_sending != 0 || m->active) return react(s, m, p, p->t, FAULT_LAW, 1, 1);
    core_stop(c);
    return CORE_LAW_FAILED;
  }
  take_step(s, m, p, given, planned);
  return CORE_SEND;
}

static int run_period(Core* c) {
  State* m = &c->state;
  Period* p = &c->period;
  const Settings* s = &c->settings->loop;
  const double t = p->t;
  double bare[WHOLE], planned[N];
  int present, kind, far;
  p->kind = NO_FAULT;
  /* states, consistency */
  int code = validate(s, m, p);
  if (code) return code;
  code = check_state_consistency(s, m, p);
  update_prediction(s, m, t);
  if (code) return code;
  copy(m->last_q, p->q);
  if (m->references.source == WAITING && !is_held(s, m, p->q)) return CORE_STATE_NOT_HELD;
  const int begins = m->clock_reset || !(0 <= t - m->time && t - m->time <= s->state_timeout);
  if (begins) restart(s, m, t, p->q);
  const double dt = t - m->time;
  copy(m->q, p->q); copy(m->qd, p->qd);
  note_age(m, p->now - t);
  if (measure_sampling(s, m, t, p->now - t)) have_judged(s, m);
  note_growth(s, m);
  /* contact, faults */
  observe(s, m, dt, p->q, p->qd, begins);
  for (int k = 0; k < N + 8; ++k) p->external[k] = m->external[k];
  kind = detect(s, m, t, &present);
  if (kind >= 0) return react(s, m, p, t, kind, present, 1);
  if (m->active) end_fault(s, m, t, p->q);
  /* reference */
  const double* given = find_reference(s, m, t, dt, p->q, bare, planned, p->reference);
  far = joint_far_away(m, p->reference, p->q);
  if (far >= 0) {
    say(m, FAR_AWAY, far, fabs(p->reference[far] - p->q[far]), m->most_error[far]);
    return react(s, m, p, t, FAULT_FOLLOWING, 1, 1);
  }
  return run_law(c, dt, given, planned);
}

int core_update(Core* c, double t, double now, const double* q, const double* qd) {
  Period* p = &c->period;
  p->t = t; p->now = now;
  p->has_velocity = qd != 0;
  if (q != p->q) copy(p->q, q);
  if (qd && qd != p->qd) copy(p->qd, qd);
  if (!qd) clear(p->qd);
  return run_period(c);
}

int core_repeat(Core* c, double t, double now) {
  State* m = &c->state;
  if (m->memory.is_sending == 0) return 0;
  note_age(m, now - t);
  m->memory.sent_at = t;
  return 1;
}

double core_watch_due(const Core* c, double rests) {
  const State* m = &c->state;
  return m->active && m->phase != SILENT && m->period > 0 ? smaller(m->period, rests) : rests;
}

int core_watch(Core* c, double t) {
  State* m = &c->state;
  const double missing = t - m->time;
  c->period.kind = NO_FAULT;
  if (m->references.source == WAITING || !(missing > c->settings->loop.state_timeout)) return CORE_SILENT;
  say(m, MISSING, 0, missing, 0);
  c->period.age = missing;
  return react(&c->settings->loop, m, &c->period, t, FAULT_STATES, 1, 0);
}
