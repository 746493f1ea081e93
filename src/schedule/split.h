/* split.h: large reductions to few results are cut into pieces that can run side by side. Internal to the schedule. */
#ifndef POLY_SPLIT_H
#define POLY_SPLIT_H

#include "ir/uop.h"

/* keep: reductions that are left as they are, also where a cut below gives them new sources: those are added. */
bool split_reductions(PolyContext *ctx, const Target *target, Map *keep, int nroot, UOp *const *root, UOp **out);

#endif
