/* direct.c: sums, products, maxima and minima of single numbers by an index that nobody ordered, as a graph rewrite:
 *
 *   SEGMENT(x[E], index[E], order ..)  ->  LIBRARY "scatter"(x, index)
 *
 * A row of a SEGMENT is a loop over its entries, which an order of the segments finds. That pays where entries are rows
 * of features, or the order is that of a graph; for one number an entry, sorting the index takes most of the time, and
 * what it saves is one addition to memory. Devices with groups of threads keep the order: additions to one place would
 * have to wait for each other there. */
#include "schedule/direct.h"

#include "ir/context.h"
#include "ir/rewrite.h"

static UOp *scattered(UOp *u, void *user) {
  (void)user;
  UOp *x = u->src[0], *index = u->src[1], *src[] = {x, index};
  bool known = u->dtype == POLY_FLOAT32 || u->dtype == POLY_FLOAT64 || u->dtype == POLY_INT32 || u->dtype == POLY_INT64;
  bool places = index->dtype == POLY_INT32 || index->dtype == POLY_INT64;
  if (index->op == OP_ENDPOINT || u->ndim != 1 || !known || !places) return u;
  if (u->shape[0]->vmax == 0 || x->shape[0]->vmax == 0) return u;
  return uop_library(u->ctx, "scatter", u->arg.i, (PolyDType)u->dtype, 2, src, 1, u->shape);
}

bool scatter_directly(PolyContext *ctx, const Target *target, int nroot, UOp **root) {
  static const RewriteRule rules[] = {{OP_SEGMENT, scattered}};
  static const RewritePass pass = {.name = "direct", .rules = rules, .nrule = LEN(rules)};
  return target->group > 1 || rewrite_graphs(ctx, &pass, NULL, nroot, root);
}
