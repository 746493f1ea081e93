/* edge_to_node.c: the pass that moves work from edges to nodes. A value that is read from one end of each edge, and
 * then changed by something that looks at nothing but itself, is changed before it is read: once per node instead of
 * once per edge.
 *
 *   relu(src(x) @ w)           ->   src(relu(x @ w))
 *   (src(x) - dst(y)) @ w      ->   src(x @ w) - dst(y @ w)
 *   [src(x) | e | dst(y)] @ w  ->   src(x @ w1) + e @ w2 + dst(y @ w3)
 *
 *   (x + sum of src(x)) @ w    ->   y + sum of src(y), y = x @ w      if w makes rows narrower
 *
 * GATHERs by an ENDPOINT so move outwards until their operand is a value of another end or of the edge. Matrix
 * products, norms and functions of one end are then node-sized whoever writes them: a layer, a vertex program, or a
 * gradient.
 *
 * The rules run while nodes are built (build.c asks before it makes a node), not on a finished program: stored values
 * are found by their nodes and gradients are built from nodes, so all of them must see the same program. DEBUG=5 shows
 * each step. */
#include "ir/edge_to_node.h"

#include "ir/context.h"

#include <stdio.h>

/* What was about to be computed for each edge, and what is computed for each node instead. */
static UOp *show(const char *what, const UOp *edges, UOp *nodes) {
  char from[128], to[128];
  if (nodes && nodes->ctx->debug >= 5)
    fprintf(stderr, "-- edge_to_node: %s %s -> %s\n", what, shape_text(edges, from, sizeof from),
            shape_text(nodes, to, sizeof to));
  return nodes;
}

bool reads_row_ends(const UOp *u, int *budget) {
  if ((*budget)-- <= 0 || u->buffer) return false;
  if (is_row_read(u)) return true;
  bool inside = op_elementwise((Op)u->op) || op_info[u->op].cls == CLASS_MOVE || u->op == OP_CAT ||
                u->op == OP_DETACH || u->op == OP_FUNCTION || (u->op == OP_REDUCE && !(u->arg.j & 1));
  for (int i = 0; inside && i < uop_nvalue(u); i++)
    if (reads_row_ends(u->src[i], budget)) return true;
  return false;
}

UOp *node_part(UOp *u, UOp *end, UOp *nodes) {
  if (u->op == OP_CONST) return u;
  if (is_row_read(u) && u->src[1] == end) return u->src[0];
  if (u->buffer || !repeats_row(u)) return NULL;
  UOp *shape[MAX_DIMS] = {nodes};
  for (int i = 1; i < u->ndim; i++) shape[i] = u->shape[i];
  return uop_expand(u->src[0], shape);
}

UOp *rows_with_edges(UOp *x, UOp *end) {
  UOp *rowptr = end->src[END_ROWPTR], *zero = uop_index(x->ctx, 0), *one = uop_index(x->ctx, 1), *nodes = x->shape[0];
  UOp *past = int_addc(nodes, 1), *dims[MAX_DIMS] = {nodes};
  UOp *begins = past ? uop_shrink(rowptr, &zero, &nodes) : NULL, *ends = past ? uop_shrink(rowptr, &one, &past) : NULL;
  for (int i = 1; i < x->ndim; i++) dims[i] = one;
  UOp *any = begins && ends ? uop_reshape(uop_binary(OP_CMPLT, begins, ends), x->ndim, dims) : NULL;
  return any ? uop_expand(any, x->shape) : NULL;
}

static bool may_overflow(Op op, const UOp *x) {
  bool same_for_all = x->op == OP_CONST || repeats_row(x);
  if (!dtype_is_float((PolyDType)x->dtype) || same_for_all) return false;
  bool function = op_info[op].cls == CLASS_UNARY && op != OP_NEG && op != OP_CAST && op != OP_BITCAST;
  return function || op == OP_MUL || op == OP_DIV || op == OP_POW;
}

/* Is x made by an operation that turns 0 into infinity? */
static bool has_poles(const UOp *x, int depth) {
  Op op = (Op)x->op;
  if (x->buffer || x->op == OP_CONST || depth == 0) return false;
  if (op == OP_DIV || op == OP_POW || op == OP_LOG) return true;
  bool inside = op_elementwise(op) || op_info[op].cls == CLASS_MOVE || op == OP_DETACH || op == OP_FUNCTION;
  for (int i = 0; inside && i < uop_nvalue(x); i++)
    if (has_poles(x->src[i], depth - 1)) return true;
  return false;
}

/* x, but rows that no edge reads pass no gradient on. What is computed for such rows may be infinite (a division by
 * their number of edges), which nobody sees but the gradient: 0 times infinity. Once gradients are made the two values
 * are the same, and the choice between them is gone. The gradient of a weight that x is multiplied with sums over all
 * rows of x: there such rows are 0, if x is likely to be infinite in them. */
static UOp *guarded(Op op, UOp *x, UOp *end, bool weighted) {
  enum { NEAR = 6 };
  if (!x || !may_overflow(op, x)) return x;
  UOp *read = rows_with_edges(x, end);
  bool zero = weighted && op == OP_MUL && has_poles(x, NEAR);
  UOp *other = zero ? uop_const(x->ctx, (PolyDType)x->dtype, 0) : uop_detach(x);
  return read ? uop_where(read, x, other) : NULL;
}

UOp *edge_to_node_elementwise(Op op, PolyDType dtype, int n, UOp *const *src) {
  UOp *read = NULL, *part[3];
  for (int i = 0; i < n && !read; i++)
    if (is_row_read(src[i])) read = src[i];
  if (!read) return NULL;
  for (int i = 0; i < n; i++)
    if (!(part[i] = node_part(src[i], read->src[1], read->src[0]->shape[0]))) return NULL;
  bool weighted = false;
  for (int i = 0; i < n; i++) weighted |= part[i]->op != OP_CONST && repeats_row(part[i]);
  for (int i = 0; i < n; i++)
    if (!(part[i] = guarded(op, part[i], read->src[1], weighted))) return NULL;
  UOp *value = op == OP_CAST      ? uop_cast(part[0], dtype)
               : op == OP_BITCAST ? uop_bitcast(part[0], dtype)
               : n == 1           ? uop_unary(op, part[0])
               : n == 2           ? uop_binary(op, part[0], part[1])
                                  : uop_where(part[0], part[1], part[2]);
  return uop_gather(show(op_info[op].name, read, value), read->src[1]);
}

/* Does the function look at more of x than the rows of one edge? (Of a single edge, its value may look as if not.) */
static bool along_edges(FunctionRule rule, double p, const UOp *value) {
  switch (rule) {
  case FUNCTION_SOFTMAX:
  case FUNCTION_LOG_SOFTMAX: return p == 0 || p == -value->ndim;
  case FUNCTION_NORM:
  case FUNCTION_FIRST_MAX:
  case FUNCTION_FIRST_MIN:
  case FUNCTION_VARIANCE:
  case FUNCTION_DEVIATION: return (uint32_t)p & 1;
  case FUNCTION_SHARES:
  case FUNCTION_OTHERS:
  case FUNCTION_ROW_VARIANCE: return true;
  default: return false;
  }
}

UOp *edge_to_node_function(FunctionRule rule, double p, UOp *value, int n, UOp *const *x) {
  if (along_edges(rule, p, value) || !is_row_read(value)) return NULL;
  UOp *end = value->src[1], *node[FUNCTION_MAX_SOURCES];
  for (int i = 0; i < n; i++)
    if (x[i]->op != OP_CONST && !(is_row_read(x[i]) && x[i]->src[1] == end)) return NULL;
  for (int i = 0; i < n; i++) node[i] = x[i]->op == OP_CONST ? x[i] : guarded(OP_EXP, x[i]->src[0], end, false);
  return uop_gather(uop_function(rule, p, value->src[0], n, node), end);
}

/* Does the move leave the first axis, that of the edges, as it is? */
static bool keeps_rows(Op op, const UOp *x, UArg arg, UOp *const *ints, int ndim, UOp *const *shape) {
  if (ndim < 1 || shape[0] != x->shape[0]) return false;
  switch (op) {
  case OP_RESHAPE: return x->shape[0]->vmax != 0; /* without edges, sizes that do not match per edge do so in all */
  case OP_EXPAND: return true;
  case OP_PERMUTE: return (arg.i & 15) == 0;
  case OP_PAD: return uop_is_int(ints[0], 0) && uop_is_int(ints[1], 0);
  case OP_SHRINK: return uop_is_int(ints[0], 0) && ints[1] == x->shape[0];
  case OP_FLIP: return !(arg.i & 1);
  default: return false;
  }
}

UOp *edge_to_node_move(Op op, UOp *x, UArg arg, int nint, UOp *const *ints, int ndim, UOp *const *shape) {
  if (!is_row_read(x) || !keeps_rows(op, x, arg, ints, ndim, shape)) return NULL;
  UOp *node = x->src[0], *nodes = node->shape[0], *begin[MAX_DIMS], *end[MAX_DIMS], *sizes[MAX_DIMS] = {nodes};
  int perm[MAX_DIMS];
  for (int i = 1; i < ndim; i++) sizes[i] = shape[i];
  for (int i = 0; i < nint / 2 && i < MAX_DIMS; i++) {
    begin[i] = ints[2 * i];
    end[i] = ints[2 * i + 1];
  }
  UOp *moved = NULL;
  switch (op) {
  case OP_RESHAPE: moved = uop_reshape(node, ndim, sizes); break;
  case OP_EXPAND: moved = uop_expand(node, sizes); break;
  case OP_PAD: moved = uop_pad(node, begin, end); break;
  case OP_FLIP: moved = uop_flip(node, (uint32_t)arg.i); break;
  case OP_SHRINK:
    end[0] = nodes;
    moved = uop_shrink(node, begin, end);
    break;
  default:
    for (int i = 0; i < ndim; i++) perm[i] = (int)((arg.i >> (4 * i)) & 15);
    moved = uop_permute(node, perm);
  }
  return uop_gather(show(op_info[op].name, x, moved), x->src[1]);
}

/* ---- linear maps ---- */

enum { DEEP_SUM = 8 }; /* sums of sums are looked into only so far */

static bool sum_reads_ends(const UOp *u, int depth) {
  if (is_row_read(u)) return true;
  bool sum = u->op == OP_ADD || u->op == OP_SUB || u->op == OP_CAT;
  for (int k = 0; sum && depth && !u->buffer && k < u->nsrc; k++)
    if (sum_reads_ends(u->src[k], depth - 1)) return true;
  return false;
}

/* u, or what u repeats along new axes in another dtype, if that is a sum or a join. */
static UOp *sum_behind(UOp *u) {
  while (!u->buffer && (u->op == OP_RESHAPE || u->op == OP_EXPAND || u->op == OP_CAST)) u = u->src[0];
  bool sum = u->op == OP_ADD || u->op == OP_SUB || u->op == OP_CAT;
  return sum && !u->buffer && sum_reads_ends(u, DEEP_SUM) ? u : NULL;
}

/* The axes of a sum as axes of u, which repeats it along axes of size 1 that a RESHAPE put in. False: it is moved in
 * some other way. */
static bool axes_of(UOp *u, UOp *sum, int *axis) {
  if (u == sum) {
    for (int i = 0; i < sum->ndim; i++) axis[i] = i;
    return true;
  }
  UOp *x = u->src[0];
  int inner[MAX_DIMS], to[MAX_DIMS];
  if (!axes_of(x, sum, inner)) return false;
  for (int i = 0; i < x->ndim; i++) to[i] = i;
  if (u->op == OP_RESHAPE)
    for (int i = 0, k = 0; i < x->ndim; i++, k++) {
      while (k < u->ndim && u->shape[k] != x->shape[i] && uop_is_int(u->shape[k], 1)) k++;
      if (k == u->ndim || u->shape[k] != x->shape[i]) return false;
      to[i] = k;
    }
  for (int i = 0; i < sum->ndim; i++) {
    axis[i] = to[inner[i]];
    if (u->op == OP_EXPAND && u->shape[axis[i]] != sum->shape[i]) return false;
  }
  return true;
}

/* part, which stands for `sum` below u, with the moves of u; where it is narrower along one axis, so is the result. */
static UOp *with_moves(UOp *u, const UOp *sum, UOp *part, int narrow) {
  if (u == sum) return part;
  UOp *x = with_moves(u->src[0], sum, part, narrow), *shape[MAX_DIMS];
  if (!x) return NULL;
  if (u->op == OP_CAST) return uop_cast(x, (PolyDType)u->dtype);
  int at[MAX_DIMS];
  if (narrow >= 0 && !axes_of(u, (UOp *)(uintptr_t)sum, at)) return NULL;
  for (int i = 0; i < u->ndim; i++) shape[i] = narrow >= 0 && at[narrow] == i ? part->shape[narrow] : u->shape[i];
  return u->op == OP_RESHAPE ? uop_reshape(x, u->ndim, shape) : uop_expand(x, shape);
}

/* w[from .. to) along an axis; w stays a repeated value. */
static UOp *along(UOp *w, int axis, UOp *from, UOp *to) {
  UOp *x = w->src[0], *begin[MAX_DIMS], *end[MAX_DIMS], *shape[MAX_DIMS];
  bool repeated = x->shape[axis] != w->shape[axis];
  for (int i = 0; i < w->ndim; i++) {
    begin[i] = i == axis && !repeated ? from : uop_index(w->ctx, 0);
    end[i] = i == axis && !repeated ? to : x->shape[i];
    shape[i] = i == axis ? int_sub(to, from) : w->shape[i];
  }
  return shape[axis] ? uop_expand(uop_shrink(x, begin, end), shape) : NULL;
}

/* The sum of a*w over axes, w the same for all rows, as one such sum for each part of a. NULL without an error: a is
 * not a sum of parts of which some are read from an end. */
static UOp *map_parts(UOp *a, UOp *w, uint32_t axes) {
  UOp *sum = sum_behind(a), *total = NULL, *at = uop_index(a->ctx, 0);
  int axis[MAX_DIMS];
  if (!sum || w->buffer || !repeats_row(w) || !axes_of(a, sum, axis)) return NULL;
  bool join = sum->op == OP_CAT;
  int joined = join ? (int)sum->arg.i : -1;
  if (join && (!joined || !(axes & (1u << axis[joined])))) return NULL;
  for (int k = 0; k < sum->nsrc; k++) {
    UOp *part = sum->src[k];
    if (part->op == OP_CONST) return NULL;
    UOp *moved = with_moves(a, sum, part, joined), *factor = w;
    if (join) {
      UOp *next = int_add(at, part->shape[joined]);
      factor = along(w, axis[joined], at, next);
      at = next;
    }
    UOp *product = moved && factor ? uop_binary(OP_MUL, moved, factor) : NULL;
    UOp *one = uop_reduce(OP_ADD, product, axes);
    total = k ? uop_binary(sum->op == OP_SUB ? OP_SUB : OP_ADD, total, one) : one;
    if (!total) return NULL;
  }
  return total;
}

/* ---- linear maps of sums over edges ---- */

/* u, the same for all features of a row: what it repeats along its last axis. NULL: it is not. */
static UOp *of_row(UOp *u) {
  if (u->op != OP_EXPAND || u->buffer || u->ndim != 2) return NULL;
  return uop_is_int(u->src[0]->shape[1], 1) ? u->src[0] : NULL;
}

/* Which source of a product or quotient is scaled, by a number of each row or a constant; -1: none. */
static int scaled_source(const UOp *u) {
  if (u->buffer || (u->op != OP_MUL && u->op != OP_DIV)) return -1;
  for (int k = 0; k < (u->op == OP_MUL ? 2 : 1); k++)
    if (u->src[!k]->op == OP_CONST || of_row(u->src[!k])) return k;
  return -1;
}

/* The node values that a sum over the in-edges of each node reads, as many rows as it has; NULL: it is something else.
 * A product with the map then has no more rows before the sum than behind it. */
static UOp *summed_rows(const UOp *u) {
  if (u->op != OP_SEGMENT || u->buffer || u->arg.i != OP_ADD) return NULL;
  int k = scaled_source(u->src[0]);
  const UOp *read = k < 0 ? u->src[0] : u->src[0]->src[k];
  return is_row_read(read) && read->ndim == u->ndim && read->src[0]->shape[0] == u->shape[0] ? read->src[0] : NULL;
}

/* Is u a sum of scaled terms, each of which is `*term` or a sum over edges of it? Counts sums over edges. */
static bool sums_of(UOp *u, int depth, UOp **term, int *sums) {
  UOp *rows = summed_rows(u);
  int k = scaled_source(u);
  if (depth && k >= 0 && u->src[k]->op != OP_CONST) return sums_of(u->src[k], depth - 1, term, sums);
  if (depth && !u->buffer && (u->op == OP_ADD || u->op == OP_SUB))
    return sums_of(u->src[0], depth - 1, term, sums) && sums_of(u->src[1], depth - 1, term, sums);
  *sums += rows != NULL;
  if (!rows) rows = u;
  if (*term && *term != rows) return false;
  *term = rows;
  return rows->op != OP_CONST;
}

/* A number of each row in the shape of x, rows first. */
static UOp *factor_like(UOp *factor, UOp *x) {
  if (factor->op == OP_CONST) return factor;
  UOp *row = of_row(factor), *shape[MAX_DIMS] = {row->shape[0]};
  for (int i = 1; i < x->ndim; i++) shape[i] = uop_index(x->ctx, 1);
  return uop_expand(uop_reshape(row, x->ndim, shape), x->shape);
}

/* u with `mapped` in place of `term`. */
static UOp *sums_again(UOp *u, const UOp *term, UOp *mapped) {
  if (u == term) return mapped;
  int k = scaled_source(u);
  if (k >= 0) {
    UOp *x = sums_again(u->src[k], term, mapped), *factor = x ? factor_like(u->src[!k], x) : NULL;
    return factor ? uop_binary((Op)u->op, k ? factor : x, k ? x : factor) : NULL;
  }
  if (u->op == OP_SEGMENT) return uop_segment(OP_ADD, sums_again(u->src[0], term, mapped), u->src[1], u->src[4]);
  if (u->op == OP_GATHER) return uop_gather(mapped, u->src[1]);
  UOp *a = sums_again(u->src[0], term, mapped), *b = a ? sums_again(u->src[1], term, mapped) : NULL;
  return b ? uop_binary((Op)u->op, a, b) : NULL;
}

/* The sum of a*w over the features, a made of sums over edges, w the same for all rows: rows are mapped and then summed
 * where that leaves fewer features to be carried along edges. What is summed several times over (powers of an adjacency
 * matrix) may be read in between, so there the map has to halve the features. */
static UOp *map_first(UOp *a, UOp *w, uint32_t axes) {
  UOp *u = a, *term = NULL, *below = NULL;
  int axis[MAX_DIMS], sums = 0, more = 0;
  while (!u->buffer && (u->op == OP_RESHAPE || u->op == OP_EXPAND)) u = u->src[0];
  if (u->ndim != 2 || u->buffer || w->buffer || !repeats_row(w) || !sums_of(u, DEEP_SUM, &term, &sums) || !sums)
    return NULL;
  if (!axes_of(a, u, axis) || axis[0] != 0 || axes != 1u << axis[1] || term->shape[1] != u->shape[1]) return NULL;
  int64_t wide = 1, features = u->shape[1]->op == OP_CONST ? u->shape[1]->arg.i : 0;
  for (int i = 1; i < a->ndim; i++)
    if (i != axis[1]) wide = a->shape[i]->op == OP_CONST && wide < features ? wide * a->shape[i]->arg.i : features;
  if (!sums_of(term, DEEP_SUM, &below, &more)) more = 0;
  if ((more ? 2 : 1) * wide >= features + (more != 0)) return NULL;
  UOp *moved = with_moves(a, u, term, -1), *product = moved ? uop_binary(OP_MUL, moved, w) : NULL;
  UOp *mapped = product ? uop_reduce(OP_ADD, product, axes) : NULL;
  return mapped ? show("a sum's map", u, sums_again(u, term, mapped)) : NULL;
}

UOp *edge_to_node_reduce(Op op, UOp *x, uint32_t axes) {
  if (axes & 1 || x->buffer) return NULL;
  if (is_row_read(x)) {
    UOp *nodes = show("REDUCE", x, uop_reduce(op, x->src[0], axes));
    return uop_gather(nodes, x->src[1]);
  }
  if (op != OP_ADD || x->op != OP_MUL) return NULL;
  for (int s = 0; s < 2; s++) {
    if (x->src[s]->op == OP_CONST || x->src[!s]->op == OP_CONST) continue;
    UOp *parts = map_parts(x->src[s], x->src[!s], axes);
    if (!parts && ctx_base(x->ctx)->code == POLY_OK) parts = map_first(x->src[s], x->src[!s], axes);
    if (parts || ctx_base(x->ctx)->code != POLY_OK) return parts;
  }
  return NULL;
}
