/* codegen.h: the STORE nodes of one kernel to a linear kernel: shape the loops, linearise. Parameters are PARAM
 * nodes, arg.i is the position. */
#ifndef POLY_CODEGEN_H
#define POLY_CODEGEN_H

#include "ir/linear.h"

/* The result lives in the arena; its nodes in the caller's scope. */
bool codegen_kernel(PolyContext *ctx, Arena *arena, int nstore, UOp *const *store, const Target *target, Linear *out);

/* Of a linear kernel whose loops are marked: writes on the loops how they run on the target. codegen_kernel has done so
 * for what it makes. */
bool codegen_widths(Arena *arena, const Target *target, Linear *lin);

/* Of the kernels of a plan: float constants in which kernels differ that are the same otherwise become arguments, CONST
 * nodes behind the variables. */
bool codegen_lift(PolyContext *ctx, Arena *arena, const Target *target, int n, Linear *const *lin);

/* Of a finished kernel, for targets that want it: index arithmetic in 32 bits. most: elements of each argument. */
bool codegen_index32(Arena *arena, const Target *target, const int64_t *most, Linear *lin);

#endif
