/* contract.h: finds matrix products. Internal to the schedule. */
#ifndef POLY_CONTRACT_H
#define POLY_CONTRACT_H

#include "schedule/schedule.h"

/* Is u = REDUCE(ADD, MUL(a, b)) a batched matrix product that is worth a library call? Then out is filled and
 * operand[0..1] are the nodes that must be stored for it, in their own row-major layout; factor[0..1] are what is
 * multiplied, before it is moved into place; *copied: an operand is a copy of what lies in memory. Sets the context's
 * error only when memory runs out. */
bool contract_match(UOp *u, MatmulItem *out, UOp *operand[2], UOp *factor[2], bool *copied);

#endif
