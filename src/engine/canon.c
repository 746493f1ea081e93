/* canon.c: a graph without its data. In: roots whose leaves are buffers, bound sizes and constants. Out: the same
 * program over numbered placeholders and variables, and the list of what stands behind them.
 *
 *   ADD(BUFFER 17 (BIND n 5), DETACH(BUFFER 9 (BIND n 5)))   ->   ADD(BUFFER -1 (v0), BUFFER -2 (v0)),  v0 = 5
 *
 * Nodes are interned, so the next iteration of a training loop comes out as the very same pointers: they are the key of
 * its plan. */
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

typedef struct Work {
  PolyContext *ctx;
  Arena *arena;
  Walk walk;
  int *edge;  /* places of the sources of each node (and of the sizes of a stored one), */
  int *first; /* from first[i] to first[i + 1] */
  bool *keep; /* ASSIGNs that are written */
  bool *needed;
  UOp **made; /* canonical node */
  Canon *out;
  /* a traced step */
  bool traced;
  const Map *leaf, *constant; /* see canon_build_step */
  Map history;                /* nodes that can no longer be computed: what is stored is read */
  Map loops;                  /* id of a loop over steps -> its number here */
} Work;

bool canon_is_rng(const UOp *variable) { return strcmp(variable->arg.name, "rng") == 0; }

static bool listed(const Map *m, const UOp *u) { return m && map_get(m, (uintptr_t)u, NULL); }

/* A node that holds its value is a leaf. In a step that is so only for the memory of a tensor: an expression whose
 * value happens to be stored, because somebody computed the same, is computed in each run. */
static bool stored(const Work *w, const UOp *u) {
  if (u->op == OP_BUFFER) return true;
  if (!w->traced) return u->buffer != NULL;
  return (u->buffer && node_is_own(u)) || listed(w->leaf, u) || listed(&w->history, u);
}

/* BUFFERs are entered: their sources are their sizes. */
static bool stop(const UOp *u, void *user) { return u->op == OP_BIND || (u->op != OP_BUFFER && stored(user, u)); }

static bool const_shape(const UOp *u) {
  for (int d = 0; d < u->ndim; d++)
    if (u->shape[d]->op != OP_CONST) return false;
  return true;
}

/* Values of which a step can only use what is stored: the history of a tensor that was computed before its own inputs
 * were overwritten. */
static bool find_history(Work *w, int nroot, UOp *const *root) {
  Base *b = ctx_base(w->ctx);
  if (!uop_walk(w->ctx, w->arena, nroot, root, stop, w, &w->walk)) return false;
  bool *lost = arena_new(w->arena, (size_t)(w->walk.n + 1) * sizeof *lost);
  if (!lost) return false;
  for (int i = 0; i < w->walk.n; i++) {
    UOp *u = w->walk.at[i];
    if (stop(u, w) || u->op == OP_BUFFER) {
      lost[i] = u->buffer && u->buffer->stale;
      continue;
    }
    for (int k = u->op == OP_ASSIGN; k < u->nsrc && !lost[i]; k++) lost[i] = lost[u->src[k]->slot];
    if (!lost[i] || !u->buffer) continue;
    lost[i] = false;
    if (!map_put(b, &w->history, (uintptr_t)u, 1)) return false;
  }
  return true;
}

/* Sizes of stored nodes are not their sources. If some are not constant, a second walk lists them too, before all
 * users. */
static bool walk_all(Work *w, int nroot, UOp *const *root) {
  if (!uop_walk(w->ctx, w->arena, nroot, root, stop, w, &w->walk)) return false;
  int extra = 0;
  for (int i = 0; i < w->walk.n; i++) {
    UOp *u = w->walk.at[i];
    if (u->op != OP_BUFFER && stored(w, u) && !const_shape(u)) extra += u->ndim;
  }
  if (!extra) return true;
  UOp **all = arena_new(w->arena, (size_t)(extra + nroot) * sizeof *all);
  if (!all) return false;
  int n = 0;
  for (int i = 0; i < w->walk.n; i++) {
    UOp *u = w->walk.at[i];
    if (u->op != OP_BUFFER && stored(w, u) && !const_shape(u))
      for (int d = 0; d < u->ndim; d++) all[n++] = u->shape[d];
  }
  memcpy(all + n, root, (size_t)nroot * sizeof *all);
  return uop_walk(w->ctx, w->arena, n + nroot, all, stop, w, &w->walk);
}

static UOp *const *edges_of(const Work *w, const UOp *u, int *n) {
  if (u->op == OP_BIND) {
    *n = 0;
    return NULL;
  }
  bool leaf = stored(w, u);
  *n = leaf ? u->ndim : u->nsrc;
  return leaf ? u->shape : u->src;
}

/* Places are copied out of the nodes, because builders may walk as well. */
static bool index_edges(Work *w) {
  int total = 0, n;
  for (int i = 0; i < w->walk.n; i++) {
    edges_of(w, w->walk.at[i], &n);
    total += n;
  }
  w->first = arena_new(w->arena, (size_t)(w->walk.n + 1) * sizeof(int));
  w->edge = arena_new(w->arena, (size_t)(total + 1) * sizeof(int));
  if (!w->first || !w->edge) return false;
  total = 0;
  for (int i = 0; i < w->walk.n; i++) {
    UOp *const *src = edges_of(w, w->walk.at[i], &n);
    w->first[i] = total;
    for (int k = 0; k < n; k++) w->edge[total++] = src[k]->epoch == w->walk.epoch ? src[k]->slot : -1;
  }
  w->first[w->walk.n] = total;
  return true;
}

/* What the roots need: of an ASSIGN that is not written only its value, and so of a FUNCTION. */
static void mark_needed(Work *w) {
  for (int i = w->walk.n; i-- > 0;) {
    if (!w->needed[i]) continue;
    UOp *u = w->walk.at[i];
    bool value_only = u->op == OP_ASSIGN && !stored(w, u) && !w->keep[i];
    int end = u->op == OP_FUNCTION && !stored(w, u) ? w->first[i] + 1 : w->first[i + 1];
    for (int e = w->first[i] + value_only; e < end; e++)
      if (w->edge[e] >= 0) w->needed[w->edge[e]] = true;
  }
}

static UOp *variable(Work *w, UOp *bind) {
  Canon *c = w->out;
  UOp *own = bind->src[0];
  for (int k = 0; k < c->nvar; k++)
    if (c->bound[k] == bind) return c->var[k];
  char name[16];
  snprintf(name, sizeof name, "v%d", c->nvar);
  UOp *v = uop_variable(w->ctx, name, own->arg.i, own->arg.j);
  if (!v) return NULL;
  c->bound[c->nvar] = bind;
  c->value[c->nvar] = const_int(bind->src[1]);
  return c->var[c->nvar++] = v;
}

static UOp *placeholder(Work *w, UOp *u, UOp *const *shape) {
  Canon *c = w->out;
  UArg arg = {.i = -(c->ninput + 1)};
  UOp *p = uop_make(w->ctx, OP_BUFFER, (PolyDType)u->dtype, arg, u->ndim, shape, u->ndim, shape);
  if (!p) return NULL;
  c->place[c->ninput] = p;
  c->input[c->ninput++] = u;
  return p;
}

/* Loops, and the arguments of their bodies, are numbered in the order in which they are met. */
static UOp *renumbered(Work *w, const UOp *u, UOp *const *src) {
  uint64_t number;
  if (!map_get(&w->loops, (uint64_t)u->arg.i, &number)) {
    number = (uint64_t)w->loops.n + 1;
    if (!map_put(ctx_base(w->ctx), &w->loops, (uint64_t)u->arg.i, number)) return NULL;
  }
  UArg arg = {.i = -(int64_t)number, .j = u->arg.j};
  return uop_make(w->ctx, (Op)u->op, (PolyDType)u->dtype, arg, u->nsrc, src, u->ndim, src);
}

/* The same node over other sources. Not a pass of the rewrite driver: what a leaf becomes depends on the order in which
 * leaves are met, and each run of a program comes by here. Nodes with constant sizes need no inference; integers are
 * simplified again. */
static UOp *rebuild(UOp *u, UOp *const *src) {
  bool integer = u->ndim == 0 && !dtype_is_float((PolyDType)u->dtype);
  UOp *made = integer || !const_shape(u)
                  ? uop_with_sources(u, src)
                  : uop_make(u->ctx, (Op)u->op, (PolyDType)u->dtype, u->arg, u->nsrc, src, u->ndim, u->shape);
  if (made) made->origin = u->origin;
  return made;
}

static UOp *make_node(Work *w, int i) {
  UOp *u = w->walk.at[i];
  int n;
  UOp *const *old = edges_of(w, u, &n);
  UOp *small[8 + 2 * MAX_DIMS], **src = small;
  if (n > LEN(small) && !(src = arena_new(w->arena, (size_t)n * sizeof *src))) return NULL;
  bool changed = false;
  for (int k = 0; k < n; k++) {
    int at = w->edge[w->first[i] + k];
    src[k] = at >= 0 && w->made[at] ? w->made[at] : old[k];
    changed |= src[k] != old[k];
  }
  if (stored(w, u)) return placeholder(w, u, src);
  switch (u->op) {
  case OP_BIND: return variable(w, u);
  case OP_VARIABLE:
    return fail_null(&w->ctx->base, POLY_ERROR_VALUE, "variable %s has no value in this computation", u->arg.name);
  case OP_DETACH:
  case OP_FUNCTION: return src[0];
  case OP_ASSIGN:
    if (!w->keep[i]) return src[1];
    break;
  case OP_ARGUMENT:
  case OP_SCAN: return renumbered(w, u, src);
  case OP_CONTIGUOUS: return listed(w->constant, u) ? src[0] : uop_contiguous(src[0], 0);
  default: break;
  }
  return changed ? rebuild(u, src) : u;
}

static bool new_lists(Work *w) {
  size_t n = (size_t)w->walk.n + 1;
  Canon *c = w->out;
  w->keep = arena_new(w->arena, n * sizeof(bool));
  w->needed = arena_new(w->arena, n * sizeof(bool));
  w->made = arena_new(w->arena, n * sizeof(UOp *));
  c->input = arena_new(w->arena, n * sizeof(UOp *));
  c->place = arena_new(w->arena, n * sizeof(UOp *));
  c->var = arena_new(w->arena, n * sizeof(UOp *));
  c->bound = arena_new(w->arena, n * sizeof(UOp *));
  c->value = arena_new(w->arena, n * sizeof(int64_t));
  return w->keep && w->needed && w->made && c->input && c->place && c->var && c->bound && c->value;
}

static bool build(Work *w, int nroot, UOp *const *root, const bool *inplace) {
  Arena *arena = w->arena;
  Canon *out = w->out;
  if (!walk_all(w, nroot, root) || !index_edges(w) || !new_lists(w)) return false;
  int *place = arena_new(arena, (size_t)(nroot + 1) * sizeof(int));
  out->root = arena_new(arena, (size_t)(nroot + 1) * sizeof(UOp *));
  if (!place || !out->root) return false;
  for (int r = 0; r < nroot; r++) {
    place[r] = root[r]->slot;
    w->needed[place[r]] = true;
    if (inplace && inplace[r]) w->keep[place[r]] = true;
  }
  mark_needed(w);
  for (int i = 0; i < w->walk.n; i++)
    if (w->needed[i] && !(w->made[i] = make_node(w, i))) return false;
  for (int r = 0; r < nroot; r++) out->root[r] = w->made[place[r]];
  return true;
}

bool canon_build(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, const bool *inplace, Canon *out) {
  *out = (Canon){.nroot = nroot};
  Work w = {.ctx = ctx, .arena = arena, .out = out};
  bool ok = build(&w, nroot, root, inplace);
  map_free(ctx_base(ctx), &w.loops);
  return ok;
}

bool canon_build_step(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, const bool *inplace, const Map *leaf,
                      const Map *constant, Canon *out) {
  *out = (Canon){.nroot = nroot};
  Work w = {.ctx = ctx, .arena = arena, .out = out, .traced = true, .leaf = leaf, .constant = constant};
  bool ok = find_history(&w, nroot, root) && build(&w, nroot, root, inplace);
  map_free(ctx_base(ctx), &w.history);
  map_free(ctx_base(ctx), &w.loops);
  return ok;
}
