/* conv.c: convolution, its transpose, and pooling over any number of spatial axes.
 *
 * Windows are movement ops (t_windows). A convolution is then one product summed over input channels and kernel places:
 *
 *   x      [batch, groups, in, o1, k1, o2, k2 ..]  ->  [groups, batch, o.., 1, in, k..]
 *   weight [groups, out, in, k..]                  ->  [groups, 1, 1..,   out, in, k..]
 *
 * which is the contraction of linalg.c with batch = groups, M = (batch, o..), N = out, K = (in, k..). Its gradients are
 * two more contractions (FUNCTION_CONV): by the weight, a sum over M; by x, a convolution of the gradient
 * (conv_spread). The rules of the movements alone would store a gradient for each place of each window. */
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

static UOp *conv_function(UOp *y, UOp *x, UOp *weight, int groups, const Geometry *g);

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
  y = t_merge_axes(uop_permute(y, perm), 1, 2);
  return y ? add_bias(conv_function(y, x, weight, groups, g), bias) : NULL;
}

PolyTensor *poly_conv(PolyTensor *x, PolyTensor *weight, PolyTensor *bias, int groups, const int64_t *stride,
                      const int64_t *dilation, const int64_t *padding) {
  Geometry g;
  if (!x || !weight || !geometry(x->ctx, "conv", x->uop->ndim - 2, stride, dilation, padding, &g)) return NULL;
  TENSOR_RETURN(x->ctx, conv(x->uop, weight->uop, t_uop(bias), groups, &g));
}

/* ---- its transpose ---- */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* weight [g*out, in, k..] -> [g*in*r.., out, a..]: place k = a*step + r of a kernel is place a, counted from the end,
 * of kernel r. `part` gets the numbers of a, `phase` those of r, of each axis. */
static UOp *spread_weight(UOp *w, UOp *groups, const Geometry *g, int64_t *part, int64_t *phase) {
  PolyContext *ctx = w->ctx;
  UOp *none = uop_index(ctx, 0), *dims[MAX_DIMS], *in = w->shape[1];
  int perm[MAX_DIMS], m = 0, n = g->n;
  uint32_t turned = 0;
  w = t_split_axis(w, 0, groups, int_div(w->shape[0], groups)); /* [g, out, in, k..] */
  for (int k = 0; k < n && w; k++) {
    int64_t size = g->kernel[k], step = g->stride[k];
    part[k] = (size + step - 1) / step;
    phase[k] = MIN(size, step);
    w = t_extend(w, 3 + 2 * k, none, uop_index(ctx, part[k] * phase[k] - size));
    w = t_split_axis(w, 3 + 2 * k, uop_index(ctx, part[k]), uop_index(ctx, phase[k]));
    turned |= 1u << (3 + 2 * k);
  }
  if (!w) return NULL;
  perm[m++] = 0;
  perm[m++] = 2;
  for (int k = 0; k < n; k++) perm[m++] = 4 + 2 * k;
  perm[m++] = 1;
  for (int k = 0; k < n; k++) perm[m++] = 3 + 2 * k;
  w = uop_permute(uop_flip(w, turned), perm); /* [g, in, r.., out, a..] */
  UOp *rows = int_mul(groups, in);
  for (int k = 0; k < n; k++) rows = rows ? int_mulc(rows, phase[k]) : NULL;
  if (!w || !rows) return NULL;
  dims[0] = rows;
  for (int k = 0; k <= n; k++) dims[1 + k] = w->shape[n + 2 + k];
  return uop_reshape(w, n + 2, dims);
}

/* [batch, c*r.., q..] -> [batch, c, s..]: s = q*step + r; of each axis from g->before on, size elements. */
static UOp *join_phases(UOp *y, UOp *channels, const Geometry *g, const int64_t *phase, UOp *const *size) {
  if (!y) return NULL;
  PolyContext *ctx = y->ctx;
  UOp *dims[MAX_DIMS], *none = uop_index(ctx, 0);
  int perm[MAX_DIMS], n = g->n;
  dims[0] = y->shape[0];
  dims[1] = channels;
  perm[0] = 0;
  perm[1] = 1;
  for (int k = 0; k < n; k++) {
    dims[2 + k] = uop_index(ctx, phase[k]);
    dims[2 + n + k] = y->shape[2 + k];
    perm[2 + 2 * k] = 2 + n + k;
    perm[3 + 2 * k] = 2 + k;
  }
  y = uop_permute(uop_reshape(y, 2 + 2 * n, dims), perm);
  for (int k = 0; k < n && y; k++) {
    int64_t step = g->stride[k], first = g->before[k] - step * floor_div(g->before[k], step);
    y = t_merge_axes(t_extend(y, 3 + k, none, uop_index(ctx, step - phase[k])), 2 + k, 3 + k);
    y = t_slice(y, 2 + k, uop_index(ctx, first), int_addc(size[k], first));
  }
  return y;
}

/* The transpose of a convolution: y [batch, g*out, o..] and weight [g*out, in, k..] to [batch, g*in, s..], where s is
 * the size of the convolution's input without its padding. Element i = q*step + r of the padded input has been
 * multiplied by the places k = a*step + r of the kernel into y[q - a]: a convolution of y without a step, with a kernel
 * for each r. Dilation without a step only spreads the places of that kernel; both together put zeros into y. */
static UOp *conv_spread(UOp *y, UOp *weight, int groups, const Geometry *given, UOp *const *size) {
  PolyContext *ctx = y->ctx;
  Geometry g = *given, plain = {.n = given->n};
  UOp *before[MAX_DIMS], *after[MAX_DIMS], *ng = uop_index(ctx, groups), *in = weight->shape[1];
  int64_t part[MAX_SPATIAL], phase[MAX_SPATIAL];
  for (int k = 0; k < g.n && y; k++) {
    if (uop_is_int(weight->shape[2 + k], 1)) g.dilation[k] = 1; /* one place has no distance to others */
    if (g.stride[k] == 1 || g.dilation[k] == 1) continue;
    y = t_insert_zeros(y, 2 + k, g.stride[k]);
    g.stride[k] = 1;
  }
  UOp *w = y ? spread_weight(weight, ng, &g, part, phase) : NULL;
  if (!w) return NULL;
  before[0] = before[1] = after[0] = after[1] = uop_index(ctx, 0);
  for (int k = 0; k < g.n; k++) {
    UOp *end = t_int_ceildiv(int_addc(size[k], g.before[k]), uop_index(ctx, g.stride[k]));
    int64_t reach = (part[k] - 1) * g.dilation[k], first = floor_div(g.before[k], g.stride[k]);
    before[2 + k] = uop_index(ctx, reach - first);
    after[2 + k] = end ? int_sub(end, y->shape[2 + k]) : NULL;
    if (!after[2 + k]) return NULL;
    plain.stride[k] = 1;
    plain.dilation[k] = g.dilation[k];
  }
  y = t_pad(y, before, after, NULL);
  return y ? join_phases(conv(y, w, NULL, groups, &plain), int_mul(ng, in), &g, phase, size) : NULL;
}

/* [batch, g*out, o..] -> [g, batch, o.., out, 1, 1..] */
static UOp *conv_result(UOp *y, UOp *groups, int n) {
  int perm[MAX_DIMS];
  y = t_split_axis(y, 1, groups, y ? int_div(y->shape[1], groups) : NULL);
  perm[0] = 1;
  perm[1] = 0;
  for (int k = 0; k < n; k++) perm[2 + k] = 3 + k;
  perm[2 + n] = 2;
  y = uop_permute(y, perm);
  for (int k = 0; k <= n; k++) y = y ? t_unsqueeze(y, y->ndim) : NULL;
  return y;
}

/* Sums over the batch and the places of the output. */
static UOp *weight_gradient(UOp *x, const UOp *weight, UOp *y, UOp *groups, const Geometry *g) {
  int n = g->n, ndim;
  UOp *a = conv_operand(windows(pad_spatial(x, n, g->before, g->after, NULL), g), groups, weight->shape[1], n);
  UOp *both[] = {a, conv_result(y, groups, n)}, *shape[MAX_DIMS];
  if (!both[0] || !both[1] || !t_broadcast_shapes(2, both, &ndim, shape)) return NULL;
  uint32_t axes = (4u << n) - 2;
  UOp *sum = t_contract(both[0], both[1], ndim, shape, axes, (PolyDType)weight->dtype); /* [g, out, in, k..] */
  return t_merge_axes(sum, 0, 1);
}

/* The sources of FUNCTION_CONV: x, weight, the number of groups, and four numbers of each axis. */
static UOp *conv_function(UOp *y, UOp *x, UOp *weight, int groups, const Geometry *g) {
  UOp *of[3 + 4 * MAX_SPATIAL] = {x, weight, uop_index(x->ctx, groups)};
  for (int k = 0; k < g->n; k++) {
    const int64_t number[] = {g->stride[k], g->dilation[k], g->before[k], g->after[k]};
    for (int i = 0; i < 4; i++) of[3 + 4 * k + i] = uop_index(x->ctx, number[i]);
  }
  return uop_function(FUNCTION_CONV, 0, y, 3 + 4 * g->n, of);
}

void t_conv_gradients(UOp *u, UOp *y, uint32_t need, UOp **out) {
  UOp *x = u->src[1], *weight = u->src[2];
  Geometry g = {.n = x->ndim - 2};
  for (int k = 0; k < g.n; k++) {
    UOp *const *number = u->src + 4 + 4 * k;
    g.kernel[k] = const_int(weight->shape[2 + k]);
    g.stride[k] = const_int(number[0]);
    g.dilation[k] = const_int(number[1]);
    g.before[k] = const_int(number[2]);
    g.after[k] = const_int(number[3]);
  }
  UOp *dx = need & 2 ? conv_spread(y, weight, (int)const_int(u->src[3]), &g, x->shape + 2) : NULL;
  if (dx) out[1] = uop_cast(dx, (PolyDType)x->dtype);
  if (need & 4) out[2] = weight_gradient(x, weight, y, u->src[3], &g);
}

/* The size that a convolution's input must have had. */
static UOp *conv_transpose(UOp *x, UOp *weight, UOp *bias, int groups, Geometry *g, const int64_t *output_padding) {
  PolyContext *ctx = x->ctx;
  UOp *ng = uop_index(ctx, MAX(groups, 1)), *size[MAX_SPATIAL];
  UOp *in = int_div(weight->ndim ? weight->shape[0] : ng, ng);
  bool ok = groups >= 1 && x->ndim == weight->ndim && x->ndim >= 3 && x->shape[1] == weight->shape[0] &&
            int_mul(in, ng) == weight->shape[0];
  if (!ok) {
    uop_fail_shapes("conv_transpose", x, weight);
    return NULL;
  }
  for (int k = 0; k < g->n; k++) {
    if (!t_known(weight->shape[2 + k], &g->kernel[k]))
      return fail_null(ctx_base(ctx), POLY_ERROR_VALUE, "conv_transpose: the sizes of a kernel must be known");
    int64_t reach = (g->kernel[k] - 1) * g->dilation[k] + 1, more = output_padding ? output_padding[k] : 0;
    int64_t last = reach - g->before[k] - g->after[k] + more - g->stride[k];
    size[k] = int_addc(int_mulc(x->shape[2 + k], g->stride[k]), last);
  }
  return add_bias(conv_spread(x, weight, groups, g, size), bias);
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
  return t_drop_axes(op == OP_MAX ? t_first_extremum(op, w, mask) : uop_reduce(op, w, mask), mask);
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
