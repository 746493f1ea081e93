/* test_schedule.c: what becomes one kernel. Each case counts the kernels that a program ran as, so a failure means that
 * something is stored which need not be, or computed twice. Runs on the interpreter: the schedule is the same for every
 * device but for the matrix product. */
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "polygrad.h"

static PolyContext *ctx;

static int begin(void **state) {
  (void)state;
  ctx = poly_context_new();
  assert_non_null(ctx);
  assert_int_equal(poly_set_device(ctx, "INTERP"), POLY_OK);
  poly_scope_begin(ctx);
  return 0;
}

static int end(void **state) {
  (void)state;
  poly_scope_end(ctx);
  assert_int_equal(poly_live_tensors(ctx), 0);
  poly_context_free(ctx);
  return 0;
}

static PolyTensor *ramp(int64_t rows, int64_t cols) {
  size_t n = (size_t)(rows * cols);
  float *v = malloc(n * sizeof *v);
  for (size_t i = 0; i < n; i++) v[i] = sinf((float)i) + 0.01f * (float)(i % 17);
  PolyTensor *t = poly_from_data(ctx, v, POLY_FLOAT32, 2, (int64_t[]){rows, cols});
  free(v);
  return t;
}

/* How many kernels computing these takes. */
static int kernels_of(PolyTensor *const *t, int n) {
  int launches = 0;
  assert_int_equal(poly_profile_begin(ctx), POLY_OK);
  PolyStatus s = poly_realize_many(t, n);
  if (s != POLY_OK) fail_msg("%s", poly_error_text(ctx));
  assert_int_equal(poly_profile_end(ctx), POLY_OK);
  for (int i = 0; i < poly_profile_kernels(ctx); i++) {
    PolyKernelStat k;
    assert_int_equal(poly_profile_kernel(ctx, i, &k), POLY_OK);
    launches += (int)k.count;
  }
  return launches;
}

static int kernels(PolyTensor *t) {
  if (!t) fail_msg("%s", poly_error_text(ctx));
  return kernels_of(&t, 1);
}

static void chain_with_broadcast_and_moves(void **state) {
  (void)state;
  PolyTensor *x = ramp(6, 8), *row = ramp(1, 8);
  PolyTensor *y =
      poly_relu(poly_add(poly_transpose(poly_mul(x, row), 0, 1), poly_full(ctx, POLY_FLOAT32, 0, NULL, 0.5)));
  y = poly_exp(poly_flip(poly_reshape(y, 2, (int64_t[]){4, 12}), 1, (int[]){0}));
  assert_int_equal(kernels(y), 1);
}

static void row_softmax(void **state) {
  (void)state;
  assert_int_equal(kernels(poly_softmax(ramp(5, 9), -1)), 1);
  assert_int_equal(kernels(poly_log_softmax(ramp(5, 9), -1)), 1);
}

static void layer_norm_and_variance(void **state) {
  (void)state;
  assert_int_equal(kernels(poly_layernorm(ramp(5, 9), 1, 1e-5)), 1);
  assert_int_equal(kernels(poly_var(ramp(5, 9), 1, (int[]){1}, false, 1)), 1);
  assert_int_equal(kernels(poly_std(ramp(5, 9), 1, (int[]){-1}, true, 0)), 1);
}

static void cross_entropy_is_one_kernel(void **state) {
  (void)state;
  int32_t classes[5] = {1, 0, 3, 2, 3};
  PolyTensor *target = poly_from_data(ctx, classes, POLY_INT32, 1, (int64_t[]){5});
  assert_int_equal(kernels(poly_cross_entropy(ramp(5, 4), target, 0, -100, 'm')), 1);
}

static void sum_of_softmax_backward(void **state) {
  (void)state;
  PolyTensor *x = ramp(5, 9), *g = ramp(5, 9), *dx;
  assert_int_equal(poly_grad(poly_softmax(x, -1), g, &x, 1, &dx), POLY_OK);
  assert_int_equal(kernels(dx), 1);
}

/* Column statistics read in row loops would be computed once per row: they are stored. */
static void column_statistics_are_stored(void **state) {
  (void)state;
  PolyTensor *x = ramp(40, 30);
  PolyTensor *y = poly_sub(x, poly_mean(x, 1, (int[]){0}, true));
  assert_int_equal(kernels(y), 2);
}

/* Outputs with the same loops and shared inputs come out of one kernel. */
static void siblings_share_a_kernel(void **state) {
  (void)state;
  PolyTensor *x = ramp(7, 5);
  PolyTensor *pair[2] = {poly_exp(x), poly_square(x)};
  assert_int_equal(kernels_of(pair, 2), 1);
  PolyTensor *sums[2] = {poly_sum(x, 1, (int[]){1}, false), poly_max(x, 1, (int[]){1}, false)};
  assert_int_equal(kernels_of(sums, 2), 1);
}

/* A reduction of everything is cut into pieces, in a number that no thread count changes. */
static void large_sum_is_cut(void **state) {
  (void)state;
  PolyTensor *x = ramp(300, 301), *s = poly_sum(x, 0, NULL, false);
  assert_int_equal(kernels(s), 2);
  double want = 0;
  float *v = poly_data(x);
  for (int i = 0; i < 300 * 301; i++) want += (double)v[i];
  assert_true(fabs(poly_item(s) - want) < 1e-2);
}

/* A chain of any length runs; equal pieces of it are one kernel that runs many times. */
static void long_chain_runs(void **state) {
  (void)state;
  PolyTensor *x = ramp(2, 3);
  float first = ((float *)poly_data(x))[0];
  for (int i = 0; i < 2000; i++) {
    PolyTensor *next = poly_add_scalar(x, 1);
    poly_free(poly_keep(x));
    x = next;
  }
  int n = kernels(x);
  assert_true(n > 1 && n < 40);
  assert_true(fabsf(((float *)poly_data(x))[0] - (first + 2000)) < 1e-2f);
}

/* x.assign(f(x)) in place, also where f reads other places of x. */
static void assign_reads_before_it_writes(void **state) {
  (void)state;
  float v[6] = {0, 1, 2, 3, 4, 5}, out[6];
  PolyTensor *x = poly_from_data(ctx, v, POLY_FLOAT32, 1, (int64_t[]){6});
  PolyTensor *old = poly_mul_scalar(x, 10);
  assert_int_equal(poly_assign(x, poly_flip(x, 1, (int[]){0})), POLY_OK);
  assert_int_equal(poly_read(x, out, sizeof out), POLY_OK);
  for (int i = 0; i < 6; i++) assert_true(out[i] == (float)(5 - i));
  assert_int_equal(poly_read(old, out, sizeof out), POLY_OK);
  for (int i = 0; i < 6; i++) assert_true(out[i] == (float)(10 * i));
}

/* Two nested reductions of other sizes in one kernel: each inner loop belongs to its own outer loop. */
static void reductions_of_other_sizes_side_by_side(void **state) {
  (void)state;
  PolyTensor *w = ramp(2, 2), *b = ramp(3, 2);
  PolyTensor *first = poly_sum(poly_matmul(w, poly_transpose(b, 0, 1)), 0, NULL, false);
  PolyTensor *second = poly_sum(poly_matmul(b, w), 0, NULL, false);
  double apart = poly_item(poly_add_scalar(first, 0)) + poly_item(poly_add_scalar(second, 0));
  PolyTensor *again = poly_sum(poly_matmul(w, poly_transpose(b, 0, 1)), 0, NULL, false);
  PolyTensor *both = poly_add(again, poly_sum(poly_matmul(b, w), 0, NULL, false));
  assert_true(fabs(poly_item(both) - apart) < 1e-5);
}

/* A reduction that two others need, one of them out of loop order. */
static void reduction_needed_in_two_orders(void **state) {
  (void)state;
  PolyTensor *a = ramp(2, 3), *b = ramp(3, 1), *w = ramp(2, 1), *c = ramp(2, 3), *ga[2];
  PolyTensor *y = poly_square(poly_matmul(a, b));
  assert_int_equal(poly_grad(y, w, (PolyTensor *[]){a, b}, 2, ga), POLY_OK);
  PolyTensor *s = poly_add(poly_sum(poly_mul(ga[0], c), 0, NULL, false), poly_sum(poly_mul(ga[1], b), 0, NULL, false));
  float *va = poly_data(a), *vb = poly_data(b), *vw = poly_data(w), *vc = poly_data(c), want = 0;
  for (int i = 0; i < 2; i++) {
    float dot = 0;
    for (int k = 0; k < 3; k++) dot += va[3 * i + k] * vb[k];
    for (int k = 0; k < 3; k++) want += 2 * vw[i] * dot * (vb[k] * vc[3 * i + k] + va[3 * i + k] * vb[k]);
  }
  assert_true(fabs(poly_item(s) - (double)want) < 1e-4);
}

/* A sum that walks its axis as two loops, and a reader that walks it as one: both are stored. */
static void a_reader_in_other_loops(void **state) {
  (void)state;
  PolyTensor *a = ramp(2, 3);
  PolyTensor *s = poly_sum(a, 1, (int[]){1}, true);
  PolyTensor *t = poly_sum(poly_add(poly_repeat(s, 2, (int64_t[]){2, 1}), poly_repeat(s, 2, (int64_t[]){2, 1})), 1,
                           (int[]){1}, false);
  PolyTensor *u = poly_exp(t), *both[2] = {t, u};
  mallopt(M_PERTURB, 165);
  kernels_of(both, 2);
  mallopt(M_PERTURB, 0);
  float *v = poly_data(a), *got = poly_data(t), *next = poly_data(u);
  for (int i = 0; i < 4; i++) {
    float want = 2 * (v[3 * (i % 2)] + v[3 * (i % 2) + 1] + v[3 * (i % 2) + 2]);
    assert_true(fabsf(got[i] - want) < 1e-5f && fabsf(next[i] - expf(want)) < 1e-3f * expf(want));
  }
}

/* Sums over more different lengths than one kernel has names for loops: some are stored. */
static void more_loops_than_a_kernel_has(void **state) {
  (void)state;
  enum { LENGTH = 80 };
  PolyTensor *x = ramp(2, LENGTH), *sum = NULL;
  for (int64_t k = 2; k < LENGTH; k++) {
    PolyTensor *part = poly_sum(poly_shrink(x, (int64_t[]){0, 2, 0, k}), 1, (int[]){1}, false);
    sum = sum ? poly_add(sum, part) : part;
  }
  assert_true(kernels(sum) > 1);
  float *v = poly_data(x), *got = poly_data(sum);
  for (int i = 0; i < 2; i++) {
    double want = 0;
    for (int k = 2; k < LENGTH; k++)
      for (int j = 0; j < k; j++) want += (double)v[LENGTH * i + j];
    assert_true(fabs((double)got[i] - want) < 1e-3);
  }
}

/* Parts of a cat are written one by one; reading through a cat chooses. */
static void cat_is_written_in_parts(void **state) {
  (void)state;
  PolyTensor *x = ramp(3, 4), *y = ramp(3, 5);
  assert_int_equal(kernels(poly_cat((PolyTensor *[]){x, y}, 2, 1)), 2);
  PolyTensor *sum = poly_sum(poly_cat((PolyTensor *[]){x, y}, 2, 1), 1, (int[]){1}, false);
  assert_int_equal(kernels(sum), 1);
  float *a = poly_data(x), *b = poly_data(y), *s = poly_data(sum);
  for (int i = 0; i < 3; i++) {
    float want = 0;
    for (int k = 0; k < 4; k++) want += a[4 * i + k];
    for (int k = 0; k < 5; k++) want += b[5 * i + k];
    assert_true(fabsf(s[i] - want) < 1e-5f);
  }
}

/* Loads under a condition, compiled: gcc's vectorisers lose rows of just this. */
static void padding_on_the_compiled_device(void **state) {
  (void)state;
  double v[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[18];
  if (poly_set_device(ctx, "CPU") != POLY_OK) skip();
  PolyTensor *x = poly_from_data(ctx, v, POLY_FLOAT64, 2, (int64_t[]){4, 2});
  PolyTensor *y = poly_pad(x, (int64_t[]){1, 1, 0, 1}, POLY_PAD_CONSTANT, 0);
  assert_int_equal(poly_read(y, out, sizeof out), POLY_OK);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 3; j++) {
      bool inside = i >= 1 && i < 5 && j < 2;
      assert_true(out[3 * i + j] == (inside ? v[2 * (i - 1) + j] : 0));
    }
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
  const struct CMUnitTest tests[] = {
      CASE(chain_with_broadcast_and_moves),
      CASE(row_softmax),
      CASE(layer_norm_and_variance),
      CASE(cross_entropy_is_one_kernel),
      CASE(sum_of_softmax_backward),
      CASE(column_statistics_are_stored),
      CASE(siblings_share_a_kernel),
      CASE(large_sum_is_cut),
      CASE(long_chain_runs),
      CASE(assign_reads_before_it_writes),
      CASE(padding_on_the_compiled_device),
      CASE(cat_is_written_in_parts),
      CASE(reduction_needed_in_two_orders),
      CASE(reductions_of_other_sizes_side_by_side),
      CASE(a_reader_in_other_loops),
      CASE(more_loops_than_a_kernel_has),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
