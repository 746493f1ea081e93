/* text.h: UOps as text, and back. One line a node, sources before users, the roots at the end:
 *
 *     %0 = VARIABLE int64 {min=1, max=64, name="n"}
 *     %1 = BUFFER float32 [%0, 3] %0 3 {id=7}
 *     %2 = CONST float32 {0.5}
 *     %3 = MUL float32 [%0, 3] %1 %2      # a comment
 *     %4 = REDUCE float32 [%0, 1] %3 {op=ADD, axes=2}
 *     return %4
 *
 * int64 constants stand as plain numbers among sizes and sources. A scalar has no brackets. Arguments that are zero are
 * left out. Floats are rounded to their dtype. What is stored is not part of the text. */
#ifndef POLY_TEXT_H
#define POLY_TEXT_H

#include "ir/uop.h"

typedef VEC(UOp *) UOpList;

void uop_print(Str *out, int nroot, UOp *const *roots);
/* Reads text into nodes of ctx, which the innermost scope holds; nodes that exist already are the same pointers.
 * Appends the roots to out, which the caller frees with vec_free. False: not such a text (the error names the line), or
 * no memory. */
bool uop_parse(PolyContext *ctx, const char *text, UOpList *out);

#endif
