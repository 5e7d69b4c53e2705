/* The accelerations (N,) that efforts give: forward dynamics. The generated code is in forward_code.h; `p` are the parameters of the model. */

#include "model.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "forward_code.h"
#pragma GCC diagnostic pop

void model_forward(const double* q, const double* qd, const double* tau, const double* p, double* result) {
  double k[CONSTANTS], check;
  prepare(p, k);
  compute(q, qd, tau, p, k, result, &check);
}
