// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Trajectories: curves through points, their limits, and the splice from the motion of the arm to a trajectory.

   A curve between two points is a polynomial of degree 1, 3 or 5 in Bernstein form: position, with velocity and
   acceleration where the points give them. Farin, Curves and Surfaces for CAGD (2002), chapters 4 and 5. */

#include "memory.h"

#define POSITION_ROUNDING 1e-7 /* distance beyond a limit that counts as a rounding error [rad] or [m] */
#define SPEED_TOLERANCE 1.01   /* factor on the velocity limit of a reference: splines overshoot between points */
#define EFFORT_TOLERANCE 1.001 /* factor on the limit of a feed-forward effort: the tolerance of a planner */
#define GREATEST_EFFORT 1e12   /* greatest planned effort [N·m] or [N] */
#define AT_REST 1.1920928955078125e-07 /* greatest velocity at rest, as in joint_trajectory_controller [rad/s] */
#define SET_POINT 0.25         /* greatest duration of a trajectory that is a set-point of a stream [s] */
#define REST 0.1               /* time in which a set-point that ends in motion comes to rest [s] */
#define AT_ONCE 0.01           /* time in which a single point at 0 s is reached, as one that says where the arm is [s] */
#define LONGEST_SPLICE 1.0     /* greatest duration of a splice to a trajectory that has begun [s] */
#define USUAL_TIME 0.5         /* shortest time in which a reference reaches the velocity limit [s] */
#define USUAL_ACCELERATION 4.0 /* greatest acceleration of a reference without a plan [rad/s²] or [m/s²] */
#define LEAST_REST 0.005       /* least time to come to rest near a position limit [s] */

/* --- curves */

/* Power coefficients, the highest power first, of position, velocity and acceleration side by side. */
static void to_powers(const double* b, int64_t stride, int64_t count, int64_t degree, double h, double* c) {
  double difference[DEGREES];
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t k = 0; k <= degree; ++k) difference[k] = b[k * stride + j];
    double falling = 1, power = 1;
    for (int64_t k = 0; k <= degree; ++k) {
      c[(degree - k) * 3 * N + j] = falling * difference[0] / power;
      for (int64_t l = 0; l < degree - k; ++l) difference[l] = difference[l + 1] - difference[l];
      falling *= (double)(degree - k) / (double)(k + 1);
      power *= h;
    }
    for (int64_t d = 1; d < 3; ++d) {
      c[d * N + j] = 0;
      for (int64_t row = 1; row <= degree; ++row)
        c[row * 3 * N + d * N + j] = (double)(degree - row + 1) * c[(row - 1) * 3 * N + (d - 1) * N + j];
    }
  }
}

static void evaluate(const double* c, int64_t count, int64_t degree, double u, double* r) {
  for (int64_t d = 0; d < 3; ++d) for (int64_t j = 0; j < count; ++j) {
    double sum = c[d * N + j];
    for (int64_t row = 1; row <= degree; ++row) sum = sum * u + c[row * 3 * N + d * N + j];
    r[d * N + j] = sum;
  }
}

/* The segment that contains a time t between the first point and the last. */
static int64_t segment_at(const Motion* y, double t) {
  int64_t low = 0, high = y->points - 1;
  if (y->segment >= 0 && y->times[y->segment] <= t && t < y->times[y->segment + 1]) return y->segment;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (y->times[middle] <= t) low = middle; else high = middle;
  }
  return low;
}

/* A trajectory at its time t: r (REFERENCES, N), in which velocity, acceleration and effort are 0 before. */
static void sample_motion(Motion* y, double t, double* r) {
  double own[3 * N];
  if (t < y->then) {
    if (t < y->splice_begin) { EACH r[i] = y->splice[i]; return; }
    evaluate(y->splice_cache, N, y->splice_degree, t - y->splice_begin, r);
    return;
  }
  const int64_t last = y->points - 1;
  const double* rest = t >= y->times[last] ? y->last : t < y->times[0] ? y->first : 0;
  if (rest) for (int64_t j = 0; j < y->columns; ++j) { own[j] = rest[j]; own[N + j] = own[2 * N + j] = 0; }
  else {
    const int64_t low = segment_at(y, t);
    if (low != y->segment) {
      to_powers(y->bernstein + low * y->columns, last * y->columns, y->columns, y->degree,
                y->times[low + 1] - y->times[low], y->cache);
      y->segment = low;
    }
    evaluate(y->cache, y->columns, y->degree, t - y->times[low], own);
  }
  EACH r[i] = y->still[i];
  for (int64_t j = 0; j < y->columns; ++j) {
    const int64_t i = y->column[j];
    r[i] = own[j] + y->turn[j]; r[N + i] = own[N + j]; r[2 * N + i] = own[2 * N + j];
  }
}

/* Bernstein coefficients of a segment of duration h, of one joint: b (degree + 1) with a stride. */
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

enum { HALVINGS = 60 }; /* of an interval of a curve */

/* Nonzero if a polynomial exceeds a limit, with its value there: de Casteljau's algorithm, branch and bound. */
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

/* The limit that a segment of a joint exceeds: CORE_OUTSIDE, CORE_TOO_FAST, or CORE_OK. */
static CoreRefusal check_segment(const double* b, int64_t stride, int64_t degree, double h, int joint, double lower,
                                 double upper, double speed) {
  double curve[DEGREES] = {0}, slope[DEGREES] = {0};
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

static const CoreRefusal NOT_REFUSED = {.why = CORE_OK};

/* The acceleration of a reference without a plan, within a limit of acceleration or deceleration. */
static double usual_acceleration(const Settings* s, int i, double limit) {
  return smaller(limit, smaller(s->velocity_limit[i] / USUAL_TIME, USUAL_ACCELERATION));
}

/* The first point of a trajectory that is later than a time; `points` if there is none. */
static int64_t later_than(const Motion* m, double t) {
  if (t < m->times[0]) return 0;
  return t >= m->times[m->points - 1] ? m->points : segment_at(m, t) + 1;
}

/* The splice of a joint, from a given motion to a point of the trajectory. If that has positions only, the final
   velocity is that of the line after the point. */
static void splice_joint(CoreTrajectory* y, int64_t point, double h, const double* before, int i) {
  Motion* m = &y->motion;
  const int64_t columns = m->columns;
  double ends[3][2] = {{before[i], before[i]}, {before[N + i], 0}, {before[2 * N + i], 0}};
  for (int64_t j = 0; j < columns; ++j) if (m->column[j] == i) {
    const double* q = y->rows[0] + point * columns + j;
    ends[0][1] = q[0] + m->turn[j];
    for (int d = 1; d < 3; ++d) if (y->rows[d]) ends[d][1] = y->rows[d][point * columns + j];
    if (!y->rows[1] && point + 1 < m->points) ends[1][1] = (q[columns] - q[0]) / (m->times[point + 1] - m->times[point]);
  }
  to_bernstein(h, m->splice_degree, ends[0], ends[1], ends[2], m->splice + i, N);
}

/* The splice from a given motion at the trajectory's time t to one of its points. With `checks`, returns the limit that
   it exceeds. */
static CoreRefusal splice_to(const Settings* s, CoreTrajectory* y, int64_t point, double t, const double* before, int checks) {
  Motion* m = &y->motion;
  const double h = m->times[point] - t;
  EACH {
    splice_joint(y, point, h, before, i);
    if (!checks) continue;
    const CoreRefusal found = check_segment(m->splice + i, N, m->splice_degree, h, i, smaller(s->lower[i], before[i]),
                                            greater(s->upper[i], before[i]), s->velocity_limit[i]);
    if (found.why) return found;
  }
  m->then = m->times[point]; m->splice_begin = t;
  return NOT_REFUSED;
}

/* The greatest acceleration of curves (degree + 1, N) of duration h [s], as a ratio of the usual one. */
static double bending(const Settings* s, const double* b, int64_t degree, double h) {
  double most = 0;
  for (int64_t k = 0; k + 2 <= degree; ++k) EACH {
    const double turned = b[k * N + i] - 2 * b[(k + 1) * N + i] + b[(k + 2) * N + i];
    most = greater(most, fabs((double)(degree * (degree - 1)) * turned / (h * h)) / usual_acceleration(s, i, s->acceleration[i]));
  }
  return most;
}

/* The acceleration of a splice, as a ratio of the usual one: its own acceleration, or the one that it adds to the
   trajectory's curve, whichever is less. At its beginning the curve is `curve` (REFERENCES, N), and the motion
   `before`. */
static double bending_of(const Settings* s, const Motion* m, const double* before, const double* curve) {
  const double h = m->then - m->splice_begin;
  double added[DEGREES * N];
  EACH {
    double ends[3][2] = {{0}};
    for (int d = 0; d < 3; ++d) ends[d][0] = before[d * N + i] - curve[d * N + i];
    to_bernstein(h, m->splice_degree, ends[0], ends[1], ends[2], added + i, N);
  }
  return smaller(bending(s, m->splice, m->splice_degree, h), bending(s, added, m->splice_degree, h));
}

/* The point at which a motion joins a trajectory that has begun, from the point `next` on. It is the first point to
   which a splice keeps to the limits with at most the usual acceleration; if there is none, the point with the least
   acceleration. */
static CoreRefusal find_joint(const Settings* s, CoreTrajectory* y, double t, const double* before, int64_t next, int64_t* point) {
  Motion* m = &y->motion;
  double curve[WHOLE] = {0}, least = INFINITY;
  CoreRefusal refused = NOT_REFUSED;
  m->then = -INFINITY;
  sample_motion(m, t, curve);
  const int64_t last = m->points - 1;
  for (int64_t k = next, step = 1; least > 1 && m->times[k] - t <= LONGEST_SPLICE; step += (step + 1) / 2) {
    const CoreRefusal found = splice_to(s, y, k, t, before, 1);
    const double bends = found.why ? INFINITY : bending_of(s, m, before, curve);
    if (found.why && !refused.why) refused = found;
    if (bends < least) { least = bends; *point = k; }
    if (k == last) break;
    k = k + step < last ? k + step : last;
  }
  return least < INFINITY ? NOT_REFUSED : refused;
}

/* Continues a given motion `before` (3, N) with a trajectory at its time t [s]. With `checks` the splice has to keep to
   the limits; a start outside the position limits widens them, so that the arm can come back. From rest, a trajectory
   begins with its next point. A late trajectory, or one that replaces another motion, is joined at a point with a low
   acceleration. */
static CoreRefusal splice(const Settings* s, CoreTrajectory* y, double t, const double* before, int checks) {
  Motion* m = &y->motion;
  int64_t point = later_than(m, t);
  int moves = 0;
  double curve[WHOLE] = {0};
  CoreRefusal found = NOT_REFUSED;
  if (point == m->points) return (CoreRefusal){.why = CORE_OVER, .value = m->duration};
  EACH { m->still[i] = m->goal[i] = before[i]; m->turn[i] = 0; moves |= before[N + i] != 0; }
  m->then = -INFINITY;
  sample_motion(m, t, curve);
  for (int64_t j = 0; j < m->columns; ++j) {
    const int i = (int)m->column[j];
    m->turn[j] = near_turn(s, i, before[i], curve[i]) - curve[i];
    m->goal[i] = m->last[j] + m->turn[j];
  }
  const int under_way = point > 0 && (moves || t > m->times[0]);
  m->splice_degree = m->degree == 1 && under_way ? 3 : m->degree;
  if (checks && under_way) found = find_joint(s, y, t, before, point, &point);
  if (!found.why) found = splice_to(s, y, point, t, before, checks);
  if (found.why) return found;
  to_powers(m->splice, N, N, m->splice_degree, m->then - t, m->splice_cache);
  return found;
}

/* --- a trajectory of points, prepared outside the thread of the periods */

static CoreRefusal check_position(const Settings* s, int i, double q) {
  if (q < greater(s->lower[i], -FARTHEST) || q > smaller(s->upper[i], FARTHEST))
    return (CoreRefusal){CORE_OUTSIDE, i, q, q < s->lower[i] ? s->lower[i] : s->upper[i]};
  return NOT_REFUSED;
}

/* Checks the values of a point, one joint after the other. */
static CoreRefusal check_point(const Settings* s, const CoreTrajectory* y, int64_t k) {
  const Motion* m = &y->motion;
  for (int64_t j = 0; j < m->columns; ++j) {
    const int i = (int)m->column[j];
    const int64_t at = k * m->columns + j;
    for (int d = 0; d < 3; ++d) if (y->rows[d] && !isfinite(y->rows[d][at])) return (CoreRefusal){.why = CORE_NOT_NUMBERS, .joint = i, .value = y->rows[d][at]};
    if (m->efforts && !(fabs(m->efforts[at]) <= GREATEST_EFFORT)) return (CoreRefusal){.why = CORE_NOT_NUMBERS, .joint = i, .value = m->efforts[at]};
    if (m->efforts && fabs(m->efforts[at]) > EFFORT_TOLERANCE * s->effort_limit[i])
      return (CoreRefusal){CORE_TOO_STRONG, i, m->efforts[at], s->effort_limit[i]};
    const CoreRefusal found = check_position(s, i, y->rows[0][at]);
    if (found.why) return found;
  }
  return NOT_REFUSED;
}

static CoreRefusal check_points(const Settings* s, const CoreTrajectory* y) {
  const Motion* m = &y->motion;
  for (int64_t k = 0; k < m->points; ++k) {
    if (!isfinite(m->times[k]) || (k && !(m->times[k] > m->times[k - 1]))) return (CoreRefusal){.why = CORE_NOT_RISING, .joint = k, .value = m->times[k]};
    const CoreRefusal found = check_point(s, y, k);
    if (found.why) return found;
  }
  for (int64_t j = 0; j < m->columns && y->rows[1] && !s->allow_nonzero_velocity_at_trajectory_end; ++j) {
    const double speed = y->rows[1][(m->points - 1) * m->columns + j];
    if (fabs(speed) > AT_REST) return (CoreRefusal){.why = CORE_IN_MOTION, .joint = m->column[j], .value = speed};
  }
  return NOT_REFUSED;
}

/* Makes the curves between the points, and checks them from the time `begin` on: earlier curves are not used, and the
   splice replaces the one that contains `begin`. */
static CoreRefusal make_curves(const Settings* s, CoreTrajectory* y, double* b, double begin) {
  const Motion* m = &y->motion;
  const int64_t columns = m->columns, segments = (m->points - 1) * columns;
  for (int64_t k = 0; k + 1 < m->points; ++k) for (int64_t j = 0; j < columns; ++j) {
    double ends[3][2] = {{0}};
    const double h = m->times[k + 1] - m->times[k];
    double* place = b + k * columns + j;
    for (int d = 0; d < 3; ++d) if (y->rows[d]) for (int e = 0; e < 2; ++e) ends[d][e] = y->rows[d][(k + e) * columns + j];
    to_bernstein(h, m->degree, ends[0], ends[1], ends[2], place, segments);
    const int i = (int)m->column[j];
    for (int64_t l = 0; l <= m->degree; ++l) if (!isfinite(1e4 * place[l * segments] / pow(h, (double)m->degree)))
      return (CoreRefusal){.why = CORE_NOT_NUMBERS, .joint = i, .value = place[l * segments]};
    if (m->times[k] <= begin) continue;
    const CoreRefusal found = check_segment(place, segments, m->degree, h, i, s->lower[i], s->upper[i], s->velocity_limit[i]);
    if (found.why) return found;
  }
  return NOT_REFUSED;
}

/* The time in which a set-point of a stream that ends in motion comes to rest [s]; 0 for any other trajectory. So the
   reference is still moving if the next set-point is a little late, as those of MoveIt Servo may be. */
static double time_to_rest(const Settings* s, int64_t columns, const int64_t* joints, double duration, const double* q, const double* v) {
  double time = REST, fastest = 0;
  if (duration > SET_POINT) return 0;
  for (int64_t j = 0; j < columns; ++j) {
    const double speed = fabs(v[j]), room = v[j] > 0 ? s->upper[joints[j]] - q[j] : q[j] - s->lower[joints[j]];
    if (speed > AT_REST) time = smaller(time, ALMOST * 2 * room / speed); /* not rounded beyond the limit */
    fastest = greater(fastest, speed);
  }
  return time < LEAST_REST || !(fastest > AT_REST) ? 0 : time;
}

/* A copy of the points. If `rest` [s] is not 0, a point is added at which the trajectory has come to rest after that
   time. */
static CoreTrajectory* copy_points(int64_t points, int64_t columns, const int64_t* joints, const double* times,
                                   const double* const rows[3], const double* efforts, double rest) {
  const int64_t degree = rows[1] ? (rows[2] ? 5 : 3) : 1, all = points + (rest > 0);
  const size_t sent = (size_t)(points * columns), row = (size_t)(all * columns);
  CoreTrajectory* y = calloc(1, sizeof *y + ((size_t)all + 4 * row + (size_t)((degree + 1) * (all - 1) * columns)) * sizeof(double));
  if (!y) return 0;
  double* at = y->numbers;
  memcpy(at, times, (size_t)points * sizeof(double));
  if (rest > 0) at[points] = at[points - 1] + rest;
  y->motion.times = at;
  at += all;
  for (int d = 0; d < 3; ++d) if (d == 0 || rows[d]) { y->rows[d] = memcpy(at, rows[d], sent * sizeof(double)); at += row; }
  if (efforts) { y->motion.efforts = memcpy(at, efforts, sent * sizeof(double)); at += row; }
  for (int64_t j = 0; rows[1] && rest > 0 && j < columns; ++j) {
    const size_t last = sent - (size_t)columns + (size_t)j;
    y->rows[0][sent + (size_t)j] = y->rows[0][last] + rest * y->rows[1][last] / 2;
  }
  y->motion.bernstein = at;
  y->motion.first = y->rows[0];
  y->motion.last = y->rows[0] + row - columns;
  y->motion.points = all; y->motion.degree = degree; y->motion.columns = columns;
  y->motion.duration = y->motion.times[all - 1]; y->motion.segment = -1;
  for (int64_t j = 0; j < columns; ++j) y->motion.column[j] = joints[j];
  return y;
}

void core_trajectory_destroy(CoreTrajectory* trajectory) { free(trajectory); }

CoreTrajectory* core_trajectory_create(const CoreSettings* settings, int64_t points, int64_t columns, const int64_t* joints,
                                       const double* times, const double* positions, const double* velocities,
                                       const double* accelerations, const double* efforts, double start, double now,
                                       CoreRefusal* found) {
  const Settings* s = &settings->loop;
  const double* const rows[3] = {positions, velocities, velocities ? accelerations : 0};
  const int64_t last = (points - 1) * columns;
  const double soon[1] = {AT_ONCE};
  *found = NOT_REFUSED;
  if (points == 1 && times[0] == 0) times = soon;
  if (points < 1 || columns < 1 || columns > N) { *found = (CoreRefusal){.why = CORE_NOT_NUMBERS}; return 0; }
  const double rest = velocities && !efforts
    ? time_to_rest(s, columns, joints, times[points - 1], positions + last, velocities + last) : 0;
  CoreTrajectory* y = copy_points(points, columns, joints, times, rows, efforts, rest);
  if (!y) { *found = (CoreRefusal){.why = CORE_NO_MEMORY, .value = (double)points}; return 0; }
  y->start = start;
  copy(y->speed_limit, s->velocity_limit);
  *found = check_points(s, y);
  const double begin = isnan(start) ? 0 : greater(0, now - start);
  if (!found->why && !(begin < y->motion.duration)) *found = (CoreRefusal){.why = CORE_OVER, .value = y->motion.duration};
  if (!found->why) *found = make_curves(s, y, (double*)y->motion.bernstein, begin);
  if (!found->why) return y;
  free(y);
  return 0;
}
