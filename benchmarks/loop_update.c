// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Times `core_update`, which is compiled with it: so many periods, one after the other. */

#include <time.h>

static double processor(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Time of the processor for `count` updates [s]; -1 if one gave no effort. */
double time_updates(Core* c, int64_t count, double period) {
  const double begun = processor();
  for (int64_t k = 0; k < count; ++k) {
    Period* p = &c->period;
    const double t = p->t + period;
    if (core_update(c, t, t, p->q, p->qd) != CORE_SEND || p->kind >= 0) return -1;
  }
  return processor() - begun;
}
