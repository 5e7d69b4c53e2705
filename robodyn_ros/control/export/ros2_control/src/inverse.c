/* The efforts (N,) of a motion: inverse dynamics. The generated code is in inverse_code.h; `p` are the parameters of the model. */

#include "model.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "inverse_code.h"
#pragma GCC diagnostic pop

void model_inverse(const double* q, const double* qd, const double* qdd, const double* p, double* result) {
  double k[CONSTANTS], check;
  prepare(p, k);
  compute(q, qd, qdd, p, k, result, &check);
}
