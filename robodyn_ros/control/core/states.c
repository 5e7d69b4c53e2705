// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* States: which of them can be used, their velocity, and their rate. */

#include "memory.h"

#define MOST_AHEAD 0.02 /* greatest increase of the lead of a stamp over the clock, from one state to the next [s] */
#define FIRST_PERIODS 2 /* number of measured periods before their mean is used */
#define SAMPLING_MEMORY 10.0 /* number of periods in their mean */
#define SAMPLING_CHANGE 0.1 /* change of period or delay after which the gains are checked again, relative to their sum */
#define MOVED 0.05 /* distance of a joint after which the gains are checked again [rad], a tenth of it [m] */

/* Nonzero if the stamp of a state cannot follow that of an earlier one; stores the problem. */
static int is_out_of_order(State* m, double t0, double ahead0, double t, double ahead) {
  if (t < t0) say(m, NO_PROBLEM, 0, t0 - t, 0);
  else if (ahead > ahead0 + MOST_AHEAD) say(m, NO_PROBLEM, 1, ahead, 0);
  else return 0;
  return CORE_OUT_OF_ORDER;
}

/* A state out of order is refused, unless the refused states have been in order among each other for state_timeout. */
static int check_order(const Settings* s, State* m, double t, double now) {
  double ahead = greater(t - now, 0);
  if (m->refused && (t - m->refused_t > s->state_timeout || is_out_of_order(m, m->refused_t, m->refused_ahead, t, ahead)))
    m->refused = 0;
  if (m->good && is_out_of_order(m, m->good_t, m->good_ahead, t, ahead)) {
    if (!m->refused) m->refused_since = t;
    m->refused = 1; m->refused_t = t; m->refused_ahead = ahead;
    if (t - m->refused_since < s->state_timeout * ALMOST) return CORE_OUT_OF_ORDER;
  } else if (m->good) ahead = greater(ahead, m->good_ahead);
  m->good = 1; m->refused = 0;
  m->good_t = t; m->good_ahead = ahead;
  return 0;
}

/* The velocity of a state that has none: filtered differentiation of the positions. */
static void estimate_velocity(const Settings* s, State* m, double t, const double* q, double* qd) {
  const double dt = t - m->estimate_t;
  if (!(0 <= dt && dt <= s->state_timeout)) clear(m->estimate_v);
  else if (dt > 0)
    EACH m->estimate_v[i] += ((q[i] - m->estimate_q[i]) / dt - m->estimate_v[i]) * (dt / (s->velocity_filter + dt));
  m->estimate_t = t;
  copy(m->estimate_q, q); copy(qd, m->estimate_v);
}

/* CORE_SEND if a state can be used, else the reason. */
static int validate(const Settings* s, State* m, Period* p) {
  p->age = p->now - p->t;
  if (!(fabs(p->age) <= s->state_timeout)) { say(m, NO_PROBLEM, 0, p->age, s->state_timeout); return CORE_STALE; }
  if (!is_finite(p->q) || (p->has_velocity && !is_finite(p->qd))) return CORE_STATE_NOT_FINITE;
  EACH p->q[i] = near_turn(s, i, m->last_q[i], p->q[i]);
  if (!p->has_velocity && !s->estimates_velocity) return CORE_NO_VELOCITY;
  const int code = check_order(s, m, p->t, p->now);
  if (!code && !p->has_velocity) estimate_velocity(s, m, p->t, p->q, p->qd);
  return code;
}

/* What a value counts in a mean: a single outlier, twice the greatest of the values before it at most, which is forgotten
   by the ratio. */
static double counted(double* greatest, double x, double ratio) {
  const double value = ratio < 1 ? smaller(x, 2 * *greatest) : x;
  *greatest = greater(x, *greatest * (1 - ratio));
  return value;
}

/* Measures period and delay of the states as means over time: where periods T vary, E(T²) / E(T) decides whether a
   feedback is stable in the mean square. A single gap is not a rate, and states that come at once after it count as one
   command. Nonzero if the gains have to be checked again. */
static int measure_sampling(const Settings* s, State* m, double t, double age) {
  const double dt = t - m->sampling_last, passed = dt + age - m->sampling_age;
  m->sampling_last = t; m->sampling_age = age;
  const double least = smaller(dt, m->before);
  m->before = 0 < dt && dt < INFINITY ? dt : 0;
  if (m->before == 0) return 0;
  if (dt > s->state_timeout) m->period = greater(m->period, least);
  else {
    m->count++;
    const double ratio = 1 / smaller((double)m->count, SAMPLING_MEMORY);
    const double part = m->period > 0 ? smaller(greater(passed, 0) / m->period, 1) : 1;
    if (m->count == 2) m->mean = smaller(m->mean, 2 * dt); /* the first may be the outlier */
    const double gap = counted(&m->longest, dt, ratio), delay = counted(&m->oldest, greater(age, 0), ratio * part);
    m->mean += (m->count > 1 ? smaller(ratio * (gap / m->mean), 1) : 1) * (gap - m->mean);
    m->delay += ratio * part * (delay - m->delay);
    m->period = m->mean;
  }
  const double most = SAMPLING_CHANGE * (m->judged_period + m->judged_delay);
  int still = (m->carried == 1 && m->period + m->delay + m->command_delay <= m->stable_until) ||
    (fabs(m->period - m->judged_period) <= most && fabs(m->delay - m->judged_delay) <= most);
  EACH still &= fabs(m->q[i] - m->judged_q[i]) <= MOVED * s->uncertainty.scale[i];
  const int known = (double)m->count >= FIRST_PERIODS || m->period > s->state_timeout;
  if (!known || still) return 0;
  m->judged_period = m->period; m->judged_delay = m->delay; copy(m->judged_q, m->q);
  return 1;
}

/* The gains are judged: at once, or by the caller, later. */
static void have_judged(const Settings* s, State* m) {
  m->to_judge = 1;
  if (s->judge) s->judge();
}
