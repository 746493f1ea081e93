/* edge_sort.c: edges in lexicographic order, and those that occur several times, once.
 *
 * In: edge_index [2, E] of int32 or int64. Out: the sorted edges, where each came from, and where each run of equal
 * edges begins. Edges are first distributed into groups of neighbouring rows, so that each group fits a cache; then
 * each group is ordered by the other end with a radix sort, and by row with a counting sort, which keeps that order. Of
 * a group of few edges each row is ordered by comparing instead: there, counters would be most of the work. Threads
 * share the edges in the first step and the groups afterwards; both keep the order, so the result does not depend on
 * their number. O(V + E log V). */
#include "algorithms/sampler.h"
#include "base/threads.h"
#include "graph/graph.h"

#include <inttypes.h>
#include <string.h>

enum { GROUPS = 256, RUN = 16, MAX_PARTS = 64, BITS = 11, BUCKETS = 1 << BITS, MAX_PASSES = 3, FEW_EDGES = 512 };
_Static_assert(MAX_PASSES *BITS >= 32, "the bits of a node");

/* The two ends that edges are sorted by, and the room to do it in. */
typedef struct EdgeSort {
  const void *first, *second;
  bool wide; /* int64, not int32 */
  int64_t edges, nodes;
  int parts, groups, shift; /* a group has 1 << shift rows */
  int64_t (*count)[GROUPS]; /* of each part */
  int64_t begin[GROUPS + 1];
  int64_t kept[GROUPS + 1]; /* edges that are left in front of each group */
  uint32_t *row, *row_room; /* of the distributed edges */
  uint64_t *word, *sorted;  /* the other end and the place as one number */
  int64_t *rowptr;          /* where each row begins in `sorted` */
} EdgeSort;

static inline int64_t end_at(const EdgeSort *s, const void *ends, int64_t e) {
  return s->wide ? ((const int64_t *)ends)[e] : ((const int32_t *)ends)[e];
}

/* ---- before sorting ---- */

/* The first end outside the graph, if there is one. */
static bool find_bad(const EdgeSort *s, int64_t *bad) {
  for (int64_t e = 0; e < s->edges; e++) {
    int64_t a = end_at(s, s->first, e), b = end_at(s, s->second, e);
    if ((uint64_t)a < (uint64_t)s->nodes && (uint64_t)b < (uint64_t)s->nodes) continue;
    *bad = (uint64_t)a < (uint64_t)s->nodes ? b : a;
    return true;
  }
  return false;
}

/* Whether nothing is to be done: in order, and if edges are merged, each once. */
static bool in_order(const EdgeSort *s, bool merge) {
  for (int64_t e = 1; e < s->edges; e++) {
    int64_t a = end_at(s, s->first, e - 1), b = end_at(s, s->first, e);
    int64_t c = end_at(s, s->second, e - 1), d = end_at(s, s->second, e);
    if (a > b || (a == b && (c > d || (merge && c == d)))) return false;
  }
  return true;
}

/* ---- groups ---- */

static void count_part(EdgeSort *s, int part) {
  int64_t *count = s->count[part];
  memset(count, 0, sizeof *s->count);
  for (int64_t e = s->edges * part / s->parts; e < s->edges * (part + 1) / s->parts; e++)
    count[end_at(s, s->first, e) >> s->shift]++;
}

static void place_groups(EdgeSort *s) {
  int64_t sum = 0;
  for (int g = 0; g < s->groups; g++) {
    s->begin[g] = sum;
    for (int p = 0; p < s->parts; p++) {
      int64_t c = s->count[p][g];
      s->count[p][g] = sum;
      sum += c;
    }
  }
  s->begin[s->groups] = sum;
}

static void distribute_part(EdgeSort *s, int part) {
  int64_t *next = s->count[part];
  for (int64_t e = s->edges * part / s->parts; e < s->edges * (part + 1) / s->parts; e++) {
    int64_t row = end_at(s, s->first, e), at = next[row >> s->shift]++;
    s->row[at] = (uint32_t)row;
    s->word[at] = (uint64_t)end_at(s, s->second, e) << 32 | (uint64_t)e;
  }
}

/* ---- groups by their other ends ---- */

/* Orders a group by the other end, passes over equally many of its bits. Where its words and rows are now. */
typedef struct Words {
  uint64_t *word;
  uint32_t *row;
} Words;

static Words sort_by_other_end(const EdgeSort *s, int64_t from, int64_t to) {
  uint32_t count[MAX_PASSES][BUCKETS] = {{0}};
  int width = s->nodes > 1 ? 64 - __builtin_clzll((uint64_t)s->nodes - 1) : 1;
  int passes = (width + BITS - 1) / BITS, bits = (width + passes - 1) / passes;
  uint64_t mask = ((uint64_t)1 << bits) - 1;
  Words now = {s->word + from, s->row + from}, next = {s->sorted + from, s->row_room + from};
  for (int64_t i = 0; i < to - from; i++) {
    uint64_t end = now.word[i] >> 32;
    for (int p = 0; p < passes; p++, end >>= bits) count[p][end & mask]++;
  }
  for (int p = 0; p < passes; p++) {
    uint32_t sum = 0, *place = count[p];
    for (uint64_t k = 0; k <= mask; k++) {
      uint32_t c = place[k];
      place[k] = sum;
      sum += c;
    }
    for (int64_t i = 0; i < to - from; i++) {
      uint32_t at = place[(now.word[i] >> (32 + p * bits)) & mask]++;
      next.word[at] = now.word[i];
      next.row[at] = now.row[i];
    }
    Words t = now;
    now = next;
    next = t;
  }
  return now;
}

/* ---- rows ---- */

/* x[0 .. n) in order, with room for as many. Long rows are merged from short sorted pieces. */
static void sort_words(uint64_t *x, uint64_t *room, int64_t n) {
  for (int64_t from = 0; from < n; from += RUN)
    for (int64_t i = from + 1; i < MIN(n, from + RUN); i++) {
      uint64_t v = x[i];
      int64_t j = i;
      for (; j > from && v < x[j - 1]; j--) x[j] = x[j - 1];
      x[j] = v;
    }
  uint64_t *from = x, *to = room;
  for (int64_t len = RUN; len < n; len *= 2) {
    for (int64_t a = 0; a < n; a += 2 * len) {
      int64_t i = a, mid = MIN(n, a + len), j = mid, end = MIN(n, a + 2 * len);
      for (int64_t k = a; k < end; k++) to[k] = j >= end || (i < mid && from[i] <= from[j]) ? from[i++] : from[j++];
    }
    uint64_t *t = from;
    from = to;
    to = t;
  }
  if (from != x) memcpy(x, from, (size_t)n * sizeof *x);
}

static bool is_new(const EdgeSort *s, int64_t row, int64_t i) {
  return i == s->rowptr[row] || s->sorted[i] >> 32 != s->sorted[i - 1] >> 32;
}

/* Orders a group; how many of its edges are left if equal ones are merged. The distributed words are room afterwards.
 */
static int64_t sort_group(EdgeSort *s, int g, bool merge) {
  int64_t first = (int64_t)g << s->shift, last = MIN(s->nodes, first + ((int64_t)1 << s->shift));
  int64_t from = s->begin[g], to = s->begin[g + 1], *next = s->rowptr + 1, left = 0;
  for (int64_t v = first; v < last; v++) next[v] = 0;
  for (int64_t i = from; i < to; i++) next[s->row[i]]++;
  for (int64_t v = first, sum = from; v < last; v++) {
    int64_t c = next[v];
    next[v] = sum;
    sum += c;
  }
  bool few = to - from < FEW_EDGES;
  Words w = {s->word + from, s->row + from};
  if (!few) w = sort_by_other_end(s, from, to);
  uint64_t *out = w.word == s->sorted + from ? s->word : s->sorted;
  for (int64_t i = 0; i < to - from; i++) out[next[w.row[i]]++] = w.word[i];
  if (out != s->sorted) memcpy(s->sorted + from, out + from, (size_t)(to - from) * sizeof *out);
  for (int64_t v = first, at = from; few && v < last; at = next[v++])
    sort_words(s->sorted + at, s->word + at, next[v] - at);
  if (!merge) return to - from;
  for (int64_t v = first, at = from; v < last; at = next[v++])
    for (int64_t i = at; i < next[v]; i++) left += i == at || s->sorted[i] >> 32 != s->sorted[i - 1] >> 32;
  return left;
}

static void run_sort(EdgeSort *s, bool merge, int threads) {
#pragma omp parallel for num_threads(s->parts) schedule(static, 1)
  for (int p = 0; p < s->parts; p++) count_part(s, p);
  place_groups(s);
#pragma omp parallel for num_threads(s->parts) schedule(static, 1)
  for (int p = 0; p < s->parts; p++) distribute_part(s, p);
  s->rowptr[0] = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
  for (int g = 0; g < s->groups; g++) s->kept[g + 1] = sort_group(s, g, merge);
  s->kept[0] = 0;
  for (int g = 0; g < s->groups; g++) s->kept[g + 1] += s->kept[g];
}

/* ---- results ---- */

typedef struct SortedEdges {
  void *first, *second;
  int64_t *order, *begin; /* NULL: not asked for */
} SortedEdges;

static inline void put_end(const EdgeSort *s, void *ends, int64_t e, int64_t v) {
  if (s->wide)
    ((int64_t *)ends)[e] = v;
  else
    ((int32_t *)ends)[e] = (int32_t)v;
}

static void write_group(const EdgeSort *s, int g, bool merge, const SortedEdges *out) {
  int64_t first = (int64_t)g << s->shift, last = MIN(s->nodes, first + ((int64_t)1 << s->shift)), k = s->kept[g];
  for (int64_t v = first; v < last; v++)
    for (int64_t i = s->rowptr[v]; i < s->rowptr[v + 1]; i++) {
      if (out->order) out->order[i] = (int64_t)(uint32_t)s->sorted[i];
      if (merge && !is_new(s, v, i)) continue;
      put_end(s, out->first, k, v);
      put_end(s, out->second, k, (int64_t)(s->sorted[i] >> 32));
      if (out->begin) out->begin[k] = i;
      k++;
    }
}

static PolyTensor *vector_of(PolyContext *ctx, int64_t n) { return poly_empty(ctx, POLY_INT64, 1, &n); }

static bool give_results(PolyContext *ctx, EdgeSort *s, bool by_row, bool merge, int threads, PolyDType dtype,
                         PolyTensor **sorted, PolyTensor **order, PolyTensor **begin) {
  int64_t n = s->kept[s->groups], shape[2] = {2, n};
  *sorted = poly_empty(ctx, dtype, 2, shape);
  if (order) *order = vector_of(ctx, s->edges);
  if (begin) *begin = vector_of(ctx, n);
  char *e = *sorted ? poly_data(*sorted) : NULL;
  SortedEdges out = {.order = order && *order ? poly_data(*order) : NULL,
                     .begin = begin && *begin ? poly_data(*begin) : NULL};
  if (!e || (order && !out.order) || (begin && !out.begin)) return false;
  char *other = e + (size_t)n * (size_t)dtype_size(dtype);
  out.first = by_row ? e : other;
  out.second = by_row ? other : e;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
  for (int g = 0; g < s->groups; g++) write_group(s, g, merge, &out);
  return true;
}

static void drop(PolyTensor **t) {
  if (!t) return;
  poly_free(*t);
  *t = NULL;
}

/* Room, sort, results. */
static bool sort_edges(PolyContext *ctx, EdgeSort *s, bool by_row, bool merge, PolyDType dtype, PolyTensor **sorted,
                       PolyTensor **order, PolyTensor **begin) {
  Base *b = ctx_base(ctx);
  int threads = s->edges < 1 << 15 ? 1 : threads_allowed(poly_threads(ctx));
  s->parts = MIN(threads, MAX_PARTS);
  while ((s->nodes - 1) >> s->shift >= GROUPS) s->shift++;
  s->groups = (int)(((s->nodes - 1) >> s->shift) + 1);
  size_t n = (size_t)s->edges, counts = (size_t)s->parts * sizeof *s->count;
  size_t pointers = ((size_t)s->nodes + 1) * sizeof *s->rowptr;
  size_t bytes = counts + pointers + n * 2 * (sizeof *s->word + sizeof *s->row);
  char *room = mem_resize(b, NULL, 0, bytes);
  if (!room) return false;
  s->count = (int64_t(*)[GROUPS])room;
  s->rowptr = (int64_t *)(room + counts);
  s->word = (uint64_t *)(room + counts + pointers);
  s->sorted = s->word + n;
  s->row = (uint32_t *)(s->sorted + n);
  s->row_room = s->row + n;
  run_sort(s, merge, threads);
  bool ok = give_results(ctx, s, by_row, merge, threads, dtype, sorted, order, begin);
  mem_free(b, room, bytes);
  return ok;
}

PolyStatus poly_sort_edges(PolyTensor *edge_index, int64_t nodes, bool by_row, bool merge, PolyTensor **sorted,
                           PolyTensor **order, PolyTensor **begin) {
  PolyContext *ctx = poly_context_of(edge_index);
  Base *b = ctx_base(ctx);
  PolyDType dtype = poly_dtype(edge_index);
  int64_t shape[MAX_DIMS] = {0}, bad;
  *sorted = NULL;
  if (order) *order = NULL;
  if (begin) *begin = NULL;
  if (poly_ndim(edge_index) == 2) sizes_of(edge_index, shape);
  if (shape[0] != 2 || (dtype != POLY_INT32 && dtype != POLY_INT64))
    return base_fail(b, POLY_ERROR_VALUE, "sort_edges: edge_index must be int32 or int64 of shape [2, E]"),
           poly_error_code(ctx);
  if (shape[1] == 0) return POLY_OK;
  if (nodes > UINT32_MAX || shape[1] > UINT32_MAX)
    return base_fail(b, POLY_ERROR_VALUE,
                     "sort_edges: %" PRId64 " nodes, %" PRId64 " edges: more than 32 bits can number", nodes, shape[1]),
           poly_error_code(ctx);
  const char *data = poly_data(edge_index);
  if (!data) return poly_error_code(ctx);
  const char *other = data + (size_t)shape[1] * (size_t)dtype_size(dtype);
  EdgeSort s = {.first = by_row ? data : other,
                .second = by_row ? other : data,
                .wide = dtype == POLY_INT64,
                .edges = shape[1],
                .nodes = nodes};
  if (find_bad(&s, &bad)) {
    base_fail(b, POLY_ERROR_INDEX, "edge_index holds %" PRId64 ", which is not among %" PRId64 " nodes", bad, nodes);
    return poly_error_code(ctx);
  }
  if (in_order(&s, merge) || sort_edges(ctx, &s, by_row, merge, dtype, sorted, order, begin)) return POLY_OK;
  drop(sorted);
  drop(order);
  drop(begin);
  return poly_error_code(ctx);
}
