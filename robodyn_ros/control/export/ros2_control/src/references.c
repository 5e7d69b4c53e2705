/* What the arm is asked to do: streams, trajectories, and a stop. A part of core.c.

   It is the twin in C of ReferenceManager.track, follow, hold and scale_speed in reference/manager.py, with
   reference/continuation.py, reference/lead.py (Lead.aim), reference/path_time.py (PathTime.reaches and changed), and the
   curves and their limits in motion/trajectory.py; test_control_export.py compares them. */

struct CoreTrajectory {
  Motion motion;
  double start, speed_limit[N]; /* velocity limits that it was checked by */
  double* rows[3];              /* positions, velocities, accelerations (points, columns); 0 where not given */
  double numbers[];
};

/* --- curves */

/* Bernstein coefficients of a segment that takes h, of one joint: b (degree + 1) with a stride. */
static void to_bernstein(double h, int64_t degree, const double* y, const double* v, const double* a, double* b, int64_t stride) {
  b[0] = y[0];
  b[degree * stride] = y[1];
  if (degree == 3) {
    b[stride] = y[0] + h * v[0] / 3;
    b[2 * stride] = y[1] - h * v[1] / 3;
  } else if (degree == 5) {
    const double d0 = h * v[0], d1 = h * v[1], b0 = h * h * a[0] / 20, b1 = h * h * a[1] / 20;
    b[stride] = y[0] + d0 / 5;
    b[2 * stride] = y[0] + 0.4 * d0 + b0;
    b[3 * stride] = y[1] - 0.4 * d1 + b1;
    b[4 * stride] = y[1] - d1 / 5;
  }
}

enum { HALVINGS = 60 };

/* Nonzero if a polynomial passes a limit, and the value that does: de Casteljau's algorithm, branch and bound. */
static int passes(const double* b, int64_t degree, double limit, double* value) {
  double stack[HALVINGS + 1][DEGREES], most = 0;
  int depth[HALVINGS + 1], top = 0;
  for (int64_t k = 0; k <= degree; ++k) { stack[0][k] = b[k]; most = greater(most, fabs(b[k])); }
  depth[0] = 0;
  while (top >= 0) {
    double left[DEGREES], right[DEGREES], highest = -INFINITY;
    const int level = depth[top];
    for (int64_t k = 0; k <= degree; ++k) { right[k] = stack[top][k]; highest = greater(highest, right[k]); }
    --top;
    const double end = greater(right[0], right[degree]);
    if (end > limit) { *value = end; return 1; }
    if (!(highest > limit + 1e-13 * most) || level == HALVINGS) continue;
    for (int64_t k = 0; k <= degree; ++k) {
      left[k] = right[0];
      for (int64_t l = 0; l < degree - k; ++l) right[l] = 0.5 * (right[l] + right[l + 1]);
    }
    ++top;
    for (int64_t k = 0; k <= degree; ++k) stack[top][k] = left[k];
    depth[top] = level + 1;
    ++top;
    for (int64_t k = 0; k <= degree; ++k) stack[top][k] = right[k];
    depth[top] = level + 1;
  }
  return 0;
}

/* How a segment of a joint leaves its limits: CORE_OUTSIDE, CORE_TOO_FAST, or CORE_OK. */
static CoreRefusal check_segment(const double* b, int64_t stride, int64_t degree, double h, int joint, double lower,
                                 double upper, double speed) {
  double curve[DEGREES], slope[DEGREES];
  CoreRefusal found = {CORE_OK, joint, 0, 0};
  for (int sign = 1; sign >= -1; sign -= 2) {
    for (int64_t k = 0; k <= degree; ++k) curve[k] = sign * b[k * stride];
    for (int64_t k = 0; k < degree; ++k) slope[k] = (double)degree * (curve[k + 1] - curve[k]) / h;
    if (passes(curve, degree, (sign > 0 ? upper : -lower) + POSITION_ROUNDING, &found.value)) {
      found.why = CORE_OUTSIDE; found.limit = sign > 0 ? upper : lower;
    } else if (passes(slope, degree - 1, SPEED_TOLERANCE * speed, &found.value)) {
      found.why = CORE_TOO_FAST; found.limit = speed;
    } else continue;
    found.value *= sign;
    return found;
  }
  return found;
}

/* Go on with a trajectory at its time t, from a given motion (3, N) on: Continuation. With `checks` the way to the next
   point has to keep to the limits. */
static CoreRefusal continue_from(const CoreSettings* x, CoreTrajectory* y, double t, const double* before, int checks) {
  Motion* m = &y->motion;
  const Settings* s = &x->loop;
  const int64_t columns = m->columns;
  CoreRefusal found = {CORE_OK, 0, 0, 0};
  int64_t low = 0, high = m->points; /* the first point that is later */
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (m->times[middle] > t) high = middle; else low = middle + 1;
  }
  if (low == m->points) { found.why = CORE_OVER; found.value = m->duration; return found; }
  EACH m->still[i] = m->goal[i] = before[i];
  for (int64_t j = 0; j < columns; ++j) {
    const int i = (int)m->column[j];
    m->turn[j] = near_turn(s, i, before[i], m->first[j]) - m->first[j];
    m->goal[i] = m->last[j] + m->turn[j];
  }
  m->then = m->times[low]; m->way_begin = t; m->way_degree = m->degree;
  EACH {
    const double none[2] = {0, 0};
    double ends[3][2] = {{before[i], before[i]}, {before[N + i], 0}, {before[2 * N + i], 0}};
    for (int64_t j = 0; j < columns; ++j) if (m->column[j] == i) {
      ends[0][1] = y->rows[0][low * columns + j] + m->turn[j];
      for (int d = 1; d < 3; ++d) if (y->rows[d]) ends[d][1] = y->rows[d][low * columns + j];
    }
    to_bernstein(m->then - t, m->degree, ends[0], y->rows[1] ? ends[1] : none, y->rows[2] ? ends[2] : none, m->way + i, N);
    /* a start outside the limits widens them, so that the arm can come back */
    if (!checks) continue;
    found = check_segment(m->way + i, N, m->degree, m->then - t, i, smaller(s->lower[i], before[i]),
                          greater(s->upper[i], before[i]), x->velocity_limit[i]);
    if (found.why) return found;
  }
  to_powers(m->way, N, N, m->degree, m->then - t, m->way_cache);
  m->segment = -1;
  return found;
}

/* --- trajectories, prepared by others than the thread that updates */

const char* const core_whys[] = {"", "no state has come yet", "a fault lasts", "is outside its limits", "is too fast",
                                 "takes too much effort", "jumps, and has no velocity limit to be led there within",
                                 "leaves no time to get there", "is no number",
                                 "was prepared with other velocity limits: send it again",
                                 "is not held by its effort limits where the arm is"};

void core_refusal_text(const CoreRefusal* refusal, char* text, size_t size) {
  const int why = refusal->why;
  const int of_joint = why == CORE_OUTSIDE || why == CORE_TOO_FAST || why == CORE_TOO_STRONG || why == CORE_UNREACHABLE
                       || why == CORE_NOT_HELD;
  if (of_joint)
    snprintf(text, size, "joint '%s' %s: %g, the limit is %g", core_joints[refusal->joint], core_whys[why],
             refusal->value, refusal->limit);
  else snprintf(text, size, "%s", core_whys[why]);
}

void core_trajectory_destroy(CoreTrajectory* trajectory) { free(trajectory); }

static int refuse(char* problem, size_t size, const char* what, int point) {
  snprintf(problem, size, "trajectory, point %d: %s", point + 1, what);
  return 0;
}

static int check_points(const CoreSettings* x, const CoreTrajectory* y, char* problem, size_t size) {
  const Motion* m = &y->motion;
  const Settings* s = &x->loop;
  if (m->efforts) for (int64_t k = 0; k < m->points; ++k) for (int64_t j = 0; j < m->columns; ++j) {
    const int i = (int)m->column[j];
    const double effort = m->efforts[k * m->columns + j];
    const CoreRefusal strong = {CORE_TOO_STRONG, i, effort, s->effort_limit[i]};
    if (!(fabs(effort) <= GREATEST_EFFORT)) return refuse(problem, size, "its efforts are no numbers, or too great", (int)k);
    if (fabs(effort) > EFFORT_TOLERANCE * s->effort_limit[i]) { core_refusal_text(&strong, problem, size); return 0; }
  }
  for (int64_t k = 0; k < m->points; ++k) {
    if (!isfinite(m->times[k])) return refuse(problem, size, "its time is no number", (int)k);
    if (k && !(m->times[k] > m->times[k - 1])) return refuse(problem, size, "times must rise strictly", (int)k);
    for (int64_t j = 0; j < m->columns; ++j) {
      const int i = (int)m->column[j];
      for (int d = 0; d < 3; ++d)
        if (y->rows[d] && !isfinite(y->rows[d][k * m->columns + j])) return refuse(problem, size, "is no number", (int)k);
      const double q = y->rows[0][k * m->columns + j];
      const CoreRefusal outside = {CORE_OUTSIDE, i, q, q < s->lower[i] ? s->lower[i] : s->upper[i]};
      if (q < greater(s->lower[i], -FARTHEST) || q > smaller(s->upper[i], FARTHEST)) {
        core_refusal_text(&outside, problem, size);
        return 0;
      }
      if (k == m->points - 1 && y->rows[1] && fabs(y->rows[1][k * m->columns + j]) > AT_REST
          && x->given.allow_nonzero_velocity_at_trajectory_end == 0)
        return refuse(problem, size, "does not end at rest; to take it all the same, set "
                      "allow_nonzero_velocity_at_trajectory_end", (int)k);
    }
  }
  return 1;
}

/* How long a set-point of a stream that ends in motion goes on until it rests; 0 for any other trajectory. The same as
   _brought_to_rest in reference/manager.py. */
static double brought_to_rest(const CoreSettings* x, int columns, const int* joints, double duration, const double* q, const double* v) {
  double time = REST, fastest = 0;
  if (duration > SET_POINT) return 0;
  for (int j = 0; j < columns; ++j) {
    const double speed = fabs(v[j]), room = v[j] > 0 ? x->loop.upper[joints[j]] - q[j] : q[j] - x->loop.lower[joints[j]];
    time = smaller(time, 2 * room / greater(speed, AT_REST));
    fastest = greater(fastest, speed);
  }
  return time < LEAST_REST || !(fastest > AT_REST) ? 0 : time;
}

CoreTrajectory* core_trajectory_create(const CoreSettings* x, int points, int columns, const int* joints,
                                       const double* times, const double* positions, const double* velocities,
                                       const double* accelerations, const double* efforts, double start, double now,
                                       char* problem, size_t size) {
  const int64_t degree = velocities ? (accelerations ? 5 : 3) : 1;
  const double* given[3] = {positions, velocities, velocities ? accelerations : 0};
  CoreTrajectory* y;
  double* at;
  problem[0] = 0;
  if (points < 1 || columns < 1 || columns > N) { snprintf(problem, size, "trajectory: has no points or joints"); return 0; }
  if (accelerations && !velocities) { snprintf(problem, size, "accelerations: need velocities as well"); return 0; }
  const size_t sent = (size_t)points * (size_t)columns;
  const double *last_q = positions + sent - columns, *last_v = velocities ? velocities + sent - columns : 0;
  const double rest = last_v && !efforts ? brought_to_rest(x, columns, joints, times[points - 1], last_q, last_v) : 0;
  if (rest > 0) ++points; /* from here on with the point at which it rests */
  const size_t row = (size_t)points * (size_t)columns, segments = (size_t)(points - 1) * (size_t)columns;
  const size_t count = (size_t)points + 4 * row + (size_t)(degree + 1) * segments;
  y = calloc(1, sizeof *y + count * sizeof(double));
  if (!y) { snprintf(problem, size, "trajectory: no memory for %d points", points); return 0; }
  at = y->numbers;
  memcpy(at, times, (size_t)(points - (rest > 0)) * sizeof(double));
  if (rest > 0) at[points - 1] = at[points - 2] + rest;
  y->motion.times = times = at;
  at += points;
  for (int d = 0; d < 3; ++d) if (given[d]) { memcpy(at, given[d], sent * sizeof(double)); y->rows[d] = at; at += row; }
  if (efforts) { y->motion.efforts = memcpy(at, efforts, sent * sizeof(double)); at += row; }
  if (rest > 0) for (int j = 0; j < columns; ++j) y->rows[0][sent + (size_t)j] = last_q[j] + rest * last_v[j] / 2;
  y->motion.bernstein = at;
  y->motion.first = y->rows[0];
  y->motion.last = y->rows[0] + row - columns;
  y->motion.points = points; y->motion.degree = degree; y->motion.columns = columns;
  y->motion.duration = times[points - 1]; y->motion.segment = -1;
  for (int j = 0; j < columns; ++j) y->motion.column[j] = joints[j];
  y->start = start;
  copy(y->speed_limit, x->velocity_limit);
  if (!check_points(x, y, problem, size)) { free(y); return 0; }
  const double begin = isnan(start) ? 0 : greater(0, now - start);
  if (!(begin < times[points - 1])) {
    snprintf(problem, size, "trajectory: its last point, at %g s, leaves no time to get there", times[points - 1]);
    free(y);
    return 0;
  }
  for (int k = 0; k + 1 < points; ++k) for (int j = 0; j < columns; ++j) {
    double ends[3][2] = {{0}};
    const double h = times[k + 1] - times[k];
    double* b = at + k * columns + j;
    for (int d = 0; d < 3; ++d) if (y->rows[d]) for (int e = 0; e < 2; ++e) ends[d][e] = y->rows[d][(k + e) * columns + j];
    to_bernstein(h, degree, ends[0], ends[1], ends[2], b, (int64_t)segments);
    for (int64_t l = 0; l <= degree; ++l) if (!isfinite(1e4 * b[l * (int64_t)segments] / pow(h, (double)degree))) {
      refuse(problem, size, "the curve after it has no finite coefficients", k);
      free(y);
      return 0;
    }
    if (times[k] <= begin) continue; /* the way there takes its place, and is checked when it is followed */
    const int i = joints[j];
    const CoreRefusal found = check_segment(b, (int64_t)segments, degree, h, i, x->loop.lower[i], x->loop.upper[i],
                                            x->velocity_limit[i]);
    if (found.why) { core_refusal_text(&found, problem, size); free(y); return 0; }
  }
  return y;
}

/* --- velocities of a stream of positions: StreamVelocity in reference/stream_velocity.py */

void core_velocity_reset(CoreVelocity* y) {
  EACH { y->t[i] = -INFINITY; y->q[i] = y->v[i] = 0; }
  y->silent_after = INFINITY;
}

void core_velocity_update(CoreVelocity* y, const CoreSettings* x, double t, const int* joints, const double* q, double* velocity) {
  const double filter = x->given.reference_velocity_filter;
  double longest = 0;
  EACH {
    velocity[i] = 0;
    if (!joints[i]) continue;
    const double dt = t - y->t[i], most = x->velocity_limit[i];
    const double moved = near_turn(&x->loop, i, 0, q[i] - y->q[i]);
    const int goes_on = dt >= -OVERTAKEN && dt <= x->given.reference_timeout && fabs(moved) <= x->given.reference_jump;
    const double step = goes_on ? greater(dt, 0) : 0;
    const double change = step > 0 ? (moved - y->v[i] * step) / (filter + step) : 0;
    if (goes_on) velocity[i] = smaller(greater(y->v[i] + change, -most), most);
    if (!(goes_on && dt < 0)) { y->q[i] = q[i]; y->t[i] = t; } /* else the message was overtaken on its way */
    y->v[i] = velocity[i];
    longest = greater(longest, step);
  }
  y->silent_after = greater(SILENCE, SILENT_PERIODS * longest);
}

int core_velocity_is_silent(const CoreVelocity* y, double elapsed) {
  int moves = 0;
  EACH moves |= y->v[i] != 0;
  return moves && elapsed > y->silent_after;
}

/* --- the thread that updates */

enum { MOTIONS = 8, POINTS_OF_A_STOP = N + 1 };

struct Core {
  State state;
  Period period;
  Loop loop;
  CoreSettings* settings;
  CoreTrajectory *held[MOTIONS], *back[MOTIONS]; /* trajectories that may be in use, and those to be given back */
  double begins[KINDS * MOST_BEGINS];
  double *arrays[CHECK + 1], *observer[EXTERNAL + 2];
  double memory[STEP_NUMBERS], observed[OBSERVER_NUMBERS];
  double speed, asked_speed; /* of trajectories, as part of the planned one; and what was asked for of the setting */
  CoreTrajectory* stops[2]; /* memory of a motion that comes to rest, and of the one before */
  int stop;
  ToolStream stream;
};

static CoreRefusal refusal(int why, int joint, double value, double limit) {
  const CoreRefusal found = {why, joint, value, limit};
  return found;
}

static CoreRefusal may_follow(const Core* c) {
  return refusal(c->state.sources.source == WAITING ? CORE_NOT_STARTED : c->state.active ? CORE_FAULT : CORE_OK, 0, 0, 0);
}

static CoreRefusal track(Core* c, double t, const int* joints, const double* q, const double* qd, const double* qdd,
                         const double* effort) {
  const Settings* s = &c->settings->loop;
  Sources* y = &c->state.sources;
  const double *given[REFERENCES] = {q, qd, qdd, effort}, *limit = c->settings->velocity_limit;
  const double jump = c->settings->given.reference_jump, now = c->state.time;
  double present[REFERENCES * N], whole[REFERENCES * N] = {0};
  const CoreRefusal may = may_follow(c);
  if (may.why) return may;
  EACH if (joints[i]) {
    for (int k = 0; k < REFERENCES; ++k) if (!isfinite(given[k][i])) return refusal(CORE_NOT_NUMBERS, i, 0, 0);
    if (q[i] < greater(s->lower[i], -FARTHEST) || q[i] > smaller(s->upper[i], FARTHEST))
      return refusal(CORE_OUTSIDE, i, q[i], q[i] < s->lower[i] ? s->lower[i] : s->upper[i]);
  }
  EACH if (joints[i] && fabs(qd[i]) > SPEED_TOLERANCE * limit[i]) return refusal(CORE_TOO_FAST, i, qd[i], limit[i]);
  EACH if (joints[i] && fabs(effort[i]) > EFFORT_TOLERANCE * s->effort_limit[i])
    return refusal(CORE_TOO_STRONG, i, effort[i], s->effort_limit[i]);
  sample(s, y, now, present);
  EACH {
    whole[i] = present[i];
    if (joints[i]) for (int k = 0; k < REFERENCES; ++k) whole[k * N + i] = given[k][i];
    whole[i] = near_turn(s, i, present[i], whole[i]);
  }
  EACH if (fabs(whole[i] - present[i]) > jump && isinf(limit[i])) return refusal(CORE_UNREACHABLE, i, whole[i], present[i]);
  if (y->source != STREAM) {
    y->lead_t = y->target_time = now;
    y->lead_jump = jump;
    y->has_target = 0;
    EACH {
      y->lead_q[i] = present[i]; y->lead_qd[i] = present[N + i];
      y->lead_limit[i] = limit[i];
      y->leading[i] = 0;
      y->target_velocity[i] = y->arrived[i] = 0;
    }
  }
  if (y->has_target && now > y->target_time)
    EACH {
      const double moved = whole[i] - y->target[i];
      const int steady = fabs(moved) <= y->lead_jump;
      y->target_velocity[i] = steady ? moved / (now - y->target_time) : 0;
      y->arrived[i] = steady ? fabs(moved) : 0;
    }
  for (int k = 0; k < REFERENCES * N; ++k) y->target[k] = whole[k];
  y->has_target = 1; y->target_time = now;
  advance_lead(s, y, now);
  y->source = STREAM; y->end = t + c->settings->given.reference_timeout;
  y->has_next = 0;
  end_following(y, REPLACED);
  return may;
}

CoreRefusal core_track(Core* c, double t, const int* joints, const double* q, const double* qd, const double* qdd,
                       const double* effort) {
  const CoreRefusal found = track(c, t, joints, q, qd, qdd, effort);
  if (!found.why) c->stream.runs = 0; /* the newest request counts */
  return found;
}

void core_stand_still(Core* c) {
  const Sources* y = &c->state.sources;
  double target[REFERENCES * N], still[N] = {0};
  int all[N];
  if (y->source != STREAM || c->stream.runs) return;
  for (int k = 0; k < REFERENCES * N; ++k) target[k] = y->target[k];
  EACH all[i] = 1;
  track(c, y->end - c->settings->given.reference_timeout, all, target, still, target + 2 * N, target + 3 * N);
}

/* --- speed scaling */

/* PathTime.reaches: when the trajectory's time is `path`; never if it does not get there. */
static double reaches(const Settings* s, const PathTime* y, double path) {
  const double ramp = ramp_of(s, y), away = path - y->s, left = path - ramped_of(s, y);
  if (ramp > 0 && away >= 0 && left < 0) {
    const double slope = copysign(s->path_acceleration, y->target - y->speed);
    return y->t + 2 * away / (y->speed + sqrt(greater(y->speed * y->speed + 2 * slope * away, 0)));
  }
  if (ramp == 0 || away < 0) return y->speed > 0 ? y->t + away / y->speed : away > 0 ? INFINITY : y->t;
  return y->target > 0 ? y->t + ramp + left / y->target : left > 0 ? INFINITY : y->t;
}

/* TrajectoryReference.scale_speed, and when it ends then */
static double scale(const Settings* s, PathTime* y, double start, double t, double part, double duration) {
  PathTime after = {1, 0, 0, 1, part};
  if (!y->is_scaled) { const PathTime full = {1, start, 0, 1, 1}; *y = full; }
  after.t = greater(t, y->t);
  double change;
  path_time(s, y, after.t, &after.s, &after.speed, &change);
  *y = after;
  return reaches(s, y, duration);
}

void core_scale_speed(Core* c, double part) {
  const Settings* s = &c->settings->loop;
  Sources* r = &c->state.sources;
  const double speed = part * c->settings->given.speed_scaling, now = c->state.time;
  c->asked_speed = part;
  if (speed == c->speed) return;
  c->speed = speed;
  if (r->source == TRAJECTORY) {
    r->end = scale(s, &r->time, r->start, now, speed, r->motion->duration);
    if (r->following == 1) r->following_end = r->end;
  }
  if (r->has_next) {
    r->next_end = scale(s, &r->next_time, r->next_start, now, speed, r->next_motion->duration);
    if (r->following == 2) r->following_end = r->next_end;
  }
}

/* --- trajectories and stops */

static int is_used(const Core* c, const CoreTrajectory* y) {
  const Sources* x = &c->state.sources;
  return ((x->source == TRAJECTORY || x->source == STOPPING) && x->motion == &y->motion)
         || (x->has_next && x->next_motion == &y->motion);
}

CoreTrajectory* core_returned(Core* c) {
  for (int k = 0; k < MOTIONS; ++k) {
    CoreTrajectory* found = c->back[k] ? c->back[k] : c->held[k];
    if (!found || (!c->back[k] && is_used(c, found))) continue;
    if (c->back[k]) c->back[k] = 0; else c->held[k] = 0;
    return found;
  }
  return 0;
}

CoreRefusal core_follow(Core* c, CoreTrajectory* y) {
  const CoreSettings* x = c->settings;
  Sources* r = &c->state.sources;
  const double now = c->state.time;
  double before[REFERENCES * N];
  CoreRefusal found = may_follow(c);
  int place = 0;
  for (int k = 0; k < MOTIONS; ++k) if (!c->held[k] || !is_used(c, c->held[k])) place = k;
  c->back[place] = c->held[place]; /* at most two are in use */
  c->held[place] = y;
  if (found.why) return found;
  EACH if (y->speed_limit[i] != x->velocity_limit[i]) return refusal(CORE_CHANGED, i, 0, 0);
  const double first = isnan(y->start) ? now : y->start, begin = greater(first, now);
  int dries_up = r->source == STREAM && r->end <= begin;
  sample(&x->loop, r, begin, before);
  /* Where the arm will be when the stream dries up cannot be known yet, so it is held from now on. */
  if (dries_up) for (int k = N; k < REFERENCES * N; ++k) before[k] = 0;
  found = continue_from(x, y, begin - first, before, 1);
  if (found.why) return found;
  if (dries_up) hold_at(r, before, INFINITY);
  r->has_next = 1; r->next_motion = &y->motion; r->next_begin = begin;
  r->next_start = first; r->next_end = first + y->motion.duration; r->next_hold_time = x->hold_time;
  /* at once at the scaled speed, unless the arm is moving: then its velocity would have to jump */
  int moves = 0;
  EACH moves |= before[N + i] != 0;
  const PathTime time = {c->speed != 1, begin, begin - first, moves ? 1 : c->speed, c->speed};
  r->next_time = time;
  if (time.is_scaled) r->next_end = reaches(&x->loop, &time, y->motion.duration);
  end_following(r, REPLACED);
  r->following = 2; r->outcome = 0;
  r->following_start = first; r->following_end = r->next_end;
  copy(r->path, x->path); copy(r->goal, x->goal);
  r->goal_speed = x->goal_speed; r->goal_time = x->goal_time;
  proceed(r, now, before);
  return found;
}

/* A motion that comes to rest, each joint with its deceleration, and sooner before its limit. Nonzero if there is none. */
static int stopping(Core* c, double begin, const double* now) {
  const Settings* s = &c->settings->loop;
  Sources* r = &c->state.sources;
  CoreTrajectory* y = c->stops[c->stop = !c->stop];
  double duration[N], times[POINTS_OF_A_STOP], motion[3 * N];
  int points = 1;
  times[0] = 0;
  EACH {
    const double q = now[i], qd = now[N + i], speed = fabs(qd);
    const double room = qd > 0 ? greater(s->upper[i], q) - q : q - smaller(s->lower[i], q);
    const double longest = 2 * room / greater(speed, AT_REST);
    duration[i] = TICK * smaller(ceil(speed / c->settings->deceleration[i] / TICK), floor(longest / TICK));
    if (speed < AT_REST) duration[i] = 0;
    int place = points;
    while (place > 0 && times[place - 1] > duration[i]) --place;
    if (place > 0 && times[place - 1] == duration[i]) continue;
    for (int k = points; k > place; --k) times[k] = times[k - 1];
    times[place] = duration[i];
    ++points;
  }
  if (points == 1) return 1;
  Motion* m = &y->motion;
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
  y->rows[0] = q; y->rows[1] = qd; y->rows[2] = 0;
  EACH m->column[i] = i;
  for (int k = 0; k + 1 < points; ++k) EACH {
    const double y_ends[2] = {q[k * N + i], q[(k + 1) * N + i]}, v_ends[2] = {qd[k * N + i], qd[(k + 1) * N + i]};
    to_bernstein(t[k + 1] - t[k], 3, y_ends, v_ends, v_ends, b + k * N + i, (points - 1) * N);
  }
  EACH { motion[i] = now[i]; motion[N + i] = duration[i] > 0 ? now[N + i] : 0; motion[2 * N + i] = now[2 * N + i]; }
  continue_from(c->settings, y, 0, motion, 0);
  r->time.is_scaled = 0;
  r->source = STOPPING; r->motion = m; r->start = begin; r->end = begin + m->duration; r->hold_time = INFINITY;
  return 0;
}

CoreRefusal core_hold(Core* c, double t) {
  Sources* r = &c->state.sources;
  double now[REFERENCES * N];
  if (r->source == WAITING) return refusal(CORE_NOT_STARTED, 0, 0, 0);
  const double begin = greater(t, c->state.time);
  sample(&c->settings->loop, r, begin, now);
  if (stopping(c, begin, now)) hold_at(r, now, INFINITY);
  r->has_next = 0;
  end_following(r, STOPPED);
  core_acknowledge(c);
  return refusal(CORE_OK, 0, 0, 0);
}
