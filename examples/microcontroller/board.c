// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* A board that is a computer: states and references come from the standard input, fifteen numbers a period (position,
   velocity, and the three of the reference), and efforts go to the standard output. */
#include <stdio.h>

#define JOINTS 3

static double line[5 * JOINTS];

int board_wait(void);
void board_read(double *q, double *qd);
void board_reference(double *q, double *qd, double *qdd);
void board_write(const double *effort);

int board_wait(void) {
  for (int i = 0; i < 5 * JOINTS; ++i)
    if (scanf("%lf", &line[i]) != 1) return 0;
  return 1;
}

void board_read(double *q, double *qd) {
  for (int i = 0; i < JOINTS; ++i) {
    q[i] = line[i];
    qd[i] = line[JOINTS + i];
  }
}

void board_reference(double *q, double *qd, double *qdd) {
  for (int i = 0; i < JOINTS; ++i) {
    q[i] = line[2 * JOINTS + i];
    qd[i] = line[3 * JOINTS + i];
    qdd[i] = line[4 * JOINTS + i];
  }
}

void board_write(const double *effort) {
  for (int i = 0; i < JOINTS; ++i) printf("%.17g%c", effort ? effort[i] : 0.0, i + 1 < JOINTS ? ' ' : '\n');
}
