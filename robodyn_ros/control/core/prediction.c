// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The prediction of the motion, for reactions without valid states: the error of the model that was observed, the motion
   under the last efforts, and which part of contradicting states is trusted. */

#include "memory.h"

#define STANDS 5e-3 /* greatest motion of the joints of an arm that stands [rad] or [m] */
#define PREDICTION_STEP 5e-3 /* step of the prediction by the model [s] */
#define PREDICTION_STEPS 20 /* greatest number of these steps in a period */
#define VELOCITY_TIME 0.005 /* time constant of the velocity by differences of positions [s] */
#define LATELY 0.05 /* time for which a speed counts as recent [s] */
#define BRAKING 0.15 /* longest time for which an arm is braked without valid states, and the model predicts its motion [s] */
#define SLOW 0.1 /* speed of a slow joint, as ratio of the velocity limit */

/* The possible error of the gravity effort at q by masses and a payload, and the part of it that was observed lately.
   For a joint that moves, the part that friction may explain is left out, because it would accelerate the joint. A
   residual that neither known friction nor weight explains is dry friction if it braked the joint, or may have held it;
   else it may accelerate the joint. */
static void find_gravity_error(const Settings* s, State* m, const double* q) {
  const Uncertainty* u = &s->uncertainty;
  const Consistency* c = &m->consistency;
  const double none[N] = {0};
  double rows[3 * N] = {0};
  if (s->sensitivity) s->sensitivity(q, none, none, s->sensitivity_model, rows);
  EACH {
    const double v = s->plausibility ? c->v[i] : m->qd[i], residual = s->plausibility ? c->residual[i] : 0;
    const int moves = fabs(v) > MOVES * velocity_noise_of(u, c, i), against = !moves || residual * v > 0;
    const double known = against ? within(residual, u->coulomb[i] + (moves ? u->viscous[i] * fabs(v) : 0)) : 0;
    m->gravity_error[i] = u->model_error * rows[i] + u->unknown_payload * rows[N + i];
    m->model_residual[i] = within(residual - known, m->gravity_error[i]);
    m->gravity_correction[i] = within(residual - (moves ? friction_in(u, i, v, 1, residual) : 0), m->gravity_error[i]);
    const double rest = fabs(residual - known - m->model_residual[i]);
    const int is_friction = moves ? against : rest <= u->unknown_friction[i];
    m->dry_friction[i] = u->coulomb[i] + (is_friction ? rest : 0);
    m->disturbance[i] = is_friction ? 0 : rest;
  }
}

/* For a state to which the law responds: records since when the arm stands, and its recent speed. */
static void note_motion(State* m, double t, const double* q, const double* qd, const Uncertainty* u) {
  const double since = t - m->stepped_t, left = since >= 0 ? greater(1 - since / LATELY, 0) : 0; /* time may go back */
  const int proved = !m->consistency.unconfirmed;
  EACH m->recent_speed[i] = greater(proved ? fabs(qd[i]) : 0, left * m->recent_speed[i]);
  int moved = !(0 <= since && since < STOOD);
  EACH moved |= !(fabs(q[i] - m->stood_q[i]) <= STANDS * u->scale[i]);
  if (moved) { copy(m->stood_q, q); m->stood_since = t; }
  m->stepped_t = t;
}

/* The mass matrix at q, and the momentum M v. */
static void find_momentum(const Settings* s, const double* q, const double* v, double* mass, double* momentum) {
  s->mass_matrix(q, s->model, mass);
  EACH {
    momentum[i] = 0;
    for (int j = 0; j < N; ++j) momentum[i] += mass[i * N + j] * v[j];
  }
}

/* Adds friction to a step of the model's motion. `free` has the velocities without friction. Friction brakes them, but
   reverses none: (M + dt B) v = M v_free with B = viscous + dry / |v|. A light joint keeps the velocity at which
   friction balances its effort. */
static void brake_by_friction(const Settings* s, const State* m, double dt, const double* free, const double* q, double* v) {
  const Uncertainty* u = &s->uncertainty;
  double mass[N * N], momentum[N], l[N][N];
  find_momentum(s, q, free, mass, momentum);
  EACH mass[i * N + i] +=
    dt * (u->viscous[i] + m->dry_friction[i] / greater(fabs(v[i]), u->velocity_noise * u->scale[i]));
  if (!factored(N, (double (*)[N])mass, l)) { copy(v, free); return; }
  copy(v, momentum);
  solve_factored(N, l, 0, v);
}

/* Integrates the model's motion under the last command: by the position in the middle of each step, so the error is of
   second order. */
static void integrate_model(const Settings* s, const State* m, double steps, double dt, double* q, double* v) {
  const Uncertainty* u = &s->uncertainty;
  double free[N], effort[N];
  for (int k = 0; k < (int)steps; ++k) {
    EACH effort[i] =
      m->applied[i] - m->model_residual[i] + u->model_viscous[i] * v[i] + u->model_coulomb[i] * sign(v[i]);
    EACH q[i] += dt / 2 * v[i];
    s->forward(q, v, effort, s->model, free);
    EACH free[i] = v[i] + dt * free[i];
    brake_by_friction(s, m, dt, free, q, v);
    EACH q[i] += dt / 2 * v[i];
  }
}

/* Continues the two predictions to the time t: the one that starts from the latest known velocity, and that by the
   model alone, which starts from the latest valid state. */
static void predict_motion(const Settings* s, State* m, double t) {
  const double left = greater(t - m->predicted_t, 0);
  m->predicted_t = t;
  if (!m->predicts || !(left > 0)) return;
  const double steps = smaller(ceil(left / PREDICTION_STEP), PREDICTION_STEPS), dt = left / steps;
  integrate_model(s, m, steps, dt, m->predicted_q, m->predicted_v);
  integrate_model(s, m, steps, dt, m->model_q, m->model_v);
}

/* Possible error of a predicted velocity, by the observed disturbance: undetected_speed + |M⁻¹| disturbance (t -
   velocity_known_t). */
static double velocity_uncertainty(const Settings* s, const State* m, double t, int i) {
  const Consistency* c = &m->consistency;
  double gained = 0;
  if (!m->predicts || !s->plausibility || !c->model_known) return 0;
  for (int j = 0; j < N; ++j) gained += fabs(c->inverse_mass[i * N + j]) * m->disturbance[j];
  return c->undetected_speed[i] + gained * (t - m->velocity_known_t);
}

/* Whether no joint can have exceeded its velocity limit. */
static int is_below_limits(const Settings* s, const State* m, double t) {
  int below = 1;
  EACH below &= !m->predicts || fabs(m->predicted_v[i]) + velocity_uncertainty(s, m, t, i) <= s->velocity_limit[i];
  return below;
}

/* Starts the predictions from the latest valid state. An arm that stood stays there. */
static void begin_prediction(const Settings* s, State* m) {
  const Consistency* c = &m->consistency;
  m->predicts = !(m->stepped_t - m->stood_since >= STOOD * ALMOST);
  EACH m->predicts |= !(m->recent_speed[i] < MOVES * velocity_noise_of(&s->uncertainty, c, i));
  m->predicted_t = m->velocity_known_t = m->predicted_since = s->plausibility ? c->at : m->time;
  copy(m->predicted_q, s->plausibility ? c->q : m->q); copy(m->predicted_v, s->plausibility ? c->v : m->qd);
  if (!m->predicts) clear(m->predicted_v);
  copy(m->model_q, m->predicted_q); copy(m->model_v, m->predicted_v);
  clear(m->divergence);
  EACH { m->valid_noise[i] = velocity_noise_of(&s->uncertainty, c, i); m->slow_until[i] = m->predicted_t; }
}

/* Whether the predictions start from the latest valid state. */
static int is_prediction_current(const Settings* s, const State* m) {
  return s->plausibility && m->predicted_since == m->consistency.at;
}

/* For a state that is not valid: continues the predictions with the efforts that were sent since, and filters the
   velocity by differences of positions. */
static void update_prediction(const Settings* s, State* m, double t) {
  const Consistency* c = &m->consistency;
  if (!s->plausibility || !(c->at < t) || !m->applies) return;
  if (!is_prediction_current(s, m)) {
    find_gravity_error(s, m, c->q);
    begin_prediction(s, m);
    m->trusted_source = UNDECIDED; m->difference_t = c->at;
    copy(m->difference_q, c->q); copy(m->difference_v, m->predicted_v);
  }
  predict_motion(s, m, t);
  const double dt = t - m->difference_t, ratio = dt / (VELOCITY_TIME + dt);
  if (m->trusted_source == TRUST_POSITIONS) copy(m->difference_v, m->predicted_v);
  if (dt > 0) EACH m->difference_v[i] += ((c->last_q[i] - m->difference_q[i]) / dt - m->difference_v[i]) * ratio;
  m->difference_t = t;
  copy(m->difference_q, c->last_q);
}

/* The faster of two velocities of a joint. 0 if they have different signs, because then damping by either may accelerate
   the joint; one within the noise has no sign. */
static double faster_of(const State* m, int i, double a, double b) {
  if (a * b < 0 && smaller(fabs(a), fabs(b)) > m->valid_noise[i]) return 0;
  return fabs(a) > fabs(b) ? a : b;
}

/* The velocity of a joint by the trusted part of contradicting states. */
static double trusted_velocity(const State* m, int i) {
  return m->trusted_source == TRUST_POSITIONS ? m->difference_v[i] : m->consistency.reported[i];
}

/* A difference of two velocities of a joint that is ignored: a slow speed, or what noise explains if that is more. It is
   the noise of valid states: contradicting ones do not raise it. */
static double slow_difference(const Settings* s, const State* m, int i) {
  return greater(SLOW * s->velocity_limit[i], sqrt(2 * log_test_count()) * SQRT2 * m->valid_noise[i]);
}

/* Finds the part of contradicting states that the prediction confirms, positions or velocities. It has at most half the
   deviation of the other one, and in each joint the deviation is within a slow speed and the error that the model may
   have made since. If neither is within that, none is trusted. */
static int find_trusted(const Settings* s, const State* m, double t) {
  double positions = 0, velocities = 0;
  EACH {
    const double x = m->predicted_v[i];
    const double most = slow_difference(s, m, i) + m->consistency.acceleration_error[i] * (t - m->velocity_known_t);
    positions = greater(positions, fabs(m->difference_v[i] - x) / most);
    velocities = greater(velocities, fabs(m->consistency.reported[i] - x) / most);
  }
  const double nearest = smaller(positions, velocities);
  if (nearest > 1) return TRUST_NONE;
  if (nearest > greater(positions, velocities) / 2) return UNDECIDED;
  return positions < velocities ? TRUST_POSITIONS : TRUST_VELOCITIES;
}

/* Whether the trusted velocity of a joint has become greater than the effort and the possible error of the weight
   explain, within `RESIDUAL_TIME`. Then it may be the velocity of another joint, for example. */
static int diverges(const Settings* s, State* m, double t) {
  const Consistency* c = &m->consistency;
  const double dt = t - m->velocity_known_t, left = greater(1 - dt / RESIDUAL_TIME, 0);
  int found = 0;
  if (!(m->velocity_known_t > m->predicted_since)) return 0; /* the first state that is trusted */
  EACH {
    double unknown = 0;
    for (int j = 0; j < N && c->model_known; ++j)
      unknown += fabs(c->inverse_mass[i * N + j]) * (m->disturbance[j] + m->gravity_error[j]);
    m->divergence[i] = shrunk(left * m->divergence[i] + m->estimated_v[i] - m->predicted_v[i], dt * unknown);
    found |= m->divergence[i] * m->estimated_v[i] > 0 && fabs(m->divergence[i]) > slow_difference(s, m, i);
  }
  return found;
}

/* From now on no part of the states is trusted; the prediction by the model alone is used, but not for a last
   command later than BRAKING. */
static void trust_none(const Settings* s, State* m, double t) {
  m->trusted_source = TRUST_NONE;
  m->velocity_known_t = m->predicted_since;
  if (t - m->blind_begin <= BRAKING) { copy(m->predicted_q, m->model_q); copy(m->predicted_v, m->model_v); }
  EACH m->estimated_v[i] = shrunk(m->predicted_v[i], velocity_uncertainty(s, m, t, i));
}

/* Selects the reported velocities of states that do not contradict each other. A joint keeps the predicted one if it
   stopped suddenly, or if the reported one jumped away from it and the positions have not confirmed that yet. Nonzero if
   there is no such joint. */
static int trust_reported(const Settings* s, State* m) {
  const Consistency* c = &m->consistency;
  const int stopped = c->any_sudden_stop || (m->is_suspect && c->sudden_stop[m->suspect_joint]);
  int known = 1;
  m->trusted_source = UNDECIDED;
  EACH {
    const int jumped = c->velocity_jump[i] != 0 && fabs(c->reported[i] - m->predicted_v[i]) > slow_difference(s, m, i);
    if (m->predicts && (jumped || (stopped && c->sudden_stop[i]))) { known = 0; continue; }
    m->estimated_v[i] = m->predicted_v[i] = c->reported[i];
    m->predicted_q[i] = m->last_q[i];
  }
  return known;
}

/* Selects the velocities of contradicting states: those of the part that the prediction confirms, positions or
   velocities. As long as both differ little, the faster one is selected. Neither is trusted any more once it diverges,
   or once both contradict the prediction. Nonzero if one is trusted. */
static int trust_one(const Settings* s, State* m, double t) {
  const Consistency* c = &m->consistency;
  int slow = 1;
  if (m->trusted_source == TRUST_NONE) return 0;
  EACH slow &= fabs(m->difference_v[i] - c->reported[i]) <= slow_difference(s, m, i);
  if (m->trusted_source == UNDECIDED) {
    const int nearest = find_trusted(s, m, t);
    if (nearest == TRUST_NONE) { trust_none(s, m, t); return 0; }
    if (nearest == UNDECIDED && !slow) return 0;
    if (!slow) m->trusted_source = nearest;
  }
  EACH {
    const int undecided = m->trusted_source == UNDECIDED;
    m->estimated_v[i] = undecided ? faster_of(m, i, m->difference_v[i], c->reported[i]) : trusted_velocity(m, i);
  }
  if (diverges(s, m, t)) { trust_none(s, m, t); return 0; }
  copy(m->predicted_v, m->estimated_v);
  if (m->trusted_source == TRUST_POSITIONS) copy(m->predicted_q, c->last_q);
  return 1;
}

/* For joints whose velocities stopped in the same state: whether their positions move on as predicted, so that only the
   velocities are wrong. */
static int positions_move(const Settings* s, State* m, double t) {
  const int filtered = t - m->predicted_since > 2 * VELOCITY_TIME;
  if (filtered && m->trusted_source == UNDECIDED && find_trusted(s, m, t) == TRUST_POSITIONS)
    m->trusted_source = TRUST_POSITIONS;
  return m->trusted_source == TRUST_POSITIONS;
}

/* An arm that stood moves by now if positions and velocities of a joint, whatever contradicts in others, have agreed for
   `drop_time` and a state that it is no longer slow. Then the prediction begins anew, with such velocities. Nonzero if it
   moves. */
static int notice_motion(const Settings* s, State* m, double t) {
  double seen[N];
  EACH {
    const double difference = m->difference_v[i], reported = m->consistency.reported[i], slow = slow_difference(s, m, i);
    const int agree = fabs(difference - reported) <= slow && smaller(fabs(difference), fabs(reported)) > slow;
    if (!agree) m->slow_until[i] = t;
    seen[i] = agree ? faster_of(m, i, difference, reported) : 0;
    m->predicts |= t - m->slow_until[i] > s->uncertainty.drop_time + m->period;
  }
  if (!m->predicts) return 0;
  copy(m->predicted_v, seen); copy(m->model_v, seen);
  m->velocity_known_t = t;
  return 1;
}

/* Selects the velocity for the reaction from three sources: differences of positions, the reported velocity, and the
   prediction. Any one of them may be wrong. Without a trusted state it is the certain part of the prediction, because
   damping by a wrong velocity could accelerate a joint. Nonzero if the velocity is known; then the prediction continues
   from it. An arm that stood stays there, unless it is seen moving. */
static int estimate_motion(const Settings* s, State* m, double t, int has_state) {
  const int contradicts = m->consistency.verdict == BLIND;
  EACH m->estimated_v[i] = shrunk(m->predicted_v[i], velocity_uncertainty(s, m, t, i));
  if (!has_state || (contradicts && m->consistency.problem == STOP_TOGETHER && !positions_move(s, m, t))) return 0;
  if (contradicts && !m->predicts && !notice_motion(s, m, t)) { clear(m->estimated_v); return 1; }
  if (!(contradicts ? trust_one(s, m, t) : trust_reported(s, m))) return 0;
  m->velocity_known_t = t;
  return 1;
}
