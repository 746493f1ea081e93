/* elementwise.c: binary, ternary and unary operations as users know them, made of the plain IR ops.
 *
 * In: tensors of any shapes that broadcast and any dtypes. Out: one tensor. Dtypes promote along tinygrad's lattice; a
 * number takes the dtype of its tensor where that can hold its kind. The IR never sees arithmetic on bool: + is OR, *
 * is AND, and so on. */
#include "tensor/tensor.h"

#include <math.h>

/* ---- dtypes ---- */

static PolyDType type_of(const UOp *x) { return (PolyDType)x->dtype; }
static bool is_bool(const UOp *x) { return x->dtype == POLY_BOOL; }
static bool is_float(const UOp *x) { return dtype_is_float(type_of(x)); }
static bool is_const(const UOp *x) { return x->op == OP_CONST; }

PolyDType t_float_dtype(const PolyContext *ctx, PolyDType d) { return dtype_is_float(d) ? d : ctx->default_float; }

PolyStatus poly_set_default_float(PolyContext *ctx, PolyDType dtype) {
  if (!ctx) return POLY_ERROR_VALUE;
  if (!dtype_is_float(dtype)) {
    base_fail(ctx_base(ctx), POLY_ERROR_TYPE, "the default float is a floating-point dtype, not %s", dtype_name(dtype));
    return POLY_ERROR_TYPE;
  }
  ctx->default_float = dtype;
  return POLY_OK;
}

PolyDType poly_default_float(const PolyContext *ctx) { return ctx ? ctx->default_float : POLY_FLOAT32; }

PolyDType t_wide_dtype(PolyDType d) { return dtype_is_small(d) ? POLY_FLOAT32 : d; }

UOp *t_scalar_like(const UOp *x, double value) { return x ? uop_const(x->ctx, type_of(x), value) : NULL; }

UOp *t_int_like(const UOp *x, int64_t value) { return x ? uop_int_const(x->ctx, type_of(x), value) : NULL; }

UOp *t_bool(UOp *x) {
  if (!x || is_bool(x)) return x;
  return is_const(x) ? uop_cast(x, POLY_BOOL) : uop_binary(OP_CMPNE, x, t_scalar_like(x, 0));
}

UOp *t_cast(UOp *x, PolyDType dtype) { return dtype == POLY_BOOL ? t_bool(x) : uop_cast(x, dtype); }

UOp *t_float(UOp *x) { return x ? t_cast(x, t_float_dtype(x->ctx, type_of(x))) : NULL; }

/* ---- two tensors ---- */

static UOp *broadcast_to(UOp *x, int ndim, UOp *const *shape) {
  return !x || is_const(x) ? x : t_broadcast(x, ndim, shape);
}

/* The cast comes before the broadcast, so that the gradient is summed in the wider dtype. */
static bool match_as(UOp **a, UOp **b, PolyDType dtype) {
  UOp *both[2] = {*a, *b}, *shape[MAX_DIMS];
  int ndim;
  if (!t_broadcast_shapes(2, both, &ndim, shape)) return false;
  *a = broadcast_to(t_cast(*a, dtype), ndim, shape);
  *b = broadcast_to(t_cast(*b, dtype), ndim, shape);
  return *a && *b;
}

bool t_match(UOp **a, UOp **b) { return *a && *b && match_as(a, b, dtype_promote(type_of(*a), type_of(*b))); }

/* The opposite of a bool. A constant stays one: only constants may be mixed with other shapes. */
static UOp *bool_not(UOp *x) {
  return x && x->op == OP_CONST ? uop_int_const(x->ctx, POLY_BOOL, !const_int(x)) : t_not(x);
}

/* Arithmetic and order of bools, as logic. The other ops take bools as they are, or refuse them. */
static UOp *bool_binary(Op op, UOp *a, UOp *b) {
  switch (op) {
  case OP_ADD:
  case OP_MAX: return uop_binary(OP_OR, a, b);
  case OP_MUL:
  case OP_MIN: return uop_binary(OP_AND, a, b);
  case OP_SUB: return uop_binary(OP_OR, a, bool_not(b));
  case OP_POW: return uop_binary(OP_OR, a, bool_not(b));
  case OP_CMPLT: return uop_binary(OP_AND, bool_not(a), b);
  case OP_CMPLE: return uop_binary(OP_OR, bool_not(a), b);
  default: return uop_binary(op, a, b);
  }
}

UOp *t_binary(Op op, UOp *a, UOp *b) {
  if (!t_match(&a, &b)) return NULL;
  return is_bool(a) ? bool_binary(op, a, b) : uop_binary(op, a, b);
}

UOp *t_binary_const(Op op, UOp *x, double value) { return x ? t_binary(op, x, t_scalar_like(x, value)) : NULL; }

/* ---- division and remainder ---- */

/* Quotients are taken where they are exact enough to be rounded: float32 in float64, the half types in float32. */
static PolyDType quotient_dtype(PolyDType d) {
  return d == POLY_FLOAT32 ? POLY_FLOAT64 : dtype_is_float(d) ? t_wide_dtype(d) : POLY_FLOAT32;
}

/* Remainders are exact as they are. */
static PolyDType remainder_dtype(PolyDType d) { return t_wide_dtype(dtype_is_float(d) ? d : POLY_FLOAT32); }

static UOp *true_div(UOp *a, UOp *b) {
  PolyDType d = t_float_dtype(a->ctx, dtype_promote(type_of(a), type_of(b)));
  return match_as(&a, &b, d) ? uop_binary(OP_DIV, a, b) : NULL;
}

/* x < 0; a constant for a constant, which fits any shape. */
static UOp *negative(UOp *x) {
  if (x && is_const(x)) return uop_const(x->ctx, POLY_BOOL, const_float(x) < 0);
  return uop_binary(OP_CMPLT, x, t_scalar_like(x, 0));
}

/* Where x is not zero and a and b have different signs. */
static UOp *opposed(UOp *x, UOp *a, UOp *b) {
  return uop_binary(OP_AND, uop_binary(OP_CMPNE, x, t_scalar_like(x, 0)),
                    uop_binary(OP_CMPNE, negative(a), negative(b)));
}

/* C's division out of floor division: one more where the floor went down. */
static UOp *int_trunc_div(UOp *a, UOp *b) {
  UOp *q = uop_binary(OP_IDIV, a, b);
  if (dtype_is_unsigned(type_of(a))) return q;
  UOp *down = opposed(uop_binary(OP_MOD, a, b), a, b);
  return uop_binary(OP_ADD, q, uop_cast(down, type_of(a)));
}

static UOp *int_fmod(UOp *a, UOp *b) {
  UOp *r = uop_binary(OP_MOD, a, b);
  if (dtype_is_unsigned(type_of(a))) return r;
  return uop_where(opposed(r, a, b), uop_binary(OP_SUB, r, b), r);
}

static UOp *float_fmod(UOp *a, UOp *b) { return uop_binary(OP_FMOD, a, b); }

static UOp *float_mod(UOp *a, UOp *b) {
  UOp *r = float_fmod(a, b);
  return uop_where(opposed(r, r, b), uop_binary(OP_ADD, r, b), r);
}

/* Python's: -1 for a finite number by an infinity of the other sign, of which the quotient is rounded to -0; NaN for an
 * infinity by anything but 0, and of NaN. */
static UOp *float_floor_div(UOp *a, UOp *b) {
  if (is_const(a)) a = t_broadcast_like(a, b);
  if (a && is_const(b)) b = t_broadcast_like(b, a);
  if (!a || !b) return NULL;
  UOp *q = uop_unary(OP_FLOOR, uop_binary(OP_DIV, a, b)), *zero = t_scalar_like(a, 0);
  UOp *far = uop_binary(OP_AND, t_unary(POLY_ISINF, b), opposed(a, a, b));
  UOp *lost = uop_binary(OP_AND, t_unary(POLY_ISINF, a), uop_binary(OP_CMPNE, b, zero));
  q = uop_where(far, t_subc(uop_binary(OP_SUB, a, a), 1), q);
  return uop_where(lost, t_scalar_like(a, NAN), q);
}
static UOp *float_trunc_div(UOp *a, UOp *b) { return uop_unary(OP_TRUNC, uop_binary(OP_DIV, a, b)); }
static UOp *int_floor_div(UOp *a, UOp *b) { return uop_binary(OP_IDIV, a, b); }
static UOp *int_mod_op(UOp *a, UOp *b) { return uop_binary(OP_MOD, a, b); }

typedef UOp *(*Binary)(UOp *a, UOp *b);

/* The integer form for integers; otherwise the float form in a dtype of its own (bool becomes float32). */
static UOp *rounded(Binary on_int, Binary on_float, PolyDType (*wide)(PolyDType), UOp *a, UOp *b) {
  PolyDType d = dtype_promote(type_of(a), type_of(b));
  if (dtype_is_int(d)) return match_as(&a, &b, d) ? on_int(a, b) : NULL;
  if (!match_as(&a, &b, wide(d))) return NULL;
  return t_cast(on_float(a, b), t_float_dtype(a->ctx, d));
}

/* ---- powers ---- */

/* a ** n by repeated squaring, exact modulo the width of the dtype. */
static UOp *power_by_squaring(UOp *a, uint64_t n) {
  UOp *result = n & 1 ? a : t_broadcast_like(t_scalar_like(a, 1), a);
  bool first = !(n & 1);
  for (UOp *square = a; n >>= 1;) {
    square = uop_binary(OP_MUL, square, square);
    if (!(n & 1)) continue;
    result = first ? square : uop_binary(OP_MUL, result, square);
    first = false;
  }
  return result;
}

/* The same with exponents only known when it runs: one conditional product a bit. A negative exponent gives 0, but for
 * 1 and -1, whose powers depend on the lowest bit alone. */
static UOp *int_pow_bits(UOp *a, UOp *n) {
  int bits = 8 * dtype_size(type_of(a)) - !dtype_is_unsigned(type_of(a));
  UOp *one = t_scalar_like(a, 1), *zero = t_scalar_like(a, 0), *result = one;
  for (int k = 0; k < bits; k++) {
    UOp *bit = uop_binary(OP_AND, uop_binary(OP_SHR, n, t_int_like(n, k)), one);
    UOp *factor = uop_where(uop_binary(OP_CMPNE, bit, zero), a, one);
    result = k ? uop_binary(OP_MUL, result, factor) : factor;
    a = k + 1 < bits ? uop_binary(OP_MUL, a, a) : a;
  }
  return result;
}

static UOp *int_pow(UOp *a, UOp *n) {
  if (is_const(n) && !is_const(a)) {
    int64_t e = const_int(n);
    if (e < 0 && !dtype_is_unsigned(type_of(n)))
      return fail_null(ctx_base(a->ctx), POLY_ERROR_VALUE, "integers cannot be raised to the negative power %lld",
                       (long long)e);
    return power_by_squaring(a, (uint64_t)e);
  }
  if (is_const(a)) a = t_broadcast_like(a, n);
  UOp *result = int_pow_bits(a, n);
  if (!a || dtype_is_unsigned(type_of(a))) return result;
  UOp *unit = uop_binary(OP_OR, uop_binary(OP_CMPEQ, a, t_int_like(a, 1)), uop_binary(OP_CMPEQ, a, t_int_like(a, -1)));
  UOp *negative = uop_binary(OP_AND, uop_binary(OP_CMPLT, n, t_int_like(n, 0)), t_not(unit));
  return uop_where(negative, t_int_like(a, 0), result);
}

/* Exponents that have a cheaper form with a gradient that is defined everywhere. */
static bool is_plain_exponent(double e) {
  return e == 0 || e == 1 || e == 2 || e == 3 || e == -1 || e == 0.5 || e == -0.5;
}

static UOp *plain_pow(UOp *a, double e) {
  if (e == 0) return uop_function(FUNCTION_FLAT, 0, t_broadcast_like(t_scalar_like(a, 1), a), 1, &a);
  if (e == 1) return a;
  UOp *root = e == 0.5 || e == -0.5 ? uop_unary(OP_SQRT, a) : a;
  if (e < 0) return uop_binary(OP_DIV, t_scalar_like(a, 1), root);
  if (e < 1) return root;
  UOp *squared = uop_binary(OP_MUL, a, a);
  return e == 2 ? squared : uop_binary(OP_MUL, squared, a);
}

static UOp *float_pow(UOp *a, UOp *b) {
  if (is_const(b) && !is_const(a) && is_plain_exponent(const_float(b))) return plain_pow(a, const_float(b));
  if (is_const(a) && !is_const(b) && const_float(a) == 2) return uop_unary(OP_EXP2, b);
  return uop_binary(OP_POW, a, b);
}

UOp *t_pow(UOp *a, UOp *b) {
  if (!t_match(&a, &b)) return NULL;
  PolyDType d = type_of(a), wide = t_wide_dtype(d);
  if (d == POLY_BOOL) return bool_binary(OP_POW, a, b);
  if (!dtype_is_float(d)) return int_pow(a, b);
  a = uop_cast(a, wide);
  b = uop_cast(b, wide);
  return a && b ? uop_cast(float_pow(a, b), d) : NULL;
}

static UOp *of_integers(Binary fn, const char *name, UOp *a, UOp *b) {
  PolyDType d = dtype_promote(type_of(a), type_of(b));
  if (dtype_is_int(d)) return match_as(&a, &b, d) ? fn(a, b) : NULL;
  return fail_null(ctx_base(a->ctx), POLY_ERROR_TYPE, "%s takes integers, not %s", name, dtype_name(d));
}

/* ---- the binary table ---- */

UOp *t_binary_op(PolyBinaryOp op, UOp *a, UOp *b) {
  static const Op plain[POLY_BINARY_COUNT] = {
      [POLY_ADD] = OP_ADD,     [POLY_SUB] = OP_SUB,  [POLY_MUL] = OP_MUL,  [POLY_MAXIMUM] = OP_MAX,
      [POLY_MINIMUM] = OP_MIN, [POLY_LT] = OP_CMPLT, [POLY_LE] = OP_CMPLE, [POLY_GT] = OP_CMPLT,
      [POLY_GE] = OP_CMPLE,    [POLY_EQ] = OP_CMPEQ, [POLY_NE] = OP_CMPNE, [POLY_AND] = OP_AND,
      [POLY_OR] = OP_OR,       [POLY_XOR] = OP_XOR,  [POLY_SHL] = OP_SHL,  [POLY_SHR] = OP_SHR,
  };
  if (!a || !b) return NULL;
  switch (op) {
  case POLY_DIV: return true_div(a, b);
  case POLY_FLOORDIV: return rounded(int_floor_div, float_floor_div, quotient_dtype, a, b);
  case POLY_TRUNCDIV: return rounded(int_trunc_div, float_trunc_div, quotient_dtype, a, b);
  case POLY_MOD: return rounded(int_mod_op, float_mod, remainder_dtype, a, b);
  case POLY_FMOD: return rounded(int_fmod, float_fmod, remainder_dtype, a, b);
  case POLY_POW: return t_pow(a, b);
  case POLY_ATAN2: return t_atan2(a, b);
  case POLY_HYPOT: return t_hypot(a, b);
  case POLY_COPYSIGN: return t_copysign(a, b);
  case POLY_GCD: return of_integers(t_gcd, "gcd", a, b);
  case POLY_LCM: return of_integers(t_lcm, "lcm", a, b);
  case POLY_GT:
  case POLY_GE: return t_binary(plain[op], b, a);
  default: break;
  }
  if ((unsigned)op >= POLY_BINARY_COUNT)
    return fail_null(ctx_base(a->ctx), POLY_ERROR_VALUE, "%d is not a binary operation", (int)op);
  return t_binary(plain[op], a, b);
}

static bool is_comparison(PolyBinaryOp op) { return op >= POLY_LT && op <= POLY_NE; }

bool t_holds_integer(PolyDType d, int64_t v) {
  if (dtype_is_float(d)) return true;
  if (d == POLY_BOOL) return v == 0 || v == 1;
  int bits = 8 * dtype_size(d);
  if (dtype_is_unsigned(d)) return v >= 0 && (bits == 64 || v < (int64_t)1 << bits);
  return bits == 64 || (v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1));
}

/* The dtype that a number of this kind brings a tensor to. */
static PolyDType number_dtype(PolyBinaryOp op, const UOp *x, char kind, int64_t i) {
  PolyDType d = type_of(x);
  if (kind == 'f' || op == POLY_DIV) return t_float_dtype(x->ctx, d);
  if (kind == 'b' || kind == 'u') return d;
  if (d == POLY_BOOL) d = kind == 'i' && t_holds_integer(POLY_INT32, i) ? POLY_INT32 : POLY_INT64;
  if (is_comparison(op) && !t_holds_integer(d, i)) return d == POLY_UINT64 ? POLY_FLOAT64 : POLY_INT64;
  return d;
}

/* Integers wrap around: of a sum, a product or single bits, all that counts of a number is what its dtype holds. A
 * remainder, a maximum, a shift by another number would be wrong. */
static bool number_fits(PolyBinaryOp op, PolyDType d, char kind, int64_t i) {
  if (kind == 'f' || kind == 'b' || dtype_is_float(d)) return true;
  if (kind == 'u') return d == POLY_UINT64;
  switch (op) {
  case POLY_ADD:
  case POLY_SUB:
  case POLY_MUL:
  case POLY_AND:
  case POLY_OR:
  case POLY_XOR: return true;
  default: return t_holds_integer(d, i);
  }
}

/* A size that changes from run to run is a value of the program. Where its dtype might not hold all of them it is the
 * number that it is in this run. */
static UOp *binary_size(PolyBinaryOp op, UOp *x, int64_t dim, bool reversed) {
  UOp *size;
  if (!t_shape_from_api(x->ctx, 1, &dim, &size)) return NULL;
  PolyDType d = number_dtype(op, x, 'i', size->vmax);
  if (size->op == OP_CONST || !number_fits(op, d, 'i', size->vmax))
    return t_binary_number(op, x, 'i', poly_dim_value(x->ctx, dim), 0, reversed);
  UOp *number = t_size_value(size, d);
  x = t_cast(x, d);
  return reversed ? t_binary_op(op, number, x) : t_binary_op(op, x, number);
}

UOp *t_binary_number(PolyBinaryOp op, UOp *x, char kind, int64_t i, double f, bool reversed) {
  if (!x) return NULL;
  if (kind == 's') return binary_size(op, x, i, reversed);
  if (kind != 'b' && kind != 'i' && kind != 'l' && kind != 'u' && kind != 'f')
    return fail_null(ctx_base(x->ctx), POLY_ERROR_TYPE, "'%c' is not a kind of number", kind);
  PolyDType d = number_dtype(op, x, kind, i);
  if (!number_fits(op, d, kind, i))
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, kind == 'u' ? "%llu does not fit %s" : "%lld does not fit %s",
                     (long long)i, dtype_name(d));
  UOp *number = kind == 'f' ? uop_const(x->ctx, d, f) : uop_int_const(x->ctx, d, kind == 'b' ? i != 0 : i);
  x = t_cast(x, d);
  return reversed ? t_binary_op(op, number, x) : t_binary_op(op, x, number);
}

/* ---- selection ---- */

UOp *t_where(UOp *cond, UOp *a, UOp *b) {
  if (!cond || !a || !b) return NULL;
  PolyDType d = dtype_promote(type_of(a), type_of(b));
  UOp *all[3] = {t_bool(cond), t_cast(a, d), t_cast(b, d)}, *shape[MAX_DIMS];
  int ndim;
  if (!t_broadcast_shapes(3, all, &ndim, shape)) return NULL;
  return uop_where(broadcast_to(all[0], ndim, shape), broadcast_to(all[1], ndim, shape),
                   broadcast_to(all[2], ndim, shape));
}

static bool whole(double v) { return isinf(v) || v == floor(v); }

/* NaN stays: it is neither below nor above. Integers stay integers between whole limits, and a limit outside the dtype
 * is no limit. */
UOp *t_clamp(UOp *x, double low, double high) {
  if (!x) return NULL;
  if (is_bool(x)) x = t_cast(x, POLY_INT32);
  if (x && !is_float(x) && !(whole(low) && whole(high))) x = t_float(x);
  if (!x) return NULL;
  double least = -INFINITY, most = INFINITY;
  if (!is_float(x)) {
    int bits = 8 * dtype_size(type_of(x));
    least = dtype_is_unsigned(type_of(x)) ? 0 : -ldexp(1, bits - 1);
    most = ldexp(1, dtype_is_unsigned(type_of(x)) ? bits : bits - 1) - (bits < 64);
    if (low > most || high < least)
      return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "no %s lies between %g and %g", dtype_name(type_of(x)), low,
                       high);
  }
  UOp *y = x;
  if (low > least) y = uop_where(uop_binary(OP_CMPLT, y, t_scalar_like(x, low)), t_scalar_like(x, low), y);
  if (high < most) y = uop_where(uop_binary(OP_CMPLT, t_scalar_like(x, high), y), t_scalar_like(x, high), y);
  if (!is_float(x) || y == x) return y;
  return uop_function(FUNCTION_CLAMP, 0, y, 3, (UOp *[]){x, t_scalar_like(x, low), t_scalar_like(x, high)});
}

/* From the end that is nearer, so that both ends are exact. */
static UOp *lerp(UOp *a, UOp *b, UOp *w) {
  if (!a || !b || !w) return NULL;
  PolyDType d = dtype_promote(dtype_promote(type_of(a), type_of(b)), type_of(w));
  a = t_cast(a, d);
  b = t_cast(b, d);
  UOp *way = t_sub(b, a), *first = t_add(a, t_mul(way, w));
  if (is_const(w) && fabs(const_float(w)) < 0.5) return first;
  UOp *second = t_sub(b, t_mul(way, t_rsubc(1, w)));
  if (is_const(w)) return second;
  UOp *value = t_where(t_less(t_abs(w), t_scalar_like(w, 0.5)), first, second);
  return uop_function(FUNCTION_LIKE, 0, value, 1, &first);
}

static UOp *isclose(UOp *a, UOp *b, double rtol, double atol, bool equal_nan) {
  if (!t_match(&a, &b)) return NULL;
  UOp *finite = t_and(t_unary(POLY_ISFINITE, a), t_unary(POLY_ISFINITE, b));
  UOp *fa = t_float(a), *fb = t_float(b);
  UOp *near = t_less_equal(t_abs(t_sub(fa, fb)), t_addc(t_mulc(t_abs(fb), rtol), atol));
  UOp *close = t_or(t_and(finite, near), t_equal(a, b));
  return equal_nan ? t_or(close, t_and(t_isnan(a), t_isnan(b))) : close;
}

/* ---- unary operations ---- */

static UOp *full_bool(const UOp *x, bool v) { return t_broadcast_like(uop_const(x->ctx, POLY_BOOL, v), x); }

static UOp *neg(UOp *x) { return is_bool(x) ? t_not(x) : uop_unary(OP_NEG, x); }
static UOp *logical_not(UOp *x) { return t_not(t_bool(x)); }

/* Zero has a branch of its own: -0 becomes 0. NaN stays. */
static UOp *absolute(UOp *x) {
  if (is_bool(x) || dtype_is_unsigned(type_of(x))) return x;
  UOp *zero = t_scalar_like(x, 0);
  UOp *rest = is_float(x) ? uop_where(uop_binary(OP_CMPEQ, x, zero), zero, x) : x;
  UOp *y = uop_where(uop_binary(OP_CMPLT, x, zero), uop_unary(OP_NEG, x), rest);
  return is_float(x) ? uop_function(FUNCTION_ABS, 0, y, 1, &x) : y;
}

/* The last branch is for 0 and NaN, which are their own sign. */
static UOp *sign(UOp *x) {
  if (is_bool(x)) return x;
  UOp *zero = t_scalar_like(x, 0), *one = t_scalar_like(x, 1);
  UOp *rest = uop_where(uop_binary(OP_CMPLT, zero, x), one, is_float(x) ? uop_detach(x) : zero);
  if (dtype_is_unsigned(type_of(x))) return rest;
  return uop_where(uop_binary(OP_CMPLT, x, zero), t_scalar_like(x, -1), rest);
}

static UOp *square(UOp *x) { return t_mul(x, x); }
static UOp *reciprocal(UOp *x) { return uop_binary(OP_DIV, t_scalar_like(x, 1), x); }
static UOp *rsqrt_op(UOp *x) { return reciprocal(uop_unary(OP_SQRT, x)); }
static UOp *log10_op(UOp *x) { return t_mulc(uop_unary(OP_LOG2, x), 0.30102999566398119521); }

static UOp *is_nan(UOp *x) { return is_float(x) ? uop_binary(OP_CMPNE, x, x) : full_bool(x, false); }

static UOp *is_inf(UOp *x) {
  if (!is_float(x)) return full_bool(x, false);
  x = t_cast(x, t_wide_dtype(type_of(x))); /* not every float of 8 bits has infinities to compare with */
  UOp *low = uop_binary(OP_CMPEQ, x, t_scalar_like(x, -INFINITY));
  return uop_binary(OP_OR, low, uop_binary(OP_CMPEQ, x, t_scalar_like(x, INFINITY)));
}

static UOp *is_finite(UOp *x) {
  if (!is_float(x)) return full_bool(x, true);
  x = t_cast(x, t_wide_dtype(type_of(x)));
  UOp *low = uop_binary(OP_CMPLT, t_scalar_like(x, -INFINITY), x);
  return uop_binary(OP_AND, low, uop_binary(OP_CMPLT, x, t_scalar_like(x, INFINITY)));
}

/* x <= 0 is false for NaN, so NaN stays; the gradient at 0 is 0. */
static UOp *relu(UOp *x) {
  if (is_bool(x)) return t_cast(x, POLY_INT32);
  if (dtype_is_unsigned(type_of(x))) return x;
  return uop_where(uop_binary(OP_CMPLE, x, t_scalar_like(x, 0)), t_scalar_like(x, 0), x);
}

/* 1/(1+e) for x >= 0 and e/(1+e) below, with e = exp(-|x|): it does not overflow. Computed in a wide dtype and rounded
 * once: the FUNCTION is of the rounded value. */
static UOp *sigmoid(UOp *x) {
  UOp *wide = uop_cast(x, t_wide_dtype(type_of(x))), *one = t_scalar_like(wide, 1);
  UOp *negative = uop_binary(OP_CMPLT, wide, t_scalar_like(wide, 0));
  UOp *e = uop_unary(OP_EXP, uop_where(negative, wide, uop_unary(OP_NEG, wide)));
  UOp *y = uop_binary(OP_DIV, uop_where(negative, e, one), uop_binary(OP_ADD, e, one));
  return uop_function(FUNCTION_SIGMOID, 0, uop_cast(y, type_of(x)), 1, &x);
}

/* How a row of the table treats its argument: as it is; floats only; floats, computed in float32 for the half types and
 * rounded once; nothing to do for integers. */
typedef enum UnaryKind { ANY, FLOAT, WIDE, ROUNDING } UnaryKind;
typedef struct UnaryRow {
  UnaryKind kind;
  Op op;             /* the IR op, or */
  UOp *(*fn)(UOp *); /* a composition */
} UnaryRow;

static const UnaryRow unary_table[POLY_UNARY_COUNT] = {
    [POLY_NEG] = {ANY, 0, neg},
    [POLY_LOGICAL_NOT] = {ANY, 0, logical_not},
    [POLY_BITWISE_NOT] = {ANY, OP_NOT, NULL},
    [POLY_ABS] = {ANY, 0, absolute},
    [POLY_SIGN] = {ANY, 0, sign},
    [POLY_SQUARE] = {ANY, 0, square},
    [POLY_SQRT] = {FLOAT, OP_SQRT, NULL},
    [POLY_RSQRT] = {WIDE, 0, rsqrt_op},
    [POLY_RECIPROCAL] = {FLOAT, 0, reciprocal},
    [POLY_EXP] = {FLOAT, OP_EXP, NULL},
    [POLY_EXP2] = {FLOAT, OP_EXP2, NULL},
    [POLY_EXPM1] = {FLOAT, OP_EXPM1, NULL},
    [POLY_LOG] = {FLOAT, OP_LOG, NULL},
    [POLY_LOG2] = {FLOAT, OP_LOG2, NULL},
    [POLY_LOG10] = {WIDE, 0, log10_op},
    [POLY_LOG1P] = {FLOAT, OP_LOG1P, NULL},
    [POLY_SIN] = {FLOAT, OP_SIN, NULL},
    [POLY_COS] = {FLOAT, OP_COS, NULL},
    [POLY_TAN] = {FLOAT, OP_TAN, NULL},
    [POLY_ASIN] = {FLOAT, OP_ASIN, NULL},
    [POLY_ACOS] = {FLOAT, OP_ACOS, NULL},
    [POLY_ATAN] = {FLOAT, OP_ATAN, NULL},
    [POLY_SINH] = {FLOAT, OP_SINH, NULL},
    [POLY_COSH] = {FLOAT, OP_COSH, NULL},
    [POLY_TANH] = {FLOAT, OP_TANH, NULL},
    [POLY_ASINH] = {FLOAT, OP_ASINH, NULL},
    [POLY_ACOSH] = {FLOAT, OP_ACOSH, NULL},
    [POLY_ATANH] = {FLOAT, OP_ATANH, NULL},
    [POLY_ERF] = {FLOAT, OP_ERF, NULL},
    [POLY_CEIL] = {ROUNDING, OP_CEIL, NULL},
    [POLY_FLOOR] = {ROUNDING, OP_FLOOR, NULL},
    [POLY_ROUND] = {FLOAT, OP_ROUND, NULL}, /* integers become float32, as in tinygrad */
    [POLY_TRUNC] = {ROUNDING, OP_TRUNC, NULL},
    [POLY_ISNAN] = {ANY, 0, is_nan},
    [POLY_ISINF] = {ANY, 0, is_inf},
    [POLY_ISFINITE] = {ANY, 0, is_finite},
    [POLY_RELU] = {ANY, 0, relu},
    [POLY_RELU6] = {ANY, 0, t_relu6},
    [POLY_SIGMOID] = {FLOAT, 0, sigmoid},
    [POLY_LOGSIGMOID] = {WIDE, 0, t_logsigmoid},
    [POLY_HARDSIGMOID] = {WIDE, 0, t_hardsigmoid},
    [POLY_HARDSWISH] = {WIDE, 0, t_hardswish},
    [POLY_GELU] = {WIDE, 0, t_gelu},
    [POLY_QUICK_GELU] = {WIDE, 0, t_quick_gelu},
    [POLY_SILU] = {WIDE, 0, t_silu},
    [POLY_MISH] = {WIDE, 0, t_mish},
    [POLY_SELU] = {WIDE, 0, t_selu},
    [POLY_SOFTSIGN] = {WIDE, 0, t_softsign},
    [POLY_LGAMMA] = {FLOAT, 0, t_lgamma},
    [POLY_DIGAMMA] = {FLOAT, 0, t_digamma},
    [POLY_ERFINV] = {FLOAT, 0, t_erfinv},
    [POLY_GELU_ERF] = {WIDE, 0, t_gelu_erf},
};

UOp *t_unary(PolyUnaryOp op, UOp *x) {
  if (!x) return NULL;
  if ((unsigned)op >= POLY_UNARY_COUNT)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_VALUE, "%d is not a unary operation", (int)op);
  const UnaryRow *row = &unary_table[op];
  if (row->kind == ROUNDING && !is_float(x)) return x;
  PolyDType d = row->kind == FLOAT || row->kind == WIDE ? t_float_dtype(x->ctx, type_of(x)) : type_of(x);
  x = t_cast(x, row->kind == WIDE ? t_wide_dtype(d) : d);
  if (!x) return NULL;
  UOp *y = row->fn ? row->fn(x) : uop_unary(row->op, x);
  return row->kind == WIDE ? uop_cast(y, d) : y;
}

/* ---- public ---- */

PolyTensor *poly_binary(PolyBinaryOp op, PolyTensor *a, PolyTensor *b) {
  if (!a || !b) return NULL;
  UOp *x[] = {a->uop, b->uop};
  TENSOR_RETURN(a->ctx, t_meet(a->ctx, 2, x, true) ? t_binary_op(op, x[0], x[1]) : NULL);
}

/* Bools, integers, floats. */
static int category(PolyDType d) { return d == POLY_BOOL ? 0 : dtype_is_float(d) ? 2 : 1; }

/* The operand without axes is cast before the two are promoted. Comparisons keep its value, which the cast might not.
 */
static UOp *weak_binary(PolyBinaryOp op, UOp *a, UOp *b) {
  PolyDType da = type_of(a), db = type_of(b);
  if (da == POLY_BOOL && db == POLY_BOOL && (op == POLY_SUB || op == POLY_MOD || op == POLY_FLOORDIV))
    return fail_null(ctx_base(a->ctx), POLY_ERROR_TYPE,
                     "two bool tensors can be neither subtracted nor divided with remainder: use ^, or cast them");
  if (da != db && (a->ndim == 0) != (b->ndim == 0) && !is_comparison(op)) {
    if (a->ndim == 0 && category(da) <= category(db)) a = t_cast(a, db);
    if (b->ndim == 0 && category(db) <= category(da)) b = t_cast(b, da);
  }
  return t_binary_op(op, a, b);
}

PolyTensor *poly_binary_weak(PolyBinaryOp op, PolyTensor *a, PolyTensor *b) {
  if (!a || !b) return NULL;
  UOp *x[] = {a->uop, b->uop};
  TENSOR_RETURN(a->ctx, t_meet(a->ctx, 2, x, true) ? weak_binary(op, x[0], x[1]) : NULL);
}

PolyTensor *poly_binary_scalar(PolyBinaryOp op, PolyTensor *a, char kind, int64_t i, double f, bool reversed) {
  if (!a) return NULL;
  TENSOR_RETURN(a->ctx, t_binary_number(op, a->uop, kind, i, f, reversed));
}

PolyTensor *poly_unary(PolyUnaryOp op, PolyTensor *x) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, t_unary(op, x->uop));
}

#define BINARY(name, op)                                                                                               \
  PolyTensor *name(PolyTensor *a, PolyTensor *b) { return poly_binary(op, a, b); }
BINARY(poly_add, POLY_ADD)
BINARY(poly_sub, POLY_SUB)
BINARY(poly_mul, POLY_MUL)
BINARY(poly_div, POLY_DIV)
BINARY(poly_pow, POLY_POW)
BINARY(poly_maximum, POLY_MAXIMUM)
BINARY(poly_minimum, POLY_MINIMUM)
BINARY(poly_lt, POLY_LT)
BINARY(poly_eq, POLY_EQ)
#undef BINARY

#define UNARY(name, op)                                                                                                \
  PolyTensor *name(PolyTensor *x) { return poly_unary(op, x); }
UNARY(poly_neg, POLY_NEG)
UNARY(poly_abs, POLY_ABS)
UNARY(poly_square, POLY_SQUARE)
UNARY(poly_sqrt, POLY_SQRT)
UNARY(poly_exp, POLY_EXP)
UNARY(poly_log, POLY_LOG)
UNARY(poly_tanh, POLY_TANH)
UNARY(poly_sigmoid, POLY_SIGMOID)
UNARY(poly_relu, POLY_RELU)
UNARY(poly_gelu, POLY_GELU)
#undef UNARY

PolyTensor *poly_add_scalar(PolyTensor *a, double value) {
  return poly_binary_scalar(POLY_ADD, a, 'f', 0, value, false);
}
PolyTensor *poly_mul_scalar(PolyTensor *a, double value) {
  return poly_binary_scalar(POLY_MUL, a, 'f', 0, value, false);
}

PolyTensor *poly_where(PolyTensor *cond, PolyTensor *a, PolyTensor *b) {
  if (!cond || !a || !b) return NULL;
  UOp *x[] = {cond->uop, a->uop, b->uop};
  TENSOR_RETURN(cond->ctx, t_meet(cond->ctx, 3, x, true) ? t_where(x[0], x[1], x[2]) : NULL);
}

PolyTensor *poly_clamp(PolyTensor *x, double low, double high) {
  if (!x) return NULL;
  TENSOR_RETURN(x->ctx, t_clamp(x->uop, low, high));
}

PolyTensor *poly_lerp(PolyTensor *a, PolyTensor *b, PolyTensor *weight) {
  if (!a || !b || !weight) return NULL;
  UOp *x[] = {a->uop, b->uop, weight->uop};
  TENSOR_RETURN(a->ctx, t_meet(a->ctx, 3, x, true) ? lerp(x[0], x[1], x[2]) : NULL);
}

PolyTensor *poly_isclose(PolyTensor *a, PolyTensor *b, double rtol, double atol, bool equal_nan) {
  if (!a || !b) return NULL;
  UOp *x[] = {a->uop, b->uop};
  TENSOR_RETURN(a->ctx, t_meet(a->ctx, 2, x, true) ? isclose(x[0], x[1], rtol, atol, equal_nan) : NULL);
}

PolyTensor *poly_cast(PolyTensor *x, PolyDType dtype) {
  if (!x) return NULL;
  if ((unsigned)dtype >= POLY_DTYPE_COUNT)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_TYPE, "%d is not a dtype", (int)dtype);
  TENSOR_RETURN(x->ctx, t_cast(x->uop, dtype));
}

PolyTensor *poly_bitcast(PolyTensor *x, PolyDType dtype) {
  if (!x) return NULL;
  if ((unsigned)dtype >= POLY_DTYPE_COUNT)
    return fail_null(ctx_base(x->ctx), POLY_ERROR_TYPE, "%d is not a dtype", (int)dtype);
  TENSOR_VIEW(x, uop_bitcast(x->uop, dtype));
}
