/* rows.h: values that are much larger than what they are made of and what is made of them, a tile of rows at a time.
 * Internal to the schedule. */
#ifndef POLY_ROWS_H
#define POLY_ROWS_H

#include "ir/target.h"
#include "ir/uop.h"

/* Rewrites the roots in place. */
bool rows_in_tiles(PolyContext *ctx, Arena *arena, const Target *target, int nroot, UOp **root);

#endif
