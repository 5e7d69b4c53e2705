/* Consistency: position, velocity and effort of a state against each other and the model. */

#include "memory.h"

#define INTERVAL (0.01 * (1 - 1e-6)) /* [s] */
#define RATIO 0.4
#define DISTANCE 0.02
#define STANDS 2e-3
#define SLIP 0.1
#define SETTLE 5
#define SETTLED 2
#define STATIC_RATIO 1.5
#define WRONG_LOAD 0.5
#define LEARN 0.3
#define FORGET 10.0
#define GAP 0.02
#define GAPS 3.0
#define USUAL_COUNT 10.0
#define MARGIN 0.01
#define LIFE 0.01
#define PROOF_DISTANCE 0.05
#define LOST_MOST 30.0
#define STUNNED_MOST 10
#define SIMILAR 5.0
#define VOTES 3.0

static void stand(State* m) {
  clear(m->rest); clear(m->load); clear(m->stood); clear(m->speed); clear(m->free); clear(m->path);
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
    allowed[i] = s->speed_error[i] * duration + RATIO * greater(greater(fabs(moved[i]), fabs(m->integral[i])), bent);
    m->ahead[i] = greater(m->ahead[i] + off[i] - allowed[i], 0);
    m->behind[i] = greater(m->behind[i] - off[i] - allowed[i], 0);
    m->apart[i] = greater(m->ahead[i], m->behind[i]);
    if (m->apart[i] > worst) { worst = m->apart[i]; joint = i; }
  }
  if (m->proof >= 0) { /* a velocity has to prove itself */
    const int64_t j = m->doubt_joint;
    m->proof = fabs(off[j]) <= allowed[j] ? m->proof + fabs(moved[j]) : 0;
    if (m->proof > PROOF_DISTANCE) believe(m);
  } else if (worst > DISTANCE && !m->doubted) {
    m->proof = 0;
    doubt(m, WRONG_VELOCITY, joint, m->integral[joint] / duration, moved[joint] / duration);
  }
}

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
      m->peak[i] = greater(fabs(residual[i]), (1 - duration / FORGET) * m->peak[i]);
      m->moved[i] = m->moved[i] + duration;
    }
    m->moved[i] = smaller(m->moved[i], LEARN);
    const int unmoved = m->moved[i] < LEARN;
    const double friction = unmoved ? s->friction[i] : s->modelled[i] + 2 * STATIC_RATIO * m->peak[i];
    const double borne = friction + (unmoved ? s->doubt[i] : s->least[i]);
    const double overcome = smaller(borne, friction + s->pull[i]);
    const int moved = !(fabs(q[i] - m->from[i]) <= STANDS + SLIP * fabs(m->path[i]));
    if (moved) m->from[i] = q[i];
    m->stood[i] = moved ? 0 : m->stood[i] + 1;
    const int settled = m->stood[i] > (unmoved ? SETTLE : SETTLED);
    const double share = settled ? 0 : 1 / greater(m->stood[i], 1);
    m->rest[i] += share * (residual[i] - m->rest[i]);
    m->load[i] += share * (load[i] - m->load[i]);
    const double wrong = WRONG_LOAD * fabs(load[i] - m->load[i]);
    const int counts = settled && !(q[i] > s->upper[i] - MARGIN || q[i] < s->lower[i] + MARGIN);
    const double change = residual[i] - (unmoved ? m->rest[i] : within(m->rest[i], 0.5 * borne));
    const double free = residual[i] - (unmoved ? m->rest[i] : within(m->rest[i], 0.5 * overcome));
    const double time = duration / s->inertia[i];
    m->speed[i] = gained_speed(m->speed[i], time, change, borne + wrong, counts);
    m->free[i] = gained_speed(m->free[i], time, free, overcome + wrong, counts);
    m->path[i] = settled ? m->path[i] + duration * m->speed[i] : 0;
    m->offset[i] = settled ? within(m->rest[i], 0.5 * overcome) : 0;
    if (lacking < 0 && (fabs(m->speed[i]) > s->lack[i] || fabs(m->free[i]) > s->fast[i])) {
      lacking = i;
      m->where = q[i];
      doubt(m, STANDS_STILL, i, fabs(change), 0);
    }
  }
}

/* Where the arm seems to be. */
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
    const int stays = m->lost[i] > 0 && m->lost[i] < LOST_MOST && fabs(q[i] - m->stopped[i]) <= STANDS;
    m->lost[i] = stops ? 1 : stays ? m->lost[i] + 1 : 0;
    if (stops || !(m->lost[i] > 0)) m->stopped[i] = q[i];
    stands[i] = (m->free[i] != 0 || m->lost[i] > 0) && !(m->apart[i] > 0);
    m->claimed[i] = off[i] ? m->claimed[i] : qd[i];
    m->due[i] = off[i] ? m->due[i] + gained[i] : 0;
    const double change = qd[i] - m->claimed[i], one = fabs(m->due[i]), other = fabs(change);
    const int explained = m->due[i] * change > 0 && one < SIMILAR * other && other < SIMILAR * one;
    if (fabs(m->vote[i]) < VOTES) m->vote[i] += explained ? 1 : -1;
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
  if (fabs(q[m->doubt_joint] - m->where) > LIFE) { m->doubt_joint = -1; m->stunned = 0; }
  else if ((double)m->stunned > STUNNED_MOST) {
    m->stunned = 0;
    doubt(m, STRUCK, (int)m->doubt_problem_joint, m->doubt_value, m->doubt_bound);
  }
}

static void look_for_life(const Settings* s, State* m, const double* q) {
  if (m->doubt_joint >= 0 && m->proof < 0 && fabs(q[m->doubt_joint] - m->where) > LIFE) believe(m);
}

/* Compares a state with those before. */
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
  m->usual = usual + (smaller(dt, GAPS * usual) - usual) / USUAL_COUNT;
  if (dt > greater(GAP, GAPS * usual)) {
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
  if (duration < INTERVAL) return;
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
