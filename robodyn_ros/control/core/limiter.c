// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The reference limiter of a stream of positions. A stream that jumps, by more than reference_jump, is rate-limited: the
   reference goes there within the velocity limits and those of acceleration, deceleration and jerk that the URDF has.
   Within these limits, a joint that the stream does not name comes to rest. */

#include "memory.h"

#define LIMITER_SPEED 0.9 /* greatest speed, as ratio of the velocity limit */
#define LIMITER_JERK 1e9 /* greatest jerk if there is no limit [rad/s³] or [m/s³]: a finite number */
#define LIMITER_HALVINGS 30 /* halvings of the interval that contains the acceleration */

/* The stopping distance of a joint from a velocity v and an acceleration a, with a jerk of ∓j and a deceleration of at
   most b. The deceleration rises to c, stays constant if it has to, and falls to zero. 0 for a joint that moves back
   already. */
static double stopping_distance(double v, double a, double b, double j) {
  const double square = j * v + 0.5 * a * a; /* c² without a constant part */
  if (square <= 0) return 0;
  const double c = smaller(sqrt(square), b), t = (a + c) / j;
  if (t < 0) return 0.5 * v * v / b; /* it brakes harder than allowed */
  const double then = v + (a - 0.5 * j * t) * t, last = 0.5 * c * c / j;
  return (v + (0.5 * a - j * t / 6) * t) * t + (c > 0 ? 0.5 * (then * then - last * last) / c + last * c / (3 * j) : 0);
}

static double limiter_jerk(const Settings* s, int i) { return smaller(s->jerk[i], LIMITER_JERK); }

/* The greatest acceleration of a joint towards its target with which it keeps to its limits in this period, and can
   still reach zero velocity, or that of the target, before it passes the target. It is found by bisection, because the
   stopping distance increases with the acceleration. */
static double limited_acceleration(const Settings* s, const References* y, int i, double away, double dt) {
  const double side = away < 0 ? -1 : 1, v = side * y->present[N + i], now = side * y->present[2 * N + i];
  const double moving = side * y->target_velocity[i], most = LIMITER_SPEED * s->velocity_limit[i], jerk = limiter_jerk(s, i);
  const double a0 = usual_acceleration(s, i, s->acceleration[i]), b = usual_acceleration(s, i, s->braking[i]);
  const double up = v < 0 ? b : a0, down = v > 0 ? b : a0;
  double low = now + within(-down - now, jerk * dt), high = now + within(up - now, jerk * dt);
  for (int k = 0; k <= LIMITER_HALVINGS; ++k) {
    const double a = k == 0 ? high : 0.5 * (low + high), after = v + a * dt, rise = a > 0 ? 0.5 * a * a / jerk : 0;
    const int keeps = after + rise <= most && stopping_distance(after - moving, a, b, jerk) <= fabs(away) - (after - moving) * dt;
    if (keeps && k == 0) return side * high;
    if (keeps) low = a; else high = a;
  }
  return side * low;
}

/* The reference limiter: each joint that is far from its target moves there, and arrives with the velocity of the
   target. */
CORE_SHARED void advance_limiter(const Settings* s, References* y, double t) {
  const double dt = greater(t - y->limiter_t, 0), jump = s->reference_jump;
  double away[N];
  int far = 0;
  y->limiter_t = t;
  EACH { away[i] = y->target[i] - y->present[i]; far |= y->is_limited[i] != 0 || fabs(away[i]) > jump; }
  EACH {
    const double distance = fabs(away[i]);
    const double arrived = smaller(greater(y->arrived[i], 0.1 * jump), jump);
    /* at a target that rests, the joint comes to rest first */
    const double least = smaller(usual_acceleration(s, i, s->braking[i]), limiter_jerk(s, i) * dt) * dt;
    const int moves = y->target_velocity[i] == 0 && fabs(y->present[N + i]) > least;
    y->is_limited[i] = far && (distance > (y->is_limited[i] ? arrived : jump) || (y->is_limited[i] && moves));
    for (int k = y->is_limited[i] ? 3 : 0; k < REFERENCES; ++k) y->present[k * N + i] = y->target[k * N + i];
    if (!y->is_limited[i]) continue;
    if (dt > 0) y->present[2 * N + i] = limited_acceleration(s, y, i, away[i], dt);
    y->present[N + i] += y->present[2 * N + i] * dt;
    y->present[i] += y->present[N + i] * dt;
  }
}

/* Where a joint of a motion (REFERENCES, N) comes to rest; where it is if a position limit is nearer. */
static double rest_of(const Settings* s, const double* now, int i) {
  const double side = now[N + i] < 0 ? -1 : 1, braking = usual_acceleration(s, i, s->braking[i]);
  const double rest = now[i] + side * stopping_distance(side * now[N + i], side * now[2 * N + i], braking, limiter_jerk(s, i));
  return rest < s->lower[i] || rest > s->upper[i] ? now[i] : rest;
}

/* Begins a new stream at the present reference. */
static void begin_limiter(References* y, double now, const double* present) {
  y->limiter_t = y->target_time = now;
  copy_whole(y->present, present);
  EACH { y->is_limited[i] = 0; y->target_velocity[i] = y->arrived[i] = 0; }
}

/* Sets the target. The velocity of a target that moves steadily is the difference quotient of its positions. */
static void aim_limiter(const Settings* s, References* y, double now, const double* target) {
  if (now > y->target_time)
    EACH {
      const double moved = target[i] - y->target[i];
      const int steady = fabs(moved) <= s->reference_jump;
      y->target_velocity[i] = steady ? moved / (now - y->target_time) : 0;
      y->arrived[i] = steady ? fabs(moved) : 0;
    }
  copy_whole(y->target, target);
  y->target_time = now;
}
