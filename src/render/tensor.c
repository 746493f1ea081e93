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
 * plain loops.
 *
 * Cards of architecture 9.0 have instructions that four warps give together, 64 rows by all columns: the second factor
 * lies in local memory, where LOOP_SPLIT has its two parts as they want them (blocks of 8 columns by 4 k), the first in
 * registers as above. They run beside other instructions until they are waited for. */
#include "render/emit.h"

enum { STEP = 8, PAIR = 2, MOST_ROWS = 4, MOST_FRAGMENTS = 8 };

/* A host that runs such text has its own TENSOR_STEP and COPY_16. load_now: a load that stays where it stands, before
 * the next LOADED; others move to where their value is used. */
static const char words[] =
    "template <typename T> HELPER T load_now(const T *p) { return *p; }\n"
    "#if defined(TENSOR_STEP) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)\n#define TENSOR 1\n"
    "#define ANY(x) __syncthreads_or(x)\n"
    "HELPER void split_float(float x, uint32_t &high, uint32_t &low) {\n"
    "  high = __float_as_uint(x) & 0xffffe000u;\n"
    "  low = __float_as_uint(x - __uint_as_float(high)) + 0x1000u;\n}\n"
    "HELPER void tensor_step(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t "
    "b1) {\n"
    "#ifdef TENSOR_STEP\n  const uint32_t a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};\n  TENSOR_STEP(d, a, b);\n#else\n"
    "  asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
    "{%0, %1, %2, %3};\"\n"
    "      : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3])\n"
    "      : \"r\"(a0), \"r\"(a1), \"r\"(a2), \"r\"(a3), \"r\"(b0), \"r\"(b1));\n#endif\n}\n"
    "#ifndef TENSOR_STEP\n"
    "HELPER int32_t load_now(const int32_t *p) {\n  int32_t x;\n"
    "  asm volatile(\"ld.global.b32 %0, [%1];\" : \"=r\"(x) : \"l\"(p) : \"memory\");\n  return x;\n}\n"
    "HELPER int64_t load_now(const int64_t *p) {\n  int64_t x;\n"
    "  asm volatile(\"ld.global.b64 %0, [%1];\" : \"=l\"(x) : \"l\"(p) : \"memory\");\n  return x;\n}\n"
    "HELPER longlong2 load_now(const longlong2 *p) {\n  longlong2 x;\n"
    "  asm volatile(\"ld.global.v2.b64 {%0, %1}, [%2];\" : \"=l\"(x.x), \"=l\"(x.y) : \"l\"(p) : \"memory\");\n  "
    "return x;\n}\n"
    "HELPER float load_now(const float *p) {\n  float x;\n"
    "  asm volatile(\"ld.global.f32 %0, [%1];\" : \"=f\"(x) : \"l\"(p) : \"memory\");\n  return x;\n}\n"
    "HELPER float4 load_now(const float4 *p) {\n  float4 x;\n"
    "  asm volatile(\"ld.global.v4.f32 {%0, %1, %2, %3}, [%4];\" : \"=f\"(x.x), \"=f\"(x.y), \"=f\"(x.z), \"=f\"(x.w) "
    ": "
    "\"l\"(p) : \"memory\");\n  return x;\n}\n#endif\n"
    "#ifdef COPY_16\n#define copy_ahead COPY_16\n#define COPIED(n)\n#else\n"
    "HELPER void copy_ahead(float *to, const float *from, bool there) {\n"
    "  asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" ::\"r\"((uint32_t)__cvta_generic_to_shared(to)), "
    "\"l\"(from), \"r\"(there ? 16 : 0) : \"memory\");\n}\n"
    "#define COPIED(n) asm volatile(\"cp.async.commit_group;\\ncp.async.wait_group %0;\" ::\"n\"(n) : "
    "\"memory\")\n#endif\n"
    "#else\n#define TENSOR 0\n#define ANY(x) (x)\n#define COPIED(n)\n"
    "HELPER void copy_ahead(float *to, const float *from, bool there) {\n"
    "  for (int i = 0; i < 4; i++) to[i] = there ? from[i] : 0.0f;\n}\n#endif\n";

/* Instructions of four warps. GROUP_BEGIN: registers of the first factor and the sums are theirs until GROUP_END;
 * SHOWN: what threads stored in local memory is seen by them behind the next fence. */
static const char together[] =
    "#if defined(__CUDA_ARCH_FEAT_SM90_ALL)\n#define TOGETHER 1\n"
    "#define SHOWN asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\")\n"
    "#define GROUP_BEGIN asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\")\n"
    "#define GROUP_END asm volatile(\"wgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned 0;\" ::: "
    "\"memory\")\n"
    "HELPER uint64_t panel_of(const float *p, int columns) {\n"
    "  return (uint64_t)((uint32_t)__cvta_generic_to_shared(p) >> 4) | (uint64_t)columns << 16 | 8ull << 32;\n}\n"
    "#else\n#define TOGETHER 0\n#define SHOWN\n#endif\n";

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

static bool is_split(const Inst *in) { return in->kind == INST_LOOP && in->flags & LOOP_SPLIT; }

bool has_split_products(const Linear *lin) {
  for (int i = 0; i < lin->ninst; i++)
    if (is_split(&lin->inst[i])) return true;
  return false;
}

/* The instruction of four warps for this many columns: d += a b, or d = a b where `more` is 0. */
static void add_group_step(Str *out, int columns) {
  int sums = columns / 2;
  str_fmt(out,
          "HELPER void group_step(float (&d)[%d], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint64_t b, int "
          "more) {\n  asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %%%d, 0;\\n\"\n"
          "      \"wgmma.mma_async.sync.aligned.m64n%dk8.f32.tf32.tf32 {",
          sums, sums + 5, columns);
  for (int i = 0; i < sums; i++) str_fmt(out, "%s%%%d", i ? ", " : "", i);
  str_fmt(out, "}, {%%%d, %%%d, %%%d, %%%d}, %%%d, p, 1, 1;\\n}\"\n      : ", sums, sums + 1, sums + 2, sums + 3,
          sums + 4);
  for (int i = 0; i < sums; i++) str_fmt(out, "%s\"+f\"(d[%d])", i ? ", " : "", i);
  str_add(out, "\n      : \"r\"(a0), \"r\"(a1), \"r\"(a2), \"r\"(a3), \"l\"(b), \"r\"(more));\n}\n");
}

static void add_together(Str *out, int n, const Linear *const *kernel) {
  bool columns[MOST_FRAGMENTS + 1] = {false}, any = false;
  for (int k = 0; k < n; k++)
    for (int i = 0; i < kernel[k]->ninst; i++)
      if (is_split(&kernel[k]->inst[i])) any = columns[kernel[k]->inst[i].arg.i / STEP] = true;
  if (!any) return;
  str_add(out, together);
  str_add(out, "#if TOGETHER\n");
  for (int f = 1; f <= MOST_FRAGMENTS; f++)
    if (columns[f]) add_group_step(out, f * STEP);
  str_add(out, "#endif\n");
}

void tensor_words(Str *out, int n, const Linear *const *kernel) {
  bool any = false;
  for (int k = 0; k < n; k++) any |= has_products(kernel[k]);
  if (any) str_add(out, words);
  add_together(out, n, kernel);
}

/* Accumulators of the loop, in order. */
static int next_update(const Emit *e, int loop, int from) {
  for (int i = from; i < e->at[loop].end; i++)
    if (e->lin->inst[i].kind == INST_UPDATE) return i;
  return -1;
}

static int count_updates(const Emit *e, int loop) {
  int n = 0;
  for (int i = loop; (i = next_update(e, loop, i + 1)) >= 0;) n++;
  return n;
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
    for (int r = 0; r < MOST_ROWS; r += PAIR) {
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

/* ---- four warps together ---- */

/* LOADs of the first array in the loop: rows of a thread. The other two are the parts of the second factor. */
static int count_rows(const Emit *e, int loop, int *high, int *low) {
  int first = -1, rows = 0;
  *high = *low = -1;
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    const Inst *in = &e->lin->inst[i];
    if (in->kind != INST_LOAD) continue;
    if (first < 0) first = in->param;
    if (in->param == first)
      rows++;
    else if (*high < 0)
      *high = in->param;
    else if (in->param != *high)
      *low = in->param;
  }
  return rows;
}

/* Rows r, r + 1 of the thread at k = q + 4 * half, split. */
static void load_rows(Emit *e, int loop, int r, int half) {
  const Inst *in = &e->lin->inst[loop];
  int row = 0;
  line(e, "{");
  e->indent++;
  line(e, "const %s i%d = q + %d;", scalar_type(e, (PolyDType)in->dtype).s, loop, half * STEP / 2);
  for (int i = loop + 1; row < r + PAIR; i++) {
    const Inst *x = &e->lin->inst[i];
    if (x->kind == INST_ALU) emit_scalar(e, i);
    if (x->kind != INST_LOAD || row++ < r) continue;
    int at = half % 2 * PAIR + row - 1 - r;
    line(e, "split_float(p%d[%s], x[%d][%d], dx[%d][%d]);", x->param, scalar_name(e, x->src[0]).s, half / 2, at,
         half / 2, at);
  }
  e->indent--;
  line(e, "}");
}

/* The small products first, eight k at a time. */
static void multiply_rows(Emit *e, int steps, int high, int low, int columns) {
  static const char *const first[3] = {"dx", "x", "x"};
  line(e, "GROUP_BEGIN;");
  for (int k = 0; k < steps; k++)
    for (int part = 0; part < 3; part++) {
      const char *x = first[part];
      line(e, "group_step(d, %s[%d][0], %s[%d][1], %s[%d][2], %s[%d][3], panel_of(p%d + %d, %d), %d);", x, k, x, k, x,
           k, x, k, part == 1 ? low : high, k * STEP * columns, columns, k + part > 0);
    }
  line(e, "GROUP_END;");
}

static void emit_together(Emit *e, int loop) {
  const Inst *in = &e->lin->inst[loop];
  int high, low, rows = count_rows(e, loop, &high, &low), columns = (int)in->arg.i, sums = columns / 2;
  int steps = (int)loop_trips(e->lin, loop) / STEP, update = next_update(e, loop, loop + 1);
  line(e, "const int q = THREAD %% 4;");
  for (int r = 0; r < rows; r += PAIR) {
    line(e, "{");
    e->indent++;
    line(e, "uint32_t x[%d][4], dx[%d][4];", steps, steps);
    for (int half = 0; half < 2 * steps; half++) load_rows(e, loop, r, half);
    line(e, "float d[%d];", sums);
    multiply_rows(e, steps, high, low, columns);
    for (int k = 0; k < sums; k++) {
      int at = update + (r + k % 4 / 2) * (columns / 4) + 2 * (k / 4) + k % 2;
      line(e, "%s += d[%d];", scalar_name(e, e->lin->inst[at].src[0]).s, k);
    }
    e->indent--;
    line(e, "}");
  }
}

/* ---- the loop ---- */

/* The loop of products itself. */
static void emit_tensor(Emit *e, int loop) {
  const Inst *in = &e->lin->inst[loop];
  if (is_split(in)) {
    emit_together(e, loop);
    return;
  }
  int fragments = count_updates(e, loop) / (2 * MOST_ROWS), steps = loop_trips(e->lin, loop) % (2 * STEP) ? 1 : 2;
  line(e, "const int q = THREAD %% 4, other = (THREAD %% 32 / 4 - 2 * q) * %lld;", (long long)in->arg.i);
  line(e, "UNROLL_NONE");
  line(e, "for (int step%d = 0; step%d < %s; step%d += %d) {", loop, loop, scalar_name(e, in->src[1]).s, loop,
       STEP * steps);
  e->indent++;
  line(e, "uint32_t x[%d][%d], dx[%d][%d], y[%d][%d], dy[%d][%d];", MOST_ROWS, 2 * steps, MOST_ROWS, 2 * steps,
       fragments, 2 * steps, fragments, 2 * steps);
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
  str_add(e->out, is_split(&e->lin->inst[inner]) ? "#if TOGETHER\n" : "#if TENSOR\n");
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
