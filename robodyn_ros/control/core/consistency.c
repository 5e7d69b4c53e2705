// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Consistency of states: do the velocities explain the positions, and do the efforts explain the velocities?

   Two residuals are tested. The stated uncertainty explains a part of each. A cumulative sum (CUSUM) adds up the rest
   until chance is excluded.

   1. Position against the integral of velocity, from state to state, by the trapezoidal rule:

        e = q - q' - (v + v') dt / 2,      O <- shrink(O + e, σ dt + |v - v'| dt / 6),      contradiction: |O| > h

      shrink(x, k) = sign(x) max(|x| - k, 0) is Page's test for both signs in one sum. A constant error of a velocity
      may be as great as its noise σ. |v - v'| dt / 6 is the error of the rule for an acceleration that grows linearly
      from zero. A velocity that lags by d adds the error d (v - v'). So there are two sums: one for a lag of 0, one for
      the greatest lag, `velocity_delay`. For a lag between these two the sums have opposite signs. O is the smaller sum
      if both have the same sign, else 0. Noise of positions does not add up, so it is a part of h only. White noise σ
      of the velocity makes O a random walk with the variance σ² dt per second and the drift -σ. Its maximum has an
      exponential distribution: P(O > h) = exp(-2 h / (σ dt)) (Siegmund). So

        h = z √2 position_noise + x σ dt / 2

   2. Effort against motion, over intervals of 10 ms. The residual of the generalized momentum is r: the mean of τ over
      the interval less the effort that the model needs for the motion in it. Friction f explains a part of it; the rest
      is tested against

        b_i = model_error · Σ_b |τ_i of body b| + unknown_payload |J_iᵀ (a - γ)| + push_force |J_i|
              + min(velocity_delay + age, T) |change of τ_i| / T

        S <- shrink(S + (r - f) T, b T),      fault: |S| > z √2 σ |M_i| + x (d_i σ)² T / (4 b_i)

      Friction acts against the motion. For a joint that moves it is between 0 and the sum of known viscous and Coulomb
      friction and unknown friction. For a joint whose velocity noise explains, |v| < z σ / √2 for the mean of two, it has
      either sign. f is the friction that explains as much of S / T + r as possible, not of r: noise cancels in the sum
      only. A mechanical stop explains the sum likewise. The error of the model that reactions correct is a mean of
      shrink(r, age |change of τ| / T): what the age of states explains is not an error of the model.

      Noise of velocities makes the momentum noisy but does not add up. Only the noise of d_i v adds up, where d_i is
      the viscous friction. Σ_b |τ_i of body b| is Σ_j |Y_ij| δθ_j of the regressor Y for δθ = model_error · θ. It is a
      sum over bodies, because the density of each body may have its own error.

   Rate of false alarms: there are K = ALARM_INTERVAL · 1 kHz · 4 n tests in the mean time between two false alarms.
   With x = ln K a random walk exceeds its bound with probability exp(-x) = 1 / K. With z = √(2 x) a Gaussian number
   does so with Q(z) < exp(-z² / 2) / 2, less than 1 / K.

   Velocity jumps. The model predicts a change of the velocity of M⁻¹ (τ - bias) dt. A state is dropped if its velocity
   changes by more than this (of either sign) and its possible error. The tests limit the velocity to that change, so
   that one wrong velocity moves neither sum. From `drop_time` on they take the velocity as it is, because impacts are
   real; if it is wrong, the first residual detects it. A jump Δv is confirmed when the joint has moved further than the
   error of the first residual, |Δv| t > 2 h + velocity_delay |Δv|, without a contradiction. Until then the test of
   efforts does not use this velocity, the test of speed uses only the speed that the positions of the latest interval
   prove, and the state is not valid.

   A contradicting state is dropped; from `drop_time` on the loop is blind. O is not shrunk as long as it is beyond h.
   So this ends only if the positions come back, or by an acknowledgement. `q`, `v` and `at` belong to the latest valid
   state: |O| < h / 2 in every joint, and no joint has just stopped suddenly.

   A joint may stand although it is driven: it is pushed, friction holds it, or its encoder is dead. These causes cannot
   be distinguished until it moves. If the encoder is dead, the joint may reach the speed w = ∫ (|r| - b without push)
   dt / M_ii without being detected. `unexplained` is the effort beyond the model's that keeps w below
   `UNDETECTED_SPEED` of the velocity limit. It shrinks to b without push, or to twice the greatest residual of the
   latest motion, because static friction is greater than that of a motion, but not much greater. If a joint was seen to
   move against a residual that friction and load do not explain, something pushes it and its encoder works. Then this
   residual stays allowed until it shrinks, and twice as much in motion. So a spring can hold against a push.

   Source: Page, Continuous inspection schemes, Biometrika 41 (1954); Siegmund, Sequential Analysis (1985), section
   II.6; Basseville and Nikiforov, Detection of Abrupt Changes (1993), chapter 5; De Luca and Mattone, Actuator failure
   detection and isolation using generalized momenta, ICRA 2003.

   Nothing here allocates or locks. */

#include "memory.h"
#include "cholesky.h"

#define ALARM_INTERVAL 1000.0 /* mean time between two false alarms [h] */
#define UNDETECTED_SPEED 0.5  /* greatest speed of a joint that is not detected, as ratio of the velocity limit */
#define INTERVAL 0.0099       /* between two tests of efforts [s], less the rounding of stamps */
#define LONG 0.015            /* time between two states from which on the acceleration within it is unknown [s] */
#define LONGEST 0.03          /* longest interval whose efforts are tested [s] */
#define FIRST_NOISE 2.5       /* noise of velocities before it is measured, as a multiple of velocity_noise */
#define RESIDUAL_TIME 0.1     /* time constant of the filtered residual [s] */
#define NOISE_TIME 1.0        /* time constant of the measured noise [s] */
#define LEAST_NOISE 1e-18      /* keeps this noise a normal number, with which a processor is quick [rad²/s²] or [m²/s²] */
#define MOVES 3               /* a joint moves if its velocity exceeds this multiple of its noise */
#define SQRT2 1.4142135623730951 /* C11 itself has no M_SQRT2 */
#define TINY 1e-9             /* keeps a division by an effort defined [N·m] or [N] */
#define STATIC 2              /* static friction, as a multiple of the residual in motion */
#define LEARN 0.1             /* time constant of the residual of a motion [s] */
#define FORGET 10.0           /* time constant with which this residual is forgotten at rest [s] */
#define ELSEWHERE 0.1         /* distance that makes a position another one [rad]; a tenth of it [m] */
#define STOOD 0.2             /* time at rest after which rest, and the effort that holds a joint, are confirmed [s] */
#define AT_STOP 0.01          /* distance from a position limit at which a stop may support a joint [rad] or [m] */

static inline double shrunk(double x, double by) { return x > by ? x - by : x < -by ? x + by : 0; }

/* x: the logarithm of the number of tests between two false alarms. */
static double log_test_count(void) { return log(ALARM_INTERVAL * 3.6e6 * 4 * N); }

/* Standard deviation of a joint's velocity: the setting, or the measured one if it is greater. */
static double velocity_noise_of(const Uncertainty* u, const Consistency* c, int i) {
  const double least = u->velocity_noise * u->scale[i];
  return sqrt(greater(least * least, c->noise[i]));
}

/* Greatest difference of two positions that noise alone explains. */
static double noise_bound(const Uncertainty* u, int i) {
  return sqrt(2 * log_test_count()) * SQRT2 * u->position_noise * u->scale[i];
}

static void reset_consistency(Consistency* c) {
  const Consistency fresh = {0};
  const int64_t dropped = c->dropped;
  *c = fresh;
  c->dropped = dropped;
  EACH c->unexplained[i] = c->motion_residual[i] = INFINITY;
}

static void begin_test(Consistency* c, double t, const double* q, const double* v) {
  c->begin_t = t;
  EACH { c->begin_q[i] = q[i]; c->begin_v[i] = v[i]; c->impulse[i] = c->effort_change[i] = 0; }
  c->effort_known = 1;
}

static void begin_states(const Uncertainty* u, Consistency* c, double t, const double* q, const double* v) {
  c->known = 1; c->last_t = t;
  EACH {
    c->noise[i] = greater(c->noise[i], pow(FIRST_NOISE * u->velocity_noise * u->scale[i], 2));
    c->last_q[i] = c->standing_q[i] = q[i]; c->last_v[i] = c->reported[i] = c->reported[N + i] = v[i];
    c->momentum[i] = c->undetected_speed[i] = c->velocity_jump[i] = c->jump_distance[i] = c->least_speed[i] = 0;
    c->sudden_stop[i] = 0;
    if (!c->contradicts) c->position_sum[i] = c->position_sum[N + i] = 0;
  }
  begin_test(c, t, q, v);
  c->effort_known = 0; c->realized_t = -INFINITY;
}

/* A state that contradicts: it is dropped, or from `drop_time` on the loop is blind. */
static int drop(const Uncertainty* u, Consistency* c, double t, int kind) {
  c->dropped++;
  if (!c->contradicts) c->contradicted_t = t;
  c->contradicts = 1;
  c->problem = kind;
  return (int)(c->verdict = t - c->contradicted_t < u->drop_time * (1 - 1e-6) && c->verdict != BLIND ? DROPPED : BLIND);
}

/* Greatest change of a velocity within dt beyond `expected`, the change that the model predicts from the effort. `most`
   is the change that noise explains. */
static double velocity_change(const Consistency* c, double most, double dt, int i, double* expected) {
  double gained = 0;
  if (!c->model_known) return INFINITY;
  for (int j = 0; j < N; ++j) gained += c->inverse_mass[i * N + j] * (c->effort[j] - c->bias[j]);
  *expected = gained * dt;
  return most + dt * (c->acceleration_error[i] + 2 * fabs(gained));
}

/* Whether a velocity of the latest state has jumped, and the positions have not confirmed this yet. */
static inline int is_unconfirmed(const Consistency* c) { return c->unconfirmed && !c->confirmed; }

/* The smaller of two sums if both have the same sign, else 0. */
static inline double smaller_sum(double a, double b) { return a * b <= 0 ? 0 : fabs(a) < fabs(b) ? a : b; }

/* Confirms a velocity jump by the positions: the sum O is within its bound, although the joint has moved further since
   the jump than O and a lag explain. */
static void confirm_jump(const Uncertainty* u, Consistency* c, int i, double dt, double jump, double least, double sum,
                         double bound) {
  if (fabs(jump) > least) c->velocity_jump[i] += jump;
  if (fabs(c->velocity_jump[i]) <= least) c->velocity_jump[i] = c->jump_distance[i] = 0;
  c->jump_distance[i] += dt * c->velocity_jump[i];
  const int far = fabs(c->jump_distance[i]) > 2 * bound + u->velocity_delay * fabs(c->velocity_jump[i]);
  if (far && fabs(sum) <= bound) { c->velocity_jump[i] = c->jump_distance[i] = 0; c->confirmed = 1; }
  c->unconfirmed |= c->velocity_jump[i] != 0;
}

/* The change of a velocity that noise explains, and the part of it for each of several: chance explains two of them as one
   whole. */
static double jump_noise(double z, double sigma) { return 1.5 * z * sigma; }
static double stop_noise(double by_noise) { return by_noise / SQRT2; }

/* A joint moves again. So the encoders of those that stopped with it may be alive, too. */
static void end_sudden_stop(Consistency* c, int i) {
  if (c->sudden_stop[i] == STOPPED_TOGETHER)
    for (int j = 0; j < N; ++j) c->sudden_stop[j] = c->sudden_stop[j] ? STOPPED_ALONE : 0;
  c->sudden_stop[i] = 0;
}

/* A velocity jumps to zero: the joint was stopped suddenly, or its encoder is dead and its position stays, too. These
   causes cannot be distinguished until the joint moves by more than `noise`, or has stood for `STOOD`. Returns whether it
   stops in this state, if the velocity was great enough. */
static int note_sudden_stop(Consistency* c, int i, double t, double q, double noise, int stands, int jumps) {
  const int stops = stands && !c->sudden_stop[i], away = fabs(q - c->stop_q[i]) > noise;
  if (stops && jumps) { c->sudden_stop[i] = STOPPED_ALONE; c->stop_q[i] = q; c->stop_t[i] = t; }
  else if (away && (!stands || c->sudden_stop[i] == STOPPED_ALONE)) end_sudden_stop(c, i);
  c->any_sudden_stop |= c->sudden_stop[i] && t - c->stop_t[i] < STOOD;
  return stops;
}

/* All joints that moved stop in the same state. An impact stops one, and changes the velocities of the others, hardly to
   zero in all of them. So if friction cannot have taken their energy within dt, these joints have dead encoders, or wrong
   velocities, until one of them moves by its position and by its velocity. `lost`: the velocities of joints that stop,
   less what noise and effort explain. `goes_on`: whether another joint moved, and did not stop. */
static void note_common_stop(const Uncertainty* u, Consistency* c, double dt, const double* q, const double* lost, int goes_on) {
  int count = 0;
  double energy = 0, taken = 0;
  if (goes_on || c->contradicts || !c->model_known) return;
  EACH if (lost[i] != 0) {
    const double speed = fabs(c->reported[N + i]);
    taken += dt * speed * (u->coulomb[i] + u->unknown_friction[i] + u->viscous[i] * speed);
    for (int j = 0; j < N; ++j) energy += lost[i] * c->mass[i * N + j] * lost[j] / 2;
    ++count;
  }
  EACH if (count > 1 && energy > taken && lost[i] != 0) {
    c->sudden_stop[i] = STOPPED_TOGETHER; c->stop_q[i] = q[i]; c->stop_t[i] = c->last_t + dt; c->stop_v[i] = c->reported[N + i];
  }
}

/* The problem of joints that have stood since they stopped in the same state. */
static int common_stop(const Uncertainty* u, Consistency* c, double z) {
  EACH if (c->sudden_stop[i] == STOPPED_TOGETHER) {
    c->joint = i; c->value = c->stop_v[i]; c->setting = BY_VELOCITY_NOISE;
    c->bound = stop_noise(jump_noise(z, velocity_noise_of(u, c, i)));
    return STOP_TOGETHER;
  }
  return NO_PROBLEM;
}

/* Test of residual 1. Returns the problem of the state. */
static int test_positions(const Uncertainty* u, Consistency* c, double dt, const double* q, const double* qd) {
  const double x = log_test_count(), z = sqrt(2 * x), ratio = smaller(dt / NOISE_TIME, 1);
  int wrong = NO_PROBLEM, is_valid = 1, goes_on = 0;
  double worst = 1, lost[N];
  c->confirmed = c->unconfirmed = c->any_sudden_stop = 0;
  EACH {
    double expected = 0;
    const double sigma = velocity_noise_of(u, c, i);
    const double by_noise = jump_noise(z, sigma), most = velocity_change(c, by_noise, dt, i, &expected), before = c->last_v[i] + expected;
    const double v = smaller(greater(qd[i], before - most), before + most);
    const double e = q[i] - c->last_q[i] - 0.5 * dt * (v + c->last_v[i]);
    const double noise = noise_bound(u, i), bound = noise + x * sigma * dt / 2;
    const double sum =
      smaller_sum(c->position_sum[i] += e, c->position_sum[N + i] += e - u->velocity_delay * (v - c->last_v[i]));
    if (fabs(sum) <= bound) {
      const double by = sigma * dt + fabs(v - c->last_v[i]) * (dt > LONG ? dt / 2 : dt / 6) +
        (dt > LONG ? c->acceleration_error[i] * dt * dt / 8 : 0);
      c->position_sum[i] = shrunk(c->position_sum[i], by); c->position_sum[N + i] = shrunk(c->position_sum[N + i], by);
    } else if (fabs(sum) > worst * bound) {
      worst = fabs(sum) / bound;
      wrong = OFF_VELOCITY; c->joint = i; c->value = sum; c->bound = bound;
      c->setting = noise > 0.5 * bound ? BY_POSITION_NOISE : BY_VELOCITY_NOISE;
    }
    is_valid &= fabs(sum) <= 0.5 * bound;
    const double jump = qd[i] - before, least = by_noise + fabs(expected);
    confirm_jump(u, c, i, dt, jump, least, sum, bound);
    const int stands = fabs(qd[i]) < MOVES * sigma, jumps = fabs(jump) > least;
    const int stops = note_sudden_stop(c, i, c->last_t + dt, q[i], noise, stands, jumps);
    lost[i] = 0;
    if (stops) lost[i] = shrunk(jump, stop_noise(by_noise) + fabs(expected));
    else goes_on |= fabs(c->reported[i]) > stop_noise(by_noise);
    if (v != qd[i] && wrong == NO_PROBLEM) {
      wrong = VELOCITY_JUMPS; c->joint = i; c->value = jump; c->bound = most; c->setting = BY_VELOCITY_NOISE;
    }
    const double bent = qd[i] - 2 * c->reported[i] + c->reported[N + i];
    const double most_noise = u->velocity_limit[i] * u->velocity_limit[i];
    c->noise[i] += ratio * (smaller(bent * bent / 6 + LEAST_NOISE, most_noise) - c->noise[i]);
    c->reported[N + i] = c->reported[i]; c->reported[i] = qd[i];
    c->last_q[i] = q[i]; c->last_v[i] = v;
  }
  note_common_stop(u, c, dt, q, lost, goes_on);
  if (wrong == NO_PROBLEM) wrong = common_stop(u, c, z);
  if (wrong == NO_PROBLEM && is_valid && !c->unconfirmed && !c->any_sudden_stop) {
    copy(c->q, q); copy(c->v, qd);
    c->at = c->last_t + dt;
  }
  return wrong;
}

/* M⁻¹; nonzero if M is positive definite. */
static int invert(const double* mass, double* inverse) {
  double l[N][N];
  if (!factored(N, (double (*)[N])mass, l)) return 0;
  for (int k = 0; k < N; ++k) {
    double column[N] = {0};
    column[k] = 1;
    solve_factored(N, l, k, column);
    EACH inverse[i * N + k] = column[i];
  }
  return 1;
}

/* The friction that explains as much of an effort as possible. It acts against the velocity of a joint that moves. */
static double friction_in(const Uncertainty* u, int i, double v, int moves, double effort) {
  const double most = u->coulomb[i] + u->unknown_friction[i] + u->viscous[i] * fabs(v);
  return smaller(greater(effort, moves && v > 0 ? 0 : -most), moves && v < 0 ? 0 : most);
}

/* Whether a mechanical stop may explain the residual. */
static int is_at_stop(const Uncertainty* u, int i, double q, double residual) {
  return (q > u->upper[i] - AT_STOP && residual > 0) || (q < u->lower[i] + AT_STOP && residual < 0);
}

/* For a joint at rest: the speed that it may have undetected, and the effort beyond the model's that it may get. `dry`
   is the friction that may hold it, `load` the possible error of its load, `travel` the distance of all joints in the
   interval. */
static void test_standing_joint(const Uncertainty* u, Consistency* c, int i, double T, double q, int moves,
                                double residual, double dry, double load, double travel, double inertia) {
  const double still = noise_bound(u, i), borne = dry + load;
  const int responds = moves || fabs(q - c->standing_q[i]) > still;
  const double seen = isfinite(c->motion_residual[i]) ? c->motion_residual[i] : borne;
  const double before = smaller(seen, greater(borne, fabs(residual)));
  const double grown = before + (borne - before) * T / FORGET;
  c->motion_residual[i] =
    responds ? greater(fabs(residual), before * (1 - T / LEARN)) : greater(before, smaller(grown, borne));
  c->travel[i] = moves ? 0 : c->travel[i] + travel;
  const double explained = smaller(borne, STATIC * c->motion_residual[i] + smaller(c->travel[i], 1) * load);
  const double most = greater(explained, (responds ? STATIC : 1) * c->motion_residual[i]);
  if (fabs(q - c->standing_q[i]) > still) { c->standing_q[i] = q; c->undetected_speed[i] = 0; }
  else c->undetected_speed[i] = greater(c->undetected_speed[i] + T * (fabs(residual) - most) / inertia, 0);
  const double left = greater(UNDETECTED_SPEED * u->velocity_limit[i] - c->undetected_speed[i], 0);
  c->unexplained[i] = most + left * inertia / INTERVAL;
}

/* Standard deviation of a joint's momentum, from the noise of all velocities and the joint's row of the mass matrix. */
static double momentum_noise(const Uncertainty* u, const Consistency* c, const double* row) {
  double variance = 0;
  EACH {
    const double one = row[i] * velocity_noise_of(u, c, i);
    variance += one * one;
  }
  return sqrt(variance);
}

/* The model at the end of an interval: the acceleration of an effort, and the error of it that the efforts' errors
   `allowed` cause. `needed` is the effort of the acceleration `gained`. */
static void keep_model(Consistency* c, const double* mass, const double* gained, const double* needed,
                       const double* allowed) {
  c->model_known = invert(mass, c->inverse_mass);
  memcpy(c->mass, mass, sizeof c->mass);
  EACH {
    c->bias[i] = needed[i]; c->acceleration_error[i] = 0;
    for (int j = 0; j < N; ++j) {
      c->bias[i] -= mass[i * N + j] * gained[j];
      const double effect = fabs(c->inverse_mass[i * N + j]);
      if (effect > 0) c->acceleration_error[i] += effect * allowed[j]; /* without an effort limit `allowed` is infinite */
    }
  }
}

/* Test of residual 2, at the end of an interval T. Returns the problem. */
static int test_efforts(const Settings* s, Consistency* c, double T, double age,
                        const double* q, const double* qd) {
  const Uncertainty* u = &s->uncertainty;
  double middle[N], mean[N], gained[N], needed[N], mass[N * N], rows[3 * N], allowed[N];
  const double x = log_test_count(), z = sqrt(2 * x);
  int wrong = NO_PROBLEM;
  double worst = 1, travel = 0;
  EACH travel += fabs(q[i] - c->begin_q[i]);
  EACH {
    middle[i] = 0.5 * (c->begin_q[i] + q[i]); mean[i] = 0.5 * (c->begin_v[i] + qd[i]);
    gained[i] = (qd[i] - c->begin_v[i]) / T;
  }
  s->inverse(middle, mean, gained, s->model, needed);
  s->mass_matrix(q, s->model, mass);
  s->sensitivity(middle, mean, gained, s->sensitivity_model, rows);
  if (!is_unconfirmed(c)) {
    EACH { c->commanded[i] = c->impulse[i] / T; c->realized[i] = needed[i]; }
    c->realized_t = c->last_t;
  }
  EACH {
    const double sigma = velocity_noise_of(u, c, i);
    needed[i] -= u->model_viscous[i] * mean[i] + u->model_coulomb[i] * sign(mean[i]);
    const double all = c->impulse[i] / T - needed[i], late = age * c->effort_change[i] / T;
    if (!c->unconfirmed && !c->any_sudden_stop) c->residual[i] += T / RESIDUAL_TIME * (shrunk(all, late) - c->residual[i]);
    const double sum = c->momentum[i] / T + all;
    const double friction = friction_in(u, i, mean[i], fabs(mean[i]) >= z * sigma / SQRT2, sum);
    const double residual = sum - friction;
    const double parts[] = {
      smaller(u->velocity_delay + age, T) * c->effort_change[i] / T, fabs(friction), u->model_error * rows[i],
      u->unknown_payload * rows[N + i], u->push_force * rows[2 * N + i]};
    double size = 0, most = 0;
    int setting = 0;
    for (int k = 0; k < 5; ++k) {
      if (k != BY_FRICTION - BY_DELAY) size += parts[k];
      if (parts[k] > most) { most = parts[k]; setting = BY_DELAY + k; }
    }
    allowed[i] = size + u->coulomb[i] + u->unknown_friction[i] + u->viscous[i] * fabs(mean[i]);
    const double noise = u->viscous[i] * sigma;
    const double bound = z * SQRT2 * momentum_noise(u, c, mass + i * N) + x * noise * noise * T / (4 * (size + TINY));
    c->momentum[i] = is_at_stop(u, i, q[i], residual) ? 0 : shrunk(residual, size) * T;
    test_standing_joint(u, c, i, T, q[i], smaller(fabs(c->begin_v[i]), fabs(qd[i])) >= MOVES * sigma, all,
                   allowed[i] - size, size - parts[4], travel, mass[i * N + i]);
    if (fabs(c->momentum[i]) > worst * bound) {
      worst = fabs(c->momentum[i]) / bound;
      c->joint = i; c->value = all; c->bound = size + fabs(friction); c->setting = setting;
      wrong = fabs(qd[i]) < z * sigma ? STANDS_DRIVEN : DISOBEYS;
    }
  }
  keep_model(c, mass, gained, needed, allowed);
  return wrong;
}

/* The first state, or the first one after a gap. It is accepted, unless the arm cannot have moved there in that time
   within its velocity limits. Then states have to be consistent for `drop_time` before they are accepted. */
static int begin_after_silence(const Uncertainty* u, Consistency* c, double t, const double* q, const double* qd) {
  int elsewhere = 0;
  EACH {
    const double away = q[i] - c->last_q[i];
    const double reach = ELSEWHERE * u->scale[i] + u->velocity_limit[i] * greater(t - c->last_t, 0);
    if (!c->known || !(fabs(away) > reach)) continue;
    elsewhere = 1; c->joint = i; c->value = away; c->bound = reach; c->setting = 0;
  }
  c->unverified = elsewhere;
  c->contradicts &= c->known && !elsewhere; /* at another position earlier contradictions do not count */
  begin_states(u, c, t, q, qd);
  c->begun = t;
  if (c->unverified) { c->verdict = TRUSTED; return drop(u, c, t, MOVED_UNSEEN); }
  copy(c->q, q); copy(c->v, qd); c->at = t;
  return (int)(c->verdict = c->contradicts ? BLIND : TRUSTED);
}

/* Whether a state with the same stamp as the one before it belongs to another arm. */
static int is_of_another_arm(const Uncertainty* u, Consistency* c, const double* q) {
  int found = 0;
  EACH {
    const double bound = noise_bound(u, i), away = q[i] - c->last_q[i];
    if (!(fabs(away) > bound)) continue;
    found = 1; c->problem = OFF_VELOCITY; c->joint = i; c->value = away; c->bound = bound; c->setting = BY_POSITION_NOISE;
  }
  c->dropped += found;
  return found;
}

/* The speed that the positions of an interval T prove despite their noise. */
static void find_least_speed(const Uncertainty* u, Consistency* c, double T, const double* q) {
  EACH c->least_speed[i] = T > 0 ? greater(fabs(q[i] - c->begin_q[i]) - noise_bound(u, i), 0) / T : 0;
}

/* Test of residual 2 if an interval has ended, or if positions have confirmed a velocity jump. Returns the problem.
   Unconfirmed velocities do not change the result. */
static int judge_efforts(const Settings* s, Consistency* c, double t, double age, const double* q, const double* qd) {
  const double T = t - c->begin_t;
  int wrong = NO_PROBLEM;
  if (c->effort_known && T < INTERVAL && !c->confirmed) return (int)c->faulty;
  if (c->effort_known && T <= LONGEST) wrong = test_efforts(s, c, T, age, q, qd);
  find_least_speed(&s->uncertainty, c, T, q);
  begin_test(c, t, q, qd);
  return is_unconfirmed(c) ? (int)c->faulty : wrong;
}

/* Adds the effort on the joints since the state before; 0 if it is unknown. */
static void add_effort(Consistency* c, double dt, const double* effort) {
  if (!effort) c->effort_known = c->model_known = 0;
  EACH {
    const double now = effort ? effort[i] : 0;
    c->impulse[i] += dt * now; c->effort_change[i] += fabs(now - c->effort[i]);
    c->effort[i] = now;
  }
}

/* Nonzero as long as states are not accepted yet, because they have to be consistent for `drop_time` first. */
static int is_unverified(const Uncertainty* u, Consistency* c, double t, int wrong, const double* q, const double* qd) {
  if (c->unverified && wrong != NO_PROBLEM) {
    EACH c->position_sum[i] = c->position_sum[N + i] = 0;
    begin_states(u, c, t, q, qd);
    c->begun = t;
    c->problem = wrong;
  } else if (!c->unverified || t - c->begun >= u->drop_time * ALMOST) c->unverified = 0;
  return (int)c->unverified;
}

/* Tests a state at the time t [s], `age` [s] old, with the mean effort on the joints since the state before it; 0 if
   the effort is unknown. Velocities may be measured, or differences of positions. Returns the verdict. */
static int check_consistency(const Settings* s, Consistency* c, double t, double age, const double* q, const double* qd,
                             const double* effort) {
  const Uncertainty* u = &s->uncertainty;
  const double dt = t - c->last_t;
  if (!c->known || !(0 <= dt && dt <= u->silence)) return begin_after_silence(u, c, t, q, qd);
  if (dt == 0) return is_of_another_arm(u, c, q) ? DROPPED : (int)c->verdict;
  add_effort(c, dt, effort);
  const int wrong = test_positions(u, c, dt, q, qd);
  c->last_t = t;
  if (is_unverified(u, c, t, wrong, q, qd)) return drop(u, c, t, (int)c->problem);
  if (wrong == VELOCITY_JUMPS && c->contradicts && t - c->contradicted_t >= u->drop_time) copy(c->last_v, qd);
  else if (wrong != NO_PROBLEM) return drop(u, c, t, wrong);
  c->contradicts = 0;
  c->problem = c->faulty = s->sensitivity ? judge_efforts(s, c, t, age, q, qd) : NO_PROBLEM;
  return (int)(c->verdict = c->faulty ? FAULTY : TRUSTED);
}

/* Tests the state of a period. A dropped state is refused. If the loop is blind, the latest valid state replaces it in
   the period. */
static int check_state_consistency(const Settings* s, State* m, Period* p) {
  Consistency* c = &m->consistency;
  if (!s->plausibility) return CORE_SEND;
  const int verdict = check_consistency(s, c, p->t, greater(p->age, 0), p->q, p->qd, m->applies ? m->applied : 0);
  if (verdict == DROPPED || verdict == BLIND) {
    say(m, (int)(c->problem + PROBLEM_KINDS * c->setting), (int)c->joint, c->value, c->bound);
    if (verdict == DROPPED) return CORE_JUMPED;
    copy(p->q, c->q); copy(p->qd, c->v);
  }
  return CORE_SEND;
}
