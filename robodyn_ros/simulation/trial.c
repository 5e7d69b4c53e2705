// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* A trial: drives and sensors, the control loop, and the loop over simulated time.

   It follows hardware.c, and calls the plant and the core of the control loop (control/core) by address. A plant that
   trial.c cannot move by itself is one of Python's functions. trial_run.py replaces `@rows` by the rows of a plant's
   frame, and `@dropped` by a number of core.h. */

typedef int Update(void*, double, double, const double*, const double*);
typedef int Watch(void*, double);
typedef int Step(void*);
typedef int Tell(int, int); /* the core's result, and whether it answers a reading; nonzero ends the trial */
typedef int Progress(void); /* likewise */

enum { @rows };
/* Results: the end; a step of the plant failed; Python ends the trial; a command that no drive can give. */
enum { DONE, FAILED, ENDED, REFUSED };
enum { SEND, DROPPED = @dropped }; /* of core.h: there is an effort to send; the state contradicts those before it */

typedef struct {
  Drives* drives;
  Sensors* sensors;
  int64_t now, end, period, moved; /* the present step, the last, steps between two readings, and steps of the plant */
  double* frame;            /* of the plant, (rows, N) */
  void* plant;
  Step *plant_step, *plant_settle;
  void* loop;               /* the core, 0 for hardware without commands */
  Tell* tell;
  Progress* progress;       /* called at each record of the plant, unless it is 0 */
  Update* loop_update;
  Watch* loop_watch;
  double *loop_rows, *loop_reference; /* of the loop's period: efforts, and position and velocity of the reference */
  int64_t* loop_kind;
  double *noise, *chance;   /* random numbers of all readings, null without */
  double effort[N];         /* that acts */
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

/* Sends the response of the control loop to a state with this stamp. Python is told of all but plain commands. */
static int send(Trial* s, int code, int has_state, double stamp) {
  const int64_t row = s->commanded * N, is_plain = *s->loop_kind < 0;
  if (code == DROPPED) return DONE; /* no fault, and no command */
  if (!(code == SEND && is_plain) && s->tell(code, has_state)) return ENDED;
  if (code != SEND) return DONE;
  if (drives_command(s->drives, s->now, s->loop_rows)) return REFUSED;
  copy(s->command_effort + row, s->loop_rows);
  EACH {
    s->command_q[row + i] = is_plain ? s->loop_reference[i] : NAN;
    s->command_v[row + i] = is_plain ? s->loop_reference[N + i] : NAN;
  }
  s->command_t[s->commanded] = seconds(s, s->now);
  s->command_stamp[s->commanded++] = stamp;
  return DONE;
}

/* A reading arrives, and the control loop answers it. */
static int answer(Trial* s, int64_t reading) {
  const double stamp = seconds(s, reading * s->period);
  const double *q = s->read_q + reading * N, *v = s->read_v + reading * N;
  return s->loop ? send(s, s->loop_update(s->loop, stamp, seconds(s, s->now), q, v), 1, stamp) : DONE;
}

/* The control loop notices missing readings. */
static int watch(Trial* s) {
  const int code = s->loop ? s->loop_watch(s->loop, seconds(s, s->now)) : DONE;
  return s->loop && *s->loop_kind >= 0 ? send(s, code, 0, seconds(s, s->now)) : DONE;
}

/* Everything that happens at one instant: measuring, readings that arrive with their commands, and the record. */
static int instant(Trial* s) {
  const int regular = s->now % s->period == 0;
  int code = DONE;
  if (regular) measure(s);
  while (!code && s->received < s->sent && s->arrival_step[s->received] <= s->now) { /* no reading overtakes another */
    s->received_t[s->received] = seconds(s, s->now);
    code = answer(s, s->arrival_reading[s->received++]);
  }
  if (!regular || code) return code;
  code = watch(s);
  if (code) return code;
  const int64_t row = s->truths++ * N;
  copy(s->true_q + row, s->frame + Q * N); copy(s->true_v + row, s->frame + V * N); copy(s->true_effort + row, s->effort);
  return s->progress && s->progress() ? ENDED : DONE;
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
  if (!s->drives->held) { s->moved++; return s->plant_step(s->plant); } /* Python's function sets s->effort, too */
  memset(s->frame + V * N, 0, N * sizeof(double)); /* the brakes engage */
  return s->plant_settle(s->plant);
}

/* Runs until the end, a step that fails, or until Python ends it. Returns a code. */
int trial(Trial* s) {
  for (;; s->now++) {
    const int code = instant(s);
    if (code || s->now >= s->end) return code;
    if (move(s)) return FAILED;
  }
}
