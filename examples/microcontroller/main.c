// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The main loop of a controller on a microcontroller, around the control step that the package has written:

     robodyn export urdf/prr.urdf --language c --of step --controller computed_torque --out examples/microcontroller
     cc -std=c99 main.c board.c prr_step.c -lm

   The four functions of the board are yours; board.c has them for a computer. The arm begins where it is: the reference
   is its position until the board has another one. Check the states before you use them, and let a watchdog of the drives
   stop the arm if no effort comes. */
#include "prr_step.h"

#define JOINTS 3
#define PERIOD 0.001 /* [s] */

int board_wait(void);                                         /* until the next period begins; 0 ends the program */
void board_read(double *q, double *qd);                       /* position and velocity of each joint */
void board_reference(double *q, double *qd, double *qdd);     /* the reference; unchanged if there is no new one */  
void board_write(const double *effort);                       /* to the drives; a null pointer switches them off */

int main(void) {
  static prr_step_t step; /* memory and settings of the step */
  const double rate_limit[JOINTS] = {20e3, 4e3, 1e3};
  double q[JOINTS], qd[JOINTS], effort[JOINTS], dt = 0.0;
  double goal[JOINTS], rate[JOINTS] = {0.0}, acceleration[JOINTS] = {0.0}, none[JOINTS] = {0.0};
  prr_init(&step);
  prr_set(&step, PRR_RATE_LIMIT, rate_limit);
  while (board_wait()) {
    board_read(q, qd);
    if (dt == 0.0)
      for (int i = 0; i < JOINTS; ++i) goal[i] = q[i];
    board_reference(goal, rate, acceleration);
    board_write(prr_step(&step, dt, q, qd, goal, rate, acceleration, none, effort) ? effort : 0);
    dt = PERIOD;
  }
  return 0;
}
