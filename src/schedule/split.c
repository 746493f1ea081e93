/* split.c: REDUCE of many elements to few results, as a graph rewrite:
 *
 *   sum of x[n]   ->   sum over p of contiguous(sum over q of x[0 : P*(n//P)] as [P, n//P])  +  sum of x[P*(n//P) : n]
 *
 * The number of pieces is fixed, so the result is the same for every number of threads. */
#include "schedule/split.h"

#include "ir/context.h"

enum { PIECES = 64, FEW_RESULTS = 64, MANY_ELEMENTS = 32768 };

static bool wants_split(const UOp *u) {
  if (u->op != OP_REDUCE || uop_numel_max((UOp *)(uintptr_t)u) > FEW_RESULTS) return false;
  return uop_numel_max(u->src[0]) / MAX(uop_numel_max((UOp *)(uintptr_t)u), 1) >= MANY_ELEMENTS;
}

/* The outermost reduced axis that is long enough. -1: none. */
static int split_axis(const UOp *u) {
  for (int i = 0; i < u->ndim; i++)
    if (u->arg.j & (1 << i) && u->src[0]->shape[i]->vmax >= 4 * PIECES) return i;
  return -1;
}

static UOp *slice(UOp *x, int axis, UOp *from, UOp *to) {
  UOp *begin[MAX_DIMS], *end[MAX_DIMS];
  for (int i = 0; i < x->ndim; i++) {
    begin[i] = i == axis ? from : uop_index(x->ctx, 0);
    end[i] = i == axis ? to : x->shape[i];
  }
  return uop_shrink(x, begin, end);
}

static UOp *split_one(UOp *u, UOp *x, int axis) {
  PolyContext *ctx = u->ctx;
  Op op = (Op)u->arg.i;
  UOp *n = x->shape[axis], *pieces = uop_index(ctx, PIECES), *each = int_div(n, pieces), *whole = int_mul(each, pieces);
  if (!each || x->ndim + 1 > MAX_DIMS) return u;
  UOp *cut[MAX_DIMS];
  uint32_t inner = 0;
  for (int i = 0, j = 0; i < x->ndim; i++) {
    if (u->arg.j & (1 << i)) inner |= 1u << (i == axis ? j + 1 : j);
    if (i == axis) cut[j++] = pieces;
    cut[j++] = i == axis ? each : x->shape[i];
  }
  UOp *main_part = uop_reshape(slice(x, axis, uop_index(ctx, 0), whole), x->ndim + 1, cut);
  UOp *partial = uop_contiguous(uop_reduce(op, main_part, inner), 0);
  UOp *total = uop_reshape(uop_reduce(op, partial, 1u << axis), u->ndim, u->shape);
  if (whole == n) return total;
  UOp *rest = uop_reduce(op, slice(x, axis, whole, n), (uint32_t)u->arg.j);
  return uop_binary(op, total, rest);
}

bool split_reductions(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, UOp **out) {
  Walk walk;
  if (!uop_walk(ctx, arena, nroot, root, NULL, NULL, &walk)) return false;
  bool any = false;
  for (int i = 0; i < walk.n; i++) any |= wants_split(walk.at[i]) && split_axis(walk.at[i]) >= 0;
  for (int i = 0; i < nroot; i++) out[i] = root[i];
  if (!any) return true;
  UOp **now = arena_new(arena, (size_t)walk.n * sizeof(UOp *));
  Map place = {0};
  bool ok = now != NULL;
  for (int i = 0; ok && i < walk.n; i++) {
    UOp *u = walk.at[i];
    UOp **src = arena_new(arena, (size_t)MAX(u->nsrc, 1) * sizeof(UOp *));
    bool same = true;
    ok = src && map_put(&ctx->base, &place, (uint64_t)(uintptr_t)u, (uint64_t)i);
    for (int k = 0; ok && k < u->nsrc; k++) {
      uint64_t p = 0;
      map_get(&place, (uint64_t)(uintptr_t)u->src[k], &p);
      src[k] = now[p];
      same &= src[k] == u->src[k];
    }
    if (!ok) break;
    int axis = wants_split(u) ? split_axis(u) : -1;
    now[i] = axis >= 0 ? split_one(u, src[0], axis) : same ? u : uop_with_sources(u, src);
    ok = now[i] != NULL;
  }
  for (int i = 0; ok && i < nroot; i++) {
    uint64_t p = 0;
    map_get(&place, (uint64_t)(uintptr_t)root[i], &p);
    out[i] = now[p];
  }
  map_free(&ctx->base, &place);
  return ok;
}
