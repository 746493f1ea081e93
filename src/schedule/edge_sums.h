/* edge_sums.h: sums over edges that the sums of rows hold. Internal to the schedule. */
#ifndef POLY_EDGE_SUMS_H
#define POLY_EDGE_SUMS_H

#include "ir/target.h"
#include "ir/uop.h"

/* Rewrites the roots. False: an error. */
bool edge_sums_by_rows(PolyContext *ctx, Arena *arena, const Target *target, int nroot, UOp **root);

#endif
