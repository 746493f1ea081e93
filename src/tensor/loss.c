/* loss.c: losses, with PyTorch's meaning of targets, ignored index, weights and reductions. In: predictions, targets.
 * Out: a scalar, or one value an element of the target ('n').
 *
 * A class target t selects x[t] by comparing it with the class numbers inside the row's own loop: together with the
 * soft-max that is one pass over each row, forward and backward, and no index has to be sorted for the gradient. The
 * target is first read through a GATHER of 0..C-1, which is where an index out of range becomes an error. */
#include "tensor/tensor.h"

#include <math.h>

static PolyDType type_of(const UOp *x) { return (PolyDType)x->dtype; }

static bool is_reduction(PolyContext *ctx, char r) {
  if (r == 'm' || r == 's' || r == 'n') return true;
  return base_fail(ctx_base(ctx), POLY_ERROR_VALUE, "'%c' is not a reduction: 'm' mean, 's' sum, 'n' none", r);
}

/* Mean over all elements, or over `count` where that is given. The result has dtype. */
static UOp *reduced(UOp *loss, char reduction, UOp *count, PolyDType dtype) {
  if (!loss) return NULL;
  if (reduction == 's') loss = t_sum(loss, t_all_axes(loss), false);
  if (reduction == 'm' && !count) loss = t_mean(loss, t_all_axes(loss), false);
  if (reduction == 'm' && count) loss = t_div(t_sum(loss, t_all_axes(loss), false), count);
  return uop_cast(loss, dtype);
}

/* ---- classes ---- */

/* x with its classes on the last axis and what belongs to them. */
typedef struct Classes {
  UOp *x;       /* [..., C], wide float */
  UOp *target;  /* [...], checked class numbers, int32 */
  UOp *counted; /* [...], bool: not ignored; NULL: all are */
  PolyDType dtype;
} Classes;

static int class_axis(const UOp *x) { return x->ndim == 1 ? 0 : 1; }

static UOp *classes_last(UOp *x) { return !x ? NULL : t_move_axis(x, class_axis(x), x->ndim - 1); }

static bool fits_classes(const UOp *x, const UOp *target) {
  int axis = class_axis(x);
  bool same = target->ndim == x->ndim - 1;
  for (int d = 0; same && d < target->ndim; d++) same = t_same_size(target->shape[d], x->shape[d < axis ? d : d + 1]);
  if (!same) uop_fail_shapes("loss: predictions and targets", x, target);
  return same;
}

/* Is the number one that targets of this dtype can hold? */
static bool can_hold(PolyDType d, int64_t v) {
  int bits = 8 * dtype_size(d);
  if (dtype_is_unsigned(d)) return v >= 0 && (bits == 64 || v < (int64_t)1 << bits);
  return bits == 64 || (v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1));
}

static bool class_targets(UOp *x, UOp *target, int64_t ignore_index, Classes *out) {
  Base *b = ctx_base(x->ctx);
  if (x->ndim == 0) return base_fail(b, POLY_ERROR_VALUE, "loss: a scalar has no axis of classes");
  if (!dtype_is_int(type_of(target)))
    return base_fail(b, POLY_ERROR_TYPE, "loss: class targets are integers, not %s", dtype_name(type_of(target)));
  if (!fits_classes(x, target)) return false;
  out->dtype = t_float_dtype(x->ctx, type_of(x));
  out->x = classes_last(t_cast(x, t_wide_dtype(out->dtype)));
  if (!out->x) return false;
  out->counted = NULL;
  if (can_hold(type_of(target), ignore_index)) {
    UOp *ignored = t_int_like(target, ignore_index);
    out->counted = t_not_equal(target, ignored);
    target = t_where(out->counted, target, t_int_like(target, 0));
    if (!out->counted) return false;
  }
  out->target = uop_gather(uop_iota(x->ctx, POLY_INT32, out->x->shape[out->x->ndim - 1]), target);
  return out->target;
}

/* v[..., target] of v [..., C]. Selects, so that an infinity elsewhere in the row does no harm. */
static UOp *picked(UOp *v, UOp *target) {
  if (!v) return NULL;
  int last = v->ndim - 1;
  UOp *number = t_iota_axis(v->ctx, POLY_INT32, v->shape[last], v->ndim, last);
  UOp *hit = t_equal(number, t_unsqueeze(target, last));
  return t_reduce(OP_ADD, t_where(hit, v, t_scalar_like(v, 0)), 1u << last, false);
}

static UOp *count_of(const Classes *c) {
  if (!c->counted) return NULL;
  return t_sum_dtype(uop_cast(c->counted, type_of(c->x)), t_all_axes(c->counted), false, type_of(c->x));
}

static UOp *only_counted(const Classes *c, UOp *loss) {
  return c->counted ? t_where(c->counted, loss, t_scalar_like(loss, 0)) : loss;
}

/* With a = x - max(x): log(sum exp a) - (1-s) a[t] - s mean(a), s the label smoothing. */
static UOp *class_entropy(UOp *x, UOp *target, double smoothing, int64_t ignore_index, char reduction) {
  Classes c;
  if (!class_targets(x, target, ignore_index, &c)) return NULL;
  uint32_t mask = 1u << (c.x->ndim - 1);
  UOp *away = t_sub(c.x, uop_detach(uop_reduce(OP_MAX, c.x, mask)));
  UOp *loss = t_log(t_reduce(OP_ADD, t_exp(away), mask, false));
  UOp *hit = picked(away, c.target);
  if (smoothing != 0) {
    loss = t_sub(loss, t_mulc(t_mean(away, mask, false), smoothing));
    hit = t_mulc(hit, 1 - smoothing);
  }
  loss = only_counted(&c, t_sub(loss, hit));
  return reduced(loss, reduction, count_of(&c), c.dtype);
}

/* -sum over classes of log_softmax(x) * probabilities. */
static UOp *soft_entropy(UOp *x, UOp *target, double smoothing, char reduction) {
  PolyDType dtype = t_float_dtype(x->ctx, dtype_promote(type_of(x), type_of(target))), acc = t_wide_dtype(dtype);
  int axis = class_axis(x);
  UOp *p = t_cast(target, acc);
  if (smoothing != 0) {
    UOp *n = t_size_value(x->shape[axis], acc);
    p = t_add(t_mulc(p, 1 - smoothing), t_div(t_scalar_like(p, smoothing), n));
  }
  UOp *loss = t_neg(t_reduce(OP_ADD, t_mul(t_log_softmax(t_cast(x, acc), axis), p), 1u << axis, false));
  return reduced(loss, reduction, NULL, dtype);
}

static UOp *cross_entropy(UOp *x, UOp *target, double smoothing, int64_t ignore_index, char reduction) {
  if (!is_reduction(x->ctx, reduction)) return NULL;
  if (!(smoothing >= 0 && smoothing <= 1))
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "label smoothing %g is not between 0 and 1", smoothing);
  if (x->ndim && x->ndim == target->ndim) {
    bool same = true;
    for (int d = 0; d < x->ndim; d++) same &= t_same_size(x->shape[d], target->shape[d]);
    if (same) return soft_entropy(x, target, smoothing, reduction);
  }
  return class_entropy(x, target, smoothing, ignore_index, reduction);
}

static UOp *nll_loss(UOp *x, UOp *target, UOp *weight, int64_t ignore_index, char reduction) {
  Classes c;
  if (!is_reduction(x->ctx, reduction) || !class_targets(x, target, ignore_index, &c)) return NULL;
  UOp *loss = t_neg(picked(c.x, c.target)), *count = count_of(&c);
  if (weight) {
    if (weight->ndim != 1 || !t_same_size(weight->shape[0], c.x->shape[c.x->ndim - 1])) {
      uop_fail_shapes("nll_loss: predictions and class weights", x, weight);
      return NULL;
    }
    UOp *w = only_counted(&c, uop_gather(t_cast(weight, type_of(c.x)), c.target));
    loss = t_mul(loss, w);
    count = w ? t_reduce(OP_ADD, w, t_all_axes(w), false) : NULL;
    if (!count) return NULL;
  }
  return reduced(only_counted(&c, loss), reduction, count, c.dtype);
}

PolyTensor *poly_cross_entropy(PolyTensor *x, PolyTensor *target, double label_smoothing, int64_t ignore_index,
                               char reduction) {
  if (!x || !target) return NULL;
  TENSOR_RETURN(x->ctx, cross_entropy(x->uop, target->uop, label_smoothing, ignore_index, reduction));
}

PolyTensor *poly_nll_loss(PolyTensor *x, PolyTensor *target, PolyTensor *weight, int64_t ignore_index, char reduction) {
  if (!x || !target) return NULL;
  TENSOR_RETURN(x->ctx, nll_loss(x->uop, target->uop, t_uop(weight), ignore_index, reduction));
}

/* ---- element by element ---- */

/* Both as wide floats of one shape; dtype: what the result is rounded to. */
static bool match_wide(UOp **x, UOp **y, PolyDType *dtype) {
  *dtype = t_float_dtype((*x)->ctx, dtype_promote(type_of(*x), type_of(*y)));
  *x = t_cast(*x, t_wide_dtype(*dtype));
  *y = t_cast(*y, t_wide_dtype(*dtype));
  return t_match(x, y);
}

/* The branch for log(0) keeps the gradient finite there. */
static UOp *bounded(PolyUnaryOp log, UOp *x, double root) {
  UOp *zero = t_equal(x, t_scalar_like(x, root)), *floor = t_scalar_like(x, -100);
  UOp *safe = t_unary(log, t_where(zero, t_scalar_like(x, root + 1), x));
  return t_where(zero, floor, t_maximum(safe, floor));
}

UOp *t_bounded_log(UOp *x) { return x ? bounded(POLY_LOG, x, 0) : NULL; }
UOp *t_bounded_log1p(UOp *x) { return x ? bounded(POLY_LOG1P, x, -1) : NULL; }

static UOp *bce(UOp *x, UOp *y, UOp *unused, double none) {
  (void)unused, (void)none;
  if (x->op == OP_CONST) x = t_broadcast_like(x, y);
  UOp *hit = t_mul(y, t_bounded_log(x));
  UOp *loss = t_neg(t_add(hit, t_mul(t_rsubc(1, y), t_bounded_log1p(t_neg(x)))));
  return uop_function(FUNCTION_BCE, 0, loss, 2, (UOp *[]){x, y});
}

/* (1-y) x + c softplus(-x) with c = 1 + (w-1) y. That is c softplus(x) - w y x, which cancels for a large x, but whose
 * gradient c sigmoid(x) - w y does not for a small one. */
static UOp *bce_logits(UOp *x, UOp *y, UOp *pos_weight, double none) {
  (void)none;
  UOp *soft = t_softplus(t_neg(x), 1), *like = t_softplus(x, 1), *hit = t_mul(y, x);
  if (pos_weight) {
    UOp *w = t_cast(pos_weight, type_of(x)), *c = t_addc(t_mul(t_subc(w, 1), y), 1);
    soft = t_mul(soft, c);
    like = t_mul(like, c);
    hit = t_mul(hit, w);
  }
  like = t_sub(like, hit);
  return uop_function(FUNCTION_LIKE, 0, t_add(t_mul(t_rsubc(1, y), x), soft), 1, &like);
}

static UOp *squared_error(UOp *x, UOp *y, UOp *unused, double none) {
  (void)unused, (void)none;
  return t_square(t_sub(x, y));
}

static UOp *absolute_error(UOp *x, UOp *y, UOp *unused, double none) {
  (void)unused, (void)none;
  return t_abs(t_sub(x, y));
}

/* d²/2 within delta, delta (|d| - delta/2) beyond. The square of an infinite d would have a slope of NaN. */
static UOp *huber(UOp *x, UOp *y, UOp *unused, double delta) {
  (void)unused;
  UOp *away = t_sub(x, y), *d = t_abs(away), *outside = t_less_equal(t_scalar_like(d, delta), d);
  UOp *small = t_where(outside, t_scalar_like(d, 0), away);
  UOp *near = t_mulc(t_mul(small, small), 0.5), *far = t_mulc(t_subc(d, 0.5 * delta), delta);
  return t_where(outside, far, near);
}

typedef UOp *(*Pointwise)(UOp *x, UOp *y, UOp *weight, double parameter);

static UOp *pointwise(Pointwise f, UOp *x, UOp *y, UOp *weight, double parameter, char reduction) {
  PolyDType dtype;
  if (!is_reduction(x->ctx, reduction) || !match_wide(&x, &y, &dtype)) return NULL;
  return reduced(f(x, y, weight, parameter), reduction, NULL, dtype);
}

PolyTensor *poly_binary_cross_entropy_logits(PolyTensor *x, PolyTensor *target, PolyTensor *pos_weight,
                                             char reduction) {
  if (!x || !target) return NULL;
  TENSOR_RETURN(x->ctx, pointwise(bce_logits, x->uop, target->uop, t_uop(pos_weight), 0, reduction));
}

PolyTensor *poly_huber_loss(PolyTensor *x, PolyTensor *target, double delta, char reduction) {
  if (!x || !target) return NULL;
  if (!(delta > 0)) return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "huber: delta must be above 0, not %g", delta);
  TENSOR_RETURN(x->ctx, pointwise(huber, x->uop, target->uop, NULL, delta, reduction));
}

#define LOSS(name, f)                                                                                                  \
  PolyTensor *name(PolyTensor *x, PolyTensor *target, char reduction) {                                                \
    if (!x || !target) return NULL;                                                                                    \
    TENSOR_RETURN(x->ctx, pointwise(f, x->uop, target->uop, NULL, 0, reduction));                                      \
  }
LOSS(poly_binary_cross_entropy, bce)
LOSS(poly_mse_loss, squared_error)
LOSS(poly_l1_loss, absolute_error)

PolyTensor *poly_dropout(PolyTensor *x, double p) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, t_dropout(x->uop, p));
}
