// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The hardware. Drives: how efforts follow commands, the commands on their way to them, and the brakes. Sensors: what they
   read of a state, and the readings on their way. The whole: how drives, plant and sensors act in a step. devices.py has
   the equations; hardware.py calls the functions, and trial.c includes this file. The plant is called by address. Times
   are counts of the plant's steps; the macro N is the number of joints. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define EACH for (int i = 0; i < N; ++i)
#define ROUNDING 1e-6 /* tolerance of a delay's rounding error, as a part of the step */

enum { HOLD, ZERO, BRAKE }; /* responses of the drives to missing commands */
enum { GREATEST = 1000000 }; /* greatest command that is accepted [N·m] or [N] */

typedef struct {
  double lag, rate, resolution, limit; /* T [s], r, of commands; the rate is infinite where there is no limit */
  double ramp, effort;                 /* a and x [N·m] or [N] */
} Drive;

typedef struct {
  Drive drive[N];
  double active[N];      /* the command that acts */
  double effort[N];      /* mean effort over the step of the last drives_act */
  double step, delay;    /* length of a step [s]; time from a command's arrival until it reaches the drives [steps] */
  double *due, *coming;  /* ring of the commands on their way: when they reach the drives (size,), and efforts (size, N) */
  int64_t size, first, count;
  int64_t timeout, response;
  int64_t held, silent, commanded; /* brakes hold the arm; commands are missing; time of the last command, -1 for none */
} Drives;

typedef struct {
  int64_t step, due;     /* when it is measured; when it arrives, unless one before it arrives later */
  double q[N], v[N], effort[N]; /* [rad] or [m], [rad/s] or [m/s]; effort that acted in the step before [N·m] or [N] */
} Reading;

typedef struct {
  double resolution[N];
  double period;         /* time between two readings [s] */
  double delay, jitter, drop, repeat; /* the first two in steps */
  int64_t differentiated;
  double q[N];           /* positions of the last reading */
  /* Random numbers of the next readings, null without: noise of each on positions and velocities (2, N), and three in
     [0, 1) for its delay, its loss and its repetition. */
  double *noise, *chance;
  Reading* coming;       /* ring of the readings on their way (size,) */
  int64_t size, first, count;
  Reading arrived;       /* the last one that arrived */
} Sensors;

typedef int Step(void*);

typedef struct {
  Drives* drives;
  Sensors* sensors;
  int64_t now, period;   /* the present; time between two readings */
  int64_t moved, failed; /* steps of the plant; end of the step that failed, 0 for none: the arm stays where it is */
  double *q, *v, *acting; /* rows of the plant's frame: position, velocity, effort */
  void* plant;
  Step *step, *settle;   /* move the plant; correct its state as brakes engage; nonzero if they fail */
  double effort[N];      /* that acts [N·m] or [N] */
} Hardware;

/* --- a drive */

/* Follows a ramp of this slope. Returns the integral of the effort. */
static double lagged(Drive* d, double slope, double duration) {
  const double behind = slope * d->lag, area = (d->ramp - behind + 0.5 * slope * duration) * duration;
  const double away = d->effort - d->ramp + behind, decay = d->lag != 0 ? expm1(-duration / d->lag) : -1.0;
  d->ramp += slope * duration;
  d->effort = d->ramp - behind + away * (1.0 + decay);
  return area - away * d->lag * decay;
}

/* Follows a command for a duration. Returns the integral of the effort. */
static double follow(Drive* d, double command, double duration) {
  const double distance = command - d->ramp, needed = fabs(distance) / d->rate;
  const double ramp = needed < duration ? needed : duration;
  double total = ramp > 0 ? lagged(d, copysign(d->rate, distance), ramp) : 0;
  if (ramp < duration) {
    d->ramp = command;
    total += lagged(d, 0, duration - ramp);
  }
  return total;
}

static double rounded(double x, double resolution) {
  return resolution != 0 ? nearbyint(x / resolution) * resolution : x;
}

/* A command as the drive receives it: clamped and rounded. */
static double received(const Drive* d, double command) {
  return rounded(command > d->limit ? d->limit : command < -d->limit ? -d->limit : command, d->resolution);
}

/* True if the drive gives the command already, and keeps it. */
static int is_at(const Drive* d, double command) {
  return (d->lag == 0 && isinf(d->rate)) || (d->effort == command && d->ramp == command);
}

/* --- the drives, and the commands on their way to them */

/* When the next command reaches the drives. */
static double next_due(const Drives* s) { return s->count ? s->due[s->first] : INFINITY; }

/* Sends a command on its way. It replaces one that would reach the drives at the same time, so that there are never more
   commands than steps in the delay, and one. */
static void put(Drives* s, double due, const double* effort) {
  const int64_t last = (s->first + s->count - 1) % s->size;
  const int64_t row = s->count && s->due[last] == due ? last : (s->first + s->count++) % s->size;
  s->due[row] = due;
  memcpy(s->coming + row * N, effort, sizeof s->active);
}

/* The next command reaches the drives. */
static void take(Drives* s) {
  memcpy(s->active, s->coming + s->first * N, sizeof s->active);
  s->first = (s->first + 1) % s->size;
  s->count--;
}

/* Sets the efforts to zero, and discards every command. */
static void rest(Drives* s) {
  EACH s->drive[i].ramp = s->drive[i].effort = s->active[i] = s->effort[i] = 0;
  s->count = 0;
}

/* True if all drives give the effort that was commanded last, and keep it. */
static int have_settled(const Drives* s) {
  if (s->count) return 0;
  EACH if (!is_at(s->drive + i, s->active[i])) return 0;
  return 1;
}

/* Responds to missing commands. */
static void time_out(Drives* s, int64_t now) {
  static const double none[N];
  s->silent = 1;
  if (s->response == HOLD) return;
  s->count = 0;
  if (s->response == ZERO) put(s, (double)now, none);
  else { rest(s); s->held = 1; }
}

/* Goes back to the start, with brakes that hold the arm or without. */
void drives_reset(Drives* s, int64_t held) {
  rest(s);
  s->held = held; s->silent = 0; s->commanded = -1;
}

/* Accepts a command that arrives now. Nonzero, and nothing has changed, if no drive can give it. */
int drives_command(Drives* s, int64_t now, const double* effort) {
  double asked[N];
  EACH {
    if (!(fabs(effort[i]) <= GREATEST)) return 1;
    asked[i] = received(s->drive + i, effort[i]);
  }
  const double whole = nearbyint(s->delay);
  put(s, (double)now + (fabs(s->delay - whole) < ROUNDING ? whole : s->delay), asked);
  s->commanded = now; s->silent = 0;
  return 0;
}

/* The mean effort over the step that begins now, with the commands that come within it. */
static void act_for_a_step(Drives* s, int64_t now) {
  double time = (double)now, end = time + 1;
  EACH s->effort[i] = 0;
  for (int last = 0; !last;) {
    last = !(next_due(s) < end);
    const double due = last ? end : next_due(s);
    EACH s->effort[i] += follow(s->drive + i, s->active[i], (due - time) * s->step) / s->step;
    time = due;
    if (!last) take(s);
  }
}

/* The drives in the step that begins now: the brakes hold the arm (`held`), or they give a mean effort (`effort`). */
void drives_act(Drives* s, int64_t now) {
  if (s->commanded >= 0 && !s->silent && now >= s->commanded + s->timeout) time_out(s, now);
  if (s->held && next_due(s) > (double)now) return;
  s->held = 0;
  while (next_due(s) <= (double)now) take(s);
  if (have_settled(s)) EACH s->effort[i] = s->active[i];
  else act_for_a_step(s, now);
}

/* --- the sensors */

/* Reads a state now, and sends the reading. effort: that acted in the step before. */
void sensors_read(Sensors* s, int64_t now, const double* q, const double* v, const double* effort) {
  const double *noise = s->noise, *chance = s->chance;
  Reading made = {.step = now, .due = now + (int64_t)ceil(s->delay + (chance ? chance[0] * s->jitter : 0) - ROUNDING)};
  EACH {
    made.q[i] = rounded(noise ? q[i] + noise[i] : q[i], s->resolution[i]);
    made.v[i] = s->differentiated ? now ? (made.q[i] - s->q[i]) / s->period : 0 : noise ? v[i] + noise[N + i] : v[i];
    made.effort[i] = effort[i];
  }
  memcpy(s->q, made.q, sizeof s->q);
  int times = 1;
  if (chance) {
    times = chance[1] < s->drop ? 0 : chance[2] < s->repeat ? 2 : 1;
    s->chance += 3;
  }
  if (noise) s->noise += 2 * N;
  while (times-- > 0) s->coming[(s->first + s->count++) % s->size] = made;
}

/* The next reading that has come by now, as `arrived`; 0 if there is none. No reading overtakes another. */
int sensors_take(Sensors* s, int64_t now) {
  if (!s->count || s->coming[s->first].due > now) return 0;
  s->arrived = s->coming[s->first];
  s->first = (s->first + 1) % s->size;
  s->count--;
  return 1;
}

/* --- the whole */

/* Moves the arm by a step. Nonzero if the plant fails. */
static int move(Hardware* s) {
  const int64_t was_held = s->drives->held;
  drives_act(s->drives, s->now);
  if (s->drives->held ? was_held : s->failed) return 0;
  EACH {
    const double limit = s->drives->drive[i].limit, effort = s->drives->effort[i];
    s->effort[i] = s->acting[i] = effort > limit ? limit : effort < -limit ? -limit : effort;
  }
  if (!s->drives->held) {
    const int fails = s->step(s->plant); /* a plant in Python sets s->effort, too */
    s->moved += !fails;
    return fails;
  }
  memset(s->v, 0, N * sizeof(double)); /* the brakes engage */
  return s->settle(s->plant);
}

/* Advances to a time. Nonzero, as soon as that step ends, if the plant fails. */
int hardware_advance(Hardware* s, int64_t end) {
  while (s->now < end) {
    const int fails = move(s);
    if (++s->now % s->period == 0) sensors_read(s->sensors, s->now, s->q, s->v, s->effort);
    if (fails) { s->failed = s->now; return 1; }
  }
  return 0;
}
