/* rules_function.c: gradients of functions that are composed of many ops, but differentiated as one.
 *
 * A derivative is formed from the value that the forward pass computed, not from the steps to it. Where a sigmoid has
 * been rounded to 1 the rest of the program sees a constant, and its slope is 0, whatever exp(-x) still is: a loss that
 * divides by 1 - sigmoid(x) + 1e-15 would otherwise multiply the remainder by 1e15. The derivatives at ties and of NaN
 * are PyTorch's. Every result is made of ops that have rules, so it can be differentiated again. */
#include "grad/rules.h"
#include "ir/context.h"
#include "tensor/shape_ops.h"

uint32_t grad_function_mask(const UOp *u) {
  switch (function_rule(u)) {
  case FUNCTION_CLAMP:
  case FUNCTION_SHARES:
  case FUNCTION_OTHERS:
  case FUNCTION_NORM:
  case FUNCTION_COPYSIGN:
  case FUNCTION_VARIANCE:
  case FUNCTION_ROW_VARIANCE:
  case FUNCTION_DEVIATION: return 2;
  case FUNCTION_SAME: return 1;
  default: break;
  }
  uint32_t mask = function_rule(u) == FUNCTION_APART;
  for (int k = 1; k < u->nsrc; k++)
    if (dtype_is_float((PolyDType)u->src[k]->dtype)) mask |= 1u << k;
  return mask;
}

static UOp *less(UOp *a, UOp *b) { return uop_binary(OP_CMPLT, a, b); }
static UOp *at_most(UOp *a, UOp *b) { return uop_binary(OP_CMPLE, a, b); }

/* low < x < high */
static UOp *between(UOp *x, double low, double high) {
  return uop_binary(OP_AND, less(like(x, low), x), less(x, like(x, high)));
}

/* Computed in float32 for the half types: both arguments in the wider dtype, the result in that of u. */
typedef UOp *(*Slope)(UOp *u, UOp *g, int axis);
static UOp *widened(Slope slope, UOp *u, UOp *g) {
  PolyDType wide = t_wide_dtype((PolyDType)u->dtype);
  UOp *y = slope(uop_cast(u, wide), uop_cast(g, wide), (int)function_parameter(u));
  return y ? uop_cast(y, (PolyDType)u->dtype) : NULL;
}

static UOp *sigmoid(UOp *u, UOp *g, int none) {
  (void)none;
  return mul(mul(g, rsubc(1, u)), u);
}

static UOp *sum_along(UOp *x, int axis) {
  UOp *sum = x ? uop_reduce(OP_ADD, x, t_axis_bit(x, axis)) : NULL;
  return sum ? uop_expand(sum, x->shape) : NULL;
}

/* y (g - sum of g y) */
static UOp *softmax(UOp *u, UOp *g, int axis) { return mul(u, sub(g, sum_along(mul(g, u), axis))); }

/* The same among the rows that an index sends to one place. */
static UOp *shares(UOp *u, UOp *g) {
  PolyDType wide = t_wide_dtype((PolyDType)u->dtype);
  UOp *index = u->src[2], *y = uop_cast(u, wide), *sum;
  g = uop_cast(g, wide);
  sum = uop_segment(OP_ADD, mul(g, y), index, u->src[3]->shape[0]);
  return sum ? uop_cast(mul(y, sub(g, uop_gather(sum, index))), (PolyDType)u->dtype) : NULL;
}

/* g - exp(y) times the sum of g */
static UOp *log_softmax(UOp *u, UOp *g, int axis) { return sub(g, mul(uop_unary(OP_EXP, u), sum_along(g, axis))); }

/* 2 (x - mean) / n; the mean's own derivatives add up to 0. */
static UOp *variance(UOp *u, UOp *g) {
  UOp *x = u->src[1], *scale = x ? t_div(mulc(uop_expand(g, x->shape), 2), u->src[2]) : NULL;
  return t_mul(scale, t_sub(x, t_mean(x, (uint32_t)function_parameter(u), true)));
}

/* The same among the rows that an index sends to one place. */
static UOp *row_variance(UOp *u, UOp *g) {
  UOp *x = u->src[1], *index = u->src[2], *scale = quo(mulc(g, 2), u->src[4]);
  return scale ? mul(uop_gather(scale, index), sub(x, uop_gather(u->src[3], index))) : NULL;
}

/* (x - mean) / (n times the deviation); 0 where that is 0, and has no slope. */
static UOp *deviation(UOp *u, UOp *g) {
  UOp *x = u->src[1], *flat = is_zero(u), *away = t_sub(x, t_mean(x, (uint32_t)function_parameter(u), true));
  UOp *share = t_div(t_div(away, uop_where(flat, like(u, 1), u)), u->src[2]);
  return flat && share ? mul(uop_expand(keep_unless(flat, g), x->shape), share) : NULL;
}

/* For each element its number among those of the axes, in C order; spread like x. */
static UOp *numbered(UOp *x, uint32_t axes, PolyDType dtype) {
  UOp *number = NULL;
  for (int k = 0; k < x->ndim; k++) {
    if (!(axes >> k & 1)) continue;
    UOp *along = uop_expand(t_iota_axis(x->ctx, dtype, x->shape[k], x->ndim, k), x->shape);
    number = number ? t_add(t_mul(number, t_size_value(x->shape[k], dtype)), along) : along;
  }
  return number;
}

/* The first of the elements that are the extremum, or of the NaNs, has the gradient. They are compared with an extremum
 * of their own, as in the rule of REDUCE. */
static UOp *first_extremum(UOp *u, UOp *g, Op op) {
  UOp *x = u->src[1];
  uint32_t axes = (uint32_t)function_parameter(u);
  if (!axes) return g;
  PolyDType index = uop_numel_max(x) > INT32_MAX ? POLY_INT64 : POLY_INT32;
  UOp *best = uop_reduce(op, uop_detach(x), axes), *number = numbered(x, axes, index);
  if (!best || !number) return NULL;
  UOp *hit = uop_binary(OP_OR, equal(x, uop_expand(best, x->shape)), uop_binary(OP_CMPNE, x, x));
  UOp *none = like(number, index == POLY_INT32 ? INT32_MAX : (double)(1LL << 53));
  UOp *first = uop_reduce(OP_MIN, uop_where(hit, number, none), axes);
  return first ? keep_if(equal(number, uop_expand(first, x->shape)), uop_expand(g, x->shape)) : NULL;
}

/* slope exp(x/scale) where x <= 0. The exponent is 0 at 0 without depending on x: the second derivative is 0 there. */
static UOp *exponential_unit(UOp *x, UOp *g, double slope, double scale) {
  UOp *zero = like(x, 0), *low = uop_where(less(x, zero), x, zero);
  UOp *e = uop_unary(OP_EXP, scale == 1 ? low : mulc(low, 1 / scale));
  return uop_where(at_most(x, zero), mul(g, slope == 1 ? e : mulc(e, slope)), g);
}

/* 0 up to -3, g beyond 3, and g (x/3 + 1/2) between them. */
static UOp *hardswish(UOp *x, UOp *g) {
  UOp *inside = between(x, -3, 3), *safe = keep_if(inside, x);
  UOp *slope = addc(mulc(safe, 1.0 / 3), 0.5);
  return uop_where(inside, mul(g, slope), keep_unless(at_most(x, like(x, -3)), g));
}

/* (x - y) / (x (1 - x)), which is not divided by less than 1e-12; and the difference of the two logarithms. */
static void bce(UOp *u, UOp *g, uint32_t need, UOp **out) {
  UOp *x = u->src[1], *y = u->src[2];
  UOp *spread = uop_binary(OP_MAX, mul(rsubc(1, x), x), like(x, 1e-12));
  if (need & 2) out[1] = mul(g, quo(sub(x, y), spread));
  if (need & 4) out[2] = mul(g, sub(t_bounded_log1p(neg(x)), t_bounded_log(x)));
}

/* The gradient of |x|: 0 at 0 whatever g is, and 0 times g at NaN. */
static UOp *absolute(UOp *x, UOp *g) {
  UOp *zero = like(x, 0), *rest = keep_unless(is_zero(x), mul(g, like(g, 0)));
  return uop_where(less(x, zero), neg(g), uop_where(less(zero, x), g, rest));
}

enum { GELU_SLOPE = 2, GELU_ERF_SLOPE = 3 }; /* of FUNCTION_GELU, beside its two kinds */

/* Gates. The slope of x gate(x) is added up before g is multiplied, which may be infinite: under a root that is 0, one
 * of two terms would be 0 times that. */

/* s (1 + p x (1 - s)), with s the sigmoid of p x */
static UOp *silu_slope(UOp *x, double p) {
  UOp *z = p == 1 ? x : mulc(x, p), *s = t_sigmoid(z);
  return s ? mul(s, addc(mul(z, rsubc(1, s)), 1)) : NULL;
}

/* c(x) = sqrt(2/pi) (x + 0.044715 x^3), and its slope. */
static const double gelu_scale = 0.79788456080286535588, gelu_cube = 0.044715;
static UOp *gelu_tanh(UOp *x) {
  return uop_unary(OP_TANH, mul(mulc(x, gelu_scale), addc(mulc(square(x), gelu_cube), 1)));
}
static UOp *gelu_bend(UOp *x) { return addc(mulc(square(x), 3 * gelu_cube * gelu_scale), gelu_scale); }

/* (1 + t)/2 + x/2 (1 - t^2) c', with t = tanh(c(x)). A function of its own, since the terms of its slope are added up
 * before they are multiplied, too. */
static UOp *gelu_slope(UOp *x) {
  UOp *t = gelu_tanh(x), *bend = mul(mulc(x, 0.5), one_less_square(t));
  return uop_function(FUNCTION_GELU, GELU_SLOPE, add(mulc(addc(t, 1), 0.5), mul(bend, gelu_bend(x))), 1, &x);
}

/* (1 - t^2) (c' + x c''/2 - x t c'^2) */
static UOp *gelu_slope_slope(UOp *x) {
  UOp *t = gelu_tanh(x), *bend = gelu_bend(x), *twice = mulc(square(x), 3 * gelu_cube * gelu_scale);
  return mul(one_less_square(t), sub(add(bend, twice), mul(mul(x, t), square(bend))));
}

/* exp(-x^2/2)/sqrt(2 pi) */
static UOp *normal_density(UOp *x) { return mulc(uop_unary(OP_EXP, mulc(square(x), -0.5)), 0.39894228040143267794); }

/* (1 + erf(x/sqrt(2)))/2 + x times the density. */
static UOp *gelu_erf_slope(UOp *x) {
  UOp *below = mulc(addc(uop_unary(OP_ERF, mulc(x, 0.70710678118654752440)), 1), 0.5);
  return uop_function(FUNCTION_GELU, GELU_ERF_SLOPE, add(below, mul(x, normal_density(x))), 1, &x);
}

static UOp *gelu_gradient(UOp *x, UOp *g, double kind) {
  if (kind == GELU_SLOPE) return mul(g, gelu_slope_slope(x));
  if (kind == GELU_ERF_SLOPE) return mul(g, mul(rsubc(2, square(x)), normal_density(x)));
  return mul(g, kind == 0 ? gelu_slope(x) : gelu_erf_slope(x));
}

/* t + x (1 - t^2) sigmoid(x), with t = tanh(softplus(x)) */
static UOp *mish_slope(UOp *x) {
  UOp *t = t_tanh(t_softplus(x, 1));
  return t ? add(t, mul(mul(x, t_sigmoid(x)), one_less_square(t))) : NULL;
}

/* The sign that the result has in common with x, which is constant; 0 at 0; at NaN all derivatives are NaN. */
static UOp *copysign_gradient(UOp *u, UOp *g) {
  UOp *x = u->src[1], *ratio = quo(u, x), *sign = ratio ? uop_detach(ratio) : NULL;
  sign = sign ? uop_where(equal(sign, sign), sign, ratio) : NULL;
  return x ? keep_unless(is_zero(x), mul(g, sign)) : NULL;
}

/* |x|^(p-1) / norm^(p-1) with the sign of x; for an infinite p, 1 for the largest (all alike share it), among which is
 * NaN. 0 where x or the norm is 0, and has no slope. */
static UOp *norm_gradient(UOp *u, UOp *g) {
  UOp *x = u->src[1], *each = uop_expand(u, x->shape), *size = t_abs(x), *one = like(x, 1);
  double p = const_float(u->src[2]);
  if (isinf(p)) {
    g = uop_expand(g, x->shape);
    UOp *there = uop_binary(OP_OR, equal(size, each), uop_binary(OP_CMPNE, x, x));
    UOp *many =
        there ? uop_reduce(OP_ADD, uop_cast(there, (PolyDType)x->dtype), (uint32_t)function_parameter(u)) : NULL;
    return many ? absolute(x, keep_if(there, quo(g, uop_expand(many, x->shape)))) : NULL;
  }
  UOp *flat = is_zero(u), *norm = flat ? uop_where(uop_expand(flat, x->shape), one, each) : NULL;
  g = flat ? uop_expand(keep_unless(flat, g), x->shape) : NULL;
  if (p == 2) return mul(g, quo(x, norm));
  UOp *power = t_pow(uop_where(is_zero(x), one, size), like(x, p - 1)), *over = t_pow(norm, like(x, fabs(p - 1)));
  return power && over ? mul(absolute(x, power), p < 1 ? mul(g, over) : quo(g, over)) : NULL;
}

/* x/(x^2 + y^2) and -y/(x^2 + y^2), by way of the ratio r of the smaller coordinate to the larger, z:
 * 1/(z (1 + r^2)) and r times that.
 * 0 at the origin. */
static void angle(UOp *u, UOp *g, uint32_t need, UOp **out) {
  UOp *y = u->src[1], *x = u->src[2], *steep = less(t_abs(x), t_abs(y));
  UOp *large = uop_where(steep, y, x);
  UOp *origin = uop_binary(OP_AND, is_zero(x), is_zero(y)), *safe = uop_where(origin, like(x, 1), large);
  UOp *r = quo(uop_where(steep, x, y), safe);
  UOp *most = keep_unless(origin, quo(quo(g, addc(square(r), 1)), safe)), *least = mul(r, most);
  if (need & 2) out[1] = uop_where(steep, least, most);
  if (need & 4) out[2] = neg(uop_where(steep, most, least));
}

/* x over the length; 0 at the origin. */
static UOp *length(UOp *u, UOp *g, UOp *x) {
  UOp *origin = is_zero(u);
  return keep_unless(origin, mul(g, quo(x, uop_where(origin, like(u, 1), u))));
}

/* The node of a handle, held by the innermost scope; the handle goes. */
static UOp *taken(PolyContext *ctx, PolyTensor *t) {
  if (!t) return NULL;
  UOp *u = uop_retain(t->uop);
  poly_free(t);
  if (vec_push(&ctx->base, &ctx->scope->held, u)) return u;
  uop_release(u);
  return NULL;
}

/* Asks the callback. An input that it gives no gradient for has none. */
static void user(UOp *u, UOp *g, uint32_t need, UOp **out) {
  const PolyFunction *f = (const PolyFunction *)(intptr_t)u->arg.j;
  PolyContext *ctx = u->ctx;
  int n = u->nsrc - 2;
  PolyTensor *input[FUNCTION_MAX_INPUTS] = {0}, *grad[FUNCTION_MAX_INPUTS] = {0};
  PolyTensor *value = tensor_wrap(ctx, u), *gradient = tensor_wrap(ctx, g);
  bool ok = value && gradient;
  for (int k = 0; k < n; k++) ok = (input[k] = tensor_wrap(ctx, u->src[1 + k])) && ok;
  ok = ok && f->backward(f->user, input, n, value, gradient, grad) == POLY_OK;
  for (int k = 0; k < n; k++) {
    UOp *gx = taken(ctx, grad[k]), *x = u->src[1 + k];
    if (ok && (need >> (1 + k) & 1)) out[1 + k] = gx ? uop_cast(gx, (PolyDType)x->dtype) : uop_zeros_like(x);
    poly_free(input[k]);
  }
  poly_free(value);
  poly_free(gradient);
}

GRAD_RULE(FUNCTION) {
  UOp *x = u->src[1];
  double p = function_parameter(u);
  switch (function_rule(u)) {
  case FUNCTION_APART: out[0] = g; /* fall through */
  case FUNCTION_FLAT: out[1] = uop_zeros_like(x); break;
  case FUNCTION_SAME:
    if (need & 1) out[0] = g;
    if (need & 2) out[1] = g;
    break;
  case FUNCTION_LIKE: out[1] = g; break;
  case FUNCTION_SIGMOID: out[1] = widened(sigmoid, u, g); break;
  case FUNCTION_SOFTMAX: out[1] = widened(softmax, u, g); break;
  case FUNCTION_LOG_SOFTMAX: out[1] = widened(log_softmax, u, g); break;
  case FUNCTION_SOFTPLUS: out[1] = mul(g, t_sigmoid(x)); break;
  case FUNCTION_ONE_LESS_SQUARE: out[1] = mul(g, mulc(x, p == 0 ? -2 : 2)); break;
  case FUNCTION_ABS: out[1] = absolute(x, g); break;
  case FUNCTION_CLAMP: out[1] = keep_if(uop_binary(OP_AND, at_most(u->src[2], x), at_most(x, u->src[3])), g); break;
  case FUNCTION_ELU: out[1] = exponential_unit(x, g, p, 1); break;
  case FUNCTION_CELU: out[1] = exponential_unit(x, g, 1, p); break;
  case FUNCTION_HARDSIGMOID: out[1] = keep_if(between(u, 0, 1), mulc(g, 1.0 / 6)); break;
  case FUNCTION_HARDSWISH: out[1] = hardswish(x, g); break;
  case FUNCTION_SILU: out[1] = mul(g, silu_slope(x, p)); break;
  case FUNCTION_GELU: out[1] = gelu_gradient(x, g, p); break;
  case FUNCTION_MISH: out[1] = mul(g, mish_slope(x)); break;
  case FUNCTION_COPYSIGN: out[1] = copysign_gradient(u, g); break;
  case FUNCTION_NORM: out[1] = norm_gradient(u, g); break;
  case FUNCTION_ANGLE: angle(u, g, need, out); break;
  case FUNCTION_LENGTH:
    if (need & 2) out[1] = length(u, g, x);
    if (need & 4) out[2] = length(u, g, u->src[2]);
    break;
  case FUNCTION_SCATTERED: grad_scattered(u, g, out); break;
  case FUNCTION_SHARES: out[1] = shares(u, g); break;
  case FUNCTION_OTHERS: out[1] = grad_others(u, g); break;
  case FUNCTION_VARIANCE: out[1] = variance(u, g); break;
  case FUNCTION_ROW_VARIANCE: out[1] = row_variance(u, g); break;
  case FUNCTION_DEVIATION: out[1] = deviation(u, g); break;
  case FUNCTION_FIRST_MAX: out[1] = first_extremum(u, g, OP_MAX); break;
  case FUNCTION_FIRST_MIN: out[1] = first_extremum(u, g, OP_MIN); break;
  case FUNCTION_BCE: bce(u, g, need, out); break;
  case FUNCTION_WINDOWS:
    out[1] = t_windows_gradient(g, (int)p, x->shape[(int)p], const_int(u->src[2]), const_int(u->src[3]));
    break;
  case FUNCTION_CONV: t_conv_gradients(u, g, need, out); break;
  case FUNCTION_POLYGAMMA: out[1] = mul(g, t_polygamma(x, (int)p + 1)); break;
  case FUNCTION_ERFINV: out[1] = mul(g, mulc(uop_unary(OP_EXP, mul(u, u)), 0.88622692545275801365)); break;
  case FUNCTION_USER: user(u, g, need, out); break;
  }
}
