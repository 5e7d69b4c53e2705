/* The control step: law, ramp, blend, limits. The generated code is in step_code.h. */

#include "model.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "step_code.h"
#pragma GCC diagnostic pop

const int step_constants = CONSTANTS;

void step_prepare(const double* p, double* k) { prepare(p, k); }

void step_run(double* const* x, const double* k) {
  compute(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], k, x[10], x[11], x[12], x[13], x[14]);
}
