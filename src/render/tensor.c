/* tensor.c: products of a warp by matrix instructions, for CUDA. In: a loop marked LOOP_TENSOR (ir/linear.h). Out: for
 * every eight of its iterations one step of instructions that multiply 16 rows by 8 columns:
 *
 *   thread 4g + q gives rows g, g + 8 and column g of the factors, each at k = q and q + 4, and has the results of
 *   rows g, g + 8 at columns 2q, 2q + 1
 *
 * The instructions round their factors to 11 bits (TF32). So each factor is split into what they keep and the rest, and
 * three products are added: high by high, high by low and low by high. What is left out is as small as the rounding of
 * float32. The instructions cut off what their sums do not hold; every 16 iterations begin with zero, and are added to
 * the sums of the loop in float32.
 *
 * Where a factor is infinite, parts of it have no number. A group one of whose sums is NaN computes them once more, by
 * plain loops. */
#include "render/emit.h"

enum { STEP = 8, ROWS = 4 };

static const char words[] =
    "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800\n#define TENSOR 1\n"
    "#define ANY(x) __syncthreads_or(x)\n"
    "HELPER void split_float(float x, uint32_t &high, uint32_t &low) {\n"
    "  high = __float_as_uint(x) & 0xffffe000u;\n"
    "  low = __float_as_uint(x - __uint_as_float(high)) + 0x1000u;\n}\n"
    "HELPER void tensor_step(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t "
    "b1) {\n"
    "  asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
    "{%0, %1, %2, %3};\"\n"
    "      : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3])\n"
    "      : \"r\"(a0), \"r\"(a1), \"r\"(a2), \"r\"(a3), \"r\"(b0), \"r\"(b1));\n}\n"
    "HELPER void copy_ahead(float *to, const float *from, bool there) {\n"
    "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" ::\"r\"((uint32_t)__cvta_generic_to_shared(to)), "
    "\"l\"(from), \"r\"(there ? 16 : 0) : \"memory\");\n}\n"
    "#define COPIED(n) asm volatile(\"cp.async.commit_group;\\ncp.async.wait_group %0;\" ::\"n\"(n) : \"memory\")\n"
    "#else\n#define TENSOR 0\n#define ANY(x) (x)\n#define COPIED(n)\n"
    "HELPER void copy_ahead(float *to, const float *from, bool there) {\n"
    "  for (int i = 0; i < 4; i++) to[i] = there ? from[i] : 0.0f;\n}\n#endif\n";

/* The loop of matrix instructions at or below one; -1: there is none. */
static int tensor_loop(const Emit *e, int loop) {
  for (int i = loop; i < e->at[loop].end; i++)
    if (e->lin->inst[i].kind == INST_LOOP && e->lin->inst[i].flags & LOOP_TENSOR) return i;
  return -1;
}

bool has_products(const Linear *lin) {
  for (int i = 0; i < lin->ninst; i++)
    if (lin->inst[i].kind == INST_LOOP && lin->inst[i].flags & LOOP_TENSOR) return true;
  return false;
}

void tensor_words(Str *out, int n, const Linear *const *kernel) {
  bool any = false;
  for (int k = 0; k < n; k++) any |= has_products(kernel[k]);
  if (any) str_add(out, words);
}

/* Accumulators of the loop, in order. */
static int next_update(const Emit *e, int loop, int from) {
  for (int i = from; i < e->at[loop].end; i++)
    if (e->lin->inst[i].kind == INST_UPDATE) return i;
  return -1;
}

/* Elements of both arrays at k = q + 4 * half, split. Of the second the thread has another column than in its sums. */
static void load_half(Emit *e, int loop, int half) {
  const Inst *in = &e->lin->inst[loop];
  int first = -1, rows = 0, cols = 0;
  line(e, "{");
  e->indent++;
  line(e, "const %s i%d = step%d + q + %d;", scalar_type(e, (PolyDType)in->dtype).s, loop, loop, half * STEP / 2);
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    const Inst *x = &e->lin->inst[i];
    if (x->kind == INST_ALU) emit_scalar(e, i);
    if (x->kind != INST_LOAD) continue;
    Txt index = scalar_name(e, x->src[0]);
    if (first < 0) first = x->param;
    if (x->param == first) {
      line(e, "split_float(p%d[%s], x[%d][%d], dx[%d][%d]);", x->param, index.s, rows, half, rows, half);
      rows++;
    } else if (cols++ % 2 == 0) {
      int at = cols / 2;
      line(e, "split_float(p%d[%s + other], y[%d][%d], dy[%d][%d]);", x->param, index.s, at, half, at, half);
    }
  }
  e->indent--;
  line(e, "}");
}

/* The products of 16 rows and 8 columns: the small ones first. */
static void multiply(Emit *e, int r, int j, int steps) {
  static const char *const parts[3][2] = {{"dx", "y"}, {"x", "dy"}, {"x", "y"}};
  for (int k = 0; k < 3; k++)
    for (int h = 0; h < 2 * steps; h += 2) {
      const char *x = parts[k][0], *y = parts[k][1];
      line(e, "tensor_step(d, %s[%d][%d], %s[%d][%d], %s[%d][%d], %s[%d][%d], %s[%d][%d], %s[%d][%d]);", x, r, h, x,
           r + 1, h, x, r, h + 1, x, r + 1, h + 1, y, j, h, y, j, h + 1);
    }
}

static void emit_steps(Emit *e, int loop, int fragments, int steps) {
  const Inst *inst = e->lin->inst;
  int update = next_update(e, loop, loop + 1);
  for (int h = 0; h < 2 * steps; h++) load_half(e, loop, h);
  for (int j = 0; j < fragments; j++)
    for (int r = 0; r < ROWS; r += 2) {
      line(e, "{");
      e->indent++;
      line(e, "float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};");
      multiply(e, r, j, steps);
      for (int k = 0; k < 4; k++) {
        int at = update + (r + k / 2) * 2 * fragments + 2 * j + k % 2;
        line(e, "%s += d[%d];", scalar_name(e, inst[at].src[0]).s, k);
      }
      e->indent--;
      line(e, "}");
    }
}

static int count_updates(const Emit *e, int loop) {
  int n = 0;
  for (int i = loop; (i = next_update(e, loop, i + 1)) >= 0;) n++;
  return n;
}

/* The loop of products itself. */
static void emit_tensor(Emit *e, int loop) {
  const Inst *in = &e->lin->inst[loop];
  int fragments = count_updates(e, loop) / (2 * ROWS), steps = loop_trips(e->lin, loop) % (2 * STEP) ? 1 : 2;
  line(e, "const int q = THREAD %% 4, other = (THREAD %% 32 / 4 - 2 * q) * %lld;", (long long)in->arg.i);
  line(e, "UNROLL_NONE");
  line(e, "for (int step%d = 0; step%d < %s; step%d += %d) {", loop, loop, scalar_name(e, in->src[1]).s, loop,
       STEP * steps);
  e->indent++;
  line(e, "uint32_t x[%d][%d], dx[%d][%d], y[%d][%d], dy[%d][%d];", ROWS, 2 * steps, ROWS, 2 * steps, fragments,
       2 * steps, fragments, 2 * steps);
  emit_steps(e, loop, fragments, steps);
  e->indent--;
  line(e, "}");
}

static void zero_sums(Emit *e, int loop) {
  for (int i = loop; (i = next_update(e, loop, i + 1)) >= 0;)
    line(e, "%s = 0.0f;", scalar_name(e, e->lin->inst[i].src[0]).s);
}

/* The outermost loop of a sum. */
static void emit_sum(Emit *e, int loop, int inner) {
  str_add(e->out, "#if TENSOR\n");
  e->products = PRODUCTS_TENSOR;
  emit_loop(e, loop);
  line(e, "bool nan = false;");
  for (int i = inner; (i = next_update(e, inner, i + 1)) >= 0;) {
    Txt acc = scalar_name(e, e->lin->inst[i].src[0]);
    line(e, "nan |= %s != %s;", acc.s, acc.s);
  }
  line(e, "const bool exact = ANY(nan);");
  line(e, "if (exact) {");
  e->indent++;
  zero_sums(e, inner);
  e->indent--;
  line(e, "}");
  str_add(e->out, "#else\nconst bool exact = true;\n#endif\n");
  line(e, "if (exact) {");
  e->indent++;
  e->products = PRODUCTS_PLAIN;
  emit_loop(e, loop);
  e->products = PRODUCTS_NONE;
  e->indent--;
  line(e, "}");
}

bool emit_products(Emit *e, int loop) {
  int inner = e->products == PRODUCTS_PLAIN ? -1 : tensor_loop(e, loop);
  if (inner < 0 || (e->products == PRODUCTS_TENSOR && inner != loop)) return false;
  if (inner == loop)
    emit_tensor(e, loop);
  else
    emit_sum(e, loop, inner);
  return true;
}

/* ---- copies into local arrays ---- */

static bool reads(const Inst *in, int i) { return in->src[0] == i || in->src[1] == i || in->src[2] == i; }

/* The STORE into a local array that alone reads a LOAD of an argument; -1: there is none. */
static int copied_by(const Emit *e, int load) {
  const Linear *l = e->lin;
  const Inst *in = &l->inst[load];
  int store = -1;
  if (in->kind != INST_LOAD || in->param >= linear_nargs(l)) return -1;
  for (int i = load + 1; i < l->ninst; i++) {
    if (!reads(&l->inst[i], load)) continue;
    if (store >= 0 || l->inst[i].kind != INST_STORE || l->inst[i].src[1] != load) return -1;
    store = i;
  }
  if (store < 0) return -1;
  const Inst *to = &l->inst[store];
  bool local = to->param >= linear_nargs(l), floats = in->dtype == POLY_FLOAT32 && to->dtype == POLY_FLOAT32;
  return local && floats && in->stride == 1 && to->stride == 1 && to->src[2] < 0 && store < e->at[e->strip_loop].end
             ? store
             : -1;
}

bool copies_ahead(const Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  if (!e->style->tensor || !has_products(e->lin) || e->strip != 4) return false;
  int load = in->kind == INST_STORE ? in->src[1] : i;
  const Inst *from = &e->lin->inst[load];
  bool varies = from->kind == INST_LOAD && from->src[1] >= 0 && e->vary[from->src[1]];
  int store = varies ? -1 : copied_by(e, load);
  return store >= 0 && (in->kind == INST_LOAD || store == i);
}

void emit_copy(Emit *e, int store) {
  const Inst *to = &e->lin->inst[store], *from = &e->lin->inst[to->src[1]];
  Txt gate = from->src[1] >= 0 ? scalar_name(e, from->src[1]) : txt("true");
  line(e, "copy_ahead(p%d + %s, p%d + %s, %s);", to->param, scalar_name(e, to->src[0]).s, from->param,
       scalar_name(e, from->src[0]).s, gate.s);
}
