/* test_render.c: rendered C, compiled by the system's compiler and run. Kernels are built by hand. What an op means is
 * taken from ir/eval.h; what a loop means from a plain loop in the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "ir/eval.h"
#include "linear_build.h"

enum { MAX_N = 200, PAD_N = 64 };
static const int sizes[] = {0, 1, 3, 7, 15, 16, 17, 31, 33, 64, 100, 133};
static const int widths[] = {64, 32, 16};

static uint64_t seed_ = 1;
static uint64_t draw(void) {
  seed_ ^= seed_ << 13, seed_ ^= seed_ >> 7, seed_ ^= seed_ << 17;
  return seed_;
}

/* ---- values of every dtype, special ones among them ---- */

static Value draw_value(PolyDType d) {
  static const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 0.5, 2.5, -3.5, 1e-8, 1e30};
  Value v = {0}, out;
  if (dtype_is_float(d)) {
    uint64_t r = draw();
    v.f = r % 4 == 0 ? special[r / 8 % LEN(special)] : ((double)(r >> 11) * 0x1p-53 - 0.5) * (r % 3 ? 8.0 : 300.0);
    return value_cast(v, POLY_FLOAT64, d);
  }
  uint64_t r = draw();
  v.i = r % 3 ? (int64_t)(r >> 32) : (int64_t)(r >> 32) % 9 - 4;
  out = value_cast(v, POLY_INT64, d);
  return out;
}

static void fill(void *p, PolyDType d, int n) {
  for (int i = 0; i < n; i++) value_store((char *)p + (size_t)i * (size_t)dtype_size(d), d, draw_value(d));
}

static Value at(const void *p, PolyDType d, int64_t i) { return value_load((const char *)p + i * dtype_size(d), d); }

static void run(const Built *b, int k, void **arg, int64_t n, int threads) {
  int64_t err[3] = {0};
  b->fn[k](arg, (int64_t[]){n, 0, 0, 0}, threads, err);
  assert_int_equal(err[0], 0);
}

static Built build(int n, Kern **k, int bytes) {
  Built b = kern_build(n, k, bytes, "gcc", "-O1");
  if (!b.fn && b.text) fputs(b.text, stderr);
  assert_non_null(b.fn);
  for (int i = 0; i < n; i++) free(k[i]);
  return b;
}

/* ---- every op on every dtype ---- */

static bool is_math(Op op) { return (op >= OP_EXP && op <= OP_ERF) || op == OP_POW; }

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

static bool close_enough(Op op, PolyDType d, Value got, Value want) {
  if (!is_math(op) || !dtype_is_float(d)) return value_same(got, want, d);
  if (isnan(want.f) || isinf(want.f) || isinf(got.f)) return value_same(got, want, d);
  double eps = d == POLY_FLOAT64 ? 0x1p-51 : d == POLY_FLOAT32 ? 0x1p-22 : d == POLY_FLOAT16 ? 0x1p-10 : 0x1p-7;
  double tiny = d == POLY_FLOAT16 ? 0x1p-24 : d == POLY_FLOAT64 ? 0x1p-1073 : 0x1p-133;
  return fabs(got.f - want.f) <= fabs(want.f) * eps + tiny;
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

/* ---- loads and stores: strides, gates, reversed, indirect ---- */

enum { GATE_NONE, GATE_TRUE, GATE_FALSE, GATE_VARY, GATES };
static const int64_t strides[] = {1, 0, -1, 2, -3, STRIDE_NONE};

/* out[to(i)] = x[from(i)] where the gate is true, 0 elsewhere; the store is gated or not. */
static Kern *moves(PolyDType d, int64_t from, int64_t to, int gate, bool gate_store, int trip) {
  Kern *k = kern_new("move");
  int x = kern_param(k, d, false), table = kern_param(k, POLY_INT32, false), out = kern_param(k, d, true);
  int zero = kern_int(k, POLY_INT64, 0), n = kern_var(k), end = trip >= 0 ? kern_int(k, POLY_INT64, trip) : n;
  int base = kern_int(k, POLY_INT64, 3 * MAX_N);
  int always = kern_alu(k, OP_CMPLE, POLY_BOOL, zero, n, -1), never = kern_alu(k, OP_CMPLT, POLY_BOOL, n, zero, -1);
  int i = kern_loop(k, zero, end, LOOP_VECTOR), g = -1, index[2];
  int64_t stride[2] = {from, to};
  for (int q = 0; q < 2; q++) {
    if (stride[q] == STRIDE_NONE)
      index[q] = kern_alu(k, OP_CAST, POLY_INT64, kern_load(k, table, i, 1, -1), -1, -1);
    else
      index[q] = kern_idx(k, OP_ADD, base, kern_idx(k, OP_MUL, i, kern_int(k, POLY_INT64, stride[q])));
  }
  if (gate == GATE_TRUE) g = always;
  if (gate == GATE_FALSE) g = never;
  if (gate == GATE_VARY) {
    /* 5 <= i and i < n - 3, as padding does it */
    int low = kern_alu(k, OP_CMPLE, POLY_BOOL, kern_int(k, POLY_INT64, 5), i, -1);
    int high = kern_alu(k, OP_CMPLT, POLY_BOOL, i, kern_idx(k, OP_SUB, n, kern_int(k, POLY_INT64, 3)), -1);
    g = kern_alu(k, OP_AND, POLY_BOOL, low, high, -1);
  }
  int v = kern_load(k, x, index[0], from, gate_store ? -1 : g);
  kern_store(k, out, index[1], v, to, gate_store ? g : -1);
  kern_end(k, i);
  return k;
}

static void check_moves(const Built *b, int kernel, PolyDType d, int64_t from, int64_t to, int gate, bool gate_store,
                        int n) {
  static char x[MAX_N * 6 * 8], out[MAX_N * 6 * 8], want[MAX_N * 6 * 8];
  int32_t table[MAX_N];
  size_t size = (size_t)dtype_size(d);
  fill(x, d, 6 * MAX_N);
  memset(out, 0x55, sizeof out), memset(want, 0x55, sizeof want);
  for (int i = 0; i < n; i++) table[i] = (i * 7) % MAX_N;
  run(b, kernel, (void *[]){x, table, out}, n, 1);
  for (int i = 0; i < n; i++) {
    bool open = gate == GATE_NONE || gate == GATE_TRUE || (gate == GATE_VARY && i >= 5 && i < n - 3);
    int64_t f = from == STRIDE_NONE ? table[i] : 3 * MAX_N + i * from,
            t = to == STRIDE_NONE ? table[i] : 3 * MAX_N + i * to;
    if (gate_store && !open) continue;
    Value zero = {0};
    value_store(want + (size_t)t * size, d, open ? at(x, d, f) : zero);
  }
  for (int i = 0; i < 6 * MAX_N; i++) {
    bool same = memcmp(out + (size_t)i * size, want + (size_t)i * size, size) == 0;
    if (!same) same = dtype_is_float(d) && isnan(at(out, d, i).f) && isnan(at(want, d, i).f);
    if (!same)
      fail_msg("%s stride %lld to %lld gate %d%s n %d: wrong at %d", dtype_name(d), (long long)from, (long long)to,
               gate, gate_store ? " store" : "", n, i - 3 * MAX_N);
  }
}

static void test_moves(void **state) {
  (void)state;
  static const PolyDType dtypes[] = {POLY_FLOAT32, POLY_BOOL, POLY_FLOAT16, POLY_INT64};
  enum { COUNT = LEN(dtypes) * LEN(strides) * 2 * GATES };
  Kern *k[COUNT];
  for (int w = 0; w < 2; w++) {
    for (int q = 0; q < COUNT; q++) {
      PolyDType d = dtypes[q % LEN(dtypes)];
      int64_t s = strides[q / LEN(dtypes) % LEN(strides)];
      int gate = q / LEN(dtypes) / LEN(strides) % GATES;
      bool store = q / LEN(dtypes) / LEN(strides) / GATES;
      k[q] = moves(d, store ? 1 : s, store ? s : 1, gate, store, -1);
    }
    Built b = build(COUNT, k, widths[w]);
    for (int q = 0; q < COUNT; q++) {
      PolyDType d = dtypes[q % LEN(dtypes)];
      int64_t s = strides[q / LEN(dtypes) % LEN(strides)];
      int gate = q / LEN(dtypes) / LEN(strides) % GATES;
      bool store = q / LEN(dtypes) / LEN(strides) / GATES;
      for (int t = 0; t < LEN(sizes); t++) check_moves(&b, q, d, store ? 1 : s, store ? s : 1, gate, store, sizes[t]);
    }
    built_free(&b);
  }
}

/* ---- reductions ---- */

static const Op folds[] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN};

/* out[0] = fold of x[i]; out[1] = fold of a uniform value, once an iteration */
static Kern *reduction(PolyDType d, Op op, int trip) {
  Kern *k = kern_new("fold");
  int x = kern_param(k, d, false), out = kern_param(k, d, true);
  int zero = kern_int(k, POLY_INT64, 0), one = kern_int(k, POLY_INT64, 1), n = kern_var(k);
  int end = trip >= 0 ? kern_int(k, POLY_INT64, trip) : n;
  int uniform = kern_load(k, x, zero, 0, -1);
  int acc = kern_acc(k, op, d), count = kern_acc(k, op, d);
  int i = kern_loop(k, zero, end, LOOP_VECTOR | LOOP_REDUCE);
  kern_update(k, acc, kern_load(k, x, i, 1, -1));
  kern_update(k, count, uniform);
  kern_end(k, i);
  kern_store(k, out, zero, acc, 0, -1);
  kern_store(k, out, one, count, 0, -1);
  return k;
}

static void check_reduction(const Built *b, int kernel, PolyDType d, Op op, int n) {
  char x[(MAX_N + 1) * 8], out[16];
  bool is_float = dtype_is_float(d);
  for (int i = 0; i < MAX_N; i++) {
    Value v = draw_value(d);
    /* small integers: floats add up exactly in any order */
    if (is_float) v.f = (op == OP_ADD) ? (double)(draw() % 9) - 4 : (op == OP_MUL) ? (draw() % 2 ? 1.0 : -1.0) : v.f;
    if (is_float && op >= OP_MAX && isnan(v.f) && draw() % 4) v.f = 3;
    value_store(x + i * dtype_size(d), d, v);
  }
  run(b, kernel, (void *[]){x, out}, n, 1);
  Value want[2] = {value_identity(op, d), value_identity(op, d)};
  for (int i = 0; i < n; i++) {
    eval_scalar(op, d, d, (Value[]){want[0], at(x, d, i)}, &want[0]);
    eval_scalar(op, d, d, (Value[]){want[1], at(x, d, 0)}, &want[1]);
  }
  for (int q = 0; q < 2; q++) {
    Value got = at(out, d, q);
    bool same = value_same(got, want[q], d) || (is_float && got.f == want[q].f);
    if (!same)
      fail_msg("%s of %d %s (%d): %.17g (%lld), not %.17g (%lld)", op_info[op].name, n, dtype_name(d), q, got.f,
               (long long)got.i, want[q].f, (long long)want[q].i);
  }
}

static void test_reductions(void **state) {
  (void)state;
  enum { COUNT = POLY_DTYPE_COUNT * LEN(folds) };
  Kern *k[COUNT];
  for (int q = 0; q < COUNT; q++) k[q] = reduction((PolyDType)(q % POLY_DTYPE_COUNT), folds[q / POLY_DTYPE_COUNT], -1);
  Built b = build(COUNT, k, 64);
  for (int q = 0; q < COUNT; q++) {
    PolyDType d = (PolyDType)(q % POLY_DTYPE_COUNT);
    for (int s = 0; s < LEN(sizes); s++) check_reduction(&b, q, d, folds[q / POLY_DTYPE_COUNT], sizes[s]);
  }
  built_free(&b);
}

/* ---- trip counts known when rendering ---- */

static void test_constant_trips(void **state) {
  (void)state;
  enum { COUNT = 4 * LEN(sizes) };
  static const PolyDType dtypes[] = {POLY_FLOAT32, POLY_INT8};
  Kern *k[COUNT];
  for (int q = 0; q < COUNT; q++) {
    int n = sizes[q / 4];
    PolyDType d = dtypes[q & 1];
    k[q] = q & 2 ? reduction(d, OP_ADD, n) : moves(d, 1, 1, GATE_NONE, false, n);
  }
  Built b = build(COUNT, k, 64);
  for (int q = 0; q < COUNT; q++) {
    int n = sizes[q / 4];
    PolyDType d = dtypes[q & 1];
    if (q & 2)
      check_reduction(&b, q, d, OP_ADD, n);
    else
      check_moves(&b, q, d, 1, 1, GATE_NONE, false, n);
  }
  built_free(&b);
}

/* ---- nests ---- */

/* out[j] = sum over i of x[i*n + j]: the vector loop is outside, its accumulators live across the inner loop */
static Kern *column_sum(int rows, uint32_t flags) {
  Kern *k = kern_new("column_sum");
  int x = kern_param(k, POLY_FLOAT32, false), out = kern_param(k, POLY_FLOAT32, true);
  int zero = kern_int(k, POLY_INT64, 0), m = kern_int(k, POLY_INT64, rows), n = kern_var(k);
  int j = kern_loop(k, zero, n, flags), acc = kern_acc(k, OP_ADD, POLY_FLOAT32);
  int i = kern_loop(k, zero, m, LOOP_REDUCE);
  int index = kern_idx(k, OP_ADD, kern_idx(k, OP_MUL, i, n), j);
  kern_update(k, acc, kern_load(k, x, index, 1, -1));
  kern_end(k, i);
  kern_store(k, out, j, acc, 1, -1);
  kern_end(k, j);
  return k;
}

static int sub_max_exp(Kern *k, int x, int base, int j, int top) {
  int v = kern_load(k, x, kern_idx(k, OP_ADD, base, j), 1, -1);
  return kern_alu(k, OP_EXP, POLY_FLOAT32, kern_alu(k, OP_SUB, POLY_FLOAT32, v, top, -1), -1, -1);
}

/* rows of n: max, sum of exp, quotient: three vector loops in a parallel one */
static Kern *softmax(int rows, int cols, int64_t cost) {
  Kern *k = kern_new("softmax");
  int x = kern_param(k, POLY_FLOAT32, false), out = kern_param(k, POLY_FLOAT32, true);
  int zero = kern_int(k, POLY_INT64, 0), m = kern_int(k, POLY_INT64, rows);
  int n = cols ? kern_int(k, POLY_INT64, cols) : kern_var(k);
  int i = kern_loop(k, zero, m, LOOP_PARALLEL);
  k->inst[i].cost = cost;
  int base = kern_idx(k, OP_MUL, i, n);
  int top = kern_acc(k, OP_MAX, POLY_FLOAT32);
  int a = kern_loop(k, zero, n, LOOP_VECTOR | LOOP_REDUCE);
  kern_update(k, top, kern_load(k, x, kern_idx(k, OP_ADD, base, a), 1, -1));
  kern_end(k, a);
  int sum = kern_acc(k, OP_ADD, POLY_FLOAT32);
  int b = kern_loop(k, zero, n, LOOP_VECTOR | LOOP_REDUCE);
  kern_update(k, sum, sub_max_exp(k, x, base, b, top));
  kern_end(k, b);
  int c = kern_loop(k, zero, n, LOOP_VECTOR);
  int e = sub_max_exp(k, x, base, c, top);
  kern_store(k, out, kern_idx(k, OP_ADD, base, c), kern_alu(k, OP_DIV, POLY_FLOAT32, e, sum, -1), 1, -1);
  kern_end(k, c);
  kern_end(k, i);
  return k;
}

static void test_column_sum(void **state) {
  (void)state;
  enum { ROWS = 37 };
  static float x[ROWS * MAX_N], out[MAX_N + 1];
  for (int i = 0; i < ROWS * MAX_N; i++) x[i] = (float)(draw() % 100) - 50;
  for (int w = 0; w < LEN(widths); w++) {
    Kern *k[] = {column_sum(ROWS, LOOP_VECTOR | LOOP_PARALLEL)};
    Built b = build(1, k, widths[w]);
    for (int s = 0; s < LEN(sizes); s++) {
      int n = sizes[s];
      out[n] = 77;
      run(&b, 0, (void *[]){x, out}, n, 2);
      for (int j = 0; j < n; j++) {
        float want = 0;
        for (int i = 0; i < ROWS; i++) want += x[i * n + j];
        assert_true(out[j] == want);
      }
      assert_true(out[n] == 77);
    }
    built_free(&b);
  }
}

static void check_softmax(const float *x, const float *out, int rows, int n) {
  for (int i = 0; i < rows; i++) {
    double top = -INFINITY, sum = 0;
    for (int j = 0; j < n; j++) top = fmax(top, (double)x[i * n + j]);
    for (int j = 0; j < n; j++) sum += exp((double)x[i * n + j] - top);
    for (int j = 0; j < n; j++) {
      double want = exp((double)x[i * n + j] - top) / sum;
      assert_true(fabs(out[i * n + j] - want) <= 1e-6 * want + 1e-12);
    }
  }
}

/* Threads share rows; a row's value must not depend on who computes it. */
static void test_softmax_threads(void **state) {
  (void)state;
  enum { ROWS = 50 };
  static float x[ROWS * MAX_N], one[ROWS * MAX_N], many[ROWS * MAX_N];
  for (int i = 0; i < ROWS * MAX_N; i++) x[i] = (float)(draw() % 2000) * 0.01f - 10;
  Kern *k[] = {softmax(ROWS, 0, 1000000), softmax(ROWS, 107, 1000000)};
  Built b = build(2, k, 64);
  for (int s = 0; s < LEN(sizes); s++) {
    run(&b, 0, (void *[]){x, one}, sizes[s], 1);
    check_softmax(x, one, ROWS, sizes[s]);
    for (int t = 2; t < 5; t++) {
      run(&b, 0, (void *[]){x, many}, sizes[s], t);
      assert_memory_equal(one, many, sizeof(float) * ROWS * (size_t)sizes[s]);
    }
  }
  run(&b, 1, (void *[]){x, one}, 0, 1);
  check_softmax(x, one, ROWS, 107);
  built_free(&b);
}

/* A parallel vector loop: the split into steps must not show. */
static void test_elementwise_threads(void **state) {
  (void)state;
  enum { N = 100003 };
  static float x[N], one[N], many[N];
  Kern *k = kern_new("chain");
  int p = kern_param(k, POLY_FLOAT32, false), out = kern_param(k, POLY_FLOAT32, true);
  int zero = kern_int(k, POLY_INT64, 0), n = kern_var(k), i = kern_loop(k, zero, n, LOOP_VECTOR | LOOP_PARALLEL);
  int v = kern_load(k, p, i, 1, -1);
  v = kern_alu(k, OP_SIN, POLY_FLOAT32, kern_alu(k, OP_MUL, POLY_FLOAT32, v, v, -1), -1, -1);
  kern_store(k, out, i, v, 1, -1);
  kern_end(k, i);
  Built b = build(1, &k, 64);
  for (int q = 0; q < N; q++) x[q] = (float)(draw() % 100000) * 1e-3f;
  run(&b, 0, (void *[]){x, one}, N, 1);
  for (int t = 2; t < 5; t++) {
    memset(many, 0, sizeof many);
    run(&b, 0, (void *[]){x, many}, N, t);
    assert_memory_equal(one, many, sizeof one);
  }
  built_free(&b);
}

/* ---- index checks ---- */

static Kern *checked_gather(uint32_t flags, bool gated) {
  Kern *k = kern_new("gather");
  int x = kern_param(k, POLY_FLOAT32, false), index = kern_param(k, POLY_INT32, false),
      out = kern_param(k, POLY_FLOAT32, true);
  int zero = kern_int(k, POLY_INT64, 0), n = kern_var(k), rows = kern_var(k), i = kern_loop(k, zero, n, flags);
  int j = kern_alu(k, OP_CAST, POLY_INT64, kern_load(k, index, i, 1, -1), -1, -1);
  int gate = gated ? kern_alu(k, OP_CMPLT, POLY_BOOL, i, kern_int(k, POLY_INT64, 20), -1) : -1;
  int c = kern_put(k, INST_CHECK, POLY_INT64, OP_CHECK, j, rows, gate);
  kern_store(k, out, i, kern_load(k, x, c, STRIDE_NONE, gate), 1, -1);
  kern_end(k, i);
  return k;
}

static void test_checks(void **state) {
  (void)state;
  float x[10], out[40];
  int32_t index[40];
  for (int i = 0; i < 10; i++) x[i] = (float)i + 1;
  Kern *k[] = {checked_gather(0, false), checked_gather(LOOP_VECTOR, false), checked_gather(LOOP_VECTOR, true)};
  Built b = build(3, k, 64);
  for (int q = 0; q < 3; q++) {
    for (int bad = -1; bad < 40; bad++) {
      int64_t err[3] = {0};
      for (int i = 0; i < 40; i++) index[i] = i == bad ? (bad % 2 ? -1 : 10) : i * 3 % 10;
      b.fn[q]((void *[]){x, index, out}, (int64_t[]){40, 10}, 1, err);
      bool raised = bad >= 0 && (q < 2 || bad < 20);
      assert_int_equal(err[0], raised);
      if (raised) assert_true(err[1] == index[bad] && err[2] == 10);
      for (int i = 0; i < 40; i++) {
        bool closed = q == 2 && i >= 20;
        if (i != bad) assert_true(out[i] == (closed ? 0 : x[index[i]]));
      }
    }
  }
  built_free(&b);
}

/* ---- index arithmetic as values ---- */

/* int32 of i*3 - n and comparisons of i with n - i, lane by lane and without int64 vectors; i // 7, i % -7 with them */
static void test_affine(void **state) {
  (void)state;
  Kern *k = kern_new("affine");
  int out = kern_param(k, POLY_INT32, true), flag = kern_param(k, POLY_BOOL, true),
      div = kern_param(k, POLY_INT64, true);
  int zero = kern_int(k, POLY_INT64, 0), n = kern_var(k), i = kern_loop(k, zero, n, LOOP_VECTOR);
  int y = kern_idx(k, OP_SUB, kern_idx(k, OP_MUL, i, kern_int(k, POLY_INT64, 3)), n);
  kern_store(k, out, i, kern_alu(k, OP_CAST, POLY_INT32, y, -1, -1), 1, -1);
  kern_store(k, flag, i, kern_alu(k, OP_CMPLT, POLY_BOOL, i, kern_idx(k, OP_SUB, n, i), -1), 1, -1);
  kern_end(k, i);
  int j = kern_loop(k, zero, n, LOOP_VECTOR);
  int d = kern_idx(k, OP_IDIV, j, kern_int(k, POLY_INT64, 7));
  k->inst[d].flags = 1;
  int m = kern_idx(k, OP_MOD, j, kern_int(k, POLY_INT64, -7));
  kern_store(k, div, j, kern_idx(k, OP_ADD, kern_idx(k, OP_MUL, d, kern_int(k, POLY_INT64, 100)), m), 1, -1);
  kern_end(k, j);
  Built b = build(1, &k, 64);
  int32_t got[MAX_N];
  int64_t quotient[MAX_N];
  uint8_t less[MAX_N];
  for (int s = 0; s < LEN(sizes); s++) {
    int size = sizes[s];
    run(&b, 0, (void *[]){got, less, quotient}, size, 1);
    for (int q = 0; q < size; q++) {
      assert_int_equal(got[q], q * 3 - size);
      assert_int_equal(less[q], q < size - q);
      assert_int_equal(quotient[q], q / 7 * 100 + (q % 7 ? q % 7 - 7 : 0));
    }
  }
  built_free(&b);
}

/* Quotients that a compiler knows to be 0 or 1: a comparison in a lane must not come out as -1, at full optimisation.
 */
static Kern *flat_division(PolyDType d) {
  Kern *k = kern_new("flat");
  int x = kern_param(k, d, false), out = kern_param(k, d, true);
  int zero = kern_int(k, POLY_INT64, 0), n = kern_var(k), i = kern_loop(k, zero, n, LOOP_VECTOR);
  int a = kern_load(k, x, i, 1, -1), big = kern_int(k, d, d == POLY_INT8 ? 100 : 200);
  int to = kern_idx(k, OP_MUL, i, kern_int(k, POLY_INT64, 1));
  kern_store(k, out, to, kern_alu(k, OP_IDIV, d, a, a, -1), 1, -1);
  kern_store(k, out, kern_idx(k, OP_ADD, i, n), kern_alu(k, OP_IDIV, d, a, big, -1), 1, -1);
  kern_end(k, i);
  return k;
}

static void test_flat_division(void **state) {
  (void)state;
  static char x[MAX_N * 8], out[MAX_N * 16];
  Kern *k[POLY_FLOAT16 - POLY_INT8];
  for (int q = 0; q < LEN(k); q++) k[q] = flat_division((PolyDType)(POLY_INT8 + q));
  Built b = kern_build(LEN(k), k, 64, "gcc", "-O2");
  assert_non_null(b.fn);
  for (int q = 0; q < LEN(k); q++) {
    PolyDType d = (PolyDType)(POLY_INT8 + q);
    Value big = {.i = d == POLY_INT8 ? 100 : 200}, want;
    fill(x, d, MAX_N);
    run(&b, q, (void *[]){x, out}, MAX_N, 1);
    for (int i = 0; i < 2 * MAX_N; i++) {
      Value a = at(x, d, i % MAX_N);
      eval_scalar(OP_IDIV, d, d, (Value[]){a, i < MAX_N ? a : big}, &want);
      if (at(out, d, i).i != want.i)
        fail_msg("%s: %lld // %lld gives %lld", dtype_name(d), (long long)a.i, (long long)(i < MAX_N ? a.i : big.i),
                 (long long)at(out, d, i).i);
    }
    free(k[q]);
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
  } f[] = {{OP_EXP, exp}, {OP_EXP2, exp2}, {OP_EXPM1, expm1}, {OP_LOG, log}, {OP_LOG2, log2}, {OP_LOG1P, log1p},
           {OP_SIN, sin}, {OP_COS, cos},   {OP_TANH, tanh},   {OP_ERF, erf}, {OP_SQRT, sqrt}, {OP_TAN, tan}};
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

/* ---- random kernels: as vectors and, with the marks taken off, as scalars ---- */

enum { FUZZ = 20, FUZZ_ROWS = 5, FUZZ_COLS = 150 };
static const PolyDType fuzz_dtypes[] = {POLY_FLOAT32, POLY_INT32,   POLY_INT64, POLY_BOOL,
                                        POLY_UINT8,   POLY_FLOAT64, POLY_INT16};

typedef struct Fuzz {
  Kern *k;
  int pool[64], n; /* values to choose from */
  int in[LEN(fuzz_dtypes)], out[LEN(fuzz_dtypes)], row, col, cols;
  int outer, h, d; /* lanes of two loops: the outer one, if there is one; how many of each */
} Fuzz;

static int fuzz_pick(Fuzz *f, PolyDType d) {
  int at = (int)(draw() % (unsigned)f->n);
  for (int q = 0; q < f->n; q++) {
    int i = f->pool[(at + q) % f->n];
    if (f->k->inst[i].dtype == d) return i;
  }
  int i = f->pool[at];
  PolyDType from = (PolyDType)f->k->inst[i].dtype;
  /* a float that fits nowhere has no one right value: through bool */
  if (dtype_is_float(from) && !dtype_is_float(d)) i = kern_alu(f->k, OP_CAST, POLY_BOOL, i, -1, -1);
  return d == POLY_BOOL && dtype_is_float(from) ? i : kern_alu(f->k, OP_CAST, d, i, -1, -1);
}

/* from + row*256 + outer*a + col*b */
static int fuzz_index(Fuzz *f, int64_t from, int64_t a, int64_t b) {
  Kern *k = f->k;
  int at = kern_idx(k, OP_MUL, f->row, kern_int(k, POLY_INT64, 256));
  at = kern_idx(k, OP_ADD, at, kern_idx(k, OP_MUL, f->outer, kern_int(k, POLY_INT64, a)));
  if (b) at = kern_idx(k, OP_ADD, at, kern_idx(k, OP_MUL, kern_int(k, POLY_INT64, b), f->col));
  return kern_idx(k, OP_ADD, at, kern_int(k, POLY_INT64, from));
}

static int fuzz_load_pair(Fuzz *f, int param, int gate) {
  Kern *k = f->k;
  const int64_t step[][3] = {{0, 1, 0}, {255, -1, 0}, {3, 0, 0}, {0, f->d, 1},     {0, f->d, 1}, {255, -f->d, -1},
                             {0, 0, 1}, {0, 1, f->h}, {7, 1, 1}, {1, 2 * f->d, 2}, {0, 0, 0}};
  int q = (int)(draw() % (f->col >= 0 ? LEN(step) : 3)), i;
  bool any = q == LEN(step) - 1;
  if (step[q][1] * (f->h - 1) + step[q][2] * (f->d - 1) > 250) q = 0;
  if (any)
    i = kern_load(k, param, kern_idx(k, OP_MOD, fuzz_pick(f, POLY_INT64), kern_int(k, POLY_INT64, FUZZ_COLS)),
                  STRIDE_NONE, gate);
  else
    i = kern_load(k, param, fuzz_index(f, step[q][0], step[q][1], step[q][2]), step[q][2], gate);
  k->inst[i].outer = any ? STRIDE_NONE : step[q][1];
  return i;
}

static int fuzz_load(Fuzz *f) {
  Kern *k = f->k;
  int which = (int)(draw() % LEN(fuzz_dtypes)), gate = draw() % 3 ? -1 : fuzz_pick(f, POLY_BOOL);
  if (f->h) return fuzz_load_pair(f, f->in[which], gate);
  int row = kern_idx(k, OP_MUL, f->row, f->cols);
  switch (draw() % 4) {
  case 0: return kern_load(k, f->in[which], row, 0, gate);
  case 1: {
    int last = kern_idx(k, OP_SUB, kern_idx(k, OP_SUB, f->cols, f->col), kern_int(k, POLY_INT64, 1));
    return kern_load(k, f->in[which], kern_idx(k, OP_ADD, row, last), -1, gate);
  }
  case 2: {
    int any = kern_idx(k, OP_MOD, fuzz_pick(f, POLY_INT64), kern_int(k, POLY_INT64, FUZZ_COLS));
    return kern_load(k, f->in[which], any, STRIDE_NONE, gate);
  }
  default: return kern_load(k, f->in[which], kern_idx(k, OP_ADD, row, f->col), 1, gate);
  }
}

static int fuzz_alu(Fuzz *f) {
  static const Op any[] = {OP_ADD, OP_SUB, OP_MUL, OP_MAX, OP_MIN, OP_CMPLT, OP_CMPEQ, OP_CMPNE, OP_CMPLE, OP_WHERE};
  static const Op ints[] = {OP_IDIV, OP_MOD, OP_AND, OP_OR, OP_XOR, OP_SHL, OP_SHR, OP_NOT};
  static const Op floats[] = {OP_DIV, OP_SQRT, OP_FLOOR, OP_NEG, OP_TANH};
  PolyDType d = fuzz_dtypes[draw() % LEN(fuzz_dtypes)];
  Op op = any[draw() % LEN(any)];
  if (draw() % 3 == 0 && d != POLY_BOOL)
    op = dtype_is_float(d) ? floats[draw() % LEN(floats)] : ints[draw() % LEN(ints)];
  int a = fuzz_pick(f, d), b = fuzz_pick(f, d), n = op_info[op].nsrc;
  if (op == OP_WHERE) return kern_alu(f->k, op, d, fuzz_pick(f, POLY_BOOL), a, b);
  return kern_alu(f->k, op, op_info[op].cls == CLASS_COMPARE ? POLY_BOOL : d, a, n > 1 ? b : -1, -1);
}

static void fuzz_values(Fuzz *f, int count) {
  for (int q = 0; q < count; q++) {
    int v = draw() % 4 ? fuzz_alu(f) : fuzz_load(f);
    f->pool[f->n++] = v;
  }
}

/* An inner loop that reduces, and the accumulator as a value. */
static void fuzz_inner(Fuzz *f) {
  static const Op fold[] = {OP_ADD, OP_MAX, OP_MIN};
  PolyDType d = fuzz_dtypes[draw() % 5];
  Op op = d == POLY_FLOAT32 ? OP_MAX : fold[draw() % LEN(fold)];
  int acc = kern_acc(f->k, op, d);
  int i = kern_loop(f->k, kern_int(f->k, POLY_INT64, 0), kern_int(f->k, POLY_INT64, 3), LOOP_REDUCE), n = f->n;
  f->pool[f->n++] = i;
  fuzz_values(f, 3);
  kern_update(f->k, acc, fuzz_pick(f, d));
  kern_end(f->k, i);
  f->n = n; /* what was computed inside stays inside */
  f->pool[f->n++] = acc;
}

static Kern *fuzz_kernel(uint64_t seed, uint32_t vector, bool constant) {
  seed_ = seed;
  Fuzz f = {.k = kern_new("fuzz")};
  Kern *k = f.k;
  for (int d = 0; d < LEN(fuzz_dtypes); d++) f.in[d] = kern_param(k, fuzz_dtypes[d], false);
  for (int d = 0; d < LEN(fuzz_dtypes); d++) f.out[d] = kern_param(k, fuzz_dtypes[d], true);
  int zero = kern_int(k, POLY_INT64, 0), sum = -1;
  f.cols = constant ? kern_int(k, POLY_INT64, FUZZ_COLS - (int)(seed % 50)) : kern_var(k);
  if (constant) k->lin.nvar = 1;
  f.row = kern_loop(k, zero, kern_int(k, POLY_INT64, FUZZ_ROWS), 0);
  if (draw() % 2) sum = kern_acc(k, draw() % 2 ? OP_ADD : OP_MAX, POLY_INT32);
  f.col = kern_loop(k, zero, f.cols, vector);
  f.pool[f.n++] = f.row, f.pool[f.n++] = f.col;
  f.pool[f.n++] = kern_float(k, POLY_FLOAT32, 1.5), f.pool[f.n++] = kern_int(k, POLY_INT32, 7);
  int here = kern_idx(k, OP_ADD, kern_idx(k, OP_MUL, f.row, f.cols), f.col);
  for (int d = 0; d < LEN(fuzz_dtypes); d++) f.pool[f.n++] = kern_load(k, f.in[d], here, 1, -1);
  fuzz_values(&f, 8);
  if (draw() % 2) fuzz_inner(&f);
  fuzz_values(&f, 4);
  for (int d = 0; d < LEN(fuzz_dtypes); d++)
    kern_store(k, f.out[d], here, fuzz_pick(&f, fuzz_dtypes[d]), 1, draw() % 4 ? -1 : fuzz_pick(&f, POLY_BOOL));
  if (sum >= 0) kern_update(k, sum, fuzz_pick(&f, POLY_INT32));
  kern_end(k, f.col);
  if (sum >= 0) kern_store(k, f.out[1], kern_idx(k, OP_ADD, f.row, kern_int(k, POLY_INT64, 1000)), sum, 0, -1);
  kern_end(k, f.row);
  return k;
}

static void fuzz_store_pair(Fuzz *f, int64_t from, int64_t a, int64_t b, int which) {
  Kern *k = f->k;
  int gate = draw() % 4 ? -1 : fuzz_pick(f, POLY_BOOL);
  int at = fuzz_index(f, from, a, b), v = fuzz_pick(f, fuzz_dtypes[which]);
  kern_store(k, f->out[which], at, v, b, gate);
  k->inst[k->lin.ninst - 1].outer = a;
}

/* Rows, in each an outer loop of lanes with narrow values and reductions, in it a vector loop that may reduce. */
static Kern *fuzz_pair(uint64_t seed, bool lanes) {
  seed_ = seed;
  Fuzz f = {.k = kern_new("fuzz"), .col = -1};
  Kern *k = f.k;
  f.h = 1 << (1 + draw() % 4);
  bool reduce = draw() % 2, paired = draw() % 8;
  f.d = reduce ? 1 << (1 + draw() % 3) : 2 + (int)(draw() % 11);
  for (int d = 0; d < LEN(fuzz_dtypes); d++) f.in[d] = kern_param(k, fuzz_dtypes[d], false);
  for (int d = 0; d < LEN(fuzz_dtypes); d++) f.out[d] = kern_param(k, fuzz_dtypes[d], true);
  int zero = kern_int(k, POLY_INT64, 0), sum = -1;
  f.row = kern_loop(k, zero, kern_int(k, POLY_INT64, FUZZ_ROWS), LOOP_PARALLEL);
  f.outer = kern_loop(k, zero, kern_int(k, POLY_INT64, f.h), lanes ? LOOP_OUTER : 0);
  f.pool[f.n++] = f.row, f.pool[f.n++] = f.outer;
  f.pool[f.n++] = kern_float(k, POLY_FLOAT32, 1.5), f.pool[f.n++] = kern_int(k, POLY_INT32, 7);
  for (int q = 0; q < 5; q++) f.pool[f.n++] = fuzz_load(&f);
  fuzz_values(&f, 4);
  if (draw() % 2) fuzz_inner(&f);
  if (reduce) sum = kern_acc(k, draw() % 2 ? OP_ADD : OP_MAX, draw() % 4 ? POLY_INT32 : POLY_BOOL);
  uint32_t flags = (reduce ? LOOP_REDUCE : 0) | (lanes && paired ? LOOP_VECTOR : 0);
  int n = f.n;
  f.col = kern_loop(k, zero, kern_int(k, POLY_INT64, f.d), flags);
  f.pool[f.n++] = f.col;
  fuzz_values(&f, 5);
  if (draw() % 2) fuzz_inner(&f);
  fuzz_values(&f, 3);
  bool across = draw() % 4 == 0;
  for (int d = 0; d < 3; d++) fuzz_store_pair(&f, 0, across ? 1 : f.d, across ? f.h : 1, d);
  if (sum >= 0) kern_update(k, sum, fuzz_pick(&f, (PolyDType)k->inst[sum].dtype));
  kern_end(k, f.col);
  f.n = n, f.col = -1;
  if (sum >= 0) f.pool[f.n++] = sum;
  fuzz_values(&f, 2);
  for (int d = 3; d < 6; d++) fuzz_store_pair(&f, 9, 1, 0, d);
  kern_end(k, f.outer);
  kern_end(k, f.row);
  k->lin.nvar = 1;
  return k;
}

static void fuzz_compare(const Built *b, int q, int n) {
  enum { SIZE = FUZZ_ROWS * 256 + 512 };
  static double in[LEN(fuzz_dtypes)][SIZE], out[2][LEN(fuzz_dtypes)][SIZE];
  void *arg[2][2 * LEN(fuzz_dtypes)];
  memset(out, 0x11, sizeof out);
  for (int d = 0; d < LEN(fuzz_dtypes); d++) {
    fill(in[d], fuzz_dtypes[d], SIZE);
    for (int s = 0; s < 2; s++) arg[s][d] = in[d], arg[s][LEN(fuzz_dtypes) + d] = out[s][d];
  }
  for (int s = 0; s < 2; s++) run(b, 2 * q + s, arg[s], n, 1);
  for (int d = 0; d < LEN(fuzz_dtypes); d++) {
    for (int i = 0; i < SIZE; i++) {
      Value a = at(out[0][d], fuzz_dtypes[d], i), c = at(out[1][d], fuzz_dtypes[d], i);
      if (!value_same(a, c, fuzz_dtypes[d]))
        fail_msg("kernel %d, n %d, %s at %d: vector %.17g (%lld), scalar %.17g (%lld)", q, n,
                 dtype_name(fuzz_dtypes[d]), i, a.f, (long long)a.i, c.f, (long long)c.i);
    }
  }
}

static void test_random(void **state) {
  (void)state;
  static const int ns[] = {0, 1, 7, 16, 37, 64, 100, 150};
  uint64_t first = getenv("FUZZ_SEED") ? strtoull(getenv("FUZZ_SEED"), NULL, 10) : 1;
  for (int w = 0; w < 2; w++) {
    Kern *k[2 * FUZZ];
    for (int q = 0; q < FUZZ; q++) {
      uint64_t seed = (first * 1000 + (uint64_t)(w * FUZZ + q)) * 0x9e3779b97f4a7c15u | 1;
      k[2 * q] = fuzz_kernel(seed, LOOP_VECTOR, q % 3 == 0);
      k[2 * q + 1] = fuzz_kernel(seed, 0, q % 3 == 0);
    }
    contract_ = "-ffp-contract=off";
    Built b = build(2 * FUZZ, k, widths[w]);
    contract_ = "-ffp-contract=fast";
    for (int q = 0; q < FUZZ; q++) {
      for (int s = 0; s < LEN(ns); s++) fuzz_compare(&b, q, ns[s]);
    }
    built_free(&b);
  }
}

static void test_random_pairs(void **state) {
  (void)state;
  uint64_t first = getenv("FUZZ_SEED") ? strtoull(getenv("FUZZ_SEED"), NULL, 10) : 1;
  for (int w = 0; w < LEN(widths); w++) {
    Kern *k[2 * FUZZ];
    for (int q = 0; q < FUZZ; q++) {
      uint64_t seed = (first * 1000 + (uint64_t)(w * FUZZ + q)) * 0x9e3779b97f4a7c15u | 1;
      PolyContext ctx = {0};
      k[2 * q] = fuzz_pair(seed, true);
      k[2 * q + 1] = fuzz_pair(seed, false);
      if (!linear_verify(&ctx, &k[2 * q]->lin)) fail_msg("%s", ctx.base.text);
    }
    contract_ = "-ffp-contract=off";
    Built b = build(2 * FUZZ, k, widths[w]);
    contract_ = "-ffp-contract=fast";
    for (int q = 0; q < FUZZ; q++) fuzz_compare(&b, q, 0);
    built_free(&b);
  }
}

/* Kernels of one name, no kernels, no loops. */
static void test_program(void **state) {
  (void)state;
  Kern *k[3];
  for (int q = 0; q < 3; q++) {
    k[q] = kern_new("same");
    int out = kern_param(k[q], POLY_INT32, true);
    kern_store(k[q], out, kern_int(k[q], POLY_INT64, 0), kern_int(k[q], POLY_INT32, q + 5), 0, -1);
  }
  Built b = build(3, k, 64);
  for (int q = 0; q < 3; q++) {
    int32_t got = 0;
    run(&b, q, (void *[]){&got}, 0, 1);
    assert_int_equal(got, q + 5);
  }
  built_free(&b);
  Built none = build(0, k, 64);
  built_free(&none);
}

/* The n-th allocation fails, for every n: false comes back and nothing is left behind. */
static void *failing_realloc(void *user, void *p, size_t old_size, size_t new_size) {
  int *left = user;
  (void)old_size;
  if (new_size == 0) {
    free(p);
    return NULL;
  }
  return (*left)-- > 0 ? realloc(p, new_size) : NULL;
}

static void test_out_of_memory(void **state) {
  (void)state;
  Kern *k = softmax(4, 0, 10);
  const Linear *lin[] = {&k->lin};
  bool done = false;
  for (int n = 0; !done; n++) {
    int left = n;
    PolyContext ctx = {.base.alloc = {failing_realloc, &left}};
    Str s = {.b = &ctx.base};
    done = render_program(&ctx, DIALECT_C, 64, 1, lin, &s);
    assert_true(done || ctx.base.code == POLY_ERROR_MEMORY);
    str_free(&s);
    assert_int_equal(ctx.base.bytes, 0);
  }
  free(k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_program),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_ops),
      cmocka_unit_test(test_casts),
      cmocka_unit_test(test_moves),
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_constant_trips),
      cmocka_unit_test(test_column_sum),
      cmocka_unit_test(test_softmax_threads),
      cmocka_unit_test(test_elementwise_threads),
      cmocka_unit_test(test_checks),
      cmocka_unit_test(test_affine),
      cmocka_unit_test(test_accuracy),
      cmocka_unit_test(test_half),
      cmocka_unit_test(test_flat_division),
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_random_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
