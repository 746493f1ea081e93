/* tile_sums.h: what sums over tiles of edges become. Internal to the schedule. */
#ifndef POLY_TILE_SUMS_H
#define POLY_TILE_SUMS_H

#include "ir/uop.h"

/* Rewrites the roots; sums: a map from the sums over tiles of edges, which takes up those that they become. False: an
 * error. */
bool tile_sums_rewrite(PolyContext *ctx, Map *sums, int nroot, UOp **root);

#endif
