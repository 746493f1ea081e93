/* render.h: text out of linear kernels. One C-style renderer with a small table of differences for each dialect. */
#ifndef POLY_RENDER_H
#define POLY_RENDER_H

#include "ir/linear.h"

/* All kernels of a plan as one translation unit, helpers that they need included and no others. In C each kernel is
 *   void NAME(void *const *arg, const int64_t *var, int threads, int64_t *err)
 * err[0] is set to 1, err[1] to the bad index and err[2] to the size by a failed CHECK. Two kernels of one name get a
 * suffix; kernel i's symbol is in the table `poly_kernels`, in order. */
bool render_program(PolyContext *ctx, const Target *target, int n, const Linear *const *kernel, Str *out);

#endif
