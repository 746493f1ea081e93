/* shared.c: values of a row that two loops need are computed once. In: the STORE nodes of a kernel. Out: the same with
 * one more, into a local array.
 *
 *   for i:                                        for i:
 *     m = max of x[i, k]                            m = max of x[i, k]
 *     s = sum over k of exp(x[i, k] - m)            s = sum over k of t[k] = exp(x[i, k] - m)
 *     for j: y[i, j] = exp(x[i, j] - m) / s         for j: y[i, j] = t[j] / s
 *
 * It is done for functions, which take much longer than a load from the cache, where lanes go along the row: all memory
 * that they read is contiguous there. The numbers are the same. */
#include "codegen/block.h"

#include "ir/context.h"

typedef struct Shared {
  Codegen *g;
  Walk walk;
  uint64_t outer; /* the output loops around the innermost one, */
  UOp *j;         /* and that one */
} Shared;

static bool is_costly(const Shared *s, const UOp *u) {
  const CostTable *cost = &s->g->target->cost;
  return (u->dtype == POLY_FLOAT32 || u->dtype == POLY_FLOAT64) && op_elementwise((Op)u->op) &&
         cost->op[op_info[u->op].cost] >= cost->op[COST_FUNCTION];
}

/* Is all of u that varies with r elementwise work on memory that is contiguous along it? */
static bool is_contiguous(Shared *s, UOp *u, const UOp *r, Map *seen) {
  Codegen *g = s->g;
  if (!(block_ranges(g, u) & (1ull << r->arg.i)) || map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return true;
  if (!map_put(ctx_base(g->ctx), seen, (uint64_t)(uintptr_t)u, 1)) return false;
  if (u->op == OP_LOAD) return u->nsrc == 2 && block_stride(g, u->src[1], r) == 1;
  if (!op_elementwise((Op)u->op)) return false;
  for (int i = 0; i < u->nsrc; i++)
    if (!is_contiguous(s, u->src[i], r, seen)) return false;
  return true;
}

/* u, with what `done` has for its nodes. */
static UOp *replaced(Shared *s, Map *done, UOp *u) {
  Codegen *g = s->g;
  uint64_t at;
  if (map_get(done, (uint64_t)(uintptr_t)u, &at)) return (UOp *)(uintptr_t)at;
  UOp **src = arena_new(g->arena, (size_t)MAX(u->nsrc, 1) * sizeof *src), *r = u;
  bool same = true;
  for (int i = 0; src && i < u->nsrc; i++) {
    if (!(src[i] = replaced(s, done, u->src[i]))) return NULL;
    same &= src[i] == u->src[i];
  }
  if (!src) return NULL;
  if (!same && op_info[u->op].cls == CLASS_KERNEL)
    r = uop_make(g->ctx, (Op)u->op, (PolyDType)u->dtype, u->arg, u->nsrc, src, 0, NULL);
  else if (!same)
    r = uop_with_sources(u, src);
  return r && map_put(ctx_base(g->ctx), done, (uint64_t)(uintptr_t)u, (uint64_t)(uintptr_t)r) ? r : NULL;
}

static bool put(Shared *s, Map *done, const UOp *from, const UOp *to) {
  return to && map_put(ctx_base(s->g->ctx), done, (uint64_t)(uintptr_t)from, (uint64_t)(uintptr_t)to);
}

/* v at iteration k instead of j. */
static UOp *at_range(Shared *s, UOp *v, UOp *k) {
  Map done = {0};
  UOp *u = put(s, &done, s->j, k) ? replaced(s, &done, v) : NULL;
  map_free(ctx_base(s->g->ctx), &done);
  return u;
}

static bool reaches(Shared *s, UOp *u, const UOp *what, Map *seen) {
  if (u == what) return true;
  if (map_get(seen, (uint64_t)(uintptr_t)u, NULL)) return false;
  if (!map_put(ctx_base(s->g->ctx), seen, (uint64_t)(uintptr_t)u, 1)) return false;
  for (int i = 0; i < u->nsrc; i++)
    if (reaches(s, u->src[i], what, seen)) return true;
  return false;
}

/* A reduction over a row as long as the output's, once for each row. */
static bool is_row(Shared *s, UOp *loop) {
  if (loop->op != OP_LOOP || loop->nsrc != 2 || (block_ranges(s->g, loop) & ~RANGES_LOAD) != s->outer) return false;
  const UOp *k = loop->src[1];
  return k != s->j && uop_is_int(k->src[0], 0) && k->src[1] == s->j->src[1];
}

/* Do only reductions of whole rows need u? */
static bool rows_alone(Shared *s, const UOp *u) {
  for (int i = 0; i < s->walk.n; i++) {
    UOp *loop = s->walk.at[i];
    if (loop->op != OP_LOOP || is_row(s, loop)) continue;
    Map seen = {0};
    bool needs = reaches(s, loop, u, &seen);
    map_free(ctx_base(s->g->ctx), &seen);
    if (needs) return false;
  }
  return true;
}

/* The last function of the row that a reduction needs as well: `v` of the output loop, `u` of the reduction's. */
static bool find_shared(Shared *s, UOp **u, UOp **v, UOp **loop) {
  for (int i = s->walk.n; i-- > 0;) {
    *v = s->walk.at[i];
    Map seen = {0};
    bool fits = is_costly(s, *v) && block_ranges(s->g, *v) & (1ull << s->j->arg.i) && is_contiguous(s, *v, s->j, &seen);
    map_free(ctx_base(s->g->ctx), &seen);
    for (int k = 0; fits && k < s->walk.n; k++) {
      *loop = s->walk.at[k];
      if (!is_row(s, *loop) || !(*u = at_range(s, *v, (*loop)->src[1]))) continue;
      Map below = {0};
      bool needs = reaches(s, (*loop)->src[0], *u, &below);
      map_free(ctx_base(s->g->ctx), &below);
      if (needs && rows_alone(s, *u)) return true;
    }
  }
  return false;
}

/* What is loaded depends on the loops around the row, by which the array was filled. */
static UOp *load_of(Shared *s, UOp *array, UOp *range) {
  UOp *src[2] = {array, range};
  UOp *load = array ? uop_make(s->g->ctx, OP_LOAD, (PolyDType)array->dtype, (UArg){0}, 2, src, 0, NULL) : NULL;
  uint64_t ranges = s->outer | 1ull << range->arg.i | RANGES_LOAD;
  return load && map_put(ctx_base(s->g->ctx), &s->g->ranges, (uint64_t)(uintptr_t)load, ranges) ? load : NULL;
}

/* A local array of a row, and the stores with loads of it; what fills it comes last. */
static bool store_row(Shared *s, int *nstore, UOp **store, UOp *u, UOp *v, UOp *loop) {
  Codegen *g = s->g;
  UOp *k = loop->src[1], *src[3 + MAX_DIMS];
  LinearParam p = {.dtype = u->dtype, .written = true, .read = true, .local = k->src[1]->vmax};
  if (!vec_push(ctx_base(g->ctx), &g->local, p)) return false;
  UOp *array =
      uop_make(g->ctx, OP_PARAM, (PolyDType)u->dtype, (UArg){.i = g->nargs + g->local.n - 1}, 0, NULL, 0, NULL);
  Map done = {0};
  bool ok = put(s, &done, u, load_of(s, array, k)) && put(s, &done, v, load_of(s, array, s->j));
  for (int i = 0; ok && i < *nstore; i++) ok = (store[i] = replaced(s, &done, store[i])) != NULL;
  map_free(ctx_base(g->ctx), &done);
  int n = store[0] ? store[0]->nsrc : 0;
  src[0] = array;
  src[1] = u;
  src[2] = src[n - 1] = k;
  for (int i = 3; ok && i < n - 1; i++) src[i] = store[0]->src[i];
  UOp *fill = ok ? uop_make(g->ctx, OP_STORE, (PolyDType)u->dtype, (UArg){0}, n, src, 0, NULL) : NULL;
  if (fill) store[(*nstore)++] = fill;
  return fill != NULL;
}

bool share_values(Codegen *g, int *nstore, UOp **store) {
  enum { LEAST_ROWS = 8, MOST_BYTES = 128 << 10 }; /* from LEAST_ROWS on rows go to threads: shape.c */
  const UOp *first = store[0];
  Shared s = {.g = g, .j = first->nsrc > 4 ? first->src[first->nsrc - 1] : NULL};
  if (!s.j || g->target->group > 1 || !g->target->vector_bytes || g->loops.n < 1 || first->nsrc > 3 + MAX_DIMS)
    return true;
  const UOp *size = s.j->src[1];
  bool rows = false, fits = size->op == OP_CONST && uop_is_int(s.j->src[0], 0);
  if (!fits || size->vmax < 2 * g->target->lanes || size->vmax > MOST_BYTES / 8) return true;
  for (int i = 3; i < first->nsrc - 1; i++) {
    const UOp *r = first->src[i];
    s.outer |= 1ull << r->arg.i;
    rows |= r->src[1]->op == OP_CONST && uop_is_int(r->src[0], 0) && r->src[1]->vmax >= LEAST_ROWS;
  }
  for (int i = 0; i < *nstore; i++)
    if (store[i]->nsrc > first->nsrc ||
        (store[i]->nsrc > 3 && store[i]->src[store[i]->nsrc - 1] != first->src[store[i]->nsrc - 1]))
      return true; /* it stores from inside a reduction already */
  UOp *u, *v, *loop;
  if (!rows || !uop_walk(g->ctx, g->arena, *nstore, store, NULL, NULL, &s.walk)) return !rows;
  return !find_shared(&s, &u, &v, &loop) || store_row(&s, nstore, store, u, v, loop);
}
