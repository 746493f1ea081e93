/* shape_ops.h: movement, indexing and products on UOps, for the front end, the gradient rules and nn. Same conventions
 * as tensor.h: NULL in gives NULL out, results are held by the open scope, errors are in the context. Axes are already
 * normalised (0 .. ndim-1) unless a function says otherwise. Sizes are integer UOps and may be symbolic everywhere. */
#ifndef POLY_SHAPE_OPS_H
#define POLY_SHAPE_OPS_H

#include "tensor/tensor.h"

/* ---- sizes ---- */

UOp *t_dim(PolyContext *ctx, int64_t d);       /* number (negative too) or code of a symbolic size */
bool t_known(const UOp *size, int64_t *value); /* is it a constant? */
const char *t_dims_text(int ndim, UOp *const *dims, char *buf, size_t n); /* "(3, -1)"; NULL is -1 */
bool t_holds(const UOp *condition);                                       /* a bool that is known to be true */
UOp *t_int_ceildiv(UOp *a, UOp *b);                                       /* a / b rounded up, b > 0 */
PolyDType t_index_dtype(const UOp *size);                                 /* int32 where 0 .. size fits, else int64 */
/* An int32 or int64 tensor out of any integer tensor, without changing a value that could be an index below size. */
UOp *t_index_cast(UOp *index, const UOp *size);

/* t_axis for functions where a 0-dim tensor has no axis at all. */
bool t_real_axis(const UOp *x, int axis, int *out);

/* ---- move_ops.c: one axis at a time ---- */

/* One entry of shape may be NULL: it is inferred. Error: "cannot reshape (3, 4) (12 elements) into (5, 2)". */
UOp *t_reshape(UOp *x, int ndim, UOp *const *shape);
UOp *t_merge_axes(UOp *x, int first, int last);                       /* first .. last become one */
UOp *t_split_axis(UOp *x, int axis, UOp *outer, UOp *inner);          /* axis becomes two */
UOp *t_slice(UOp *x, int axis, UOp *begin, UOp *end);                 /* begin .. end-1 */
UOp *t_every(UOp *x, int axis, UOp *begin, UOp *count, int64_t step); /* begin + i*step for i < count; step > 0 */
UOp *t_expand_axis(UOp *x, int axis, UOp *size);                      /* an axis of size 1 repeated */
UOp *t_repeat_axis(UOp *x, int axis, UOp *times);                     /* a b a b */
UOp *t_repeat_each(UOp *x, int axis, UOp *times);                     /* a a b b */
/* Padding for each axis, negative crops. fill: a CONST of x's dtype; NULL: 0. */
UOp *t_pad(UOp *x, UOp *const *before, UOp *const *after, UOp *fill);
UOp *t_extend(UOp *x, int axis, UOp *before, UOp *after); /* zeros; neither is negative, which need not be provable */
UOp *t_pad_axis(UOp *x, int axis, UOp *before, UOp *after, UOp *fill);
/* The axis becomes two, [windows, size]: element (i, j) is x[i*step + j*dilation]; as many windows as fit. */
UOp *t_windows(UOp *x, int axis, int64_t size, int64_t step, int64_t dilation);
/* Its gradient: g [.. windows, size ..] added up where the elements came from, an axis of n. */
UOp *t_windows_gradient(UOp *g, int axis, UOp *n, int64_t step, int64_t dilation);
UOp *t_insert_zeros(UOp *x, int axis, int64_t step); /* step-1 zeros between the elements */
UOp *t_diagonal(UOp *x);                             /* of the last two axes, which must be equal */
/* bool [rows, cols], true where column - row <= diagonal */
UOp *t_lower_mask(PolyContext *ctx, UOp *rows, UOp *cols, int64_t diagonal);
UOp *t_roll(UOp *x, int axis, UOp *shift);
UOp *t_lowest(PolyContext *ctx, PolyDType dtype); /* -inf, or the smallest integer, or false */

/* ---- cat.c ---- */

/* Bit-exact (selects, never adds); dtypes promote. */
UOp *t_cat(PolyContext *ctx, int n, UOp *const *x, int axis);
UOp *t_stack(PolyContext *ctx, int n, UOp *const *x, int axis); /* axis in 0 .. ndim */

/* ---- scatter.c: indices are checked when they run; negative ones are errors ---- */

UOp *t_take(UOp *x, int axis, UOp *index);        /* axis replaced by the axes of index */
UOp *t_gather_axis(UOp *x, int axis, UOp *index); /* as poly_gather */
/* x [V, f...], index [E], src [E, f...]: rows of x replaced (the last one wins), or combined with op and x itself. */
UOp *t_put_rows(UOp *x, UOp *index, UOp *src);
UOp *t_index_add(UOp *x, int axis, UOp *index, UOp *src);
UOp *t_scatter(UOp *x, int axis, UOp *index, UOp *src);
UOp *t_scatter_reduce(UOp *x, int axis, UOp *index, UOp *src, const char *reduce, bool include_self);
/* Negative indices count from the end: index < 0 ? index + size : index. */
UOp *t_wrap_index(UOp *index, UOp *size);
/* One index into axes flattened together; each part is checked against its own axis when it runs. */
UOp *t_linear_index(int n, UOp *const *index, UOp *const *size);

/* ---- sort.c: t_argsort is in tensor.h ---- */

UOp *t_sort_values(UOp *x, int axis, UOp *order); /* x along axis in the given order */
UOp *t_nonzero_flat(UOp *mask);                   /* flat places of the true elements, [count]; realizes */

/* ---- linalg.c ---- */

/* Sum over `axes` of a*b, both broadcast to shape, without the reduced axes; accumulates in float32 for the half types.
 * This is the form which the scheduler sends to the matrix product. */
UOp *t_contract(UOp *a, UOp *b, int ndim, UOp *const *shape, uint32_t axes, PolyDType out);
UOp *t_matmul(UOp *a, UOp *b); /* numpy's rules */
/* matrices.c */
UOp *t_solve(UOp *a, UOp *b); /* X with A X = B; leading axes are broadcast */
UOp *t_solve_triangular(UOp *a, UOp *b, bool upper, bool unit);
UOp *t_unpacked(UOp *x, int64_t at, int64_t rows,
                int64_t columns); /* rows x columns out of the last axis; rows 0: a vector */
/* linalg.c */
UOp *t_matmul_as(UOp *a, UOp *b, PolyDType out);
UOp *t_linear(UOp *x, UOp *weight, UOp *bias);
/* scaled.c: x [..., M, K] times w [N, K], if x is joined of one value times several numbers of each row; else NULL. */
UOp *t_scaled_product(UOp *x, UOp *w, PolyDType out);

/* ---- conv.c ---- */

/* The gradients of FUNCTION_CONV by its input, out[1], and by its weight, out[2]. */
void t_conv_gradients(UOp *u, UOp *g, uint32_t need, UOp **out);

/* ---- norm.c ---- */

UOp *t_layernorm(UOp *x, int naxis, double eps);

#endif
