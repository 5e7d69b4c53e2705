// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Faults: what is wrong, and what is sent because of it. */

#include "memory.h"

#define RECURRENCE_TIME 10.0 /* time within which faults of one class are counted: RECURRENCES of them latch it [s] */
#define TRAIL_PERIOD 0.02 /* time between two positions of the trail [s] */
#define EASE 0.1 /* time in which a retreat comes to the speed that the arm came with [s] */
#define LIFE 0.01 /* distance by which a suspect joint has to move [rad], a tenth of it [m] */
#define STANDS 5e-3 /* how far its joints may move within that time [rad] or [m] */
#define EXPECTED_STEP 5e-3 /* step of the motion that the model expects [s] */
#define EXPECTED_STEPS 20 /* most of them in a period */
#define VELOCITY_TIME 0.005 /* time constant of the velocity of positions [s] */
#define LATELY 0.05 /* time for which a speed counts as recent [s] */
#define BRAKING 0.15 /* how long an arm may be braked without states that can be trusted [s] */
#define SLOW 0.1 /* ratio of the velocity limit that a joint may have which moved less */
#define PATIENCE 0.01 /* how long a joint may become faster under a reaction: efforts reverse within that time [s] */
#define GROWTH 1.1 /* ratio of its speed at the beginning from which on a joint has become faster */
#define FAST 0.5 /* ratio of the velocity limit below which that does not count */
#define OBEYED 0.25 /* ratio of its effort from which on a drive acts: half of one that gives half of it */

static void remember_trail(State* m, double t, const double* q) {
  if (m->trail_count && 0 <= t - m->trail_time && t - m->trail_time < TRAIL_PERIOD) return;
  m->trail_last = (m->trail_last + 1) % TRAIL;
  if (m->trail_count < TRAIL) m->trail_count++;
  copy(m->trail + m->trail_last * N, q);
  m->trail_time = t;
}

static const double* trail_at(const State* m, int64_t back) {
  return m->trail + (m->trail_last - back + TRAIL) % TRAIL * N;
}

/* Where the arm is to be held. */
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

static void forget_history(State* m, int kind) { m->history_latched[kind] = m->level[kind] = 0; m->spent[kind] = 0; }

static void acknowledge(State* m) {
  m->is_suspect = 0;
  for (int k = 0; k < KINDS; ++k) {
    forget_history(m, k);
    m->begins_count[k] = 0;
    m->seen[k] = m->reacted[k] = -INFINITY;
  }
}

/* Each of these judges gives the kind of a fault, -1 for none, and says what is wrong; faults/table.py names them. This one:
   whether states contradict each other or the model. */
static int judge_consistency(const Settings* s, State* m, const double* qd) {
  (void)qd;
  const Consistency* c = &m->consistency;
  const int trusted = c->verdict == TRUSTED;
  if (!trusted) {
    m->suspect_problem = c->problem + PROBLEM_KINDS * c->setting; m->suspect_value = c->value; m->suspect_bound = c->bound;
    m->suspect_joint = c->joint; m->suspect_q = m->q[c->joint];
    m->is_suspect = c->verdict == FAULTY && c->problem == STANDS_DRIVEN;
  }
  /* a joint that stood although it was driven is suspect until it moves: at rest nothing shows whether its encoder works */
  const double moved = fabs(m->q[m->suspect_joint] - m->suspect_q);
  if (m->is_suspect && moved > LIFE * s->uncertainty.scale[m->suspect_joint]) m->is_suspect = 0;
  if (trusted && !m->is_suspect) return -1;
  say(m, (int)m->suspect_problem, (int)m->suspect_joint, m->suspect_value, m->suspect_bound);
  return !trusted && c->problem == DISOBEYS ? FOLLOWING : SENSOR;
}

static int judge_speed(const Settings* s, State* m, const double* qd) {
  const Consistency* c = &m->consistency;
  const int unproved = is_unproved(c);
  int joint = -1;
  double most = -INFINITY;
  EACH {
    const double speed = fabs(qd[i]), beyond = (unproved ? smaller(speed, c->swept[i]) : speed) - s->greatest_speed[i];
    if (!(beyond <= 0) && !(beyond <= most)) { joint = i; most = beyond; }
  }
  if (joint >= 0) say(m, TOO_FAST, joint, qd[joint], s->greatest_speed[joint]);
  else if (!unproved && s->observer_run && m->external[ENERGY] > s->energy) say(m, FELT_ENERGY, 0, m->external[ENERGY], s->energy);
  else return -1;
  return SPEED;
}

static int judge_publisher(const Settings* s, State* m, const double* qd) {
  (void)s; (void)qd;
  if (!m->conflict) return -1;
  say(m, SEVERAL_PUBLISHERS, 0, 0, 0);
  return PUBLISHER;
}

static int judge_rate(const Settings* s, State* m, const double* qd) {
  (void)qd;
  if (!(m->carried < 1 || m->period > s->state_timeout)) return -1;
  say(m, TOO_RARE, 0, m->carried, m->period);
  return RATE;
}

static int judge_touch(const Settings* s, State* m, const double* qd) {
  (void)qd;
  int contact = m->told ? COLLISION + (int)m->told - 1 : -1;
  if (contact != -1) say(m, NO_PROBLEM, 0, 0, 0);
  if (s->observer_run && s->judges_contact && contact != COLLISION) {
    if (judge_contact(m, s->collision, s->collision_wrench)) contact = COLLISION;
    else if (judge_contact(m, s->touch, s->touch_wrench)) contact = TOUCH;
  }
  return contact >= 0 && m->active && m->active_kind == COLLISION ? COLLISION : contact;
}

/* A fault whose cause is away, and that is latched. */
static int find_latched(const Settings* s, State* m, double t) {
  for (int k = 0; k < KINDS; ++k) {
    m->seen[k] = smaller(m->seen[k], t); /* time may go back */
    if (m->history_latched[k] && t - m->seen[k] >= s->settled_time) forget_history(m, k);
    if (m->history_latched[k]) { say(m, LATCHED, 0, 0, 0); return k; }
  }
  return -1;
}

/* Whether the arm has still to come to rest before its law goes on from there. */
static int is_braked(const Settings* s, const State* m, const double* qd) {
  int moves = 0;
  EACH moves |= fabs(qd[i]) > SLOW * s->velocity_limit[i];
  return m->active_kind == SENSOR && m->carries && m->phase == HOLD && moves;
}

/* Kind of the fault of a usable state, -1 for none; `present` is 0 if it is latched and its cause is away. */
static int detect(const Settings* s, State* m, double t, const double* qd, int* present) {
  static int (*const judges[])(const Settings*, State*, const double*) = {JUDGES};
  int kind = -1;
  *present = 1;
  for (size_t k = 0; kind < 0 && k < sizeof judges / sizeof *judges; ++k) kind = judges[k](s, m, qd);
  if (kind >= 0 || !m->active) return kind;
  if (is_unproved(&m->consistency)) return (int)m->active_kind; /* an uncertain state ends no fault */
  if (is_braked(s, m, qd)) { *present = 0; return (int)m->active_kind; }
  kind = find_latched(s, m, t);
  *present = kind < 0;
  return kind;
}

/* The fault begins again; nonzero if the reaction escalates. */
static int repeat(const Settings* s, State* m, int kind, double t) {
  double* begins = m->begins + kind * RECURRENCES;
  int64_t gone = 0, count = m->begins_count[kind];
  if (!(0 <= t - m->seen[kind] && t - m->seen[kind] < s->settled_time)) forget_history(m, kind);
  begins[count++] = t;
  while (!(0 <= t - begins[gone] && t - begins[gone] <= RECURRENCE_TIME)) ++gone;
  for (int64_t k = gone; k < count; ++k) begins[k - gone] = begins[k];
  m->begins_count[kind] = count -= gone;
  if (count < RECURRENCES) return 0;
  m->begins_count[kind] = 0;
  m->history_latched[kind] = 1; m->level[kind]++; m->spent[kind] = 0;
  return 1;
}

/* What of gravity is to be sent at q; as the model gave it last, where it gives none. */
static void gravity_effort(const Settings* s, State* m, const double* q, double* effort) {
  s->gravity(q, s->model, effort);
  if (is_finite(effort)) { copy(m->gravity_last, effort); m->gravity_known = 1; }
  EACH effort[i] = m->gravity_known ? s->sent_part[i] * m->gravity_last[i] : 0;
}

/* What the drives add to what is sent. */
static void find_added(const Settings* s, const State* m, double* added) {
  EACH added[i] = m->gravity_known ? (1 - s->sent_part[i]) * m->gravity_last[i] : 0;
}

/* --- what may be sent without states that can be trusted */

/* By how much the model may be wrong about what carries the arm at q: masses and a payload; and what of that it lacked lately. Of
   a joint that moves, what friction may explain is none of it: it would push the joint on. What neither known friction nor weight
   explains is dry friction where it braked the joint, or may have held it, and drives the joint else. */
static void find_gravity_error(const Settings* s, State* m, const double* q) {
  const Uncertainty* u = &s->uncertainty;
  const Consistency* c = &m->consistency;
  const double none[N] = {0};
  double rows[3 * N] = {0};
  if (s->sensitivity) s->sensitivity(q, none, none, s->sensitivity_model, rows);
  EACH {
    const double v = s->plausibility ? c->v[i] : m->qd[i], residual = s->plausibility ? c->residual[i] : 0;
    const int moves = fabs(v) > MOVES * velocity_noise_of(u, c, i), against = !moves || residual * v > 0;
    const double known = against ? within(residual, u->coulomb[i] + (moves ? u->viscous[i] * fabs(v) : 0)) : 0;
    m->gravity_error[i] = u->model_error * rows[i] + u->unknown_payload * rows[N + i];
    m->lacked[i] = within(residual - known, m->gravity_error[i]);
    m->carried_error[i] = within(residual - (moves ? friction_in(u, i, v, residual) : 0), m->gravity_error[i]);
    const double rest = fabs(residual - known - m->lacked[i]);
    const int is_friction = moves ? against : rest <= u->unknown_friction * u->effort_limit[i];
    m->dry[i] = u->coulomb[i] + (is_friction ? rest : 0);
    m->driven[i] = is_friction ? 0 : rest;
  }
}

/* A state that is answered by the law: since when the arm stands, and how fast it was lately. */
static void note_motion(State* m, double t, const double* q, const double* qd, const Uncertainty* u) {
  const double left = greater(1 - (t - m->stepped_t) / LATELY, 0);
  const int proved = !m->consistency.unproved;
  EACH m->recent_speed[i] = greater(proved ? fabs(qd[i]) : 0, left * m->recent_speed[i]);
  int moved = !(0 <= t - m->stepped_t && t - m->stepped_t < STOOD);
  EACH moved |= !(fabs(q[i] - m->stood_q[i]) <= STANDS * u->scale[i]);
  if (moved) { copy(m->stood_q, q); m->stood_since = t; }
  m->stepped_t = t;
}

/* A step of a motion by the model, from the velocities that the efforts lead to without friction: friction brakes them, and reverses
   none, (M + dt B) v = M v_free with B = viscous + dry / |v|. A light joint stays with the effort that its friction takes. */
static void brake_by_friction(const Settings* s, const State* m, double dt, const double* free, const double* q, double* v) {
  const Uncertainty* u = &s->uncertainty;
  double mass[N * N], inverse[N * N], momentum[N] = {0};
  s->mass_matrix(q, s->model, mass);
  EACH for (int j = 0; j < N; ++j) momentum[i] += mass[i * N + j] * free[j];
  EACH mass[i * N + i] += dt * (u->viscous[i] + m->dry[i] / greater(fabs(v[i]), u->velocity_noise * u->scale[i]));
  if (!invert(mass, inverse)) { copy(v, free); return; }
  EACH {
    v[i] = 0;
    for (int j = 0; j < N; ++j) v[i] += inverse[i * N + j] * momentum[j];
  }
}

/* A motion goes on by the model under the last command. */
static void go_on(const Settings* s, const State* m, double steps, double dt, double* q, double* v) {
  const Uncertainty* u = &s->uncertainty;
  double free[N], effort[N];
  for (int k = 0; k < (int)steps; ++k) {
    EACH effort[i] = m->applied[i] - m->lacked[i] + u->model_viscous[i] * v[i] + u->model_coulomb[i] * sign(v[i]);
    s->forward(q, v, effort, s->model, free);
    EACH free[i] = v[i] + dt * free[i];
    brake_by_friction(s, m, dt, free, q, v);
    EACH q[i] += dt * v[i];
  }
}

/* The motion that the model expects goes on, since the latest velocity that was certain; and by the model alone, since the latest
   certain state. */
static void expect(const Settings* s, State* m, double t) {
  const double left = greater(t - m->expected_t, 0);
  const double steps = smaller(greater(ceil(left / EXPECTED_STEP), 1), EXPECTED_STEPS), dt = left / steps;
  m->expected_t = t;
  if (!m->expects || !(left > 0)) return;
  go_on(s, m, steps, dt, m->expected_q, m->expected_v);
  go_on(s, m, steps, dt, m->alone_q, m->alone_v);
}

/* By how much a velocity may be another one than the model expects, by what drives joints and the model was seen to lack:
   unseen + |M⁻¹| driven (t - certain_t). */
static double spread_of(const Settings* s, const State* m, double t, int i) {
  const Consistency* c = &m->consistency;
  double gained = 0;
  if (!m->expects || !s->plausibility || !c->modelled) return 0;
  for (int j = 0; j < N; ++j) gained += fabs(c->inverse_mass[i * N + j]) * m->driven[j];
  return c->unseen[i] + gained * (t - m->certain_t);
}

/* Whether no joint can have passed its velocity limit. */
static int is_below_limits(const Settings* s, const State* m, double t) {
  int below = 1;
  EACH below &= !m->expects || fabs(m->expected_v[i]) + spread_of(s, m, t, i) <= s->velocity_limit[i];
  return below;
}

/* The model's motion goes on from the latest certain state. An arm that stood stays there. */
static void begin_expecting(const Settings* s, State* m) {
  const Consistency* c = &m->consistency;
  m->expects = !(m->stepped_t - m->stood_since >= STOOD * (1 - 1e-9));
  EACH m->expects |= !(m->recent_speed[i] < MOVES * velocity_noise_of(&s->uncertainty, c, i));
  m->expected_t = m->certain_t = m->expected_since = s->plausibility ? c->at : m->time;
  copy(m->expected_q, s->plausibility ? c->q : m->q); copy(m->expected_v, s->plausibility ? c->v : m->qd);
  if (!m->expects) clear(m->expected_v);
  copy(m->alone_q, m->expected_q); copy(m->alone_v, m->expected_v);
  clear(m->strayed);
}

/* Whether the model's motion goes on from the latest certain state. */
static int is_expecting(const Settings* s, const State* m) {
  return s->plausibility && m->expected_since == m->consistency.at;
}

/* An uncertain state: the model's motion goes on by what is sent meanwhile, and the velocity of positions
   is filtered. */
static void predict(const Settings* s, State* m, double t) {
  const Consistency* c = &m->consistency;
  if (!s->plausibility || !(c->at < t) || !m->applies) return;
  if (!is_expecting(s, m)) {
    find_gravity_error(s, m, c->q);
    begin_expecting(s, m);
    m->trusts = UNDECIDED; m->differ_t = c->at;
    copy(m->differ_q, c->q); copy(m->differ_v, m->expected_v);
  }
  expect(s, m, t);
  const double dt = t - m->differ_t, ratio = dt / (VELOCITY_TIME + dt);
  if (m->trusts == TRUST_POSITIONS) copy(m->differ_v, m->expected_v);
  if (dt > 0) EACH m->differ_v[i] += ((c->last_q[i] - m->differ_q[i]) / dt - m->differ_v[i]) * ratio;
  m->differ_t = t;
  copy(m->differ_q, c->last_q);
}

/* Of two velocities the faster one, if they have one sign, and 0 else: neither can drive what the other one brakes. */
static double faster_of(double a, double b) { return a * b < 0 ? 0 : fabs(a) > fabs(b) ? a : b; }

/* The velocity of a joint by what is trusted of states that contradict each other. */
static double trusted_velocity(const State* m, int i) {
  return m->trusts == TRUST_POSITIONS ? m->differ_v[i] : m->consistency.raw[i];
}

/* Which of positions and velocities that contradict each other the model confirms: those that are nearer to its motion by half,
   and for every joint within a slow velocity and what the model may have been wrong by since then. */
static int find_trusted(const Settings* s, const State* m, double t) {
  double positions = 0, velocities = 0;
  EACH {
    const double gained = m->consistency.acceleration_error[i] * (t - m->certain_t);
    const double x = m->expected_v[i], most = SLOW * s->velocity_limit[i] + gained;
    positions = greater(positions, fabs(m->differ_v[i] - x) / most);
    velocities = greater(velocities, fabs(m->consistency.raw[i] - x) / most);
  }
  const double nearest = smaller(positions, velocities);
  if (nearest > 1 || nearest > greater(positions, velocities) / 2) return UNDECIDED;
  return positions < velocities ? TRUST_POSITIONS : TRUST_VELOCITIES;
}

/* Whether the velocity that is trusted of a joint becomes greater than the effort explains, within `RESIDUAL_TIME`: it is that of
   another joint, say. What the model may not know of the weight explains a part. */
static int strays(const Settings* s, State* m, double t) {
  const Consistency* c = &m->consistency;
  const double dt = t - m->certain_t, left = greater(1 - dt / RESIDUAL_TIME, 0);
  int found = 0;
  if (!(m->certain_t > m->expected_since)) return 0; /* they are trusted from now on */
  EACH {
    double unknown = 0;
    for (int j = 0; j < N && c->modelled; ++j) unknown += fabs(c->inverse_mass[i * N + j]) * (m->driven[j] + m->gravity_error[j]);
    m->strayed[i] = shrunk(left * m->strayed[i] + m->estimated_v[i] - m->expected_v[i], dt * unknown);
    found |= m->strayed[i] * m->estimated_v[i] > 0 && fabs(m->strayed[i]) > SLOW * s->velocity_limit[i];
  }
  return found;
}

/* Nothing of what comes is trusted any more: the motion of the model alone counts. */
static void trust_none(const Settings* s, State* m, double t) {
  m->trusts = TRUST_NONE;
  m->certain_t = m->expected_since;
  copy(m->expected_q, m->alone_q); copy(m->expected_v, m->alone_v);
  EACH m->estimated_v[i] = shrunk(m->expected_v[i], spread_of(s, m, t, i));
}

/* The reported velocity of states that do not contradict each other; of a joint that stopped at once the predicted one stays.
   Nonzero if no joint did. */
static int trust_reported(State* m) {
  const Consistency* c = &m->consistency;
  const int stopped = m->expects && c->stopped;
  m->trusts = UNDECIDED;
  EACH if (!(stopped && c->stops[i])) { m->estimated_v[i] = m->expected_v[i] = c->raw[i]; m->expected_q[i] = m->last_q[i]; }
  return !stopped;
}

/* Of positions and velocities that contradict each other, the one that the model's motion confirms; as long as they differ by
   little, the faster one; both only as long as it does not stray. Nonzero if one of the two is trusted. */
static int trust_one(const Settings* s, State* m, double t) {
  const Consistency* c = &m->consistency;
  int slow = 1;
  if (m->trusts == TRUST_NONE) return 0;
  EACH slow &= fabs(m->differ_v[i] - c->raw[i]) <= SLOW * s->velocity_limit[i];
  if (m->trusts == UNDECIDED && !slow) m->trusts = find_trusted(s, m, t);
  if (m->trusts == UNDECIDED && !slow) return 0;
  EACH m->estimated_v[i] = m->trusts == UNDECIDED ? faster_of(m->differ_v[i], c->raw[i]) : trusted_velocity(m, i);
  if (strays(s, m, t)) { trust_none(s, m, t); return 0; }
  if (m->trusts == TRUST_POSITIONS) copy(m->expected_q, c->last_q);
  return 1;
}

/* The velocity by three: that of positions, the reported one, and the one that the model expects. Any one of them may be wrong.
   Without a state, or one that is trusted, it is the certain part of the expected one: damping by a guess could drive a joint.
   Nonzero while the velocity is known; the model's motion goes on from there then. An arm that stood stays there. */
static int estimate_motion(const Settings* s, State* m, double t, int has_state) {
  const int contradicts = m->consistency.verdict == BLIND;
  EACH m->estimated_v[i] = shrunk(m->expected_v[i], spread_of(s, m, t, i));
  if (!has_state) return 0;
  if (contradicts && !m->expects) { clear(m->estimated_v); return 1; }
  if (!(contradicts ? trust_one(s, m, t) : trust_reported(m))) return 0;
  copy(m->expected_v, m->estimated_v);
  m->certain_t = t;
  return 1;
}

/* --- whether the drives obey a reaction */

static void begin_watching(State* m, double t, const double* qd) {
  EACH { m->begin_speed[i] = fabs(qd[i]); m->disobeys[i] = 0; }
  m->grows_since = t;
}

/* Whether what a drive gives is at least a part of what it was told in the latest interval, by the motion in it. Where no motion
   can be trusted since the reaction began, whether the joint should become faster as the model has it: by its weight, or because
   others brake. */
static int drive_acts(const State* m, int i, double qd, const double* expected) {
  const Consistency* c = &m->consistency;
  if (c->acted_t > m->active_begin) return c->acted[i] * c->told[i] >= OBEYED * (c->told[i] * c->told[i]);
  return expected[i] * qd > 0;
}

/* Speed from which on a joint is let go of whose drive does not act: it has become faster. Where a test has found already that this
   drive disobeys, any speed counts that is not slow. */
static double speed_let_go(const Settings* s, const State* m, int i) {
  const Consistency* c = &m->consistency;
  if (c->verdict == FAULTY && c->problem == DISOBEYS && c->joint == i) return SLOW * s->velocity_limit[i];
  return greater(GROWTH * m->begin_speed[i], FAST * s->velocity_limit[i]);
}

/* A joint becomes faster under a reaction, for longer than efforts take to change, and its drive does not act as it is told: its effort
   does not take energy out, so the joint is let go of. */
static int obeys(const Settings* s, State* m, double t, const double* q, const double* qd) {
  int fastest = -1;
  double gained[N];
  s->forward(q, qd, m->applied, s->model, gained);
  EACH {
    const double speed = fabs(qd[i]);
    m->disobeys[i] = speed > speed_let_go(s, m, i) && !drive_acts(m, i, qd[i], gained);
    if (m->disobeys[i] && (fastest < 0 || speed > fabs(qd[fastest]))) fastest = i;
  }
  if (fastest < 0) { m->grows_since = t; return 1; }
  if (t - m->grows_since < (PATIENCE + m->period + m->delay) * (1 - 1e-9)) return 1;
  say(m, GROWS_FASTER, fastest, qd[fastest], 0);
  m->history_latched[m->active_kind] = 1; /* at rest nothing says whether the drive obeys again */
  return 0;
}

/* --- what a reaction sends */

/* From the ramp on, efforts fade to zero. */
static void fade(State* m, double t, double* effort) {
  if (m->phase == RAMP) {
    m->left = greater(m->left - (t - m->ramped) / m->ramp_down_time, 0);
    m->ramped = t;
  }
  EACH effort[i] *= m->left;
}

/* The spring of a hold gives no more than what the model may be wrong by: beyond that its place gives way. */
static double spring(const Settings* s, State* m, int i, double held, double q) {
  const double most = m->gravity_error[i] + s->uncertainty.unknown_friction * s->effort_limit[i];
  const double stiffness = m->carried_stiffness[i], effort = within(stiffness * (held - q), most);
  if (m->phase == HOLD && stiffness > 0) m->found[i] = q + effort / stiffness;
  return effort;
}

/* The first command without states that can be trusted. */
static void begin_blind(const Settings* s, State* m, double t) {
  m->blind = 1; m->blind_begin = t;
  if (!is_expecting(s, m)) begin_expecting(s, m);
}

/* Damping is for a period of the states; of commands that are held for longer only this part is stable. How long the next one
   will be held nobody knows: as long as any before it. */
static double damping_part(State* m, double t, int begins) {
  m->held = begins ? 0 : greater(m->held, t - m->blind_t);
  m->blind_t = t;
  return m->held > m->period ? m->period / m->held : 1;
}

/* Without states that can be trusted: the arm is carried, and braked by the estimated velocity. One that moved is given
   BRAKING for that: then its weight would turn what is left of its speed into more, and only brakes keep it where it is. */
static int blind_effort(const Settings* s, State* m, double t, int has_state, double* effort) {
  const int begins = !m->blind;
  const double part = damping_part(m, t, begins);
  if (begins) begin_blind(s, m, t);
  expect(s, m, t);
  gravity_effort(s, m, m->expected_q, effort);
  EACH effort[i] += m->carried_error[i];
  if (m->phase == RAMP) { fade(m, t, effort); return m->left == 0; }
  if (begins) begin_watching(m, t, m->expected_v);
  const int sees = estimate_motion(s, m, t, has_state), blindly = m->expects && !sees;
  if (begins) EACH { m->found[i] = m->expected_q[i]; m->begin_speed[i] = greater(m->begin_speed[i], fabs(m->estimated_v[i])); }
  if (t >= (blindly ? smaller(m->until, m->blind_begin + BRAKING) : m->until)) return 1;
  if ((blindly && !is_below_limits(s, m, t)) || !obeys(s, m, t, m->expected_q, m->estimated_v)) return 1;
  EACH effort[i] += (sees ? spring(s, m, i, m->found[i], m->expected_q[i]) : 0) - part * m->carried_damping[i] * m->estimated_v[i];
  return 0;
}

/* With states. The last command carries the arm, for drives that keep to it for a while, but for a drive that does not obey. */
static int seeing_effort(const Settings* s, State* m, double t, const double* q, const double* qd, double* effort) {
  double held[N];
  if (m->blind) { copy(m->found, q); begin_watching(m, t, qd); }
  m->blind = 0;
  if (m->carries) gravity_effort(s, m, q, effort); else clear(effort);
  EACH effort[i] += m->carries ? m->carried_error[i] : 0;
  if (!obeys(s, m, t, q, qd)) {
    EACH if (m->disobeys[i]) effort[i] = 0;
    return 1;
  }
  if (t >= m->until) m->phase = RAMP;
  target(m, t, held);
  EACH effort[i] += (m->carries && m->phase != FLOAT ? spring(s, m, i, held[i], q[i]) : 0) - m->carried_damping[i] * qd[i];
  fade(m, t, effort);
  return m->left == 0;
}

/* The fault is over: the arm is held where it is. */
static void end_fault(const Settings* s, State* m, double t, const double* q) {
  start(m, t, q);
  blend(&m->memory, s->blend_time);
  m->trail_count = 0;
}

/* The reaction begins, or another one in its place. */
static void begin_reaction(const Settings* s, State* m, int kind, double t) {
  const int before = m->active != 0;
  const int64_t level = m->level[kind] < LEVELS ? m->level[kind] : LEVELS - 1;
  int64_t answer = s->reactions[kind * LEVELS + level];
  if (before && m->phase == RETREAT) m->trail_count = 0;
  if (before && m->phase >= RAMP) answer = m->phase; /* no way back from there as long as anything is wrong */
  const double left = greater(s->max_duration[kind] - m->spent[kind], 0);
  const int fades = answer == RAMP && s->reactions[kind * LEVELS] != DAMP && (!before || m->carries);
  m->carries = (answer != DAMP && answer != RAMP) || fades;
  if (!before) m->left = 1;
  m->faults++;
  m->active = 1; m->active_kind = kind; m->phase = answer;
  m->active_begin = t; m->until = answer >= RAMP ? t : answer == WAIT ? INFINITY : t + left;
  m->ramp_down_time = s->ramp_down_time;
  m->ramped = m->until; m->blind = 0;
  copy(m->found, m->q);
  if (!before) begin_watching(m, t, m->qd);
  find_gravity_error(s, m, m->q);
}

/* What the reaction sends, if it still sends anything. */
static int send_reaction(const Settings* s, State* m, Period* p, double t, int has_state) {
  double effort[N], added[N];
  int limited = 0;
  if (m->phase == SILENT && m->memory.is_sending != 0) pause_sending(&m->memory, t);
  if (m->memory.is_sending == 0) return CORE_SILENT;
  if (t < m->active_begin) { m->until += t - m->active_begin; m->active_begin = t; m->left = 1; m->ramped = m->until; }
  const int lets_go = has_state && p->kind != SENSOR ? seeing_effort(s, m, t, p->q, p->qd, effort)
    : blind_effort(s, m, t, has_state, effort);
  if (lets_go && !has_state && m->left > 0) { m->phase = SILENT; pause_sending(&m->memory, t); return CORE_SILENT; }
  find_added(s, m, added);
  limit(s, &m->memory, t, effort, added, p->rows);
  EACH limited |= p->rows[RATE_LIMITED * N + i] != 0;
  if (lets_go && !limited) m->phase = SILENT; /* this command is the last */
  m->applies = 1;
  EACH m->applied[i] = p->rows[i] + added[i];
  return CORE_SEND;
}

/* What is sent because of a fault. The period has the state, if `has_state`. */
static int react(const Settings* s, State* m, Period* p, double t, int kind, int present, int has_state) {
  const int another = !m->active || m->active_kind != kind, returns = present && m->active && !m->present;
  reset_step(&m->memory);
  m->driving = 0;
  if (has_state) start(m, t, p->q);
  if (!another) m->spent[kind] += greater(t - m->reacted[kind], 0);
  m->reacted[kind] = t;
  const int escalated = (another || returns) && present && repeat(s, m, kind, t);
  if (s->latches[kind]) m->history_latched[kind] = 1;
  if (another || escalated) begin_reaction(s, m, kind, t);
  m->present = present; m->latched = m->history_latched[kind];
  if (present) m->seen[kind] = t;
  p->kind = kind;
  m->applies = 0;
  return send_reaction(s, m, p, t, has_state);
}
