/* codegen.h: the STORE nodes of one kernel to a linear kernel: shape the loops, linearise. Parameters are PARAM
 * nodes, arg.i is the position. */
#ifndef POLY_CODEGEN_H
#define POLY_CODEGEN_H

#include "ir/linear.h"

/* The result lives in the arena; its nodes in the caller's scope. */
bool codegen_kernel(PolyContext *ctx, Arena *arena, int nstore, UOp *const *store, const Target *target, Linear *out);

#endif
