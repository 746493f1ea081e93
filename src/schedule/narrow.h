/* narrow.h: sums over neighbours on the narrower side of a matrix product. Internal to the schedule. */
#ifndef POLY_NARROW_H
#define POLY_NARROW_H

#include "ir/uop.h"

/* Rewrites the roots in place. */
bool narrow_sums(PolyContext *ctx, Arena *arena, int nroot, UOp **root);

#endif
