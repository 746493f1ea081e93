/* index.c: movement ops as index arithmetic. */
#include "ir/index.h"

UOp *index_flat(const UOp *u, UOp *const *idx) {
  UOp *flat = uop_index(u->ctx, 0);
  for (int i = 0; i < u->ndim; i++) flat = int_add(int_mul(flat, u->shape[i]), idx[i]);
  return flat;
}

/* Flattens idx over the axes [a0, a1) of sizes `from` and takes it apart again over [b0, b1) of sizes `to`. */
static bool regroup(PolyContext *ctx, UOp *const *from, UOp *const *idx, int a0, int a1, UOp *const *to, UOp **out,
                    int b0, int b1) {
  UOp *flat = uop_index(ctx, 0);
  for (int i = a0; i < a1; i++) flat = int_add(int_mul(flat, from[i]), idx[i]);
  for (int j = b1 - 1; j > b0; j--) {
    out[j] = uop_is_int(to[j], 1) ? uop_index(ctx, 0) : int_mod(flat, to[j]);
    if (!uop_is_int(to[j], 1)) flat = int_div(flat, to[j]);
  }
  if (b1 > b0) out[b0] = flat;
  for (int j = b0; j < b1; j++)
    if (!out[j]) return false;
  return flat != NULL;
}

/* Axes whose sizes multiply to the same number on both sides form a group; a group is taken apart alone, so that what a
 * reshape leaves alone keeps its plain index. */
static bool through_reshape(const UOp *u, UOp **idx) {
  const UOp *x = u->src[0];
  PolyContext *ctx = u->ctx;
  UOp *out[MAX_DIMS] = {0};
  int a = 0, b = 0;
  while (a < u->ndim || b < x->ndim) {
    int a0 = a, b0 = b;
    UOp *pa = uop_index(ctx, 1), *pb = pa;
    if (a < u->ndim) pa = u->shape[a++];
    if (b < x->ndim) pb = x->shape[b++];
    while (pa && pb && pa != pb) {
      bool grow_a = a < u->ndim && (b >= x->ndim || pa->vmax <= pb->vmax);
      if (grow_a) {
        pa = int_mul(pa, u->shape[a++]);
      } else if (b < x->ndim) {
        pb = int_mul(pb, x->shape[b++]);
      } else {
        break;
      }
    }
    if (a == u->ndim || b == x->ndim) { /* trailing axes of size 1 join the last group */
      bool ones = true;
      for (int i = a; i < u->ndim; i++) ones &= uop_is_int(u->shape[i], 1);
      for (int i = b; i < x->ndim; i++) ones &= uop_is_int(x->shape[i], 1);
      if (ones) {
        a = u->ndim;
        b = x->ndim;
      }
    }
    if (!pa || !pb || !regroup(ctx, u->shape, idx, a0, a, x->shape, out, b0, b)) return false;
  }
  for (int i = 0; i < x->ndim; i++) idx[i] = out[i];
  return true;
}

static bool add_gate(UOp **gate, UOp *cond) {
  if (!cond) return false;
  *gate = *gate ? int_and(*gate, cond) : cond;
  return *gate != NULL;
}

static bool through_pad(const UOp *u, UOp **idx, UOp **gate) {
  for (int i = 0; i < u->ndim; i++) {
    UOp *before = u->src[1 + 2 * i], *after = u->src[2 + 2 * i];
    if (!uop_is_int(before, 0) && !add_gate(gate, int_lt(int_addc(before, -1), idx[i]))) return false;
    idx[i] = int_sub(idx[i], before);
    if (!uop_is_int(after, 0) && !add_gate(gate, int_lt(idx[i], u->src[0]->shape[i]))) return false;
    if (!idx[i]) return false;
  }
  return true;
}

uint64_t index_ranges(PolyContext *ctx, Map *memo, UOp *u) {
  uint64_t m;
  if (map_get(memo, (uint64_t)(uintptr_t)u, &m)) return m;
  m = u->op == OP_LOAD ? RANGES_LOAD : 0;
  for (int i = 0; i < u->nsrc; i++) m |= index_ranges(ctx, memo, u->src[i]);
  if (u->op == OP_RANGE) m |= 1ull << u->arg.i;
  if (u->op == OP_LOOP)
    for (int i = 1; i < u->nsrc; i++) m &= ~(1ull << u->src[i]->arg.i);
  map_put(ctx_base(ctx), memo, (uint64_t)(uintptr_t)u, m);
  return m;
}

static bool is_loaded(const UOp *u) { return (u->op == OP_CAST ? u->src[0] : u)->op == OP_LOAD; }

bool range_is_row(const UOp *range) { return is_loaded(range->src[0]) && is_loaded(range->src[1]); }

bool index_through(const UOp *u, UOp **idx, UOp **gate) {
  const UOp *x = u->src[0];
  UOp *out[MAX_DIMS];
  switch (u->op) {
  case OP_RESHAPE: return through_reshape(u, idx);
  case OP_PAD: return through_pad(u, idx, gate);
  case OP_EXPAND:
    for (int i = 0; i < u->ndim; i++)
      if (x->shape[i] != u->shape[i] && !(idx[i] = uop_index(u->ctx, 0))) return false;
    return true;
  case OP_PERMUTE:
    for (int i = 0; i < u->ndim; i++) out[perm_at(u, i)] = idx[i];
    for (int i = 0; i < u->ndim; i++) idx[i] = out[i];
    return true;
  case OP_SHRINK:
    for (int i = 0; i < u->ndim; i++)
      if (!(idx[i] = int_add(idx[i], u->src[1 + 2 * i]))) return false;
    return true;
  case OP_FLIP:
    for (int i = 0; i < u->ndim; i++)
      if (u->arg.i & (1 << i) && !(idx[i] = int_sub(int_addc(x->shape[i], -1), idx[i]))) return false;
    return true;
  default: return true;
  }
}
