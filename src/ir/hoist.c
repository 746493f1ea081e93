/* hoist.c: work that need not be done step by step. In: a loop over steps, or a value of its body. Out: the loop
 * without what depends on stacked inputs alone, the value without what no carried value needs.
 *
 *   for t: h = tanh(xs[t] @ w + h @ u), give h @ v     ->    p = xs @ w;  for t: h = tanh(p[t] + h @ u);  hs @ v
 *
 * Only products and reductions are worth it: many small ones become a large one. Elementwise work stays in the loop,
 * where it is part of a kernel that runs anyway. */
#include "ir/scan.h"

#include "ir/context.h"

#include <string.h>

enum { ON_CARRY = 1, ON_ROWS = 2, ON_INNER = 4 }; /* what a node depends on */

/* Elements that a sum adds up at each step, from which on taking it step by step is as fast as for all steps at once.
 * What it adds up is then in memory for one step alone: two steps of a gated graph network on 40,000 nodes take 143 MB
 * less. */
enum { LONG_SUM = 4096 };

typedef struct Body {
  PolyContext *ctx;
  Arena arena;
  Scan s;
  UOp *scan; /* once it is made */
  Walk walk;
  Map place;
  uint8_t *on;   /* for each node */
  bool *heavy;   /* there is a reduction among what it is made of, inside the body */
  bool *carried; /* a carried value needs it */
  bool *wide;    /* better computed again than stored: see scan_is_wide */
} Body;

static bool is_stored(const UOp *u, void *user) {
  (void)user;
  return u->buffer != NULL;
}

static int place_of(const Body *b, const UOp *u) {
  uint64_t at;
  return map_get(&b->place, (uintptr_t)u, &at) ? (int)at : -1;
}

static uint8_t argument_on(const Scan *s, const UOp *u) {
  if (u->arg.i != s->id) return 0;
  return u->arg.j < s->ncarry ? ON_CARRY : ON_ROWS;
}

static void find_dependences(Body *b, const uint64_t *mask, uint64_t inner, double *weight) {
  for (int i = 0; i < b->walk.n; i++) {
    const UOp *u = b->walk.at[i];
    if (u->op == OP_ARGUMENT) b->on[i] = argument_on(&b->s, u);
    if (mask[i] & inner) b->on[i] |= ON_INNER;
    for (int k = 0; k < u->nsrc && !u->buffer; k++) {
      b->on[i] |= b->on[u->src[k]->slot] & (ON_CARRY | ON_ROWS);
      b->heavy[i] |= b->heavy[u->src[k]->slot];
    }
    b->wide[i] = scan_is_wide(u, weight);
    b->heavy[i] |= u->op == OP_REDUCE || u->op == OP_SEGMENT;
    b->heavy[i] &= b->on[i] != 0;
  }
}

/* Lists the nodes of the body and v, and what each depends on. */
static bool open_body(Body *b, PolyContext *ctx, const Scan *s, UOp *v) {
  *b = (Body){.ctx = ctx, .arena = {.b = ctx_base(ctx)}, .s = *s};
  LoopIds ids = {0};
  uint64_t *mask, inner = 0;
  UOp **root = arena_new(&b->arena, (size_t)(s->nout + 1) * sizeof *root);
  if (!root) return false;
  memcpy(root, s->out, (size_t)s->nout * sizeof *root);
  root[s->nout] = v;
  if (!uop_walk(ctx, &b->arena, s->nout + (v != NULL), root, is_stored, NULL, &b->walk) ||
      !loop_masks(ctx, &b->arena, &b->walk, &ids, &mask))
    return false;
  size_t n = (size_t)b->walk.n + 1;
  b->on = arena_new(&b->arena, n);
  b->heavy = arena_new(&b->arena, n);
  b->carried = arena_new(&b->arena, n);
  b->wide = arena_new(&b->arena, n);
  double *weight = arena_new(&b->arena, n * sizeof *weight);
  if (!b->on || !b->heavy || !b->carried || !b->wide || !weight) return false;
  for (int i = 0; i < b->walk.n; i++) {
    if (!map_put(ctx_base(ctx), &b->place, (uintptr_t)b->walk.at[i], (uint64_t)i)) return false;
    if (b->walk.at[i]->op == OP_SCAN) inner |= loop_bit(&ids, b->walk.at[i]->arg.i);
  }
  find_dependences(b, mask, inner, weight);
  for (int k = 0; k < s->ncarry; k++) b->carried[s->out[k]->slot] = true;
  for (int i = b->walk.n; i-- > 0;)
    for (int k = 0; b->carried[i] && !b->walk.at[i]->buffer && k < b->walk.at[i]->nsrc; k++)
      b->carried[b->walk.at[i]->src[k]->slot] = true;
  return true;
}

static void close_body(Body *b) {
  map_free(ctx_base(b->ctx), &b->place);
  arena_free(&b->arena);
}

/* ---- before the loop ---- */

static UOp *known_row(void *user, UOp *u) {
  const Body *b = user;
  return u->op == OP_ARGUMENT && argument_on(&b->s, u) == ON_ROWS ? b->s.xs[u->arg.j - b->s.ncarry] : NULL;
}

/* What to compute before the loop: nodes that depend on rows alone and hold a reduction, as large as they are once;
 * moves and broadcasts of them stay inside. */
static bool list_hoisted(const Body *b, NodeList *out) {
  bool *wanted = arena_new((Arena *)(uintptr_t)&b->arena, (size_t)b->walk.n + 1);
  if (!wanted) return false;
  for (int k = 0; k < b->s.nout; k++) wanted[place_of(b, b->s.out[k])] = true;
  for (int i = b->walk.n; i-- > 0;) {
    UOp *u = b->walk.at[i];
    if (!wanted[i] || u->buffer) continue;
    if (b->on[i] == ON_ROWS && b->heavy[i] && !b->wide[i]) {
      if (!vec_push(ctx_base(b->ctx), out, u)) return false;
      continue;
    }
    for (int k = 0; k < uop_nvalue(u) && k < u->nsrc; k++) wanted[place_of(b, u->src[k])] = true;
  }
  return true;
}

/* The loop with one more stacked input for each of the nodes. */
static UOp *with_hoisted(Body *b, const NodeList *node) {
  Scan *s = &b->s;
  Stacking how = {.ctx = b->ctx, .id = s->id, .length = s->length, .known = known_row, .user = b};
  size_t room = (size_t)(s->nx + node->n + 1) * sizeof(UOp *);
  UOp **xs = arena_new(&b->arena, room), **from = arena_new(&b->arena, room), **to = arena_new(&b->arena, room);
  UOp **out = arena_new(&b->arena, (size_t)(s->nout + 1) * sizeof *out);
  if (!xs || !from || !to || !out) return NULL;
  int n = 0, nx = s->nx;
  memcpy(xs, s->xs, (size_t)s->nx * sizeof *xs);
  for (int k = 0; k < node->n; k++) {
    UOp *u = node->at[k], *all = stack_value(&how, u);
    if (ctx_base(b->ctx)->code != POLY_OK) return NULL;
    if (!all) continue;
    from[n] = u;
    to[n] = uop_argument(b->ctx, s->id, s->ncarry + nx, (PolyDType)u->dtype, u->ndim, u->shape);
    xs[nx++] = all;
    if (!to[n++]) return NULL;
  }
  if (!uop_replace(b->ctx, &b->arena, s->nout, s->out, n, from, to, out)) return NULL;
  s->xs = xs;
  s->nx = nx;
  s->out = out;
  return uop_scan(b->ctx, s);
}

UOp *scan_build(PolyContext *ctx, const Scan *s) {
  Body b;
  NodeList node = {0};
  for (int k = 0; k < s->nout; k++)
    if (!s->out[k]) return NULL;
  bool ok = open_body(&b, ctx, s, NULL) && list_hoisted(&b, &node);
  UOp *u = !ok ? NULL : node.n ? with_hoisted(&b, &node) : uop_scan(ctx, s);
  vec_free(ctx_base(ctx), &node);
  close_body(&b);
  return u;
}

/* ---- after the loop ---- */

/* What the loop has at every step: its arguments, and what its carried values need. */
static UOp *known_inside(void *user, UOp *u) {
  const Body *b = user;
  int at = place_of(b, u);
  if (u->op == OP_ARGUMENT && argument_on(&b->s, u) == ON_ROWS) return b->s.xs[u->arg.j - b->s.ncarry];
  if (u->op == OP_ARGUMENT && argument_on(&b->s, u) == ON_CARRY)
    return scan_states_part(uop_states(b->scan, (int)u->arg.j), false, b->s.reverse);
  bool inside = at >= 0 && b->carried[at] && b->on[at] && !b->wide[at];
  return inside ? uop_stacked(b->scan, u) : NULL;
}

/* Is there a reduction in v that no carried value needs? */
static bool is_heavy_outside(const Body *b, const UOp *v) {
  bool *below = arena_new((Arena *)(uintptr_t)&b->arena, (size_t)b->walk.n + 1);
  if (!below) return false;
  below[place_of(b, v)] = true;
  for (int i = b->walk.n; i-- > 0;) {
    const UOp *u = b->walk.at[i];
    if (!below[i] || b->carried[i] || u->buffer || !b->heavy[i]) continue;
    if (u->op == OP_REDUCE || u->op == OP_SEGMENT) return true;
    for (int k = 0; k < uop_nvalue(u) && k < u->nsrc; k++) below[place_of(b, u->src[k])] = true;
  }
  return false;
}

/* Is v a long sum, or made of such by what a sum over steps may be taken behind? */
static bool is_long_sum(const UOp *v) {
  bool any = false;
  if (v->op == OP_REDUCE) {
    double each = (double)uop_numel_max(v->src[0]) / (double)MAX(uop_numel_max((UOp *)(uintptr_t)v), 1);
    return v->arg.i == OP_ADD && each >= LONG_SUM;
  }
  if (v->op != OP_ADD && v->op != OP_CAST && v->op != OP_NEG && op_info[v->op].cls != CLASS_MOVE) return false;
  for (int k = 0; k < uop_nvalue(v) && k < v->nsrc; k++) any |= is_long_sum(v->src[k]);
  return any;
}

static bool has_total(const UOp *v) {
  switch (v->op) {
  case OP_REDUCE: return v->arg.i == OP_ADD;
  case OP_ADD: return v->ndim && has_total(v->src[0]) && has_total(v->src[1]);
  case OP_CAST: return dtype_is_float((PolyDType)v->src[0]->dtype) && has_total(v->src[0]);
  case OP_NEG: return has_total(v->src[0]);
  default: return op_info[v->op].cls == CLASS_MOVE && has_total(v->src[0]);
  }
}

bool scan_has_total(const UOp *v) { return has_total(v) && !is_long_sum(v); }

static UOp *sum_of_rows(UOp *all, uint32_t axes) {
  UOp *sum = all ? uop_reduce(OP_ADD, all, axes << 1 | 1) : NULL;
  return sum ? uop_reshape(sum, sum->ndim - 1, sum->shape + 1) : NULL;
}

/* A sum inside v may have been taken before the loop: then there is a row for it at each step. */
static UOp *total(const Stacking *how, UOp *v) {
  UOp *src[1 + 2 * MAX_DIMS];
  bool sum = v->op == OP_REDUCE;
  if (sum || !has_total(v)) {
    UOp *all = stack_value(how, sum ? v->src[0] : v);
    if (!all && ctx_base(how->ctx)->code != POLY_OK) return NULL;
    const Body *b = how->user;
    return all ? sum_of_rows(all, sum ? (uint32_t)v->arg.j : 0) : sum_of_rows(uop_stacked(b->scan, v), 0);
  }
  for (int k = 0; k < v->nsrc; k++)
    if (!(src[k] = k < uop_nvalue(v) ? total(how, v->src[k]) : v->src[k])) return NULL;
  return uop_with_sources(v, src);
}

UOp *scan_total(UOp *scan, UOp *v) {
  if (!scan || !v) return NULL;
  Body b;
  Scan s = scan_of(scan);
  bool ok = open_body(&b, scan->ctx, &s, v);
  b.scan = scan;
  Stacking how = {.ctx = scan->ctx, .id = s.id, .length = s.length, .known = known_inside, .user = &b};
  UOp *sum = ok ? total(&how, v) : NULL;
  close_body(&b);
  return sum;
}

UOp *scan_result(UOp *scan, UOp *v) {
  if (!scan || !v) return NULL;
  Body b;
  Scan s = scan_of(scan);
  bool ok = open_body(&b, scan->ctx, &s, v);
  UOp *all = NULL;
  b.scan = scan;
  if (ok && !is_long_sum(v) && is_heavy_outside(&b, v)) {
    Stacking how = {.ctx = scan->ctx, .id = s.id, .length = s.length, .known = known_inside, .user = &b};
    all = stack_value(&how, v);
  }
  close_body(&b);
  if (!ok || ctx_base(scan->ctx)->code != POLY_OK) return NULL;
  return all ? all : uop_stacked(scan, v);
}
