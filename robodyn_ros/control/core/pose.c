// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Poses and the kinematics of the tool: rotation vectors, twists, and the inverse of the Jacobian. */

#include "memory.h"

#define SPARE_ROOM 0.2 /* distance from a position limit within which a redundant joint is slowed down [rad] or [m] */
enum { SWEEPS = 12, WIDE = N > 6 ? N : 6 };

/* --- vectors and poses */

static void multiply3(const double* a, const double* b, int transposed, double* c) { /* a b, or a bᵀ */
  for (int i = 0; i < 3; ++i) for (int j = 0; j < 3; ++j) {
    c[3 * i + j] = 0;
    for (int k = 0; k < 3; ++k) c[3 * i + j] += a[3 * i + k] * (transposed ? b[3 * j + k] : b[3 * k + j]);
  }
}

/* The rotation vector by the quaternion, from its greatest component, which has the least error. */
static void rotation_vector(const double* r, double* phi) {
  const double a = r[0], b = r[1], c = r[2], d = r[3], e = r[4], f = r[5], g = r[6], h = r[7], i = r[8];
  const double outer[4][4] = {{1 + a + e + i, h - f, c - g, d - b}, /* 4 q qᵀ */
                              {h - f, 1 + a - e - i, b + d, c + g},
                              {c - g, b + d, 1 - a + e - i, f + h},
                              {d - b, c + g, f + h, 1 - a - e + i}};
  int best = 0;
  for (int k = 1; k < 4; ++k) if (outer[k][k] > outer[best][best]) best = k;
  const double* q = outer[best];
  const double length = copysign(sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), q[0]);
  const double w = q[0] / length, v[3] = {q[1] / length, q[2] / length, q[3] / length}, s = length3(v);
  for (int k = 0; k < 3; ++k) phi[k] = (s < 1e-8 ? 2 : 2 * atan2(s, w) / s) * v[k];
}

static void rotation_of(const double* phi, double* r) {
  const double angle = length3(phi), half = sin(angle / 2), x = phi[0], y = phi[1], z = phi[2];
  const int small = angle < 1e-4; /* the truncation error is less than 1e-12 then */
  const double a = small ? 1 : sin(angle) / angle, b = small ? 0.5 : 2 * (half / angle) * (half / angle);
  const double skew[9] = {0, -z, y, z, 0, -x, -y, x, 0};
  double twice[9];
  multiply3(skew, skew, 0, twice);
  for (int k = 0; k < 9; ++k) r[k] = (k % 4 == 0) + a * skew[k] + b * twice[k];
}

/* From one pose to another: displacement and rotation vector, in the root link's axes (6). */
static void between(const ToolPose* from, const ToolPose* to, double* displacement) {
  double turn[9];
  for (int k = 0; k < 3; ++k) displacement[k] = to->position[k] - from->position[k];
  multiply3(to->rotation, from->rotation, 1, turn);
  rotation_vector(turn, displacement + 3);
}

static void move_pose(ToolPose* pose, const double* displacement) {
  double turn[9], before[9];
  for (int k = 0; k < 3; ++k) pose->position[k] += displacement[k];
  for (int k = 0; k < 9; ++k) before[k] = pose->rotation[k];
  rotation_of(displacement + 3, turn);
  multiply3(turn, before, 0, pose->rotation);
}

static void find_tool(const Settings* s, const double* q, ToolPose* found, double* jacobian) {
  double pose[16];
  s->tool(q, s->tool_model, pose, jacobian);
  for (int i = 0; i < 3; ++i) {
    found->position[i] = pose[4 * i + 3];
    for (int j = 0; j < 3; ++j) found->rotation[3 * i + j] = pose[4 * i + j];
  }
}

static void find_twist(const double* jacobian, const double* qd, double* twist) {
  for (int k = 0; k < 6; ++k) { twist[k] = 0; EACH twist[k] += jacobian[k * N + i] * qd[i]; }
}

/* Weighted length of a twist or a displacement in the directions in which the tool can move; a radian counts as a
   distance. */
static double weighted(const Settings* s, const double* x) {
  double square = 0;
  for (int64_t k = 0; k < s->tool_directions; ++k) {
    double component = 0;
    for (int l = 0; l < 6; ++l) component += s->tool_axes[6 * k + l] * x[l];
    square += component * component;
  }
  return sqrt(square);
}

static double braking_speed(double distance, double deceleration, double slope) {
  const double least = deceleration / slope;
  return sqrt(least * least + 2 * deceleration * distance) - least;
}

static void shorten(double* vector, double longest) {
  const double length = length3(vector);
  if (length > longest) for (int k = 0; k < 3; ++k) vector[k] *= longest / length;
}

/* --- the inverse of the tool's Jacobian */

/* Singular values, and their directions: weighted ones of the tool, and those of the joints, scaled by `ease`. */
typedef struct {
  int count;
  double value[6], left[6][6], right[6][N], ease[N];
} Svd;

/* The weight of each joint in the motion of the tool, if there are redundant joints: the nearer its limit, the less.
   Chan and Dubey, A weighted least-norm solution based scheme for avoiding joint limits, IEEE Trans. Robotics and
   Automation 11 (1995). */
static void find_ease(const Settings* s, const double* q, double* ease) {
  EACH {
    const double room = smaller(q[i] - s->lower[i], s->upper[i] - q[i]);
    ease[i] = N > s->tool_directions ? smaller(greater(room / SPARE_ROOM, 0.05), 1) : 1;
  }
}

/* The weighted rows of the Jacobian in the directions in which the tool can move (directions, N). */
static void weigh(const Settings* s, const double* ease, const double* jacobian, double* rows) {
  for (int64_t k = 0; k < s->tool_directions; ++k) EACH {
    rows[k * N + i] = 0;
    for (int l = 0; l < 6; ++l) rows[k * N + i] += s->tool_axes[6 * k + l] * jacobian[l * N + i] * ease[i];
  }
}

/* One-sided Jacobi method: rotates vectors until they are orthogonal, and `turn` with them. Then their lengths are the
   singular values. Golub and Van Loan, Matrix Computations (2013), section 8.6.3. */
static void make_orthogonal(int count, int length, double v[6][WIDE], double turn[6][6]) {
  for (int a = 0; a < count; ++a) for (int b = 0; b < count; ++b) turn[a][b] = a == b;
  for (int sweep = 0, turned = 1; turned && sweep < SWEEPS; ++sweep) {
    turned = 0;
    for (int a = 0; a < count; ++a) for (int b = a + 1; b < count; ++b) {
      double aa = 0, bb = 0, ab = 0;
      for (int k = 0; k < length; ++k) { aa += v[a][k] * v[a][k]; bb += v[b][k] * v[b][k]; ab += v[a][k] * v[b][k]; }
      if (!(fabs(ab) > 1e-14 * sqrt(aa * bb))) continue;
      const double z = (bb - aa) / (2 * ab), t = copysign(1, z) / (fabs(z) + sqrt(1 + z * z));
      const double c = 1 / sqrt(1 + t * t), d = c * t;
      for (int k = 0; k < length; ++k) { const double x = v[a][k], y = v[b][k]; v[a][k] = c * x - d * y; v[b][k] = d * x + c * y; }
      for (int k = 0; k < count; ++k) { const double x = turn[a][k], y = turn[b][k]; turn[a][k] = c * x - d * y; turn[b][k] = d * x + c * y; }
      turned = 1;
    }
  }
}

static void decompose(const Settings* s, const double* q, const double* jacobian, Svd* y) {
  const int directions = (int)s->tool_directions, is_wide = directions <= N;
  double rows[6 * N] = {0}, v[6][WIDE], turn[6][6];
  find_ease(s, q, y->ease);
  weigh(s, y->ease, jacobian, rows);
  y->count = is_wide ? directions : N;
  for (int k = 0; k < directions; ++k) EACH *(is_wide ? &v[k][i] : &v[i % 6][k]) = rows[k * N + i];
  make_orthogonal(y->count, is_wide ? N : directions, v, turn);
  for (int a = 0; a < y->count; ++a) {
    double square = 0;
    for (int k = 0; k < (is_wide ? N : directions); ++k) square += v[a][k] * v[a][k];
    y->value[a] = sqrt(square);
    const double scale = y->value[a] > 0 ? 1 / y->value[a] : 0;
    for (int k = 0; k < directions; ++k) y->left[a][k] = is_wide ? turn[a][k] : v[a][k] * scale;
    EACH y->right[a][i] = is_wide ? v[a][i] * scale : turn[a][i % 6];
  }
}

/* The components of a twist along the singular directions. */
static void along(const Settings* s, const Svd* y, const double* twist, double* ratio) {
  for (int a = 0; a < y->count; ++a) {
    ratio[a] = 0;
    for (int64_t k = 0; k < s->tool_directions; ++k) for (int l = 0; l < 6; ++l)
      ratio[a] += y->left[a][k] * s->tool_axes[6 * k + l] * twist[l];
  }
}

/* qd = J⁺ twist, with damped least squares. */
static void solve_joints(const Settings* s, const Svd* y, const double* twist, double damping, double* qd) {
  double ratio[6];
  along(s, y, twist, ratio);
  clear(qd);
  for (int a = 0; a < y->count; ++a) {
    const double scale = y->value[a] / (y->value[a] * y->value[a] + damping * damping);
    EACH qd[i] += y->ease[i] * y->right[a][i] * (ratio[a] * scale);
  }
}
