// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The control loop of one arm (arm_loop.h), compiled as one unit with the core. */

#define _GNU_SOURCE /* constants of math.h */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arm_loop.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "core/core.c"
#pragma GCC diagnostic pop
#include "model.h"

#include "arm_data.h"

#include "parameters.c"

struct Arm {
  Core* core;
  int64_t followed; /* count of trajectories */
  int64_t dropped;  /* count of those that did not begin and have been reported */
  int64_t aborted;  /* count of those that were aborted for a tolerance, likewise */
  double since;     /* time of the first update [s]; NAN before it */
};

ArmSettings* arm_settings(const Arm* a) { return (ArmSettings*)a->core->settings; /* its first member */ }

void arm_destroy(Arm* a) {
  if (!a) return;
  if (a->core) arm_settings_destroy(arm_settings(a));
  core_destroy(a->core);
  free(a);
}

Arm* arm_create(void) {
  Arm* a = calloc(1, sizeof *a);
  if (a && !(a->core = core_create())) { free(a); return 0; }
  return a;
}

Core* arm_core(Arm* a) { return a->core; }

void arm_apply(Arm* a, ArmSettings* next) {
  const ArmSettings* before = arm_settings(a);
  double* memory = next->step_arrays[LAW_MEMORY];
  for (int k = 0; k < LAW_WIDTH; ++k) /* the memory that the law keeps (Controller.resume) */
    memory[k] = before && LAW_KEEPS[k] != 0 ? before->step_arrays[LAW_MEMORY][k] : FIRST_LAW_MEMORY[k];
  core_apply(a->core, &next->core, CORE_CONTINUE);
}

void arm_stop(Arm* a) {
  core_stop(a->core);
  a->since = NAN;
}

CoreRefusal arm_follow(Arm* a, CoreTrajectory* trajectory) {
  return core_follow(a->core, trajectory, &arm_settings(a)->tolerances, ++a->followed);
}

/* The reason of the latest of `count` events, if it has not been `reported`. */
static CoreRefusal newest(int64_t count, int64_t* reported, CoreRefusal why) {
  const int is_new = count != *reported;
  *reported = count;
  return is_new ? why : NOT_REFUSED;
}

CoreRefusal arm_dropped(Arm* a) {
  const References* r = &a->core->state.references;
  return newest(r->dropped, &a->dropped, r->refused);
}

CoreRefusal arm_aborted(Arm* a) {
  const References* r = &a->core->state.references;
  return newest(r->violations, &a->aborted, r->violation);
}

void arm_to_root(int what, const double* pose, double* numbers) {
  double rotation[9], given[12];
  const size_t count = what == CORE_POSE ? 12 : 6;
  memcpy(given, numbers, count * sizeof *given);
  for (int i = 0; i < 3; ++i) for (int j = 0; j < 3; ++j) rotation[3 * i + j] = pose[4 * i + j];
  for (int part = 0; part < 6; part += 3) for (int i = 0; i < 3 && (part == 0 || what != CORE_POSE); ++i) {
    numbers[part + i] = what == CORE_POSE ? pose[4 * i + 3] : 0;
    for (int j = 0; j < 3; ++j) numbers[part + i] += rotation[3 * i + j] * given[part + j];
  }
  if (what == CORE_POSE) multiply3(rotation, given + 3, 0, numbers + 3);
}

CoreRefusal arm_tool(Arm* a, int what, int frame, double t, double stamp, const double* told) {
  double numbers[12], poses[16 * ARM_LINKS];
  memcpy(numbers, told, (what == CORE_POSE ? 12 : 6) * sizeof *numbers);
  if (frame >= 0) {
    model_links(a->core->state.q, poses);
    arm_to_root(what, poses + 16 * frame, numbers);
  }
  return core_tool(a->core, what, t, stamp, numbers);
}

int arm_is_unreachable(const Arm* a) {
  return a->core->state.references.source == TOOL && a->core->state.tool.state == TOOL_STANDS;
}

/* --- a period */

/* The gravity effort at the arm's last position; zero if it is unknown. */
static void last_gravity(const Settings* s, const State* m, double* effort) {
  EACH effort[i] = m->gravity_known ? within(s->sent_ratio[i] * m->gravity_last[i], s->effort_limit[i]) : 0;
}

static void report_fault(const State* m, const Period* p, ArmReport* r) {
  r->fault = (int)p->kind; r->faults = m->faults;
  r->latched = (int)m->latched; r->problem = (int)m->problem; r->joint = (int)m->problem_joint;
  r->value = m->problem_value; r->bound = m->problem_bound;
}

int arm_update(Arm* a, double t, const double* q, const double* qd, ArmReport* r) {
  Core* c = a->core;
  const Settings* s = &c->settings->loop;
  const State* m = &c->state;
  const Period* p = &c->period;
  int code = core_update(c, t, t, q, qd);
  r->code = code; r->fault = NO_FAULT;
  if (isnan(a->since)) a->since = t;
  clear(r->effort);
  if (code != CORE_SEND && code != CORE_SILENT) { /* the state is not used */
    if (m->references.source == WAITING) {
      r->refusal = (CoreRefusal){CORE_NOT_HELD, m->problem_joint, m->problem_value, m->problem_bound};
      if (!(t - a->since > s->state_timeout)) return ARM_KEEP;
      last_gravity(s, m, r->effort);
      return ARM_BLIND;
    }
    if (!(t - m->time > s->state_timeout)) return ARM_KEEP;
    code = core_watch(c, t);
  }
  report_fault(m, p, r);
  if (code != CORE_SEND) return ARM_SILENT;
  copy(r->effort, p->rows + EFFORT * N);
  for (int k = 0; k < ARM_TERMS * N; ++k) r->terms[k] = p->rows[TERMS * N + k];
  copy(r->error, p->rows + ERROR * N);
  copy(r->external, p->external);
  return ARM_SEND;
}

void arm_mit(const Arm* a, double t, const double* q, const double* effort, double* position, double* velocity,
             double* stiffness, double* damping, double* feed_forward) {
  core_mit(a->core, t, q, effort, arm_settings(a)->given.mit_limits, position, velocity, stiffness, damping, feed_forward);
}

int arm_final_command(Arm* a, double* effort, double* damping) {
  const ArmSettings* x = arm_settings(a);
  const Settings* s = &x->core.loop;
  State* m = &a->core->state;
  const int what = (int)x->given.on_deactivate, sends = m->memory.is_sending != 0;
  if (sends) gravity_effort(s, m, m->q, effort);
  last_gravity(s, m, effort);
  EACH {
    if (what == LEAVE_ZERO) effort[i] = 0;
    damping[i] = what == LEAVE_DAMPING ? smaller(s->damping[i], x->given.mit_limits[1]) : 0;
  }
  return sends;
}

void arm_wrench(const Arm* a, double* wrench) {
  const State* m = &a->core->state;
  const double* found = m->external + WRENCH;
  double pose[16], jacobian[6 * N];
  model_contact_link(m->q, pose, jacobian);
  for (int k = 0; k < 3; ++k) for (int half = 0; half < 6; half += 3) {
    wrench[half + k] = 0;
    for (int j = 0; j < 3; ++j) wrench[half + k] += pose[4 * j + k] * found[half + j];
  }
}

/* --- messages */

/* A text with numbers in place of %1 and %2, a word in place of %3, and the magnitude of the first number in place of %4. */
static void fill_in(char* text, size_t size, const char* said, double value, double bound, const char* word) {
  size_t end = 0;
  for (; *said && end + 1 < size; ++said) {
    if (*said != '%') { text[end++] = *said; continue; }
    const char mark = *++said;
    const double number = mark == '1' ? value : mark == '2' ? bound : fabs(value);
    const int length = mark == '3' ? snprintf(text + end, size - end, "%s", word) : snprintf(text + end, size - end, "%.4g", number);
    end = end + (size_t)length < size ? end + (size_t)length : size - 1;
  }
  text[end] = 0;
}

static int64_t known_joint(int64_t joint) { return joint >= 0 && joint < N ? joint : 0; }

void arm_refusal_text(const CoreRefusal* r, char* text, size_t size) {
  fill_in(text, size, REFUSAL_TEXTS[r->why][known_joint(r->joint)], r->value, r->limit, "");
}

void arm_fault_text(const ArmReport* r, char* text, size_t size) {
  char what[300];
  const int kind = r->problem % PROBLEM_KINDS, setting = r->problem / PROBLEM_KINDS;
  fill_in(what, sizeof what, PROBLEM_TEXTS[kind][known_joint(r->joint)], r->value, r->bound, UNCERTAINTIES[setting]);
  snprintf(text, size, "%s: %s%s", arm_fault_names[r->fault], what,
           r->latched ? " (latched until ~/hold acknowledges it, or settled_time without it)" : "");
}
