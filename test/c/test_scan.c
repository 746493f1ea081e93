/* Loops over steps from C: values and gradients of poly_scan beside the loop written out, and what happens when memory
 * runs out at any point. */
#include "failing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { STEPS = 5, WIDTH = 3 };

/* h = tanh(h w + x); the result of a step is h x. user is w. */
static int step(void *user, PolyTensor *const *carry, int ncarry, PolyTensor *const *x, int nx, PolyTensor **new_carry,
                PolyTensor **y) {
  assert_true(ncarry == 1 && nx == 1);
  PolyTensor *wh = poly_mul(carry[0], user), *sum = poly_add(wh, x[0]);
  new_carry[0] = poly_tanh(sum);
  y[0] = poly_mul(new_carry[0], x[0]);
  poly_free(wh);
  poly_free(sum);
  return y[0] ? 1 : -1;
}

static const double w0[WIDTH] = {0.5, -1, 0.25}, h0[WIDTH] = {1, 2, -1};
static double xs_at(int t, int k) { return 0.3 * t - 0.2 * k; }

/* The sum of all results, from weights w. */
static double formula(const double *w, bool reverse) {
  double h[WIDTH], sum = 0;
  for (int k = 0; k < WIDTH; k++) h[k] = h0[k];
  for (int s = 0; s < STEPS; s++) {
    int t = reverse ? STEPS - 1 - s : s;
    for (int k = 0; k < WIDTH; k++) {
      h[k] = tanh(h[k] * w[k] + xs_at(t, k));
      sum += h[k] * xs_at(t, k);
    }
  }
  return sum;
}

/* The same, and its gradient, by poly_scan. False: memory has run out, and nothing is left behind. */
static bool run(PolyContext *ctx, int flags, double *sum, double *grad) {
  double x[STEPS * WIDTH];
  for (int t = 0; t < STEPS; t++)
    for (int k = 0; k < WIDTH; k++) x[t * WIDTH + k] = xs_at(t, k);
  PolyTensor *w = poly_from_data(ctx, w0, POLY_FLOAT64, 1, (int64_t[]){WIDTH});
  PolyTensor *h = poly_from_data(ctx, h0, POLY_FLOAT64, 1, (int64_t[]){WIDTH});
  PolyTensor *xs = poly_from_data(ctx, x, POLY_FLOAT64, 2, (int64_t[]){STEPS, WIDTH});
  PolyTensor *last = NULL, *stacked[POLY_SCAN_RESULTS] = {0}, *total = NULL, *dw = NULL;
  PolyScanBody body = {step, w};
  int n = w && h && xs ? poly_scan(ctx, &body, &h, 1, &xs, 1, -1, flags, &last, stacked) : -1;
  if (n == 1) total = poly_sum(stacked[0], 0, NULL, false);
  bool ok = total && poly_grad(total, NULL, &w, 1, &dw) == POLY_OK && poly_read(total, sum, sizeof *sum) == POLY_OK &&
            poly_read(dw, grad, WIDTH * sizeof *grad) == POLY_OK;
  PolyTensor *all[] = {w, h, xs, last, stacked[0], total, dw};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poly_free(all[k]);
  return ok;
}

static void values_and_gradients(void **state) {
  (void)state;
  static const int flags[] = {0, POLY_SCAN_REVERSE, POLY_SCAN_RECOMPUTE, POLY_SCAN_REVERSE | POLY_SCAN_RECOMPUTE};
  for (int f = 0; f < 4; f++) {
    PolyContext *ctx = poly_context_new();
    poly_set_device(ctx, "INTERP");
    double sum, grad[WIDTH];
    bool reverse = flags[f] & POLY_SCAN_REVERSE;
    assert_true(run(ctx, flags[f], &sum, grad));
    assert_true(fabs(sum - formula(w0, reverse)) < 1e-12);
    for (int k = 0; k < WIDTH; k++) {
      double up[WIDTH], down[WIDTH], e = 1e-5;
      for (int i = 0; i < WIDTH; i++) up[i] = down[i] = w0[i];
      up[k] += e, down[k] -= e;
      assert_true(fabs(grad[k] - (formula(up, reverse) - formula(down, reverse)) / (2 * e)) < 1e-8);
    }
    assert_int_equal(poly_live_tensors(ctx), 0);
    poly_context_free(ctx);
  }
}

static void allocations_may_fail(void **state) {
  (void)state;
  Failing f = {.until = -1};
  PolyContext *ctx = failing_context(&f);
  double sum = 0, grad[WIDTH];
  bool done = false;
  for (int64_t n = 1; !done; n += 1 + n / 16) {
    f.until = n;
    done = run(ctx, 0, &sum, grad);
    f.until = -1;
    if (!done) assert_int_equal(poly_error_code(ctx), POLY_ERROR_MEMORY);
    poly_clear_error(ctx);
    assert_int_equal(poly_live_tensors(ctx), 0);
  }
  assert_true(fabs(sum - formula(w0, false)) < 1e-12);
  poly_context_free(ctx);
  assert_int_equal(f.bytes, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values_and_gradients), cmocka_unit_test(allocations_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
