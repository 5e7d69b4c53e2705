// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* The controller's thread (nodes/controller/realtime/runner.c) around the core, with a middleware of a few lines: messages that
   a second thread announces, and requests from a third. Compiled with -fsanitize=thread, it says where they race.

   Signals come all the time, as one does that ends a node: none of them cuts a request short.

   The law is a spring, so that the whole way from a state to an effort is taken. Prints the numbers of states answered, of
   efforts published and of requests done. */

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

enum { MESSAGE = 4 + 8 + 8 * 2 * N, MESSAGES = 4000 };

static int64_t announced, taken, published;
static Notice* notice;
static const void* whom;

static int fake_take(const void* subscription, void* to, void* info, void* allocation) {
  Bytes* bytes = to;
  const int32_t sec = 5 + (int32_t)(taken / 1000);
  const uint32_t nanosec = (uint32_t)(taken % 1000) * 1000000u;
  (void)subscription; (void)info; (void)allocation;
  if (taken >= __atomic_load_n(&announced, __ATOMIC_ACQUIRE)) return 1;
  memset(bytes->buffer, 0, MESSAGE);
  memcpy(bytes->buffer + 4, &sec, sizeof sec);
  memcpy(bytes->buffer + 8, &nanosec, sizeof nanosec);
  bytes->length = MESSAGE;
  ++taken;
  return 0;
}

static int fake_publish(const void* publisher, const void* message, void* allocation) {
  (void)message; (void)allocation;
  if (publisher == whom) __atomic_add_fetch(&published, 1, __ATOMIC_RELAXED); /* and not in MIT mode */
  return 0;
}

static int fake_count(const void* publisher, size_t* count) { (void)publisher; *count = 1; return 0; }

static int fake_callback(const void* subscription, Notice* called, const void* given) {
  (void)subscription;
  whom = given;
  __atomic_store_n(&notice, called, __ATOMIC_RELEASE);
  return 0;
}

static int fake_now(void* clock, int64_t* now) {
  (void)clock;
  *now = 5000000000LL + taken * 1000000LL; /* no state is late, however slow the machine is */
  return 0;
}

/* The first request takes longer than anyone waits for it to begin. */
static int64_t carried_out;

static void carry_out(Core* core, Request* request) {
  const double until = carried_out ? 0 : steady() + 1.5 * ANSWER;
  while (steady() < until);
  core_request(core, request);
  ++carried_out;
}

static void* middleware(void* given) {
  (void)given;
  for (int k = 0; k < MESSAGES; ++k) {
    __atomic_add_fetch(&announced, 1, __ATOMIC_RELEASE);
    Notice* called = __atomic_load_n(&notice, __ATOMIC_ACQUIRE);
    if (called) called(whom, 1);
    usleep(100);
  }
  return 0;
}

/* --- a law and a model */

static void spring_law(double* const* x, const double* constants) {
  const StepMemory* before = (const StepMemory*)x[MEMORY];
  StepMemory* after = (StepMemory*)x[AFTER];
  (void)constants;
  *after = *before;
  EACH {
    x[RESULTS][EFFORT * N + i] = 40 * (x[REFERENCE][i] - x[STATE][i]) - 5 * x[STATE + 1][i];
    x[RESULTS][ERROR * N + i] = x[REFERENCE][i] - x[STATE][i];
    after->sent[i] = after->requested[i] = x[RESULTS][EFFORT * N + i];
  }
  after->has_requested = after->is_sending = 1;
  after->sent_at = x[TIMES][0];
  x[FLAGS][0] = 1;
}

static void nothing(const double* q, const double* p, double* result) { (void)q; (void)p; clear(result); }

static void identity(const double* q, const double* p, double* mass) {
  (void)q; (void)p;
  for (int k = 0; k < N * N; ++k) mass[k] = k % (N + 1) == 0;
}

static void first_term(const double* q, const double* qd, const double* third, const double* p, double* result) {
  (void)q; (void)qd; (void)p;
  copy(result, third);
}

static double numbers[2 + 8 * N + ROWS * N + 8 + sizeof(StepMemory) / 8];
static double* arrays[LAW_AFTER + 2];

/* Sensitivity of efforts is left out: so nothing but positions and velocities is compared. */
static const Uncertainty uncertainty = {
  .position_noise = 1e-3, .velocity_noise = 0.02, .velocity_delay = 0.008, .model_error = 0.1,
  .unknown_payload = 1, .push_force = 40, .drop_time = 0.01, .silence = 0.1
};

static void make_settings(CoreSettings* x) {
  Settings* s = &x->loop;
  double* at = numbers;
  const int widths[] = {2, N, N, N, N, N, N, 0, 0, 0, ROWS * N, 3, (int)(sizeof(StepMemory) / 8), 0};
  for (int k = 0; k <= LAW_AFTER; ++k) { arrays[k] = at; at += widths[k]; }
  s->step_arrays = arrays;
  s->step_run = spring_law; s->gravity = nothing; s->mass_matrix = identity; s->inverse = s->forward = first_term;
  s->follows = s->plausibility = 1; s->uncertainty = uncertainty;
  s->state_timeout = 0.5; s->stream_timeout = 1; s->reference_jump = 1; s->blend_time = 0.1;
  s->settled_time = 1; s->speed_scaling = 1;
  EACH {
    s->velocity_limit[i] = s->greatest_speed[i] = 10; s->tolerance[i] = INFINITY; s->effort_limit[i] = 100;
    s->rate_limit[i] = INFINITY; s->lower[i] = -9; s->upper[i] = 9; s->deceleration[i] = 5; s->sent_ratio[i] = 1;
    s->acceleration[i] = s->braking[i] = s->jerk[i] = INFINITY;
    s->stiffness[i] = 40; s->damping[i] = 5;
    s->uncertainty.unknown_friction[i] = 10; s->uncertainty.velocity_limit[i] = 10; s->uncertainty.scale[i] = 1;
    s->uncertainty.lower[i] = -9; s->uncertainty.upper[i] = 9;
  }
}

static void on_signal(int number) { (void)number; }

/* A signal every 0.2 ms: it interrupts every system call that waits. */
static void start_signals(void) {
  const struct sigaction action = {.sa_handler = on_signal};
  const struct itimerval period = {{0, 200}, {0, 200}};
  sigaction(SIGALRM, &action, 0);
  setitimer(ITIMER_REAL, &period, 0);
}

/* Has a request carried out. On a busy machine the thread may answer too late; then the request was taken back. */
static void ask(Runner* r, Request* request) { while (runner_request(r, request)) {} }

int main(void) {
  static Runner r;
  static Entry ring[4096];
  static Layout layout;
  static uint8_t buffers[5][256];
  static CoreSettings settings;
  static State snapshot;
  static double target[REFERENCES][N];
  int64_t all[N], asked = 0;
  Request hold = {.what = HOLD_STILL, .t = 5};
  pthread_t other;
  Core* core = core_create();
  make_settings(&settings);
  core_apply(core, &settings, CORE_REPLACE);
  layout.bytes = buffers[0]; layout.end = MESSAGE; layout.position = 12; layout.velocity = 12 + 8 * N;
  EACH { layout.column[i] = i; r.order[i] = i; r.ratio[i] = r.effort_unit[i] = 1; all[i] = 1; }
  r.take = fake_take; r.publish = fake_publish; r.subscribers = fake_count; r.set_callback = fake_callback; r.clock_now = fake_now;
  r.update = core_update; r.repeat = core_repeat; r.watch = core_watch; r.watch_due = core_watch_due;
  r.carry_out = carry_out; r.simulated_time = core_simulated_time; r.mit = core_mit;
  r.core = core; r.layouts[0] = &layout; r.ring = ring; r.capacity = 4096; r.watch_period = 0.02;
  r.message.buffer = buffers[1]; r.message.capacity = r.forwarded.capacity = 256; r.forwarded.buffer = buffers[2];
  r.commands.publisher = &r; r.commands.stamp = -1; r.commands.message.buffer = buffers[3]; r.commands.message.length = 8 * N;
  r.mit_commands = r.commands;
  r.mit_commands.publisher = &settings; r.mit_commands.message.buffer = buffers[4]; r.mit_commands.message.length = MIT * 8 * N;
  if (runner_start(&r)) return 1;
  ask(&r, &hold);
  const int is_waited_for = carried_out == 1;
  pthread_create(&other, 0, middleware, 0);
  start_signals();
  while (LOAD(r.written) < MESSAGES / 2) {
    Request track = {.what = TRACK, .t = 5, .joints = all, .numbers = {target[0], target[1], target[2], target[3]}};
    Request copied = {.what = SNAPSHOT, .object = &snapshot};
    Request* const requests[] = {&track, &copied, &hold};
    EACH target[0][i] = 0.01 * (double)(asked % 7);
    for (int k = 0; k < 3; ++k) { ask(&r, requests[k]); ++asked; }
    LOAD(r.notable);
  }
  pthread_join(other, 0);
  while (LOAD(r.written) < MESSAGES) usleep(1000); /* the last messages may still wait for the thread */
  runner_stop(&r);
  printf("%lld states, %lld efforts, %lld requests, %lld restarts\n", (long long)r.written, (long long)published,
         (long long)asked, (long long)snapshot.restarts);
  const int nobody_answers = runner_request(&r, &hold) == 1 && !r.request;
  core_destroy(core);
  return !(published > MESSAGES / 4 && asked > 10 && snapshot.time > 5 && is_waited_for && nobody_answers);
}
