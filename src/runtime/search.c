/* search.c: where values belong in sorted rows ("searchsorted"), how often whole numbers occur ("bincount"). */
#include "runtime/keys.h"
#include "runtime/library.h"

#include <string.h>

enum { CHUNK = 512 };

static void put_index(const LibraryTensor *out, int64_t i, int64_t v) {
  if (out->dtype == POLY_INT64)
    ((int64_t *)host_at(out->data))[i] = v;
  else
    ((int32_t *)host_at(out->data))[i] = (int32_t)v;
}

/* How many of n sorted keys lie before k, or before or at it. */
static int64_t count_before(const uint64_t *sorted, int64_t n, uint64_t k, bool or_at) {
  const uint64_t *base = sorted;
  while (n > 0) {
    int64_t half = n >> 1;
    bool right = or_at ? base[half] <= k : base[half] < k;
    base = right ? base + half + 1 : base;
    n = right ? n - half - 1 : half;
  }
  return base - sorted;
}

/* Values [from, to) of the result; `each` of them share a row of n sorted keys. */
static void search_part(const LibraryCall *call, const uint64_t *sorted, int64_t n, int64_t each, int64_t from,
                        int64_t to) {
  uint64_t key[CHUNK];
  for (int64_t at = from; at < to; at += CHUNK) {
    int len = (int)MIN((int64_t)CHUNK, to - at);
    keys_read(&call->src[1], at, len, false, key);
    for (int j = 0; j < len; j++)
      put_index(&call->out, at + j, count_before(sorted + (at + j) / each * n, n, key[j], call->n != 0));
  }
}

bool library_searchsorted(Device *d, const LibraryCall *call) {
  const LibraryTensor *sorted = &call->src[0], *values = &call->src[1];
  int64_t n, m, rows = library_rows(sorted, &n), total = library_numel(values), all = library_numel(sorted);
  library_rows(values, &m);
  if (total == 0) return true;
  if (sorted->dtype != values->dtype || (sorted->ndim > 1 && rows * m != total && n > 0))
    return base_fail(ctx_base(d->ctx), POLY_ERROR_RUNTIME, "searchsorted: operands of different rows or dtypes");
  size_t room = (size_t)MAX(all, 1) * sizeof(uint64_t);
  uint64_t *key = memory_alloc(d->memory, room);
  if (!key) return false;
  for (int64_t at = 0; at < all; at += CHUNK)
    keys_read(sorted, at, (int)MIN((int64_t)CHUNK, all - at), false, key + at);
  int parts = library_threads(d, call, 64, total * 8);
  int64_t each = sorted->ndim > 1 ? m : total;
  PARTS_DO(parts, search_part(call, key, n, each, total * part / parts, total * (part + 1) / parts))
  memory_free(d->memory, key, room);
  return true;
}

/* Returns the place of the first index outside [0, size), else `to`. */
#define COUNT(AT)                                                                                                      \
  do {                                                                                                                 \
    for (int64_t e = from; e < to; e++) {                                                                              \
      uint64_t v = (uint64_t)(int64_t)(AT);                                                                            \
      if (v >= (uint64_t)size) return e;                                                                               \
      count[v]++;                                                                                                      \
    }                                                                                                                  \
    return to;                                                                                                         \
  } while (0)
static int64_t count_range(const LibraryTensor *index, int64_t from, int64_t to, int64_t size, uint32_t *count) {
  const int32_t *i32 = host_at(index->data);
  const int64_t *i64 = host_at(index->data);
  if (index->dtype == POLY_INT32) COUNT(i32[e]);
  if (index->dtype == POLY_INT64) COUNT(i64[e]);
  COUNT(library_index_at(index, e));
}
#undef COUNT

bool library_bincount(Device *d, const LibraryCall *call) {
  const LibraryTensor *index = &call->src[0];
  int64_t entries = library_numel(index), size = library_numel(&call->out), bad = entries;
  /* each part has counters of its own, which are only worth it where they are fewer than entries */
  int parts = size * 4 > entries ? 1 : library_threads(d, call, 64, entries);
  size_t room = (size_t)MAX(parts * size, 1) * sizeof(uint32_t);
  if (entries > UINT32_MAX)
    return base_fail(ctx_base(d->ctx), POLY_ERROR_VALUE, "bincount: %lld entries are more than 32 bits count",
                     (long long)entries);
  uint32_t *count = memory_alloc(d->memory, room);
  if (!count) return false;
  memset(count, 0, room);
#pragma omp parallel for num_threads(parts) schedule(static, 1) reduction(min : bad) if (parts > 1)
  for (int p = 0; p < parts; p++) {
    int64_t to = entries * (p + 1) / parts, stop = count_range(index, entries * p / parts, to, size, count + p * size);
    if (stop < to) bad = MIN(bad, stop);
  }
  for (int64_t v = 0; v < size && bad == entries; v++) {
    int64_t sum = 0;
    for (int p = 0; p < parts; p++) sum += count[p * size + v];
    put_index(&call->out, v, sum);
  }
  memory_free(d->memory, count, room);
  if (bad == entries) return true;
  return base_fail(ctx_base(d->ctx), POLY_ERROR_INDEX,
                   "bincount: index %lld at position %lld is out of range for an axis of size %lld",
                   (long long)library_index_at(index, bad), (long long)bad, (long long)size);
}
