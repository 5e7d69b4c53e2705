// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Poses, twists and wrenches that are streamed to the tool, as a reference of the joints. A part of arm_loop.c.

   It is the twin in C of ToolStream in motion/tool_stream.py, which explains it, and of what the node does with it
   (nodes/controller/tool/streams.py); test_control_export.py compares them. The reference is renewed in every update. */

enum { FEWER = TOOL_DIRECTIONS < N ? TOOL_DIRECTIONS : N, OTHERS = TOOL_DIRECTIONS < N ? N : TOOL_DIRECTIONS };
enum { SWEEPS = 12 };

static double length3(const double* v) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/* --- rotations: kinematics/so3.py */

static void multiply3(const double* a, const double* b, int transposed, double* c) { /* a b, or a bᵀ */
  for (int i = 0; i < 3; ++i) for (int j = 0; j < 3; ++j) {
    c[3 * i + j] = 0;
    for (int k = 0; k < 3; ++k) c[3 * i + j] += a[3 * i + k] * (transposed ? b[3 * j + k] : b[3 * k + j]);
  }
}

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
  const double angle = length3(phi), square = angle * angle, half = sin(angle / 2), x = phi[0], y = phi[1], z = phi[2];
  const int small = angle < SMALL_ANGLE;
  const double a = small ? 1 - square / 6 + square * square / 120 - square * square * square / 5040 : sin(angle) / angle;
  const double b = small ? 0.5 - square / 24 + square * square / 720 - square * square * square / 40320
                         : 2 * (half / angle) * (half / angle);
  const double skew[9] = {0, -z, y, z, 0, -x, -y, x, 0};
  double twice[9];
  multiply3(skew, skew, 0, twice);
  for (int k = 0; k < 9; ++k) r[k] = (k % 4 == 0) + a * skew[k] + b * twice[k];
}

/* From one pose to another: displacement and rotation vector, in the root link's axes (6,). */
static void between(const ToolPose* from, const ToolPose* to, double* way) {
  double turn[9];
  for (int k = 0; k < 3; ++k) way[k] = to->position[k] - from->position[k];
  multiply3(to->rotation, from->rotation, 1, turn);
  rotation_vector(turn, way + 3);
}

static void move_pose(ToolPose* pose, const double* way) {
  double turn[9], before[9];
  for (int k = 0; k < 3; ++k) pose->position[k] += way[k];
  for (int k = 0; k < 9; ++k) before[k] = pose->rotation[k];
  rotation_of(way + 3, turn);
  multiply3(turn, before, 0, pose->rotation);
}

static void find_tool(const double* q, ToolPose* found, double* jacobian) {
  double pose[16];
  model_tool(q, pose, jacobian);
  for (int i = 0; i < 3; ++i) {
    found->position[i] = pose[4 * i + 3];
    for (int j = 0; j < 3; ++j) found->rotation[3 * i + j] = pose[4 * i + j];
  }
}

/* --- limits of speed, acceleration and jerk */

static double braking_speed(double distance, double deceleration, double slope) {
  const double least = deceleration / slope;
  return sqrt(least * least + 2 * deceleration * distance) - least;
}

/* Nonzero if the vector was longer than that. */
static int shorten(double* vector, double longest) {
  const double length = length3(vector);
  if (length <= longest) return 0;
  for (int k = 0; k < 3; ++k) vector[k] *= longest / length;
  return 1;
}

/* LimitedMotion.advance */
static void advance_limited(LimitedMotion* y, double dt, const double* error, const double* target_velocity, double speed,
                            double acceleration, double jerk, double* way) {
  const double away = length3(error);
  double wanted[3], lacking[3], change[3];
  for (int k = 0; k < 3; ++k) {
    wanted[k] = target_velocity[k];
    if (away > 0) wanted[k] += error[k] * (braking_speed(away, TOOL_BRAKING * acceleration, smaller(TOOL_SLOPE_POSITION, 0.2 / dt)) / away);
  }
  shorten(wanted, speed);
  for (int k = 0; k < 3; ++k) lacking[k] = wanted[k] - y->velocity[k];
  const double lack = length3(lacking);
  const double most = lack > 0 ? smaller(braking_speed(lack, TOOL_BRAKING * jerk, smaller(TOOL_SLOPE_VELOCITY, 0.5 / dt)), acceleration) : 0;
  for (int k = 0; k < 3; ++k) change[k] = (lack > 0 ? lacking[k] * (most / lack) : 0) - y->acceleration[k];
  shorten(change, jerk * dt);
  for (int k = 0; k < 3; ++k) {
    const double before = y->velocity[k];
    y->acceleration[k] += change[k];
    y->velocity[k] = before + dt * y->acceleration[k];
    way[k] = dt * (before + y->velocity[k]) / 2;
  }
}

/* --- the joints */

/* One-sided Jacobi method: turns FEWER vectors of OTHERS numbers until they are orthogonal, and `turn` with them. Their
   lengths are the singular values then. Golub and Van Loan, Matrix Computations (2013), section 8.6.3. */
static void make_orthogonal(double v[FEWER][OTHERS], double turn[FEWER][FEWER]) {
  for (int a = 0; a < FEWER; ++a) for (int b = 0; b < FEWER; ++b) turn[a][b] = a == b;
  for (int sweep = 0, turned = 1; turned && sweep < SWEEPS; ++sweep) {
    turned = 0;
    for (int a = 0; a < FEWER; ++a) for (int b = a + 1; b < FEWER; ++b) {
      double aa = 0, bb = 0, ab = 0;
      for (int k = 0; k < OTHERS; ++k) { aa += v[a][k] * v[a][k]; bb += v[b][k] * v[b][k]; ab += v[a][k] * v[b][k]; }
      if (!(fabs(ab) > 2e-15 * sqrt(aa * bb))) continue;
      const double z = (bb - aa) / (2 * ab), t = copysign(1, z) / (fabs(z) + sqrt(1 + z * z));
      const double c = 1 / sqrt(1 + t * t), s = c * t;
      for (int k = 0; k < OTHERS; ++k) { const double x = v[a][k], y = v[b][k]; v[a][k] = c * x - s * y; v[b][k] = s * x + c * y; }
      for (int k = 0; k < FEWER; ++k) { const double x = turn[a][k], y = turn[b][k]; turn[a][k] = c * x - s * y; turn[b][k] = s * x + c * y; }
      turned = 1;
    }
  }
}

/* ToolStream._resolved: velocities of the joints that move the tool with a twist (6,), as far as they can. */
static void resolve(const ArmSettings* x, const ToolStream* y, const double* twist, double dt, double* result) {
  double jacobian[6 * N], off[6], wanted[TOOL_DIRECTIONS] = {0}, v[FEWER][OTHERS], turn[FEWER][FEWER], square[FEWER];
  double qd[N] = {0}, drawn[N], least = INFINITY, ratio = 1;
  const int is_wide = TOOL_DIRECTIONS <= N; /* then v are the rows of the weighted Jacobian, else its columns */
  ToolPose reached;
  find_tool(y->q, &reached, jacobian);
  between(&reached, &y->pose, off);
  for (int k = 0; k < TOOL_DIRECTIONS; ++k) {
    for (int l = 0; l < 6; ++l) wanted[k] += TOOL_AXES[6 * k + l] * (twist[l] + smaller(TOOL_CLOSING, 0.5 / dt) * off[l]);
    EACH {
      double* place = is_wide ? &v[k % FEWER][i] : &v[i % FEWER][k];
      *place = 0;
      for (int l = 0; l < 6; ++l) *place += TOOL_AXES[6 * k + l] * jacobian[l * N + i];
    }
  }
  make_orthogonal(v, turn);
  for (int a = 0; a < FEWER; ++a) {
    square[a] = 0;
    for (int k = 0; k < OTHERS; ++k) square[a] += v[a][k] * v[a][k];
    least = smaller(least, square[a]);
  }
  const double near = TOOL_FLOOR * greater(0, 1 - sqrt(least) / TOOL_FLOOR), damping = near * near;
  EACH drawn[i] = TOOL_POSTURE * (y->begin[i] - y->q[i]);
  for (int a = 0; a < FEWER; ++a) {
    const double *left = is_wide ? turn[a] : v[a], *right = is_wide ? v[a] : turn[a], all = square[a] + damping;
    double asked = 0, along = 0;
    for (int k = 0; k < TOOL_DIRECTIONS; ++k) asked += left[k] * wanted[k];
    EACH along += right[i] * drawn[i];
    if (is_wide) along = square[a] > 0 ? along / square[a] : 0;
    EACH { if (all > 0) qd[i] += right[i] * (asked / all); drawn[i] -= right[i] * along; }
  }
  EACH { qd[i] += drawn[i]; ratio = greater(ratio, fabs(qd[i]) / (TOOL_SPEED * x->core.loop.velocity_limit[i])); }
  EACH { /* near a position limit a joint becomes as slow as it can brake; near a singular pose no joint jerks */
    const Settings* s = &x->core.loop;
    const double usual = smaller(s->velocity_limit[i], TOOL_FASTEST) / TOOL_RISE;
    const double steepest = smaller(smaller(s->acceleration[i], s->braking[i]), usual), change = steepest * dt;
    const double below = greater(y->q[i] - (x->core.loop.lower[i] + TOOL_MARGIN), 0);
    const double above = greater(x->core.loop.upper[i] - TOOL_MARGIN - y->q[i], 0);
    const double slowest = -sqrt(TOOL_BRAKING * 2 * steepest * below), fastest = sqrt(TOOL_BRAKING * 2 * steepest * above);
    const double asked = smaller(greater(qd[i] / ratio, slowest), fastest);
    const double smooth = smaller(greater(asked, y->qd[i] - change), y->qd[i] + change);
    result[i] = smaller(greater(smooth, -below / dt), above / dt);
  }
}

/* ToolStream._wait_for_tool: the reference of the tool is no further ahead than the tool can follow. */
static void wait_for_tool(ToolStream* y, const ToolPose* reached) {
  double ahead[6];
  between(reached, &y->pose, ahead);
  const int far = shorten(ahead, TOOL_LEAD), turned = shorten(ahead + 3, TOOL_LEAD_ANGLE);
  y->follows = !far && !turned;
  if (y->follows) return;
  y->pose = *reached;
  move_pose(&y->pose, ahead);
}

/* --- the stream */

static void begin_stream(ToolStream* y, const double* reference) {
  double jacobian[6 * N];
  memset(y, 0, sizeof *y);
  copy(y->q, reference); copy(y->begin, reference); copy(y->qd, reference + N);
  find_tool(y->q, &y->pose, jacobian);
  y->filtered = y->pose;
  for (int k = 0; k < 6; ++k) EACH y->twist[k] += jacobian[k * N + i] * y->qd[i];
  for (int k = 0; k < 3; ++k) { y->linear.velocity[k] = y->twist[k]; y->angular.velocity[k] = y->twist[3 + k]; }
  y->heard = y->heard_wrench = -INFINITY;
}

/* ToolStream.advance: the reference of the joints (REFERENCES, N) after a period. */
static void advance_stream(const ArmSettings* x, ToolStream* y, double t, double dt, double* r) {
  const Parameters* p = &x->given;
  const double part = p->stream_filter_time == 0 ? 1 : 1 - exp(-dt / p->stream_filter_time), none[6] = {0};
  double error[6] = {0}, wanted[6], moved[6], twist[6], jacobian[6 * N], strongest = 0;
  ToolPose reached;
  if (y->has_pose) {
    double away[6];
    between(&y->filtered, &y->target, away);
    for (int k = 0; k < 6; ++k) { wanted[k] = part * away[k] / dt; away[k] *= part; }
    move_pose(&y->filtered, away);
    between(&y->pose, &y->filtered, error);
  } else {
    const double* target = t - y->heard <= p->stream_timeout ? y->target_twist : none;
    for (int k = 0; k < 6; ++k) wanted[k] = y->twist[k] += part * (target[k] - y->twist[k]);
  }
  advance_limited(&y->linear, dt, error, wanted, p->stream_speed, p->stream_acceleration, p->stream_jerk, moved);
  advance_limited(&y->angular, dt, error + 3, wanted + 3, p->stream_turn_speed, p->stream_turn_acceleration,
                  p->stream_turn_jerk, moved + 3);
  move_pose(&y->pose, moved);
  for (int k = 0; k < 6; ++k) twist[k] = moved[k] / dt;
  resolve(x, y, twist, dt, r + N);
  EACH {
    r[2 * N + i] = (r[N + i] - y->qd[i]) / dt;
    r[i] = y->q[i] += dt * r[N + i];
    y->qd[i] = r[N + i];
  }
  find_tool(y->q, &reached, jacobian);
  wait_for_tool(y, &reached);
  const double* target = t - y->heard_wrench <= p->stream_timeout ? y->target_wrench : none;
  for (int k = 0; k < 6; ++k) strongest = greater(strongest, fabs(target[k]));
  EACH r[3 * N + i] = 0;
  for (int k = 0; k < 6; ++k) {
    y->wrench[k] += part * (target[k] - y->wrench[k]);
    if (strongest == 0 && fabs(y->wrench[k]) < TOOL_STILL) y->wrench[k] = 0;
    EACH r[3 * N + i] += jacobian[k * N + i] * y->wrench[k];
  }
  EACH r[3 * N + i] = smaller(greater(r[3 * N + i], -x->core.loop.effort_limit[i]), x->core.loop.effort_limit[i]);
}

/* ToolStream.is_over: nothing has come for a while, and the reference has come to rest. */
static int is_stream_over(const ArmSettings* x, const ToolStream* y, double t) {
  double away[6] = {0};
  int moves = 0, is_there = 1;
  if (t - greater(y->heard, y->heard_wrench) <= x->given.stream_timeout) return 0;
  if (y->has_pose) between(&y->pose, &y->target, away);
  for (int k = 0; k < 6; ++k) {
    const double velocity = k < 3 ? y->linear.velocity[k] : y->angular.velocity[k - 3];
    moves |= fabs(velocity) > TOOL_STILL || fabs(y->wrench[k]) > TOOL_STILL;
    is_there &= fabs(away[k]) <= TOOL_STILL;
  }
  return !moves && (is_there || !y->follows);
}

void arm_to_root(int what, const double* pose, double* numbers) {
  double rotation[9], given[12];
  const size_t count = what == ARM_POSE ? 12 : 6;
  memcpy(given, numbers, count * sizeof *given);
  for (int i = 0; i < 3; ++i) for (int j = 0; j < 3; ++j) rotation[3 * i + j] = pose[4 * i + j];
  for (int part = 0; part < 6; part += 3) for (int i = 0; i < 3 && (part == 0 || what != ARM_POSE); ++i) {
    numbers[part + i] = what == ARM_POSE ? pose[4 * i + 3] : 0;
    for (int j = 0; j < 3; ++j) numbers[part + i] += rotation[3 * i + j] * given[part + j];
  }
  if (what == ARM_POSE) multiply3(rotation, given + 3, 0, numbers + 3);
}

CoreRefusal arm_tool(Arm* a, int what, int frame, double t, const double* told) {
  ToolStream* y = &a->stream;
  double numbers[12], poses[16 * ARM_LINKS];
  if (!y->runs) {
    double reference[REFERENCES * N];
    const CoreRefusal may = core_expected(a->core, a->core->state.time, reference);
    if (may.why) return may;
    begin_stream(y, reference);
    y->runs = 1;
    y->time = t;
  }
  memcpy(numbers, told, (what == ARM_POSE ? 12 : 6) * sizeof *numbers);
  if (frame >= 0) {
    model_links(a->core->state.q, poses);
    arm_to_root(what, poses + 16 * frame, numbers);
  }
  if (what == ARM_POSE) {
    if (!y->has_pose) y->filtered = y->pose;
    memcpy(&y->target, numbers, sizeof y->target);
    y->has_pose = 1; y->heard = t;
  } else if (what == ARM_TWIST) {
    if (y->has_pose) for (int k = 0; k < 3; ++k) { y->twist[k] = y->linear.velocity[k]; y->twist[3 + k] = y->angular.velocity[k]; }
    memcpy(y->target_twist, numbers, sizeof y->target_twist);
    y->has_pose = 0; y->heard = t;
  } else {
    memcpy(y->target_wrench, numbers, sizeof y->target_wrench);
    y->heard_wrench = t;
  }
  return refusal(CORE_OK, 0, 0, 0);
}

CoreRefusal arm_tool_renew(Arm* a, double t) {
  ToolStream* y = &a->stream;
  const double dt = t - y->time;
  double r[REFERENCES * N];
  int64_t all[N];
  CoreRefusal found = refusal(CORE_OK, 0, 0, 0);
  if (!y->runs || !(dt > 0)) return found;
  if (y->tracks && a->core->state.references.source != STREAM) { y->runs = 0; return found; } /* something else was asked for */
  y->time = t;
  advance_stream(arm_settings(a), y, t, smaller(dt, TOOL_LONGEST_PERIOD), r);
  EACH all[i] = 1;
  found = core_track(a->core, t, all, r, r + N, r + 2 * N, r + 3 * N);
  y->tracks = 1;
  if (found.why) y->runs = 0;
  else if (is_stream_over(arm_settings(a), y, t)) { y->runs = 0; core_hold(a->core, t, 0); }
  return found;
}
