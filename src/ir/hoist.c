/* hoist.c: a value that is read from one end of each edge, and then changed by something that looks at nothing but
 * itself, is changed before it is read: once a node, not once an edge.
 *
 *   relu(src(x) @ w)   ->   src(relu(x @ w))
 *
 * GATHERs by an ENDPOINT so move outwards until they meet a value of another end or of the edge. Matrix products, norms
 * and functions of one end are then node-sized whoever writes them: a layer, a vertex program, or a gradient. */
#include "ir/hoist.h"

#include "ir/context.h"

bool hoist_reads_ends(const UOp *u, int *budget) {
  if ((*budget)-- <= 0 || u->buffer) return false;
  if (hoist_is_row_read(u)) return true;
  bool inside = op_elementwise((Op)u->op) || op_info[u->op].cls == CLASS_MOVE || u->op == OP_CAT ||
                u->op == OP_DETACH || u->op == OP_FUNCTION || (u->op == OP_REDUCE && !(u->arg.j & 1));
  for (int i = 0; inside && i < uop_nvalue(u); i++)
    if (hoist_reads_ends(u->src[i], budget)) return true;
  return false;
}

/* u as a node-sized value whose gather by `end` is u: the gathered tensor itself, or one that is the same for every
 * row. */
static UOp *node_part(UOp *u, UOp *end, UOp *nodes) {
  if (u->op == OP_CONST) return u;
  if (hoist_is_row_read(u) && u->src[1] == end) return u->src[0];
  if (u->op != OP_EXPAND || u->buffer || u->ndim < 1 || !uop_is_int(u->src[0]->shape[0], 1)) return NULL;
  UOp *shape[MAX_DIMS] = {nodes};
  for (int i = 1; i < u->ndim; i++) shape[i] = u->shape[i];
  return uop_expand(u->src[0], shape);
}

/* For each row of x: is it read by any edge? */
static UOp *rows_read(UOp *x, UOp *end) {
  UOp *rowptr = end->src[END_ROWPTR], *zero = uop_index(x->ctx, 0), *one = uop_index(x->ctx, 1), *nodes = x->shape[0];
  UOp *past = int_addc(nodes, 1), *dims[MAX_DIMS] = {nodes};
  UOp *begins = past ? uop_shrink(rowptr, &zero, &nodes) : NULL, *ends = past ? uop_shrink(rowptr, &one, &past) : NULL;
  for (int i = 1; i < x->ndim; i++) dims[i] = one;
  UOp *any = begins && ends ? uop_reshape(uop_binary(OP_CMPLT, begins, ends), x->ndim, dims) : NULL;
  return any ? uop_expand(any, x->shape) : NULL;
}

static bool may_overflow(Op op, const UOp *x) {
  bool same_for_all = x->op == OP_CONST || (x->op == OP_EXPAND && uop_is_int(x->src[0]->shape[0], 1));
  if (!dtype_is_float((PolyDType)x->dtype) || same_for_all) return false;
  bool function = op_info[op].cls == CLASS_UNARY && op != OP_NEG && op != OP_CAST && op != OP_BITCAST;
  return function || op == OP_MUL || op == OP_DIV || op == OP_POW;
}

/* x, but rows that no edge reads pass no gradient on. What is computed for such rows may be infinite (a division by
 * their number of edges), which nobody sees but the gradient: 0 times infinity. Once gradients are made the two values
 * are the same, and the choice between them is gone. */
static UOp *guarded(Op op, UOp *x, UOp *end) {
  if (!x || !may_overflow(op, x)) return x;
  UOp *read = rows_read(x, end);
  return read ? uop_where(read, x, uop_detach(x)) : NULL;
}

UOp *hoist_elementwise(Op op, PolyDType dtype, int n, UOp *const *src) {
  UOp *read = NULL, *part[3];
  for (int i = 0; i < n && !read; i++)
    if (hoist_is_row_read(src[i])) read = src[i];
  if (!read) return NULL;
  for (int i = 0; i < n; i++)
    if (!(part[i] = node_part(src[i], read->src[1], read->src[0]->shape[0]))) return NULL;
  for (int i = 0; i < n; i++)
    if (!(part[i] = guarded(op, part[i], read->src[1]))) return NULL;
  UOp *value = op == OP_CAST      ? uop_cast(part[0], dtype)
               : op == OP_BITCAST ? uop_bitcast(part[0], dtype)
               : n == 1           ? uop_unary(op, part[0])
               : n == 2           ? uop_binary(op, part[0], part[1])
                                  : uop_where(part[0], part[1], part[2]);
  return uop_gather(value, read->src[1]);
}

UOp *hoist_function(FunctionRule rule, double p, UOp *value, int n, UOp *const *x) {
  bool along_edges = (rule == FUNCTION_SOFTMAX || rule == FUNCTION_LOG_SOFTMAX) && (p == 0 || p == -value->ndim);
  if (along_edges || !hoist_is_row_read(value)) return NULL;
  UOp *end = value->src[1], *node[3];
  for (int i = 0; i < n; i++)
    if (x[i]->op != OP_CONST && !(hoist_is_row_read(x[i]) && x[i]->src[1] == end)) return NULL;
  for (int i = 0; i < n; i++) node[i] = x[i]->op == OP_CONST ? x[i] : guarded(OP_EXP, x[i]->src[0], end);
  return uop_gather(uop_function(rule, p, value->src[0], n, node), end);
}

/* Does the move leave the first axis, that of the edges, as it is? */
static bool keeps_rows(Op op, const UOp *x, UArg arg, UOp *const *ints, int ndim, UOp *const *shape) {
  if (ndim < 1 || shape[0] != x->shape[0]) return false;
  switch (op) {
  case OP_RESHAPE:
  case OP_EXPAND: return true;
  case OP_PERMUTE: return (arg.i & 15) == 0;
  case OP_PAD: return uop_is_int(ints[0], 0) && uop_is_int(ints[1], 0);
  case OP_SHRINK: return uop_is_int(ints[0], 0) && ints[1] == x->shape[0];
  case OP_FLIP: return !(arg.i & 1);
  default: return false;
  }
}

UOp *hoist_move(Op op, UOp *x, UArg arg, int nint, UOp *const *ints, int ndim, UOp *const *shape) {
  if (!hoist_is_row_read(x) || !keeps_rows(op, x, arg, ints, ndim, shape)) return NULL;
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
  return uop_gather(moved, x->src[1]);
}

UOp *hoist_reduce(Op op, UOp *x, uint32_t axes) {
  if (!hoist_is_row_read(x) || axes & 1) return NULL;
  return uop_gather(uop_reduce(op, x->src[0], axes), x->src[1]);
}
