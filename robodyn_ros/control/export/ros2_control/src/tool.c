/* Pose (4, 4) and Jacobian (6, N) of the tool at a position (N,), row by row, as kinematics/forward.py has them. The
   generated code is in tool_code.h. */

#include "model.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "tool_code.h"
#pragma GCC diagnostic pop

void model_tool(const double* q, double* pose, double* jacobian) {
  const double origin[3] = {0, 0, 0};
  double k[CONSTANTS], check;
  prepare(origin, k);
  compute(q, origin, k, pose, jacobian, &check);
}
