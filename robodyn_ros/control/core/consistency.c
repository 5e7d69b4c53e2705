// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Consistency: do the velocities explain the positions, and do the efforts explain the velocities?

   Two residuals are tested against what the stated uncertainty explains. What it does not explain is added up by a
   cumulative sum until chance is excluded.

   1. Position against the integral of velocity, from state to state, with the trapezoidal rule:

        e = q - q' - (v + v') dt / 2,      O <- shrink(O + e, σ dt + |v - v'| dt / 6),      contradiction: |O| > h

      shrink(x, k) = sign(x) max(|x| - k, 0) is Page's test for both signs in one sum. A constant error of a velocity may be
      as great as its noise σ; |v - v'| dt / 6 is the error of the rule for an acceleration that grows
      linearly from zero. A velocity that lags by d makes the error d (v - v'). So there are two sums, one for a lag of 0,
      the other for the greatest, `velocity_delay`; a lag between them makes sums of opposite signs. O is the smaller one where both
      have one sign, and 0 else. Noise of positions does not add up, and stands in h alone. White noise σ of the velocity
      makes O a random walk with the variance σ² dt per second against a drift -σ, whose maximum is exponential:
      P(O > h) = exp(-2 h / (σ dt)) (Siegmund). So

        h = z √2 position_noise + x σ dt / 2

   2. Effort against motion, over intervals of 10 ms: the residual of the generalized momentum, r = mean of τ over the
      interval less what the model needs for the motion in it. It is explained by

        b_i = model_error · Σ_b |τ_i of body b| + unknown_payload |J_iᵀ (a - γ)| + push_force |J_i| + min(velocity_delay + age, T) |change of τ_i| / T

        S <- shrink(S + r T, b T),      fault: |S| > z √2 σ |M_i| + x (d_i σ)² T / (4 b_i)

      after friction has explained what it can. It acts against the motion: of a joint that moves, anything from 0 to known
      viscous and Coulomb friction and unknown_friction · effort limit; of one that stands, Coulomb friction in both directions.

      Noise of velocities makes the momentum noisy but does not add up; only the noise of d_i v, with the viscous friction
      d_i, does. Σ_b |τ_i of body b| is Σ_j |Y_ij| δθ_j of the regressor Y for δθ = model_error · θ, body by body, for each
      body's density may be wrong by itself.

   How often chance alone gives an alarm: K = ALARM_INTERVAL · 1 kHz · 4 n chances; x = ln K makes exp(-x) of a random
   walk, and z = √(2 x) of a Gaussian number, since Q(z) < exp(-z² / 2) / 2, less than one in K.

   A velocity that changes by more than M⁻¹ (τ - bias) dt, of either sign, and what may be wrong with that is dropped, and
   followed by no more than that: one wrong velocity moves neither sum. From `drop_time` on it is taken as it is, for
   impacts are real; if it is not, the first residual says so. A jump Δv counts as true once it has led further than the first
   residual may be wrong by, |Δv| t > 2 h + velocity_delay |Δv|, and no contradiction has been found. Until then no effort is
   judged by it, nor more of its speed than the positions of the latest interval show, and the state is not certain.

   A contradicting state is dropped; from `drop_time` on the loop is blind. O stays as long as it is beyond h, so that only
   positions that come back where they belong, or an acknowledgement, end it. `q`, `v` and `at` are those of the latest
   certain state: |O| < h / 2 everywhere, and no joint just stopped at once.

   A joint that stands although it is driven is pushed, stuck by friction, or its encoder is dead. Nothing tells until it
   moves. If it moves unseen, then with w = ∫ (|r| - b without push) dt / M_ii. `unexplained` is the effort beyond what the
   model needs that keeps w below `UNSEEN` of the velocity limit: it shrinks to b without push, or to twice the greatest
   residual of its latest motion, for static friction is more than that of a motion, but not by far. Where a joint was
   seen to move against a residual that friction and load do not explain, something pushes it and its encoder lives: that much
   stays allowed until the residual shrinks, twice as much in motion. So a spring holds what pushes it.

   Source: Page, Continuous inspection schemes, Biometrika 41 (1954); Siegmund, Sequential Analysis (1985), section II.6;
   Basseville and Nikiforov, Detection of Abrupt Changes (1993), chapter 5; De Luca and Mattone, Actuator failure detection
   and isolation using generalized momenta, ICRA 2003.

   Nothing here allocates or locks. */

#include "memory.h"

#define ALARM_INTERVAL 1000.0 /* mean time between two false alarms [h] */
#define UNSEEN 0.5            /* ratio of the velocity limit that an unseen joint may have */
#define INTERVAL 0.0099       /* between two tests of efforts [s], less the rounding of stamps */
#define LONG 0.015            /* time between two states in which a motion may be anything [s] */
#define LONGEST 0.03          /* interval of which nobody knows what happened in it [s] */
#define FIRST_NOISE 2.5       /* noise of velocities before it is measured, in velocity_noise */
#define RESIDUAL_TIME 0.1      /* time constant of the residual that is remembered [s] */
#define NOISE_TIME 1.0        /* time constant of the measured noise [s] */
#define MOVES 3               /* noises of a velocity from which on a joint moves */
#define SQRT2 1.4142135623730951 /* C11 itself has no M_SQRT2 */
#define TINY 1e-9             /* keeps a division by an effort defined [N·m] or [N] */
#define STATIC 2              /* friction that holds a joint, in residuals of its motion */
#define LEARN 0.1             /* time of motion that shows its residual [s] */
#define FORGET 10.0           /* time at rest after which it may be another [s] */
#define ELSEWHERE 0.1         /* distance from where the arm was that makes it another place [rad]; a tenth of it [m] */
#define STOOD 0.2             /* how long a joint stands until that, and the effort that holds it, are known [s] */
#define AT_STOP 0.01          /* distance from a position limit at which a stop may bear a joint [rad] or [m] */

static inline double shrunk(double x, double by) { return x > by ? x - by : x < -by ? x + by : 0; }

/* ln of how often chance may give an alarm: x. */
static double log_chances(void) { return log(ALARM_INTERVAL * 3.6e6 * 4 * N); }

/* Standard deviation of a joint's velocity: the setting, or what is measured. */
static double velocity_noise_of(const Uncertainty* u, const Consistency* c, int i) {
  const double least = u->velocity_noise * u->scale[i];
  return sqrt(greater(least * least, c->noise[i]));
}

/* By how much noise alone may change the difference of two positions. */
static double noise_bound(const Uncertainty* u, int i) { return sqrt(2 * log_chances()) * SQRT2 * u->position_noise * u->scale[i]; }

static void reset_consistency(Consistency* c) {
  const Consistency fresh = {0};
  const int64_t dropped = c->dropped;
  *c = fresh;
  c->dropped = dropped;
  EACH c->unexplained[i] = c->shown[i] = INFINITY;
}

static void begin_test(Consistency* c, double t, const double* q, const double* v) {
  c->begin_t = t;
  EACH { c->begin_q[i] = q[i]; c->begin_v[i] = v[i]; c->impulse[i] = c->shift[i] = 0; }
  c->driven = 1;
}

static void begin_states(const Uncertainty* u, Consistency* c, double t, const double* q, const double* v) {
  c->known = 1; c->last_t = t;
  EACH {
    c->noise[i] = greater(c->noise[i], pow(FIRST_NOISE * u->velocity_noise * u->scale[i], 2));
    c->last_q[i] = c->stood_at[i] = q[i]; c->last_v[i] = c->raw[i] = c->raw[N + i] = v[i];
    c->momentum[i] = c->unseen[i] = c->jumped[i] = c->led[i] = c->swept[i] = 0;
    c->stops[i] = 0;
    if (!c->contradicts) c->offset[i] = c->offset[N + i] = 0;
  }
  begin_test(c, t, q, v);
  c->driven = 0; c->acted_t = -INFINITY;
}

/* The state contradicts: it is dropped, or the loop is blind. */
static int drop(const Uncertainty* u, Consistency* c, double t, int kind) {
  c->dropped++;
  if (!c->contradicts) c->contradicted_t = t;
  c->contradicts = 1;
  c->problem = kind;
  return (int)(c->verdict = t - c->contradicted_t < u->drop_time * (1 - 1e-6) && c->verdict != BLIND ? DROPPED : BLIND);
}

/* How far velocities may change within dt beyond what the model expects of the effort; `expected` is that, `most` what noise
   may change. */
static double velocity_change(const Consistency* c, double most, double dt, int i, double* expected) {
  double gained = 0;
  if (!c->modelled) return INFINITY;
  for (int j = 0; j < N; ++j) gained += c->inverse_mass[i * N + j] * (c->effort[j] - c->bias[j]);
  *expected = gained * dt;
  return most + dt * (c->acceleration_error[i] + 2 * fabs(gained));
}

/* Whether a velocity of the latest state has jumped, and positions have not shown yet that it is true. */
static inline int is_unproved(const Consistency* c) { return c->unproved && !c->proved; }

/* Of the two sums the smaller one, if both have one sign. */
static inline double smaller_sum(double a, double b) { return a * b <= 0 ? 0 : fabs(a) < fabs(b) ? a : b; }

/* Whether positions have shown of each velocity that jumped that it is true: they agree, the sum O being within its bound, although
   the jump has led further than O may be and a lag explains. */
static void prove(const Uncertainty* u, Consistency* c, int i, double dt, double jump, double least, double sum, double bound) {
  if (fabs(jump) > least) c->jumped[i] += jump;
  if (fabs(c->jumped[i]) <= least) c->jumped[i] = c->led[i] = 0;
  c->led[i] += dt * c->jumped[i];
  const int far = fabs(c->led[i]) > 2 * bound + u->velocity_delay * fabs(c->jumped[i]);
  if (far && fabs(sum) <= bound) { c->jumped[i] = c->led[i] = 0; c->proved = 1; }
  c->unproved |= c->jumped[i] != 0;
}

/* A velocity jumps to nothing: the joint was stopped at once, or its encoder is dead, whose position agrees with it. Nothing tells
   until the joint moves, or has stood for `STOOD`. */
static void note_stop(const Uncertainty* u, Consistency* c, int i, double t, double q, double v, int jumps) {
  if (jumps && fabs(v) < MOVES * velocity_noise_of(u, c, i)) { c->stops[i] = 1; c->stopped_at[i] = q; c->stopped_t[i] = t; }
  if (fabs(q - c->stopped_at[i]) > noise_bound(u, i) || !(t - c->stopped_t[i] < STOOD)) c->stops[i] = 0;
  c->stopped |= c->stops[i];
}

/* Residual 1. Gives what is wrong with the state. */
static int test_positions(const Uncertainty* u, Consistency* c, double dt, const double* q, const double* qd) {
  const double x = log_chances(), z = sqrt(2 * x), share = smaller(dt / NOISE_TIME, 1);
  int wrong = NO_PROBLEM, certain = 1;
  double worst = 1;
  c->proved = c->unproved = c->stopped = 0;
  EACH {
    double expected = 0;
    const double sigma = velocity_noise_of(u, c, i);
    const double most = velocity_change(c, 1.5 * z * sigma, dt, i, &expected), before = c->last_v[i] + expected;
    const double v = smaller(greater(qd[i], before - most), before + most);
    const double e = q[i] - c->last_q[i] - 0.5 * dt * (v + c->last_v[i]);
    const double noise = noise_bound(u, i), bound = noise + x * sigma * dt / 2;
    const double sum = smaller_sum(c->offset[i] += e, c->offset[N + i] += e - u->velocity_delay * (v - c->last_v[i]));
    if (fabs(sum) <= bound) {
      const double curved = dt > LONG ? c->acceleration_error[i] * dt * dt / 8 : 0;
      const double by = sigma * dt + fabs(v - c->last_v[i]) * (dt > LONG ? dt / 2 : dt / 6) + curved;
      c->offset[i] = shrunk(c->offset[i], by); c->offset[N + i] = shrunk(c->offset[N + i], by);
    } else if (fabs(sum) > worst * bound) {
      worst = fabs(sum) / bound;
      wrong = OFF_VELOCITY; c->joint = i; c->value = sum; c->bound = bound;
      c->setting = noise > 0.5 * bound ? BY_POSITION_NOISE : BY_VELOCITY_NOISE;
    }
    certain &= fabs(sum) <= 0.5 * bound;
    const double jump = qd[i] - before, least = 1.5 * z * sigma + fabs(expected);
    prove(u, c, i, dt, jump, least, sum, bound);
    note_stop(u, c, i, c->last_t + dt, q[i], qd[i], fabs(jump) > least);
    if (v != qd[i] && wrong == NO_PROBLEM) {
      wrong = VELOCITY_JUMPS; c->joint = i; c->value = jump; c->bound = most; c->setting = BY_VELOCITY_NOISE;
    }
    const double bent = qd[i] - 2 * c->raw[i] + c->raw[N + i], most_noise = u->velocity_limit[i] * u->velocity_limit[i];
    c->noise[i] += share * (smaller(bent * bent / 6, most_noise) - c->noise[i]);
    c->raw[N + i] = c->raw[i]; c->raw[i] = qd[i];
    c->last_q[i] = q[i]; c->last_v[i] = v;
  }
  if (wrong == NO_PROBLEM && certain && !c->unproved && !c->stopped) { copy(c->q, q); copy(c->v, qd); c->at = c->last_t + dt; }
  return wrong;
}

/* M⁻¹ by Cholesky's decomposition; nonzero if M is positive definite. */
static int invert(const double* mass, double* inverse) {
  double l[N * N];
  for (int i = 0; i < N; ++i) for (int j = 0; j <= i; ++j) {
    double sum = mass[i * N + j];
    for (int k = 0; k < j; ++k) sum -= l[i * N + k] * l[j * N + k];
    if (i == j && !(sum > 0)) return 0;
    l[i * N + j] = i == j ? sqrt(sum) : sum / l[j * N + j];
  }
  for (int k = 0; k < N; ++k) { /* columns of L⁻¹, then M⁻¹ = L⁻ᵀ L⁻¹ */
    double y[N] = {0};
    for (int i = k; i < N; ++i) {
      y[i] = i == k;
      for (int j = k; j < i; ++j) y[i] -= l[i * N + j] * y[j];
      y[i] /= l[i * N + i];
    }
    for (int i = N - 1; i >= 0; --i) {
      for (int j = i + 1; j < N; ++j) y[i] -= l[j * N + i] * y[j];
      y[i] /= l[i * N + i];
      inverse[i * N + k] = y[i];
    }
  }
  return 1;
}

/* The friction of a joint that explains most of an effort; 0 as velocity if it stands. */
static double friction_in(const Uncertainty* u, int i, double v, double effort) {
  const double dry = u->coulomb[i] + u->unknown_friction * u->effort_limit[i], most = dry + u->viscous[i] * fabs(v);
  return smaller(greater(effort, v > 0 ? 0 : -most), v < 0 ? 0 : most);
}

/* Whether a stop may bear the effort that nothing else explains. */
static int is_at_stop(const Uncertainty* u, int i, double q, double residual) {
  return (q > u->upper[i] - AT_STOP && residual > 0) || (q < u->lower[i] + AT_STOP && residual < 0);
}

/* The unseen speed of a joint that stands, and the effort beyond the model's that it may get. `dry` is the friction that
   may hold it, `load` what the model may not know of its load, `way` how far the other joints went in the interval. */
static void watch_standing(const Uncertainty* u, Consistency* c, int i, double T, double q, int moves, double residual,
                           double dry, double load, double way, double inertia) {
  const double still = noise_bound(u, i), borne = dry + load;
  const int lives = moves || fabs(q - c->stood_at[i]) > still;
  const double seen = isfinite(c->shown[i]) ? c->shown[i] : borne, before = smaller(seen, greater(borne, fabs(residual)));
  const double grown = before + (borne - before) * T / FORGET;
  c->shown[i] = lives ? greater(fabs(residual), before * (1 - T / LEARN)) : greater(before, smaller(grown, borne));
  c->way[i] = moves ? 0 : c->way[i] + way;
  const double explained = smaller(borne, STATIC * c->shown[i] + smaller(c->way[i], 1) * load);
  const double most = greater(explained, (lives ? STATIC : 1) * c->shown[i]);
  if (fabs(q - c->stood_at[i]) > still) { c->stood_at[i] = q; c->unseen[i] = 0; }
  else c->unseen[i] = greater(c->unseen[i] + T * (fabs(residual) - most) / inertia, 0);
  const double left = greater(UNSEEN * u->velocity_limit[i] - c->unseen[i], 0);
  c->unexplained[i] = most + left * inertia / INTERVAL;
}

/* Residual 2, at the end of an interval T. Gives what is wrong. */
static int test_efforts(const Settings* s, Consistency* c, double T, double age,
                        const double* q, const double* qd) {
  const Uncertainty* u = &s->uncertainty;
  double middle[N], mean[N], gained[N], needed[N], mass[N * N], rows[3 * N], allowed[N];
  const double x = log_chances(), z = sqrt(2 * x);
  int wrong = NO_PROBLEM;
  double worst = 1, way = 0;
  EACH way += fabs(q[i] - c->begin_q[i]);
  EACH {
    middle[i] = 0.5 * (c->begin_q[i] + q[i]); mean[i] = 0.5 * (c->begin_v[i] + qd[i]);
    gained[i] = (qd[i] - c->begin_v[i]) / T;
  }
  s->inverse(middle, mean, gained, s->model, needed);
  s->mass_matrix(q, s->model, mass);
  s->sensitivity(middle, mean, gained, s->sensitivity_model, rows);
  if (!c->unproved) { EACH { c->told[i] = c->impulse[i] / T; c->acted[i] = needed[i]; } c->acted_t = c->last_t; }
  EACH {
    const double sigma = velocity_noise_of(u, c, i);
    needed[i] -= u->model_viscous[i] * mean[i] + u->model_coulomb[i] * ((mean[i] > 0) - (mean[i] < 0));
    const double all = c->impulse[i] / T - needed[i];
    if (!c->unproved && !c->stopped) c->residual[i] += fmin(T / RESIDUAL_TIME, 1) * (all - c->residual[i]);
    const double friction = friction_in(u, i, fabs(mean[i]) < MOVES * sigma ? 0 : mean[i], all), residual = all - friction;
    const double parts[] = {
      smaller(u->velocity_delay + age, T) * c->shift[i] / T, fabs(friction), u->model_error * rows[i], u->unknown_payload * rows[N + i],
      u->push_force * rows[2 * N + i]};
    double size = 0, most = 0, inertia = 0;
    int setting = 0;
    for (int k = 0; k < 5; ++k) {
      if (k != BY_FRICTION - BY_DELAY) size += parts[k];
      if (parts[k] > most) { most = parts[k]; setting = BY_DELAY + k; }
    }
    for (int j = 0; j < N; ++j) {
      const double one = mass[i * N + j] * velocity_noise_of(u, c, j);
      inertia += one * one;
    }
    allowed[i] = size + u->coulomb[i] + u->unknown_friction * u->effort_limit[i] + u->viscous[i] * fabs(mean[i]);
    const double rattle = u->viscous[i] * sigma, bound = z * SQRT2 * sqrt(inertia) + x * rattle * rattle * T / (4 * (size + TINY));
    const double counts = is_at_stop(u, i, q[i], residual) ? 0 : residual;
    c->momentum[i] = shrunk(c->momentum[i] + counts * T, size * T);
    watch_standing(u, c, i, T, q[i], smaller(fabs(c->begin_v[i]), fabs(qd[i])) >= MOVES * sigma, all,
                   allowed[i] - size, size - parts[4], way, mass[i * N + i]);
    if (fabs(c->momentum[i]) > worst * bound) {
      worst = fabs(c->momentum[i]) / bound;
      c->joint = i; c->value = all; c->bound = size + fabs(friction); c->setting = setting;
      wrong = fabs(qd[i]) < z * sigma ? STANDS_DRIVEN : DISOBEYS;
    }
  }
  c->modelled = invert(mass, c->inverse_mass);
  EACH {
    c->bias[i] = needed[i]; c->acceleration_error[i] = 0;
    for (int j = 0; j < N; ++j) {
      c->bias[i] -= mass[i * N + j] * gained[j];
      c->acceleration_error[i] += fabs(c->inverse_mass[i * N + j]) * allowed[j];
    }
  }
  return wrong;
}

/* The first state, or one after silence: it is accepted, unless the arm cannot have gone there in that time within its velocity
   limits; then states have to be consistent for `drop_time`. */
static int begin_after_silence(const Uncertainty* u, Consistency* c, double t, const double* q, const double* qd) {
  int elsewhere = 0;
  EACH {
    const double away = q[i] - c->last_q[i], reach = ELSEWHERE * u->scale[i] + u->velocity_limit[i] * greater(t - c->last_t, 0);
    if (!c->known || !(fabs(away) > reach)) continue;
    elsewhere = 1; c->joint = i; c->value = away; c->bound = reach; c->setting = 0;
  }
  c->unsure = elsewhere;
  c->contradicts &= c->known && !elsewhere; /* what contradicted before is forgotten with where the arm was */
  begin_states(u, c, t, q, qd);
  c->begun = t;
  if (c->unsure) { c->verdict = TRUSTED; return drop(u, c, t, MOVED_UNSEEN); }
  copy(c->q, q); copy(c->v, qd); c->at = t;
  return (int)(c->verdict = c->contradicts ? BLIND : TRUSTED);
}

/* Whether a state of the same time as the one before it is of another arm. */
static int is_another(const Uncertainty* u, Consistency* c, const double* q) {
  int found = 0;
  EACH {
    const double bound = noise_bound(u, i), away = q[i] - c->last_q[i];
    if (!(fabs(away) > bound)) continue;
    found = 1; c->problem = OFF_VELOCITY; c->joint = i; c->value = away; c->bound = bound; c->setting = BY_POSITION_NOISE;
  }
  c->dropped += found;
  return found;
}

/* The speed that the positions of an interval T show, whatever their noise. */
static void find_swept(const Uncertainty* u, Consistency* c, double T, const double* q) {
  EACH c->swept[i] = T > 0 ? greater(fabs(q[i] - c->begin_q[i]) - noise_bound(u, i), 0) / T : 0;
}

/* Residual 2, where an interval is over or positions have shown that a jump was true. Gives what is wrong, which is not
   judged by velocities that may not be true. */
static int judge_efforts(const Settings* s, Consistency* c, double t, double age, const double* q, const double* qd) {
  const double T = t - c->begin_t;
  int wrong = NO_PROBLEM;
  if (c->driven && T < INTERVAL && !c->proved) return (int)c->faulty;
  if (c->driven && T <= LONGEST) wrong = test_efforts(s, c, T, age, q, qd);
  find_swept(&s->uncertainty, c, T, q);
  begin_test(c, t, q, qd);
  return is_unproved(c) ? (int)c->faulty : wrong;
}

/* Effort on the joints since the state before it, or 0 if nobody knows. */
static void add_effort(Consistency* c, double dt, const double* effort) {
  if (!effort) c->driven = c->modelled = 0;
  EACH {
    const double now = effort ? effort[i] : 0;
    c->impulse[i] += dt * now; c->shift[i] += fabs(now - c->effort[i]);
    c->effort[i] = now;
  }
}

/* States that have to show first that they are consistent: nonzero while they have not. */
static int is_unsure(const Uncertainty* u, Consistency* c, double t, int wrong, const double* q, const double* qd) {
  if (c->unsure && wrong != NO_PROBLEM) {
    EACH c->offset[i] = c->offset[N + i] = 0;
    begin_states(u, c, t, q, qd);
    c->begun = t;
    c->problem = wrong;
  } else if (!c->unsure || t - c->begun >= u->drop_time * ALMOST) c->unsure = 0;
  return (int)c->unsure;
}

/* A state at time t [s], `age` [s] old, with the mean effort on the joints since the state before it, or 0 if nobody knows.
   Velocities may be measured, or differences of positions. Gives the verdict. */
static int check_consistency(const Settings* s, Consistency* c, double t, double age, const double* q, const double* qd,
                             const double* effort) {
  const Uncertainty* u = &s->uncertainty;
  const double dt = t - c->last_t;
  if (!c->known || !(0 <= dt && dt <= u->silence)) return begin_after_silence(u, c, t, q, qd);
  if (dt == 0) return is_another(u, c, q) ? DROPPED : (int)c->verdict;
  add_effort(c, dt, effort);
  const int wrong = test_positions(u, c, dt, q, qd);
  c->last_t = t;
  if (is_unsure(u, c, t, wrong, q, qd)) return drop(u, c, t, (int)c->problem);
  if (wrong == VELOCITY_JUMPS && c->contradicts && t - c->contradicted_t >= u->drop_time) copy(c->last_v, qd);
  else if (wrong != NO_PROBLEM) return drop(u, c, t, wrong);
  c->contradicts = 0;
  c->problem = c->faulty = s->sensitivity ? judge_efforts(s, c, t, age, q, qd) : NO_PROBLEM;
  return (int)(c->verdict = c->faulty ? FAULTY : TRUSTED);
}

/* A state of a period. A state that is dropped is refused. Where the loop is blind, the period has the latest certain state
   in its place. */
static int compare(const Settings* s, State* m, Period* p) {
  Consistency* c = &m->consistency;
  if (!s->plausibility) return CORE_SEND;
  const int known = m->applies && (m->driving || m->active);
  const int verdict = check_consistency(s, c, p->t, greater(p->age, 0), p->q, p->qd, known ? m->applied : 0);
  if (verdict == DROPPED || verdict == BLIND) {
    say(m, (int)(c->problem + PROBLEM_KINDS * c->setting), (int)c->joint, c->value, c->bound);
    if (verdict == DROPPED) return CORE_JUMPED;
    copy(p->q, c->q); copy(p->qd, c->v);
  }
  return CORE_SEND;
}

/* The effort beyond what the model needs is limited where it may move a joint that nobody sees. */
static void limit_unexplained(const Settings* s, State* m, double* rows) {
  const Consistency* c = &m->consistency;
  if (!s->plausibility || !c->modelled || !m->applies) return;
  EACH {
    const double needed = c->bias[i] - m->memory.added[i], effort = rows[EFFORT * N + i];
    const double limited = needed + within(effort - needed, c->unexplained[i]);
    if (!differ(effort, limited)) continue; /* by rounding */
    rows[EFFORT * N + i] = m->memory.sent[i] = limited;
    rows[SATURATED * N + i] = s->step_arrays[FLAGS][1] = 1;
    m->memory.cut[i] += effort - limited;
  }
}
