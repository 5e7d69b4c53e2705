// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* One step of the arm with friction, stops and velocity limits, cut at the events in it. It follows motion.c.

     M(q) q̈ + C(q, q̇) q̇ + g(q) = τ - friction(q̇) - stops(q, q̇) + outside(q, q̇) + r

   r holds joints at rest, by friction or by a stop, for as long as these can bear the load; a held joint stands exactly
   still. A joint that reaches a rigid stop changes its velocity by an impulse, which acts on the other joints through M.

   mode      How each joint moves between two events: sliding, held, at a compliant stop, beyond its velocity limit.
             Within one mode the motion is smooth, and the integrator keeps its full order. A joint is held in two
             cases. At rest, friction or a rigid stop holds it for as long as they can bear the load. At its velocity
             limit, the drive holds its velocity with an effort between zero and the commanded effort. Beyond the limit
             a drive gives no effort towards more speed, as a motor at its voltage limit.
   held      Which joints are held is one linear complementarity problem with bounds (boxed LCP): find r,
             lower ≤ r ≤ upper, with w⁺ = w + M⁻¹ r and

                 w⁺_i = 0 where lower_i < r_i < upper_i        (held)
                 w⁺_i ≥ 0 where r_i = lower_i                  (gives way, upwards)
                 w⁺_i ≤ 0 where r_i = upper_i                  (gives way, downwards)

             With accelerations for w, r are forces, and dry friction has its Coulomb bounds. With velocities for w, r
             are impulses; a stop gives an impulse of any size, friction gives none. M is positive definite, so there is
             exactly one solution. It is Gauss's principle of least constraint, and impulses reduce kinetic energy,
             1/2 w⁺ᵀ M w⁺ ≤ 1/2 wᵀ M w.
   step      1. Find the mode of the state. 2. Integrate in that mode to the end of the step. 3. Find the first event:
             the first joint that leaves the mode's domain, by the root of the cubic through both ends. Without an event
             the step is done. 4. Refine its time by regula falsi on the integrator itself, and go to the state at that
             time. 5. Apply the impulses of rigid stops, and continue at 1 with the rest of the step.

   So stops and friction only dissipate energy.

   Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), ch. 11 (contact and impact). The LCP is solved by
   Murty's least-index principal pivoting: Cottle, Pang, Stone, The Linear Complementarity Problem (1992), ch. 4. Regula
   falsi with halved values: Dowell, Jarratt, A modified regula falsi method (1971). */

#include <string.h>

#define EACH for (int i = 0; i < N; ++i)
#define LCP_ROUNDING 1e-10 /* rounding error of r, relative to the greatest load */
#define PIVOTS 1000 /* most pivots; each joint takes one or two, more only if M is not positive definite */
#define BISECTIONS 52 /* to find the root of a cubic in a step: the binary digits of a double */
#define BRACKETINGS 60 /* most steps of regula falsi to find an event; many only for a stiff motion, which is no cubic */
#define CLOSE 1e-13 /* tolerance of a joint's distance to its bound at an event, relative to its motion in the step */

enum { @failures }; /* why a step failed */

typedef struct {
  System y;
  double step;           /* [s] */
  int64_t mode_known;    /* 1 if the mode in the frame is that of its state */
  int64_t failure;
  double beyond[N];      /* velocities of a step that leads beyond the range of a simulation */
} Plant;

static inline double clamped(double x, double low, double high) {
  x = x > low ? x : low;
  return x < high ? x : high;
}

static inline double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

static int fails(Plant* s, int64_t failure) {
  s->failure = failure;
  return 1;
}

static int is_in_range(const double* q, const double* v) {
  EACH if (!isfinite(q[i]) || !(fabs(v[i]) <= FASTEST)) return 0;
  return 1;
}

/* Integrates in the mode of the frame. Nonzero if that fails. */
static int integrate(Plant* s, double h, double* q1, double* v1) {
  if (advance(&s->y, h, s->y.row[Q], s->y.row[V], q1, v1)) return fails(s, UNSOLVED);
  if (is_in_range(q1, v1)) return 0;
  EACH s->beyond[i] = v1[i];
  return fails(s, BEYOND);
}

/* --- which joints are held */

/* Joints that may be held: their numbers, the mass matrix M and its inverse A. */
typedef struct {
  double M[N][N], A[N][N], rounding;
  int joint[N], count;
} Restraint;

/* The inverse of a symmetric positive definite matrix. Nonzero if it is none. */
static int invert(double (*A)[N], double (*inverse)[N]) {
  for (int j = 0; j < N; ++j) {
    double unit[N] = {0};
    unit[j] = 1;
    if (solve(N, A, unit, inverse[j])) return 1;
  }
  return 0;
}

static void find_restraint(Restraint* y, const double* w, const double* low, const double* high) {
  double greatest = 0;
  y->count = 0;
  for (int j = 0; j < N; ++j) {
    double load = 0;
    EACH load += y->M[j][i] * w[i];
    greatest = fmax(greatest, fabs(load));
    if (low[j] < high[j]) y->joint[y->count++] = j;
  }
  y->rounding = LCP_ROUNDING * (1 + greatest);
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

/* Solves a boxed LCP for forces or impulses within bounds, the motion with them, and the held joints. Nonzero without a
   solution. */
static int solve_boxed_lcp(Restraint* y, const double* w, const double* low, const double* high, double* force,
                           double* motion, int* is_held) {
  int held[N];
  find_restraint(y, w, low, high);
  EACH { force[i] = 0; held[i] = 1; is_held[i] = 0; }
  for (int pivot = 0; pivot < PIVOTS; ++pivot) {
    if (restrain(y, held, w, force, motion)) return 1;
    if (change_first(y, held, low, high, force, motion) >= 0) continue;
    for (int k = 0; k < y->count; ++k) if (held[k]) { motion[y->joint[k]] = 0; is_held[y->joint[k]] = 1; }
    return 0;
  }
  return 1;
}

/* The same for a mass matrix. */
int boxed_lcp(const double (*M)[N], const double* w, const double* low, const double* high, double* force,
              double* motion, int* is_held) {
  Restraint y;
  memcpy(y.M, M, sizeof y.M);
  return invert(y.M, y.A) || solve_boxed_lcp(&y, w, low, high, force, motion, is_held);
}

/* The same for the arm at q. */
static int hold_joints(Plant* s, const double* q, const double* w, const double* low, const double* high, double* force,
                       double* motion, int* is_held) {
  Restraint y;
  for (int j = 0; j < N; ++j) by_unit_force(&s->y, q, j, y.A[j]);
  if (invert(y.A, y.M) || solve_boxed_lcp(&y, w, low, high, force, motion, is_held)) return fails(s, NOT_HELD);
  return 0;
}

/* --- the mode of a state */

/* Fills row CONTACT: the compliant stops that joints touch. Exactly at a limit, the direction of motion decides. */
static void find_contacts(const System* y, const double* direction) {
  double (*row)[N] = y->row, *q = row[Q], *v = row[V], net[N], going[N];
  int edge = 0;
  EACH {
    row[CONTACT][i] = q[i] > row[UPPER][i] ? 1 : q[i] < row[LOWER][i] ? -1 : 0;
    edge |= row[STIFFNESS][i] != 0 && (q[i] == row[UPPER][i] || q[i] == row[LOWER][i]);
  }
  if (!edge) return;
  EACH net[i] = row[EFFORT][i] - direction[i] * dry_friction(row, i, v[i]) - row[VISCOUS][i] * v[i];
  add_outside(y, q, v, net);
  bare(y, q, v, net, going);
  EACH {
    const double direction_of_motion = v[i] == 0 ? going[i] : v[i];
    if (row[STIFFNESS][i] == 0) continue;
    if (q[i] == row[UPPER][i] && direction_of_motion > 0) row[CONTACT][i] = 1;
    if (q[i] == row[LOWER][i] && direction_of_motion < 0) row[CONTACT][i] = -1;
  }
}

/* The loads that a joint can bear: of friction, rigid stops, and the drive at its velocity limit. */
static void find_bounds(double (*row)[N], int i, double* low, double* high) {
  const double q = row[Q][i], v = row[V][i], effort = row[EFFORT][i], speed = row[SPEED][i];
  const double borne = v == 0 ? row[STATIC_FRICTION][i] : 0;
  const int rigid = v == 0 && row[STIFFNESS][i] == 0;
  *low = rigid && q >= row[UPPER][i] ? -INFINITY : -borne - (v == speed ? fmax(effort, 0) : 0);
  *high = rigid && q <= row[LOWER][i] ? INFINITY : borne + (v == -speed ? fmax(-effort, 0) : 0);
}

/* The fastest of the joints that break loose from rest; -1 for none. It gets less friction at once. That may free other
   joints, or keep them held, so only the fastest is freed before the problem is solved again. */
static int first_slipping(double (*row)[N], const int* loose, const double* motion) {
  int first = -1;
  EACH {
    const int slips = loose[i] && row[V][i] == 0 && row[STATIC_FRICTION][i] > dry_friction(row, i, row[V][i]);
    if (slips && (first < 0 || fabs(motion[i]) > fabs(motion[first]))) first = i;
  }
  return first;
}

/* Finds the joints that are held, and those that break loose, with their direction. Nonzero without a solution. */
static int find_held(Plant* s, double* direction, const double* over, double* low, double* high, int* held, int* loose,
                     double* side) {
  double (*row)[N] = s->y.row, net[N], free[N], force[N], motion[N];
  for (;;) {
    int bound = 0;
    EACH { held[i] = loose[i] = 0; bound |= low[i] < high[i]; }
    if (!bound) return 0;
    EACH { row[DIRECTION][i] = direction[i]; row[OVER][i] = over[i]; }
    forces_on(&s->y, row[Q], row[V], net);
    bare(&s->y, row[Q], row[V], net, free);
    if (hold_joints(s, row[Q], free, low, high, force, motion, held)) return 1;
    EACH { loose[i] = !held[i] && force[i] != 0; side[i] = -sign(force[i]); }
    const int first = first_slipping(row, loose, motion);
    if (first < 0) return 0;
    direction[first] = side[first]; low[first] = high[first] = 0;
  }
}

/* The least velocity in the domain of a joint; its velocity limit counts only if its drive pushes beyond that. */
static double least(double speed, double pushed, double over) {
  return over > 0 ? speed : pushed < 0 && over == 0 ? -speed : -INFINITY;
}

/* The domain of a joint in the mode. */
static void find_domain(double (*row)[N], int i, double direction, double over) {
  const double contact = row[CONTACT][i], speed = row[SPEED][i], pushed = sign(row[EFFORT][i]);
  row[Q_LOW][i] = contact == 0 ? row[LOWER][i] : contact > 0 ? row[UPPER][i] : -INFINITY;
  row[Q_HIGH][i] = contact == 0 ? row[UPPER][i] : contact < 0 ? row[LOWER][i] : INFINITY;
  row[V_LOW][i] = fmax(direction > 0 ? 0 : -INFINITY, least(speed, pushed, over));
  row[V_HIGH][i] = fmin(direction < 0 ? 0 : INFINITY, -least(speed, -pushed, -over));
}

/* Enters a joint into the mode: held or free, its direction, and whether its drive is cut off. side: of a loose joint. */
static void enter_mode(System* y, int i, int is_held, int is_loose, double side, double direction, double over) {
  double (*row)[N] = y->row;
  const double v = row[V][i];
  if (is_loose && v == side * row[SPEED][i]) over = side;
  if (is_loose && v == 0) direction = side;
  row[DIRECTION][i] = is_held && v == 0 ? 0 : direction;
  row[HELD][i] = is_held; row[OVER][i] = over;
  if (is_held) y->held[y->count++] = i;
  find_domain(row, i, direction, over);
}

/* Finds the mode that begins in the state of the frame; `stuck` joints are held under any load. Nonzero if it fails. */
static int find_mode(Plant* s, const int* stuck) {
  double (*row)[N] = s->y.row, *v = row[V], *effort = row[EFFORT], *speed = row[SPEED];
  double direction[N], over[N], low[N], high[N], side[N] = {0};
  int held[N], loose[N];
  EACH {
    direction[i] = row[STATIC_FRICTION][i] > 0 ? sign(v[i]) : 0;
    over[i] = sign(effort[i]) * v[i] > speed[i] ? sign(effort[i]) : 0;
    find_bounds(row, i, low + i, high + i);
    if (stuck && stuck[i]) { low[i] = -INFINITY; high[i] = INFINITY; }
  }
  find_contacts(&s->y, direction);
  if (find_held(s, direction, over, low, high, held, loose, side)) return 1;
  s->y.count = 0;
  EACH enter_mode(&s->y, i, held[i], loose[i], side[i], direction[i], over[i]);
  return 0;
}

/* --- steps within a mode */

/* True if a joint at velocity v is driven beyond its velocity limit, while the mode does not cut off its drive. */
static int driven_over(const System* s, int i, double v) {
  const double u = s->row[EFFORT][i];
  return s->row[OVER][i] == 0 && u * v > 0 && fabs(v) > s->row[SPEED][i];
}

/* True if the mode in the frame still applies to the state in the frame: no sliding joint has come to rest, no drive
   must be cut off, and the forces on the held joints are within their bounds. */
static int applies(const System* s) {
  double (*row)[N] = s->row;
  const double *q = row[Q], *v = row[V];
  for (int i = 0; i < N; ++i)
    if ((v[i] == 0 && row[DIRECTION][i] != 0) || driven_over(s, i, v[i])) return 0;
  if (!s->count) return 1;
  double force[N], a[N], r[N];
  forces_on(s, q, v, force);
  bare(s, q, v, force, a);
  hold(s, q, a, r);
  for (int k = 0; k < s->count; ++k) {
    double low, high;
    find_bounds(row, s->held[k], &low, &high);
    if (!(r[k] >= low && r[k] <= high)) return 0;
  }
  return 1;
}

/* True if every joint rests: within the mode the state stays the same. */
static int rests(double (*row)[N]) {
  EACH if (row[HELD][i] == 0 || row[V][i] != 0) return 0;
  return 1;
}

static void set_state(double (*row)[N], const double* q, const double* v) {
  EACH { row[Q][i] = q[i]; row[V][i] = v[i]; }
}

/* Makes one step in the mode: rows Q and V become the state after it. Nonzero, with the state as it was, if the mode ends
   in it. */
static int step_in_mode(const Plant* s) {
  double (*row)[N] = s->y.row, q1[N], v1[N];
  if (!applies(&s->y)) return 1;
  if (rests(row)) return 0;
  if (advance(&s->y, s->step, row[Q], row[V], q1, v1)) return 1;
  EACH {
    if (!(q1[i] >= row[Q_LOW][i] && q1[i] <= row[Q_HIGH][i] && isfinite(q1[i]))) return 1;
    if (!(v1[i] >= row[V_LOW][i] && v1[i] <= row[V_HIGH][i] && fabs(v1[i]) <= FASTEST)) return 1;
    if (driven_over(&s->y, i, v1[i])) return 1;
  }
  set_state(row, q1, v1);
  return 0;
}

/* --- steps with events */

/* A joint leaves the mode's domain: when, as a part of the step; its bound, a velocity if `moving`. */
typedef struct { double part, bound; int joint, moving; } Event;

/* The last point in [0, 1) before sign times the cubic turns positive. */
static double crossing(double a, double b, double c, double d, double sign) {
  double low = 0, high = 1;
  for (int k = 0; k < BISECTIONS; ++k) {
    const double middle = 0.5 * (low + high);
    if (sign * (((a * middle + b) * middle + c) * middle + d) > 0) high = middle; else low = middle;
  }
  return low;
}

/* Finds the first joint that leaves the mode's domain. Returns nonzero if one does. */
static int first_event(double (*row)[N], const double* q1, const double* v1, double dt, Event* first) {
  const double *q = row[Q], *v = row[V];
  int found = 0;
  for (int moving = 0; moving < 2; ++moving) EACH {
    const double low = row[moving ? V_LOW : Q_LOW][i], high = row[moving ? V_HIGH : Q_HIGH][i];
    const double end = moving ? v1[i] : q1[i], bound = clamped(end, low, high), side = sign(end - bound);
    if (side == 0) continue;
    const double v0 = dt * v[i], rise = q1[i] - q[i], w = dt * v1[i];
    const double a = v0 + w - 2 * rise, b = 3 * rise - 2 * v0 - w;
    Event event = {.bound = bound, .joint = i, .moving = moving};
    event.part = moving ? crossing(0, 3 * a, 2 * b, v0 - dt * bound, side) : crossing(a, b, v0, q[i] - bound, side);
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

/* Applies the impulses of rigid stops; the velocity that was reached becomes exact. All joints that hit at once take the
   least coefficient: with several, Newton's law may add energy. A joint bounces once in a step: the impacts of those that
   did are plastic, because a bouncing ball has infinitely many impacts in finite time. Nonzero if it failed. */
static int settle(Plant* s, const Event* event, int* bounced) {
  double (*row)[N] = s->y.row, *q = row[Q], *v = row[V];
  double low[N], high[N], kept[N] = {0}, w[N], force[N], motion[N], bounce = INFINITY;
  int hit[N], held[N];
  const int any = find_hits(row, q, v, low, high, hit);
  if (!any && !event->moving) return 0;
  EACH if (hit[i]) { bounce = fmin(bounce, bounced[i] ? 0 : row[RESTITUTION][i]); bounced[i] = 1; }
  EACH {
    if (any) { if (hit[i]) kept[i] = -bounce * v[i]; continue; }
    /* This impulse is as small as the error in the time of the event; joints at rest stay at rest. */
    if (v[i] == 0 || i == event->joint) { low[i] = -INFINITY; high[i] = INFINITY; }
    if (i == event->joint) kept[i] = event->bound;
  }
  EACH w[i] = v[i] - kept[i];
  if (hold_joints(s, q, w, low, high, force, motion, held)) return 1;
  EACH v[i] = motion[i] + kept[i];
  return 0;
}

/* Refines the time of an event, as a part of the step; `then` is the state at it, q and v. end: the state after the whole
   step. Nonzero if it failed. */
static int reach(Plant* s, Event* event, double dt, double (*end)[N], double (*then)[N]) {
  const int i = event->joint;
  double low = 0, high = 1, last = 0, before = s->y.row[Q + event->moving][i] - event->bound;
  double after = end[event->moving][i] - event->bound;
  const double side = sign(after), close = CLOSE * fabs(after - before);
  for (int k = 0; k < BRACKETINGS; ++k) {
    if (integrate(s, event->part * dt, then[0], then[1])) return 1;
    const double off = then[event->moving][i] - event->bound;
    if (fabs(off) <= close) return 0;
    if (off * side > 0) { high = event->part; after = off; before *= last > 0 ? 0.5 : 1; }
    else { low = event->part; before = off; after *= last < 0 ? 0.5 : 1; }
    last = side * off;
    event->part = low + (high - low) * (before * after < 0 ? before / (before - after) : 0.5);
    if (event->part == low || event->part == high) return 0;
  }
  return 0;
}

/* A step in the frame, cut at the events in it. A joint has two events, to arrive and to leave; more in one step is
   chattering. Nonzero if it fails. */
static int cut_step(Plant* s) {
  double (*row)[N] = s->y.row, *v = row[V], end[2][N], dt = s->step;
  int bounced[N] = {0}, stuck[N] = {0}, any = 0;
  Event event;
  for (int count = 0; count < 4 * N; ++count) {
    double then[2][N];
    if (find_mode(s, stuck) || integrate(s, dt, end[0], end[1])) return 1;
    if (!first_event(row, end[0], end[1], dt, &event)) {
      set_state(row, end[0], end[1]);
      EACH any |= stuck[i];
      s->mode_known = !any;
      return 0;
    }
    if (event.part == 0 && v[event.joint] == (event.moving ? event.bound : 0)) {
      stuck[event.joint] = 1; /* it would leave and return at once: too short for the rest of the step */
      continue;
    }
    if (reach(s, &event, dt, end, then)) return 1;
    set_state(row, then[0], then[1]);
    if (!event.moving) row[Q][event.joint] = event.bound;
    if (settle(s, &event, bounced)) return 1;
    dt -= event.part * dt;
  }
  set_state(row, end[0], end[1]);
  EACH bounced[i] = 1;
  s->mode_known = 0;
  return settle(s, &event, bounced);
}

/* Makes such a step. Nonzero, with the state as it was, if it fails. */
static int exact_step(Plant* s) {
  double (*row)[N] = s->y.row, q0[N], v0[N];
  memcpy(q0, row[Q], sizeof q0); memcpy(v0, row[V], sizeof v0);
  s->mode_known = 0;
  if (!cut_step(s)) return 0;
  set_state(row, q0, v0);
  return 1;
}

/* --- the plant */

int64_t plant_size(void) { return sizeof(Plant); }

/* Makes a plant whose state is in the frame. in_python: makes the integrator's steps, 0 if they are written in C. */
void plant_create(Plant* s, double (*row)[N], double step, void* in_python) {
  memset(s, 0, sizeof *s);
  s->y.row = row; s->step = step; s->y.in_python = in_python;
}

/* Takes the model's parameters and the external forces as they are now. */
void plant_begin(Plant* s, const double* p, const Forces* outside) {
  set_parameters(&s->y, p);
  s->y.outside = outside;
}

/* Corrects the state in the frame: no joint is beyond a rigid stop or moves into one. Nonzero if that fails. */
int plant_settle(Plant* s) {
  const Event none = {.joint = -1};
  int bounced[N];
  EACH bounced[i] = 1;
  s->mode_known = 0;
  return settle(s, &none, bounced);
}

/* Makes a step. Nonzero, with the state as it was, if it fails. */
int plant_step(Plant* s) {
  s->failure = NONE;
  if (!s->mode_known && find_mode(s, 0)) return 1;
  s->mode_known = 1;
  return step_in_mode(s) && exact_step(s);
}

/* Makes steps, and returns their number: less than asked for if one fails. */
int64_t plant_steps(Plant* s, int64_t steps) {
  double before[2][N];
  for (int64_t k = 0; k < steps; ++k) {
    memcpy(before, s->y.row[Q], sizeof before); /* rows Q and V */
    if (plant_step(s)) return k;
    if (!memcmp(before, s->y.row[Q], sizeof before)) return steps; /* nothing changes in the next steps either */
  }
  return steps;
}

/* Why the last step failed, and the velocities that it leads to. */
int64_t plant_failure(const Plant* s, double* beyond) {
  memcpy(beyond, s->beyond, sizeof s->beyond);
  return s->failure;
}

/* The acceleration in the mode of the frame, for a step in Python. */
void plant_acceleration(const System* s, const double* q, const double* v, double* a) { acceleration(s, q, v, a); }
