/* select.c: the first k of a row in order ("topk"), the k-th of a row ("kth"), without sorting the row.
 *
 * Values become unsigned keys (keys.c), as in a sort, and equal keys keep the order of their places, so what is
 * selected is what a stable sort would give. A short list of a row is kept sorted while the row is read. Otherwise the
 * keys are counted by their highest bits; those before the bucket in which the k-th one lies are in, those in it are
 * candidates, of which the next bits are counted, until few are left, which are sorted. */
#include "runtime/keys.h"
#include "runtime/library.h"

#include <stdlib.h>
#include <string.h>

typedef struct Entry {
  uint64_t key;
  int32_t place;
} Entry;

enum { CHUNK = 512, BITS = 11, BUCKETS = 1 << BITS, SHORT_LIST = 64, FEW = 2048, MAX_PARTS = 64 };

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

/* ---- by counting ---- */

typedef struct Selection {
  const LibraryTensor *from;
  int64_t row, n;
  bool largest;
  int parts;
  uint32_t (*count)[BUCKETS]; /* a row for each part */
  Entry *in, *candidate;      /* room for n each */
  int64_t nin, ncandidate;
} Selection;

static void count_part(const Selection *s, int part, int shift) {
  uint64_t key[CHUNK];
  int64_t end = s->n * (part + 1) / s->parts;
  for (int64_t at = s->n * part / s->parts; at < end; at += CHUNK) {
    int len = (int)MIN((int64_t)CHUNK, end - at);
    keys_read(s->from, s->row + at, len, s->largest, key);
    for (int j = 0; j < len; j++) s->count[part][key[j] >> shift]++;
  }
}

/* Writes what lies before the bucket and what lies in it, each from where this part's begin. */
static void collect_part(const Selection *s, int part, int shift, uint64_t bucket, int64_t in, int64_t candidate) {
  uint64_t key[CHUNK];
  int64_t end = s->n * (part + 1) / s->parts;
  for (int64_t at = s->n * part / s->parts; at < end; at += CHUNK) {
    int len = (int)MIN((int64_t)CHUNK, end - at);
    keys_read(s->from, s->row + at, len, s->largest, key);
    for (int j = 0; j < len; j++) {
      uint64_t b = key[j] >> shift;
      if (b > bucket) continue;
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
static void first_round(Selection *s, int64_t k, int shift) {
  uint32_t total[BUCKETS] = {0};
  int64_t in[MAX_PARTS + 1] = {0}, candidate[MAX_PARTS + 1] = {0}, lower;
  memset(s->count, 0, (size_t)s->parts * sizeof *s->count);
  PARTS_DO(s->parts, count_part(s, part, shift))
  for (int p = 0; p < s->parts; p++)
    for (int b = 0; b < BUCKETS; b++) total[b] += s->count[p][b];
  int bucket = bucket_of(total, k, &lower);
  for (int p = 0; p < s->parts; p++) {
    in[p + 1] = in[p];
    for (int b = 0; b < bucket; b++) in[p + 1] += s->count[p][b];
    candidate[p + 1] = candidate[p] + s->count[p][bucket];
  }
  PARTS_DO(s->parts, collect_part(s, part, shift, (uint64_t)bucket, in[part], candidate[part]))
  s->nin = in[s->parts];
  s->ncandidate = candidate[s->parts];
}

/* Of the candidates: those before the bucket of the next bits are in, and those in it remain. Order is kept. */
static void next_round(Selection *s, int64_t k, int shift) {
  uint32_t total[BUCKETS] = {0};
  int64_t lower, left = 0;
  for (int64_t i = 0; i < s->ncandidate; i++) total[(s->candidate[i].key >> shift) & (BUCKETS - 1)]++;
  uint64_t bucket = (uint64_t)bucket_of(total, k - s->nin, &lower);
  for (int64_t i = 0; i < s->ncandidate; i++) {
    uint64_t b = (s->candidate[i].key >> shift) & (BUCKETS - 1);
    if (b > bucket) continue;
    *(b == bucket ? &s->candidate[left++] : &s->in[s->nin++]) = s->candidate[i];
  }
  s->ncandidate = left;
}

/* Makes the first k of the row `in`, in no order but for the last one, which is the k-th. */
static void select_first(Selection *s, int64_t k) {
  int width = keys_width(s->from), shift = MAX(0, width - BITS);
  first_round(s, k, shift);
  while (shift > 0 && s->ncandidate > FEW) {
    int next = MAX(0, shift - BITS);
    /* bits that overlap the ones before are equal in all candidates */
    next_round(s, k, next);
    shift = next;
  }
  if (shift > 0) qsort(s->candidate, (size_t)s->ncandidate, sizeof(Entry), compare);
  memcpy(s->in + s->nin, s->candidate, (size_t)(k - s->nin) * sizeof(Entry));
  s->nin = k;
}

/* ---- routines ---- */

/* The k of each row, into out; only the last of them if `last`. */
static bool select_rows(Device *d, const LibraryCall *call, int64_t k, bool largest, bool last) {
  const LibraryTensor *t = &call->src[0];
  int64_t n, rows = library_rows(t, &n);
  int32_t *out = host_at(call->out.data);
  int threads = library_threads(d, call, MAX_PARTS, rows * n), parts = rows < threads ? threads : 1;
  if (rows < threads) threads = 1;
  bool listed = k <= SHORT_LIST;
  size_t counts = (size_t)parts * sizeof(uint32_t[BUCKETS]);
  size_t room = listed ? (size_t)(parts * k) * sizeof(Entry) : counts + 2 * (size_t)n * sizeof(Entry);
  char *work = memory_alloc(d->memory, room * (size_t)threads);
  if (!work) return false;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int thread = 0; thread < threads; thread++)
    for (int64_t r = rows * thread / threads; r < rows * (thread + 1) / threads; r++) {
      char *mine = work + room * (size_t)thread;
      Entry *chosen = (Entry *)mine;
      if (listed) {
        int have[MAX_PARTS], all = 0;
        PARTS_DO(parts, have[part] = short_list(t, r * n, n * part / parts, n * (part + 1) / parts, (int)k, largest,
                                                chosen + part * k))
        for (int p = 0; p < parts; p++) {
          memmove(chosen + all, chosen + p * k, (size_t)have[p] * sizeof *chosen);
          all += have[p];
        }
        if (parts > 1) qsort(chosen, (size_t)all, sizeof *chosen, compare);
      } else {
        Entry *in = (Entry *)(mine + counts);
        Selection s = {t, r * n, n, largest, parts, (uint32_t(*)[BUCKETS])mine, in, in + n, 0, 0};
        select_first(&s, k);
        if (!last) qsort(in, (size_t)k, sizeof *in, compare);
        chosen = in;
      }
      if (last)
        out[r] = chosen[k - 1].place;
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
  return selectable(d, call, k, n) && select_rows(d, call, k, call->n != 0, false);
}

bool library_kth(Device *d, const LibraryCall *call) {
  int64_t n, rows = library_rows(&call->src[0], &n);
  if (rows == 0) return true;
  return selectable(d, call, call->n, n) && select_rows(d, call, call->n, false, true);
}
