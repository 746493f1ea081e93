/* row_reads.h: values that edges read at one end and add up. Internal to the schedule. */
#ifndef POLY_ROW_READS_H
#define POLY_ROW_READS_H

#include "ir/uop.h"

/* Rewrites the roots. False: an error. */
bool row_reads_merge(PolyContext *ctx, Arena *arena, int nroot, UOp **root);

#endif
