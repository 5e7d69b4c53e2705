"""The C code of :mod:`.compiled_trial` for the control loop: reference, laws, and what becomes of their efforts."""

CONTROL = """
/* The motion's position, velocity and acceleration (trajectory.py). */
static void sample(const Trial* s, double t, double* r) {
  const int64_t last = s->points - 1;
  if (s->arrived || !last || t >= s->knots[last] || t < s->knots[0]) {
    const double* rest = s->arrived || !last || t >= s->knots[last] ? s->goal : s->first;
    for (int i = 0; i < 3 * N; ++i) r[i] = i < N ? rest[i] : 0;
    return;
  }
  int64_t low = 0, high = last;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (s->knots[middle] <= t) low = middle; else high = middle;
  }
  const double u = t - s->knots[low], *row = s->table + low * (s->degree + 1) * 3 * N;
  for (int i = 0; i < 3 * N; ++i) {
    r[i] = row[i];
    for (int64_t power = 1; power <= s->degree; ++power) r[i] = r[i] * u + row[power * 3 * N + i];
  }
}

static void add_product(const double* matrix, const double* x, double* y) {
  for (int i = 0; i < N; ++i) {
    double sum = 0;
    for (int j = 0; j < N; ++j) sum += matrix[i * N + j] * x[j];
    y[i] += sum;
  }
}

/* The control laws: pd.py, gravity_compensation.py, computed_torque.py, impedance.py. */
static void control(const Trial* s, const double* q, const double* v, const double* r, const double* g, double* total) {
  double feedback[N], matrix[N * N];
  for (int i = 0; i < N; ++i) {
    feedback[i] = s->kp[i] * (r[i] - q[i]) + s->kd[i] * (r[N + i] - v[i]);
    if (s->integrating) feedback[i] += s->ki[i] * s->integral[i];
    total[i] = s->law == PD ? 0 : g[i];
  }
  if (s->law == COMPUTED_TORQUE) {
    const double zero[N] = {0};
    double bias[N];
    s->inverse(q, v, zero, s->model, bias);
    for (int i = 0; i < N; ++i) {
      const double sign = v[i] > 0 ? 1 : v[i] < 0 ? -1 : 0;
      total[i] += bias[i] - g[i] - (s->viscous[i] * v[i] + s->coulomb[i] * sign);
    }
  }
  if (s->law == IMPEDANCE) {
    s->coriolis(q, v, s->model, matrix);
    add_product(matrix, r + N, total);
  }
  if (s->law == COMPUTED_TORQUE || s->law == IMPEDANCE) {
    s->mass(q, s->model, matrix);
    add_product(matrix, r + 2 * N, total);
    for (int i = 0; i < N; ++i) total[i] += s->damping[i] * r[N + i] + s->dry[i] * tanh(r[N + i] / s->smoothing);
  }
  if (s->law == COMPUTED_TORQUE) add_product(matrix, feedback, total);
  else for (int i = 0; i < N; ++i) total[i] += feedback[i];
}

/* A state has come: what is sent for it (loop.py and what it calls). */
static int update(Trial* s, int64_t reading) {
  const double t = (double)(reading * s->period) * s->step, now = (double)s->now * s->step, age = now - t;
  const double *v = s->read_v + reading * N;
  double q[N], g[N], r[3 * N], total[N];
  if (!(fabs(age) <= s->state_timeout)) return stop(s, STALE, 0, age, 0);
  for (int i = 0; i < N; ++i) {
    q[i] = s->read_q[reading * N + i];
    if (s->circular[i]) q[i] -= s->turn * nearbyint((q[i] - s->last_q[i]) / s->turn);
  }
  const double since = t - s->last_t;
  int worst = -1;
  double most = 0;
  if (s->states_used && 0 <= since && since <= s->state_timeout) {
    for (int i = 0; i < N; ++i) {
      const double speed = fabs(v[i]) > fabs(s->last_v[i]) ? fabs(v[i]) : fabs(s->last_v[i]);
      const double beyond = fabs(q[i] - s->last_q[i]) - (s->jump + since * speed);
      if (beyond > most) { most = beyond; worst = i; }
    }
    if (worst >= 0) return stop(s, JUMPED, worst, q[worst], s->last_q[worst]);
  }
  for (int i = 0; i < N; ++i) { s->last_q[i] = q[i]; s->last_v[i] = v[i]; }
  s->last_t = t;
  s->states_used++;
  const double dt = t - s->guide_time;
  if (!(0 <= dt && dt <= s->state_timeout)) return OTHER;
  for (int i = 0; i < N; ++i) {
    const double beyond = fabs(v[i]) - s->overspeed[i];
    if (beyond > most) { most = beyond; worst = i; }
  }
  if (worst >= 0) return stop(s, TOO_FAST, worst, v[worst], s->overspeed[worst]);
  if (s->lags && !s->arrived) s->start += dt;
  s->guide_time = t;
  if (s->points > 1 && t >= s->start + s->knots[s->points - 1]) s->arrived = 1;
  sample(s, t - s->start, r);
  s->gravity(q, s->model, g);
  if (s->integrating)
    for (int i = 0; i < N; ++i) {
      const double error = r[i] - q[i], grown = s->integral[i] + (error * s->cut[i] > 0 ? 0 : dt * error);
      s->integral[i] = clamped(grown, -s->integral_limit, s->integral_limit);
    }
  control(s, q, v, r, g, total);
  const int64_t row = s->commanded * N;
  double passed = t - s->sent_time;
  passed = clamped(passed, s->instant, s->state_timeout);
  int lags = 0;
  for (int i = 0; i < N; ++i) {
    if (!isfinite(total[i])) return OTHER;
    double wanted = total[i];
    const double above = s->upper[i] - q[i], below = q[i] - s->lower[i], still = g[i] - s->damper[i] * v[i];
    if (below < s->margin) wanted = fmax(wanted, still - s->spring[i] * clamped(below, 0, s->margin));
    if (above < s->margin) wanted = fmin(wanted, still + s->spring[i] * clamped(above, 0, s->margin));
    double effort = clamped(wanted, -s->effort_limit[i], s->effort_limit[i]);
    if (s->commanded) {
      const double change = s->rate[i] * passed;
      effort = clamped(effort, s->sent[i] - change, s->sent[i] + change);
    }
    s->cut[i] = total[i] - effort;
    s->sent[i] = effort;
    lags |= (r[i] - q[i]) * s->cut[i] > 0 && fabs(r[i] - q[i]) > s->lead;
    s->log_effort[row + i] = effort; s->log_q[row + i] = r[i]; s->log_v[row + i] = r[N + i];
    if (fabs(effort) > s->greatest) return OTHER;
    double asked = clamped(effort, -s->drive_limit[i], s->drive_limit[i]);
    if (s->fineness[i] != 0) asked = nearbyint(asked / s->fineness[i]) * s->fineness[i];
    s->asked[row + i] = asked;
  }
  s->lags = lags;
  s->sent_time = t;
  s->due[s->commanded] = (double)s->now + s->command_delay;
  s->log_t[s->commanded] = now; s->log_stamp[s->commanded] = t;
  s->last_command = s->now;
  s->silent = 0;
  s->commanded++;
  return DONE;
}
"""
