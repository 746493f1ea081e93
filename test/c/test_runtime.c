/* test_runtime.c: buffers, the interpreter against the scalar evaluator, the CPU device and the kernel cache. */
#include "runtime_fixture.h"
#include "linear_build.h"

#include <signal.h>
#include <sys/wait.h>

/* ---- buffers ---- */

static int released;
static void note_release(void *user) { released += *(int *)user; }

static void test_buffers_are_counted(void **state) {
  World *w = *state;
  Device *d = device(w, "INTERP");
  PolyBuffer *b = buffer_new(d->memory, 1000);
  assert_int_equal((uintptr_t)buffer_read(b, d->memory) % 64, 0);
  assert_int_equal(w->runtime->live_bytes, 1000);
  assert_ptr_equal(buffer_retain(b), b);
  buffer_release(b);
  assert_int_equal(w->runtime->live_bytes, 1000);
  PolyBuffer *big = buffer_new(d->memory, 5 << 20);
  memset(buffer_overwrite(big, d->memory), 1, 5 << 20);
  buffer_release(big);
  buffer_release(b);
  assert_int_equal(w->runtime->live_bytes, 0);
  assert_int_equal(w->runtime->peak_bytes, 1000 + (5 << 20));
  int seven = 7;
  released = 0;
  PolyBuffer *borrowed = buffer_borrow(w->runtime, &seven, sizeof seven, note_release, &seven);
  assert_int_equal(w->runtime->live_bytes, 0);
  buffer_release(borrowed);
  assert_int_equal(released, 7);
  PolyBuffer *empty = buffer_new(d->memory, 0);
  assert_non_null(buffer_read(empty, d->memory));
  buffer_release(empty);
}

static void test_blocks_do_not_overlap_and_are_reused(void **state) {
  World *w = *state;
  Device *d = device(w, "INTERP");
  enum { N = 300 };
  void *p[N];
  size_t n[N];
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < N; i++) {
      n[i] = i % 50 == 49 ? 3000000 + roll(w) % 100000 : roll(w) % 9000;
      p[i] = memory_alloc(d->memory, n[i]);
      assert_int_equal((uintptr_t)p[i] % 64, 0);
      memset(p[i], i & 255, n[i]);
    }
    for (int i = 0; i < N; i++) {
      for (size_t k = 0; k < n[i]; k += 97) assert_int_equal(((uint8_t *)p[i])[k], i & 255);
      memory_free(d->memory, p[i], n[i]);
    }
  }
  assert_int_equal(w->runtime->live_bytes, 0);
}

static void *refuse(void *user, void *p, size_t old_size, size_t new_size) {
  size_t limit = *(size_t *)user;
  (void)old_size;
  if (new_size == 0) return free(p), NULL;
  return new_size > limit ? NULL : realloc(p, new_size);
}

static void test_out_of_memory_names_the_bytes(void **state) {
  World *w = *state;
  Device *d = device(w, "INTERP");
  size_t limit = 1 << 20;
  w->ctx.base.alloc = (Allocator){refuse, &limit};
  assert_null(memory_alloc(d->memory, 123456789));
  assert_int_equal(w->ctx.base.code, POLY_ERROR_MEMORY);
  assert_string_equal(w->ctx.base.text, "out of memory on the host: 123456789 bytes were asked for");
  base_clear(&w->ctx.base);
  assert_null(buffer_new(d->memory, SIZE_MAX / 2));
  assert_int_equal(w->ctx.base.code, POLY_ERROR_MEMORY);
  base_clear(&w->ctx.base);
  w->ctx.base.alloc = (Allocator){0};
}

/* ---- copies in several memories ---- */

static void set_bytes(PolyBuffer *b, Memory *m, int value) {
  char bytes[64];
  memset(bytes, value, sizeof bytes);
  assert_true(buffer_put(b, m, bytes, sizeof bytes));
}

static int first_byte(PolyBuffer *b) {
  signed char byte = 0;
  assert_true(buffer_get(b, &byte, 1));
  return byte;
}

/* Writing in one memory makes the other copy invalid; reading copies what is not valid, and nothing else. */
static void test_one_copy_for_each_memory(void **state) {
  World *w = *state;
  Memory *host = device(w, "INTERP")->memory, *other = device(w, "TEST")->memory;
  assert_ptr_equal(host, device(w, "CPU")->memory);
  PolyBuffer *b = buffer_new(host, 64);
  set_bytes(b, host, 1);
  void *there = buffer_read(b, other);
  assert_non_null(there);
  assert_true(b->copy[host->number].valid && b->copy[other->number].valid);
  assert_int_equal(w->runtime->live_bytes, 128);
  assert_ptr_equal(buffer_update(b, other), there);
  assert_true(!b->copy[host->number].data && b->copy[other->number].valid);
  assert_int_equal(host->live_bytes, 0);
  assert_int_equal(other->live_bytes, 64);
  set_bytes(b, other, 2);
  assert_int_equal(first_byte(b), 2);
  assert_null(b->copy[host->number].data); /* read without a copy on the host */
  assert_int_equal(*(signed char *)buffer_read(b, host), 2);
  PolyBuffer *twin = buffer_copy(b, other), *alias = buffer_alias(b);
  set_bytes(b, host, 3);
  assert_int_equal(first_byte(twin), 2);
  assert_int_equal(first_byte(alias), 3);
  assert_true(buffer_is_shared(alias) && buffer_is_shared(b));
  buffer_release(b);
  assert_int_equal(first_byte(alias), 3);
  buffer_release(alias);
  buffer_release(twin);
}

/* Memory whose address is known outside may change at any time: it is copied at each use, and stays where it is. */
static void test_exposed_and_borrowed_memory(void **state) {
  World *w = *state;
  Memory *host = device(w, "INTERP")->memory, *other = device(w, "TEST")->memory;
  signed char bytes[64] = {1}, out;
  PolyBuffer *b = buffer_borrow(w->runtime, bytes, sizeof bytes, NULL, NULL), *c = buffer_new(other, 64);
  signed char *mine = buffer_expose(c);
  for (int k = 2; k < 5; k++) {
    bytes[0] = (signed char)k;
    mine[0] = (signed char)(k + 10);
    assert_true(other->copy_out(other, &out, buffer_read(b, other), 1) && out == k);
    assert_true(other->copy_out(other, &out, buffer_read(c, other), 1) && out == k + 10);
  }
  assert_non_null(buffer_update(c, other));
  set_bytes(c, other, 9);
  assert_ptr_equal(buffer_read(c, host), mine);
  assert_int_equal(mine[0], 9);
  buffer_release(b);
  buffer_release(c);
}

static bool crashes(void (*f)(void *), void *p) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    f(p);
    _exit(0);
  }
  int how = 0;
  assert_int_equal(waitpid(child, &how, 0), child);
  return !(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

static void read_byte(void *p) { *(volatile char *)p; }

/* The host cannot use the test device's addresses, nor the device the host's. */
static void test_memories_are_apart(void **state) {
  World *w = *state;
  Device *d = device(w, "TEST");
  PolyBuffer *b = buffer_new(d->memory, 64);
  void *p = buffer_read(b, d->memory);
  assert_true(crashes(read_byte, p));
  double x[4] = {3, 1, 2, 0};
  MatmulCall m = {POLY_FLOAT64, 2, 2, 2, 1, {p, 0}, {x, 0}, {p, 32}, 2, 1, 0, 2, 1, 0, 2, 0, false, {0}};
  assert_false(d->matmul(d, &m, 1));
  assert_int_equal(w->ctx.base.code, POLY_ERROR_RUNTIME);
  base_clear(&w->ctx.base);
  assert_true(d->memory->copy_in(d->memory, p, x, sizeof x));
  m.b = m.a;
  assert_true(d->matmul(d, &m, 1));
  double y[8];
  assert_true(buffer_get(b, y, sizeof y));
  assert_true(y[4] == 11 && y[5] == 3 && y[6] == 6 && y[7] == 2);
  LibraryCall sort = {.name = "argsort", .nsrc = 1, .threads = 1};
  sort.src[0] = (LibraryTensor){POLY_FLOAT64, 1, {4}, {p, 0}};
  sort.out = (LibraryTensor){POLY_INT32, 1, {4}, {p, 32}};
  assert_true(d->library(d, &sort));
  assert_true(buffer_get(b, y, sizeof y));
  static const int32_t want[4] = {3, 1, 2, 0};
  assert_memory_equal(&y[4], want, sizeof want);
  buffer_release(b);
}

static void test_closed_device(void **state) {
  World *w = *state;
  Device *d = device(w, "TEST"), *now = w->runtime->current;
  PolyBuffer *b = buffer_new(d->memory, 64);
  set_bytes(b, d->memory, 5);
  w->runtime->current = d;
  assert_false(runtime_close(w->runtime, d));
  base_clear(&w->ctx.base);
  w->runtime->current = now;
  assert_true(runtime_close(w->runtime, d));
  assert_int_equal(first_byte(b), 5); /* on the host now */
  assert_int_equal(d->memory->live_bytes, 0);
  assert_false(device_usable(d));
  assert_string_equal(w->ctx.base.text, "the device TEST was closed");
  base_clear(&w->ctx.base);
  assert_null(runtime_find(w->runtime, "TEST"));
  Device *again = device(w, "TEST");
  assert_ptr_not_equal(again, d);
  assert_non_null(buffer_read(b, again->memory));
  buffer_release(b);
}

/* ---- the interpreter ---- */

static bool run_interp(World *w, Kern *k, void *const *args, const int64_t *vars) {
  Device *d = device(w, "INTERP");
  assert_true(linear_verify(&w->ctx, &k->lin) || (print_message("%s\n", w->ctx.base.text), false));
  const Linear *lin = &k->lin;
  Program *p = d->compile(d, NULL, 1, &lin);
  assert_non_null(p);
  MemoryRef ref[16] = {0};
  for (int i = 0; i < k->lin.nparam; i++) ref[i].memory = args[i];
  bool ok = d->launch(p, 0, ref, vars, 1);
  d->program_free(p);
  free(k);
  return ok;
}

static void test_elementwise(void **state) {
  World *w = *state;
  Kern *k = kern_new("ew");
  UOp *var[1] = {NULL};
  k->lin.var = var;
  int out = kern_param(k, POLY_FLOAT32, true), in = kern_param(k, POLY_FLOAT32, false);
  int zero = kern_int(k, POLY_INT64, 0), n = kern_var(k), two = kern_float(k, POLY_FLOAT32, 2);
  int i = kern_loop(k, zero, n, LOOP_VECTOR | LOOP_PARALLEL);
  int x = kern_load(k, in, i, 1, -1), y = kern_alu(k, OP_MUL, POLY_FLOAT32, x, two, -1);
  kern_store(k, out, i, kern_alu(k, OP_EXP, POLY_FLOAT32, y, -1, -1), 1, -1);
  kern_end(k, i);
  float x_[5] = {0, 1, -1, INFINITY, 0.5f}, y_[5] = {9, 9, 9, 9, 9};
  int64_t n_ = 4;
  assert_true(run_interp(w, k, (void *[]){y_, x_}, &n_));
  for (int j = 0; j < 4; j++) assert_true(y_[j] == (float)exp(2.0 * x_[j]));
  assert_true(y_[4] == 9); /* the fifth is not the kernel's */
}

/* Row sums of squares with an accumulator that starts again for each row; the second row's loop is entered, an empty
 * loop leaves the identity. */
static void test_reduction(void **state) {
  World *w = *state;
  for (int cols = 0; cols <= 3; cols += 3) {
    Kern *k = kern_new("rowsum");
    int out = kern_param(k, POLY_INT16, true), in = kern_param(k, POLY_INT16, false);
    int zero = kern_int(k, POLY_INT64, 0), rows = kern_int(k, POLY_INT64, 2), c = kern_int(k, POLY_INT64, cols);
    int i = kern_loop(k, zero, rows, LOOP_PARALLEL), acc = kern_acc(k, OP_ADD, POLY_INT16);
    int j = kern_loop(k, zero, c, LOOP_REDUCE | LOOP_VECTOR);
    int x = kern_load(k, in, kern_idx(k, OP_ADD, kern_idx(k, OP_MUL, i, c), j), 1, -1);
    kern_update(k, acc, kern_alu(k, OP_MUL, POLY_INT16, x, x, -1));
    kern_end(k, j);
    kern_store(k, out, i, acc, 0, -1);
    kern_end(k, i);
    int16_t x_[6] = {1, 2, 3, 200, 200, -1}, y_[2] = {77, 77};
    assert_true(run_interp(w, k, (void *[]){y_, x_}, NULL));
    assert_int_equal(y_[0], cols ? 14 : 0);
    assert_int_equal(y_[1], cols ? (int16_t)(80001) : 0);
  }
}

enum { REV_ROWS = 3, REV_COLS = 21 };

/* out[i, j] = in[i, COLS-1-j], each row through a local array of the parallel loop. */
static Kern *reverse_rows(void) {
  Kern *k = kern_new("reverse");
  int out = kern_param(k, POLY_FLOAT32, true), in = kern_param(k, POLY_FLOAT32, false);
  int row = kern_param(k, POLY_FLOAT32, true);
  k->param[row].read = true;
  k->param[row].local = REV_COLS;
  int zero = kern_int(k, POLY_INT64, 0), rows = kern_int(k, POLY_INT64, REV_ROWS);
  int cols = kern_int(k, POLY_INT64, REV_COLS), last = kern_int(k, POLY_INT64, REV_COLS - 1);
  int i = kern_loop(k, zero, rows, LOOP_PARALLEL), first = kern_idx(k, OP_MUL, i, cols);
  int j = kern_loop(k, zero, cols, LOOP_VECTOR);
  kern_store(k, row, j, kern_load(k, in, kern_idx(k, OP_ADD, first, j), 1, -1), 1, -1);
  kern_end(k, j);
  j = kern_loop(k, zero, cols, LOOP_VECTOR);
  int x = kern_load(k, row, kern_idx(k, OP_SUB, last, j), -1, -1);
  kern_store(k, out, kern_idx(k, OP_ADD, first, j), x, 1, -1);
  kern_end(k, j);
  kern_end(k, i);
  return k;
}

static void assert_reversed(const float *in, const float *out) {
  for (int i = 0; i < REV_ROWS * REV_COLS; i++)
    assert_true(out[i] == in[i / REV_COLS * REV_COLS + REV_COLS - 1 - i % REV_COLS]);
}

static void test_local_arrays(void **state) {
  World *w = *state;
  float in[REV_ROWS * REV_COLS], out[REV_ROWS * REV_COLS] = {0};
  for (int i = 0; i < REV_ROWS * REV_COLS; i++) in[i] = (float)i;
  assert_true(run_interp(w, reverse_rows(), (void *[]){out, in, NULL}, NULL));
  assert_reversed(in, out);
  Kern *k = reverse_rows();
  Built b = kern_build(1, &k, 32, "gcc", "-O2");
  assert_non_null(b.fn);
  memset(out, 0, sizeof out);
  b.fn[0]((void *[]){out, in}, NULL, 2, NULL);
  assert_reversed(in, out);
  assert_non_null(strstr(b.text, "float p2[21] __attribute__((aligned(64)));"));
  built_free(&b);
  Str s = {.b = &w->ctx.base};
  linear_print(&s, &k->lin);
  assert_non_null(strstr(s.at, "arg2: float32 r w local 21"));
  str_free(&s);
  /* a use outside the loop that it belongs to */
  kern_store(k, 2, 0, kern_float(k, POLY_FLOAT32, 1), 0, -1);
  assert_false(linear_verify(&w->ctx, &k->lin));
  assert_non_null(strstr(w->ctx.base.text, "used by several iterations"));
  base_clear(&w->ctx.base);
  k->lin.ninst -= 2;
  k->param[1].local = 4; /* an argument behind it */
  k->param[2].local = 0;
  assert_false(linear_verify(&w->ctx, &k->lin));
  base_clear(&w->ctx.base);
  free(k);
}

/* A gate that is false: the value is 0 and the (wild) index is not read; a gated store leaves memory alone. */
static void test_gates(void **state) {
  World *w = *state;
  Kern *k = kern_new("gates");
  int out = kern_param(k, POLY_FLOAT64, true), in = kern_param(k, POLY_FLOAT64, false);
  int zero = kern_int(k, POLY_INT64, 0), n = kern_int(k, POLY_INT64, 4), two = kern_int(k, POLY_INT64, 2);
  int far = kern_int(k, POLY_INT64, 1LL << 40), three = kern_int(k, POLY_INT64, 3);
  int i = kern_loop(k, zero, n, 0), low = kern_alu(k, OP_CMPLT, POLY_BOOL, i, two, -1);
  int at = kern_alu(k, OP_WHERE, POLY_INT64, low, i, far), ok = kern_alu(k, OP_CMPLT, POLY_BOOL, i, three, -1);
  kern_store(k, out, i, kern_load(k, in, at, 0, low), 0, ok);
  kern_end(k, i);
  double x_[2] = {5, 6}, y_[4] = {1, 1, 1, 1};
  assert_true(run_interp(w, k, (void *[]){y_, x_}, NULL));
  assert_true(y_[0] == 5 && y_[1] == 6 && y_[2] == 0 && y_[3] == 1);
}

static void test_check_raises(void **state) {
  World *w = *state;
  for (int gated = 0; gated < 2; gated++) {
    Kern *k = kern_new("check");
    int out = kern_param(k, POLY_INT32, true), in = kern_param(k, POLY_INT64, false);
    int zero = kern_int(k, POLY_INT64, 0), n = kern_int(k, POLY_INT64, 3), size = kern_int(k, POLY_INT64, 10);
    int no = kern_int(k, POLY_BOOL, 0), i = kern_loop(k, zero, n, 0), at = kern_load(k, in, i, 0, -1);
    int c = kern_put(k, INST_CHECK, POLY_INT64, OP_CHECK, at, size, gated ? no : -1);
    kern_store(k, out, i, kern_alu(k, OP_CAST, POLY_INT32, c, -1, -1), 0, -1);
    kern_end(k, i);
    int64_t x_[3] = {3, 12, 4};
    int32_t y_[3] = {-1, -1, -1};
    assert_true(run_interp(w, k, (void *[]){y_, x_}, NULL) == gated);
    if (gated) {
      assert_int_equal(y_[0] | y_[1] | y_[2], 0);
    } else {
      assert_int_equal(w->ctx.base.code, POLY_ERROR_INDEX);
      assert_string_equal(w->ctx.base.text, "gather or scatter: index 12 is out of range for an axis of size 10");
      base_clear(&w->ctx.base);
    }
  }
}

/* Every op on every dtype that it takes, against the scalar evaluator that constant folding uses: functions to 2 ulp,
 * since they are computed as kernels compute them, and all else to the bit. */
static bool legal(Op op, PolyDType d) {
  Value v[3] = {{0}}, out;
  bool math = op_info[op].cls == CLASS_UNARY && op != OP_NEG && op != OP_NOT;
  if (op == OP_CAST || op == OP_BITCAST || op == OP_WHERE) return false;
  if (math && !dtype_is_float(d)) return false;
  if (d == POLY_BOOL && (op == OP_NEG || op == OP_SUB)) return false;
  return eval_scalar(op, d, d, v, &out);
}

static void check_op(World *w, Op op, PolyDType from, PolyDType to) {
  enum { N = 200 };
  static uint64_t x[N], y[N], z[N];
  int size = dtype_size(from), osize = dtype_size(to), nsrc = op_info[op].nsrc;
  Kern *k = kern_new("op");
  int out = kern_param(k, to, true), a = kern_param(k, from, false), b = kern_param(k, from, false);
  int zero = kern_int(k, POLY_INT64, 0), n = kern_int(k, POLY_INT64, N), i = kern_loop(k, zero, n, 0);
  int va = kern_load(k, a, i, 0, -1), vb = kern_load(k, b, i, 0, -1);
  kern_store(k, out, i, kern_alu(k, op, to, va, nsrc > 1 ? vb : -1, -1), 0, -1);
  kern_end(k, i);
  fill(w, from, x, N);
  fill(w, from, y, N);
  assert_true(run_interp(w, k, (void *[]){z, x, y}, NULL));
  for (int j = 0; j < N; j++) {
    Value src[2] = {value_load((char *)x + j * size, from), value_load((char *)y + j * size, from)}, want;
    assert_true(eval_scalar(op, from, to, src, &want));
    Value have = value_load((char *)z + j * osize, to);
    if (!close_enough(op, to, have, want))
      fail_msg("%s %s -> %s: %g %g (%lld %lld): want %g (%lld), have %g (%lld)", op_info[op].name, dtype_name(from),
               dtype_name(to), src[0].f, src[1].f, (long long)src[0].i, (long long)src[1].i, want.f, (long long)want.i,
               have.f, (long long)have.i);
  }
}

static void test_every_op_as_folded(void **state) {
  World *w = *state;
  for (int op = 0; op < OP_COUNT; op++)
    for (int d = 0; d < POLY_DTYPE_COUNT; d++)
      if (op_elementwise((Op)op) && legal((Op)op, (PolyDType)d))
        check_op(w, (Op)op, (PolyDType)d, op_info[op].cls == CLASS_COMPARE ? POLY_BOOL : (PolyDType)d);
  for (int d = 0; d < POLY_DTYPE_COUNT; d++)
    for (int e = 0; e < POLY_DTYPE_COUNT; e++) {
      check_op(w, OP_CAST, (PolyDType)d, (PolyDType)e);
      if (dtype_size((PolyDType)d) == dtype_size((PolyDType)e) && d != POLY_BOOL && e != POLY_BOOL)
        check_op(w, OP_BITCAST, (PolyDType)d, (PolyDType)e);
    }
}

static void test_float_to_int_is_x86(void **state) {
  (void)state;
  static const struct {
    double x;
    PolyDType to;
    int64_t want;
  } row[] = {{NAN, POLY_INT32, INT32_MIN},  {1e20, POLY_INT32, INT32_MIN}, {-1e20, POLY_INT64, INT64_MIN},
             {1e20, POLY_INT64, INT64_MIN}, {-1.5, POLY_INT8, -1},         {300.7, POLY_UINT8, 44},
             {-1, POLY_UINT8, 255},         {-1, POLY_UINT32, UINT32_MAX}, {3e9, POLY_UINT32, 3000000000},
             {3e9, POLY_INT32, INT32_MIN},  {NAN, POLY_BOOL, 1},           {-0.0, POLY_BOOL, 0},
             {0.25, POLY_BOOL, 1},          {-1, POLY_UINT64, -1},         {0x1p63, POLY_UINT64, INT64_MIN}};
  for (int i = 0; i < LEN(row); i++)
    assert_int_equal(value_cast((Value){.f = row[i].x}, POLY_FLOAT64, row[i].to).i, row[i].want);
}

/* ---- the verifier and the printer ---- */

static void test_verifier_refuses(void **state) {
  World *w = *state;
  for (int fault = 0; fault < 8; fault++) {
    Kern *k = kern_new("faulty");
    int out = kern_param(k, POLY_FLOAT32, true), in = kern_param(k, POLY_FLOAT32, false);
    int zero = kern_int(k, POLY_INT64, 0), n = kern_int(k, POLY_INT64, 4);
    int acc = kern_acc(k, OP_ADD, POLY_FLOAT32);
    int i = kern_loop(k, zero, n, LOOP_VECTOR);
    int x = kern_load(k, fault == 1 ? out : in, i, fault == 2 ? 2 : 1, -1);
    if (fault == 3) kern_alu(k, OP_ADD, POLY_FLOAT32, x, i, -1);
    kern_update(k, acc, fault == 4 ? kern_alu(k, OP_MUL, POLY_FLOAT32, x, acc, -1) : x);
    if (fault == 5) kern_end(k, kern_loop(k, zero, i, 0));
    if (fault == 0) kern_store(k, out, zero, kern_load(k, in, zero, 0, -1), 0, -1); /* one value for all lanes */
    if (fault == 7) kern_store(k, out, zero, x, 0, -1);
    if (fault != 6) kern_end(k, i);
    kern_store(k, out, zero, acc, 0, -1);
    bool ok = linear_verify(&w->ctx, &k->lin);
    assert_int_equal(ok, fault == 0);
    base_clear(&w->ctx.base);
    if (fault == 0) {
      kern_store(k, out, zero, x, 0, -1); /* x is of a loop that is over */
      assert_false(linear_verify(&w->ctx, &k->lin));
      assert_non_null(strstr(w->ctx.base.text, "ended"));
      base_clear(&w->ctx.base);
      Str s = {.b = &w->ctx.base};
      linear_print(&s, &k->lin);
      assert_non_null(strstr(s.at, "kernel faulty(arg0: float32 w, arg1: float32 r)\n"));
      assert_non_null(strstr(s.at, "  %3 = LOOP %0 .. %1 vector cost 10\n    %4 = LOAD float32 arg1[%3] stride 1\n"));
      assert_non_null(strstr(s.at, "  END %3\n"));
      str_free(&s);
    }
    free(k);
  }
}

/* Lanes of two loops: out[h] = sum over d of x[h*4 + d], with one promise broken at a time. */
static void test_verifier_refuses_outer(void **state) {
  World *w = *state;
  for (int fault = 0; fault < 7; fault++) {
    Kern *k = kern_new("outer");
    int out = kern_param(k, POLY_FLOAT32, true), p = kern_param(k, POLY_FLOAT32, false);
    int zero = kern_int(k, POLY_INT64, 0), four = kern_int(k, POLY_INT64, 4), n = kern_var(k);
    int h = kern_int(k, POLY_INT64, fault == 1 ? 6 : 8), d = kern_int(k, POLY_INT64, fault == 2 ? 3 : 4);
    int early = kern_acc(k, OP_ADD, POLY_FLOAT32);
    int i = kern_loop(k, zero, h, LOOP_OUTER), acc = kern_acc(k, OP_ADD, POLY_FLOAT32);
    int j = kern_loop(k, zero, fault == 3 ? n : d, LOOP_VECTOR | LOOP_REDUCE);
    int x = kern_load(k, p, kern_idx(k, OP_ADD, kern_idx(k, OP_MUL, i, four), j), 1, -1);
    k->inst[x].outer = fault == 4 ? 5 : 4;
    kern_update(k, fault == 5 ? early : acc, x);
    kern_end(k, j);
    if (fault == 6) kern_end(k, kern_loop(k, zero, i, 0));
    kern_store(k, out, i, acc, 0, -1);
    k->inst[k->lin.ninst - 1].outer = 1;
    kern_end(k, i);
    k->lin.nvar = 1;
    bool ok = linear_verify(&w->ctx, &k->lin);
    if (ok != (fault == 0)) fail_msg("fault %d: %s", fault, w->ctx.base.text);
    base_clear(&w->ctx.base);
    free(k);
  }
}

/* Lanes in lanes: y[h*4 + c] = sum over d of x[h*4 + d], with one promise broken at a time. */
static void test_verifier_refuses_within(void **state) {
  World *w = *state;
  for (int fault = 0; fault < 7; fault++) {
    Kern *k = kern_new("within");
    int out = kern_param(k, POLY_FLOAT32, true), p = kern_param(k, POLY_FLOAT32, false);
    int zero = kern_int(k, POLY_INT64, 0), four = kern_int(k, POLY_INT64, 4), eight = kern_int(k, POLY_INT64, 8);
    int i = kern_loop(k, zero, eight, fault == 1 ? 0 : LOOP_OUTER), early = kern_acc(k, OP_ADD, POLY_FLOAT32);
    int c = kern_loop(k, zero, four, LOOP_VECTOR), acc = kern_acc(k, OP_ADD, POLY_FLOAT32);
    int d = kern_loop(k, zero, fault == 2 ? eight : four, LOOP_VECTOR | (fault == 3 ? 0 : LOOP_REDUCE));
    int x = kern_load(k, p, kern_idx(k, OP_ADD, kern_idx(k, OP_MUL, i, four), fault == 4 ? c : d), fault != 4, -1);
    k->inst[x].outer = 4;
    kern_update(k, fault == 5 ? early : acc, x);
    kern_end(k, d);
    if (fault == 6) kern_update(k, acc, kern_alu(k, OP_CAST, POLY_FLOAT32, c, -1, -1));
    kern_store(k, out, kern_idx(k, OP_ADD, kern_idx(k, OP_MUL, i, four), c), acc, 1, -1);
    k->inst[k->lin.ninst - 1].outer = 4;
    kern_end(k, c);
    kern_end(k, i);
    k->lin.nvar = 1;
    bool ok = linear_verify(&w->ctx, &k->lin);
    if (ok != (fault == 0)) fail_msg("fault %d: %s", fault, w->ctx.base.text);
    base_clear(&w->ctx.base);
    free(k);
  }
}

/* ---- the CPU device and the cache ---- */

static const char twice[] =
    "#include <stdint.h>\n"
    "static void twice(void *const *arg, const int64_t *var, int threads, int64_t *err) {\n"
    "  float *out = arg[0]; const float *in = arg[1];\n"
    "#pragma omp parallel for num_threads(threads)\n"
    "  for (int64_t i = 0; i < var[0]; i++) out[i] = 2 * in[i];\n"
    "}\n"
    "static void wrong(void *const *arg, const int64_t *var, int threads, int64_t *err) {\n"
    "  err[0] = 1; err[1] = 12; err[2] = 10;\n"
    "}\n"
    "void (*const poly_kernels[])(void *const *, const int64_t *, int, int64_t *) = {twice, wrong};\n";

static bool run_twice(World *w, int threads) {
  Device *d = device(w, "CPU");
  static LinearParam param[2];
  static const Linear two = {.nparam = 2, .param = param}, none = {0};
  Program *p = d->compile(d, twice, 2, (const Linear *[]){&two, &none});
  if (!p) return false;
  float x[3] = {1, 2, 3}, y[3] = {0};
  int64_t n = 3;
  assert_true(d->launch(p, 0, (MemoryRef[]){{y, 0}, {x, 0}}, &n, threads));
  assert_true(y[0] == 2 && y[1] == 4 && y[2] == 6);
  assert_false(d->launch(p, 1, NULL, NULL, threads));
  assert_string_equal(w->ctx.base.text, "gather or scatter: index 12 is out of range for an axis of size 10");
  base_clear(&w->ctx.base);
  d->program_free(p);
  return true;
}

static void test_compiles_once(void **state) {
  World *w = *state;
  assert_true(run_twice(w, 2));
  assert_true(run_twice(w, 1));
  assert_int_equal(w->runtime->compilations, 1);
  assert_int_equal(count_files(w->dir, "", NULL), 1); /* the entry, and no leavings */
}

/* However an entry is damaged, it is compiled again and nothing crashes. */
static void test_damaged_entry(void **state) {
  World *w = *state;
  char path[512];
  assert_true(run_twice(w, 1));
  for (int fault = 0; fault < 4; fault++) {
    assert_int_equal(count_files(w->dir, ".pack", path), 1);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    if (fault == 0) assert_int_equal(truncate(path, st.st_size / 2), 0);
    if (fault == 1) assert_int_equal(truncate(path, 0), 0);
    if (fault == 2) {
      FILE *f = fopen(path, "r+");
      fseek(f, 700, SEEK_SET);
      fputs("garbage", f);
      fclose(f);
    }
    if (fault == 3) { /* a whole entry under this key, but of another program */
      char key[CACHE_KEY + 1];
      FILE *f = fopen(path, "r");
      assert_int_equal(fseek(f, 8, SEEK_SET), 0);
      assert_non_null(fgets(key, sizeof key, f));
      fclose(f);
      CacheKey k;
      memcpy(k.text, key, sizeof key);
      cache_clear(w->dir);
      char *bytes = NULL, other[64] = "no shared object";
      size_t n;
      assert_true(cache_put(w->dir, &k, other, sizeof other, 1 << 20));
      assert_non_null(bytes = cache_get(&w->ctx.base, w->dir, &k, &n));
      mem_free(&w->ctx.base, bytes, n);
    }
    assert_true(run_twice(w, 1));
    assert_int_equal(w->runtime->compilations, fault + 2);
  }
}

static void test_unusable_cache_dirs(void **state) {
  World *w = *state;
  chmod(w->dir, 0777); /* anybody could have put code there */
  assert_true(run_twice(w, 1));
  assert_int_equal(count_files(w->dir, "", NULL), 0);
  chmod(w->dir, 0500);
  assert_true(run_twice(w, 1));
  chmod(w->dir, 0700);
  mem_strfree(&w->ctx.base, w->runtime->cache_dir);
  w->runtime->cache_dir = mem_strdup(&w->ctx.base, "/proc/nothing/here");
  assert_true(run_twice(w, 1));
  mem_strfree(&w->ctx.base, w->runtime->cache_dir);
  w->runtime->cache_dir = NULL;
  assert_true(run_twice(w, 1));
  assert_int_equal(w->runtime->compilations, 4);
}

static void test_makes_its_directory(void **state) {
  World *w = *state;
  char deep[128], path[512];
  snprintf(deep, sizeof deep, "%s/a/b", w->dir);
  mem_strfree(&w->ctx.base, w->runtime->cache_dir);
  w->runtime->cache_dir = mem_strdup(&w->ctx.base, deep);
  assert_true(run_twice(w, 1));
  struct stat st;
  assert_int_equal(stat(deep, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0700);
  assert_int_equal(count_files(deep, ".pack", path), 1);
  unlink(path);
  rmdir(deep);
  *strrchr(deep, '/') = 0;
  rmdir(deep);
}

static void test_two_processes_fill_one_cache(void **state) {
  World *w = *state;
  pid_t child[4];
  for (int i = 0; i < 4; i++) {
    child[i] = fork();
    if (child[i] == 0) _exit(run_twice(w, 1) ? 0 : 1);
  }
  for (int i = 0; i < 4; i++) {
    int status;
    assert_int_equal(waitpid(child[i], &status, 0), child[i]);
    assert_int_equal(status, 0);
  }
  assert_int_equal(count_files(w->dir, "", NULL), 1);
  assert_true(run_twice(w, 1));
  assert_int_equal(w->runtime->compilations, 0);
}

static void test_no_compiler(void **state) {
  World *w = *state;
  char *path = strdup(getenv("PATH"));
  setenv("PATH", "/nowhere", 1);
  setenv("CC", "missing-cc -m64", 1);
  assert_false(run_twice(w, 1));
  assert_int_equal(w->ctx.base.code, POLY_ERROR_RUNTIME);
  assert_non_null(strstr(w->ctx.base.text, "CC is \"missing-cc -m64\", which is not a program"));
  base_clear(&w->ctx.base);
  Runtime *fresh = runtime_new(&w->ctx); /* a compiler was asked for: not replaced by the interpreter */
  assert_string_equal(fresh->current->name, "CPU");
  runtime_free(fresh);
  unsetenv("CC");
  fresh = runtime_new(&w->ctx); /* nobody asked for the CPU: the interpreter it is */
  assert_string_equal(fresh->current->name, "INTERP");
  runtime_free(fresh);
  setenv("POLY_DEVICE", "cpu", 1);
  fresh = runtime_new(&w->ctx);
  assert_string_equal(fresh->current->name, "CPU");
  runtime_free(fresh);
  setenv("POLY_DEVICE", "abacus", 1);
  fresh = runtime_new(&w->ctx);
  assert_non_null(fresh);
  assert_non_null(strstr(w->ctx.base.text, "abacus"));
  assert_non_null(strstr(w->ctx.base.text, "CPU, INTERP"));
  runtime_free(fresh);
  base_clear(&w->ctx.base);
  setenv("PATH", path, 1);
  free(path);
  unsetenv("CC");
  unsetenv("POLY_DEVICE");
  w->ctx.runtime = w->runtime;
}

static void test_compiler_says_why(void **state) {
  World *w = *state;
  Device *d = device(w, "CPU");
  static const Linear none = {0};
  assert_null(d->compile(d, "int broken(void) { return undeclared_thing; }", 1, (const Linear *[]){&none}));
  assert_int_equal(w->ctx.base.code, POLY_ERROR_RUNTIME);
  assert_non_null(strstr(w->ctx.base.text, "undeclared_thing"));
  base_clear(&w->ctx.base);
  assert_int_equal(count_files(w->dir, "", NULL), 0);
}

/* ---- failing allocations ---- */

typedef struct Budget {
  int left; /* allocations until one is refused; every later one succeeds */
} Budget;

static void *refuse_one(void *user, void *p, size_t old_size, size_t new_size) {
  Budget *b = user;
  (void)old_size;
  if (new_size == 0) return free(p), NULL;
  return b->left-- == 0 ? NULL : realloc(p, new_size);
}

/* Everything once: devices, memory, a program on the interpreter, a product and a sort. False at the first refusal. */
static bool work_through(PolyContext *ctx) {
  Runtime *r = runtime_new(ctx);
  if (!r) return false;
  Device *d = runtime_open(r, "INTERP"), *cpu = d ? runtime_open(r, "CPU") : NULL;
  Device *other = cpu ? runtime_open(r, "TEST") : NULL;
  PolyBuffer *b = other ? buffer_new(cpu->memory, 3 << 20) : NULL, *small = b ? buffer_new(d->memory, 100) : NULL;
  Kern *k = kern_new("store");
  int out = kern_param(k, POLY_FLOAT64, true), zero = kern_int(k, POLY_INT64, 0), one = kern_float(k, POLY_FLOAT64, 1);
  kern_store(k, out, zero, one, 0, -1);
  const Linear *lin = &k->lin;
  Program *p = small && linear_verify(ctx, lin) ? d->compile(d, NULL, 1, &lin) : NULL;
  double *data = p ? buffer_overwrite(small, d->memory) : NULL;
  bool ok = p && d->launch(p, 0, &(MemoryRef){data, 0}, NULL, 1) && *data == 1;
  if (p) d->program_free(p);
  free(k);
  double x[4] = {3, 1, 2, 0}, y[4];
  int32_t order[4], index[4] = {0, 1, 0, 1}, segments[7];
  MatmulCall m = {POLY_FLOAT64, 2, 2, 2, 1, {x, 0}, {x, 0}, {y, 0}, 2, 1, 0, 2, 1, 0, 2, 0, false, {0}};
  LibraryCall sort = {.name = "argsort", .nsrc = 1, .threads = 1};
  sort.src[0] = (LibraryTensor){POLY_FLOAT64, 1, {4}, {x, 0}};
  sort.out = (LibraryTensor){POLY_INT32, 1, {4}, {order, 0}};
  LibraryCall segment = {.name = "segment_order", .nsrc = 1, .threads = 1};
  segment.src[0] = (LibraryTensor){POLY_INT32, 1, {4}, {index, 0}};
  segment.out = (LibraryTensor){POLY_INT32, 1, {7}, {segments, 0}};
  ok = ok && buffer_read(small, other->memory) && cpu->matmul(cpu, &m, 1) && cpu->library(cpu, &sort) &&
       d->library(d, &segment);
  buffer_release(b);
  buffer_release(small);
  runtime_free(r);
  return ok;
}

static void test_failing_allocations(void **state) {
  World *w = *state;
  (void)w;
  for (int n = 0;; n++) {
    assert_true(n < 200);
    Budget budget = {n};
    PolyContext ctx = {.base.alloc = {refuse_one, &budget}};
    bool ok = work_through(&ctx);
    assert_int_equal(ctx.base.bytes, 0);
    if (!ok) assert_int_equal(ctx.base.code, POLY_ERROR_MEMORY);
    if (ok && budget.left >= 0) break; /* nothing was refused: the sweep is through */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_two_processes_fill_one_cache), /* before any thread has run */
                                     TEST(test_buffers_are_counted),
                                     TEST(test_blocks_do_not_overlap_and_are_reused),
                                     TEST(test_out_of_memory_names_the_bytes),
                                     TEST(test_one_copy_for_each_memory),
                                     TEST(test_exposed_and_borrowed_memory),
                                     TEST(test_memories_are_apart),
                                     TEST(test_closed_device),
                                     TEST(test_elementwise),
                                     TEST(test_reduction),
                                     TEST(test_local_arrays),
                                     TEST(test_gates),
                                     TEST(test_check_raises),
                                     TEST(test_every_op_as_folded),
                                     TEST(test_float_to_int_is_x86),
                                     TEST(test_verifier_refuses),
                                     TEST(test_verifier_refuses_outer),
                                     TEST(test_verifier_refuses_within),
                                     TEST(test_compiles_once),
                                     TEST(test_damaged_entry),
                                     TEST(test_unusable_cache_dirs),
                                     TEST(test_makes_its_directory),
                                     TEST(test_no_compiler),
                                     TEST(test_compiler_says_why),
                                     TEST(test_failing_allocations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
