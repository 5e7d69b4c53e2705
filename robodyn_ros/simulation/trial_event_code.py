"""The C code of :mod:`.compiled_trial` for steps in which something happens to a joint.

The same as :mod:`.mode`, :mod:`.restraint`, :mod:`.event` and :mod:`.mechanism`, which explain it, on the frame of
:mod:`.motion_loop`; where one of these functions gives up, and returns 1, those have the last word.
"""

EVENTS = """
#define EACH for (int i = 0; i < N; ++i)

static inline double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

/* x with A x = b, A symmetric and positive definite; whether it is not. */
static int solve(int n, double (*A)[N], const double* b, double* x) {
  double L[N][N];
  for (int i = 0; i < n; ++i) {
    x[i] = b[i];
    for (int j = 0; j <= i; ++j) {
      double sum = A[i][j];
      for (int k = 0; k < j; ++k) sum -= L[i][k] * L[j][k];
      if (i == j && !(sum > 0)) return 1;
      L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
    }
    for (int k = 0; k < i; ++k) x[i] -= L[i][k] * x[k];
    x[i] /= L[i][i];
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) x[i] -= L[k][i] * x[k];
    x[i] /= L[i][i];
  }
  return 0;
}

/* restraint.py: forces within bounds, what moves in spite of them, and what they hold. */
static int restrain(Trial* s, const double* q, const double* w, const double* low, const double* high,
                    double* force, double* motion, int* is_held) {
  double M[N][N], A[N][N], r[N] = {0}, moved[N], greatest = 0;
  int joint[N], held[N], count = 0;
  s->weigh(q, s->symbols, &M[0][0]);
  for (int j = 0; j < N; ++j) {
    double unit[N] = {0};
    unit[j] = 1;
    if (solve(N, M, unit, A[j])) return 1;
    double load = 0;
    EACH load += M[j][i] * w[i];
    if (fabs(load) > greatest) greatest = fabs(load);
    if (low[j] < high[j]) { joint[count] = j; held[count++] = 1; }
  }
  const double rounding = s->rounding * (1 + greatest);
  for (int pivot = 0; pivot < s->pivots; ++pivot) {
    double B[N][N], b[N], x[N];
    int place[N], n = 0, first = -1, below = 0, caught = 0;
    for (int k = 0; k < count; ++k) if (held[k]) { r[joint[k]] = 0; place[n++] = joint[k]; }
    for (int k = 0; k < n; ++k) {
      b[k] = -w[place[k]];
      for (int l = 0; l < count; ++l) b[k] -= A[place[k]][joint[l]] * r[joint[l]];
      for (int l = 0; l < n; ++l) B[k][l] = A[place[k]][place[l]];
    }
    if (solve(n, B, b, x)) return 1;
    for (int k = 0; k < n; ++k) r[place[k]] = x[k];
    EACH { moved[i] = w[i]; for (int l = 0; l < count; ++l) moved[i] += A[i][joint[l]] * r[joint[l]]; }
    for (int k = 0; k < count && first < 0; ++k) {
      const int j = joint[k];
      const double load = moved[j] * M[j][j];
      below = held[k] && r[j] < low[j] - rounding;
      caught = !held[k] && ((r[j] == low[j] && load < -rounding) || (r[j] == high[j] && load > rounding));
      if (below || caught || (held[k] && r[j] > high[j] + rounding)) first = k;
    }
    if (first < 0) {
      EACH { force[i] = r[i]; motion[i] = moved[i]; is_held[i] = 0; }
      for (int k = 0; k < n; ++k) { motion[place[k]] = 0; is_held[place[k]] = 1; }
      return 0;
    }
    held[first] = caught;
    r[joint[first]] = below ? low[joint[first]] : high[joint[first]];
  }
  return 1;
}

static void take_mode(System* y) {
  y->count = 0;
  EACH if (y->row[HELD][i] != 0) y->held[y->count++] = i;
}

/* mode.py: which compliant stops are touched. */
static void touch(Trial* s, System* y, const double* direction) {
  double (*row)[N] = (double (*)[N])s->frame, *q = row[Q], *v = row[V], net[N], going[N];
  int edge = 0;
  EACH {
    row[CONTACT][i] = q[i] > row[UPPER][i] ? 1 : q[i] < row[LOWER][i] ? -1 : 0;
    edge |= row[STIFFNESS][i] != 0 && (q[i] == row[UPPER][i] || q[i] == row[LOWER][i]);
  }
  if (!edge) return;
  EACH {
    const double x = row[RATE][i] * v[i], dry = row[COULOMB][i] + row[EXCESS][i] * exp(-x * x);
    net[i] = row[EFFORT][i] - direction[i] * dry - row[VISCOUS][i] * v[i];
  }
  bare(y, q, v, net, going);
  EACH {
    const double way = v[i] == 0 ? going[i] : v[i];
    if (row[STIFFNESS][i] == 0) continue;
    if (q[i] == row[UPPER][i] && way > 0) row[CONTACT][i] = 1;
    if (q[i] == row[LOWER][i] && way < 0) row[CONTACT][i] = -1;
  }
}

static double least(double speed, double pushed, double over) {
  return over > 0 ? speed : pushed < 0 && over == 0 ? -speed : -INFINITY;
}

/* mode.py: the mode that begins in the state of the frame, with the stuck joints held whatever the load. */
static int find_mode(Trial* s, System* y, const int* stuck) {
  double (*row)[N] = (double (*)[N])s->frame, *q = row[Q], *v = row[V], *effort = row[EFFORT], *speed = row[SPEED];
  double direction[N], over[N], low[N], high[N], side[N] = {0}, net[N], free[N], force[N], motion[N];
  int held[N] = {0}, loose[N] = {0};
  EACH {
    const double borne = v[i] == 0 ? s->hold_limit[i] : 0;
    direction[i] = s->hold_limit[i] > 0 ? sign(v[i]) : 0;
    over[i] = sign(effort[i]) * v[i] > speed[i] ? sign(effort[i]) : 0;
    const int rigid = row[STIFFNESS][i] == 0;
    row[R_LOW][i] = v[i] == 0 && rigid && q[i] >= row[UPPER][i] ? -INFINITY : -borne;
    row[R_HIGH][i] = v[i] == 0 && rigid && q[i] <= row[LOWER][i] ? INFINITY : borne;
    low[i] = row[R_LOW][i] - (v[i] == speed[i] && effort[i] > 0 ? effort[i] : 0);
    high[i] = row[R_HIGH][i] + (v[i] == -speed[i] && effort[i] < 0 ? -effort[i] : 0);
    if (stuck && stuck[i]) { low[i] = -INFINITY; high[i] = INFINITY; }
  }
  touch(s, y, direction);
  for (;;) {
    int bound = 0, first = -1;
    EACH bound |= low[i] < high[i];
    if (!bound) break;
    EACH { row[DIRECTION][i] = direction[i]; row[OVER][i] = over[i]; net[i] = force_on(y, i, q[i], v[i]); }
    bare(y, q, v, net, free);
    if (restrain(s, q, free, low, high, force, motion, held)) return 1;
    EACH {
      const double x = row[RATE][i] * v[i];
      loose[i] = !held[i] && force[i] != 0;
      side[i] = -sign(force[i]);
      const int slips = loose[i] && v[i] == 0
        && s->hold_limit[i] > row[COULOMB][i] + (row[EXCESS][i] != 0 ? row[EXCESS][i] * exp(-x * x) : 0);
      if (slips && (first < 0 || fabs(motion[i]) > fabs(motion[first]))) first = i;
    }
    if (first < 0) break;
    direction[first] = side[first]; low[first] = high[first] = 0;
    EACH held[i] = loose[i] = 0;
  }
  EACH {
    const double pushed = sign(effort[i]), contact = row[CONTACT][i];
    if (loose[i] && v[i] == side[i] * speed[i]) over[i] = side[i];
    if (loose[i] && v[i] == 0 && s->hold_limit[i] > 0) direction[i] = side[i];
    row[DIRECTION][i] = held[i] && v[i] == 0 ? 0 : direction[i];
    row[HELD][i] = held[i]; row[OVER][i] = over[i];
    row[Q_LOW][i] = contact == 0 ? row[LOWER][i] : contact > 0 ? row[UPPER][i] : -INFINITY;
    row[Q_HIGH][i] = contact == 0 ? row[UPPER][i] : contact < 0 ? row[LOWER][i] : INFINITY;
    row[V_LOW][i] = fmax(direction[i] > 0 ? 0 : -INFINITY, least(speed[i], pushed, over[i]));
    row[V_HIGH][i] = fmin(direction[i] < 0 ? 0 : INFINITY, -least(speed[i], -pushed, -over[i]));
  }
  take_mode(y);
  return 0;
}
"""
