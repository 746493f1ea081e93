/* merge.c: RANGEs i of size I and j of size J, j directly inside i, become one RANGE of I*J when every index uses them
 * as i*J + j. A contiguous elementwise kernel of any rank becomes one flat loop, and so does a reduction of everything.
 *
 *   x[i*J + j] + y[i*J + j]  over i, j      ->      x[r] + y[r]  over r */
#include "codegen/block.h"

#include "ir/context.h"

enum { MAX_TERMS = 64 };

typedef struct Merge {
  PolyContext *ctx;
  Arena *arena;
  Map ranges;         /* memo of occurring */
  UOp *outer, *inner; /* the pair under test */
  Map seen;           /* int expressions that passed */
} Merge;

/* Ranges that occur below u, those of reductions included. */
static uint64_t occurring(Merge *m, UOp *u) {
  uint64_t set;
  if (map_get(&m->ranges, (uint64_t)(uintptr_t)u, &set)) return set;
  set = u->op == OP_RANGE ? 1ull << u->arg.i : 0;
  for (int i = 0; i < u->nsrc; i++) set |= occurring(m, u->src[i]);
  map_put(&m->ctx->base, &m->ranges, (uint64_t)(uintptr_t)u, set);
  return set;
}

static bool depends_on_pair(Merge *m, UOp *u) {
  return occurring(m, u) & ((1ull << m->outer->arg.i) | (1ull << m->inner->arg.i));
}

static bool fits(Merge *m, UOp *u);

/* An index: its direct terms in the pair must be J*c of the outer and c of the inner range. */
static bool index_fits(Merge *m, UOp *u) {
  UOp *term[MAX_TERMS];
  int64_t coef[MAX_TERMS], constant, co = 0, ci = 0;
  int n = int_terms(u, MAX_TERMS, term, coef, &constant);
  if (n < 0) return false;
  for (int i = 0; i < n; i++) {
    if (term[i] == m->outer)
      co = coef[i];
    else if (term[i] == m->inner)
      ci = coef[i];
    else if (depends_on_pair(m, term[i]) && !fits(m, term[i]))
      return false;
  }
  return co == ci * m->inner->src[1]->arg.i;
}

static bool is_index(const UOp *u) {
  if (u->dtype != POLY_INT64) return false;
  return u->op == OP_ADD || u->op == OP_MUL || u->op == OP_RANGE;
}

/* A node that is no sum or product itself: all its sources must fit. */
static bool fits(Merge *m, UOp *u) {
  if (!depends_on_pair(m, u)) return true;
  if (map_get(&m->seen, (uint64_t)(uintptr_t)u, NULL)) return true;
  if (u->op == OP_MUL && u->dtype == POLY_INT64 && is_index(u->src[0]) && is_index(u->src[1])) return false;
  int first_range = u->op == OP_STORE ? 3 : u->op == OP_LOOP ? 1 : u->nsrc;
  for (int i = 0; i < first_range; i++) {
    UOp *s = u->src[i];
    if (!(is_index(s) ? index_fits(m, s) : fits(m, s))) return false;
  }
  for (int i = first_range; i < u->nsrc; i++) { /* both or none, next to each other */
    bool o = u->src[i] == m->outer, next = i + 1 < u->nsrc && u->src[i + 1] == m->inner;
    bool in = u->src[i] == m->inner, before = i > first_range && u->src[i - 1] == m->outer;
    if (o != (o && next) || in != (in && before)) return false;
    for (int k = 0; k < 2; k++)
      if (u->src[i] != m->inner && u->src[i] != m->outer && depends_on_pair(m, u->src[i]->src[k]) &&
          !fits(m, u->src[i]->src[k]))
        return false;
  }
  return map_put(&m->ctx->base, &m->seen, (uint64_t)(uintptr_t)u, 1);
}

/* The DAG with outer -> 0 and inner -> merged. Not a pass of the rewrite driver: sources of STORE and LOOP are left
 * out, which no rule on one node can do. */
static UOp *replace(Merge *m, Map *done, UOp *u, UOp *merged) {
  uint64_t at;
  if (u == m->inner) return merged;
  if (u == m->outer) return uop_index(m->ctx, 0);
  if (!u->nsrc) return u;
  if (map_get(done, (uint64_t)(uintptr_t)u, &at)) return (UOp *)(uintptr_t)at;
  UOp **src = arena_new(m->arena, (size_t)u->nsrc * sizeof *src);
  if (!src) return NULL;
  int n = 0;
  bool same = true, lists = u->op == OP_STORE || u->op == OP_LOOP;
  for (int i = 0; i < u->nsrc; i++) {
    if (lists && u->src[i] == m->outer) {
      same = false;
      continue;
    }
    src[n] = replace(m, done, u->src[i], merged);
    if (!src[n]) return NULL;
    same &= src[n] == u->src[i];
    n++;
  }
  UOp *r = u;
  if (!same) {
    bool kernel = op_info[u->op].cls == CLASS_KERNEL;
    r = kernel ? uop_make(m->ctx, (Op)u->op, (PolyDType)u->dtype, u->arg, n, src, 0, NULL) : uop_with_sources(u, src);
  }
  if (!r || !map_put(&m->ctx->base, done, (uint64_t)(uintptr_t)u, (uint64_t)(uintptr_t)r)) return NULL;
  return r;
}

static bool try_pair(Merge *m, int nstore, UOp **store, bool *merged) {
  *merged = false;
  UOp *size = m->inner->src[1];
  if (size->op != OP_CONST || !uop_is_int(m->inner->src[0], 0) || !uop_is_int(m->outer->src[0], 0)) return true;
  bool ok = true;
  for (int i = 0; ok && i < nstore; i++) ok = fits(m, store[i]);
  map_free(&m->ctx->base, &m->seen);
  if (!ok || m->ctx->base.code != POLY_OK) return m->ctx->base.code == POLY_OK;
  UOp *src[2] = {uop_index(m->ctx, 0), int_mul(m->outer->src[1], size)};
  UOp *r = uop_make(m->ctx, OP_RANGE, POLY_INT64, (UArg){.i = m->outer->arg.i}, 2, src, 0, NULL);
  Map done = {0};
  for (int i = 0; r && i < nstore; i++) {
    UOp *s = replace(m, &done, store[i], r);
    if (!s)
      r = NULL;
    else
      store[i] = s;
  }
  map_free(&m->ctx->base, &done);
  *merged = r != NULL;
  return r != NULL;
}

/* Tries each neighbouring pair of the lists below u, innermost first. Returns false only when memory runs out. */
static bool merge_lists(Merge *m, int nstore, UOp **store, bool *any) {
  Walk walk;
  *any = false;
  if (!uop_walk(m->ctx, m->arena, nstore, store, NULL, NULL, &walk)) return false;
  for (int i = walk.n; i-- > 0;) {
    UOp *u = walk.at[i];
    int first = u->op == OP_STORE ? 3 : u->op == OP_LOOP ? 1 : u->nsrc;
    for (int k = u->nsrc - 1; k > first; k--) {
      m->outer = u->src[k - 1];
      m->inner = u->src[k];
      if (!try_pair(m, nstore, store, any)) return false;
      if (*any) return true;
    }
  }
  return true;
}

bool merge_ranges(PolyContext *ctx, Arena *arena, int nstore, UOp **store) {
  Merge m = {.ctx = ctx, .arena = arena};
  bool any = true, ok = true;
  while (ok && any) ok = merge_lists(&m, nstore, store, &any);
  map_free(&ctx->base, &m.ranges);
  map_free(&ctx->base, &m.seen);
  return ok;
}
