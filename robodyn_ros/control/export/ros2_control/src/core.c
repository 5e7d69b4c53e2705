/* The control loop of one arm (core.h): loop.c, with the settings and references that Python gives it elsewhere. */

#include "core.h"
#include "model.h"

#define WITHOUT_PYTHON
#define N ARM_JOINTS

#include "loop.c"

#include "arm_data.h"

#include "settings.c"

enum { CHECK = LAW_AFTER + 1, STEP_MEMORY = sizeof(StepMemory) / sizeof(double) };
enum { OBSERVER_NUMBERS = 1 + 4 * N + 3 * N + 3 * N + N + 8 + 1 };
enum { STEP_NUMBERS = 2 + 6 * N + 2 * LAW_WIDTH + ROWS * N + FLAGS_WIDTH + STEP_MEMORY + 1 };

/* What is streamed to the tool; the members are those of ToolStream in motion/tool_stream.py. */
typedef struct {
  double position[3], rotation[9]; /* in the root link's frame, row by row */
} ToolPose;

typedef struct {
  double velocity[3], acceleration[3];
} LimitedMotion;

typedef struct {
  int runs, tracks, has_pose, follows; /* tracks: the loop has kept to its reference */
  double time, heard, heard_wrench;
  double q[N], qd[N], begin[N];
  double twist[6], target_twist[6], wrench[6], target_wrench[6];
  ToolPose pose, filtered, target;
  LimitedMotion linear, angular;
} ToolStream;

#include "references.c"
#include "tool_stream.c"

void core_destroy(Core* c) {
  if (!c) return;
  for (int k = 0; k < MOTIONS; ++k) { core_trajectory_destroy(c->held[k]); core_trajectory_destroy(c->back[k]); }
  for (int k = 0; k < 2; ++k) core_trajectory_destroy(c->stops[k]);
  core_settings_destroy(c->settings);
  free(c);
}

Core* core_create(void) {
  const size_t numbers = POINTS_OF_A_STOP * (1 + 2 * N) + 4 * N * N;
  Core* c = calloc(1, sizeof *c);
  if (!c) return 0;
  for (int k = 0; k < 2; ++k) {
    c->stops[k] = calloc(1, sizeof(CoreTrajectory) + numbers * sizeof(double));
    if (!c->stops[k]) { core_destroy(c); return 0; }
  }
  double* at = c->memory;
  const int widths[CHECK + 1] = {2, N, N, N, N, N, N, 0, LAW_WIDTH, 0, ROWS * N, FLAGS_WIDTH, STEP_MEMORY, LAW_WIDTH, 1};
  for (int k = 0; k <= CHECK; ++k) { c->arrays[k] = at; at += widths[k]; }
  at = c->observed;
  const int observed[EXTERNAL + 2] = {1, N, N, N, N, 3 * N, 0, 3 * N, N + 8, 1};
  for (int k = 0; k <= EXTERNAL + 1; ++k) { c->observer[k] = at; at += observed[k]; }
  c->state = FIRST_STATE;
  c->state.begins = c->begins;
  c->arrays[MEMORY] = (double*)&c->state.memory;
  for (int k = 0; k < LAW_WIDTH; ++k) c->arrays[LAW_MEMORY][k] = FIRST_LAW_MEMORY[k];
  c->speed = c->asked_speed = 1;
  c->loop.state = &c->state;
  c->loop.period = &c->period;
  return c;
}

/* Shaping.blend_change */
static void blend_change(StepMemory* m, double* difference, double duration) {
  int runs = 0;
  if (m->is_sending == 0 || m->blending == 1) return;
  if (m->blending != 0) {
    const double left = greater(0, 1 - (m->sent_at - m->blend_begin) / m->blend_time);
    EACH difference[i] += left * m->blend_from[i];
  }
  EACH runs |= difference[i] != 0;
  copy(m->blend_from, difference);
  m->blend_time = duration; m->blend_begin = m->sent_at; m->blending = duration > 0 && runs ? 2 : 0;
}

/* ControlLoop.apply */
void core_apply(Core* c, CoreSettings* next) {
  State* m = &c->state;
  double* const* x = c->arrays;
  const int goes_on = c->settings && m->memory.has_requested != 0 && m->stepped;
  double difference[N] = {0}, reference[REFERENCES * N];
  for (int k = 0; k < LAW_WIDTH; ++k) if (!LAW_KEEPS[k]) x[LAW_MEMORY][k] = FIRST_LAW_MEMORY[k]; /* Controller.resume */
  c->arrays[SETTINGS] = next->step;
  next->loop.step_arrays = c->arrays;
  c->observer[NUMBERS] = next->observer;
  next->loop.observer_arrays = c->observer;
  c->settings = next;
  c->loop.settings = &next->loop;
  if (goes_on) { /* as if the law with these settings had given the last effort */
    for (int k = 0; k < REFERENCES * N; ++k) reference[k] = m->stepped_reference[k];
    add_planned(&next->loop, m->stepped_planned, reference);
    set_step(x, m->memory.sent_at, 0, m->stepped_q, m->stepped_qd, reference);
    step_run(x, next->constants);
    const StepMemory* after = (const StepMemory*)x[AFTER];
    if (x[FLAGS][0] != 0) {
      EACH difference[i] = m->memory.requested[i] - after->requested[i];
      copy(m->memory.requested, after->requested);
    }
  }
  copy(m->carried_stiffness, next->loop.stiffness); copy(m->carried_damping, next->loop.damping);
  m->judged_period = m->judged_delay = m->sure = 0; m->judged_t = -INFINITY;
  if (!next->loop.plausibility) believe(m);
  blend_change(&m->memory, difference, next->loop.blend_time);
  core_scale_speed(c, c->asked_speed);
}

const CoreSettings* core_settings(const Core* c) { return c->settings; }

void core_acknowledge(Core* c) {
  acknowledge(&c->state);
  believe(&c->state);
}

void core_conflict(Core* c, int conflict) { c->state.conflict = conflict; }

void core_stop(Core* c) {
  if (c->settings) stop(&c->settings->loop, &c->state);
  c->stream.runs = 0;
}

void core_tare(Core* c) { EACH c->state.bias[i] += c->state.external[i]; }

void core_wrench(const Core* c, double* wrench) {
  const double* found = c->state.external + WRENCH;
  double pose[16], jacobian[6 * N];
  model_contact_link(c->state.q, pose, jacobian);
  for (int k = 0; k < 3; ++k) for (int part = 0; part < 6; part += 3) {
    wrench[part + k] = 0;
    for (int j = 0; j < 3; ++j) wrench[part + k] += pose[4 * j + k] * found[part + j];
  }
}

/* The first state: whether the limits hold the arm there (ControlLoop._check_start). */
static CoreRefusal check_start(const CoreSettings* x, const double* q) {
  const int carried = x->given.allow_sagging != 0;
  double gravity[N], inertia[N];
  model_gravity(q, x->model, gravity);
  inertia_at(x, q, inertia);
  EACH {
    const double weight = carried ? 0 : fabs(gravity[i]), rise = x->loop.sent_part[i] * weight + START * inertia[i];
    if (!(weight <= x->loop.effort_limit[i]) || (!carried && !(x->loop.effort_limit[i] > 0)))
      return refusal(CORE_NOT_HELD, i, weight, x->loop.effort_limit[i]);
    if (!(rise <= x->loop.rate_limit[i] * RISE)) return refusal(CORE_NOT_HELD, i, rise / RISE, x->loop.rate_limit[i]);
  }
  return refusal(CORE_OK, 0, 0, 0);
}

static int state_problem(int code) {
  switch (code) {
    case STALE: case UNORDERED: return CORE_STATE_OUT_OF_ORDER;
    case JUMPED: return CORE_STATE_JUMPED;
    case NOT_FINITE: return CORE_STATE_NO_NUMBERS;
    case NO_VELOCITY: return CORE_STATE_NO_VELOCITY;
    case FAILED: return CORE_STATE_LAW_FAILED;
    default: return CORE_STATE_USED;
  }
}

int core_update(Core* c, double t, const double* q, const double* qd, double* effort, CoreReport* report) {
  State* m = &c->state;
  Period* p = &c->period;
  int code;
  p->t = p->now = t;
  p->has_velocity = qd != 0;
  p->alone = 2;
  copy(p->q, q);
  if (qd) copy(p->qd, qd); else clear(p->qd);
  report->refusal = refusal(CORE_OK, 0, 0, 0);
  report->state = CORE_STATE_USED;
  report->from_law = 0; report->fault = -1;
  if (m->sources.source == WAITING && is_finite(q)) {
    report->refusal = check_start(c->settings, q);
    if (report->refusal.why) { report->state = CORE_STATE_NOT_HELD; return CORE_KEEP; }
  }
  code = update(&c->loop);
  report->state = state_problem(code);
  if (code != SENT && code != NOTHING) { /* that state is not used */
    const int waits = m->sources.source == WAITING || !(t - m->time > c->settings->loop.state_timeout);
    code = watch(&c->loop, t);
    if (code == NOTHING && waits) return report->state == CORE_STATE_LAW_FAILED ? CORE_SILENT : CORE_KEEP;
  }
  m->to_judge = 0; /* the period was judged when the settings were made */
  report->fault = (int)p->kind; report->faults = m->faults;
  report->latched = (int)m->latched; report->problem = (int)m->problem; report->joint = (int)m->problem_joint;
  report->value = m->problem_value; report->bound = m->problem_bound;
  if (code != SENT) {
    EACH effort[i] = 0;
    return CORE_SILENT;
  }
  copy(effort, p->rows + EFFORT * N);
  report->from_law = p->kind < 0;
  if (report->from_law) {
    for (int k = 0; k < ARM_TERMS * N; ++k) report->terms[k] = p->rows[TERMS * N + k];
    copy(report->error, p->rows + ERROR * N);
  }
  copy(report->external, m->external);
  return CORE_SEND;
}

void core_mit(const Core* c, double t, const double* q, const double* effort, double* position, double* velocity,
              double* stiffness, double* damping, double* feed_forward) {
  const CoreSettings* x = c->settings;
  const State* m = &c->state;
  const Period* p = &c->period;
  const int law = p->kind < 0, has_state = p->t == m->time && (law || p->kind != STATES);
  const int gives_way = m->phase == DAMP || m->phase == FLOAT;
  double left = 1, held[N];
  target(&x->loop, m, t, held);
  if (!law) {
    left = m->left;
    if (m->active_kind == SENSOR) left = 0;
  }
  EACH {
    const int is_cut = p->rows[SATURATED * N + i] != 0 || p->rows[RATE_LIMITED * N + i] != 0;
    const double at = m->q[i], speed = has_state ? p->qd[i] : 0, part = is_cut ? 0 : left;
    const double k = law ? x->law_stiffness[i] : gives_way ? 0 : x->loop.stiffness[i];
    const double d = law ? x->law_damping[i] : x->loop.damping[i];
    const double goal = law ? p->reference[i] : gives_way ? at : held[i];
    velocity[i] = law ? p->reference[N + i] : 0;
    stiffness[i] = part * smaller(k, x->given.mit_stiffness_limit);
    damping[i] = part * smaller(d, x->given.mit_damping_limit);
    feed_forward[i] = effort[i] - (stiffness[i] * (goal - at) + damping[i] * (velocity[i] - speed));
    position[i] = goal + (isfinite(q[i]) ? q[i] - at : 0);
  }
}

int core_parting(Core* c, double* effort) {
  State* m = &c->state;
  if (!c->settings || m->memory.is_sending == 0) return 0;
  weight(&c->settings->loop, m, m->q, effort);
  EACH effort[i] = smaller(greater(effort[i], -c->settings->loop.effort_limit[i]), c->settings->loop.effort_limit[i]);
  return 1;
}

void core_fault_text(const CoreReport* report, char* text, size_t size) {
  const char* joint = core_joints[report->joint >= 0 && report->joint < N ? report->joint : 0];
  const char* kind = core_fault_names[report->fault];
  const char* lasts = report->latched ? " (latched until ~/hold acknowledges it, or it is quiet)" : "";
  switch (report->problem) {
    case WRONG_VELOCITY:
      snprintf(text, size, "%s: the velocity of joint '%s', %g, is not the change of its position, %g%s", kind, joint,
               report->value, report->bound, lasts);
      break;
    case STANDS_STILL:
      snprintf(text, size, "%s: joint '%s' stands still, although an effort of %g drives it%s", kind, joint, report->value,
               lasts);
      break;
    case STRUCK:
      snprintf(text, size, "%s: joint '%s' changes its speed by an effort of %g, which no drive has%s", kind, joint,
               report->value, lasts);
      break;
    case TOO_FAST:
      snprintf(text, size, "%s: joint '%s' moves at %g, more than %g%s", kind, joint, report->value, report->bound, lasts);
      break;
    case FAR_AWAY:
      snprintf(text, size, "%s: joint '%s' is %g from its reference, more than %g%s", kind, joint, report->value,
               report->bound, lasts);
      break;
    case FELT_JOINT:
      snprintf(text, size, "%s: joint '%s' feels %g from outside; %g is the limit%s", kind, joint, report->value,
               report->bound, lasts);
      break;
    case FELT_FORCE: case FELT_TORQUE:
      snprintf(text, size, "%s: the tool feels a %s of %g from outside; %g is the limit%s", kind,
               report->problem == FELT_FORCE ? "force" : "torque", report->value, report->bound, lasts);
      break;
    case FELT_ENERGY:
      snprintf(text, size, "%s: the tool moves with an energy of %g J; %g J is the limit%s", kind, report->value,
               report->bound, lasts);
      break;
    case MISSING: snprintf(text, size, "%s: no usable states for %g s%s", kind, report->value, lasts); break;
    case NO_NUMBERS: snprintf(text, size, "%s: the efforts are no finite numbers%s", kind, lasts); break;
    default: snprintf(text, size, "%s%s", kind, lasts);
  }
}
