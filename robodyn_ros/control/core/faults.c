// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Faults: their detection, and the efforts of the reactions. */

#include "memory.h"

#define RECURRENCE_TIME 10.0 /* time within which faults of one kind are counted: RECURRENCES of them latch it [s] */
#define TRAIL_PERIOD 0.02 /* time between two positions of the trail [s] */
#define EASE 0.1 /* time in which a retreat accelerates to the speed of the recorded path [s] */
#define LIFE 0.01 /* distance by which a suspect joint has to move [rad], a tenth of it [m] */
#define DISOBEY_TIME 0.01 /* time for which a joint may accelerate under a reaction: efforts reverse in it [s] */
#define SPEED_GROWTH 1.1 /* a joint has accelerated if its speed exceeds that at the beginning by this factor */
#define SMOOTH 0.36787944117144233 /* greatest rate times age of a damping that does not overshoot, 1 / e */
#define FAST 0.5 /* ratio of the velocity limit below which an acceleration is ignored */
#define LEAST_RESPONSE 0.25 /* least realized ratio of the commanded effort of a drive that responds: half of 0.5 */

static void remember_trail(State* m, double t, const double* q) {
  if (m->trail_count && t - m->trail_time < TRAIL_PERIOD) return;
  m->trail_last = (m->trail_last + 1) % TRAIL;
  if (m->trail_count < TRAIL) m->trail_count++;
  copy(m->trail + m->trail_last * N, q);
  m->trail_time = t;
}

static const double* trail_at(const State* m, int64_t back) {
  return m->trail + (m->trail_last - back + TRAIL) % TRAIL * N;
}

/* The position at which the arm is to be held. */
static void target(const State* m, double t, double* q) {
  copy(q, m->found);
  if (m->phase != RETREAT || m->trail_count == 0) return;
  const double since = t - m->active_begin;
  const double place = (since > EASE ? since - EASE / 2 : since * since / (2 * EASE)) / TRAIL_PERIOD;
  const int64_t step = (int64_t)smaller(place, (double)m->trail_count);
  if (step == m->trail_count) { copy(q, trail_at(m, step - 1)); return; }
  const double *begin = step == 0 ? m->found : trail_at(m, step - 1), *end = trail_at(m, step);
  EACH q[i] = begin[i] + (place - (double)step) * (end[i] - begin[i]);
}

static void forget_history(State* m, int kind) { m->history_latched[kind] = 0; m->spent[kind] = 0; }

/* Each judge_ function returns the kind of a fault, or -1 for none, and stores the problem; faults/table.py names them.
   This one tests whether states contradict each other or the model. */
static int judge_consistency(const Settings* s, State* m) {
  const Consistency* c = &m->consistency;
  const int trusted = c->verdict == TRUSTED;
  if (!trusted) {
    m->suspect_problem = c->problem + PROBLEM_KINDS * c->setting;
    m->suspect_value = c->value; m->suspect_bound = c->bound;
    m->suspect_joint = c->joint; m->suspect_q = m->q[c->joint];
    m->is_suspect = c->verdict == FAULTY && c->problem == STANDS_DRIVEN;
  }
  /* a joint that stood although it was driven stays suspect until it moves: at rest no dead encoder can be detected */
  if (m->is_suspect && fabs(m->q[m->suspect_joint] - m->suspect_q) > LIFE * s->uncertainty.scale[m->suspect_joint])
    m->is_suspect = 0;
  if (trusted && !m->is_suspect) return -1;
  say(m, (int)m->suspect_problem, (int)m->suspect_joint, m->suspect_value, m->suspect_bound);
  return !trusted && c->problem == DISOBEYS ? FAULT_FOLLOWING : FAULT_SENSOR;
}

/* A joint is too fast if noise does not explain that it exceeds its velocity limit: the sum of what its velocities exceed
   the limit by is tested as in consistency.c, with a state as the unit of time. */
static int judge_speed(const Settings* s, State* m) {
  const Consistency* c = &m->consistency;
  const int unconfirmed = is_unconfirmed(c);
  int joint = -1;
  double most = 0;
  EACH {
    const double speed = fabs(m->qd[i]), proven = unconfirmed ? smaller(speed, c->least_speed[i]) : speed;
    const double excess = proven - s->velocity_limit[i], beyond = proven - s->greatest_speed[i];
    if (excess <= 0 && m->overspeed[i] == 0) continue;
    const double sigma = velocity_noise_of(&s->uncertainty, c, i), bound = log_test_count() * sigma / 2;
    m->overspeed[i] = smaller(greater(m->overspeed[i] + excess - sigma, 0), bound);
    if (m->overspeed[i] == bound && beyond > most) { joint = i; most = beyond; }
  }
  if (joint >= 0) say(m, TOO_FAST, joint, m->qd[joint], s->greatest_speed[joint]);
  else if (!unconfirmed && s->observer_run && m->external[ENERGY] > s->energy)
    say(m, CONTACT_ENERGY, 0, m->external[ENERGY], s->energy);
  else return -1;
  return FAULT_SPEED;
}

static int judge_publisher(const Settings* s, State* m) {
  (void)s;
  if (!m->conflict) return -1;
  say_only(m, SEVERAL_PUBLISHERS);
  return FAULT_PUBLISHER;
}

static int judge_rate(const Settings* s, State* m) {
  if (!(m->unstable || m->period > s->state_timeout)) return -1;
  if (m->found_delay > 0) say(m, TOO_LATE, 0, m->found_delay, 0);
  else say(m, TOO_RARE, 0, m->carried, m->period);
  return FAULT_RATE;
}

static int judge_touch(const Settings* s, State* m) {
  int contact = m->given_contact ? FAULT_COLLISION + (int)m->given_contact - 1 : -1;
  if (contact != -1) say_only(m, NO_PROBLEM);
  if (s->observer_run && s->judges_contact && contact != FAULT_COLLISION) {
    CoreRefusal found;
    const int kind = core_judge_contact((const CoreSettings*)s, m->external, &found);
    if (kind) { say(m, (int)found.why, (int)found.joint, found.value, found.limit); contact = FAULT_COLLISION + kind - 1; }
  }
  return contact >= 0 && m->active && m->active_kind == FAULT_COLLISION ? FAULT_COLLISION : contact;
}

/* A latched fault whose cause has gone; -1 if there is none. */
static int find_latched(const Settings* s, State* m, double t) {
  for (int k = 0; k < KINDS; ++k) {
    m->seen[k] = smaller(m->seen[k], t); /* time may go back */
    if (m->history_latched[k] && t - m->seen[k] >= s->settled_time) forget_history(m, k);
    if (m->history_latched[k]) { say_only(m, LATCHED); return k; }
  }
  return -1;
}

/* Whether the reaction still has to brake the arm before the law continues. */
static int is_braked(const Settings* s, const State* m) {
  int moves = 0;
  EACH moves |= fabs(m->qd[i]) > SLOW * s->velocity_limit[i];
  return m->active_kind == FAULT_SENSOR && m->carries && m->phase == HOLD && moves;
}

/* Kind of the fault of a usable state, -1 for none; `present` is 0 if its cause has gone and the fault lasts. */
static int detect(const Settings* s, State* m, double t, int* present) {
  static int (*const judges[])(const Settings*, State*) = {JUDGES};
  int kind = -1;
  *present = 1;
  for (size_t k = 0; kind < 0 && k < sizeof judges / sizeof *judges; ++k) kind = judges[k](s, m);
  if (kind >= 0 || !m->active) return kind;
  if (is_unconfirmed(&m->consistency)) return (int)m->active_kind; /* an unconfirmed state ends no fault */
  if (is_braked(s, m)) { *present = 0; return (int)m->active_kind; }
  kind = find_latched(s, m, t);
  *present = kind < 0;
  return kind;
}

/* Counts a recurrence of the fault; RECURRENCES of them latch it. */
static void repeat(const Settings* s, State* m, int kind, double t) {
  double* begins = m->begins + kind * RECURRENCES;
  int64_t gone = 0, count = m->begins_count[kind];
  if (!(0 <= t - m->seen[kind] && t - m->seen[kind] < s->settled_time)) forget_history(m, kind);
  begins[count++] = t;
  while (!(0 <= t - begins[gone] && t - begins[gone] <= RECURRENCE_TIME)) ++gone;
  for (int64_t k = gone; k < count; ++k) begins[k - gone] = begins[k];
  m->begins_count[kind] = count -= gone;
  if (count < RECURRENCES) return;
  m->begins_count[kind] = 0;
  m->history_latched[kind] = 1;
}

/* The gravity effort to send at q; the last valid one if the model gives no finite numbers. */
static void gravity_effort(const Settings* s, State* m, const double* q, double* effort) {
  s->gravity(q, s->model, effort);
  if (is_finite(effort)) { copy(m->gravity_last, effort); m->gravity_known = 1; }
  EACH effort[i] = m->gravity_known ? s->sent_ratio[i] * m->gravity_last[i] : 0;
}

/* The effort that carries the arm at q: gravity, and the error of the model that was observed lately. */
static void carry(const Settings* s, State* m, const double* q, double* effort) {
  gravity_effort(s, m, q, effort);
  EACH effort[i] += m->gravity_correction[i];
}

/* The gravity effort that the drives add themselves. */
static void find_added(const Settings* s, const State* m, double* added) {
  EACH added[i] = m->gravity_known ? (1 - s->sent_ratio[i]) * m->gravity_last[i] : 0;
}

/* --- whether the drives obey a reaction */

static void begin_drive_check(State* m, double t, const double* qd) {
  EACH { m->obeyed_speed[i] = m->earlier_speed[i] = fabs(qd[i]); m->disobeys[i] = m->slower[i] = 0; }
  m->accelerates_since = m->earlier_t = t;
  m->released = 0;
}

/* Whether the test of efforts has found that the drive of a joint disobeys. */
static int is_found(const Consistency* c, int i) {
  return c->verdict == FAULTY && c->problem == DISOBEYS && c->joint == i;
}

/* Whether the motion of the latest interval has shown what the drive of a joint does under this reaction. */
static int is_drive_seen(const State* m, int i) {
  return m->consistency.realized_t > m->active_begin || is_found(&m->consistency, i);
}

/* What that motion shows of the commanded effort: 1 for at least a part of it, -1 for as much of its reverse, 0 for
   neither. */
static int drive_response(const Consistency* c, int i) {
  const double product = c->realized[i] * c->commanded[i], least = LEAST_RESPONSE * (c->commanded[i] * c->commanded[i]);
  return product >= least ? 1 : product > -least ? 0 : -1;
}

/* Whether a drive responds. If no velocity has been confirmed since the reaction began: whether the model predicts that
   the joint accelerates, by its weight or by other joints. */
static int drive_responds(const State* m, int i, double qd, const double* predicted) {
  return is_drive_seen(m, i) ? drive_response(&m->consistency, i) > 0 : predicted[i] * qd > 0;
}

/* The speed above which a joint whose drive does not respond gets no more effort: it has accelerated. If this drive was
   found to disobey, any speed that is not slow is enough. */
static double release_speed(const Settings* s, const State* m, int i) {
  if (is_found(&m->consistency, i)) return SLOW * s->velocity_limit[i];
  return greater(SPEED_GROWTH * m->obeyed_speed[i], FAST * s->velocity_limit[i]);
}

/* Finds the joints that have become slower, in DISOBEY_TIME or from one state to the next. */
static void compare_speeds(State* m, double t, const double* qd) {
  if (0 <= t - m->earlier_t && t - m->earlier_t < DISOBEY_TIME * ALMOST) return; /* time may go back */
  m->earlier_t = t;
  EACH { m->slower[i] = fabs(qd[i]) < m->earlier_speed[i]; m->earlier_speed[i] = fabs(qd[i]); }
}

/* Nonzero if the drives obey the reaction. A joint disobeys if it accelerates for longer than efforts take to change,
   and its drive does not respond; what it gains while its drive responds does not count. Then the effort does not take
   energy out, and the joint gets no more effort. */
static int obeys(const Settings* s, State* m, double t, const double* q, const double* qd) {
  int fastest = -1;
  double gained[N];
  if (m->released) return 0;
  compare_speeds(m, t, qd);
  s->forward(q, qd, m->applied, s->model, gained);
  EACH {
    const double speed = fabs(qd[i]);
    const int responds = drive_responds(m, i, qd[i], gained);
    if (responds) m->obeyed_speed[i] = greater(m->obeyed_speed[i], speed);
    m->disobeys[i] = !responds && (!m->slower[i] || is_found(&m->consistency, i)) && speed > release_speed(s, m, i);
    if (m->disobeys[i] && (fastest < 0 || speed > fabs(qd[fastest]))) fastest = i;
  }
  if (fastest < 0) { m->accelerates_since = t; return 1; }
  const double least = is_found(&m->consistency, fastest) ? 0 : DISOBEY_TIME + m->period + m->delay + m->found_delay;
  if (t - m->accelerates_since < least * ALMOST) return 1;
  m->released = 1;
  say(m, GROWS_FASTER, fastest, qd[fastest], 0);
  m->history_latched[m->active_kind] = 1; /* at rest it cannot be detected whether the drive obeys again */
  return 0;
}

/* Whether a drive may have caused the fault. */
static int suspects_drives(const State* m) { return m->active_kind == FAULT_FOLLOWING || m->active_kind == FAULT_SPEED; }

/* --- efforts of a reaction */

/* The spring of a hold. Its effort is at most the possible error of the model; beyond that the held position follows
   the arm. */
static double spring(const Settings* s, State* m, int i, double held, double q) {
  const double most = m->gravity_error[i] + s->uncertainty.unknown_friction[i];
  const double stiffness = m->carried_stiffness[i], effort = within(stiffness * (held - q), most);
  if (m->phase == HOLD && stiffness > 0) m->found[i] = q + effort / stiffness;
  return effort;
}

/* Adds the damping of a reaction, -λ M v: all joints slow down at the same rate. A damping -D v of each joint by itself
   would throw the light joints by the deceleration of the heavy ones, and so would a limit of one joint's effort: the
   limits scale all of it. λ = vᵀ D v / vᵀ M v takes as much power out as -D v, and is at most the greatest eigenvalue of
   M⁻¹ D. For velocities of this age, v' = -λ v(t - age) does not overshoot if λ age ≤ 1/e. If the model gives no mass
   matrix, the damping is -D v. */
static void add_damping(const Settings* s, const State* m, const double* q, const double* v, double age, double* effort) {
  double mass[N * N], momentum[N], power = 0, energy = 0;
  find_momentum(s, q, v, mass, momentum);
  EACH {
    power += s->damping[i] * v[i] * v[i];
    energy += momentum[i] * v[i];
  }
  if (!(is_finite(momentum) && energy > 0)) { EACH effort[i] -= m->carried_damping[i] * v[i]; return; }
  double rate = smaller(power / energy, SMOOTH / age);
  EACH {
    const double most = s->effort_limit[i], room = momentum[i] > 0 ? most + effort[i] : most - effort[i];
    if (rate * fabs(momentum[i]) > room) rate = greater(room, 0) / fabs(momentum[i]);
  }
  EACH effort[i] -= rate * momentum[i];
}

/* Begins a reaction without valid states. */
static void begin_blind(const Settings* s, State* m, double t) {
  m->blind = 1; m->blind_begin = t;
  if (!is_prediction_current(s, m)) begin_prediction(s, m);
}

/* Mean age of the states that the next command acts on: half of its duration, which counts as the longest one so far. */
static double blind_age(State* m, double t, int begins) {
  m->longest_hold = begins ? m->period : greater(m->longest_hold, t - m->blind_t);
  m->blind_t = t;
  return m->longest_hold / 2;
}

/* Without valid states: gravity compensation, and damping by the estimated velocity. An arm that moved is braked for
   BRAKING at most: after that its weight could accelerate it again, and only brakes hold it. So is one with a suspect
   joint, which may move although its encoder shows no motion. Nonzero if no more effort is to be sent. */
static int effort_without_state(const Settings* s, State* m, double t, int has_state, double* effort) {
  const int begins = !m->blind;
  const double age = blind_age(m, t, begins);
  if (begins) begin_blind(s, m, t);
  predict_motion(s, m, t);
  carry(s, m, m->predicted_q, effort);
  if (begins) begin_drive_check(m, t, m->predicted_v);
  const int is_known = estimate_motion(s, m, t, has_state), predicts_only = m->predicts && (!is_known || m->is_suspect);
  if (begins) EACH {
    m->found[i] = m->predicted_q[i];
    m->obeyed_speed[i] = greater(m->obeyed_speed[i], fabs(m->estimated_v[i]));
  }
  if (t >= (predicts_only ? smaller(m->until, m->blind_begin + BRAKING) : m->until)) return 1;
  if ((predicts_only && !is_below_limits(s, m, t)) || !obeys(s, m, t, m->predicted_q, m->estimated_v)) return 1;
  add_damping(s, m, m->predicted_q, m->estimated_v, age, effort);
  EACH if (is_known) effort[i] += spring(s, m, i, m->found[i], m->predicted_q[i]);
  return 0;
}

/* Valid states have come again. What joints gained while none came is not held against their drives. */
static void end_blind(State* m) {
  if (m->blind) EACH m->obeyed_speed[i] = greater(m->obeyed_speed[i], fabs(m->qd[i]));
  m->blind = 0;
}

/* Joints that disobey get zero effort. The effort of a dead drive stays: the drive may come back. */
static void release(const State* m, double* effort) {
  EACH {
    const int dead = is_drive_seen(m, i) && drive_response(&m->consistency, i) == 0;
    if (m->disobeys[i] && !dead) effort[i] = 0;
  }
}

/* With valid states. Gravity and damping are those of the middle of the command, for which the position is extrapolated.
   After a fault that a drive may have caused, each joint is damped by itself, because a drive that disobeys does not take
   its part of the damping. The last command carries the arm, because drives may repeat it until they brake. Nonzero if it
   is the last. */
static int effort_with_state(const Settings* s, State* m, double t, const double* q, const double* qd, double* effort) {
  double held[N], now[N];
  if (m->blind) copy(m->found, q);
  end_blind(m);
  const double age = m->delay + m->found_delay + m->period / 2;
  EACH now[i] = q[i] + age * qd[i];
  const int ends = !obeys(s, m, t, q, qd) || t >= m->until;
  if (m->carries || ends) carry(s, m, now, effort); else clear(effort);
  if (ends) {
    copy(m->found, q);
    release(m, effort);
    return 1;
  }
  target(m, t, held);
  EACH if (m->carries && m->phase != FLOAT) effort[i] += spring(s, m, i, held[i], q[i]);
  if (m->carries && !suspects_drives(m)) add_damping(s, m, now, qd, age, effort);
  else EACH effort[i] -= m->carried_damping[i] * qd[i];
  return 0;
}

/* The fault is over: the arm is held where it is. */
static void end_fault(const Settings* s, State* m, double t, const double* q) {
  start(m, t, q);
  blend(&m->memory, s->blend_time);
  m->trail_count = 0;
}

/* Begins a reaction, or replaces the present one. */
static void begin_reaction(const Settings* s, State* m, int kind, double t) {
  const int before = m->active != 0;
  int64_t reaction = s->reactions[kind];
  if (before && m->phase == RETREAT) m->trail_count = 0;
  const int was_silent = before && m->phase == SILENT, ends = was_silent || reaction == SILENT;
  const double left = ends ? 0 : greater(s->max_duration[kind] - m->spent[kind], 0);
  if (ends) reaction = was_silent ? SILENT : HOLD; /* silence lasts as long as there is a fault; before it, a last command */
  m->carries = reaction != DAMP;
  m->faults++;
  m->active = 1; m->active_kind = kind; m->phase = reaction;
  m->active_begin = t; m->until = reaction == WAIT ? INFINITY : t + left;
  copy(m->found, m->q);
  if (!before) begin_drive_check(m, t, m->qd);
  end_blind(m);
  find_gravity_error(s, m, m->q);
}

/* Sends the effort of the reaction, if it has not ended. */
static int send_reaction(const Settings* s, State* m, Period* p, double t, int has_state) {
  double effort[N], added[N];
  int limited = 0;
  if (m->phase == SILENT && m->memory.is_sending != 0) pause_sending(&m->memory, t);
  if (m->memory.is_sending == 0) return CORE_SILENT;
  if (t < m->active_begin) { m->until += t - m->active_begin; m->active_begin = t; }
  const int ends = has_state && p->kind != FAULT_SENSOR ? effort_with_state(s, m, t, p->q, p->qd, effort)
    : effort_without_state(s, m, t, has_state, effort);
  if (ends && !has_state) { m->phase = SILENT; pause_sending(&m->memory, t); return CORE_SILENT; }
  find_added(s, m, added);
  limit(s, &m->memory, t, effort, added, p->rows);
  EACH limited |= p->rows[RATE_LIMITED * N + i] != 0;
  if (ends && !limited) m->phase = SILENT; /* this is the last command */
  m->applies = 1;
  EACH m->applied[i] = p->rows[i] + added[i];
  return CORE_SEND;
}

/* The reaction to a fault. The period has a state if `has_state`. */
static int react(const Settings* s, State* m, Period* p, double t, int kind, int present, int has_state) {
  const int another = !m->active || m->active_kind != kind, returns = present && m->active && !m->present;
  reset_step(&m->memory);
  if (has_state) start(m, t, p->q);
  if (!another) m->spent[kind] += greater(t - m->reacted[kind], 0);
  m->reacted[kind] = t;
  if ((another || returns) && present) repeat(s, m, kind, t);
  if (s->latches[kind]) m->history_latched[kind] = 1;
  if (another) begin_reaction(s, m, kind, t);
  m->present = present; m->latched = m->history_latched[kind];
  if (present) m->seen[kind] = t;
  p->kind = kind;
  m->applies = 0;
  return send_reaction(s, m, p, t, has_state);
}
