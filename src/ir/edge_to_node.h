/* edge_to_node.h: work on gathered rows of a graph is done on the nodes. */
#ifndef POLY_EDGE_TO_NODE_H
#define POLY_EDGE_TO_NODE_H

#include "ir/uop.h"

/* Is u a read of node values at one end of the edges, not yet stored? */
static inline bool is_row_read(const UOp *u) {
  return u->op == OP_GATHER && u->src[1]->op == OP_ENDPOINT && !u->buffer;
}
/* Does u repeat one row, so that it is the same for every node or edge? */
static inline bool repeats_row(const UOp *u) {
  return u->op == OP_EXPAND && u->ndim && uop_is_int(u->src[0]->shape[0], 1);
}
/* u as a node-sized value whose gather by `end` is u: the gathered tensor itself, or one that is the same for every
 * row. NULL: it is neither, or an error. */
UOp *node_part(UOp *u, UOp *end, UOp *nodes);
/* For each element of x, whose rows are those of an ENDPOINT: does any edge read its row? */
UOp *rows_with_edges(UOp *x, UOp *end);
/* f(GATHER(x, e)) -> GATHER(f(x), e) for an ENDPOINT e, where f works on each row alone. The builders of build.c ask
 * before they make a node; NULL without an error: not this case. ints: the operands of a move. */
UOp *edge_to_node_elementwise(Op op, PolyDType dtype, int n, UOp *const *src);
UOp *edge_to_node_function(FunctionRule rule, double p, UOp *value, int n, UOp *const *x);
UOp *edge_to_node_move(Op op, UOp *x, UArg arg, int nint, UOp *const *ints, int ndim, UOp *const *shape);
UOp *edge_to_node_reduce(Op op, UOp *x, uint32_t axes);

/* Is u computed, element by element, from values read at ends of edges? Looks at `budget` nodes at most. */
bool reads_row_ends(const UOp *u, int *budget);

#endif
