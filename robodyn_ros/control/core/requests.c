// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Requests between two periods, as one function: the thread that runs the periods calls it for other threads. */

#include "memory.h"

static void refuse(Request* r, CoreRefusal found) {
  r->outcome = found.why; r->joint = found.joint; r->value = found.value; r->limit = found.limit;
}

/* Sets the gains of the reactions for the rate of the states, which were computed outside the core. */
static void set_carried(State* m, const Request* r) {
  m->carried = r->value;
  m->settled_until = r->limit;
  copy(m->carried_stiffness, r->numbers[0]); copy(m->carried_damping, r->numbers[1]);
  m->to_judge = 0;
}

/* Copies the state of the loop and the memory of the law. */
static void take_snapshot(const Core* c, Request* r) {
  const Settings* s = &c->settings->loop;
  *(State*)r->object = c->state;
  for (int64_t k = 0; k < s->law_memory_width && r->result; ++k) r->result[k] = s->step_arrays[LAW_MEMORY][k];
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
