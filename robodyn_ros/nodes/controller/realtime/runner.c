// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* From a joint state to its command: in a thread of its own without Python, or called by Python.

   A subscription of rcl wakes the thread by a futex, whose timeout serves the watch over missing states. The thread takes
   the message, checks its layout, has the core (control/core) compute the command, and publishes it. It allocates nothing
   and takes no lock of its own; the middleware below rcl may do both. Python (runner.py) sends requests to the core, which
   the thread carries out between two periods; it passes layouts as blocks that do not change any more, and reads the
   periods from a ring. Without a thread, Python reads the messages, and hands each state over (runner_respond). This file
   has the declarations of control/core before it, and calls its functions by address: the core is compiled once, for the
   thread and for Python.

   Time is the clock of the states. If it is simulated, it is the newest of /clock and of the stamps, so that no state
   comes from the future, and nothing is late while a simulation is paused. The delay of a state then counts only beyond
   state_timeout: it depends on which of the two topics is quicker, and efforts must not depend on that.

   Order at the end: close the gate, clear the callback, join; then Python destroys the subscription. */

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 4, OPTIONS = 3 }; /* the encapsulation header of CDR; its last byte has the padding at the end */
enum { RIVETS = 64, LAYOUTS = 4, MIT = 5 };

#define NANO 1000000000LL
#define ANSWER 0.2 /* time limit of the thread for a request of Python [s] */

/* rcutils_uint8_array_t, which is rcl_serialized_message_t */
typedef struct {
  uint8_t* buffer;
  int64_t length, capacity;
  int64_t allocator[5];
} Bytes;

/* Places of the numbers in a JointState: all bytes except the stamp and the numbers equal those of the template. */
typedef struct {
  const uint8_t* bytes;
  int64_t end, position, velocity, parts; /* velocity: -1 if the message has none */
  int64_t begin[RIVETS], size[RIVETS], column[N];
} Layout;

/* A message to publish, of which a stamp and some numbers change; stamp -1: it has none. */
typedef struct {
  void* publisher;
  int64_t stamp, place;
  Bytes message;
} Template;

/* The record of a period, for Python. */
typedef struct {
  int64_t sec, nanosec, code, blind, repeats, kind, phase, latched, faults, restarts, problem, problem_joint;
  double t, begun, done, age, problem_value, problem_bound;
  double q[N], qd[N], reference[REFERENCES * N], rows[ROWS * N], external[N + 8];
} Entry;

typedef int Take(const void*, void*, void*, void*);
typedef int Publish(const void*, const void*, void*);
typedef int Count(const void*, size_t*);
typedef void Notice(const void*, size_t);
typedef int SetCallback(const void*, Notice*, const void*);
typedef int Now(void*, int64_t*);

typedef int Update(Core*, double, double, const double*, const double*);
typedef int Repeat(Core*, double, double);
typedef int Watch(Core*, double);
typedef double WatchDue(const Core*, double);
typedef void CarryOut(Core*, Request*);
typedef int64_t SimulatedTime(Core*, int64_t, int64_t);
typedef void Mit(const Core*, double, const double*, const double*, const double*, double*, double*, double*, double*, double*);

typedef struct {
  Take* take;
  Publish* publish;
  Count* subscribers;
  SetCallback* set_callback;
  Now* clock_now;
  Update* update; /* functions of the core */
  Repeat* repeat;
  Watch* watch;
  WatchDue* watch_due;
  CarryOut* carry_out;
  SimulatedTime* simulated_time;
  Mit* mit;
  void *subscription, *clock;
  Core* core;
  Layout* layouts[LAYOUTS]; /* set by Python; 0 for none */
  Request* request; /* to be carried out between two periods; 0 for none */
  Entry* ring;
  int64_t capacity, written, notable, restarts, unpublished; /* notable: count of entries to report at once */
  int64_t open, wake, done, ros_time_active, priority, wants_message;
  int64_t order[N], has_forwarded, forwarded_again, priority_error; /* forwarded_again: its layout is known now */
  double received, state_time, node_time, watch_period, watched;
  double forwarded_since; /* received, when a message was forwarded */
  double ratio[N], offset[N], effort_unit[N], mit_limits[2];
  double position[N]; /* of the latest state with a command of the law, with the drives' count of turns; NAN before it */
  Bytes message, forwarded; /* the latter is for Python to read */
  Template joint_commands, commands, mit_commands;
  int64_t thread; /* pthread_t */
} Runner;

#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELEASE)

static double steady(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void wake(Runner* r) {
  __atomic_add_fetch((uint32_t*)&r->wake, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &r->wake, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void on_message(const void* given, size_t count) {
  (void)count;
  wake((Runner*)given);
}

static int fits(const Layout* y, const Bytes* m) {
  if (!y || m->length < HEADER) return 0;
  if (m->length - (m->buffer[OPTIONS] & 3) < y->end) return 0;
  for (int64_t k = 0; k < y->parts; ++k)
    if (memcmp(m->buffer + y->begin[k], y->bytes + y->begin[k], (size_t)y->size[k]) != 0) return 0;
  return 1;
}

static void number_at(const Bytes* m, int64_t place, double* x) { memcpy(x, m->buffer + place, sizeof *x); }

static int has_subscribers(const Runner* r, const Template* y) {
  size_t count = 0;
  return y->publisher && r->subscribers(y->publisher, &count) == 0 && count > 0;
}

static void publish(Runner* r, Template* y, int32_t sec, uint32_t nanosec, const double* numbers, size_t count) {
  if (y->stamp >= 0) {
    memcpy(y->message.buffer + y->stamp, &sec, sizeof sec);
    memcpy(y->message.buffer + y->stamp + 4, &nanosec, sizeof nanosec);
  }
  memcpy(y->message.buffer + y->place, numbers, count * sizeof *numbers);
  if (r->publish(y->publisher, &y->message, 0) != 0) __atomic_add_fetch(&r->unpublished, 1, __ATOMIC_RELAXED);
}

/* Publishes efforts for drives in MIT mode, five numbers for each motor. */
static void send_mit(Runner* r, int32_t sec, uint32_t nanosec, double t, const double* effort) {
  double x[MIT][N], numbers[N * MIT];
  r->mit(r->core, t, r->position, effort, r->mit_limits, x[0], x[1], x[2], x[3], x[4]);
  EACH {
    const int64_t k = r->order[i];
    const double ratio = r->ratio[k], unit = r->effort_unit[k];
    const double motor[MIT] = {(x[0][k] - r->offset[k]) * ratio, x[1][k] * ratio, x[2][k] / (unit * ratio),
                               x[3][k] / (unit * ratio), x[4][k] / unit};
    memcpy(numbers + MIT * i, motor, sizeof motor);
  }
  publish(r, &r->mit_commands, sec, nanosec, numbers, N * MIT);
}

/* Publishes efforts (n,) for a time t [s]. */
static void send(Runner* r, int32_t sec, uint32_t nanosec, double t, const double* effort) {
  double numbers[N];
  EACH numbers[i] = effort[r->order[i]] / r->effort_unit[r->order[i]];
  if (has_subscribers(r, &r->joint_commands)) publish(r, &r->joint_commands, sec, nanosec, numbers, N);
  if (has_subscribers(r, &r->commands)) publish(r, &r->commands, sec, nanosec, numbers, N);
  if (has_subscribers(r, &r->mit_commands)) send_mit(r, sec, nanosec, t, effort);
}

static void note(Runner* r, int64_t code, int64_t sec, int64_t nanosec, double begun, int blind, int repeats) {
  const State* m = &r->core->state;
  const Period* p = &r->core->period;
  Entry* e = r->ring + r->written % r->capacity;
  e->sec = sec; e->nanosec = nanosec; e->code = code; e->blind = blind; e->repeats = repeats;
  e->kind = p->kind; e->phase = m->phase; e->latched = m->latched; e->faults = m->faults; e->restarts = m->restarts;
  e->problem = m->problem; e->problem_joint = m->problem_joint;
  e->problem_value = m->problem_value; e->problem_bound = m->problem_bound;
  e->t = p->t; e->begun = begun; e->done = steady(); e->age = p->age;
  memcpy(e->q, p->q, offsetof(Period, external) + sizeof p->external - offsetof(Period, q));
  STORE(r->written, r->written + 1);
  if (code != CORE_SEND || blind || p->kind >= 0 || m->restarts != r->restarts) STORE(r->notable, r->notable + 1);
  r->restarts = m->restarts;
}

static const Layout* layout_of(Runner* r, const Bytes* message) {
  for (int k = 0; k < LAYOUTS; ++k) {
    const Layout* y = LOAD(r->layouts[k]);
    if (fits(y, message)) return y;
  }
  return 0;
}

/* Keeps a message for Python, which has requested one, or has to read its new layout. */
static void forward(Runner* r, const Bytes* message, int is_known) {
  if (message != &r->message || LOAD(r->has_forwarded) || message->length > r->forwarded.capacity) return;
  memcpy(r->forwarded.buffer, message->buffer, (size_t)message->length);
  r->forwarded.length = message->length;
  r->forwarded_since = r->received;
  STORE(r->wants_message, 0);
  STORE(r->has_forwarded, is_known ? 2 : 1);
}

/* Computes and publishes the command for a state of the motors, in the arm's order; `now` is the node's time [ns]. */
static void respond(Runner* r, double begun, int64_t now, int32_t sec, uint32_t nanosec, const double* position,
                    const double* velocity) {
  Period* p = &r->core->period;
  double q[N], qd[N];
  if (sec == 0 && nanosec == 0) { sec = (int32_t)(now / NANO); nanosec = (uint32_t)(now % NANO); }
  if (r->ros_time_active) now = r->simulated_time(r->core, now, sec * NANO + nanosec);
  EACH {
    q[i] = position[i] / r->ratio[i] + r->offset[i];
    qd[i] = velocity ? velocity[i] / r->ratio[i] : 0;
  }
  p->t = (double)sec + (double)nanosec / 1e9;
  p->now = (double)now / 1e9;
  const int code = r->update(r->core, p->t, p->now, q, velocity ? qd : 0);
  const int repeats = code == CORE_JUMPED && r->repeat(r->core, p->t, p->now);
  if (code == CORE_SEND) copy(r->position, q);
  if (code == CORE_SEND || repeats) send(r, sec, nanosec, p->t, p->rows + EFFORT * N);
  if (code <= CORE_SILENT) {
    r->received = begun; r->state_time = p->t;
    r->node_time = r->ros_time_active ? (double)r->core->state.newest / 1e9 : p->now;
  }
  note(r, code, sec, nanosec, begun, 0, repeats);
}

/* Responds to a message, if its layout is known. */
static void respond_to(Runner* r, const Bytes* message) {
  double numbers[2][N];
  int32_t sec;
  uint32_t nanosec;
  int64_t now = 0;
  const double begun = steady();
  if (r->clock_now(r->clock, &now) != 0) return;
  const Layout* y = layout_of(r, message);
  if (!y || LOAD(r->wants_message)) forward(r, message, y != 0);
  if (!y) return;
  memcpy(&sec, message->buffer + HEADER, sizeof sec);
  memcpy(&nanosec, message->buffer + HEADER + 4, sizeof nanosec);
  EACH {
    number_at(message, y->position + 8 * y->column[i], &numbers[0][i]);
    if (y->velocity >= 0) number_at(message, y->velocity + 8 * y->column[i], &numbers[1][i]);
  }
  respond(r, begun, now, sec, nanosec, numbers[0], y->velocity < 0 ? 0 : numbers[1]);
}

/* Takes a message and processes it. Returns 0 if there was none. */
static int take(Runner* r) {
  if (r->take(r->subscription, &r->message, 0, 0) != 0) return 0;
  respond_to(r, &r->message);
  return 1;
}

/* Publishes efforts (n,) with the node's time as the stamp [ns], for the time t of the states [s]. */
void runner_send(Runner* r, int64_t now, double t, const double* effort) {
  send(r, (int32_t)(now / NANO), (uint32_t)(now % NANO), t, effort);
}

/* Sends the reaction to missing states, if one is due. */
void runner_watch(Runner* r) {
  const double begun = steady();
  int64_t now = 0;
  r->watched = begun;
  if (r->clock_now(r->clock, &now) != 0) return;
  const double elapsed = r->ros_time_active ? greater((double)now / 1e9 - r->node_time, 0) : begun - r->received;
  const State* m = &r->core->state;
  const int64_t faults = m->faults, phase = m->phase;
  const double t = r->state_time + elapsed;
  const int code = r->watch(r->core, t);
  if (code == CORE_SEND) runner_send(r, now, t, r->core->period.rows + EFFORT * N);
  if (code == CORE_SEND || m->faults != faults || m->phase != phase) note(r, code, now / NANO, now % NANO, begun, 1, 0);
}

/* Carries out a request of Python. */
static void serve(Runner* r) {
  Request* request = __atomic_exchange_n(&r->request, 0, __ATOMIC_ACQ_REL);
  if (!request) return;
  r->carry_out(r->core, request);
  STORE(r->done, 1);
  syscall(SYS_futex, &r->done, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void* run(void* given) {
  Runner* r = given;
  while (LOAD(r->open)) {
    const uint32_t seen = __atomic_load_n((uint32_t*)&r->wake, __ATOMIC_ACQUIRE);
    const struct timespec timeout = {.tv_nsec = (long)(1e9 * r->watch_due(r->core, r->watch_period))};
    serve(r);
    if (LOAD(r->forwarded_again)) {
      if (r->received == r->forwarded_since) respond_to(r, &r->forwarded); /* else newer states have been answered */
      STORE(r->forwarded_again, 0);
      STORE(r->has_forwarded, 0);
    }
    while (LOAD(r->open) && take(r)) serve(r);
    if (steady() - r->watched >= r->watch_due(r->core, r->watch_period)) runner_watch(r);
    syscall(SYS_futex, &r->wake, FUTEX_WAIT_PRIVATE, seen, &timeout, 0, 0);
  }
  return 0;
}

/* Starts the thread. Returns nonzero if it cannot be started. */
int runner_start(Runner* r) {
  STORE(r->open, 1);
  if (r->set_callback(r->subscription, on_message, r) != 0) return 1;
  if (pthread_create((pthread_t*)&r->thread, 0, run, r) != 0) {
    r->set_callback(r->subscription, 0, 0);
    STORE(r->open, 0);
    return 1;
  }
  if (r->priority > 0) {
    const struct sched_param wanted = {.sched_priority = (int)r->priority};
    r->priority_error = pthread_setschedparam((pthread_t)r->thread, SCHED_FIFO, &wanted);
  }
  return 0;
}

/* Ends the thread: nothing is taken or published afterwards. */
void runner_stop(Runner* r) {
  STORE(r->open, 0);
  r->set_callback(r->subscription, 0, 0);
  wake(r);
  pthread_join((pthread_t)r->thread, 0);
}

/* Has the thread process the forwarded message, whose layout has been set. */
void runner_process_forwarded(Runner* r) {
  STORE(r->forwarded_again, 1);
  wake(r);
}

/* Has the thread carry out a request between two periods, and waits for that. A signal ends one wait, but not the request.
   Returns nonzero if the thread does not respond. Not to be called by two threads at a time. */
int runner_request(Runner* r, Request* request) {
  const double deadline = steady() + ANSWER;
  STORE(r->done, 0);
  STORE(r->request, request);
  wake(r);
  for (double left = ANSWER; left > 0 && !LOAD(r->done); left = deadline - steady()) {
    const struct timespec timeout = {.tv_nsec = (long)(1e9 * left)};
    syscall(SYS_futex, &r->done, FUTEX_WAIT_PRIVATE, 0, &timeout, 0, 0);
  }
  if (__atomic_exchange_n(&r->request, 0, __ATOMIC_ACQ_REL)) return 1; /* taken back */
  while (!LOAD(r->done)) sched_yield(); /* it is being carried out, or done */
  return 0;
}

/* Responds to a state that Python has read at the node's time `now` [ns], of the motors, in the arm's order; velocity 0:
   it has none. */
void runner_respond(Runner* r, int64_t now, int32_t sec, uint32_t nanosec, const double* position, const double* velocity) {
  respond(r, steady(), now, sec, nanosec, position, velocity);
}
