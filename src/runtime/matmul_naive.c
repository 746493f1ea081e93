/* matmul_naive.c: matrix products by three plain loops, for every dtype and any strides. The interpreter's product, and
 * the CPU's for dtypes that no fast routine serves. Each element is one sum in the order of k, so threads change
 * nothing. */
#include "runtime/host.h"

#define AS_IS(v) (v)
#define AS_BOOL(v) ((v) != 0)
#define TO_HALF(v) float_to_half((float)(v))
#define TO_BFLOAT(v) float_to_bfloat((float)(v))
#define TO_E4M3(v) float_to_e4m3((float)(v))
#define TO_E5M2(v) float_to_e5m2((float)(v))

/* T: as stored; ACC: summed in; GET and PUT: from and to the stored form */
#define NAIVE(name, T, ACC, GET, PUT)                                                                                  \
  static void name(const MatmulCall *m, int64_t row) {                                                                 \
    int64_t batch = row / m->m, i = row % m->m;                                                                        \
    const T *a = (const T *)host_at(m->a) + batch * m->a_batch + i * m->a_row;                                         \
    const T *b = (const T *)host_at(m->b) + batch * m->b_batch;                                                        \
    T *c = (T *)host_at(m->c) + batch * m->c_batch + i * m->c_row;                                                     \
    for (int64_t j = 0; j < m->n; j++) {                                                                               \
      ACC sum = 0;                                                                                                     \
      for (int64_t k = 0; k < m->k; k++) sum += (ACC)GET(a[k * m->a_col]) * (ACC)GET(b[k * m->b_row + j * m->b_col]);  \
      c[j] = (T)PUT(sum);                                                                                              \
    }                                                                                                                  \
  }
/* Signed and unsigned agree in the bits that are kept. */
NAIVE(row_bool, uint8_t, uint64_t, AS_BOOL, AS_BOOL)
NAIVE(row_u8, uint8_t, uint64_t, AS_IS, AS_IS)
NAIVE(row_u16, uint16_t, uint64_t, AS_IS, AS_IS)
NAIVE(row_u32, uint32_t, uint64_t, AS_IS, AS_IS)
NAIVE(row_u64, uint64_t, uint64_t, AS_IS, AS_IS)
NAIVE(row_e4m3, uint8_t, double, e4m3_to_float, TO_E4M3)
NAIVE(row_e5m2, uint8_t, double, e5m2_to_float, TO_E5M2)
NAIVE(row_half, uint16_t, double, half_to_float, TO_HALF)
NAIVE(row_bfloat, uint16_t, double, bfloat_to_float, TO_BFLOAT)
NAIVE(row_float, float, double, AS_IS, AS_IS)
NAIVE(row_double, double, double, AS_IS, AS_IS)

static void (*const row_of[POLY_DTYPE_COUNT])(const MatmulCall *, int64_t) = {
    [POLY_BOOL] = row_bool,       [POLY_INT8] = row_u8,       [POLY_UINT8] = row_u8,      [POLY_INT16] = row_u16,
    [POLY_UINT16] = row_u16,      [POLY_INT32] = row_u32,     [POLY_UINT32] = row_u32,    [POLY_INT64] = row_u64,
    [POLY_UINT64] = row_u64,      [POLY_FP8E4M3] = row_e4m3,  [POLY_FP8E5M2] = row_e5m2,  [POLY_FLOAT16] = row_half,
    [POLY_BFLOAT16] = row_bfloat, [POLY_FLOAT32] = row_float, [POLY_FLOAT64] = row_double};

void matmul_naive(const MatmulCall *m, int threads) {
  int64_t rows = m->batch * m->m;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t r = 0; r < rows; r++) row_of[m->dtype](m, r);
}
