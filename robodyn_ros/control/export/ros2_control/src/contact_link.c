/* Pose (4, 4) and Jacobian (6, N) of the link at which the wrench from outside acts, row by row. The generated code is in
   contact_link_code.h. */

#include "arm.h"
#include "model.h"

#if ARM_FEELS_WRENCH

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "contact_link_code.h"
#pragma GCC diagnostic pop

void model_contact_link(const double* q, double* pose, double* jacobian) {
  const double origin[3] = {0, 0, 0};
  double k[CONSTANTS], check;
  prepare(origin, k);
  compute(q, origin, k, pose, jacobian, &check);
}

#else /* no wrench is asked for */

void model_contact_link(const double* q, double* pose, double* jacobian) {
  (void)q;
  (void)pose;
  (void)jacobian;
}

#endif
