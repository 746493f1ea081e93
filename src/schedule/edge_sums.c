/* edge_sums.c: sums over edges of what the sums of rows hold as well. In: the program. Out: the same, with
 *
 *   REDUCE(x) over edges    ->    REDUCE(SEGMENT(x)) over rows        where the program has SEGMENT(x)
 *
 * The gradient of a bias that is added at each edge is such a sum, beside the gradient of what it is added to: it needs
 * no second pass over the edges, nor x at each of them once more. Every edge belongs to one row, so that nothing is
 * left out or counted twice. And
 *
 *   SEGMENT(w * REDUCE(dst(g) * q))    ->    REDUCE(g * SEGMENT(w * q))        where the program has SEGMENT(w * q)
 *
 * The gradient of a softmax over the edges of a row has such a sum, of its weights w times a dot product of the row's
 * gradient g with the values q that they weighted. It is one dot product of each row, so that the gradient of a score
 * waits for no other edge: one kernel makes it. */
#include "schedule/edge_sums.h"

#include "ir/context.h"
#include "ir/edge_to_node.h"
#include "ir/rewrite.h"

static UOp *behind_reshapes(UOp *u) {
  while (u->op == OP_RESHAPE && !u->buffer) u = u->src[0];
  return u;
}

static bool sums_by_rows(const UOp *u) {
  return u->op == OP_SEGMENT && u->arg.i == OP_ADD && u->src[1]->op == OP_ENDPOINT;
}

/* ---- sums over all edges ---- */

/* The sum of x over the edges of each row, as wide as u's rows. NULL without an error: there is none. */
static UOp *rows_of(const Map *sums, UOp *u) {
  UOp *x = behind_reshapes(u), *shape[MAX_DIMS];
  uint64_t found;
  if (!x->ndim || !u->ndim || x->shape[0] != u->shape[0]) return NULL;
  if (!map_get(sums, (uint64_t)(uintptr_t)x, &found)) return NULL;
  UOp *rows = (UOp *)(uintptr_t)found;
  shape[0] = rows->shape[0];
  for (int i = 1; i < u->ndim; i++) shape[i] = u->shape[i];
  return uop_reshape(rows, u->ndim, shape);
}

static UOp *sum_rows(UOp *u, void *user) {
  if (u->arg.i != OP_ADD || !(u->arg.j & 1)) return u;
  UOp *rows = rows_of(user, u->src[0]);
  if (!rows) return ctx_base(u->ctx)->code == POLY_OK ? u : NULL;
  return uop_reduce(OP_ADD, rows, (uint32_t)u->arg.j);
}

/* ---- sums over the edges of a row ---- */

/* SEGMENT(w * q), if the program has it, with w repeated along the axes that a dot product with q sums. */
static UOp *weighted_sum(const Map *sums, UOp *w, UOp *q, const UOp *dot, UOp *end, UOp *rows) {
  UOp *wide = uop_expand(uop_reshape(w, dot->ndim, dot->shape), q->shape);
  for (int i = 0; wide && i < 2; i++) {
    UOp *sum = uop_segment(OP_ADD, uop_binary(OP_MUL, i ? q : wide, i ? wide : q), end, rows);
    if (sum && map_get(sums, (uint64_t)(uintptr_t)sum, NULL)) return sum;
  }
  return NULL;
}

/* u, a sum of w * d, by rows, if d is such a dot product. NULL without an error: it is not. */
static UOp *dot_of_rows(const Map *sums, UOp *u, UOp *w, UOp *d) {
  UOp *dot = behind_reshapes(d), *end = u->src[1];
  if (dot->op != OP_REDUCE || dot->buffer || dot->arg.i != OP_ADD || dot->arg.j & 1) return NULL;
  UOp *product = dot->src[0];
  if (product->op != OP_MUL || product->buffer) return NULL;
  for (int i = 0; i < 2; i++) {
    UOp *g = product->src[i], *q = product->src[1 - i];
    if (!is_row_read(g) || g->src[1] != end) continue;
    UOp *sum = weighted_sum(sums, w, q, dot, end, u->shape[0]);
    if (!sum) continue;
    UOp *x =
        uop_reshape(uop_reduce(OP_ADD, uop_binary(OP_MUL, g->src[0], sum), (uint32_t)dot->arg.j), u->ndim, u->shape);
    UOp *any = x ? rows_with_edges(x, end) : NULL; /* others are zero, whatever g is there */
    return any ? uop_where(any, x, uop_const(u->ctx, (PolyDType)u->dtype, 0)) : NULL;
  }
  return NULL;
}

static UOp *dot_rows(UOp *u, void *user) {
  UOp *x = u->src[0];
  if (!sums_by_rows(u) || x->op != OP_MUL || x->buffer || !dtype_is_float((PolyDType)u->dtype)) return u;
  for (int i = 0; i < 2; i++) {
    UOp *rows = dot_of_rows(user, u, x->src[i], x->src[1 - i]);
    if (rows || ctx_base(u->ctx)->code != POLY_OK) return rows;
  }
  return u;
}

static bool add_sum(PolyContext *ctx, Map *sums, UOp *u) {
  UOp *x = behind_reshapes(u->src[0]);
  if (!op_elementwise((Op)x->op)) return true;
  bool whole = x->ndim && x->shape[0] == u->src[0]->shape[0];
  return map_put(ctx_base(ctx), sums, (uint64_t)(uintptr_t)u, (uint64_t)(uintptr_t)u) &&
         (!whole || map_put(ctx_base(ctx), sums, (uint64_t)(uintptr_t)x, (uint64_t)(uintptr_t)u));
}

bool edge_sums_by_rows(PolyContext *ctx, Arena *arena, const Target *target, int nroot, UOp **root) {
  static const RewriteRule rules[] = {{OP_REDUCE, sum_rows}, {OP_SEGMENT, dot_rows}};
  const RewritePass pass = {.name = "sums over edges by rows", .rules = rules, .nrule = target->rows_apart ? 2 : 1};
  Map sums = {0};
  Walk walk;
  bool ok = uop_walk(ctx, arena, nroot, root, NULL, NULL, &walk);
  for (int i = 0; ok && i < walk.n; i++)
    if (sums_by_rows(walk.at[i])) ok = add_sum(ctx, &sums, walk.at[i]);
  ok = ok && (!sums.n || rewrite_graphs(ctx, &pass, &sums, nroot, root));
  map_free(ctx_base(ctx), &sums);
  return ok;
}
