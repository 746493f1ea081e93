/* test_optim.c: optimizers against the numbers that PyTorch gives (LAMB: tinygrad) for the same start, gradients and
 * settings; the learning rate as a tensor that can change; the same sequence as a compiled step; and bad settings. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing.h"

#define LEN(a) ((int)(sizeof(a) / sizeof((a)[0])))

enum { N = 3, STEPS = 3 };

static const double start[N] = {1.0, -2.0, 0.5};
static const double gradient[STEPS][N] = {{0.1, -0.2, 0.3}, {0.4, 0.5, -0.6}, {-0.7, 0.8, 0.9}};

static PolyOptim *sgd(PolyTensor **p) { return poly_sgd(p, 1, 0.1, 0, 0, false); }
static PolyOptim *sgd_decay(PolyTensor **p) { return poly_sgd(p, 1, 0.1, 0, 0.01, false); }
static PolyOptim *sgd_momentum(PolyTensor **p) { return poly_sgd(p, 1, 0.1, 0.9, 0.01, false); }
static PolyOptim *sgd_nesterov(PolyTensor **p) { return poly_sgd(p, 1, 0.1, 0.9, 0.01, true); }
static PolyOptim *adam(PolyTensor **p) { return poly_adam(p, 1, 0.1, 0.8, 0.99, 1e-6, 0); }
static PolyOptim *adam_decay(PolyTensor **p) { return poly_adam(p, 1, 0.1, 0.8, 0.99, 1e-6, 0.01); }
static PolyOptim *adamw(PolyTensor **p) { return poly_adamw(p, 1, 0.1, 0.8, 0.99, 1e-6, 0.05); }
static PolyOptim *rmsprop(PolyTensor **p) { return poly_rmsprop(p, 1, 0.1, 0.9, 1e-6, 0, 0); }
static PolyOptim *rmsprop_momentum(PolyTensor **p) { return poly_rmsprop(p, 1, 0.1, 0.9, 1e-6, 0.01, 0.5); }
static PolyOptim *lamb(PolyTensor **p) { return poly_lamb(p, 1, 0.1, 0.8, 0.99, 1e-6, 0.05); }

static const struct {
  const char *name;
  PolyOptim *(*make)(PolyTensor **p);
  double want[STEPS * N];
} cases[] = {
    {"SGD", sgd, {0.99, -1.98, 0.47, 0.95, -2.03, 0.53, 1.02, -2.11, 0.44}},
    {"SGD, weight decay",
     sgd_decay,
     {0.989, -1.978, 0.4695, 0.948011, -2.026022, 0.5290305, 1.017062989, -2.103995978, 0.4385014695}},
    {"SGD, momentum",
     sgd_momentum,
     {0.989, -1.978, 0.4695, 0.938111, -2.006222, 0.5015805, 0.961372789, -2.109615578, 0.4399513695}},
    {"SGD, Nesterov",
     sgd_nesterov,
     {0.9791, -1.9582, 0.44205, 0.89232971, -2.03165942, 0.530505105, 0.982422212551, -2.202675125102,
      0.3845045848005}},
    {"Adam",
     adam,
     {0.90000099999, -1.9000004999975, 0.400000333332222, 0.80873750533677, -1.94951501539578, 0.442100526852313,
      0.83624826613168, -2.02816872286466, 0.403508973108228}},
    {"Adam, weight decay",
     adam_decay,
     {0.900000909082645, -1.90000045454339, 0.400000327867778, 0.808005262166099, -1.94523134364833, 0.441247208578147,
      0.833667205127086, -2.02212211654773, 0.402070375902554}},
    {"AdamW",
     adamw,
     {0.89500099999, -1.8900004999975, 0.397500333332222, 0.79926250033682, -1.93006501289579, 0.437613025185652,
      0.822776948630046, -1.9990683953002, 0.396833406315638}},
    {"RMSprop",
     rmsprop,
     {0.683782233666944, -1.68377723390411, 0.183775567281359, 0.376092292820335, -1.97943168365724, 0.469488492457906,
      0.652337652255848, -2.24648348062997, 0.210425358092495}},
    {"RMSprop, momentum",
     rmsprop_momentum,
     {0.683781324630915, -1.68377677937237, 0.183775512637693, 0.219362726625585, -1.81596446555273, 0.310333110250755,
      0.261764355611376, -2.14857296807805, 0.114306117806397}},
    {"LAMB",
     lamb,
     {0.868811484623374, -1.86256372826289, 0.371934217511937, 0.689315184519529, -1.93803952143046, 0.447482903091892,
      0.749853251167674, -2.11153044075526, 0.344769812464203}},
};

/* ---- fixture ---- */

static int open_context(void **state) {
  PolyContext *ctx = poly_context_new();
  assert_non_null(ctx);
  poly_set_device(ctx, "INTERP");
  poly_clear_error(ctx);
  *state = ctx;
  return 0;
}

static int close_context(void **state) {
  PolyContext *ctx = *state;
  assert_int_equal(poly_live_tensors(ctx), 0);
  poly_context_free(ctx);
  return 0;
}

static void ok(PolyContext *ctx, PolyStatus status, const char *what) {
  if (status != POLY_OK) fail_msg("%s: %s", what, poly_error_text(ctx));
}

static PolyTensor *vector(PolyContext *ctx, PolyDType dtype, const double *v) {
  float narrow[N];
  for (int k = 0; k < N; k++) narrow[k] = (float)v[k];
  const void *data = dtype == POLY_FLOAT64 ? (const void *)v : narrow;
  PolyTensor *t = poly_from_data(ctx, data, dtype, 1, (int64_t[]){N});
  assert_non_null(t);
  return t;
}

static void expect(PolyContext *ctx, const char *name, PolyTensor *p, const double *want, double tolerance) {
  double got[N];
  if (poly_dtype(p) == POLY_FLOAT64) {
    ok(ctx, poly_read(p, got, sizeof got), name);
  } else {
    float narrow[N];
    ok(ctx, poly_read(p, narrow, sizeof narrow), name);
    for (int k = 0; k < N; k++) got[k] = narrow[k];
  }
  for (int k = 0; k < N; k++)
    if (!(fabs(got[k] - want[k]) <= tolerance))
      fail_msg("%s: element %d is %.15g, not %.15g", name, k, got[k], want[k]);
}

/* ---- values ---- */

static void run_sequence(PolyContext *ctx, int which, PolyDType dtype, double tolerance) {
  PolyTensor *p = vector(ctx, dtype, start);
  PolyOptim *o = cases[which].make(&p);
  if (!o) fail_msg("%s: %s", cases[which].name, poly_error_text(ctx));
  for (int step = 0; step < STEPS; step++) {
    PolyTensor *g = vector(ctx, dtype, gradient[step]);
    ok(ctx, poly_set_grad(p, g), "set_grad");
    ok(ctx, poly_optim_step(o), cases[which].name);
    expect(ctx, cases[which].name, p, cases[which].want + step * N, tolerance);
    poly_optim_zero_grad(o);
    poly_free(g);
  }
  poly_optim_free(o);
  poly_free(p);
}

static void sequences(void **state) {
  for (int k = 0; k < LEN(cases); k++) {
    run_sequence(*state, k, POLY_FLOAT64, 1e-13);
    run_sequence(*state, k, POLY_FLOAT32, 1e-6);
  }
}

/* The loss 0.5 |p - target|^2 with its real gradient, through a compiled step: replayed, not traced again. */
static void compiled_steps_replay(void **state) {
  PolyContext *ctx = *state;
  for (int which = 0; which < LEN(cases); which++) {
    PolyTensor *p[2], *state_of[8], *all[9];
    PolyOptim *o[2];
    double eager[N];
    for (int k = 0; k < 2; k++) {
      p[k] = vector(ctx, POLY_FLOAT64, start);
      ok(ctx, poly_set_requires_grad(p[k], true), "requires_grad");
      o[k] = cases[which].make(&p[k]);
    }
    PolyTensor *target = vector(ctx, POLY_FLOAT64, gradient[0]);
    poly_scope_begin(ctx);
    ok(ctx, poly_backward(poly_sum(poly_mul_scalar(poly_square(poly_sub(p[1], target)), 0.5), 0, NULL, false), NULL),
       "backward");
    ok(ctx, poly_optim_schedule(o[1]), "schedule");
    poly_scope_end(ctx);
    int n = poly_optim_state(o[1], state_of, LEN(state_of));
    all[0] = p[1];
    memcpy(all + 1, state_of, (size_t)n * sizeof *all);
    PolyStep *step = poly_step_new(&target, 1, NULL, 0, all, n + 1);
    if (!step) fail_msg("%s: %s", cases[which].name, poly_error_text(ctx));
    poly_optim_zero_grad(o[1]);
    for (int k = 0; k < 5; k++) {
      poly_scope_begin(ctx);
      ok(ctx, poly_backward(poly_sum(poly_mul_scalar(poly_square(poly_sub(p[0], target)), 0.5), 0, NULL, false), NULL),
         "backward");
      ok(ctx, poly_optim_step(o[0]), "step");
      poly_optim_zero_grad(o[0]);
      poly_scope_end(ctx);
      ok(ctx, poly_read(p[0], eager, sizeof eager), "read");
      ok(ctx, poly_step_run(step, NULL, 0), "run");
      expect(ctx, cases[which].name, p[1], eager, 1e-12);
      if (k == 2)
        for (int i = 0; i < 2; i++) ok(ctx, poly_optim_set_lr(o[i], 0.02), "set_lr");
    }
    poly_step_free(step);
    for (int k = 0; k < 2; k++) {
      poly_optim_free(o[k]);
      poly_free(p[k]);
    }
    poly_free(target);
  }
}

/* ---- the rest of the interface ---- */

static void learning_rate_changes(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *p = vector(ctx, POLY_FLOAT64, start), *g = vector(ctx, POLY_FLOAT64, gradient[0]);
  PolyOptim *o = sgd(&p);
  assert_non_null(o);
  assert_true(poly_optim_lr(o) == 0.1);
  ok(ctx, poly_optim_set_lr(o, 0.5), "set_lr");
  assert_true(poly_optim_lr(o) == 0.5);
  ok(ctx, poly_set_grad(p, g), "set_grad");
  ok(ctx, poly_optim_step(o), "step");
  expect(ctx, "lr", p, (double[]){0.95, -1.9, 0.35}, 1e-15);
  assert_int_equal(poly_optim_set_lr(o, -1), POLY_ERROR_VALUE);
  poly_clear_error(ctx);
  assert_int_equal(poly_optim_set_lr(o, NAN), POLY_ERROR_VALUE);
  poly_clear_error(ctx);
  assert_true(poly_optim_lr(o) == 0.5);
  poly_optim_free(o);
  poly_free(p);
  poly_free(g);
}

/* Parameters without a gradient stay; a parameter given twice is updated once; the gradient survives the step. */
static void some_parameters(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *p = vector(ctx, POLY_FLOAT64, start), *q = vector(ctx, POLY_FLOAT64, start);
  PolyTensor *g = vector(ctx, POLY_FLOAT64, gradient[0]), *list[] = {p, q, p};
  PolyOptim *o = poly_adam(list, 3, 0.1, 0.8, 0.99, 1e-6, 0);
  assert_non_null(o);
  assert_int_equal(poly_optim_state(o, NULL, 0), 2 + 2 * 2);
  ok(ctx, poly_optim_step(o), "a step without gradients");
  expect(ctx, "untouched", p, start, 0);
  ok(ctx, poly_set_grad(p, g), "set_grad");
  ok(ctx, poly_optim_step(o), "step");
  expect(ctx, "p", p, cases[4].want, 1e-13);
  expect(ctx, "q", q, start, 0);
  PolyTensor *kept = poly_get_grad(p);
  expect(ctx, "gradient", kept, gradient[0], 0);
  poly_free(kept);
  poly_optim_zero_grad(o);
  assert_null(poly_get_grad(p));
  poly_optim_free(o);
  poly_free(p);
  poly_free(q);
  poly_free(g);
}

/* A lazy gradient reads the parameter: its value must be that of before the step, also when it is read after it. */
static void gradients_outlive_the_step(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *p = vector(ctx, POLY_FLOAT64, start);
  ok(ctx, poly_set_requires_grad(p, true), "requires_grad");
  PolyOptim *o = sgd(&p);
  poly_scope_begin(ctx);
  ok(ctx, poly_backward(poly_sum(poly_square(p), 0, NULL, false), NULL), "backward");
  ok(ctx, poly_optim_step(o), "step");
  expect(ctx, "p", p, (double[]){0.8, -1.6, 0.4}, 1e-15);
  expect(ctx, "gradient", poly_get_grad(p), (double[]){2, -4, 1}, 0);
  poly_scope_end(ctx);
  poly_optim_free(o);
  poly_free(p);
}

static void bad_settings(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *p = vector(ctx, POLY_FLOAT64, start), *i = poly_zeros(ctx, POLY_INT32, 1, (int64_t[]){2});
  PolyOptim *made[] = {poly_sgd(&p, 1, -1, 0, 0, false),          poly_sgd(&p, 1, 0.1, 0, 0, true),
                       poly_sgd(&p, 1, NAN, 0, 0, false),         poly_adam(&p, 1, 0.1, 1, 0.9, 1e-8, 0),
                       poly_adam(&p, 1, 0.1, 0.9, -0.1, 1e-8, 0), poly_adamw(&p, 1, 0.1, 0.9, 0.9, 1e-8, -1)};
  for (int k = 0; k < LEN(made); k++) assert_null(made[k]);
  assert_int_equal(poly_error_code(ctx), POLY_ERROR_VALUE);
  poly_clear_error(ctx);
  assert_null(poly_sgd(&i, 1, 0.1, 0, 0, false));
  assert_int_equal(poly_error_code(ctx), POLY_ERROR_TYPE);
  poly_clear_error(ctx);
  assert_null(poly_sgd(NULL, 0, 0.1, 0, 0, false));
  assert_null(poly_sgd((PolyTensor *[]){NULL}, 1, 0.1, 0, 0, false));
  assert_int_equal(poly_optim_step(NULL), POLY_ERROR_VALUE);
  poly_optim_zero_grad(NULL);
  poly_optim_free(NULL);
  poly_free(p);
  poly_free(i);
}

static bool adam_step(PolyContext *ctx) {
  float v[2] = {1, 2};
  PolyTensor *p = poly_from_data(ctx, v, POLY_FLOAT32, 1, (int64_t[]){2});
  poly_set_requires_grad(p, true);
  PolyOptim *o = poly_adam(&p, 1, 0.1, 0.9, 0.999, 1e-8, 0);
  poly_scope_begin(ctx);
  bool ok = o && poly_backward(poly_sum(poly_square(p), 0, NULL, false), NULL) == POLY_OK;
  ok = ok && poly_optim_step(o) == POLY_OK;
  poly_scope_end(ctx);
  poly_optim_free(o);
  poly_free(p);
  return ok;
}

/* The n-th allocation fails, for each n: an error comes back, the context still works, nothing leaks. */
static void allocations_may_fail(void **state) {
  (void)state;
  for (int64_t n = 0, done = 0; !done; n++) {
    Failing f = {.until = -1};
    PolyContext *c = failing_context(&f);
    assert_non_null(c);
    f.until = n;
    done = adam_step(c);
    assert_true(done == (poly_error_code(c) == POLY_OK));
    f.until = -1;
    poly_clear_error(c);
    assert_int_equal(poly_live_tensors(c), 0);
    assert_true(adam_step(c));
    poly_context_free(c);
    assert_int_equal(f.bytes, 0);
  }
}

/* A loop of plain steps; the parameter after them. */
static bool plain_step(PolyContext *c, PolyTensor *p, PolyOptim *o) {
  poly_optim_zero_grad(o);
  poly_scope_begin(c);
  bool ok = poly_backward(poly_sum(poly_square(p), 0, NULL, false), NULL) == POLY_OK;
  ok = ok && poly_optim_step(o) == POLY_OK;
  poly_scope_end(c);
  return ok;
}

enum { KNOWN = 4 }; /* steps after which the next one is recalled */

/* A step that is recalled meets a failing allocation, for each one: an error comes back, the parameter has its value
 * from before or from after the step, and the loop goes on. */
static void allocations_may_fail_in_known_steps(void **state) {
  (void)state;
  int64_t recalled = 0;
  for (int64_t n = 0, done = 0; !done; n++) {
    Failing f = {.until = -1};
    PolyContext *c = failing_context(&f);
    float v[2] = {1, 2}, before[2], after[2];
    PolyTensor *p = poly_from_data(c, v, POLY_FLOAT32, 1, (int64_t[]){2});
    poly_set_requires_grad(p, true);
    PolyOptim *o = poly_adam(&p, 1, 0.1, 0.9, 0.999, 1e-8, 0);
    for (int k = 0; k < KNOWN; k++) assert_true(plain_step(c, p, o));
    assert_int_equal(poly_read(p, before, sizeof before), POLY_OK);
    f.until = n;
    done = plain_step(c, p, o);
    assert_true(done == (poly_error_code(c) == POLY_OK));
    f.until = -1;
    recalled = poly_steps_recalled(c);
    poly_clear_error(c);
    assert_true(plain_step(c, p, o));
    assert_int_equal(poly_read(p, after, sizeof after), POLY_OK);
    assert_true(after[0] < before[0] && after[1] < before[1]);
    poly_optim_free(o);
    poly_free(p);
    assert_int_equal(poly_live_tensors(c), 0);
    poly_context_free(c);
    assert_int_equal(f.bytes, 0);
  }
  assert_true(recalled > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_context, close_context)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(sequences),
      TEST(compiled_steps_replay),
      TEST(learning_rate_changes),
      TEST(some_parameters),
      TEST(gradients_outlive_the_step),
      TEST(bad_settings),
      cmocka_unit_test(allocations_may_fail),
      cmocka_unit_test(allocations_may_fail_in_known_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
