// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The limits of what is sent because of a fault, and its transitions. limits.py and step.py are the same stages of the control
   step, traced for each law; the memory is shared. */

#include "memory.h"

#define NEVER -1e300 /* a time before all others [s]; not infinite, so that a difference of two is a number */
#define EFFORT_ROUNDING 1e-9 /* how far apart two efforts may be by rounding, relative to their magnitude and to 1 N or 1 N·m */
#define INSTANT 1e-12 /* least time between two commands [s]: an infinite rate times no time would be no number */

/* The next command is the first. */
static void reset_limiter(StepMemory* m) {
  clear(m->sent); clear(m->added); clear(m->cut);
  m->is_sending = m->blending = 0;
  m->sent_at = NEVER;
}

/* Send nothing from a time on [s]: the next command begins where the last one was, which drives may have kept to. */
static void pause_sending(StepMemory* m, double t) {
  double sent[N];
  copy(sent, m->sent);
  reset_limiter(m);
  copy(m->sent, sent);
  m->sent_at = t;
}

/* Begin the next command where the last one was, and go over to what is wanted within a time [s]. */
static void blend(StepMemory* m, double duration) {
  if (m->is_sending == 0 || !(duration > 0)) return;
  copy(m->blend_from, m->sent);
  m->blend_time = duration; m->blending = 1;
}

static int differ(double before, double after) {
  return fabs(before - after) > EFFORT_ROUNDING * (1 + fabs(after));
}

/* The absolute limit and the rate limit, for the reaction to a fault. */
static void limit(const Settings* s, StepMemory* m, double t, const double* wanted, const double* added, double* rows) {
  const int sends = m->is_sending > 0, fell_silent = m->sent_at > NEVER;
  const double dt = sends ? smaller(greater(t - m->sent_at, INSTANT), s->state_timeout) : INSTANT;
  EACH {
    const double least = greater(-added[i], 0) - s->effort_limit[i], most = s->effort_limit[i] - greater(added[i], 0);
    const double clamped = smaller(greater(wanted[i], least), most);
    const double change = sends || fell_silent ? s->rate_limit[i] * dt : INFINITY;
    const double effort = smaller(greater(clamped, m->sent[i] - change), m->sent[i] + change);
    rows[EFFORT * N + i] = effort;
    rows[SATURATED * N + i] = differ(wanted[i], clamped);
    rows[RATE_LIMITED * N + i] = differ(clamped, effort);
    m->cut[i] = differ(wanted[i], effort) ? wanted[i] - effort : 0;
    m->sent[i] = effort;
  }
  m->sent_at = t; m->is_sending = 1; m->blending = 0;
}

/* The integral is zero, the law has given nothing, and no joint lags. */
static void reset_step(StepMemory* m) {
  clear(m->integral); clear(m->requested);
  m->has_requested = m->lagging = 0;
}

/* Add to the efforts what they lose by other settings, so that it fades away within a time [s]: the last effort that the law
   wanted, less what the other settings want in its place. */
static void blend_change(StepMemory* m, double* difference, double duration) {
  int runs = 0;
  if (m->is_sending == 0 || m->blending == 1) return; /* what follows begins where the last command was in any case */
  if (m->blending != 0) {
    const double left = greater(0, 1 - (m->sent_at - m->blend_begin) / m->blend_time);
    EACH difference[i] += left * m->blend_from[i];
  }
  EACH runs |= difference[i] != 0;
  copy(m->blend_from, difference);
  m->blend_time = duration; m->blend_begin = m->sent_at; m->blending = duration > 0 && runs ? 2 : 0;
}
