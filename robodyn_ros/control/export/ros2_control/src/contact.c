/* The observer of what acts on the arm from outside. The generated code is in contact_code.h. */

#include "arm.h"
#include "model.h"

#if ARM_OBSERVES

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "contact_code.h"
#pragma GCC diagnostic pop

const int contact_constants = CONSTANTS;

void contact_prepare(const double* p, double* k) { prepare(p, k); }

void contact_run(double* const* x, const double* k) {
  compute(x[0], x[1], x[2], x[3], x[4], x[5], x[6], k, x[7], x[8], x[9]);
}

#else /* nothing is observed */

const int contact_constants = 1;

void contact_prepare(const double* p, double* k) {
  (void)p;
  (void)k;
}

void contact_run(double* const* x, const double* k) {
  (void)x;
  (void)k;
}

#endif
