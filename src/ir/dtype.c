/* dtype.c: sizes, names, promotion and the conversions of small floats. */
#include "ir/uop.h"

#include <math.h>
#include <string.h>

typedef struct DTypeInfo {
  const char *name;
  int size;
} DTypeInfo;

static const DTypeInfo info[POLY_DTYPE_COUNT] = {
    [POLY_BOOL] = {"bool", 1},         [POLY_INT8] = {"int8", 1},       [POLY_UINT8] = {"uint8", 1},
    [POLY_INT16] = {"int16", 2},       [POLY_UINT16] = {"uint16", 2},   [POLY_INT32] = {"int32", 4},
    [POLY_UINT32] = {"uint32", 4},     [POLY_INT64] = {"int64", 8},     [POLY_UINT64] = {"uint64", 8},
    [POLY_FP8E4M3] = {"fp8e4m3", 1},   [POLY_FP8E5M2] = {"fp8e5m2", 1}, [POLY_FLOAT16] = {"float16", 2},
    [POLY_BFLOAT16] = {"bfloat16", 2}, [POLY_FLOAT32] = {"float32", 4}, [POLY_FLOAT64] = {"float64", 8},
};

int dtype_size(PolyDType d) { return info[d].size; }
const char *dtype_name(PolyDType d) { return info[d].name; }
bool dtype_is_float(PolyDType d) { return d >= POLY_FP8E4M3; }
bool dtype_is_int(PolyDType d) { return d > POLY_BOOL && d < POLY_FP8E4M3; }
bool dtype_is_small(PolyDType d) { return d >= POLY_FP8E4M3 && d <= POLY_BFLOAT16; }
bool dtype_is_unsigned(PolyDType d) {
  return d == POLY_UINT8 || d == POLY_UINT16 || d == POLY_UINT32 || d == POLY_UINT64;
}

static bool dtype_is_signed(PolyDType d) { return dtype_is_int(d) && !dtype_is_unsigned(d); }

/* The lattice, as the set of dtypes that each converts to upwards. Its shape (tinygrad's, after JAX):
 *   bool -> i8, u8;  i8 -> i16;  u8 -> i16, u16;  i16 -> i32;  u16 -> i32, u32;  i32 -> i64;  u32 -> i64, u64;
 *   i64, u64 -> fp8 -> f16, bf16 -> f32 -> f64, but a signed integer with u64 gives f32 */
static const PolyDType above[POLY_DTYPE_COUNT][2] = {
    [POLY_BOOL] = {POLY_INT8, POLY_UINT8},          [POLY_INT8] = {POLY_INT16, POLY_INT16},
    [POLY_UINT8] = {POLY_INT16, POLY_UINT16},       [POLY_INT16] = {POLY_INT32, POLY_INT32},
    [POLY_UINT16] = {POLY_INT32, POLY_UINT32},      [POLY_INT32] = {POLY_INT64, POLY_INT64},
    [POLY_UINT32] = {POLY_INT64, POLY_UINT64},      [POLY_INT64] = {POLY_UINT64, POLY_UINT64},
    [POLY_UINT64] = {POLY_FP8E4M3, POLY_FP8E5M2},   [POLY_FP8E4M3] = {POLY_FLOAT16, POLY_BFLOAT16},
    [POLY_FP8E5M2] = {POLY_FLOAT16, POLY_BFLOAT16}, [POLY_FLOAT16] = {POLY_FLOAT32, POLY_FLOAT32},
    [POLY_BFLOAT16] = {POLY_FLOAT32, POLY_FLOAT32}, [POLY_FLOAT32] = {POLY_FLOAT64, POLY_FLOAT64},
    [POLY_FLOAT64] = {POLY_FLOAT64, POLY_FLOAT64},
};

static uint32_t closure(PolyDType d) {
  uint32_t set = 0, todo = 1u << d;
  for (int k = 0; k < POLY_DTYPE_COUNT; k++)
    if (todo & (1u << k)) {
      set |= 1u << k;
      todo |= (1u << above[k][0]) | (1u << above[k][1]);
    }
  return set;
}

/* The order of the enum never goes against the lattice, so the lowest common bit is the least upper bound. */
PolyDType dtype_promote(PolyDType a, PolyDType b) {
  if (a == b) return a;
  bool mixed = (a == POLY_UINT64 && dtype_is_signed(b)) || (b == POLY_UINT64 && dtype_is_signed(a));
  if (mixed) return POLY_FLOAT32; /* no integer holds both */
  uint32_t common = closure(a) & closure(b);
  for (int k = 0; k < POLY_DTYPE_COUNT; k++)
    if (common & (1u << k)) return (PolyDType)k;
  return POLY_FLOAT64;
}

PolyDType dtype_sum(PolyDType d) {
  if (dtype_is_unsigned(d)) return dtype_promote(d, POLY_UINT32);
  if (!dtype_is_float(d)) return dtype_promote(d, POLY_INT32);
  return dtype_promote(d, POLY_FLOAT32);
}

float half_to_float(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = h & 0x7fff, bits;
  if (mag >= 0x7c00) {
    bits = 0x7f800000u | (mag << 13);
  } else if (mag >= 0x0400) {
    bits = (mag << 13) + (112u << 23);
  } else {
    float f = (float)mag * 5.9604644775390625e-8f; /* 2^-24: denormals are multiples of it */
    memcpy(&bits, &f, 4);
  }
  bits |= sign;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

uint16_t float_to_half(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  uint16_t sign = (uint16_t)((bits >> 16) & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (bits >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* rounds to 2^16 or more */
  if (bits < 0x38800000) {                                  /* below the smallest normal: round at 2^-24 */
    float mag;
    memcpy(&mag, &bits, 4);
    float r = mag + 0.5f; /* ulp of 0.5 is 2^-24 */
    uint32_t rb;
    memcpy(&rb, &r, 4);
    return (uint16_t)(sign | (rb - 0x3f000000));
  }
  uint32_t r = bits + 0xfff + ((bits >> 13) & 1);
  return (uint16_t)(sign | ((r - (112u << 23)) >> 13));
}

float bfloat_to_float(uint16_t h) {
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

uint16_t float_to_bfloat(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)((bits >> 16) | 0x40);
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* The two formats of 8 bits, by the bits of their mantissa: e4m3 has no infinity and one NaN of each sign, e5m2 is the
 * upper half of a float16. As in tinygrad a finite value that is too large becomes the largest one; an infinity stays
 * one in e5m2 and is NaN in e4m3. */
static float byte_to_float(uint8_t v, int mantissa, int bias) {
  uint32_t mag = v & 0x7f, bits = mag << (23 - mantissa);
  float f;
  memcpy(&f, &bits, 4);
  f *= ldexpf(1, 127 - bias);
  return v & 0x80 ? -f : f;
}

static uint8_t float_to_byte(float f, int mantissa, int bias, uint8_t largest) {
  uint8_t sign = signbit(f) ? 0x80 : 0;
  float unit = ldexpf(1, 1 - bias - mantissa), size = fabsf(f), first = ldexpf(1, 1 - bias);
  if (size < first) return (uint8_t)(sign | (uint8_t)rintf(size / unit)); /* subnormal: multiples of the unit */
  uint32_t bits, drop = (uint32_t)(23 - mantissa);
  memcpy(&bits, &size, 4);
  bits = (bits + ((1u << (drop - 1)) - 1) + (bits >> drop & 1)) >> drop;
  bits -= (uint32_t)(127 - bias) << mantissa;
  return (uint8_t)(sign | (bits > largest ? largest : bits));
}

float e4m3_to_float(uint8_t v) { return (v & 0x7f) == 0x7f ? (v & 0x80 ? -NAN : NAN) : byte_to_float(v, 3, 7); }

uint8_t float_to_e4m3(float f) {
  if (!isfinite(f)) return signbit(f) ? 0xff : 0x7f;
  return float_to_byte(f, 3, 7, 0x7e);
}

float e5m2_to_float(uint8_t v) { return half_to_float((uint16_t)(v << 8)); }

uint8_t float_to_e5m2(float f) {
  uint8_t sign = signbit(f) ? 0x80 : 0;
  if (!isfinite(f)) return (uint8_t)(sign | (isnan(f) ? 0x7f : 0x7c));
  return float_to_byte(f, 2, 15, 0x7b);
}

/* To a float that, rounded again to fewer bits, gives what one rounding would have: cut, and the last bit set if
 * inexact. */
static float round_to_odd(double d) {
  float f = (float)d;
  if ((double)f == d || isnan(d) || isinf(d)) return f;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  if (fabs((double)f) > fabs(d)) bits--;
  bits |= 1;
  memcpy(&f, &bits, 4);
  return f;
}

double dtype_round(PolyDType dtype, double v) {
  switch (dtype) {
  case POLY_FLOAT16: return (double)half_to_float(float_to_half(round_to_odd(v)));
  case POLY_BFLOAT16: return (double)bfloat_to_float(float_to_bfloat(round_to_odd(v)));
  case POLY_FP8E4M3: return (double)e4m3_to_float(float_to_e4m3(round_to_odd(v)));
  case POLY_FP8E5M2: return (double)e5m2_to_float(float_to_e5m2(round_to_odd(v)));
  case POLY_FLOAT32: return (double)(float)v;
  default: return v;
  }
}
