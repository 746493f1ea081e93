/* sort.c: stable argsort of rows.
 *
 * Each value becomes an unsigned key whose order is the one that is wanted (keys.c). A key and its place travel
 * together, and equal keys keep the order of their places. Short rows are merged, long ones go through a radix sort of
 * at most 11 bits a pass over the bits in which the keys of the row differ, shared equally by the passes: fewer buckets
 * are fewer pages written at a time. A pass over bits that are all equal is left out, and the last pass stores places
 * alone. On one thread the keys are counted for all passes at once. A single long row is shared by the threads: each
 * counts and places a part of it, which keeps the order, so the result does not depend on their number.
 *
 * Keys whose differences fit in 32 bits share one 64-bit word with their place, which then orders by both at once. */
#include "runtime/keys.h"
#include "runtime/library.h"

#include <string.h>

typedef struct Wide {
  uint64_t key, place;
} Wide;

enum { BITS = 11, BUCKETS = 1 << BITS, SHORT_ROW = 1024, RUN = 16, MAX_PARTS = 64, MAX_PASSES = 6 };
_Static_assert(MAX_PASSES *BITS >= 64, "the passes cover all bits of a key");

/* Where each part's values of each bucket go; in: how many there are. False: all are in one bucket. */
static bool bucket_places(uint32_t (*count)[BUCKETS], int parts, int64_t n) {
  uint32_t sum = 0;
  bool several = true;
  for (int k = 0; k < BUCKETS; k++) {
    uint32_t before = sum;
    for (int p = 0; p < parts; p++) {
      uint32_t c = count[p][k];
      count[p][k] = sum;
      sum += c;
    }
    several &= sum - before != (uint64_t)n;
  }
  return several;
}

/* ---- sorting; the same for both kinds of items ---- */

#define NARROW_LESS(a, b) ((a) < (b))
#define NARROW_KEY(a) ((a) >> 32)
#define NARROW_PLACE(a) (uint32_t)(a)
#define WIDE_LESS(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).place < (b).place))
#define WIDE_KEY(a) ((a).key)
#define WIDE_PLACE(a) ((a).place)

#define SORT(kind, T, LESS, KEY, PLACE)                                                                                \
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
  static void kind##_count(const T *x, int64_t n, int bits, int passes, uint32_t(*count)[BUCKETS]) {                   \
    uint64_t mask = ((uint64_t)1 << bits) - 1;                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
      uint64_t key = KEY(x[i]);                                                                                        \
      for (int p = 0; p < passes; p++, key >>= bits) count[p][key & mask]++;                                           \
    }                                                                                                                  \
  }                                                                                                                    \
  /* One part is counted for all passes at once. The last pass leaves nothing but places. */                           \
  static void kind##_radix_sort(T *x, T *y, int64_t n, int width, int parts, uint32_t(*count)[BUCKETS],                \
                                int32_t *out) {                                                                        \
    int passes = MAX(1, (width + BITS - 1) / BITS), bits = MAX(1, (width + passes - 1) / passes);                      \
    uint64_t mask = ((uint64_t)1 << bits) - 1;                                                                         \
    memset(count, 0, (size_t)MAX(parts, MAX_PASSES) * sizeof *count);                                                  \
    if (parts == 1) kind##_count(x, n, bits, passes, count);                                                           \
    for (int pass = 0; pass < passes; pass++) {                                                                        \
      int shift = pass * bits;                                                                                         \
      uint32_t(*next)[BUCKETS] = count + (parts == 1 ? pass : 0);                                                      \
      if (parts > 1) memset(count, 0, (size_t)parts * sizeof *count);                                                  \
      if (parts > 1)                                                                                                   \
        PARTS_DO(parts, for (int64_t i = n * part / parts; i < n * (part + 1) / parts; i++)                            \
                            next[part][(KEY(x[i]) >> shift) & mask]++)                                                 \
      if (!bucket_places(next, parts, n) && pass < passes - 1) continue;                                               \
      if (pass == passes - 1) {                                                                                        \
        PARTS_DO(parts, for (int64_t i = n * part / parts; i < n * (part + 1) / parts; i++)                            \
                            out[next[part][(KEY(x[i]) >> shift) & mask]++] = (int32_t)PLACE(x[i]))                     \
        return;                                                                                                        \
      }                                                                                                                \
      PARTS_DO(parts, for (int64_t i = n * part / parts; i < n * (part + 1) / parts; i++)                              \
                          y[next[part][(KEY(x[i]) >> shift) & mask]++] = x[i])                                         \
      T *t = x;                                                                                                        \
      x = y;                                                                                                           \
      y = t;                                                                                                           \
    }                                                                                                                  \
  }
SORT(narrow, uint64_t, NARROW_LESS, NARROW_KEY, NARROW_PLACE)
SORT(wide, Wide, WIDE_LESS, WIDE_KEY, WIDE_PLACE)

/* ---- one row ---- */

typedef struct Row {
  const LibraryTensor *from;
  int64_t begin, n;
  bool descending;
  int parts;
  void *room; /* 2 n items, then counters */
} Row;

typedef struct Range {
  uint64_t least, most;
} Range;

enum { CHUNK = 512 };

/* Keys of [from, to) of the row, a chunk at a time: DO(i, key). */
#define EACH_KEY(row, from, to, DO)                                                                                    \
  do {                                                                                                                 \
    uint64_t key[CHUNK];                                                                                               \
    for (int64_t at = (from); at < (to); at += CHUNK) {                                                                \
      int len = (int)MIN((int64_t)CHUNK, (to)-at);                                                                     \
      keys_read((row)->from, (row)->begin + at, len, (row)->descending, key);                                          \
      for (int j = 0; j < len; j++) DO(at + j, key[j]);                                                                \
    }                                                                                                                  \
  } while (0)

WIDE_CLONES static Range part_range(const Row *row, int64_t from, int64_t to) {
  Range r = {UINT64_MAX, 0};
#define WIDEN(i, k) r.least = MIN(r.least, k), r.most = MAX(r.most, k)
  EACH_KEY(row, from, to, WIDEN);
#undef WIDEN
  return r;
}

static Range row_range(const Row *row) {
  Range part_of[MAX_PARTS], r = {UINT64_MAX, 0};
  PARTS_DO(row->parts, part_of[part] = part_range(row, row->n * part / row->parts, row->n * (part + 1) / row->parts);)
  for (int p = 0; p < row->parts; p++) {
    r.least = MIN(r.least, part_of[p].least);
    r.most = MAX(r.most, part_of[p].most);
  }
  return r;
}

WIDE_CLONES static void fill_narrow(const Row *row, int64_t from, int64_t to, uint64_t least) {
  uint64_t *x = row->room;
#define PUT(i, k) x[i] = ((k)-least) << 32 | (uint64_t)(i)
  EACH_KEY(row, from, to, PUT);
#undef PUT
}

static void fill_wide(const Row *row, int64_t from, int64_t to, uint64_t least) {
  Wide *x = row->room;
#define PUT(i, k) x[i] = (Wide){(k)-least, (uint64_t)(i)}
  EACH_KEY(row, from, to, PUT);
#undef PUT
}

/* In how many bits do the keys differ? */
static int width_of(Range range) {
  uint64_t most = range.most - range.least;
  return most ? 64 - __builtin_clzll(most) : 0;
}

#define SORT_ROW(kind, T, PLACE)                                                                                       \
  static void sort_##kind(const Row *row, Range range, int32_t *out) {                                                 \
    int64_t n = row->n;                                                                                                \
    int parts = row->parts;                                                                                            \
    T *x = row->room;                                                                                                  \
    PARTS_DO(parts, fill_##kind(row, n *part / parts, n * (part + 1) / parts, range.least);)                           \
    if (n > SHORT_ROW) {                                                                                               \
      kind##_radix_sort(x, x + n, n, width_of(range), parts, (uint32_t(*)[BUCKETS])(x + 2 * n), out);                  \
      return;                                                                                                          \
    }                                                                                                                  \
    x = kind##_merge_sort(x, x + n, n);                                                                                \
    for (int64_t i = 0; i < n; i++) out[i] = (int32_t)PLACE(x[i]);                                                     \
  }
SORT_ROW(narrow, uint64_t, NARROW_PLACE)
SORT_ROW(wide, Wide, WIDE_PLACE)

static void sort_row(const Row *row, int32_t *out) {
  Range range = {0, UINT32_MAX};
  if (row->n > SHORT_ROW || dtype_size(row->from->dtype) == 8) range = row_range(row);
  if (range.most - range.least <= UINT32_MAX)
    sort_narrow(row, range, out);
  else
    sort_wide(row, range, out);
}

/* Many rows: each is one thread's. One row: all threads share it. */
bool library_argsort(Device *d, const LibraryCall *call) {
  Base *b = ctx_base(d->ctx);
  const LibraryTensor *t = &call->src[0];
  int64_t n, rows = library_rows(t, &n);
  if (rows == 0) return true;
  if (n > INT32_MAX || call->out.dtype != POLY_INT32)
    return base_fail(b, POLY_ERROR_VALUE, "argsort: %lld places do not fit in int32", (long long)n);
  int threads = library_threads(d, call, MAX_PARTS, rows * n * 8),
      parts = rows < threads && n > SHORT_ROW ? threads : 1;
  if (parts > 1 || rows < threads) threads = 1;
  size_t item = dtype_size(t->dtype) == 8 ? sizeof(Wide) : sizeof(uint64_t);
  size_t room = 2 * (size_t)n * item + (size_t)MAX(parts, MAX_PASSES) * sizeof(uint32_t[BUCKETS]),
         total = room * (size_t)threads;
  char *work = memory_alloc(d->memory, total);
  if (!work) return false;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int k = 0; k < threads; k++)
    for (int64_t r = rows * k / threads; r < rows * (k + 1) / threads; r++) {
      Row row = {t, r * n, n, call->n != 0, parts, work + room * (size_t)k};
      sort_row(&row, (int32_t *)host_at(call->out.data) + r * n);
    }
  memory_free(d->memory, work, total);
  return true;
}
