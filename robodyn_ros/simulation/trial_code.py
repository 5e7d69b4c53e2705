"""The C code of :mod:`.compiled_trial`: drives, sensors, and the loop around everything.

It stands behind :mod:`.motion_code`, whose plant it moves, and is put together with :mod:`.trial_control_code`,
:mod:`.trial_event_code` and :mod:`.trial_step_code`. What each part does is written, and explained, in Python: the
control loop in :mod:`robodyn_ros.control.loop` and what it calls, the drives in :mod:`.drive` and :mod:`.actuators`,
the sensors in :mod:`.encoders`; the order of all is that of :func:`.trial.run_trial`. ``@fields`` stands for the memory
that both languages see (:mod:`.trial_memory`).
"""

from robodyn_ros.simulation.trial_control_code import CONTROL
from robodyn_ros.simulation.trial_event_code import EVENTS
from robodyn_ros.simulation.trial_step_code import STEPS

HEAD = """
typedef void Plain1(const double*, const double*, double*);
typedef void Plain2(const double*, const double*, const double*, double*);
typedef void Plain3(const double*, const double*, const double*, const double*, double*);
typedef struct { @fields } Trial;
enum { @codes };
enum { INSTANT, STEP, STEPPED };  /* phases of a step */
enum { PD, GRAVITY_COMPENSATION, COMPUTED_TORQUE, IMPEDANCE };

static inline double clamped(double x, double low, double high) {
  x = x > low ? x : low;
  return x < high ? x : high;
}

static int stop(Trial* s, int code, int joint, double value, double before) {
  s->joint = joint; s->value = value; s->before = before;
  return code;
}
"""

HARDWARE = """
/* The drives (drive.py): the response of a joint's lag to a ramp of this slope; the integral of the effort. */
static double lagged(Trial* s, int i, double slope, double duration) {
  const double lag = s->lag[i], behind = slope * lag;
  const double area = (s->aim[i] - behind + 0.5 * slope * duration) * duration;
  const double away = s->given[i] - s->aim[i] + behind, decay = lag != 0 ? expm1(-duration / lag) : -1.0;
  s->aim[i] += slope * duration;
  s->given[i] = s->aim[i] - behind + away * (1.0 + decay);
  return area - away * lag * decay;
}

static double followed(Trial* s, int i, double command, double duration) {
  const double way = command - s->aim[i], needed = fabs(way) / s->slew[i];
  const double ramp = needed < duration ? needed : duration;
  double total = ramp > 0 ? lagged(s, i, copysign(s->slew[i], way), ramp) : 0;
  if (ramp < duration) {
    s->aim[i] = command;
    total += lagged(s, i, 0, duration - ramp);
  }
  return total;
}

/* The effort over the step that begins now (actuators.py). */
static void drive(Trial* s, double* effort) {
  double time = (double)s->now, end = time + 1.0, impulse[N] = {0};
  while (s->reached < s->commanded && s->due[s->reached] <= time) s->told = s->reached++;
  int settled = s->reached == s->commanded;
  for (int i = 0; i < N && settled; ++i) {
    const double told = s->told < 0 ? 0 : s->asked[s->told * N + i];
    settled = (s->lag[i] == 0 && isinf(s->slew[i])) || (s->given[i] == told && told == s->aim[i]);
  }
  if (settled) {
    for (int i = 0; i < N; ++i) effort[i] = s->told < 0 ? 0 : s->asked[s->told * N + i];
    return;
  }
  for (int last = 0; !last;) {
    last = !(s->reached < s->commanded && s->due[s->reached] < end);
    const double due = last ? end : s->due[s->reached];
    if (due > time) {
      for (int i = 0; i < N; ++i) {
        const double told = s->told < 0 ? 0 : s->asked[s->told * N + i];
        impulse[i] += followed(s, i, told, (due - time) * s->step) / s->step;
      }
      time = due;
    }
    if (!last) s->told = s->reached++;
  }
  for (int i = 0; i < N; ++i) effort[i] = impulse[i];
}

/* A reading is made (encoders.py). */
static void measure(Trial* s) {
  const int64_t k = s->now / s->period;
  const double *q = s->frame + Q * N, *v = s->frame + V * N;
  for (int i = 0; i < N; ++i) {
    const int64_t at = k * N + i;
    double position = q[i], velocity = v[i];
    if (s->noisy) { position += s->noise[2 * k * N + i]; velocity += s->noise[(2 * k + 1) * N + i]; }
    if (s->resolution[i] != 0) position = nearbyint(position / s->resolution[i]) * s->resolution[i];
    if (s->differentiated) velocity = k ? (position - s->read_q[at - N]) / (s->period * s->step) : 0;
    s->read_q[at] = position; s->read_v[at] = velocity; s->read_effort[at] = s->effort[i];
  }
}
"""

LOOP = """
/* All that happens at an instant, before time goes on. */
static int instant(Trial* s) {
  const int regular = s->now % s->period == 0;
  const double now = (double)s->now * s->step;
  if (regular) measure(s);
  for (; s->came < s->coming && s->arrival[s->came] <= s->now; ) {
    s->came_t[s->came] = now;
    const int64_t reading = s->which[s->came++];
    const int code = update(s, reading);
    if (code) return code;
  }
  if (!regular) return DONE;
  if (now - s->guide_time > s->state_timeout) return stop(s, s->commanded ? MISSING : OTHER, 0, now - s->guide_time, 0);
  const int64_t row = s->now / s->period * N;
  for (int i = 0; i < N; ++i) {
    s->true_q[row + i] = s->frame[Q * N + i]; s->true_v[row + i] = s->frame[V * N + i];
    s->true_effort[row + i] = s->effort[i];
  }
  s->truths++;
  return DONE;
}

/* The effort of the step that begins now; whether the plant moves, or its brakes hold it (hardware.py). */
static int pushed(Trial* s, int* code) {
  if (s->last_command >= 0 && !s->silent && s->now - s->last_command >= s->command_timeout) {
    s->silent = 1;
    if (!s->holds) *code = OTHER;
  }
  if (s->braked) {
    if (s->reached == s->commanded || ceil(s->due[s->reached] - (double)s->now) > 0) return 0;
    s->braked = 0;
  }
  double effort[N];
  drive(s, effort);
  for (int i = 0; i < N; ++i)
    s->effort[i] = s->frame[EFFORT * N + i] = clamped(effort[i], -s->drive_limit[i], s->drive_limit[i]);
  return 1;
}

/* Goes on until the end or until something happens that it leaves to Python, as its result says. */
int trial(Trial* s) {
  System y;
  begin(&y, (const double (*)[N])s->frame, s->symbols);
  for (;;) {
    int code = DONE;
    if (s->phase == INSTANT) {
      code = instant(s);
      if (code || s->now >= s->end) return code;
      s->phase = pushed(s, &code) ? STEP : STEPPED;
      if (code) return code;
    }
    if (s->phase == STEP && step(s, &y)) return EVENT;
    s->phase = INSTANT;
    s->now++;
  }
}
"""

CODE = HEAD + EVENTS + STEPS + HARDWARE + CONTROL + LOOP
