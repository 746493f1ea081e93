/* joins.h: tensors joined of joined ones. Internal to the schedule. */
#ifndef POLY_JOINS_H
#define POLY_JOINS_H

#include "ir/target.h"
#include "ir/uop.h"

/* Rewrites the roots. False: an error. */
bool joins_flatten(PolyContext *ctx, Arena *arena, const Target *target, int nroot, UOp **root);
/* Does a join have enough parts to be stored, each part by a kernel of its own? */
bool joins_many(const Target *target, int parts);

#endif
