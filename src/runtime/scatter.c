/* scatter.c: "scatter": out[v] = reduce of the x[e] with index[e] == v, over vectors, in the order of e, without an
 * order of segments. In: a LibraryCall with values, an index of int32 or int64, and n, the op. Out: a vector.
 *
 * One thread goes over the entries once. With an order of segments the entries are sorted first and read in any order
 * of memory then, which takes five times as long; several threads would have to share them out, which is a sort too. */
#include "runtime/keys.h"
#include "runtime/library.h"

#include "ir/eval.h"

/* float32 is added up and multiplied in float64, and every result rounded once. */
#define COMBINE_ADD(a, b) ((a) + (b))
#define COMBINE_MUL(a, b) ((a) * (b))
#define COMBINE_MAX(a, b) ((a) != (a) ? (a) : (a) > (b) ? (a) : (b))
#define COMBINE_MIN(a, b) ((a) != (a) ? (a) : (a) < (b) ? (a) : (b))

#define ENTRIES(T, ACC, I, COMBINE)                                                                                    \
  do {                                                                                                                 \
    const T *x = values;                                                                                               \
    const I *at = index;                                                                                               \
    ACC *y = out;                                                                                                      \
    for (int64_t e = 0; e < n; e++) {                                                                                  \
      const uint64_t v = (uint64_t)(int64_t)at[e];                                                                     \
      if (v >= (uint64_t)rows) return e;                                                                               \
      const ACC old = y[v], next = (ACC)x[e];                                                                          \
      y[v] = (ACC)COMBINE(old, next);                                                                                  \
    }                                                                                                                  \
    return n;                                                                                                          \
  } while (0)

/* The place of the first index that is out of range, else n. */
#define SCATTER(name, T, ACC, COMBINE)                                                                                 \
  static int64_t name(const void *values, const void *index, bool wide, int64_t n, void *out, int64_t rows) {          \
    if (wide) ENTRIES(T, ACC, int64_t, COMBINE);                                                                       \
    ENTRIES(T, ACC, int32_t, COMBINE);                                                                                 \
  }
#define SCATTERS(name, T, ADDS, INTEGER)                                                                               \
  SCATTER(name##_add, INTEGER, ADDS, COMBINE_ADD)                                                                      \
  SCATTER(name##_mul, INTEGER, ADDS, COMBINE_MUL)                                                                      \
  SCATTER(name##_max, T, T, COMBINE_MAX)                                                                               \
  SCATTER(name##_min, T, T, COMBINE_MIN)
SCATTERS(f32, float, double, float)
SCATTERS(f64, double, double, double)
SCATTERS(i32, int32_t, uint32_t, uint32_t) /* sums and products of integers wrap */
SCATTERS(i64, int64_t, uint64_t, uint64_t)

typedef int64_t (*ScatterFn)(const void *values, const void *index, bool wide, int64_t n, void *out, int64_t rows);
enum { OPS = 4 };
static const Op ops[OPS] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN};
static const ScatterFn scatter_fn[POLY_DTYPE_COUNT][OPS] = {
    [POLY_FLOAT32] = {f32_add, f32_mul, f32_max, f32_min},
    [POLY_FLOAT64] = {f64_add, f64_mul, f64_max, f64_min},
    [POLY_INT32] = {i32_add, i32_mul, i32_max, i32_min},
    [POLY_INT64] = {i64_add, i64_mul, i64_max, i64_min},
};

#define FILL(T, with)                                                                                                  \
  do {                                                                                                                 \
    const T value = (T)(with);                                                                                         \
    for (int64_t i = 0; i < n; i++) ((T *)to)[i] = value;                                                              \
  } while (0)
static void fill(void *to, PolyDType d, int64_t n, Value v) {
  switch (d) {
  case POLY_FLOAT32: FILL(float, v.f); break;
  case POLY_FLOAT64: FILL(double, v.f); break;
  case POLY_INT32: FILL(int32_t, v.i); break;
  default: FILL(int64_t, v.i); break;
  }
}

bool library_scatter(Device *d, const LibraryCall *call) {
  Base *b = ctx_base(d->ctx);
  const LibraryTensor *x = &call->src[0], *index = &call->src[1];
  int64_t n = library_numel(x), rows = library_numel(&call->out);
  PolyDType dtype = (PolyDType)x->dtype;
  int which = 0;
  while (which < OPS && (int64_t)ops[which] != call->n) which++;
  bool wide = index->dtype == POLY_INT64;
  if (which == OPS || !scatter_fn[dtype][which] || (!wide && index->dtype != POLY_INT32) || n != library_numel(index) ||
      dtype != (PolyDType)call->out.dtype)
    return base_fail(b, POLY_ERROR_RUNTIME, "scatter: %s by %s", dtype_name(dtype),
                     dtype_name((PolyDType)index->dtype));
  bool apart = dtype == POLY_FLOAT32 && which < 2;
  size_t room = apart ? (size_t)MAX(rows, 1) * sizeof(double) : 0;
  void *out = apart ? memory_alloc(d->memory, room) : host_at(call->out.data);
  if (apart && !out) return false;
  fill(out, apart ? POLY_FLOAT64 : dtype, rows, value_identity(ops[which], apart ? POLY_FLOAT64 : dtype));
  int64_t done = scatter_fn[dtype][which](host_at(x->data), host_at(index->data), wide, n, out, rows);
  if (apart) {
    float *y = host_at(call->out.data);
    for (int64_t i = 0; i < rows; i++) y[i] = (float)((double *)out)[i];
    memory_free(d->memory, out, room);
  }
  if (done == n) return true;
  return base_fail(b, POLY_ERROR_INDEX, "scatter: index %lld at position %lld is out of range for an axis of size %lld",
                   (long long)library_index_at(index, done), (long long)done, (long long)rows);
}
