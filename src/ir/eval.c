/* eval.c: what each elementwise op means for one element of each dtype.
 *
 * Integers wrap around; division is floor division, and 0 by zero. Shifts by the width or more (or by less than
 * nothing) shift everything out. float32 and the 16-bit floats are computed in double and rounded once to float and
 * then to the dtype: sums, products, quotients and roots come out as if rounded once. A float that becomes an integer
 * is cut towards zero; see float_to_int for those that do not fit. */
#include "ir/eval.h"
#include "ir/intmath.h"

#include <math.h>
#include <string.h>

/* ---- memory ---- */

#define LOAD_AS(T, field)                                                                                              \
  do {                                                                                                                 \
    T t_;                                                                                                              \
    memcpy(&t_, p, sizeof t_);                                                                                         \
    v.field = t_;                                                                                                      \
  } while (0)

Value value_load(const void *p, PolyDType dtype) {
  Value v = {0};
  uint16_t h;
  switch (dtype) {
  case POLY_BOOL: v.i = *(const uint8_t *)p != 0; break;
  case POLY_INT8: LOAD_AS(int8_t, i); break;
  case POLY_UINT8: LOAD_AS(uint8_t, i); break;
  case POLY_INT16: LOAD_AS(int16_t, i); break;
  case POLY_UINT16: LOAD_AS(uint16_t, i); break;
  case POLY_INT32: LOAD_AS(int32_t, i); break;
  case POLY_UINT32: LOAD_AS(uint32_t, i); break;
  case POLY_FP8E4M3: v.f = (double)e4m3_to_float(*(const uint8_t *)p); break;
  case POLY_FP8E5M2: v.f = (double)e5m2_to_float(*(const uint8_t *)p); break;
  case POLY_FLOAT16: memcpy(&h, p, 2), v.f = (double)half_to_float(h); break;
  case POLY_BFLOAT16: memcpy(&h, p, 2), v.f = (double)bfloat_to_float(h); break;
  case POLY_FLOAT32: LOAD_AS(float, f); break;
  case POLY_FLOAT64: LOAD_AS(double, f); break;
  default: memcpy(&v.i, p, 8); break;
  }
  return v;
}

void value_store(void *p, PolyDType dtype, Value v) {
  uint16_t h;
  float f;
  switch (dtype) {
  case POLY_FP8E4M3: *(uint8_t *)p = float_to_e4m3((float)v.f); break;
  case POLY_FP8E5M2: *(uint8_t *)p = float_to_e5m2((float)v.f); break;
  case POLY_FLOAT16: h = float_to_half((float)v.f), memcpy(p, &h, 2); break;
  case POLY_BFLOAT16: h = float_to_bfloat((float)v.f), memcpy(p, &h, 2); break;
  case POLY_FLOAT32: f = (float)v.f, memcpy(p, &f, 4); break;
  case POLY_FLOAT64: memcpy(p, &v.f, 8); break;
  default: {
    uint8_t u8 = (uint8_t)v.i;
    uint16_t u16 = (uint16_t)v.i;
    uint32_t u32 = (uint32_t)v.i;
    int size = dtype_size(dtype);
    memcpy(p,
           size == 1   ? (void *)&u8
           : size == 2 ? (void *)&u16
           : size == 4 ? (void *)&u32
                       : (void *)&v.i,
           (size_t)size);
  }
  }
}

/* ---- conversion ---- */

/* What x86 gives, and the compiled kernels with it: a float that does not fit, or NaN, becomes the lowest int32 (for
 * targets up to int32, then cut to their width) or the lowest int64 (int64, uint32, uint64 below 2^63). */
static int64_t float_to_int(PolyDType to, double f) {
  const int64_t cut = f >= -0x1p63 && f < 0x1p63 ? (int64_t)f : INT64_MIN;
  if (to == POLY_UINT64 && f >= 0x1p63) return f < 0x1p64 ? (int64_t)(uint64_t)f : 0;
  if (to == POLY_INT64 || to == POLY_UINT32 || to == POLY_UINT64) return dtype_wrap(to, (uint64_t)cut);
  return dtype_wrap(to, (uint64_t)(cut >= INT32_MIN && cut <= INT32_MAX ? cut : INT32_MIN));
}

Value value_cast(Value v, PolyDType from, PolyDType to) {
  Value r = {0};
  bool from_float = dtype_is_float(from), to_float = dtype_is_float(to);
  if (from_float && to_float) {
    r.f = dtype_round(to, v.f);
  } else if (from_float) {
    r.i = to == POLY_BOOL ? v.f != 0 : float_to_int(to, v.f);
  } else if (!to_float) {
    r.i = dtype_wrap(to, (uint64_t)v.i);
  } else if (to == POLY_FLOAT64) {
    r.f = from == POLY_UINT64 ? (double)(uint64_t)v.i : (double)v.i;
  } else { /* straight to float: through a double would round twice */
    r.f = dtype_round(to, (double)(from == POLY_UINT64 ? (float)(uint64_t)v.i : (float)v.i));
  }
  return r;
}

static Value bitcast(Value v, PolyDType from, PolyDType to) {
  unsigned char bytes[8] = {0};
  value_store(bytes, from, v);
  return value_load(bytes, to);
}

Value value_of_const(const UOp *u) {
  Value v;
  if (dtype_is_float((PolyDType)u->dtype))
    v.f = const_float(u);
  else
    v.i = u->arg.i;
  return v;
}

UOp *value_to_const(PolyContext *ctx, PolyDType dtype, Value v) {
  return dtype_is_float(dtype) ? uop_const(ctx, dtype, v.f) : uop_int_const(ctx, dtype, v.i);
}

bool value_same(Value a, Value b, PolyDType dtype) {
  if (!dtype_is_float(dtype)) return a.i == b.i;
  return (isnan(a.f) && isnan(b.f)) || memcmp(&a.f, &b.f, 8) == 0;
}

Value value_identity(Op op, PolyDType dtype) {
  static const int64_t low[] = {[POLY_INT8] = INT8_MIN,
                                [POLY_INT16] = INT16_MIN,
                                [POLY_INT32] = INT32_MIN,
                                [POLY_INT64] = INT64_MIN,
                                [POLY_UINT64] = 0};
  static const int64_t high[] = {[POLY_BOOL] = 1,
                                 [POLY_INT8] = INT8_MAX,
                                 [POLY_UINT8] = UINT8_MAX,
                                 [POLY_INT16] = INT16_MAX,
                                 [POLY_UINT16] = UINT16_MAX,
                                 [POLY_INT32] = INT32_MAX,
                                 [POLY_UINT32] = UINT32_MAX,
                                 [POLY_INT64] = INT64_MAX,
                                 [POLY_UINT64] = -1};
  Value v = {0};
  bool is_float = dtype_is_float(dtype);
  if (op == OP_MUL && is_float)
    v.f = 1;
  else if (op == OP_MUL)
    v.i = 1;
  else if (op == OP_MAX && is_float)
    v.f = dtype == POLY_FP8E4M3 ? -448 : -(double)INFINITY; /* which has no infinity */
  else if (op == OP_MIN && is_float)
    v.f = dtype == POLY_FP8E4M3 ? 448 : (double)INFINITY;
  else if (op == OP_MAX)
    v.i = low[dtype];
  else if (op == OP_MIN)
    v.i = high[dtype];
  else if (is_float)
    v.f = 0;
  return v;
}

/* ---- operations ---- */

static double neg(double x) { return -x; }

static double (*const float_unary[OP_COUNT])(double) = {
    [OP_NEG] = neg,
#define E(...)
#define FN(name, cost, props, function, code) [OP_##name] = function,
#include "ops.def"
};

static bool float_binary(Op op, double a, double b, double *r) {
  switch (op) {
  case OP_ADD: *r = a + b; return true;
  case OP_SUB: *r = a - b; return true;
  case OP_MUL: *r = a * b; return true;
  case OP_DIV: *r = a / b; return true;
  case OP_POW: *r = pow(a, b); return true;
  case OP_FMOD: *r = fmod(a, b); return true;
  case OP_MAX: *r = isnan(a) || a > b ? a : b; return true;
  case OP_MIN: *r = isnan(a) || a < b ? a : b; return true;
  default: return false;
  }
}

static bool float_compare(Op op, double a, double b, int64_t *r) {
  switch (op) {
  case OP_CMPLT: *r = a < b; return true;
  case OP_CMPLE: *r = a <= b; return true;
  case OP_CMPEQ: *r = a == b; return true;
  case OP_CMPNE: *r = a != b; return true;
  default: return false;
  }
}

static uint64_t divide(PolyDType dtype, int64_t a, int64_t b, bool mod) {
  if (b == 0) return 0;
  if (dtype == POLY_UINT64) return mod ? (uint64_t)a % (uint64_t)b : (uint64_t)a / (uint64_t)b;
  if (b == -1) return mod ? 0 : 0 - (uint64_t)a;
  return (uint64_t)(mod ? floor_mod(a, b) : floor_div(a, b));
}

static uint64_t shift(PolyDType dtype, int64_t a, int64_t b, bool left) {
  int width = 8 * dtype_size(dtype);
  bool out = b < 0 || b >= width;
  if (left) return out ? 0 : (uint64_t)a << b;
  if (dtype == POLY_UINT64) return out ? 0 : (uint64_t)a >> b;
  return (uint64_t)(a >> (out ? 63 : b));
}

static bool int_binary(Op op, PolyDType dtype, int64_t a, int64_t b, uint64_t *r) {
  uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
  bool is_bool = dtype == POLY_BOOL;
  bool less = dtype == POLY_UINT64 ? ua < ub : a < b;
  switch (op) {
  case OP_ADD: *r = ua + ub; return true;
  case OP_SUB: *r = ua - ub; return true;
  case OP_MUL: *r = ua * ub; return true;
  case OP_IDIV: *r = divide(dtype, a, b, false); return !is_bool;
  case OP_MOD: *r = divide(dtype, a, b, true); return !is_bool;
  case OP_MAX: *r = less ? ub : ua; return true;
  case OP_MIN: *r = less ? ua : ub; return true;
  case OP_AND: *r = ua & ub; return true;
  case OP_OR: *r = ua | ub; return true;
  case OP_XOR: *r = ua ^ ub; return true;
  case OP_SHL: *r = shift(dtype, a, b, true); return !is_bool;
  case OP_SHR: *r = shift(dtype, a, b, false); return !is_bool;
  case OP_CMPLT: *r = less; return true;
  case OP_CMPLE: *r = less || a == b; return true;
  case OP_CMPEQ: *r = a == b; return true;
  case OP_CMPNE: *r = a != b; return true;
  default: return false;
  }
}

static bool eval_float(Op op, PolyDType dtype, const Value *src, Value *out) {
  OpClass cls = op_info[op].cls;
  double r;
  if (cls == CLASS_COMPARE) return float_compare(op, src[0].f, src[1].f, &out->i);
  if (cls == CLASS_UNARY && float_unary[op])
    r = float_unary[op](src[0].f);
  else if (cls != CLASS_BINARY || !float_binary(op, src[0].f, src[1].f, &r))
    return false;
  if (dtype_is_small(dtype) && fabs(r) >= 0x1.ffffffp127) r = copysign((double)INFINITY, r); /* computed in float32 */
  out->f = dtype_round(dtype, r);
  return true;
}

static bool eval_int(Op op, PolyDType dtype, const Value *src, Value *out) {
  OpClass cls = op_info[op].cls;
  uint64_t r;
  if (op == OP_NOT)
    r = dtype == POLY_BOOL ? !src[0].i : ~(uint64_t)src[0].i;
  else if (op == OP_NEG && dtype != POLY_BOOL)
    r = 0 - (uint64_t)src[0].i;
  else if ((cls != CLASS_BINARY && cls != CLASS_COMPARE) || !int_binary(op, dtype, src[0].i, src[1].i, &r))
    return false;
  out->i = cls == CLASS_COMPARE ? (int64_t)r : dtype_wrap(dtype, r);
  return true;
}

bool eval_scalar(Op op, PolyDType dtype, PolyDType to, const Value *src, Value *out) {
  switch (op) {
  case OP_CAST: *out = value_cast(src[0], dtype, to); return true;
  case OP_BITCAST: *out = bitcast(src[0], dtype, to); return dtype_size(dtype) == dtype_size(to);
  case OP_WHERE: *out = src[0].i ? src[1] : src[2]; return true;
  default: return dtype_is_float(dtype) ? eval_float(op, dtype, src, out) : eval_int(op, dtype, src, out);
  }
}
