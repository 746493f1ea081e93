/* test_render_math.c: what rendered C computes: every op and every cast on every dtype against ir/eval.h, the accuracy
 * of the mathematical functions, and the rounding of float16 and bfloat16. */
#include "render_fixture.h"

/* ---- every op on every dtype ---- */

/* Ops that the dtype takes, in a fixed order. */
static int ops_of(PolyDType d, Op *out) {
  int n = 0;
  for (int op = 0; op < OP_COUNT; op++) {
    Value src[3] = {{0}}, r;
    if (!op_elementwise((Op)op) || op == OP_CAST || op == OP_BITCAST) continue;
    if (eval_scalar((Op)op, d, d, src, &r)) out[n++] = (Op)op;
  }
  return n;
}

/* out[k*n + i] = op_k(x[i], y[i], z[i]); bools go to a buffer of their own. */
static Kern *all_ops(PolyDType d, uint32_t flags) {
  Op op[OP_COUNT];
  int n = ops_of(d, op);
  Kern *k = kern_new(dtype_name(d));
  strcat(k->name, "_ops");
  int x = kern_param(k, d, false), y = kern_param(k, d, false), c = kern_param(k, POLY_BOOL, false);
  int out = kern_param(k, d, true), flag = kern_param(k, POLY_BOOL, true);
  int zero = kern_int(k, POLY_INT64, 0), end = kern_var(k), i = kern_loop(k, zero, end, flags);
  int a = kern_load(k, x, i, 1, -1), b = kern_load(k, y, i, 1, -1), m = kern_load(k, c, i, 1, -1);
  for (int q = 0; q < n; q++) {
    bool where = op[q] == OP_WHERE, compare = op_info[op[q]].cls == CLASS_COMPARE;
    int v = kern_alu(k, op[q], compare ? POLY_BOOL : d, where ? m : a,
                     where                     ? a
                     : op_info[op[q]].nsrc > 1 ? b
                                               : -1,
                     where ? b : -1);
    int to = kern_idx(k, OP_ADD, i, kern_idx(k, OP_MUL, end, kern_int(k, POLY_INT64, q)));
    kern_store(k, compare ? flag : out, to, v, 1, -1);
  }
  kern_end(k, i);
  return k;
}

static void check_ops(const Built *b, int kernel, PolyDType d, int n) {
  static char x[MAX_N * 8], y[MAX_N * 8], out[MAX_N * 8 * OP_COUNT];
  static uint8_t c[MAX_N], flag[MAX_N * OP_COUNT];
  Op op[OP_COUNT];
  int nop = ops_of(d, op);
  fill(x, d, n), fill(y, d, n), fill(c, POLY_BOOL, n);
  run(b, kernel, (void *[]){x, y, c, out, flag}, n, 1);
  for (int q = 0; q < nop; q++) {
    bool compare = op_info[op[q]].cls == CLASS_COMPARE, where = op[q] == OP_WHERE;
    PolyDType r = compare ? POLY_BOOL : d;
    for (int i = 0; i < n; i++) {
      Value a = at(x, d, i), v = at(y, d, i), m = at(c, POLY_BOOL, i), want;
      Value got = at(compare ? (void *)flag : (void *)out, r, (int64_t)q * n + i);
      assert_true(eval_scalar(op[q], d, d, where ? (Value[]){m, a, v} : (Value[]){a, v, m}, &want));
      if (!close_enough(op[q], r, got, want))
        fail_msg("%s of %s: %.17g (%lld), %.17g (%lld) gives %.17g (%lld), not %.17g (%lld); %d of %d",
                 op_info[op[q]].name, dtype_name(d), a.f, (long long)a.i, v.f, (long long)v.i, got.f, (long long)got.i,
                 want.f, (long long)want.i, i, n);
    }
  }
}

static void test_ops(void **state) {
  (void)state;
  Kern *k[POLY_DTYPE_COUNT];
  for (int w = 0; w < LEN(widths); w += 2) {
    for (int d = 0; d < POLY_DTYPE_COUNT; d++) k[d] = all_ops((PolyDType)d, LOOP_VECTOR);
    Built b = build(POLY_DTYPE_COUNT, k, widths[w]);
    for (int d = 0; d < POLY_DTYPE_COUNT; d++) {
      for (int s = 0; s < LEN(sizes); s++) check_ops(&b, d, (PolyDType)d, sizes[s]);
    }
    built_free(&b);
  }
}

/* ---- casts between all dtypes ---- */

static Kern *all_casts(PolyDType from, Op op) {
  Kern *k = kern_new(dtype_name(from));
  strcat(k->name, op == OP_CAST ? "_cast" : "_bits");
  int x = kern_param(k, from, false);
  for (int d = 0; d < POLY_DTYPE_COUNT; d++) kern_param(k, (PolyDType)d, true);
  int zero = kern_int(k, POLY_INT64, 0), end = kern_var(k), i = kern_loop(k, zero, end, LOOP_VECTOR);
  int a = kern_load(k, x, i, 1, -1);
  for (int d = 0; d < POLY_DTYPE_COUNT; d++) {
    if (op == OP_BITCAST && dtype_size((PolyDType)d) != dtype_size(from)) continue;
    kern_store(k, d + 1, i, kern_alu(k, op, (PolyDType)d, a, -1, -1), 1, -1);
  }
  kern_end(k, i);
  return k;
}

/* C leaves a float that does not fit open; the ranges that all agree on are tested. */
static bool fits(PolyDType from, PolyDType to, Value v) {
  if (!dtype_is_float(from) || dtype_is_float(to) || to == POLY_BOOL) return true;
  double limit = dtype_size(to) < 8 ? 2147483000.0 : 9.2e18;
  return fabs(v.f) < limit;
}

static void check_casts(const Built *b, int kernel, PolyDType from, Op op, int n) {
  static _Alignas(8) char x[MAX_N * 8], out[POLY_DTYPE_COUNT][MAX_N * 8];
  void *arg[POLY_DTYPE_COUNT + 1] = {x};
  for (int d = 0; d < POLY_DTYPE_COUNT; d++) arg[d + 1] = out[d];
  fill(x, from, n);
  /* just above the middle of two float16: in two roundings it would go down */
  if (from == POLY_FLOAT64 && n > 3) ((double *)(void *)x)[2] = 1 + 0x1p-11 + 0x1p-40;
  run(b, kernel, arg, n, 1);
  for (int d = 0; d < POLY_DTYPE_COUNT; d++) {
    for (int i = 0; i < n; i++) {
      Value a = at(x, from, i), got = at(out[d], (PolyDType)d, i), want;
      if (!eval_scalar(op, from, (PolyDType)d, &a, &want) || !fits(from, (PolyDType)d, a)) continue;
      if (!value_same(got, want, (PolyDType)d))
        fail_msg("%s %s to %s: %.17g (%lld) gives %.17g (%lld), not %.17g (%lld)", op_info[op].name, dtype_name(from),
                 dtype_name((PolyDType)d), a.f, (long long)a.i, got.f, (long long)got.i, want.f, (long long)want.i);
    }
  }
}

static void test_casts(void **state) {
  (void)state;
  Kern *k[2 * POLY_DTYPE_COUNT];
  for (int d = 0; d < POLY_DTYPE_COUNT; d++) {
    k[2 * d] = all_casts((PolyDType)d, OP_CAST);
    k[2 * d + 1] = all_casts((PolyDType)d, OP_BITCAST);
  }
  Built b = build(2 * POLY_DTYPE_COUNT, k, 64);
  for (int d = 0; d < POLY_DTYPE_COUNT; d++) {
    for (int s = 0; s < LEN(sizes); s++) {
      check_casts(&b, 2 * d, (PolyDType)d, OP_CAST, sizes[s]);
      check_casts(&b, 2 * d + 1, (PolyDType)d, OP_BITCAST, sizes[s]);
    }
  }
  built_free(&b);
}

/* ---- accuracy ---- */

static Kern *unary(Op op, uint32_t flags) {
  Kern *k = kern_new("unary");
  int x = kern_param(k, POLY_FLOAT32, false), out = kern_param(k, POLY_FLOAT32, true);
  int zero = kern_int(k, POLY_INT64, 0), n = kern_var(k), i = kern_loop(k, zero, n, flags);
  kern_store(k, out, i, kern_alu(k, op, POLY_FLOAT32, kern_load(k, x, i, 1, -1), -1, -1), 1, -1);
  kern_end(k, i);
  return k;
}

static double ulps(float got, double want) {
  float near = (float)want;
  if (isnan(want)) return isnan(got) ? 0 : 1e9;
  if (isinf(near) || near == 0)
    return got == near && signbit(got) == signbit(near) ? 0 : fabs((double)got - near) * 0x1p149;
  int e;
  frexp((double)near, &e);
  return fabs((double)got - want) * ldexp(1, 24 - (e < -125 ? -125 : e));
}

/* Every 30011th float of all 2^32, and the scalar form must be the same bit for bit. */
static void test_accuracy(void **state) {
  (void)state;
  static const struct {
    Op op;
    double (*f)(double);
  } f[] = {{OP_EXP, exp},   {OP_EXP2, exp2}, {OP_EXPM1, expm1}, {OP_LOG, log},   {OP_LOG2, log2}, {OP_LOG1P, log1p},
           {OP_SIN, sin},   {OP_COS, cos},   {OP_TANH, tanh},   {OP_ERF, erf},   {OP_SQRT, sqrt}, {OP_TAN, tan},
           {OP_ATAN, atan}, {OP_ASIN, asin}, {OP_ACOS, acos},   {OP_SINH, sinh}, {OP_COSH, cosh}};
  enum { COUNT = LEN(f), STEP = 30011, N = (int)(UINT32_MAX / STEP) };
  static float x[N], vector[N], scalar[N];
  Kern *k[2 * COUNT];
  for (int q = 0; q < COUNT; q++) k[2 * q] = unary(f[q].op, LOOP_VECTOR), k[2 * q + 1] = unary(f[q].op, 0);
  Built b = build(2 * COUNT, k, 64);
  for (uint32_t i = 0; i < N; i++) memcpy(&x[i], &(uint32_t){i * STEP}, 4);
  for (int q = 0; q < COUNT; q++) {
    run(&b, 2 * q, (void *[]){x, vector}, N, 1);
    run(&b, 2 * q + 1, (void *[]){x, scalar}, N, 1);
    for (int i = 0; i < N; i++) {
      bool same = memcmp(&vector[i], &scalar[i], 4) == 0 || (isnan(vector[i]) && isnan(scalar[i]));
      double off = ulps(vector[i], f[q].f((double)x[i]));
      if (!same || !(off <= 2))
        fail_msg("%s(%a): vector %a, scalar %a, %g ulp", op_info[f[q].op].name, (double)x[i], (double)vector[i],
                 (double)scalar[i], off);
    }
  }
  built_free(&b);
}

/* Every float16 and bfloat16 comes back as it was, and floats around them round to nearest even. */
static void test_half(void **state) {
  (void)state;
  enum { N = 65536 * 3 };
  static float x[N], back[N];
  static uint16_t h[N];
  for (int bf = 0; bf < 2; bf++) {
    PolyDType d = bf ? POLY_BFLOAT16 : POLY_FLOAT16;
    Kern *k = kern_new("half");
    int p = kern_param(k, POLY_FLOAT32, false), out = kern_param(k, d, true), f = kern_param(k, POLY_FLOAT32, true);
    int zero = kern_int(k, POLY_INT64, 0), n = kern_var(k), i = kern_loop(k, zero, n, LOOP_VECTOR);
    int v = kern_alu(k, OP_CAST, d, kern_load(k, p, i, 1, -1), -1, -1);
    kern_store(k, out, i, v, 1, -1);
    kern_end(k, i);
    int j = kern_loop(k, zero, n, LOOP_VECTOR);
    kern_store(k, f, j, kern_alu(k, OP_CAST, POLY_FLOAT32, kern_load(k, out, j, 1, -1), -1, -1), 1, -1);
    kern_end(k, j);
    Built b = build(1, &k, 64);
    for (int q = 0; q < N; q++) {
      float a = bf ? bfloat_to_float((uint16_t)(q / 3)) : half_to_float((uint16_t)(q / 3));
      uint32_t bits;
      memcpy(&bits, &a, 4);
      bits += q % 3 == 0 ? 0 : q % 3 == 1 ? (bf ? 0x8000 : 0x1000) : (uint32_t)draw() % (bf ? 0x10000 : 0x2000);
      memcpy(&x[q], &bits, 4);
    }
    run(&b, 0, (void *[]){x, h, back}, N, 1);
    for (int q = 0; q < N; q++) {
      uint16_t want = bf ? float_to_bfloat(x[q]) : float_to_half(x[q]);
      float again = bf ? bfloat_to_float(want) : half_to_float(want);
      if (isnan(x[q]))
        assert_true(isnan(back[q]));
      else if (h[q] != want || memcmp(&again, &back[q], 4))
        fail_msg("%s: %a gives %04x, not %04x", dtype_name(d), (double)x[q], h[q], want);
    }
    built_free(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ops),
      cmocka_unit_test(test_casts),
      cmocka_unit_test(test_accuracy),
      cmocka_unit_test(test_half),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
