/* library.c: routines that are not loops over independent elements: running reductions, recurrences, the order of
 * segments, places of true values; sorting is in sort.c, selecting in select.c, searching and counting in search.c,
 * matrices in matrices.c. Shared by the host devices.
 *
 * In: a LibraryCall with row-major tensors. Out: the call's result, the same for any number of threads. */
#include "runtime/library.h"

#include "runtime/keys.h"

#include <math.h>
#include <string.h>

/* ---- scan ---- */

#define OP_IS_ADD(x, y) ((x) + (y))
#define OP_IS_MUL(x, y) ((x) * (y))
#define OP_IS_MAX(x, y) ((x) > (y) ? (x) : (y))
#define OP_IS_MIN(x, y) ((x) < (y) ? (x) : (y))
#define OP_IS_FMAX(x, y) ((x) != (x) || (x) > (y) ? (x) : (y))
#define OP_IS_FMIN(x, y) ((x) != (x) || (x) < (y) ? (x) : (y))
#define AS_IS(v) (v)
#define AS_BOOL(v) ((v) != 0)

/* Some rows, four at a time, since each step waits for the one before; WIDE is what is carried along, GET and PUT go
 * from and to the stored form. */
enum { SCAN_ROWS = 4 };
#define SCAN_SOME(T, WIDE, OPERATION, GET, PUT, ROWS)                                                                  \
  do {                                                                                                                 \
    WIDE run[ROWS];                                                                                                    \
    for (int k = 0; k < ROWS; k++) {                                                                                   \
      run[k] = (WIDE)GET(x[k * n]);                                                                                    \
      y[k * n] = x[k * n];                                                                                             \
    }                                                                                                                  \
    for (int64_t i = 1; i < n; i++)                                                                                    \
      for (int k = 0; k < ROWS; k++) {                                                                                 \
        WIDE next = (WIDE)GET(x[k * n + i]);                                                                           \
        run[k] = (WIDE)OPERATION(run[k], next);                                                                        \
        y[k * n + i] = (T)PUT(run[k]);                                                                                 \
      }                                                                                                                \
  } while (0)
#define SCAN_ONE(name, T, WIDE, OPERATION, GET, PUT)                                                                   \
  static void name(const void *from, void *to, int64_t n, int64_t rows) {                                              \
    const T *x = from;                                                                                                 \
    T *y = to;                                                                                                         \
    if (rows == SCAN_ROWS)                                                                                             \
      SCAN_SOME(T, WIDE, OPERATION, GET, PUT, SCAN_ROWS);                                                              \
    else                                                                                                               \
      for (int64_t r = 0; r < rows; r++, x += n, y += n) SCAN_SOME(T, WIDE, OPERATION, GET, PUT, 1);                   \
  }
/* Sums and products of integers wrap: the same bits for signed and unsigned. */
#define SCAN_INT(name, S, U)                                                                                           \
  SCAN_ONE(name##_add, U, uint64_t, OP_IS_ADD, AS_IS, AS_IS)                                                           \
  SCAN_ONE(name##_mul, U, uint64_t, OP_IS_MUL, AS_IS, AS_IS)                                                           \
  SCAN_ONE(name##_max, S, S, OP_IS_MAX, AS_IS, AS_IS)                                                                  \
  SCAN_ONE(name##_min, S, S, OP_IS_MIN, AS_IS, AS_IS)
#define SCAN_FLOAT(name, T, WIDE, GET, PUT)                                                                            \
  SCAN_ONE(name##_add, T, WIDE, OP_IS_ADD, GET, PUT)                                                                   \
  SCAN_ONE(name##_mul, T, WIDE, OP_IS_MUL, GET, PUT)                                                                   \
  SCAN_ONE(name##_max, T, WIDE, OP_IS_FMAX, GET, PUT)                                                                  \
  SCAN_ONE(name##_min, T, WIDE, OP_IS_FMIN, GET, PUT)
SCAN_ONE(bool_add, uint8_t, uint8_t, OP_IS_MAX, AS_BOOL, AS_IS)
SCAN_ONE(bool_mul, uint8_t, uint8_t, OP_IS_MIN, AS_BOOL, AS_IS)
#define bool_max bool_add
#define bool_min bool_mul
SCAN_INT(i8, int8_t, uint8_t)
SCAN_INT(u8, uint8_t, uint8_t)
SCAN_INT(i16, int16_t, uint16_t)
SCAN_INT(u16, uint16_t, uint16_t)
SCAN_INT(i32, int32_t, uint32_t)
SCAN_INT(u32, uint32_t, uint32_t)
SCAN_INT(i64, int64_t, uint64_t)
SCAN_INT(u64, uint64_t, uint64_t)
SCAN_FLOAT(e4m3, uint8_t, float, e4m3_to_float, float_to_e4m3)
SCAN_FLOAT(e5m2, uint8_t, float, e5m2_to_float, float_to_e5m2)
SCAN_FLOAT(half, uint16_t, float, half_to_float, float_to_half)
SCAN_FLOAT(bfloat, uint16_t, float, bfloat_to_float, float_to_bfloat)
SCAN_ONE(f32_add, float, double, OP_IS_ADD, AS_IS, AS_IS) /* every result is rounded once */
SCAN_ONE(f32_mul, float, double, OP_IS_MUL, AS_IS, AS_IS)
SCAN_ONE(f32_max, float, float, OP_IS_FMAX, AS_IS, AS_IS)
SCAN_ONE(f32_min, float, float, OP_IS_FMIN, AS_IS, AS_IS)
SCAN_FLOAT(f64, double, double, AS_IS, AS_IS)

typedef void (*ScanFn)(const void *from, void *to, int64_t n, int64_t rows);
#define SCANS(name)                                                                                                    \
  { name##_add, name##_mul, name##_max, name##_min }
static const ScanFn scan_fn[POLY_DTYPE_COUNT][4] = {
    [POLY_BOOL] = SCANS(bool),       [POLY_INT8] = SCANS(i8),      [POLY_UINT8] = SCANS(u8),
    [POLY_INT16] = SCANS(i16),       [POLY_UINT16] = SCANS(u16),   [POLY_INT32] = SCANS(i32),
    [POLY_UINT32] = SCANS(u32),      [POLY_INT64] = SCANS(i64),    [POLY_UINT64] = SCANS(u64),
    [POLY_FP8E4M3] = SCANS(e4m3),    [POLY_FP8E5M2] = SCANS(e5m2), [POLY_FLOAT16] = SCANS(half),
    [POLY_BFLOAT16] = SCANS(bfloat), [POLY_FLOAT32] = SCANS(f32),  [POLY_FLOAT64] = SCANS(f64)};

static bool run_scan(Device *d, const LibraryCall *call) {
  Base *b = ctx_base(d->ctx);
  const LibraryTensor *x = &call->src[0];
  static const Op ops[4] = {OP_ADD, OP_MUL, OP_MAX, OP_MIN};
  int which = 0;
  while (which < 4 && (int64_t)ops[which] != call->n) which++;
  if (which == 4 || x->dtype != call->out.dtype)
    return base_fail(b, POLY_ERROR_RUNTIME, "scan: no such operation for %s", dtype_name(x->dtype));
  int64_t n, rows = library_rows(x, &n);
  size_t step = (size_t)n * (size_t)dtype_size(x->dtype);
  ScanFn fn = scan_fn[x->dtype][which];
  int threads = library_threads(d, call, rows, rows * n);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t r = 0; r < rows; r += SCAN_ROWS)
    fn((const char *)host_at(x->data) + (size_t)r * step, (char *)host_at(call->out.data) + (size_t)r * step, n,
       MIN((int64_t)SCAN_ROWS, rows - r));
  return true;
}

/* ---- recurrence: y[i] = a[i] y[i-1] + b[i] ---- */

#define RECUR(T)                                                                                                       \
  do {                                                                                                                 \
    const T *a = (const T *)host_at(call->src[0].data) + r * n, *b = (const T *)host_at(call->src[1].data) + r * n;    \
    T *y = (T *)host_at(call->out.data) + r * n;                                                                       \
    double run = b[0];                                                                                                 \
    y[0] = b[0];                                                                                                       \
    for (int64_t i = 1; i < n; i++) y[i] = (T)(run = a[i] * run + b[i]);                                               \
  } while (0)

static bool run_recurrence(Device *d, const LibraryCall *call) {
  PolyDType dtype = call->out.dtype;
  if ((dtype != POLY_FLOAT32 && dtype != POLY_FLOAT64) || call->src[0].dtype != dtype || call->src[1].dtype != dtype)
    return base_fail(ctx_base(d->ctx), POLY_ERROR_RUNTIME, "recurrence: not for %s", dtype_name(dtype));
  int64_t n, rows = library_rows(&call->out, &n);
  int threads = library_threads(d, call, rows, rows * n);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t r = 0; r < rows; r++)
    if (dtype == POLY_FLOAT32)
      RECUR(float);
    else
      RECUR(double);
  return true;
}
#undef RECUR

/* ---- segment order: a stable counting sort in two steps ----
 *
 * First the entries are distributed into at most BUCKETS groups of neighbouring rows, then each group is sorted by row.
 * Both steps touch memory that the caches hold, where one counter a row would not; threads share the entries in the
 * first step and the groups in the second, and each keeps the order, so the result does not depend on them. O(V + E).
 */

enum { BUCKETS = 64 };

int64_t library_index_at(const LibraryTensor *t, int64_t e) {
  switch (t->dtype) {
  case POLY_INT8: return ((const int8_t *)host_at(t->data))[e];
  case POLY_BOOL:
  case POLY_UINT8: return ((const uint8_t *)host_at(t->data))[e];
  case POLY_INT16: return ((const int16_t *)host_at(t->data))[e];
  case POLY_UINT16: return ((const uint16_t *)host_at(t->data))[e];
  case POLY_UINT32: return ((const uint32_t *)host_at(t->data))[e];
  case POLY_INT64:
  case POLY_UINT64: return ((const int64_t *)host_at(t->data))[e];
  default: return ((const int32_t *)host_at(t->data))[e];
  }
}

/* Counts the entries of each group within [from, to); returns the place of the first bad index, else `to`. */
#define COUNT(AT)                                                                                                      \
  do {                                                                                                                 \
    for (int64_t e = from; e < to; e++) {                                                                              \
      uint64_t v = (uint64_t)(int64_t)(AT);                                                                            \
      if (v >= (uint64_t)rows) return e;                                                                               \
      count[v >> shift]++;                                                                                             \
    }                                                                                                                  \
    return to;                                                                                                         \
  } while (0)
static int64_t count_part(const LibraryTensor *index, int64_t from, int64_t to, int64_t rows, int shift,
                          int32_t *count) {
  const int32_t *i32 = host_at(index->data);
  const int64_t *i64 = host_at(index->data);
  if (index->dtype == POLY_INT32) COUNT(i32[e]);
  if (index->dtype == POLY_INT64) COUNT(i64[e]);
  COUNT(library_index_at(index, e));
}
#undef COUNT

/* Deals the entries of a part out: row and place as one word each. */
#define DEAL(AT)                                                                                                       \
  for (int64_t e = from; e < to; e++) {                                                                                \
    uint64_t v = (uint64_t)(AT);                                                                                       \
    bucketed[next[v >> shift]++] = v << 32 | (uint64_t)e;                                                              \
  }
static void distribute_part(const LibraryTensor *index, int64_t from, int64_t to, int shift, int32_t *next,
                            uint64_t *bucketed) {
  const int32_t *i32 = host_at(index->data);
  const int64_t *i64 = host_at(index->data);
  if (index->dtype == POLY_INT32)
    DEAL(i32[e])
  else if (index->dtype == POLY_INT64)
    DEAL(i64[e])
  else
    DEAL(library_index_at(index, e))
}
#undef DEAL

/* Sorts the entries bucketed[from .. to) of the rows [first, last) by row. While entries are placed, rowptr[v] says
 * where the next one of row v goes; in the end that is the beginning of row v + 1. */
static void sort_group(const uint64_t *bucketed, int32_t from, int32_t to, int64_t first, int64_t last, int32_t *rowptr,
                       int32_t *order) {
  memset(rowptr + first, 0, (size_t)(last - first) * sizeof *rowptr);
  for (int32_t i = from; i < to; i++) rowptr[bucketed[i] >> 32]++;
  int32_t sum = from;
  for (int64_t v = first; v < last; v++) {
    int32_t c = rowptr[v];
    rowptr[v] = sum;
    sum += c;
  }
  for (int32_t i = from; i < to; i++) order[rowptr[bucketed[i] >> 32]++] = (int32_t)(uint32_t)bucketed[i];
  memmove(rowptr + first + 1, rowptr + first, (size_t)(last - first - 1) * sizeof *rowptr);
  rowptr[first] = from;
}

/* Counts of parts and groups to the place where each part's entries of a group begin; begin[g] is where group g does.
 */
static void group_places(int32_t (*count)[BUCKETS], int parts, int groups, int32_t *begin) {
  int32_t sum = 0;
  for (int g = 0; g < groups; g++) {
    begin[g] = sum;
    for (int p = 0; p < parts; p++) {
      int32_t c = count[p][g];
      count[p][g] = sum;
      sum += c;
    }
  }
  begin[groups] = sum;
}

/* count: one row per part, cleared; bucketed: room for all entries. Returns the place of the first bad index, else
 * their number. */
static int64_t order_segments(const LibraryTensor *index, int64_t entries, int64_t rows, int parts,
                              int32_t (*count)[BUCKETS], uint64_t *bucketed, int32_t *rowptr) {
  int shift = 0;
  while ((rows - 1) >> shift >= BUCKETS) shift++;
  int groups = (int)(((rows - 1) >> shift) + 1);
  int32_t begin[BUCKETS + 1], *order = rowptr + rows + 1;
  int64_t bad = entries;
#pragma omp parallel for num_threads(parts) schedule(static, 1) reduction(min : bad)
  for (int p = 0; p < parts; p++) {
    int64_t to = entries * (p + 1) / parts, stop = count_part(index, entries * p / parts, to, rows, shift, count[p]);
    if (stop < to) bad = MIN(bad, stop);
  }
  if (bad < entries) return bad;
  group_places(count, parts, groups, begin);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int p = 0; p < parts; p++)
    distribute_part(index, entries * p / parts, entries * (p + 1) / parts, shift, count[p], bucketed);
#pragma omp parallel for num_threads(parts) schedule(dynamic, 8)
  for (int g = 0; g < groups; g++) {
    int64_t first = (int64_t)g << shift, last = MIN(rows, first + ((int64_t)1 << shift));
    sort_group(bucketed, begin[g], begin[g + 1], first, last, rowptr, order);
  }
  rowptr[rows] = (int32_t)entries;
  return bad;
}

static bool run_segment_order(Device *d, const LibraryCall *call) {
  Base *b = ctx_base(d->ctx);
  const LibraryTensor *index = &call->src[0];
  int64_t entries = library_numel(index), rows = library_numel(&call->out) - 1 - entries;
  if (rows < 0 || call->out.dtype != POLY_INT32 || entries + rows >= INT32_MAX)
    return base_fail(b, POLY_ERROR_VALUE, "segment_order: %lld entries do not fit in 32-bit places",
                     (long long)entries);
  int parts = library_threads(d, call, entries, entries + rows);
  size_t counts = (size_t)parts * sizeof(int32_t[BUCKETS]), room = counts + (size_t)entries * sizeof(uint64_t);
  char *work = memory_alloc(d->memory, room); /* kept by the device for the next call */
  if (!work) return false;
  memset(work, 0, counts);
  int64_t bad = 0;
  if (rows > 0)
    bad = order_segments(index, entries, rows, parts, (int32_t(*)[BUCKETS])work, (uint64_t *)(work + counts),
                         host_at(call->out.data));
  else
    *(int32_t *)host_at(call->out.data) = 0;
  memory_free(d->memory, work, room);
  if (bad == entries) return true;
  return base_fail(b, POLY_ERROR_INDEX, "scatter: index %lld at position %lld is out of range for an axis of size %lld",
                   (long long)library_index_at(index, bad), (long long)bad, (long long)rows);
}

/* ---- nonzero ---- */

/* Blocks so short that a byte counts each lane. */
WIDE_CLONES static int64_t count_true(const uint8_t *x, int64_t from, int64_t to) {
  enum { LANES = 64, TURNS = 255 };
  int64_t n = 0, i = from;
  while (to - i >= LANES) {
    uint8_t lane[LANES] = {0};
    int64_t end = i + MIN((int64_t)TURNS, (to - i) / LANES) * LANES;
    for (; i < end; i += LANES)
      for (int k = 0; k < LANES; k++) lane[k] = (uint8_t)(lane[k] + (x[i + k] != 0));
    for (int k = 0; k < LANES; k++) n += lane[k];
  }
  for (; i < to; i++) n += x[i] != 0;
  return n;
}

/* Places of the true values in [from, to), written from place `at` on, never at `end` or behind it. Each place is
 * written and kept if its value is true, since a branch would be guessed wrong half the time; eight that are all false
 * are passed over, and the last few are careful. */
#define WRITE(T)                                                                                                       \
  do {                                                                                                                 \
    T *y = host_at(out->data);                                                                                         \
    int64_t i = from;                                                                                                  \
    for (; i + 8 <= to && at + 8 <= end; i += 8) {                                                                     \
      uint64_t eight;                                                                                                  \
      memcpy(&eight, x + i, sizeof eight);                                                                             \
      for (int j = 0; eight && j < 8; j++) {                                                                           \
        y[at] = (T)(i + j);                                                                                            \
        at += x[i + j] != 0;                                                                                           \
      }                                                                                                                \
    }                                                                                                                  \
    for (; i < to && at < end; i++)                                                                                    \
      if (x[i]) y[at++] = (T)i;                                                                                        \
  } while (0)
static void write_true(const uint8_t *x, int64_t from, int64_t to, const LibraryTensor *out, int64_t at, int64_t end) {
  if (out->dtype == POLY_INT64)
    WRITE(int64_t);
  else
    WRITE(int32_t);
}
#undef WRITE

static bool run_nonzero(Device *d, const LibraryCall *call) {
  Base *b = ctx_base(d->ctx);
  const LibraryTensor *x = &call->src[0], *out = &call->out;
  int64_t n = library_numel(x), room = library_numel(out);
  if (x->dtype != POLY_BOOL || (out->dtype != POLY_INT64 && (out->dtype != POLY_INT32 || n > INT32_MAX)))
    return base_fail(b, POLY_ERROR_TYPE, "nonzero: places of %s as %s", dtype_name(x->dtype), dtype_name(out->dtype));
  enum { PARTS = 64 };
  int64_t begin[PARTS + 1] = {0};
  int parts = n >= 1 << 16 ? PARTS : 1, threads = library_threads(d, call, parts, n);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int p = 0; p < parts; p++) begin[p + 1] = count_true(host_at(x->data), n * p / parts, n * (p + 1) / parts);
  for (int p = 0; p < parts; p++) begin[p + 1] += begin[p];
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int p = 0; p < parts; p++)
    write_true(host_at(x->data), n * p / parts, n * (p + 1) / parts, out, begin[p], MIN(begin[p + 1], room));
  if (begin[parts] < room) /* the room behind them is cleared */
    memset((char *)host_at(out->data) + begin[parts] * dtype_size(out->dtype), 0,
           (size_t)(room - begin[parts]) * (size_t)dtype_size(out->dtype));
  return begin[parts] <= room || base_fail(b, POLY_ERROR_VALUE, "nonzero: %lld values do not fit in %lld places",
                                           (long long)begin[parts], (long long)room);
}

/* ---- the table ---- */

int64_t library_numel(const LibraryTensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->ndim; i++) n *= t->shape[i];
  return n;
}

int64_t library_rows(const LibraryTensor *t, int64_t *n) {
  *n = t->ndim ? t->shape[t->ndim - 1] : 1;
  return *n ? library_numel(t) / *n : 0;
}

int library_threads(const Device *d, const LibraryCall *call, int64_t pieces, int64_t work) {
  int threads = threads_worth(call->threads, (double)work, d->target.threads.elements);
  return (int)MAX(1, MIN((int64_t)threads, pieces));
}

static const struct {
  const char *name;
  int nsrc;
  bool (*run)(Device *d, const LibraryCall *call);
} routine[] = {{"argsort", 1, library_argsort},
               {"topk", 1, library_topk},
               {"kth", 1, library_kth},
               {"median", 1, library_median},
               {"searchsorted", 2, library_searchsorted},
               {"bincount", 1, library_bincount},
               {"scan", 1, run_scan},
               {"recurrence", 2, run_recurrence},
               {"segment_order", 1, run_segment_order},
               {"scatter", 2, library_scatter},
               {"nonzero", 1, run_nonzero},
               {"solve", 2, library_solve},
               {"triangular", 2, library_triangular},
               {"det", 1, library_det},
               {"lu", 1, library_lu},
               {"cholesky", 1, library_cholesky},
               {"qr", 1, library_qr},
               {"eigh", 1, library_eigh},
               {"svd", 1, library_svd}};

bool library_run(Device *d, const LibraryCall *call) {
  Base *b = ctx_base(d->ctx);
  for (int i = 0; i < LEN(routine); i++)
    if (!strcmp(call->name, routine[i].name) && call->nsrc >= routine[i].nsrc) return routine[i].run(d, call);
  return base_fail(b, POLY_ERROR_RUNTIME, "%s has no routine \"%s\" of %d sources", d->name, call->name, call->nsrc);
}
