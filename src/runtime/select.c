/* select.c: the first k of a row in order ("topk"), the k-th of a row ("kth"), its median ("median"), without sorting
 * the row.
 *
 * Values become unsigned keys (keys.c), as in a sort, and equal keys keep the order of their places, so what is
 * selected is what a stable sort would give. A short list of a row is kept sorted while the row is read. A short row is
 * parted at one of its entries until the k-th one is in its place. Of a long row the keys are counted by the highest
 * bits in which they differ; those before the bucket in which the k-th one lies are in, those in it are candidates, of
 * which the next bits are counted, until few are left, which are sorted. */
#include "runtime/keys.h"
#include "runtime/library.h"

#include <stdlib.h>
#include <string.h>

typedef struct Entry {
  uint64_t key;
  int32_t place;
} Entry;

enum { CHUNK = 512, BITS = 11, BUCKETS = 1 << BITS, SHORT_LIST = 64, FEW = 2048, SHORT_ROW = 1024, MAX_PARTS = 64 };

static inline bool before(Entry a, Entry b) { return a.key < b.key || (a.key == b.key && a.place < b.place); }

static int compare(const void *a, const void *b) {
  const Entry *x = a, *y = b;
  return before(*x, *y) ? -1 : before(*y, *x);
}

/* ---- a short list, kept sorted ---- */

static int list_insert(Entry *list, int have, int k, uint64_t key, int64_t place) {
  int p = have < k ? have++ : k - 1;
  for (; p > 0 && key < list[p - 1].key; p--) list[p] = list[p - 1];
  list[p] = (Entry){key, (int32_t)place};
  return have;
}

/* The first k of [from, to) of a row that begins at `row`; how many there are. Most keys do not get into the list: they
 * are looked at in blocks. */
WIDE_CLONES static int short_list(const LibraryTensor *t, int64_t row, int64_t from, int64_t to, int k, bool largest,
                                  Entry *list) {
  enum { BLOCK = 16 };
  uint64_t key[CHUNK];
  int have = 0;
  for (int64_t at = from; at < to; at += CHUNK) {
    int len = (int)MIN((int64_t)CHUNK, to - at), padded = (len + BLOCK - 1) / BLOCK * BLOCK;
    keys_read(t, row + at, len, largest, key);
    for (int j = len; j < padded; j++) key[j] = UINT64_MAX;
    for (int j = 0; j < padded; j += BLOCK) {
      uint64_t limit = have == k ? list[k - 1].key : UINT64_MAX, any = have < k;
      for (int i = j; i < j + BLOCK; i++) any |= key[i] < limit;
      for (int i = j; any && i < MIN(j + BLOCK, len); i++)
        if (have < k || key[i] < list[k - 1].key) have = list_insert(list, have, k, key[i], at + i);
    }
  }
  return have;
}

/* ---- by parting ---- */

/* Puts the k-th of n different values (from 0) in its place, smaller ones before it. Values go to the left without a
 * branch; the pivot is the middle one of three. */
#define PART_AT(name, T, LESS)                                                                                         \
  static void name(T *at, int n, int k) {                                                                              \
    while (n > 1) {                                                                                                    \
      T a = at[0], b = at[n / 2], c = at[n - 1], low = LESS(a, b) ? a : b, high = LESS(a, b) ? b : a;                  \
      T pivot = LESS(c, low) ? low : LESS(c, high) ? c : high;                                                         \
      int left = 0; /* of those before the pivot, which is then exchanged to their end */                              \
      for (int i = 0; i < n; i++) {                                                                                    \
        T x = at[i];                                                                                                   \
        at[i] = at[left];                                                                                              \
        at[left] = x;                                                                                                  \
        left += LESS(x, pivot);                                                                                        \
      }                                                                                                                \
      if (k < left) {                                                                                                  \
        n = left;                                                                                                      \
        continue;                                                                                                      \
      }                                                                                                                \
      int p = left;                                                                                                    \
      while (LESS(pivot, at[p])) p++;                                                                                  \
      T x = at[left];                                                                                                  \
      at[left] = at[p];                                                                                                \
      at[p] = x;                                                                                                       \
      if (k == left) return;                                                                                           \
      at += left + 1;                                                                                                  \
      k -= left + 1;                                                                                                   \
      n -= left + 1;                                                                                                   \
    }                                                                                                                  \
  }
#define WORD_LESS(a, b) ((a) < (b))
#define ENTRY_LESS(a, b) (((a).key < (b).key) | (((a).key == (b).key) & ((a).place < (b).place)))
PART_AT(part_words, uint64_t, WORD_LESS)
PART_AT(part_entries, Entry, ENTRY_LESS)

/* ---- by counting ---- */

typedef struct Selection {
  const LibraryTensor *from;
  int64_t row, n, k;
  bool largest, last; /* last: the k-th alone is asked for, and `in` is not made */
  int parts;
  uint32_t (*count)[BUCKETS]; /* a row for each part */
  Entry *in, *candidate;      /* room for n each */
  int64_t nin, ncandidate;
} Selection;

/* Bits in which not all keys of the row agree. */
WIDE_CLONES static uint64_t differing_bits(const LibraryTensor *t, int64_t row, int64_t n) {
  uint64_t key[CHUNK], any = 0, all = ~(uint64_t)0;
  for (int64_t at = 0; at < n; at += CHUNK) {
    int len = (int)MIN((int64_t)CHUNK, n - at);
    keys_read(t, row + at, len, false, key);
    for (int j = 0; j < len; j++) any |= key[j], all &= key[j];
  }
  return any & ~all;
}

static inline uint64_t bucket_at(uint64_t key, int shift) { return (key >> shift) & (BUCKETS - 1); }

/* Two rows of counters take turns: equal keys that follow each other do not wait for one. */
static void count_part(const Selection *s, int part, int shift) {
  uint64_t key[CHUNK];
  uint32_t other[BUCKETS] = {0}, *count = s->count[part];
  int64_t end = s->n * (part + 1) / s->parts;
  for (int64_t at = s->n * part / s->parts; at < end; at += CHUNK) {
    int len = (int)MIN((int64_t)CHUNK, end - at), j = 0;
    keys_read(s->from, s->row + at, len, s->largest, key);
    for (; j + 1 < len; j += 2) {
      count[bucket_at(key[j], shift)]++;
      other[bucket_at(key[j + 1], shift)]++;
    }
    if (j < len) count[bucket_at(key[j], shift)]++;
  }
  for (int b = 0; b < BUCKETS; b++) count[b] += other[b];
}

/* Writes what lies before the bucket and what lies in it, each from where this part's begin. Of candidates that are
 * all equal no more than `most` are asked for. */
static void collect_part(const Selection *s, int part, int shift, uint64_t bucket, int64_t in, int64_t candidate,
                         int64_t most) {
  uint64_t key[CHUNK];
  int64_t end = s->n * (part + 1) / s->parts;
  for (int64_t at = s->n * part / s->parts; at < end && !(s->last && candidate >= most); at += CHUNK) {
    int len = (int)MIN((int64_t)CHUNK, end - at);
    keys_read(s->from, s->row + at, len, s->largest, key);
    for (int j = 0; j < len; j++) {
      uint64_t b = bucket_at(key[j], shift);
      if (s->last ? b != bucket : b > bucket) continue;
      *(b == bucket ? &s->candidate[candidate++] : &s->in[in++]) = (Entry){key[j], (int32_t)(at + j)};
    }
  }
}

/* The bucket in which the k-th one lies, and how many lie before it. */
static int bucket_of(const uint32_t *total, int64_t k, int64_t *before_it) {
  int64_t sum = 0;
  int b = 0;
  while (b < BUCKETS - 1 && sum + total[b] < k) sum += total[b++];
  *before_it = sum;
  return b;
}

/* Reads the whole row twice. */
static void first_round(Selection *s, int shift) {
  uint32_t total[BUCKETS] = {0};
  int64_t in[MAX_PARTS + 1] = {0}, candidate[MAX_PARTS + 1] = {0}, lower;
  memset(s->count, 0, (size_t)s->parts * sizeof *s->count);
  PARTS_DO(s->parts, count_part(s, part, shift))
  for (int p = 0; p < s->parts; p++)
    for (int b = 0; b < BUCKETS; b++) total[b] += s->count[p][b];
  int bucket = bucket_of(total, s->k, &lower);
  for (int p = 0; p < s->parts; p++) {
    in[p + 1] = in[p];
    for (int b = 0; b < bucket; b++) in[p + 1] += s->count[p][b];
    candidate[p + 1] = candidate[p] + s->count[p][bucket];
  }
  int64_t most = shift ? INT64_MAX : s->k - lower;
  PARTS_DO(s->parts, collect_part(s, part, shift, (uint64_t)bucket, in[part], candidate[part], most))
  s->nin = in[s->parts];
  s->ncandidate = candidate[s->parts];
}

/* Of the candidates: those before the bucket of the next bits are in, and those in it remain. Order is kept. */
static void next_round(Selection *s, int shift) {
  uint32_t total[BUCKETS] = {0};
  int64_t lower, left = 0;
  for (int64_t i = 0; i < s->ncandidate; i++) total[bucket_at(s->candidate[i].key, shift)]++;
  uint64_t bucket = (uint64_t)bucket_of(total, s->k - s->nin, &lower);
  for (int64_t i = 0; i < s->ncandidate; i++) {
    uint64_t b = bucket_at(s->candidate[i].key, shift);
    if (b > bucket || (s->last && b != bucket)) continue;
    *(b == bucket ? &s->candidate[left++] : &s->in[s->nin++]) = s->candidate[i];
  }
  if (s->last) s->nin += lower;
  s->ncandidate = left;
}

/* Makes the first k of the row `in`, in no order but for the last one, which is the k-th; or that one alone in in[0].
 */
static Entry select_first(Selection *s) {
  uint64_t differ = differing_bits(s->from, s->row, s->n);
  int shift = MAX(0, 64 - BITS - (differ ? __builtin_clzll(differ) : 63));
  first_round(s, shift);
  while (shift > 0 && s->ncandidate > FEW) {
    int next = MAX(0, shift - BITS);
    /* bits that overlap the ones before are equal in all candidates */
    next_round(s, next);
    shift = next;
  }
  int64_t rest = s->k - s->nin;
  if (shift > 0 && s->last) part_entries(s->candidate, (int)s->ncandidate, (int)rest - 1);
  if (shift > 0 && !s->last) qsort(s->candidate, (size_t)s->ncandidate, sizeof(Entry), compare);
  if (!s->last) memcpy(s->in + s->nin, s->candidate, (size_t)rest * sizeof(Entry));
  return s->candidate[rest - 1];
}

/* The same for a short row; `in` has room for all of it. Keys of 32 bits and their places are words. */
static Entry select_short(Selection *s) {
  uint64_t key[SHORT_ROW];
  int n = (int)s->n, k = (int)s->k;
  keys_read(s->from, s->row, n, s->largest, key);
  if (keys_width(s->from) > 32) {
    for (int i = 0; i < n; i++) s->in[i] = (Entry){key[i], i};
    part_entries(s->in, n, k - 1);
    return s->in[k - 1];
  }
  for (int i = 0; i < n; i++) key[i] = key[i] << 32 | (uint64_t)i;
  part_words(key, n, k - 1);
  for (int i = s->last ? k - 1 : 0; i < k; i++) s->in[i] = (Entry){key[i] >> 32, (int32_t)key[i]};
  return s->in[k - 1];
}

/* ---- medians ---- */

/* How many of a row are numbers, and the first place of one that is none. All keys of NaN are the largest. */
WIDE_CLONES static int64_t count_numbers(const LibraryTensor *t, int64_t row, int64_t n, int64_t *nan) {
  uint64_t key[CHUNK], most = ~(uint64_t)0 >> (64 - keys_width(t));
  int64_t count = 0;
  *nan = -1;
  for (int64_t at = 0; at < n; at += CHUNK) {
    int len = (int)MIN((int64_t)CHUNK, n - at), here = 0;
    keys_read(t, row + at, len, false, key);
    for (int j = 0; j < len; j++) here += key[j] != most;
    for (int j = 0; *nan < 0 && here < len; j++)
      if (key[j] == most) *nan = at + j;
    count += here;
  }
  return count;
}

/* Which of the order is a row's median, the lower of two. 0: it is NaN, at the place `nan`. */
static int64_t median_of(const LibraryTensor *t, int64_t row, int64_t n, bool numbers, int64_t *nan) {
  int64_t count = n;
  *nan = -1;
  if (dtype_is_float((PolyDType)t->dtype)) count = count_numbers(t, row, n, nan);
  return *nan >= 0 && (!numbers || count == 0) ? 0 : (count + 1) / 2;
}

/* ---- routines ---- */

/* What is asked for: the first k of each row, the k-th, or the median of all or of what is a number. */
typedef enum Wanted { FIRST, KTH, MEDIAN, MEDIAN_NUMBER } Wanted;

static bool select_rows(Device *d, const LibraryCall *call, int64_t all, bool largest, Wanted wanted) {
  const LibraryTensor *t = &call->src[0];
  int64_t n, rows = library_rows(t, &n);
  int32_t *out = host_at(call->out.data);
  bool last = wanted != FIRST, median = wanted >= MEDIAN;
  int threads = library_threads(d, call, MAX_PARTS, rows * n), parts = rows < threads ? threads : 1;
  if (rows < threads) threads = 1;
  bool in_short = n <= SHORT_ROW && parts == 1, listed = !median && all <= SHORT_LIST && (!in_short || !last);
  size_t counts = listed || in_short ? 0 : (size_t)parts * sizeof(uint32_t[BUCKETS]);
  size_t room =
      listed ? (size_t)(parts * all) * sizeof(Entry) : counts + (in_short ? 1 : 2) * (size_t)n * sizeof(Entry);
  char *work = memory_alloc(d->memory, room * (size_t)threads);
  if (!work) return false;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int thread = 0; thread < threads; thread++)
    for (int64_t r = rows * thread / threads; r < rows * (thread + 1) / threads; r++) {
      char *mine = work + room * (size_t)thread;
      Entry *chosen = (Entry *)mine, kth;
      int64_t k = all, nan = -1;
      if (median && !(k = median_of(t, r * n, n, wanted == MEDIAN_NUMBER, &nan))) {
        out[r] = (int32_t)nan;
        continue;
      }
      if (listed) {
        int have[MAX_PARTS], found = 0;
        PARTS_DO(parts, have[part] = short_list(t, r * n, n * part / parts, n * (part + 1) / parts, (int)k, largest,
                                                chosen + part * k))
        for (int p = 0; p < parts; p++) {
          memmove(chosen + found, chosen + p * k, (size_t)have[p] * sizeof *chosen);
          found += have[p];
        }
        if (parts > 1) qsort(chosen, (size_t)found, sizeof *chosen, compare);
        kth = chosen[k - 1];
      } else {
        Entry *in = (Entry *)(mine + counts);
        Selection s = {t, r * n, n, k, largest, last, parts, (uint32_t(*)[BUCKETS])mine, in, in + n, 0, 0};
        kth = in_short ? select_short(&s) : select_first(&s);
        if (!last) qsort(in, (size_t)k, sizeof *in, compare);
        chosen = in;
      }
      if (last)
        out[r] = kth.place;
      else
        for (int64_t i = 0; i < k; i++) out[r * k + i] = chosen[i].place;
    }
  memory_free(d->memory, work, room * (size_t)threads);
  return true;
}

static bool selectable(Device *d, const LibraryCall *call, int64_t k, int64_t n) {
  if (n <= INT32_MAX && call->out.dtype == POLY_INT32 && k <= n) return true;
  return base_fail(ctx_base(d->ctx), POLY_ERROR_VALUE, "%s: %lld places of %lld do not fit in int32", call->name,
                   (long long)k, (long long)n);
}

bool library_topk(Device *d, const LibraryCall *call) {
  int64_t n, k, rows = library_rows(&call->src[0], &n);
  library_rows(&call->out, &k);
  if (rows == 0 || k == 0) return true;
  return selectable(d, call, k, n) && select_rows(d, call, k, call->n != 0, FIRST);
}

bool library_kth(Device *d, const LibraryCall *call) {
  int64_t n, rows = library_rows(&call->src[0], &n);
  if (rows == 0) return true;
  return selectable(d, call, call->n, n) && select_rows(d, call, call->n, false, KTH);
}

bool library_median(Device *d, const LibraryCall *call) {
  int64_t n, rows = library_rows(&call->src[0], &n);
  if (rows == 0) return true;
  return selectable(d, call, 1, n) && select_rows(d, call, 0, false, call->n ? MEDIAN_NUMBER : MEDIAN);
}
