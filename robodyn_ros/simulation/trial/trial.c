// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* A trial: drives and sensors, the control loop, and the loop over simulated time.

   It follows ../hardware/drives.c, and calls the plant (plant/mechanism.c) and the core of the control loop
   (control/core) by address. The macro N is the number of joints. compiled.py replaces `@fields` by the members of the
   memory that Python and C share and `@codes` by the results of the C code (both in memory.py), `@rows` by the rows of
   the plant's frame, and `@dropped` by a number of core.h. A fault ends the trial.

   Each part is a twin of Python code, which explains it; a change must be made in both:

     drive                                       Actuators in ../hardware/actuators.py
     measure                                     Encoders in ../hardware/sensors.py
     held_or_driven                              ../hardware/hardware.py
     instant, trial                              run_trial in trial.py

   The results are the same up to rounding; test_simulation_sweep_trial.py (test_c_and_python_agree) compares them. */

typedef int Update(void*, double, double, const double*, const double*);
typedef int Watch(void*, double);
typedef int Step(void*);
typedef struct { @fields } Trial;
enum { @rows };
enum { @codes };
enum { SEND, DROPPED = @dropped }; /* of core.h: there is an effort to send; the state contradicts those before it */

#define EACH for (int i = 0; i < N; ++i)

static inline double clamped(double x, double low, double high) {
  x = x > low ? x : low;
  return x < high ? x : high;
}

/* The command that acts on a joint; 0 before the first. */
static double command_on(const Trial* s, int i) { return s->active < 0 ? 0 : s->drive_command[s->active * N + i]; }

/* True if all drives give the commanded effort, throughout the step. */
static int drives_have_settled(const Trial* s) {
  if (s->reached != s->commanded) return 0;
  EACH if (!is_at(s->drives + i, command_on(s, i))) return 0;
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
    if (due > time) EACH effort[i] += follow(s->drives + i, command_on(s, i), (due - time) * s->step) / s->step;
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
    s->drive_command[row + i] = received(s->drives + i, effort[i]);
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
    s->effort[i] = s->frame[EFFORT * N + i] = clamped(effort[i], -s->drives[i].limit, s->drives[i].limit);
  return 1;
}

/* Runs until the end, a fault, or a step that fails. Returns a code. */
int trial(Trial* s) {
  for (;; s->now++) {
    int code = instant(s);
    if (code || s->now >= s->end) return code;
    const int moves = held_or_driven(s, &code);
    if (code) return code;
    if (moves && s->plant_step(s->plant)) return FAILED;
  }
}
