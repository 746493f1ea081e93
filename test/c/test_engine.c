/* test_engine.c: from handles to values: realize, assignment and what it must not disturb, symbolic sizes, the plan
 * cache, memory that stays flat, and what is said and left behind when memory runs out. All on the interpreter. */
#include "engine_fixture.h"

/* ---- values ---- */

static void add_and_read(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *a = poly_from_data(ctx, (float[]){1, 2, 3, 4, 5, 6}, POLY_FLOAT32, SHAPE(2, 3));
  PolyTensor *b = FLOATS(ctx, 10, 20, 30);
  PolyTensor *c = poly_add(a, b);
  assert_false(poly_is_realized(c));
  EXPECT(c, 11, 22, 33, 14, 25, 36);
  assert_true(poly_is_realized(c));
  assert_int_equal(poly_realize(c), POLY_OK);
  assert_int_equal(poly_plans_built(ctx), 1);
  PolyTensor *s = poly_sum(c, 0, NULL, false);
  assert_float_equal(poly_item(s), 141, 1e-5);
  assert_int_equal(poly_item_int(s), 141);
}

static void empty_and_scalar_tensors(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *e = poly_from_data(ctx, NULL, POLY_FLOAT32, SHAPE(0, 3));
  PolyTensor *f = poly_add_scalar(e, 1);
  assert_int_equal(poly_read(f, NULL, 0), POLY_OK);
  assert_non_null(poly_data(f));
  PolyTensor *s = poly_sum(e, 0, NULL, false); /* of nothing: 0 */
  assert_float_equal(poly_item(s), 0, 0);
  PolyTensor *k = poly_scalar(ctx, POLY_FLOAT64, 2.5);
  assert_float_equal(poly_item(k), 2.5, 0);
}

/* An error in the middle of a run leaves every handle as it was. */
static void failed_runs_change_nothing(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2, 3), *bad = poly_from_data(ctx, (int32_t[]){0, 7}, POLY_INT32, SHAPE(2));
  PolyTensor *y = poly_index_select(x, 0, bad);
  if (!y || poly_realize(y) != POLY_ERROR_INDEX) fail_msg("no index error: \"%s\"", poly_error_text(ctx));
  expect_error(ctx, poly_error_code(ctx), POLY_ERROR_INDEX, "7");
  assert_false(poly_is_realized(y));
  EXPECT(x, 1, 2, 3);
  assert_int_equal(poly_write(bad, (int32_t[]){0, 2}, 8), POLY_OK);
  EXPECT(poly_index_select(x, 0, bad), 1, 3);
}

static void wrong_sizes_are_errors(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *a = FLOATS(ctx, 1, 2, 3);
  float out[4];
  expect_error(ctx, poly_read(a, out, sizeof out), POLY_ERROR_VALUE, "(3,)");
  expect_error(ctx, poly_write(a, out, sizeof out), POLY_ERROR_VALUE, "12 bytes");
  assert_true(isnan(poly_item(a)));
  expect_error(ctx, poly_error_code(ctx), POLY_ERROR_VALUE, "(3,)");
  assert_null(poly_from_data(ctx, out, POLY_FLOAT32, SHAPE(-2)));
  expect_error(ctx, poly_error_code(ctx), POLY_ERROR_VALUE, "negative");
}

static void release_count(void *user) { ++*(int *)user; }

static void borrowed_memory(void **state) {
  PolyContext *ctx = *state;
  float data[3] = {1, 2, 3};
  int released = 0;
  PolyTensor *t = poly_from_borrowed(ctx, data, POLY_FLOAT32, SHAPE(3), release_count, &released);
  assert_ptr_equal(poly_data(t), data);
  PolyTensor *u = poly_mul_scalar(t, 2);
  poly_free(t);
  assert_int_equal(released, 0); /* u still needs it */
  EXPECT(u, 2, 4, 6);
  poly_free(u);
  assert_int_equal(released, 1);
}

/* Another shape of memory that is there costs no kernel and no memory. */
static void views_share_memory(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *a = poly_from_data(ctx, (float[]){1, 2, 3, 4}, POLY_FLOAT32, SHAPE(4));
  int64_t bytes = poly_live_bytes(ctx);
  PolyTensor *m = poly_reshape(a, SHAPE(2, 2));
  PolyTensor *d = poly_detach(a);
  EXPECT(m, 1, 2, 3, 4);
  EXPECT(d, 1, 2, 3, 4);
  assert_int_equal(poly_live_bytes(ctx), bytes);
  assert_int_equal(poly_plans_built(ctx), 0);
  assert_int_equal(poly_assign(a, poly_mul_scalar(a, 10)), POLY_OK);
  EXPECT(a, 10, 20, 30, 40);
  EXPECT(m, 1, 2, 3, 4); /* a value, not a window */
  EXPECT(d, 1, 2, 3, 4);
}

static void equal_programs_share_a_plan(void **state) {
  PolyContext *ctx = *state;
  for (int i = 0; i < 5; i++) {
    PolyTensor *a = FLOATS(ctx, 1, 2, 3), *b = poly_add_scalar(poly_mul(a, a), 1);
    EXPECT(b, 2, 5, 10);
  }
  assert_int_equal(poly_plans_built(ctx), 1);
  assert_int_equal(poly_plans_reused(ctx), 4);
  PolyTensor *x = FLOATS(ctx, 1, 2, 3, 4); /* another size */
  EXPECT(poly_add_scalar(poly_mul(x, x), 1), 2, 5, 10, 17);
  assert_int_equal(poly_plans_built(ctx), 2);
}

/* x and x give another program than x and y. */
static void one_input_twice_is_another_program(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *y = FLOATS(ctx, 10, 20);
  EXPECT(poly_sub(x, y), -9, -18);
  EXPECT(poly_sub(x, x), 0, 0);
  EXPECT(poly_sub(y, x), 9, 18);
}

static void memory_of_freed_results_comes_back(void **state) {
  PolyContext *ctx = *state;
  int64_t before = poly_live_bytes(ctx);
  for (int i = 0; i < 3; i++) {
    PolyTensor *z = poly_zeros(ctx, POLY_FLOAT32, SHAPE(1000)); /* a program without inputs */
    assert_int_equal(poly_realize(z), POLY_OK);
    assert_int_equal(poly_live_bytes(ctx), before + 4000);
    poly_free(z);
    assert_int_equal(poly_live_bytes(ctx), before);
  }
}

/* ---- assignment ---- */

static void assign_keeps_memory(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2, 3);
  void *data = poly_data(x);
  assert_int_equal(poly_assign(x, poly_mul_scalar(x, 2)), POLY_OK);
  EXPECT(x, 2, 4, 6);
  assert_ptr_equal(poly_data(x), data);
  PolyTensor *one = poly_from_data(ctx, (int32_t[]){7}, POLY_INT32, SHAPE(1));
  assert_int_equal(poly_assign(x, one), POLY_OK); /* stretched and converted */
  EXPECT(x, 7, 7, 7);
  assert_int_equal(poly_dtype(x), POLY_FLOAT32);
  PolyTensor *wrong = FLOATS(ctx, 1, 2);
  PolyStatus s = poly_assign(x, wrong);
  assert_non_null(strstr(poly_error_text(ctx), "(3,)"));
  expect_error(ctx, s, POLY_ERROR_VALUE, "(2,)");
}

static void assign_reads_before_it_writes(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2, 3, 4);
  assert_int_equal(poly_assign(x, poly_flip(x, 1, (int[]){0})), POLY_OK);
  EXPECT(x, 4, 3, 2, 1);
  PolyTensor *rolled = poly_roll(x, 1, (int64_t[]){1}, (int[]){0});
  assert_int_equal(poly_assign(x, poly_add(x, rolled)), POLY_OK);
  EXPECT(x, 5, 7, 5, 3);
}

/* A tensor built before the assignment sees the old value, one built after it the new one, whichever is asked for
 * first. */
static void readers_see_their_time(void **state) {
  PolyContext *ctx = *state;
  for (int first = 0; first < 3; first++) {
    PolyTensor *x = FLOATS(ctx, 1, 2, 3);
    PolyTensor *before = poly_add_scalar(x, 100);
    assert_int_equal(poly_assign(x, poly_mul_scalar(x, 10)), POLY_OK);
    PolyTensor *after = poly_add_scalar(x, 100);
    PolyTensor *order[3] = {before, x, after};
    assert_int_equal(poly_realize(order[first]), POLY_OK);
    EXPECT(x, 10, 20, 30);
    EXPECT(before, 101, 102, 103);
    EXPECT(after, 110, 120, 130);
  }
}

static void two_handles_are_two_values(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *y = poly_retain_copy(x);
  assert_int_equal(poly_assign(x, poly_add_scalar(x, 1)), POLY_OK);
  PolyTensor *z = poly_retain_copy(x); /* the pending value */
  assert_int_equal(poly_assign(x, poly_add_scalar(x, 1)), POLY_OK);
  assert_int_equal(poly_realize(x), POLY_OK);
  EXPECT(x, 3, 4);
  EXPECT(y, 1, 2);
  EXPECT(z, 2, 3);
  assert_int_equal(poly_assign(z, poly_mul_scalar(z, 0)), POLY_OK);
  EXPECT(z, 0, 0);
  EXPECT(x, 3, 4);
}

static void many_assignments_run_as_one(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 0, 1);
  for (int i = 0; i < 50; i++) {
    PolyTensor *next = poly_add_scalar(x, 1);
    assert_int_equal(poly_assign(x, next), POLY_OK);
    poly_free(next);
  }
  EXPECT(x, 50, 51);
  assert_int_equal(poly_plans_built(ctx), 1);
}

/* x is only ever read through y: its assignments must still run, or the program would grow for ever. */
static void pending_assignments_run_with_their_readers(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 0, 1);
  int64_t nodes = 0;
  for (int i = 1; i <= 20; i++) {
    PolyTensor *next = poly_add_scalar(x, 1);
    assert_int_equal(poly_assign(x, next), POLY_OK);
    poly_free(next);
    PolyTensor *y = poly_mul_scalar(x, 2);
    EXPECT(y, 2 * i, 2 * i + 2);
    poly_free(y);
    if (i == 5) nodes = poly_live_nodes(ctx);
  }
  assert_int_equal(poly_live_nodes(ctx), nodes);
  EXPECT(x, 20, 21);
}

/* What is only another shape of a pending assignment gets memory of its own. */
static void shapes_of_an_assignment(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2, 3, 4);
  assert_int_equal(poly_assign(x, poly_add_scalar(x, 1)), POLY_OK);
  PolyTensor *m = poly_reshape(x, SHAPE(2, 2)), *same = poly_mul_scalar(x, 1);
  assert_int_equal(poly_realize_many((PolyTensor *[]){m, same, x}, 3), POLY_OK);
  assert_int_equal(poly_assign(x, poly_mul_scalar(x, 0)), POLY_OK);
  EXPECT(x, 0, 0, 0, 0);
  EXPECT(m, 2, 3, 4, 5);
  EXPECT(same, 2, 3, 4, 5);
  assert_int_equal(poly_assign(x, poly_add_scalar(x, 9)), POLY_OK);
  PolyTensor *view = poly_reshape(x, SHAPE(2, 2));
  PolyStep *s = poly_step_new(NULL, 0, (PolyTensor *[]){view, x}, 2, &x, 1);
  if (!s) fail_msg("%s", poly_error_text(ctx));
  poly_free(view);
  for (int i = 1; i <= 2; i++) {
    assert_int_equal(poly_step_run(s, NULL, 0), POLY_OK);
    PolyTensor *out = poly_step_output(s, 0);
    assert_int_equal(poly_ndim(out), 2);
    EXPECT(out, 9 * i, 9 * i, 9 * i, 9 * i);
    EXPECT(poly_step_output(s, 1), 9 * i, 9 * i, 9 * i, 9 * i);
  }
  poly_step_free(s);
}

/* A part of a tensor is assigned, through several movements; views in between follow, others see the old contents. */
static void assign_to_a_view(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *c = poly_from_data(ctx, (float[]){0, 1, 2, 3, 4, 5}, POLY_FLOAT32, SHAPE(2, 3));
  PolyTensor *turned = poly_permute(c, 2, (int[]){1, 0}), *other = poly_reshape(c, 1, (int64_t[]){6});
  PolyTensor *part = poly_shrink(turned, (int64_t[]){1, 3, 0, 1}); /* (2, 1): elements 1 and 2 */
  assert_int_equal(poly_assign(part, poly_from_data(ctx, (float[]){10, 20}, POLY_FLOAT32, SHAPE(2, 1))), POLY_OK);
  EXPECT(c, 0, 10, 20, 3, 4, 5);
  EXPECT(turned, 0, 3, 10, 4, 20, 5);
  EXPECT(part, 10, 20);
  EXPECT(other, 0, 1, 2, 3, 4, 5);
  assert_int_equal(poly_assign(part, poly_mul_scalar(part, 2)), POLY_OK); /* computed meanwhile: still a view */
  EXPECT(c, 0, 20, 40, 3, 4, 5);
  EXPECT(poly_detach(c), 0, 20, 40, 3, 4, 5);
  PolyTensor *wide = poly_expand(poly_shrink(c, (int64_t[]){0, 1, 0, 3}), 2, (int64_t[]){2, 3});
  expect_error(ctx, poly_assign(wide, poly_mul_scalar(wide, 2)), POLY_ERROR_VALUE, "expanded");
  poly_free(c);
  poly_free(turned);
  poly_free(other);
  assert_int_equal(poly_assign(part, poly_mul_scalar(part, 2)), POLY_OK); /* nobody else is left */
  EXPECT(part, 40, 80);
}

/* The value of a pending assignment under another name is in the memory that it writes. */
static void detached_after_assignment(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *c = FLOATS(ctx, 1, 2, 3);
  assert_int_equal(poly_assign(c, poly_add_scalar(c, 1)), POLY_OK);
  PolyTensor *d = poly_detach(c);
  EXPECT(d, 2, 3, 4);
  assert_int_equal(poly_assign(c, poly_add_scalar(c, 1)), POLY_OK);
  EXPECT(c, 3, 4, 5);
  EXPECT(d, 2, 3, 4);
}

static void swap_through_assignments(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *a = FLOATS(ctx, 1, 2), *b = FLOATS(ctx, 3, 4);
  PolyTensor *old = poly_add_scalar(a, 0);
  assert_int_equal(poly_assign(a, b), POLY_OK);
  assert_int_equal(poly_assign(b, old), POLY_OK);
  assert_int_equal(poly_realize_many((PolyTensor *[]){a, b}, 2), POLY_OK);
  EXPECT(a, 3, 4);
  EXPECT(b, 1, 2);
}

static void assign_to_a_lazy_tensor(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *a = FLOATS(ctx, 1, 2), *x = poly_add_scalar(a, 1), *reader = poly_mul_scalar(x, 10);
  assert_int_equal(poly_assign(x, poly_mul(x, x)), POLY_OK);
  EXPECT(x, 4, 9);
  EXPECT(reader, 20, 30);
}

/* A gradient that needs what was overwritten says so; what was computed before is kept. */
static void overwritten_history_is_an_error(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2, 3), *w = FLOATS(ctx, 4, 5, 6);
  assert_int_equal(poly_set_requires_grad(x, true), POLY_OK);
  PolyTensor *y = poly_mul(x, w), *g;
  EXPECT(y, 4, 10, 18);
  PolyTensor *half = poly_mul_scalar(w, 0.5);
  assert_int_equal(poly_assign(w, half), POLY_OK);
  poly_free(half);
  EXPECT(w, 2, 2.5f, 3);
  EXPECT(y, 4, 10, 18);
  EXPECT(poly_add_scalar(y, 1), 5, 11, 19);
  assert_int_equal(poly_grad(poly_sum(y, 0, NULL, false), NULL, &x, 1, &g), POLY_OK);
  expect_error(ctx, poly_realize(g), POLY_ERROR_RUNTIME, "overwritten by an assignment (shape (3,))");
  EXPECT(poly_mul(x, w), 2, 5, 9);
}

static void write_leaves_readers_alone(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *before = poly_add_scalar(x, 1);
  assert_int_equal(poly_write(x, (float[]){5, 6}, 8), POLY_OK);
  EXPECT(x, 5, 6);
  EXPECT(before, 2, 3);
  void *data = poly_data(x);
  assert_int_equal(poly_write(x, (float[]){7, 8}, 8), POLY_OK); /* nobody reads it now: in place */
  assert_ptr_equal(poly_data(x), data);
  EXPECT(x, 7, 8);
  PolyTensor *lazy = poly_add(x, x);
  expect_error(ctx, poly_write(lazy, (float[]){0, 0}, 8), POLY_ERROR_VALUE, "not realized");
}

/* Interned programs must not be poisoned by what is written to a result. */
static void written_results_are_not_found_again(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *y = poly_add(x, x);
  EXPECT(y, 2, 4);
  assert_int_equal(poly_write(y, (float[]){0, 0}, 8), POLY_OK);
  EXPECT(poly_add(x, x), 2, 4);
  PolyTensor *z = poly_mul(x, x);
  EXPECT(z, 1, 4);
  assert_int_equal(poly_assign(z, poly_mul_scalar(z, -1)), POLY_OK);
  EXPECT(z, -1, -4);
  EXPECT(poly_mul(x, x), 1, 4);
}

static void replace_points_elsewhere(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *y = FLOATS(ctx, 5, 6, 7), *before = poly_add_scalar(x, 1);
  assert_int_equal(poly_replace(x, y), POLY_OK);
  EXPECT(x, 5, 6, 7);
  EXPECT(before, 2, 3);
}

static void given_value_keeps_the_program(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2, 3), *y = poly_mul_scalar(x, 2), *g = NULL;
  assert_int_equal(poly_give(y, FLOATS(ctx, 7, 8)), POLY_ERROR_VALUE);
  assert_int_equal(poly_give(y, poly_mul_scalar(x, 3)), POLY_ERROR_VALUE);
  poly_clear_error(ctx);
  assert_int_equal(poly_give(y, FLOATS(ctx, 7, 8, 9)), POLY_OK); /* not 2, 4, 6: to see where values come from */
  EXPECT(poly_add_scalar(y, 1), 8, 9, 10);
  assert_int_equal(poly_grad(poly_sum(poly_square(y), 0, NULL, false), NULL, &x, 1, &g), POLY_OK);
  EXPECT(g, 28, 32, 36);
  assert_int_equal(poly_realize(y), POLY_OK); /* now its program is gone, as that of any tensor that is realized */
  assert_int_equal(poly_grad(poly_sum(y, 0, NULL, false), NULL, &x, 1, &g), POLY_OK);
  EXPECT(g, 0, 0, 0);
  EXPECT(y, 7, 8, 9);
  PolyTensor *leaf = FLOATS(ctx, 1, 2, 3), *z = poly_mul_scalar(leaf, 2);
  assert_int_equal(poly_set_requires_grad(leaf, true), POLY_OK);
  assert_int_equal(poly_give(z, FLOATS(ctx, 2, 4, 6)), POLY_OK);
  assert_int_equal(poly_realize(z), POLY_OK);
  assert_int_equal(poly_backward(poly_sum(z, 0, NULL, false), NULL), POLY_OK);
  EXPECT(poly_get_grad(leaf), 2, 2, 2);
  assert_int_equal(poly_give(x, FLOATS(ctx, 0, 0, 0)), POLY_OK);
  EXPECT(x, 1, 2, 3);
  assert_int_equal(poly_assign(y, poly_mul_scalar(y, 2)), POLY_OK);
  EXPECT(y, 14, 16, 18);
}

/* ---- gradients and histories ---- */

static PolyStatus ten_times(void *user, PolyTensor *const *in, int n, PolyTensor *value, PolyTensor *g,
                            PolyTensor **out) {
  (void)value;
  if (n != 2) return POLY_ERROR_VALUE;
  out[0] = poly_mul_scalar(poly_mul(g, in[1]), *(double *)user);
  return out[0] ? POLY_OK : POLY_ERROR_RUNTIME;
}

/* The gradient is the callback's, also of the second order. */
static void functions_have_gradients_of_their_own(void **state) {
  PolyContext *ctx = *state;
  double ten = 10;
  PolyTensor *x = FLOATS(ctx, 1, 2, 3), *k = poly_square(x), *in[] = {x, k}, *g = NULL, *h = NULL;
  PolyTensor *y = poly_function(poly_mul_scalar(x, 2), in, 2, &(PolyFunction){ten_times, NULL, &ten});
  assert_int_equal(poly_grad(poly_sum(y, 0, NULL, false), NULL, &x, 1, &g), POLY_OK);
  EXPECT(g, 10, 40, 90);
  g = NULL;
  assert_int_equal(poly_grad(poly_sum(y, 0, NULL, false), NULL, &x, 1, &g), POLY_OK);
  assert_int_equal(poly_grad(poly_sum(g, 0, NULL, false), NULL, &x, 1, &h), POLY_OK);
  EXPECT(h, 20, 40, 60);
  EXPECT(y, 2, 4, 6);
  assert_null(poly_function(x, in, 0, &(PolyFunction){ten_times, NULL, NULL}));
  poly_clear_error(ctx);
  assert_false(poly_check_cycles(ctx));
}

static void gradients_survive_realize(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *w = poly_mul_scalar(FLOATS(ctx, 1, 2, 3), 2);
  assert_int_equal(poly_set_requires_grad(w, true), POLY_OK);
  PolyTensor *y = poly_square(w);
  assert_int_equal(poly_realize(y), POLY_OK);
  assert_int_equal(poly_realize(w), POLY_OK);
  PolyTensor *loss = poly_sum(y, 0, NULL, false);
  assert_float_equal(poly_item(loss), 56, 1e-4);
  assert_int_equal(poly_backward(loss, NULL), POLY_OK);
  EXPECT(poly_get_grad(w), 4, 8, 12);
}

static void training_keeps_memory_flat(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = poly_from_data(ctx, (float[]){1, 2, 3, 4}, POLY_FLOAT32, SHAPE(2, 2));
  PolyTensor *w = poly_from_data(ctx, (float[]){0.1f, 0.2f}, POLY_FLOAT32, SHAPE(2, 1));
  assert_int_equal(poly_set_requires_grad(w, true), POLY_OK);
  PolyOptim *o = poly_adam(&w, 1, 0.01, 0.9, 0.999, 1e-8, 0);
  assert_non_null(o);
  int64_t nodes = 0, bytes = 0, tensors = 0, plans = 0, alive = 0;
  double first = 0, last = 0;
  for (int i = 0; i < 300; i++) {
    poly_scope_begin(ctx);
    PolyTensor *loss = poly_mean(poly_square(poly_add_scalar(poly_matmul(x, w), -1)), 0, NULL, false);
    poly_optim_zero_grad(o);
    assert_int_equal(poly_backward(loss, NULL), POLY_OK);
    if (poly_optim_step(o) != POLY_OK) fail_msg("%s", poly_error_text(ctx));
    last = poly_item(loss);
    if (i == 0) first = last;
    poly_scope_end(ctx);
    if (i == 20)
      nodes = poly_live_nodes(ctx), bytes = poly_live_bytes(ctx), tensors = poly_live_tensors(ctx),
      plans = poly_plans_built(ctx), alive = heap.alive;
  }
  assert_true(last < first * 0.5);
  assert_int_equal(poly_live_nodes(ctx), nodes);
  assert_int_equal(poly_live_bytes(ctx), bytes);
  assert_int_equal(poly_live_tensors(ctx), tensors);
  assert_int_equal(poly_plans_built(ctx), plans);
  assert_in_range(heap.alive, 1, (uintmax_t)alive + 8);
  poly_optim_free(o);
}

/* ---- symbolic sizes ---- */

static void one_plan_serves_every_size(void **state) {
  PolyContext *ctx = *state;
  float data[16];
  for (int i = 0; i < 16; i++) data[i] = (float)i;
  for (int n = 1; n <= 16; n++) {
    int64_t size = poly_var_bind(ctx, "n", 1, 16, n);
    PolyTensor *x = poly_from_data(ctx, data, POLY_FLOAT32, SHAPE(size));
    PolyTensor *s = poly_sum(poly_mul(x, x), 0, NULL, false);
    assert_float_equal(poly_item(s), (n - 1) * n * (2 * n - 1) / 6.0, 1e-3);
    PolyTensor *m = poly_add_scalar(x, 1);
    float out[16];
    assert_int_equal(poly_read(m, out, (size_t)n * 4), POLY_OK);
    for (int i = 0; i < n; i++) assert_float_equal(out[i], i + 1, 0);
  }
  assert_int_equal(poly_plans_built(ctx), 2);
}

static void one_variable_with_two_values(void **state) {
  PolyContext *ctx = *state;
  float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  PolyTensor *a = poly_from_data(ctx, data, POLY_FLOAT32, SHAPE(poly_var_bind(ctx, "n", 1, 8, 3)));
  PolyTensor *b = poly_from_data(ctx, data, POLY_FLOAT32, SHAPE(poly_var_bind(ctx, "n", 1, 8, 4)));
  PolyTensor *s = poly_add(poly_sum(a, 0, NULL, false), poly_sum(b, 0, NULL, false));
  assert_float_equal(poly_item(s), 6 + 10, 0);
}

/* A stored value with a symbolic size whose history is kept is a leaf of the next plan. */
static void symbolic_values_with_history(void **state) {
  PolyContext *ctx = *state;
  for (int n = 2; n <= 4; n++) {
    PolyTensor *x = poly_from_data(ctx, (float[]){1, 2, 3, 4}, POLY_FLOAT32, SHAPE(poly_var_bind(ctx, "n", 1, 8, n)));
    assert_int_equal(poly_set_requires_grad(x, true), POLY_OK);
    PolyTensor *y = poly_square(x);
    assert_int_equal(poly_realize(y), POLY_OK);
    PolyTensor *loss = poly_sum(poly_mul(y, x), 0, NULL, false); /* x^3 */
    assert_float_equal(poly_item(loss), (n * (n + 1) / 2) * (n * (n + 1) / 2), 1e-3);
    assert_int_equal(poly_backward(loss, NULL), POLY_OK);
    float g[4];
    assert_int_equal(poly_read(poly_get_grad(x), g, (size_t)n * 4), POLY_OK);
    assert_float_equal(g[n - 1], 3 * n * n, 1e-4);
    poly_free(x);
  }
  assert_int_equal(poly_plans_built(ctx), 3);
}

/* ---- looking inside ---- */

static void profile_counts(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2, 3, 4);
  assert_int_equal(poly_profile_begin(ctx), POLY_OK);
  for (int i = 0; i < 3; i++) {
    PolyTensor *y = poly_mul(x, x);
    EXPECT(y, 1, 4, 9, 16);
    poly_free(y);
  }
  assert_int_equal(poly_profile_end(ctx), POLY_OK);
  EXPECT(poly_add(x, x), 2, 4, 6, 8); /* not recorded */
  assert_int_equal(poly_profile_kernels(ctx), 1);
  PolyKernelStat k;
  assert_int_equal(poly_profile_kernel(ctx, 0, &k), POLY_OK);
  assert_int_equal(k.count, 3);
  assert_int_equal(k.bytes, 3 * 32);
  assert_int_equal(k.flops, 3 * 4);
  assert_string_equal(k.device, "INTERP");
  assert_int_equal(poly_profile_kernel(ctx, 1, &k), POLY_ERROR_INDEX);
  assert_int_equal(poly_profile_stored(ctx), 1);
  PolyStoredStat st;
  assert_int_equal(poly_profile_stored_at(ctx, 0, &st), POLY_OK);
  assert_int_equal(st.ndim, 1);
  assert_int_equal(st.shape[0], 4);
  assert_int_equal(st.bytes, 16);
  assert_int_equal(poly_profile_peak_bytes(ctx), 32);
}

static void words_about_a_tensor(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = FLOATS(ctx, 1, 2), *y = poly_mul(x, x);
  char *(*const about[3])(PolyTensor *) = {poly_source, poly_dump, poly_explain};
  const char *const word[3] = {"void", "MUL", "1 kernels"};
  for (int i = 0; i < 3; i++) {
    char *text = about[i](y);
    if (!text) fail_msg("%s", poly_error_text(ctx));
    if (!strstr(text, word[i])) fail_msg("no \"%s\" in:\n%s", word[i], text);
    poly_text_free(ctx, text);
  }
  assert_int_equal(poly_plans_built(ctx), 0);
}

/* ---- running out of memory ---- */

static void too_large_is_said(void **state) {
  PolyContext *ctx = *state;
  PolyTensor *x = poly_zeros(ctx, POLY_FLOAT32, SHAPE(4000000, 1000000));
  assert_int_not_equal(poly_realize(x), POLY_OK);
  assert_non_null(strstr(poly_error_text(ctx), "(4000000, 1000000) float32"));
  expect_error(ctx, poly_error_code(ctx), POLY_ERROR_MEMORY, "16.0 TB");
  assert_null(poly_empty(ctx, POLY_FLOAT64, SHAPE(1 << 30, 1 << 30)));
  expect_error(ctx, poly_error_code(ctx), POLY_ERROR_MEMORY, "(1073741824, 1073741824)");
  PolyTensor *y = poly_zeros(ctx, POLY_FLOAT32, SHAPE(1LL << 32, 1LL << 32)); /* 2^64 elements: 0 in 64 bits */
  expect_error(ctx, poly_realize(y), POLY_ERROR_MEMORY, "(4294967296, 4294967296)");
  EXPECT(poly_add_scalar(FLOATS(ctx, 1), 1), 2); /* still usable */
}

/* A step of an input that it changes, of a parameter and of what was computed before. */
static PolyStep *traced_step(PolyTensor *v, PolyTensor *w, PolyTensor *x) {
  PolyTensor *in = poly_trace_input(v), *y = poly_sum(poly_mul(in, in), 0, NULL, false);
  if (poly_assign(w, poly_detach(poly_add(w, x))) != POLY_OK || poly_assign(in, poly_mul_scalar(in, 1)) != POLY_OK)
    return NULL;
  return y ? poly_step_new(&in, 1, &y, 1, NULL, 0) : NULL;
}

/* A small program with everything in it. True: it ran to the end. */
static bool small_program(PolyContext *ctx) {
  bool ok = false;
  PolyStep *s = NULL;
  poly_scope_begin(ctx);
  PolyTensor *x = poly_from_data(ctx, (float[]){1, 2, 3, 4}, POLY_FLOAT32, SHAPE(2, 2));
  PolyTensor *w = poly_from_data(ctx, (float[]){1, 0, 0, 1}, POLY_FLOAT32, SHAPE(2, 2));
  poly_set_requires_grad(w, true);
  PolyTensor *h = poly_matmul(x, w), *loss = poly_sum(poly_square(h), 0, NULL, false);
  if (!loss || poly_backward(loss, NULL) != POLY_OK) goto done;
  PolyTensor *g = poly_get_grad(w);
  PolyTensor *next = poly_detach(poly_sub(w, poly_mul_scalar(g, 0.01)));
  if (poly_assign(w, next) != POLY_OK || poly_realize(w) != POLY_OK) goto done;
  if (isnan(poly_item(loss)) || poly_realize(h) != POLY_OK) goto done;
  int64_t n = poly_var_bind(ctx, "n", 1, 8, 2);
  PolyTensor *v = n ? poly_from_data(ctx, (float[]){1, 2}, POLY_FLOAT32, SHAPE(n)) : NULL;
  PolyTensor *y = poly_sum(poly_mul(v, v), 0, NULL, false);
  if (poly_assign(x, poly_add_scalar(x, 1)) != POLY_OK || !y) goto done;
  s = poly_step_new(&v, 1, &y, 1, &x, 1);
  if (!s || poly_step_run(s, NULL, 0) != POLY_OK || poly_step_run(s, &v, 1) != POLY_OK) goto done;
  PolyTensor *out = poly_step_output(s, 0);
  if (!out || poly_item(out) != 5) goto done;
  if (poly_assign(poly_shrink(poly_flip(x, 1, (int[]){0}), (int64_t[]){0, 1, 0, 2}), y) != POLY_OK) goto done;
  if (poly_trace_begin(ctx) != POLY_OK) goto done;
  poly_step_free(s);
  s = traced_step(v, w, x);
  poly_trace_end(ctx);
  if (!s || poly_step_run(s, &v, 1) != POLY_OK) goto done;
  out = poly_step_output(s, 0);
  ok = out && poly_item(out) == 5;
done:
  poly_trace_end(ctx);
  poly_step_free(s);
  poly_scope_end(ctx);
  return ok;
}

/* One program with the n-th allocation failing, and once more without. True: the n-th was never asked for. */
static bool sweep_one(const char *device, int64_t n) {
  heap = (Heap){.countdown = n};
  PolyContext *ctx = poly_context_new_with(&(PolyAllocator){heap_realloc, &heap});
  if (ctx) {
    bool ok = poly_set_device(ctx, device) == POLY_OK && small_program(ctx);
    heap.countdown = 0;
    if (!ok && (!heap.failed || poly_error_code(ctx) != POLY_ERROR_MEMORY))
      fail_msg("allocation %d: the error is \"%s\"", (int)n, poly_error_text(ctx));
    poly_clear_error(ctx);
    if (!small_program(ctx)) fail_msg("after allocation %d: %s", (int)n, poly_error_text(ctx));
    poly_context_free(ctx);
  }
  if (heap.alive || heap.bytes)
    fail_msg("allocation %d: %d blocks are left, %d bytes", (int)n, (int)heap.alive, (int)heap.bytes);
  return !heap.failed;
}

/* Fails the n-th allocation, for every n: an error comes back, the context still works, and nothing is left in the end.
 */
static void every_allocation_may_fail(void **state) {
  const char *device = *state;
  int64_t n = 1;
  while (!sweep_one(device, n)) n++;
  print_message("%s: %d allocations swept\n", device, (int)n);
  assert_true(n > 100);
}

/* The same with compiled kernels, where a compiler and its cache are at hand: else every program would be compiled
 * again. */
static void every_allocation_may_fail_compiled(void **state) {
  (void)state;
  bool cached = false;
  for (int i = 0; i < 2; i++) {
    PolyContext *ctx = poly_context_new();
    assert_non_null(ctx);
    if (poly_set_device(ctx, "CPU") == POLY_OK && small_program(ctx)) cached = poly_compilations(ctx) == 0;
    poly_context_free(ctx);
  }
  if (!cached) skip();
  every_allocation_may_fail(&(void *){"CPU"});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(add_and_read),
      TEST(empty_and_scalar_tensors),
      TEST(failed_runs_change_nothing),
      TEST(wrong_sizes_are_errors),
      TEST(borrowed_memory),
      TEST(views_share_memory),
      TEST(equal_programs_share_a_plan),
      TEST(one_input_twice_is_another_program),
      TEST(memory_of_freed_results_comes_back),
      TEST(assign_keeps_memory),
      TEST(assign_reads_before_it_writes),
      TEST(readers_see_their_time),
      TEST(two_handles_are_two_values),
      TEST(many_assignments_run_as_one),
      TEST(pending_assignments_run_with_their_readers),
      TEST(shapes_of_an_assignment),
      TEST(assign_to_a_view),
      TEST(detached_after_assignment),
      TEST(swap_through_assignments),
      TEST(assign_to_a_lazy_tensor),
      TEST(overwritten_history_is_an_error),
      TEST(write_leaves_readers_alone),
      TEST(written_results_are_not_found_again),
      TEST(replace_points_elsewhere),
      TEST(given_value_keeps_the_program),
      TEST(gradients_survive_realize),
      TEST(functions_have_gradients_of_their_own),
      TEST(training_keeps_memory_flat),
      TEST(one_plan_serves_every_size),
      TEST(one_variable_with_two_values),
      TEST(symbolic_values_with_history),
      TEST(profile_counts),
      TEST(words_about_a_tensor),
      TEST(too_large_is_said),
      cmocka_unit_test_prestate(every_allocation_may_fail, "INTERP"),
      cmocka_unit_test_prestate(every_allocation_may_fail, "TEST"),
      cmocka_unit_test(every_allocation_may_fail_compiled),
  };
  return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
