/* scan.c: loops over steps as nodes: building them, and what is inside and outside of a body. See scan.h. */
#include "ir/scan.h"

#include "ir/context.h"

#include <string.h>

/* ---- parts ---- */

enum { CARRY_BITS = 12, ROW_BITS = 14, OUT_BITS = 14 };

static int64_t pack(const Scan *s) {
  return s->ncarry | (int64_t)s->nx << CARRY_BITS | (int64_t)s->nout << (CARRY_BITS + ROW_BITS) |
         (int64_t)s->reverse << (CARRY_BITS + ROW_BITS + OUT_BITS) |
         (int64_t)s->recompute << (CARRY_BITS + ROW_BITS + OUT_BITS + 1);
}

Scan scan_counts(UArg arg, int nsrc) {
  uint64_t j = (uint64_t)arg.j;
  Scan s = {.id = arg.i,
            .ncarry = (int)(j & ((1 << CARRY_BITS) - 1)),
            .nx = (int)(j >> CARRY_BITS & ((1 << ROW_BITS) - 1)),
            .nout = (int)(j >> (CARRY_BITS + ROW_BITS) & ((1 << OUT_BITS) - 1)),
            .reverse = j >> (CARRY_BITS + ROW_BITS + OUT_BITS) & 1,
            .recompute = j >> (CARRY_BITS + ROW_BITS + OUT_BITS + 1) & 1};
  s.nfree = nsrc - 1 - s.ncarry - s.nx - s.nout;
  return s;
}

Scan scan_of(const UOp *u) {
  Scan s = scan_counts(u->arg, u->nsrc);
  s.init = u->src;
  s.xs = s.init + s.ncarry;
  s.out = s.xs + s.nx;
  s.free = s.out + s.nout;
  s.length = u->src[u->nsrc - 1];
  return s;
}

UOp *scan_behind(const UOp *u) {
  return u->op == OP_FINAL || u->op == OP_STATES || u->op == OP_STACKED ? u->src[0] : NULL;
}

/* ---- building ---- */

UOp *uop_argument(PolyContext *ctx, int64_t id, int k, PolyDType dtype, int ndim, UOp *const *shape) {
  return uop_make(ctx, OP_ARGUMENT, dtype, (UArg){.i = id, .j = k}, ndim, shape, ndim, shape);
}

UOp *uop_scan(PolyContext *ctx, const Scan *s) {
  if (s->ncarry > SCAN_MAX_CARRY || s->nx > SCAN_MAX_ROWS || s->nout > SCAN_MAX_OUT)
    return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "a loop over steps has too many values");
  Arena arena = {.b = ctx_base(ctx)};
  NodeList free = {0};
  int n = s->ncarry + s->nx + s->nout;
  bool ok = s->length && scan_find_free(ctx, &arena, s->id, s->nout, s->out, &free);
  UOp **src = ok ? arena_new(&arena, (size_t)(n + free.n + 1) * sizeof *src) : NULL, *u = NULL;
  if (src) {
    memcpy(src, s->init, (size_t)s->ncarry * sizeof *src);
    memcpy(src + s->ncarry, s->xs, (size_t)s->nx * sizeof *src);
    memcpy(src + s->ncarry + s->nx, s->out, (size_t)s->nout * sizeof *src);
    memcpy(src + n, free.at, (size_t)free.n * sizeof *src);
    src[n + free.n] = s->length;
    for (int k = 0; ok && k < n; k++) ok = src[k] != NULL;
    UArg arg = {.i = s->id, .j = pack(s)};
    if (ok) u = uop_make(ctx, OP_SCAN, POLY_FLOAT32, arg, n + free.n + 1, src, 0, NULL);
  }
  vec_free(ctx_base(ctx), &free);
  arena_free(&arena);
  return u;
}

static UOp *with_rows(UOp *scan, Op op, UArg arg, int nsrc, UOp *const *src, UOp *rows, const UOp *like) {
  if (!rows) return NULL;
  if (like->ndim == MAX_DIMS)
    return fail_null(ctx_base(scan->ctx), POLY_ERROR_VALUE, "a tensor has at most %d dimensions", MAX_DIMS);
  UOp *shape[MAX_DIMS] = {rows};
  for (int i = 0; i < like->ndim; i++) shape[1 + i] = like->shape[i];
  return uop_make(scan->ctx, op, (PolyDType)like->dtype, arg, nsrc, src, 1 + like->ndim, shape);
}

UOp *uop_final(UOp *scan, int k) {
  if (!scan) return NULL;
  const UOp *init = scan_of(scan).init[k];
  return uop_make(scan->ctx, OP_FINAL, (PolyDType)init->dtype, (UArg){.i = k}, 1, &scan, init->ndim, init->shape);
}

UOp *uop_states(UOp *scan, int k) {
  if (!scan) return NULL;
  Scan s = scan_of(scan);
  return with_rows(scan, OP_STATES, (UArg){.i = k}, 1, &scan, int_addc(s.length, 1), s.init[k]);
}

UOp *uop_stacked(UOp *scan, UOp *v) {
  if (!scan || !v) return NULL;
  return with_rows(scan, OP_STACKED, (UArg){0}, 2, (UOp *[]){scan, v}, scan_of(scan).length, v);
}

UOp *scan_rows(UOp *x, UOp *from, UOp *to) {
  if (!x) return NULL;
  UOp *begin[MAX_DIMS], *end[MAX_DIMS];
  for (int i = 0; i < x->ndim; i++) {
    begin[i] = i ? uop_index(x->ctx, 0) : from;
    end[i] = i ? x->shape[i] : to;
  }
  return uop_shrink(x, begin, end);
}

/* Row t and row t + 1 of the states are those before and after step t, or the other way round in a reversed loop. */
UOp *scan_states_part(UOp *states, bool after, bool reverse) {
  if (!states) return NULL;
  UOp *rows = states->shape[0], *zero = uop_index(states->ctx, 0), *one = uop_index(states->ctx, 1);
  return after != reverse ? scan_rows(states, one, rows) : scan_rows(states, zero, int_addc(rows, -1));
}

UOp *scan_states_end(UOp *states, bool after, bool reverse) {
  if (!states) return NULL;
  UOp *n = int_addc(states->shape[0], -1), *at = after != reverse ? n : uop_index(states->ctx, 0);
  return uop_reshape(scan_rows(states, at, int_addc(at, 1)), states->ndim - 1, states->shape + 1);
}

/* ---- what is inside a loop ---- */

uint64_t loop_bit(const LoopIds *ids, int64_t id) {
  for (int k = 0; k < ids->n; k++)
    if (ids->id[k] == id) return 1ull << k;
  return 0;
}

static uint64_t new_bit(PolyContext *ctx, LoopIds *ids, int64_t id) {
  uint64_t bit = loop_bit(ids, id);
  if (bit) return bit;
  if (ids->n == LEN(ids->id)) {
    base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "more than %d loops over steps inside each other", LEN(ids->id));
    return 0;
  }
  ids->id[ids->n++] = id;
  return 1ull << (ids->n - 1);
}

bool loop_masks(PolyContext *ctx, Arena *arena, const Walk *w, LoopIds *ids, uint64_t **mask) {
  uint64_t *m = *mask = arena_new(arena, (size_t)(w->n + 1) * sizeof *m);
  if (!m) return false;
  for (int i = 0; i < w->n; i++) {
    const UOp *u = w->at[i];
    if (u->op == OP_ARGUMENT) {
      if (!(m[i] = new_bit(ctx, ids, u->arg.i))) return false;
      continue;
    }
    if (u->buffer) continue;
    for (int k = 0; k < u->nsrc; k++) m[i] |= m[u->src[k]->slot];
    const UOp *scan = u->op == OP_SCAN ? u : scan_behind(u);
    if (scan) m[i] &= ~loop_bit(ids, scan->arg.i);
  }
  return true;
}

static bool is_stored(const UOp *u, void *user) {
  (void)user;
  return u->buffer != NULL;
}

static double numel_of(const UOp *u) { return (double)uop_numel_max((UOp *)(uintptr_t)u); }

bool scan_is_wide(const UOp *u, double *weight) {
  double sum = 0;
  weight[u->slot] = numel_of(u);
  if (u->buffer || u->op == OP_BUFFER || u->op == OP_ARGUMENT) return false;
  OpClass cls = op_info[u->op].cls;
  for (int k = 0; k < uop_nvalue(u) && k < u->nsrc; k++) sum += weight[u->src[k]->slot];
  bool wide = cls == CLASS_LEAF || cls == CLASS_MOVE || u->op == OP_ENDPOINT;
  if (op_elementwise((Op)u->op) || u->op == OP_GATHER || u->op == OP_FUNCTION) wide = numel_of(u) > sum;
  if (wide) weight[u->slot] = cls == CLASS_LEAF ? 0 : sum;
  return wide;
}

bool scan_find_free(PolyContext *ctx, Arena *arena, int64_t id, int nroot, UOp *const *root, NodeList *out) {
  Walk w;
  LoopIds ids = {0};
  uint64_t *mask, inner = 0;
  for (int r = 0; r < nroot; r++)
    if (!root[r]) return false;
  if (!uop_walk(ctx, arena, nroot, root, is_stored, NULL, &w) || !loop_masks(ctx, arena, &w, &ids, &mask)) return false;
  double *weight = arena_new(arena, (size_t)(w.n + 1) * sizeof *weight);
  bool *reached = arena_new(arena, (size_t)w.n + 1), *inside = arena_new(arena, (size_t)w.n + 1);
  if (!weight || !reached || !inside) return false;
  for (int i = 0; i < w.n; i++)
    if (w.at[i]->op == OP_SCAN) inner |= loop_bit(&ids, w.at[i]->arg.i);
  inner |= loop_bit(&ids, id);
  for (int i = 0; i < w.n; i++) {
    inside[i] = mask[i] & inner;
    if (!inside[i]) inside[i] = scan_is_wide(w.at[i], weight);
  }
  for (int r = 0; r < nroot; r++) reached[root[r]->slot] = true;
  for (int i = w.n; i-- > 0;) {
    const UOp *u = w.at[i];
    if (!reached[i] || op_info[u->op].cls == CLASS_LEAF) {
      if (reached[i] && !inside[i] && !vec_push(ctx_base(ctx), out, w.at[i])) return false;
      continue;
    }
    if (!inside[i] && !vec_push(ctx_base(ctx), out, w.at[i])) return false;
    /* a body takes edges in their own order */
    int nvalue = u->op == OP_ENDPOINT ? END_ROWS : uop_nvalue(u);
    for (int k = 0; inside[i] && k < nvalue && k < u->nsrc; k++) reached[u->src[k]->slot] = true;
  }
  return true;
}

/* ---- replacing ---- */

typedef struct Replacing {
  Map made;
} Replacing;

static bool is_replaced(const UOp *u, void *user) {
  return u->buffer || map_get(&((Replacing *)user)->made, (uintptr_t)u, NULL);
}

static UOp *now(const Replacing *r, UOp *u) {
  uint64_t v;
  return map_get(&r->made, (uintptr_t)u, &v) ? (UOp *)(uintptr_t)v : u;
}

static UOp *rebuilt(const Replacing *r, Arena *arena, UOp *u) {
  UOp *few[16], **src = few;
  bool changed = false;
  if (u->nsrc > LEN(few) && !(src = arena_new(arena, (size_t)u->nsrc * sizeof *src))) return NULL;
  for (int k = 0; k < u->nsrc; k++) {
    src[k] = now(r, u->src[k]);
    changed |= src[k] != u->src[k];
  }
  return changed ? uop_with_sources(u, src) : u;
}

bool uop_replace(PolyContext *ctx, Arena *arena, int nroot, UOp *const *root, int n, UOp *const *from, UOp *const *to,
                 UOp **out) {
  Base *b = ctx_base(ctx);
  Replacing r = {0};
  Walk w;
  bool ok = true;
  for (int k = 0; ok && k < n; k++) ok = map_put(b, &r.made, (uintptr_t)from[k], (uintptr_t)to[k]);
  ok = ok && uop_walk(ctx, arena, nroot, root, is_replaced, &r, &w);
  for (int i = 0; ok && i < w.n; i++) {
    UOp *u = w.at[i];
    if (is_replaced(u, &r)) continue;
    UOp *v = rebuilt(&r, arena, u);
    ok = v && (v == u || map_put(b, &r.made, (uintptr_t)u, (uintptr_t)v));
  }
  for (int k = 0; ok && k < nroot; k++) out[k] = now(&r, root[k]);
  map_free(b, &r.made);
  return ok;
}
