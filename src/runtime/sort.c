/* sort.c: stable argsort of rows.
 *
 * Each value becomes an unsigned key whose order is the one that is wanted: floats with their bits turned so that they
 * compare as integers, -0 as 0, every NaN as the largest; descending turns all bits of the key. A key and its place
 * travel together, and equal keys keep the order of their places. Short rows are merged, long ones go through a radix
 * sort of 11 bits a pass, where a pass over bits that are all equal is left out.
 *
 * Keys of up to 32 bits share one 64-bit word with their place, which then orders by both at once. */
#include "runtime/library.h"

#include <string.h>

typedef struct Wide {
  uint64_t key, place;
} Wide;

enum { BITS = 11, BUCKETS = 1 << BITS, SHORT_ROW = 1024, RUN = 16 };

/* ---- keys ---- */

static uint64_t key_float(uint64_t bits, int width, uint64_t infinity) {
  uint64_t sign = (uint64_t)1 << (width - 1), all = sign | (sign - 1), mag = bits & (sign - 1);
  if (mag > infinity) return all;
  if (mag == 0) return sign;
  return bits & sign ? ~bits & all : bits | sign;
}

static uint64_t key_at(const LibraryTensor *t, int64_t i) {
  const void *p = host_at(t->data);
  switch (t->dtype) {
  case POLY_BOOL: return ((const uint8_t *)p)[i] != 0;
  case POLY_INT8: return ((const uint8_t *)p)[i] ^ 0x80u;
  case POLY_UINT8: return ((const uint8_t *)p)[i];
  case POLY_INT16: return ((const uint16_t *)p)[i] ^ 0x8000u;
  case POLY_UINT16: return ((const uint16_t *)p)[i];
  case POLY_INT32: return ((const uint32_t *)p)[i] ^ 0x80000000u;
  case POLY_UINT32: return ((const uint32_t *)p)[i];
  case POLY_INT64: return ((const uint64_t *)p)[i] ^ ((uint64_t)1 << 63);
  case POLY_FLOAT16: return key_float(((const uint16_t *)p)[i], 16, 0x7c00);
  case POLY_BFLOAT16: return key_float(((const uint16_t *)p)[i], 16, 0x7f80);
  case POLY_FLOAT32: return key_float(((const uint32_t *)p)[i], 32, 0x7f800000);
  case POLY_FLOAT64: return key_float(((const uint64_t *)p)[i], 64, 0x7ff0000000000000);
  default: return ((const uint64_t *)p)[i];
  }
}

/* ---- sorting; the same for both kinds of items ---- */

#define NARROW_LESS(a, b) ((a) < (b))
#define NARROW_KEY(a) ((a) >> 32)
#define WIDE_LESS(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).place < (b).place))
#define WIDE_KEY(a) ((a).key)

#define SORT(kind, T, LESS, KEY)                                                                                       \
  static void kind##_merge(const T *x, T *y, int64_t from, int64_t mid, int64_t to) {                                  \
    int64_t i = from, j = mid;                                                                                         \
    for (int64_t k = from; k < to; k++) y[k] = j >= to || (i < mid && !LESS(x[j], x[i])) ? x[i++] : x[j++];            \
  }                                                                                                                    \
  static T *kind##_merge_sort(T *x, T *y, int64_t n) {                                                                 \
    for (int64_t from = 0; from < n; from += RUN)                                                                      \
      for (int64_t i = from + 1; i < MIN(n, from + RUN); i++) {                                                        \
        T v = x[i];                                                                                                    \
        int64_t j = i;                                                                                                 \
        for (; j > from && LESS(v, x[j - 1]); j--) x[j] = x[j - 1];                                                    \
        x[j] = v;                                                                                                      \
      }                                                                                                                \
    for (int64_t len = RUN; len < n; len *= 2) {                                                                       \
      for (int64_t from = 0; from < n; from += 2 * len)                                                                \
        kind##_merge(x, y, from, MIN(n, from + len), MIN(n, from + 2 * len));                                          \
      T *t = x;                                                                                                        \
      x = y;                                                                                                           \
      y = t;                                                                                                           \
    }                                                                                                                  \
    return x;                                                                                                          \
  }                                                                                                                    \
  static T *kind##_radix_sort(T *x, T *y, int64_t n, int width) {                                                      \
    for (int shift = 0; shift < width; shift += BITS) {                                                                \
      uint32_t count[BUCKETS] = {0}, sum = 0;                                                                          \
      for (int64_t i = 0; i < n; i++) count[(KEY(x[i]) >> shift) & (BUCKETS - 1)]++;                                   \
      if (count[(KEY(x[0]) >> shift) & (BUCKETS - 1)] == (uint64_t)n) continue;                                        \
      for (int k = 0; k < BUCKETS; k++) {                                                                              \
        uint32_t c = count[k];                                                                                         \
        count[k] = sum;                                                                                                \
        sum += c;                                                                                                      \
      }                                                                                                                \
      for (int64_t i = 0; i < n; i++) y[count[(KEY(x[i]) >> shift) & (BUCKETS - 1)]++] = x[i];                         \
      T *t = x;                                                                                                        \
      x = y;                                                                                                           \
      y = t;                                                                                                           \
    }                                                                                                                  \
    return x;                                                                                                          \
  }
SORT(narrow, uint64_t, NARROW_LESS, NARROW_KEY)
SORT(wide, Wide, WIDE_LESS, WIDE_KEY)

static void sort_narrow(const LibraryTensor *t, int64_t from, int64_t n, uint64_t flip, int32_t *out, uint64_t *room) {
  int width = 8 * dtype_size(t->dtype);
  for (int64_t i = 0; i < n; i++) room[i] = (key_at(t, from + i) ^ flip) << 32 | (uint64_t)i;
  uint64_t *x = n <= SHORT_ROW ? narrow_merge_sort(room, room + n, n) : narrow_radix_sort(room, room + n, n, width);
  for (int64_t i = 0; i < n; i++) out[i] = (int32_t)(uint32_t)x[i];
}

static void sort_wide(const LibraryTensor *t, int64_t from, int64_t n, uint64_t flip, int32_t *out, Wide *room) {
  for (int64_t i = 0; i < n; i++) room[i] = (Wide){key_at(t, from + i) ^ flip, (uint64_t)i};
  Wide *x = n <= SHORT_ROW ? wide_merge_sort(room, room + n, n) : wide_radix_sort(room, room + n, n, 64);
  for (int64_t i = 0; i < n; i++) out[i] = (int32_t)x[i].place;
}

bool library_argsort(Device *d, const LibraryCall *call) {
  Base *b = ctx_base(d->ctx);
  const LibraryTensor *t = &call->src[0];
  int64_t n, rows = library_rows(t, &n);
  if (rows == 0) return true;
  if (n > INT32_MAX || call->out.dtype != POLY_INT32)
    return base_fail(b, POLY_ERROR_VALUE, "argsort: %lld places do not fit in int32", (long long)n);
  int width = 8 * dtype_size(t->dtype);
  bool wide = width == 64;
  int threads = library_threads(d, call, rows, rows * n * 8);
  size_t item = wide ? sizeof(Wide) : sizeof(uint64_t), room = 2 * (size_t)n * item, total = room * (size_t)threads;
  char *work = memory_alloc(d->memory, total);
  if (!work) return false;
  uint64_t flip = !call->n ? 0 : t->dtype == POLY_BOOL ? 1 : wide ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; part++)
    for (int64_t r = rows * part / threads; r < rows * (part + 1) / threads; r++) {
      int32_t *out = (int32_t *)host_at(call->out.data) + r * n;
      if (wide)
        sort_wide(t, r * n, n, flip, out, (Wide *)(work + room * (size_t)part));
      else
        sort_narrow(t, r * n, n, flip, out, (uint64_t *)(work + room * (size_t)part));
    }
  memory_free(d->memory, work, total);
  return true;
}
