/* test_step.c: compiled steps: replayed on the tensors that they were made of, on others, on other sizes, and what they
 * must not disturb. All on the interpreter. */
#include "engine_fixture.h"

static void step_replays(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *w = FLOATS(ctx, 10, 10);
  PolyTensor *y = poly_mul(x, w);
  assert_int_equal(poly_assign(w, poly_add(w, x)), POLY_OK);
  PolyStep *s = poly_step_new(&x, 1, &y, 1, &w, 1);
  if (!s) fail_msg("%s", poly_error_text(ctx));
  poly_free(y);
  EXPECT(w, 10, 10); /* tracing ran nothing */
  assert_null(poly_step_output(s, 0));
  poly_clear_error(ctx);
  assert_int_equal(poly_step_run(s, NULL, 0), POLY_OK);
  PolyTensor *out = poly_step_output(s, 0);
  EXPECT(out, 10, 20);
  EXPECT(w, 11, 12);
  PolyTensor *x2 = FLOATS(ctx, 5, 6);
  assert_int_equal(poly_step_run(s, &x2, 1), POLY_OK);
  EXPECT(poly_step_output(s, 0), 55, 72);
  EXPECT(out, 10, 20); /* a result that is kept does not change */
  EXPECT(w, 16, 18);
  assert_true(poly_step_kernels(s) >= 1);
  poly_step_free(s);
  EXPECT(w, 16, 18);
}

/* Assigning to, writing or replacing a captured tensor between two runs is seen by the next. */
static void step_follows_its_tensors(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *w = FLOATS(ctx, 10, 10), *lr = FLOATS(ctx, 1);
  PolyTensor *y = poly_mul(x, w);
  assert_int_equal(poly_assign(w, poly_sub(w, poly_mul(x, lr))), POLY_OK);
  PolyStep *s = poly_step_new(&x, 1, &y, 1, &w, 1);
  assert_non_null(s);
  poly_free(y);
  assert_int_equal(poly_step_run(s, NULL, 0), POLY_OK);
  EXPECT(w, 9, 8);
  assert_int_equal(poly_write(lr, (float[]){2}, 4), POLY_OK);
  assert_int_equal(poly_step_run(s, NULL, 0), POLY_OK);
  EXPECT(w, 7, 4);
  assert_int_equal(poly_assign(w, poly_mul_scalar(w, 10)), POLY_OK); /* still pending when the step runs */
  assert_int_equal(poly_step_run(s, NULL, 0), POLY_OK);
  EXPECT(w, 68, 36);
  EXPECT(poly_step_output(s, 0), 70, 80);
  PolyTensor *other = FLOATS(ctx, 1, 1);
  assert_int_equal(poly_replace(w, other), POLY_OK);
  assert_int_equal(poly_step_run(s, NULL, 0), POLY_OK);
  EXPECT(w, -1, -3);
  EXPECT(other, 1, 1);
  poly_step_free(s);
}

static void step_spares_readers(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *w = FLOATS(ctx, 10, 10);
  assert_int_equal(poly_assign(w, poly_add(w, x)), POLY_OK);
  PolyStep *s = poly_step_new(&x, 1, NULL, 0, &w, 1);
  assert_non_null(s);
  PolyTensor *before = poly_mul_scalar(w, 2), *copy = poly_retain_copy(w);
  assert_int_equal(poly_step_run(s, NULL, 0), POLY_OK);
  EXPECT(w, 11, 12);
  EXPECT(before, 20, 20);
  EXPECT(copy, 10, 10);
  assert_int_equal(poly_step_run(s, NULL, 0), POLY_OK);
  EXPECT(w, 12, 14);
  EXPECT(copy, 10, 10);
  poly_step_free(s);
}

/* State that was never realized is, before the step is made. */
static void step_realizes_lazy_state(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *w = poly_zeros(ctx, POLY_FLOAT32, SHAPE(2));
  assert_int_equal(poly_set_requires_grad(w, true), POLY_OK); /* a tensor of its own */
  assert_int_equal(poly_assign(w, poly_detach(poly_add(w, x))), POLY_OK);
  PolyStep *s = poly_step_new(&x, 1, NULL, 0, &w, 1);
  if (!s) fail_msg("%s", poly_error_text(ctx));
  EXPECT(w, 0, 0);
  for (int i = 0; i < 3; i++) assert_int_equal(poly_step_run(s, NULL, 0), POLY_OK);
  EXPECT(w, 3, 6);
  poly_step_free(s);
  PolyTensor *lazy = poly_mul(x, x);
  assert_null(poly_step_new(&lazy, 1, NULL, 0, NULL, 0));
  expect_error(ctx, poly_error_code(ctx), POLY_ERROR_VALUE, "not realized");
  assert_null(poly_step_new(&x, 1, NULL, 0, &lazy, 1));
  expect_error(ctx, poly_error_code(ctx), POLY_ERROR_VALUE, "no memory of its own");
}

static PolyTensor *batch(PolyContext *ctx, int64_t n, int64_t max) {
  static float data[4096];
  for (int i = 0; i < 4096; i++) data[i] = 1;
  int64_t size = poly_var_bind(ctx, "n", 1, max, n);
  PolyTensor *t = size ? poly_from_data(ctx, data, POLY_FLOAT32, SHAPE(size, 2)) : NULL;
  return t;
}

static void a_thousand_sizes_one_compilation(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = batch(ctx, 7, 1000), *w = poly_from_data(ctx, (float[]){1, 2}, POLY_FLOAT32, SHAPE(2, 1));
  PolyTensor *y = poly_sum(poly_matmul(x, w), 0, NULL, false), *rows = poly_add_scalar(poly_matmul(x, w), 1);
  PolyStep *s = poly_step_new(&x, 1, (PolyTensor *[]){y, rows}, 2, NULL, 0);
  if (!s) fail_msg("%s", poly_error_text(ctx));
  int64_t plans = poly_plans_built(ctx);
  for (int n = 1; n <= 1000; n++) {
    poly_scope_begin(ctx);
    PolyTensor *in = batch(ctx, n, 1000);
    if (poly_step_run(s, &in, 1) != POLY_OK) fail_msg("%s", poly_error_text(ctx));
    assert_float_equal(poly_item(poly_step_output(s, 0)), 3.0 * n, 1e-3);
    PolyTensor *r = poly_step_output(s, 1);
    assert_int_equal(poly_numel(r), n);
    assert_float_equal(((float *)poly_data(r))[n - 1], 4, 0);
    poly_scope_end(ctx);
  }
  assert_int_equal(poly_plans_built(ctx), plans);
  PolyTensor *plain =
      poly_from_data(ctx, (float[]){1, 1, 1, 1}, POLY_FLOAT32, SHAPE(2, 2)); /* a plain size does as well */
  assert_int_equal(poly_step_run(s, &plain, 1), POLY_OK);
  assert_float_equal(poly_item(poly_step_output(s, 0)), 6, 1e-5);
  poly_step_free(s);
}

/* A whole training step over batches of any size: gradients, matrix products and the update, against plain C. */
static void step_trains_on_any_size(void **state) {
  PolyContext *ctx = *state;
  float data[64], w[2] = {0.5f, -0.25f};
  for (int i = 0; i < 64; i++) data[i] = (float)(i % 7) / 7;
  PolyTensor *x = poly_from_data(ctx, data, POLY_FLOAT32, SHAPE(poly_var_bind(ctx, "n", 1, 32, 5), 2));
  PolyTensor *p = poly_from_data(ctx, w, POLY_FLOAT32, SHAPE(2, 1));
  assert_int_equal(poly_set_requires_grad(p, true), POLY_OK);
  PolyOptim *o = poly_sgd(&p, 1, 0.1, 0, 0, false);
  poly_scope_begin(ctx);
  PolyTensor *loss = poly_mean(poly_square(poly_add_scalar(poly_matmul(x, p), -1)), 0, NULL, false);
  assert_int_equal(poly_backward(loss, NULL), POLY_OK);
  assert_int_equal(poly_optim_schedule(o), POLY_OK);
  PolyStep *s = poly_step_new(&x, 1, &loss, 1, &p, 1);
  if (!s) fail_msg("%s", poly_error_text(ctx));
  poly_scope_end(ctx);
  assert_non_null(x = poly_from_data(ctx, data, POLY_FLOAT32, SHAPE(1, 2)));
  int64_t plans = poly_plans_built(ctx);
  for (int n = 1; n <= 32; n += 3) {
    float want = 0, g[2] = {0};
    for (int i = 0; i < n; i++) {
      float e = data[2 * i] * w[0] + data[2 * i + 1] * w[1] - 1;
      want += e * e / (float)n;
      for (int k = 0; k < 2; k++) g[k] += 2 * e * data[2 * i + k] / (float)n;
    }
    for (int k = 0; k < 2; k++) w[k] -= 0.1f * g[k];
    PolyTensor *in = poly_from_data(ctx, data, POLY_FLOAT32, SHAPE(n, 2));
    if (poly_step_run(s, &in, 1) != POLY_OK) fail_msg("%s", poly_error_text(ctx));
    poly_free(in);
    PolyTensor *out = poly_step_output(s, 0);
    assert_float_equal(poly_item(out), want, 1e-5);
    poly_free(out);
    expect(p, 2, w);
  }
  assert_int_equal(poly_plans_built(ctx), plans);
  poly_step_free(s);
  poly_optim_free(o);
}

static void step_checks_its_inputs(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = batch(ctx, 3, 8), *y = batch(ctx, 3, 8), *z = poly_add(x, y);
  PolyTensor *in[2] = {x, y};
  PolyStep *s = poly_step_new(in, 2, &z, 1, NULL, 0);
  assert_non_null(s);
  static float data[64];
  PolyTensor *big = poly_from_data(ctx, data, POLY_FLOAT32, SHAPE(9, 2));
  expect_error(ctx, poly_step_run(s, (PolyTensor *[]){big, big}, 2), POLY_ERROR_VALUE, "bounds 1..8");
  PolyTensor *four = poly_from_data(ctx, data, POLY_FLOAT32, SHAPE(4, 2));
  expect_error(ctx, poly_step_run(s, (PolyTensor *[]){x, four}, 2), POLY_ERROR_VALUE, "n = 4");
  PolyTensor *wide = poly_from_data(ctx, data, POLY_FLOAT32, SHAPE(3, 3));
  expect_error(ctx, poly_step_run(s, (PolyTensor *[]){wide, wide}, 2), POLY_ERROR_VALUE, "(3, 3)");
  PolyTensor *ints = poly_from_data(ctx, data, POLY_INT32, SHAPE(3, 2));
  expect_error(ctx, poly_step_run(s, (PolyTensor *[]){x, ints}, 2), POLY_ERROR_VALUE, "int32");
  expect_error(ctx, poly_step_run(s, in, 1), POLY_ERROR_VALUE, "2 inputs");
  assert_int_equal(poly_step_run(s, in, 2), POLY_OK);
  EXPECT(poly_step_output(s, 0), 2, 2, 2, 2, 2, 2);
  poly_step_free(s);
}

/* A step draws the numbers that an eager program would draw at the same place. */
static void step_draws_fresh_numbers(void **state) {
  PolyContext *ctx = *state;
  float want[3][4];
  poly_manual_seed(ctx, 42);
  for (int i = 0; i < 3; i++) {
    PolyTensor *a = poly_rand(ctx, POLY_FLOAT32, SHAPE(4));
    assert_int_equal(poly_read(a, want[i], sizeof want[i]), POLY_OK);
  }
  PolyTensor *x = FLOATS(ctx, 0, 0, 0, 0), *y = poly_add(x, poly_rand(ctx, POLY_FLOAT32, SHAPE(4)));
  PolyStep *s = poly_step_new(&x, 1, &y, 1, NULL, 0);
  assert_non_null(s);
  poly_free(y);
  poly_manual_seed(ctx, 42);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(poly_step_run(s, NULL, 0), POLY_OK);
    expect(poly_step_output(s, 0), 4, want[i]);
  }
  poly_step_free(s);
}

/* The output of a run is the input of the next. */
static void step_output_as_input(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2, 3), *y = poly_add(x, poly_flip(x, 1, (int[]){0}));
  PolyStep *s = poly_step_new(&x, 1, &y, 1, NULL, 0);
  assert_non_null(s);
  assert_int_equal(poly_step_run(s, NULL, 0), POLY_OK);
  PolyTensor *out = poly_step_output(s, 0);
  assert_int_equal(poly_step_run(s, &out, 1), POLY_OK);
  EXPECT(poly_step_output(s, 0), 8, 8, 8);
  poly_step_free(s);
}

/* What happens to be computed already, and is kept, is no part of a step: it depends on its tensors. */
static void step_forgets_what_was_computed(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *w = FLOATS(ctx, 10, 10);
  assert_int_equal(poly_set_requires_grad(w, true), POLY_OK);
  PolyTensor *kept = poly_mul(x, w), *twice = poly_mul_scalar(w, 2), *lazy = poly_mul_scalar(w, 3);
  assert_int_equal(poly_realize(kept), POLY_OK);
  assert_int_equal(poly_realize(twice), POLY_OK);
  assert_int_equal(poly_trace_begin(ctx), POLY_OK);
  PolyTensor *in = poly_trace_input(x);
  PolyTensor *y = poly_add(poly_add(poly_mul(in, w), poly_mul_scalar(w, 2)), poly_add(twice, lazy));
  PolyStep *s = poly_step_new(&in, 1, &y, 1, NULL, 0);
  if (!s) fail_msg("%s", poly_error_text(ctx));
  poly_trace_end(ctx);
  assert_int_equal(poly_step_run(s, &x, 1), POLY_OK);
  EXPECT(poly_step_output(s, 0), 80, 90);
  PolyTensor *x2 = FLOATS(ctx, 5, 6);
  assert_int_equal(poly_step_run(s, &x2, 1), POLY_OK);
  EXPECT(poly_step_output(s, 0), 120, 130);
  assert_int_equal(poly_write(w, (float[]){1, 1}, 8), POLY_OK); /* twice and lazy are what they were */
  assert_int_equal(poly_step_run(s, &x2, 1), POLY_OK);
  EXPECT(poly_step_output(s, 0), 57, 58);
  EXPECT(kept, 10, 20);
  EXPECT(twice, 20, 20);
  EXPECT(lazy, 30, 30);
  expect_error(ctx, poly_read(y, (float[2]){0}, 8), POLY_ERROR_RUNTIME, "inside a compiled step");
  poly_step_free(s);
}

/* Assigning to a tensor of the trace, to one from before, and to an input. */
static void trace_finds_state(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *w = FLOATS(ctx, 10, 10), *z = poly_zeros(ctx, POLY_FLOAT32, SHAPE(2));
  assert_int_equal(poly_trace_begin(ctx), POLY_OK);
  PolyTensor *in = poly_trace_input(x), *own = poly_clone(in);
  assert_int_equal(poly_assign(own, poly_add_scalar(own, 1)), POLY_OK);
  assert_int_equal(poly_assign(w, poly_add(w, own)), POLY_OK);
  assert_int_equal(poly_assign(z, poly_add(z, own)), POLY_OK);
  assert_int_equal(poly_assign(in, poly_mul_scalar(in, 2)), POLY_OK);
  expect_error(ctx, poly_realize(poly_add(in, w)), POLY_ERROR_RUNTIME, "while the step is traced");
  expect_error(ctx, poly_trace_begin(ctx), POLY_ERROR_RUNTIME, "another one");
  PolyStep *s = poly_step_new(&in, 1, &own, 1, NULL, 0);
  if (!s) fail_msg("%s", poly_error_text(ctx));
  poly_trace_end(ctx);
  EXPECT(w, 10, 10); /* tracing ran nothing */
  EXPECT(x, 1, 2);
  PolyTensor *reader = poly_add_scalar(x, 100);
  assert_int_equal(poly_step_run(s, &x, 1), POLY_OK);
  EXPECT(poly_step_output(s, 0), 2, 3);
  EXPECT(x, 2, 4);
  EXPECT(reader, 101, 102);
  assert_int_equal(poly_step_run(s, &x, 1), POLY_OK);
  EXPECT(w, 15, 18);
  EXPECT(z, 5, 8);
  EXPECT(x, 4, 8);
  poly_step_free(s);
}

static void trace_without_a_step_changes_nothing(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *w = FLOATS(ctx, 10, 10), *lazy = poly_mul(x, w);
  assert_int_equal(poly_set_requires_grad(w, true), POLY_OK);
  assert_int_equal(poly_set_grad(w, FLOATS(ctx, 7, 7)), POLY_OK);
  assert_int_equal(poly_trace_begin(ctx), POLY_OK);
  PolyTensor *in = poly_trace_input(x);
  assert_int_equal(poly_backward(poly_sum(poly_mul(in, w), 0, NULL, false), NULL), POLY_OK);
  assert_int_equal(poly_assign(w, poly_detach(poly_add(w, in))), POLY_OK);
  poly_trace_end(ctx);
  EXPECT(w, 10, 10);
  EXPECT(lazy, 10, 20);
  EXPECT(poly_get_grad(w), 7, 7);
}

/* Constants may be read; when they change the step is out of date. */
static void trace_reads_constants(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *c = FLOATS(ctx, 3);
  assert_int_equal(poly_trace_begin(ctx), POLY_OK);
  PolyTensor *in = poly_trace_input(x), *y = poly_mul_scalar(in, poly_item(c));
  PolyStep *s = poly_step_new(&in, 1, &y, 1, NULL, 0);
  assert_non_null(s);
  poly_trace_end(ctx);
  assert_int_equal(poly_step_run(s, &x, 1), POLY_OK);
  EXPECT(poly_step_output(s, 0), 3, 6);
  assert_int_equal(poly_write(c, (float[]){4}, 4), POLY_OK);
  expect_error(ctx, poly_step_run(s, &x, 1), POLY_ERROR_RUNTIME, "changed since");
  poly_step_free(s);
}

static void steps_keep_memory_flat(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2, 3), *w = FLOATS(ctx, 0, 0, 0);
  PolyTensor *loss = poly_sum(poly_mul(x, w), 0, NULL, false);
  assert_int_equal(poly_assign(w, poly_add(w, poly_mul_scalar(x, 0.125))), POLY_OK);
  PolyStep *s = poly_step_new(&x, 1, &loss, 1, &w, 1);
  assert_non_null(s);
  poly_free(loss);
  assert_int_equal(poly_step_run(s, &x, 1), POLY_OK);
  int64_t nodes = poly_live_nodes(ctx), bytes = poly_live_bytes(ctx), alive = heap.alive, total = heap.bytes;
  for (int i = 0; i < 10000; i++) assert_int_equal(poly_step_run(s, &x, 1), POLY_OK);
  assert_int_equal(poly_live_nodes(ctx), nodes);
  assert_int_equal(poly_live_bytes(ctx), bytes);
  assert_int_equal(heap.alive, alive);
  assert_int_equal(heap.bytes, total);
  EXPECT(w, 1250.125f, 2500.25f, 3750.375f);
  poly_step_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(step_replays),
      TEST(step_follows_its_tensors),
      TEST(step_spares_readers),
      TEST(step_realizes_lazy_state),
      TEST(a_thousand_sizes_one_compilation),
      TEST(step_trains_on_any_size),
      TEST(step_checks_its_inputs),
      TEST(step_draws_fresh_numbers),
      TEST(step_output_as_input),
      TEST(step_forgets_what_was_computed),
      TEST(trace_finds_state),
      TEST(trace_without_a_step_changes_nothing),
      TEST(trace_reads_constants),
      TEST(steps_keep_memory_flat),
  };
  return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
