/* runs.c: rows that lie side by side, combined: what is left of the values of edges when edges that occur several times
 * become one. In: a tensor of rows, and where each run begins. Out: a tensor with a row for each run.
 *
 * Runs are independent and each is gone through in order, so the result does not depend on the number of threads. Sums
 * of floats are kept in double. O(E F). */
#include "algorithms/sampler.h"
#include "base/threads.h"
#include "graph/graph.h"

#include <inttypes.h>
#include <string.h>

typedef struct Runs {
  const void *x;
  void *out;
  const int64_t *begin; /* of each run, ascending */
  int64_t n, rows, width;
  bool mean;
} Runs;

typedef void (*RunFn)(const Runs *r, int64_t k);

#define RUN_SUM(a, v) ((a) + (v))
#define RUN_PROD(a, v) ((a) * (v))
#define RUN_MAX(a, v) ((a) != (a) || (a) > (v) ? (a) : (v))
#define RUN_MIN(a, v) ((a) != (a) || (a) < (v) ? (a) : (v))
#define AS_IS(v) (v)

/* One run; WIDE is what is accumulated in, GET and PUT go from and to the stored form. */
#define RUN_ONE(name, T, WIDE, OPERATION, GET, PUT)                                                                    \
  static void name(const Runs *r, int64_t k) {                                                                         \
    int64_t from = r->begin[k], to = k + 1 < r->n ? r->begin[k + 1] : r->rows;                                         \
    T *out = (T *)r->out + k * r->width;                                                                               \
    for (int64_t f = 0; f < r->width; f++) {                                                                           \
      const T *x = (const T *)r->x + f;                                                                                \
      WIDE a = (WIDE)GET(x[from * r->width]);                                                                          \
      for (int64_t i = from + 1; i < to; i++) {                                                                        \
        WIDE v = (WIDE)GET(x[i * r->width]);                                                                           \
        a = (WIDE)OPERATION(a, v);                                                                                     \
      }                                                                                                                \
      out[f] = (T)PUT((r->mean ? (WIDE)(a / (WIDE)(to - from)) : a));                                                  \
    }                                                                                                                  \
  }
#define RUNS(name, T, WIDE, GET, PUT)                                                                                  \
  RUN_ONE(name##_sum, T, WIDE, RUN_SUM, GET, PUT)                                                                      \
  RUN_ONE(name##_prod, T, WIDE, RUN_PROD, GET, PUT)                                                                    \
  RUN_ONE(name##_max, T, WIDE, RUN_MAX, GET, PUT)                                                                      \
  RUN_ONE(name##_min, T, WIDE, RUN_MIN, GET, PUT)
/* Sums and products of integers wrap: the same bits for signed and unsigned. */
#define RUNS_INT(name, S, U)                                                                                           \
  RUN_ONE(name##_sum, U, uint64_t, RUN_SUM, AS_IS, AS_IS)                                                              \
  RUN_ONE(name##_prod, U, uint64_t, RUN_PROD, AS_IS, AS_IS)                                                            \
  RUN_ONE(name##_max, S, S, RUN_MAX, AS_IS, AS_IS)                                                                     \
  RUN_ONE(name##_min, S, S, RUN_MIN, AS_IS, AS_IS)
#define HALF(v) float_to_half((float)(v))
#define BFLOAT(v) float_to_bfloat((float)(v))
#define E4M3(v) float_to_e4m3((float)(v))
#define E5M2(v) float_to_e5m2((float)(v))

RUNS_INT(i8, int8_t, uint8_t)
RUNS_INT(u8, uint8_t, uint8_t)
RUNS_INT(i16, int16_t, uint16_t)
RUNS_INT(u16, uint16_t, uint16_t)
RUNS_INT(i32, int32_t, uint32_t)
RUNS_INT(u32, uint32_t, uint32_t)
RUNS_INT(i64, int64_t, uint64_t)
RUNS_INT(u64, uint64_t, uint64_t)
RUNS(e4m3, uint8_t, double, e4m3_to_float, E4M3)
RUNS(e5m2, uint8_t, double, e5m2_to_float, E5M2)
RUNS(half, uint16_t, double, half_to_float, HALF)
RUNS(bfloat, uint16_t, double, bfloat_to_float, BFLOAT)
RUNS(f32, float, double, AS_IS, AS_IS)
RUNS(f64, double, double, AS_IS, AS_IS)

static const char run_ops[] = "spai"; /* sum, product, largest, smallest */
#define OF(name)                                                                                                       \
  { name##_sum, name##_prod, name##_max, name##_min }
static const RunFn run_fn[POLY_DTYPE_COUNT][4] = {
    [POLY_INT8] = OF(i8),      [POLY_UINT8] = OF(u8),     [POLY_INT16] = OF(i16),    [POLY_UINT16] = OF(u16),
    [POLY_INT32] = OF(i32),    [POLY_UINT32] = OF(u32),   [POLY_INT64] = OF(i64),    [POLY_UINT64] = OF(u64),
    [POLY_FP8E4M3] = OF(e4m3), [POLY_FP8E5M2] = OF(e5m2), [POLY_FLOAT16] = OF(half), [POLY_BFLOAT16] = OF(bfloat),
    [POLY_FLOAT32] = OF(f32),  [POLY_FLOAT64] = OF(f64)};

/* Every run begins after the one before it and has a row. */
static bool check(Base *b, const Runs *r) {
  for (int64_t k = 0; k < r->n; k++) {
    int64_t end = k + 1 < r->n ? r->begin[k + 1] : r->rows;
    if (r->begin[k] < 0 || r->begin[k] >= end || end > r->rows)
      return base_fail(b, POLY_ERROR_VALUE,
                       "reduce_runs: run %" PRId64 " begins at %" PRId64 " and ends at %" PRId64 " of %" PRId64 " rows",
                       k, r->begin[k], end, r->rows);
  }
  return true;
}

PolyTensor *poly_reduce_runs(PolyTensor *x, const int64_t *begin, int64_t n, char op) {
  if (!x) return NULL;
  PolyContext *ctx = poly_context_of(x);
  Base *b = ctx_base(ctx);
  PolyDType dtype = poly_dtype(x);
  bool mean = op == 'm' && dtype_is_float(dtype);
  const char *at = memchr(run_ops, mean ? 's' : op, sizeof run_ops - 1);
  int ndim = poly_ndim(x);
  if (!at || !run_fn[dtype][at - run_ops])
    return fail_null(b, POLY_ERROR_TYPE, "reduce_runs: no operation '%c' for %s", op, dtype_name(dtype));
  if (ndim < 1 || n < 0 || (n && !begin))
    return fail_null(b, POLY_ERROR_VALUE, "reduce_runs: %" PRId64 " runs of a tensor of %d axes", n, ndim);
  int64_t shape[MAX_DIMS];
  sizes_of(x, shape);
  Runs r = {.begin = begin, .n = n, .rows = shape[0], .width = shape[0] ? poly_numel(x) / shape[0] : 0, .mean = mean};
  if (!check(b, &r)) return NULL;
  shape[0] = n;
  PolyTensor *out = poly_empty(ctx, dtype, ndim, shape);
  if (!out || !poly_numel(out)) return out;
  r.x = poly_data(x);
  r.out = poly_data(out);
  if (!r.x || !r.out) {
    poly_free(out);
    return NULL;
  }
  RunFn fn = run_fn[dtype][at - run_ops];
  int threads = r.rows * r.width < 1 << 15 ? 1 : threads_allowed(poly_threads(ctx));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t k = 0; k < n; k++) fn(&r, k);
  return out;
}
