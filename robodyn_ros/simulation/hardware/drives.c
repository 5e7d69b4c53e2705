// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The drives of an arm: how efforts follow commands (actuators.py has the equations). trial.c includes this file. */

#include <math.h>
#include <stdint.h>

typedef struct {
  double lag, rate, resolution, limit; /* T [s], r, of commands; the rate is infinite where there is no limit */
  double ramp, effort;                 /* a and x [N·m] or [N] */
} Drive;

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

/* A command as the drive receives it: clamped and rounded. */
static double received(const Drive* d, double command) {
  const double asked = command > d->limit ? d->limit : command < -d->limit ? -d->limit : command;
  return d->resolution != 0 ? nearbyint(asked / d->resolution) * d->resolution : asked;
}

/* True if the drive gives the command already, and keeps it. */
static int is_at(const Drive* d, double command) {
  return (d->lag == 0 && isinf(d->rate)) || (d->effort == command && d->ramp == command);
}

/* --- for n drives */

void drives_follow(int64_t n, Drive* d, const double* command, double duration, double* integral) {
  for (int64_t i = 0; i < n; ++i) integral[i] = follow(d + i, command[i], duration);
}

void drives_receive(int64_t n, const Drive* d, const double* command, double* result) {
  for (int64_t i = 0; i < n; ++i) result[i] = received(d + i, command[i]);
}

int drives_are_at(int64_t n, const Drive* d, const double* command) {
  for (int64_t i = 0; i < n; ++i) if (!is_at(d + i, command[i])) return 0;
  return 1;
}
