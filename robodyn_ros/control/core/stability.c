// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Stability of the feedback: whether gaps between states, or late commands, make the arm shake. */

#include "memory.h"

#define GROWTH 2.3 /* logarithm of the factor, 10, by which gaps between states may amplify a deviation of the arm */
#define SHAKES 2.0 /* growth of the swings of a velocity error, by which its feedback is unstable */
#define LONGEST_SWING 0.03 /* longest swing of such an error [s]: those of a motion are longer */

/* Follows the swings of a joint's velocity error v, and how far its position error q moves in each; a swing ends where v
   reverses. Velocities within the stated noise do not count; the measured noise would include them. Nonzero if v is beyond
   that noise. */
static int follow_swings(const Settings* s, State* m, int i, double q, double v) {
  const double t = m->sampling_last, z = sqrt(2 * log_test_count());
  if (fabs(v) <= z * s->uncertainty.velocity_noise * s->uncertainty.scale[i]) return 0;
  if (v * m->swing[i] <= 0) {
    const double peak = fabs(m->swing[i]), before = m->swing_before[i];
    m->swing_time[i] = t - m->swing_begin[i];
    if (before == 0 || peak < before / SHAKES || m->swing_time[i] > LONGEST_SWING) {
      m->swing_first[i] = peak;
      m->swing_distance[i] = 0;
    }
    m->swing_distance[i] += sign(m->swing[i]) * (q - m->swing_q[i]);
    m->swing_before[i] = peak;
    m->swing[i] = 0; m->swing_begin[i] = t; m->swing_q[i] = q;
  }
  if (fabs(v) > fabs(m->swing[i])) m->swing[i] = v;
  return 1;
}

/* Nonzero if the swings of a joint have grown by SHAKES, and positions prove them beyond their noise. A swing of one period
   may be noise. */
static int swings_grow(const Settings* s, const State* m, int i) {
  const double first = m->swing_first[i];
  return first < m->swing_before[i] && fabs(m->swing[i]) >= SHAKES * first && m->swing_time[i] > 1.5 * m->period &&
    m->swing_distance[i] > noise_bound(&s->uncertainty, i);
}

/* Velocity errors of the arm beyond noise: whether there is one; whether one reverses and does not become smaller, so that
   the arm shakes; the duration of the longest swing of those that grow, three or more, else 0 [s]. */
typedef struct { int exists, shakes; double time; } Deviation;

/* A feedback with the mean delay τ and a damping ratio of 0.42 or more reverses the velocity error of a joint within 4 τ if
   it is unstable. If its swings grow, it is unstable whatever the model says. An arm that is moved by hand may be shaken by
   it. A law and a reaction are judged apart. */
static Deviation find_deviation(const Settings* s, State* m) {
  const double longest = 4 * (m->period + m->delay + m->command_delay), *given = m->stepped_reference;
  const int steps = m->stepped && !m->active, tests = s->follows && s->plausibility;
  Deviation found = {0, 0, 0};
  if (steps != m->swing_steps) { clear(m->swing); clear(m->swing_before); m->swing_steps = steps; }
  EACH {
    const double v = m->qd[i] - (steps ? given[N + i] : 0), q = m->q[i] - (steps ? given[i] : 0);
    if (!follow_swings(s, m, i, q, v)) continue;
    const double takes = greater(m->swing_time[i], m->sampling_last - m->swing_begin[i]);
    found.exists = 1;
    if (m->swing_before[i] == 0 || fabs(m->swing[i]) < m->swing_before[i]) continue;
    found.shakes |= takes <= longest;
    if (tests && takes <= LONGEST_SWING && swings_grow(s, m, i)) found.time = greater(found.time, m->swing_time[i]);
  }
  return found;
}

/* An unstable feedback with the mean delay τ reverses after τ to 2.4 τ, which bounds the delay of the commands. Until
   the gains are judged with it, natural frequencies are lower by as much as τ is longer. */
static void find_delay(const Settings* s, State* m, double time) {
  const double mean = m->period / 2 + m->delay;
  if (time - mean <= m->found_delay) return;
  const double ratio = mean / time;
  m->found_delay = time - mean;
  m->carried = ratio;
  EACH { m->carried_stiffness[i] = ratio * ratio * s->stiffness[i]; m->carried_damping[i] = ratio * s->damping[i]; }
  have_judged(s, m);
}

/* The gains are used, and judged anew. */
static void forget_judgement(const Settings* s, State* m) {
  m->carried = 1; m->unstable = 0; m->found_delay = 0; m->judged_q[0] = NAN;
  copy(m->carried_stiffness, s->stiffness); copy(m->carried_damping, s->damping);
}

/* Adds up by which factor gaps between states amplify a deviation of the arm, where their rate does not allow the gains:
   a gap by |1 - 2 x|, with the ratio x of gap and delays to `stable_until`. That is the growth of a damped joint whose
   effort is held for the gap. So shorter gaps make up for longer ones, except for the first ones. A feedback that is
   stable in the mean square, E(1 - 2 x)² < 1, amplifies a deviation by exp(h) with a probability below exp(-2 h)
   (Lundberg's inequality: Asmussen, Applied Probability and Queues (2003), XIII.5). With h = ln K / 2 that is 1 / K, as
   for the tests of consistency.c. If there is a deviation, one cannot wait for that: then it is GROWTH. The model may have
   less inertia than the arm: if it does not allow the gains in this pose, but in another one, the arm has to shake. */
static void note_growth(const Settings* s, State* m) {
  const double held = m->before + m->delay + m->command_delay, most = log_test_count() / 2;
  const int begins = (double)m->count < FIRST_PERIODS;
  const Deviation deviation = find_deviation(s, m);
  if (m->carried == 1) m->growth = begins ? most : 0;
  else m->growth = greater(m->growth + log(fabs(1 - 2 * held / m->stable_until)), 0);
  find_delay(s, m, deviation.time);
  const int is_known = deviation.shakes || m->period + m->delay > (1 + SAMPLING_CHANGE) * m->allowed;
  const int is_amplified = m->growth >= (deviation.exists ? GROWTH : most);
  m->unstable = m->carried < 1 && (m->unstable || deviation.time > 0 || (is_amplified && is_known));
}
