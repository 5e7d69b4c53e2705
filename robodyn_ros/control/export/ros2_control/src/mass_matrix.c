/* The mass matrix (N, N) at a position (N,), row by row. The generated code is in mass_matrix_code.h; `p` are the parameters of the model. */

#include "model.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "mass_matrix_code.h"
#pragma GCC diagnostic pop

void model_mass_matrix(const double* q, const double* p, double* result) {
  double k[CONSTANTS], check;
  prepare(p, k);
  compute(q, p, k, result, &check);
}
