/* test_render_random.c: random kernels, rendered with lanes of one loop or of two, and without: the same bits.
 * FUZZ_SEED gives others. */
#include "render_fixture.h"

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

/* A loop of as many iterations as the vector loop that is open has: lanes in lanes. Values that do not vary with that
 * one are in pool[0..n). */
static void fuzz_within(Fuzz *f, int n, uint32_t flags) {
  Kern *k = f->k;
  int all = f->n, col = f->col, sum = kern_acc(k, draw() % 2 ? OP_ADD : OP_MAX, draw() % 4 ? POLY_INT32 : POLY_BOOL);
  int i = f->col = kern_loop(k, kern_int(k, POLY_INT64, 0), kern_int(k, POLY_INT64, f->d), LOOP_REDUCE | flags);
  int kept[LEN(f->pool)];
  memcpy(kept, f->pool, sizeof kept);
  f->n = n;
  f->pool[f->n++] = i;
  fuzz_values(f, 4);
  kern_update(k, sum, fuzz_pick(f, (PolyDType)k->inst[sum].dtype));
  kern_end(k, i);
  memcpy(f->pool, kept, sizeof kept);
  f->n = all, f->col = col;
  f->pool[f->n++] = sum;
}

static void fuzz_store_pair(Fuzz *f, int64_t from, int64_t a, int64_t b, int which) {
  Kern *k = f->k;
  int gate = draw() % 4 ? -1 : fuzz_pick(f, POLY_BOOL);
  int at = fuzz_index(f, from, a, b), v = fuzz_pick(f, fuzz_dtypes[which]);
  kern_store(k, f->out[which], at, v, b, gate);
  k->inst[k->lin.ninst - 1].outer = a;
}

/* Rows, in each an outer loop of lanes with narrow values and reductions, in it a vector loop that may reduce, or have
 * one in it that does. */
static Kern *fuzz_pair(uint64_t seed, bool lanes) {
  seed_ = seed;
  Fuzz f = {.k = kern_new("fuzz"), .col = -1};
  Kern *k = f.k;
  f.h = 1 << (1 + draw() % 4);
  bool reduce = draw() % 2, paired = draw() % 8, within = !reduce && draw() % 2;
  f.d = reduce || within ? 1 << (1 + draw() % 3) : 2 + (int)(draw() % 11);
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
  if (within) fuzz_within(&f, n, lanes && paired ? LOOP_VECTOR : 0);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_random_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
