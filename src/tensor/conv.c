/* conv.c: convolution, its transpose, and pooling over any number of spatial axes.
 *
 * Windows are movement ops (t_windows), so these need no gradient rules of their own. A convolution is then one product
 * summed over input channels and kernel places:
 *
 *   x      [batch, groups, in, o1, k1, o2, k2 ..]  ->  [groups, batch, o.., 1, in, k..]
 *   weight [groups, out, in, k..]                  ->  [groups, 1, 1..,   out, in, k..]
 *
 * which is the contraction of linalg.c with batch = groups, M = (batch, o..), N = out, K = (in, k..). */
#include "tensor/shape_ops.h"

#include <inttypes.h>

enum { MAX_SPATIAL = 6 }; /* 2 + 2*6 axes of windows fit MAX_DIMS */

/* Numbers of the API, with defaults where the caller gave no array. */
typedef struct Geometry {
  int n;
  int64_t kernel[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL], before[MAX_SPATIAL], after[MAX_SPATIAL];
} Geometry;

static bool geometry(PolyContext *ctx, const char *what, int n, const int64_t *stride, const int64_t *dilation,
                     const int64_t *padding, Geometry *g) {
  if (n < 1 || n > MAX_SPATIAL)
    return base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "%s takes 1 to %d spatial axes, not %d", what, MAX_SPATIAL, n);
  g->n = n;
  for (int k = 0; k < n; k++) {
    g->stride[k] = stride ? stride[k] : 1;
    g->dilation[k] = dilation ? dilation[k] : 1;
    g->before[k] = padding ? padding[2 * k] : 0;
    g->after[k] = padding ? padding[2 * k + 1] : 0;
    if (g->stride[k] < 1 || g->dilation[k] < 1)
      return base_fail(ctx_base(ctx), POLY_ERROR_VALUE,
                       "%s: stride %" PRId64 " and dilation %" PRId64 " must be positive", what, g->stride[k],
                       g->dilation[k]);
  }
  return true;
}

/* Pads the last n axes. */
static UOp *pad_spatial(UOp *x, int n, const int64_t *before, const int64_t *after, UOp *fill) {
  if (!x) return NULL;
  UOp *b[MAX_DIMS], *a[MAX_DIMS];
  int lead = x->ndim - n;
  for (int k = 0; k < x->ndim; k++) {
    b[k] = uop_index(x->ctx, k < lead ? 0 : before[k - lead]);
    a[k] = uop_index(x->ctx, k < lead ? 0 : after[k - lead]);
  }
  return t_pad(x, b, a, fill);
}

/* [lead.., s1, s2 ..] -> [lead.., o1, k1, o2, k2 ..] */
static UOp *windows(UOp *x, const Geometry *g) {
  if (!x) return NULL;
  int lead = x->ndim - g->n;
  for (int k = 0; k < g->n && x; k++) x = t_windows(x, lead + 2 * k, g->kernel[k], g->stride[k], g->dilation[k]);
  return x;
}

/* ---- convolution ---- */

static bool conv_fits(UOp *x, UOp *weight, UOp *bias, int groups) {
  bool ok = x->ndim == weight->ndim && x->ndim >= 3 && groups >= 1;
  int64_t out;
  ok = ok && x->shape[1] == int_mulc(weight->shape[1], groups);
  ok = ok && t_known(weight->shape[0], &out) && out % groups == 0;
  if (!ok) {
    char tx[256], tw[256];
    return base_fail(ctx_base(x->ctx), POLY_ERROR_VALUE, "conv: shapes %s and %s do not agree for %d group%s",
                     shape_text(x, tx, sizeof(tx)), shape_text(weight, tw, sizeof(tw)), groups, groups == 1 ? "" : "s");
  }
  if (bias && (bias->ndim != 1 || bias->shape[0] != weight->shape[0])) {
    uop_fail_shapes("conv: weight and bias", weight, bias);
    return false;
  }
  return true;
}

/* A vector [channels] along axis 1 of y. */
static UOp *add_bias(UOp *y, UOp *bias) {
  if (!y || !bias) return y;
  UOp *dims[MAX_DIMS];
  for (int k = 0; k < y->ndim; k++) dims[k] = k == 1 ? bias->shape[0] : uop_index(y->ctx, 1);
  return t_add(y, uop_reshape(bias, y->ndim, dims));
}

/* Windows of x [batch, g*in, o1, k1 ..] -> [g, batch, o.., 1, in, k..] */
static UOp *conv_operand(UOp *x, UOp *groups, UOp *in, int n) {
  x = t_unsqueeze(t_split_axis(x, 1, groups, in), 2); /* [batch, g, 1, in, o1, k1 ..] */
  int perm[MAX_DIMS], m = 0;
  perm[m++] = 1;
  perm[m++] = 0;
  for (int k = 0; k < n; k++) perm[m++] = 4 + 2 * k;
  perm[m++] = 2;
  perm[m++] = 3;
  for (int k = 0; k < n; k++) perm[m++] = 5 + 2 * k;
  return uop_permute(x, perm);
}

/* weight [g*out, in, k..] -> [g, 1, 1.., out, in, k..] */
static UOp *conv_weight(UOp *w, UOp *groups, UOp *out, int n) {
  UOp *dims[MAX_DIMS];
  int m = 0;
  dims[m++] = groups;
  for (int k = 0; k <= n; k++) dims[m++] = uop_index(w->ctx, 1);
  dims[m++] = out;
  for (int k = 1; k < w->ndim; k++) dims[m++] = w->shape[k];
  return uop_reshape(w, m, dims);
}

static PolyDType conv_dtype(const UOp *x, const UOp *w) {
  PolyDType d = dtype_promote((PolyDType)x->dtype, (PolyDType)w->dtype);
  return dtype_is_float(d) ? d : dtype_sum(d);
}

static UOp *conv(UOp *x, UOp *weight, UOp *bias, int groups, Geometry *g) {
  PolyContext *ctx = x->ctx;
  if (!conv_fits(x, weight, bias, groups)) return NULL;
  int n = g->n;
  for (int k = 0; k < n; k++)
    if (!t_known(weight->shape[2 + k], &g->kernel[k]) || g->kernel[k] < 1)
      return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "conv: the sizes of a kernel must be known and positive");
  UOp *ng = uop_index(ctx, groups), *out = int_div(weight->shape[0], ng);
  UOp *a = conv_operand(windows(pad_spatial(x, n, g->before, g->after, NULL), g), ng, weight->shape[1], n);
  UOp *w = conv_weight(weight, ng, out, n);
  if (!a || !w) return NULL;
  UOp *both[] = {a, w}, *shape[MAX_DIMS];
  int ndim, perm[MAX_DIMS];
  if (!t_broadcast_shapes(2, both, &ndim, shape)) return NULL;
  uint32_t axes = (uint32_t)((1u << ndim) - (1u << (n + 3)));
  UOp *y = t_contract(a, w, ndim, shape, axes, conv_dtype(x, weight)); /* [g, batch, o.., out] */
  perm[0] = 1;
  perm[1] = 0;
  perm[2] = n + 2;
  for (int k = 0; k < n; k++) perm[3 + k] = 2 + k;
  return add_bias(t_merge_axes(uop_permute(y, perm), 1, 2), bias);
}

PolyTensor *poly_conv(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, int groups, const int64_t *stride,
                      const int64_t *dilation, const int64_t *padding) {
  Geometry g;
  if (!x || !weight || !geometry(x->ctx, "conv", x->uop->ndim - 2, stride, dilation, padding, &g)) return NULL;
  TENSOR_RETURN(x->ctx, conv(x->uop, weight->uop, t_uop(bias), groups, &g));
}

/* weight [g*in, out, k..] -> [g*out, in, k..] with the kernel turned around. */
static UOp *turned_weight(UOp *w, UOp *groups, UOp *in) {
  int ndim = w->ndim;
  w = t_transpose(t_split_axis(w, 0, groups, in), 1, 2);
  uint32_t spatial = ((1u << (ndim + 1)) - 1) & ~7u;
  return t_merge_axes(uop_flip(w, spatial), 0, 1);
}

/* step-1 zeros between the elements of an axis: [n] -> [n, step] -> n*step - (step-1). */
static UOp *insert_zeros(UOp *x, int axis, int64_t step) {
  if (!x || step == 1) return x;
  UOp *zero = uop_index(x->ctx, 0), *n = x->shape[axis];
  x = t_extend(t_unsqueeze(x, axis + 1), axis + 1, zero, uop_index(x->ctx, step - 1));
  return t_slice(t_merge_axes(x, axis, axis + 1), axis, zero, int_addc(int_mulc(n, step), 1 - step));
}

/* The convolution of the spread-out input with the turned kernel; padding becomes what it leaves of a full one. */
static UOp *conv_transpose(UOp *x, UOp *weight, UOp *bias, int groups, Geometry *g, const int64_t *output_padding) {
  PolyContext *ctx = x->ctx;
  UOp *ng = uop_index(ctx, MAX(groups, 1));
  UOp *in = int_div(weight->ndim ? weight->shape[0] : ng, ng);
  bool ok = groups >= 1 && x->ndim == weight->ndim && x->ndim >= 3 && x->shape[1] == weight->shape[0] &&
            int_mul(in, ng) == weight->shape[0];
  if (!ok) {
    uop_fail_shapes("conv_transpose", x, weight);
    return NULL;
  }
  for (int k = 0; k < g->n; k++) {
    int64_t size, more = output_padding ? output_padding[k] : 0;
    if (!t_known(weight->shape[2 + k], &size))
      return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "conv_transpose: the sizes of a kernel must be known");
    x = insert_zeros(x, 2 + k, g->stride[k]);
    int64_t reach = (size - 1) * g->dilation[k];
    g->before[k] = reach - g->before[k];
    g->after[k] = reach - g->after[k] + more;
    g->stride[k] = 1;
  }
  weight = turned_weight(weight, ng, in);
  return x && weight ? conv(x, weight, bias, groups, g) : NULL;
}

PolyTensor *poly_conv_transpose(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, int groups, const int64_t *stride,
                                const int64_t *dilation, const int64_t *padding, const int64_t *output_padding) {
  Geometry g;
  if (!x || !weight || !geometry(x->ctx, "conv_transpose", x->uop->ndim - 2, stride, dilation, padding, &g))
    return NULL;
  TENSOR_RETURN(x->ctx, conv_transpose(x->uop, weight->uop, t_uop(bias), groups, &g, output_padding));
}

/* ---- pooling ---- */

/* More padding behind, so that a last window which is only partly inside counts; not one that starts in the padding. */
static bool ceil_padding(UOp *x, Geometry *g) {
  for (int k = 0; k < g->n; k++) {
    int64_t size;
    if (!t_known(x->shape[x->ndim - g->n + k], &size))
      return base_fail(ctx_base(x->ctx), POLY_ERROR_VALUE, "ceil_mode needs known sizes");
    int64_t span = g->dilation[k] * (g->kernel[k] - 1) + 1, s = g->stride[k];
    int64_t room = size + g->before[k] + g->after[k] - span;
    if (room < 0) continue; /* reported by t_windows */
    int64_t last = (room + s - 1) / s;
    if (last * s >= size + g->before[k]) last--;
    g->after[k] += MAX(last * s - room, 0);
  }
  return true;
}

/* Reduced windows of the last n axes: [lead.., o..]. */
static UOp *pool(UOp *x, const Geometry *g, Op op, UOp *fill) {
  UOp *w = windows(pad_spatial(x, g->n, g->before, g->after, fill), g);
  if (!w) return NULL;
  uint32_t mask = 0;
  for (int k = 0; k < g->n; k++) mask |= 1u << (w->ndim - 1 - 2 * k);
  return t_drop_axes(uop_reduce(op, w, mask), mask);
}

static bool pool_geometry(PolyTensor *x, const char *what, int n, const int64_t *kernel, const int64_t *stride,
                          const int64_t *dilation, const int64_t *padding, Geometry *g) {
  if (n > x->uop->ndim) {
    char text[256];
    return base_fail(ctx_base(x->ctx), POLY_ERROR_VALUE, "%s over %d axes of %s", what, n,
                     shape_text(x->uop, text, sizeof(text)));
  }
  if (!geometry(x->ctx, what, n, stride ? stride : kernel, dilation, padding, g)) return false;
  for (int k = 0; k < n; k++) g->kernel[k] = kernel[k];
  return true;
}

static UOp *max_pool(UOp *x, Geometry *g, bool ceil_mode) {
  if (ceil_mode && !ceil_padding(x, g)) return NULL;
  UOp *lowest = t_lowest(x->ctx, (PolyDType)x->dtype);
  return lowest ? pool(x, g, OP_MAX, lowest) : NULL;
}

PolyTensor *poly_max_pool(PolyTensor *x, int nspatial, const int64_t *kernel, const int64_t *stride,
                          const int64_t *dilation, const int64_t *padding, bool ceil_mode) {
  Geometry g;
  if (!x || !pool_geometry(x, "max_pool", nspatial, kernel, stride, dilation, padding, &g)) return NULL;
  TENSOR_RETURN(x->ctx, max_pool(x->uop, &g, ceil_mode));
}

/* How many elements of each window count: those of x, or also those of its plain padding. [1.., o..] */
static UOp *pool_count(UOp *x, const Geometry *g, const Geometry *plain, bool include_pad, PolyDType dtype) {
  UOp *dims[MAX_DIMS];
  int lead = x->ndim - g->n;
  Geometry rest = *g;
  for (int k = 0; k < x->ndim; k++) {
    dims[k] = k < lead ? uop_index(x->ctx, 1) : x->shape[k];
    if (k < lead || !include_pad) continue;
    dims[k] = int_addc(x->shape[k], plain->before[k - lead] + plain->after[k - lead]);
    rest.before[k - lead] -= plain->before[k - lead];
    rest.after[k - lead] -= plain->after[k - lead];
  }
  return pool(uop_spread(uop_int_const(x->ctx, dtype, 1), x->ndim, dims), &rest, OP_ADD, NULL);
}

static UOp *avg_pool(UOp *x, Geometry *g, bool ceil_mode, bool include_pad) {
  Geometry plain = *g;
  if (ceil_mode && !ceil_padding(x, g)) return NULL;
  UOp *wide = t_float(x);
  if (!wide) return NULL;
  PolyDType out = (PolyDType)wide->dtype;
  wide = uop_cast(wide, out == POLY_FLOAT64 ? POLY_FLOAT64 : POLY_FLOAT32);
  UOp *sum = pool(wide, g, OP_ADD, NULL), *mean = NULL;
  if (!sum) return NULL;
  if (include_pad && !ceil_mode) { /* every window is full */
    double size = 1;
    for (int k = 0; k < g->n; k++) size *= (double)g->kernel[k];
    mean = uop_binary(OP_DIV, sum, t_scalar_like(sum, size));
  } else {
    mean = t_div(sum, pool_count(x, g, &plain, include_pad, (PolyDType)sum->dtype));
  }
  return uop_cast(mean, out);
}

PolyTensor *poly_avg_pool(PolyTensor *x, int nspatial, const int64_t *kernel, const int64_t *stride,
                          const int64_t *dilation, const int64_t *padding, bool ceil_mode, bool count_include_pad) {
  Geometry g;
  if (!x || !pool_geometry(x, "avg_pool", nspatial, kernel, stride, dilation, padding, &g)) return NULL;
  TENSOR_RETURN(x->ctx, avg_pool(x->uop, &g, ceil_mode, count_include_pad));
}
