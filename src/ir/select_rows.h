/* select_rows.h: a few rows of a value are computed from the same rows of what it is made of. */
#ifndef POLY_SELECT_ROWS_H
#define POLY_SELECT_ROWS_H

#include "ir/uop.h"

/* GATHER(x, index), with the gather moved below what works on each row alone, where that saves a reduction over many
 * elements: f(x)[index] -> f(x[index]). */
UOp *uop_select_rows(UOp *x, UOp *index);

#endif
