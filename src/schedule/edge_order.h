/* edge_order.h: edges in the order of the rows of one end. */
#ifndef POLY_EDGE_ORDER_H
#define POLY_EDGE_ORDER_H

#include "ir/uop.h"

/* Rewrites the roots: see edge_order.c. */
bool edges_by_rows(PolyContext *ctx, Arena *arena, int nroot, UOp **root);

#endif
