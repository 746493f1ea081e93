/* gpu.c: grid, groups and fences as text, for the dialects that have them. In: a linear kernel with its marks. Out:
 * what differs from a kernel on the host: how it gets its arguments, where the loops of the grid get their indices
 * from, how threads of a group share a loop and combine what they have. CUDA and OpenCL differ in the words, which are
 * macros:
 *
 *   GLOBAL LOCAL   qualifiers of pointers to the device's memory and to that of a block; SHARED: of an array in the
 * latter BLOCK THREAD   numbers of the block, and of the thread in it WARP           threads that exchange values by
 * SHUFFLE(v, distance, n): n of them, side by side FENCE(n)       of groups of n threads FIRST(err)     is this thread
 * the first that has an error to note? */
#include "render/emit.h"

/* ---- the beginning of a program ---- */

static const char opencl_words[] =
    "#undef __F16C__ /* a compiler for the host has it */\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "typedef char int8_t;\ntypedef uchar uint8_t;\ntypedef short int16_t;\ntypedef ushort uint16_t;\n"
    "typedef int int32_t;\ntypedef uint uint32_t;\ntypedef long int64_t;\ntypedef ulong uint64_t;\n"
    "#define INT64_MIN (-0x7fffffffffffffffL - 1)\n"
    "#define HELPER static inline\n#define SELDOM static\n#define TABLE const\n"
    "#define RESTRICT restrict\n#define GLOBAL __global\n#define LOCAL __local\n#define SHARED __local\n"
    "#define BLOCK get_group_id(0)\n#define THREAD ((int)get_local_id(0))\n"
    "#define UNROLL __attribute__((opencl_unroll_hint(4)))\n#define UNROLL_STRIP UNROLL\n"
    "#define UNROLL_ALL UNROLL\n#define UNROLL_AROUND\n#define UNROLL_NONE\n"
    "#define LONG2 long2\n#define WARP 1\n#define SHUFFLE(v, o, n) (v)\n"
    "#define FENCE(n) barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n"
    "#define FIRST(err) !atomic_xchg((volatile GLOBAL int *)(err), 1)\n"
    "#define SELDOM_TRUE(x) (x)\n"
    "#define fma_float(a, b, c) fma(a, b, c)\n#define fma_double(a, b, c) fma(a, b, c)\n"
    "#define sqrtf sqrt\n#define rintf rint\n#define floorf floor\n#define ceilf ceil\n#define truncf trunc\n";

static const char cuda_words[] =
    "typedef signed char int8_t;\ntypedef unsigned char uint8_t;\ntypedef short int16_t;\n"
    "typedef unsigned short uint16_t;\ntypedef int int32_t;\ntypedef unsigned int uint32_t;\n"
    "typedef long long int64_t;\ntypedef unsigned long long uint64_t;\n"
    "#define INT64_MIN (-0x7fffffffffffffffll - 1)\n"
    "#define NAN __int_as_float(0x7fc00000)\n#define INFINITY __int_as_float(0x7f800000)\n"
    "#define HELPER static __device__ __forceinline__\n#define SELDOM static __device__ __noinline__\n"
    "#define TABLE static const\n#define RESTRICT __restrict__\n#define GLOBAL\n#define LOCAL\n"
    "#define SHARED __shared__ __align__(16)\n"
    "#ifndef SHARED_ROOM /* more than a kernel has by itself: what a launch asks for */\n"
    "#define SHARED_ROOM(bytes) extern __shared__ __align__(16) char shared[]\n#endif\n"
    "#define BLOCK blockIdx.x\n#define THREAD ((int)threadIdx.x)\n"
    "#define UNROLL _Pragma(\"unroll 8\")\n#define UNROLL_STRIP _Pragma(\"unroll 4\")\n"
    "#define UNROLL_ALL _Pragma(\"unroll\")\n#define UNROLL_AROUND _Pragma(\"unroll 2\")\n"
    "#define UNROLL_NONE _Pragma(\"unroll 1\")\n"
    "#define LONG2 longlong2\n#define WARP 32\n#define LOADED __syncwarp(~0u) /* loads stay before it */\n"
    "#ifdef __CUDACC_RTC__ /* the card has a part of it as an instruction; the error stays within 2 ulp */\n"
    "#define EXP_F32 expf\n#define LOG1P_F32 log1pf\n"
    "HELPER float near_quotient(float a, float b) { /* of moderate size: without a branch for others */\n"
    "  float r;\n  asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(b));\n"
    "  r = fmaf(fmaf(-b, r, 1.0f), r, r);\n"
    "  float q = a * r;\n  q = fmaf(fmaf(-b, q, a), r, q);\n  return fmaf(fmaf(-b, q, a), r, q);\n}\n"
    "#else\n#define near_quotient(a, b) ((a) / (b))\n#endif\n"
    "/* the threads of a group in their warp */\n"
    "#define MASK(n) ((n) < 32 ? ((1u << (n) % 32) - 1) << (threadIdx.x % 32 & ~((n) - 1)) : ~0u)\n"
    "#define SHUFFLE(v, o, n) __shfl_xor_sync(MASK(n), v, o)\n"
    "#define PICK(v, k) __shfl_sync(~0u, v, k)\n"
    "#define FENCE(n) ((n) <= 32 ? __syncwarp(MASK(n)) : __syncthreads())\n"
    "#define FIRST(err) !atomicExch((unsigned int *)(err), 1u)\n"
    "#define SELDOM_TRUE(x) __builtin_expect(x, 0)\n"
    "#define fma_float(a, b, c) fmaf(a, b, c)\n#define fma_double(a, b, c) fma(a, b, c)\n";

static void open_program(Str *out, const char *words) {
  str_add(out, words);
  str_add(out, "#define FUSED\n\n");
}

void opencl_open_program(Str *out, const Target *target) {
  (void)target;
  open_program(out, opencl_words);
}

void cuda_open_program(Str *out, const Target *target) {
  (void)target;
  open_program(out, cuda_words);
}

/* ---- kernels ---- */

static bool has_combine(const Linear *lin) {
  for (int i = 0; i < lin->ninst; i++)
    if (lin->inst[i].kind == INST_COMBINE) return true;
  return false;
}

/* Does it change what it reads, and find no errors itself? Such a kernel updates state, and leaves it as it is once a
 * kernel before it has found an error: parameters survive a bad index. */
static bool updates_state(const Linear *lin) {
  bool updates = false;
  for (int k = 0; k < linear_nargs(lin); k++) updates |= lin->param[k].read && lin->param[k].written;
  for (int i = 0; i < lin->ninst && updates; i++) updates = lin->inst[i].kind != INST_CHECK;
  return updates;
}

static int block_size(const Linear *lin) { return MAX(lin->group, 1) * MAX(lin->pack, 1); }

/* Do the threads that alternate lie in one warp? */
static bool in_warp(const Emit *e) { return e->lin->spread && e->lin->spread * e->lin->group <= e->style->warp; }

static Txt thread_of_group(const Linear *lin) {
  if (!lin->spread) return txt("THREAD %% %d", lin->group);
  return lin->spread == lin->pack ? txt("THREAD / %d", lin->spread) : txt("THREAD / %d %% %d", lin->spread, lin->group);
}

/* Arrays that a group shares. More than a kernel has by itself they are in what a launch asks for. */
static void declare_shared(Emit *e) {
  const Linear *lin = e->lin;
  int64_t room = linear_room(lin), at = 0;
  if (room) line(e, "SHARED_ROOM(%lld);", (long long)room);
  for (int k = linear_nargs(lin); k < lin->nparam; k++) {
    Txt type = type_name(e->help, elem_memory(lin->param[k].dtype), 1);
    if (room)
      line(e, "%s *const p%d = (%s *)(shared + %lld);", type.s, k, type.s, (long long)at);
    else
      line(e, "SHARED %s p%d[%lld];", type.s, k, (long long)lin->param[k].local);
    at += linear_local_bytes(&lin->param[k]);
  }
}

static bool loads_again(const Emit *e);

/* Arguments one by one, the error record last. */
static void open_kernel(Emit *e, const char *before, const char *name) {
  const Linear *lin = e->lin;
  str_fmt(e->out, "\n%s%s(", before, name);
  for (int k = 0; k < linear_nargs(lin); k++)
    str_fmt(e->out, "GLOBAL %s%s *RESTRICT p%d, ", lin->param[k].written ? "" : "const ",
            type_name(e->help, elem_memory(lin->param[k].dtype), 1).s, k);
  for (int i = 0; i < lin->nvar; i++) str_fmt(e->out, "int64_t n%d, ", i);
  str_add(e->out, "GLOBAL int64_t *err) {\n");
  declare_shared(e);
  if (loads_again(e)) line(e, "const int32_t none = -(int32_t)((uint64_t)err & 1); /* 0, as no compiler knows */");
  if (updates_state(lin)) line(e, "if (*err) return;");
  if (lin->group <= 1) return;
  if (lin->pack == 1)
    line(e, "const int thread = THREAD;");
  else
    line(e, "const int thread = %s;", thread_of_group(lin).s);
  if (has_combine(lin) && !in_warp(e)) line(e, "SHARED int64_t room[%d];", MAX(lin->spread, 1) * lin->group);
}

void opencl_open_kernel(Emit *e, const char *name) {
  open_kernel(e, txt("__kernel __attribute__((reqd_work_group_size(%d, 1, 1))) void ", block_size(e->lin)).s, name);
}

/* A loop of a known number of iterations, which is small: without it, what does not depend on the loop around it
 * (weights of a linear map of each edge) can stay in registers. */
static bool is_short(const Emit *e, int loop) {
  enum { SHORT = 16 };
  int64_t begin, end;
  bool shared = e->lin->inst[loop].flags & LOOP_GROUP;
  return !shared && loop_trip(e->lin, loop, &begin, &end) && end - begin <= SHORT;
}

/* A reduction with such loops in it, and no others. */
static bool is_around(const Emit *e, int loop) {
  const Linear *l = e->lin;
  bool any = false;
  if (!(l->inst[loop].flags & LOOP_REDUCE)) return false;
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    if (l->inst[i].kind != INST_LOOP) continue;
    if (!is_short(e, i)) return false;
    any = true;
  }
  return any;
}

/* Is there so much to compute in each iteration (functions, divisions) that several side by side would only need more
 * registers, and more text than the cache of instructions holds? */
bool is_heavy(const Emit *e, int loop) {
  enum { HEAVY = 64 };
  static const int price[COST_KINDS] = {
      [COST_SIMPLE] = 1, [COST_DIVIDE] = 8, [COST_FUNCTION] = 20, [COST_POWER] = 60, [COST_ROUNDING] = 1};
  int sum = 0;
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    const Inst *in = &e->lin->inst[i];
    if (in->kind == INST_ALU && dtype_is_float((PolyDType)in->dtype)) sum += price[op_info[in->op].cost];
  }
  return sum >= HEAVY;
}

/* A sum whose number of terms is known in the run alone: over the edges of a row. */
static bool is_open(const Emit *e, int loop) {
  int64_t begin, end;
  return e->lin->inst[loop].flags & LOOP_REDUCE && !loop_trip(e->lin, loop, &begin, &end);
}

/* Does a thread take more features than one load has? */
static bool has_wide_strip(const Emit *e) {
  enum { LOAD = 4 };
  bool wide = false;
  for (int i = 0; i < e->lin->ninst; i++) wide |= e->lin->inst[i].kind == INST_LOOP && e->lin->inst[i].strip > LOAD;
  return wide;
}

/* Does the kernel walk the edges of rows? */
static bool walks_rows(const Emit *e) {
  for (int i = 0; i < e->lin->ninst; i++)
    if (e->lin->inst[i].kind == INST_LOOP && is_open(e, i)) return true;
  return false;
}

/* Registers that a thread may use for the sake of a loop; 0: nothing is known of it. Where rows of edges are walked and
 * several features loaded at once, the compiler would by itself rather wait for each load before the next than use a
 * few registers more: of 85, 64, 50 and 42, on an H200, steps of GCN, GAT, GATv2 and EdgeConv were fastest with 64, by
 * 1 to 3 %. Long strips need WIDE_ROWS. Maps of each edge with functions behind them need more. Sums of columns that
 * are computed for each edge have an accumulator for each and wait for the loads of a few edges at a time, rather than
 * for few registers' sake one after the other: of GINE 0.83 ms with 128 registers, 0.95 without a word. */
static int registers_for(const Emit *e, int loop, bool strip) {
  enum { ROWS = 64, WIDE_ROWS = 80, HEAVY_ROWS = 80, COLUMNS = 128 };
  bool heavy = is_heavy(e, loop);
  if (is_around(e, loop) && !walks_rows(e)) return COLUMNS;
  if (is_around(e, loop) && heavy) return HEAVY_ROWS;
  if (!strip || heavy || !is_open(e, loop)) return 0;
  return has_wide_strip(e) ? WIDE_ROWS : ROWS;
}

/* Blocks that are to run on a multiprocessor at a time, which limits their registers, and tells the compiler how many
 * it may use; of blocks as large as can be it would fit two, and put what they need into memory. Products of a warp
 * have their sums and four factors in registers, threads that form dot products of neighbours the rows of several
 * edges.
 */
static Txt blocks_at_once(const Emit *e) {
  enum { REGISTERS = 65536, SEVERAL = 80, PRODUCTS = 168, LARGE = 512 };
  int size = block_size(e->lin);
  if (has_products(e->lin)) return txt(", %d", MAX(REGISTERS / PRODUCTS / size, 1));
  if (e->lin->neighbours > 1) return txt(", %d", MAX(REGISTERS / SEVERAL / size, 1));
  bool strip = linear_has_strip(e->lin);
  for (int i = 0; i < e->lin->ninst; i++) {
    int each = e->lin->inst[i].kind == INST_LOOP ? registers_for(e, i, strip) : 0;
    if (each) return txt(", %d", MAX(REGISTERS / each / size, 1));
  }
  return size > LARGE ? txt(", 1") : no_text();
}

void cuda_open_kernel(Emit *e, const char *name) {
  Txt bounds = txt("__launch_bounds__(%d%s)", block_size(e->lin), blocks_at_once(e).s);
  open_kernel(e, txt("extern \"C\" __global__ void %s ", bounds.s).s, name);
}

void gpu_local(Emit *e, int param) {
  (void)e;
  (void)param;
}

void gpu_close_program(Str *out, int n, const Linear *const *kernel) {
  (void)out;
  (void)n;
  (void)kernel;
}

/* ---- loops ---- */

static Txt trips_of(Emit *e, int loop) {
  const Inst *in = &e->lin->inst[loop], *begin = &e->lin->inst[in->src[0]];
  Txt end = scalar_name(e, in->src[1]);
  bool zero = begin->kind == INST_CONST && begin->arg.i == 0;
  return zero ? end : txt("(%s - %s)", end.s, scalar_name(e, in->src[0]).s);
}

/* The grid loop inside `loop`; -1: there is none. */
static int next_grid(const Emit *e, int loop) {
  for (int i = loop + 1; i < e->at[loop].end; i++)
    if (e->lin->inst[i].kind == INST_LOOP && e->lin->inst[i].flags & LOOP_PARALLEL) return i;
  return -1;
}

static Txt number_of_group(const Emit *e, const char *type) {
  int group = MAX(e->lin->group, 1), pack = MAX(e->lin->pack, 1), turns = MAX(e->lin->turns, 1);
  if (pack == 1) return txt("BLOCK");
  int spread = e->lin->spread;
  Txt block = turns > 1 ? txt("((%s)BLOCK * %d + turn) * %d", type, turns, pack) : txt("(%s)BLOCK * %d", type, pack);
  if (spread == pack) return txt("%s + THREAD %% %d", block.s, pack);
  if (spread) return txt("%s + THREAD / %d * %d + THREAD %% %d", block.s, spread * group, spread, spread);
  return group == 1 ? txt("%s + THREAD", block.s) : txt("%s + THREAD / %d", block.s, group);
}

/* Indices of all loops of the grid from the number of the group; the innermost loop runs fastest. A grid of which a
 * loop is empty is not launched. */
static void open_grid(Emit *e, int first, bool whole) {
  int chain[MAX_DIMS * 2], n = 0;
  bool narrow = e->lin->grid && e->lin->grid->vmax <= INT32_MAX;
  for (int l = first; l >= 0 && n < LEN(chain); l = next_grid(e, l)) {
    narrow &= e->lin->inst[l].dtype == POLY_INT32;
    chain[n++] = l;
  }
  const char *type = narrow ? "uint32_t" : "int64_t", *index = narrow ? "int32_t" : "int64_t";
  line(e, "%s at = %s;", type, number_of_group(e, type).s);
  int strip = MAX(e->lin->inst[chain[n - 1]].strip, 1);
  for (int k = n; k-- > 1;) {
    Txt begin = scalar_name(e, e->lin->inst[chain[k]].src[0]), trips = trips_of(e, chain[k]);
    Txt times = k == n - 1 && strip > 1 ? txt("%d * ", strip) : no_text();
    if (times.s[0]) trips = txt("%s / %d", trips.s, strip);
    Txt rest = narrow ? txt("(int32_t)(at %% (%s))", trips.s)
                      : txt("%s(at, %s)", helper(e->help, "remainder", ELEM_I64, 1).s, trips.s);
    line(e, "const %s i%d = %s + %s%s;", index, chain[k], begin.s, times.s, rest.s);
    if (narrow)
      line(e, "at /= (%s);", trips.s);
    else
      line(e, "at = %s(at, %s);", helper(e->help, "quotient", ELEM_I64, 1).s, trips.s);
  }
  Txt begin = scalar_name(e, e->lin->inst[first].src[0]);
  if (n == 1 && strip > 1)
    line(e, "const %s i%d = %s + %d * (%s)at;", index, first, begin.s, strip, index);
  else
    line(e, "const %s i%d = %s + (%s)at;", index, first, begin.s, index);
  if (e->lin->pack > 1 && !whole)
    line(e, "if (i%d < %s) {", first, scalar_name(e, e->lin->inst[first].src[1]).s);
  else
    line(e, "{");
}

static void emit_iteration(Emit *e, int loop) {
  e->indent++;
  bool strip = open_strip(e, loop);
  emit_body(e, loop + 1, e->at[loop].end);
  if (strip) close_strip(e);
  e->indent--;
  line(e, "}");
}

/* The grid from its outermost loop on. whole: all groups of the block have an iteration. */
static void emit_grid(Emit *e, int loop, const char *before, bool whole) {
  line(e, "%s{", before);
  e->indent++;
  open_grid(e, loop, whole);
  e->parallel = true;
  emit_iteration(e, loop);
  e->parallel = false;
  e->indent--;
  line(e, "}");
}

/* Several turns: without conditions between them but in the last block, so that their loads can stand together. */
static void emit_turns(Emit *e, int loop) {
  int turns = e->lin->turns;
  Txt each = txt("for (int turn = 0; turn < %d; turn++) ", turns);
  line(e, "if ((BLOCK + 1) * (int64_t)%d <= %lld) {", turns * e->lin->pack, (long long)e->lin->grid->arg.i);
  e->indent++;
  line(e, "UNROLL_ALL");
  emit_grid(e, loop, each.s, true);
  e->indent--;
  line(e, "} else {");
  e->indent++;
  line(e, "UNROLL_NONE");
  emit_grid(e, loop, each.s, false);
  e->indent--;
  line(e, "}");
}

void emit_grid_loop(Emit *e, int loop) {
  if (e->parallel) {
    line(e, "{");
    emit_iteration(e, loop);
  } else if (e->lin->turns > 1) {
    emit_turns(e, loop);
  } else {
    emit_grid(e, loop, "", false);
  }
}

/* A sum over the edges of a row with nothing but values in its iterations, which load something. */
static bool loads_only(const Emit *e, int loop) {
  const Linear *l = e->lin;
  const Inst *in = &l->inst[loop];
  bool loads = false;
  if (!is_open(e, loop) || in->flags & LOOP_ONCE || in->strip > 1 || is_heavy(e, loop)) return false;
  for (int i = loop + 1; i < e->at[loop].end; i++) {
    int kind = l->inst[i].kind;
    if (kind != INST_ALU && kind != INST_LOAD && kind != INST_UPDATE && kind != INST_CONST && kind != INST_CHECK)
      return false;
    if (kind == INST_UPDATE && l->inst[i].src[0] > loop) return false;
    loads |= kind == INST_LOAD;
  }
  return loads;
}

/* Do all threads of the grid run at once, with room to spare? Then a kernel takes as long as one of them. */
static bool all_at_once(const Linear *lin) {
  enum { THREADS = 1 << 18 };
  return lin->grid && lin->grid->vmax <= THREADS / MAX(lin->group, 1);
}

/* In a small grid such a loop takes its iterations four at a time, so that their loads are under way together, also
 * those of the last and of rows that have fewer: in the place of one that is not there the first of the four is loaded
 * again, and nothing is added. In a large one other threads are at work meanwhile. */
bool emit_by_fours(Emit *e, int loop) {
  enum { FOUR = 4 };
  const Inst *in = &e->lin->inst[loop];
  if (!all_at_once(e->lin) || !loads_only(e, loop) || e->fours) return false;
  bool shared = e->lin->group > 1 && in->flags & LOOP_GROUP;
  int step = shared ? e->lin->group : 1;
  Txt type = scalar_type(e, (PolyDType)in->dtype), begin = scalar_name(e, in->src[0]), end = scalar_name(e, in->src[1]);
  line(e, "for (%s b%d = %s%s; b%d < %s; b%d += %d) {", type.s, loop, begin.s, shared ? " + thread" : "", loop, end.s,
       loop, FOUR * step);
  e->indent++;
  line(e, "UNROLL_ALL");
  line(e, "for (int k%d = 0; k%d < %d; k%d++) {", loop, loop, FOUR, loop);
  e->indent++;
  Txt next = step > 1 ? txt("b%d + %d * k%d", loop, step, loop) : txt("b%d + k%d", loop, loop);
  line(e, "const bool t%d = %s < %s;", loop, next.s, end.s);
  line(e, "const %s i%d = t%d ? %s : b%d;", type.s, loop, loop, next.s, loop);
  e->fours = loop;
  bool outer = e->group;
  e->group = outer || shared;
  emit_body(e, loop + 1, e->at[loop].end);
  e->group = outer;
  e->fours = 0;
  for (int k = 0; k < 2; k++) {
    e->indent--;
    line(e, "}");
  }
  return true;
}

/* Are the iterations of a reduction independent but for the order of its sums? */
static bool can_unroll(const Emit *e, int loop) {
  const Linear *l = e->lin;
  if (!(l->inst[loop].flags & LOOP_REDUCE)) return false;
  for (int i = loop + 1; i < e->at[loop].end; i++)
    if (l->inst[i].kind == INST_STORE || (l->inst[i].kind == INST_LOOP && !is_short(e, i))) return false;
  return true;
}

/* Does i change with the iterations of the loop, one around it? */
static bool depends_on(const Emit *e, int i, int loop, int depth) {
  const Inst *in = &e->lin->inst[i];
  if (i == loop || depth == 0) return true;
  if (i < loop || in->kind == INST_LOOP) return false;
  for (int k = 0; k < 3; k++)
    if (in->src[k] >= 0 && depends_on(e, in->src[k], loop, depth - 1)) return true;
  return false;
}

/* The loop of an edge's map that load i stands in, if it is the same for all edges; -1: it is no such load. */
static int loop_of_weight(const Emit *e, int i, int around) {
  enum { DEEP = 8 };
  const Inst *in = &e->lin->inst[i];
  int loop = -1;
  for (int k = i; k-- > around && loop < 0;)
    if (e->lin->inst[k].kind == INST_LOOP && e->at[k].end > i) loop = k;
  bool weight = in->kind == INST_LOAD && loop > around && is_short(e, loop) && !depends_on(e, in->src[0], around, DEEP);
  return weight ? loop : -1;
}

/* Values that a thread would keep in registers for the maps of a loop's edges. */
static int64_t kept_weights(const Emit *e, int around) {
  int64_t n = 0;
  int strip = 1;
  for (int i = 0; i < around; i++)
    if (e->lin->inst[i].kind == INST_LOOP) strip = MAX(strip, e->lin->inst[i].strip);
  for (int i = around + 1; i < e->at[around].end; i++) {
    int loop = loop_of_weight(e, i, around);
    if (loop >= 0) n += loop_trips(e->lin, loop) * strip;
  }
  return n;
}

/* Weights of the maps of an edge, in a loop over the edges of a row: kept in registers, they would fill many of those
 * of a thread for a row that is soon at its end. Better more threads are at work, which have them in the first cache.
 * The compiler would keep them all the same, and put other values into memory; so the index is one that it takes for
 * another in each iteration. */
Txt loaded_again(const Emit *e, int i) {
  enum {
    MOST = 32
  }; /* GINE's sums, with 32 weights a thread, took a quarter longer on an H200 if they were loaded again */
  int around = i;
  if (!e->style->tensor || !walks_rows(e)) return no_text();
  while (--around >= 0)
    if (e->lin->inst[around].kind == INST_LOOP && e->at[around].end > i && is_around(e, around)) break;
  if (around < 0 || loop_of_weight(e, i, around) < 0 || kept_weights(e, around) <= MOST) return no_text();
  return txt(" + ((int32_t)i%d & none)", around);
}

/* Has the kernel such loads? */
static bool loads_again(const Emit *e) {
  for (int i = 0; i < e->lin->ninst; i++)
    if (e->lin->inst[i].kind == INST_LOAD && loaded_again(e, i).s[0]) return true;
  return false;
}

bool is_written_out(const Emit *e, int loop) {
  return can_unroll(e, loop) && is_short(e, loop) && !is_around(e, loop) && !is_heavy(e, loop);
}

/* A reduction is unrolled, so that loads of several iterations are under way at once; their order stays. */
void emit_unroll(Emit *e, int loop) {
  bool around = is_around(e, loop), rows = walks_rows(e);
  if (!can_unroll(e, loop)) return;
  if (is_heavy(e, loop) && (around ? rows : is_short(e, loop)))
    line(e, "UNROLL_NONE");
  else if (around)
    line(e, rows ? "UNROLL_AROUND" : "UNROLL_STRIP");
  else
    line(e, is_short(e, loop) ? "UNROLL_ALL" : e->vary ? "UNROLL_STRIP" : "UNROLL");
}

enum { FEW_TURNS = 16 };

/* How many turns each thread of a group takes in a loop; 0: not known before the run, or not the same for all. */
static int64_t known_turns(const Emit *e, int loop, bool *whole) {
  int64_t trips = loop_trips(e->lin, loop), each = (int64_t)e->lin->group * MAX(e->lin->inst[loop].strip, 1);
  if (trips <= 0) return 0;
  int64_t turns = (trips + each - 1) / each;
  *whole = trips % each == 0;
  return turns <= FEW_TURNS || *whole ? turns : 0;
}

static void emit_group_body(Emit *e, int loop) {
  e->group = true;
  e->indent++;
  bool strips = open_strip(e, loop);
  emit_body(e, loop + 1, e->at[loop].end);
  if (strips) close_strip(e);
  e->indent--;
  e->group = false;
  line(e, "}");
}

/* Turns from .. to-1 of a thread, of a known number, written so that the compiler sees it: it would take the thread's
 * first index for unknown, and end after each load to look whether there is another. */
static void emit_known_turns(Emit *e, int loop, int64_t from, int64_t to, bool whole) {
  const Inst *in = &e->lin->inst[loop];
  int strip = MAX(in->strip, 1), each = e->lin->group * strip;
  Txt times = strip > 1 ? txt("%d * ", strip) : no_text(), type = scalar_type(e, (PolyDType)in->dtype);
  if (to - from <= FEW_TURNS)
    line(e, "UNROLL_ALL");
  else
    emit_unroll(e, loop);
  line(e, "for (int k%d = %lld; k%d < %lld; k%d++) {", loop, (long long)from, loop, (long long)to, loop);
  e->indent++;
  line(e, "const %s i%d = %s + %sthread + %d * k%d;", type.s, loop, scalar_name(e, in->src[0]).s, times.s, each, loop);
  int64_t full = loop_trips(e->lin, loop) / each; /* turns that all threads take, without a look at the end */
  Txt early = full ? txt("k%d < %lld || ", loop, (long long)full) : no_text();
  line(e, whole ? "{" : "if (%si%d < %s) {", early.s, loop, scalar_name(e, in->src[1]).s);
  emit_group_body(e, loop);
  e->indent--;
  line(e, "}");
}

/* Some turns at a time, the loads of all of them first. */
static bool emit_staged_turns(Emit *e, int loop, int64_t turns, bool whole) {
  int each, stages;
  line(e, "{");
  e->indent++;
  if ((stages = open_turns(e, loop, turns, &each)))
    for (int64_t from = 0; from < turns; from += each) {
      e->turn = txt("k%d - %lld", loop, (long long)from);
      e->stages = stages;
      for (e->stage = 1; e->stage <= stages; e->stage++) {
        emit_known_turns(e, loop, from, MIN(from + each, turns), whole);
        if (e->stage < stages) line(e, "LOADED;");
      }
      e->stage = 0;
    }
  e->indent--;
  line(e, "}");
  return stages;
}

void emit_group_loop(Emit *e, int loop) {
  const Inst *in = &e->lin->inst[loop];
  int strip = MAX(in->strip, 1);
  bool whole = false;
  if (emit_by_fours(e, loop) || emit_edges(e, loop)) return;
  int64_t turns = known_turns(e, loop, &whole);
  if (turns && emit_staged_turns(e, loop, turns, whole)) return;
  if (turns) {
    emit_known_turns(e, loop, 0, turns, whole);
    return;
  }
  Txt times = strip > 1 ? txt("%d * ", strip) : no_text(), type = scalar_type(e, (PolyDType)in->dtype);
  emit_unroll(e, loop);
  line(e, "for (%s i%d = %s + %sthread; i%d < %s; i%d += %d) {", type.s, loop, scalar_name(e, in->src[0]).s, times.s,
       loop, scalar_name(e, in->src[1]).s, loop, e->lin->group * strip);
  emit_group_body(e, loop);
}

void emit_combine(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  static const char *const names[][2] = {
      [OP_ADD] = {"group_add", "group_or"},
      [OP_MUL] = {"group_mul", "group_and"},
      [OP_MAX] = {"group_max", "group_or"},
      [OP_MIN] = {"group_min", "group_and"},
  };
  Txt acc = scalar_name(e, in->src[0]);
  const char *name = names[in->op][in->dtype == POLY_BOOL];
  Elem el = elem_of((PolyDType)in->dtype);
  int warp = e->style->warp, group = e->lin->group, spread = e->lin->spread;
  if (in_warp(e))
    line(e, "%s = %s(%s, %d, %d);", acc.s, helper(e->help, txt("lanes_%s", name + 6).s, el, 1).s, acc.s, group, spread);
  else if (warp > 1 && spread && spread <= warp)
    line(e, "%s = %s(%s, %d, room, %d);", acc.s, helper(e->help, txt("warps_%s", name + 6).s, el, 1).s, acc.s,
         spread * group / warp, spread);
  else if (spread)
    line(e, "%s = %s(%s, thread, %d, room, %d);", acc.s, helper(e->help, txt("spread_%s", name + 6).s, el, 1).s, acc.s,
         group, spread);
  else
    line(e, "%s = %s(%s, thread, %d, room);", acc.s, helper(e->help, name, el, 1).s, acc.s, e->lin->group);
}

void emit_fence(Emit *e, int i) {
  const Inst *in = &e->lin->inst[i];
  if (in->arg.i && e->style->tensor)
    line(e, "COPIED(%d);", (int)in->arg.i - 1);
  else if (e->style->tensor && has_split_products(e->lin))
    line(e, "SHOWN;");
  line(e, "FENCE(%d);", MAX(e->lin->spread, 1) * e->lin->group);
}

/* Is this STORE done by one thread of a group for all? */
bool stores_alone(const Emit *e, int i) {
  return e->style->groups && e->lin->group > 1 && !e->group && !e->lin->param[e->lin->inst[i].param].read;
}
