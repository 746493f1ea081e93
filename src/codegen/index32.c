/* index32.c: index arithmetic in 32 bits. In: a linear kernel, whose loops and indices are int64. Out: the same kernel
 * with int32 in their place wherever that changes nothing. A GPU has registers of 32 bits: a 64-bit sum is two
 * instructions and two registers, a 64-bit division a hundred.
 *
 * Two things make a value safe to compute in 32 bits. Either it fits, by what is known of loops, sizes and what was
 * loaded; or all that is made of it, by sums and products alone, are places in memory: these are right in their lower
 * 32 bits, and no argument of the kernel has more elements than those reach. What is compared, divided, bounds a loop
 * or is stored must fit. */
#include "codegen/codegen.h"

#include <string.h>

enum {
  LOOP_MOST = INT32_MAX - (1 << 20), /* the end of a loop: those that count in steps go past it */
  PLACE_MOST = LOOP_MOST - (1 << 20) /* elements of an argument: a loop may end a little behind a place in it */
};

typedef struct Bounds {
  int64_t lo, hi;
} Bounds;

typedef enum Need { NEED_NOTHING, NEED_LOW, NEED_ALL } Need; /* the lower 32 bits, or the value */

typedef struct Index32 {
  Linear *lin;
  Bounds *bounds;
  bool *row; /* bounds a loop */
  uint8_t *need;
  bool *narrow; /* becomes an int32 */
  /* while the kernel is written anew */
  Inst *to;
  int n;
  int32_t *at[2]; /* where its value is, as it was and in 32 bits; -1: nowhere */
} Index32;

/* ---- bounds ---- */

static const Bounds unknown = {INT64_MIN, INT64_MAX};

static bool fits(Bounds b) { return b.lo >= INT32_MIN && b.hi <= INT32_MAX; }

static Bounds of_dtype(PolyDType d) {
  switch (d) {
  case POLY_BOOL: return (Bounds){0, 1};
  case POLY_INT8: return (Bounds){INT8_MIN, INT8_MAX};
  case POLY_UINT8: return (Bounds){0, UINT8_MAX};
  case POLY_INT16: return (Bounds){INT16_MIN, INT16_MAX};
  case POLY_UINT16: return (Bounds){0, UINT16_MAX};
  case POLY_INT32: return (Bounds){INT32_MIN, INT32_MAX};
  case POLY_UINT32: return (Bounds){0, UINT32_MAX};
  default: return unknown;
  }
}

/* Bounds from those of small values, so that nothing overflows here; unknown otherwise. */
static bool is_small(Bounds b) { return b.lo >= -(INT64_C(1) << 40) && b.hi <= INT64_C(1) << 40; }

static Bounds product(Bounds a, Bounds b) {
  const int64_t end[2][2] = {{a.lo, a.hi}, {b.lo, b.hi}};
  Bounds r = {INT64_MAX, INT64_MIN};
  for (int i = 0; i < 4; i++) {
    int64_t v;
    if (__builtin_mul_overflow(end[0][i & 1], end[1][i >> 1], &v)) return unknown;
    r = (Bounds){MIN(r.lo, v), MAX(r.hi, v)};
  }
  return is_small(r) ? r : unknown;
}

static Bounds of_alu(const Index32 *x, const Inst *in) {
  Bounds a = x->bounds[in->src[0]], b = in->src[1] >= 0 ? x->bounds[in->src[1]] : unknown;
  bool small = is_small(a) && is_small(b), exact = b.lo == b.hi;
  switch ((Op)in->op) {
  case OP_CAST: return a;
  case OP_ADD: return small ? (Bounds){a.lo + b.lo, a.hi + b.hi} : unknown;
  case OP_SUB: return small ? (Bounds){a.lo - b.hi, a.hi - b.lo} : unknown;
  case OP_MUL: return product(a, b);
  case OP_NEG: return is_small(a) ? (Bounds){-a.hi, -a.lo} : unknown;
  case OP_MAX: return (Bounds){MAX(a.lo, b.lo), MAX(a.hi, b.hi)};
  case OP_MIN: return (Bounds){MIN(a.lo, b.lo), MIN(a.hi, b.hi)};
  case OP_WHERE: {
    Bounds c = x->bounds[in->src[2]];
    return (Bounds){MIN(b.lo, c.lo), MAX(b.hi, c.hi)};
  }
  case OP_SHL: return b.lo >= 0 && b.hi < 31 && fits(a) ? product(a, (Bounds){1, INT64_C(1) << b.hi}) : unknown;
  case OP_SHR: return exact && b.lo >= 0 && b.lo < 63 && is_small(a) ? (Bounds){a.lo >> b.lo, a.hi >> b.lo} : unknown;
  case OP_AND: return exact && b.lo >= 0 ? (Bounds){0, b.lo} : unknown;
  case OP_IDIV: return exact && b.lo > 0 && is_small(a) ? (Bounds){MIN(a.lo, 0), MAX(a.hi, 0)} : unknown;
  case OP_MOD: return exact && b.lo > 0 && b.lo <= INT32_MAX ? (Bounds){0, b.lo - 1} : unknown;
  default: return unknown;
  }
}

static bool is_index(const Linear *lin, int i) { return i >= 0 && lin->inst[i].dtype == POLY_INT64; }

/* Row pointers, which bound loops over entries, are places in an argument of the kernel. */
static void find_rows(Index32 *x) {
  const Linear *lin = x->lin;
  for (int i = lin->ninst; i-- > 0;) {
    const Inst *in = &lin->inst[i];
    if (in->kind == INST_LOOP) x->row[in->src[0]] = x->row[in->src[1]] = true;
    if (in->kind == INST_ALU && in->op == OP_CAST && x->row[i]) x->row[in->src[0]] = true;
  }
}

static void find_bounds(Index32 *x) {
  const Linear *lin = x->lin;
  for (int i = 0; i < lin->ninst; i++) {
    const Inst *in = &lin->inst[i];
    Bounds *b = &x->bounds[i], all = of_dtype((PolyDType)in->dtype);
    *b = all;
    if (!dtype_is_int((PolyDType)in->dtype)) continue;
    if (in->kind == INST_CONST) *b = (Bounds){in->arg.i, in->arg.i};
    if (in->kind == INST_VAR) *b = (Bounds){lin->var[in->arg.i]->vmin, lin->var[in->arg.i]->vmax};
    if (in->kind == INST_LOAD && x->row[i] && in->dtype == POLY_INT32) *b = (Bounds){0, PLACE_MOST};
    if (in->kind == INST_CHECK) *b = (Bounds){0, MAX(x->bounds[in->src[1]].hi - 1, 0)};
    if (in->kind == INST_LOOP) {
      Bounds from = x->bounds[in->src[0]], to = x->bounds[in->src[1]];
      *b = to.hi <= LOOP_MOST ? (Bounds){from.lo, MAX(to.hi - 1, from.lo)} : unknown;
    }
    if (in->kind == INST_ALU && (in->op != OP_CAST || dtype_is_int((PolyDType)lin->inst[in->src[0]].dtype))) {
      Bounds own = of_alu(x, in); /* of a smaller type: unless it wraps */
      if (own.lo >= all.lo && own.hi <= all.hi) *b = own;
    }
  }
}

/* ---- what can be narrow ---- */

/* Are the lower bits of the result made of the lower bits of the sources alone? */
static bool is_ring(Op op) {
  return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_NEG || op == OP_WHERE || op == OP_CAST;
}

static bool all_fit(const Index32 *x, const Inst *in) {
  for (int k = 0; k < 3; k++)
    if (is_index(x->lin, in->src[k]) && !fits(x->bounds[in->src[k]])) return false;
  return true;
}

static void ask(Index32 *x, int i, Need need) {
  if (is_index(x->lin, i)) x->need[i] = (uint8_t)MAX(x->need[i], need);
}

static bool can_narrow(const Index32 *x, int i) {
  const Inst *in = &x->lin->inst[i];
  bool fit = fits(x->bounds[i]);
  if (in->dtype != POLY_INT64 || (x->need[i] == NEED_ALL && !fit)) return false;
  if (in->kind == INST_LOOP) return fit && all_fit(x, in);
  if (in->kind != INST_ALU) return false;
  Op op = (Op)in->op;
  if (op == OP_CAST) return dtype_is_int((PolyDType)x->lin->inst[in->src[0]].dtype);
  bool known =
      op == OP_MAX || op == OP_MIN || op == OP_IDIV || op == OP_MOD || op == OP_SHL || op == OP_SHR || op == OP_AND;
  return is_ring(op) || (known && fit && all_fit(x, in));
}

/* Has a conversion to it the lower bits of an integer? */
static bool is_low(PolyDType d) { return dtype_is_int(d) && d != POLY_BOOL && dtype_size(d) <= 4; }

/* Users come behind what they use. */
static void find_narrow(Index32 *x) {
  const Linear *lin = x->lin;
  for (int i = lin->ninst; i-- > 0;) {
    const Inst *in = &lin->inst[i];
    if (in->kind == INST_END) continue;
    x->narrow[i] = can_narrow(x, i);
    bool memory = in->kind == INST_LOAD || in->kind == INST_STORE;
    if (memory) ask(x, in->src[0], NEED_LOW);
    bool low = in->kind == INST_ALU && is_ring((Op)in->op) && (in->dtype != POLY_INT64 || x->narrow[i]);
    if (low && in->op == OP_CAST) low = x->narrow[i] || is_low((PolyDType)in->dtype);
    for (int k = memory; k < 3; k++) ask(x, in->src[k], low ? NEED_LOW : NEED_ALL);
  }
}

/* ---- writing it anew ---- */

static int put(Index32 *x, Inst in) {
  x->to[x->n] = in;
  return x->n++;
}

/* Its value in the other width, behind where it is made. */
static void put_other(Index32 *x, int i, bool narrow) {
  const Inst *in = &x->lin->inst[i];
  PolyDType d = narrow ? POLY_INT32 : POLY_INT64;
  uint32_t extra = in->flags & INST_EXTRA;
  if (x->at[narrow][i] >= 0) return;
  Inst other = {
      .kind = INST_ALU, .op = OP_CAST, .dtype = (uint8_t)d, .src = {x->at[!narrow][i], -1, -1}, .flags = extra};
  if (in->kind == INST_CONST) {
    other = *in;
    other.dtype = (uint8_t)d;
    other.arg.i = narrow ? (int32_t)(uint32_t)(uint64_t)in->arg.i : in->arg.i;
  }
  x->at[narrow][i] = put(x, other);
}

/* Does this user take its source k as an int32? -1: it takes either. */
static int takes_narrow(const Index32 *x, int i, int k) {
  const Inst *in = &x->lin->inst[i];
  if (in->kind == INST_END || ((in->kind == INST_LOAD || in->kind == INST_STORE) && k == 0)) return -1;
  if (in->kind == INST_LOOP) return x->narrow[i];
  if (in->kind != INST_ALU) return 0;
  if (in->op == OP_CAST) return -1;
  if (op_info[in->op].cls == CLASS_COMPARE) return all_fit(x, in);
  return x->narrow[i];
}

/* Which values are asked for in the width that they are not computed in. */
static void find_others(const Index32 *x, bool *other) {
  const Linear *lin = x->lin;
  for (int i = 0; i < lin->ninst; i++)
    for (int k = 0; k < 3; k++) {
      int s = lin->inst[i].src[k], want = s >= 0 && is_index(lin, s) ? takes_narrow(x, i, k) : -1;
      if (want >= 0 && want != x->narrow[s]) other[s] = true;
    }
}

static int32_t source_at(const Index32 *x, int i, int k) {
  int s = x->lin->inst[i].src[k];
  if (s < 0) return s;
  if (!is_index(x->lin, s)) return x->at[0][s];
  int want = takes_narrow(x, i, k);
  return x->at[want < 0 ? x->narrow[s] : want][s];
}

static bool write_anew(Index32 *x, const bool *other) {
  Linear *lin = x->lin;
  for (int i = 0; i < lin->ninst; i++) {
    Inst in = lin->inst[i];
    bool narrow = x->narrow[i], same = narrow && in.kind == INST_ALU && in.op == OP_CAST;
    for (int k = 0; k < 3; k++) in.src[k] = source_at(x, i, k);
    if (narrow) in.dtype = POLY_INT32;
    same = same && x->to[in.src[0]].dtype == POLY_INT32; /* nothing is left to convert */
    x->at[0][i] = x->at[1][i] = -1;
    x->at[narrow][i] = same ? in.src[0] : put(x, in);
    if (other[i]) put_other(x, i, !narrow);
  }
  lin->inst = x->to;
  lin->ninst = x->n;
  return true;
}

bool codegen_index32(Arena *arena, const Target *target, const int64_t *most, Linear *lin) {
  bool reaches = target->narrow_index;
  for (int k = 0; k < linear_nargs(lin); k++) reaches &= most[k] <= PLACE_MOST;
  if (!reaches) return true;
  size_t n = (size_t)lin->ninst + 1;
  Index32 x = {.lin = lin};
  x.bounds = arena_new(arena, n * sizeof *x.bounds);
  x.row = arena_new(arena, n);
  x.need = arena_new(arena, n);
  x.narrow = arena_new(arena, n);
  x.to = arena_new(arena, 2 * n * sizeof *x.to);
  bool *other = arena_new(arena, n);
  for (int k = 0; k < 2; k++) x.at[k] = arena_new(arena, n * sizeof *x.at[k]);
  if (!x.bounds || !x.row || !x.need || !x.narrow || !x.to || !other || !x.at[0] || !x.at[1]) return false;
  find_rows(&x);
  find_bounds(&x);
  find_narrow(&x);
  find_others(&x, other);
  return write_anew(&x, other);
}
