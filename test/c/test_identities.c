/* test_identities.c: every line of the identity table, both sides evaluated on random and special values of every dtype
 * that it claims; and the scalar evaluator that this and constant folding rest on. */
#include "ir_fixture.h"
#include "ir/eval.h"
#include "ir/identities.h"

#include <math.h>

typedef struct Vars {
  PolyDType dtype; /* of x and y */
  Value x, y, c;
} Vars;

/* ---- random values ---- */

static Value random_value(Fixture *f, PolyDType dtype) {
  static const double floats[] = {0.0,    -0.0,  1,     -1,       2,         -2,   0.5,   -0.5, 1.5,
                                  2.5,    -2.5,  3,     INFINITY, -INFINITY, NAN,  65504, 1e-8, 6e-8,
                                  3.4e38, 1e-45, 1e-40, 1.7e308,  5e-324,    1e16, -1e16};
  static const int64_t ints[] = {0,   1,     -1,    2,         3,         7,          -7,        127,      -128,
                                 255, 32767, 65535, INT32_MIN, INT32_MAX, UINT32_MAX, INT64_MIN, INT64_MAX};
  Value v;
  if (!dtype_is_float(dtype)) {
    v.i = draw(f) % 2 ? ints[draw(f) % (uint32_t)LEN(ints)]
                      : (int64_t)((uint64_t)draw(f) << 40 ^ (uint64_t)draw(f) << 20 ^ draw(f));
    return value_cast(v, POLY_INT64, dtype);
  }
  if (draw(f) % 2) {
    v.f = floats[draw(f) % (uint32_t)LEN(floats)];
  } else { /* any bits at all */
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)draw(f);
    return value_load(bytes, dtype);
  }
  return value_cast(v, POLY_FLOAT64, dtype);
}

/* ---- patterns, evaluated ---- */

static Value number(PolyDType dtype, double v) { return value_cast((Value){.f = v}, POLY_FLOAT64, dtype); }

static Value eval_pattern(const int16_t **p, const Vars *v, PolyDType *dtype) {
  int token = *(*p)++;
  *dtype = token == PAT_C || token == PAT_TRUE || token == PAT_FALSE ? POLY_BOOL : v->dtype;
  switch (token) {
  case PAT_X: return v->x;
  case PAT_Y: return v->y;
  case PAT_C: return v->c;
  case PAT_ZERO: return number(v->dtype, 0);
  case PAT_NEGZERO: return number(v->dtype, -0.0);
  case PAT_ONE: return number(v->dtype, 1);
  case PAT_TWO: return number(v->dtype, 2);
  case PAT_ONES: return value_cast((Value){.i = -1}, POLY_INT64, v->dtype);
  case PAT_TRUE: return (Value){.i = 1};
  case PAT_FALSE: return (Value){.i = 0};
  default: break;
  }
  Value src[3], out;
  PolyDType types[3];
  int n = op_info[token].nsrc;
  for (int i = 0; i < n; i++) src[i] = eval_pattern(p, v, &types[i]);
  PolyDType of = types[token == OP_WHERE ? 1 : 0];
  assert_true(eval_scalar((Op)token, of, of, src, &out));
  *dtype = op_info[token].dtype == RULE_BOOL ? POLY_BOOL : of;
  return out;
}

static bool nearly(Value a, Value b, PolyDType dtype) {
  if (value_same(a, b, dtype)) return true;
  static const double eps[POLY_DTYPE_COUNT] = {
      [POLY_FP8E4M3] = 0x1p-3,  [POLY_FP8E5M2] = 0x1p-2,  [POLY_FLOAT16] = 0x1p-10,
      [POLY_BFLOAT16] = 0x1p-7, [POLY_FLOAT32] = 0x1p-23, [POLY_FLOAT64] = 0x1p-52};
  return fabs(a.f - b.f) <= eps[dtype] * fabs(b.f);
}

static bool claims(const Identity *id, PolyDType d) {
  unsigned group = d == POLY_BOOL         ? FOR_BOOL
                   : dtype_is_float(d)    ? FOR_FLOAT
                   : dtype_is_unsigned(d) ? FOR_UINT
                                          : FOR_INT;
  return id->dtypes & group;
}

static void test_both_sides_are_equal(void **state) {
  Fixture *f = *state;
  for (int k = 0; k < identity_count; k++)
    for (PolyDType d = 0; d < POLY_DTYPE_COUNT; d++) {
      if (!claims(&identities[k], d)) continue;
      for (int round = 0; round < 300; round++) {
        Vars v = {d, random_value(f, d), random_value(f, d), {.i = draw(f) % 2}};
        const int16_t *from = identities[k].from, *to = identities[k].to;
        PolyDType da, db;
        Value a = eval_pattern(&from, &v, &da), b = eval_pattern(&to, &v, &db);
        assert_int_equal(*from, PAT_END);
        assert_int_equal(*to, PAT_END);
        assert_int_equal(da, db);
        if (!(identities[k].exactness == EXACT ? value_same(a, b, da) : nearly(a, b, da)))
          fail_msg("identity %d (%s) for %s: x = %lld or %g, y = %lld or %g", k, op_info[identities[k].from[0]].name,
                   dtype_name(d), (long long)v.x.i, v.x.f, (long long)v.y.i, v.y.f);
      }
    }
}

/* ---- patterns, as nodes ---- */

static UOp *node_of(PolyContext *c, const int16_t **p, UOp *const *vars, PolyDType d) {
  int token = *(*p)++;
  switch (token) {
  case PAT_X: return vars[0];
  case PAT_Y: return vars[1];
  case PAT_C: return vars[2];
  case PAT_ZERO: return uop_const(c, d, 0);
  case PAT_NEGZERO: return uop_const(c, d, -0.0);
  case PAT_ONE: return uop_const(c, d, 1);
  case PAT_TWO: return uop_const(c, d, 2);
  case PAT_ONES: return uop_int_const(c, d, -1);
  case PAT_TRUE: return uop_const(c, POLY_BOOL, 1);
  case PAT_FALSE: return uop_const(c, POLY_BOOL, 0);
  default: break;
  }
  UOp *src[3] = {0};
  for (int i = 0; i < op_info[token].nsrc; i++) src[i] = node_of(c, p, vars, d);
  if (token == OP_WHERE) return uop_where(src[0], src[1], src[2]);
  return src[1] ? uop_binary((Op)token, src[0], src[1]) : uop_unary((Op)token, src[0]);
}

/* The table is reached: each left side is rewritten, to something of the same shape that is not it. */
static void test_every_identity_applies(void **state) {
  Fixture *f = *state;
  PolyContext *c = &f->ctx;
  UOp *size = uop_index(c, 3);
  for (int k = 0; k < identity_count; k++)
    for (PolyDType d = 0; d < POLY_DTYPE_COUNT; d++) {
      if (!claims(&identities[k], d)) continue;
      UOp *vars[3] = {uop_buffer(c, d, 1, &size), uop_buffer(c, d, 1, &size), uop_buffer(c, POLY_BOOL, 1, &size)};
      const int16_t *from = identities[k].from;
      UOp *u = node_of(c, &from, vars, d);
      assert_non_null(u);
      UOp *r = rewrite_graph(c, &simplify_pass, u);
      assert_non_null(r);
      if (r == u) fail_msg("identity %d (%s) is never applied to %s", k, op_info[u->op].name, dtype_name(d));
      assert_true(shape_equal(r, u));
      assert_int_equal(r->dtype, u->dtype);
    }
}

/* ---- the evaluator ---- */

static Value ev(Op op, PolyDType d, PolyDType to, Value a, Value b) {
  Value out = {0}, src[2] = {a, b};
  assert_true(eval_scalar(op, d, to, src, &out));
  return out;
}

static int64_t ints(Op op, PolyDType d, int64_t a, int64_t b) {
  return ev(op, d, d, (Value){.i = a}, (Value){.i = b}).i;
}
static double floats(Op op, PolyDType d, double a, double b) {
  return ev(op, d, d, (Value){.f = a}, (Value){.f = b}).f;
}

static void test_integers(void **state) {
  (void)state;
  assert_int_equal(ints(OP_ADD, POLY_INT8, 127, 1), -128);
  assert_int_equal(ints(OP_SUB, POLY_UINT16, 0, 1), 65535);
  assert_int_equal(ints(OP_IDIV, POLY_INT32, -7, 2), -4);
  assert_int_equal(ints(OP_MOD, POLY_INT32, -7, 2), 1);
  assert_int_equal(ints(OP_MOD, POLY_INT32, 7, -2), -1);
  assert_int_equal(ints(OP_IDIV, POLY_INT64, INT64_MIN, -1), INT64_MIN);
  assert_int_equal(ints(OP_IDIV, POLY_INT64, 5, 0), 0);
  assert_int_equal(ints(OP_MOD, POLY_UINT8, 5, 0), 0);
  assert_int_equal(ints(OP_IDIV, POLY_UINT64, -1, 2), INT64_MAX);
  assert_int_equal(ints(OP_CMPLT, POLY_UINT64, 1, -1), 1);
  assert_int_equal(ints(OP_CMPLT, POLY_INT64, 1, -1), 0);
  assert_int_equal(ints(OP_SHL, POLY_INT32, 1, 31), INT32_MIN);
  assert_int_equal(ints(OP_SHL, POLY_INT32, 1, 32), 0);
  assert_int_equal(ints(OP_SHR, POLY_INT8, -128, 9), -1);
  assert_int_equal(ints(OP_SHR, POLY_UINT64, -1, 63), 1);
  assert_int_equal(ints(OP_ADD, POLY_BOOL, 1, 1), 1);
  assert_int_equal(ints(OP_NOT, POLY_UINT8, 1, 0), 254);
  assert_int_equal(ints(OP_NOT, POLY_BOOL, 1, 0), 0);
  Value src[2] = {{0}, {0}}, out;
  assert_false(eval_scalar(OP_DIV, POLY_INT32, POLY_INT32, src, &out));
  assert_false(eval_scalar(OP_XOR, POLY_FLOAT32, POLY_FLOAT32, src, &out));
  assert_false(eval_scalar(OP_REDUCE, POLY_FLOAT32, POLY_FLOAT32, src, &out));
}

static void test_floats(void **state) {
  (void)state;
  assert_true(isnan(floats(OP_MAX, POLY_FLOAT32, NAN, 1)) && isnan(floats(OP_MAX, POLY_FLOAT32, 1, NAN)));
  assert_true(isnan(floats(OP_MIN, POLY_FLOAT32, NAN, 1)) && isnan(floats(OP_MIN, POLY_FLOAT32, 1, NAN)));
  assert_true(isnan(floats(OP_MUL, POLY_FLOAT64, 0, INFINITY)));
  assert_true(floats(OP_ADD, POLY_FLOAT32, 16777216, 1) == 16777216);
  assert_true(floats(OP_ADD, POLY_FLOAT16, 65504, 16) == INFINITY);
  assert_true(floats(OP_ADD, POLY_BFLOAT16, 256, 1) == 256);
  assert_true(floats(OP_ROUND, POLY_FLOAT64, 2.5, 0) == 2 && floats(OP_ROUND, POLY_FLOAT64, 3.5, 0) == 4);
  assert_true(floats(OP_EXP2, POLY_FLOAT32, 10, 0) == 1024);
}

static double cast_float(double v, PolyDType to) { return value_cast((Value){.f = v}, POLY_FLOAT64, to).f; }
static int64_t cast_int(double v, PolyDType to) { return value_cast((Value){.f = v}, POLY_FLOAT64, to).i; }

static void test_casts(void **state) {
  (void)state;
  assert_int_equal(cast_int(-3.9, POLY_INT32), -3);
  assert_int_equal(cast_int(300, POLY_UINT8), 44);
  assert_int_equal(cast_int(NAN, POLY_INT32), INT32_MIN);
  assert_int_equal(cast_int(NAN, POLY_BOOL), 1);
  assert_int_equal(cast_int(0.25, POLY_BOOL), 1);
  assert_int_equal(cast_int(1e30, POLY_INT64), INT64_MIN);
  assert_int_equal(cast_int(0x1p63, POLY_UINT64), INT64_MIN);
  assert_true(value_cast((Value){.i = -1}, POLY_UINT64, POLY_FLOAT64).f == 0x1p64);
  assert_true(value_cast((Value){.i = 16777217}, POLY_INT64, POLY_FLOAT32).f == 16777216);
  assert_int_equal(ev(OP_BITCAST, POLY_FLOAT32, POLY_INT32, (Value){.f = 1}, (Value){0}).i, 0x3f800000);
  assert_true(ev(OP_BITCAST, POLY_UINT16, POLY_FLOAT16, (Value){.i = 0xbc00}, (Value){0}).f == -1);
}

/* From double to 16 bits in one rounding: every half, the middles between neighbours, and a hair beside the middles. */
static void test_half_rounding(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 0x7bff; h++) {
    double a = (double)half_to_float((uint16_t)h), b = (double)half_to_float((uint16_t)(h + 1)), mid = (a + b) / 2;
    double even = h % 2 ? b : a;
    assert_true(cast_float(a, POLY_FLOAT16) == a);
    assert_true(cast_float(mid, POLY_FLOAT16) == even);
    assert_true(cast_float(nextafter(mid, 0), POLY_FLOAT16) == a);
    assert_true(cast_float(-nextafter(mid, INFINITY), POLY_FLOAT16) == -b);
  }
  assert_true(cast_float(65519.999, POLY_FLOAT16) == 65504);
  assert_true(cast_float(65520, POLY_FLOAT16) == INFINITY);
}

/* Memory and back, for every dtype. */
static void test_load_store(void **state) {
  Fixture *f = *state;
  for (PolyDType d = 0; d < POLY_DTYPE_COUNT; d++)
    for (int round = 0; round < 200; round++) {
      unsigned char bytes[16];
      Value v = random_value(f, d);
      memset(bytes, 0xa5, sizeof bytes);
      value_store(bytes + 3, d, v);
      assert_true(value_same(value_load(bytes + 3, d), v, d));
      for (int i = 3 + dtype_size(d); i < 16; i++) assert_int_equal(bytes[i], 0xa5);
    }
}

static void test_reduction_identities(void **state) {
  Fixture *f = *state;
  static const Op ops[] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN};
  for (int k = 0; k < LEN(ops); k++)
    for (PolyDType d = 0; d < POLY_DTYPE_COUNT; d++)
      for (int round = 0; round < 50; round++) {
        Value v = random_value(f, d), r = ev(ops[k], d, d, value_identity(ops[k], d), v);
        bool zero = dtype_is_float(d) && v.f == 0 && r.f == 0;
        assert_true(zero || value_same(r, v, d));
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IR_TEST(test_both_sides_are_equal),
      IR_TEST(test_every_identity_applies),
      IR_TEST(test_integers),
      IR_TEST(test_floats),
      IR_TEST(test_casts),
      IR_TEST(test_half_rounding),
      IR_TEST(test_load_store),
      IR_TEST(test_reduction_identities),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
