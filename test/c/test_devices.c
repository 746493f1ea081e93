/* test_devices.c: plans and steps when there are several devices: each keeps to its own, whichever is current. */
#include "engine_fixture.h"

#include "engine/engine.h"

static PolyStep *new_step(PolyTensor *x, PolyTensor *w) {
  PolyTensor *y = poly_sum(poly_mul(x, w), 0, NULL, false);
  assert_int_equal(poly_assign(w, poly_add_scalar(w, 1)), POLY_OK);
  PolyStep *s = poly_step_new(&x, 1, &y, 1, &w, 1);
  assert_non_null(s);
  return s;
}

static double run(PolyStep *s, PolyTensor *x) {
  assert_int_equal(poly_step_run(s, &x, 1), POLY_OK);
  PolyTensor *out = poly_step_output(s, 0);
  double v = poly_item(out);
  poly_free(out);
  return v;
}

/* The state is written on the step's device and read on another one, and the other way round. */
static void a_step_keeps_its_device(void **state) {
  PolyContext *ctx = *state;
  static const char *const pair[][2] = {{"INTERP", "TEST"}, {"TEST", "INTERP"}};
  for (int k = 0; k < 2; k++) {
    poly_set_device(ctx, pair[k][0]);
    poly_scope_begin(ctx);
    PolyTensor *x = FLOATS(ctx, 1, 2, 3), *w = FLOATS(ctx, 1, 1, 1);
    PolyStep *s = new_step(x, w);
    assert_true(run(s, x) == 6);
    poly_set_device(ctx, pair[k][1]);
    EXPECT(poly_add_scalar(w, 0), 2, 2, 2);
    assert_true(run(s, x) == 12);
    EXPECT(poly_add_scalar(w, 0), 3, 3, 3);
    assert_int_equal(poly_assign(w, poly_mul_scalar(w, 2)), POLY_OK);
    assert_int_equal(poly_realize(w), POLY_OK);
    poly_set_device(ctx, pair[k][0]);
    assert_true(run(s, x) == 36);
    EXPECT(w, 7, 7, 7);
    poly_step_free(s);
    poly_scope_end(ctx);
  }
}

static void a_step_of_a_closed_device(void **state) {
  PolyContext *ctx = *state;
  poly_set_device(ctx, "TEST");
  PolyTensor *x = FLOATS(ctx, 1, 2, 3), *w = FLOATS(ctx, 1, 1, 1);
  PolyStep *s = new_step(x, w);
  assert_true(run(s, x) == 6);
  poly_set_device(ctx, "INTERP");
  assert_true(runtime_close(ctx->runtime, runtime_find(ctx->runtime, "TEST")));
  expect_error(ctx, poly_step_run(s, &x, 1), POLY_ERROR_RUNTIME, "the device TEST was closed");
  EXPECT(w, 2, 2, 2); /* what it held is on the host */
  EXPECT(poly_add_scalar(x, 1), 2, 3, 4);
  poly_set_device(ctx, "TEST"); /* another one */
  EXPECT(poly_add_scalar(x, 1), 2, 3, 4);
  expect_error(ctx, poly_step_run(s, &x, 1), POLY_ERROR_RUNTIME, "the device TEST was closed");
  poly_step_free(s);
  poly_free(x);
  poly_free(w);
}

static void bytes_are_counted_for_each_device(void **state) {
  PolyContext *ctx = *state;
  poly_set_device(ctx, "TEST");
  PolyTensor *x = poly_zeros(ctx, POLY_FLOAT32, SHAPE(1000));
  assert_int_equal(poly_realize(x), POLY_OK);
  assert_int_equal(poly_device_live_bytes(ctx, "TEST"), 4000);
  assert_int_equal(poly_device_live_bytes(ctx, "CPU"), 0);
  assert_non_null(poly_data(x)); /* the value is the host's now */
  assert_int_equal(poly_device_live_bytes(ctx, "TEST"), 0);
  assert_int_equal(poly_device_peak_bytes(ctx, "TEST"), 4000);
  assert_int_equal(poly_device_live_bytes(ctx, "INTERP"), 4000);
  assert_int_equal(poly_live_bytes(ctx), 4000);
  poly_reset_peak(ctx);
  assert_int_equal(poly_device_peak_bytes(ctx, "TEST"), 0);
  poly_free(x);
  assert_int_equal(poly_device_live_bytes(ctx, "TPU"), 0);
  expect_error(ctx, poly_error_code(ctx), POLY_ERROR_VALUE, "unknown device");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_step_keeps_its_device),
      TEST(a_step_of_a_closed_device),
      TEST(bytes_are_counted_for_each_device),
  };
  return cmocka_run_group_tests_name("devices", tests, NULL, NULL);
}
