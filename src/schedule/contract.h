/* contract.h: finds matrix products. Internal to the schedule. */
#ifndef POLY_CONTRACT_H
#define POLY_CONTRACT_H

#include "schedule/schedule.h"

/* Is u = REDUCE(ADD, MUL(a, b)) a batched matrix product that is worth a library call? Then out is filled and
 * operand[0..1] are the nodes that must be stored for it, in their own row-major layout; factor[0..1] are what is
 * multiplied, before it is moved into place; *copied: an operand is a copy of what lies in memory. by_rows: it is to be
 * computed for some indices of axis 0 at a time; out->axis tells whether it can be, and operands that move along that
 * axis have it in front. Sets the context's error only when memory runs out. */
bool contract_match(UOp *u, bool by_rows, MatmulItem *out, UOp *operand[2], UOp *factor[2], bool *copied);
/* Is that product computed in tiles by groups of threads (codegen/group_tiles.c), rather than by the library or plain
 * loops? */
bool contract_by_groups(const Target *target, const UOp *u, const MatmulItem *m, bool library, bool copied);
/* The same for a product that is computed for some edges at a time. */
bool contract_edges_by_groups(const Target *target, const UOp *u, const MatmulItem *m, bool library);

#endif
