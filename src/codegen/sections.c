/* sections.c: the innermost output loop over tensors that are joined along it becomes one loop for each of them.
 *
 *   for j in 0..64: y[i, j] = j < 32 ? x[a[i], j] : z[b[i], j - 32]
 *     ->   for j in 0..32: y[i, j] = x[a[i], j]
 *          for j in 0..32: y[i, 32 + j] = z[b[i], j]
 *
 * As one loop, a[i] may be read only where j < 32, so that the place of the row differs from lane to lane and its
 * elements are gathered one by one. In a loop of its own it is read once, and the row is contiguous. Each element has
 * the same value as before. */
#include "codegen/block.h"

#include "ir/context.h"

enum { MOST_COLUMNS = 4096 }; /* of the loop: a longer one is left to the threads as a whole */

/* Where the value of a comparison changes along r; 0: nowhere, or it depends on more than r. */
static int64_t cut_of(Codegen *g, UOp *u, const UOp *r) {
  UOp *term[2], *difference;
  int64_t coef[2], constant;
  if (u->op != OP_CMPLT || u->src[0]->dtype != POLY_INT64 || !block_varies(g, u, r)) return 0;
  if (!(difference = int_sub(u->src[1], u->src[0]))) return 0;
  if (int_terms(difference, LEN(term), term, coef, &constant) != 1 || term[0] != r) return 0;
  return coef[0] == -1 ? constant : coef[0] == 1 ? 1 - constant : 0; /* r < constant; -constant < r */
}

/* Is it a load that is gathered because of what decides whether it is made? */
static bool is_gathered(Codegen *g, const UOp *u, const UOp *r) {
  return u->op == OP_LOAD && u->nsrc == 3 && block_varies(g, u->src[2], r) &&
         block_stride(g, u->src[1], r) == STRIDE_NONE;
}

/* Adds a cut, in order. Returns false if there are too many. */
static bool add_cut(int64_t *cut, int *n, int64_t at) {
  int k = 0;
  while (k < *n && cut[k] < at) k++;
  if (k < *n && cut[k] == at) return true;
  if (*n == MOST_SECTIONS - 1) return false;
  for (int i = (*n)++; i > k; i--) cut[i] = cut[i - 1];
  cut[k] = at;
  return true;
}

static bool find_cuts(Codegen *g, const Walk *walk, const UOp *r, int64_t *cut, int *n) {
  bool gathered = false;
  *n = 0;
  for (int i = 0; i < walk->n; i++) {
    UOp *u = walk->at[i];
    if (u->op == OP_LOOP && block_varies(g, u, r)) return false;
    gathered |= is_gathered(g, u, r);
    int64_t at = cut_of(g, u, r);
    if (at > 0 && at < r->src[1]->arg.i && !add_cut(cut, n, at)) return false;
  }
  return gathered && *n;
}

/* A node over other sources: conditions that are known now are gone. */
static UOp *resolved(Codegen *g, UOp *u, UOp **src) {
  bool gated = (u->op == OP_LOAD || u->op == OP_CHECK) && u->nsrc == 3 && src[2]->op == OP_CONST;
  if (u->op == OP_LOAD && gated && !src[2]->arg.i) return uop_const(g->ctx, (PolyDType)u->dtype, 0);
  if (u->op == OP_WHERE && src[0]->op == OP_CONST) return src[0]->arg.i ? src[1] : src[2];
  if (op_info[u->op].cls == CLASS_KERNEL)
    return uop_make(g->ctx, (Op)u->op, (PolyDType)u->dtype, u->arg, gated && src[2]->arg.i ? 2 : u->nsrc, src, 0, NULL);
  return int_rebuild(u, src);
}

/* u with `to` in the place of the range `from`. Not a pass of the rewrite driver: sources of a LOAD are left out. */
static UOp *moved(Codegen *g, Map *done, UOp *u, const UOp *from, UOp *to) {
  uint64_t at;
  if (u == from) return to;
  if (!block_varies(g, u, from)) return u;
  if (map_get(done, (uint64_t)(uintptr_t)u, &at)) return (UOp *)(uintptr_t)at;
  UOp **src = arena_new(g->arena, (size_t)u->nsrc * sizeof *src);
  if (!src) return NULL;
  for (int i = 0; i < u->nsrc; i++)
    if (!(src[i] = moved(g, done, u->src[i], from, to))) return NULL;
  UOp *r = resolved(g, u, src);
  return r && map_put(ctx_base(g->ctx), done, (uint64_t)(uintptr_t)u, (uint64_t)(uintptr_t)r) ? r : NULL;
}

/* The stores for r in begin..end, over a range from 0 on. */
static bool add_section(Codegen *g, int nstore, UOp *const *store, UOp *r, int64_t begin, int64_t end, Sections *out) {
  UOp *bound[2] = {uop_index(g->ctx, 0), uop_index(g->ctx, end - begin)};
  UOp *range = bound[0] && bound[1] ? uop_make(g->ctx, OP_RANGE, POLY_INT64, r->arg, 2, bound, 0, NULL) : NULL;
  UOp *to = range ? int_addc(range, begin) : NULL;
  UOp **list = arena_new(g->arena, (size_t)nstore * sizeof *list);
  bool ok = to && list;
  Map done = {0};
  for (int i = 0; ok && i < nstore; i++) {
    UOp *src[3 + 2 * MAX_DIMS];
    int n = store[i]->nsrc;
    list[i] = store[i];
    if (store[i]->src[n - 1] != r) continue; /* outside of the loop */
    for (int k = 0; k < n; k++) src[k] = k == n - 1 ? range : store[i]->src[k];
    src[1] = moved(g, &done, store[i]->src[1], r, to);
    src[2] = src[1] ? moved(g, &done, store[i]->src[2], r, to) : NULL;
    ok = src[2] && (list[i] = uop_make(g->ctx, OP_STORE, (PolyDType)store[i]->dtype, store[i]->arg, n, src, 0, NULL));
  }
  map_free(ctx_base(g->ctx), &done);
  out->range[out->n] = range;
  out->store[out->n++] = list;
  return ok;
}

bool find_sections(Codegen *g, int nstore, UOp **store, Sections *out) {
  int last = store[0]->nsrc - 1, n = 0;
  UOp *r = last >= 3 ? store[0]->src[last] : NULL;
  int64_t cut[MOST_SECTIONS];
  Walk walk;
  *out = (Sections){.n = 1, .range = {r}, .store = {store}};
  if (last < 4 || last >= 3 + 2 * MAX_DIMS || g->target->group > 1 || !g->target->vector_bytes || g->local.n)
    return true;
  if (r->src[1]->op != OP_CONST || !uop_is_int(r->src[0], 0) || r->src[1]->arg.i > MOST_COLUMNS) return true;
  if (!uop_walk(g->ctx, g->arena, nstore, store, NULL, NULL, &walk)) return false;
  if (!find_cuts(g, &walk, r, cut, &n)) return ctx_base(g->ctx)->code == POLY_OK;
  out->n = 0;
  for (int k = 0; k <= n; k++)
    if (!add_section(g, nstore, store, r, k ? cut[k - 1] : 0, k < n ? cut[k] : r->src[1]->arg.i, out)) return false;
  return true;
}
