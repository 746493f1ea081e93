/* sum.c: the sum over in-edges of the features at their other end, by hand, for 16, 64 and 256 features. */
#include "kernels.h"

#define SUM(F)                                                                                                         \
  void sum_##F(const Rows *in, const float *x, float *out) {                                                           \
    _Pragma("omp parallel for schedule(dynamic, ROWS_AT_ONCE)") for (int32_t v = 0; v < in->rows; v++) {               \
      f16 a[F / 16] = {{0}};                                                                                           \
      for (int32_t e = in->begin[v]; e < in->begin[v + 1]; e++) {                                                      \
        const float *row = x + (size_t)in->other[e] * F;                                                               \
        _Pragma("GCC unroll 16") for (int k = 0; k < F / 16; k++) a[k] += load16(row + 16 * k);                        \
      }                                                                                                                \
      _Pragma("GCC unroll 16") for (int k = 0; k < F / 16; k++) store16(out + (size_t)v * F + 16 * k, a[k]);           \
    }                                                                                                                  \
  }

SUM(16)
SUM(64)
SUM(256)
