/* keep.c: work that does not change from step to step is done once. In: the nodes that are about to be computed. Out:
 * some of the nodes below them have their value stored.
 *
 *   loss(relu(aggregate(x) @ w1) @ w2)      aggregate(x) is the same in every step: x is data, w1 and w2 are assigned
 *
 * Nodes are interned, and memory that is assigned gets another node. So a node whose leaves are memory has one value
 * for ever: an expression that is built again on the same data is the same node, and on data that were written since
 * it is another one. What has been seen a few times below something that does change is computed by itself, and its
 * node is held with its value; everything that is built on it then reads memory (see canon.c). Nothing has to be
 * invalidated, values are only given back: when their data are gone, when they have not been used for a while, when
 * there are too many.
 *
 * What counts as work are sums over edges and axes and library routines; elementwise work is as cheap as reading. The
 * nodes that somebody asks for are never kept, so that a program that is run again is computed again. Memory that is
 * known outside may change without notice: what is made of it is not kept. */
#include "engine/engine.h"

#include <string.h>

enum {
  KEEP_AFTER = 3,      /* times that an expression is met before it is kept: a plan without it must be compiled */
  KEEP_UNUSED = 64,    /* looks at programs after which a value that none of them used is given back */
  KEEP_MOST = 64,      /* values */
  LEAST_WORK = 1 << 18 /* elements that are added up: some 50 us of a core */
};

typedef struct Look {
  PolyContext *ctx;
  Engine *e;
  Walk w;
  uint64_t *hash;
  double *work;
  bool *constant, *visited;
  UOp *chosen[KEEP_MOST];
  int nchosen;
  bool again; /* something was met that was met before */
} Look;

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

static bool is_value(const UOp *u, void *user) {
  (void)user;
  return u->buffer || u->op == OP_BUFFER || u->op == OP_BIND;
}

static double elements(const UOp *u) {
  size_t bytes;
  if (!uop_bytes(u, &bytes)) return 0;
  return (double)bytes / dtype_size((PolyDType)u->dtype);
}

static bool is_kept(const Engine *e, const UOp *u) {
  for (int i = 0; i < e->kept.n; i++)
    if (e->kept.at[i].u == u) return true;
  return false;
}

/* A size, or memory that was there when the last program was looked at: parameters get another node at each step. */
static bool leaf_is_constant(const Engine *e, const UOp *u, uint64_t *hash) {
  if (u->op == OP_BIND) {
    *hash = mix((uintptr_t)u->src[0]->arg.name, (uint64_t)const_int(u->src[1]));
    return !canon_is_rng(u->src[0]);
  }
  bool memory = u->op == OP_BUFFER;
  *hash = memory ? mix(1, (uint64_t)u->arg.i) : mix(2, (uintptr_t)u);
  if (memory ? u->arg.i > e->keep_before : !is_kept(e, u)) return false;
  const PolyBuffer *b = u->buffer;
  return b && !b->stale && !b->exposed && !b->borrowed && !b->of;
}

static bool may_be_constant(const UOp *u) {
  if (node_is_unique(u) || u->op == OP_ASSIGN) return false;
  return u->op != OP_CONTIGUOUS || u->arg.i == 0;
}

static double own_work(const UOp *u) {
  if (u->op != OP_REDUCE && u->op != OP_SEGMENT && u->op != OP_LIBRARY) return 0;
  return u->nsrc ? elements(u->src[0]) : 0;
}

/* Sources come before users. Work is the largest on any way down, which is no less than half of all where it matters.
 */
static void mark_constants(Look *l) {
  for (int i = 0; i < l->w.n; i++) {
    const UOp *u = l->w.at[i];
    if (is_value(u, NULL)) {
      l->constant[i] = leaf_is_constant(l->e, u, &l->hash[i]);
      continue;
    }
    uint64_t h =
        mix(mix(mix(u->op, (uint64_t)u->dtype << 32 | (uint64_t)u->nsrc), (uint64_t)u->arg.i), (uint64_t)u->arg.j);
    bool all = may_be_constant(u);
    double below = 0;
    for (int k = 0; k < u->nsrc && all; k++) {
      int at = u->src[k]->slot;
      all = l->constant[at];
      h = mix(h, l->hash[at]);
      if (l->work[at] > below) below = l->work[at];
    }
    l->constant[i] = all;
    l->hash[i] = mix(h, (uintptr_t)u->arg.name);
    if (all) l->work[i] = below + own_work(u);
  }
}

/* Has the expression been met often enough by now? */
static bool met(Look *l, uint64_t hash) {
  Engine *e = l->e;
  int at = (int)(hash % KEEP_SEEN);
  if (e->keep_seen[at] != hash) {
    e->keep_seen[at] = hash;
    e->keep_times[at] = 1;
    return false;
  }
  l->again |= e->keep_times[at] < KEEP_AFTER;
  if (e->keep_times[at] < KEEP_AFTER) e->keep_times[at]++;
  return e->keep_times[at] == KEEP_AFTER;
}

/* Chooses u, or what it is made of if u itself is mostly larger than the work in it. */
static void consider(Look *l, UOp *u) {
  int at = u->slot;
  if (l->visited[at] || is_value(u, NULL) || l->work[at] < LEAST_WORK) return;
  l->visited[at] = true;
  Op op = (Op)u->op;
  bool sum = op == OP_REDUCE || op == OP_SEGMENT || op == OP_LIBRARY;
  bool through = op == OP_DETACH || op == OP_FUNCTION || op == OP_GATHER || op == OP_ENDPOINT || op == OP_CAT ||
                 op == OP_CONTIGUOUS || op_info[op].cls == CLASS_MOVE;
  if (!sum && (through || l->work[at] < 2 * elements(u))) {
    for (int k = 0; k < uop_nvalue(u); k++) consider(l, u->src[k]);
    return;
  }
  if (met(l, l->hash[at]) && l->nchosen < KEEP_MOST) l->chosen[l->nchosen++] = uop_retain(u);
}

static bool look(Look *l, Arena *arena, int n, UOp *const *root) {
  if (!uop_walk(l->ctx, arena, n, root, is_value, NULL, &l->w)) return false;
  size_t size = (size_t)l->w.n + 1;
  l->hash = arena_new(arena, size * sizeof *l->hash);
  l->work = arena_new(arena, size * sizeof *l->work);
  l->constant = arena_new(arena, size);
  l->visited = arena_new(arena, size);
  if (!l->hash || !l->work || !l->constant || !l->visited) return false;
  mark_constants(l);
  for (int r = 0; r < n; r++) l->visited[root[r]->slot] = true;
  for (int i = 0; i < l->w.n; i++) {
    if (l->constant[i]) continue;
    for (int k = 0; !is_value(l->w.at[i], NULL) && k < l->w.at[i]->nsrc; k++)
      if (l->constant[l->w.at[i]->src[k]->slot]) consider(l, l->w.at[i]->src[k]);
  }
  for (int i = 0; i < l->e->kept.n; i++)
    if (l->e->kept.at[i].u->epoch == l->w.epoch) l->e->kept.at[i].used = l->e->keep_clock;
  return true;
}

/* ---- what is kept ---- */

static void give_back(Engine *e, int i) {
  e->keep_bytes -= e->kept.at[i].bytes;
  UOp *u = e->kept.at[i].u;
  e->kept.at[i] = e->kept.at[--e->kept.n];
  uop_release(u); /* a program that somebody holds may still read its value */
}

/* Is memory that u was computed from gone for everybody but u? */
static bool data_are_gone(PolyContext *ctx, const UOp *u) {
  Arena arena = {.b = ctx_base(ctx)};
  Walk w;
  bool gone = false, ok = uop_walk(ctx, &arena, u->nsrc, u->src, is_value, NULL, &w);
  int *inside = ok ? arena_new(&arena, (size_t)(w.n + 1) * sizeof *inside) : NULL;
  for (int k = 0; inside && k < u->nsrc; k++) inside[u->src[k]->slot]++;
  for (int i = 0; inside && i < w.n; i++)
    for (int k = 0; !is_value(w.at[i], NULL) && k < w.at[i]->nsrc; k++) inside[w.at[i]->src[k]->slot]++;
  for (int i = 0; inside && i < w.n && !gone; i++) {
    const UOp *v = w.at[i];
    if (v->op == OP_BUFFER) gone = (v->buffer && v->buffer->stale) || (int)v->refs <= inside[i];
  }
  arena_free(&arena);
  return gone;
}

static void tidy(PolyContext *ctx) {
  Engine *e = ctx->engine;
  for (int i = e->kept.n; i-- > 0;) {
    const Kept *k = &e->kept.at[i];
    if (!k->u->buffer || k->used + KEEP_UNUSED < e->keep_clock || data_are_gone(ctx, k->u)) give_back(e, i);
  }
}

static bool make_room(Engine *e, size_t bytes) {
  while (e->kept.n && (e->kept.n >= KEEP_MOST || e->keep_bytes + bytes > e->keep_limit)) {
    int oldest = 0;
    for (int i = 1; i < e->kept.n; i++)
      if (e->kept.at[i].used < e->kept.at[oldest].used) oldest = i;
    if (e->kept.at[oldest].used == e->keep_clock) return false; /* this very program uses it */
    give_back(e, oldest);
  }
  return e->keep_bytes + bytes <= e->keep_limit;
}

static void never(Engine *e, uint64_t hash) { e->keep_times[hash % KEEP_SEEN] = KEEP_AFTER + 1; }

/* Computes u and holds it. What cannot be computed by itself is left to the program that it is part of, with its
 * errors. */
static bool keep(PolyContext *ctx, UOp *u, uint64_t hash) {
  Engine *e = ctx->engine;
  Base *b = ctx_base(ctx);
  size_t bytes;
  if (u->buffer || !uop_bytes(u, &bytes) || !make_room(e, bytes)) return true;
  PolyTensor *t = tensor_wrap(ctx, u);
  bool ok = t && realize_handles(ctx, 1, &t);
  if (t) poly_free(t);
  if (!ok && b->passing) return false;
  if (!ok) base_clear(b);
  if (!ok || !u->buffer || !vec_push(b, &e->kept, ((Kept){uop_retain(u), bytes, e->keep_clock}))) {
    never(e, hash);
    return true;
  }
  e->keep_bytes += bytes;
  return true;
}

bool keep_constants(PolyContext *ctx, int n, UOp *const *root) {
  Engine *e = ctx->engine;
  if (!e->keep_limit || e->keeping || ctx->tracing) return true;
  if (e->keep_wait > 0) return e->keep_wait--, true;
  Arena arena = {.b = ctx_base(ctx)};
  Look l = {.ctx = ctx, .e = e};
  e->keep_clock++;
  e->keeping = true;
  bool ok = look(&l, &arena, n, root);
  /* Programs in which nothing comes again are looked at ever less often, at uneven distances. */
  e->keep_barren = l.again || l.nchosen ? 0 : MIN(e->keep_barren + 1, 7);
  e->keep_wait = (int)(mix(e->keep_clock, 7) >> 32) % (e->keep_barren + 1);
  uint64_t hash[KEEP_MOST];
  for (int i = 0; i < l.nchosen; i++) hash[i] = l.hash[l.chosen[i]->slot];
  for (int i = 0; i < l.nchosen; i++) {
    ok = ok && keep(ctx, l.chosen[i], hash[i]);
    uop_release(l.chosen[i]);
  }
  if (e->kept.n) tidy(ctx);
  e->keep_before = ctx->unique;
  e->keeping = false;
  arena_free(&arena);
  return ok;
}

void keep_free(PolyContext *ctx) {
  Engine *e = ctx->engine;
  while (e->kept.n) give_back(e, e->kept.n - 1);
  vec_free(ctx_base(ctx), &e->kept);
}
