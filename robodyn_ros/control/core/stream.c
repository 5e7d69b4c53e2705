// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* A stream of poses as one target that moves smoothly (tool.c says how). */

#include "memory.h"

#define LONGEST_GAP 0.35 /* longest time between two poses of a stream, unless a few poses are missing [s] */
#define COAST 3.0 /* number of periods for which the target continues without messages */
#define KNOT 0.02 /* shortest time over which a stream is differentiated [s] */
#define DELAY_RATE 0.02 /* rate of the averages of a stream, for each message */

/* The target at a time, its velocity and its acceleration (6). */
static void target_at(const Tool* y, double t, ToolPose* target, double* velocity, double* acceleration) {
  double displacement[6] = {0};
  const double T = y->duration, u = within(t - y->begin, T);
  /* if the next messages are late, the target continues for a while, and then comes to rest */
  const double on = within(t - y->begin - u, COAST * y->period), late = t - y->begin - u - on;
  const double left = T > 0 ? exp(-late / y->period) : 1;
  for (int k = 0; k < 6; ++k) {
    velocity[k] = acceleration[k] = 0;
    if (T == 0) continue;
    const double* c = y->curve + 6 * k;
    const double at = c[0] + u * (c[1] + u * (c[2] + u * (c[3] + u * (c[4] + u * c[5]))));
    const double before = c[1] + u * (2 * c[2] + u * (3 * c[3] + u * (4 * c[4] + u * 5 * c[5])));
    const double change = 2 * c[2] + u * (6 * c[3] + u * (12 * c[4] + u * 20 * c[5])), speed = before + change * on;
    displacement[k] = at + (before + speed) / 2 * on + speed * y->period * (1 - left);
    velocity[k] = speed * left;
    acceleration[k] = late > 0 ? -velocity[k] / y->period : change;
  }
  *target = y->knot[0];
  move_pose(target, displacement);
}

/* The curve of fifth degree from the present target to the position that the newest pose predicts for the stream after
   a time T [s]. That time is `ahead` later than the time at which the newest pose is due. */
static void bend(Tool* y, double t, double T, double ahead, const double* x, const double* v, const double* a, const double* speed,
                 const double* change) {
  y->begin = t; y->duration = T;
  for (int k = 0; k < 6; ++k) {
    double* c = y->curve + 6 * k;
    const double end = speed[k] * ahead + change[k] * ahead * ahead / 2, v1 = speed[k] + change[k] * ahead;
    const double h = end - (x[k] + v[k] * T + a[k] * T * T / 2), hv = (v1 - v[k] - a[k] * T) * T, ha = (change[k] - a[k]) * T * T;
    c[0] = x[k]; c[1] = v[k]; c[2] = a[k] / 2;
    c[3] = (10 * h - 4 * hv + ha / 2) / (T * T * T);
    c[4] = (-15 * h + 7 * hv - ha) / (T * T * T * T);
    c[5] = (6 * h - 3 * hv + ha / 2) / (T * T * T * T * T);
  }
}

/* Velocity and acceleration of the stream at its newest pose, by the parabola through it and two earlier ones, or by the
   line through it and the first one while there are no others. At least `KNOT` lies between them, because noise of a
   pose is divided by that time; less does only while the whole stream is shorter. */
static void differentiate(const Settings* s, const Tool* y, double* v, double* a) {
  double first[6], second[6];
  const int one = y->knots > 2 && y->stamp[0] - y->stamp[1] < KNOT ? 2 : 1, has_two = y->knots > one + 1;
  const double h = y->stamp[0] - y->stamp[one], g = y->stamp[one] - y->stamp[one + 1];
  between(&y->knot[one], &y->knot[0], first);
  if (has_two) between(&y->knot[one + 1], &y->knot[one], second);
  for (int k = 0; k < 6; ++k) {
    a[k] = has_two ? 2 * (first[k] / h - second[k] / g) / (h + g) : 0;
    v[k] = first[k] / h + a[k] * h / 2;
  }
  for (int part = 0; part < 2; ++part) {
    shorten(v + 3 * part, s->stream_speed[part]);
    shorten(a + 3 * part, s->stream_acceleration[part]);
  }
}

/* The delay with which the target follows the stream: its period, which lost messages do not increase, the mean delay
   of its messages, and twice their mean deviation. It changes slowly, as the speed of the target does by it. */
static void measure_delay(Tool* y, double gap, double late) {
  const double rate = greater(DELAY_RATE, 1 / (double)++y->measured);
  if (y->measured == 1) { y->period = gap; y->late = late; }
  y->period += rate * smaller(gap - y->period, 0.1 * y->period);
  y->deviation += rate * (smaller(fabs(late - y->late), y->period) - y->deviation);
  y->late += rate * (within(late - y->late, y->period));
  y->delay = smaller(y->period + y->late + 2 * y->deviation, LONGEST_GAP);
}

/* Whether a pose continues the stream: it is near the one before, in time and in space. */
static int goes_on(const Settings* s, const Tool* y, double gap, const ToolPose* pose) {
  double x[6];
  if (!y->knots || gap > greater(LONGEST_GAP, y->measured ? (2 + COAST) * y->period : 0)) return 0;
  between(&y->knot[0], pose, x);
  return length3(x) <= 3 * s->stream_speed[0] * gap && length3(x + 3) <= 3 * s->stream_speed[1] * gap;
}

/* Stores the newest pose, and three earlier ones with sufficient distance in time from each other. */
static void keep_pose(Tool* y, double stamp, const ToolPose* pose) {
  if (y->knots < 2 || y->stamp[0] - y->stamp[1] >= KNOT) {
    for (int k = 3; k > 0; --k) { y->knot[k] = y->knot[k - 1]; y->stamp[k] = y->stamp[k - 1]; }
    ++y->knots;
  }
  y->knot[0] = *pose; y->stamp[0] = stamp;
}

static void take_pose(const Settings* s, Tool* y, double t, double stamp, const double* numbers) {
  ToolPose now, pose;
  double x[6], v[6], a[6], speed[6], change[6];
  const double gap = stamp - y->stamp[0];
  if (y->knots && gap <= 0 && gap > -LONGEST_GAP) return; /* it arrived after a newer one */
  for (int k = 0; k < 3; ++k) pose.position[k] = numbers[k];
  for (int k = 0; k < 9; ++k) pose.rotation[k] = numbers[3 + k];
  if (!(gap > 0) || !goes_on(s, y, gap, &pose)) { /* a pose that begins a stream, or jumps, is the target at once */
    y->knots = y->measured = 0; y->duration = 0;
    keep_pose(y, stamp, &pose);
    return;
  }
  measure_delay(y, gap, t - stamp);
  target_at(y, t, &now, v, a);
  keep_pose(y, stamp, &pose);
  differentiate(s, y, speed, change);
  between(&pose, &now, x);
  /* after a gap, the target returns to the stream within a time as long as the gap, also if more messages come */
  const double due = stamp + y->delay - t, T = greater(greater(due, y->begin + y->duration - t), greater(gap, y->period));
  bend(y, t, T, T - due, x, v, a, speed, change);
}
