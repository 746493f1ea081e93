/* direct.h: reductions of single numbers by an index go straight to their results. Internal to the schedule. */
#ifndef POLY_DIRECT_H
#define POLY_DIRECT_H

#include "ir/uop.h"

bool scatter_directly(PolyContext *ctx, const Target *target, int nroot, UOp **root);

#endif
