// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Streams to the tool, of poses, twists and wrenches, as a reference of the joints.

   target     A pose counts at its stamp: the target goes from message to message by a curve whose velocity and
              acceleration do not jump, one period of the stream late (measured, with its jitter). If messages are late
              or lost, the target continues for `COAST` periods, and comes to rest. A twist counts at once. Each stream
              ends within the limits.
   tool       ẋ* = v_target + e/|e| b(|e|; a), e from the tool to the target, |ẋ*| ≤ v_max, for translation and rotation
              each. b(s; a) = √((a/k)² + 2 a s) - a/k is the speed from which braking takes a distance s; it is k s for
              a small s.
   stretch    The tool takes its path at the ratio g ≤ 1 of that speed: q̇* = g J⁺ ẋ* keeps to the velocity limits,
              brakes before position limits and before singular values fall below their floor, and the acceleration by
              the path's curvature, J̇ q̇*, is at most `CURVED` of the tool's acceleration, J⁺ J̇ q̇* of the joints'. At
              such a limit g becomes 0: the tool stands.
   limits     ẍ follows g ẋ* within the limits of acceleration and jerk.
   step       Of all q̇ = q̇_b + β (q̇* - q̇_b), 0 ≤ β ≤ 1, the greatest β counts that keeps all limits: of position,
              velocity and acceleration of the joints, of speed and acceleration of the tool. q̇_b = (1 - ρ) q̇ brakes
              all joints together. It is possible at any time, because the curvature is bounded: on a straight line of
              the joints the tool decelerates by ρ |ẋ| and the rest of J̇ q̇. β is found by `BISECTIONS` halvings.
   detour     If the tool stands on its path although its target rests, a search looks for joint positions that reach
              it: from where the joints are, from where the stream began, from poses all over the range. If there are
              any, the joints go there on a straight line, within the same limits; else the target is reported as
              unreachable.

   Redundant joints return to where the stream began. A period takes one singular value decomposition (at most `SWEEPS`
   sweeps), `SEARCH` more while the tool stands, and five calls of the kinematics at most for each `TOOL_STEP`.

   Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics: Modelling, Planning and Control (2009), sections 3.5 and
   3.7; braking distance as a feedback law: Biagiotti and Melchiorri, Trajectory Planning for Automatic Machines and
   Robots (2008), section 3.2; scaling that keeps the path: Flacco, De Luca and Khatib, Control of redundant robots
   under hard joint constraints: saturation in the null space, IEEE Trans. Robotics 31 (2015), section IV. */

#include "memory.h"

#define TOOL_STEP 4e-3 /* longest step; a longer period has several, MOST_STEPS at most [s] */
#define POSTURE 1.0 /* rate at which redundant joints return to where the stream began [1/s] */
#define POSTURE_SPEED 0.2 /* greatest speed of this return, as ratio of the velocity limit */
#define STREAM_SPEED 0.9 /* greatest speed of a joint, as ratio of the velocity limit: the arm overshoots */
#define SLOPE_POSITION 25.0 /* k of b for small distances [1/s] */
#define SLOPE_VELOCITY 120.0 /* and for small differences of speed [1/s] */
#define BRAKING_RATIO 0.5 /* ratio of the limits of acceleration and jerk that braking uses: the rest is a reserve */
#define AHEAD 0.3 /* the same in front of a limit, whose distance is known roughly */
#define CURVED 0.3 /* ratio of the acceleration limit for the curvature of a path */
#define MOST_CURVED 0.36 /* and for the curvature of a motion */
#define JERK_TIME 0.025 /* time in which the tool reaches its limit of acceleration: the limit of jerk [s] */
#define RISE_TIME 0.1 /* shortest time in which a joint reaches its velocity limit from rest [s] */
#define FASTEST 10.0 /* greatest velocity limit that is used for that [rad/s] or [m/s] */
#define MARGIN 1e-3 /* distance from a position limit that a joint keeps [rad] or [m] */
#define STILL 1e-4 /* greatest speed at rest [m/s] or [rad/s]; distance at which a target is reached [m] or [rad] */
#define STANDS_BELOW 0.05 /* ratio of the requested speed below which the tool stands on its path */
#define STANDS_FOR 0.2 /* time after which this is reported [s] */
#define RESTS 1e-3 /* motion below which a target is at rest [m] */
#define FOUND 1e-7 /* distance from the target below which joint positions reach it [m] */
#define SMALLEST 1e-12 /* least speed that is not rounding; keeps a division by a speed defined [m/s] or [rad/s] */
#define DIFFERENCE_TIME 1e-6 /* time over which the change of the Jacobian is found by a difference [s] */
#define NO_DIRECTION 1e-9 /* greatest singular value of a direction in which no joint moves the tool */
#define WRENCH_TIME 0.02 /* time constant of a wrench [s] */
enum { MOST_STEPS = 16, BISECTIONS = 16, SEARCH = 2, TRIES = 60, SEEDS = 60 };

/* --- limits */

static double steepest(const Settings* s, int i) {
  return smaller(smaller(s->acceleration[i], s->braking[i]), smaller(s->velocity_limit[i], FASTEST) / RISE_TIME);
}

/* Distance of a joint from its position limit in the direction of a velocity. Infinite if it does not move. */
static double room(const Settings* s, const Tool* y, int i, double qd) {
  if (fabs(qd) < SMALLEST) return INFINITY;
  return greater(qd > 0 ? s->upper[i] - MARGIN - y->q[i] : y->q[i] - s->lower[i] - MARGIN, 0);
}

/* The rate at which joint velocities, with this twist of the tool, may change in proportion with a ratio of the tool's
   acceleration [1/s]. */
static double rate_of_change(const Settings* s, double ratio, const double* twist, const double* qd) {
  double rate = INFINITY;
  for (int part = 0; part < 2; ++part)
    rate = smaller(rate, ratio * s->stream_acceleration[part] / greater(length3(twist + 3 * part), SMALLEST));
  EACH rate = smaller(rate, steepest(s, i) / greater(fabs(qd[i]), SMALLEST));
  return rate;
}

/* A motion along a path: velocities of the joints and of the tool, and their change along the path. */
typedef struct {
  double qd[N], twist[6], change[6 * N]; /* J̇ */
  double rate;                           /* greatest relative change of its speed [1/s] */
} Course;

static void find_course(const Settings* s, const double* q, const double* jacobian, const double* qd, Course* y) {
  const double h = DIFFERENCE_TIME;
  double there[N], other[6 * N];
  ToolPose pose;
  copy(y->qd, qd);
  find_twist(jacobian, qd, y->twist);
  EACH there[i] = q[i] + h * qd[i];
  find_tool(s, there, &pose, other);
  for (int k = 0; k < 6 * N; ++k) y->change[k] = (other[k] - jacobian[k]) / h;
  y->rate = rate_of_change(s, 1, y->twist, qd);
}

/* The greatest ratio g of the speed of a course that keeps to the limits of speed, position and curvature. */
static double stretch(const Settings* s, const Tool* y, const Svd* svd, const Course* x) {
  double least = 1, curved[6], bent[N];
  find_twist(x->change, x->qd, curved);
  solve_joints(s, svd, curved, 1e-3 * s->tool_floor, bent);
  for (int part = 0; part < 2; ++part) {
    least = smaller(least, s->stream_speed[part] / greater(length3(x->twist + 3 * part), SMALLEST));
    least = smaller(least, sqrt(CURVED * s->stream_acceleration[part] / greater(length3(curved + 3 * part), SMALLEST)));
  }
  EACH {
    const double speed = greater(fabs(x->qd[i]), SMALLEST);
    least = smaller(least, STREAM_SPEED * s->velocity_limit[i] / speed);
    least = smaller(least, sqrt(CURVED * steepest(s, i) / greater(fabs(bent[i]), SMALLEST)));
    if (isfinite(room(s, y, i, x->qd[i])))
      least = smaller(least, braking_speed(room(s, y, i, x->qd[i]) / speed, AHEAD * x->rate, SLOPE_POSITION));
  }
  return least;
}

/* The same for singular values: no singular value whose direction the course needs falls below its floor. */
static double stretch_to_edge(const Settings* s, const Svd* svd, const Course* x) {
  double least = 1, rows[6 * N], ratio[6];
  const double whole = greater(weighted(s, x->twist), SMALLEST);
  weigh(s, svd->ease, x->change, rows);
  along(s, svd, x->twist, ratio);
  for (int a = 0; a < svd->count; ++a) {
    double falls = 0;
    for (int64_t k = 0; k < s->tool_directions; ++k) EACH falls -= svd->left[a][k] * rows[k * N + i] * svd->right[a][i];
    if (!(falls > 0) || svd->value[a] < NO_DIRECTION) continue;
    const double away = greater(svd->value[a] - s->tool_floor, 0) / falls, needed = fabs(ratio[a]) / whole;
    least = smaller(least, braking_speed(away, AHEAD * x->rate, SLOPE_POSITION) / greater(needed, 1e-6));
  }
  return least;
}

/* The velocity of the tool that follows a requested one (6) within the limits of acceleration and jerk. */
static void advance_limited(const Settings* s, const Tool* y, double dt, const double* wanted, double* velocity) {
  for (int part = 0; part < 6; part += 3) {
    const double most = s->stream_acceleration[part / 3], jerk = most / JERK_TIME;
    double lacking[3], change[3];
    for (int k = 0; k < 3; ++k) lacking[k] = wanted[part + k] - y->velocity[part + k];
    const double lack = length3(lacking);
    const double asked = lack > 0 ? smaller(braking_speed(lack, BRAKING_RATIO * jerk, smaller(SLOPE_VELOCITY, 0.5 / dt)), most) : 0;
    for (int k = 0; k < 3; ++k) change[k] = (lack > 0 ? lacking[k] * (asked / lack) : 0) - y->acceleration[part + k];
    shorten(change, jerk * dt);
    for (int k = 0; k < 3; ++k) change[k] += y->acceleration[part + k];
    shorten(change, most);
    for (int k = 0; k < 3; ++k) velocity[part + k] = y->velocity[part + k] + dt * change[k];
  }
}

/* The effect of joint velocities in this step: the velocity of the tool, its change since the last step, its curvature
   J̇ q̇ (6), and the stopping distance of each joint if all joints are braked together. */
typedef struct {
  double qd[N], twist[6], change[6], curved[6], stop[N];
} Move;

/* The rate at which the velocities of all joints may be braked together [1/s]. */
static double braking_rate(const Settings* s, const double* twist, const double* qd) {
  return rate_of_change(s, 1 - MOST_CURVED, twist, qd);
}

static void find_move(const Settings* s, const Tool* y, double dt, const double* q, const double* jacobian, const double* qd, Move* x) {
  Course course;
  find_course(s, q, jacobian, qd, &course);
  copy(x->qd, qd);
  find_twist(course.change, qd, x->curved);
  for (int k = 0; k < 6; ++k) { x->twist[k] = course.twist[k]; x->change[k] = x->twist[k] - y->velocity[k]; }
  const double time = dt + 0.5 / braking_rate(s, x->twist, qd);
  EACH x->stop[i] = fabs(qd[i]) * time;
}

/* Nonzero if a move keeps to all limits, or exceeds them no more than the braking move does. */
static int is_allowed(const Settings* s, const Tool* y, double dt, const Move* x, const Move* braked) {
  const double rounding = 1 + 1e-9;
  EACH {
    if (fabs(x->qd[i]) > rounding * greater(STREAM_SPEED * s->velocity_limit[i], fabs(braked->qd[i]))) return 0;
    if (fabs(x->qd[i] - y->qd[i]) > rounding * steepest(s, i) * dt) return 0;
    if (x->stop[i] > rounding * greater(room(s, y, i, x->qd[i]), x->qd[i] * braked->qd[i] > 0 ? braked->stop[i] : 0)) return 0;
  }
  for (int part = 0; part < 6; part += 3) {
    const double most = s->stream_acceleration[part / 3];
    if (length3(x->twist + part) > rounding * greater(s->stream_speed[part / 3], length3(braked->twist + part))) return 0;
    if (length3(x->change + part) > rounding * greater(most * dt, length3(braked->change + part))) return 0;
    if (length3(x->curved + part) > rounding * greater(MOST_CURVED * most, length3(braked->curved + part))) return 0;
  }
  return 1;
}

/* The joint velocities that keep to all limits, on the line from the braking ones to the requested ones, nearest to the
   latter. */
static void limit_joints(const Settings* s, const Tool* y, double dt, const double* q, const double* jacobian, const double* wanted,
                         double* qd) {
  double slower[N], asked[N], least = 0, most = 1;
  Move move, braked;
  const double left = 1 - smaller(dt * braking_rate(s, y->velocity, y->qd), 1);
  EACH {
    slower[i] = left * y->qd[i];
    asked[i] = qd[i] = within(wanted[i], braking_speed(room(s, y, i, wanted[i]), AHEAD * steepest(s, i), SLOPE_POSITION));
  }
  find_move(s, y, dt, q, jacobian, slower, &braked);
  find_move(s, y, dt, q, jacobian, qd, &move);
  if (!is_allowed(s, y, dt, &move, &braked)) {
    for (int k = 0; k < BISECTIONS; ++k) {
      const double middle = (least + most) / 2;
      EACH qd[i] = slower[i] + middle * (asked[i] - slower[i]);
      find_move(s, y, dt, q, jacobian, qd, &move);
      if (is_allowed(s, y, dt, &move, &braked)) least = middle; else most = middle;
    }
    EACH qd[i] = slower[i] + least * (asked[i] - slower[i]);
  }
  EACH qd[i] = smaller(greater(qd[i], -room(s, y, i, -1) / dt), room(s, y, i, 1) / dt);
}

/* --- a detour of the joints */

static double within_limits(const Settings* s, int i, double q) { return smaller(greater(q, s->lower[i] + MARGIN), s->upper[i] - MARGIN); }

static int is_prime(int x) {
  for (int k = 2; k * k <= x; ++k) if (x % k == 0) return 0;
  return 1;
}

/* Joint positions at which a search begins: the present ones, those at the beginning of the stream, then ones all over
   the range, by the fractional parts of multiples of the square roots of primes, none of which is a sum of ratios of the
   others. A range without an end is a turn or more. */
static void seed(const Settings* s, Tool* y) {
  int prime = 1;
  EACH {
    while (!is_prime(++prime)) {}
    const double lower = isfinite(s->lower[i]) ? s->lower[i] : smaller(-TURN / 2, s->upper[i] - TURN);
    const double upper = isfinite(s->upper[i]) ? s->upper[i] : greater(TURN / 2, s->lower[i] + TURN);
    const double fraction = fmod((double)y->seeds * sqrt(prime), 1);
    y->guess[i] = y->seeds == 0 ? y->q[i] : y->seeds == 1 ? y->posture[i] : lower + fraction * (upper - lower);
  }
  y->tries = 0;
}

/* Begins a detour to the joint positions that were found. Each is changed by whole turns to be nearer, if the tool is
   there, too: it is not for a prismatic joint, or where a limit is in between. */
static void begin_detour(const Settings* s, Tool* y, const ToolPose* target) {
  EACH {
    double jacobian[6 * N], error[6];
    const double found = y->guess[i];
    ToolPose pose;
    y->guess[i] = within_limits(s, i, found - TURN * nearbyint((found - y->q[i]) / TURN));
    find_tool(s, y->guess, &pose, jacobian);
    between(&pose, target, error);
    if (!(weighted(s, error) < 10 * FOUND)) y->guess[i] = found;
  }
  y->state = TOOL_DETOUR; y->detour_target = *target;
}

/* Some steps of Newton's method, damped by the distance, towards joint positions with the tool at the target. */
static void search(const Settings* s, Tool* y, const ToolPose* target) {
  for (int k = 0; k < SEARCH && y->seeds < SEEDS && y->state != TOOL_DETOUR; ++k) {
    double jacobian[6 * N], error[6], qd[N];
    ToolPose pose;
    Svd svd;
    if (y->tries == 0) seed(s, y);
    find_tool(s, y->guess, &pose, jacobian);
    between(&pose, target, error);
    const double away = weighted(s, error);
    if (away < FOUND) { begin_detour(s, y, target); return; }
    shorten(error, 0.3);
    decompose(s, y->guess, jacobian, &svd);
    solve_joints(s, &svd, error, 0.05 * smaller(away, 1) + 1e-9, qd);
    EACH y->guess[i] = within_limits(s, i, y->guess[i] + qd[i]);
    if (++y->tries > TRIES) { ++y->seeds; y->tries = 0; }
  }
}

/* Detects by the speed ratio that the tool stands on its path. If its target rests, the search for a detour begins. */
static void watch_path(const Settings* s, Tool* y, double dt, const ToolPose* target, const double* error, double ratio) {
  double moved[6];
  const int stands = ratio <= STANDS_BELOW;
  y->stood = stands ? y->stood + dt : 0;
  y->state = y->stood > STANDS_FOR ? TOOL_STANDS : TOOL_FOLLOWS;
  if (y->follows != CORE_POSE) return;
  between(&y->stood_target, target, moved);
  if (weighted(s, moved) > RESTS || weighted(s, error) <= STILL) {
    y->stood_target = *target;
    y->rested = 0; y->seeds = y->tries = 0;
  } else y->rested += dt;
  if (y->state == TOOL_STANDS && y->rested > STANDS_FOR) search(s, y, target);
}

/* The velocities of the joints on a straight line to the end of the detour. */
static void take_detour(const Settings* s, Tool* y, const double* q, const double* jacobian, const Svd* svd, double* qd) {
  double displacement[N], farthest = 0;
  Course course;
  EACH { displacement[i] = y->guess[i] - y->q[i]; farthest = greater(farthest, fabs(displacement[i])); }
  find_course(s, q, jacobian, displacement, &course);
  const double speed = smaller(braking_speed(1, AHEAD * course.rate, SLOPE_POSITION), SLOPE_POSITION / 2);
  EACH displacement[i] *= speed;
  find_course(s, q, jacobian, displacement, &course);
  const double g = stretch(s, y, svd, &course);
  EACH qd[i] = g * displacement[i];
  if (farthest < STILL) y->state = TOOL_FOLLOWS;
}

/* --- the stream */

static void begin_tool(const Settings* s, Tool* y, double t, const double* reference) {
  double jacobian[6 * N];
  Tool fresh = {0};
  *y = fresh;
  copy(y->q, reference); copy(y->posture, reference); copy(y->qd, reference + N);
  find_tool(s, y->q, &y->pose, jacobian);
  y->stood_target = y->pose;
  find_twist(jacobian, y->qd, y->velocity);
  y->t = t; y->follows = CORE_TWIST; y->received = y->received_wrench = -INFINITY;
}

/* The request to the tool at a time: its target if it has one, the error (6), and the requested velocity (6). */
static void find_wanted(const Settings* s, const Tool* y, double t, ToolPose* target, double* error, double* wanted) {
  double acceleration[6];
  for (int k = 0; k < 6; ++k) { error[k] = 0; wanted[k] = t - y->received <= s->stream_timeout ? y->twist[k] : 0; }
  *target = y->pose;
  if (y->follows == CORE_POSE) {
    target_at(y, t, target, wanted, acceleration);
    between(&y->pose, target, error);
  }
  for (int part = 0; part < 2; ++part) {
    const double away = length3(error + 3 * part);
    const double speed = braking_speed(away, BRAKING_RATIO * s->stream_acceleration[part], SLOPE_POSITION);
    for (int k = 3 * part; k < 3 * part + 3; ++k) if (away > 0) wanted[k] += error[k] * (speed / away);
    shorten(wanted + 3 * part, s->stream_speed[part]);
  }
}

/* Adds a return of redundant joints to where the stream began, in the null space: it does not move the tool. */
static void add_posture(const Settings* s, const Tool* y, const Svd* svd, double* qd) {
  double drawn[N], ratio = 1;
  EACH {
    const double most = POSTURE_SPEED * smaller(s->velocity_limit[i], FASTEST);
    drawn[i] = within(POSTURE * (y->posture[i] - y->q[i]), most) / svd->ease[i];
  }
  for (int a = 0; a < svd->count; ++a) {
    double component = 0;
    EACH component += svd->right[a][i] * drawn[i];
    if (svd->value[a] > NO_DIRECTION) EACH drawn[i] -= svd->right[a][i] * component;
  }
  EACH drawn[i] *= svd->ease[i];
  EACH ratio = smaller(ratio, braking_speed(room(s, y, i, drawn[i]), AHEAD * steepest(s, i), SLOPE_POSITION) / greater(fabs(drawn[i]), SMALLEST));
  EACH qd[i] += ratio * drawn[i];
}

/* A step of the reference of the joints. */
static void step_tool(const Settings* s, Tool* y, double t, double dt, double* qdd) {
  double jacobian[6 * N], middle[N], error[6], wanted[6], velocity[6], qd[N], asked[N];
  ToolPose target, pose;
  Svd svd;
  Course course;
  EACH middle[i] = y->q[i] + dt / 2 * y->qd[i];
  find_tool(s, middle, &pose, jacobian);
  decompose(s, middle, jacobian, &svd);
  find_wanted(s, y, t, &target, error, wanted);
  if (y->state == TOOL_DETOUR) {
    double moved[6];
    between(&y->detour_target, &target, moved);
    if (y->follows != CORE_POSE || weighted(s, moved) > RESTS) y->state = TOOL_FOLLOWS;
  }
  if (y->state == TOOL_DETOUR) take_detour(s, y, middle, jacobian, &svd, asked);
  else {
    solve_joints(s, &svd, wanted, 1e-6 * s->tool_floor, qd);
    const double full = weighted(s, wanted);
    find_course(s, middle, jacobian, qd, &course);
    for (int k = 0; k < 6; ++k) wanted[k] = course.twist[k]; /* the part of it that the arm can do */
    const double g = smaller(stretch(s, y, &svd, &course), stretch_to_edge(s, &svd, &course)), ratio = full > STILL ? g * weighted(s, wanted) / full : 1;
    for (int k = 0; k < 6; ++k) wanted[k] *= g;
    advance_limited(s, y, dt, wanted, velocity);
    solve_joints(s, &svd, velocity, 1e-2 * s->tool_floor, asked);
    add_posture(s, y, &svd, asked);
    watch_path(s, y, dt, &target, error, ratio);
  }
  limit_joints(s, y, dt, middle, jacobian, asked, qd);
  find_twist(jacobian, qd, velocity);
  for (int k = 0; k < 6; ++k) { y->acceleration[k] = (velocity[k] - y->velocity[k]) / dt; y->velocity[k] = velocity[k]; }
  for (int part = 0; part < 2; ++part) shorten(y->acceleration + 3 * part, s->stream_acceleration[part]);
  EACH { qdd[i] = (qd[i] - y->qd[i]) / dt; y->qd[i] = qd[i]; y->q[i] += dt * qd[i]; }
  find_tool(s, y->q, &y->pose, jacobian);
  y->away[0] = length3(error); y->away[1] = length3(error + 3);
}

/* The requested wrench of the tool, as efforts of the joints. */
static void step_wrench(const Settings* s, Tool* y, double t, double dt, double* effort) {
  const double ratio = 1 - exp(-dt / WRENCH_TIME);
  double jacobian[6 * N];
  ToolPose pose;
  find_tool(s, y->q, &pose, jacobian);
  clear(effort);
  for (int k = 0; k < 6; ++k) {
    const double target = t - y->received_wrench <= s->stream_timeout ? y->target_wrench[k] : 0;
    y->wrench[k] += ratio * (target - y->wrench[k]);
    if (target == 0 && fabs(y->wrench[k]) < STILL) y->wrench[k] = 0;
    EACH effort[i] += jacobian[k * N + i] * y->wrench[k];
  }
  EACH effort[i] = within(effort[i], s->effort_limit[i]);
}

/* Whether the stream has ended: its messages have timed out, and the reference has come to rest. */
static int is_tool_over(const Settings* s, const Tool* y, double t) {
  int moves = 0;
  if (t - greater(y->received, y->received_wrench) <= s->stream_timeout || y->state == TOOL_DETOUR) return 0;
  for (int k = 0; k < 6; ++k) moves |= fabs(y->velocity[k]) > STILL || y->wrench[k] != 0;
  EACH moves |= fabs(y->qd[i]) > STILL;
  const int is_there = y->follows != CORE_POSE || (y->away[0] <= STILL && y->away[1] <= STILL);
  return !moves && (is_there || y->seeds >= SEEDS);
}

/* Advances the reference of the joints with the stream; when the stream has ended, the reference is held. */
CORE_SHARED void advance_tool(const Settings* s, State* m, double t) {
  Tool* y = &m->tool;
  References* r = &m->references;
  const double passed = t - y->t;
  if (!(passed > 0)) return;
  const int steps = (int)smaller(ceil(passed / TOOL_STEP * ALMOST), MOST_STEPS);
  const double dt = passed / steps;
  for (int k = 1; k <= steps; ++k) step_tool(s, y, y->t + k * dt, dt, r->present + 2 * N);
  y->t = t;
  copy(r->present, y->q); copy(r->present + N, y->qd);
  step_wrench(s, y, t, passed, r->present + 3 * N);
  if (is_tool_over(s, y, t)) hold_at(r, y->q, INFINITY);
}

/* The reference becomes that of the tool's stream, which begins at the present one. */
static void follow_tool(Core* c) {
  References* r = &c->state.references;
  double present[WHOLE];
  sample(r, c->state.time, present);
  begin_tool(&c->settings->loop, &c->state.tool, c->state.time, present);
  copy_whole(r->present, present);
  r->source = TOOL; r->end = INFINITY;
}

CoreRefusal core_tool(Core* c, int what, double t, double stamp, const double* numbers) {
  const Settings* s = &c->settings->loop;
  Tool* y = &c->state.tool;
  CoreRefusal found = may_follow(c);
  if (found.why) return found;
  if (!s->tool) return (CoreRefusal){.why = CORE_NO_TOOL};
  for (int k = 0; k < (what == CORE_POSE ? 12 : 6); ++k) if (!isfinite(numbers[k])) return (CoreRefusal){.why = CORE_NOT_NUMBERS, .value = numbers[k]};
  if (c->state.references.source != TOOL) follow_tool(c);
  c->state.references.next = 0;
  end_goal(&c->state.references, CORE_REPLACED);
  if (what == CORE_POSE) {
    if (y->follows != CORE_POSE) y->knots = 0;
    take_pose(s, y, t, isfinite(stamp) ? stamp : t, numbers);
  }
  if (what == CORE_TWIST) for (int k = 0; k < 6; ++k) y->twist[k] = numbers[k];
  if (what == CORE_WRENCH) { for (int k = 0; k < 6; ++k) y->target_wrench[k] = numbers[k]; y->received_wrench = t; }
  else { y->follows = what; y->received = t; }
  return found;
}
