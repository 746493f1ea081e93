/* threads.c: keeps account of whether this process has threads of the OpenMP runtime, for what comes after a fork. */
#include "base/threads.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { MOST_THREADS = 1024 }; /* the OpenMP runtime ends a process whose threads cannot be made */

static atomic_bool several;  /* a loop of this process had more than one thread */
static atomic_bool orphaned; /* the process is the child of one that had */

int threads_allowed(int wanted) {
  if (wanted <= 1 || atomic_load_explicit(&orphaned, memory_order_relaxed)) return 1;
  if (!atomic_load_explicit(&several, memory_order_relaxed)) atomic_store(&several, true);
  return wanted < MOST_THREADS ? wanted : MOST_THREADS;
}

void threads_after_fork(void) {
  if (atomic_load(&several)) atomic_store(&orphaned, true);
}
