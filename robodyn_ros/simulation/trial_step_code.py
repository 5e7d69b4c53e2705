"""The C code of :mod:`.compiled_trial` for a whole step of the plant: :mod:`.event` and :mod:`.mechanism` once more."""

STEPS = """
typedef struct { double part, bound, slope; int joint, moving; } Event;

/* event.py: the last point in [0, 1) before sign times the cubic turns positive. */
static double crossing(double a, double b, double c, double d, double sign) {
  double low = 0, high = 1;
  for (int k = 0; k < 52; ++k) {
    const double middle = 0.5 * (low + high);
    if (sign * (((a * middle + b) * middle + c) * middle + d) > 0) high = middle; else low = middle;
  }
  return low;
}

/* event.py: the first joint to leave the mode's domain; whether one does. */
static int first_event(const double (*row)[N], const double* q1, const double* v1, double dt, Event* first) {
  const double *q = row[Q], *v = row[V];
  int found = 0;
  for (int moving = 0; moving < 2; ++moving) EACH {
    const double low = row[moving ? V_LOW : Q_LOW][i], high = row[moving ? V_HIGH : Q_HIGH][i];
    const double end = moving ? v1[i] : q1[i];
    if (!(end < low || end > high)) continue;
    const double bound = end < low ? low : high, side = end < low ? -1 : 1;
    const double v0 = dt * v[i], rise = q1[i] - q[i], w = dt * v1[i];
    const double a = v0 + w - 2 * rise, b = 3 * rise - 2 * v0 - w;
    Event event = {.bound = bound, .joint = i, .moving = moving};
    if (moving) {
      event.part = crossing(0, 3 * a, 2 * b, v0 - dt * bound, side);
      event.slope = (6 * a * event.part + 2 * b) / dt;
    } else {
      event.part = crossing(a, b, v0, q[i] - bound, side);
      event.slope = (3 * a * event.part + 2 * b) * event.part + v0;
    }
    if (!found || event.part < first->part) *first = event;
    found = 1;
  }
  return found;
}

/* mechanism.py: no joint beyond a rigid stop or moving into one, and the velocity that was reached exact. */
static int settle(Trial* s, double* q, double* v, const Event* reached, const int* dead, int* hit) {
  const double (*row)[N] = (const double (*)[N])s->frame;
  double low[N], high[N], kept[N] = {0}, w[N], force[N], motion[N], bounce = INFINITY;
  int held[N], any = 0;
  EACH {
    const int rigid = row[STIFFNESS][i] == 0;
    if (rigid) q[i] = clamped(q[i], row[LOWER][i], row[UPPER][i]);
    const int at_lower = rigid && q[i] <= row[LOWER][i], at_upper = rigid && q[i] >= row[UPPER][i];
    hit[i] = (at_lower && v[i] < 0) || (at_upper && v[i] > 0);
    low[i] = at_upper ? -INFINITY : 0;
    high[i] = at_lower ? INFINITY : 0;
    any |= hit[i];
    if (hit[i]) bounce = fmin(bounce, dead[i] ? 0 : s->restitution[i]);
  }
  if (!any && !reached) return 0;
  EACH {
    if (any) { if (hit[i]) kept[i] = -bounce * v[i]; continue; }
    if (v[i] == 0 || i == reached->joint) { low[i] = -INFINITY; high[i] = INFINITY; }
    if (i == reached->joint) kept[i] = reached->bound;
  }
  EACH w[i] = v[i] - kept[i];
  if (restrain(s, q, w, low, high, force, motion, held)) return 1;
  EACH v[i] = motion[i] + kept[i];
  return 0;
}

/* mechanism.py: one step, cut where something happens; whether Python has to make it. */
static int exact_step(Trial* s, System* y) {
  double (*row)[N] = (double (*)[N])s->frame, *q = row[Q], *v = row[V], q0[N], v0[N], q1[N], v1[N], dt = s->step;
  int bounced[N] = {0}, stuck[N] = {0}, hit[N], any = 0;
  Event event;
  EACH { q0[i] = q[i]; v0[i] = v[i]; }
  for (int count = 0; count < 4 * N; ++count) {
    double qe[N], ve[N];
    if (find_mode(s, y, stuck) || advance(y, dt, q, v, q1, v1)) goto back;
    EACH if (!isfinite(q1[i]) || !isfinite(v1[i])) goto back;
    if (!first_event((const double (*)[N])row, q1, v1, dt, &event)) {
      EACH { q[i] = q1[i]; v[i] = v1[i]; any |= stuck[i]; }
      s->known = !any;
      return 0;
    }
    if (event.part == 0 && v[event.joint] == (event.moving ? event.bound : 0)) { stuck[event.joint] = 1; continue; }
    double part = event.part;
    for (int k = 0; k < s->refinements; ++k) {
      if (advance(y, part * dt, q, v, qe, ve)) goto back;
      const double off = (event.moving ? ve : qe)[event.joint] - event.bound;
      const double better = event.slope != 0 ? clamped(part - off / event.slope, 0, 1) : part;
      if (better == part || fabs(off) <= s->close * fabs(event.slope)) break;
      part = better;
    }
    EACH { q[i] = qe[i]; v[i] = ve[i]; }
    if (!event.moving) q[event.joint] = event.bound;
    if (settle(s, q, v, event.moving ? &event : 0, bounced, hit)) goto back;
    EACH bounced[i] |= hit[i];
    dt -= part * dt;
  }
  EACH { q[i] = q1[i]; v[i] = v1[i]; bounced[i] = 1; }
  if (settle(s, q, v, event.moving ? &event : 0, bounced, hit)) goto back;
  s->known = 0;
  return 0;
back:
  EACH { q[i] = q0[i]; v[i] = v0[i]; }
  return 1;
}

/* A step within the mode; whether there was none, for something happens in it. */
static int smooth_step(Trial* s, System* y) {
  double q1[N], v1[N], (*row)[N] = (double (*)[N])s->frame;
  int resting = 0;
  if (!applies(y)) return 1;
  EACH resting += row[HELD][i] != 0 && row[V][i] == 0;
  if (resting == N) return 0;
  if (advance(y, s->step, row[Q], row[V], q1, v1)) return 1;
  EACH {
    if (!(q1[i] >= row[Q_LOW][i] && q1[i] <= row[Q_HIGH][i] && isfinite(q1[i]))) return 1;
    if (!(v1[i] >= row[V_LOW][i] && v1[i] <= row[V_HIGH][i] && isfinite(v1[i]))) return 1;
    if (driven_over(y, i, v1[i])) return 1;
  }
  EACH { row[Q][i] = q1[i]; row[V][i] = v1[i]; }
  return 0;
}

static int step(Trial* s, System* y) {
  if (!s->known) {
    if (find_mode(s, y, 0)) return 1;
    s->known = 1;
  }
  return smooth_step(s, y) && exact_step(s, y);
}
"""
