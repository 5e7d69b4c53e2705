// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* A trial: hardware (hardware.c, which this file follows) under the control loop, whose core (control/core) it calls by
   address. trial_run.py replaces `@dropped` by a number of core.h. */

typedef int Update(void*, double, double, const double*, const double*);
typedef int Watch(void*, double);
typedef int Tell(int, int); /* the core's result, and whether it answers a reading; nonzero ends the trial */
typedef int Progress(void); /* likewise */

/* Results: the end; a step of the plant failed; Python ends the trial; a command that no drive can give. */
enum { DONE, FAILED, ENDED, REFUSED };
enum { SEND, DROPPED = @dropped }; /* of core.h: there is an effort to send; the state contradicts those before it */

typedef struct {
  Hardware* hardware;
  int64_t end;              /* the last step */
  void* loop;               /* the core, 0 for hardware without commands */
  Tell* tell;
  Progress* progress;       /* called at each record of the plant, unless it is 0 */
  Update* loop_update;
  Watch* loop_watch;
  double *loop_rows, *loop_reference; /* of the loop's period: efforts, and position and velocity of the reference */
  int64_t* loop_kind;
  /* Records, and their lengths: readings as they arrive, commands, and the plant when it is read. */
  int64_t received, commanded, truths;
  int64_t* received_step;
  double *received_t, *received_q, *received_v, *received_effort;
  double *command_t, *command_stamp, *command_effort, *command_q, *command_v;
  double *true_q, *true_v, *true_effort;
} Trial;

static double seconds(const Trial* s, int64_t steps) { return (double)steps * s->hardware->drives->step; }

static void copy(double* to, const double* from) { memcpy(to, from, N * sizeof *to); }

/* Sends the response of the control loop to a state with this stamp. Python is told of all but plain commands. */
static int send(Trial* s, int code, int has_state, double stamp) {
  const int64_t row = s->commanded * N, is_plain = *s->loop_kind < 0;
  if (code == DROPPED) return DONE; /* no fault, and no command */
  if (!(code == SEND && is_plain) && s->tell(code, has_state)) return ENDED;
  if (code != SEND) return DONE;
  if (drives_command(s->hardware->drives, s->hardware->now, s->loop_rows)) return REFUSED;
  copy(s->command_effort + row, s->loop_rows);
  EACH {
    s->command_q[row + i] = is_plain ? s->loop_reference[i] : NAN;
    s->command_v[row + i] = is_plain ? s->loop_reference[N + i] : NAN;
  }
  s->command_t[s->commanded] = seconds(s, s->hardware->now);
  s->command_stamp[s->commanded++] = stamp;
  return DONE;
}

/* A reading has arrived, and the control loop answers it. */
static int answer(Trial* s, const Reading* reading) {
  const double stamp = seconds(s, reading->step), now = seconds(s, s->hardware->now);
  const int64_t row = s->received * N;
  copy(s->received_q + row, reading->q); copy(s->received_v + row, reading->v);
  copy(s->received_effort + row, reading->effort);
  s->received_t[s->received] = now;
  s->received_step[s->received++] = reading->step;
  return s->loop ? send(s, s->loop_update(s->loop, stamp, now, reading->q, reading->v), 1, stamp) : DONE;
}

/* The control loop notices missing readings. */
static int watch(Trial* s) {
  const double now = seconds(s, s->hardware->now);
  const int code = s->loop ? s->loop_watch(s->loop, now) : DONE;
  return s->loop && *s->loop_kind >= 0 ? send(s, code, 0, now) : DONE;
}

/* Everything that happens at one instant: readings that arrive with their commands, and the record. */
static int instant(Trial* s) {
  const Hardware* hardware = s->hardware;
  int code = DONE;
  while (!code && sensors_take(hardware->sensors, hardware->now)) code = answer(s, &hardware->sensors->arrived);
  if (hardware->now % hardware->period || code) return code;
  code = watch(s);
  if (code) return code;
  const int64_t row = s->truths++ * N;
  copy(s->true_q + row, hardware->q); copy(s->true_v + row, hardware->v); copy(s->true_effort + row, hardware->effort);
  return s->progress && s->progress() ? ENDED : DONE;
}

/* Runs until the end, a step that fails, or until Python ends it. Returns a code. */
int trial(Trial* s) {
  for (;;) {
    const int code = instant(s);
    if (code || s->hardware->now >= s->end) return code;
    if (hardware_advance(s->hardware, s->hardware->now + 1)) return FAILED;
  }
}
