// Copyright 2026 robodyn_ros maintainers
// SPDX-License-Identifier: Apache-2.0

/* Counts what one thread allocates and locks, in a process that has this library preloaded: the thread that takes joint
   states (nodes/controller/realtime/runner.c). Its own code is told from the middleware below it: while it is in a function
   of rcl, that is called through one of those here, and what happens counts as the middleware's.

   The counts are in the file that COUNT_CALLS names, where another process reads them: int64_t[2][FUNCTIONS], own code
   first, and then how many messages were taken. counted_controller.py puts the functions in. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MALLOC, CALLOC, REALLOC, FREE, ALIGNED, MAP, MUTEX, RWLOCK, WAIT, FUNCTIONS };
enum { NOBODY, OWN, MIDDLEWARE };

static int64_t* counts;
static __thread int place __attribute__((tls_model("initial-exec")));

static void count(int function) {
  if (place != NOBODY && counts) ++counts[(place - 1) * FUNCTIONS + function];
}

__attribute__((constructor)) static void open_file(void) {
  const char* path = getenv("COUNT_CALLS");
  const int file = path ? open(path, O_RDWR) : -1;
  if (file < 0) return;
  void* memory = mmap(0, (2 * FUNCTIONS + 1) * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) counts = memory;
}

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

void* malloc(size_t size) { count(MALLOC); return __libc_malloc(size); }
void* calloc(size_t n, size_t size) { count(CALLOC); return __libc_calloc(n, size); }
void* realloc(void* old, size_t size) { count(REALLOC); return __libc_realloc(old, size); }
void free(void* old) { count(FREE); __libc_free(old); }
void* memalign(size_t to, size_t size) { count(ALIGNED); return __libc_memalign(to, size); }
void* aligned_alloc(size_t to, size_t size) { count(ALIGNED); return __libc_memalign(to, size); }
int posix_memalign(void** made, size_t to, size_t size) {
  count(ALIGNED);
  *made = __libc_memalign(to, size);
  return *made ? 0 : 12;
}

#define NEXT(name, ...) \
  static int (*next)(__VA_ARGS__); \
  if (!next) next = (int (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

int pthread_mutex_lock(pthread_mutex_t* m) { NEXT("pthread_mutex_lock", pthread_mutex_t*); count(MUTEX); return next(m); }
int pthread_mutex_trylock(pthread_mutex_t* m) { NEXT("pthread_mutex_trylock", pthread_mutex_t*); count(MUTEX); return next(m); }
int pthread_rwlock_rdlock(pthread_rwlock_t* m) { NEXT("pthread_rwlock_rdlock", pthread_rwlock_t*); count(RWLOCK); return next(m); }
int pthread_rwlock_wrlock(pthread_rwlock_t* m) { NEXT("pthread_rwlock_wrlock", pthread_rwlock_t*); count(RWLOCK); return next(m); }
int sem_wait(sem_t* s) { NEXT("sem_wait", sem_t*); count(WAIT); return next(s); }
void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  static void* (*next)(void*, size_t, int, int, int, off_t);
  if (!next) next = (void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
  count(MAP);
  return next(at, size, protection, flags, file, offset);
}

/* The functions of rcl, as runner.c calls them. */

static int (*take)(const void*, void*, void*, void*);
static int (*publish)(const void*, const void*, void*);
static int (*subscribers)(const void*, size_t*);
static int (*clock_now)(void*, int64_t*);

static int counted_take(const void* a, void* b, void* c, void* d) {
  place = MIDDLEWARE;
  const int answer = take(a, b, c, d);
  place = OWN;
  if (answer == 0 && counts) ++counts[2 * FUNCTIONS];
  return answer;
}

static int counted_publish(const void* a, const void* b, void* c) {
  place = MIDDLEWARE;
  const int answer = publish(a, b, c);
  place = OWN;
  return answer;
}

static int counted_subscribers(const void* a, size_t* b) {
  place = MIDDLEWARE;
  const int answer = subscribers(a, b);
  place = OWN;
  return answer;
}

static int counted_clock_now(void* a, int64_t* b) {
  place = MIDDLEWARE;
  const int answer = clock_now(a, b);
  place = OWN;
  return answer;
}

/* Takes the addresses of take, publish, subscribers and clock_now of rcl, and puts those of the counted ones there. */
void count_around(void** functions) {
  take = (int (*)(const void*, void*, void*, void*))functions[0];
  publish = (int (*)(const void*, const void*, void*))functions[1];
  subscribers = (int (*)(const void*, size_t*))functions[2];
  clock_now = (int (*)(void*, int64_t*))functions[3];
  functions[0] = (void*)counted_take; functions[1] = (void*)counted_publish;
  functions[2] = (void*)counted_subscribers; functions[3] = (void*)counted_clock_now;
}
