/* The bookkeeping of the control loop, around the compiled control step: which states are usable, which reference counts,
   what is a fault, and what is sent because of one.

   It is the twin in C of ControlLoop.update and ControlLoop.watch, and of what they call; a change must be made in both:

     validate, continues, check_continuity       faults/state_validation.py
     measure_sampling                            SamplingRate.update in faults/sampling.py, but for its judgement
     compare_velocity, compare_motion, ...       Plausibility in faults/plausibility.py
     observe, judge_contact                      ContactWatch in contact/watch.py
     reckon, stop_effort                         DeadReckoning in faults/dead_reckoning.py
     detect, react, reaction_effort, ...         FaultSupervisor, ActiveFault and FaultHistory in faults/supervisor.py
     limit, blend, fall_silent                   limits.py
     proceed, sample, advance_lead, judge        reference/manager.py, continuation.py, lead.py; motion/trajectory.py
     path_time                                   PathTime.at in reference/path_time.py
     add_planned                                 _with_planned_effort in compiled_step.py
     update, watch                               loop.py

   Python explains each of them, and says in words what went wrong. The control step itself (step.py) is traced, compiled
   for the law and the arm, and called here: `step_run`. compiled_loop.py reads the structs below, fills them and calls
   `update` and `watch`; test_control_compiled_loop.py compares both texts over random histories.

   Nothing here allocates or locks. Numbers are doubles or int64_t, so that the structs have no gaps. Products and sums
   are rounded one by one, as NumPy does. */

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

#include <math.h>
#include <stdint.h>

#ifndef N
#define N 3 /* joints */
#endif

#define EACH for (int i = 0; i < N; ++i)

/* kinds of faults: FaultReactions._fields */
enum { STATES, LAW, SPEED, PUBLISHER, SENSOR, RATE, FOLLOWING, COLLISION, TOUCH, KINDS };
enum { RETREAT, WAIT, HOLD, FLOAT, DAMP, RAMP, SILENT };                /* phases of a reaction */
enum { WAITING, HELD, TRAJECTORY, STOPPING, STREAM };                   /* sources of the reference */
enum { REFERENCES = 4 };                                                /* q, qd, qdd, effort */
enum { MOST_BEGINS = 1000, DEGREES = 6, LEVELS = 3, TRAIL = 32 };

/* Arrays of the control step, in the order of `step_program` in compiled_step.py. */
enum { TIMES, STATE, REFERENCE = STATE + 2, MEMORY = REFERENCE + 4, LAW_MEMORY, SETTINGS, RESULTS, FLAGS, AFTER, LAW_AFTER };
enum { EFFORT, SATURATED, RATE_LIMITED, GRAVITY, ERROR, TERMS, ROWS = TERMS + 7 }; /* rows of its first result */

/* Arrays of the contact observer, in the order of its program in contact/momentum_observer.py. */
enum { DT, OBSERVED_Q, OBSERVED_QD, APPLIED, BIAS, OBSERVED, NUMBERS, OBSERVED_AFTER, EXTERNAL, WRENCH = N, ENERGY = N + 6 };

/* What `update` and `watch` give. */
enum {
  SENT,      /* there is an effort */
  SETTLED,   /* there is one, and the trajectory has come to its goal: Python may want to know */
  NOTHING,   /* nothing is to be sent */
  PYTHON,    /* C does not know; nothing has changed, and Python has to do it */
  STALE, UNORDERED, JUMPED, NOT_FINITE, NO_VELOCITY, /* the state is refused */
  FAILED,    /* the law fails, and nothing was sent before: the loop has stopped */
  UNSTARTED, /* the state is the first: Python has to check that the arm can be held there */
};

/* What is wrong. */
enum { NO_PROBLEM, WRONG_VELOCITY, STANDS_STILL, STRUCK, TOO_FAST, FAR_AWAY, MISSING, NO_NUMBERS, LATCHED, FELT_JOINT, FELT_FORCE, FELT_TORQUE, FELT_ENERGY };

typedef void Run(double* const*, const double*);
typedef void Judge(void);
typedef void Function1(const double*, const double*, double*);
typedef void Function3(const double*, const double*, const double*, const double*, double*);

/* StepMemory of step_numbers.py. */
typedef struct {
  double integral[N], requested[N], sent[N], added[N], cut[N], blend_from[N];
  double has_requested, is_sending, sent_at, switched_on, blending, blend_begin, blend_time, lagging;
} StepMemory;

/* A trajectory of some of the joints, from a given motion of all on: Continuation. Immutable, but for its cache. */
typedef struct {
  int64_t points, degree, columns, way_degree;
  int64_t segment; /* whose coefficients are in the cache; -1 for none */
  double then, way_begin, duration;
  double still[N], goal[N], turn[N];
  int64_t column[N];
  double way[DEGREES * N];         /* Bernstein coefficients to the next point (degree + 1, n) */
  double cache[DEGREES * 3 * N];   /* power coefficients of a segment */
  double way_cache[DEGREES * 3 * N];
  const double *times, *bernstein; /* (K,), (degree + 1, K - 1, columns) */
  const double *first, *last;      /* positions (columns,) */
  const double *efforts;           /* planned, (K, columns); 0 if none are */
} Motion;

/* The time of a trajectory under speed scaling: PathTime. */
typedef struct {
  int64_t is_scaled; /* 0 at full speed: the rest does not count */
  double t, s, speed, target;
} PathTime;

typedef struct {
  Run* step_run;
  Function1* gravity;
  Function3* inverse;
  Function3* forward;
  Judge* judge; /* judges the rate of the states at once; 0 if somebody does later */
  double** step_arrays;
  Run* observer_run; /* 0 if nothing is observed of contacts */
  double** observer_arrays;
  const double *step_constants, *model, *observer_constants;
  int64_t law_memory_width, follows, estimates_velocity, plausibility, recurrences;
  int64_t circular[N], answers[KINDS * LEVELS], needs_quiet[KINDS], judges_contact;
  double expiry[KINDS];
  double state_timeout, almost, most_ahead, position_jump, velocity_filter, turn;
  double ramp_time, ramp_down_time, recurrence_time, quiet_time, blend_time;
  double first_periods, sampling_memory, sampling_change, reassess;
  double interval, ratio, distance, stands, slip, settle, margin, life, proof_distance;
  double lead_time, lead_speed, lead_acceleration, path_acceleration, never, instant, effort_rounding;
  double lost_most, stunned_most, stop_time, reckon_step, reckon_steps, steep, similar, votes;
  double velocity_limit[N], greatest_speed[N], tolerance[N], effort_limit[N], rate_limit[N], lower[N], upper[N];
  double sent_part[N]; /* of gravity; the rest is added by the drives */
  double stiffness[N], damping[N];
  double trail_period, ease, touch[N], collision[N], touch_wrench[2], collision_wrench[2], energy;
  double settled, static_ratio, wrong_load, learn, forget, gap, gaps, usual_count;
  double speed_error[N], lack[N], inertia[N], friction[N], modelled[N], doubt[N], least[N], pull[N], fast[N], moves[N],
    beyond[N];
} Settings;

typedef struct {
  /* the reference: what Python hands over as a whole */
  int64_t source, requests;
  double end, start, hold_time, hold_q[N];
  Motion *motion, *next_motion;
  PathTime time, next_time;
  int64_t has_next;
  double next_begin, next_start, next_end, next_hold_time;
  int64_t has_target, leading[N];
  double lead_t, lead_jump, lead_q[N], lead_qd[N], lead_limit[N], target[REFERENCES * N], target_time;
  double target_velocity[N], arrived[N], present[REFERENCES * N];
  /* the trajectory that is judged: 0 none, 1 is followed or was, 2 is next */
  int64_t following;
  double following_start, following_end, path[N], goal[N], goal_speed, goal_time;
  int64_t outcome; /* how it ended: place in OUTCOMES of reference/manager.py, from 1 on */
} Sources;

typedef struct {
  StepMemory memory;
  Sources sources;
  double time; /* of the latest reference */
  /* the loop */
  int64_t restarts, clock_reset, driving, conflict, gravity_known, to_judge;
  double q[N], qd[N], driving_effort[N], gravity_last[N], state_age;
  int64_t stepped; /* 1 if there is a latest control step, and its state and reference */
  double stepped_q[N], stepped_qd[N], stepped_reference[REFERENCES * N], stepped_planned[N];
  /* validation */
  double last_q[N];
  int64_t estimate_known, good, refused;
  double estimate_t, estimate_q[N], estimate_v[N];
  double good_t, good_ahead, good_q[N], good_qd[N], refused_t, refused_ahead, refused_q[N], refused_qd[N], refused_since;
  /* sampling */
  int64_t count;
  double period, delay, carried, sampling_last, mean, before, judged_period, judged_delay, judged_t, sure;
  double carried_stiffness[N], carried_damping[N];
  /* plausibility */
  int64_t doubted, doubt_joint, strike, compared, driven, after_gap;
  double usual, free[N], peak[N], moved[N];
  double where, proof, compared_t, compared_q[N], compared_qd[N], begin_t, begin_q[N], begin_qd[N];
  double integral[N], impulse[N], ahead[N], behind[N], pushed[N], from[N], rest[N], load[N], stood[N], speed[N], way[N];
  int64_t stunned;
  double lost[N], stopped[N], apart[N], offset[N], due[N], claimed[N], vote[N], seems_q[N], seems_qd[N];
  /* contact */
  int64_t told, applies; /* told: 1 + its kind's place from COLLISION on, or 0 */
  double applied[N], bias[N], observed[3 * N], external[N + 8];
  /* supervisor */
  int64_t trail_count, trail_last;
  double trail_time, trail[TRAIL * N]; /* positions on the way, a ring */
  int64_t faults, active, active_kind, phase, present, latched, blind, carries; /* faults: how many there have been */
  double active_begin, until, ramp_down_time, ramped, left, found[N], reckoned_t, reckoned_q[N], reckoned_qd[N];
  int64_t history_latched[KINDS], level[KINDS], begins_count[KINDS];
  double seen[KINDS], reacted[KINDS], spent[KINDS];
  /* what is wrong, for words: in which joint, and two numbers */
  int64_t problem, problem_joint, doubt_problem_joint;
  double problem_value, problem_bound, doubt_value, doubt_bound;
  double* begins; /* times at which faults began lately (KINDS, MOST_BEGINS) */
} State;

/* What comes in, and what is to be sent. */
typedef struct {
  double t, now, age;
  /* alone: Python is not asked (1), nor about the first state (2); kind of the fault that is reacted to, -1 for none */
  int64_t has_velocity, alone, kind;
  double q[N], qd[N], reference[REFERENCES * N], rows[ROWS * N], external[N + 8];
} Period;

typedef struct {
  const Settings* settings;
  State* state;
  Period* period;
} Loop;

static inline double greater(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
static inline void copy(double* to, const double* from) { EACH to[i] = from[i]; }
static inline void clear(double* to) { EACH to[i] = 0; }

static int is_finite(const double* x) {
  EACH if (!isfinite(x[i])) return 0;
  return 1;
}

static void say(State* m, int problem, int joint, double value, double bound) {
  m->problem = problem; m->problem_joint = joint; m->problem_value = value; m->problem_bound = bound;
}

/* --- limits.py */

static void reset_shaping(const Settings* s, StepMemory* m) {
  clear(m->sent); clear(m->added); clear(m->cut);
  m->is_sending = m->blending = 0;
  m->sent_at = s->never;
}

static void fall_silent(const Settings* s, StepMemory* m, double t) {
  reset_shaping(s, m);
  m->sent_at = t;
}

static void blend(StepMemory* m, double duration) {
  if (m->is_sending == 0 || !(duration > 0)) return;
  copy(m->blend_from, m->sent);
  m->blend_time = duration; m->blending = 1;
}

static int differ(const Settings* s, double before, double after) {
  return fabs(before - after) > s->effort_rounding * (1 + fabs(after));
}

/* The absolute limit and the rate limit, for the reaction to a fault. */
static void limit(const Settings* s, StepMemory* m, double t, const double* wanted, const double* added, double* rows) {
  const int sends = m->is_sending > 0, fell_silent = m->sent_at > s->never;
  const double dt = sends ? smaller(greater(t - m->sent_at, s->instant), s->state_timeout) : s->instant;
  EACH {
    const double least = greater(-added[i], 0) - s->effort_limit[i], most = s->effort_limit[i] - greater(added[i], 0);
    const double clamped = smaller(greater(wanted[i], least), most);
    const double change = sends || fell_silent ? s->rate_limit[i] * dt : INFINITY;
    const double effort = smaller(greater(clamped, m->sent[i] - change), m->sent[i] + change);
    rows[EFFORT * N + i] = effort;
    rows[SATURATED * N + i] = differ(s, wanted[i], clamped);
    rows[RATE_LIMITED * N + i] = differ(s, clamped, effort);
    m->cut[i] = differ(s, wanted[i], effort) ? wanted[i] - effort : 0;
    m->sent[i] = effort;
  }
  m->sent_at = t; m->is_sending = 1; m->blending = 0;
}

static void reset_step(StepMemory* m) {
  clear(m->integral); clear(m->requested);
  m->has_requested = m->lagging = 0;
}

/* --- motion/trajectory.py, reference/ */

/* The coefficients of the powers, the highest first, of position, velocity and acceleration side by side. */
static void to_powers(const double* b, int64_t stride, int64_t count, int64_t degree, double h, double* c) {
  double difference[DEGREES], falling = 1, power = 1;
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t k = 0; k <= degree; ++k) difference[k] = b[k * stride + j];
    falling = power = 1;
    for (int64_t k = 0; k <= degree; ++k) {
      c[(degree - k) * 3 * N + j] = falling * difference[0] / power;
      for (int64_t l = 0; l < degree - k; ++l) difference[l] = difference[l + 1] - difference[l];
      falling *= (double)(degree - k) / (double)(k + 1);
      power *= h;
    }
    for (int64_t d = 1; d < 3; ++d) {
      c[d * N + j] = 0;
      for (int64_t row = 1; row <= degree; ++row)
        c[row * 3 * N + d * N + j] = (double)(degree - row + 1) * c[(row - 1) * 3 * N + (d - 1) * N + j];
    }
  }
}

static void evaluate(const double* c, int64_t count, int64_t degree, double u, double* r) {
  for (int64_t d = 0; d < 3; ++d) for (int64_t j = 0; j < count; ++j) {
    double sum = c[d * N + j];
    for (int64_t row = 1; row <= degree; ++row) sum = sum * u + c[row * 3 * N + d * N + j];
    r[d * N + j] = sum;
  }
}

/* The segment around a time t between the first point and the last. */
static int64_t segment_at(const Motion* y, double t) {
  int64_t low = 0, high = y->points - 1;
  if (y->segment >= 0 && y->times[y->segment] <= t && t < y->times[y->segment + 1]) return y->segment;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (y->times[middle] <= t) low = middle; else high = middle;
  }
  return low;
}

/* A trajectory at its time t: r (REFERENCES, N). */
static void sample_motion(Motion* y, double t, double* r) {
  double own[3 * N];
  for (int k = 0; k < REFERENCES * N; ++k) r[k] = 0;
  if (t < y->then) {
    if (t < y->way_begin) { EACH r[i] = y->way[i]; return; }
    evaluate(y->way_cache, N, y->way_degree, t - y->way_begin, r);
    return;
  }
  const int64_t last = y->points - 1;
  const double* rest = t >= y->times[last] ? y->last : t < y->times[0] ? y->first : 0;
  if (rest) for (int64_t j = 0; j < y->columns; ++j) { own[j] = rest[j]; own[N + j] = own[2 * N + j] = 0; }
  else {
    const int64_t low = segment_at(y, t);
    if (low != y->segment) {
      to_powers(y->bernstein + low * y->columns, last * y->columns, y->columns, y->degree,
                y->times[low + 1] - y->times[low], y->cache);
      y->segment = low;
    }
    evaluate(y->cache, y->columns, y->degree, t - y->times[low], own);
  }
  EACH r[i] = y->still[i];
  for (int64_t j = 0; j < y->columns; ++j) {
    const int64_t i = y->column[j];
    r[i] = own[j] + y->turn[j]; r[N + i] = own[N + j]; r[2 * N + i] = own[2 * N + j];
  }
}

static void end_following(Sources* y, int outcome) {
  y->requests++;
  if (y->following && !y->outcome) y->outcome = outcome;
}

/* How a trajectory ends: places in OUTCOMES of reference/manager.py. */
enum { SUCCEEDED = 1, OFF_PATH, OFF_GOAL, REPLACED, STOPPED, INTERRUPTED, SWITCHED_OFF };

static void hold_at(Sources* y, const double* q, double end) {
  y->source = HELD; y->end = end;
  copy(y->hold_q, q);
}

static void start(State* m, double t, const double* q) {
  end_following(&m->sources, INTERRUPTED);
  m->time = t;
  hold_at(&m->sources, q, INFINITY);
  m->sources.has_next = 0;
}

/* Lead.advance */
static void advance_lead(const Settings* s, Sources* y, double t) {
  const double dt = greater(t - y->lead_t, 0);
  double away[N];
  int leads = 0;
  y->lead_t = t;
  EACH { away[i] = y->target[i] - y->lead_q[i]; leads |= y->leading[i] != 0 || fabs(away[i]) > y->lead_jump; }
  for (int k = 0; k < REFERENCES * N; ++k) y->present[k] = y->target[k];
  EACH {
    const double distance = fabs(away[i]);
    const double arrived = smaller(greater(y->arrived[i], 0.1 * y->lead_jump), y->lead_jump);
    y->leading[i] = leads && distance > (y->leading[i] ? arrived : y->lead_jump);
    if (!y->leading[i]) { y->lead_q[i] = y->target[i]; y->lead_qd[i] = y->target[N + i]; continue; }
    const double acceleration = smaller(y->lead_limit[i] / s->lead_time, s->lead_acceleration);
    const double most = s->lead_speed * y->lead_limit[i];
    double wanted = y->target_velocity[i] + sign(away[i]) * sqrt(2 * acceleration * distance);
    wanted = smaller(greater(wanted, -most), most);
    const double change = smaller(greater(wanted - y->lead_qd[i], -acceleration * dt), acceleration * dt);
    y->lead_q[i] += (y->lead_qd[i] + change) * dt;
    y->lead_qd[i] += change;
    y->present[i] = y->lead_q[i]; y->present[N + i] = y->lead_qd[i];
    y->present[2 * N + i] = dt > 0 ? change / dt : change;
  }
}

/* How long the speed of a trajectory changes. */
static double ramp_of(const Settings* s, const PathTime* y) { return fabs(y->target - y->speed) / s->path_acceleration; }

/* The trajectory's time when its speed is reached. */
static double ramped_of(const Settings* s, const PathTime* y) { return y->s + 0.5 * (y->speed + y->target) * ramp_of(s, y); }

/* The time of a trajectory, and its first two derivatives. */
static void path_time(const Settings* s, const PathTime* y, double t, double* path, double* speed, double* change) {
  const double u = t - y->t, ramp = ramp_of(s, y), slope = copysign(s->path_acceleration, y->target - y->speed);
  *change = 0;
  if (u < 0 || ramp == 0) { *path = y->s + y->speed * u; *speed = y->speed; }
  else if (u < ramp) { *path = y->s + y->speed * u + 0.5 * slope * u * u; *speed = y->speed + slope * u; *change = slope; }
  else { *path = ramped_of(s, y) + y->target * (u - ramp); *speed = y->target; }
}

/* The reference of the present source at a time: r (REFERENCES, N). */
void sample(const Settings* s, Sources* y, double t, double* r) {
  double path, speed, change;
  for (int k = 0; k < REFERENCES * N; ++k) r[k] = y->source == STREAM ? y->present[k] : k < N ? y->hold_q[k] : 0;
  if (y->source != TRAJECTORY && y->source != STOPPING) return;
  if (!y->time.is_scaled) { sample_motion(y->motion, t - y->start, r); return; }
  path_time(s, &y->time, t, &path, &speed, &change);
  sample_motion(y->motion, path, r);
  EACH { r[2 * N + i] = r[2 * N + i] * (speed * speed) + r[N + i] * change; r[N + i] *= speed; }
}

/* TrajectoryReference.planned: the efforts of a plan at a time, NaN where it says none; none at another speed. Nonzero if
   there are any. */
static int planned_at(const Sources* y, double t, double* effort) {
  const Motion* m = y->motion;
  EACH effort[i] = NAN;
  if (y->source != TRAJECTORY || y->time.is_scaled || !m->efforts) return 0;
  t -= y->start;
  if (t < m->times[0] || t >= m->times[m->points - 1]) return 0; /* at the last point the arm may still brake */
  const int64_t k = segment_at(m, t), columns = m->columns;
  const double ratio = (t - m->times[k]) / (m->times[k + 1] - m->times[k]);
  for (int64_t j = 0; j < columns; ++j) {
    const double begin = m->efforts[k * columns + j];
    effort[m->column[j]] = begin + ratio * (m->efforts[(k + 1) * columns + j] - begin);
  }
  return 1;
}

/* Lets the next source take over when its time has come, and ends the present one when its time is up. */
static void proceed(Sources* y, double t, const double* q) {
  if (y->has_next && t >= y->next_begin) {
    y->source = TRAJECTORY; y->motion = y->next_motion; y->time = y->next_time;
    y->start = y->next_start; y->end = y->next_end; y->hold_time = y->next_hold_time;
    y->has_next = 0;
    if (y->following == 2) y->following = 1;
  }
  if (!(t >= y->end)) return;
  if (y->source == TRAJECTORY || y->source == STOPPING) hold_at(y, y->motion->goal, y->end + y->hold_time);
  else hold_at(y, q, INFINITY);
}

static void wait(Sources* y, double dt) {
  if (y->source != TRAJECTORY && y->source != STOPPING) return;
  y->start += dt; y->end += dt; y->time.t += dt;
  if (y->source == TRAJECTORY && y->following == 1) { y->following_start += dt; y->following_end += dt; }
}

/* Following.judge: how the trajectory ends now; 0 if it does not. */
static int judge(const Sources* y, double t, const double* error, const double* qd) {
  if (!y->following || y->outcome || t < y->following_start) return 0;
  if (t < y->following_end) {
    EACH if (fabs(error[i]) > y->path[i]) return OFF_PATH;
    return 0;
  }
  int there = 1;
  EACH there &= fabs(error[i]) <= y->goal[i] && fabs(qd[i]) <= y->goal_speed;
  return there ? SUCCEEDED : t > y->following_end + y->goal_time ? OFF_GOAL : 0;
}

/* --- faults/state_validation.py */

/* Nonzero, and why, if a state does not follow from another one. */
static int continues(const Settings* s, State* m, double t0, double ahead0, const double* q0, const double* qd0, double t,
                     double ahead, const double* q, const double* qd) {
  double dt = t - t0, most = 0;
  int joint = -1;
  if (dt < 0) { say(m, NO_PROBLEM, 0, -dt, 0); return UNORDERED; }
  if (ahead > ahead0 + s->most_ahead) { say(m, NO_PROBLEM, 1, ahead, 0); return UNORDERED; }
  dt = smaller(dt, s->state_timeout);
  EACH {
    const double beyond = fabs(q[i] - q0[i]) - s->position_jump - dt * greater(fabs(qd[i]), fabs(qd0[i]));
    if (beyond > most) { most = beyond; joint = i; }
  }
  if (joint < 0) return 0;
  say(m, NO_PROBLEM, joint, q[joint], q0[joint]);
  return JUMPED;
}

static int check_continuity(const Settings* s, State* m, double t, double now, const double* q, const double* qd) {
  double ahead = greater(t - now, 0);
  int code = m->good ? continues(s, m, m->good_t, m->good_ahead, m->good_q, m->good_qd, t, ahead, q, qd) : 0;
  if (code) {
    const int64_t joint = m->problem_joint;
    const double value = m->problem_value, bound = m->problem_bound;
    if (!m->refused || t - m->refused_t > s->state_timeout
        || continues(s, m, m->refused_t, m->refused_ahead, m->refused_q, m->refused_qd, t, ahead, q, qd))
      m->refused_since = t;
    m->refused = 1; m->refused_t = t; m->refused_ahead = ahead;
    copy(m->refused_q, q); copy(m->refused_qd, qd);
    if (t - m->refused_since < s->state_timeout * s->almost) {
      say(m, NO_PROBLEM, (int)joint, value, bound);
      return code;
    }
  } else if (m->good) ahead = greater(ahead, m->good_ahead);
  m->good = 1; m->refused = 0;
  m->good_t = t; m->good_ahead = ahead;
  copy(m->good_q, q); copy(m->good_qd, qd);
  return 0;
}

/* VelocityEstimate.update */
static void estimate_velocity(const Settings* s, State* m, double t, const double* q, double* qd) {
  const double dt = t - m->estimate_t;
  if (!m->estimate_known || !(0 <= dt && dt <= s->state_timeout)) clear(m->estimate_v);
  else if (dt > 0)
    EACH m->estimate_v[i] += ((q[i] - m->estimate_q[i]) / dt - m->estimate_v[i]) * (dt / (s->velocity_filter + dt));
  m->estimate_known = 1; m->estimate_t = t;
  copy(m->estimate_q, q); copy(qd, m->estimate_v);
}

static int validate(const Settings* s, State* m, Period* p) {
  p->age = p->now - p->t;
  if (!(fabs(p->age) <= s->state_timeout)) { say(m, NO_PROBLEM, 0, p->age, s->state_timeout); return STALE; }
  if (!is_finite(p->q) || (p->has_velocity && !is_finite(p->qd))) return NOT_FINITE;
  EACH if (s->circular[i]) p->q[i] -= s->turn * nearbyint((p->q[i] - m->last_q[i]) / s->turn);
  if (!p->has_velocity) {
    if (!s->estimates_velocity) return NO_VELOCITY;
    estimate_velocity(s, m, p->t, p->q, p->qd);
  }
  const int code = check_continuity(s, m, p->t, p->now, p->q, p->qd);
  if (!code) copy(m->last_q, p->q);
  return code;
}

/* --- faults/sampling.py */

/* Measures period and delay. Nonzero if they have to be judged anew. */
static int measure_sampling(const Settings* s, State* m, double t, double age) {
  const double dt = t - m->sampling_last;
  m->sampling_last = t;
  if (!(0 < dt && dt < INFINITY)) return 0;
  const double least = smaller(dt, m->before), since = t - m->judged_t;
  m->before = dt;
  if (dt > s->state_timeout) m->period = greater(m->period, least);
  else {
    m->count++;
    const double part = 1 / smaller((double)m->count, s->sampling_memory);
    m->mean += part * (dt - m->mean);
    m->period = greater(m->mean, least);
    m->delay += part * (greater(age, 0) - m->delay);
  }
  const double most = s->sampling_change * m->judged_period;
  const int still = m->period + m->delay <= m->sure ||
    (fabs(m->period - m->judged_period) <= most && fabs(m->delay - m->judged_delay) <= most);
  const int known = (double)m->count >= s->first_periods || m->period > s->state_timeout;
  if (!known || (still && 0 <= since && since < s->reassess)) return 0;
  m->judged_period = m->period; m->judged_delay = m->delay; m->judged_t = t;
  return 1;
}

/* --- faults/plausibility.py */

static void stand(State* m) {
  clear(m->rest); clear(m->load); clear(m->stood); clear(m->speed); clear(m->free); clear(m->way);
  clear(m->offset); clear(m->lost);
  EACH m->from[i] = NAN;
}

static void reset_plausibility(State* m) {
  m->compared = m->driven = m->after_gap = 0;
  EACH m->integral[i] = m->impulse[i] = m->ahead[i] = m->behind[i] = m->pushed[i] = 0;
  EACH m->apart[i] = m->due[i] = m->claimed[i] = m->vote[i] = 0;
  stand(m);
}

static void believe(State* m) {
  m->doubted = m->strike = 0;
  m->doubt_joint = -1; m->where = 0; m->proof = -1; m->stunned = 0;
  reset_plausibility(m);
}

static void doubt(State* m, int problem, int joint, double value, double bound) {
  m->doubted = problem; m->doubt_joint = m->doubt_problem_joint = joint;
  m->doubt_value = value; m->doubt_bound = bound;
}

static void keep_compared(State* m, double t, const double* q, const double* qd) {
  m->compared = 1; m->compared_t = t;
  copy(m->compared_q, q); copy(m->compared_qd, qd);
}

static void begin_interval(State* m, double t, const double* q, const double* qd) {
  keep_compared(m, t, q, qd);
  m->begin_t = t;
  copy(m->begin_q, q); copy(m->begin_qd, qd);
  clear(m->integral); clear(m->impulse);
  m->driven = 1;
}

static void compare_velocity(const Settings* s, State* m, double duration, const double* q, const double* qd) {
  double off[N], allowed[N], moved[N], worst = -INFINITY;
  int joint = 0;
  EACH {
    moved[i] = q[i] - m->begin_q[i];
    off[i] = moved[i] - m->integral[i];
    const double bent = 0.5 * duration * fabs(qd[i] - m->begin_qd[i]);
    allowed[i] = s->speed_error[i] * duration + s->ratio * greater(greater(fabs(moved[i]), fabs(m->integral[i])), bent);
    m->ahead[i] = greater(m->ahead[i] + off[i] - allowed[i], 0);
    m->behind[i] = greater(m->behind[i] - off[i] - allowed[i], 0);
    m->apart[i] = greater(m->ahead[i], m->behind[i]);
    if (m->apart[i] > worst) { worst = m->apart[i]; joint = i; }
  }
  if (m->proof >= 0) { /* a velocity has to prove itself */
    const int64_t j = m->doubt_joint;
    m->proof = fabs(off[j]) <= allowed[j] ? m->proof + fabs(moved[j]) : 0;
    if (m->proof > s->proof_distance) believe(m);
  } else if (worst > s->distance && !m->doubted) {
    m->proof = 0;
    doubt(m, WRONG_VELOCITY, joint, m->integral[joint] / duration, moved[joint] / duration);
  }
}

static double within(double x, double bound) { return smaller(greater(x, -bound), bound); }

static double gained_speed(double speed, double time, double driving, double borne, int counts) {
  const double excess = counts ? sign(driving) * greater(fabs(driving) - borne, 0) : 0;
  return (excess != 0 && excess * speed >= 0 ? speed : 0) + time * excess;
}

static void compare_motion(const Settings* s, State* m, double duration, const double* q, const double* qd) {
  double middle[N], mean[N], gained[N], needed[N], load[N], residual[N];
  int struck = -1, lacking = -1;
  EACH {
    middle[i] = 0.5 * (m->begin_q[i] + q[i]); mean[i] = 0.5 * (m->begin_qd[i] + qd[i]);
    gained[i] = (qd[i] - m->begin_qd[i]) / duration;
  }
  s->inverse(middle, mean, gained, s->model, needed);
  EACH { /* a joint that changes its speed as no drive could */
    residual[i] = m->impulse[i] / duration - needed[i];
    const double over = m->after_gap ? 0 : fabs(residual[i]) - s->beyond[i];
    m->pushed[i] = greater(m->pushed[i] + over * duration, 0);
    if (struck < 0 && m->pushed[i] > s->lack[i] * s->inertia[i]) struck = i;
  }
  if (struck >= 0) {
    clear(m->pushed);
    m->doubt_joint = struck; m->where = q[struck]; m->stunned = 1;
    m->strike = STRUCK; m->doubt_problem_joint = struck; m->doubt_value = fabs(residual[struck]);
    return;
  }
  s->gravity(middle, s->model, load);
  EACH { /* the friction of a joint that moves; a joint that stands although it is driven */
    if (smaller(fabs(m->begin_qd[i]), fabs(qd[i])) > s->moves[i]) {
      m->peak[i] = greater(fabs(residual[i]), (1 - duration / s->forget) * m->peak[i]);
      m->moved[i] = m->moved[i] + duration;
    }
    m->moved[i] = smaller(m->moved[i], s->learn);
    const int unmoved = m->moved[i] < s->learn;
    const double friction = unmoved ? s->friction[i] : s->modelled[i] + 2 * s->static_ratio * m->peak[i];
    const double borne = friction + (unmoved ? s->doubt[i] : s->least[i]);
    const double overcome = smaller(borne, friction + s->pull[i]);
    const int moved = !(fabs(q[i] - m->from[i]) <= s->stands + s->slip * fabs(m->way[i]));
    if (moved) m->from[i] = q[i];
    m->stood[i] = moved ? 0 : m->stood[i] + 1;
    const int settled = m->stood[i] > (unmoved ? s->settle : s->settled);
    const double share = settled ? 0 : 1 / greater(m->stood[i], 1);
    m->rest[i] += share * (residual[i] - m->rest[i]);
    m->load[i] += share * (load[i] - m->load[i]);
    const double wrong = s->wrong_load * fabs(load[i] - m->load[i]);
    const int counts = settled && !(q[i] > s->upper[i] - s->margin || q[i] < s->lower[i] + s->margin);
    const double change = residual[i] - (unmoved ? m->rest[i] : within(m->rest[i], 0.5 * borne));
    const double free = residual[i] - (unmoved ? m->rest[i] : within(m->rest[i], 0.5 * overcome));
    const double time = duration / s->inertia[i];
    m->speed[i] = gained_speed(m->speed[i], time, change, borne + wrong, counts);
    m->free[i] = gained_speed(m->free[i], time, free, overcome + wrong, counts);
    m->way[i] = settled ? m->way[i] + duration * m->speed[i] : 0;
    m->offset[i] = settled ? within(m->rest[i], 0.5 * overcome) : 0;
    if (lacking < 0 && (fabs(m->speed[i]) > s->lack[i] || fabs(m->free[i]) > s->fast[i])) {
      lacking = i;
      m->where = q[i];
      doubt(m, STANDS_STILL, i, fabs(change), 0);
    }
  }
}

/* Plausibility._reckon: where the arm seems to be. */
static void reckon_doubted(const Settings* s, State* m, double duration, const double* q, const double* qd) {
  double effort[N], gained[N], moved[N], said[N], sum = 0;
  int off[N], stands[N];
  EACH {
    const int apart = m->apart[i] > 0;
    moved[i] = (q[i] - m->begin_q[i]) / duration;
    off[i] = apart || fabs(q[i] - m->begin_q[i] - m->integral[i]) > duration * s->speed_error[i];
    effort[i] = (m->impulse[i] - duration * m->offset[i]) / duration;
    gained[i] = 0;
  }
  if (m->driven) { s->forward(m->seems_q, m->seems_qd, effort, s->model, gained); EACH gained[i] *= duration; }
  EACH {
    said[i] = m->seems_qd[i] + gained[i];
    const int slower = fabs(qd[i]) < fabs(said[i]) || m->stunned == 1;
    const int stops = fabs(qd[i] - said[i]) > s->speed_error[i] && slower && m->driven;
    const int stays = m->lost[i] > 0 && m->lost[i] < s->lost_most && fabs(q[i] - m->stopped[i]) <= s->stands;
    m->lost[i] = stops ? 1 : stays ? m->lost[i] + 1 : 0;
    if (stops || !(m->lost[i] > 0)) m->stopped[i] = q[i];
    stands[i] = (m->free[i] != 0 || m->lost[i] > 0) && !(m->apart[i] > 0);
    m->claimed[i] = off[i] ? m->claimed[i] : qd[i];
    m->due[i] = off[i] ? m->due[i] + gained[i] : 0;
    const double change = qd[i] - m->claimed[i], one = fabs(m->due[i]), other = fabs(change);
    const int explained = m->due[i] * change > 0 && one < s->similar * other && other < s->similar * one;
    if (fabs(m->vote[i]) < s->votes) m->vote[i] += explained ? 1 : -1;
    if (!(m->apart[i] > 0)) m->vote[i] = 0;
    sum += m->vote[i];
  }
  EACH {
    const int apart = m->apart[i] > 0, lies = apart && sum < 0;
    const double seems = stands[i] ? said[i] : lies ? moved[i] : qd[i];
    m->seems_q[i] = stands[i] || (apart && !lies) ? m->seems_q[i] + duration * seems : q[i];
    m->seems_qd[i] = seems;
  }
}

static void unstun(const Settings* s, State* m, const double* q) {
  m->stunned++;
  if (fabs(q[m->doubt_joint] - m->where) > s->life) { m->doubt_joint = -1; m->stunned = 0; }
  else if ((double)m->stunned > s->stunned_most) {
    m->stunned = 0;
    doubt(m, STRUCK, (int)m->doubt_problem_joint, m->doubt_value, m->doubt_bound);
  }
}

static void look_for_life(const Settings* s, State* m, const double* q) {
  if (m->doubt_joint >= 0 && m->proof < 0 && fabs(q[m->doubt_joint] - m->where) > s->life) believe(m);
}

/* Plausibility.update */
static void compare(const Settings* s, State* m, double t, const double* q, const double* qd, int measured) {
  m->strike = 0;
  if (!s->plausibility) return;
  const double dt = t - m->compared_t;
  if (!m->compared || !(0 <= dt && dt <= s->state_timeout)) {
    reset_plausibility(m);
    copy(m->seems_q, q); copy(m->seems_qd, qd); copy(m->claimed, qd); copy(m->stopped, q);
    begin_interval(m, t, q, qd);
    return;
  }
  if (dt == 0) return;
  const double usual = m->usual == 0 ? dt : m->usual;
  m->usual = usual + (smaller(dt, s->gaps * usual) - usual) / s->usual_count;
  if (dt > greater(s->gap, s->gaps * usual)) {
    look_for_life(s, m, q);
    m->after_gap = 1;
    begin_interval(m, t, q, qd);
    return;
  }
  EACH {
    m->integral[i] += 0.5 * dt * (qd[i] + m->compared_qd[i]);
    if (m->driving && m->driven) m->impulse[i] += dt * m->driving_effort[i];
  }
  if (!m->driving) m->driven = 0;
  keep_compared(m, t, q, qd);
  const double duration = t - m->begin_t;
  if (duration < s->interval) return;
  look_for_life(s, m, q);
  const int believed = !m->doubted;
  if (m->stunned && believed) unstun(s, m, q);
  if (measured) compare_velocity(s, m, duration, q, qd);
  if (m->driven && !m->doubted) compare_motion(s, m, duration, q, qd);
  if (believed) reckon_doubted(s, m, duration, q, qd);
  if (m->doubted || !m->driven) stand(m);
  m->after_gap = 0;
  begin_interval(m, t, q, qd);
}

/* --- contact/watch.py */

static void reset_observer(State* m) {
  for (int k = 0; k < 3 * N; ++k) m->observed[k] = 0;
  for (int k = 0; k < N + 8; ++k) m->external[k] = 0;
}

/* ContactWatch.update, without its judgement */
static void observe(const Settings* s, State* m, double dt, const double* q, const double* qd, int begins) {
  if (!s->observer_run) return;
  double* const* x = s->observer_arrays;
  begins = begins || !m->applies;
  if (!(dt > 0 || begins)) return;
  x[DT][0] = begins ? -1 : dt;
  copy(x[OBSERVED_Q], q); copy(x[OBSERVED_QD], qd); copy(x[BIAS], m->bias);
  EACH x[APPLIED][i] = m->applies ? m->applied[i] : 0;
  for (int k = 0; k < 3 * N; ++k) x[OBSERVED][k] = m->observed[k];
  s->observer_run(x, s->observer_constants);
  int good = 1;
  for (int k = 0; k < 3 * N; ++k) good &= isfinite(m->observed[k] = x[OBSERVED_AFTER][k]) != 0;
  for (int k = 0; k < N + 8; ++k) good &= isfinite(m->external[k] = x[EXTERNAL][k]) != 0;
  if (!good) reset_observer(m);
}

static double strength(const double* v) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/* judged: nonzero, and says why, if what acts from outside is beyond some thresholds. */
static int judge_contact(State* m, const double* most, const double* wrench) {
  const double force = strength(m->external + WRENCH), torque = strength(m->external + WRENCH + 3);
  int joint = -1;
  EACH if (!(fabs(m->external[i]) <= most[i])) joint = i;
  if (joint >= 0) {
    EACH if (fabs(m->external[i]) - most[i] > fabs(m->external[joint]) - most[joint]) joint = i;
    say(m, FELT_JOINT, joint, fabs(m->external[joint]), most[joint]);
  } else if (force > wrench[0]) say(m, FELT_FORCE, 0, force, wrench[0]);
  else if (torque > wrench[1]) say(m, FELT_TORQUE, 0, torque, wrench[1]);
  else return 0;
  return 1;
}

/* --- faults/supervisor.py */

static void remember_trail(const Settings* s, State* m, double t, const double* q) {
  if (m->trail_count && 0 <= t - m->trail_time && t - m->trail_time < s->trail_period) return;
  m->trail_last = (m->trail_last + 1) % TRAIL;
  if (m->trail_count < TRAIL) m->trail_count++;
  copy(m->trail + m->trail_last * N, q);
  m->trail_time = t;
}

static const double* trail_at(const State* m, int64_t back) {
  return m->trail + (m->trail_last - back + TRAIL) % TRAIL * N;
}

/* ActiveFault.target: where the arm is to be held. */
static void target(const Settings* s, const State* m, double t, double* q) {
  copy(q, m->found);
  if (m->phase != RETREAT || m->trail_count == 0) return;
  const double since = t - m->active_begin;
  const double place = (since > s->ease ? since - s->ease / 2 : since * since / (2 * s->ease)) / s->trail_period;
  const int64_t step = (int64_t)smaller(place, (double)m->trail_count);
  if (step == m->trail_count) { copy(q, trail_at(m, step - 1)); return; }
  const double *begin = step == 0 ? m->found : trail_at(m, step - 1), *end = trail_at(m, step);
  EACH q[i] = begin[i] + (place - (double)step) * (end[i] - begin[i]);
}

static void forget(State* m, int kind) { m->history_latched[kind] = m->level[kind] = 0; m->spent[kind] = 0; }

void acknowledge(State* m) {
  for (int k = 0; k < KINDS; ++k) {
    forget(m, k);
    m->begins_count[k] = 0;
    m->seen[k] = m->reacted[k] = -INFINITY;
  }
}

/* Kind of the fault of a usable state, -1 for none; `present` is 0 if it is latched and its cause is away. */
static int detect(const Settings* s, State* m, double t, const double* qd, int* present) {
  int joint = -1;
  double most = -INFINITY;
  *present = 1;
  if (m->doubted) {
    say(m, (int)m->doubted, (int)m->doubt_problem_joint, m->doubt_value, m->doubt_bound);
    return SENSOR;
  }
  EACH if (!(fabs(qd[i]) <= s->greatest_speed[i])) joint = i;
  if (joint >= 0) {
    EACH if (fabs(qd[i]) - s->greatest_speed[i] > most) { most = fabs(qd[i]) - s->greatest_speed[i]; joint = i; }
    say(m, TOO_FAST, joint, qd[joint], s->greatest_speed[joint]);
    return SPEED;
  }
  if (s->observer_run && m->external[ENERGY] > s->energy) {
    say(m, FELT_ENERGY, 0, m->external[ENERGY], s->energy);
    return SPEED;
  }
  if (m->conflict) { say(m, NO_PROBLEM, 0, 0, 0); return PUBLISHER; }
  if (m->carried < 1 || m->period > s->state_timeout) { say(m, NO_PROBLEM, 0, m->carried, m->period); return RATE; }
  int contact = m->told ? COLLISION + (int)m->told - 1 : -1;
  if (contact != -1) say(m, NO_PROBLEM, 0, 0, 0);
  if (s->observer_run && s->judges_contact && contact != COLLISION) {
    if (judge_contact(m, s->collision, s->collision_wrench)) contact = COLLISION;
    else if (judge_contact(m, s->touch, s->touch_wrench)) contact = TOUCH;
  }
  if (contact >= 0) return m->active && m->active_kind == COLLISION ? COLLISION : contact;
  if (m->strike) { say(m, STRUCK, (int)m->doubt_problem_joint, m->doubt_value, 0); return FOLLOWING; }
  if (!m->active) return -1;
  for (int k = 0; k < KINDS; ++k) {
    m->seen[k] = smaller(m->seen[k], t); /* time may go back */
    if (m->history_latched[k] && t - m->seen[k] >= s->quiet_time) forget(m, k);
    if (m->history_latched[k]) { *present = 0; say(m, LATCHED, 0, 0, 0); return k; }
  }
  return -1;
}

/* FaultHistory.repeat: the fault begins again; nonzero if the reaction escalates. */
static int repeat(const Settings* s, State* m, int kind, double t) {
  double* begins = m->begins + kind * MOST_BEGINS;
  int64_t gone = 0, count = m->begins_count[kind];
  if (!(0 <= t - m->seen[kind] && t - m->seen[kind] < s->quiet_time)) forget(m, kind);
  begins[count++] = t;
  while (!(0 <= t - begins[gone] && t - begins[gone] <= s->recurrence_time)) ++gone;
  for (int64_t k = gone; k < count; ++k) begins[k - gone] = begins[k];
  m->begins_count[kind] = count -= gone;
  if (count < s->recurrences) return 0;
  m->begins_count[kind] = 0;
  m->history_latched[kind] = 1; m->level[kind]++; m->spent[kind] = 0;
  return 1;
}

/* GravityEffort.to_send in step.py */
static void weight(const Settings* s, State* m, const double* q, double* effort) {
  s->gravity(q, s->model, effort);
  if (is_finite(effort)) { copy(m->gravity_last, effort); m->gravity_known = 1; }
  EACH effort[i] = m->gravity_known ? s->sent_part[i] * m->gravity_last[i] : 0;
}

/* --- faults/dead_reckoning.py */

static void begin_reckoning(const Settings* s, State* m, double t, const double* q, const double* qd) {
  m->reckoned_t = t;
  EACH { m->reckoned_q[i] = smaller(greater(q[i], s->lower[i]), s->upper[i]); m->reckoned_qd[i] = qd[i]; }
}

/* DeadReckoning.advance */
static void reckon(const Settings* s, State* m, double t, const double* effort) {
  const double dt = t - m->reckoned_t, steps = smaller(ceil(greater(dt, 0) / s->reckon_step), s->reckon_steps);
  const double step = smaller(dt, s->reckon_steps * s->reckon_step) / greater(steps, 1);
  m->reckoned_t = t;
  for (double k = 0; k < steps; ++k) {
    double gained[N], qd[N];
    s->forward(m->reckoned_q, m->reckoned_qd, effort, s->model, gained);
    EACH qd[i] = m->reckoned_qd[i] + step * gained[i];
    if (!is_finite(qd)) { clear(m->reckoned_qd); return; }
    EACH {
      const double q = m->reckoned_q[i] + step * qd[i];
      m->reckoned_qd[i] = q >= s->lower[i] && q <= s->upper[i] ? qd[i] : 0;
      m->reckoned_q[i] = smaller(greater(q, s->lower[i]), s->upper[i]);
    }
  }
}

/* DeadReckoning.stop */
static void stop_effort(const Settings* s, State* m, double* effort) {
  double slower[N], moving[N];
  weight(s, m, m->reckoned_q, effort);
  if (!m->gravity_known) return;
  EACH slower[i] = -m->reckoned_qd[i] / s->stop_time;
  s->inverse(m->reckoned_q, m->reckoned_qd, slower, s->model, moving);
  EACH moving[i] = effort[i] + (moving[i] - m->gravity_last[i]);
  if (is_finite(moving)) copy(effort, moving);
}

/* ActiveFault.effort; q is 0 without a state. */
static void reaction_effort(const Settings* s, State* m, double t, const double* q, const double* qd, double* effort) {
  if (t < m->active_begin) { m->until += t - m->active_begin; m->active_begin = t; m->left = 1; m->ramped = m->until; }
  if (q && m->blind) copy(m->found, q);
  m->blind = !q;
  if (!q) qd = m->reckoned_qd;
  if (t >= m->until) {
    int fast = 0;
    EACH fast |= !(fabs(qd[i]) <= s->velocity_limit[i]);
    m->phase = RAMP;
    m->left -= (t - m->ramped) / (fast ? smaller(s->steep, m->ramp_down_time) : m->ramp_down_time);
    m->ramped = t;
    if (m->left <= 0) { m->left = 0; clear(effort); return; }
  }
  if (!m->carries) { EACH effort[i] = m->left * (-m->carried_damping[i] * qd[i]); return; }
  if (!q) stop_effort(s, m, effort);
  else {
    double held[N];
    weight(s, m, q, effort);
    target(s, m, t, held);
    if (m->phase != FLOAT) EACH effort[i] = effort[i] + m->carried_stiffness[i] * (held[i] - q[i]);
    EACH effort[i] = effort[i] - m->carried_damping[i] * qd[i];
  }
  EACH effort[i] = m->left * effort[i];
}

/* FaultSupervisor.react, with what ControlLoop does before it. The period has the state, if `has_state`. */
static int react(const Settings* s, State* m, Period* p, double t, int kind, int present, int has_state) {
  const int before = m->active != 0, another = !before || m->active_kind != kind;
  const int returns = present && before && !m->present, was_blind = before && m->blind;
  double effort[N], added[N];
  reset_step(&m->memory);
  m->driving = 0;
  if (has_state) start(m, t, p->q);
  if (!another) m->spent[kind] += greater(t - m->reacted[kind], 0);
  m->reacted[kind] = t;
  const int escalated = (another || returns) && present && repeat(s, m, kind, t);
  if (s->needs_quiet[kind]) m->history_latched[kind] = 1;
  if (another || escalated) {
    int64_t answer = s->answers[kind * LEVELS + (m->level[kind] < LEVELS ? m->level[kind] : LEVELS - 1)];
    if (before && m->phase == RETREAT) m->trail_count = 0;
    if (before && m->phase >= RAMP) answer = m->phase; /* no way back from there as long as anything is wrong */
    const double left = greater(s->expiry[kind] - m->spent[kind], 0);
    const int fades = answer == RAMP && s->answers[kind * LEVELS] != DAMP && (!before || m->carries);
    m->carries = (answer != DAMP && answer != RAMP) || fades;
    if (!before) m->left = 1;
    m->faults++;
    m->active = 1; m->active_kind = kind; m->phase = answer;
    m->active_begin = t; m->until = answer >= RAMP ? t : answer == WAIT ? INFINITY : t + left;
    m->ramp_down_time = s->ramp_down_time;
    m->ramped = m->until; m->blind = 0;
    copy(m->found, m->q);
  }
  m->present = present; m->latched = m->history_latched[kind];
  if (present) m->seen[kind] = t;
  p->kind = kind;
  m->applies = 0;
  if (m->memory.is_sending == 0) return NOTHING;
  EACH added[i] = m->gravity_known ? (1 - s->sent_part[i]) * m->gravity_last[i] : 0;
  const int believed = has_state && kind != SENSOR && !m->stunned;
  if (!believed && was_blind) { EACH effort[i] = m->memory.sent[i] + added[i]; reckon(s, m, t, effort); }
  else if (!believed && has_state) begin_reckoning(s, m, t, m->seems_q, m->seems_qd);
  else if (!believed) { /* the drives hold on to the last command */
    begin_reckoning(s, m, t - p->age, m->q, m->qd);
    EACH effort[i] = m->memory.sent[i] + added[i];
    reckon(s, m, t, effort);
  }
  reaction_effort(s, m, t, believed ? p->q : 0, p->qd, effort);
  EACH added[i] = m->gravity_known ? (1 - s->sent_part[i]) * m->gravity_last[i] : 0;
  limit(s, &m->memory, t, effort, added, p->rows);
  int limited = 0;
  EACH limited |= p->rows[RATE_LIMITED * N + i] != 0;
  if (m->left == 0 && !limited) { m->phase = SILENT; fall_silent(s, &m->memory, t); return NOTHING; }
  m->applies = 1;
  EACH m->applied[i] = p->rows[i] + added[i];
  return SENT;
}

/* --- loop.py */

static inline void set_step(double* const* x, double t, double dt, const double* q, const double* qd, const double* reference) {
  x[TIMES][0] = t; x[TIMES][1] = dt;
  copy(x[STATE], q); copy(x[STATE + 1], qd);
  for (int k = 0; k < REFERENCES; ++k) copy(x[REFERENCE + k], reference + k * N);
}

/* That part of planned efforts as feed-forward which the law does not give by itself: for an arm on the reference, without
   integral. The law learns nothing from this step, and its results are overwritten by the next. */
static void add_planned(const Settings* s, const double* planned, double* reference) {
  StepMemory fresh = {0};
  double* const memory = s->step_arrays[MEMORY];
  fresh.has_requested = fresh.is_sending = 1;
  s->step_arrays[MEMORY] = (double*)&fresh;
  set_step(s->step_arrays, 0, 0, reference, reference + N, reference);
  s->step_run(s->step_arrays, s->step_constants);
  s->step_arrays[MEMORY] = memory;
  const double *own = s->step_arrays[RESULTS] + (ROWS - 1) * N, *effort = reference + 3 * N;
  EACH reference[3 * N + i] = isnan(planned[i]) ? effort[i] : planned[i] - own[i] + effort[i];
}

/* ControlLoop.stop */
void stop(const Settings* s, State* m) {
  m->good = m->refused = m->estimate_known = 0; clear(m->estimate_v);
  reset_shaping(s, &m->memory);
  end_following(&m->sources, SWITCHED_OFF);
  m->time = -INFINITY; m->sources.source = WAITING; m->sources.has_next = 0;
  reset_step(&m->memory);
  m->active = 0;
  acknowledge(m);
  m->count = 0; m->period = m->delay = m->mean = m->before = 0; m->carried = 1; m->sampling_last = -INFINITY;
  m->judged_period = m->judged_delay = m->sure = 0; m->judged_t = -INFINITY;
  copy(m->carried_stiffness, s->stiffness); copy(m->carried_damping, s->damping);
  believe(m);
  m->driving = m->applies = m->trail_count = 0;
  reset_observer(m);
}

static int is_interrupted(const State* m) { return m->sources.following && !m->sources.outcome; }

static int answer(const Settings* s, State* m, Period* p) {
  const double t = p->t;
  int present, kind;
  p->kind = -1;
  const int code = validate(s, m, p);
  if (code) return p->alone ? code : PYTHON;
  double dt = t - m->time;
  if (p->alone == 1 && m->sources.source == WAITING) return UNSTARTED;
  const int begins = m->clock_reset || !(0 <= dt && dt <= s->state_timeout);
  if (begins) {
    if (!p->alone) return PYTHON;
    int elsewhere = 0;
    EACH elsewhere |= fabs(p->q[i] - m->q[i]) > s->position_jump;
    m->restarts += m->sources.source != WAITING;
    if (m->clock_reset && elsewhere) reset_shaping(s, &m->memory);
    m->clock_reset = m->trail_count = 0;
    start(m, t, p->q);
    reset_step(&m->memory);
    blend(&m->memory, s->blend_time);
    dt = 0;
  }
  copy(m->q, p->q); copy(m->qd, p->qd);
  const double age = greater(p->now - t, 0);
  m->memory.sent_at -= age - m->state_age; /* ControlLoop._note_age */
  m->state_age = age;
  if (measure_sampling(s, m, t, p->now - t)) {
    m->to_judge = 1;
    if (s->judge) s->judge();
  }
  compare(s, m, t, p->q, p->qd, (int)p->has_velocity);
  m->driving = 0;
  observe(s, m, dt, p->q, p->qd, begins);
  for (int k = 0; k < N + 8; ++k) p->external[k] = m->external[k];
  kind = detect(s, m, t, p->qd, &present);
  if ((kind >= 0 || m->active) && !p->alone) return PYTHON;
  if (kind >= 0) return react(s, m, p, t, kind, present, 1);
  if (m->active) { /* it is over: the arm is held where it is; ActiveFault.blend_time */
    start(m, t, p->q);
    blend(&m->memory, m->blind ? smaller(s->blend_time, s->stop_time) : s->blend_time);
    m->trail_count = 0;
  }
  if (m->memory.lagging != 0) wait(&m->sources, dt);
  if (!s->follows) {
    if (!p->alone && is_interrupted(m)) return PYTHON;
    start(m, t, p->q);
  }
  m->time = t;
  proceed(&m->sources, t, p->q);
  if (m->sources.source == STREAM) advance_lead(s, &m->sources, t);
  sample(s, &m->sources, t, p->reference);
  double given[REFERENCES * N], planned[N];
  for (int k = 0; k < REFERENCES * N; ++k) given[k] = p->reference[k];
  if (planned_at(&m->sources, t, planned)) add_planned(s, planned, p->reference);
  int far = -1;
  double most = -INFINITY;
  EACH if (!(fabs(p->reference[i] - p->q[i]) <= s->tolerance[i])) far = i;
  if (far >= 0) {
    if (!p->alone) return PYTHON;
    EACH {
      const double beyond = fabs(p->reference[i] - p->q[i]) - s->tolerance[i];
      if (beyond > most) { most = beyond; far = i; }
    }
    say(m, FAR_AWAY, far, fabs(p->reference[far] - p->q[far]), s->tolerance[far]);
    return react(s, m, p, t, FOLLOWING, 1, 1);
  }
  double* const* x = s->step_arrays;
  set_step(x, t, dt, p->q, p->qd, p->reference);
  s->step_run(x, s->step_constants);
  const int outcome = x[FLAGS][0] == 0 ? 0 : judge(&m->sources, t, x[RESULTS] + ERROR * N, p->qd);
  if ((x[FLAGS][0] == 0 || outcome > SUCCEEDED) && !p->alone) return PYTHON;
  for (int64_t k = 0; k < s->law_memory_width; ++k) x[LAW_MEMORY][k] = x[LAW_AFTER][k];
  const double* rows = x[RESULTS];
  if (is_finite(rows + GRAVITY * N)) { copy(m->gravity_last, rows + GRAVITY * N); m->gravity_known = 1; }
  if (x[FLAGS][0] == 0) {
    say(m, NO_NUMBERS, 0, 0, 0);
    if (!m->active && m->memory.is_sending == 0) { stop(s, m); return FAILED; }
    return react(s, m, p, t, LAW, 1, 1);
  }
  m->memory = *(const StepMemory*)x[AFTER];
  for (int k = 0; k < ROWS * N; ++k) p->rows[k] = rows[k];
  if (outcome) {
    m->sources.outcome = outcome;
    if (outcome != SUCCEEDED) start(m, t, p->q);
  }
  m->active = 0;
  m->stepped = 1;
  copy(m->stepped_q, p->q); copy(m->stepped_qd, p->qd);
  for (int k = 0; k < REFERENCES * N; ++k) m->stepped_reference[k] = given[k];
  copy(m->stepped_planned, planned);
  m->driving = !(t - m->memory.switched_on < s->ramp_time);
  m->applies = 1;
  EACH m->driving_effort[i] = m->applied[i] = p->rows[i] + m->memory.added[i];
  remember_trail(s, m, t, p->q);
  return outcome && !p->alone ? SETTLED : SENT;
}

/* ControlLoop.update: the command for the state in the period. Where it gives PYTHON or UNSTARTED,
   nothing has changed. */
int update(const Loop* loop) {
  State* m = loop->state;
  Period* p = loop->period;
  if (p->alone && m->sources.source != WAITING) return answer(loop->settings, m, p);
  const State before = *m;
  const Period given = *p;
  const int code = answer(loop->settings, m, p);
  if (code == PYTHON || code == UNSTARTED) { *m = before; *p = given; }
  return code;
}

/* ControlLoop.watch: the command at a time at which no usable state comes. */
int watch(const Loop* loop, double t) {
  State* m = loop->state;
  const double missing = t - m->time;
  if (m->sources.source == WAITING || !(missing > loop->settings->state_timeout)) return NOTHING;
  say(m, MISSING, 0, missing, 0);
  loop->period->kind = -1;
  loop->period->age = missing;
  return react(loop->settings, m, loop->period, t, STATES, 1, 0);
}

#ifndef WITHOUT_PYTHON /* in control/export */
extern void* PyCapsule_GetPointer(void*, const char*);
extern void* PyLong_FromLong(long);

/* `update` as a function of CPython without arguments. */
void* loop_python(void* capsule, void* none) {
  (void)none;
  return PyLong_FromLong(update(*(const Loop**)PyCapsule_GetPointer(capsule, 0)));
}

#endif
