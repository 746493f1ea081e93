/* activation.c: activations composed of elementwise ops. In: floating-point tensors (float32 at least, unless a
 * function says otherwise; t_unary sees to it). Out: the same shape and dtype.
 *
 * Both branches of a WHERE are differentiated, and 0 * inf is NaN: so the branch that is not taken is kept finite, by
 * giving it an argument clipped to its own side. */
#include "tensor/tensor.h"

/* x below or at 0, and 0 above; its derivative at 0 is 1. */
static UOp *negative_part(UOp *x) {
  return uop_where(uop_binary(OP_CMPLT, t_scalar_like(x, 0), x), t_scalar_like(x, 0), x);
}

/* x above 0, and f elsewhere. */
static UOp *above_zero_or(UOp *x, UOp *f) { return uop_where(uop_binary(OP_CMPLT, t_scalar_like(x, 0), x), x, f); }

/* Any dtype. The gradient is 0 at 0 and 1 at 6. */
UOp *t_relu6(UOp *x) {
  UOp *y = t_relu(x), *six = t_scalar_like(y, 6);
  return uop_where(uop_binary(OP_CMPLT, six, y), six, y);
}

/* log(1 + exp(z)) = max(z, 0) + log1p(exp(-|z|)), with z = beta*x, divided by beta. */
UOp *t_softplus(UOp *x, double beta) {
  UOp *z = beta == 1 ? x : t_mulc(x, beta);
  UOp *zero = t_scalar_like(z, 0), *below = uop_binary(OP_CMPLT, z, zero);
  UOp *away = uop_where(below, z, uop_unary(OP_NEG, z));
  UOp *y = uop_binary(OP_ADD, uop_where(below, zero, z), uop_unary(OP_LOG1P, uop_unary(OP_EXP, away)));
  return beta == 1 ? y : t_mulc(y, 1 / beta);
}

UOp *t_logsigmoid(UOp *x) { return t_neg(t_softplus(t_neg(x), 1)); }

UOp *t_hardsigmoid(UOp *x) { return t_mulc(t_relu6(t_addc(x, 3)), 1.0 / 6); }

UOp *t_hardswish(UOp *x) { return t_mul(x, t_hardsigmoid(x)); }

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
UOp *t_gelu(UOp *x) {
  UOp *cubic = t_addc(t_mulc(t_mul(x, x), 0.044715), 1);
  UOp *t = t_tanh(t_mul(t_mulc(x, 0.79788456080286535588), cubic));
  return t_mul(t_mulc(x, 0.5), t_addc(t, 1));
}

UOp *t_quick_gelu(UOp *x) { return t_mul(x, t_sigmoid(t_mulc(x, 1.702))); }

UOp *t_silu(UOp *x) { return t_mul(x, t_sigmoid(x)); }

UOp *t_mish(UOp *x) { return t_mul(x, t_tanh(t_softplus(x, 1))); }

/* x above 0; alpha (exp(x/scale) - 1) below. */
static UOp *exponential_unit(UOp *x, double alpha, double scale) {
  UOp *low = negative_part(x);
  if (scale != 1) low = t_mulc(low, 1 / scale);
  return above_zero_or(x, t_mulc(uop_unary(OP_EXPM1, low), alpha));
}

UOp *t_selu(UOp *x) { return t_mulc(exponential_unit(x, 1.67326, 1), 1.0507); }

UOp *t_softsign(UOp *x) { return t_div(x, t_addc(t_abs(x), 1)); }

/* ---- public: those with parameters ---- */

/* x as a float that is wide enough; the result goes back to the float dtype of x. */
static UOp *widen(const PolyTensor *x) { return t_cast(x->uop, t_wide_dtype(t_float_dtype((PolyDType)x->uop->dtype))); }

static UOp *narrow(UOp *y, const PolyTensor *x) { return uop_cast(y, t_float_dtype((PolyDType)x->uop->dtype)); }

static UOp *leaky_relu(UOp *x, double slope) {
  return uop_where(uop_binary(OP_CMPLT, x, t_scalar_like(x, 0)), t_mulc(x, slope), x);
}

PolyTensor *poly_leaky_relu(PolyTensor *x, double slope) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, narrow(leaky_relu(widen(x), slope), x));
}

PolyTensor *poly_elu(PolyTensor *x, double alpha) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, narrow(exponential_unit(widen(x), alpha, 1), x));
}

PolyTensor *poly_celu(PolyTensor *x, double alpha) {
  if (!x) return NULL;
  if (alpha == 0) return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "celu: alpha cannot be 0");
  TENSOR_RETURN(x->ctx, narrow(exponential_unit(widen(x), alpha, alpha), x));
}

PolyTensor *poly_hardtanh(PolyTensor *x, double low, double high) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, t_clamp(x->uop, low, high));
}

PolyTensor *poly_softplus(PolyTensor *x, double beta) {
  if (!x) return NULL;
  if (beta == 0) return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "softplus: beta cannot be 0");
  TENSOR_RETURN(x->ctx, narrow(t_softplus(widen(x), beta), x));
}
