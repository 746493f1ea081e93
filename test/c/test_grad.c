/* test_grad.c: reverse mode on UOps. Every rule is compared with finite differences, once and for its own gradient,
 * through the plain evaluator of uop_eval.h; then the pass itself: what it reaches, what it sums, and that length costs
 * neither stack nor squares. */
#include "uop_eval.h"

#include "failing.h"
#include "grad/rules.h"
#include "tensor/tensor.h"

#include <math.h>
#include <time.h>

static void near(double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance)) fail_msg("got %.17g, expected %.17g", got, want);
}

/* ---- rules against finite differences ---- */

enum { SIZE = 12 };

typedef struct Case {
  const char *name;
  UOp *(*build)(UOp *x); /* from a float64 tensor (3, 4) */
  double low, high;      /* where x is drawn from */
  bool once;             /* has no useful second derivative */
} Case;

#define FN(op)                                                                                                         \
  static UOp *fn_##op(UOp *x) { return uop_unary(OP_##op, x); }
FN(NEG)
FN(SQRT)
FN(EXP)
FN(EXP2)
FN(EXPM1)
FN(LOG)
FN(LOG2)
FN(LOG1P)
FN(SIN)
FN(COS)
FN(TAN)
FN(ASIN)
FN(ACOS)
FN(ATAN)
FN(SINH)
FN(COSH)
FN(TANH)
FN(ASINH)
FN(ACOSH)
FN(ATANH)
FN(ERF)
FN(TRUNC)
FN(FLOOR)
FN(CEIL)
FN(ROUND)

/* A second operand made of x itself, so that both sides of a binary op are differentiated. */
static UOp *other(UOp *x) { return addc(mul(uop_flip(x, 3), like(x, 0.5)), 0.7); }

static UOp *fn_ADD(UOp *x) { return add(square(x), other(x)); }
static UOp *fn_SUB(UOp *x) { return sub(square(x), other(x)); }
static UOp *fn_MUL(UOp *x) { return mul(x, other(x)); }
static UOp *fn_DIV(UOp *x) { return quo(x, other(x)); }
static UOp *fn_MAX(UOp *x) { return square(uop_binary(OP_MAX, x, other(x))); }
static UOp *fn_MIN(UOp *x) { return square(uop_binary(OP_MIN, x, other(x))); }
static UOp *fn_POW(UOp *x) { return uop_binary(OP_POW, x, other(x)); }
static UOp *fn_FMOD(UOp *x) { return uop_binary(OP_FMOD, mulc(square(x), 3), other(x)); }
static UOp *fn_POW_NUMBER(UOp *x) { return uop_binary(OP_POW, x, like(x, 3)); }
static UOp *fn_NUMBER_POW(UOp *x) { return uop_binary(OP_POW, like(x, 1.7), x); }
static UOp *fn_WHERE(UOp *x) {
  return uop_where(uop_binary(OP_CMPLT, x, other(x)), square(x), mul(square(other(x)), like(x, 3)));
}
static UOp *fn_CAST(UOp *x) { return square(uop_cast(uop_cast(x, POLY_FLOAT32), POLY_FLOAT64)); }
static UOp *fn_CONTIGUOUS(UOp *x) { return square(uop_contiguous(x, 0)); }
static UOp *fn_ASSIGN(UOp *x) { return square(uop_assign(uop_buffer(x->ctx, POLY_FLOAT64, 2, x->shape), x)); }

static UOp *index_of(UOp *x, int64_t v) { return uop_index(x->ctx, v); }

static UOp *fn_RESHAPE(UOp *x) { return square(uop_reshape(x, 2, (UOp *[]){index_of(x, 6), index_of(x, 2)})); }
static UOp *fn_PERMUTE(UOp *x) { return square(uop_permute(x, (int[]){1, 0})); }
static UOp *fn_FLIP(UOp *x) { return square(uop_flip(x, 2)); }
static UOp *fn_EXPAND(UOp *x) {
  UOp *wide = uop_reshape(x, 3, (UOp *[]){x->shape[0], index_of(x, 1), x->shape[1]});
  return square(uop_expand(wide, (UOp *[]){x->shape[0], index_of(x, 5), x->shape[1]}));
}
static UOp *fn_PAD(UOp *x) {
  return square(uop_pad(x, (UOp *[]){index_of(x, 1), index_of(x, 0)}, (UOp *[]){index_of(x, 2), index_of(x, 3)}));
}
static UOp *fn_SHRINK(UOp *x) {
  return square(uop_shrink(x, (UOp *[]){index_of(x, 1), index_of(x, 0)}, (UOp *[]){index_of(x, 3), index_of(x, 3)}));
}

static UOp *fn_SUM(UOp *x) { return square(uop_reduce(OP_ADD, square(x), 2)); }
static UOp *fn_PROD(UOp *x) { return square(uop_reduce(OP_MUL, x, 2)); }
static UOp *fn_PROD_ALL(UOp *x) { return uop_reduce(OP_MUL, x, 3); }
static UOp *fn_REDUCE_MAX(UOp *x) { return square(uop_reduce(OP_MAX, x, 1)); }
static UOp *fn_REDUCE_MIN(UOp *x) { return square(uop_reduce(OP_MIN, x, 2)); }
/* One zero a row: x with its first column set to zero by subtraction, so that the zero still depends on x. */
static UOp *zero_first(UOp *x) {
  UOp *column = uop_shrink(x, (UOp *[]){index_of(x, 0), index_of(x, 0)}, (UOp *[]){x->shape[0], index_of(x, 1)});
  UOp *wide =
      uop_pad(uop_detach(column), (UOp *[]){index_of(x, 0), index_of(x, 0)}, (UOp *[]){index_of(x, 0), index_of(x, 3)});
  return sub(x, wide);
}

/* 0 1 1 2 (0 and 1 twice): rows that are read twice, once, never. */
static UOp *rows_of(UOp *x, int n) {
  UOp *k = uop_iota(x->ctx, POLY_INT32, index_of(x, n));
  return uop_binary(OP_IDIV, addc(k, 1), like(k, 2));
}
static UOp *fn_GATHER(UOp *x) { return square(uop_gather(square(x), rows_of(x, 4))); }
static UOp *fn_GATHER_GRID(UOp *x) {
  UOp *grid = uop_reshape(rows_of(x, 4), 2, (UOp *[]){index_of(x, 2), index_of(x, 2)});
  return square(uop_gather(square(x), grid));
}
static UOp *segment(Op op, UOp *x) { return uop_segment(op, x, rows_of(x, 3), index_of(x, 4)); }
static UOp *fn_SEGMENT_ADD(UOp *x) { return square(segment(OP_ADD, square(x))); }
static UOp *fn_SEGMENT_MUL(UOp *x) { return square(segment(OP_MUL, x)); }
static UOp *only_finite(UOp *x) {
  return uop_where(uop_binary(OP_CMPLT, uop_unary(OP_NEG, square(x)), like(x, -1e300)), like(x, 0), x);
}
static UOp *fn_SEGMENT_MAX(UOp *x) { return square(only_finite(segment(OP_MAX, x))); }
static UOp *fn_SEGMENT_MIN(UOp *x) { return square(only_finite(segment(OP_MIN, x))); }

static UOp *scan(Op op, UOp *x) { return uop_library(x->ctx, "scan", op, POLY_FLOAT64, 1, &x, 2, x->shape); }
static UOp *fn_SCAN_ADD(UOp *x) { return square(scan(OP_ADD, square(x))); }
static UOp *fn_SCAN_MUL(UOp *x) { return square(scan(OP_MUL, x)); }
static UOp *fn_RECURRENCE(UOp *x) { return square(t_recurrence(square(x), other(x))); }
static UOp *fn_SCAN_MAX(UOp *x) { return square(scan(OP_MAX, x)); }
static UOp *fn_SCAN_MIN(UOp *x) { return square(scan(OP_MIN, x)); }

static const Case cases[] = {
    {"NEG", fn_NEG, -2, 2, true},
    {"SQRT", fn_SQRT, 0.5, 3, false},
    {"EXP", fn_EXP, -2, 2, false},
    {"EXP2", fn_EXP2, -2, 2, false},
    {"EXPM1", fn_EXPM1, -2, 2, false},
    {"LOG", fn_LOG, 0.5, 3, false},
    {"LOG2", fn_LOG2, 0.5, 3, false},
    {"LOG1P", fn_LOG1P, -0.5, 3, false},
    {"SIN", fn_SIN, -3, 3, false},
    {"COS", fn_COS, -3, 3, false},
    {"TAN", fn_TAN, -1, 1, false},
    {"ASIN", fn_ASIN, -0.8, 0.8, false},
    {"ACOS", fn_ACOS, -0.8, 0.8, false},
    {"ATAN", fn_ATAN, -3, 3, false},
    {"SINH", fn_SINH, -2, 2, false},
    {"COSH", fn_COSH, -2, 2, false},
    {"TANH", fn_TANH, -2, 2, false},
    {"ASINH", fn_ASINH, -2, 2, false},
    {"ACOSH", fn_ACOSH, 1.5, 4, false},
    {"ATANH", fn_ATANH, -0.8, 0.8, false},
    {"ERF", fn_ERF, -2, 2, false},
    {"TRUNC", fn_TRUNC, 0.1, 0.9, true},
    {"FLOOR", fn_FLOOR, 0.1, 0.9, true},
    {"CEIL", fn_CEIL, 0.1, 0.9, true},
    {"ROUND", fn_ROUND, 0.6, 0.9, true},
    {"ADD", fn_ADD, -2, 2, false},
    {"SUB", fn_SUB, -2, 2, false},
    {"MUL", fn_MUL, -2, 2, false},
    {"DIV", fn_DIV, 0.5, 2, false},
    {"MAX", fn_MAX, -2, 2, false},
    {"MIN", fn_MIN, -2, 2, false},
    {"POW", fn_POW, 0.5, 2, false},
    {"FMOD", fn_FMOD, 0.5, 2, false},
    {"POW number", fn_POW_NUMBER, -2, 2, false},
    {"number POW", fn_NUMBER_POW, -2, 2, false},
    {"WHERE", fn_WHERE, -2, 2, false},
    {"CONTIGUOUS", fn_CONTIGUOUS, -2, 2, false},
    {"ASSIGN", fn_ASSIGN, -2, 2, false},
    {"RESHAPE", fn_RESHAPE, -2, 2, false},
    {"PERMUTE", fn_PERMUTE, -2, 2, false},
    {"FLIP", fn_FLIP, -2, 2, false},
    {"EXPAND", fn_EXPAND, -2, 2, false},
    {"PAD", fn_PAD, -2, 2, false},
    {"SHRINK", fn_SHRINK, -2, 2, false},
    {"REDUCE ADD", fn_SUM, -2, 2, false},
    {"REDUCE MUL", fn_PROD, 0.5, 2, false},
    {"REDUCE MUL, both axes", fn_PROD_ALL, 0.5, 1.5, false},
    {"REDUCE MAX", fn_REDUCE_MAX, -2, 2, false},
    {"REDUCE MIN", fn_REDUCE_MIN, -2, 2, false},
    {"GATHER", fn_GATHER, -2, 2, false},
    {"GATHER by a grid", fn_GATHER_GRID, -2, 2, false},
    {"SEGMENT ADD", fn_SEGMENT_ADD, -2, 2, false},
    {"SEGMENT MUL", fn_SEGMENT_MUL, 0.5, 2, false},
    {"SEGMENT MAX", fn_SEGMENT_MAX, -2, 2, false},
    {"SEGMENT MIN", fn_SEGMENT_MIN, -2, 2, false},
    {"scan ADD", fn_SCAN_ADD, -2, 2, false},
    {"scan MUL", fn_SCAN_MUL, 0.5, 2, false},
    {"recurrence", fn_RECURRENCE, -2, 2, false},
    {"scan MAX", fn_SCAN_MAX, -2, 2, false},
    {"scan MIN", fn_SCAN_MIN, -2, 2, false},
};

/* A weighted sum of all elements, so that no two elements have the same gradient by accident. */
static UOp *weigh(UOp *y) {
  UOp *n = uop_numel(y);
  UOp *w = addc(mulc(uop_iota(y->ctx, POLY_FLOAT64, n), 0.13), 0.4);
  UOp *flat = mul(uop_reshape(y, 1, &n), w);
  return uop_reshape(uop_reduce(OP_ADD, flat, 1), 0, NULL);
}

static UOp *grad_of(UOp *y, UOp *x) {
  UOp *g = NULL;
  assert_true(grad_build(x->ctx, y, uop_const(x->ctx, POLY_FLOAT64, 1), 1, &x, &g));
  if (!g) return uop_zeros_like(x); /* a step: flat */
  assert_true(shape_equal(g, x));
  return g;
}

/* d(scalar)/dx against central differences. */
static void compare(Fixture *f, const char *name, UOp *scalar, UOp *x, double *at) {
  EvalLeaves leaves = {1, {x}, {at}};
  double *got = uop_eval(&f->ctx, grad_of(scalar, x), &leaves);
  for (int k = 0; k < SIZE; k++) {
    double h = 1e-5, keep = at[k];
    at[k] = keep + h;
    double *up = uop_eval(&f->ctx, scalar, &leaves);
    at[k] = keep - h;
    double *down = uop_eval(&f->ctx, scalar, &leaves);
    at[k] = keep;
    double want = (up[0] - down[0]) / (2 * h);
    if (!(fabs(got[k] - want) <= 1e-6 * (1 + fabs(want))))
      fail_msg("%s: element %d has gradient %.10g, differences give %.10g", name, k, got[k], want);
    free(up);
    free(down);
  }
  free(got);
}

static UOp *input(Fixture *f) {
  PolyContext *c = &f->ctx;
  return uop_buffer(c, POLY_FLOAT64, 2, (UOp *[]){uop_index(c, 3), uop_index(c, 4)});
}

static void rules_agree_with_differences(void **state) {
  Fixture *f = *state;
  double at[SIZE];
  for (int i = 0; i < LEN(cases); i++) {
    const Case *c = &cases[i];
    UOp *x = input(f);
    for (int k = 0; k < SIZE; k++) at[k] = c->low + (c->high - c->low) * draw_in(f, 0, 1 << 20) / (1 << 20);
    UOp *y = c->build(x);
    assert_non_null(y);
    UOp *scalar = weigh(y);
    compare(f, c->name, scalar, x, at);
    if (!c->once) compare(f, c->name, weigh(grad_of(scalar, x)), x, at);
  }
}

/* Casts through float32 are too coarse for differences: the gradient is that of the square. */
static void cast_passes_gradients(void **state) {
  Fixture *f = *state;
  UOp *x = input(f);
  double at[SIZE];
  for (int k = 0; k < SIZE; k++) at[k] = 0.25 * k;
  UOp *n = uop_numel(x);
  UOp *scalar = uop_reshape(uop_reduce(OP_ADD, uop_reshape(fn_CAST(x), 1, &n), 1), 0, NULL);
  double *got = uop_eval(&f->ctx, grad_of(scalar, x), &(EvalLeaves){1, {x}, {at}});
  for (int k = 0; k < SIZE; k++) near(got[k], 2 * at[k], 1e-12);
  free(got);
}

/* Products with zeros have gradients by their definition: the product of the others. */
static void products_with_zeros(void **state) {
  Fixture *f = *state;
  UOp *x = input(f);
  double at[SIZE] = {0, 2, 3, 4, /**/ 0, 0, 3, 4, /**/ 1, 2, 0, 4};
  EvalLeaves leaves = {1, {x}, {at}};
  const double prod[SIZE] = {24, 0, 0, 0, /**/ 0, 0, 0, 0, /**/ 0, 0, 8, 0};
  UOp *all = uop_reshape(uop_reduce(OP_ADD, uop_reduce(OP_MUL, x, 2), 1), 0, NULL);
  double *got = uop_eval(&f->ctx, grad_of(all, x), &leaves);
  for (int k = 0; k < SIZE; k++) near(got[k], prod[k], 0);
  free(got);
  /* y = running product, all gradients 1: dx[i] = sum over k >= i of the product of the others up to k */
  const double run[SIZE] = {1 + 2 + 6 + 24, 0, 0, 0, /**/ 1, 0, 0, 0, /**/ 1 + 2, 1, 2 + 8, 0};
  all = uop_reshape(uop_reduce(OP_ADD, scan(OP_MUL, x), 3), 0, NULL);
  got = uop_eval(&f->ctx, grad_of(all, x), &leaves);
  for (int k = 0; k < SIZE; k++) near(got[k], run[k], 0);
  free(got);
  compare(f, "REDUCE MUL at one zero", weigh(fn_PROD(zero_first(x))), x,
          (double[]){5, 2, 3, 4, 6, 7, 8, 9, 1, 2, 3, 4});
}

/* Two zeros: the gradient at one of them is 0, but changes with the other. */
static void products_with_two_zeros(void **state) {
  Fixture *f = *state;
  UOp *x = input(f);
  double at[SIZE] = {0, 0, 3, 4, /**/ 2, 0, 5, 0, /**/ 0, 0, 0, 4};
  EvalLeaves leaves = {1, {x}, {at}};
  /* the sum over i of the weight of i times the product without i and k, rows weighted 1; weights 0.4 + 0.13 n */
  UOp *all = uop_reshape(uop_reduce(OP_ADD, uop_reduce(OP_MUL, x, 2), 1), 0, NULL);
  double *got = uop_eval(&f->ctx, grad_of(weigh(grad_of(all, x)), x), &leaves);
  for (int k = 0; k < SIZE; k++) {
    double want = 0;
    for (int i = k / 4 * 4; i < k / 4 * 4 + 4; i++) {
      double product = i == k ? 0 : 0.4 + 0.13 * i;
      for (int j = k / 4 * 4; j < k / 4 * 4 + 4; j++) product *= j == i || j == k ? 1 : at[j];
      want += product;
    }
    near(got[k], want, 1e-12);
  }
  free(got);
  /* the running product x0, x0 x1, x0 x1 x2, x0 x1 x2 x3 of the first row: each second derivative that is not 0 */
  const double w[4] = {0.4, 0.53, 0.66, 0.79};
  all = uop_reshape(uop_reduce(OP_ADD, scan(OP_MUL, x), 3), 0, NULL);
  got = uop_eval(&f->ctx, grad_of(weigh(grad_of(all, x)), x), &leaves);
  near(got[0], w[1] * (1 + 3 + 12), 1e-12);
  near(got[1], w[0] * (1 + 3 + 12), 1e-12);
  near(got[2], 0, 0);
  free(got);
}

/* A derivative is formed from the value: a sigmoid that was rounded to 1 is flat, and so is what is made of it. */
static void saturated_values_are_flat(void **state) {
  Fixture *f = *state;
  UOp *x = input(f);
  double at[SIZE] = {40, 60, 100, 800, /**/ INFINITY, -INFINITY, -800, -100, /**/ 0, 1, -1, 2};
  EvalLeaves leaves = {1, {x}, {at}};
  UOp *s = t_sigmoid(x), *loss = neg(uop_unary(OP_LOG, addc(rsubc(1, s), 1e-300)));
  UOp *g = grad_of(uop_reshape(uop_reduce(OP_ADD, loss, 3), 0, NULL), x);
  double *got = uop_eval(&f->ctx, g, &leaves);
  for (int k = 0; k < SIZE; k++) near(got[k], k < 5 ? 0 : 1 / (1 + exp(-at[k])), 1e-12);
  free(got);
}

/* Equal elements share; 0 to a power that is not negative has no slope towards the exponent. */
static void ties_and_corners(void **state) {
  Fixture *f = *state;
  UOp *x = input(f);
  double at[SIZE] = {7, 1, 7, 3, /**/ 0, 0, 0, 0, /**/ 1, 2, 3, 4};
  EvalLeaves leaves = {1, {x}, {at}};
  const double max[SIZE] = {0.5, 0, 0.5, 0, 0.25, 0.25, 0.25, 0.25, 0, 0, 0, 1};
  UOp *all = uop_reshape(uop_reduce(OP_ADD, uop_reduce(OP_MAX, x, 2), 1), 0, NULL);
  double *got = uop_eval(&f->ctx, grad_of(all, x), &leaves);
  for (int k = 0; k < SIZE; k++) near(got[k], max[k], 0);
  free(got);
  all = uop_reshape(uop_reduce(OP_ADD, uop_binary(OP_MAX, x, like(x, 0)), 3), 0, NULL);
  got = uop_eval(&f->ctx, grad_of(all, x), &leaves);
  for (int k = 0; k < SIZE; k++) near(got[k], at[k] == 0 ? 0.5 : 1, 0);
  free(got);
  all = uop_reshape(uop_reduce(OP_ADD, uop_binary(OP_POW, x, addc(mulc(x, 0.0), 2)), 3), 0, NULL);
  got = uop_eval(&f->ctx, grad_of(all, x), &leaves);
  for (int k = 0; k < SIZE; k++) near(got[k], 2 * at[k], 1e-12);
  free(got);
}

/* ---- the table ---- */

/* An op that computes floats from floats and has no rule would end gradients silently. */
static void every_op_has_a_rule(void **state) {
  (void)state;
  static const Op none[] = {
      OP_NOT,    OP_BITCAST, OP_IDIV,     OP_MOD,  OP_AND,   OP_OR,     OP_XOR,     OP_SHL,
      OP_SHR,    OP_DETACH,  OP_ENDPOINT, OP_SCAN, OP_FINAL, OP_STATES, OP_STACKED, /* together: grad_scan */
      OP_CLOSED, OP_RESULT};
  for (int op = 0; op < OP_COUNT; op++) {
    OpClass cls = op_info[op].cls;
    bool want = cls != CLASS_LEAF && cls != CLASS_COMPARE && cls != CLASS_KERNEL;
    for (int k = 0; k < LEN(none); k++) want &= none[k] != (Op)op;
    if (want != (grad_rules[op] != NULL))
      fail_msg("%s: a gradient rule is %s", op_info[op].name, want ? "missing" : "not expected");
  }
}

/* ---- the pass ---- */

static void gradients_stop(void **state) {
  Fixture *f = *state;
  UOp *x = input(f), *y = input(f), *out[2];
  UOp *cut = add(uop_detach(x), uop_cast(uop_binary(OP_CMPLT, x, y), POLY_FLOAT64));
  cut = add(cut, uop_cast(uop_cast(x, POLY_INT32), POLY_FLOAT64));
  UOp *seed = uop_spread(uop_const(&f->ctx, POLY_FLOAT64, 1), 2, x->shape);
  assert_true(grad_build(&f->ctx, add(cut, y), seed, 2, (UOp *[]){x, y}, out));
  assert_null(out[0]);
  assert_ptr_equal(out[1], seed);
  assert_false(grad_reaches(&f->ctx, cut, 1, &x));
  assert_true(grad_reaches(&f->ctx, add(cut, y), 2, (UOp *[]){x, y}));
}

/* With respect to a node in the middle, and to the root itself. */
static void any_node_is_a_target(void **state) {
  Fixture *f = *state;
  UOp *x = input(f);
  UOp *middle = uop_unary(OP_EXP, x), *root = mul(middle, middle), *out[3];
  UOp *seed = uop_spread(uop_const(&f->ctx, POLY_FLOAT64, 1), 2, x->shape);
  assert_true(grad_build(&f->ctx, root, seed, 3, (UOp *[]){middle, root, middle}, out));
  assert_ptr_equal(out[0], add(middle, middle));
  assert_ptr_equal(out[1], seed);
  assert_ptr_equal(out[2], out[0]);
}

/* A CONST that stands in shaped ops gets the sum over all of its uses. */
static void constants_are_targets(void **state) {
  Fixture *f = *state;
  UOp *x = input(f), *c = uop_const(&f->ctx, POLY_FLOAT64, 3);
  double at[SIZE];
  for (int k = 0; k < SIZE; k++) at[k] = k;
  UOp *all = uop_reshape(uop_reduce(OP_ADD, mul(x, c), 3), 0, NULL);
  double *got = uop_eval(&f->ctx, grad_of(all, c), &(EvalLeaves){1, {x}, {at}});
  near(got[0], 66, 0);
  free(got);
}

static void symbolic_sizes(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  UOp *n = uop_bind(uop_variable(c, "n", 2, 9), 3), *four = uop_index(c, 4), *one = uop_index(c, 1),
      *zero = uop_index(c, 0);
  UOp *x = uop_buffer(c, POLY_FLOAT64, 2, (UOp *[]){n, four});
  UOp *y = uop_pad(square(x), (UOp *[]){one, zero}, (UOp *[]){n, zero});
  y = uop_shrink(y, (UOp *[]){one, zero}, (UOp *[]){int_addc(int_mulc(n, 2), 0), uop_index(c, 3)});
  y = uop_flip(uop_permute(y, (int[]){1, 0}), 3);
  y = uop_reduce(
      OP_MAX,
      uop_expand(uop_reshape(y, 3, (UOp *[]){y->shape[0], one, y->shape[1]}), (UOp *[]){y->shape[0], n, y->shape[1]}),
      4);
  double at[SIZE];
  for (int k = 0; k < SIZE; k++) at[k] = 1 + 0.37 * ((k * 5) % 12);
  assert_non_null(y);
  compare(f, "symbolic", weigh(y), x, at);
}

/* x used many times: summed as a tree, so its depth is the logarithm. */
static int depth_of_adds(UOp *u) {
  int depth = 0;
  for (; u->op == OP_ADD; u = u->src[0]) depth++;
  return depth;
}

static void many_uses_are_summed_as_a_tree(void **state) {
  Fixture *f = *state;
  enum { USES = 1000 };
  UOp *x = input(f), *sum = uop_unary(OP_EXP, x), *out;
  for (int k = 1; k < USES; k++) sum = add(sum, uop_unary(OP_EXP, mulc(x, k)));
  UOp *seed = uop_spread(uop_const(&f->ctx, POLY_FLOAT64, 1), 2, x->shape);
  assert_true(grad_build(&f->ctx, sum, seed, 1, &x, &out));
  assert_in_range(depth_of_adds(out), 9, 11);
}

/* Seconds for the gradient of a chain of n sines; frees everything. */
static double chain(Fixture *f, int n) {
  Scope scope;
  scope_enter(&f->ctx, &scope);
  UOp *x = uop_buffer(&f->ctx, POLY_FLOAT32, 0, NULL), *u = x, *out = NULL;
  for (int k = 0; k < n; k++) u = uop_unary(OP_SIN, u);
  clock_t start = clock();
  assert_true(grad_build(&f->ctx, u, uop_const(&f->ctx, POLY_FLOAT32, 1), 1, &x, &out));
  double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  assert_non_null(out);
  int before = f->ctx.nnode;
  assert_true(before > 2 * n);
  scope_leave(&f->ctx, &scope);
  assert_int_equal(f->ctx.nnode, 0);
  return seconds;
}

/* A million ops: no recursion (the stack would overflow), and time that grows with the length, not with its square. */
static void a_million_ops(void **state) {
  Fixture *f = *state;
  double tenth = chain(f, 100000), whole = chain(f, 1000000);
  assert_true(whole < 60 * (tenth + 0.02));
}

/* ---- handles ---- */

typedef struct Handles {
  PolyContext *ctx;
} Handles;

static int handles_open(void **state) {
  Handles *h = calloc(1, sizeof *h);
  h->ctx = poly_context_new();
  assert_non_null(h->ctx);
  poly_set_device(h->ctx, "INTERP");
  poly_clear_error(h->ctx);
  *state = h;
  return 0;
}

static int handles_close(void **state) {
  Handles *h = *state;
  assert_int_equal(poly_live_tensors(h->ctx), 0);
  poly_context_free(h->ctx);
  free(h);
  return 0;
}

static void backward_errors(void **state) {
  PolyContext *ctx = ((Handles *)*state)->ctx;
  PolyTensor *x = poly_zeros(ctx, POLY_FLOAT32, 2, (int64_t[]){3, 4});
  PolyTensor *i = poly_zeros(ctx, POLY_INT32, 0, NULL);
  PolyTensor *wrong = poly_ones(ctx, POLY_FLOAT32, 1, (int64_t[]){4});
  assert_int_equal(poly_backward(x, NULL), POLY_ERROR_VALUE);
  assert_string_equal(poly_error_text(ctx), "backward needs a gradient for a tensor of shape (3, 4)");
  poly_clear_error(ctx);
  assert_int_equal(poly_backward(x, wrong), POLY_ERROR_VALUE);
  assert_non_null(strstr(poly_error_text(ctx), "(3, 4)"));
  assert_non_null(strstr(poly_error_text(ctx), "(4,)"));
  poly_clear_error(ctx);
  assert_int_equal(poly_backward(i, NULL), POLY_ERROR_TYPE);
  poly_clear_error(ctx);
  assert_int_equal(poly_set_requires_grad(i, true), POLY_ERROR_TYPE);
  assert_non_null(strstr(poly_error_text(ctx), "int32"));
  poly_clear_error(ctx);
  assert_int_equal(poly_set_grad(x, wrong), POLY_ERROR_VALUE);
  poly_clear_error(ctx);
  assert_int_equal(poly_backward(NULL, NULL), POLY_ERROR_VALUE);
  assert_false(poly_requires_grad(NULL));
  assert_null(poly_get_grad(NULL));
  poly_free(x);
  poly_free(i);
  poly_free(wrong);
}

/* A leaf that a result is computed from has a gradient: zeros, if its derivative is zero. One that it is not, or only
 * through a detached value, has none. */
static void flat_functions_have_zeros(void **state) {
  PolyContext *ctx = ((Handles *)*state)->ctx;
  float got[2] = {1, 1};
  PolyTensor *x = poly_from_data(ctx, (float[]){1.5f, -2}, POLY_FLOAT32, 1, (int64_t[]){2}), *g = NULL;
  PolyTensor *other = poly_from_data(ctx, (float[]){1, 2}, POLY_FLOAT32, 1, (int64_t[]){2});
  assert_int_equal(poly_set_requires_grad(x, true), POLY_OK);
  assert_int_equal(poly_set_requires_grad(other, true), POLY_OK);
  poly_scope_begin(ctx);
  PolyTensor *step[] = {
      poly_unary(POLY_FLOOR, x),
      poly_unary(POLY_SIGN, x),
      poly_binary_scalar(POLY_POW, x, 'i', 0, 0, false),
      poly_cast(poly_lt(x, other), POLY_FLOAT32),
      poly_cast(poly_cast(x, POLY_INT32), POLY_FLOAT32),
      poly_exp(poly_unary(POLY_ROUND, x)),
  };
  for (int k = 0; k < LEN(step); k++) {
    PolyTensor *sum = poly_sum(step[k], 0, NULL, false);
    assert_true(poly_depends_on(sum, x));
    assert_true(poly_depends_on(sum, other) == (k == 3));
    assert_int_equal(poly_grad(sum, NULL, &x, 1, &g), POLY_OK);
    assert_int_equal(poly_read(g, got, sizeof got), POLY_OK);
    assert_true(got[0] == 0 && got[1] == 0);
    assert_int_equal(poly_set_grad(x, NULL), POLY_OK);
    assert_int_equal(poly_backward(sum, NULL), POLY_OK);
    assert_int_equal(poly_read(poly_get_grad(x), got, sizeof got), POLY_OK);
    assert_true(got[0] == 0 && got[1] == 0);
    assert_true((poly_get_grad(other) != NULL) == (k >= 3));
  }
  assert_false(poly_depends_on(poly_detach(poly_exp(x)), x));
  poly_scope_end(ctx);
  poly_free(x);
  poly_free(other);
}

static void leaves_accumulate(void **state) {
  PolyContext *ctx = ((Handles *)*state)->ctx;
  double got[3];
  PolyTensor *x = poly_from_data(ctx, (double[]){1, 2, 3}, POLY_FLOAT64, 1, (int64_t[]){3});
  assert_int_equal(poly_set_requires_grad(x, true), POLY_OK);
  for (int k = 1; k <= 2; k++) {
    PolyTensor *sq = poly_square(x), *loss = poly_sum(sq, 0, NULL, false);
    assert_true(poly_requires_grad(loss));
    assert_int_equal(poly_backward(loss, NULL), POLY_OK);
    PolyTensor *g = poly_get_grad(x);
    assert_int_equal(poly_read(g, got, sizeof got), POLY_OK);
    for (int i = 0; i < 3; i++) near(got[i], k * 2.0 * (i + 1), 0);
    poly_free(g);
    poly_free(sq);
    poly_free(loss);
  }
  assert_int_equal(poly_set_grad(x, NULL), POLY_OK);
  assert_null(poly_get_grad(x));
  poly_free(x);
}

/* Two tensors that are computed alike are one node until each is a leaf. */
static void equal_leaves_stay_apart(void **state) {
  PolyContext *ctx = ((Handles *)*state)->ctx;
  PolyTensor *a = poly_ones(ctx, POLY_FLOAT32, 1, (int64_t[]){2}), *b = poly_ones(ctx, POLY_FLOAT32, 1, (int64_t[]){2});
  poly_set_requires_grad(a, true);
  poly_set_requires_grad(b, true);
  PolyTensor *three = poly_mul_scalar(b, 3), *y = poly_add(a, three), *loss = poly_sum(y, 0, NULL, false);
  assert_int_equal(poly_backward(loss, NULL), POLY_OK);
  PolyTensor *ga = poly_get_grad(a), *gb = poly_get_grad(b);
  float va[2], vb[2];
  assert_int_equal(poly_read(ga, va, sizeof va), POLY_OK);
  assert_int_equal(poly_read(gb, vb, sizeof vb), POLY_OK);
  assert_true(va[0] == 1 && vb[0] == 3);
  PolyTensor *all[] = {a, b, three, y, loss, ga, gb};
  for (int k = 0; k < LEN(all); k++) poly_free(all[k]);
}

static void no_grad_and_detach(void **state) {
  PolyContext *ctx = ((Handles *)*state)->ctx;
  PolyTensor *x = poly_ones(ctx, POLY_FLOAT32, 1, (int64_t[]){2});
  poly_set_requires_grad(x, true);
  poly_set_no_grad(ctx, true);
  PolyTensor *off = poly_exp(x);
  poly_set_no_grad(ctx, false);
  PolyTensor *on = poly_exp(x), *cut = poly_detach(on);
  assert_false(poly_requires_grad(off));
  assert_true(poly_requires_grad(on));
  assert_false(poly_requires_grad(cut));
  PolyTensor *all[] = {x, off, on, cut};
  for (int k = 0; k < LEN(all); k++) poly_free(all[k]);
}

/* d/dx of sum((d sum(x^3)/dx)^2) = d/dx sum(9 x^4) = 36 x^3; a target out of reach gets zeros. */
static void gradients_of_gradients(void **state) {
  PolyContext *ctx = ((Handles *)*state)->ctx;
  double got[2];
  poly_scope_begin(ctx);
  PolyTensor *x = poly_from_data(ctx, (double[]){1, 2}, POLY_FLOAT64, 1, (int64_t[]){2});
  PolyTensor *far = poly_from_data(ctx, (double[]){1, 2}, POLY_FLOAT64, 1, (int64_t[]){2});
  PolyTensor *cube = poly_mul(poly_square(x), x), *g, *second[2];
  assert_int_equal(poly_grad(poly_sum(cube, 0, NULL, false), NULL, &x, 1, &g), POLY_OK);
  PolyTensor *loss = poly_sum(poly_square(g), 0, NULL, false);
  assert_int_equal(poly_grad(loss, NULL, (PolyTensor *[]){x, far}, 2, second), POLY_OK);
  assert_int_equal(poly_read(second[0], got, sizeof got), POLY_OK);
  near(got[0], 36, 1e-12);
  near(got[1], 288, 1e-12);
  assert_int_equal(poly_read(second[1], got, sizeof got), POLY_OK);
  assert_true(got[0] == 0 && got[1] == 0);
  poly_scope_end(ctx);
}

/* A backward pass and a second derivative. True: all of it worked. */
static bool scenario(PolyContext *ctx) {
  PolyTensor *g = NULL, *gg = NULL, *x = poly_from_data(ctx, (float[]){1, 2}, POLY_FLOAT32, 1, (int64_t[]){2});
  poly_scope_begin(ctx);
  poly_set_requires_grad(x, true);
  PolyTensor *loss = poly_sum(poly_mul(poly_exp(x), poly_tanh(x)), 0, NULL, false);
  bool ok = poly_backward(loss, NULL) == POLY_OK;
  ok = poly_backward(loss, NULL) == POLY_OK && ok;
  ok = x && poly_grad(loss, NULL, &x, 1, &g) == POLY_OK && ok;
  ok = x && poly_grad(poly_sum(g, 0, NULL, false), NULL, &x, 1, &gg) == POLY_OK && ok;
  ok = poly_get_grad(x) && ok;
  poly_scope_end(ctx);
  poly_free(x);
  return ok;
}

/* The n-th allocation fails, for each n: an error comes back, the context still works, nothing leaks. */
static void allocations_may_fail(void **state) {
  (void)state;
  for (int64_t n = 0, done = 0; !done; n++) {
    Failing f = {.until = -1};
    PolyContext *ctx = failing_context(&f);
    assert_non_null(ctx);
    f.until = n;
    done = scenario(ctx);
    assert_true(done == (poly_error_code(ctx) == POLY_OK));
    f.until = -1;
    poly_clear_error(ctx);
    assert_int_equal(poly_live_tensors(ctx), 0);
    assert_int_equal(poly_live_nodes(ctx), 0);
    assert_true(scenario(ctx));
    poly_context_free(ctx);
    assert_int_equal(f.bytes, 0);
  }
}

#define HANDLE_TEST(name) cmocka_unit_test_setup_teardown(name, handles_open, handles_close)

int main(void) {
  const struct CMUnitTest tests[] = {
      IR_TEST(rules_agree_with_differences),
      IR_TEST(cast_passes_gradients),
      IR_TEST(products_with_zeros),
      IR_TEST(products_with_two_zeros),
      IR_TEST(saturated_values_are_flat),
      IR_TEST(ties_and_corners),
      cmocka_unit_test(every_op_has_a_rule),
      IR_TEST(gradients_stop),
      IR_TEST(any_node_is_a_target),
      IR_TEST(constants_are_targets),
      IR_TEST(symbolic_sizes),
      IR_TEST(many_uses_are_summed_as_a_tree),
      IR_TEST(a_million_ops),
      HANDLE_TEST(backward_errors),
      HANDLE_TEST(flat_functions_have_zeros),
      HANDLE_TEST(leaves_accumulate),
      HANDLE_TEST(equal_leaves_stay_apart),
      HANDLE_TEST(no_grad_and_detach),
      HANDLE_TEST(gradients_of_gradients),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
