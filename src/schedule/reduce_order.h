/* reduce_order.h: reductions walk memory in its order. Internal to the schedule. */
#ifndef POLY_REDUCE_ORDER_H
#define POLY_REDUCE_ORDER_H

#include "ir/uop.h"

bool reduce_by_memory(PolyContext *ctx, int nroot, UOp **root);

#endif
