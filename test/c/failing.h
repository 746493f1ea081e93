/* failing.h: an allocator that fails on demand, for sweeps: run a scenario with the n-th allocation failing, for each
 * n. */
#ifndef FAILING_H
#define FAILING_H

#include <stdlib.h>

#include "polygrad.h"

typedef struct Failing {
  int64_t until; /* allocations that still succeed; negative: no limit */
  int64_t count; /* allocations so far */
  int64_t bytes; /* not yet freed */
} Failing;

static inline void *failing_realloc(void *user, void *p, size_t old_size, size_t new_size) {
  Failing *f = user;
  if (new_size == 0) {
    free(p);
    f->bytes -= (int64_t)old_size;
    return NULL;
  }
  f->count++;
  if (f->until == 0) return NULL;
  if (f->until > 0) f->until--;
  void *q = realloc(p, new_size);
  if (q) f->bytes += (int64_t)new_size - (int64_t)old_size;
  return q;
}

static inline PolyContext *failing_context(Failing *f) {
  PolyContext *ctx = poly_context_new_with(&(PolyAllocator){failing_realloc, f});
  if (ctx) poly_set_device(ctx, "INTERP");
  return ctx;
}

#endif
