/* index.h: what a movement op does to an index. */
#ifndef POLY_INDEX_H
#define POLY_INDEX_H

#include "ir/uop.h"

/* idx holds one int64 UOp per axis of `move`'s result; it becomes the index into move->src[0]. *gate, a bool (NULL:
 * always), becomes the condition under which there is an element at all (PAD). */
bool index_through(const UOp *move, UOp **idx, UOp **gate);
/* Row-major position of idx in a tensor of u's shape. */
UOp *index_flat(const UOp *u, UOp *const *idx);

/* Which RANGEs a scalar depends on: bit k for the RANGE with id k. RANGES_LOAD: it reads memory. memo is kept by the
 * caller. */
#define RANGES_LOAD (1ull << 63)
uint64_t index_ranges(PolyContext *ctx, Map *memo, UOp *scalar);

/* Does a RANGE go through the entries of a row, from one row pointer to the next? */
bool range_is_row(const UOp *range);

#endif
