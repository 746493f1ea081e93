/* intmath.h: integer arithmetic that cannot trap: floor division, and sums and products of bounds. */
#ifndef POLY_INTMATH_H
#define POLY_INTMATH_H

#include <stdbool.h>
#include <stdint.h>

/* Rounds towards minus infinity; 0 where the divisor is 0. */
static inline int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Has the sign of the divisor; 0 where that is 0. */
static inline int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* Bounds. Among lower bounds INT64_MIN stands for minus infinity, among upper bounds INT64_MAX for plus infinity, and
 * they stay so whatever is added; sums beyond int64 are limited to it. */
static inline int64_t limited_add(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return a < 0 ? INT64_MIN : INT64_MAX;
  return r;
}
static inline int64_t add_low(int64_t a, int64_t b) {
  return a == INT64_MIN || b == INT64_MIN ? INT64_MIN : limited_add(a, b);
}
static inline int64_t add_high(int64_t a, int64_t b) {
  return a == INT64_MAX || b == INT64_MAX ? INT64_MAX : limited_add(a, b);
}
/* The lower bound of -x from the upper bound of x, and the other way round. */
static inline int64_t neg_high(int64_t a) { return a == INT64_MAX ? INT64_MIN : a == INT64_MIN ? INT64_MAX : -a; }
static inline int64_t neg_low(int64_t a) { return a == INT64_MIN ? INT64_MAX : -a; }

/* Both infinities at once, for the corners of a product. */
static inline int64_t sat_mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  bool negative = (a < 0) != (b < 0);
  bool infinite = a == INT64_MIN || a == INT64_MAX || b == INT64_MIN || b == INT64_MAX;
  int64_t r = 0;
  if (infinite || __builtin_mul_overflow(a, b, &r)) return negative ? INT64_MIN : INT64_MAX;
  return r;
}

static inline int64_t gcd64(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    uint64_t t = x % y;
    x = y;
    y = t;
  }
  return (int64_t)x;
}

#endif
