/* Faults: what is wrong, and what is sent because of it. */

#include "memory.h"

#define TRAIL_PERIOD 0.02 /* time between two positions of the trail [s] */
#define EASE 0.1 /* time in which a retreat comes to the speed that the arm came with [s] */
#define STOP_TIME 0.05 /* of a blind stop [s] */
#define RECKON_STEP 0.002 /* [s] */
#define RECKON_STEPS 100.0
#define STEEP 0.03 /* time of a ramp to zero once a joint is faster than its limit [s] */

static void remember_trail(const Settings* s, State* m, double t, const double* q) {
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
static void target(const Settings* s, const State* m, double t, double* q) {
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
  for (int k = 0; k < KINDS; ++k) {
    forget_history(m, k);
    m->begins_count[k] = 0;
    m->seen[k] = m->reacted[k] = -INFINITY;
  }
}

/* Kind of the fault of a usable state, -1 for none; `present` is 0 if it is latched and its cause is away. */
static int detect(const Settings* s, State* m, double t, const double* qd, int* present) {
  int joint = -1;
  double most = -INFINITY;
  *present = 1;
  const Consistency* c = &m->consistency;
  if (c->verdict != TRUSTED) {
    say(m, (int)(c->problem + PROBLEM_KINDS * c->setting), (int)c->joint, c->value, c->bound);
    return c->problem == DISOBEYS ? FOLLOWING : SENSOR;
  }
  EACH if (!(fabs(qd[i]) <= s->greatest_speed[i])) joint = i;
  if (joint >= 0) {
    EACH if (fabs(qd[i]) - s->greatest_speed[i] > most) { most = fabs(qd[i]) - s->greatest_speed[i]; joint = i; }
    say(m, TOO_FAST, joint, qd[joint], s->greatest_speed[joint]);
    return SPEED;
  }
  if (s->observer_run && m->external[ENERGY] > s->energy) {
    say(m, FELT_ENERGY, 0, m->external[ENERGY], s->energy);
    return SPEED;
  }
  if (m->conflict) { say(m, NO_PROBLEM, 0, 0, 0); return PUBLISHER; }
  if (m->carried < 1 || m->period > s->state_timeout) { say(m, NO_PROBLEM, 0, m->carried, m->period); return RATE; }
  int contact = m->told ? COLLISION + (int)m->told - 1 : -1;
  if (contact != -1) say(m, NO_PROBLEM, 0, 0, 0);
  if (s->observer_run && s->judges_contact && contact != COLLISION) {
    if (judge_contact(m, s->collision, s->collision_wrench)) contact = COLLISION;
    else if (judge_contact(m, s->touch, s->touch_wrench)) contact = TOUCH;
  }
  if (contact >= 0) return m->active && m->active_kind == COLLISION ? COLLISION : contact;
  if (!m->active) return -1;
  for (int k = 0; k < KINDS; ++k) {
    m->seen[k] = smaller(m->seen[k], t); /* time may go back */
    if (m->history_latched[k] && t - m->seen[k] >= s->quiet_time) forget_history(m, k);
    if (m->history_latched[k]) { *present = 0; say(m, LATCHED, 0, 0, 0); return k; }
  }
  return -1;
}

/* The fault begins again; nonzero if the reaction escalates. */
static int repeat(const Settings* s, State* m, int kind, double t) {
  double* begins = m->begins + kind * MOST_BEGINS;
  int64_t gone = 0, count = m->begins_count[kind];
  if (!(0 <= t - m->seen[kind] && t - m->seen[kind] < s->quiet_time)) forget_history(m, kind);
  begins[count++] = t;
  while (!(0 <= t - begins[gone] && t - begins[gone] <= s->recurrence_time)) ++gone;
  for (int64_t k = gone; k < count; ++k) begins[k - gone] = begins[k];
  m->begins_count[kind] = count -= gone;
  if (count < s->recurrences) return 0;
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

/* --- where the arm is while no state says so */

static void begin_reckoning(const Settings* s, State* m, double t, const double* q, const double* qd) {
  m->reckoned_t = t;
  EACH { m->reckoned_q[i] = smaller(greater(q[i], s->lower[i]), s->upper[i]); m->reckoned_qd[i] = qd[i]; }
}

/* Goes on for as long as `effort` acts on the arm. */
static void reckon(const Settings* s, State* m, double t, const double* effort) {
  const double dt = t - m->reckoned_t, steps = smaller(ceil(greater(dt, 0) / RECKON_STEP), RECKON_STEPS);
  const double step = smaller(dt, RECKON_STEPS * RECKON_STEP) / greater(steps, 1);
  m->reckoned_t = t;
  for (double k = 0; k < steps; ++k) {
    double gained[N], qd[N];
    s->forward(m->reckoned_q, m->reckoned_qd, effort, s->model, gained);
    EACH qd[i] = m->reckoned_qd[i] + step * gained[i];
    if (!is_finite(qd)) { clear(m->reckoned_qd); return; }
    EACH {
      const double q = m->reckoned_q[i] + step * qd[i];
      m->reckoned_qd[i] = q >= s->lower[i] && q <= s->upper[i] ? qd[i] : 0;
      m->reckoned_q[i] = smaller(greater(q, s->lower[i]), s->upper[i]);
    }
  }
}

/* What brings the arm to rest by the model. */
static void stop_effort(const Settings* s, State* m, double* effort) {
  double slower[N], moving[N];
  gravity_effort(s, m, m->reckoned_q, effort);
  if (!m->gravity_known) return;
  EACH slower[i] = -m->reckoned_qd[i] / STOP_TIME;
  s->inverse(m->reckoned_q, m->reckoned_qd, slower, s->model, moving);
  EACH moving[i] = effort[i] + (moving[i] - m->gravity_last[i]);
  if (is_finite(moving)) copy(effort, moving);
}

/* What a reaction asks for; q is 0 without a state that can be believed. */
static void reaction_effort(const Settings* s, State* m, double t, const double* q, const double* qd, double* effort) {
  if (t < m->active_begin) { m->until += t - m->active_begin; m->active_begin = t; m->left = 1; m->ramped = m->until; }
  if (q && m->blind) copy(m->found, q);
  m->blind = !q;
  if (!q) qd = m->reckoned_qd;
  if (t >= m->until) {
    int fast = 0;
    EACH fast |= !(fabs(qd[i]) <= s->velocity_limit[i]);
    m->phase = RAMP;
    m->left -= (t - m->ramped) / (fast ? smaller(STEEP, m->ramp_down_time) : m->ramp_down_time);
    m->ramped = t;
    if (m->left <= 0) { m->left = 0; clear(effort); return; }
  }
  if (!m->carries) { EACH effort[i] = m->left * (-m->carried_damping[i] * qd[i]); return; }
  if (!q) stop_effort(s, m, effort);
  else {
    double held[N];
    gravity_effort(s, m, q, effort);
    target(s, m, t, held);
    if (m->phase != FLOAT) EACH effort[i] = effort[i] + m->carried_stiffness[i] * (held[i] - q[i]);
    EACH effort[i] = effort[i] - m->carried_damping[i] * qd[i];
  }
  EACH effort[i] = m->left * effort[i];
}

/* The fault is over: the arm is held where it is. What a blind stop sends fades no slower than the stop, or it would turn
   the arm back. */
static void end_fault(const Settings* s, State* m, double t, const double* q) {
  start(m, t, q);
  blend(&m->memory, m->blind ? smaller(s->blend_time, STOP_TIME) : s->blend_time);
  m->trail_count = 0;
}

/* What is sent because of a fault. The period has the state, if `has_state`. */
static int react(const Settings* s, State* m, Period* p, double t, int kind, int present, int has_state) {
  const int before = m->active != 0, another = !before || m->active_kind != kind;
  const int returns = present && before && !m->present, was_blind = before && m->blind;
  double effort[N], added[N];
  reset_step(&m->memory);
  m->driving = 0;
  if (has_state) start(m, t, p->q);
  if (!another) m->spent[kind] += greater(t - m->reacted[kind], 0);
  m->reacted[kind] = t;
  const int escalated = (another || returns) && present && repeat(s, m, kind, t);
  if (s->needs_quiet[kind]) m->history_latched[kind] = 1;
  if (another || escalated) {
    int64_t answer = s->answers[kind * LEVELS + (m->level[kind] < LEVELS ? m->level[kind] : LEVELS - 1)];
    if (before && m->phase == RETREAT) m->trail_count = 0;
    if (before && m->phase >= RAMP) answer = m->phase; /* no way back from there as long as anything is wrong */
    const double left = greater(s->expiry[kind] - m->spent[kind], 0);
    const int fades = answer == RAMP && s->answers[kind * LEVELS] != DAMP && (!before || m->carries);
    m->carries = (answer != DAMP && answer != RAMP) || fades;
    if (!before) m->left = 1;
    m->faults++;
    m->active = 1; m->active_kind = kind; m->phase = answer;
    m->active_begin = t; m->until = answer >= RAMP ? t : answer == WAIT ? INFINITY : t + left;
    m->ramp_down_time = s->ramp_down_time;
    m->ramped = m->until; m->blind = 0;
    copy(m->found, m->q);
  }
  m->present = present; m->latched = m->history_latched[kind];
  if (present) m->seen[kind] = t;
  p->kind = kind;
  m->applies = 0;
  if (m->memory.is_sending == 0) return CORE_SILENT;
  EACH added[i] = m->gravity_known ? (1 - s->sent_part[i]) * m->gravity_last[i] : 0;
  const int believed = has_state && kind != SENSOR;
  if (!believed && was_blind) { EACH effort[i] = m->memory.sent[i] + added[i]; reckon(s, m, t, effort); }
  else if (!believed && has_state) begin_reckoning(s, m, t, m->consistency.q, m->consistency.v);
  else if (!believed) { /* the drives hold on to the last command */
    begin_reckoning(s, m, t - p->age, m->q, m->qd);
    EACH effort[i] = m->memory.sent[i] + added[i];
    reckon(s, m, t, effort);
  }
  reaction_effort(s, m, t, believed ? p->q : 0, p->qd, effort);
  EACH added[i] = m->gravity_known ? (1 - s->sent_part[i]) * m->gravity_last[i] : 0;
  limit(s, &m->memory, t, effort, added, p->rows);
  int limited = 0;
  EACH limited |= p->rows[RATE_LIMITED * N + i] != 0;
  if (m->left == 0 && !limited) { m->phase = SILENT; fall_silent(&m->memory, t); return CORE_SILENT; }
  m->applies = 1;
  EACH m->applied[i] = p->rows[i] + added[i];
  return CORE_SEND;
}
