/* test_library.c: matrix products and library routines of the host devices against plain loops. */
#include "runtime_fixture.h"

/* ---- matrix products ---- */

static void check_matmul(World *w, Device *d, PolyDType dtype, const MatmulCall *shape, bool ta, bool tb, int threads) {
  MatmulCall m = *shape;
  int64_t na = m.m * m.k, nb = m.k * m.n, nc = m.m * m.n;
  size_t size = (size_t)dtype_size(dtype);
  char *a = malloc((size_t)(na * m.batch + 1) * size), *b = malloc((size_t)(nb * m.batch + 1) * size);
  char *c = malloc((size_t)(nc * m.batch + 1) * size), *want = malloc((size_t)(nc * m.batch + 1) * size);
  m.dtype = dtype;
  m.a.memory = a, m.b.memory = b, m.c.memory = c;
  m.a_row = ta ? 1 : m.k, m.a_col = ta ? m.m : 1, m.a_batch = na;
  m.b_row = tb ? 1 : m.n, m.b_col = tb ? m.k : 1, m.b_batch = m.b_batch ? 0 : nb;
  m.c_row = m.n, m.c_batch = nc;
  for (int64_t i = 0; i < na * m.batch; i++)
    value_store(a + (size_t)i * size, dtype, value_cast((Value){.f = (double)roll_float(w)}, POLY_FLOAT64, dtype));
  for (int64_t i = 0; i < nb * m.batch; i++)
    value_store(b + (size_t)i * size, dtype, value_cast((Value){.f = (double)roll_float(w)}, POLY_FLOAT64, dtype));
  memset(c, 0x55, (size_t)(nc * m.batch + 1) * size);
  MatmulCall plain = m;
  plain.c.memory = want;
  matmul_naive(&plain, 1);
  assert_true(d->matmul(d, &m, threads));
  for (int64_t i = 0; i < nc * m.batch; i++) {
    double x = value_load(want + (size_t)i * size, dtype).f, y = value_load(c + (size_t)i * size, dtype).f;
    if (!dtype_is_float(dtype))
      assert_memory_equal(c + (size_t)i * size, want + (size_t)i * size, size);
    else if (!(fabs(x - y) <= 1e-5 * (1 + sqrt((double)m.k))))
      fail_msg("%lldx%lldx%lld at %lld: %g is not %g", (long long)m.m, (long long)m.n, (long long)m.k, (long long)i, y,
               x);
  }
  for (size_t i = 0; i < size; i++) assert_int_equal(c[(size_t)(nc * m.batch) * size + i], 0x55);
  free(a), free(b), free(c), free(want);
}

static void test_matmul(void **state) {
  World *w = *state;
  static const MatmulCall shape[] = {
      {.m = 1, .n = 1, .k = 1, .batch = 1},     {.m = 5, .n = 7, .k = 3, .batch = 2},
      {.m = 64, .n = 1, .k = 33, .batch = 1},   {.m = 1, .n = 40, .k = 9, .batch = 3},
      {.m = 30, .n = 50, .k = 1, .batch = 1},   {.m = 33, .n = 65, .k = 300, .batch = 1},
      {.m = 4, .n = 4, .k = 0, .batch = 2},     {.m = 0, .n = 4, .k = 3, .batch = 2},
      {.m = 250, .n = 70, .k = 40, .batch = 1}, {.m = 3, .n = 5, .k = 4, .batch = 40, .b_batch = 1}};
  static const PolyDType dtype[] = {POLY_FLOAT32, POLY_FLOAT64, POLY_FLOAT16, POLY_INT32, POLY_UINT8};
  static const char *const name[] = {"CPU", "INTERP"};
  for (int n = 0; n < 2; n++)
    for (int i = 0; i < LEN(shape); i++)
      for (int t = 0; t < LEN(dtype); t++)
        for (int trans = 0; trans < 4; trans++)
          check_matmul(w, device(w, name[n]), dtype[t], &shape[i], trans & 1, trans & 2, 1 + trans % 2);
}

static void set_float(PolyDType dtype, void *array, int64_t i, float value) {
  if (dtype == POLY_FLOAT32)
    ((float *)array)[i] = value;
  else
    ((double *)array)[i] = (double)value;
}

static double get_float(PolyDType dtype, const void *array, int64_t i) {
  return dtype == POLY_FLOAT32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

/* Every shape of a register tile, whole and with rows and columns left over, each factor by rows, by columns or with
 * neither side by side: element by element against plain sums, in the memory that a worker is told to bring, with
 * guards behind it. */
static void check_blocked(World *w, PolyDType dtype, int64_t m, int64_t n, int64_t k, int trans) {
  enum { GUARD = 64, STEP = 2 };
  size_t size = (size_t)dtype_size(dtype);
  int64_t step = trans & 4 ? STEP : 1;
  char *a = calloc((size_t)(m * k * step), size), *b = calloc((size_t)(k * n * step), size);
  char *c = calloc((size_t)(m * n), size), *want = calloc((size_t)(m * n), size);
  for (int64_t i = 0; i < m * k * step; i++) set_float(dtype, a, i, roll_float(w));
  for (int64_t i = 0; i < k * n * step; i++) set_float(dtype, b, i, roll_float(w));
  MatmulCall call = {.dtype = dtype, .m = m, .n = n, .k = k, .batch = 1, .a = {a, 0}, .b = {b, 0}, .c = {c, 0}};
  call.a_row = (trans & 1 ? 1 : k) * step, call.a_col = (trans & 1 ? m : 1) * step;
  call.b_row = (trans & 2 ? 1 : n) * step, call.b_col = (trans & 2 ? k : 1) * step;
  call.c_row = n;
  call.worker = true;
  size_t room = matmul_blocked_room(&call);
  char *work = malloc(room + GUARD);
  memset(work + room, 0x5a, GUARD);
  call.work.memory = work;
  assert_true(matmul_blocked(device(w, "CPU")->memory, &call, 1));
  for (int i = 0; i < GUARD; i++) assert_int_equal(work[room + (size_t)i], 0x5a);
  call.c.memory = want;
  matmul_naive(&call, 1);
  double most = dtype == POLY_FLOAT32 ? 1e-3 : 1e-10;
  for (int64_t i = 0; i < m * n; i++) assert_true(fabs(get_float(dtype, c, i) - get_float(dtype, want, i)) < most);
  free(a), free(b), free(c), free(want), free(work);
}

static void test_blocked_shapes(void **state) {
  World *w = *state;
  static const int64_t rows[] = {1, 2, 3, 5, 8, 11, 13, 14, 29, 340}, cols[] = {1, 7, 16, 33, 97, 130},
                       sums[] = {1, 6, 259};
  for (int i = 0; i < LEN(rows); i++)
    for (int j = 0; j < LEN(cols); j++)
      for (int k = 0; k < LEN(sums); k++) {
        check_blocked(w, POLY_FLOAT32, rows[i], cols[j], sums[k], (i + j + k) % 5);
        check_blocked(w, POLY_FLOAT64, rows[i], cols[j], sums[k], (i + 2 * j + k) % 5);
        check_blocked(w, j % 2 ? POLY_FLOAT32 : POLY_FLOAT64, rows[i], cols[j], sums[k], 1); /* nothing is packed */
      }
  check_blocked(w, POLY_FLOAT32, 3, 600, 2100, 0); /* a sum of two pieces, and columns of two tiles */
}

/* Rows that are all one row: no BLAS takes that; and own routines give the same bits on any number of threads. */
static void test_blocked_matmul(void **state) {
  World *w = *state;
  enum { M = 301, N = 130, K = 700 };
  float *a = malloc(sizeof(float) * M * K), *b = malloc(sizeof(float) * K * N);
  float *c = malloc(sizeof(float) * M * N), *c2 = malloc(sizeof(float) * M * N);
  for (int i = 0; i < M * K; i++) a[i] = roll_float(w);
  for (int i = 0; i < K * N; i++) b[i] = roll_float(w);
  MatmulCall m = {POLY_FLOAT32, M, N, K, 1, {a, 0}, {b, 0}, {c, 0}, K, 1, 0, N, 1, 0, N, 0, false, {0}}, plain = m;
  assert_true(matmul_blocked(device(w, "CPU")->memory, &m, 1));
  m.c.memory = c2;
  for (int threads = 2; threads < 6; threads++) {
    memset(c2, 0, sizeof(float) * M * N);
    assert_true(matmul_blocked(device(w, "CPU")->memory, &m, threads));
    assert_memory_equal(c, c2, sizeof(float) * M * N);
  }
  float *turned = malloc(sizeof(float) * M * K); /* A with a row for each k, which is not packed */
  for (int i = 0; i < M * K; i++) turned[i % K * M + i / K] = a[i];
  MatmulCall along = m;
  along.a.memory = turned;
  along.a_row = 1, along.a_col = M;
  for (int threads = 1; threads < 6; threads++) {
    memset(c2, 0, sizeof(float) * M * N);
    assert_true(matmul_blocked(device(w, "CPU")->memory, &along, threads));
    assert_memory_equal(c, c2, sizeof(float) * M * N);
  }
  free(turned);
  plain.c.memory = c2;
  matmul_naive(&plain, 1);
  for (int i = 0; i < M * N; i++) assert_true(fabsf(c[i] - c2[i]) < 1e-3f);
  m.a_row = plain.a_row = 0;
  m.c.memory = c;
  assert_true(device(w, "CPU")->matmul(device(w, "CPU"), &m, 2));
  matmul_naive(&plain, 1);
  for (int i = 0; i < M * N; i++) assert_true(fabsf(c[i] - c2[i]) < 1e-3f);
  free(a), free(b), free(c), free(c2);
}

/* A long sum of equal products keeps its digits. */
static void test_long_matmul(void **state) {
  World *w = *state;
  enum { M = 13, N = 17, K = 300000 };
  float *a = malloc(sizeof(float) * M * K), *b = malloc(sizeof(float) * K * N), *c = malloc(sizeof(float) * M * N);
  for (int i = 0; i < M * K; i++) a[i] = 0.1f;
  for (int i = 0; i < K * N; i++) b[i] = 0.1f;
  MatmulCall m = {POLY_FLOAT32, M, N, K, 1, {a, 0}, {b, 0}, {c, 0}, K, 1, 0, N, 1, 0, N, 0, false, {0}};
  double want = K * (double)0.1f * (double)0.1f;
  assert_true(matmul_blocked(device(w, "CPU")->memory, &m, 2));
  for (int i = 0; i < M * N; i++) assert_true(fabs(c[i] - want) <= 1e-6 * want);
  a[5 * K + 7] = INFINITY; /* what is infinite stays so */
  assert_true(matmul_blocked(device(w, "CPU")->memory, &m, 1));
  for (int j = 0; j < N; j++) assert_true(isinf(c[5 * N + j]) && fabs(c[j] - want) <= 1e-6 * want);
  free(a), free(b), free(c);
}

/* ---- library routines ---- */

static LibraryTensor tensor(PolyDType d, void *data, int64_t rows, int64_t n) {
  LibraryTensor t = {.dtype = d, .ndim = 2, .shape = {rows, n}, .data = {data, 0}};
  if (rows < 0) t = (LibraryTensor){.dtype = d, .ndim = 1, .shape = {n}, .data = {data, 0}};
  return t;
}

/* Does a come before b? NaN is the largest. */
static int order_of(Value a, Value b, PolyDType d) {
  if (!dtype_is_float(d))
    return d == POLY_UINT64 ? ((uint64_t)a.i > (uint64_t)b.i) - ((uint64_t)a.i < (uint64_t)b.i)
                            : (a.i > b.i) - (a.i < b.i);
  if (isnan(a.f) || isnan(b.f)) return isnan(a.f) - isnan(b.f);
  return (a.f > b.f) - (a.f < b.f);
}

static void check_argsort(World *w, PolyDType d, int64_t rows, int64_t n, bool descending) {
  char *x = malloc((size_t)(rows * n * 8 + 8));
  int32_t *out = malloc((size_t)(rows * n * 4 + 4));
  char *seen = malloc((size_t)n + 1);
  fill(w, d, x, (int)(rows * n));
  LibraryCall call = {.name = "argsort",
                      .n = descending,
                      .nsrc = 1,
                      .src = {tensor(d, x, rows, n)},
                      .out = tensor(POLY_INT32, out, rows, n),
                      .threads = 2};
  Device *dev = device(w, "CPU");
  assert_true(dev->library(dev, &call));
  for (int64_t r = 0; r < rows; r++) {
    memset(seen, 0, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++) {
      int32_t at = out[r * n + i];
      assert_true(at >= 0 && at < n && !seen[at]);
      seen[at] = 1;
      if (i == 0) continue;
      int32_t before = out[r * n + i - 1];
      Value a = value_load(x + (r * n + before) * dtype_size(d), d),
            b = value_load(x + (r * n + at) * dtype_size(d), d);
      int o = order_of(a, b, d) * (descending ? -1 : 1);
      assert_true(o < 0 || (o == 0 && before < at));
    }
  }
  free(x), free(out), free(seen);
}

static void test_argsort(void **state) {
  World *w = *state;
  for (int d = 0; d < POLY_DTYPE_COUNT; d++)
    for (int descending = 0; descending < 2; descending++) {
      check_argsort(w, (PolyDType)d, 3, 0, descending);
      check_argsort(w, (PolyDType)d, 4, 1, descending);
      check_argsort(w, (PolyDType)d, 50, 37, descending);
      check_argsort(w, (PolyDType)d, 2, 1024, descending);
      check_argsort(w, (PolyDType)d, 3, 5000, descending);
    }
}

static void check_scan(World *w, PolyDType d, Op op, int64_t rows, int64_t n) {
  int size = dtype_size(d);
  char *x = malloc((size_t)(rows * n * size + 8)), *y = malloc((size_t)(rows * n * size + 8));
  fill(w, d, x, (int)(rows * n));
  LibraryCall call = {
      .name = "scan", .n = op, .nsrc = 1, .src = {tensor(d, x, rows, n)}, .out = tensor(d, y, rows, n), .threads = 2};
  Device *dev = device(w, "INTERP");
  assert_true(dev->library(dev, &call));
  PolyDType wide = dtype_is_float(d) ? POLY_FLOAT64 : d; /* running sums of floats are carried in double */
  bool either = d == POLY_BOOL && (op == OP_ADD || op == OP_MUL);
  for (int64_t r = 0; r < rows; r++) {
    Value run = {0};
    for (int64_t i = 0; i < n; i++) {
      Value v = value_load(x + (r * n + i) * size, d), src[2] = {run, v};
      if (i == 0)
        run = v;
      else
        assert_true(eval_scalar(either ? (op == OP_ADD ? OP_OR : OP_AND) : op, wide, wide, src, &run));
      assert_true(value_same(value_cast(run, wide, d), value_load(y + (r * n + i) * size, d), d));
    }
  }
  free(x), free(y);
}

static void test_scan(void **state) {
  World *w = *state;
  static const Op op[] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN};
  for (int d = 0; d < POLY_DTYPE_COUNT; d++)
    for (int k = 0; k < 4; k++) {
      check_scan(w, (PolyDType)d, op[k], 3, 0);
      check_scan(w, (PolyDType)d, op[k], 1, 1);
      check_scan(w, (PolyDType)d, op[k], 7, 60);
    }
}

static void test_recurrence(void **state) {
  World *w = *state;
  enum { ROWS = 3, N = 50 };
  float a[ROWS * N], b[ROWS * N], y[ROWS * N];
  for (int i = 0; i < ROWS * N; i++) a[i] = roll_float(w), b[i] = roll_float(w);
  LibraryTensor at = tensor(POLY_FLOAT32, a, ROWS, N), bt = tensor(POLY_FLOAT32, b, ROWS, N);
  LibraryCall call = {
      .name = "recurrence", .nsrc = 2, .src = {at, bt}, .out = tensor(POLY_FLOAT32, y, ROWS, N), .threads = 2};
  Device *d = device(w, "CPU");
  assert_true(d->library(d, &call));
  for (int r = 0; r < ROWS; r++) {
    double run = 0;
    for (int i = r * N; i < (r + 1) * N; i++) {
      run = a[i] * run + b[i];
      assert_true(y[i] == (float)run);
    }
  }
  call.src[0].dtype = POLY_FLOAT64;
  assert_false(d->library(d, &call));
  base_clear(&w->ctx.base);
}

static void check_segment_order(World *w, PolyDType d, int64_t rows, int64_t n, int threads) {
  int size = dtype_size(d);
  char *x = malloc((size_t)(n * size + 8));
  int32_t *out = malloc((size_t)(rows + 1 + n) * 4), *next = malloc((size_t)(rows + 1) * 4);
  for (int64_t e = 0; e < n; e++) value_store(x + e * size, d, (Value){.i = roll(w) % rows});
  LibraryCall call = {.name = "segment_order",
                      .nsrc = 1,
                      .src = {tensor(d, x, -1, n)},
                      .out = tensor(POLY_INT32, out, -1, rows + 1 + n),
                      .threads = threads};
  Device *dev = device(w, "CPU");
  assert_true(dev->library(dev, &call));
  assert_int_equal(out[0], 0);
  assert_int_equal(out[rows], n);
  memcpy(next, out, (size_t)(rows + 1) * 4);
  for (int64_t e = 0; e < n; e++) { /* entries in order: each must come next in its row */
    int64_t v = value_load(x + e * size, d).i;
    assert_int_equal(out[rows + 1 + next[v]++], e);
  }
  for (int64_t v = 0; v < rows; v++) assert_int_equal(next[v], out[v + 1]);
  if (n > 5) {
    value_store(x + 5 * size, d, (Value){.i = 12});
    if (rows == 10) {
      assert_false(dev->library(dev, &call));
      assert_int_equal(w->ctx.base.code, POLY_ERROR_INDEX);
      assert_string_equal(w->ctx.base.text, "scatter: index 12 at position 5 is out of range for an axis of size 10");
      base_clear(&w->ctx.base);
    }
  }
  free(x), free(out), free(next);
}

static void test_segment_order(void **state) {
  World *w = *state;
  static const PolyDType d[] = {POLY_INT32, POLY_INT64, POLY_UINT8, POLY_INT16, POLY_UINT32};
  for (int i = 0; i < LEN(d); i++)
    for (int threads = 1; threads < 4; threads++) {
      check_segment_order(w, d[i], 10, 0, threads);
      check_segment_order(w, d[i], 10, 100, threads);
      check_segment_order(w, d[i], 10, 50000, threads);
      check_segment_order(w, d[i], 100, 30000, threads);
      check_segment_order(w, d[i], 1, 20, threads);
    }
  int32_t index = -1, out[4];
  LibraryCall call = {.name = "segment_order",
                      .nsrc = 1,
                      .src = {tensor(POLY_INT32, &index, -1, 1)},
                      .out = tensor(POLY_INT32, out, -1, 4),
                      .threads = 1};
  Device *dev = device(w, "CPU");
  assert_false(dev->library(dev, &call));
  assert_non_null(strstr(w->ctx.base.text, "index -1 at position 0"));
  base_clear(&w->ctx.base);
}

static void test_nonzero(void **state) {
  World *w = *state;
  Device *dev = device(w, "CPU");
  for (int64_t n = 0; n < 200001; n = n * 20 + 1) {
    uint8_t *x = malloc((size_t)n + 1);
    int64_t count = 0, k = 0;
    for (int64_t i = 0; i < n; i++) count += x[i] = roll(w) % 3 == 0;
    int32_t *out = malloc((size_t)count * 4 + 4);
    LibraryCall call = {.name = "nonzero",
                        .nsrc = 1,
                        .src = {tensor(POLY_BOOL, x, -1, n)},
                        .out = tensor(POLY_INT32, out, -1, count),
                        .threads = 2};
    assert_true(dev->library(dev, &call));
    for (int64_t i = 0; i < n; i++)
      if (x[i]) assert_int_equal(out[k++], i);
    free(x), free(out);
  }
  LibraryCall call = {.name = "sudoku", .nsrc = 1};
  assert_false(dev->library(dev, &call));
  assert_non_null(strstr(w->ctx.base.text, "sudoku"));
  base_clear(&w->ctx.base);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_matmul),     TEST(test_blocked_matmul), TEST(test_blocked_shapes),
                                     TEST(test_argsort),    TEST(test_long_matmul),    TEST(test_scan),
                                     TEST(test_recurrence), TEST(test_segment_order),  TEST(test_nonzero)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
