/* select_rows.c: rows that are selected by a mask or an index are selected before they are computed.
 *
 *   log_softmax(x @ w + b)[index]   ->   log_softmax(x[index] @ w + b)
 *
 * A network that is evaluated on all nodes and trained on a few computes its last layers, and their gradients, for
 * those alone. It is the opposite of edge_to_node.c: there are more edges than nodes, and here fewer rows than there
 * were. Elementwise work needs no rule, since the schedule evaluates it where it is read; so the gather moves only
 * where it passes a reduction, such as a matrix product, over many elements. Like there it happens while nodes are
 * built, so that gradients are built from the moved form. */
#include "ir/select_rows.h"

#include "ir/context.h"
#include "ir/edge_to_node.h"

enum {
  LOOKED_AT = 512, /* nodes of a program that are looked at */
  /* Elements of a reduction that need not be read: some 100 us of a core. Building a few dozen nodes takes 10. */
  LEAST_SAVED = 1 << 20,
};

typedef struct Selection {
  UOp *index, *rows, *count; /* rows of the value, and how many are selected */
  int64_t nrow, ncount;
  Map worth, made; /* node -> does the gather pass a large reduction there?; node -> its selected rows */
  int budget;
  VEC(UOp *) whole; /* what rows are gathered from */
} Selection;

static bool known(const UOp *size, int64_t *n) {
  if (size->op != OP_CONST) return false;
  *n = size->arg.i;
  return true;
}

static bool row_function(const UOp *u) {
  double p = function_parameter(u);
  switch (function_rule(u)) {
  case FUNCTION_SIGMOID:
  case FUNCTION_SOFTPLUS:
  case FUNCTION_ONE_LESS_SQUARE:
  case FUNCTION_ABS:
  case FUNCTION_CLAMP:
  case FUNCTION_ELU:
  case FUNCTION_CELU:
  case FUNCTION_HARDSIGMOID:
  case FUNCTION_HARDSWISH:
  case FUNCTION_SILU:
  case FUNCTION_GELU:
  case FUNCTION_MISH:
  case FUNCTION_COPYSIGN:
  case FUNCTION_ANGLE:
  case FUNCTION_LENGTH:
  case FUNCTION_POLYGAMMA:
  case FUNCTION_SAME:
  case FUNCTION_ERFINV: return true;
  case FUNCTION_SOFTMAX:
  case FUNCTION_LOG_SOFTMAX: return p != 0 && p != -u->ndim;
  case FUNCTION_NORM:
  case FUNCTION_FIRST_MAX:
  case FUNCTION_FIRST_MIN:
  case FUNCTION_VARIANCE:
  case FUNCTION_DEVIATION: return !((uint32_t)p & 1);
  default: return false;
  }
}

/* Does u work on each row of its sources alone, which have the same rows? */
static bool by_rows(const UOp *u) {
  if (u->buffer || u->ndim == 0) return false;
  const UOp *x = u->nsrc ? u->src[0] : NULL;
  switch (u->op) {
  case OP_DETACH: return true;
  case OP_FUNCTION: return row_function(u);
  case OP_REDUCE: return !(u->arg.j & 1);
  case OP_CAT: return u->arg.i != 0;
  case OP_RESHAPE: return x->ndim && x->shape[0] == u->shape[0] && x->shape[0]->vmax != 0;
  case OP_EXPAND: return x->ndim && x->shape[0] == u->shape[0];
  case OP_PERMUTE: return perm_at(u, 0) == 0;
  default: return op_elementwise((Op)u->op);
  }
}

static bool is_large(const Selection *s, const UOp *reduce) {
  double saved = 1 - (double)s->ncount / (double)s->nrow;
  int64_t n;
  for (int d = 0; d < reduce->src[0]->ndim; d++) saved *= known(reduce->src[0]->shape[d], &n) ? (double)n : 1;
  return saved >= LEAST_SAVED;
}

/* Is there a large reduction above the place where the gather would come to stand? False as well when too much was
 * looked at. */
static bool worth(Selection *s, const UOp *u) {
  uint64_t seen;
  if (!by_rows(u) || s->budget <= 0) return false;
  if (map_get(&s->worth, (uintptr_t)u, &seen)) return seen;
  s->budget--;
  bool found = u->op == OP_REDUCE && is_large(s, u);
  for (int k = 0; k < uop_nvalue(u); k++) found |= worth(s, u->src[k]);
  return map_put(ctx_base(u->ctx), &s->worth, (uintptr_t)u, found) && found;
}

/* The factors below a reduction are selected one by one: a gather of their product would be as large as what is
 * reduced, and its gradient too. */
static bool is_factor(const UOp *u) {
  bool inside = u->op == OP_MUL || u->op == OP_CAST || u->op == OP_DETACH || u->op == OP_RESHAPE ||
                u->op == OP_EXPAND || u->op == OP_PERMUTE;
  return inside && by_rows(u);
}

static UOp *taken(Selection *s, UOp *u, bool reduced);

static UOp *rebuilt(Selection *s, UOp *u, bool reduced) {
  UOp *src[FUNCTION_MAX_SOURCES], *shape[MAX_DIMS];
  int n = uop_nvalue(u), perm[MAX_DIMS];
  if (n > FUNCTION_MAX_SOURCES) return NULL;
  for (int k = 0; k < n; k++)
    if (!(src[k] = taken(s, u->src[k], u->op == OP_REDUCE || (reduced && is_factor(u))))) return NULL;
  for (int d = 0; d < u->ndim; d++) shape[d] = d ? u->shape[d] : s->count;
  switch (u->op) {
  case OP_RESHAPE: return uop_reshape(src[0], u->ndim, shape);
  case OP_EXPAND: return uop_expand(src[0], shape);
  case OP_PERMUTE:
    for (int d = 0; d < u->ndim; d++) perm[d] = perm_at(u, d);
    return uop_permute(src[0], perm);
  case OP_REDUCE: return uop_reduce((Op)u->arg.i, src[0], (uint32_t)u->arg.j);
  case OP_CAT: return uop_cat(n, src, (int)u->arg.i);
  case OP_FUNCTION: return uop_function(function_rule(u), function_parameter(u), src[0], n - 1, src + 1);
  case OP_DETACH: return uop_detach(src[0]);
  default: return uop_with_sources(u, src);
  }
}

/* The selected rows of u. reduced: it is a factor of what a reduction adds up. */
static UOp *taken(Selection *s, UOp *u, bool reduced) {
  uint64_t at, key = (uintptr_t)u + reduced;
  if (u->op == OP_CONST || u->ndim == 0) return u;
  if (map_get(&s->made, key, &at)) return (UOp *)(uintptr_t)at;
  UOp *out, *shape[MAX_DIMS] = {s->count};
  if (!u->buffer && repeats_row(u)) {
    for (int d = 1; d < u->ndim; d++) shape[d] = u->shape[d];
    out = uop_expand(u->src[0], shape);
  } else if (worth(s, u) || (reduced && is_factor(u))) {
    out = rebuilt(s, u, reduced);
  } else {
    out = vec_push(ctx_base(u->ctx), &s->whole, u) ? uop_gather(u, s->index) : NULL;
  }
  return out && map_put(ctx_base(u->ctx), &s->made, key, (uintptr_t)out) ? out : NULL;
}

static bool is_stored(const UOp *u, void *user) {
  (void)user;
  return u->buffer != NULL;
}

/* Is a value that the gather has passed computed whole after all, because what rows are gathered from needs it? A layer
 * that adds a node's own value to what its neighbours send is such a case: all rows of the product are needed. */
static bool needed_whole(PolyContext *ctx, const Selection *s) {
  Arena arena = {.b = ctx_base(ctx)};
  Walk w;
  uint64_t passed;
  bool found = !uop_walk(ctx, &arena, s->whole.n, s->whole.at, is_stored, NULL, &w);
  for (int i = 0; !found && i < w.n; i++)
    found = w.at[i]->op == OP_REDUCE && map_get(&s->worth, (uintptr_t)w.at[i], &passed) && passed;
  arena_free(&arena);
  return found;
}

UOp *uop_select_rows(UOp *x, UOp *index) {
  if (!x || !index || index->ndim != 1 || x->ndim == 0 || index->op == OP_ENDPOINT) return uop_gather(x, index);
  Base *b = ctx_base(x->ctx);
  Selection s = {.index = index, .rows = x->shape[0], .count = index->shape[0], .budget = LOOKED_AT};
  UOp *out = NULL;
  bool fewer = known(s.rows, &s.nrow) && known(s.count, &s.ncount) && s.ncount > 0 && 2 * s.ncount <= s.nrow;
  if (fewer && worth(&s, x)) out = taken(&s, x, false);
  /* The index is checked where rows are gathered. */
  if (out && (s.budget <= 0 || !s.whole.n || needed_whole(x->ctx, &s))) out = NULL;
  map_free(b, &s.worth);
  map_free(b, &s.made);
  vec_free(b, &s.whole);
  return out || b->code != POLY_OK ? out : uop_gather(x, index);
}
