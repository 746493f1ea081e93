/* columns.c: the gradient of a short linear map of each edge, on devices with groups of threads. In: the program. Out:
 * the same, with a sum for each column:
 *
 *   g[f, k] = sum over edges of x[e, f] * a[e, k]    ->    g[f, 0] = sum of x[e, f] * a[e, 0], g[f, 1] = ..
 *
 * As a matrix product it would want x in memory, which is as large as edges times features. The sums have the same
 * loops and become one kernel, in which a thread has a feature, computes x once for each edge and keeps a sum for each
 * column in a register. */
#include "schedule/columns.h"

#include "ir/context.h"
#include "ir/rewrite.h"
#include "schedule/tiles.h"

enum { MOST_COLUMNS = 8 };

/* Does the operand change along the axis? A constant is a scalar, which fits any shape. */
static bool varies(const UOp *u, int axis) {
  const UOp *x = u->op == OP_EXPAND && !u->buffer ? u->src[0] : u;
  return axis < x->ndim && !uop_is_int(x->shape[axis], 1);
}

static bool is_given(const UOp *u) {
  while (u->op == OP_RESHAPE || u->op == OP_CONTIGUOUS || u->op == OP_EXPAND) u = u->src[0];
  return u->op == OP_BUFFER;
}

/* The one axis along which a, the columns, alone changes; -1: there is none, or both change along another. */
static int column_axis(const UOp *x, const UOp *a) {
  int axis = -1;
  for (int i = 1; i < MAX(x->ndim, a->ndim); i++) {
    if (varies(a, i) && (axis >= 0 || varies(x, i))) return -1;
    if (varies(a, i)) axis = i;
  }
  return axis;
}

/* Whether x, at each edge and feature, is computed from what is in memory. */
static bool is_in_place(Sched *s, UOp *x) {
  while (x->op == OP_EXPAND || x->op == OP_RESHAPE) x = x->src[0];
  return op_elementwise((Op)x->op) && sched_edge_sized(s, x) && !sched_info(s, x)->over_tiles;
}

/* The operand for one column, without its axis: at `at`, or what it is everywhere. */
static UOp *column_of(UOp *u, int axis, int64_t at) {
  UOp *x = u->op == OP_EXPAND && !u->buffer ? u->src[0] : u, *begin[MAX_DIMS], *end[MAX_DIMS], *flat[MAX_DIMS],
      *shape[MAX_DIMS];
  for (int i = 0, n = 0; i < u->ndim; i++) {
    bool here = i == axis && varies(u, axis);
    begin[i] = uop_index(u->ctx, here ? at : 0);
    end[i] = here ? uop_index(u->ctx, at + 1) : x->shape[i];
    if (i == axis) continue;
    flat[n] = x->shape[i];
    shape[n++] = u->shape[i];
  }
  return uop_expand(uop_reshape(uop_shrink(x, begin, end), u->ndim - 1, flat), shape);
}

/* Sums as columns again: column k is chosen where the index on the axis is k. */
static UOp *join_columns(const UOp *u, int n, UOp *const *sum, int axis) {
  PolyContext *ctx = u->ctx;
  UOp *one = uop_index(ctx, 1), *shape[MAX_DIMS], *thin[MAX_DIMS], *all = NULL;
  for (int i = 0; i < u->ndim; i++) {
    shape[i] = i == axis ? u->shape[i] : one;
    thin[i] = i == axis ? one : u->shape[i];
  }
  UOp *at = uop_expand(uop_reshape(uop_iota(ctx, POLY_INT32, u->shape[axis]), u->ndim, shape), u->shape);
  for (int k = n; k-- > 0;) {
    UOp *column = uop_expand(uop_reshape(sum[k], u->ndim, thin), u->shape);
    all = all ? uop_where(uop_binary(OP_CMPEQ, at, uop_const(ctx, POLY_INT32, k)), column, all) : column;
  }
  return all;
}

static UOp *sum_columns(UOp *u, UOp *x, UOp *a, int axis) {
  UOp *sum[MOST_COLUMNS];
  int n = (int)u->shape[axis]->arg.i;
  for (int k = 0; k < n; k++) {
    UOp *product = uop_binary(OP_MUL, column_of(x, axis, k), column_of(a, axis, k));
    if (!(sum[k] = uop_contiguous(uop_reduce(OP_ADD, product, (uint32_t)u->arg.j), 0))) return NULL;
  }
  return join_columns(u, n, sum, axis);
}

/* Is a sum of one column cut into pieces (split.c)? Without them few threads would have one. */
static bool in_pieces(const Target *t, UOp *u, int axis) {
  int64_t edges = u->src[0]->shape[0]->vmax, results = uop_numel_max(u) / u->shape[axis]->arg.i;
  return edges >= MAX(t->split_elements, 4 * (int64_t)t->split_pieces) && results <= t->split_results;
}

static UOp *apart(UOp *u, void *user) {
  Sched *s = user;
  UOp *product = u->src[0];
  if (u->arg.i != OP_ADD || u->arg.j != 1 || product->op != OP_MUL || product->buffer) return u;
  if (!dtype_is_float((PolyDType)u->dtype) || !sched_edge_sized(s, product)) return u;
  for (int i = 0; i < 2; i++) {
    UOp *x = product->src[i], *a = product->src[!i];
    int axis = column_axis(x, a);
    if (axis < 0 || u->shape[axis]->op != OP_CONST || !is_given(a) || is_given(x)) continue;
    if (u->shape[axis]->arg.i < 2 || u->shape[axis]->arg.i > MOST_COLUMNS || !is_in_place(s, x)) continue;
    if (!in_pieces(s->target, u, axis)) continue;
    return sum_columns(u, x, a, axis);
  }
  return u;
}

bool columns_apart(Sched *s, int nroot, UOp **root) {
  static const RewriteRule rules[] = {{OP_REDUCE, apart}};
  static const RewritePass pass = {.name = "sums of columns", .rules = rules, .nrule = LEN(rules)};
  return !s->edges.n || rewrite_graphs(s->ctx, &pass, s, nroot, root);
}
