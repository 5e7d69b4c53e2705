/* Pose (4, 4) of every link at a position (N,), row by row, in the order of `core_frames`. The generated code is in
   links_code.h. */

#include "model.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "links_code.h"
#pragma GCC diagnostic pop

void model_links(const double* q, double* poses) {
  const double none[1] = {0};
  double k[CONSTANTS], check;
  prepare(none, k);
  compute(q, none, k, poses, &check);
}
