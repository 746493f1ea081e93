/* norm.c: attention and the normalisations, composed from products, reductions and elementwise ops. Half-precision
 * inputs are normalised in float32 and come back in their own dtype. */
#include "tensor/shape_ops.h"

#include <math.h>

static bool is_half(const UOp *x) { return dtype_is_small((PolyDType)x->dtype); }

/* ---- attention ---- */

/* x / sqrt(size) */
static UOp *over_root(UOp *x, UOp *size, PolyDType dtype) {
  int64_t n;
  if (!x) return NULL;
  return t_known(size, &n) ? t_binary_const(OP_DIV, x, sqrt((double)n))
                           : t_div(x, uop_unary(OP_SQRT, t_size_value(size, dtype)));
}

/* softmax(q k^T / sqrt(d) + mask): mask is bool (false: not seen) or is added. A query that sees nothing gets zeros.
 * The queries are divided, which are fewer than the scores; those of the half types would be rounded by it. */
static UOp *attention_weights(UOp *q, UOp *k, UOp *mask, bool causal) {
  PolyDType wide = dtype_promote(dtype_promote((PolyDType)q->dtype, (PolyDType)k->dtype), POLY_FLOAT32);
  bool first = q->dtype == wide;
  UOp *size = q->shape[q->ndim - 1], *x = first ? over_root(q, size, wide) : q;
  UOp *scores = x ? t_matmul_as(x, t_transpose(k, k->ndim - 1, k->ndim - 2), wide) : NULL;
  if (!first) scores = over_root(scores, size, wide);
  if (!scores) return NULL;
  if (causal) mask = t_lower_mask(q->ctx, scores->shape[scores->ndim - 2], scores->shape[scores->ndim - 1], 0);
  if (mask && mask->dtype == POLY_BOOL) {
    UOp *hidden = t_scalar_like(scores, -INFINITY), *seen = t_scalar_like(scores, 0);
    scores = t_add(scores, uop_where(mask, seen, hidden));
  } else if (mask) {
    scores = t_add(scores, mask);
  }
  PolyDType out = t_float_dtype(q->ctx, (PolyDType)q->dtype);
  if (!scores) return NULL;
  scores = uop_cast(scores, out);
  return mask ? t_masked_softmax(scores, scores->ndim - 1) : t_softmax(scores, scores->ndim - 1);
}

static UOp *attention(UOp *q, UOp *k, UOp *v, UOp *mask, bool causal, double dropout) {
  if (q->ndim < 2 || k->ndim < 2 || v->ndim < 2) {
    uop_fail_shapes("attention: query and key", q, k);
    return NULL;
  }
  if (causal && mask)
    return fail_null(ctx_base(q->ctx), POLY_ERROR_VALUE, "attention: a mask and causal exclude each other");
  return t_matmul(t_dropout(attention_weights(q, k, mask, causal), dropout), v);
}

PolyTensor *poly_attention(PolyTensor *q, PolyTensor *k, PolyTensor *v, PolyTensor *mask, bool causal, double dropout) {
  if (!q || !k || !v) return NULL;
  TENSOR_RETURN(q->ctx, attention(q->uop, k->uop, v->uop, t_uop(mask), causal, dropout));
}

/* ---- normalisation ---- */

/* x / sqrt(mean(x^2) + eps) over the axes in mask */
static UOp *over_rms(UOp *x, uint32_t mask, double eps) {
  UOp *mean = t_mean(uop_binary(OP_MUL, x, x), mask, true);
  return t_mul(x, t_rsqrt(t_addc(mean, eps)));
}

static UOp *normalise(UOp *x, uint32_t mask, double eps, bool center) {
  x = t_float(x);
  if (!x) return NULL;
  UOp *wide = is_half(x) ? uop_cast(x, POLY_FLOAT32) : x;
  if (center) wide = t_sub(wide, t_mean(wide, mask, true));
  return wide ? uop_cast(over_rms(wide, mask, eps), (PolyDType)x->dtype) : NULL;
}

UOp *t_layernorm(UOp *x, int naxis, double eps) {
  if (!x) return NULL;
  char text[256];
  if (naxis < 1 || naxis > x->ndim)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "layernorm over the last %d axes of %s", naxis,
                     shape_text(x, text, sizeof(text)));
  return normalise(x, t_all_axes(x) & ~((1u << (x->ndim - naxis)) - 1), eps, true);
}

PolyTensor *poly_layernorm(PolyTensor *x, int naxis, double eps) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, t_layernorm(x->uop, naxis, eps));
}

static UOp *rmsnorm(UOp *x, double eps) {
  char text[256];
  if (x->ndim < 1)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "rmsnorm of %s", shape_text(x, text, sizeof(text)));
  return normalise(x, 1u << (x->ndim - 1), eps, false);
}

PolyTensor *poly_rmsnorm(PolyTensor *x, double eps) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, rmsnorm(x->uop, eps));
}

/* [batch, channels, ...] -> [batch, groups, rest], each group on its own */
static UOp *groupnorm(UOp *x, int groups, double eps) {
  char text[256];
  UOp *ng = uop_index(x->ctx, MAX(groups, 1));
  bool ok = x->ndim >= 2 && groups >= 1;
  UOp *each = ok ? int_div(x->shape[1], ng) : NULL;
  if (!each || int_mul(each, ng) != x->shape[1])
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "groupnorm: the channels of %s do not make %d groups",
                     shape_text(x, text, sizeof(text)), groups);
  UOp *rows = t_merge_axes(t_split_axis(x, 1, ng, each), 2, x->ndim);
  UOp *y = t_layernorm(rows, 1, eps);
  return y ? uop_reshape(y, x->ndim, x->shape) : NULL;
}

PolyTensor *poly_groupnorm(PolyTensor *x, int groups, double eps) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, groupnorm(x->uop, groups, eps));
}

/* v [channels] along axis of x; one that already has x's number of axes stays. */
static UOp *along(UOp *v, UOp *x, int axis) {
  if (v->ndim == x->ndim && v->ndim != 1) return v;
  UOp *dims[MAX_DIMS];
  if (v->ndim != 1 || !size_same(v->shape[0], x->shape[axis])) {
    uop_fail_shapes("batchnorm", x, v);
    return NULL;
  }
  for (int k = 0; k < x->ndim; k++) dims[k] = k == axis ? v->shape[0] : uop_index(x->ctx, 1);
  return uop_reshape(v, x->ndim, dims);
}

static UOp *batchnorm(UOp *x, UOp *weight, UOp *bias, UOp *mean, UOp *invstd, int axis) {
  UOp *y = t_sub(x, along(mean, x, axis));
  if (weight) y = t_mul(y, along(weight, x, axis));
  y = t_mul(y, along(invstd, x, axis));
  return bias ? t_add(y, along(bias, x, axis)) : y;
}

PolyTensor *poly_batchnorm(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, PolyTensor *mean, PolyTensor *invstd,
                           int axis) {
  int at;
  if (!x || !mean || !invstd || !t_real_axis(x->uop, axis, &at)) return NULL;
  TENSOR_RETURN(x->ctx, batchnorm(x->uop, t_uop(weight), t_uop(bias), mean->uop, invstd->uop, at));
}

/* ---- batch norm with the statistics of the batch ---- */

typedef struct Running {
  PolyTensor *mean, *var, *count;
  double momentum; /* NaN: the mean over all batches so far */
} Running;

static bool assign_node(PolyTensor *t, UOp *value) {
  PolyTensor *v = value ? tensor_wrap(t->ctx, value) : NULL;
  bool ok = v && poly_assign(t, v) == POLY_OK;
  poly_free(v);
  return ok;
}

/* t = (1 - m) t + m value */
static bool move_towards(PolyTensor *t, UOp *value, const Running *r) {
  value = uop_detach(value);
  if (isfinite(r->momentum)) {
    UOp *kept = t_binary_number(POLY_MUL, t->uop, 'f', 0, 1 - r->momentum, true);
    return assign_node(t, t_add(kept, t_binary_number(POLY_MUL, value, 'f', 0, r->momentum, true)));
  }
  UOp *share = t_recip(t_cast(r->count->uop, POLY_FLOAT32)), *rest = share ? t_rsubc(1, share) : NULL;
  return assign_node(t, t_add(t_mul(rest, t->uop), t_mul(share, value)));
}

/* A count that was never computed is a number, and the next one is a number, too: sums would pile up, one a step. */
static UOp *one_more(UOp *count) {
  if (count->op == OP_CONST) return uop_int_const(count->ctx, (PolyDType)count->dtype, const_int(count) + 1);
  return t_binary_number(POLY_ADD, count, 'i', 1, 0, false);
}

/* The variance that is kept is the unbiased one, unless a single element has none. */
static bool track(UOp *x, UOp *mean, UOp *var, bool single, uint32_t mask, const Running *r) {
  if (!assign_node(r->count, one_more(r->count->uop))) return false;
  return move_towards(r->mean, mean, r) && move_towards(r->var, single ? var : t_var(x, mask, false, 1), r);
}

static UOp *batchnorm_train(PolyTensor *t, UOp *weight, UOp *bias, const Running *r, double eps, int axis) {
  UOp *x = t->uop;
  uint32_t mask = ((1u << x->ndim) - 1) & ~(1u << axis);
  UOp *mean = t_mean(x, mask, false), *var = t_var(x, mask, false, 0);
  bool single = poly_numel(t) == poly_dim(t, axis);
  if (!mean || !var || (r->mean && !track(x, mean, var, single, mask, r))) return NULL;
  return batchnorm(x, weight, bias, mean, t_rsqrt(t_addc(var, eps)), axis);
}

PolyTensor *poly_batchnorm_train(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, PolyTensor *mean, PolyTensor *var,
                                 PolyTensor *count, double momentum, double eps, int axis) {
  int at;
  if (!x || !t_real_axis(x->uop, axis, &at)) return NULL;
  Running r = {mean, var, count, momentum};
  if (!mean != !var || !mean != !count)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "batchnorm: running mean, variance and count belong together");
  TENSOR_RETURN(x->ctx, batchnorm_train(x, t_uop(weight), t_uop(bias), &r, eps, at));
}
