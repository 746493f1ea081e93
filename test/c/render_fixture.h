/* render_fixture.h: what the tests of rendered C share: values of every dtype, and kernels compiled by the system's
 * compiler. */
#ifndef RENDER_FIXTURE_H
#define RENDER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "ir/eval.h"
#include "linear_build.h"

enum { MAX_N = 200, PAD_N = 64 };
static const int sizes[] = {0, 1, 3, 7, 15, 16, 17, 31, 33, 64, 100, 133};
static const int widths[] = {64, 32, 16};

static uint64_t seed_ = 1;
static inline uint64_t draw(void) {
  seed_ ^= seed_ << 13, seed_ ^= seed_ >> 7, seed_ ^= seed_ << 17;
  return seed_;
}

/* ---- values of every dtype, special ones among them ---- */

static inline Value draw_value(PolyDType d) {
  static const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 0.5, 2.5, -3.5, 1e-8, 1e30};
  Value v = {0}, out;
  if (dtype_is_float(d)) {
    uint64_t r = draw();
    v.f = r % 4 == 0 ? special[r / 8 % LEN(special)] : ((double)(r >> 11) * 0x1p-53 - 0.5) * (r % 3 ? 8.0 : 300.0);
    return value_cast(v, POLY_FLOAT64, d);
  }
  uint64_t r = draw();
  v.i = r % 3 ? (int64_t)(r >> 32) : (int64_t)(r >> 32) % 9 - 4;
  out = value_cast(v, POLY_INT64, d);
  return out;
}

static inline void fill(void *p, PolyDType d, int n) {
  for (int i = 0; i < n; i++) value_store((char *)p + (size_t)i * (size_t)dtype_size(d), d, draw_value(d));
}

static inline Value at(const void *p, PolyDType d, int64_t i) {
  return value_load((const char *)p + i * dtype_size(d), d);
}

static inline void run(const Built *b, int k, void **arg, int64_t n, int threads) {
  int64_t err[3] = {0};
  b->fn[k](arg, (int64_t[]){n, 0, 0, 0}, threads, err);
  assert_int_equal(err[0], 0);
}

static inline Built build(int n, Kern **k, int bytes) {
  Built b = kern_build(n, k, bytes, "gcc", "-O1");
  if (!b.fn && b.text) fputs(b.text, stderr);
  assert_non_null(b.fn);
  for (int i = 0; i < n; i++) free(k[i]);
  return b;
}

#endif
