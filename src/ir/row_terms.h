/* row_terms.h: an extreme or a mean over the edges of a row, without what the row adds to each of them. */
#ifndef POLY_ROW_TERMS_H
#define POLY_ROW_TERMS_H

#include "ir/uop.h"

/* What x is made of by monotone steps that take nothing but values of the row at `end`, and one at least takes some; or
 * x. falls: does x fall where it grows? */
UOp *below_row_terms(UOp *x, UOp *end, bool *falls);
/* The same steps on `rows`, a value of each row, in the place of `below`. */
UOp *with_row_terms(UOp *x, UOp *below, UOp *rows, UOp *end);
/* The same, but by additions and subtractions alone. */
UOp *below_row_shifts(UOp *x, UOp *end);
/* x without what values of the row are added to it or subtracted from it, which no difference of two edges of a row
 * has; the sign is lost. */
UOp *without_row_shifts(UOp *x, UOp *end);

#endif
