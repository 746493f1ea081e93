/* dots.c: dot products of both ends of each edge beside a sum over the edges of one end. In: the nodes of a program.
 * Out: marks.
 *
 *   for v: for f: for e of v: sum[v, f] += w[e] * g[dst(e), f]          the gradient of a node's features in attention,
 *   for e: t[e] = .. (sum over f of g[dst(e), f] * h[src(e), f]) ..     and that of an edge's score
 *
 * The first loop has all that the dot product is made of at hand: the factor that it gathers, and the value of its row.
 * Threads side by side, which have neighbouring features, add up theirs (codegen/across.c): rows of the other end are
 * read once and not twice. */
#include "schedule/dots.h"

#include "ir/context.h"
#include "ir/edge_to_node.h"

static UOp *behind_shapes(UOp *u) {
  while ((u->op == OP_RESHAPE || u->op == OP_EXPAND) && !u->buffer && !is_row_read(u)) u = u->src[0];
  return u;
}

/* Does the value that s sums, a product, have the gathered rows as a factor? */
static bool weighs(const UOp *s, const UOp *rows) {
  enum { LOOK = 16 };
  UOp *todo[LOOK] = {s->src[0]};
  for (int i = 0, n = 1; i < n; i++) {
    UOp *u = behind_shapes(todo[i]);
    if (u == rows) return true;
    for (int k = 0; u->op == OP_MUL && !u->buffer && k < 2 && n < LOOK; k++) todo[n++] = u->src[k];
  }
  return false;
}

/* Is u made of x? Yes, too, where memory runs out. */
static bool is_made_of(Base *b, UOp *u, const UOp *x) {
  VEC(UOp *) todo = {0};
  Map seen = {0};
  bool found = !vec_push(b, &todo, u);
  while (todo.n && !found) {
    const UOp *at = todo.at[--todo.n];
    found = at == x;
    for (int k = 0; k < at->nsrc && !found && !at->buffer; k++) {
      UOp *below = at->src[k];
      if (map_get(&seen, (uint64_t)(uintptr_t)below, NULL)) continue;
      found = !map_put(b, &seen, (uint64_t)(uintptr_t)below, 1) || !vec_push(b, &todo, below);
    }
  }
  vec_free(b, &todo);
  map_free(b, &seen);
  return found;
}

/* The width of what neighbouring threads hold. */
static int64_t features(const UOp *u) {
  const UOp *size = u->ndim ? u->shape[u->ndim - 1] : NULL;
  return size && size->op == OP_CONST ? size->arg.i : 0;
}

/* Bytes of what each edge has of u. */
static int64_t edge_bytes(const UOp *u) {
  int64_t n = dtype_size((PolyDType)u->dtype);
  for (int i = 1; i < u->ndim; i++) n *= u->shape[i]->op == OP_CONST ? u->shape[i]->arg.i : 1;
  return n;
}

/* The sum over the edges of one end that has both factors of d at hand; NULL: there is none. The last of several: what
 * is made of d may need an earlier one, as the gradient of a softmax does that is given from outside. */
static NodeInfo *find_sum(Sched *s, const Walk *walk, UOp *d) {
  Base *b = ctx_base(s->ctx);
  const UOp *x = d->src[0];
  for (int i = walk->n; i-- > 0;) {
    UOp *u = walk->at[i];
    if (u->op != OP_SEGMENT || u->arg.i != OP_ADD || u->src[1]->op != OP_ENDPOINT || u->ndim != x->ndim) continue;
    if (features(u) != features(x) || u->dtype != d->dtype) continue;
    for (int k = 0; k < 2; k++) {
      const UOp *other = behind_shapes(x->src[k]), *own = behind_shapes(x->src[1 - k]);
      bool ends = is_row_read(other) && is_row_read(own) && own->src[1] == u->src[1] && other->src[1] != u->src[1];
      NodeInfo *n = ends && weighs(u, other) ? sched_info(s, u) : NULL;
      if (n && !n->forms_dots && !n->sums_tiles && !is_made_of(b, d, u) && !is_made_of(b, u, d)) return n;
    }
  }
  return NULL;
}

void dots_find(Sched *s, const Walk *walk) {
  const Target *t = s->target;
  if (!t->rows_apart || t->warp <= 1) return;
  for (int i = 0; i < walk->n; i++) {
    UOp *d = walk->at[i], *x = d->nsrc ? d->src[0] : NULL;
    if (d->op != OP_REDUCE || d->arg.i != OP_ADD || d->buffer || x->op != OP_MUL || x->buffer) continue;
    if (d->arg.j != 1ll << (x->ndim - 1) || features(x) > (int64_t)t->warp * MAX(t->strip, 1)) continue;
    if (!sched_edge_sized(s, d) || features(x) < 2 || edge_bytes(x) < t->dot_bytes) continue;
    NodeInfo *n = sched_info(s, d), *sum = n->sums_tiles || n->by_tiles ? NULL : find_sum(s, walk, d);
    if (!sum) continue;
    n->beside = sum;
    sum->forms_dots = true;
  }
}
