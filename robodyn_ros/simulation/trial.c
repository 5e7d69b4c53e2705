// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* A trial until its first fault: drives and sensors, the control loop, and the loop over simulated time.

   It follows hardware.c, and calls the plant (plant/mechanism.c) and the core of the control loop (control/core) by
   address. compiled_trial.py replaces `@rows` by the rows of the plant's frame, and `@dropped` by a number of core.h.

   `instant` and `trial` are run_trial in trial.py, which explains them; a change must be made in both. The results are
   the same up to rounding; test_simulation_sweep_trial.py (test_c_and_python_agree) compares them. */

typedef int Update(void*, double, double, const double*, const double*);
typedef int Watch(void*, double);
typedef int Step(void*);

enum { @rows };
/* Results: the end; a step of the plant failed; a fault of the control loop; a command that no drive can give. */
enum { DONE, FAILED, FAULT, REFUSED };
enum { SEND, DROPPED = @dropped }; /* of core.h: there is an effort to send; the state contradicts those before it */

typedef struct {
  Drives* drives;
  Sensors* sensors;
  int64_t now, end, period; /* the present step, the last, and steps between two readings */
  double* frame;            /* of the plant, (rows, N) */
  void* plant;
  Step *plant_step, *plant_settle;
  void* loop;
  Update* loop_update;
  Watch* loop_watch;
  double *loop_rows, *loop_reference; /* of the loop's period: efforts, and position and velocity of the reference */
  int64_t* loop_kind;
  double *noise, *chance;   /* random numbers of all readings, null without */
  double effort[N];         /* that acts */
  int64_t asked, answer;    /* the reading that was answered last, -1 for missing ones; the core's result */
  /* Records, and their lengths: all readings; those that arrive (when, and which); commands; the plant when it is read. */
  int64_t sent, received, commanded, truths;
  double *read_q, *read_v, *read_effort;
  int64_t *arrival_step, *arrival_reading;
  double* received_t;
  double *command_t, *command_stamp, *command_effort, *command_q, *command_v;
  double *true_q, *true_v, *true_effort;
} Trial;

static double seconds(const Trial* s, int64_t steps) { return (double)steps * s->drives->step; }

static void copy(double* to, const double* from) { memcpy(to, from, N * sizeof *to); }

/* Makes a reading, and sends it. */
static void measure(Trial* s) {
  const int64_t k = s->now / s->period;
  const double *noise = s->noise ? s->noise + 2 * k * N : 0, *chance = s->chance ? s->chance + 3 * k : 0;
  const int times = sensors_read(s->sensors, s->now, s->frame + Q * N, s->frame + V * N, noise, chance);
  copy(s->read_q + k * N, s->sensors->q); copy(s->read_v + k * N, s->sensors->v); copy(s->read_effort + k * N, s->effort);
  for (int again = 0; again < times; ++again) {
    s->arrival_step[s->sent] = s->sensors->due;
    s->arrival_reading[s->sent++] = k;
  }
}

/* Sends a command. */
static int send(Trial* s, int64_t reading) {
  const int64_t row = s->commanded * N;
  if (drives_command(s->drives, s->now, s->loop_rows)) return REFUSED;
  copy(s->command_effort + row, s->loop_rows);
  copy(s->command_q + row, s->loop_reference);
  copy(s->command_v + row, s->loop_reference + N);
  s->command_t[s->commanded] = seconds(s, s->now);
  s->command_stamp[s->commanded++] = seconds(s, reading * s->period);
  return DONE;
}

/* A reading arrives, and the control loop answers it. */
static int answer(Trial* s, int64_t reading) {
  const double stamp = seconds(s, reading * s->period);
  s->asked = reading;
  s->answer = s->loop_update(s->loop, stamp, seconds(s, s->now), s->read_q + reading * N, s->read_v + reading * N);
  if (s->answer == DROPPED) return DONE; /* no fault, and no command */
  if (s->answer != SEND || *s->loop_kind >= 0) return FAULT;
  return send(s, reading);
}

/* Everything that happens at one instant: measuring, readings that arrive with their commands, and the record. */
static int instant(Trial* s) {
  const int regular = s->now % s->period == 0;
  if (regular) measure(s);
  while (s->received < s->sent && s->arrival_step[s->received] <= s->now) { /* no reading overtakes another */
    s->received_t[s->received] = seconds(s, s->now);
    const int code = answer(s, s->arrival_reading[s->received++]);
    if (code) return code;
  }
  if (!regular) return DONE;
  s->asked = -1;
  s->loop_watch(s->loop, seconds(s, s->now));
  if (*s->loop_kind >= 0) return FAULT; /* a fault may have no command */
  const int64_t row = s->truths++ * N;
  copy(s->true_q + row, s->frame + Q * N); copy(s->true_v + row, s->frame + V * N); copy(s->true_effort + row, s->effort);
  return DONE;
}

/* Moves the plant by a step. Nonzero if that fails. */
static int move(Trial* s) {
  double* acting = s->frame + EFFORT * N;
  const int64_t was_held = s->drives->held;
  drives_act(s->drives, s->now, 1);
  if (s->drives->held && was_held) return 0;
  EACH {
    const double limit = s->drives->drive[i].limit, effort = s->drives->effort[i];
    s->effort[i] = acting[i] = effort > limit ? limit : effort < -limit ? -limit : effort;
  }
  if (!s->drives->held) return s->plant_step(s->plant);
  memset(s->frame + V * N, 0, N * sizeof(double)); /* the brakes engage */
  return s->plant_settle(s->plant);
}

/* Runs until the end, a fault, or a step that fails. Returns a code. */
int trial(Trial* s) {
  for (;; s->now++) {
    const int code = instant(s);
    if (code || s->now >= s->end) return code;
    if (move(s)) return FAILED;
  }
}
