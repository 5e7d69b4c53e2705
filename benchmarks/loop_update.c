/* Times `update` of control/loop.c, which is compiled with it: so many periods, one after the other. */

#include <time.h>

static double processor(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Time of the processor for `count` updates [s]; -1 if one gave no effort. */
double time_updates(Loop* loop, int64_t count, double period) {
  const double begun = processor();
  for (int64_t k = 0; k < count; ++k) {
    loop->period->t += period;
    loop->period->now = loop->period->t;
    if (update(loop) != SENT) return -1;
  }
  return processor() - begun;
}
