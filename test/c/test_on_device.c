/* test_on_device.c: what is made where the data are: R-MAT graphs, joined tensors and copies ahead on the test device,
 * whose memory the host cannot read and whose copies ahead arrive as late as they may; and what happens when memory
 * runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "failing.h"

enum { NODES = 50, EDGES = 40 };

static bool is_rmat(PolyContext *ctx) {
  int64_t got[2 * EDGES], want[2 * EDGES];
  PolyTensor *t = poly_rmat_edges(ctx, NODES, EDGES, 0.5, 0.2, 0.2, 7, true);
  bool ok = t && poly_read(t, got, sizeof got) == POLY_OK;
  poly_free(t);
  assert_int_equal(poly_rmat(NODES, EDGES, 0.5, 0.2, 0.2, 7, true, 1, want), POLY_OK);
  if (ok) assert_memory_equal(got, want, sizeof got);
  return ok;
}

/* [2, 3] and [2, 2] along the last axis; both are on their way when they are joined. */
static bool joins(PolyContext *ctx) {
  static const int32_t a[6] = {1, 2, 3, 4, 5, 6}, b[4] = {7, 8, 9, 10}, want[10] = {1, 2, 3, 7, 8, 4, 5, 6, 9, 10};
  int32_t got[10];
  poly_set_copy_ahead(ctx, true);
  PolyTensor *part[2] = {poly_from_data(ctx, a, POLY_INT32, 2, (int64_t[]){2, 3}),
                         poly_from_data(ctx, b, POLY_INT32, 2, (int64_t[]){2, 2})};
  PolyTensor *unread = poly_from_data(ctx, a, POLY_INT32, 1, (int64_t[]){6});
  poly_set_copy_ahead(ctx, false);
  PolyTensor *t = part[0] && part[1] ? poly_join(part, 2, 1) : NULL;
  bool ok = t && unread && poly_read(t, got, sizeof got) == POLY_OK;
  if (ok) assert_memory_equal(got, want, sizeof got);
  poly_free(t);
  poly_free(unread);
  for (int k = 0; k < 2; k++) poly_free(part[k]);
  return ok;
}

static void results_are_those_of_the_host(void **state) {
  (void)state;
  PolyContext *ctx = poly_context_new();
  assert_int_equal(poly_set_device(ctx, "TEST"), POLY_OK);
  assert_true(poly_can_copy_ahead(ctx));
  int64_t before = poly_device_read_bytes(ctx, "TEST");
  PolyTensor *t = poly_rmat_edges(ctx, NODES, EDGES, 0.5, 0.2, 0.2, 7, true);
  assert_true(poly_on_device(t));
  assert_in_range(poly_device_read_bytes(ctx, "TEST") - before, 1, 200); /* a number a round */
  poly_free(t);
  assert_true(is_rmat(ctx));
  assert_true(joins(ctx));
  assert_null(poly_rmat_edges(ctx, 0, 5, 0.5, 0.2, 0.2, 7, true));
  assert_int_equal(poly_error_code(ctx), POLY_ERROR_VALUE);
  poly_context_free(ctx);
}

/* The n-th allocation of a scenario fails, for some n: an error comes back, nothing leaks, the next call works. */
static void sweep(bool (*scenario)(PolyContext *ctx)) {
  for (int64_t n = 0;; n += 1 + n / 16) {
    Failing f = {.until = -1};
    PolyContext *ctx = failing_context(&f);
    assert_int_equal(poly_set_device(ctx, "TEST"), POLY_OK);
    f.until = n;
    bool ok = scenario(ctx);
    assert_int_equal(poly_error_code(ctx), ok ? POLY_OK : POLY_ERROR_MEMORY);
    f.until = -1;
    poly_clear_error(ctx);
    assert_true(scenario(ctx));
    poly_context_free(ctx);
    assert_int_equal(f.bytes, 0);
    if (ok) return;
    assert_true(n < 1 << 20);
  }
}

static void survives_without_memory(void **state) {
  (void)state;
  sweep(joins);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_are_those_of_the_host),
      cmocka_unit_test(survives_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
