/* activation.c: activations composed of elementwise ops. In: floating-point tensors (float32 at least, unless a
 * function says otherwise; t_unary sees to it). Out: the same shape and dtype.
 *
 * Where the composition would not give the derivative that the value has (grad/rules_function.c), the result is a
 * FUNCTION. Elsewhere both branches of a WHERE are differentiated, and 0 * inf is NaN: the branch that is not taken is
 * kept finite, by giving it an argument clipped to its own side. */
#include "tensor/tensor.h"

/* x within low and high. Unlike t_clamp, its gradient is 0 at the limits. */
static UOp *limited(UOp *x, double low, double high) {
  UOp *l = t_scalar_like(x, low), *h = t_scalar_like(x, high);
  return uop_where(uop_binary(OP_CMPLE, x, l), l, uop_where(uop_binary(OP_CMPLE, h, x), h, x));
}

/* Any dtype. The gradient is 0 at 0 and at 6. */
UOp *t_relu6(UOp *x) {
  UOp *y = t_relu(x), *six = t_scalar_like(y, 6);
  return uop_where(uop_binary(OP_CMPLE, six, y), six, y);
}

/* log(1 + exp(z)) = max(z, 0) + log1p(exp(-|z|)), with z = beta*x, divided by beta. */
UOp *t_softplus(UOp *x, double beta) {
  UOp *z = beta == 1 ? x : t_mulc(x, beta);
  UOp *zero = t_scalar_like(z, 0), *below = uop_binary(OP_CMPLT, z, zero);
  UOp *away = uop_where(below, z, uop_unary(OP_NEG, z));
  UOp *y = uop_binary(OP_ADD, uop_where(below, zero, z), uop_unary(OP_LOG1P, uop_unary(OP_EXP, away)));
  y = uop_function(FUNCTION_SOFTPLUS, 0, y, 1, &z);
  return beta == 1 ? y : t_mulc(y, 1 / beta);
}

UOp *t_logsigmoid(UOp *x) { return t_neg(t_softplus(t_neg(x), 1)); }

static UOp *hard_share(UOp *x) { return t_mulc(t_relu6(t_addc(x, 3)), 1.0 / 6); }

UOp *t_hardsigmoid(UOp *x) { return uop_function(FUNCTION_HARDSIGMOID, 0, hard_share(x), 1, &x); }

UOp *t_hardswish(UOp *x) { return uop_function(FUNCTION_HARDSWISH, 0, t_mul(x, hard_share(x)), 1, &x); }

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
UOp *t_gelu(UOp *x) {
  UOp *cubic = t_addc(t_mulc(t_mul(x, x), 0.044715), 1);
  UOp *t = t_tanh(t_mul(t_mulc(x, 0.79788456080286535588), cubic));
  return uop_function(FUNCTION_GELU, 0, t_mul(t_mulc(x, 0.5), t_addc(t, 1)), 1, &x);
}

/* x/2 (1 + erf(x / sqrt(2))) */
UOp *t_gelu_erf(UOp *x) {
  UOp *e = uop_unary(OP_ERF, t_mulc(x, 0.70710678118654752440));
  return uop_function(FUNCTION_GELU, 1, t_mul(t_mulc(x, 0.5), t_addc(e, 1)), 1, &x);
}

static UOp *scaled_silu(UOp *x, double scale) {
  UOp *gate = t_sigmoid(scale == 1 ? x : t_mulc(x, scale));
  return uop_function(FUNCTION_SILU, scale, t_mul(x, gate), 1, &x);
}

UOp *t_quick_gelu(UOp *x) { return scaled_silu(x, 1.702); }

UOp *t_silu(UOp *x) { return scaled_silu(x, 1); }

UOp *t_mish(UOp *x) { return uop_function(FUNCTION_MISH, 0, t_mul(x, t_tanh(t_softplus(x, 1))), 1, &x); }

/* x above 0, alpha (exp(x/scale) - 1) elsewhere. */
static UOp *exponential_unit(UOp *x, double alpha, double scale, FunctionRule rule) {
  UOp *above = uop_binary(OP_CMPLT, t_scalar_like(x, 0), x), *low = scale == 1 ? x : t_mulc(x, 1 / scale);
  UOp *y = uop_where(above, x, t_mulc(uop_unary(OP_EXPM1, low), alpha));
  return uop_function(rule, alpha, y, 1, &x);
}

static UOp *elu(UOp *x, double alpha) { return exponential_unit(x, alpha, 1, FUNCTION_ELU); }

UOp *t_selu(UOp *x) { return t_mulc(elu(x, 1.67326), 1.0507); }

UOp *t_softsign(UOp *x) { return t_div(x, t_addc(t_abs(x), 1)); }

/* ---- public: those with parameters ---- */

/* x as a float that is wide enough; the result goes back to the float dtype of x. */
static UOp *widen(const PolyTensor *x) {
  return t_cast(x->uop, t_wide_dtype(t_float_dtype(x->ctx, (PolyDType)x->uop->dtype)));
}

static UOp *narrow(UOp *y, const PolyTensor *x) { return uop_cast(y, t_float_dtype(x->ctx, (PolyDType)x->uop->dtype)); }

static UOp *leaky_relu(UOp *x, double slope) {
  return uop_where(uop_binary(OP_CMPLT, t_scalar_like(x, 0), x), x, t_mulc(x, slope));
}

PolyTensor *poly_leaky_relu(PolyTensor *x, double slope) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, narrow(leaky_relu(widen(x), slope), x));
}

PolyTensor *poly_elu(PolyTensor *x, double alpha) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, narrow(elu(widen(x), alpha), x));
}

PolyTensor *poly_celu(PolyTensor *x, double alpha) {
  if (!x) return NULL;
  if (alpha == 0) return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "celu: alpha cannot be 0");
  TENSOR_RETURN(x->ctx, narrow(exponential_unit(widen(x), alpha, alpha, FUNCTION_CELU), x));
}

PolyTensor *poly_hardtanh(PolyTensor *x, double low, double high) {
  if (!x) return NULL;
  bool is_float = dtype_is_float((PolyDType)x->uop->dtype);
  TENSOR_RETURN(x->ctx, is_float ? limited(x->uop, low, high) : t_clamp(x->uop, low, high));
}

PolyTensor *poly_softplus(PolyTensor *x, double beta) {
  if (!x) return NULL;
  if (beta == 0) return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "softplus: beta cannot be 0");
  TENSOR_RETURN(x->ctx, narrow(t_softplus(widen(x), beta), x));
}
