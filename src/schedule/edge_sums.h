/* edge_sums.h: sums over all edges that rows have begun. Internal to the schedule. */
#ifndef POLY_EDGE_SUMS_H
#define POLY_EDGE_SUMS_H

#include "ir/uop.h"

/* Rewrites the roots. False: an error. */
bool edge_sums_by_rows(PolyContext *ctx, Arena *arena, int nroot, UOp **root);

#endif
