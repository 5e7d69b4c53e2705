// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* A meter of round trips without Python: it sends states at a rate, and notes when the answers come, told apart by their
   stamps. Beside it, a thread that only sleeps says how punctual the machine itself is. meter.py fills the structs. */

#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STAMP = 4, LATEST = 64 }; /* place of the stamp in a JointState; how many states back an answer is looked for */

/* rcutils_uint8_array_t */
typedef struct {
  uint8_t* buffer;
  int64_t length, capacity;
  int64_t allocator[5];
} Bytes;

typedef int Take(const void*, void*, void*, void*);
typedef int Publish(const void*, const void*, void*);
typedef void Notice(const void*, size_t);
typedef int SetCallback(const void*, Notice*, const void*);

typedef struct {
  Take* take;
  Publish* publish;
  SetCallback* set_callback;
  void *subscription, *publisher; /* publisher: 0 for one that only listens */
  Bytes state, answer;
  double period, duration;
  int64_t priority, capacity; /* of the arrays */
  int64_t sent, answered, wake;
  double* begun;    /* when state k was sent [s] */
  int64_t* stamps;  /* and its stamp [ns] */
  double* trips;    /* round trips [s]; of one that only listens, when messages came */
} Meter;

typedef struct {
  double period, duration;
  int64_t priority, capacity, count;
  double* late; /* how much later than due it woke [s] */
} Sleeper;

static double steady(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Gives this thread a real-time priority, or, with 0, an ordinary one. Returns nonzero if that is refused. */
static int schedule(int64_t priority) {
  const struct sched_param wanted = {.sched_priority = (int)priority};
  return pthread_setschedparam(pthread_self(), priority ? SCHED_FIFO : SCHED_OTHER, &wanted);
}

static void on_message(const void* given, size_t count) {
  Meter* m = (Meter*)given;
  (void)count;
  __atomic_add_fetch((uint32_t*)&m->wake, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &m->wake, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void read_stamp(const Bytes* message, int64_t* stamp) {
  int32_t sec;
  uint32_t nanosec;
  memcpy(&sec, message->buffer + STAMP, sizeof sec);
  memcpy(&nanosec, message->buffer + STAMP + 4, sizeof nanosec);
  *stamp = (int64_t)sec * 1000000000 + nanosec;
}

static void take_all(Meter* m) {
  while (m->take(m->subscription, &m->answer, 0, 0) == 0) {
    const double now = steady();
    int64_t stamp;
    read_stamp(&m->answer, &stamp);
    if (m->answered >= m->capacity) continue;
    if (!m->publisher) { m->trips[m->answered++] = now; continue; }
    for (int64_t k = m->sent - 1; k >= 0 && k >= m->sent - LATEST; --k)
      if (m->stamps[k] == stamp) {
        m->trips[m->answered++] = now - m->begun[k];
        m->stamps[k] = -1; /* one answer each */
        break;
      }
  }
}

static void send_state(Meter* m) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const int32_t sec = (int32_t)now.tv_sec;
  const uint32_t nanosec = (uint32_t)now.tv_nsec;
  memcpy(m->state.buffer + STAMP, &sec, sizeof sec);
  memcpy(m->state.buffer + STAMP + 4, &nanosec, sizeof nanosec);
  m->stamps[m->sent] = (int64_t)sec * 1000000000 + nanosec;
  m->begun[m->sent] = steady();
  m->sent++;
  m->publish(m->publisher, &m->state, 0);
}

static void listen_until(Meter* m, double end) {
  for (;;) {
    const uint32_t seen = __atomic_load_n((uint32_t*)&m->wake, __ATOMIC_ACQUIRE);
    take_all(m);
    const double left = end - steady();
    if (left <= 0) return;
    const struct timespec timeout = {.tv_sec = (time_t)left, .tv_nsec = (long)(1e9 * (left - (double)(time_t)left))};
    syscall(SYS_futex, &m->wake, FUTEX_WAIT_PRIVATE, seen, &timeout, 0, 0);
  }
}

/* Measures for the duration. Returns nonzero if the priority is refused. */
int meter_run(Meter* m) {
  const int refused = m->priority ? schedule(m->priority) : 0;
  const double begun = steady();
  double due = begun;
  m->sent = m->answered = 0;
  m->set_callback(m->subscription, on_message, m);
  if (!m->publisher) listen_until(m, begun + m->duration);
  else {
    for (; due < begun + m->duration && m->sent < m->capacity; due += m->period) {
      if (due < steady() - m->period) due = steady(); /* it cannot keep up: rather skip some than never sleep */
      listen_until(m, due);
      send_state(m);
    }
    listen_until(m, due + 0.1);
  }
  m->set_callback(m->subscription, 0, 0);
  if (m->priority && !refused) schedule(0);
  return refused;
}

/* Sleeps from one time to the next, for the duration. Returns nonzero if the priority is refused. */
int sleeper_run(Sleeper* s) {
  const int refused = s->priority ? schedule(s->priority) : 0;
  const double begun = steady();
  s->count = 0;
  while (s->count < s->capacity) {
    const double due = begun + (double)(s->count + 1) * s->period;
    if (due > begun + s->duration) break;
    const struct timespec until = {.tv_sec = (time_t)due, .tv_nsec = (long)(1e9 * (due - (double)(time_t)due))};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0);
    s->late[s->count++] = steady() - due;
  }
  if (s->priority && !refused) schedule(0);
  return refused;
}
