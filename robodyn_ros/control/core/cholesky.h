// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Symmetric positive definite equations A x = b by the Cholesky factor L of A = L Lᵀ. The macro N is the length of a row,
   n at most N the number of equations. Source: Golub and Van Loan, Matrix Computations (2013), section 4.2. */

#ifndef CHOLESKY_H
#define CHOLESKY_H

#include <math.h>

/* L of A. Returns 0 if A is not positive definite. */
static int factored(int n, double (*A)[N], double (*L)[N]) {
  for (int i = 0; i < n; ++i) for (int j = 0; j <= i; ++j) {
    double sum = A[i][j];
    for (int k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
    if (i == j && !(sum > 0)) return 0;
    L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
  }
  return 1;
}

/* Replaces b, whose elements before `first` are 0, by x. */
static void solve_factored(int n, double (*L)[N], int first, double* b) {
  for (int i = first; i < n; ++i) {
    for (int j = first; j < i; ++j) b[i] -= L[i][j] * b[j];
    b[i] /= L[i][i];
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int j = i + 1; j < n; ++j) b[i] -= L[j][i] * b[j];
    b[i] /= L[i][i];
  }
}

#endif
