// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* References: a hold at one position, a trajectory, or a stream (of the tool: tool.c); and the transition from one to
   another.

   - There is no reference before the start. A reference outside the limits of position, velocity, effort or, where it
     comes in a stream, acceleration is refused and changes nothing; the reference before it stays.
   - A trajectory goes on from the reference of the moment at which it starts, so that the reference never jumps. Until
     its start time comes, the reference before it goes on. A newer trajectory, stream or hold replaces one that has not
     started.
   - A hold stops a motion with a given deceleration, or at once if none is given.
   - A stream that jumps is rate-limited (limiter.c).
   - After its last point a trajectory holds that point. After the timeout of a stream the arm is held at its position.
   - A trajectory waits if the arm cannot follow it, and can be scaled to a ratio of its speed. Verscheure et al.,
     "Time-optimal path tracking for robots" (2009): with the path time s, q'(t) = q'(s) ds/dt. */

#include "memory.h"

#define TICK 1e-3 /* durations of stopping are multiples of this [s] */
#define SILENCE 0.1 /* least time without a message after which a stream has stopped [s] */
#define OVERTAKEN 0.1 /* greatest age of a message relative to the one before, if they arrive out of order [s] */
#define SILENT_PERIODS 5.0 /* number of periods without a message after which a stream has stopped */
#define PATH_ACCELERATION 2.0 /* change of the speed of a trajectory [1/s] */

/* Ends the monitored trajectory with an outcome. */
CORE_SHARED void end_goal(References* y, int outcome) {
  y->requests++;
  if (!y->judged || y->outcome) return;
  y->outcome = outcome;
  y->outcomes[y->goal_id % OUTCOMES] = outcome;
}

static void hold_at(References* y, const double* q, double end) {
  y->source = HELD; y->end = end;
  copy(y->hold_q, q);
}

/* Holds the arm at q, and drops every other reference. */
CORE_SHARED void start(State* m, double t, const double* q) {
  end_goal(&m->references, CORE_INTERRUPTED);
  m->time = t;
  hold_at(&m->references, q, INFINITY);
  m->references.next = 0;
}

/* Duration of the change of a trajectory's speed [s]. */
static double ramp_of(const PathTime* y) { return fabs(y->target - y->speed) / PATH_ACCELERATION; }

/* The path time at which the new speed is reached. */
static double ramped_of(const PathTime* y) { return y->s + 0.5 * (y->speed + y->target) * ramp_of(y); }

/* The path time of a trajectory, and its first two derivatives. */
static void path_time(const PathTime* y, double t, double* path, double* speed, double* change) {
  const double u = t - y->t, ramp = ramp_of(y), slope = copysign(PATH_ACCELERATION, y->target - y->speed);
  const double changing = smaller(u, ramp);
  *change = u < ramp ? slope : 0;
  *speed = y->speed + slope * changing;
  *path = y->s + 0.5 * (y->speed + *speed) * changing + *speed * (u - changing);
}

/* The time at which the path time is `path`, which is not over yet [s]; INFINITY if it does not get there. */
static double reaches(const PathTime* y, double path) {
  const double away = path - y->s, left = path - ramped_of(y), slope = copysign(PATH_ACCELERATION, y->target - y->speed);
  if (left <= 0) return y->t + 2 * away / (y->speed + sqrt(greater(y->speed * y->speed + 2 * slope * away, 0)));
  return y->t + ramp_of(y) + left / y->target;
}

/* The reference of the present source at a time: r (REFERENCES, N). */
CORE_SHARED void sample(References* y, double t, double* r) {
  double path, speed, change;
  if (y->source >= STREAM) copy_whole(r, y->present);
  else { copy(r, y->hold_q); for (int k = N; k < WHOLE; ++k) r[k] = 0; }
  if (y->source != TRAJECTORY && y->source != STOPPING) return;
  if (!y->time.is_scaled) { sample_motion(y->motion, t - y->start, r); return; }
  path_time(&y->time, t, &path, &speed, &change);
  sample_motion(y->motion, path, r);
  EACH { r[2 * N + i] = r[2 * N + i] * (speed * speed) + r[N + i] * change; r[N + i] *= speed; }
}

/* The planned efforts at a time, NaN for joints without any; none at another speed than planned. Nonzero if there are
   some. */
CORE_SHARED int planned_at(const References* y, double t, double* effort) {
  const Motion* m = y->motion;
  EACH effort[i] = NAN;
  if (y->source != TRAJECTORY || y->time.is_scaled || !m->efforts) return 0;
  t -= y->start;
  if (t < m->times[0]) return 0;
  const int64_t k = segment_at(m, t), columns = m->columns;
  const double ratio = (t - m->times[k]) / (m->times[k + 1] - m->times[k]);
  for (int64_t j = 0; j < columns; ++j) {
    const double begin = m->efforts[k * columns + j];
    effort[m->column[j]] = begin + ratio * (m->efforts[(k + 1) * columns + j] - begin);
  }
  return 1;
}

/* Begins a trajectory that is spliced to the motion `before` it (REFERENCES, N). */
static void begin_trajectory(const Settings* s, References* y, CoreTrajectory* next, double begin, const double* before) {
  const double path = begin - next->start;
  int moves = 0;
  EACH moves |= before[N + i] != 0;
  /* a moving arm begins at full speed, because its velocity must not jump; else the scaled speed counts at once */
  const PathTime time = {y->speed != 1, begin, path, moves ? 1 : y->speed, y->speed};
  y->source = TRAJECTORY; y->motion = &next->motion; y->time = time; y->start = next->start;
  y->end = time.is_scaled ? reaches(&time, next->motion.duration) : next->start + next->motion.duration;
  y->hold_time = s->cmd_timeout > 0 ? s->cmd_timeout : INFINITY;
  y->judged = 1; y->goal_end = y->end;
}

/* Begins the next trajectory, spliced to the reference of this moment: since it was accepted, the motion before it may
   have been slowed down, or delayed. If the limits do not allow the splice, the present source goes on. */
static void begin_next(const Settings* s, References* y) {
  CoreTrajectory* next = y->next;
  const double begin = next->start;
  double before[WHOLE];
  y->next = 0;
  sample(y, begin, before);
  CoreRefusal found = splice(s, next, 0, before, 1);
  EACH if (!found.why && next->speed_limit[i] > s->velocity_limit[i]) found = (CoreRefusal){.why = CORE_CHANGED, .joint = i};
  if (!found.why) begin_trajectory(s, y, next, begin, before);
  else { y->dropped++; y->refused = found; end_goal(y, CORE_INTERRUPTED); }
}

/* Starts the next source at its start time, and ends the present one at its end time. */
CORE_SHARED void proceed(const Settings* s, References* y, double t, const double* q) {
  if (y->next && t >= y->next->start) begin_next(s, y);
  if (!(t >= y->end)) return;
  if (y->source == TRAJECTORY || y->source == STOPPING) hold_at(y, y->motion->goal, y->end + y->hold_time);
  else hold_at(y, q, INFINITY);
}

/* Delays the trajectory by dt [s], for which its reference stands still. */
CORE_SHARED void wait(References* y, double dt) {
  if (y->source != TRAJECTORY && y->source != STOPPING) return;
  y->start += dt; y->end += dt; y->goal_end += dt; y->time.t += dt;
}

/* Returns whether a joint is further away, or faster, than is allowed, and how: `why`, or the reason after it for the speed. */
static int violates(CoreRefusal* how, int why, int i, double place, double most, double speed, double fastest) {
  const int is_away = fabs(place) > most;
  if (!is_away && !(fabs(speed) > fastest)) return 0;
  *how = (CoreRefusal){is_away ? why : why + 1, i, is_away ? place : speed, is_away ? most : fastest};
  return 1;
}

/* The outcome of a trajectory that ends now, by the rules of joint_trajectory_controller; 0 if it does not end. */
CORE_SHARED int judge(References* y, double t, const double* error, const double* reference, const double* qd) {
  const CoreTolerances* allowed = &y->allowed;
  CoreRefusal* how = &y->violation;
  if (y->judged != 1 || y->outcome) return 0;
  if (t < y->goal_end) {
    EACH if (violates(how, CORE_PATH_ERROR, i, error[i], allowed->path[i], reference[N + i] - qd[i], allowed->path_speed[i]))
      return CORE_OFF_PATH;
    return 0;
  }
  EACH if (violates(how, CORE_GOAL_ERROR, i, error[i], allowed->goal[i], qd[i], allowed->speed[i]))
    return t > y->goal_end + allowed->time ? CORE_OFF_GOAL : 0;
  return CORE_SUCCEEDED;
}

static CoreRefusal has_reference(const State* m) {
  if (m->references.source == WAITING) return (CoreRefusal){.why = CORE_NOT_STARTED};
  return m->active ? (CoreRefusal){.why = CORE_FAULT, .value = (double)m->active_kind} : NOT_REFUSED;
}

static CoreRefusal may_follow(const Core* c) {
  const CoreRefusal found = has_reference(&c->state);
  return found.why || c->settings->loop.follows ? found : (CoreRefusal){.why = CORE_BY_HAND};
}

CoreRefusal core_expected(Core* c, double t, double* reference) {
  References later = c->state.references;
  double q[WHOLE];
  const CoreRefusal may = has_reference(&c->state);
  if (may.why) return may;
  sample(&later, c->state.time, q);
  proceed(&c->settings->loop, &later, t, q);
  sample(&later, t, reference);
  return may;
}

/* --- streams */

static CoreRefusal check_target(const Settings* s, const int64_t* joints, const double* const given[REFERENCES]) {
  EACH if (joints[i]) {
    for (int k = 0; k < REFERENCES; ++k) if (!isfinite(given[k][i])) return (CoreRefusal){.why = CORE_NOT_NUMBERS, .joint = i, .value = given[k][i]};
    const CoreRefusal found = check_position(s, i, given[0][i]);
    if (found.why) return found;
    if (fabs(given[1][i]) > SPEED_TOLERANCE * s->velocity_limit[i])
      return (CoreRefusal){CORE_TOO_FAST, i, given[1][i], s->velocity_limit[i]};
    const double abrupt = given[1][i] * given[2][i] < 0 ? s->braking[i] : s->acceleration[i];
    if (fabs(given[2][i]) > SPEED_TOLERANCE * abrupt) return (CoreRefusal){CORE_TOO_ABRUPT, i, given[2][i], abrupt};
    if (fabs(given[3][i]) > EFFORT_TOLERANCE * s->effort_limit[i])
      return (CoreRefusal){CORE_TOO_STRONG, i, given[3][i], s->effort_limit[i]};
  }
  return NOT_REFUSED;
}

static CoreRefusal aim_stream(Core* c, double t, const int64_t* joints, const double* q, const double* qd, const double* qdd,
                              const double* effort) {
  const Settings* s = &c->settings->loop;
  References* y = &c->state.references;
  const double* const given[REFERENCES] = {q, qd, qdd, effort};
  const double now = c->state.time;
  double present[WHOLE], whole[WHOLE] = {0};
  CoreRefusal found = may_follow(c);
  if (!found.why) found = check_target(s, joints, given);
  if (found.why) return found;
  sample(y, now, present);
  EACH {
    if (joints[i]) for (int k = 0; k < REFERENCES; ++k) whole[k * N + i] = given[k][i];
    whole[i] = joints[i] ? near_turn(s, i, present[i], whole[i]) : rest_of(s, present, i);
  }
  EACH if (joints[i] && fabs(whole[i] - present[i]) > s->reference_jump && isinf(s->velocity_limit[i]))
    return (CoreRefusal){CORE_UNREACHABLE, i, whole[i], present[i]};
  if (y->source != STREAM) begin_limiter(y, now, present);
  aim_limiter(s, y, now, whole);
  EACH if (!joints[i]) { y->is_limited[i] = whole[i] != present[i]; y->target_velocity[i] = y->arrived[i] = 0; }
  advance_limiter(s, y, now);
  y->source = STREAM; y->end = t + s->stream_timeout;
  return found;
}

CoreRefusal core_track(Core* c, double t, const int64_t* joints, const double* q, const double* qd, const double* qdd,
                       const double* effort) {
  const CoreRefusal found = aim_stream(c, t, joints, q, qd, qdd, effort);
  if (found.why) return found;
  c->state.references.next = 0;
  end_goal(&c->state.references, CORE_REPLACED);
  return found;
}

void core_stand_still(Core* c) {
  const References* y = &c->state.references;
  double target[WHOLE], still[N] = {0};
  int64_t all[N];
  if (y->source != STREAM) return;
  copy_whole(target, y->target);
  EACH all[i] = 1;
  aim_stream(c, y->end - c->settings->loop.stream_timeout, all, target, still, still, target + 3 * N);
}

void core_velocity_reset(CoreVelocity* y) {
  EACH { y->t[i] = -INFINITY; y->q[i] = y->v[i] = y->step[i] = 0; }
}

void core_velocity_update(CoreVelocity* y, const CoreSettings* x, double t, const int64_t* joints, const double* q, double* velocity) {
  const Settings* s = &x->loop;
  EACH {
    velocity[i] = 0;
    if (!joints[i]) continue;
    const double dt = t - y->t[i], moved = near_turn(s, i, 0, q[i] - y->q[i]);
    const int goes_on = dt >= -OVERTAKEN && dt <= s->stream_timeout && fabs(moved) <= s->reference_jump;
    const double step = goes_on ? greater(dt, 0) : 0;
    const double change = step > 0 ? (moved - y->v[i] * step) / (s->velocity_filter + step) : 0;
    if (goes_on) velocity[i] = within(y->v[i] + change, s->velocity_limit[i]);
    if (!(goes_on && dt < 0)) { y->q[i] = q[i]; y->t[i] = t; y->step[i] = step; } /* else it arrived after a newer one */
    y->v[i] = velocity[i];
  }
}

int core_velocity_is_silent(const CoreVelocity* y, double elapsed) {
  int moves = 0;
  double longest = 0;
  EACH if (y->v[i] != 0) { moves = 1; longest = greater(longest, y->step[i]); }
  return moves && elapsed > greater(SILENCE, SILENT_PERIODS * longest);
}

/* --- speed scaling */

/* Changes the speed of a trajectory from the time t [s] on, or from its start if that is later. Returns its new end. */
static double change_speed(PathTime* y, double start, double t, double ratio, double duration) {
  PathTime after = {.is_scaled = 1, .target = ratio};
  double change;
  if (!y->is_scaled) { const PathTime full = {1, start, 0, 1, 1}; *y = full; }
  after.t = greater(t, y->t);
  path_time(y, after.t, &after.s, &after.speed, &change);
  *y = after;
  return reaches(y, duration);
}

void core_scale_speed(Core* c, double ratio) {
  References* r = &c->state.references;
  const double speed = ratio * c->settings->loop.speed_scaling, now = c->state.time;
  r->asked_speed = ratio;
  if (speed == r->speed) return;
  r->speed = speed;
  if (r->source == TRAJECTORY) r->end = r->goal_end = change_speed(&r->time, r->start, now, speed, r->motion->duration);
}

/* --- trajectories and stops */

static int is_used(const Core* c, const CoreTrajectory* y) {
  const References* x = &c->state.references;
  return ((x->source == TRAJECTORY || x->source == STOPPING) && x->motion == &y->motion)
         || x->next == y;
}

CoreTrajectory* core_returned(Core* c) {
  for (int k = 0; k < MOTIONS; ++k) {
    CoreTrajectory* found = c->held[k];
    if (!found || is_used(c, found)) continue;
    c->held[k] = 0;
    return found;
  }
  return 0;
}

/* Stores a trajectory; at most two of the places are in use. */
static void keep_trajectory(Core* c, CoreTrajectory* y) {
  int place = 0;
  while (c->held[place] && place + 1 < MOTIONS) ++place;
  c->held[place] = y;
}

static void set_goal(References* r, const CoreTolerances* allowed, int64_t id) {
  end_goal(r, CORE_REPLACED);
  r->judged = 2; r->outcome = 0; r->goal_id = id;
  r->outcomes[id % OUTCOMES] = CORE_UNDER_WAY; r->outcome_ids[id % OUTCOMES] = id;
  r->allowed = *allowed;
}

CoreRefusal core_follow(Core* c, CoreTrajectory* y, const CoreTolerances* tolerances, int64_t id) {
  const Settings* s = &c->settings->loop;
  References* r = &c->state.references;
  const double now = c->state.time;
  double before[WHOLE];
  CoreRefusal found = may_follow(c);
  keep_trajectory(c, y);
  if (found.why) return found;
  EACH if (y->speed_limit[i] != s->velocity_limit[i]) return (CoreRefusal){.why = CORE_CHANGED, .joint = i};
  const double first = isnan(y->start) ? now : y->start, begin = greater(first, now);
  const int dries_up = r->source == STREAM && r->end <= begin;
  sample(r, begin, before);
  /* The position of the arm at the timeout of the stream is not known yet, so it is held from now on. */
  if (dries_up) for (int k = N; k < WHOLE; ++k) before[k] = 0;
  found = splice(s, y, begin - first, before, 1);
  if (found.why) return found;
  if (dries_up) hold_at(r, before, INFINITY);
  y->start = first;
  r->next = begin > now ? y : 0;
  set_goal(r, tolerances, id);
  if (!r->next) begin_trajectory(s, r, y, begin, before);
  return found;
}

/* The time in which each joint comes to rest from a motion (REFERENCES, N), shorter in front of its position limit.
   Returns the number of points of a trajectory that has all these times as points, and the times. */
static int stopping_times(const Settings* s, const double* now, double* duration, double* times) {
  int points = 1;
  times[0] = 0;
  EACH {
    const double q = now[i], qd = now[N + i], speed = fabs(qd);
    const double room = qd > 0 ? greater(s->upper[i], q) - q : q - smaller(s->lower[i], q);
    const double longest = 2 * room / greater(speed, AT_REST);
    /* whole ticks, so that no two joints stop almost at the same time: the curve between them would be too short */
    duration[i] = TICK * smaller(ceil(speed / s->deceleration[i] / TICK), floor(longest / TICK));
    if (speed < AT_REST) duration[i] = 0;
    int place = points;
    while (place > 0 && times[place - 1] > duration[i]) --place;
    if (place > 0 && times[place - 1] == duration[i]) continue;
    for (int k = points; k > place; --k) times[k] = times[k - 1];
    times[place] = duration[i];
    ++points;
  }
  return points;
}

/* Stops a motion (REFERENCES, N) from the time `begin` [s] on. Nonzero if there is none, because the arm rests. */
static int begin_stop(Core* c, double begin, const double* now) {
  const Settings* s = &c->settings->loop;
  References* r = &c->state.references;
  CoreTrajectory* y = c->stops[c->stop = !c->stop];
  Motion* m = &y->motion;
  double duration[N], times[N + 1], motion[3 * N];
  const int points = stopping_times(s, now, duration, times);
  if (points == 1) return 1;
  m->points = points; m->degree = 3; m->columns = N; m->duration = times[points - 1]; m->segment = -1;
  double *t = y->numbers, *q = t + points, *qd = q + points * N, *b = qd + points * N;
  for (int k = 0; k < points; ++k) {
    t[k] = times[k];
    EACH {
      const double rate = duration[i] > 0 ? now[N + i] : 0, slowing = duration[i] > 0 ? rate / duration[i] : 0;
      const double braked = smaller(times[k], duration[i]);
      q[k * N + i] = now[i] + rate * braked - slowing * (braked * braked) / 2;
      qd[k * N + i] = rate - slowing * braked;
    }
  }
  m->times = t; m->bernstein = b; m->first = q; m->last = q + (points - 1) * N;
  y->rows[0] = q; y->rows[1] = qd;
  EACH m->column[i] = i;
  for (int k = 0; k + 1 < points; ++k) EACH {
    const double ends[2] = {q[k * N + i], q[(k + 1) * N + i]}, speeds[2] = {qd[k * N + i], qd[(k + 1) * N + i]};
    to_bernstein(t[k + 1] - t[k], 3, ends, speeds, speeds, b + k * N + i, (points - 1) * N);
  }
  EACH { motion[i] = now[i]; motion[N + i] = duration[i] > 0 ? now[N + i] : 0; motion[2 * N + i] = now[2 * N + i]; }
  splice(s, y, 0, motion, 0);
  r->time.is_scaled = 0;
  r->source = STOPPING; r->motion = m; r->start = begin; r->end = begin + m->duration; r->hold_time = INFINITY;
  return 0;
}

CoreRefusal core_hold(Core* c, double t) {
  References* r = &c->state.references;
  double now[WHOLE];
  if (r->source == WAITING) return (CoreRefusal){.why = CORE_NOT_STARTED};
  const double begin = greater(t, c->state.time);
  sample(r, begin, now);
  if (begin_stop(c, begin, now)) hold_at(r, now, INFINITY);
  r->next = 0;
  end_goal(r, CORE_HELD);
  core_acknowledge(c);
  return NOT_REFUSED;
}
