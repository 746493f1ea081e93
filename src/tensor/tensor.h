/* tensor.h: what the files of the tensor front end share. Every operation has two layers: a function on UOps (t_...),
 * which composes freely, and a public wrapper on handles, which opens a scope and wraps the result.
 *
 * All t_ functions follow the builders of ir/uop.h: NULL in gives NULL out, results are held by the open scope, errors
 * are in the context. None of them changes what NaN and Inf give. */
#ifndef POLY_TENSOR_H
#define POLY_TENSOR_H

#include "ir/context.h"

/* A handle on a result, unless something failed since the error was `before`: a composition may have lost a NULL on its
 * way, the error it has not. */
static inline PolyTensor *t_result(PolyContext *ctx, PolyStatus before, UOp *u) {
  return before == POLY_OK && ctx->base.code != POLY_OK ? NULL : tensor_wrap(ctx, u);
}

/* The body of a public function: evaluates expr (an UOp *) in a scope of its own and returns a handle on it. */
#define TENSOR_RETURN(ctx_, expr)                                                                                      \
  do {                                                                                                                 \
    Scope scope_;                                                                                                      \
    PolyContext *tensor_ctx_ = (ctx_);                                                                                 \
    PolyStatus before_ = tensor_ctx_->base.code;                                                                       \
    scope_enter(tensor_ctx_, &scope_);                                                                                 \
    UOp *value_ = (expr);                                                                                              \
    PolyTensor *result_ = t_result(tensor_ctx_, before_, value_);                                                      \
    scope_leave(tensor_ctx_, &scope_);                                                                                 \
    return result_;                                                                                                    \
  } while (0)

/* A public function of one tensor x and an expression over x->uop. */
#define TENSOR_UNARY(name, expr)                                                                                       \
  PolyTensor *name(PolyTensor *x) {                                                                                    \
    if (!x) return NULL;                                                                                               \
    TENSOR_RETURN(x->ctx, expr);                                                                                       \
  }

/* The same for functions that show x, or a part of it, in another shape: assigning to the result assigns to x. */
#define TENSOR_VIEW(x_, expr)                                                                                          \
  do {                                                                                                                 \
    const PolyTensor *view_of_ = (x_);                                                                                 \
    Scope scope_;                                                                                                      \
    PolyContext *tensor_ctx_ = view_of_->ctx;                                                                          \
    PolyStatus before_ = tensor_ctx_->base.code;                                                                       \
    scope_enter(tensor_ctx_, &scope_);                                                                                 \
    UOp *value_ = (expr);                                                                                              \
    PolyTensor *result_ = handle_view(t_result(tensor_ctx_, before_, value_), view_of_);                               \
    scope_leave(tensor_ctx_, &scope_);                                                                                 \
    return result_;                                                                                                    \
  } while (0)

/* The node of a handle that may be NULL. */
static inline UOp *t_uop(const PolyTensor *t) { return t ? t->uop : NULL; }

/* Inside a vertex program operands may be values of a vertex and of its neighbours: they are brought to one place. */
static inline bool t_meet(PolyContext *ctx, int n, UOp **x, bool aligned) {
  return !ctx->combine || ctx->combine(ctx, n, x, aligned);
}

/* ---- shape.c: broadcasting, axes, small movements ---- */

/* Common shape of n tensors (numpy's rule); shape has room for MAX_DIMS. Error: "shapes (3, 4) and (5,) cannot be
 * broadcast". */
bool t_broadcast_shapes(int n, UOp *const *x, int *ndim, UOp **shape);
/* x broadcast to a shape: missing leading axes are added, sizes of 1 are repeated. A 0-dim x becomes a full tensor as
 * well.
 */
UOp *t_broadcast(UOp *x, int ndim, UOp *const *shape);
UOp *t_broadcast_like(UOp *x, const UOp *like);
/* Are two sizes provably equal? */
bool t_same_size(UOp *a, UOp *b);
/* Bits of the axes; axes NULL: all of them. The same axis twice is an error. A tensor of no dimensions has no bits. */
bool t_axes_mask(PolyContext *ctx, int naxis, const int *axes, int ndim, uint32_t *mask);
static inline uint32_t t_axis_bit(const UOp *x, int axis) { return x->ndim ? 1u << axis : 0; }
static inline uint32_t t_all_axes(const UOp *x) { return (uint32_t)((1ull << x->ndim) - 1); }
/* Product of the sizes of the axes in mask, as an integer UOp. */
UOp *t_count(UOp *x, uint32_t mask);
/* Integer UOp (a size) as a 0-dim tensor value of dtype. */
UOp *t_size_value(UOp *size, PolyDType dtype);
/* Sizes of the API to integer UOps; negative plain numbers are an error. shape has room for MAX_DIMS. */
bool t_shape_from_api(PolyContext *ctx, int ndim, const int64_t *dims, UOp **shape);

UOp *t_reshape1(UOp *x, UOp *a);         /* to one axis of size a */
UOp *t_flatten(UOp *x);                  /* to one axis */
UOp *t_unsqueeze(UOp *x, int axis);      /* axis in 0 .. ndim */
UOp *t_drop_axes(UOp *x, uint32_t mask); /* removes axes of size 1 */
UOp *t_move_axis(UOp *x, int from, int to);
UOp *t_transpose(UOp *x, int a, int b);

/* ---- create.c ---- */

UOp *t_full(PolyContext *ctx, PolyDType dtype, double value, int ndim, UOp *const *shape);
/* 0, 1, 2 ... along `axis` of a tensor with ndim axes, size `size` there and 1 elsewhere. */
UOp *t_iota_axis(PolyContext *ctx, PolyDType dtype, UOp *size, int ndim, int axis);

/* ---- elementwise.c ---- */

UOp *t_scalar_like(const UOp *x, double value); /* CONST of x's dtype */
UOp *t_int_like(const UOp *x, int64_t value);
UOp *t_cast(UOp *x, PolyDType dtype); /* folds a CONST; to bool is x != 0 */
UOp *t_float(UOp *x);                 /* the default float, unless it is floating point already */
PolyDType t_float_dtype(const PolyContext *ctx, PolyDType d);
/* The dtype to compute in before rounding once: float32 for floats of 8 and 16 bits, otherwise d. */
PolyDType t_wide_dtype(PolyDType d);
UOp *t_bool(UOp *x); /* x != 0 */
/* Broadcast and promote two tensors to one shape and dtype (a CONST stays a CONST). False: an error was set. */
bool t_match(UOp **a, UOp **b);
/* Broadcast, promote, then the plain IR op (arithmetic or comparison). */
UOp *t_binary(Op op, UOp *a, UOp *b);
/* The operation as users know it: DIV of integers is float32, MOD is Python's for floats too, and so on. */
UOp *t_binary_op(PolyBinaryOp op, UOp *a, UOp *b);
bool t_holds_integer(PolyDType d, int64_t v); /* can a tensor of this dtype hold the integer? */
UOp *t_binary_number(PolyBinaryOp op, UOp *x, char kind, int64_t i, double f, bool reversed);
UOp *t_unary(PolyUnaryOp op, UOp *x);
/* x OP number, the number in x's dtype. */
UOp *t_binary_const(Op op, UOp *x, double value);
UOp *t_where(UOp *cond, UOp *a, UOp *b); /* all three broadcast; a and b promote */
UOp *t_clamp(UOp *x, double low, double high);
UOp *t_pow(UOp *a, UOp *b);

static inline UOp *t_add(UOp *a, UOp *b) { return t_binary(OP_ADD, a, b); }
static inline UOp *t_sub(UOp *a, UOp *b) { return t_binary(OP_SUB, a, b); }
static inline UOp *t_mul(UOp *a, UOp *b) { return t_binary(OP_MUL, a, b); }
static inline UOp *t_div(UOp *a, UOp *b) { return t_binary_op(POLY_DIV, a, b); } /* always floating point */
static inline UOp *t_maximum(UOp *a, UOp *b) { return t_binary(OP_MAX, a, b); }
static inline UOp *t_minimum(UOp *a, UOp *b) { return t_binary(OP_MIN, a, b); }
static inline UOp *t_less(UOp *a, UOp *b) { return t_binary(OP_CMPLT, a, b); }
static inline UOp *t_less_equal(UOp *a, UOp *b) { return t_binary(OP_CMPLE, a, b); }
static inline UOp *t_equal(UOp *a, UOp *b) { return t_binary(OP_CMPEQ, a, b); }
static inline UOp *t_not_equal(UOp *a, UOp *b) { return t_binary(OP_CMPNE, a, b); }
static inline UOp *t_and(UOp *a, UOp *b) { return t_binary(OP_AND, a, b); }
static inline UOp *t_or(UOp *a, UOp *b) { return t_binary(OP_OR, a, b); }
static inline UOp *t_not(UOp *x) { return uop_unary(OP_NOT, x); }
static inline UOp *t_addc(UOp *x, double c) { return t_binary_const(OP_ADD, x, c); }
static inline UOp *t_subc(UOp *x, double c) { return t_binary_const(OP_SUB, x, c); }
static inline UOp *t_mulc(UOp *x, double c) { return t_binary_const(OP_MUL, x, c); }
static inline UOp *t_rsubc(double c, UOp *x) { return x ? uop_binary(OP_SUB, t_scalar_like(x, c), x) : NULL; }
static inline UOp *t_neg(UOp *x) { return t_unary(POLY_NEG, x); }
static inline UOp *t_abs(UOp *x) { return t_unary(POLY_ABS, x); }
static inline UOp *t_exp(UOp *x) { return t_unary(POLY_EXP, x); }
static inline UOp *t_log(UOp *x) { return t_unary(POLY_LOG, x); }
static inline UOp *t_sqrt(UOp *x) { return t_unary(POLY_SQRT, x); }
static inline UOp *t_rsqrt(UOp *x) { return t_unary(POLY_RSQRT, x); }
static inline UOp *t_recip(UOp *x) { return t_unary(POLY_RECIPROCAL, x); }
static inline UOp *t_square(UOp *x) { return t_unary(POLY_SQUARE, x); }
static inline UOp *t_sign(UOp *x) { return t_unary(POLY_SIGN, x); }
static inline UOp *t_isnan(UOp *x) { return t_unary(POLY_ISNAN, x); }
static inline UOp *t_relu(UOp *x) { return t_unary(POLY_RELU, x); }
static inline UOp *t_sigmoid(UOp *x) { return t_unary(POLY_SIGMOID, x); }
static inline UOp *t_tanh(UOp *x) { return t_unary(POLY_TANH, x); }

/* ---- activation.c: rows of the unary table, called through t_unary ---- */

UOp *t_relu6(UOp *x);
UOp *t_logsigmoid(UOp *x);
UOp *t_hardsigmoid(UOp *x);
UOp *t_hardswish(UOp *x);
UOp *t_atan2(UOp *y, UOp *x);
UOp *t_hypot(UOp *x, UOp *y);
UOp *t_copysign(UOp *x, UOp *y);
UOp *t_gelu(UOp *x);
UOp *t_gelu_erf(UOp *x);
UOp *t_quick_gelu(UOp *x);
UOp *t_silu(UOp *x);
UOp *t_mish(UOp *x);
UOp *t_selu(UOp *x);
UOp *t_softsign(UOp *x);
UOp *t_softplus(UOp *x, double beta);

/* ---- special.c: of floats, but for the last two, of integers of one dtype ---- */

UOp *t_polygamma(UOp *x, int n); /* n = -1: lgamma, 0: digamma */
UOp *t_lgamma(UOp *x);
UOp *t_digamma(UOp *x);
UOp *t_erfinv(UOp *x);
UOp *t_gcd(UOp *a, UOp *b);
UOp *t_lcm(UOp *a, UOp *b);

/* ---- reduce.c: mask holds the axes. keepdim false removes them. ---- */

UOp *t_reduce(Op op, UOp *x, uint32_t mask, bool keepdim); /* in x's own dtype */
UOp *t_sum(UOp *x, uint32_t mask, bool keepdim);           /* accumulates in dtype_sum; small floats come back so */
UOp *t_sum_dtype(UOp *x, uint32_t mask, bool keepdim, PolyDType dtype);
UOp *t_prod(UOp *x, uint32_t mask, bool keepdim);
UOp *t_max(UOp *x, uint32_t mask, bool keepdim); /* an empty axis is an error */
UOp *t_min(UOp *x, uint32_t mask, bool keepdim);
UOp *t_mean(UOp *x, uint32_t mask, bool keepdim);
/* The extremum by op; of equal ones the first has the gradient, as PyTorch has it where it tells the place. */
UOp *t_first_extremum(Op op, UOp *x, uint32_t mask);
UOp *t_var(UOp *x, uint32_t mask, bool keepdim, double correction);
UOp *t_any(UOp *x, uint32_t mask, bool keepdim);
UOp *t_all(UOp *x, uint32_t mask, bool keepdim);
UOp *t_logsumexp(UOp *x, uint32_t mask, bool keepdim);
UOp *t_argmax(UOp *x, int axis, bool keepdim); /* int32; axis already normalised */
UOp *t_argmin(UOp *x, int axis, bool keepdim);
UOp *t_softmax(UOp *x, int axis);        /* NaN where all are -inf */
UOp *t_masked_softmax(UOp *x, int axis); /* 0 there */
UOp *t_log_softmax(UOp *x, int axis);
UOp *t_recurrence(UOp *a, UOp *b);    /* y[i] = a[i] y[i-1] + b[i] along the last axis; y[0] = b[0] */
UOp *t_scan(Op op, UOp *x, int axis); /* running OP_ADD OP_MUL OP_MAX OP_MIN, in x's own dtype */

/* ---- loss.c ---- */

UOp *t_bounded_log(UOp *x); /* log(x) and log(1 + x), not below -100 */
UOp *t_bounded_log1p(UOp *x);

/* ---- random.c ---- */

UOp *t_rand(PolyContext *ctx, PolyDType dtype, int ndim, UOp *const *shape);
UOp *t_dropout(UOp *x, double p); /* x itself unless the context is training */

/* ---- sort.c ---- */

UOp *t_argsort(UOp *x, int axis, bool descending); /* int32, stable; axis already normalised */

#endif
