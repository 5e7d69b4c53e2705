// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The loop as one library (core.h): its creation, and the functions that are called between periods.

   The form feeds below part it into pages, which can be compiled side by side, each behind the first one. */

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off") /* products and sums are rounded one by one, on every machine alike */
#endif

#include "memory.h"

#include "trajectory.c"
#include "limiter.c"
#include "references.c"
#include "pose.c"
#include "stream.c"
#include "tool.c"

#include "limits.c"
#include "states.c"
#include "consistency.c"
#include "stability.c"
#include "contact.c"
#include "prediction.c"
#include "faults.c"
#include "loop.c"

/* --- creation */

void core_destroy(Core* c) {
  if (!c) return;
  for (int k = 0; k < MOTIONS; ++k) core_trajectory_destroy(c->held[k]);
  for (int k = 0; k < 2; ++k) core_trajectory_destroy(c->stops[k]);
  free(c);
}

Core* core_create(void) {
  const size_t numbers = (N + 1) * (1 + 2 * N) + 4 * N * N; /* of a stopping motion: points and curves */
  Core* c = calloc(1, sizeof *c);
  if (!c) return 0;
  for (int k = 0; k < 2; ++k) {
    c->stops[k] = calloc(1, sizeof(CoreTrajectory) + numbers * sizeof(double));
    if (!c->stops[k]) { core_destroy(c); return 0; }
  }
  c->state.begins = c->begins;
  c->state.references.speed = c->state.references.asked_speed = 1;
  return c;
}

State* core_state(Core* c) { return &c->state; }
Period* core_period(Core* c) { return &c->period; }

const CoreSettings* core_settings(const Core* c) { return c->settings; }

/* --- change of the settings, and requests */

/* The last effort of the law less that of the new settings for the same state. The new one becomes the last effort of
   the law. */
static void find_difference(const Settings* s, State* m, double* difference) {
  double* const* x = s->step_arrays;
  double reference[WHOLE];
  clear(difference);
  if (!m->stepped) return;
  copy_whole(reference, m->stepped_reference);
  int planned = 0;
  EACH planned |= !isnan(m->stepped_planned[i]);
  if (planned) add_planned(s, m->stepped_planned, reference);
  set_step(x, m->memory.sent_at, 0, m->stepped_q, m->stepped_qd, reference);
  s->step_run(x, s->step_constants);
  const StepMemory* after = (const StepMemory*)x[AFTER];
  if (x[FLAGS][0] == 0) return;
  EACH difference[i] = m->memory.requested[i] - after->requested[i];
  copy(m->memory.requested, after->requested);
}

/* A stream to the tool of the settings `before` ends if there is another tool now, or none. */
static void leave_tool(Core* c, const CoreSettings* before) {
  const State* m = &c->state;
  if (before->loop.tool != c->settings->loop.tool && m->references.source == TOOL) core_hold(c, m->time);
}

void core_apply(Core* c, CoreSettings* next, int how) {
  State* m = &c->state;
  const CoreSettings* before = c->settings;
  const Settings* s = &next->loop;
  double difference[N];
  next->loop.step_arrays[MEMORY] = (double*)&m->memory;
  c->settings = next;
  EACH m->most_error[i] = find_most_error(s, i);
  if (before) leave_tool(c, before); else core_stop(c);
  if (how == CORE_REFRESH && before) return;
  if (how == CORE_REPLACE) reset_step(&m->memory);
  if (how == CORE_CONTINUE) {
    find_difference(s, m, difference);
    blend_change(&m->memory, difference, s->blend_time);
  } else blend(&m->memory, s->blend_time);
  EACH {
    m->carried_stiffness[i] = m->carried * m->carried * s->stiffness[i];
    m->carried_damping[i] = m->carried * s->damping[i];
  }
  m->judged_q[0] = NAN;
  if (!s->plausibility) { reset_consistency(&m->consistency); m->is_suspect = 0; }
  m->consistency.effort_known = m->consistency.model_known = 0;
  if (!s->observer_run || !before || before->loop.observer_run != s->observer_run) reset_observer(m);
  core_scale_speed(c, m->references.asked_speed);
}

void core_start(Core* c, double t, const double* q) {
  core_stop(c);
  start(&c->state, t, q);
  copy(c->state.last_q, q); /* a continuous joint counts on from there */
}

int64_t core_simulated_time(Core* c, int64_t clock, int64_t stamp) {
  State* m = &c->state;
  const int64_t timeout = (int64_t)(1e9 * c->settings->loop.state_timeout);
  if (clock < m->clock) {
    m->clock_reset = 1;
    m->good = 0; m->estimate_t = -INFINITY;
    reset_consistency(&m->consistency);
  }
  if (clock < m->clock || m->clock == 0 || clock > m->newest) m->newest = clock;
  m->clock = clock;
  if (stamp > m->newest && (stamp - m->newest <= timeout || clock == 0)) m->newest = stamp;
  return llabs(m->newest - stamp) > timeout ? m->newest : stamp;
}

void core_acknowledge(Core* c) {
  State* m = &c->state;
  m->is_suspect = 0;
  for (int k = 0; k < KINDS; ++k) {
    forget_history(m, k);
    m->begins_count[k] = 0;
    m->seen[k] = m->reacted[k] = -INFINITY;
  }
  reset_consistency(&m->consistency);
  if (m->found_delay > 0) forget_judgement(&c->settings->loop, m);
}

void core_set_conflict(Core* c, int conflict) { c->state.conflict = conflict; }

void core_set_contact(Core* c, int kind) { c->state.given_contact = kind; }

void core_tare(Core* c) {
  State* m = &c->state;
  EACH { m->bias[i] += m->external[i]; m->external[i] = 0; }
}

int core_final_command(Core* c, double t, double* effort) {
  State* m = &c->state;
  const Settings* s = &c->settings->loop;
  double wanted[N], added[N];
  int limited = 0;
  if (m->memory.is_sending == 0) return 0;
  gravity_effort(s, m, m->q, wanted);
  find_added(s, m, added);
  limit(s, &m->memory, t, wanted, added, c->period.rows);
  c->period.kind = FINAL_COMMAND;
  EACH { effort[i] = c->period.rows[EFFORT * N + i]; limited |= c->period.rows[RATE_LIMITED * N + i] != 0; }
  return limited ? 1 : 2;
}

static void refuse(Request* r, CoreRefusal found) {
  r->outcome = found.why; r->joint = found.joint; r->value = found.value; r->limit = found.limit;
}

/* Sets the gains of the reactions for the rate of the states, which were computed outside the core. */
static void set_carried(State* m, const Request* r) {
  if (r->t < m->found_delay) return; /* it was found since the judgement began */
  m->carried = r->value;
  m->stable_until = r->limit; m->command_delay = r->t;
  if (r->number) m->allowed = greater(m->allowed, m->judged_period + m->judged_delay);
  copy(m->carried_stiffness, r->numbers[0]); copy(m->carried_damping, r->numbers[1]);
  m->to_judge = 0;
}

/* Copies the state of the loop and the memory of the law. */
static void take_snapshot(const Core* c, Request* r) {
  const Settings* s = &c->settings->loop;
  *(State*)r->object = c->state;
  for (int64_t k = 0; k < s->law_memory_width; ++k) r->result[k] = s->step_arrays[LAW_MEMORY][k];
}

static void ask_reference(Core* c, Request* r) {
  const double* const* x = r->numbers;
  switch (r->what) {
    case TRACK: refuse(r, core_track(c, r->t, r->joints, x[0], x[1], x[2], x[3])); break;
    case MOVE_TOOL: refuse(r, core_tool(c, (int)r->number, r->t, r->value, x[0])); break;
    case STAND_STILL: core_stand_still(c); break;
    case FOLLOW: refuse(r, core_follow(c, r->object, (const CoreTolerances*)x[0], r->number)); break;
    case RETURNED: r->object = core_returned(c); break;
    case SCALE_SPEED: core_scale_speed(c, r->value); break;
    case EXPECTED: refuse(r, core_expected(c, r->t, r->result)); break;
    default: refuse(r, core_hold(c, r->t));
  }
}

/* As one function: the thread that runs the periods calls it for other threads. */
void core_request(Core* c, Request* r) {
  r->outcome = 0;
  switch (r->what) {
    case APPLY: core_apply(c, r->object, (int)r->number); break;
    case START: core_start(c, r->t, r->numbers[0]); break;
    case STOP: core_stop(c); break;
    case TARE: core_tare(c); break;
    case SET_CONTACT: core_set_contact(c, (int)r->number); break;
    case SET_CONFLICT: core_set_conflict(c, (int)r->number); break;
    case FINAL_STEP: r->outcome = core_final_command(c, r->t, r->result); break;
    case SET_CARRIED: set_carried(&c->state, r); break;
    case SNAPSHOT: take_snapshot(c, r); break;
    default: ask_reference(c, r);
  }
}

/* Goal and gains of a joint's drive in MIT mode: those of the law, or of a reaction that holds the arm at `held`. */
static void find_spring(const Settings* s, const State* m, const Period* p, int i, int reacts, double held, double* goal,
                        double* velocity, double* stiffness, double* damping) {
  const int gives_way = reacts && (m->phase == DAMP || m->phase == FLOAT);
  *goal = gives_way ? m->q[i] : held; *velocity = 0;
  *stiffness = gives_way ? 0 : s->stiffness[i]; *damping = s->damping[i];
  if (reacts || p->kind != NO_FAULT) return;
  *goal = p->reference[i]; *velocity = p->reference[N + i];
  *stiffness = s->law_stiffness[i]; *damping = s->law_damping[i];
}

void core_mit(const Core* c, double t, const double* q, const double* effort, const double* greatest, double* position,
              double* velocity, double* stiffness, double* damping, double* feed_forward) {
  const Settings* s = &c->settings->loop;
  const State* m = &c->state;
  const Period* p = &c->period;
  /* a dropped state has no kind, and is answered by the command before it, which may be that of a reaction */
  const int reacts = p->kind >= 0 || (p->kind == NO_FAULT && m->active);
  const int has_state = reacts ? m->active_kind != FAULT_STATES : p->kind == NO_FAULT;
  const int has_spring = !(reacts && m->active_kind == FAULT_SENSOR);
  double held[N];
  if (reacts) target(m, t, held); else copy(held, m->q);
  EACH {
    const int is_cut = p->rows[SATURATED * N + i] != 0 || p->rows[RATE_LIMITED * N + i] != 0;
    const double at = m->q[i], speed = has_state ? m->qd[i] : 0, ratio = has_spring && !is_cut;
    double goal, k, d;
    find_spring(s, m, p, i, reacts, held[i], &goal, velocity + i, &k, &d);
    stiffness[i] = ratio * smaller(k, greatest[0]);
    damping[i] = ratio * smaller(d, greatest[1]);
    feed_forward[i] = effort[i] - (stiffness[i] * (goal - at) + damping[i] * (velocity[i] - speed));
    position[i] = goal + (isfinite(q[i]) ? q[i] - at : 0);
  }
}
