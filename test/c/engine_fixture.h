/* engine_fixture.h: what the tests of the engine share: a context on the interpreter whose memory is counted and can
 * run out, vectors, and expectations. */
#ifndef ENGINE_FIXTURE_H
#define ENGINE_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "polygrad.h"

#define SHAPE(...)                                                                                                     \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]) { __VA_ARGS__ }

/* Counts what is alive, and can fail the n-th request from now on. */
typedef struct Heap {
  int64_t alive, bytes;
  int64_t countdown; /* 0: never fails */
  bool failed;
} Heap;

static inline void *heap_realloc(void *user, void *p, size_t old_size, size_t new_size) {
  Heap *h = user;
  if (new_size == 0) {
    if (p) h->alive--, h->bytes -= (int64_t)old_size;
    free(p);
    return NULL;
  }
  if (h->countdown && --h->countdown == 0) {
    h->failed = true;
    return NULL;
  }
  void *q = realloc(p, new_size);
  if (!q) return NULL;
  h->alive += p == NULL;
  h->bytes += (int64_t)new_size - (int64_t)old_size;
  return q;
}

static Heap heap;

static inline PolyContext *new_context(void) {
  heap = (Heap){0};
  setenv("POLY_VERIFY", "1", 1);
  setenv("POLY_TIER", "1", 1); /* what runs on the CPU is compiled */
  PolyContext *ctx = poly_context_new_with(&(PolyAllocator){heap_realloc, &heap});
  assert_non_null(ctx);
  assert_int_equal(poly_set_device(ctx, "INTERP"), POLY_OK);
  return ctx;
}

static inline int open_context(void **state) {
  *state = new_context();
  return 0;
}

/* Whatever a test forgot to free, the context must not. */
static inline int close_context(void **state) {
  poly_context_free(*state);
  assert_int_equal(heap.alive, 0);
  assert_int_equal(heap.bytes, 0);
  return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_context, close_context)

static inline PolyTensor *vector(PolyContext *ctx, int n, const float *v) {
  PolyTensor *t = poly_from_data(ctx, v, POLY_FLOAT32, SHAPE(n));
  assert_non_null(t);
  return t;
}

static inline void expect(PolyTensor *t, int n, const float *want) {
  float got[64];
  assert_non_null(t);
  PolyStatus s = poly_read(t, got, (size_t)n * sizeof *got);
  if (s != POLY_OK) fail_msg("%s", poly_error_text(poly_context_of(t)));
  for (int i = 0; i < n; i++)
    if (!(fabsf(got[i] - want[i]) <= 1e-5f * fmaxf(1, fabsf(want[i]))))
      fail_msg("element %d is %g, not %g", i, got[i], want[i]);
}

#define EXPECT(t, ...) expect(t, (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__})
#define FLOATS(ctx, ...) vector(ctx, (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__})

static inline void expect_error(PolyContext *ctx, PolyStatus got, PolyStatus want, const char *words) {
  assert_int_equal(got, want);
  assert_int_equal(poly_error_code(ctx), want);
  if (!strstr(poly_error_text(ctx), words)) fail_msg("\"%s\" does not say \"%s\"", poly_error_text(ctx), words);
  poly_clear_error(ctx);
}

#endif
