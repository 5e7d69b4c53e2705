// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Limits and transitions of the efforts of a reaction. limits.py and step.py have the same stages for the control step,
   traced with each law; both use the same memory. `limit_unexplained` follows that step. */

#include "memory.h"

/* The next command is the first. */
static void reset_limiter(StepMemory* m) {
  clear(m->sent); clear(m->added); clear(m->cut);
  m->is_sending = m->blending = 0;
  m->sent_at = NEVER;
}

/* Sends nothing from the time t [s] on. The next command begins at the last one, which drives may have repeated. */
static void pause_sending(StepMemory* m, double t) {
  double sent[N];
  copy(sent, m->sent);
  reset_limiter(m);
  copy(m->sent, sent);
  m->sent_at = t;
}

/* Begins the next command at the last one, with a transition to the requested effort within `duration` [s]. */
static void blend(StepMemory* m, double duration) {
  if (m->is_sending == 0 || !(duration > 0)) return;
  copy(m->blend_from, m->sent);
  m->blend_time = duration; m->blending = 1;
}

static int differ(double before, double after) { return fabs(before - after) > EFFORT_ROUNDING * (1 + fabs(after)); }

/* The least and the greatest effort that may be sent to a joint whose drive adds an effort by itself. */
static double least_effort(const Settings* s, int i, double added) { return greater(-added, 0) - s->effort_limit[i]; }
static double most_effort(const Settings* s, int i, double added) { return s->effort_limit[i] - greater(added, 0); }

/* The greatest change of a joint's effort from the latest one that was sent to one at the time t [s]. */
static double most_change(const Settings* s, const StepMemory* m, double t, int i) {
  const int sends = m->is_sending > 0, fell_silent = m->sent_at > NEVER;
  const double dt = sends ? smaller(greater(t - m->sent_at, INSTANT), s->state_timeout) : INSTANT;
  return sends || fell_silent ? s->rate_limit[i] * dt : INFINITY;
}

/* The effort limit and the rate limit, for the reaction to a fault. */
static void limit(const Settings* s, StepMemory* m, double t, const double* wanted, const double* added, double* rows) {
  EACH {
    const double clamped = smaller(greater(wanted[i], least_effort(s, i, added[i])), most_effort(s, i, added[i]));
    const double change = most_change(s, m, t, i);
    const double effort = smaller(greater(clamped, m->sent[i] - change), m->sent[i] + change);
    rows[EFFORT * N + i] = effort;
    rows[SATURATED * N + i] = differ(wanted[i], clamped);
    rows[RATE_LIMITED * N + i] = differ(clamped, effort);
    m->sent[i] = effort;
  }
  m->sent_at = t; m->is_sending = 1; m->blending = 0;
}

/* Limits the effort beyond the model's for joints that may move without being detected, in the memory `after` this step.
   The limits of effort and rate hold all the same: what the model needs may be beyond them. */
static void limit_unexplained(const Settings* s, const State* m, StepMemory* after, double* rows) {
  const Consistency* c = &m->consistency;
  const double* sent = m->memory.sent;
  if (!s->plausibility || !c->model_known || !m->applies) return;
  EACH {
    const double added = after->added[i], needed = c->bias[i] - added, effort = rows[EFFORT * N + i];
    const double wanted = needed + within(effort - needed, c->unexplained[i]);
    if (!differ(effort, wanted)) continue; /* equal but for rounding, as below */
    const double change = most_change(s, &m->memory, after->sent_at, i);
    const double least = greater(least_effort(s, i, added), sent[i] - change);
    const double most = smaller(most_effort(s, i, added), sent[i] + change);
    const double limited = smaller(greater(wanted, smaller(least, effort)), greater(most, effort));
    if (!differ(effort, limited)) continue;
    rows[EFFORT * N + i] = after->sent[i] = limited;
    rows[SATURATED * N + i] = 1;
    after->cut[i] += effort - limited;
  }
}

/* Resets the law: the integral is zero, there is no last effort of the law, and no joint lags. */
static void reset_step(StepMemory* m) {
  clear(m->integral); clear(m->requested);
  m->has_requested = m->lagging = 0;
}

/* Blends a change of settings: adds `difference`, the last effort of the law less that of the new settings, and fades
   it to zero within `duration` [s]. */
static void blend_change(StepMemory* m, double* difference, double duration) {
  if (m->is_sending == 0 || m->blending == 1) return; /* the next command begins at the last one in any case */
  if (m->blending != 0) {
    const double left = greater(0, 1 - (m->sent_at - m->blend_begin) / m->blend_time);
    EACH difference[i] += left * m->blend_from[i];
  }
  copy(m->blend_from, difference);
  m->blend_time = duration; m->blend_begin = m->sent_at; m->blending = duration > 0 ? 2 : 0;
}
