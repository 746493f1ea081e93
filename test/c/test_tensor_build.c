/* test_tensor_build.c: what the tensor front end builds, before anything runs: shapes, dtypes, error texts, and the
 * life of handles and nodes. Where it is cheap, values too, through the plain evaluator of uop_eval.h. */
#include "uop_eval.h"

#include "tensor/tensor.h"

/* A fresh tensor of the given shape, as poly_empty would make it but without memory. */
static PolyTensor *leaf(Fixture *f, PolyDType dtype, int ndim, const int64_t *dims) {
  UOp *shape[MAX_DIMS];
  Scope s;
  scope_enter(&f->ctx, &s);
  for (int d = 0; d < ndim; d++) shape[d] = dim_from_api(&f->ctx, dims[d]);
  PolyTensor *t = tensor_wrap(&f->ctx, uop_buffer(&f->ctx, dtype, ndim, shape));
  scope_leave(&f->ctx, &s);
  return t;
}
#define LEAF(f, dtype, ...)                                                                                            \
  leaf(f, dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static int open_scoped(void **state) {
  fixture_open(state);
  Fixture *f = *state;
  poly_scope_begin(&f->ctx);
  return 0;
}

/* Nothing may be left over: neither handles nor (in fixture_close) nodes and bytes. */
static int close_scoped(void **state) {
  Fixture *f = *state;
  poly_scope_end(&f->ctx);
  assert_int_equal(f->ctx.ntensor, 0);
  assert_null(f->ctx.tensors);
  for (int k = 0; k < f->ctx.dims.n; k++) uop_release(f->ctx.dims.at[k].node);
  f->ctx.dims.n = 0;
  return fixture_close(state);
}
#define BUILD_TEST(name) cmocka_unit_test_setup_teardown(name, open_scoped, close_scoped)

static void assert_is(Fixture *f, PolyTensor *t, PolyDType dtype, const char *shape) {
  char text[256];
  if (!t) fail_msg("no tensor: %s", f->ctx.base.text);
  assert_string_equal(poly_dtype_name(poly_dtype(t)), poly_dtype_name(dtype));
  assert_string_equal(shape_text(t->uop, text, sizeof text), shape);
}

static void assert_fails(Fixture *f, const void *result, PolyStatus code, const char *text) {
  assert_null(result);
  assert_string_equal(f->ctx.base.text, text);
  assert_int_equal(f->ctx.base.code, code);
  base_clear(&f->ctx.base);
}

static double *values(Fixture *f, PolyTensor *t) {
  assert_non_null(t);
  EvalLeaves none = {0};
  return uop_eval(&f->ctx, uop_cast(t->uop, POLY_FLOAT64), &none);
}

static void assert_values(Fixture *f, PolyTensor *t, int n, const double *want) {
  double *got = values(f, t);
  assert_int_equal(poly_numel(t), n);
  for (int k = 0; k < n; k++)
    if (!(got[k] == want[k] || (isnan(got[k]) && isnan(want[k])) || fabs(got[k] - want[k]) <= 1e-6 * fabs(want[k])))
      fail_msg("element %d: got %.9g, expected %.9g", k, got[k], want[k]);
  free(got);
}
#define VALUES(f, t, ...)                                                                                              \
  assert_values(f, t, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

/* ---- broadcasting and dtypes ---- */

static void test_broadcast(void **state) {
  Fixture *f = *state;
  PolyTensor *a = LEAF(f, POLY_FLOAT32, 3, 1, 5), *b = LEAF(f, POLY_FLOAT32, 4, 1), *c = LEAF(f, POLY_FLOAT32, 6);
  assert_is(f, poly_add(a, b), POLY_FLOAT32, "(3, 4, 5)");
  assert_is(f, poly_lt(b, a), POLY_BOOL, "(3, 4, 5)");
  assert_is(f, poly_where(poly_lt(b, a), a, b), POLY_FLOAT32, "(3, 4, 5)");
  assert_fails(f, poly_mul(a, c), POLY_ERROR_VALUE, "shapes (3, 1, 5) and (6,) cannot be broadcast");
  PolyTensor *x = LEAF(f, POLY_FLOAT32, 3, 4);
  assert_fails(f, poly_add(x, LEAF(f, POLY_FLOAT32, 5)), POLY_ERROR_VALUE,
               "shapes (3, 4) and (5,) cannot be broadcast");
  assert_is(f, poly_add(x, LEAF(f, POLY_FLOAT32, 0, 1, 1)), POLY_FLOAT32, "(0, 3, 4)");
  assert_is(f, poly_add(x, leaf(f, POLY_FLOAT64, 0, NULL)), POLY_FLOAT64, "(3, 4)");
}

static void test_symbolic_broadcast(void **state) {
  Fixture *f = *state;
  int64_t n = poly_var_bind(&f->ctx, "n", 1, 100, 7), m = poly_var_bind(&f->ctx, "m", 1, 100, 7);
  assert_true(poly_dim_is_symbolic(n));
  PolyTensor *a = LEAF(f, POLY_FLOAT32, n, 4), *b = LEAF(f, POLY_FLOAT32, n, 1), *c = LEAF(f, POLY_FLOAT32, m, 4);
  PolyTensor *d = LEAF(f, POLY_FLOAT32, poly_var_bind(&f->ctx, "m", 1, 100, 8), 4), *e = LEAF(f, POLY_FLOAT32, 7, 4);
  assert_is(f, poly_add(a, b), POLY_FLOAT32, "(n=7, 4)");
  assert_is(f, poly_add(a, c), POLY_FLOAT32, "(n=7, 4)"); /* equal in this run */
  assert_is(f, poly_add(e, a), POLY_FLOAT32, "(n=7, 4)");
  assert_fails(f, poly_add(a, d), POLY_ERROR_VALUE, "shapes (n=7, 4) and (m=8, 4) cannot be broadcast");
  assert_is(f, poly_mean(a, 0, NULL, false), POLY_FLOAT32, "()");
  assert_is(f, poly_rand(&f->ctx, POLY_FLOAT32, 2, (int64_t[]){n, 3}), POLY_FLOAT32, "(n=7, 3)");
  assert_is(f, poly_linspace(&f->ctx, POLY_FLOAT32, 0, 1, n), POLY_FLOAT32, "(n=7,)");
  assert_is(f, poly_softmax(a, 0), POLY_FLOAT32, "(n=7, 4)");
  assert_is(f, poly_logcumsumexp(a, 0), POLY_FLOAT32, "(n=7, 4)");
  PolyTensor *t = LEAF(f, POLY_INT64, n);
  assert_is(f, poly_cross_entropy(a, t, 0.1, -100, 'm'), POLY_FLOAT32, "()");
}

/* Result dtypes of a binary op on two dtypes. */
static void test_promotion(void **state) {
  Fixture *f = *state;
  static const struct {
    PolyBinaryOp op;
    PolyDType a, b, want;
  } rows[] = {
      {POLY_ADD, POLY_BOOL, POLY_BOOL, POLY_BOOL},
      {POLY_ADD, POLY_INT8, POLY_UINT8, POLY_INT16},
      {POLY_MUL, POLY_INT64, POLY_FLOAT16, POLY_FLOAT16},
      {POLY_SUB, POLY_FLOAT16, POLY_BFLOAT16, POLY_FLOAT32},
      {POLY_DIV, POLY_INT32, POLY_INT32, POLY_FLOAT32},
      {POLY_DIV, POLY_BOOL, POLY_BOOL, POLY_FLOAT32},
      {POLY_DIV, POLY_INT64, POLY_FLOAT64, POLY_FLOAT64},
      {POLY_FLOORDIV, POLY_INT8, POLY_INT32, POLY_INT32},
      {POLY_FLOORDIV, POLY_FLOAT32, POLY_INT32, POLY_FLOAT32},
      {POLY_MOD, POLY_FLOAT16, POLY_FLOAT16, POLY_FLOAT16},
      {POLY_POW, POLY_INT16, POLY_INT8, POLY_INT16},
      {POLY_MAXIMUM, POLY_UINT8, POLY_BOOL, POLY_UINT8},
      {POLY_GE, POLY_INT8, POLY_FLOAT64, POLY_BOOL},
      {POLY_SHL, POLY_BOOL, POLY_INT32, POLY_INT32},
  };
  for (int k = 0; k < LEN(rows); k++) {
    PolyTensor *a = LEAF(f, rows[k].a, 4), *b = LEAF(f, rows[k].b, 4);
    assert_is(f, poly_binary(rows[k].op, a, b), rows[k].want, "(4,)");
  }
  PolyTensor *x = LEAF(f, POLY_FLOAT32, 2);
  assert_fails(f, poly_binary(POLY_AND, x, x), POLY_ERROR_TYPE, "AND does not take float32");
}

static void test_numbers(void **state) {
  Fixture *f = *state;
  static const struct {
    PolyDType x;
    char kind;
    PolyDType want;
  } rows[] = {
      {POLY_BOOL, 'b', POLY_BOOL},       {POLY_BOOL, 'i', POLY_INT32},        {POLY_BOOL, 'f', POLY_FLOAT32},
      {POLY_UINT8, 'i', POLY_UINT8},     {POLY_INT64, 'f', POLY_FLOAT32},     {POLY_FLOAT16, 'f', POLY_FLOAT16},
      {POLY_FLOAT64, 'i', POLY_FLOAT64}, {POLY_BFLOAT16, 'b', POLY_BFLOAT16},
  };
  for (int k = 0; k < LEN(rows); k++) {
    PolyTensor *x = LEAF(f, rows[k].x, 3);
    assert_is(f, poly_binary_scalar(POLY_MUL, x, rows[k].kind, 2, 2.5, false), rows[k].want, "(3,)");
    assert_is(f, poly_binary_scalar(POLY_MUL, x, rows[k].kind, 2, 2.5, true), rows[k].want, "(3,)");
  }
  PolyTensor *k = poly_arange(&f->ctx, POLY_UINT8, 0, 3, 1);
  VALUES(f, poly_binary_scalar(POLY_LT, k, 'i', -1, 0, false), 0, 0, 0);
  VALUES(f, poly_binary_scalar(POLY_LT, k, 'i', 300, 0, false), 1, 1, 1);
  int64_t size = poly_var_bind(&f->ctx, "n", 1, 300, 2), plain = 2;
  for (int s = 0; s < 2; s++) {
    int64_t n = s ? size : plain;
    VALUES(f, poly_binary_scalar(POLY_MUL, k, 's', n, 0, false), 0, 2, 4);
    VALUES(f, poly_binary_scalar(POLY_LT, k, 's', n, 0, false), 1, 1, 0);
    VALUES(f, poly_binary_scalar(POLY_MOD, k, 's', n, 0, false), 0, 1, 0); /* not every n fits the dtype */
    VALUES(f, poly_binary_scalar(POLY_SUB, poly_ones_like(k), 's', n, 0, true), 1, 1, 1);
    assert_is(f, poly_binary_scalar(POLY_DIV, k, 's', n, 0, false), POLY_FLOAT32, "(3,)");
    assert_is(f, poly_binary_scalar(POLY_ADD, LEAF(f, POLY_BOOL, 3), 's', n, 0, false), POLY_INT32, "(3,)");
    assert_is(f, poly_binary_scalar(POLY_ADD, k, 's', n, 0, false), POLY_UINT8, "(3,)");
  }
  PolyTensor *i = LEAF(f, POLY_INT32, 2);
  assert_fails(f, poly_binary_scalar(POLY_POW, i, 'i', -2, 0, false), POLY_ERROR_VALUE,
               "integers cannot be raised to the negative power -2");
}

static void test_unary_dtypes(void **state) {
  Fixture *f = *state;
  static const PolyDType floats[] = {POLY_FLOAT16, POLY_BFLOAT16, POLY_FLOAT32, POLY_FLOAT64};
  for (int op = 0; op < POLY_UNARY_COUNT; op++) {
    bool test = op == POLY_ISNAN || op == POLY_ISINF || op == POLY_ISFINITE || op == POLY_LOGICAL_NOT;
    for (int k = 0; k < LEN(floats); k++) {
      if (op == POLY_BITWISE_NOT) continue;
      assert_is(f, poly_unary((PolyUnaryOp)op, LEAF(f, floats[k], 3)), test ? POLY_BOOL : floats[k], "(3,)");
    }
  }
  PolyTensor *i = LEAF(f, POLY_INT8, 3), *b = LEAF(f, POLY_BOOL, 3);
  assert_is(f, poly_sqrt(i), POLY_FLOAT32, "(3,)");
  assert_is(f, poly_abs(i), POLY_INT8, "(3,)");
  assert_is(f, poly_unary(POLY_ROUND, i), POLY_FLOAT32, "(3,)");
  assert_is(f, poly_relu(i), POLY_INT8, "(3,)");
  assert_is(f, poly_exp(b), POLY_FLOAT32, "(3,)");
  assert_is(f, poly_neg(b), POLY_BOOL, "(3,)");
  assert_is(f, poly_leaky_relu(i, 0.1), POLY_FLOAT32, "(3,)");
  assert_is(f, poly_clamp(i, 0, 5), POLY_INT8, "(3,)");
  assert_is(f, poly_clamp(i, 0.5, 5), POLY_FLOAT32, "(3,)");
  assert_fails(f, poly_unary(POLY_BITWISE_NOT, LEAF(f, POLY_FLOAT32, 3)), POLY_ERROR_TYPE, "NOT does not take float32");
}

/* ---- reductions ---- */

static void test_reduction_shapes(void **state) {
  Fixture *f = *state;
  PolyTensor *x = LEAF(f, POLY_FLOAT32, 2, 3, 4);
  assert_is(f, poly_sum(x, 0, NULL, false), POLY_FLOAT32, "()");
  assert_is(f, poly_sum(x, 0, NULL, true), POLY_FLOAT32, "(1, 1, 1)");
  assert_is(f, poly_max(x, 2, (int[]){-1, 0}, false), POLY_FLOAT32, "(3,)");
  assert_is(f, poly_mean(x, 1, (int[]){1}, true), POLY_FLOAT32, "(2, 1, 4)");
  assert_is(f, poly_var(x, 1, (int[]){1}, false, 1), POLY_FLOAT32, "(2, 4)");
  assert_is(f, poly_argmax(x, -1, false), POLY_INT32, "(2, 3)");
  assert_is(f, poly_argmin(x, POLY_ALL_AXES, false), POLY_INT32, "()");
  assert_is(f, poly_argmin(x, POLY_ALL_AXES, true), POLY_INT32, "(1, 1, 1)");
  assert_is(f, poly_softmax(x, 1), POLY_FLOAT32, "(2, 3, 4)");
  assert_is(f, poly_cumsum(x, 0), POLY_FLOAT32, "(2, 3, 4)");
  assert_is(f, poly_sum(leaf(f, POLY_FLOAT32, 0, NULL), 0, NULL, false), POLY_FLOAT32, "()");
  assert_fails(f, poly_sum(LEAF(f, POLY_FLOAT32, 2, 3), 1, (int[]){3}, false), POLY_ERROR_INDEX,
               "axis 3 is out of range for a tensor of 2 dimensions");
  assert_fails(f, poly_softmax(x, -4), POLY_ERROR_INDEX, "axis -4 is out of range for a tensor of 3 dimensions");
  assert_fails(f, poly_sum(x, 2, (int[]){0, -3}, false), POLY_ERROR_VALUE, "axis -3 is given twice");
}

/* What integers become is a setting of the context; floats stay as they are. */
static void test_default_float(void **state) {
  Fixture *f = *state;
  assert_int_equal(poly_default_float(&f->ctx), POLY_FLOAT32);
  assert_int_equal(poly_set_default_float(&f->ctx, POLY_FLOAT64), POLY_OK);
  PolyTensor *i = LEAF(f, POLY_INT8, 3), *h = LEAF(f, POLY_FLOAT16, 3);
  assert_is(f, poly_sqrt(i), POLY_FLOAT64, "(3,)");
  assert_is(f, poly_div(i, i), POLY_FLOAT64, "(3,)");
  assert_is(f, poly_binary_scalar(POLY_ADD, i, 'f', 0, 0.5, false), POLY_FLOAT64, "(3,)");
  assert_is(f, poly_softmax(i, 0), POLY_FLOAT64, "(3,)");
  assert_is(f, poly_div(i, h), POLY_FLOAT16, "(3,)");
  assert_is(f, poly_relu(i), POLY_INT8, "(3,)");
  assert_int_equal(poly_set_default_float(&f->ctx, POLY_INT32), POLY_ERROR_TYPE);
  assert_int_equal(poly_default_float(&f->ctx), POLY_FLOAT64);
}

static void test_reduction_dtypes(void **state) {
  Fixture *f = *state;
  static const struct {
    PolyDType x, sum, prod, mean;
  } rows[] = {
      {POLY_BOOL, POLY_INT32, POLY_BOOL, POLY_FLOAT32},
      {POLY_INT8, POLY_INT32, POLY_INT8, POLY_FLOAT32},
      {POLY_UINT8, POLY_UINT32, POLY_UINT8, POLY_FLOAT32},
      {POLY_INT64, POLY_INT64, POLY_INT64, POLY_FLOAT32},
      {POLY_FLOAT16, POLY_FLOAT16, POLY_FLOAT16, POLY_FLOAT16},
      {POLY_FLOAT64, POLY_FLOAT64, POLY_FLOAT64, POLY_FLOAT64},
  };
  for (int k = 0; k < LEN(rows); k++) {
    PolyTensor *x = LEAF(f, rows[k].x, 3, 2);
    assert_is(f, poly_sum(x, 1, (int[]){0}, false), rows[k].sum, "(2,)");
    assert_is(f, poly_cumsum(x, 0), rows[k].sum, "(3, 2)");
    assert_is(f, poly_prod(x, 1, (int[]){0}, false), rows[k].prod, "(2,)");
    assert_is(f, poly_cumprod(x, 0), rows[k].prod, "(3, 2)");
    assert_is(f, poly_max(x, 1, (int[]){0}, false), rows[k].x, "(2,)");
    assert_is(f, poly_mean(x, 1, (int[]){0}, false), rows[k].mean, "(2,)");
    assert_is(f, poly_std(x, 1, (int[]){0}, false, 0), rows[k].mean, "(2,)");
    assert_is(f, poly_logsumexp(x, 1, (int[]){0}, false), rows[k].mean, "(2,)");
    assert_is(f, poly_any(x, 1, (int[]){0}, false), POLY_BOOL, "(2,)");
  }
  assert_is(f, poly_sum_dtype(LEAF(f, POLY_FLOAT16, 3), 0, NULL, false, POLY_FLOAT64), POLY_FLOAT64, "()");
}

static void test_empty(void **state) {
  Fixture *f = *state;
  PolyTensor *x = LEAF(f, POLY_FLOAT32, 0, 3);
  assert_is(f, poly_sum(x, 1, (int[]){0}, false), POLY_FLOAT32, "(3,)");
  assert_is(f, poly_max(x, 1, (int[]){1}, false), POLY_FLOAT32, "(0,)");
  assert_fails(f, poly_max(x, 1, (int[]){0}, false), POLY_ERROR_VALUE, "max over an empty axis of shape (0, 3)");
  assert_fails(f, poly_argmin(x, POLY_ALL_AXES, false), POLY_ERROR_VALUE, "argmin over an empty axis of shape (0,)");
}

/* ---- values that need no memory ---- */

static void test_sequences(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  VALUES(f, poly_arange(c, POLY_INT32, 2, 9, 3), 2, 5, 8);
  VALUES(f, poly_arange(c, POLY_FLOAT32, 1, 0, -0.25), 1, 0.75, 0.5, 0.25);
  assert_is(f, poly_arange(c, POLY_INT8, 3, 3, 1), POLY_INT8, "(0,)");
  assert_fails(f, poly_arange(c, POLY_INT8, 0, 200, 1), POLY_ERROR_VALUE, "arange: 0 .. 200 does not fit int8");
  assert_fails(f, poly_arange(c, POLY_INT8, 0, 2, 0), POLY_ERROR_VALUE, "arange from 0 to 2 in steps of 0 has no end");
  VALUES(f, poly_linspace(c, POLY_FLOAT64, -1, 1, 5), -1, -0.5, 0, 0.5, 1);
  VALUES(f, poly_linspace(c, POLY_FLOAT32, 3, 9, 1), 3);
  VALUES(f, poly_eye(c, POLY_FLOAT32, 2, 3), 1, 0, 0, 0, 1, 0);
  VALUES(f, poly_full_int(c, POLY_UINT8, 1, (int64_t[]){2}, 257), 1, 1);
  VALUES(f, poly_ones_like(poly_scalar(c, POLY_BFLOAT16, 7)), 1);
  assert_fails(f, poly_zeros(c, POLY_FLOAT32, 1, (int64_t[]){-2}), POLY_ERROR_VALUE, "size -2 of axis 0 is negative");
}

static PolyTensor *numbers(Fixture *f, PolyDType dtype, double start, double step, int n) {
  return poly_cast(poly_arange(&f->ctx, POLY_FLOAT64, start, start + step * (n - 0.5), step), dtype);
}

static void test_division(void **state) {
  Fixture *f = *state;
  PolyTensor *i = numbers(f, POLY_INT32, -5, 3, 4), *x = numbers(f, POLY_FLOAT32, -5, 3, 4); /* -5 -2 1 4 */
  VALUES(f, poly_binary_scalar(POLY_FLOORDIV, i, 'i', 3, 0, false), -2, -1, 0, 1);
  VALUES(f, poly_binary_scalar(POLY_TRUNCDIV, i, 'i', 3, 0, false), -1, 0, 0, 1);
  VALUES(f, poly_binary_scalar(POLY_MOD, i, 'i', -3, 0, false), -2, -2, -2, -2);
  VALUES(f, poly_binary_scalar(POLY_FMOD, i, 'i', 3, 0, false), -2, -2, 1, 1);
  VALUES(f, poly_binary_scalar(POLY_FLOORDIV, x, 'f', 0, 3, false), -2, -1, 0, 1);
  VALUES(f, poly_binary_scalar(POLY_MOD, x, 'f', 0, 3, false), 1, 1, 1, 1);
  VALUES(f, poly_binary_scalar(POLY_FMOD, x, 'f', 0, 3, false), -2, -2, 1, 1);
  VALUES(f, poly_binary_scalar(POLY_MOD, x, 'f', 0, INFINITY, false), INFINITY, INFINITY, 1, 4);
  VALUES(f, poly_binary_scalar(POLY_MOD, x, 'i', 7, 0, true), -3, -1, 0, 3);
  VALUES(f, poly_binary_scalar(POLY_TRUNCDIV, i, 'i', 9, 0, true), -1, -4, 9, 2);
  /* 1 / 0.1f rounds to 10 in float32, but 0.1f is a little more than a tenth. */
  VALUES(f, poly_binary_scalar(POLY_FLOORDIV, poly_scalar(&f->ctx, POLY_FLOAT32, 1), 'f', 0, 0.1, false), 9);
}

static void test_powers(void **state) {
  Fixture *f = *state;
  PolyTensor *i = numbers(f, POLY_INT32, -2, 1, 5), *x = numbers(f, POLY_FLOAT32, -2, 1, 5); /* -2 .. 2 */
  VALUES(f, poly_pow(i, i), 0, -1, 1, 1, 4);
  VALUES(f, poly_binary_scalar(POLY_POW, i, 'i', 0, 0, false), 1, 1, 1, 1, 1);
  VALUES(f, poly_binary_scalar(POLY_POW, i, 'i', 5, 0, false), -32, -1, 0, 1, 32);
  VALUES(f, poly_binary_scalar(POLY_POW, i, 'i', 3, 0, true), 0, 0, 1, 3, 9);
  VALUES(f, poly_pow(x, x), 0.25, -1, 1, 1, 4);
  VALUES(f, poly_binary_scalar(POLY_POW, x, 'i', 3, 0, false), -8, -1, 0, 1, 8);
  VALUES(f, poly_binary_scalar(POLY_POW, x, 'f', 0, -1, false), -0.5, -1, INFINITY, 1, 0.5);
  VALUES(f, poly_binary_scalar(POLY_POW, x, 'f', 0, 0.5, false), NAN, NAN, 0, 1, sqrt(2));
  VALUES(f, poly_binary_scalar(POLY_POW, x, 'i', 2, 0, true), 0.25, 0.5, 1, 2, 4);
}

static void test_nan(void **state) {
  Fixture *f = *state;
  PolyTensor *n = poly_full(&f->ctx, POLY_FLOAT32, 1, (int64_t[]){1}, NAN);
  static const PolyUnaryOp kept[] = {POLY_ABS,  POLY_SIGN, POLY_RELU, POLY_RELU6, POLY_SIGMOID,   POLY_LOGSIGMOID,
                                     POLY_GELU, POLY_MISH, POLY_SELU, POLY_SILU,  POLY_HARDSWISH, POLY_SOFTSIGN};
  for (int k = 0; k < LEN(kept); k++) VALUES(f, poly_unary(kept[k], n), NAN);
  VALUES(f, poly_clamp(n, -1, 1), NAN);
  VALUES(f, poly_elu(n, 1), NAN);
  VALUES(f, poly_softplus(n, 2), NAN);
  VALUES(f, poly_unary(POLY_ISNAN, n), 1);
  VALUES(f, poly_isclose(n, n, 1e-5, 1e-8, true), 1);
  VALUES(f, poly_isclose(n, n, 1e-5, 1e-8, false), 0);
}

/* Far out, where the plain formulas overflow. */
static void test_stable(void **state) {
  Fixture *f = *state;
  PolyTensor *x = numbers(f, POLY_FLOAT32, -1000, 1000, 3);
  VALUES(f, poly_sigmoid(x), 0, 0.5, 1);
  VALUES(f, poly_unary(POLY_LOGSIGMOID, x), -1000, -log(2), 0);
  VALUES(f, poly_softplus(x, 1), 0, log(2), 1000);
  VALUES(f, poly_unary(POLY_MISH, x), 0, 0, 1000);
  VALUES(f, poly_softmax(x, 0), 0, 0, 1);
  VALUES(f, poly_log_softmax(x, 0), -2000, -1000, 0);
  VALUES(f, poly_logsumexp(x, 0, NULL, false), 1000);
  VALUES(f, poly_logcumsumexp(x, 0), -1000, 0, 1000);
  PolyTensor *low = poly_full(&f->ctx, POLY_FLOAT32, 1, (int64_t[]){2}, -INFINITY);
  VALUES(f, poly_softmax(low, 0), NAN, NAN);
  VALUES(f, poly_logsumexp(low, 0, NULL, false), -INFINITY);
  VALUES(f, poly_logcumsumexp(low, 0), -INFINITY, -INFINITY);
}

/* ---- random numbers ---- */

static void test_random(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  int64_t shape[] = {64};
  poly_manual_seed(c, 42);
  double *a = values(f, poly_rand(c, POLY_FLOAT32, 1, shape)), *b = values(f, poly_rand(c, POLY_FLOAT32, 1, shape));
  poly_manual_seed(c, 42);
  double *again = values(f, poly_rand(c, POLY_FLOAT32, 1, shape));
  poly_manual_seed(c, 43);
  double *other = values(f, poly_rand(c, POLY_FLOAT32, 1, shape));
  int same = 0;
  for (int k = 0; k < 64; k++) {
    assert_true(a[k] >= 0 && a[k] < 1);
    assert_true(a[k] == again[k]);
    same += (a[k] == b[k]) + (a[k] == other[k]);
  }
  assert_int_equal(same, 0);
  free(a), free(b), free(again), free(other);
  double *i = values(f, poly_randint(c, POLY_INT32, 1, shape, -3, 4));
  for (int k = 0; k < 64; k++) assert_true(i[k] >= -3 && i[k] <= 3 && i[k] == floor(i[k]));
  free(i);
  assert_fails(f, poly_rand(c, POLY_INT32, 1, shape), POLY_ERROR_TYPE, "rand takes floating-point dtypes, not int32");
  assert_fails(f, poly_randint(c, POLY_INT32, 1, shape, 4, 4), POLY_ERROR_VALUE,
               "randint: no integer lies between 4 and 4");
}

/* The published answer of Threefry-2x32-20 for a key and a counter of zeros. */
static void test_threefry(void **state) {
  Fixture *f = *state;
  poly_manual_seed(&f->ctx, 0);
  VALUES(f, poly_rand(&f->ctx, POLY_FLOAT32, 0, NULL), (double)(0x6b200159 >> 8) / 16777216.0);
}

static void test_dropout(void **state) {
  Fixture *f = *state;
  PolyTensor *x = LEAF(f, POLY_FLOAT32, 8);
  PolyTensor *same = poly_dropout(x, 0.5);
  assert_ptr_equal(same->uop, x->uop);
  poly_set_training(&f->ctx, true);
  assert_ptr_not_equal(poly_dropout(x, 0.5)->uop, x->uop);
  assert_is(f, poly_dropout(x, 1), POLY_FLOAT32, "(8,)");
  assert_fails(f, poly_dropout(x, 1.5), POLY_ERROR_VALUE, "dropout: 1.5 is not a probability");
}

/* ---- losses ---- */

static void test_losses(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  PolyTensor *x = LEAF(f, POLY_FLOAT16, 5, 3), *t = LEAF(f, POLY_UINT8, 5), *image = LEAF(f, POLY_FLOAT32, 2, 3, 4, 4);
  assert_is(f, poly_cross_entropy(x, t, 0, -100, 'm'), POLY_FLOAT16, "()");
  assert_is(f, poly_cross_entropy(x, t, 0.1, 2, 'n'), POLY_FLOAT16, "(5,)");
  assert_is(f, poly_cross_entropy(x, LEAF(f, POLY_FLOAT16, 5, 3), 0.1, -100, 's'), POLY_FLOAT16, "()");
  assert_is(f, poly_cross_entropy(image, LEAF(f, POLY_INT64, 2, 4, 4), 0, -100, 'n'), POLY_FLOAT32, "(2, 4, 4)");
  assert_is(f, poly_cross_entropy(LEAF(f, POLY_FLOAT32, 3), leaf(f, POLY_INT32, 0, NULL), 0, -100, 'm'), POLY_FLOAT32,
            "()");
  assert_is(f, poly_nll_loss(x, t, LEAF(f, POLY_FLOAT32, 3), -100, 'm'), POLY_FLOAT16, "()");
  assert_fails(f, poly_nll_loss(x, LEAF(f, POLY_INT32, 4), NULL, -100, 'm'), POLY_ERROR_VALUE,
               "loss: predictions and targets: shapes (5, 3) and (4,) do not agree");
  assert_fails(f, poly_mse_loss(x, x, 'q'), POLY_ERROR_VALUE, "'q' is not a reduction: 'm' mean, 's' sum, 'n' none");
  PolyTensor *p = numbers(f, POLY_FLOAT32, 0, 1, 2), *y = numbers(f, POLY_FLOAT32, 1, -1, 2);
  VALUES(f, poly_binary_cross_entropy(p, p, 'n'), 0, 0);
  VALUES(f, poly_binary_cross_entropy(p, y, 'n'), 100, 100);
  VALUES(f, poly_huber_loss(numbers(f, POLY_FLOAT32, 0, 1, 3), poly_scalar(c, POLY_FLOAT32, 0), 1, 'n'), 0, 0.5, 1.5);
  /* Of the rows [0 1] [2 3] with targets 1 and 0, the second ignored. */
  PolyTensor *rows = poly_arange(c, POLY_FLOAT32, 0, 4, 1);
  Scope s;
  scope_enter(c, &s);
  UOp *two = uop_index(c, 2);
  PolyTensor *m = tensor_wrap(c, uop_reshape(rows->uop, 2, (UOp *[]){two, two}));
  scope_leave(c, &s);
  double good = log(1 + exp(-1));
  VALUES(f, poly_cross_entropy(m, numbers(f, POLY_INT32, 1, -1, 2), 0, -100, 'n'), good, good + 1);
  VALUES(f, poly_cross_entropy(m, numbers(f, POLY_INT32, 1, -1, 2), 0, 0, 'm'), good);
  VALUES(f, poly_cross_entropy(m, numbers(f, POLY_INT32, 1, -1, 2), 0.5, -100, 'n'), good + 0.25, good + 0.75);
  VALUES(f, poly_nll_loss(m, numbers(f, POLY_INT32, 1, -1, 2), numbers(f, POLY_FLOAT32, 1, 2, 2), -100, 'm'), -5.0 / 4);
}

/* ---- handles, sizes, failures ---- */

static void test_scopes(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  PolyTensor *x = LEAF(f, POLY_FLOAT32, 3);
  int before = c->ntensor;
  poly_scope_begin(c);
  PolyTensor *y = poly_exp(x);
  poly_scope_begin(c);
  PolyTensor *z = poly_keep(poly_exp(y));
  poly_free(poly_neg(z));
  poly_log(z);
  poly_scope_end(c);
  assert_int_equal(c->ntensor, before + 2);
  y->grad = poly_keep(poly_neg(z)); /* goes with its owner */
  poly_scope_end(c);
  assert_int_equal(c->ntensor, before + 1);
  PolyTensor *copy = poly_retain_copy(z);
  poly_free(z);
  assert_is(f, copy, POLY_FLOAT32, "(3,)");
  assert_null(poly_exp(NULL));
  assert_null(poly_add(x, NULL));
  poly_free(NULL);
  assert_int_equal(c->base.code, POLY_OK);
}

static void test_no_grad(void **state) {
  Fixture *f = *state;
  PolyTensor *x = LEAF(f, POLY_FLOAT32, 3);
  assert_int_equal(poly_exp(x)->uop->op, OP_EXP);
  poly_set_no_grad(&f->ctx, true);
  assert_int_equal(poly_exp(x)->uop->op, OP_DETACH);
  assert_int_equal(LEAF(f, POLY_FLOAT32, 3)->uop->op, OP_BUFFER);
  assert_int_equal(poly_retain_copy(x)->uop->op, OP_BUFFER);
}

static void test_sizes(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  int64_t n = poly_var_bind(c, "n", 1, 10, 4);
  assert_int_equal(poly_var_bind(c, "n", 1, 10, 4), n);
  int64_t k = poly_dim_op(c, '+', poly_dim_op(c, '*', n, 3), 1);
  assert_int_equal(poly_dim_value(c, k), 13);
  assert_int_equal(poly_dim_min(c, k), 4);
  assert_int_equal(poly_dim_max(c, k), 31);
  assert_int_equal(poly_dim_op(c, '-', poly_dim_op(c, '+', n, 5), n), 5);
  assert_int_equal(poly_dim_op(c, '/', 7, 2), 3);
  PolyTensor *x = LEAF(f, POLY_FLOAT32, n, 2);
  assert_int_equal(poly_dim(x, 0), n);
  assert_int_equal(poly_dim(x, -1), 2);
  assert_int_equal(poly_numel(x), 8);
  assert_int_equal(poly_dim(x, 2), -1);
  assert_int_equal(c->base.code, POLY_ERROR_INDEX);
  base_clear(&c->base);
  assert_int_equal(poly_var_bind(c, "n", 1, 10, 11), 0);
  assert_string_equal(c->base.text, "variable n: 11 is outside its bounds 1..10");
  base_clear(&c->base);
}

/* Fails the n-th allocation, for each n in turn. */
typedef struct Failing {
  int left;
} Failing;

static void *failing_realloc(void *user, void *p, size_t old_size, size_t new_size) {
  Failing *a = user;
  (void)old_size;
  if (new_size == 0) {
    free(p);
    return NULL;
  }
  return a->left-- == 0 ? NULL : realloc(p, new_size);
}

static PolyTensor *build_much(PolyContext *c) {
  int64_t shape[] = {4, 3};
  PolyTensor *x = poly_randn(c, POLY_FLOAT16, 2, shape);
  PolyTensor *y = poly_binary_scalar(POLY_MOD, poly_softmax(x, -1), 'f', 0, 0.3, true);
  PolyTensor *z = poly_pow(poly_unary(POLY_MISH, y), poly_logcumsumexp(x, 0));
  PolyTensor *t = poly_argmax(poly_var(z, 0, NULL, true, 1), 0, false);
  return poly_cross_entropy(poly_elu(z, 1), poly_add(t, poly_randint(c, POLY_INT32, 1, shape, 0, 3)), 0.1, 2, 'm');
}

static void test_failing_allocations(void **state) {
  (void)state;
  for (int n = 0;; n++) {
    Fixture *f = calloc(1, sizeof *f);
    Failing a = {.left = -1};
    f->ctx.base.alloc = (Allocator){failing_realloc, &a};
    assert_true(ctx_init(&f->ctx));
    a.left = n;
    poly_scope_begin(&f->ctx);
    PolyTensor *t = build_much(&f->ctx);
    bool done = a.left >= 0;
    if (!done) {
      assert_null(t);
      assert_int_equal(f->ctx.base.code, POLY_ERROR_MEMORY);
    }
    poly_scope_end(&f->ctx);
    assert_int_equal(f->ctx.ntensor, 0);
    assert_int_equal(f->ctx.nnode, 0);
    base_clear(&f->ctx.base);
    a.left = -1;
    PolyTensor *again = build_much(&f->ctx);
    assert_non_null(again);
    while (f->ctx.tensors) poly_free(f->ctx.tensors);
    ctx_drop(&f->ctx);
    assert_int_equal(f->ctx.base.bytes, 0);
    free(f);
    if (done) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      BUILD_TEST(test_broadcast),
      BUILD_TEST(test_symbolic_broadcast),
      BUILD_TEST(test_promotion),
      BUILD_TEST(test_numbers),
      BUILD_TEST(test_unary_dtypes),
      BUILD_TEST(test_reduction_shapes),
      BUILD_TEST(test_reduction_dtypes),
      BUILD_TEST(test_default_float),
      BUILD_TEST(test_empty),
      BUILD_TEST(test_sequences),
      BUILD_TEST(test_division),
      BUILD_TEST(test_powers),
      BUILD_TEST(test_nan),
      BUILD_TEST(test_stable),
      BUILD_TEST(test_random),
      BUILD_TEST(test_threefry),
      BUILD_TEST(test_dropout),
      BUILD_TEST(test_losses),
      BUILD_TEST(test_scopes),
      BUILD_TEST(test_no_grad),
      BUILD_TEST(test_sizes),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
