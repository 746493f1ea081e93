/* test_render.c: rendered C, compiled by the system's compiler and run: loads and stores, loops, reductions, threads,
 * index arithmetic. Kernels are built by hand. What an op means is taken from ir/eval.h; what a loop means from a plain
 * loop in the test. */
#include "render_fixture.h"

#include <sys/mman.h>

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
    if (is_float && op == OP_ADD && dtype_size(d) == 1)
      v.f = i > 0 && i < 8; /* the whole numbers that they hold end at 8 */
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

/* The sum of those rows of x, 32 wide, that `index` names from place 0 to n; an iteration counts as much work. */
static Kern *gathered_sum(void) {
  Kern *k = kern_new("gathered");
  int x = kern_param(k, POLY_FLOAT32, false), index = kern_param(k, POLY_INT32, false),
      out = kern_param(k, POLY_FLOAT32, true);
  int zero = kern_int(k, POLY_INT64, 0), width = kern_int(k, POLY_INT64, 32), n = kern_var(k);
  int j = kern_loop(k, zero, width, LOOP_VECTOR), acc = kern_acc(k, OP_ADD, POLY_FLOAT32);
  int i = kern_loop(k, zero, n, LOOP_REDUCE);
  k->inst[i].cost = 100;
  int row = kern_alu(k, OP_CAST, POLY_INT64, kern_load(k, index, i, 0, -1), -1, -1);
  int at = kern_idx(k, OP_ADD, kern_idx(k, OP_MUL, row, width), j);
  kern_update(k, acc, kern_load(k, x, at, 1, -1));
  kern_end(k, i);
  kern_store(k, out, j, acc, 1, -1);
  kern_end(k, j);
  return k;
}

/* Rows are asked for before their iteration comes: indices behind the last one, where memory may end, are not read. */
static void test_rows_ahead(void **state) {
  (void)state;
  enum { ROWS = 50, WIDTH = 32 };
  static float x[ROWS * WIDTH], out[WIDTH];
  for (int i = 0; i < ROWS * WIDTH; i++) x[i] = (float)(draw() % 100) - 50;
  long page = sysconf(_SC_PAGESIZE);
  char *memory = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED && !mprotect(memory + page, (size_t)page, PROT_NONE));
  for (int w = 0; w < LEN(widths); w++) {
    Kern *k[] = {gathered_sum()};
    Built b = build(1, k, widths[w]);
    assert_non_null(strstr(b.text, "__builtin_prefetch("));
    for (int n = 0; n < 12; n++) {
      int32_t *index = (int32_t *)(memory + page) - n;
      for (int i = 0; i < n; i++) index[i] = (int32_t)(draw() % ROWS);
      run(&b, 0, (void *[]){x, index, out}, n, 1);
      for (int j = 0; j < WIDTH; j++) {
        float want = 0;
        for (int i = 0; i < n; i++) want += x[index[i] * WIDTH + j];
        assert_true(out[j] == want);
      }
    }
    built_free(&b);
  }
  munmap(memory, 2 * (size_t)page);
}

/* The sum of n rows of x, 32 wide, for each of so many rows. */
static Kern *gathered_rows(int64_t rows) {
  Kern *k = kern_new("gathered_rows");
  int x = kern_param(k, POLY_FLOAT32, false), index = kern_param(k, POLY_INT32, false),
      out = kern_param(k, POLY_FLOAT32, true);
  int zero = kern_int(k, POLY_INT64, 0), width = kern_int(k, POLY_INT64, 32), n = kern_var(k);
  int r = kern_loop(k, zero, kern_int(k, POLY_INT64, rows), LOOP_PARALLEL);
  int j = kern_loop(k, zero, width, LOOP_VECTOR), acc = kern_acc(k, OP_ADD, POLY_FLOAT32);
  int i = kern_loop(k, zero, n, LOOP_REDUCE);
  k->inst[i].src[2] = n;
  int row = kern_alu(k, OP_CAST, POLY_INT64, kern_load(k, index, i, 0, -1), -1, -1);
  int at = kern_idx(k, OP_ADD, kern_idx(k, OP_MUL, row, width), j);
  kern_update(k, acc, kern_load(k, x, at, 1, -1));
  kern_end(k, i);
  kern_store(k, out, kern_idx(k, OP_ADD, kern_idx(k, OP_MUL, r, width), j), acc, 1, -1);
  kern_end(k, j);
  kern_end(k, r);
  return k;
}

/* Rows that do not fit the second cache together are asked for into it, others into the first. */
static void test_cache_of_rows_ahead(void **state) {
  (void)state;
  for (int large = 0; large < 2; large++) {
    Kern *k[] = {gathered_rows(large ? 100000 : 1000)};
    Built b = build(1, k, widths[0]);
    assert_non_null(strstr(b.text, large ? " + 0, 0, 2);" : " + 0, 0, 3);"));
    assert_null(strstr(b.text, large ? " + 0, 0, 3);" : " + 0, 0, 2);"));
    built_free(&b);
  }
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
  Kern *k[POLY_FP8E4M3 - POLY_INT8];
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
  Target target = cpu_target;
  target.vector_bytes = 64;
  bool done = false;
  for (int n = 0; !done; n++) {
    int left = n;
    PolyContext ctx = {.base.alloc = {failing_realloc, &left}};
    Str s = {.b = &ctx.base};
    Arena arena = {.b = &ctx.base};
    const Linear *lin = kern_shaped(&arena, &target, &k->lin);
    done = lin && render_program(&ctx, &target, 1, &lin, &s);
    arena_free(&arena);
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
      cmocka_unit_test(test_moves),
      cmocka_unit_test(test_reductions),
      cmocka_unit_test(test_constant_trips),
      cmocka_unit_test(test_column_sum),
      cmocka_unit_test(test_softmax_threads),
      cmocka_unit_test(test_elementwise_threads),
      cmocka_unit_test(test_checks),
      cmocka_unit_test(test_affine),
      cmocka_unit_test(test_flat_division),
      cmocka_unit_test(test_rows_ahead),
      cmocka_unit_test(test_cache_of_rows_ahead),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
