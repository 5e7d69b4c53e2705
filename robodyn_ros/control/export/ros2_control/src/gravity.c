/* The efforts of gravity (N,) at a position (N,). The generated code is in gravity_code.h; `p` are the parameters of the model. */

#include "model.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "gravity_code.h"
#pragma GCC diagnostic pop

void model_gravity(const double* q, const double* p, double* result) {
  double k[CONSTANTS], check;
  prepare(p, k);
  compute(q, p, k, result, &check);
}
