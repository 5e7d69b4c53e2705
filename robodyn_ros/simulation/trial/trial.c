// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* A trial: the plant with its events, drives and sensors, the control loop, and the loop over simulated time.

   This file follows plant/motion.c, whose functions move the plant within a mode. compiled.py replaces `@fields` by the
   members of the memory that Python and C share and `@codes` by the results of the C code (both in memory.py), and `@dropped`
   by a number of core.h.

   Each part is a twin of Python code, which explains it; a change must be made in both:

     solve_boxed_lcp, find_contacts, find_mode   ../plant/modes.py
     crossing, first_event, settle, reach, cut_step   ../plant/mechanism.py
     smooth_step, step                           TimeStepper in ../plant/native.py
     lagged, follow, drive                       ../hardware/actuators.py
     measure                                     Encoders in ../hardware/sensors.py
     held_or_driven                              ../hardware/hardware.py
     instant, trial                              run_trial in trial.py

   The control loop is the core (control/core), which is called here: `loop_update` and `loop_watch`. A fault ends the
   trial.
   The results are the same up to rounding; test_simulation_sweep_trial.py (test_c_and_python_agree) compares them. */

typedef void Function1(const double*, const double*, double*);
typedef void Function3(const double*, const double*, const double*, const double*, double*);
typedef int Update(void*, double, double, const double*, const double*);
typedef int Watch(void*, double);
typedef struct { @fields } Trial;
enum { @codes };
enum { SEND, DROPPED = @dropped }; /* of core.h: there is an effort to send; the state contradicts those before it */
enum { INSTANT, STEP, STEPPED };  /* phases of a step */

static inline double clamped(double x, double low, double high) {
  x = x > low ? x : low;
  return x < high ? x : high;
}

#define EACH for (int i = 0; i < N; ++i)

static inline double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

/* Solves A x = b for a symmetric positive definite A. Returns nonzero if A is not. */
static int solve(int n, double (*A)[N], const double* b, double* x) {
  double L[N][N];
  for (int i = 0; i < n; ++i) {
    x[i] = b[i];
    for (int j = 0; j <= i; ++j) {
      double sum = A[i][j];
      for (int k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
      if (i == j && !(sum > 0)) return 1;
      L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
    }
    for (int k = 0; k < i; ++k) x[i] -= L[i][k] * x[k];
    x[i] /= L[i][i];
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) x[i] -= L[k][i] * x[k];
    x[i] /= L[i][i];
  }
  return 0;
}

/* Joints that may be held: their numbers, the mass matrix, and its inverse. */
typedef struct {
  double M[N][N], A[N][N], rounding;
  int joint[N], count;
} Restraint;

static int find_restraint(Trial* s, const double* q, const double* w, const double* low, const double* high, Restraint* y) {
  double greatest = 0;
  s->plant_mass(q, s->symbols, &y->M[0][0]);
  y->count = 0;
  for (int j = 0; j < N; ++j) {
    double unit[N] = {0}, load = 0;
    unit[j] = 1;
    if (solve(N, y->M, unit, y->A[j])) return 1;
    EACH load += y->M[j][i] * w[i];
    greatest = fmax(greatest, fabs(load));
    if (low[j] < high[j]) y->joint[y->count++] = j;
  }
  y->rounding = s->lcp_rounding * (1 + greatest);
  return 0;
}

/* Forces r that leave the held joints without motion, and the motion of all joints with them. Nonzero without a solution. */
static int restrain(const Restraint* y, const int* held, const double* w, double* r, double* moved) {
  double B[N][N], b[N], x[N];
  int place[N], n = 0;
  for (int k = 0; k < y->count; ++k) if (held[k]) { r[y->joint[k]] = 0; place[n++] = y->joint[k]; }
  for (int k = 0; k < n; ++k) {
    b[k] = -w[place[k]];
    EACH b[k] -= y->A[place[k]][i] * r[i];
    for (int l = 0; l < n; ++l) B[k][l] = y->A[place[k]][place[l]];
  }
  if (solve(n, B, b, x)) return 1;
  for (int k = 0; k < n; ++k) r[place[k]] = x[k];
  EACH { moved[i] = w[i]; for (int j = 0; j < N; ++j) moved[i] += y->A[i][j] * r[j]; }
  return 0;
}

/* The first joint that has to change: one that is held by too great a force is let go at its bound, one that moves against
   its force is held. Its place among those that may be held, -1 for none. */
static int change_first(const Restraint* y, int* held, const double* low, const double* high, double* r, const double* moved) {
  for (int k = 0; k < y->count; ++k) {
    const int j = y->joint[k];
    const double load = moved[j] * y->M[j][j];
    const int below = held[k] && r[j] < low[j] - y->rounding, above = held[k] && r[j] > high[j] + y->rounding;
    const int caught = !held[k] && ((r[j] == low[j] && load < -y->rounding) || (r[j] == high[j] && load > y->rounding));
    if (!below && !above && !caught) continue;
    held[k] = caught;
    r[j] = below ? low[j] : high[j];
    return k;
  }
  return -1;
}

/* Solves for forces within bounds, the motion with them, and the held joints. Returns nonzero without a solution. */
static int solve_boxed_lcp(Trial* s, const double* q, const double* w, const double* low, const double* high,
                    double* force, double* motion, int* is_held) {
  Restraint y;
  int held[N];
  if (find_restraint(s, q, w, low, high, &y)) return 1;
  EACH { force[i] = 0; held[i] = 1; is_held[i] = 0; }
  for (int pivot = 0; pivot < s->pivots; ++pivot) {
    if (restrain(&y, held, w, force, motion)) return 1;
    if (change_first(&y, held, low, high, force, motion) >= 0) continue;
    for (int k = 0; k < y.count; ++k) if (held[k]) { motion[y.joint[k]] = 0; is_held[y.joint[k]] = 1; }
    return 0;
  }
  return 1;
}

static void collect_held(System* y) {
  y->count = 0;
  EACH if (y->row[HELD][i] != 0) y->held[y->count++] = i;
}

/* Dry friction of a joint that slides at velocity v. */
static double dry_friction(double (*row)[N], int i, double v) {
  const double x = row[STRIBECK_RATE][i] * v;
  return row[COULOMB][i] + (row[STRIBECK_AMPLITUDE][i] != 0 ? row[STRIBECK_AMPLITUDE][i] * exp(-x * x) : 0);
}

/* Fills row CONTACT: the compliant stops that joints touch. */
static void find_contacts(Trial* s, System* y, const double* direction) {
  double (*row)[N] = (double (*)[N])s->frame, *q = row[Q], *v = row[V], net[N], going[N];
  int edge = 0;
  EACH {
    row[CONTACT][i] = q[i] > row[UPPER][i] ? 1 : q[i] < row[LOWER][i] ? -1 : 0;
    edge |= row[STIFFNESS][i] != 0 && (q[i] == row[UPPER][i] || q[i] == row[LOWER][i]);
  }
  if (!edge) return;
  EACH net[i] = row[EFFORT][i] - direction[i] * dry_friction(row, i, v[i]) - row[VISCOUS][i] * v[i];
  bare(y, q, v, net, going);
  EACH {
    const double direction_of_motion = v[i] == 0 ? going[i] : v[i];
    if (row[STIFFNESS][i] == 0) continue;
    if (q[i] == row[UPPER][i] && direction_of_motion > 0) row[CONTACT][i] = 1;
    if (q[i] == row[LOWER][i] && direction_of_motion < 0) row[CONTACT][i] = -1;
  }
}

static double least(double speed, double pushed, double over) {
  return over > 0 ? speed : pushed < 0 && over == 0 ? -speed : -INFINITY;
}

/* The loads that a joint can bear, of friction and rigid stops (rows R_LOW, R_HIGH), and with the drive at its velocity
   limit. */
static void find_bounds(const Trial* s, double (*row)[N], int i, double* low, double* high) {
  const double q = row[Q][i], v = row[V][i], effort = row[EFFORT][i], speed = row[SPEED][i];
  const double borne = v == 0 ? s->static_friction[i] : 0;
  const int rigid = v == 0 && row[STIFFNESS][i] == 0;
  row[R_LOW][i] = rigid && q >= row[UPPER][i] ? -INFINITY : -borne;
  row[R_HIGH][i] = rigid && q <= row[LOWER][i] ? INFINITY : borne;
  *low = row[R_LOW][i] - (v == speed ? fmax(effort, 0) : 0);
  *high = row[R_HIGH][i] + (v == -speed ? fmax(-effort, 0) : 0);
}

/* The fastest of the joints that break loose from rest, and get less friction at once; -1 for none. */
static int first_slipping(const Trial* s, double (*row)[N], const int* loose, const double* motion) {
  int first = -1;
  EACH {
    const int slips = loose[i] && row[V][i] == 0 && s->static_friction[i] > dry_friction(row, i, row[V][i]);
    if (slips && (first < 0 || fabs(motion[i]) > fabs(motion[first]))) first = i;
  }
  return first;
}

/* Finds the joints that are held, and those that break loose, with their direction. Nonzero without a solution. */
static int find_held(Trial* s, System* y, double* direction, const double* over, double* low, double* high, int* held,
                     int* loose, double* side) {
  double (*row)[N] = (double (*)[N])s->frame, net[N], free[N], force[N], motion[N];
  for (;;) {
    int bound = 0;
    EACH { held[i] = loose[i] = 0; bound |= low[i] < high[i]; }
    if (!bound) return 0;
    EACH { row[DIRECTION][i] = direction[i]; row[OVER][i] = over[i]; net[i] = force_on(y, i, row[Q][i], row[V][i]); }
    bare(y, row[Q], row[V], net, free);
    if (solve_boxed_lcp(s, row[Q], free, low, high, force, motion, held)) return 1;
    EACH { loose[i] = !held[i] && force[i] != 0; side[i] = -sign(force[i]); }
    const int first = first_slipping(s, row, loose, motion);
    if (first < 0) return 0;
    direction[first] = side[first]; low[first] = high[first] = 0;
  }
}

/* The domain of a joint in the mode. */
static void find_domain(double (*row)[N], int i, double direction, double over) {
  const double contact = row[CONTACT][i], speed = row[SPEED][i], pushed = sign(row[EFFORT][i]);
  row[Q_LOW][i] = contact == 0 ? row[LOWER][i] : contact > 0 ? row[UPPER][i] : -INFINITY;
  row[Q_HIGH][i] = contact == 0 ? row[UPPER][i] : contact < 0 ? row[LOWER][i] : INFINITY;
  row[V_LOW][i] = fmax(direction > 0 ? 0 : -INFINITY, least(speed, pushed, over));
  row[V_HIGH][i] = fmin(direction < 0 ? 0 : INFINITY, -least(speed, -pushed, -over));
}

/* Finds the mode that begins in the state of the frame; stuck joints are held under any load. Nonzero if it fails. */
static int find_mode(Trial* s, System* y, const int* stuck) {
  double (*row)[N] = (double (*)[N])s->frame, *v = row[V], *effort = row[EFFORT], *speed = row[SPEED];
  double direction[N], over[N], low[N], high[N], side[N] = {0};
  int held[N], loose[N];
  EACH {
    direction[i] = s->static_friction[i] > 0 ? sign(v[i]) : 0;
    over[i] = sign(effort[i]) * v[i] > speed[i] ? sign(effort[i]) : 0;
    find_bounds(s, row, i, low + i, high + i);
    if (stuck && stuck[i]) { low[i] = -INFINITY; high[i] = INFINITY; }
  }
  find_contacts(s, y, direction);
  if (find_held(s, y, direction, over, low, high, held, loose, side)) return 1;
  EACH {
    if (loose[i] && v[i] == side[i] * speed[i]) over[i] = side[i];
    if (loose[i] && v[i] == 0 && s->static_friction[i] > 0) direction[i] = side[i];
    row[DIRECTION][i] = held[i] && v[i] == 0 ? 0 : direction[i];
    row[HELD][i] = held[i]; row[OVER][i] = over[i];
    find_domain(row, i, direction[i], over[i]);
  }
  collect_held(y);
  return 0;
}

typedef struct { double part, bound, slope; int joint, moving; } Event;

/* The last point in [0, 1) before sign times the cubic turns positive. The twin of 52 is BISECTIONS. */
static double crossing(double a, double b, double c, double d, double sign) {
  double low = 0, high = 1;
  for (int k = 0; k < 52; ++k) {
    const double middle = 0.5 * (low + high);
    if (sign * (((a * middle + b) * middle + c) * middle + d) > 0) high = middle; else low = middle;
  }
  return low;
}

/* Finds the first joint that leaves the mode's domain. Returns nonzero if one does. */
static int first_event(const double (*row)[N], const double* q1, const double* v1, double dt, Event* first) {
  const double *q = row[Q], *v = row[V];
  int found = 0;
  for (int moving = 0; moving < 2; ++moving) EACH {
    const double low = row[moving ? V_LOW : Q_LOW][i], high = row[moving ? V_HIGH : Q_HIGH][i];
    const double end = moving ? v1[i] : q1[i];
    if (!(end < low || end > high)) continue;
    const double bound = end < low ? low : high, side = end < low ? -1 : 1;
    const double v0 = dt * v[i], rise = q1[i] - q[i], w = dt * v1[i];
    const double a = v0 + w - 2 * rise, b = 3 * rise - 2 * v0 - w;
    Event event = {.bound = bound, .joint = i, .moving = moving};
    if (moving) {
      event.part = crossing(0, 3 * a, 2 * b, v0 - dt * bound, side);
      event.slope = (6 * a * event.part + 2 * b) / dt;
    } else {
      event.part = crossing(a, b, v0, q[i] - bound, side);
      event.slope = (3 * a * event.part + 2 * b) * event.part + v0;
    }
    if (!found || event.part < first->part) *first = event;
    found = 1;
  }
  return found;
}

/* Brings joints back to rigid stops, and returns those that hit them; nonzero if any does. low, high: impulses of the stops. */
static int find_hits(double (*row)[N], double* q, const double* v, double* low, double* high, int* hit) {
  int any = 0;
  EACH {
    const int rigid = row[STIFFNESS][i] == 0;
    if (rigid) q[i] = clamped(q[i], row[LOWER][i], row[UPPER][i]);
    const int at_lower = rigid && q[i] <= row[LOWER][i], at_upper = rigid && q[i] >= row[UPPER][i];
    hit[i] = (at_lower && v[i] < 0) || (at_upper && v[i] > 0);
    low[i] = at_upper ? -INFINITY : 0;
    high[i] = at_lower ? INFINITY : 0;
    any |= hit[i];
  }
  return any;
}

/* Applies the impulses of rigid stops; the velocity that was reached becomes exact. A joint bounces once in a step: the
   impacts of those that did are plastic. Returns nonzero if it failed. */
static int settle(Trial* s, double* q, double* v, const Event* event, int* bounced) {
  double low[N], high[N], kept[N] = {0}, w[N], force[N], motion[N], bounce = INFINITY;
  int hit[N], held[N];
  const int any = find_hits((double (*)[N])s->frame, q, v, low, high, hit);
  if (!any && !event->moving) return 0;
  EACH if (hit[i]) { bounce = fmin(bounce, bounced[i] ? 0 : s->restitution[i]); bounced[i] = 1; }
  EACH {
    if (any) { if (hit[i]) kept[i] = -bounce * v[i]; continue; }
    if (v[i] == 0 || i == event->joint) { low[i] = -INFINITY; high[i] = INFINITY; }
    if (i == event->joint) kept[i] = event->bound;
  }
  EACH w[i] = v[i] - kept[i];
  if (solve_boxed_lcp(s, q, w, low, high, force, motion, held)) return 1;
  EACH v[i] = motion[i] + kept[i];
  return 0;
}

/* Refines the time of an event, as a part of the step, by Newton's method and by regula falsi with halved values (Dowell,
   Jarratt, 1971); `then` is the state at it, q and v. end: the state after the whole step. Returns nonzero if it failed. */
static int reach(const Trial* s, const System* y, Event* event, double dt, double (*end)[N], double (*then)[N]) {
  const double (*row)[N] = (const double (*)[N])s->frame;
  const int i = event->joint;
  double low = 0, high = 1, last = 0, before = row[Q + event->moving][i] - event->bound;
  double after = end[event->moving][i] - event->bound;
  const double side = sign(after);
  for (int k = 0; k < s->refinements + s->bracketings; ++k) {
    if (advance(y, event->part * dt, row[Q], row[V], then[0], then[1])) return 1;
    const double off = then[event->moving][i] - event->bound;
    if (fabs(off) <= s->event_tolerance * fabs(event->slope)) return 0;
    double better = k < s->refinements && event->slope != 0 ? event->part - off / event->slope : 0;
    if (off * side > 0) { high = event->part; after = off; before *= last > 0 ? 0.5 : 1; }
    else { low = event->part; before = off; after *= last < 0 ? 0.5 : 1; }
    if (low < better && better < high) last = 0;
    else {
      last = side * off;
      better = low + (high - low) * (before * after < 0 ? before / (before - after) : 0.5);
    }
    if (better == low || better == high) return 0;
    event->part = better;
  }
  return 0;
}

static int is_in_range(const double* q, const double* v) {
  EACH if (!isfinite(q[i]) || !(fabs(v[i]) <= FASTEST)) return 0;
  return 1;
}

/* A step in the frame, cut at the events in it. Returns nonzero if Python has to make it. */
static int cut_step(Trial* s, System* y) {
  double (*row)[N] = (double (*)[N])s->frame, *q = row[Q], *v = row[V], end[2][N], *q1 = end[0], *v1 = end[1], dt = s->step;
  int bounced[N] = {0}, stuck[N] = {0}, any = 0;
  Event event;
  for (int count = 0; count < 4 * N; ++count) {
    double then[2][N];
    if (find_mode(s, y, stuck) || advance(y, dt, q, v, q1, v1) || !is_in_range(q1, v1)) return 1;
    if (!first_event((const double (*)[N])row, q1, v1, dt, &event)) {
      set_state(row, q1, v1);
      EACH any |= stuck[i];
      s->mode_known = !any;
      return 0;
    }
    if (event.part == 0 && v[event.joint] == (event.moving ? event.bound : 0)) { stuck[event.joint] = 1; continue; }
    if (reach(s, y, &event, dt, end, then)) return 1;
    set_state(row, then[0], then[1]);
    if (!event.moving) q[event.joint] = event.bound;
    if (settle(s, q, v, &event, bounced)) return 1;
    dt -= event.part * dt;
  }
  set_state(row, q1, v1);
  EACH bounced[i] = 1;
  s->mode_known = 0;
  return settle(s, q, v, &event, bounced);
}

/* Makes such a step. Returns nonzero, with the state as it was, if Python has to make it. */
static int exact_step(Trial* s, System* y) {
  double (*row)[N] = (double (*)[N])s->frame, q0[N], v0[N];
  EACH { q0[i] = row[Q][i]; v0[i] = row[V][i]; }
  if (!cut_step(s, y)) return 0;
  set_state(row, q0, v0);
  return 1;
}

/* Makes a step within the mode. Returns nonzero if the mode ends in it. */
static int smooth_step(Trial* s, System* y) {
  double (*row)[N] = (double (*)[N])s->frame;
  return !applies(y) || (!rests(row) && step_in_mode(y, s->step, row));
}

static int step(Trial* s, System* y) {
  if (!s->mode_known) {
    if (find_mode(s, y, 0)) return 1;
    s->mode_known = 1;
  }
  return smooth_step(s, y) && exact_step(s, y);
}

/* A joint's lag follows a ramp of this slope. Returns the integral of the effort. */
static double lagged(Trial* s, int i, double slope, double duration) {
  const double lag = s->drive_lag[i], behind = slope * lag;
  const double area = (s->drive_ramp[i] - behind + 0.5 * slope * duration) * duration;
  const double away = s->drive_effort[i] - s->drive_ramp[i] + behind, decay = lag != 0 ? expm1(-duration / lag) : -1.0;
  s->drive_ramp[i] += slope * duration;
  s->drive_effort[i] = s->drive_ramp[i] - behind + away * (1.0 + decay);
  return area - away * lag * decay;
}

/* A drive follows a command for a duration. Returns the integral of the effort. */
static double follow(Trial* s, int i, double command, double duration) {
  const double distance = command - s->drive_ramp[i], needed = fabs(distance) / s->drive_rate[i];
  const double ramp = needed < duration ? needed : duration;
  double total = ramp > 0 ? lagged(s, i, copysign(s->drive_rate[i], distance), ramp) : 0;
  if (ramp < duration) {
    s->drive_ramp[i] = command;
    total += lagged(s, i, 0, duration - ramp);
  }
  return total;
}

/* The command that acts on a joint; 0 before the first. */
static double command_on(const Trial* s, int i) { return s->active < 0 ? 0 : s->drive_command[s->active * N + i]; }

/* True if all drives give the commanded effort, throughout the step. */
static int drives_have_settled(const Trial* s) {
  if (s->reached != s->commanded) return 0;
  EACH {
    const int follows = s->drive_lag[i] == 0 && isinf(s->drive_rate[i]);
    if (!follows && !(s->drive_effort[i] == command_on(s, i) && s->drive_ramp[i] == command_on(s, i))) return 0;
  }
  return 1;
}

/* The mean effort of the drives over the step that begins now. */
static void drive(Trial* s, double* effort) {
  double time = (double)s->now, end = time + 1.0;
  while (s->reached < s->commanded && s->command_due[s->reached] <= time) s->active = s->reached++;
  if (drives_have_settled(s)) { EACH effort[i] = command_on(s, i); return; }
  EACH effort[i] = 0;
  for (int last = 0; !last;) {
    last = !(s->reached < s->commanded && s->command_due[s->reached] < end);
    const double due = last ? end : s->command_due[s->reached];
    if (due > time) EACH effort[i] += follow(s, i, command_on(s, i), (due - time) * s->step) / s->step;
    time = due;
    if (!last) s->active = s->reached++;
  }
}

/* Makes a reading. */
static void measure(Trial* s) {
  const int64_t k = s->now / s->period;
  const double *q = s->frame + Q * N, *v = s->frame + V * N;
  for (int i = 0; i < N; ++i) {
    const int64_t at = k * N + i;
    double position = q[i], velocity = v[i];
    if (s->noisy) { position += s->noise[2 * k * N + i]; velocity += s->noise[(2 * k + 1) * N + i]; }
    if (s->resolution[i] != 0) position = nearbyint(position / s->resolution[i]) * s->resolution[i];
    if (s->differentiated) velocity = k ? (position - s->read_q[at - N]) / (s->period * s->step) : 0;
    s->read_q[at] = position; s->read_v[at] = velocity; s->read_effort[at] = s->effort[i];
  }
}

/* Sends a command: efforts (N,), and the reference's positions and velocities. */
static int send(Trial* s, int64_t reading, const double* effort, const double* q, const double* v) {
  const int64_t row = s->commanded * N;
  EACH {
    if (fabs(effort[i]) > s->greatest_command) return OTHER;
    s->command_effort[row + i] = effort[i]; s->command_q[row + i] = q[i]; s->command_v[row + i] = v[i];
    const double asked = clamped(effort[i], -s->drive_limit[i], s->drive_limit[i]), unit = s->command_resolution[i];
    s->drive_command[row + i] = unit != 0 ? nearbyint(asked / unit) * unit : asked;
  }
  s->command_due[s->commanded] = (double)s->now + s->command_delay;
  s->command_t[s->commanded] = (double)s->now * s->step;
  s->command_stamp[s->commanded] = (double)(reading * s->period) * s->step;
  s->last_command = s->now;
  s->silent = 0;
  s->commanded++;
  return DONE;
}

/* A reading arrives, and the control loop answers it. */
static int answer(Trial* s, int64_t reading) {
  const double stamp = (double)(reading * s->period) * s->step, now = (double)s->now * s->step;
  s->asked = reading;
  s->answer = s->loop_update(s->loop, stamp, now, s->read_q + reading * N, s->read_v + reading * N);
  if (s->answer == DROPPED) return DONE; /* no fault, and no command */
  if (s->answer != SEND || *s->loop_kind >= 0) return FAULT;
  return send(s, reading, s->loop_rows, s->loop_reference, s->loop_reference + N);
}

/* Everything that happens at one instant: measuring, readings that arrive with their commands, and the record. */
static int instant(Trial* s) {
  const int regular = s->now % s->period == 0;
  const double now = (double)s->now * s->step;
  if (regular) measure(s);
  for (; s->received < s->arrivals && s->arrival_step[s->received] <= s->now; ) {
    s->received_t[s->received] = now;
    const int64_t reading = s->arrival_reading[s->received++];
    const int code = answer(s, reading);
    if (code) return code;
  }
  if (!regular) return DONE;
  s->asked = -1;
  s->loop_watch(s->loop, now);
  if (*s->loop_kind >= 0) return FAULT; /* a fault may have no command */
  const int64_t row = s->now / s->period * N;
  for (int i = 0; i < N; ++i) {
    s->true_q[row + i] = s->frame[Q * N + i]; s->true_v[row + i] = s->frame[V * N + i];
    s->true_effort[row + i] = s->effort[i];
  }
  s->truths++;
  return DONE;
}

/* Sets the effort of the step that begins now. Returns 0 if brakes hold the plant, 1 if it moves. */
static int held_or_driven(Trial* s, int* code) {
  if (s->last_command >= 0 && !s->silent && s->now - s->last_command >= s->command_timeout) {
    s->silent = 1;
    if (!s->hold_on_timeout) *code = OTHER;
  }
  if (s->braked) {
    if (s->reached == s->commanded || ceil(s->command_due[s->reached] - (double)s->now) > 0) return 0;
    s->braked = 0;
  }
  double effort[N];
  drive(s, effort);
  for (int i = 0; i < N; ++i)
    s->effort[i] = s->frame[EFFORT * N + i] = clamped(effort[i], -s->drive_limit[i], s->drive_limit[i]);
  return 1;
}

/* Runs until the end, a fault, or a step that Python has to make. Returns a code. */
int trial(Trial* s) {
  System y;
  begin(&y, (const double (*)[N])s->frame, s->symbols, 0);
  int code = DONE;
  for (;;) {
    if (s->phase == INSTANT) {
      code = instant(s);
      if (code || s->now >= s->end) return code;
      s->phase = held_or_driven(s, &code) ? STEP : STEPPED;
      if (code) return code;
    }
    if (s->phase == STEP && step(s, &y)) return EVENT;
    s->phase = INSTANT;
    s->now++;
  }
}
